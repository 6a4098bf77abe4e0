"""The arrays of a rollout: inputs and outputs of each robot's memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.rollouts.driver import DIVERGED, NBAD, BlockPiece, CallTable, compiled_drive
from rbdyn_ros.rollouts.params import Columns
from rbdyn_ros.rollouts.result import Rollout
from rbdyn_ros.rollouts.sharing import Advance


class Step(Protocol):
    """Code that the loop over robots calls.

    Attributes:
        width: robots that advance side by side.
        addresses: by BEGIN, ADVANCE, OBSERVE; 0: nothing to call.
        fresh: (slots,), initial values of the memory.
        slots: by name of an array, its first slot and the number of entries that are read.
    """

    width: int
    addresses: Ints
    fresh: Array
    slots: dict[str, tuple[int, int]]

    def memory(self) -> tuple[int, Array]:
        """Return the address of a new memory for one thread, and the memory (slots, width)."""


class Job:
    """Arrays for the compiled loop, see drive.

    Args:
        step: the code of a step.
        nbatch: number of robots.
        every: steps per row of outputs.
        given: initial values of the robots.
        acting: name of the array that receives ctrl.
        ctrl: inputs of the steps, (nbatch or 1, nstep, n).
        widths: of outputs, by name.
    """

    def __init__(
        self, step: Step, nbatch: int, every: int, given: Sequence[Columns], acting: str,
        ctrl: Array, widths: Mapping[str, int],
    ) -> None:  # fmt: skip
        self._drive = compiled_drive()  # once, not in every thread
        self._step, self._every, self._widths = step, every, widths
        self._start = _start(step, given, nbatch)
        self._ctrl = _acting(step, acting, ctrl, nbatch)
        out = _slots(step, widths)
        self._out = CallTable(np.empty((nbatch, ctrl.shape[1] // every, len(out))), out)
        state = {each.array: each.places.size for each in given if each.array in ("qpos", "qvel")}
        health = _slots(step, {"nbad": 1} | state)
        self._health = CallTable(np.zeros((nbatch, 2), np.int64), health)

    def worker(self) -> Advance:
        """Return a function that advances robots in a memory of its own."""
        step = self._step
        address, memory = step.memory()

        def advance(first: int, last: int, begin: int, end: int) -> None:
            self._drive(
                step.addresses, address, memory, step.fresh, self._start, self._ctrl, self._out,
                self._health, BlockPiece(self._every, first, last, begin, end),
            )  # fmt: skip

        return advance

    def result(self, shapes: Mapping[str, tuple[int, ...]]) -> Rollout:
        """Return the outputs; shapes: by name."""
        ends = np.cumsum(list(self._widths.values())).tolist()
        begins = [0, *ends[:-1]]
        out, health = self._out.values, self._health.values
        rows = out.shape[:2]
        outputs: dict[str, Any] = {
            name: out[:, :, begin:end].reshape(*rows, *shape)
            for (name, shape), begin, end in zip(shapes.items(), begins, ends, strict=True)
        }
        return Rollout(outputs, health[:, DIVERGED] > 0, health[:, NBAD].copy())


def _start(step: Step, given: Sequence[Columns], nbatch: int) -> CallTable:
    """Return the initial values, without those that the step does not read."""
    tables, slots = [np.empty((nbatch, 0))], [np.empty(0, np.int64)]
    for each in given:
        first, count = step.slots.get(each.array, (0, 0))
        used = each.places < count
        tables.append(np.broadcast_to(each.values[:, used], (nbatch, int(used.sum()))))
        slots.append(first + each.places[used])
    return CallTable(np.concatenate(tables, axis=1), np.concatenate(slots))


def _acting(step: Step, name: str, ctrl: Array, nbatch: int) -> CallTable:
    """Return the inputs of the steps that the step reads, without a copy."""
    first, count = step.slots.get(name, (0, 0))
    count = min(count, ctrl.shape[2])
    rows = np.broadcast_to(ctrl[:, :, :count], (nbatch, ctrl.shape[1], count))
    rows.flags.writeable = False
    return CallTable(rows, first + np.arange(count))


def _slots(step: Step, widths: Mapping[str, int]) -> Ints:
    found = [step.slots.get(name, (0, 0))[0] + np.arange(n) for name, n in widths.items()]
    return np.concatenate(found)
