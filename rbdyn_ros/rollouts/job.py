"""The arrays of a rollout: what goes into the memory of each robot, and what comes out of it."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.rollouts.driver import DIVERGED, NBAD, compiled_drive
from rbdyn_ros.rollouts.params import Columns
from rbdyn_ros.rollouts.result import Rollout
from rbdyn_ros.rollouts.sharing import Advance

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


class Code(Protocol):
    """What the loop over robots calls.

    Attributes:
        width: robots that advance side by side.
        addresses: by BEGIN, ADVANCE, OBSERVE; 0 where nothing is to be called.
        fresh: (slots,), what the memory holds before a robot starts.
        slots: by name of an array its first slot and its length: what lies behind that is not
            looked at.
    """

    width: int
    addresses: Ints
    fresh: Array
    slots: dict[str, tuple[int, int]]

    def memory(self) -> tuple[int, Array]:
        """Return a new memory (slots, width) for one thread, and its address."""


class Job:
    """Arrays for the compiled loop, see drive.

    Args:
        code: of a step.
        nbatch: number of robots.
        every: steps from one row of outputs to the next.
        given: what robots start with.
        acting: the array that receives what acts at a step.
        ctrl: that, (nbatch or 1, nstep, n).
        widths: of outputs, by name.
    """

    def __init__(
        self, code: Code, nbatch: int, every: int, given: Sequence[Columns], acting: str,
        ctrl: Array, widths: Mapping[str, int],
    ) -> None:  # fmt: skip
        self._code, self._every, self._widths = code, every, widths
        self._start, self._start_at = _table(code, given, nbatch)
        nstep = ctrl.shape[1]
        first, count = code.slots.get(acting, (0, 0))
        ctrl = np.broadcast_to(ctrl[:, :, :count], (nbatch, nstep, min(count, ctrl.shape[2])))
        ctrl.flags.writeable = False
        self._ctrl, self._ctrl_at = ctrl, first
        self._out_at = _slots(code, widths)
        self._out = np.empty((nbatch, nstep // every, len(self._out_at)))
        self._health = np.zeros((nbatch, 2), np.int64)
        state = {each.array: each.places.size for each in given if each.array in ("qpos", "qvel")}
        self._health_at = _slots(code, {"nbad": 1} | state)

    def worker(self) -> Advance:
        """Return what advances robots, with a memory of its own."""
        code = self._code
        address, memory = code.memory()
        return functools.partial(
            compiled_drive(), code.addresses, address, memory, code.fresh, self._start,
            self._start_at, self._ctrl, self._ctrl_at, self._out, self._out_at, self._health,
            self._health_at, self._every,
        )  # fmt: skip

    def result(self, shapes: Mapping[str, tuple[int, ...]]) -> Rollout:
        """Return the outputs; shapes: by name."""
        ends = np.cumsum(list(self._widths.values())).tolist()
        begins = [0, *ends[:-1]]
        rows = self._out.shape[:2]
        outputs: dict[str, Any] = {
            name: self._out[:, :, begin:end].reshape(*rows, *shape)
            for (name, shape), begin, end in zip(shapes.items(), begins, ends, strict=True)
        }
        return Rollout(outputs, self._health[:, DIVERGED] > 0, self._health[:, NBAD].copy())


def _table(code: Code, given: Sequence[Columns], nbatch: int) -> tuple[Array, Ints]:
    """Return what robots start with, (nbatch, n), and the slots; what code ignores is left out."""
    tables, slots = [np.empty((nbatch, 0))], [np.empty(0, np.int64)]
    for each in given:
        first, count = code.slots.get(each.array, (0, 0))
        used = each.places < count
        tables.append(np.broadcast_to(each.values[:, used], (nbatch, int(used.sum()))))
        slots.append(first + each.places[used])
    return np.concatenate(tables, axis=1), np.concatenate(slots)


def _slots(code: Code, widths: Mapping[str, int]) -> Ints:
    found = [code.slots[name][0] + np.arange(width) for name, width in widths.items()]
    return np.concatenate(found)
