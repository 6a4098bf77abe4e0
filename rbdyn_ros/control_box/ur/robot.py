# SPDX-License-Identifier: Apache-2.0
"""The state machine of the arm: power, safety, programs and motions.

It uses no socket and no clock. In each tick its caller calls `observe` with the measured state,
lets clients write registers and upload programs, and calls `act` for the torques until the next
tick.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from dataclasses import replace

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control_box.laws import Torques, joint_impedance
from rbdyn_ros.control_box.paths import Stream
from rbdyn_ros.control_box.robot import REST, BoxedRobot
from rbdyn_ros.control_box.sensing import MeasuredArm
from rbdyn_ros.control_box.ur import modes
from rbdyn_ros.control_box.ur.arm import UrArm
from rbdyn_ros.control_box.ur.compliance import ClientTorque, ForceMode, Freedrive, Giving
from rbdyn_ros.control_box.ur.moves import Course, Move, StopMove, Streamed
from rbdyn_ros.control_box.ur.sensing import ToolPast, ToolSensing
from rbdyn_ros.errors import apart

#: Natural frequency of the stiff joints [rad/s].
STIFF = 100.0
#: Deceleration of a protective or emergency stop [rad/s^2].
BRAKES = 8.0
#: Rate at which the speed scaling follows the slider [1/s].
RAMP = 2.0
#: A step of the controller [s].
STEP = 2e-3
#: Most messages that wait for clients, most messages logged in a second, and longest message
#: [letters].
MOST_MESSAGES, SENTENCES, LONGEST = 100, 20, 500
#: A speed that exceeds its limit by more than this share is a violation.
TOLERANCE = 1e-2


class ArmProgram(ABC):
    """A program on the controller.

    Attributes:
        name: name in the log and at the dashboard.
        called: name in the message about its end.
        command: the input through which a client commands the program, or "".
        is_blocked: whether the program and its client wait for the end of a motion.
    """

    name: str
    command = ""

    @property
    def called(self) -> str:
        return f"program {self.name}"

    @property
    def is_blocked(self) -> bool:
        return True

    def step(self, robot: "UrRobot") -> bool:
        """Run the program for a tick; return whether it is over.

        A program that fails ends, and the arm brakes.
        """
        try:
            return self._step(robot)
        except Exception as error:  # noqa: BLE001 - no program ends the box
            reason = str(error) if isinstance(error, ValueError) else repr(error)
            robot.say(f"{self.called} ends: {reason}")
            robot.brake()
            return True

    @abstractmethod
    def _step(self, r: "UrRobot") -> bool:
        """Run the program for a tick; return whether it is over."""

    def has_work(self, r: "UrRobot") -> bool:  # noqa: ARG002
        """Return whether the program acts before a command of a client."""
        return True

    def is_asked(self, r: "UrRobot") -> bool:  # noqa: ARG002
        """Return whether the program has not yet begun the newest command of a client."""
        return False

    def awaits(self, r: "UrRobot") -> bool:  # noqa: ARG002
        """Return whether the client must send a command now, apart from streams."""
        return False


class UrRobot(BoxedRobot):
    """The state machine of the arm.

    Args:
        arm: the robot.
        dt: duration of a tick [s].
        log: called with a message about a mistake of a client, or about a stop.

    Attributes:
        arm, sensing, signals: the robot, its measurements, its registers.
        mode, safety: robot mode and safety mode.
        program: the running program, or None.
        paused: whether the program is paused.
        motion, force: the motion, and force mode during it; or None.
        F_T: the tool in the flange (4, 4).
        past: joints and forces of the last ticks.
        clock: time that continues while simulated time is stopped [s].
        joints: the desired joints.
        teaches: whether the freedrive button of the arm is pressed.
        messages: messages for clients, until they are sent.
        in_turn: whether each command of a stream lasts for its time; otherwise only the newest
            command counts.
        told: whether a client of RTDE has received the state of this tick.
        plays: whether the program that a client serves is to be played.
    """

    def __init__(self, arm: UrArm, dt: float, log: Callable[[str], object]) -> None:
        self.arm, self.dt, self._log = arm, dt, log
        self.sensing, self.signals = ToolSensing(arm), modes.Signals()
        self.mode, self.safety = modes.RobotMode.RUNNING, modes.SafetyMode.NORMAL
        self.program: ArmProgram | None = None
        self.paused = self.teaches = False
        self.motion: Move | None = None
        self.force: ForceMode | None = None
        self.F_T = np.eye(4)
        self.clock, self.scale = 0.0, 1.0
        self.tau = np.zeros(6)
        self.joints = Stream(0.5 * (arm.lower + arm.upper), period=dt)
        self._begun = False
        self._stopped_at = 0.0
        self.past = ToolPast(max(1, round(STEP / dt)))
        self.messages: list[str] = []
        self.in_turn = self.told = self.plays = False
        self._second, self._sentences = -1, 0

    def say(self, text: str, always: bool = False) -> None:
        """Log a message as `note` does, and send it to clients."""
        text = text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
        self.note(text, always)
        if len(self.messages) < MOST_MESSAGES:
            self.messages.append(text)

    def note(self, text: str, always: bool = False) -> None:
        """Log a message; drop messages beyond SENTENCES in a second unless `always` is true."""
        second = int(self.clock)
        if second != self._second:
            self._second, self._sentences = second, 0
        self._sentences += 1
        if always or self._sentences <= SENTENCES:
            self._log(text)
        elif self._sentences == SENTENCES + 1:
            self._log(f"more than {SENTENCES} messages in a second; the log leaves out the others")

    # programs

    @property
    def runtime(self) -> modes.RuntimeState:
        """The state of the program."""
        if self.program is None:
            return modes.RuntimeState.STOPPED
        return modes.RuntimeState.PAUSED if self.paused else modes.RuntimeState.PLAYING

    @property
    def _stands(self) -> bool:
        """Return whether a program is paused."""
        return self.runtime == modes.RuntimeState.PAUSED

    def start(self, program: ArmProgram) -> None:
        """Start a program, which ends the running program, or log why it does not start."""
        if self.mode != modes.RobotMode.RUNNING or self.safety != modes.SafetyMode.NORMAL:
            self.say(
                f"program {program.name} does not start: the robot is {self.mode.name}, its "
                f"safety {self.safety.name}"
            )
            return
        if self.teaches:
            self.say(f"program {program.name} does not start: somebody guides the arm by hand")
            return
        self.stop_program()
        self.program, self.paused = program, False

    def stop_program(self) -> None:
        """End the program; the arm brakes."""
        if self.program is not None:
            self.program = None
            self.brake()

    def brake(self) -> None:
        """End motions; the arm brakes and holds."""
        self.force = None
        self.begin(StopMove(BRAKES, of_tool=False))

    # motions

    def begin(self, motion: Move | None) -> None:
        """Replace the present motion by another motion; None: only end it."""
        gave = self.motion is not None and not self.motion.stiff
        if gave:  # without springs the arm is not at the desired joints
            self._hold()
        self.motion = motion

    def _hold(self) -> None:
        """Continue the desired joints from the measured joints."""
        self.joints = Stream(self.sensing.at.q, self.sensing.at.dq, self.dt)

    def protective_stop(self, reason: str) -> None:
        """Stop for a reason, such as a limit: the program ends."""
        if self.safety != modes.SafetyMode.NORMAL:
            return
        self.say(
            f"protective stop: {reason}; unlock it at the dashboard after {modes.LOCKED:g} s", True
        )
        self.safety, self._stopped_at = modes.SafetyMode.PROTECTIVE_STOP, self.clock
        self.program, self.teaches = None, False
        self.brake()

    def unlock(self) -> bool:
        """End a protective stop; return whether that is allowed now."""
        if self.safety == modes.SafetyMode.PROTECTIVE_STOP:
            if self.clock - self._stopped_at < modes.LOCKED:
                return False
            self.safety = modes.SafetyMode.NORMAL
            self.sensing.forget()
            self._hold()
            self.motion = None
        return True

    def power(self, mode: modes.RobotMode) -> None:
        """Change to a mode: switch the power, which ends the program, or release the brakes."""
        if mode != modes.RobotMode.RUNNING:
            self.program, self.teaches = None, False
            self.brake()
        elif self.mode < modes.RobotMode.IDLE or self.safety != modes.SafetyMode.NORMAL:
            return  # the brakes stay closed, so the mode stays
        self.mode = mode

    def press_user_stop(self, pressed: bool) -> None:
        """Press or release the emergency stop; after it the power is off."""
        if pressed == (self.safety == modes.SafetyMode.ROBOT_EMERGENCY_STOP):
            return
        if pressed:
            self.program, self.teaches = None, False
            self.brake()
        self.safety = modes.SafetyMode.ROBOT_EMERGENCY_STOP if pressed else modes.SafetyMode.NORMAL
        self.mode = modes.RobotMode.POWER_OFF

    def guide(self, on: bool) -> bool:
        """Begin (or end) freedrive by the arm's button; return whether that is allowed now."""
        ready = self.mode == modes.RobotMode.RUNNING and self.safety == modes.SafetyMode.NORMAL
        if not ready or self.program is not None:
            return False
        if on != self.teaches:
            self.teaches = on
            self.begin(Freedrive() if on else None)
        return True

    def reboot(self) -> None:
        """Return to the state after power-on, with released brakes, no program and no settings.

        A pressed emergency stop stays pressed, and the brakes then stay closed.
        """
        self.program, self.teaches, self.paused, self.plays = None, False, False, False
        stopped = self.safety == modes.SafetyMode.ROBOT_EMERGENCY_STOP
        self.safety = self.safety if stopped else modes.SafetyMode.NORMAL
        self.mode = self.mode if stopped else modes.RobotMode.RUNNING
        self.brake()
        self.signals, self.F_T = modes.Signals(), np.eye(4)
        self.arm.restore_gravity()
        self.arm.carry(self.arm.tool)
        self.sensing.forget()

    def restart(self) -> None:
        """Restart after the simulated arm was reset; program and protective stop end."""
        self.program, self.motion, self.force, self.teaches = None, None, None, False
        if self.safety == modes.SafetyMode.PROTECTIVE_STOP:
            self.safety = modes.SafetyMode.NORMAL
        self.arm.restore_gravity()
        self.sensing.forget()
        self._begun, self._rested = False, 0

    # a cycle

    def is_taken(self, names: Collection[str]) -> bool:
        """Return whether the last command must be executed before these inputs may change."""
        program = self.program
        if program is None or program.command not in names:
            return False
        streams = isinstance(self.motion, Streamed) and self.motion.lasts > 0.0
        return program.is_asked(self) or (streams and not self.awaits)

    @property
    def awaits(self) -> bool:
        """Return whether the newest command of a stream is over, so that the next can come."""
        if self.program is None or self.paused:
            return False
        return self.program.awaits(self) or (self.motion is not None and self.motion.waits)

    @property
    def _holds(self) -> bool:
        if self._stands:
            return self.scale == 0.0
        works = self.program is not None and self.program.has_work(self)
        return self.motion is None and self.force is None and not works

    @property
    def runs_free(self) -> bool:
        """Return whether the arm moves for a client that times its next command itself."""
        moves = self.motion is not None or self.force is not None
        waits = self.program is not None and (self.program.is_blocked or self.awaits)
        return moves and not waits and (self.program is not None or self.teaches)

    def observe(self, now: MeasuredArm, ticks: int = 1) -> None:
        """Process the state of a tick.

        Args:
            now: the state.
            ticks: number of ticks since the last call.
        """
        self.clock += ticks * self.dt
        self.sensing.take(now, self.F_T, ticks * self.dt)
        if not self._begun:
            self.joints, self._begun = Stream(now.q, period=self.dt), True
        self.past.add(now.q, self.sensing.wrench[:3])
        self._count_rest(now.dq, self.joints.v)
        if self.safety == modes.SafetyMode.NORMAL and (reason := self._violation()):
            self.protective_stop(reason)

    def _violation(self) -> str:
        """Return a message about the safety limit that the measured state violates, or ""."""
        arm, at = self.arm, self.sensing.at
        far = (at.q < arm.lower) & (at.dq < -REST) | (at.q > arm.upper) & (at.dq > REST)
        if far.any():
            return f"joint {int(np.argmax(far))} moves beyond its limit"
        fast = np.abs(at.dq) > arm.velocity * (1.0 + TOLERANCE)
        if fast.any():
            return f"joint {int(np.argmax(fast))} moves faster than its limit"
        force = float(np.linalg.norm(self.sensing.wrench[:3]))
        if force > modes.MOST_FORCE:
            found, most = apart(force, modes.MOST_FORCE, digits=4)
            return f"a force of {found} N acts on the tool; allowed are {most} N"
        away = np.abs(self.joints.x - at.q)
        if self._gives is None and (away > modes.MOST_DEVIATION).any():
            joint = int(np.argmax(away))
            return f"joint {joint} is {away[joint]:.2f} rad from its desired position"
        return ""

    @property
    def _gives(self) -> Giving | None:
        """Return the motion that computes torques, or None in a pause, when the arm is held."""
        motion = None if self._stands else self.motion
        return motion if isinstance(motion, Freedrive | ClientTorque) else None

    @property
    def course(self) -> Course:
        """The desired joints that motions move."""
        return Course(self.arm, self.joints, self.F_T, self.dt, self.scale)

    def act(self) -> Torques:
        """Run program and motion for a tick; return the torques with gravity for the tick."""
        step = RAMP * self.dt
        goal = 0.0 if self._stands else self.signals.slider
        self.scale += float(np.clip(goal - self.scale, -step, step))
        if self.program is not None and not self.paused and self.program.step(self):
            self.program = None
        self._move()
        s, torques = self.sensing.at, self._torques()
        self.tau = torques.at(s.q, s.dq)
        if not np.isfinite(self.tau).all():
            self.protective_stop("a torque is not finite")
            self._hold()
            self.brake()
            torques = Torques.of(self.sensing.gravity)
            self.tau = torques.effort
        return torques

    def _torques(self) -> Torques:
        s = self.sensing.at
        if (motion := self._gives) is not None:
            self.joints.begin(s.q)
            torques = Torques.of(motion.torque(s))
        else:
            j = self.joints
            torques = joint_impedance(s, STIFF**2 * np.diag(s.M), j.x, j.v, j.a)
        return replace(torques, effort=torques.effort + self.sensing.gravity)

    def _move(self) -> None:
        """Advance the desired joint positions by one tick, and stop protectively if needed."""
        course, x, v = self.course, self.joints.x, self.joints.v
        held = self._stands and self.motion is not None and not self.motion.stiff
        if self.motion is None or held:
            self.joints.begin(x)
        elif self.motion.step(course):
            self.motion = None
        if self.force is not None:
            self.force.apply(course, x, self.sensing, self._stands)
        if self._gives is None:
            self._check(x, v)

    def _check(self, x: Array, v: Array) -> None:
        """Stop protectively at x and v if joints are too fast or cannot brake before a limit."""
        if self.safety != modes.SafetyMode.NORMAL:
            return
        arm, now = self.arm, self.joints
        # all joints brake together, in the time that the fastest joint needs
        rest = now.x + now.v * np.abs(now.v).max() / (2.0 * BRAKES)
        inside = (rest >= arm.lower) | (now.v > 0.0)
        inside &= (rest <= arm.upper) | (now.v < 0.0)
        slow = np.abs(now.v) <= arm.velocity * (1.0 + TOLERANCE)
        moved = np.isfinite(now.x)
        right = (inside | (now.x == x)) & slow & moved
        if not right.all():
            self.joints = Stream(x, v, self.dt)
            joint = int(np.argmin(right))
            kind = "too fast" if not slow[joint] else "beyond its limit"
            self.protective_stop(f"the commanded joint {joint} is {kind}")
