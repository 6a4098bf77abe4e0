# SPDX-License-Identifier: Apache-2.0
"""The program external_control.urscript of ur_client_library and ur_robot_driver.

It opens three connections to its client, from which it receives modes, points and settings. Its
threads are generators here; each `yield` is a tick.

Source: ur_client_library, resources/external_control.urscript.
"""

import math
from collections.abc import Generator
from itertools import repeat
from typing import NamedTuple

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control_box.ur.arm import pose_from
from rbdyn_ros.control_box.ur.commands import GAINS, LOOKAHEADS
from rbdyn_ros.control_box.ur.compliance import ClientTorque, Freedrive
from rbdyn_ros.control_box.ur.external_script import SOCKETS, ExternalScript
from rbdyn_ros.control_box.ur.moves import Move, ServoJoints, SpeedJoints, SpeedLine
from rbdyn_ros.control_box.ur.points import too_fast
from rbdyn_ros.control_box.ur.reverse import IntegerSession
from rbdyn_ros.control_box.ur.robot import STEP, ArmProgram, UrRobot
from rbdyn_ros.control_box.ur.script_commands import COMMANDS
from rbdyn_ros.control_box.ur.scripts import CALLS_PER_CYCLE
from rbdyn_ros.control_box.ur.statements import LINE_A, LINE_V, joints, line_move
from rbdyn_ros.control_box.ur.trajectories import Flow, TrajectoryThread, halting

#: Deceleration at a contact [m/s^2], and acceleration of speedj and speedl.
CONTACT_A, SPEED_A = 3.0, 40.0
#: In lock-step, each command lasts a step if at most this many commands wait.
EARLY = 8
#: Results of the search for a contact.
CONTACT, NO_CONTACT = range(2)
#: Modes in which the client commands each step.
STREAMED = ("SERVOJ", "POSE", "SPEEDJ", "SPEEDL", "TORQUE")
RESTING = ("UNINITIALIZED", "IDLE")
#: Shortest time between two messages about the same mistake [s].
SELDOM = 5.0


class ReverseMessage(NamedTuple):
    """A message of the reverse interface.

    Attributes:
        timeout: time within which the next message must come [s]; 0: no timeout.
        numbers: (6,) integers.
        mode: name of the mode; empty: the message has none.
        number: number of the mode.
    """

    timeout: float
    numbers: tuple[int, ...]
    mode: str
    number: int


class ExternalControl(ArmProgram):
    """The program on the controller.

    Args:
        script: version of the program.

    Attributes:
        host, lines, unreachable: see CallingProgram.
        mode: name of its mode.
    """

    name, is_blocked = "externalControl", False

    def __init__(self, script: ExternalScript) -> None:
        self._script, self.host, self.unreachable = script, script.host, ""
        self._points = IntegerSession(script.point)
        self._commands = IntegerSession(script.command)
        self._reverse = IntegerSession(script.message)
        sessions = (self._points, self._commands, self._reverse)
        self.lines = [
            (called, script.ports[name], session)
            for (name, called), session in zip(SOCKETS.items(), sessions, strict=True)
        ]
        self.mode = "UNINITIALIZED"
        self._main: Flow | None = None
        self._trajectory = TrajectoryThread(script, self._points, self.name)
        self._until = math.inf  # time at which the program stops waiting for a message
        self._listens = False  # True while the program waits for a contact
        self._streams = False  # True while the client commands each step
        self._goal = np.zeros(6)  # goal of servoj
        self._age = 0  # ticks since the last command
        self._taken = 0  # messages taken in this tick
        self._watches = False  # True while the program watches for a contact
        self._complained = -math.inf

    @staticmethod
    def read(text: str) -> "ExternalControl | None":
        """Return the program of a text, or None if the text is another program.

        Raises:
            ValueError: the box does not support the version of the program.
        """
        script = ExternalScript.read(text)
        return None if script is None else ExternalControl(script)

    # queries of the robot

    def has_work(self, r: UrRobot) -> bool:
        waits = self._listens or self._trajectory.waits
        if self._main is None or self.unreachable or self._commands.rows or not waits:
            return True
        came = bool(self._reverse.rows) or not self._reverse.open or r.clock >= self._until
        return (self._listens and came) or self._trajectory.has_work(r)

    def awaits(self, r: UrRobot) -> bool:
        """Return whether the client has to send a command or a point now."""
        if not self._reverse.open or self._reverse.rows:
            return False
        return self._trajectory.awaits(r) or (self._streams and r.told)

    # a tick

    def _step(self, r: UrRobot) -> bool:
        if self.unreachable:
            raise ValueError(self.unreachable)
        for _ in range(min(len(self._commands.rows), CALLS_PER_CYCLE)):
            self._obey(r, self._commands.rows.popleft())
        if self._main is None:
            self._main = self._listen(r)
        self._taken = 0
        try:
            next(self._main)
        except StopIteration:
            r.brake()
            return True
        self._trajectory.step()
        self._extrapolate(r)
        return False

    def _extrapolate(self, r: UrRobot) -> None:
        """Move the goal of servoj on in a step without a command."""
        again = self._age > 0 and self._age % max(1, round(STEP / r.dt)) == 0
        self._age += 1
        if again and isinstance(r.motion, ServoJoints):
            self._goal = self._goal + r.joints.v * STEP
            r.motion.target = self._goal

    def _say(self, r: UrRobot, text: str) -> None:
        """Log the fault of a stream of commands, but not once for every command."""
        if r.clock >= self._complained + SELDOM:
            self._complained = r.clock
            r.say(text)

    # the main thread

    def _listen(self, r: UrRobot) -> Flow:
        timeout = 0.0  # the first message may come late
        while True:
            yield from self._until_message(r, timeout)
            if not self._reverse.rows:
                r.say(f"program {self.name} ends: {self._silence(timeout)}")
                break
            message = self._take(EARLY if r.in_turn else 0)
            if message.mode != self.mode and not (
                self.mode == "TOOL_IN_CONTACT" and self._watches
            ):
                message = yield from self._change(r, message)
            timeout = message.timeout
            if self.mode == "STOPPED":
                break
            if message.mode == self.mode:
                yield from self._act_out(r, message)
                if r.in_turn and message.mode in STREAMED:
                    yield from repeat(None, round(STEP / r.dt))
            if self._watches and self.mode != "TOOL_IN_CONTACT":
                yield from self._look_for_contact(r)
        self._streams = False  # a stopped program needs no command
        self._trajectory.kill()
        yield from halting(r)

    def _until_message(self, r: UrRobot, timeout: float) -> Flow:
        self._until = r.clock + timeout if timeout > 0.0 else math.inf
        self._listens = True
        if self._taken >= CALLS_PER_CYCLE:  # further messages wait
            yield
        while not self._reverse.rows and self._reverse.open and r.clock < self._until:
            yield
        self._listens = False

    def _silence(self, timeout: float) -> str:
        if not self._reverse.open:
            return "the client has closed the reverse interface"
        return f"no message has come by the reverse interface for {timeout:g} s"

    def _take(self, early: int = 0) -> ReverseMessage:
        """Return the next message; in a stream, skip messages while more than `early` wait."""
        rows = self._reverse.rows
        row = rows.popleft()
        self._taken += 1
        name = self._script.name("MODE_", row[-1])
        while name in STREAMED and len(rows) > early and rows[0][-1] == row[-1]:
            row = rows.popleft()
        self._streams = name in STREAMED
        return ReverseMessage(max(row[0], 0) * 1e-3, row[1:7], name, row[-1])

    def _change(
        self, r: UrRobot, message: ReverseMessage
    ) -> Generator[None, None, ReverseMessage]:
        """Change the mode as the vendor's program does; return the newest message."""
        self._check(r, message)
        if self.mode == "FORWARD":
            yield from self._trajectory.leave(r)
        elif isinstance(r.motion, Freedrive):
            r.begin(None)
        elif self.mode in STREAMED:
            for _ in halting(r):
                yield
                if self._reverse.rows and self._reverse.rows[0][-1] == message.number:
                    message = self._take()
        self.mode = message.mode
        self._goal = r.joints.x.copy()
        return message

    def _check(self, r: UrRobot, message: ReverseMessage) -> None:
        """Refuse the mode of a message if the box or the program does not support it."""
        known = (*RESTING, *STREAMED, "STOPPED", "FORWARD", "FREEDRIVE")
        if message.mode and message.mode not in known:
            raise ValueError(f"the box does not support MODE_{message.mode}")
        if not message.mode:
            self._say(r, f"program {self.name} has no mode {message.number}; the arm rests")

    def _act_out(self, r: UrRobot, message: ReverseMessage) -> Flow:
        """Execute a message of the present mode."""
        numbers = np.array(message.numbers) / self._script.scale
        if message.mode in STREAMED:
            self._stream(r, message.mode, numbers)
        elif message.mode == "FORWARD":
            yield from self._trajectory.forward(r, *message.numbers[:2])
        elif message.mode == "FREEDRIVE":
            action = self._script.name("FREEDRIVE_MODE_", message.numbers[0])
            if action == "START" and not isinstance(r.motion, Freedrive):
                r.begin(Freedrive())
            elif action == "STOP" and isinstance(r.motion, Freedrive):
                r.begin(None)

    # streams of commands

    def _stream(self, r: UrRobot, mode: str, numbers: Array) -> None:
        if mode in ("SERVOJ", "POSE"):
            q = numbers if mode == "SERVOJ" else joints(r, pose_from(numbers), self._goal)
            self._servo(r, q)
        elif mode == "TORQUE":
            torque = r.motion if isinstance(r.motion, ClientTorque) else ClientTorque()
            torque.take(np.clip(numbers, -r.arm.effort, r.arm.effort), 0.0)
            self._begin(r, torque)
        else:
            kind = SpeedJoints if mode == "SPEEDJ" else SpeedLine
            speed = r.motion if type(r.motion) is kind else kind()
            assert isinstance(speed, SpeedJoints)
            speed.take(numbers, SPEED_A, 0.0)
            self._begin(r, speed)

    def _servo(self, r: UrRobot, q: Array) -> None:
        self._age = 0
        reason = too_fast(self._goal, q, STEP)
        if reason and too_fast(r.sensing.at.q, q, STEP):
            self._say(r, f"a command of program {self.name} is ignored: {reason}")
        else:
            self._goal = q
        servo = r.motion if isinstance(r.motion, ServoJoints) else ServoJoints()
        lookahead = float(np.clip(self._script.lookahead, *LOOKAHEADS))
        servo.take(self._goal, 0.0, lookahead, float(np.clip(self._script.gain, *GAINS)))
        self._begin(r, servo)

    def _begin(self, r: UrRobot, motion: Move) -> None:
        if r.motion is not motion:
            r.begin(motion)

    # settings and contacts

    def _obey(self, r: UrRobot, row: tuple[int, ...]) -> None:
        """Execute a script command: its number, then its values."""
        known = (*COMMANDS, "START_TOOL_CONTACT", "END_TOOL_CONTACT")
        name = next((name for name in known if self._script.numbers.get(name) == row[0]), "")
        if name == "START_TOOL_CONTACT":
            self._watches = True
        elif name == "END_TOOL_CONTACT":
            if self.mode != "TOOL_IN_CONTACT":
                self._commands.tell(NO_CONTACT)
            self._watches = False
        elif name in COMMANDS:
            COMMANDS[name][1](r, np.array(row[1:]) / self._script.scale)
        else:
            r.say(f"program {self.name} has no script command {row[0]}; the box ignores it")

    def _look_for_contact(self, r: UrRobot) -> Flow:
        steps = r.past.contact(r.sensing.twist[:3])
        if steps <= 0:
            return
        self._trajectory.kill()
        if isinstance(r.motion, Freedrive):
            r.begin(None)
        T = r.arm.tool_pose(r.past.joints(steps), r.F_T)
        self.mode = "TOOL_IN_CONTACT"
        yield from halting(r, CONTACT_A, of_tool=True)
        yield from self._trajectory.clear(r)
        motion = line_move(r, T, LINE_V, LINE_A)
        r.begin(motion)
        while r.motion is motion:
            yield
        self._commands.tell(CONTACT)
