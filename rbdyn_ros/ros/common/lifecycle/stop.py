# SPDX-License-Identifier: Apache-2.0
"""Stop the process of a node by a signal, in any state of the process.

A signal handler that takes a lock (of an Event, a log, a print, a queue) waits forever if it
interrupts the code that holds the lock, for example itself at a second signal. So no handler here
takes a lock. Python's own handler, in C, writes the signal into a pipe (signal.set_wakeup_fd). A
thread of compiled code reads the pipe. This thread never waits for the GIL, which LLVM or C++ code
may hold.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numba import typeof, types
from numpy.typing import NDArray

from rbdyn_ros.engine.compiler import jit
from rbdyn_ros.errors import Finding, RbdynError
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.runtime import compiled
from rbdyn_ros.runtime.compiled import Words, load_acquire, store_release

#: Signals that stop a node: from Ctrl-C, from other programs, and from a terminal that closes.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: Time for a clean end after the first signal, and after `set` [s]; then the process is ended.
PATIENCE, CALM = 1.7, 15.0
#: Time is counted in naps of this length [ns], so that time in which the process was suspended
#: does not count.
NAP = 10_000_000
#: A nap uses up so much of the allowed time: on a calm machine, and while tasks wait for a
#: processor. A clean end needs 0.1 s of processor time, which can take seconds on a busy machine.
CALM_NAP, BUSY_NAP = 4, 1
COST_OF_A_SECOND = CALM_NAP * NANOSECONDS // NAP
HURRIED, UNHURRIED = int(PATIENCE * COST_OF_A_SECOND), int(CALM * COST_OF_A_SECOND)
#: File with the time for which tasks waited for a processor; some Linux kernels lack it.
#: Source: https://docs.kernel.org/accounting/psi.html
PRESSURE = Path("/proc/pressure/cpu")
ZERO, NINE, NEWLINE = b"09\n"

#: Indices of the words: time of the stop (0: no stop), cost of the naps since then, allowed cost,
#: exit status, whether the thread listens, length of the message, and begin of the message.
STOPPED, SPENT, ALLOWED, STATUS, LISTENS, LENGTH, MESSAGE = range(7)
POLLIN, POLLOUT, STDERR = 1, 4, 2
#: The byte in the pipe after `Stop.set`, which is not a signal.
BY_CALL = 0
INT, TERM, HUP = map(int, SIGNALS)

TEXT = "rbdyn: the process did not end in time; it is ended now\n"

kernel = jit.kernels_in(jit.cache_below("stop", [Path(__file__), Path(compiled.__file__)]))

_read = types.ExternalFunction("read", types.int64(types.int32, types.intp, types.int64))
_write = types.ExternalFunction("write", types.int64(types.int32, types.intp, types.int64))
_pread = types.ExternalFunction(
    "pread", types.int64(types.int32, types.intp, types.int64, types.int64)
)
_poll = types.ExternalFunction("poll", types.int32(types.intp, types.uint64, types.int32))
_nanosleep = types.ExternalFunction("nanosleep", types.int32(types.intp, types.intp))
_exit = types.ExternalFunction("_exit", types.void(types.int32))


@kernel
def _next(pipe: int, scratch: Words) -> int:
    """Wait for a byte in a pipe and return it; return -1 if no byte can be read."""
    scratch[0] = 0
    return scratch[0] & 0xFF if _read(pipe, scratch.ctypes.data, 1) == 1 else -1


@kernel
def is_signal(number: int) -> bool:
    """Return whether a number is one of SIGNALS."""
    return number in (INT, TERM, HUP)


@kernel
def stalled(pressure: int, text: NDArray[np.uint8]) -> int:
    """Return the total time that tasks have waited for a processor [us], or 0 if it is unknown.

    The number is at the end of the first line of PRESSURE.

    Args:
        pressure: descriptor of the file, or -1.
        text: memory into which the line is read.
    """
    length = _pread(pressure, text.ctypes.data, len(text), 0)
    number = 0
    for k in range(length):
        if text[k] == NEWLINE:
            return number
        number = 10 * number + text[k] - ZERO if ZERO <= text[k] <= NINE else 0
    return 0


@kernel
def watch(
    words: Words, pipe: int, woken: int, pressure: int, scratch: Words, text: NDArray[np.uint8]
) -> None:
    """Wait for a stop, signal it to all threads, and exit if the process has not ended in time.

    Args:
        words: the words with the indices STOPPED to MESSAGE.
        pipe: descriptor of the pipe's end for reading.
        woken: eventfd that stays signalled from the stop on.
        pressure: descriptor of PRESSURE, or -1.
        scratch: two words of memory for system calls.
        text: memory into which the line of PRESSURE is read.
    """
    store_release(words, LISTENS, 1)
    number = -1
    while not (number == BY_CALL or is_signal(number)):
        number = _next(pipe, scratch)
    if load_acquire(words, STOPPED) == 0:
        store_release(words, STOPPED, compiled.steady_clock(scratch))
    scratch[0] = 1
    _write(woken, scratch.ctypes.data, 8)
    before = stalled(pressure, text)
    while words[SPENT] < load_acquire(words, ALLOWED):
        if is_signal(number) and words[ALLOWED] == UNHURRIED:
            store_release(words, ALLOWED, words[SPENT] + HURRIED)
        scratch[0], scratch[1] = 0, NAP
        _nanosleep(scratch.ctypes.data, 0)
        now = stalled(pressure, text)
        is_busy = now - before > NAP // 2000
        store_release(words, SPENT, words[SPENT] + (BUSY_NAP if is_busy else CALM_NAP))
        before = now
        scratch[0] = pipe | (POLLIN << 32)
        if _poll(scratch.ctypes.data, 1, 0) == 1:
            number = max(number, _next(pipe, scratch))
    scratch[0] = STDERR | (POLLOUT << 32)  # do not wait for a reader of stderr that hangs
    if _poll(scratch.ctypes.data, 1, 0) == 1:
        _write(STDERR, words[MESSAGE:].ctypes.data, words[LENGTH])
    _exit(words[STATUS])


class Stop(threading.Event):
    """Requests the end of a node's process, by a signal or by `set`; one process has one Stop.

    The process exits PATIENCE after a signal, or CALM after `set`, even if it hangs. On a busy
    machine these times are up to CALM_NAP / BUSY_NAP times as long. The methods take no lock.

    Attributes:
        interrupted: whether a signal raised KeyboardInterrupt.

    Raises:
        RbdynError: compilation is switched off.
    """

    def __init__(self) -> None:
        super().__init__()
        if jit.DISABLED:
            raise RbdynError(Finding("no-jit", "a node is compiled; unset NUMBA_DISABLE_JIT"))
        self._raises = self.interrupted = False
        message = np.frombuffer(TEXT.encode(), np.uint8)
        self._words = words = np.zeros(MESSAGE + len(message), np.int64)
        words[LENGTH] = len(message)
        words[MESSAGE:].view(np.uint8)[: len(message)] = message
        words[ALLOWED] = UNHURRIED
        self.status = 1
        pipe, self._pipe = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self._pipe, False)
        self._woken = os.eventfd(0, os.EFD_CLOEXEC)
        pressure = -1
        with contextlib.suppress(OSError):
            pressure = os.open(PRESSURE, os.O_RDONLY)
        scratch, text = np.zeros(2, np.int64), np.zeros(96, np.uint8)
        given = words, pipe, self._woken, pressure, scratch, text
        # compile here and not in the thread, which must listen at once
        watch.compile(tuple(map(typeof, given)))  # type: ignore[attr-defined]
        threading.Thread(target=watch, args=given, name="rbdyn-stop", daemon=True).start()
        while words[LISTENS] == 0:  # until it listens, the thread needs the GIL
            time.sleep(1e-3)

    def take_signals(self) -> None:
        """Let signals stop the process from now on, except signals that nohup has ignored."""
        signal.set_wakeup_fd(self._pipe, warn_on_full_buffer=False)
        for number in SIGNALS:
            if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._interrupt)

    def ignore_signals(self) -> None:
        """Ignore further signals while Python itself shuts down."""
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)

    def _interrupt(self, _number: int, _frame: object) -> None:
        if self._raises:
            self._raises = False  # a second signal must not interrupt the clean end
            self.interrupted = True
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def raising(self, raises: bool = True) -> Iterator[None]:
        """Set whether a signal raises KeyboardInterrupt in this block of the main thread.

        Raises:
            KeyboardInterrupt: `raises` is true, but the end was requested before.
        """
        before = self._raises
        if raises and self.is_set():
            raise KeyboardInterrupt
        self._raises = raises
        try:
            yield
        finally:
            self._raises = before and not self.is_set()

    def set(self) -> None:
        """Request the end of the process."""
        if not self.is_set():
            self._words[STOPPED] = time.monotonic_ns()
        with contextlib.suppress(BlockingIOError):  # the pipe is full of signals
            os.write(self._pipe, bytes([BY_CALL]))

    def is_set(self) -> bool:
        """Return whether the end of the process was requested."""
        return bool(self._words[STOPPED] != 0)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the end is requested; return whether it was. timeout [s]; None: no limit."""
        poll = select.poll()
        poll.register(self._woken, select.POLLIN)
        return bool(poll.poll(None if timeout is None else timeout * 1e3))

    def allow(self, seconds: float) -> None:
        """Allow the clean end this time [s] from now on."""
        self._words[ALLOWED] = self._words[SPENT] + int(seconds * COST_OF_A_SECOND)

    @property
    def status(self) -> int:
        """Exit status if the process does not end in time."""
        return int(self._words[STATUS])

    @status.setter
    def status(self, value: int) -> None:
        self._words[STATUS] = value
