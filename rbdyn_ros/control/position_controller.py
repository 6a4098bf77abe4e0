# SPDX-License-Identifier: Apache-2.0
"""Controller of an arm that takes positions only: it follows paths and yields to forces.

States are checked as for an arm that takes efforts. After a fault the positions sent come to rest
within 0.4 s, whether states arrive or not. Then nothing is sent any more, and the arm stays where
it is. After a pause of the process (endings.PAUSE) nothing is sent at all.
"""

import contextlib
import math

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.control.arm.settings import POSITION_MODES, ControlSettings
from rbdyn_ros.control.arming import position_start_up
from rbdyn_ros.control.arming.effort_check import FASTEST, moving
from rbdyn_ros.control.arming.position_start_up import PositionTest
from rbdyn_ros.control.base.faults import Fault
from rbdyn_ros.control.base.state_kernels import LONGEST, SHORTEST
from rbdyn_ros.control.blind.endings import PAUSE
from rbdyn_ros.control.controller import Controller
from rbdyn_ros.control.laws.admittance import Admittance
from rbdyn_ros.control.laws.external_wrench import EstimatedWrench, SensedWrench
from rbdyn_ros.control.motion.tracking import ROUNDING
from rbdyn_ros.control.states.gate import SafetyGate
from rbdyn_ros.errors import RbdynError, apart, refusal
from rbdyn_ros.model.model import Model
from rbdyn_ros.nanoseconds import NANOSECONDS

#: After a fault, the position is still sent for this time after it came to rest [s].
RESTING = 0.1


class PositionController(Controller):
    """Controls an arm by positions; takes the arguments of Controller.

    Attributes:
        velocity: (n,) velocity of the positions returned last [rad/s or m/s].
        wrench: source of the external wrench; None: the arm has no mode admittance.
    """

    modes = POSITION_MODES
    takes = "positions"

    def __init__(self, arm: Arm, gate: SafetyGate, settings: ControlSettings) -> None:
        super().__init__(arm, gate, settings)
        n = len(self.names)
        self._place, self.velocity = np.zeros(n), np.zeros(n)
        self._answered, self._still, self._silent = 0, 0.0, False
        self._is_blind = False  # True if the newest answer had no valid state
        self._owed = self._cycle = (
            0.0  # time of motion not yet sent, and time until the next positions [s]
        )
        self._compliance: Admittance | None = None
        self.wrench: SensedWrench | EstimatedWrench | None = None
        if settings.admittance_frame:
            self._yield_with(arm.m, None)

    def _yield_with(self, m: Model, clearance: float | None) -> None:
        """Prepare mode admittance for a Model of the arm, see Admittance."""
        given, gate = self.settings, self.gate
        frame = given.admittance_frame
        self._compliance = Admittance(
            m,
            frame,
            gate.limits,
            given.admittance_mass,
            given.admittance_damping,
            given.admittance_stiffness,
            given.admittance_deadband,
            given.admittance_axes,
            clearance,
        )
        if given.admittance_wrench == "efforts":
            includes = given.effort_includes_gravity
            self.wrench = EstimatedWrench(gate.measured, frame, gate.limits.dofs, includes)
        else:
            tool = given.tool_mass, np.ravel(given.tool_com).tolist()
            timeout = gate.settings.state_timeout
            self.wrench = SensedWrench(self.arm, frame, *tool, timeout, given.sensor_frame)
        rest = gate.measured.qpos
        self.wrench.wrench(self.arm, rest)  # compile the kernel
        self._compliance.step(rest, rest, np.zeros(6), LONGEST)
        self._compliance.begin()

    # checks before motion

    def _check_load(self) -> None:
        """Raise RbdynError unless the arm rests; the arm carries the load itself."""
        speed = float(np.abs(self.gate.measured.qvel[self._dofs]).max())
        if not speed <= FASTEST:
            raise refusal(moving(speed), "moving")

    def _check_gains(self, mode: str) -> None:
        """Raise RbdynError unless the inputs of a mode are available."""
        if mode != "admittance":
            return
        if self.wrench is None:
            text = "parameter admittance.frame is empty; name the link that yields to forces"
            raise refusal(text, "mode", mode)
        missing = self.wrench.missing(self.gate.measured.arrival or 0)
        if missing:
            raise refusal(missing, "wrench")

    def _use(self, arm: Arm) -> None:
        """Continue with another payload; the arm itself carries it."""
        self.arm = arm

    def tighten(self, *limits: float) -> None:
        """Tighten the limits; arguments and errors are those of Limits.tightened.

        Raises:
            RbdynError: an armed arm is outside the new limits.
        """
        with self._lock:
            tighter = self.gate.limits.tightened(*limits)
            if self.armed:
                tighter.check_inside(self.gate.measured.qpos)
            self.gate.use(tighter)
            if self._compliance is not None:
                self._compliance.use(tighter)

    def _begin(self) -> None:
        """Begin with the measured positions."""
        self._place[:], self.velocity[:] = self.gate.measured.qpos[self._dofs], 0.0
        self._answered, self._owed = self.gate.measured.arrival or 0, 0.0

    def _begin_test(self) -> None:
        """Begin the start-up test."""
        self._begin()
        ways, place = self._test_ways(), self.gate.measured.qpos[self._dofs]
        self._test = PositionTest(self.gate.limits, place, ways)

    def _tried(self) -> Array | None:
        """Return the positions of the start-up test or of the mode after it; None if it fails."""
        seen, step, test = self.gate.measured, self.gate.step, self._test
        assert isinstance(test, PositionTest)
        self._answered, self._is_blind = seen.arrival or 0, False
        step = self._advanced(step, self.period)
        try:
            wanted = test.advance(seen.qpos[self._dofs], seen.qvel[self._dofs], step)
            if test.done:
                self._check_gains(self.mode)  # the sensor may have failed during the test
        except RbdynError as error:
            self._end_test(str(error))
            return None
        if test.done:
            self._test, self.armed = None, True
            # start from the position sent, not from the reported position, to avoid a jump
            self._rest_here()
        return self._sent(self._passed(wanted))

    def _blend(self) -> None:
        """Do nothing: positions do not jump."""

    def _rest_here(self) -> None:
        """Come to rest from the position sent last; an arm that is not armed rests where it is."""
        whole, rate, limits = self._whole(), np.zeros(self.arm.m.nv), self.gate.limits
        if self.armed:
            whole[self._dofs], rate[self._dofs] = self._place, self.velocity
        self._tracker.stop_from(whole, rate, limits.lower, limits.upper)
        if self._compliance is not None:
            self._compliance.begin()

    def _whole(self) -> Array:
        """Return the measured positions (nv,)."""
        whole: Array = self.gate.measured.qpos.copy()
        return whole

    # the loop

    def _moves(self) -> bool:
        """Return False: checks that compare motion with efforts do not apply to positions."""
        return False

    def _answer(self) -> Array | None:
        """Return the positions for a valid state, or None if a braked arm rests."""
        seen = self.gate.measured
        if not self.armed:
            self._begin()
            self._tracker.rest_at(seen.qpos)
            return self._place
        self._answered, self._is_blind = seen.arrival or 0, False
        step = self._advanced(self.gate.step, self.period)
        if not self._faulty():
            self._tracker.advance(step)
            self._check_target()
        if self._faulty():
            return self._braked(step)
        wanted = self._tracker.target.qpos
        if self.mode == "admittance":
            wanted = self._yielding(step)
        return self._passed(wanted[self._dofs])

    def _advanced(self, passed: float, cycle: float) -> float:
        """Return the time by which the motion advances after `passed` seconds [s].

        The driver reaches the next positions within a cycle [s], so the motion advances by at most
        a cycle. After a pause of the states the motion stays late.
        """
        self._cycle = passed if math.isnan(cycle) else cycle
        self._owed = min(self._owed + passed, self.gate.settings.state_timeout)
        step = min(self._owed, self._cycle)
        self._owed -= step
        return step

    def _faulty(self) -> bool:
        return self.gate.fault is not None

    def _yielding(self, step: float) -> Array:
        """Return the positions (nv,) of mode admittance after a step [s].

        Trip without a valid wrench.
        """
        assert self._compliance is not None
        assert self.wrench is not None
        seen, target, command = self.gate.measured, self._whole(), self._whole()
        target[self._dofs] = self._tracker.target.qpos[self._dofs]
        command[self._dofs] = self._place
        missing = self.wrench.missing(seen.arrival or 0)
        if missing:
            self._trip(Fault("wrench", missing))
            return command
        wrench = self.wrench.wrench(self.arm, seen.qpos)
        return self._compliance.step(target, command, wrench, step)

    def _passed(self, wanted: Array) -> Array:
        """Clip positions to the limits of position and velocity; store and return them."""
        limits, before = self.gate.limits, self._place.copy()
        if not np.isfinite(wanted).all():
            self._trip(Fault("command", "a position to be sent is not a number"))
            wanted = before
        reach = limits.velocity * self._cycle * ROUNDING
        near = np.clip(wanted, before - reach, before + reach)
        # an arm beyond a limit may only come back
        low, high = np.minimum(limits.lower, before), np.maximum(limits.upper, before)
        self._place[:] = np.clip(near, low, high)
        self.velocity[:] = (self._place - before) / self._cycle
        return self._place

    def _check_target(self) -> None:
        """Trip if the arm is too far from the positions sent, or waits for a target too long."""
        if self.settings.dry_run:
            return
        tolerance, measured = self.settings.tracking_tolerance, self.gate.measured.qpos[self._dofs]
        off = np.abs(self._place - measured)
        k = int(off.argmax())
        if tolerance > 0.0 and off[k] > tolerance:
            away, most = apart(off[k], tolerance, digits=4)
            unit = self.gate.limits.units[k]
            text = f"joint '{self.names[k]}' is {away} {unit} from the position sent"
            self._trip(Fault("tracking", f"{text}; tracking_tolerance is {most} {unit}"))
        self._judge_target(0.0)

    # after a fault

    def _prepare_stop(self) -> None:
        """Bring the positions to rest."""
        self._rest_here()
        self._still, self._silent = 0.0, False

    def _notice_pause(self, now: int) -> None:
        """Trip if this state comes too late after the state before."""
        super()._notice_pause(now)
        if self._faulty():
            self._judge_pause(now)

    def _answer_blindly(self, now: int) -> Array | None:
        """Return the next positions without a valid state, or None if the arm gets none."""
        if not self.armed or self.gate.fault is None:
            return None
        self._judge_pause(now)
        passed = min(max((now - self._answered) / NANOSECONDS, SHORTEST), LONGEST)
        cycle = passed if self._is_blind else self.period
        self._answered, self._is_blind = now, True
        return self._sent(self._braked(self._advanced(passed, cycle)))

    def _judge_pause(self, now: int) -> None:
        """Stay silent after a pause of the process: the arm may be somewhere else."""
        longest = self.gate.settings.state_timeout + self.settings.blind_time + PAUSE
        if (now - self._answered) / NANOSECONDS > longest:
            self._silent = True

    def _braked(self, step: float) -> Array | None:
        """Return the positions after a step [s] of an arm that slows down; None once it rests."""
        if self._silent:
            return None
        self._tracker.advance(step)
        if self._tracker.path is None:
            self._still += step
            self._silent = self._still > RESTING
        return self._passed(self._tracker.target.qpos[self._dofs])

    @property
    def ending(self) -> list[str]:
        """The reaction of an armed arm to a fault."""
        return ["silent" if self._silent else "braking"]

    def rehearse(self, mode: str) -> None:
        """Run every code path once with made-up states, so that everything is compiled."""
        seen, step, n = self.gate.measured, NANOSECONDS // 1000, len(self.names)
        rows = seen.qpos[self._dofs].copy(), np.zeros(n), np.zeros(n)
        for k in range(1, 4):
            self.on_state(self.names, *rows, k * step, k * step)
            self.mode, self.armed = mode, True
        with contextlib.suppress(RbdynError):
            self._test_ways()
        position_start_up.rehearse()
        self.on_watch(NANOSECONDS)
