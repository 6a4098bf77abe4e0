"""A controlled arm: its mode, whether it is armed, and how it ends when something is wrong.

States go in, efforts come out; between them are a law and the safety gate. Nothing of ROS here.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control.arm import Arm
from rbdyn_ros.control.arming import EffortCheck, too_heavy
from rbdyn_ros.control.endings import Ending
from rbdyn_ros.control.following import Following
from rbdyn_ros.control.gate import NANOSECONDS, Fault, SafetyGate
from rbdyn_ros.control.gate_kernels import LONGEST, SHORTEST
from rbdyn_ros.control.limits import Limits
from rbdyn_ros.control.mode_laws import ModeLaws
from rbdyn_ros.control.paths import Path
from rbdyn_ros.control.settings import FOLLOWING, MODES, Settings
from rbdyn_ros.errors import RbdynError, did_you_mean, quote


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the arm is on its way.

    Attributes:
        time: of the state [ns].
        desired: (3, n) position, velocity, acceleration of the controlled joints.
        actual: (2, n) position, velocity.
        number: of the path that was begun last; they are counted.
        done: nothing is in progress.
        failed: why nothing will be any more; empty if all is well.
    """

    time: int
    desired: Array
    actual: Array
    number: int
    done: bool
    failed: str


class Controller:
    """Controls an arm; every method may be called from any thread.

    Methods that ask for something return why it is refused, or an empty string.

    Args:
        arm: the robot.
        gate: what every state and every effort has to pass.
        settings: see there.

    Attributes:
        mode: one of MODES.
        active: states are answered; otherwise nothing can be armed.
        armed: efforts go to the robot (in a dry run they would).
        sending: those that were returned last do.
        states, refused: messages taken and refused so far.
    """

    def __init__(self, arm: Arm, gate: SafetyGate, settings: Settings) -> None:
        self.arm, self.gate, self.settings = arm, gate, settings
        self.names = gate.limits.names
        self.mode, self.active = "idle", True
        self.armed = self.sending = False
        self.states = self.refused = 0
        self._dofs = gate.limits.dofs
        self._others = np.setdiff1d(np.arange(arm.m.nv), self._dofs)
        self._modes = ModeLaws(arm, settings)
        self._following = Following(arm.m.nv, self._dofs, self.names)
        self._check = EffortCheck(arm, gate.limits, settings)
        self._ending = Ending(arm, settings, self._others)
        self._holding, self._returned = np.zeros(arm.m.nv), np.zeros(len(self.names))
        self._period = math.nan  # of the states [s]
        self._wrong: Fault | None = None  # with the newest state
        self._strangers: Sequence[str] = ()  # that a message was about which is not of the arm
        self._lock = threading.RLock()
        self._payload_lock = threading.Lock()  # taken before the other: payloads add up

    # the loop

    def on_state(
        self,
        names: Sequence[str],
        position: Array,
        velocity: Array,
        effort: Array,
        stamp: int,
        arrival: int,
    ) -> Array | None:
        """Take a state; return the efforts that answer it (n,), or None if there are none.

        Arguments as SafetyGate.admit. The next call of this or of on_watch overwrites the array.
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
            self._check.add(self.gate.measured, dt)
            self._average(self.gate.step)
            return None if self.mode == "idle" else self._sent(self._answer(dt))

    def _average(self, step: float) -> None:
        """Learn the period of the states, from all but the first."""
        if math.isnan(self._period):
            self._period = step if step > SHORTEST else math.nan
        else:
            self._period += 0.02 * (step - self._period)

    def _sent(self, effort: Array | None) -> Array | None:
        """Return a copy that requests of other threads leave alone."""
        if effort is None:
            return None
        self._returned[:] = effort
        self.sending = self.armed and not self.settings.dry_run
        return self._returned

    def _answer(self, dt: float) -> Array | None:
        """Return efforts for a good state."""
        seen = self.gate.measured
        self.arm.without_own(self.arm.gravity_effort(seen.qpos, self._holding), seen.qpos)
        if self.armed and self.gate.fault is not None:
            wanted = self._ending.seeing(seen.qpos, seen.qvel, dt)
            return None if wanted is None else self.gate.release(wanted, self._holding, dt)
        if self.armed:
            self._following.advance(dt)
            self._judge_target()
        else:
            self._following.rest_at(seen.qpos)
        target = self._following.target
        target.let_go(self._others, seen.qpos, seen.qvel)  # or they would pull at the others
        wanted = self._modes.effort(self.mode, seen.qpos, seen.qvel, target)
        effort = self.gate.release(wanted, self._holding, dt)
        if self.gate.unfit is not None:
            self._trip(self.gate.unfit)
        return effort

    def _judge_target(self) -> None:
        """Trip if the arm is too far from its target, or has had none for too long."""
        settings, seen = self.settings, self.gate.measured
        if settings.dry_run:  # the arm does not follow
            return
        if self.mode in ("hold", "computed_torque") and settings.tracking_tolerance > 0.0:
            off = np.abs(self._following.target.qpos - seen.qpos)[self._dofs]
            k = int(off.argmax())
            if off[k] > settings.tracking_tolerance:
                text = f"joint '{self.names[k]}' is {off[k]:.4g} from where it should be"
                allowed = f"tracking_tolerance is {settings.tracking_tolerance:g}"
                self._trip(Fault("tracking", f"{text}; {allowed}"))
        if settings.target_timeout < self._following.idle < math.inf and settings.target_timeout:
            text = f"no new target for {settings.target_timeout:g} s"
            self._trip(Fault("target", text))

    def on_watch(self, now: int, dt: float) -> Array | None:
        """Look whether states come; return efforts without a state, or None.

        To be called often, whether states come or not.

        Args:
            now: on the steady clock [ns].
            dt: since the last call [s].
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

    def _trip(self, fault: Fault) -> None:
        if self.armed and self.gate.fault is None:
            self.gate.trip(fault)
            self._ending.begin()

    # what is asked for

    def set_mode(self, mode: str) -> str:
        """Change the mode; the joints stay where they are. idle disarms."""
        with self._lock:
            if mode not in MODES:
                return f"there is no mode '{mode}'{did_you_mean(mode, MODES)}"
            if mode == "idle":
                self.mode, self.armed = mode, False
                return ""
            if self.gate.fault is not None:
                return f"{self.gate.fault.text}; clear_fault first"
            if mode == self.mode:
                return ""
            why = self._why_shaky(mode) if self.armed else ""
            if not why:
                self.mode = mode
                self._rest_here()
                self._blend()
            return why

    def _why_shaky(self, mode: str) -> str:
        if math.isnan(self._period):
            return ""
        if self._period > LONGEST:
            return f"states come at {1.0 / self._period:.0f} Hz; {1.0 / LONGEST:.0f} Hz are needed"
        seen, limits = self.gate.measured, self.gate.limits
        return self._modes.why_shaky(mode, seen.qpos, self._period, limits)

    def _rest_here(self) -> None:
        """Begin where the arm is; if it moves it may slow down."""
        seen, limits = self.gate.measured, self.gate.limits
        self._following.run_out(seen.qpos, seen.qvel, limits.lower, limits.upper)
        self._modes.rest_at(seen.qpos)

    def _blend(self) -> None:
        """Let what comes now take over without a jump."""
        if self.armed:
            self.gate.begin(self.gate.effort)

    def try_arm(self, now: int) -> str:
        """Let efforts go to the robot, if everything is right; `now` on the steady clock [ns]."""
        with self._lock:
            if self.armed:
                fault = self.gate.fault
                return "" if fault is None else f"{fault.text}; clear_fault first"
            why = self._why_not_arm(now)
            if why:
                return why
            self._rest_here()
            self.gate.begin(self._check.command()[self._dofs])
            self.armed = True
            return ""

    def _why_not_arm(self, now: int) -> str:
        if not self.active:
            return "the controller is not active"
        if self.gate.fault is not None:
            return f"{self.gate.fault.text}; clear_fault first"
        if self.mode == "idle":
            return f"the mode is idle; choose one of {', '.join(MODES[1:])} first"
        wrong = self.gate.watch(now) or self._wrong
        if wrong is not None:
            others = ", ".join(map(quote, self._strangers[:5]))
            first = self.gate.measured.arrival is None and others
            return f"{wrong.text}; there are states of {others}" if first else wrong.text
        why = self._check.why_not() or self._why_shaky(self.mode)
        return why or too_heavy(self.arm, self.gate.limits, self.gate.measured.qpos)

    def disarm(self) -> str:
        """Let no effort go to the robot any more, at once."""
        with self._lock:
            self.armed = False
            return ""

    def clear_fault(self) -> str:
        """Forget a fault; the arm stays disarmed."""
        with self._lock:
            self.armed = False
            self.gate.clear()
            return ""

    def follow_path(self, path: Path, begun: int | None = None) -> str:
        """Follow a path of the controlled joints, in their order.

        Args:
            path: its time 0 is when it begins.
            begun: time of the state that is [ns]; None: now.
        """
        with self._lock:
            why = self._why_not_follow()
            fastest, tolerance = self.gate.limits.velocity, self.settings.start_tolerance
            since = 0.0 if begun is None else (self.gate.measured.time - begun) / NANOSECONDS
            since = min(max(since, 0.0), LONGEST)  # what judging it took, and no jump
            return why or self._following.follow(path, fastest, tolerance, since)

    def _why_not_follow(self) -> str:
        if self.mode not in FOLLOWING:
            return f"the mode is {self.mode}; trajectories need {' or '.join(FOLLOWING)}"
        if self.mode == "impedance" and self.settings.frame:
            return f"the pose of '{self.settings.frame}' is controlled, not the joints"
        return self._why_still()

    def _why_still(self) -> str:
        """Return why nothing that is asked for moves the arm, or nothing."""
        if not self.armed:
            return "the arm is not armed"
        return self.gate.fault.text if self.gate.fault is not None else ""

    def stop_following(self) -> None:
        """Stay where the target is now."""
        with self._lock:
            self._following.stop(self.gate.limits.lower, self.gate.limits.upper)

    def set_pose(self, pose: Array) -> str:
        """Move the pose that mode impedance controls (4, 3): three rows of R, then p."""
        with self._lock:
            if self.mode != "impedance":
                return f"the mode is {self.mode}; a pose needs impedance"
            why = self._why_still()
            return why or self._modes.set_pose(pose, self.gate.measured.qpos)

    def set_payload(
        self, link: str, mass: float, com: Sequence[float], inertia: Sequence[float]
    ) -> str:
        """Count with a rigid body at a link, see Arm.with_payload."""
        with self._payload_lock:
            try:
                arm = self.arm.with_payload(link, mass, com, inertia)  # takes time: unlocked
            except RbdynError as error:
                return str(error)
            with self._lock:
                return self._use(arm)

    def _use(self, arm: Arm) -> str:
        """Go on with another payload, unless an armed arm could not be held with it."""
        why = too_heavy(arm, self.gate.limits, self.gate.measured.qpos) if self.armed else ""
        if why and not too_heavy(self.arm, self.gate.limits, self.gate.measured.qpos):
            return why
        self.arm = arm
        for part in (self._modes, self._check, self._ending):
            part.use(arm)
        self._blend()
        return ""

    def tighten(self, effort_scale: float, velocity_scale: float, inset: float) -> str:
        """Tighten the limits, see Limits.tightened, unless an armed arm would not stand it."""
        with self._lock:
            gate = self.gate
            try:
                tighter = gate.limits.tightened(effort_scale, velocity_scale, inset)
            except RbdynError as error:
                return str(error)
            why = self._why_not_within(tighter) if self.armed else ""
            if not why:
                gate.tighten(effort_scale, velocity_scale, inset)
            return why

    def _why_not_within(self, limits: Limits) -> str:
        """Return why the arm cannot be where it is with these limits, or nothing."""
        qpos = self.gate.measured.qpos
        place = qpos[self._dofs]
        for k in np.flatnonzero((place < limits.lower) | (place > limits.upper))[:1]:
            return (
                f"joint '{self.names[k]}' is at {place[k]:.4g}; with position_inset "
                f"{limits.inset:g} its limits would be {limits.lower[k]:.4g} and "
                f"{limits.upper[k]:.4g}"
            )
        return too_heavy(self.arm, limits, qpos)

    def rehearse(self, mode: str) -> None:
        """Go through everything once with made up states: whatever compiles has done so then."""
        seen, step = self.gate.measured, NANOSECONDS // 1000
        rows = seen.qpos[self._dofs].copy(), np.zeros(len(self.names)), np.zeros(len(self.names))
        self._check.why_not()
        self.mode, self.armed = mode, True
        for k in range(1, 4):
            self.on_state(self.names, *rows, k * step, k * step)
        self._why_shaky(mode)
        self._rest_here()
        path = Path([0.5, 1.0], np.array([rows[0], rows[0]]))
        self._following.follow(path, self.gate.limits.velocity, 1.0)
        self.on_state(self.names, *rows, 4 * step, 4 * step)
        self.on_watch(NANOSECONDS, 0.01)
        self.on_state(self.names, *rows, 5 * step, 5 * step)

    # what can be seen

    @property
    def fault(self) -> Fault | None:
        """What is latched."""
        return self.gate.fault

    @property
    def gains(self) -> tuple[Array, Array]:
        """Stiffness and damping of computed torque, (nv,) each."""
        return self._modes.gains

    @property
    def effort_limits(self) -> Array:
        """Of all degrees of freedom (nv,); infinite where a joint is not controlled."""
        limits = np.full(self.arm.m.nv, np.inf)
        limits[self._dofs] = self.gate.limits.effort
        return limits

    def measured(self) -> tuple[Array, Array, int] | None:
        """Return qpos, qvel and the time [ns] of the newest state; None: there is none."""
        with self._lock:
            seen = self.gate.measured
            if seen.arrival is None:
                return None
            return seen.qpos.copy(), seen.qvel.copy(), seen.time

    def progress(self) -> Progress:
        """Return how far the arm is."""
        with self._lock:
            seen, path = self.gate.measured, self._following
            failed = ""
            if not self.armed:
                failed = "the arm was disarmed"
            if self.gate.fault is not None:
                failed = self.gate.fault.text
            elif self.mode not in FOLLOWING:
                failed = failed or f"the mode is {self.mode}"
            actual = np.array([seen.qpos[self._dofs], seen.qvel[self._dofs]])
            return Progress(seen.time, path.rows, actual, path.number, path.path is None, failed)

    def status(self) -> str:
        """Return mode, whether armed, and what is wrong, in one line."""
        with self._lock:
            armed = "armed" if self.armed else "disarmed"
            words = [self.mode, f"{armed} (dry run)" if self.settings.dry_run else armed]
            if self.gate.fault is not None:
                words.append(f"fault {self.gate.fault.code}: {self.gate.fault.text}")
                words.append(self._ending.state if self.armed else "silent")
            return "; ".join(words)
