# SPDX-License-Identifier: Apache-2.0
"""The loop of an arm: from a state to efforts, through a control law and the safety gate."""

import math
import threading
from collections.abc import Sequence

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control import loop_kernels as kernels
from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.control.arm.settings import ControlSettings
from rbdyn_ros.control.arming.effort_check import EffortCheck
from rbdyn_ros.control.arming.position_start_up import PositionTest
from rbdyn_ros.control.arming.start_up import StartUpTest
from rbdyn_ros.control.base.faults import Fault
from rbdyn_ros.control.base.kernels import copy
from rbdyn_ros.control.base.state_kernels import SHORTEST
from rbdyn_ros.control.blind.blind_arm import BlindArm
from rbdyn_ros.control.laws.mode_laws import ModeLaws
from rbdyn_ros.control.loop_kernels import COAST, STOP_BLINDLY, TEST
from rbdyn_ros.control.motion.tracking import PathTracker
from rbdyn_ros.control.states.gate import SafetyGate
from rbdyn_ros.dynamics.entry import Entry
from rbdyn_ros.errors import RbdynError

_notice_pause, _see, _watch = map(Entry, (kernels.notice_pause, kernels.see, kernels.watch))
_brake, _coast = Entry(kernels.brake), Entry(kernels.coast)
_answer_blindly, _follow = Entry(kernels.answer_blindly), Entry(kernels.follow)
_trip, _judge_target = Entry(kernels.trip), Entry(kernels.judge_target)


class ControlLoop:
    """Answers every state of an arm with efforts; every method may be called from any thread.

    Args:
        arm: the robot.
        gate: checks every state and every effort.
        settings: gains, tolerances and times.

    Attributes:
        mode: one of settings.MODES.
        armed: whether efforts are sent to the robot (in a dry run: computed only).
        sending: whether the efforts returned last are sent.
        states: number of accepted states.
        refused: number of refused states.
        period: mean time between two states [s]; NaN before the second.
        rivals: the fault if other nodes command the arm; else None.
        failed_test: reason why the last start-up test ended without arming, or "".
        untested: joints that the last start-up test left out: their friction holds them.
        ignored: reason why a message of another device was not used, or ""; the reporter clears
            it.
    """

    def __init__(self, arm: Arm, gate: SafetyGate, settings: ControlSettings) -> None:
        self.arm, self.gate, self.settings = arm, gate, settings
        self.names = gate.limits.names
        self.mode = "idle"
        self.armed = self.sending = False
        self.states = self.refused = 0
        self._dofs = np.array(gate.limits.dofs, np.int64)
        self._others = np.setdiff1d(np.arange(arm.m.nv), self._dofs)
        self._modes = ModeLaws(arm, settings)
        self._tracker = PathTracker(arm.m.nv, self._dofs, self.names)
        self._effort_check = EffortCheck(arm, gate.limits, settings)
        self._blind = BlindArm(arm, settings, gate.limits)
        self._use_arm()
        self._shown: tuple[bool, bool, str] | None = None  # see `_tell`
        self._holding: Array = gate.s.holding
        gate.s.measures = not settings.arm_without_effort
        self._returned = np.zeros(len(self.names))
        self.period = math.nan  # time between states [s]
        self._wrong: Fault | None = None  # the fault of the newest state
        self._strangers: Sequence[str] = ()  # names in a message about other joints only
        self.rivals: Fault | None = None
        self.ignored = self.failed_test = ""
        self.untested: list[str] = []
        self._test: StartUpTest | PositionTest | None = None
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

        The next call of on_state or on_watch overwrites the array.

        Args:
            names: names of joints; this argument and the next three are those of Measured.take.
            position: positions in the order of names [rad or m].
            velocity: velocities in this order [rad/s or m/s].
            effort: measured efforts in this order [N m or N].
            stamp: time of measurement [ns]; 0: unknown, the arrival is used.
            arrival: time of arrival on the steady clock [ns].
        """
        with self._lock:
            if not self.gate.measured.concerns(names):
                self._strangers = names
                wrong_text = self.gate.measured.take_others(names, position)
                self.ignored = wrong_text or self.ignored
                return None
            self._tell()
            self._notice_pause(arrival)
            gate, time = self.gate, stamp or arrival
            if gate.measured.is_from(time):
                return None  # a paused clock repeats the state
            stored = gate.take(names, position, velocity, effort)
            answer = _see.call(*self._at, time, arrival, stored)
            self._wrong = gate.wrong()
            if self._wrong is not None:
                self._take_notice()
            if answer == STOP_BLINDLY:
                self.refused += 1
                return self._answer_blindly(arrival)
            self.states += 1
            self._effort_check.add(gate.measured, gate.dt)
            self._average(gate.step)
            if answer == TEST:
                return self._tried()
            if answer == COAST:
                self._advance_target()
                return self._coast(arrival)
            return None if self.mode == "idle" else self._sent(self._answer())

    def _use_arm(self) -> None:
        """Prepare the arguments of the kernels: the arm, and all memory."""
        self._at = *self._blind.at, self.gate.s.handle
        self._memory = self._at[-2:]

    def _tell(self) -> None:
        """Write the flags of the arm that the kernels read."""
        shown = self.armed, self._test is not None, self.mode
        if shown == self._shown:
            return
        self._shown, s = shown, self.gate.s
        s.armed, s.testing, s.acts = self.armed, self.testing, self._moves()
        s.floats, s.soft = self.mode == "gravity", self.mode == "impedance"

    def _notice_pause(self, now: int) -> None:
        """Trip if this state comes too late after the state before."""
        if _notice_pause.call(*self._memory, now):
            self._take_notice()

    def _take_notice(self) -> None:
        """Store a fault that a kernel has found, and end a start-up test that it has stopped."""
        gate = self.gate
        if self._test is not None and not gate.s.testing:
            fault = gate.fault_of(gate.s.latched)
            self._end_test(f"the start-up test was stopped: {fault.advice}")
        if gate.s.faulty and gate.fault is None:
            gate.fault = gate.fault_of(gate.s.latched)
            self._prepare_stop()

    def _answer_blindly(self, now: int) -> Array | None:
        """Return efforts for an arm whose state is unknown, or None.

        `now` is on the steady clock [ns].
        """
        if not self.armed or self.gate.fault is None:
            return None
        return self._sent(self.gate.effort if _answer_blindly.call(*self._at, now) else None)

    def _moves(self) -> bool:
        """Return whether the efforts of the controller move the arm: armed, and no dry run."""
        return self.armed and not self.settings.dry_run

    def _coast(self, now: int) -> Array | None:
        """Return efforts for an arm whose newest state is late, or None if it gets none.

        `now` is on the steady clock [ns].
        """
        return self._sent(self.gate.effort if _coast.call(*self._at, now) else None)

    def _tried(self) -> Array | None:
        """Return efforts of the start-up test, or of the mode after it; None if the test fails."""
        seen, gate, test = self.gate.measured, self.gate, self._test
        assert isinstance(test, StartUpTest)
        self.arm.hold(seen.qpos, self._holding)
        try:
            wanted = test.advance(
                seen.qpos, seen.qvel, seen.effort, self._holding, gate.effort, gate.step
            )
            if test.done:
                self._check_gains(self.mode)  # the rate of the states may have changed
        except RbdynError as error:
            self._end_test(str(error))
            return None
        if not test.done:
            return self._sent(gate.release_own(wanted, self._holding, gate.dt))
        self._test, self.untested = None, test.held
        self._begin_armed()
        self._tell()
        return self._sent(self._answer())

    def _watch_test(self, now: int) -> None:
        """End the start-up test if one of its efforts acts too long; simulated arms may wait."""
        if self._test is None or self.gate.settings.simulated:
            return
        try:
            self._test.check_age(self.gate.measured.age(now))
        except RbdynError as error:
            self._end_test(str(error))

    def _end_test(self, reason: str) -> None:
        """End the start-up test without arming, for a reason."""
        self._test, self.failed_test, self.sending = None, reason, False
        self._shown = None  # a kernel may have ended the test

    def _begin_armed(self) -> None:
        """Command the arm from now on."""
        raise NotImplementedError

    def _check_gains(self, mode: str) -> None:
        """Raise RbdynError if the gains of a mode are too high for the rate of the states."""
        raise NotImplementedError

    @property
    def testing(self) -> bool:
        """True while the start-up test sends efforts to the arm, which is not armed yet."""
        return self._test is not None

    def _average(self, step: float) -> None:
        """Update the mean period of states by a step [s]; a long pause counts as two periods."""
        if math.isnan(self.period):
            self.period = step if step > SHORTEST else math.nan
        else:
            self.period += 0.02 * (min(step, 2.0 * self.period) - self.period)

    def _sent(self, effort: Array | None) -> Array | None:
        """Return a copy of the efforts that other threads do not change, or None without efforts.

        If there are efforts, set `sending`.
        """
        if effort is None:
            return None
        copy.call(effort, self._returned)
        self.sending = (self.armed or self.testing) and not self.settings.dry_run
        return self._returned

    def _answer(self) -> Array | None:
        """Return the efforts for a valid state, or None if a braked arm gets none."""
        if self.armed and self.gate.fault is not None:
            return self.gate.effort if _brake.call(*self._at) else None
        seen = self.gate.measured
        self.arm.hold(seen.qpos, self._holding)
        if self.armed:
            self._advance_target()
            self._check_target()
        else:
            self._tracker.rest_at(seen.qpos)
        target = self._tracker.target
        # the uncontrolled joints would otherwise disturb the controlled joints
        target.let_go(self._others, seen.qpos, seen.qvel)
        wanted = self._modes.effort(self.mode, seen.qpos, seen.qvel, target)
        if _follow.call(*self._memory, wanted):
            self._take_notice()
        return self.gate.effort

    def _advance_target(self) -> None:
        """Move the target by the time since the last state."""
        self._tracker.advance(min(self.gate.step, self.gate.settings.state_timeout))

    def _check_target(self) -> None:
        """Trip if the arm is too far from its target, or has had no target for too long."""
        if self.settings.dry_run:  # the arm gets no efforts, so it does not follow the target
            return
        near = self.mode in ("hold", "computed_torque")
        self._judge_target(self.settings.tracking_tolerance if near else 0.0)

    def _judge_target(self, tolerance: float) -> None:
        """Trip if the arm is too far from its target, or waits too long for a target.

        `tolerance` is the largest distance [rad or m]; 0: no limit.
        """
        target, idle = self._tracker.target.qpos, self._tracker.idle
        timeout = float(self.settings.target_timeout)
        if _judge_target.call(*self._memory, target, float(tolerance), float(idle), timeout):
            self._take_notice()

    def on_watch(self, now: int) -> Array | None:
        """Check that states arrive; return efforts for an arm without states, or None.

        Call it periodically, whether states arrive or not.

        Args:
            now: steady clock [ns].
        """
        with self._lock:
            if not self.armed and not self.testing:
                return None
            self._watch_test(now)
            self._tell()
            self.gate.s.period = self.period
            answer = _watch.call(*self._memory, now)
            self._take_notice()
            if answer == STOP_BLINDLY:
                return self._answer_blindly(now)
            return self._coast(now) if answer == COAST else None

    def concerns(self, names: Sequence[str]) -> bool:
        """Return whether a message with these joints is a state of the arm."""
        return self.gate.measured.concerns(names)

    def refuse_state(self, fault: Fault) -> None:
        """Refuse a state because of a fault, whatever its numbers are: it must not be believed."""
        with self._lock:
            self._wrong, self.gate.s.lost = fault, 1
            self.refused += 1
            self._blind.pause()
            self._trip(fault)

    def set_rivals(self, fault: Fault | None) -> None:
        """Set the fault that other nodes command the arm, or None.

        The fault also prevents arming.
        """
        with self._lock:
            self.rivals = fault
            if fault is not None:
                self._trip(fault)

    def _trip(self, fault: Fault) -> None:
        """End a start-up test; latch a fault of an armed arm without an earlier fault."""
        if self.testing:
            self._end_test(f"the start-up test was stopped: {fault.advice}")
        if self.armed and self.gate.fault is None:
            self.gate.trip(fault)
            self._blind.trip()
            self._prepare_stop()

    def _prepare_stop(self) -> None:
        """Do nothing here: kernels brake an arm that takes efforts after a fault."""
