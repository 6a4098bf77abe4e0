"""The loop of an arm: from a state to efforts, through a control law and the safety gate."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control.arm import Arm
from rbdyn_ros.control.arming import EffortCheck
from rbdyn_ros.control.endings import Ending
from rbdyn_ros.control.gate import Fault, SafetyGate
from rbdyn_ros.control.gate_kernels import SHORTEST
from rbdyn_ros.control.mode_laws import ModeLaws
from rbdyn_ros.control.settings import ControlSettings
from rbdyn_ros.control.tracking import PathTracker


class ControlLoop:
    """Answers every state of an arm with efforts; every method may be called from any thread.

    Args:
        arm: the robot.
        gate: checks every state and every effort.
        settings: gains, tolerances and times.

    Attributes:
        mode: one of MODES.
        armed: whether efforts are sent to the robot (in a dry run: computed only).
        sending: whether the efforts returned last are sent.
        states: number of accepted states.
        refused: number of refused states.
        rivals: fault that others command the arm, or None.
    """

    def __init__(self, arm: Arm, gate: SafetyGate, settings: ControlSettings) -> None:
        self.arm, self.gate, self.settings = arm, gate, settings
        self.names = gate.limits.names
        self.mode = "idle"
        self.armed = self.sending = False
        self.states = self.refused = 0
        self._dofs = gate.limits.dofs
        self._others = np.setdiff1d(np.arange(arm.m.nv), self._dofs)
        self._modes = ModeLaws(arm, settings)
        self._tracker = PathTracker(arm.m.nv, self._dofs, self.names)
        self._effort_check = EffortCheck(arm, gate.limits, settings)
        self._ending = Ending(arm, settings, self._others)
        self._holding, self._returned = np.zeros(arm.m.nv), np.zeros(len(self.names))
        self._period = math.nan  # between states [s]
        self._wrong: Fault | None = None  # of the newest state
        self._strangers: Sequence[str] = ()  # joints of a message that names none of the arm's
        self.rivals: Fault | None = None
        self._lock = threading.RLock()

    def on_state(
        self,
        names: Sequence[str],
        position: Array,
        velocity: Array,
        effort: Array,
        stamp: int,
        arrival: int,
    ) -> Array | None:
        """Process a state; return the resulting efforts (n,), or None if there are none.

        Arguments as SafetyGate.admit. The next call of on_state or on_watch overwrites the array.
        """
        with self._lock:
            if not self.gate.measured.concerns(names):
                self._strangers = names
                return None
            dt, wrong = self.gate.admit(names, position, velocity, effort, stamp, arrival)
            if dt == 0.0 and wrong is None:
                return None
            self._wrong = wrong
            self.states += dt > 0.0
            self.refused += dt == 0.0
            if wrong is not None:
                self._trip(wrong)
            if dt == 0.0:
                return None
            self._effort_check.add(self.gate.measured, dt)
            self._average(self.gate.step)
            return None if self.mode == "idle" else self._sent(self._answer(dt))

    def _average(self, step: float) -> None:
        """Average the period of the states, without the first one."""
        if math.isnan(self._period):
            self._period = step if step > SHORTEST else math.nan
        else:
            self._period += 0.02 * (step - self._period)

    def _sent(self, effort: Array | None) -> Array | None:
        """Return a copy that requests from other threads do not change."""
        if effort is None:
            return None
        self._returned[:] = effort
        self.sending = self.armed and not self.settings.dry_run
        return self._returned

    def _answer(self, dt: float) -> Array | None:
        """Return the efforts for a valid state."""
        seen = self.gate.measured
        self.arm.without_own(self.arm.gravity_effort(seen.qpos, self._holding), seen.qpos)
        if self.armed and self.gate.fault is not None:
            wanted = self._ending.seeing(seen.qpos, seen.qvel, dt)
            return None if wanted is None else self.gate.release(wanted, self._holding, dt)
        if self.armed:
            self._tracker.advance(dt)
            self._check_target()
        else:
            self._tracker.rest_at(seen.qpos)
        target = self._tracker.target
        target.let_go(self._others, seen.qpos, seen.qvel)  # or they would disturb the others
        wanted = self._modes.effort(self.mode, seen.qpos, seen.qvel, target)
        effort = self.gate.release(wanted, self._holding, dt)
        if self.gate.unfit is not None:
            self._trip(self.gate.unfit)
        return effort

    def _check_target(self) -> None:
        """Trip if the arm is too far from its target, or has had no target for too long."""
        settings, seen = self.settings, self.gate.measured
        if settings.dry_run:  # the arm does not move
            return
        if self.mode in ("hold", "computed_torque") and settings.tracking_tolerance > 0.0:
            off = np.abs(self._tracker.target.qpos - seen.qpos)[self._dofs]
            k = int(off.argmax())
            if off[k] > settings.tracking_tolerance:
                text = f"joint '{self.names[k]}' is {off[k]:.4g} from its target"
                allowed = f"tracking_tolerance is {settings.tracking_tolerance:g}"
                self._trip(Fault("tracking", f"{text}; {allowed}"))
        if settings.target_timeout < self._tracker.idle < math.inf and settings.target_timeout:
            text = f"no new target for {settings.target_timeout:g} s"
            self._trip(Fault("target", text))

    def on_watch(self, now: int, dt: float) -> Array | None:
        """Check that states arrive; return efforts for an arm without states, or None.

        Call it periodically, whether states arrive or not.

        Args:
            now: steady clock [ns].
            dt: time since the last call [s].
        """
        with self._lock:
            if not self.armed:
                return None
            wrong = self.gate.watch(now)
            if wrong is not None:
                self._trip(wrong)
            wrong = wrong or self._wrong
            if self.gate.fault is None or wrong is None or not wrong.blind:
                return None
            wanted = self._ending.blind(self.gate.measured.qpos, dt)
            return self._sent(None if wanted is None else self.gate.release(wanted, wanted, dt))

    def concerns(self, names: Sequence[str]) -> bool:
        """Whether a message with these joints is a state of the arm."""
        return self.gate.measured.concerns(names)

    def refuse_state(self, fault: Fault) -> None:
        """Refuse a state that must not be believed, whatever its numbers are."""
        with self._lock:
            self._wrong = fault
            self.refused += 1
            self._trip(fault)

    def set_rivals(self, fault: Fault | None) -> None:
        """Set the fault that others command the arm too, or None; it prevents arming as well."""
        with self._lock:
            self.rivals = fault
            if fault is not None:
                self._trip(fault)

    def _trip(self, fault: Fault) -> None:
        if self.armed and self.gate.fault is None:
            self.gate.trip(fault)
            self._ending.begin()
