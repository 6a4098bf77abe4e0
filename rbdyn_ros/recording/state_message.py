"""The bytes of rbdyn_interfaces/msg/State: CDR, little-endian, as ROS 2 lays it out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from struct import Struct, error

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

NANOSECONDS = 10**9
_HEAD = Struct("<4siIQdI")  # encapsulation, sec, nanosec, tick, time, epoch
_COUNT = Struct("<I")
_ENCAPSULATION = b"\0\1\0\0"
_NUMBER = np.dtype("<f8")
_LISTS = 6


@dataclass(frozen=True, slots=True, eq=False)
class StateMessage:
    """A State.msg; lists that are not known are empty.

    Attributes:
        stamp: ROS time of the tick [ns].
        tick: ticks since time began.
        time: simulated time [s].
        epoch: how often time began anew.
        qpos, qvel, qacc, effort: (nq,) and (nv,) thrice.
        xfrc, contact: (6 nbody,).
    """

    stamp: int
    tick: int
    time: float
    epoch: int
    qpos: Array
    qvel: Array
    qacc: Array
    effort: Array
    xfrc: Array
    contact: Array


def pack(stamp: int, tick: int, time: float, epoch: int, lists: Sequence[Array]) -> bytes:
    """Return the bytes of a state; lists as in StateMessage."""
    sec, nanosec = divmod(stamp, NANOSECONDS)
    parts = [_HEAD.pack(_ENCAPSULATION, sec, nanosec, tick, time, epoch)]
    at = _HEAD.size - 4  # alignment counts from behind the encapsulation
    for numbers in lists:
        parts.append(_COUNT.pack(len(numbers)))
        at += 4
        if len(numbers):
            room = -at % 8
            parts += [b"\0" * room, np.ascontiguousarray(numbers, _NUMBER).tobytes()]
            at += room + 8 * len(numbers)
    return b"".join(parts)


def unpack(raw: bytes) -> StateMessage:
    """Return what `pack`, or ROS 2, has written.

    Raises:
        ValueError: these are no bytes of a State.
    """
    try:
        encapsulation, sec, nanosec, tick, time, epoch = _HEAD.unpack_from(raw)
        if encapsulation[:2] != _ENCAPSULATION[:2]:
            raise ValueError("its bytes are not little-endian CDR")
        lists, at = [], _HEAD.size
        for _ in range(_LISTS):
            (count,) = _COUNT.unpack_from(raw, at)
            at += 4
            if count:
                at += -(at - 4) % 8
            numbers = np.frombuffer(raw, _NUMBER, count, at) if count else np.empty(0)
            lists.append(numbers.astype(np.float64, copy=False))
            at += 8 * count
    except error as problem:
        raise ValueError("its bytes end too early") from problem
    return StateMessage(sec * NANOSECONDS + nanosec, tick, time, epoch, *lists)
