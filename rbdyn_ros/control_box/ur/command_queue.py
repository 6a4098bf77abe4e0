# SPDX-License-Identifier: Apache-2.0
"""The registers of ur_rtde's control script, and the queue of a command's steps."""

from collections import deque
from collections.abc import Callable

import numpy as np

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.control_box.ur.moves import Move
from rbdyn_ros.control_box.ur.robot import ArmProgram, UrRobot
from rbdyn_ros.control_box.ur.scripts import CALLS_PER_CYCLE, Call
from rbdyn_ros.control_box.ur.statements import line_move, stop

#: Answers in output register 0.
READY, DONE = 1, 2
#: Registers of a matrix (6, 6), column by column.
MATRIX = [*range(24), *range(36, 48)]
#: A step of a queue: it returns the motion that must end before the next step.
Step = Callable[[UrRobot], Move | None]


class CommandQueue(ArmProgram):
    """The base of commands: registers with an offset, and a queue of motions.

    Args:
        offset: number of the first register.
        path: the calls of the path that was uploaded with the script.

    Attributes:
        path: the argument.
        watch: (3,) direction of a contact that is watched, or None.
        free_first: whether the tool must be free before the contact.
        steps: number of steps since the last contact began.
        most_silent: longest silence of the client [s]; 0: no watchdog.
        damping, gain: damping and gain of force mode.
        goal: (6,) pose of the last goal.
    """

    def __init__(self, offset: int, path: list[Call]) -> None:
        self._offset, self.path = offset, path
        self._asynchronous = False
        self._queue: deque[Step] = deque()
        self._current: Move | None = None  # the motion that the queue waits for
        self._operation = self._writes = 0
        self.watch: Array | None = None
        self.free_first, self.steps = False, 0
        self.most_silent = 0.0
        self.damping, self.gain = 0.025, 0.5
        self.goal: Array = np.zeros(6)

    def register(self, r: UrRobot, k: int) -> float:
        """Return the number that the client wrote to register k, counted from the offset."""
        return float(r.signals.in_double[k + self._offset])

    def number(self, r: UrRobot, k: int) -> int:
        """Return the integer that the client wrote to register k, counted from the offset."""
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
        """Write numbers (n,) to the output registers."""
        first = self._offset
        r.signals.out_double[first : first + len(numbers)] = numbers

    def tell_int(self, r: UrRobot, number: int, k: int = 1) -> None:
        """Write an integer to the output register of number k."""
        r.signals.out_int[k + self._offset] = number

    def tell_matrix(self, r: UrRobot, A: Array) -> None:
        """Write a matrix (6, 6) to the output registers."""
        r.signals.out_double[MATRIX] = A.T.ravel()

    @property
    def is_busy(self) -> bool:
        """Return whether steps or motions are left."""
        return bool(self._queue) or self._current is not None

    @property
    def is_blocked(self) -> bool:
        return self._current is not None and not self._asynchronous

    def go_on(self, r: UrRobot) -> None:
        """Begin the next motion when the last motion is over; report the end of the queue."""
        if self._current is not None and r.motion is self._current:
            return
        self._current = None
        for _ in range(CALLS_PER_CYCLE):
            if not self._queue:
                break
            motion = self._queue.popleft()(r)
            if motion is not None:
                r.begin(motion)
                self._current = motion
                return
        if self._queue:
            return
        if self._asynchronous:
            self.progress(r, -1)
            self._asynchronous = False
        else:
            self.tell_int(r, DONE, 0)

    def progress(self, r: UrRobot, value: int) -> None:
        """Write the progress of an asynchronous operation: 0 at its start, negative at its end."""
        self._writes = (self._writes + 1) % 128
        self._operation = (self._operation + (value == 0)) % 128
        word = self._writes << 16 | self._operation << 24
        self.tell_int(r, word + (min(value, 32767) + 32768 if value >= 0 else 0), 2)

    def stop_at_contact(self, r: UrRobot, steps: int) -> list[Step]:
        """Return steps that brake, and move back to where a contact began `steps` steps ago."""
        T = r.arm.tool_pose(r.past.joints(steps), r.F_T)
        return [lambda _: stop(3.0, of_tool=True), lambda r: line_move(r, T, 0.25, 1.2)]

    def do(self, r: UrRobot, steps: list[Step], asynchronous: bool = False) -> None:
        """Do steps one after the other, starting at rest; the steps replace all earlier steps.

        If `asynchronous`, the client does not wait for their end.
        """
        self._drop(r)
        self._asynchronous = asynchronous
        moves = r.motion is not None or bool(r.joints.v.any())
        first: list[Step] = [lambda _: stop(4.0, of_tool=False)] if moves else []
        self._queue = deque([*first, *steps])

    def stream(self, r: UrRobot, motion: Move) -> None:
        """Begin a motion that no step waits for, and drop the remaining steps."""
        self._drop(r)
        r.begin(motion)

    def _drop(self, r: UrRobot) -> None:
        """Drop the remaining steps, which ends an asynchronous operation."""
        if self._asynchronous and self.is_busy:
            self.progress(r, -1)
        self._queue.clear()
        self._current, self._asynchronous = None, False

    def move(self, r: UrRobot, make: Step) -> None:
        self.do(r, [make], asynchronous=self.number(r, 1) == 1)

    def halt(self, r: UrRobot, a: float, of_tool: bool, asynchronous: bool = False) -> None:
        """Brake with the deceleration `a` of the leading joint [rad/s^2] or of the tool [m/s^2].

        If `asynchronous`, the client does not wait for the end.
        """
        motion = stop(a, of_tool)
        self.do(r, [], asynchronous)
        self._queue = deque([lambda _: motion])

    def follow_with(self, steps: list[Step]) -> None:
        """Append steps to the queue."""
        self._queue.extend(steps)
