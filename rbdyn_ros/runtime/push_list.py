# SPDX-License-Identifier: Apache-2.0
"""The list of external wrenches and pulls, which Python keeps and sends to the loop."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.errors import Finding, RbdynError
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.runtime.kernels.pushes import BODY_AXES, PULL, TURN, WORLD_AXES
from rbdyn_ros.runtime.mailbox import Mailbox, post
from rbdyn_ros.runtime.shared import NPUSH, NPUSH_FLOATS, Shared
from rbdyn_ros.runtime.types import Pull, Wrench


@dataclass(frozen=True, slots=True, eq=False)
class Push:
    """A wrench or pull, with its serial number, its slot in the loop's table, and its stream."""

    number: int
    slot: int
    wrench: Wrench | Pull
    stream: str


class PushList:
    """The wrenches in the slots of the loop's table; each keeps its slot until it ends.

    Args:
        s: memory shared with the loop; the loop writes the end of each wrench there.
    """

    def __init__(self, s: Shared) -> None:
        self._shared = s
        self._bind()
        self._list: list[Push] = []
        self._count = 0
        self._lock = threading.RLock()  # reentrant: states may be published while it is held

    def _bind(self) -> None:
        s = self._shared
        self._box = Mailbox(s.push_version, s.push_words, s.push_floats)

    def move(self, bodies: Mapping[int, int]) -> None:
        """Use another row of shared memory. Call it only while the loop is held.

        Args:
            bodies: the new number of each body that still exists.
        """
        self._bind()
        kept = [push for push in self._list if push.wrench.body in bodies]
        self._list = [
            replace(push, wrench=replace(push.wrench, body=bodies[push.wrench.body]))
            for push in kept
        ]
        self._post()

    def push(self, wrench: Wrench | Pull, stream: str) -> None:
        """Add a wrench or a pull; see Orders.push. Raises RbdynError if the list is full."""
        with self._lock:
            self._list = [p for p in self._acting() if not stream or p.stream != stream]
            taken = {push.slot for push in self._list}
            free = [slot for slot in range(NPUSH) if slot not in taken]
            if not free:
                text = f"{NPUSH} wrenches act already; at most {NPUSH} can act at once"
                raise RbdynError(Finding("pushes", text))
            self._count += 1
            self._list.append(Push(self._count, free[0], wrench, stream))
            self._post()

    def clear(self) -> None:
        """End all wrenches."""
        with self._lock:
            self._list = []
            self._post()

    def wrenches(self) -> list[Wrench]:
        """Return the wrenches that act now or from the next tick on; pulls as present wrenches."""
        with self._lock:
            return [self._wrench(push) for push in self._acting()]

    def _wrench(self, push: Push) -> Wrench:
        given = push.wrench
        if isinstance(given, Wrench):
            return given
        force, torque = self._shared.push_now[push.slot].reshape(2, 3).copy()
        return Wrench(given.body, given.point, force, torque, False, given.duration)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep all other threads from changing the list during this block."""
        with self._lock:
            yield

    def saved(self) -> tuple[Push, ...]:
        """Return the list, for `restore`. Call it only in a block of `held`."""
        return tuple(self._list)

    def restore(self, saved: tuple[Push, ...]) -> None:
        """Send a saved list again, in a block of `held`. The state has the ends of wrenches."""
        self._list = list(saved)
        self._post()

    def _acting(self) -> list[Push]:
        s = self._shared
        newest, tick = int(s.push_newest), int(s.tick)
        return [p for p in self._list if p.number > newest or s.push_until[p.slot] > tick]

    def _post(self) -> None:
        words, floats = np.zeros((NPUSH, 4), np.int64), np.zeros((NPUSH, NPUSH_FLOATS))
        for p in self._list:
            kind, numbers = _numbers(p.wrench)
            words[p.slot] = p.number, p.wrench.body, kind, round(p.wrench.duration * NANOSECONDS)
            floats[p.slot, : len(numbers)] = numbers
        post(*self._box.arrays, words.reshape(-1), floats.reshape(-1))


def _numbers(given: Wrench | Pull) -> tuple[int, Array]:
    """Return the kind and the numbers of a wrench or pull as in kernels/pushes.py."""
    if isinstance(given, Wrench):
        kind = BODY_AXES if given.in_body else WORLD_AXES
        return kind, np.concatenate([given.point, given.force, given.torque])
    numbers = np.zeros(NPUSH_FLOATS)
    numbers[:3], numbers[3 : 3 + given.goal.size] = given.point, given.goal.reshape(-1)
    numbers[12:] = *given.stiffness.reshape(-1), given.lag, given.most
    return (PULL if given.goal.ndim == 1 else TURN), numbers
