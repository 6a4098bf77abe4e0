# SPDX-License-Identifier: Apache-2.0
"""The control script of ur_rtde, which executes commands from input registers.

The script is recognised by its structure: a function `process_cmd` that compares a command with
numbers, which it reads from an input register, and registers with an offset. It answers in an
output register: 1 for ready, 2 for done.
"""

import re

from rbdyn_ros.control_box.ur.command_queue import DONE, READY, CommandQueue
from rbdyn_ros.control_box.ur.commands import COMMANDS, STOP_SCRIPT, STREAMED
from rbdyn_ros.control_box.ur.robot import UrRobot
from rbdyn_ros.control_box.ur.scripts import Call, body_of, function_in, read_calls
from rbdyn_ros.control_box.ur.statements import CALLS

#: First registers that ur_rtde may use.
OFFSETS = (0, 24)


class ControlScript(CommandQueue):
    """The script of ur_rtde on the controller.

    Args:
        offset: number of the first register.
        path: the calls of the path that was uploaded with the script.

    Attributes:
        command: name of the input that commands the script.
    """

    name, called = "rtde_control", "the control script"

    def __init__(self, offset: int, path: list[Call]) -> None:
        super().__init__(offset, path)
        self.command = f"input_int_register_{offset}"
        self._seen = -1  # number of writes to the register of the command
        self._executing = self._begun = False
        self._silent = 0.0  # time for which the client has been silent [s]

    @staticmethod
    def read(program: str) -> "ControlScript | None":
        """Return the program of a text, or None if the text is another program.

        Raises:
            ValueError: its path has calls that the box does not support, or the offset of its
                registers is neither 0 nor 24.
        """
        _, lines = body_of(program)
        text = "\n".join(lines)
        numbers = set(map(int, re.findall(r"\bcmd == (\d+)", text)))
        offset = re.search(r"reg_offset_int\s*=\s*(?:#[^\n]*\n\s*)?(\d+)", text)
        asks = re.search(r"def\s+process_cmd\s*\(\s*cmd\s*\)", text)
        if offset is None or asks is None or not {1, 3, 9, 11, 255} <= numbers:
            return None
        first = int(offset[1])
        if first not in OFFSETS:
            raise ValueError(f"its registers begin at {first}; allowed are 0 and 24")
        calls = read_calls(function_in(lines, "exec_move_path") or [])
        calls = [call for call in calls if call.name != "textmsg"]
        for call in calls:
            if call.name not in (*CALLS, "signal_async_progress"):
                raise ValueError(f"the box does not support {call.name} in a path")
        return ControlScript(first, calls)

    # a tick

    def has_work(self, r: UrRobot) -> bool:
        return self.is_busy or not self._begun or self.is_asked(r)

    def is_asked(self, r: UrRobot) -> bool:
        return int(r.signals.written[self._offset]) != self._seen

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
        busy = self.is_busy
        if busy:
            self.go_on(r)
        if busy and not self._asynchronous:
            return False
        return self._serve(r, self.number(r, 0), fresh)

    def _serve(self, r: UrRobot, number: int, fresh: bool) -> bool:
        """Execute a command once until the client writes 0; return whether it ends the program.

        A streamed command is executed whenever it is `fresh`: just written. Raise ValueError for
        an unknown number.
        """
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
            self.go_on(r)
        return False

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
