# SPDX-License-Identifier: Apache-2.0
"""Save the whole state of a loop between two ticks, and load it again.

The state consists of the simulated Data, the Data for computing efforts, and the fields of SAVED:
commands in force and under way, measurements under way, servos, wrenches, seeds and time. It does
not include settings, statistics, requests and mailboxes.
"""

from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.errors import refusal
from rbdyn_ros.runtime.compiled import Words
from rbdyn_ros.runtime.kernels import edits
from rbdyn_ros.runtime.orders import Orders, SavedOrders
from rbdyn_ros.runtime.plant import Plant
from rbdyn_ros.runtime.requests import Requests
from rbdyn_ros.runtime.shared import Shared
from rbdyn_ros.runtime.types import Faults

#: The fields of Shared that are part of the state.
SAVED = (
    *("seed", "seeded_tick"),
    *("inbox_words", "inbox_floats", "inbox_known", "inbox_since", "inbox_new", "due"),
    *("line_start", "line_last", "back_last", "back_start"),
    *("arrival", "since", "mode", "held", "order", "aim", "speed", "servo", "by_dynamics"),
    *("effort", "full", "load", "load_memory", "braked", "commanded"),
    *("trajectory", "traj_column", "traj_now"),
    *("push_number", "push_until"),
    *("state", "row", "measured"),
    *("watch", "locked", "begun"),
)
#: Messages under way take much memory, so they are saved only while the channel has faults.
UNDER_WAY = ("line_words", "line_floats", "back")


@dataclass(frozen=True, slots=True, eq=False)
class SavedLoop:
    """The state of a loop between two ticks.

    Attributes:
        memory: all numbers of the state.
        delayed: whether `memory` includes messages under way.
        orders: the orders that were sent before this state.
        faults: the faults in this state.
    """

    memory: Words
    delayed: bool
    orders: SavedOrders
    faults: Faults


class StateStore:
    """Saves and loads the state of one loop. Any thread may use it.

    Args:
        s: memory shared with the loop.
        requests: sends requests to the loop.
        orders: orders of the loop.
        plant: the simulated robot with its Data.
    """

    def __init__(self, s: Shared, requests: Requests, orders: Orders, plant: Plant) -> None:
        self._shared, self._requests, self._orders, self._plant = s, requests, orders, plant

    def save(self, faults: Faults) -> SavedLoop:
        """Return the state between two ticks; time does not stop.

        Args:
            faults: the present faults.

        Raises:
            RbdynError: the state has diverged, or the loop does not answer.
        """
        if self._shared.fault >= 0:
            raise refusal("the state diverged and cannot be saved; reset first", "diverged")
        delayed = _is_delayed(faults)
        parts = self._parts(delayed)
        memory = np.zeros(sum(part.size for part in parts), np.int64)
        with self._orders.held():
            self._copy(edits.SAVE, _table(parts, memory), memory)
            return SavedLoop(memory, delayed, self._orders.saved(), faults)

    def load(self, saved: SavedLoop) -> None:
        """Continue from a saved state of this loop, at the saved tick, in a new epoch.

        Model and faults must be the same as when the state was saved.

        Raises:
            RbdynError: the loop does not answer.
        """
        table = _table(self._parts(saved.delayed), saved.memory)
        with self._orders.held():
            self._orders.restore(saved.orders)
            self._copy(edits.LOAD, table[:, [1, 0, 2]].copy(), saved)

    def _parts(self, delayed: bool) -> list[Array]:
        names = (*SAVED, *UNDER_WAY) if delayed else SAVED
        return [*self._plant.rows, *(getattr(self._shared, name) for name in names)]

    def _copy(self, kind: int, table: Words, keep: object) -> None:
        def fill(s: Shared) -> None:
            s.edit_copies[()], s.edit_ncopy[()] = table.ctypes.data, len(table)

        self._requests.edit(kind, fill, (table, keep))


def _is_delayed(faults: Faults) -> bool:
    """Return whether the channel has faults, so that messages may be under way."""
    names = ("delay", "jitter", "drop")
    odds = (getattr(faults, f"{way}_{name}") for way in ("command", "state") for name in names)
    return faults.link_loss or any(odds)


def _table(parts: list[Array], memory: Words) -> Words:
    """Return a row for each part: address of its copy in `memory`, its own address, its length."""
    sizes = np.array([part.size for part in parts], np.int64)
    places = memory.ctypes.data + 8 * (np.cumsum(sizes) - sizes)
    return np.stack([places, [part.ctypes.data for part in parts], sizes], axis=1)
