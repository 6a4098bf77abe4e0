"""The wrenches that act, as Python keeps them for the loop."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np

from rbdyn_ros.runtime.compiled import NANOSECONDS
from rbdyn_ros.runtime.mailbox import Mailbox, post
from rbdyn_ros.runtime.orders import Wrench
from rbdyn_ros.runtime.shared import NPUSH, Shared


@dataclass(frozen=True, slots=True, eq=False)
class _Push:
    """A wrench, its number among all, where it lies in the loop's table, and its stream."""

    number: int
    slot: int
    wrench: Wrench
    stream: str


class PushList:
    """Wrenches in the slots of the loop's table; each stays in its slot until it ends.

    Args:
        s: where the loop tells until when each acts.
    """

    def __init__(self, s: Shared) -> None:
        self._shared = s
        self._box = Mailbox(s.push_version, s.push_words, s.push_floats)
        self._list: list[_Push] = []
        self._count = 0
        self._lock = threading.Lock()

    def push(self, wrench: Wrench, stream: str) -> bool:
        """Add a wrench, in the place of the last of its stream; False if there is no slot."""
        with self._lock:
            self._list = [p for p in self._acting() if not stream or p.stream != stream]
            taken = {push.slot for push in self._list}
            free = [slot for slot in range(NPUSH) if slot not in taken]
            if not free:
                return False
            self._count += 1
            self._list.append(_Push(self._count, free[0], wrench, stream))
            self._post()
            return True

    def clear(self) -> None:
        """Take all away."""
        with self._lock:
            self._list = []
            self._post()

    def wrenches(self) -> list[Wrench]:
        """Return those that act, or will from the next tick on."""
        with self._lock:
            return [push.wrench for push in self._acting()]

    def _acting(self) -> list[_Push]:
        s = self._shared
        newest, tick = int(s.push_newest), int(s.tick)
        return [p for p in self._list if p.number > newest or s.push_until[p.slot] > tick]

    def _post(self) -> None:
        words, floats = np.zeros((NPUSH, 4), np.int64), np.zeros((NPUSH, 9))
        for p in self._list:
            w = p.wrench
            words[p.slot] = p.number, w.body, w.in_body, round(w.duration * NANOSECONDS)
            floats[p.slot] = np.concatenate([w.point, w.force, w.torque])
        post(*self._box.arrays, words.reshape(-1), floats.reshape(-1))
