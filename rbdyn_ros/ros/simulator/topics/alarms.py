# SPDX-License-Identifier: Apache-2.0
"""Log problems of a simulated robot, each only once or rarely."""

import math
import time
from typing import Any

from rbdyn_ros.dynamics.too_much import no_turn_is_fast, text_if_fast, texts_before
from rbdyn_ros.errors import counted, listing, quote
from rbdyn_ros.model.declared.joints import JointClass
from rbdyn_ros.model.model import Model
from rbdyn_ros.ros.common.reports.throttle import Throttle
from rbdyn_ros.runtime.loop import Loop
from rbdyn_ros.runtime.state import LoopState

#: A wait for commands is logged after this time [s].
LONG_WAIT = 5.0


def has_locked_drive(m: Model, joint: int) -> bool:
    """Return whether a fault of a joint means that its drive has locked.

    The drive has locked if the joint has a prescribed motion: the state of such a joint cannot
    diverge.
    """
    return joint >= 0 and bool(m.jnt_class[joint] == JointClass.DRIVEN)


def stop_reason(name: str, locked: bool) -> str:
    """Return the reason of a fault at the joint with this name, for a message."""
    if locked:
        return f"the drive of joint {quote(name)} is locked: its closed loop cannot follow it"
    return f"the state of joint {quote(name)} diverged"


class WaitAlarm:
    """Logs the joints whose commands did not arrive in lock-step.

    Args:
        logger: logger of the node.
        loop: loop of the robot.
    """

    def __init__(self, logger: Any, loop: Loop) -> None:
        self._logger, self._loop = logger, loop
        self._tick, self._since, self._timeouts = -1, 0.0, 0
        self._throttle = Throttle()

    def poll(self, now: float) -> None:
        """Warn of a long wait, once for each tick, and of timeouts; now: steady clock [s]."""
        loop = self._loop
        timeouts = loop.readout.lockstep_timeouts
        if timeouts > self._timeouts and self._throttle.due(now):
            self._timeouts = timeouts
            text = f"no commands came for {listing(loop.unanswered)} within lockstep_timeout"
            text = f"{text}: time runs free until they come"
            self._logger.warning(text)
        tick = loop.time.tick if loop.time.waiting else -1
        if tick != self._tick:
            self._tick, self._since = tick, now
        elif tick >= 0 and now - self._since > LONG_WAIT:
            self._since = math.inf
            joints = listing(loop.unanswered)
            text = (
                f"lock-step has waited {LONG_WAIT:g} s for commands for {joints} with the stamp "
                f"of tick {tick}; the parameter lockstep_joints can leave joints out"
            )
            self._logger.warning(text)


class Alarms:
    """Logs problems in the states of a robot, but not for every state.

    Args:
        logger: logger of the node.
        reset_name: name of the service to call after divergence.

    Attributes:
        said_fast: whether it has warned that a body rotates too fast.
    """

    def __init__(self, logger: Any, reset_name: str) -> None:
        self._logger, self._reset_name = logger, reset_name
        self._saturated, self._missed, self._singular = Throttle(), Throttle(), Throttle()
        self._fault, self._bad, self._near = -1, 0, 0
        self._unsolved = self._dropped = self.said_fast = False
        self._looked: Model | None = None  # the Model whose springs were checked

    def report(self, m: Model, state: LoopState) -> None:
        """Log the problems in a state of the Model m that are new."""
        self._report_fault(m, state)
        self._report_limits(m, state)
        self._report_contact(m, state)
        self._report_timestep(m, state)
        if state.missed and self._missed.due(time.monotonic()):
            text = f"publishing is too slow: skipped {counted(state.missed, 'state')}"
            self._logger.warning(text)

    def fastest(self, m: Model) -> float:
        """Return the joint speed up to which no body can rotate too fast [rad/s or m/s].

        After the warning about fast rotation, return infinity.
        """
        return math.inf if self.said_fast else no_turn_is_fast(m)

    def _report_fault(self, m: Model, state: LoopState) -> None:
        if state.fault != self._fault:
            self._fault = state.fault
            if state.fault >= 0:
                locked = has_locked_drive(m, state.fault)
                text = (
                    f"{stop_reason(m.jnt_names[state.fault], locked)}; the simulation "
                    f"is frozen at its last good state. {self._remedy(m, locked)}"
                )
                self._logger.error(text)
        if state.bad > self._bad:
            self._bad = state.bad
            self._logger.error("an inertia is not positive: the motion is wrong; see rbdyn check")

    def _remedy(self, m: Model, locked: bool) -> str:
        """Return the advice after a fault; locked: a drive has locked, so no state diverged."""
        call = f"Call {self._reset_name}"
        if locked or m.not_implicit or m.opt.integrator not in ("euler", "implicit_damping"):
            return call
        return f"{call}; if energy grew without a cause, try the integrator implicit_midpoint"

    def _report_limits(self, m: Model, state: LoopState) -> None:
        """Warn of an effort at its limit, and of a joint near its singularity."""
        if state.saturated >= 0 and self._saturated.due(time.monotonic()):
            joint = m.jnt_names[int(m.dof_jntid[state.saturated])]
            limit = abs(state.effort[state.saturated])
            text = f"the effort of joint '{joint}' is clamped to {limit:g}"
            self._logger.warning(text)
        if state.singular > self._near and self._singular.due(time.monotonic()):
            self._logger.warning(
                "a yaw-pitch-roll joint is near its singularity: its motion is inaccurate there"
            )
        self._near = max(self._near, state.singular)

    def _report_timestep(self, m: Model, state: LoopState) -> None:
        """Warn once if the timestep is too long for the robot or its motion, as rb.step does."""
        texts = texts_before(m) if m is not self._looked else []
        self._looked = m
        if not self.said_fast and (text := text_if_fast(m, state.qvel)):
            self.said_fast = True
            texts.append(text)
        for text in texts:
            self._logger.warning(text)

    def _report_contact(self, m: Model, state: LoopState) -> None:
        """Warn once if contact forces have not converged, and once if contacts were dropped."""
        if state.unsolved > 0 and not self._unsolved:
            self._unsolved = True
            self._logger.warning(
                "the contact forces of a timestep have not converged: friction was inexact in it. "
                "A few such timesteps in a fall do no harm; later ones are not logged"
            )
        if state.dropped > 0 and not self._dropped:
            self._dropped = True
            text = (
                f"{state.dropped} contacts do not fit in the list of {m.ncontact} and "
                "do not act; use simpler collision geometries, or fewer of them"
            )
            self._logger.warning(text)
