# SPDX-License-Identifier: Apache-2.0
"""The loop of an arm: from a state to efforts, through a control law and the safety gate."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.control.arm.settings import ControlSettings
from rbdyn_ros.control.arming.effort_check import EffortCheck
from rbdyn_ros.control.arming.position_start_up import PositionTest
from rbdyn_ros.control.arming.start_up import StartUpTest
from rbdyn_ros.control.base.faults import Fault
from rbdyn_ros.control.base.kernels import copy, entry
from rbdyn_ros.control.base.state_kernels import SHORTEST
from rbdyn_ros.control.blind.blind_arm import BlindArm
from rbdyn_ros.control.blind.endings import PAUSE
from rbdyn_ros.control.blind.witness import ANYTHING, BY_HAND, CONTACT, FROZEN, PASSED
from rbdyn_ros.control.laws.mode_laws import ModeLaws
from rbdyn_ros.control.motion.tracking import PathTracker
from rbdyn_ros.control.states.gate import SafetyGate
from rbdyn_ros.errors import RbdynError, apart

if TYPE_CHECKING:
    from rbdyn_ros.engine.compiler.jit import Vector


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
        period: mean time between two states [s]; NaN before the second.
        rivals: fault that others command the arm, or None.
        failed_test: why the last start-up test ended without arming, or "".
        untested: joints that the last start-up test left out: their friction holds them.
        ignored: why a message of another device was not used, or ""; whoever reports it clears it.
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
        self._holding, self._commanded = np.zeros(arm.m.nv), np.zeros(arm.m.nv)
        self._unknown = np.full(arm.m.nv, np.nan)
        self._returned = np.zeros(len(self.names))
        self.period = math.nan  # between states [s]
        self._wrong: Fault | None = None  # of the newest state
        self._strangers: Sequence[str] = ()  # joints of a message that names none of the arm's
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

        Arguments as SafetyGate.admit. The next call of on_state or on_watch overwrites the array.
        """
        with self._lock:
            if not self.gate.measured.concerns(names):
                self._strangers = names
                wrong_text = self.gate.measured.take_others(names, position)
                self.ignored = wrong_text or self.ignored
                return None
            self._notice_pause(arrival)
            dt, wrong = self.gate.admit(names, position, velocity, effort, stamp, arrival)
            if dt == 0.0 and wrong is None:
                return None
            if dt > 0.0:
                wrong = self._look(arrival) or wrong
            else:
                self._blind.pause()
            self._wrong = wrong
            blind = wrong is not None and wrong.blind
            self.states += not blind
            self.refused += blind
            if wrong is not None:
                self._trip(wrong)
                self._blind.doubt(wrong, self.gate.took_back)
            if blind:
                return self._answer_blindly(arrival)
            self._effort_check.add(self.gate.measured, dt)
            self._average(self.gate.step)
            if self._test is not None:
                return self._tried(dt)
            if self.gate.clock.late and self._moves():
                self._advance_target()
                return self._bridge(arrival, dt)
            self._blind.end_coasting()
            return None if self.mode == "idle" else self._sent(self._answer(dt))

    def _notice_pause(self, now: int) -> None:
        """Trip if this state comes too late after the one before, and nobody noticed meanwhile."""
        if not (self.armed or self.testing) or self.gate.measured.arrival is None:
            return
        wrong = self.gate.watch(now)
        if wrong is not None:
            self._trip(wrong)
            self._judge_pause(now)

    def _judge_pause(self, now: int) -> None:
        """Stay silent after a pause of the process: the arm may be somewhere else."""
        seen, overdue = self.gate.measured, self.gate.overdue(now)
        if overdue > self.settings.blind_time + PAUSE:
            self._blind.stop(now, seen.time, seen.qpos, seen.qvel, overdue)

    def _look(self, arrival: int) -> Fault | None:
        """Compare the motion with the efforts sent, and remember it; return a fault or None."""
        if not self.armed or self.settings.dry_run:
            return None
        gate, blind = self.gate, self._blind
        seen, sent = gate.measured, self._commands()
        if blind.disbelieves(arrival, seen.qpos, seen.qvel):
            return blind.lie
        slow = gate.too_slow()
        if slow is not None:
            return slow
        if gate.clock.late:  # no evidence about the efforts sent since then
            blind.pause()
            return None
        contact = gate.limits.contact if self.mode == "impedance" else 0.0
        blocked = BY_HAND if self.mode == "gravity" else max(CONTACT, contact)
        if gate.fault is not None:
            blocked = ANYTHING
        measured = self._unknown if self.settings.arm_without_effort else seen.effort
        state = seen.time, seen.qpos, seen.qvel
        i = blind.look(*state, sent, measured, gate.step, contact, blocked)
        if i < 0:
            return None
        place, speed = seen.qpos[self._dofs[i]], seen.qvel[self._dofs[i]]
        text = (
            f"joint '{self.names[i]}' stands still at {place:.4g}, or its numbers repeat; by the "
            f"efforts sent it should have moved by more than {FROZEN:g}, or by its velocity of "
            f"{speed:.4g} by more than {PASSED:g}, or its measured effort does not follow them"
        )
        return Fault("frozen", text, blind=True)

    def _commands(self) -> Array:
        """Return the commands sent last (nv,); joints that are not controlled are held."""
        _command.call(self._holding, self.gate.effort, self._dofs, self._commanded)
        return self._commanded

    def _answer_blindly(self, now: int) -> Array | None:
        """Return efforts for an arm whose state is unknown, or None; now: steady clock [ns]."""
        if not self.armed or self.gate.fault is None:
            return None
        blind, seen = self._blind, self.gate.measured
        dt = blind.since(now)
        overdue = self.gate.overdue(now)
        wanted = blind.stop(now, seen.time, seen.qpos, seen.qvel, overdue)
        if wanted is None:
            return None
        return self._sent(self.gate.release_own(wanted, wanted, dt, blind.phase == "silent"))

    def _moves(self) -> bool:
        """Whether efforts computed from old states would move the arm."""
        return self.armed and not self.settings.dry_run

    def _bridge(self, now: int, dt: float) -> Array | None:
        """Return efforts for an arm whose newest state is late.

        Args:
            now: steady clock [ns].
            dt: time since the last effort of the law [s].
        """
        if self.gate.fault is not None:
            return self._answer_blindly(now)
        gate, blind, seen = self.gate, self._blind, self.gate.measured
        late = gate.clock.lag + gate.age(now)
        dt = blind.coast(now, late, dt, seen.qpos, seen.qvel, self._commands())
        return self._sent(gate.release_own(blind.effort, blind.effort, dt))

    def _tried(self, dt: float) -> Array | None:
        """Return the efforts of the start-up test, or of the mode once the arm has passed it."""
        seen, gate, test = self.gate.measured, self.gate, self._test
        assert isinstance(test, StartUpTest)
        self.arm.hold(seen.qpos, self._holding)
        try:
            wanted = test.advance(
                seen.qpos, seen.qvel, seen.effort, self._holding, gate.effort, gate.step
            )
            if test.done:
                self._check_gains(self.mode)  # states may come at another rate by now
        except RbdynError as error:
            self._end_test(str(error))
            return None
        if not test.done:
            return self._sent(gate.release_own(wanted, self._holding, dt))
        self._test, self.untested = None, test.held
        self._begin_armed()
        return self._sent(self._answer(dt))

    def _watch_test(self, now: int) -> None:
        """End the start-up test if an effort of it acts for too long; simulated arms may wait."""
        if self._test is None or self.gate.settings.simulated:
            return
        try:
            self._test.check_age(self.gate.age(now))
        except RbdynError as error:
            self._end_test(str(error))

    def _end_test(self, reason: str) -> None:
        """End the start-up test without arming."""
        self._test, self.failed_test, self.sending = None, reason, False

    def _begin_armed(self) -> None:
        """Command the arm from now on."""
        raise NotImplementedError

    def _check_gains(self, mode: str) -> None:
        """Raise RbdynError if a mode does not suit the states."""
        raise NotImplementedError

    @property
    def testing(self) -> bool:
        """Whether the start-up test sends efforts to the arm, which is not armed yet."""
        return self._test is not None

    def _average(self, step: float) -> None:
        """Average the period of the states, without the first one; a pause hardly counts."""
        if math.isnan(self.period):
            self.period = step if step > SHORTEST else math.nan
        else:
            self.period += 0.02 * (min(step, 2.0 * self.period) - self.period)

    def _sent(self, effort: Array | None) -> Array | None:
        """Return a copy that requests from other threads do not change."""
        if effort is None:
            return None
        copy.call(effort, self._returned)
        self.sending = (self.armed or self.testing) and not self.settings.dry_run
        return self._returned

    def _answer(self, dt: float) -> Array | None:
        """Return the efforts for a valid state."""
        seen = self.gate.measured
        self.arm.hold(seen.qpos, self._holding)
        if self.armed and self.gate.fault is not None:
            wanted = self._blind.see(seen.time, seen.qpos, seen.qvel, dt)
            if wanted is None:
                return None
            last = self._blind.phase == "silent"
            return self.gate.release_own(wanted, self._holding, dt, last)
        if self.armed:
            self._advance_target()
            self._check_target()
        else:
            self._tracker.rest_at(seen.qpos)
        target = self._tracker.target
        target.let_go(self._others, seen.qpos, seen.qvel)  # or they would disturb the others
        wanted = self._modes.effort(self.mode, seen.qpos, seen.qvel, target)
        effort = self.gate.release_own(wanted, self._holding, dt)
        if self.gate.unfit is not None:
            self._trip(self.gate.unfit)
        return effort

    def _advance_target(self) -> None:
        """Move the target by the time since the last state."""
        self._tracker.advance(min(self.gate.step, self.gate.settings.state_timeout))

    def _check_target(self) -> None:
        """Trip if the arm is too far from its target, or has had no target for too long."""
        settings, seen = self.settings, self.gate.measured
        if settings.dry_run:  # the arm does not move
            return
        if self.mode in ("hold", "computed_torque") and settings.tracking_tolerance > 0.0:
            k = self._tracker.straying(seen.qpos, settings.tracking_tolerance)
            if k >= 0:
                dof = self._dofs[k]
                off = abs(self._tracker.target.qpos[dof] - seen.qpos[dof])
                away, most = apart(off, settings.tracking_tolerance, digits=4)
                text = f"joint '{self.names[k]}' is {away} from its target"
                self._trip(Fault("tracking", f"{text}; tracking_tolerance is {most}"))
        self._check_idle()

    def _check_idle(self) -> None:
        """Trip if there has been no target for too long."""
        settings = self.settings
        if settings.target_timeout < self._tracker.idle < math.inf and settings.target_timeout:
            text = f"no new target for {self._tracker.idle:.3g} s"
            allowed = f"target_timeout is {settings.target_timeout:g} s"
            self._trip(Fault("target", f"{text}; {allowed}"))

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
            wrong = self.gate.watch(now)
            if wrong is not None:
                self._trip(wrong)
            wrong = wrong or self._wrong
            if wrong is not None and wrong.blind:
                return self._answer_blindly(now)
            if self.gate.fault is None and self._moves() and self.gate.is_late(now, self.period):
                return self._bridge(now, self.gate.age(now))
            return None

    def concerns(self, names: Sequence[str]) -> bool:
        """Whether a message with these joints is a state of the arm."""
        return self.gate.measured.concerns(names)

    def refuse_state(self, fault: Fault) -> None:
        """Refuse a state that must not be believed, whatever its numbers are."""
        with self._lock:
            self._wrong = fault
            self.refused += 1
            self._blind.pause()
            self._trip(fault)

    def set_rivals(self, fault: Fault | None) -> None:
        """Set the fault that others command the arm too, or None; it prevents arming as well."""
        with self._lock:
            self.rivals = fault
            if fault is not None:
                self._trip(fault)

    def _trip(self, fault: Fault) -> None:
        if self.testing:
            self._end_test(f"the start-up test was stopped: {fault.advice}")
        if self.armed and self.gate.fault is None:
            self.gate.trip(fault)
            self._blind.trip()


@entry
def _command(holding: Vector, effort: Vector, dofs: Ints, command: Vector) -> None:
    for k in range(len(command)):
        command[k] = holding[k]
    for i in range(len(dofs)):
        command[dofs[i]] = effort[i]
