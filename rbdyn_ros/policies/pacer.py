# SPDX-License-Identifier: Apache-2.0
"""Runs a policy at its own rate, on joint and base states of about the same time."""

from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.errors import refusal
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.policies.policy import BaseState, LearnedPolicy

#: If a stamp is older than the previous stamp by more than this, time was reset [s].
BACK = 0.01


@dataclass(slots=True)
class JointsState:
    """A state of the joints of a policy, in the policy's order.

    Attributes:
        stamp: time of the state [ns].
        position, velocity: measured positions and velocities, (n) [rad or m; per s].
    """

    stamp: int
    position: Array
    velocity: Array


class Pacer:
    """Computes a policy's position targets from joint and base states, without ROS.

    An action needs a base state that is as new as the joint state. If the joint state arrives
    first, it waits for the base state.

    Args:
        policy: the policy that computes the actions.
        timeout: largest difference between the stamps of the two states of an action [s].
        command_timeout: time for which a velocity command is valid, by the stamps of states [s];
            afterwards the command is zero.
    """

    def __init__(self, policy: LearnedPolicy, timeout: float, command_timeout: float) -> None:
        self._policy = policy
        self._period = NANOSECONDS / policy.spec.rate
        self._timeout = round(timeout * NANOSECONDS)
        self._command_timeout = round(command_timeout * NANOSECONDS)
        self.restart()

    def restart(self) -> None:
        """Forget all states and reset the policy."""
        self._policy.reset()
        self._command: Array = np.zeros(3)
        self._commanded: int | None = None
        self._base: BaseState | None = None
        self._base_stamp = self._now = -1
        self._waiting: JointsState | None = None
        self._begun: int | None = None
        self._actions = 0

    def set_command(self, command: Array) -> None:
        """Store a velocity command (3,): forward and left [m/s], and yaw rate [rad/s]."""
        self._command, self._commanded = command, self._now

    def take_base(self, stamp: int, base: BaseState) -> JointsState | None:
        """Store a state of the base; act if a joint state waits for it.

        Returns:
            The joint state for which the policy acted, or None.

        Raises:
            RbdynError: the state is newer than the joint state by more than `timeout`, or the
                network fails.
        """
        self._restart_after_reset(stamp, self._base_stamp)
        if 0 <= self._now < stamp - self._timeout:
            ahead = (stamp - self._now) / NANOSECONDS
            raise refusal(f"the base state is {ahead:.3g} s ahead of the joint states")
        self._base, self._base_stamp = base, stamp
        waiting = self._waiting
        if waiting is None or stamp < waiting.stamp:
            return None
        self._waiting = None
        if stamp - waiting.stamp > self._timeout:
            return None
        self._act(waiting)
        return waiting

    def take_joints(self, state: JointsState) -> JointsState | None:
        """Store a state of the joints; act if an action is due and the base state is new enough.

        Returns:
            The state if the present targets are valid for it, or None.

        Raises:
            RbdynError: the network fails.
        """
        self._restart_after_reset(state.stamp, self._now)
        self._now = state.stamp
        near = abs(state.stamp - self._base_stamp) <= self._timeout
        waiting = self._waiting
        waits = waiting is not None and 0 < state.stamp - waiting.stamp <= self._timeout
        if waits or not self._is_due(state.stamp):
            # no action is due, or an earlier joint state still waits for its base state
            return state if self._actions > 0 and near else None
        if self._base_stamp < state.stamp:
            self._waiting = state
            return None
        if not near:
            return None
        self._act(state)
        return state

    def _restart_after_reset(self, stamp: int, before: int) -> None:
        if stamp < before - BACK * NANOSECONDS:
            self.restart()

    def _is_due(self, stamp: int) -> bool:
        return self._begun is None or stamp - self._begun >= self._actions * self._period - 0.5

    def _act(self, state: JointsState) -> None:
        assert self._base is not None
        self._policy.act(state.position, state.velocity, self._base, self._wanted(state.stamp))
        if self._begun is None:
            self._begun = state.stamp
        behind = (state.stamp - self._begun) // self._period
        self._actions = max(self._actions, int(behind)) + 1

    def _wanted(self, stamp: int) -> Array:
        """Return the velocity command at a stamp: the last command if still valid, or zero."""
        if self._commanded is None or stamp - self._commanded > self._command_timeout:
            return np.zeros(3)
        return self._command
