"""What the operating system grants a loop with deadlines, asked for and reported."""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from typing import Literal

from rbdyn_ros.errors import Finding, ParameterError

Mode = Literal["enforce", "try", "off"]
MODES: tuple[Mode, ...] = ("enforce", "try", "off")

PRIORITY = 80  # SCHED_FIFO, 1 to 99: above threaded interrupts (50), below the kernel's own
_PR_SET_TIMERSLACK = 29
_MCL_CURRENT, _MCL_FUTURE, _MCL_ONFAULT = 1, 2, 4


@dataclass(frozen=True, slots=True)
class Grant:
    """What was granted; an empty reason means granted.

    Attributes:
        timer_slack, fifo, memory: why not, or empty.
        cpu: the processor the thread is bound to, or None.
        priority: that was asked for.
    """

    timer_slack: str = "not asked for"
    fifo: str = "not asked for"
    memory: str = "not asked for"
    cpu: int | None = None
    priority: int = PRIORITY

    def __str__(self) -> str:
        parts = (
            ("timer slack 1 ns", self.timer_slack),
            (f"SCHED_FIFO {self.priority}", self.fifo),
            ("locked memory", self.memory),
        )
        listed = [f"{what}: {'no (' + why + ')' if why else 'yes'}" for what, why in parts]
        listed.append(f"processor: {'any' if self.cpu is None else self.cpu}")
        return ", ".join(listed)


def obtain(mode: Mode, priority: int = PRIORITY, bind: bool = True) -> Grant:
    """Ask for everything that makes the calling thread punctual.

    The precise timer is always asked for. `try` also asks for SCHED_FIFO and locked memory and
    binds the thread to a processor if it has SCHED_FIFO: without priority, a thread that may not
    move waits behind others.

    Args:
        mode: how strongly.
        priority: of SCHED_FIFO, 1 to 99.
        bind: whether it may be bound.

    Raises:
        ParameterError: for `enforce`, if SCHED_FIFO or locked memory is refused.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    slack = _outcome(libc.prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0))
    if mode == "off":
        return Grant(timer_slack=slack)
    memory = _outcome(libc.mlockall(_MCL_CURRENT | _MCL_FUTURE | _MCL_ONFAULT))
    fifo, cpu = "", None
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except OSError as error:
        fifo = str(error.strerror)
    if bind and not fifo:
        cpu = _bound()
    grant = Grant(slack, fifo, memory, cpu, priority)
    if mode == "enforce" and (fifo or memory):
        raise _refused(grant)
    return grant


def _bound() -> int | None:
    """Bind the calling thread to the last processor it may use; return it, None if refused."""
    cpu = max(os.sched_getaffinity(0))
    try:
        os.sched_setaffinity(0, {cpu})
    except OSError:
        return None
    return cpu


def _outcome(status: int) -> str:
    return "" if status == 0 else os.strerror(ctypes.get_errno())


def _refused(grant: Grant) -> ParameterError:
    text = (
        f"realtime is 'enforce', but the system refuses it ({grant}). Allow it in "
        "/etc/security/limits.d/ ('@realtime - rtprio 98' and '@realtime - memlock unlimited', "
        "then log in again), or set realtime to 'try'."
    )
    return ParameterError(Finding("realtime", text, "error", "realtime", None, "enforce"))
