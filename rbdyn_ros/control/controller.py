# SPDX-License-Identifier: Apache-2.0
"""Controller of an arm: modes, arming, requests and observation.

It does not depend on ROS.
"""

import contextlib
import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.control.arm.settings import EFFORT_MODES, MODES, TRACKING, ControlSettings
from rbdyn_ros.control.arming.effort_check import check_holdable, holdable
from rbdyn_ros.control.arming.start_up import StartUpTest, slides, test_ways
from rbdyn_ros.control.arming.start_up_kernels import FARTHEST
from rbdyn_ros.control.base.faults import Fault
from rbdyn_ros.control.base.state_kernels import LONGEST, SHORTEST
from rbdyn_ros.control.laws.cartesian import CartesianImpedance
from rbdyn_ros.control.laws.mode_laws import frame_law
from rbdyn_ros.control.loop import ControlLoop
from rbdyn_ros.control.motion.handover import Departure, WayIn
from rbdyn_ros.control.motion.paths import Path
from rbdyn_ros.control.states.gate import SafetyGate
from rbdyn_ros.errors import RbdynError, apart, did_you_mean, listing, quote, refusal
from rbdyn_ros.nanoseconds import NANOSECONDS


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of the arm along a path.

    Attributes:
        time: time of the state [ns].
        desired: (3, n) desired position, velocity and acceleration of the controlled joints [rad
            or m; per s; per s^2].
        actual: (2, n) measured position and velocity [rad or m; per s].
        number: number of paths that were started so far.
        done: whether no path is in progress.
        failed: reason why no path can be followed any more; empty if nothing is wrong.
    """

    time: int
    desired: Array
    actual: Array
    number: int
    done: bool
    failed: str


class Controller(ControlLoop):
    """Controls an arm: the loop, and the requests of users. Any thread may use it.

    Args:
        arm: the robot.
        gate: checks every state and every effort.
        settings: gains, tolerances and times.

    Attributes:
        active: whether the arm can be armed.
        modes: names of the modes that this arm has.
        takes: kind of the commands that the arm takes: efforts or positions.
    """

    modes: tuple[str, ...] = EFFORT_MODES
    takes = "efforts"

    def __init__(self, arm: Arm, gate: SafetyGate, settings: ControlSettings) -> None:
        super().__init__(arm, gate, settings)
        self.active = True
        self._needed: Sequence[int] = ()  # degrees of freedom, see `need`
        # acquire it before _lock: two payloads that are set at the same time must add up
        self._payload_lock = threading.Lock()
        self._rehearsal: CartesianImpedance | None = None
        self._rehearsed_arm: Arm | None = None

    # requests

    def set_mode(self, mode: str) -> None:
        """Change the mode; the joints stay where they are. Mode idle disarms.

        Raises:
            RbdynError: the mode is unknown, a fault is latched, or the gains of the mode would
                shake the arm.
        """
        with self._lock:
            if mode not in self.modes:
                raise self._no_mode(mode)
            if mode == "idle":
                self.mode = mode
                self.disarm()
                return
            self._check_no_fault()
            if mode == self.mode:
                return
            if self.armed or self.testing:
                self._check_gains(mode)
            self.mode = mode
            self._rest_here()
            self._blend()

    def _no_mode(self, mode: str) -> RbdynError:
        """Return the error of a mode that this arm does not have."""
        message = f"there is no mode {quote(mode)}{did_you_mean(mode, self.modes)}"
        if mode in MODES:
            message = f"parameter output sends {self.takes}, for which there is no mode {mode}"
        return refusal(f"{message}; the modes are {', '.join(self.modes)}", "mode", mode)

    def _check_no_fault(self) -> None:
        """Raise RbdynError if a fault is latched."""
        fault = self.gate.fault
        if fault is not None:
            raise refusal(fault.report, "fault", fault.code)

    def _check_gains(self, mode: str) -> None:
        """Raise RbdynError if states come too slowly for any mode, or for this mode's gains."""
        if math.isnan(self.period):
            return
        if self.period > LONGEST:
            rate, needed = apart(1.0 / self.period, 1.0 / LONGEST, digits=2)
            message = f"states come at {rate} Hz; {needed} Hz or more are needed"
            raise refusal(message, "gains", "states")
        seen, limits = self.gate.measured, self.gate.limits
        self._modes.check_gains(mode, seen.qpos, self.period, limits)

    def _rest_here(self) -> None:
        """Hold the present position; a moving arm is decelerated."""
        seen, limits = self.gate.measured, self.gate.limits
        self._tracker.stop_from(seen.qpos, seen.qvel, limits.lower, limits.upper)
        self._modes.rest_at(seen.qpos)

    def _blend(self) -> None:
        """Start from the efforts sent last, so that the efforts do not jump."""
        if self.armed:
            self.gate.begin(self.gate.effort)

    def try_arm(self, now: int) -> None:
        """Arm: send efforts to the robot from now on.

        With settings.start_up_test the arm is tested first. `testing` is then true until the arm
        is armed, or until the test fails: `failed_test` gives the reason.

        Args:
            now: steady clock [ns].

        Raises:
            RbdynError: something is wrong with the mode, the states, the measured efforts, the
                gains or the load; other nodes command the arm; or a fault is latched.
        """
        with self._lock:
            if self.armed:
                self._check_no_fault()
                return
            if self.testing:
                return
            self._check_ready(now)
            self.failed_test = ""
            if self.needs_test:
                self._begin_test()
                return
            self._begin_armed()

    def _begin_armed(self) -> None:
        """Command the arm from now on."""
        self._rest_here()
        self._begin()
        self.armed = True

    def _begin(self) -> None:
        """Begin with the efforts that hold the arm according to the model.

        Measured efforts may be wrong by an unknown amount. If the model is wrong, the arm moves as
        it would a little later under the law of the mode.
        """
        self.gate.begin(self._effort_check.holding()[self._dofs])
        self._remember_start()

    def _begin_test(self) -> None:
        """Begin the start-up test."""
        self._begin()
        self._test = self._made_test(self._test_ways())

    def _test_ways(self) -> Array:
        """Return the displacements (n,) of a start-up test here; raise the errors of test_ways."""
        limits = self.gate.limits
        return test_ways(limits, self.gate.measured.qpos, slides(self.arm, limits))

    def _made_test(self, ways: Array) -> StartUpTest:
        """Return a start-up test with the displacements `ways` (n,) that begins here."""
        settings = self.settings
        return StartUpTest(
            self.arm,
            self.gate.limits,
            self.gate.measured.qpos,
            self._effort_check.holding(),
            LONGEST if math.isnan(self.period) else self.period,
            settings.start_up_tolerance,
            not settings.arm_without_effort,
            ways,
        )

    def _remember_start(self) -> None:
        """Begin to compare the motion with the efforts sent."""
        self._blind.begin()
        self.gate.s.held = 0.0

    @property
    def needs_test(self) -> bool:
        """True if the arm would be tested before it is armed."""
        chosen = self.settings
        busy = self.armed or self.testing
        return chosen.start_up_test and not (chosen.dry_run or busy)

    def check_tested(self) -> None:
        """Raise RbdynError if the last start-up test has failed, or was ended by a request."""
        with self._lock:
            if self.failed_test:
                raise refusal(self.failed_test, "start-up")
            if not (self.armed or self.testing):
                raise refusal("the arm was disarmed during the start-up test", "not-armed")

    def _check_ready(self, now: int) -> None:
        """Raise RbdynError unless the arm may be armed now."""
        if not self.active:
            raise refusal("the controller is not active", "not-active")
        self._check_no_fault()
        if self.mode == "idle":
            message = f"the mode is idle; choose one of {', '.join(self.modes[1:])} first"
            raise refusal(message, "mode", self.mode)
        if self.rivals is not None:
            raise refusal(self.rivals.advice, "rivals")
        wrong = self.gate.watch(now) or self._wrong
        if wrong is not None:
            others = ", ".join(map(quote, self._strangers[:5]))
            first = self.gate.measured.arrival is None and others
            hint = f"; there are states of {others}" if first else ""
            # the stamps count as late until clear_fault restarts their comparison
            if wrong.code == "latency":
                hint = "; if their sender stalled, call clear_fault"
            raise refusal(replace(wrong, text=wrong.text + hint).advice, "state", wrong.code)
        self._check_load()
        self._check_gains(self.mode)

    def _check_load(self) -> None:
        """Raise RbdynError unless the arm rests and carries the load of its model."""
        self._effort_check.check()
        check_holdable(self.arm, self.gate.limits, self.gate.measured.qpos)

    def disarm(self) -> None:
        """Stop sending efforts at once."""
        with self._lock:
            self.armed, self._test = False, None

    def clear_fault(self) -> None:
        """Clear a fault and disarm.

        Without a fault, an armed arm stays armed, and a start-up test continues.
        """
        with self._lock:
            if (self.armed or self.testing) and self.fault is None:
                return  # to disarm would stop the efforts in the middle of a motion
            self.disarm()
            self.failed_test = ""
            self.gate.clear()

    def departure(self, ahead: float = 0.0) -> Departure:
        """Return the target after `ahead` [s], or at the end of its motion if that is earlier."""
        with self._lock:
            return self._tracker.departure(ahead)

    def way_into(self, path: Path, begun: int | None = None, ahead: float = 0.0) -> WayIn:
        """Return the transition of the target into a path, which begins in `ahead` seconds.

        Args:
            path: the path, which starts at its time 0.
            begun: time of the state at which the path starts [ns]; None: at the departure.
            ahead: time until the target leaves its motion [s].

        Raises:
            RbdynError: the path has other joints.
        """
        with self._lock:
            since = None
            if begun is not None:
                since = (self.gate.measured.time - begun) / NANOSECONDS
            return self._tracker.way_into(path, self.gate.limits.velocity, since, ahead)

    def follow_path(self, path: Path, begun: int | None = None, way: WayIn | None = None) -> bool:
        """Follow a path of the controlled joints, in their order.

        Args:
            path: the path, which starts at its time 0.
            begun: time of the state at which the path starts [ns]; None: the path starts now.
            way: transition of the target into the path; None: the transition starts at the present
                target.

        Returns:
            True if the target follows; False if it no longer reaches the start of the transition.

        Raises:
            RbdynError: the arm is not armed, its mode follows no paths, or for the reasons of
                PathTracker.follow.
        """
        with self._lock:
            self.check_following()
            if way is not None and not self._tracker.leads_to(way.departure):
                return False
            limits, tolerance = self.gate.limits, self.settings.start_tolerance
            self._tracker.follow(path, limits, tolerance, way or self.way_into(path, begun))
            return True

    def check_following(self) -> None:
        """Raise RbdynError unless the arm is armed in a mode that follows paths."""
        if self.mode not in TRACKING:
            able = " or ".join(mode for mode in self.modes if mode in TRACKING)
            raise refusal(
                f"the mode is {self.mode}; trajectories need mode {able}", "mode", self.mode
            )
        if self.mode == "impedance" and self.settings.frame:
            frame = self.settings.frame
            message = (
                f"impedance.frame is '{frame}', so mode impedance takes poses, not trajectories"
            )
            raise refusal(message, "mode", frame)
        self._check_armed()
        self._check_measured()

    def need(self, dofs: Sequence[int]) -> None:
        """Refuse paths and poses until messages have named the joints of these dofs."""
        self._needed = tuple(dofs)

    def unmeasured(self, dofs: Sequence[int]) -> dict[str, float]:
        """Return the joints of `dofs` that no message has named, with their assumed positions."""
        seen, m = self.gate.measured, self.arm.m
        unknown = [dof for dof in dofs if not seen.known[dof]]
        return {m.jnt_names[m.dof_jntid[dof]]: float(seen.qpos[dof]) for dof in unknown}

    def _check_measured(self) -> None:
        """Raise RbdynError if the position of a needed joint is not known."""
        for name in self.unmeasured(self._needed):
            message = (
                f"no message on joint_states has named joint '{name}' yet: the arm might touch "
                "parts that this joint moves. Publish the position of the joint, if need be in a "
                "separate message, or make the joint fixed in the robot file"
            )
            raise refusal(message, "unmeasured", name)

    @property
    def ending(self) -> list[str]:
        """The reaction of an arm to a fault, and the reason if braking was given up."""
        reason = self._blind.reason
        return [self._blind.phase, *([reason] if reason else [])]

    def _check_armed(self) -> None:
        """Raise RbdynError unless the arm is armed and has no fault."""
        if not self.armed:
            what = f": {self._test.what}" if self._test is not None else ""
            raise refusal(f"the arm is not armed{what}", "not-armed")
        self._check_no_fault()

    def stop_following(self) -> None:
        """Decelerate the target and hold it."""
        with self._lock:
            self._tracker.stop(self.gate.limits.lower, self.gate.limits.upper)

    def set_pose(self, pose: Array) -> None:
        """Set the desired pose of mode impedance (4, 3): rows of a rotation matrix, then position.

        Raises:
            RbdynError: the arm is not armed, its mode has no pose, or for the reasons of
                ModeLaws.checked_pose.
        """
        with self._lock:
            pose = self._checked_pose(pose)
            self._modes.set_pose(pose, self.gate.measured.qpos)

    def rehearsed(self, pose: Array) -> Path:
        """Return the motion of the controlled joints to a pose, predicted with the model.

        It takes milliseconds, or longer if the arm comes to rest slowly. Meanwhile the loop still
        answers states. Only one thread at a time may call it.

        Raises:
            RbdynError: for the reasons of set_pose, or the motion takes too long.
        """
        with self._lock:
            pose = self._checked_pose(pose)
            seen, posture, arm = self.gate.measured, self._modes.posture, self.arm
            qpos, qvel = seen.qpos.copy(), seen.qvel.copy()
        if self._rehearsal is None:
            self._rehearsal = frame_law(arm.twin(), self.settings)
        elif self._rehearsed_arm is not arm:
            self._rehearsal.use(arm.twin())
        self._rehearsed_arm = arm
        return self._rehearsal.rehearsed(qpos, qvel, pose, posture, self._dofs)

    def _checked_pose(self, pose: Array) -> Array:
        """Check a pose and return it; raise RbdynError if the arm cannot move to it now."""
        if self.mode != "impedance":
            raise refusal(
                f"the mode is {self.mode}; a pose needs mode impedance", "mode", self.mode
            )
        self._check_armed()
        self._check_measured()
        return self._modes.checked_pose(pose, self.gate.measured.qpos)

    def set_payload(
        self, link: str, mass: float, com: Sequence[float], inertia: Sequence[float]
    ) -> None:
        """Fix a rigid body to a link, see Arm.with_payload.

        An armed arm accepts it only at rest, and only if the measured efforts agree with it.

        Raises:
            RbdynError: for the reasons of Arm.with_payload, or the armed arm moves, measures
                efforts that disagree, or could not be held with the payload.
        """
        with self._payload_lock:
            arm = self.arm.with_payload(link, mass, com, inertia)  # slow, so not under _lock
            with self._lock:
                self._use(arm)

    def _use(self, arm: Arm) -> None:
        """Continue with another payload.

        Raise RbdynError during the start-up test, and if an armed arm cannot hold the payload or
        its measured efforts contradict it.
        """
        limits, qpos = self.gate.limits, self.gate.measured.qpos
        if self.testing:
            raise refusal("a payload cannot be set during the start-up test", "testing")
        if self.armed:
            if holdable(self.arm, limits, qpos):
                check_holdable(arm, limits, qpos)
            self._effort_check.check_payload(arm)
        self.arm = arm
        for part in (self._modes, self._effort_check, self._blind):
            part.use(arm)
        self._use_arm()
        self._blend()

    def tighten(self, *limits: float) -> None:
        """Tighten the limits; the arguments are those of Limits.tightened.

        Raises:
            RbdynError: for the reasons of Limits.tightened; or the arm is armed or under test, and
                is outside the new limits or could not be held within them.
        """
        with self._lock:
            gate = self.gate
            tighter = gate.limits.tightened(*limits)
            if self.armed or self.testing:
                tighter.check_inside(gate.measured.qpos)
                check_holdable(self.arm, tighter, gate.measured.qpos)
            gate.use(tighter)
            self._blind.tighten(tighter)

    def rehearse(self, mode: str) -> None:
        """Run every code path once with made-up states, so that everything is compiled."""
        seen, step = self.gate.measured, NANOSECONDS // 1000
        rows = seen.qpos[self._dofs].copy(), np.zeros(len(self.names)), np.zeros(len(self.names))
        path = Path([0.5, 1.0], np.array([rows[0], rows[0]]))
        ignored = contextlib.suppress(RbdynError)
        with ignored:
            self._effort_check.check()
        self.mode, self.armed = mode, True
        for k in range(1, 4):
            self.on_state(self.names, *rows, k * step, k * step)
        self._rehearse_test()
        with ignored:
            self._check_gains(mode)
        self._rest_here()
        with ignored:
            self._tracker.follow(path, self.gate.limits, 1.0)
        if mode == "impedance" and self.settings.frame:
            with ignored:
                self.rehearsed(self._modes.pose)
        self.on_state(self.names, *rows, 4 * step, 4 * step)
        self._coast(4 * step)
        self.on_watch(NANOSECONDS)
        self.on_state(self.names, *rows, 5 * step, 5 * step)

    def _rehearse_test(self) -> None:
        """Call the functions of the start-up test once, even if no joint has room for a test."""
        with contextlib.suppress(RbdynError):
            self._test_ways()
        gate, seen = self.gate, self.gate.measured
        self._begin()
        test = self._made_test(np.full(len(self.names), FARTHEST))
        test.advance(seen.qpos, seen.qvel, seen.effort, self._holding, gate.effort, SHORTEST)

    # observation

    @property
    def fault(self) -> Fault | None:
        """The latched fault, or None."""
        return self.gate.fault

    @property
    def gains(self) -> tuple[Array, Array]:
        """Position gain [1/s^2] and velocity gain [1/s] of computed torque, (nv,) each."""
        return self._modes.gains

    @property
    def effort_limits(self) -> Array:
        """Effort limits (nv,) [N m or N]; infinite for joints that are not controlled."""
        limits = np.full(self.arm.m.nv, np.inf)
        limits[self._dofs] = self.gate.limits.effort
        return limits

    def measured(self) -> tuple[Array, Array, int] | None:
        """Return qpos, qvel and the time [ns] of the newest state, or None before the first."""
        with self._lock:
            seen = self.gate.measured
            if seen.arrival is None:
                return None
            return seen.qpos.copy(), seen.qvel.copy(), seen.time

    def progress(self) -> Progress:
        """Return the progress along the present path."""
        with self._lock:
            seen, path = self.gate.measured, self._tracker
            failed = ""
            if not self.armed:
                failed = "the arm was disarmed"
            if self.gate.fault is not None:
                failed = self.gate.fault.report
            elif self.mode not in TRACKING:
                failed = failed or f"the mode is {self.mode}"
            actual = np.array([seen.qpos[self._dofs], seen.qvel[self._dofs]])
            return Progress(seen.time, path.rows, actual, path.number, path.path is None, failed)

    def status(self) -> str:
        """Return one line: the mode, whether the arm is armed, and the fault."""
        with self._lock:
            armed = "armed" if self.armed else "disarmed"
            words = [self.mode, f"{armed} (dry run)" if self.settings.dry_run else armed]
            words += [self._test.what] if self._test is not None else []
            words += [self.failed_test] if self.failed_test else []
            if self.armed and self.untested:
                words.append(f"not tested, because friction holds them: {listing(self.untested)}")
            if self.gate.fault is not None:
                words.append(f"fault {self.gate.fault.code}: {self.gate.fault.report}")
                words += self.ending if self.armed else ["silent"]
            return "; ".join(words)
