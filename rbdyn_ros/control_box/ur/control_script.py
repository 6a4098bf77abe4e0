# SPDX-License-Identifier: Apache-2.0
# SPDX-License-Identifier: Apache-2.0
"""The control script of ur_rtde: commands come by input registers, and are acted out.

The script is recognised by its structure: a function `process_cmd` that compares a command with
numbers, which it reads from an input register, and registers with an offset. It answers in an
output register: 1 for ready, 2 for done.
"""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.control_box.ur.commands import COMMANDS, STOP_SCRIPT, STREAMED, Step
from rbdyn_ros.control_box.ur.moves import Move
from rbdyn_ros.control_box.ur.scripts import Call, body_of, function_in, read_call
from rbdyn_ros.control_box.ur.statements import CALLS, line_move, stop

if TYPE_CHECKING:
    from rbdyn_ros.control_box.ur.robot import UrRobot

#: Answers in output register 0.
READY, DONE = 1, 2
#: Registers of a matrix (6, 6), column by column.
MATRIX = [*range(24), *range(36, 48)]


class ControlScript:
    """The script of ur_rtde on the controller.

    Args:
        offset: number of the first register.
        path: the calls of the path that was uploaded with the script.

    Attributes:
        command: the input that commands it.
        path: as given.
        watch: (3,) direction of a contact that is watched, or None.
        free_first: whether the tool must be free before it.
        steps: how many steps ago the last contact began.
        most_silent: longest silence of the client [s]; 0: no watchdog.
        damping, gain: of force mode.
        goal: (6,) pose of the last goal.
    """

    name = "rtde_control"

    def __init__(self, offset: int, path: list[Call]) -> None:
        self._offset, self.path = offset, path
        self.command = f"input_int_register_{offset}"
        self._seen = -1  # how often the command's register was written
        self._executing = self._begun = self._asynchronous = False
        self._queue: deque[Step] = deque()
        self._current: Move | None = None  # that the queue waits for
        self._operation = self._writes = 0
        self.watch: Array | None = None
        self.free_first, self.steps = False, 0
        self.most_silent = self._silent = 0.0
        self.damping, self.gain = 0.025, 0.5
        self.goal: Array = np.zeros(6)

    @staticmethod
    def read(program: str) -> ControlScript | None:
        """Return the program of a text, or None if it is none.

        Raises:
            ValueError: its path has calls that the box does not know.
        """
        _, lines = body_of(program)
        text = "\n".join(lines)
        numbers = set(map(int, re.findall(r"\bcmd == (\d+)", text)))
        offset = re.search(r"reg_offset_int\s*=\s*(?:#[^\n]*\n\s*)?(\d+)", text)
        asks = re.search(r"def\s+process_cmd\s*\(\s*cmd\s*\)", text)
        if offset is None or asks is None or not {1, 3, 9, 11, 255} <= numbers:
            return None
        calls = [read_call(line) for line in function_in(lines, "exec_move_path") or []]
        calls = [call for call in calls if call.name != "textmsg"]
        for call in calls:
            if call.name not in (*CALLS, "signal_async_progress"):
                raise ValueError(f"the box does not act out {call.name} in a path")
        return ControlScript(int(offset[1]), calls)

    # registers

    def register(self, r: UrRobot, k: int) -> float:
        """Return a number that the client wrote."""
        return float(r.signals.in_double[k + self._offset])

    def number(self, r: UrRobot, k: int) -> int:
        """Return an integer that the client wrote."""
        return int(r.signals.in_int[k + self._offset])

    def six(self, r: UrRobot, k: int = 0) -> Array:
        """Return six numbers (6,) from register k on."""
        first = k + self._offset
        return np.array(r.signals.in_double[first : first + 6])

    def ints(self, r: UrRobot, k: int) -> Ints:
        """Return six integers from register k on."""
        first = k + self._offset
        return np.array(r.signals.in_int[first : first + 6], np.int64)

    def tell(self, r: UrRobot, numbers: Array) -> None:
        """Answer numbers (n,)."""
        first = self._offset
        r.signals.out_double[first : first + len(numbers)] = numbers

    def tell_int(self, r: UrRobot, number: int, k: int = 1) -> None:
        """Answer an integer."""
        r.signals.out_int[k + self._offset] = number

    def tell_matrix(self, r: UrRobot, A: Array) -> None:
        """Answer a matrix (6, 6)."""
        r.signals.out_double[MATRIX] = A.T.ravel()

    # a tick

    def has_work(self, r: UrRobot) -> bool:
        """Whether it does something before the client asks."""
        busy = bool(self._queue) or self._current is not None
        return busy or not self._begun or self.is_asked(r)

    def is_asked(self, r: UrRobot) -> bool:
        """Whether the client commands something that it has not begun."""
        return int(r.signals.written[self._offset]) != self._seen

    @property
    def is_blocked(self) -> bool:
        """Whether it waits for the end of a motion, and its client with it."""
        return self._current is not None and not self._asynchronous

    def step(self, r: UrRobot) -> bool:
        """Go on for a tick; return whether the program is over."""
        try:
            return self._step(r)
        except ValueError as error:
            r.say(f"the control script ends: {error}")
            r.brake()
            return True

    def _step(self, r: UrRobot) -> bool:
        written = int(r.signals.written[self._offset])
        fresh, self._seen = written != self._seen, written
        if not self._begun:
            self._begun = True
            self.progress(r, -1)
            self.tell_int(r, READY, 0)
        if self._is_silent(r, fresh):
            r.say("the client is silent for longer than its watchdog allows; the program stops")
            r.brake()
            return True
        self._look_for_contact(r)
        busy = bool(self._queue) or self._current is not None
        if busy:
            self._go_on(r)
        if busy and not self._asynchronous:
            return False
        return self._serve(r, self.number(r, 0), fresh)

    def _serve(self, r: UrRobot, number: int, fresh: bool) -> bool:
        """Act out a command; return whether it ends the program."""
        if number == 0 or number in STREAMED:
            self._executing = False
            if number and fresh:
                STREAMED[number][1](self, r)
            self.tell_int(r, READY, 0)
            return False
        if self._executing:
            return False
        self._executing = True
        if number == STOP_SCRIPT:
            r.brake()
            return True
        if number not in COMMANDS:
            raise ValueError(f"there is no command {number}")
        COMMANDS[number][1](self, r)
        if not self._queue or self._asynchronous:
            self.tell_int(r, DONE, 0)
        if self._queue:
            if self._asynchronous:
                self.progress(r, 0)
            self._go_on(r)
        return False

    def _go_on(self, r: UrRobot) -> None:
        """Begin the next motion of the queue when the last one is over."""
        if self._current is not None and r.motion is self._current:
            return
        self._current = None
        while self._queue:
            motion = self._queue.popleft()(r)
            if motion is not None:
                r.begin(motion)
                self._current = motion
                return
        if self._asynchronous:
            self.progress(r, -1)
            self._asynchronous = False
        else:
            self.tell_int(r, DONE, 0)

    def progress(self, r: UrRobot, value: int) -> None:
        """Write the progress of an asynchronous operation: 0 it begins, negative it is over."""
        self._writes = (self._writes + 1) % 128
        self._operation = (self._operation + (value == 0)) % 128
        word = self._writes << 16 | self._operation << 24
        self.tell_int(r, word + (min(value, 32767) + 32768 if value >= 0 else 0), 2)

    def _is_silent(self, r: UrRobot, fresh: bool) -> bool:
        self._silent = 0.0 if fresh else self._silent + r.dt
        return 0.0 < self.most_silent < self._silent

    def _look_for_contact(self, r: UrRobot) -> None:
        if self.watch is None:
            return
        steps = r.past.contact(self.watch)
        self.free_first = self.free_first and steps > 0
        if steps > 0 and not self.free_first:
            self.watch, self.steps = None, steps
            self._asynchronous = False
            self.do(r, self.stop_at_contact(r, steps), asynchronous=True)

    def stop_at_contact(self, r: UrRobot, steps: int) -> list[Step]:
        """Stop, and go back to where a contact began."""
        T = r.arm.tool_pose(r.past.joints(steps), r.F_T)
        return [lambda _: stop(3.0, of_tool=True), lambda r: line_move(r, T, 0.25, 1.2)]

    def do(self, r: UrRobot, steps: list[Step], asynchronous: bool = False) -> None:
        """Do steps one after the other, from rest; they take the place of those before."""
        if self._asynchronous and (self._queue or self._current is not None):
            self.progress(r, -1)
        self._current, self._asynchronous = None, asynchronous
        moves = r.motion is not None or bool(r.joints.v.any())
        first: list[Step] = [lambda _: stop(4.0, of_tool=False)] if moves else []
        self._queue = deque([*first, *steps])

    def move(self, r: UrRobot, make: Step) -> None:
        self.do(r, [make], asynchronous=self.number(r, 1) == 1)

    def halt(self, r: UrRobot, a: float, of_tool: bool, asynchronous: bool = False) -> None:
        """Brake with a deceleration of the leading joint or of the tool."""
        motion = stop(a, of_tool)
        self.do(r, [], asynchronous)
        self._queue = deque([lambda _: motion])

    def follow_with(self, steps: list[Step]) -> None:
        """Do more steps after those of the queue."""
        self._queue.extend(steps)
