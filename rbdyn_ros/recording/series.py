# SPDX-License-Identifier: Apache-2.0
"""Collect the messages of a topic in arrays; the memory for a recording is bounded."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.model.declared.data_fields import STICK_NUMBERS
from rbdyn_ros.nanoseconds import nanoseconds

#: Number of rows in a block, which is one array.
BLOCK = 4096
#: Largest number of values from a recording, which take 1 GiB.
MOST_NUMBERS = 1 << 27
MOST_NAMES = 10_000
#: Value of a field that the State of an older recording lacks.
MISSING = np.empty(0)


class TooLargeError(Exception):
    """A recording has more values than MOST_NUMBERS."""


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """The joint data of one topic.

    Attributes:
        topic: full name of the topic.
        names: names of the joints (k); empty: the topic has no names.
        time: (p,) times of the messages since the start of the run [s].
        position, velocity, effort: (p, k) numbers of the messages [m or rad], [m/s or rad/s],
            [N or N m]; NaN: a message lacks the number.
    """

    topic: str
    names: tuple[str, ...]
    time: Array
    position: Array
    velocity: Array
    effort: Array


class Budget:
    """Counts the stored values of a recording, and refuses more than MOST_NUMBERS."""

    def __init__(self, most: int = MOST_NUMBERS) -> None:
        self._left = most

    def take(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise TooLargeError


class SampleTable:
    """Rows of equal length, stored in blocks."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self.clear()

    def clear(self) -> None:
        """Remove all rows."""
        self._blocks: list[Array] = []
        self._rows: list[Array] = []

    def append(self, row: Array) -> None:
        self._budget.take(len(row) + 1)
        self._rows.append(row)
        if len(self._rows) == BLOCK:
            self._pack()

    def last(self) -> Array:
        """Return the last row; if there are no rows: an empty array."""
        if self._rows:
            return self._rows[-1]
        return np.asarray(self._blocks[-1][-1]) if self._blocks else np.empty(0)

    def _pack(self) -> None:
        if self._rows:
            self._blocks.append(np.array(self._rows, np.float64))
            self._rows = []

    def array(self) -> Array:
        """Return all rows (p, length)."""
        self._pack()
        return np.concatenate(self._blocks) if self._blocks else np.empty((0, 0))


class JointTopic:
    """The messages of a topic of joints, which have joint names or a fixed order."""

    def __init__(self, topic: str, budget: Budget) -> None:
        self.topic, self._budget = topic, budget
        self.clear()

    def clear(self) -> None:
        """Remove all rows."""
        self._tables: dict[tuple[str, ...], tuple[list[int], list[int], SampleTable]] = {}
        self._known: set[str] = set()
        self.last = -1

    def add(
        self,
        stamp: int,
        received: int,
        names: Sequence[str],
        position: Sequence[float] | Array,
        velocity: Sequence[float] | Array,
        effort: Sequence[float] | Array,
    ) -> None:
        """Add a message with its stamp and its time of arrival [ns]; missing numbers become NaN.

        Raises:
            ValueError: the topic names too many joints.
        """
        key = tuple(names)
        if key not in self._tables:
            self._known.update(key)
            if len(self._known) > MOST_NAMES or len(self._tables) > MOST_NAMES:
                raise ValueError(f"it names more than {MOST_NAMES} joints")
            self._tables[key] = [], [], SampleTable(self._budget)
        stamps, times, table = self._tables[key]
        stamps.append(stamp)
        times.append(received)
        n = len(key)
        row = np.full(3 * n, np.nan)
        for k, values in enumerate((position, velocity, effort)):
            some = min(n, len(values))
            row[k * n : k * n + some] = values[:some]
        table.append(row)
        self.last = max(self.last, stamp)

    @property
    def count(self) -> int:
        """Number of messages."""
        return sum(len(stamps) for stamps, _, _ in self._tables.values())

    def lag(self) -> int:
        """Return the median delay from stamp to arrival [ns]; without messages: 0."""
        lags = [
            np.array(times, np.int64) - np.array(stamps, np.int64)
            for stamps, times, _ in self._tables.values()
        ]
        return int(np.median(np.concatenate(lags))) if lags else 0

    def merged(self, by_stamp: bool) -> tuple[Ints, tuple[str, ...], Array]:
        """Return times (p,) [ns], names (n) and rows (p, 3, n), in the order of time.

        Args:
            by_stamp: whether the times are the stamps of the messages instead of their arrivals.
        """
        names = tuple(dict.fromkeys(name for key in self._tables for name in key))
        column = {name: k for k, name in enumerate(names)}
        self._budget.take(3 * len(names) * self.count)
        times: list[Ints] = []
        parts: list[Array] = []
        for key, (stamps, received, table) in self._tables.items():
            chosen = stamps if by_stamp else received
            times.append(np.array(chosen, np.int64))
            part = np.full((len(chosen), 3, len(names)), np.nan)
            part[:, :, [column[name] for name in key]] = table.array().reshape(
                len(chosen), 3, len(key)
            )
            parts.append(part)
        if not times:
            return np.empty(0, np.int64), (), np.empty((0, 3, 0))
        when = np.concatenate(times)
        order = np.argsort(when, kind="stable")
        return when[order], names, np.concatenate(parts)[order]


class StateTopic:
    """The messages of a State topic."""

    FIELDS = ("qpos", "qvel", "qacc", "effort", "xfrc", "contact", "stick_qfrc", "act")

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self.clear()

    def clear(self) -> None:
        """Remove all rows."""
        self.stamps: list[int] = []
        self.ticks: list[int] = []
        self.times: list[float] = []
        self.sticks: list[Array] = []
        self.epoch = -1
        self._tables = {name: SampleTable(self._budget) for name in self.FIELDS}
        self._there: dict[str, list[int]] = {name: [] for name in self.FIELDS}
        self._widths: dict[str, int] = {}

    def add(self, stamp: int, message: Any) -> None:
        """Add a state.

        Args:
            stamp: stamp of the state [ns].
            message: the State message.

        Raises:
            ValueError: the state belongs to another robot than the states before.
        """
        for name, table in self._tables.items():
            row: Array = getattr(message, name, MISSING)
            if len(row) == 0:
                continue
            width = self._widths.setdefault(name, len(row))
            if len(row) != width:
                raise ValueError(f"{name} has {len(row)} numbers and had {width} before")
            self._there[name].append(len(self.stamps))
            table.append(row)
        stick: Array = getattr(message, "stick", MISSING)
        if len(stick) % STICK_NUMBERS:
            raise ValueError(
                f"stick has {len(stick)} numbers, allowed are multiples of {STICK_NUMBERS}"
            )
        self._budget.take(len(stick))
        self.sticks.append(np.array(stick).reshape(-1, STICK_NUMBERS))
        self.epoch = message.epoch
        self.stamps.append(stamp)
        self.ticks.append(message.tick)
        self.times.append(message.time)

    def ends_with(self, message: Any) -> bool:
        """Return whether the last state has the same time, positions and velocities as a State."""
        if not self.times or self.times[-1] != message.time:
            return False
        return all(
            np.array_equal(self._tables[name].last(), getattr(message, name))
            for name in ("qpos", "qvel")
        )

    def width(self, name: str) -> int:
        """Return the number of values of a field, by its name."""
        return self._widths.get(name, 0)

    def rows(self, name: str) -> Array | None:
        """Return the values of a field (p, width); None: no state has the field.

        If only some states have the field, its values in the others are 0.
        """
        width = self._widths.get(name, 0)
        if not width:
            return None
        self._budget.take(width * len(self.stamps))
        rows = np.zeros((len(self.stamps), width))
        rows[self._there[name]] = self._tables[name].array()
        return rows


def stamp_of(message: Any) -> int:
    """Return the stamp of a message with a header [ns]."""
    return nanoseconds(message.header.stamp)
