# SPDX-License-Identifier: Apache-2.0
"""Memory that a loop shares with one other process, such as a hardware component of ros2_control.

The memory is the file /dev/shm/rbdyn.NAME. This process, the server, locks the first byte of the
file; the client locks the second byte. The system releases a lock when its process ends, even if
the process is killed. So a file without a lock on its first byte is stale and can be replaced.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import re
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.errors import quote, refusal
from rbdyn_ros.model.model import Model
from rbdyn_ros.runtime import port_layout as layout
from rbdyn_ros.runtime.compiled import Words, wake_at, write_word
from rbdyn_ros.runtime.mailbox import post
from rbdyn_ros.runtime.settings import MODES_OF_TIME, LoopSettings

#: Folder of POSIX shared memory on Linux, and the beginning of its file names.
FOLDER, PREFIX = Path("/dev/shm"), "rbdyn."  # noqa: S108 - where shm_open has its files
#: Offsets of the bytes that server and client lock.
SERVER, CLIENT = 0, 1
#: End of the message about a refused joint, by the number of the reason.
REASONS = {
    layout.BAD_MODE: "has a mode that is not one of -1 to 3",
    layout.BAD_JOINT: "accepts no commands",
    layout.BAD_NUMBER: "has a number that is not finite, too large, or a negative gain",
}
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")
#: struct flock of 64-bit Linux: type, whence, start, length, process.
_FLOCK = "hhqqi4x"


class Port:
    """The shared memory of a loop. Only one thread may use it.

    Args:
        name: name of the memory: 1 to 100 letters, digits, dots, underscores and hyphens.
        m: the robot.
        joints: joints with one coordinate by name; True: the joint accepts commands.
        values: names of the sensor values.
        settings: settings of the loop.
        period_ns: length of a tick [ns].

    Attributes:
        name, joints: the arguments.
        path: path of the file.
        address: address of the table for the loop.

    Raises:
        RbdynError: a name is not allowed, another process serves this memory, or the system
            refuses to make the file.
    """

    def __init__(
        self,
        name: str,
        m: Model,
        joints: Mapping[str, bool],
        values: Sequence[str],
        settings: LoopSettings,
        period_ns: int,
    ) -> None:
        if not _NAME.fullmatch(name):
            raise refusal(
                f"the name of a shared memory is {quote(name)}; allowed are 1 to 100 letters, "
                "digits, dots, underscores and hyphens"
            )
        for long in (x for x in (*joints, *values) if len(x.encode()) >= layout.NAME):
            raise refusal(
                f"{quote(long)} is too long for shared memory: a name has at most "
                f"{layout.NAME - 1} bytes"
            )
        self.name, self.joints, self.path = name, dict(joints), FOLDER / f"{PREFIX}{name}"
        sizes = _Sizes(len(joints), len(values))
        self._file = _created(self.path, sizes.end)
        self._map = mmap.mmap(self._file, sizes.end)
        self._words = np.frombuffer(self._map, np.int64)
        self._record = np.zeros(sizes.command_stride, np.int64)
        self._table = np.zeros(layout.TABLE + 2 * len(joints), np.int64)
        self.address = self._table.ctypes.data
        self._fill(sizes, [*joints, *values])
        self._answer_timeout = settings.answer_timeout
        self._table[layout.T_ANSWER] = round(settings.answer_timeout * 1e9)
        head = {
            "period": period_ns,
            "time_mode": MODES_OF_TIME.index(settings.time_mode),
            "timeout": round(settings.command_timeout * 1e9),
        }
        for key, number in head.items():
            self._words[layout.HEAD_AT[key]] = number
        self._values = self._value_mailbox(sizes)
        self.bind(m)
        write_word(self._words, layout.HEAD_AT["magic"], layout.MAGIC)  # clients may use it now

    def _fill(self, sizes: _Sizes, names: Sequence[str]) -> None:
        """Write the head, the names and kinds of joints, and the addresses in the table."""
        words, t = self._words, self._table
        base = words.ctypes.data
        for key, number in sizes.head().items():
            words[layout.HEAD_AT[key]] = number
        words[layout.HEAD_AT["server"]] = os.getpid()
        for k, name in enumerate(names):
            start = sizes.names_at + k * layout.NAME
            self._map[start : start + len(name.encode())] = name.encode()
        kinds = words[sizes.kinds_at // 8 :]
        kinds[: sizes.joints] = list(self.joints.values())
        t[layout.T_JOINTS] = sizes.joints
        t[layout.T_STATE_VERSION] = base + 8 * layout.HEAD_AT["state_version"]
        t[layout.T_STATE_SLOTS] = base + sizes.states_at
        t[layout.T_STATE_STRIDE] = sizes.state_stride
        t[layout.T_STATE_DEPTH] = layout.STATE_DEPTH
        t[layout.T_COMMAND_VERSION] = base + 8 * layout.HEAD_AT["command_version"]
        t[layout.T_COMMAND_SLOTS] = base + sizes.commands_at
        t[layout.T_COMMAND_STRIDE] = sizes.command_stride
        t[layout.T_COMMAND_DEPTH] = layout.COMMAND_DEPTH
        t[layout.T_RECORD] = self._record.ctypes.data
        t[layout.T_SHOWN] = base + 8 * layout.REFUSED
        t[layout.T_CLIENT] = base + 8 * layout.HEAD_AT["client"]

    def _value_mailbox(self, sizes: _Sizes) -> tuple[Words, Words, Array]:
        at = layout.HEAD_AT["value_version"]
        start, stride = sizes.values_at // 8, sizes.value_stride
        slots = self._words[start : start + layout.STATE_DEPTH * stride].reshape(-1, stride)
        return self._words[at : at + 8], slots[:, :1], slots[:, 1:].view(np.float64)

    def check(self, m: Model) -> None:
        """Raise RbdynError if a Model with other objects lacks a joint of the shared memory."""
        if gone := [name for name in self.joints if name not in m.jnt_names]:
            raise refusal(
                f"joint {quote(gone[0])} cannot be removed while the simulator runs, because "
                "another process may use it in the shared memory"
            )

    def bind(self, m: Model) -> None:
        """Use a Model, which `check` has accepted, from now on. Call it while no loop runs."""
        numbers = {name: j for j, name in enumerate(m.jnt_names)}
        for k, (name, accepts) in enumerate(self.joints.items()):
            j = numbers[name]
            at = layout.TABLE + 2 * k
            self._table[at] = m.jnt_dofadr_all[j]
            self._table[at + 1] = m.jnt_dofadr[j] if accepts else -1

    def write_values(self, tick: int, values: Array) -> None:
        """Write the sensor values of a tick and wake the process that waits for them."""
        post(*self._values, np.array([tick]), values)
        wake_at(self._values[0].ctypes.data)

    @property
    def client(self) -> int:
        """Number of the process that uses the memory; 0: none, or that process has ended."""
        process = int(self._words[layout.HEAD_AT["client"]])
        if process and not _is_locked(self._file, CLIENT):
            self._words[layout.HEAD_AT["client"]] = process = 0
        return process

    @property
    def accepted(self) -> int:
        """Number of accepted records of commands."""
        return int(self._table[layout.T_ACCEPTED])

    @property
    def late(self) -> int:
        """Number of records of commands that answered a state that was too old."""
        return int(self._table[layout.T_LATE])

    @property
    def refused(self) -> int:
        """Number of refused records of commands."""
        return int(self._table[layout.T_REFUSED])

    def why_refused(self) -> str:
        """Return a message why the last refused record of commands was refused."""
        joint, reason = divmod(int(self._table[layout.T_WHY]), layout.REASONS)
        if reason == layout.LATE:
            limit = f"answer_timeout is {self._answer_timeout:g} s"
            return f"the command answers a state that is too old; {limit}"
        return f"joint {quote(list(self.joints)[joint])} {REASONS[reason]}"

    def close(self) -> None:
        """Tell the client that the server ends, and remove the file.

        Call it only while no loop runs.
        """
        if self._file < 0:
            return
        self._words[layout.HEAD_AT["closed"]] = 1
        for version in ("state_version", "value_version"):
            wake_at(self._words.ctypes.data + 8 * layout.HEAD_AT[version])
        self.path.unlink(missing_ok=True)
        os.close(self._file)
        self._file = -1


class _Sizes:
    """Offsets [bytes] and strides [numbers] of the parts of the memory."""

    def __init__(self, joints: int, values: int) -> None:
        self.joints, self.values = joints, values
        self.names_at = 8 * layout.HEAD_WORDS
        self.kinds_at = self.names_at + layout.NAME * (joints + values)
        self.state_stride = _whole_lines(layout.STATE_WORDS + 3 * joints)
        self.command_stride = _whole_lines(layout.COMMAND_WORDS + 6 * joints)
        self.value_stride = _whole_lines(1 + values)
        self.states_at = self.kinds_at + 8 * _whole_lines(joints)
        self.commands_at = self.states_at + 8 * layout.STATE_DEPTH * self.state_stride
        self.values_at = self.commands_at + 8 * layout.COMMAND_DEPTH * self.command_stride
        self.end = self.values_at + 8 * layout.STATE_DEPTH * self.value_stride

    def head(self) -> dict[str, int]:
        """Return the words of the head that are sizes or offsets, by name."""
        depths = {"state_depth": layout.STATE_DEPTH, "command_depth": layout.COMMAND_DEPTH}
        sizes = {name: n for name, n in vars(self).items() if name in layout.HEAD}
        more = {"version": layout.VERSION, "size": self.end, "value_depth": layout.STATE_DEPTH}
        return sizes | depths | more


def _whole_lines(numbers: int) -> int:
    """Return a count of numbers, rounded up to whole cache lines."""
    return (numbers + 7) // 8 * 8


def _created(path: Path, size: int) -> int:
    """Create a file of a size [bytes], in place of a stale file; lock its first byte.

    Returns:
        the descriptor of the open file.

    Raises:
        RbdynError: another process serves the memory, or the system refuses.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        _remove_stale(path)
        file = os.open(path, flags, 0o600)
        os.ftruncate(file, size)
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, _flock(fcntl.F_WRLCK, SERVER))
    except OSError as error:
        raise refusal(f"the shared memory {path} cannot be made: {error.strerror}") from error
    return file


def _remove_stale(path: Path) -> None:
    """Remove a file whose server has ended.

    Raises:
        RbdynError: the server still runs, or the file belongs to another user.
    """
    try:
        owner = path.lstat().st_uid
        if owner != os.geteuid():
            raise refusal(
                f"the shared memory {path} belongs to user {owner}, who may write false states "
                "into it; choose another name with the parameter shared_memory"
            )
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return
    try:
        if _is_locked(file, SERVER):
            raise refusal(
                f"another simulator serves the shared memory {path}; end it, or choose another "
                "name with the parameter shared_memory"
            )
        path.unlink(missing_ok=True)
    finally:
        os.close(file)


def _flock(kind: int, byte: int) -> bytes:
    return struct.pack(_FLOCK, kind, os.SEEK_SET, byte, 1, 0)


def _is_locked(file: int, byte: int) -> bool:
    """Return whether another open file holds a lock on a byte of a file."""
    answer = fcntl.fcntl(file, fcntl.F_OFD_GETLK, _flock(fcntl.F_WRLCK, byte))
    kind: int = struct.unpack(_FLOCK, answer)[0]
    return kind != fcntl.F_UNLCK
