# SPDX-License-Identifier: Apache-2.0
"""Request real-time privileges from the operating system, and report what it grants."""

import ctypes
import os
import threading
from dataclasses import dataclass
from typing import Literal

from rbdyn_ros.errors import Finding, ParameterError

Mode = Literal["enforce", "try", "off"]
MODES: tuple[Mode, ...] = ("enforce", "try", "off")

# priority under SCHED_FIFO (1 to 99): above threaded interrupts (50), below the kernel's threads
PRIORITY = 80
_PR_SET_TIMERSLACK = 29
_OFF = "not requested"
_CURE = (
    "Allow it in /etc/security/limits.d/ ('@realtime - rtprio 98' and '@realtime - memlock "
    "unlimited', then log in again)"
)
_MCL_CURRENT, _MCL_FUTURE, _MCL_ONFAULT = 1, 2, 4
#: One entry for each thread that needs the locked memory of this process; _HOLDING guards them.
_HOLDERS: list[None] = []
_HOLDING = threading.Lock()


@dataclass(frozen=True, slots=True)
class Grant:
    """The answer of the system to a request for real-time privileges.

    Attributes:
        timer_slack, fifo, memory: for each privilege, the reason of its refusal; empty: granted.
        cpu: processor to which the thread is bound, or None.
        priority: the requested priority under SCHED_FIFO.
    """

    timer_slack: str = _OFF
    fifo: str = _OFF
    memory: str = _OFF
    cpu: int | None = None
    priority: int = PRIORITY

    def __str__(self) -> str:
        parts = (
            ("timer slack 1 ns", self.timer_slack),
            (f"SCHED_FIFO {self.priority}", self.fifo),
            ("locked memory", self.memory),
        )
        listed = [f"{what}: {f'no ({refusal})' if refusal else 'yes'}" for what, refusal in parts]
        listed.append(f"processor: {'any' if self.cpu is None else self.cpu}")
        return ", ".join(listed)

    @property
    def advice(self) -> str:
        """Effects of the refused privileges and the remedy, as a message; "": all are granted."""
        if self.fifo in ("", _OFF) and self.memory in ("", _OFF):
            return ""
        return f"on a busy machine this process may be late: the system refuses ({self}). {_CURE}"


def obtain(mode: Mode, priority: int = PRIORITY, bind: bool = True) -> Grant:
    """Request real-time privileges for the calling thread.

    `off` requests only a precise timer. `try` and `enforce` also request SCHED_FIFO and locked
    memory. They bind the thread to one processor if SCHED_FIFO is granted; without priority, a
    bound thread would wait for other threads.

    Args:
        mode: `off`, `try` or `enforce`; see above.
        priority: priority of SCHED_FIFO, 1 to 99.
        bind: whether to bind the thread to a processor.

    Raises:
        ParameterError: mode is `enforce` and SCHED_FIFO or locked memory is refused.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    slack = _outcome(libc.prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0))
    if mode == "off":
        return Grant(timer_slack=slack)
    with _HOLDING:
        memory = _outcome(libc.mlockall(_MCL_CURRENT | _MCL_FUTURE | _MCL_ONFAULT))
        if not memory:
            _HOLDERS.append(None)
    fifo, cpu = "", None
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except OSError as error:
        fifo = str(error.strerror)
    if bind and not fifo:
        cpu = _bound()
    grant = Grant(slack, fifo, memory, cpu, priority)
    if mode == "enforce" and (fifo or memory):
        release(grant)
        raise _not_granted(grant)
    return grant


def release(grant: Grant) -> None:
    """Unlock the memory, unless another thread still needs it. Call it once for each Grant."""
    with _HOLDING:
        if not grant.memory:
            _HOLDERS.pop()
            if not _HOLDERS:
                ctypes.CDLL(None).munlockall()


def _bound() -> int | None:
    """Bind the calling thread to its last allowed processor; return it, or None if refused."""
    cpu = max(os.sched_getaffinity(0))
    try:
        os.sched_setaffinity(0, {cpu})
    except OSError:
        return None
    return cpu


def _outcome(status: int) -> str:
    return "" if status == 0 else os.strerror(ctypes.get_errno())


def _not_granted(grant: Grant) -> ParameterError:
    text = (
        f"realtime is 'enforce', but the system refuses ({grant}). {_CURE}, or set realtime to "
        "'try'."
    )
    return ParameterError(Finding("realtime", text, "error", "realtime", None, "enforce"))
