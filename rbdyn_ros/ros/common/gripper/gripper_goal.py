# SPDX-License-Identifier: Apache-2.0
"""Watch a goal of a gripper; the goal ends as in gripper_controllers."""

from dataclasses import dataclass
from types import SimpleNamespace

from rbdyn_ros.nanoseconds import NANOSECONDS


@dataclass(frozen=True, slots=True)
class GripperState:
    """The measured state of a gripper.

    Attributes:
        time_ns: time of the measurement [ns].
        position, velocity, effort: position, velocity and effort of its joint [rad or m, rad/s or
            m/s, N m or N].
        number: number of the goal that the gripper follows.
        failed: reason why the gripper cannot follow goals now; empty: it can.
    """

    time_ns: int
    position: float
    velocity: float
    effort: float
    number: int
    failed: str = ""


@dataclass(frozen=True, slots=True)
class GripperEnding:
    """The end of a goal.

    Attributes:
        how: method of the goal handle that ends the goal: succeed, abort or canceled.
        stalled, reached: fields of the result with these names.
        why: reason for the log if the goal is aborted; else empty.
        hold: whether the gripper must stop at its present position.
    """

    how: str
    stalled: bool = False
    reached: bool = False
    why: str = ""
    hold: bool = False


class GripperMonitor:
    """Watches one goal.

    A gripper counts as moving if its velocity or the change of its position shows it, because some
    drivers, such as franka_gripper, always publish a velocity of 0.

    Args:
        position: position of the goal [rad or m].
        number: number of the goal.
        values: values of the parameters `gripper.*`.
        begun: state of the gripper when the goal was accepted.

    Attributes:
        number: number of the goal.
    """

    def __init__(
        self, position: float, number: int, values: SimpleNamespace, begun: GripperState
    ) -> None:
        self._position, self.number, self._values = position, number, values
        self._begun = self._moved = begun.time_ns
        self._place = begun.position  # position of the gripper at the time `_moved`

    def ending(self, now: GripperState, cancelled: bool) -> GripperEnding | None:
        """Return the end of the goal, or None while the goal is in progress."""
        failed = now.failed
        if now.number != self.number:
            failed = "another goal replaced it"
        elif now.time_ns < self._moved:
            failed = "time was reset"
        if failed:
            return GripperEnding("canceled" if cancelled else "abort", why=failed)
        if cancelled:
            return GripperEnding("canceled", hold=True)
        if abs(self._position - now.position) < self._value("goal_tolerance"):
            return GripperEnding("succeed", reached=True)
        return self._unmoved(now)

    def _unmoved(self, now: GripperState) -> GripperEnding | None:
        """Return the end of the goal if the gripper has stalled or timed out, else None."""
        slow, patience = self._value("stall_velocity_threshold"), self._value("stall_timeout")
        if abs(now.velocity) > slow or abs(now.position - self._place) > slow * patience:
            self._moved, self._place = now.time_ns, now.position
        at = f"at {now.position:.4g}, {abs(self._position - now.position):.4g} from its goal"
        if self._age(now, self._moved) > patience:
            how = "succeed" if self._value("allow_stalling") else "abort"
            return GripperEnding(how, stalled=True, why=f"the gripper stalled {at}")
        timeout = self._value("timeout")
        if 0.0 < timeout < self._age(now, self._begun):
            return GripperEnding("abort", why=f"gripper.timeout passed with the gripper {at}")
        return None

    def _age(self, now: GripperState, since: int) -> float:
        return (now.time_ns - since) / NANOSECONDS

    def _value(self, name: str) -> float:
        value: float = getattr(self._values, f"gripper.{name}")
        return value
