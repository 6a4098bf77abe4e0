# SPDX-License-Identifier: Apache-2.0
"""Robots of one Model for the compiled loop: their code, their arrays and the threads' memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from rbdyn_ros.arrays import Array, Bools, Ints
from rbdyn_ros.errors import Finding, ModelError
from rbdyn_ros.model.model import Model
from rbdyn_ros.rollouts.contact_step import ContactStep
from rbdyn_ros.rollouts.driver import (
    SLOT,
    Health,
    Kept,
    Numbers,
    RolloutTask,
    Rows,
    Work,
    compiled_drive,
)
from rbdyn_ros.rollouts.engine_step import EngineStep
from rbdyn_ros.rollouts.lane_step import LaneStep
from rbdyn_ros.rollouts.law import RolloutLaw
from rbdyn_ros.rollouts.outputs import STEP_OUTPUTS
from rbdyn_ros.rollouts.params import Columns, with_springs
from rbdyn_ros.rollouts.pool import Pool
from rbdyn_ros.specialization.machine import check_compiler

#: The work of a piece: its steps times the work of a step (Model.work); it takes about 10 ms.
PIECE_WORK = 50_000

#: A thread gets its share of the robots in this many parts, so that all threads end at about the
#: same time.
PARTS = 8

STATE = ("qpos", "qvel")

#: The array of a Batch with the commands of actuators.
COMMANDS = "ctrl"

_ALL = np.empty(0, np.int64)


class Step(Protocol):
    """Code that the loop over robots calls.

    Attributes:
        width: number of robots that advance side by side.
        addresses: addresses of the functions BEGIN, ADVANCE and OBSERVE; 0: no function.
        slots: for each array, its first slot and the number of entries that are read.
        segments: the parts of the memory between steps that the loop copies, see driver.Kept.
        remembered: segments of the whole memory between steps, in addition to the state.
        places: for each field in this memory, its first entry, and the number of entries.
    """

    width: int
    addresses: Ints
    slots: dict[str, tuple[int, int]]
    segments: Ints

    @property
    def remembered(self) -> Ints: ...

    @property
    def places(self) -> dict[str, tuple[int, int]]: ...

    def memory(self) -> tuple[int, Array]:
        """Return the address of a new memory for one thread, and the memory (slots, width)."""


@dataclass(frozen=True)
class Robots:
    """Counters of robots, and their memory between calls.

    Attributes:
        nbad: (count,), how often the inertia of a dof was not positive.
        diverged: (count,), True if qpos or qvel is not finite.
        kept: (count, n), the memory of a Step; (1, n) zeros if calls do not continue earlier
            calls.
    """

    nbad: Ints
    diverged: Bools
    kept: Ints

    @classmethod
    def new(cls, count: int, kept: Ints) -> Robots:
        """Return `count` robots that have not diverged, with the memory `kept`."""
        return cls(np.zeros(count, np.int64), np.zeros(count, np.bool_), kept)


class Job:
    """Code and robots, ready to be advanced.

    Args:
        step: the code of a step.
        robots: the robots to advance.
        work: work of a step, see Model.work.
        read: numbers of the robots at the start of a call.
        write: numbers of the robots at the end of a call.
        sizes: number of entries of each field of the state.
    """

    def __init__(
        self, step: Step, robots: Robots, work: int, read: Sequence[Columns],
        write: Sequence[Columns], sizes: Sequence[int],
    ) -> None:  # fmt: skip
        self._drive, self._step = compiled_drive(), step  # compiled once, not in every thread
        # keep these arrays alive, because the loop has only their addresses
        self._arrays = robots, read, write
        self._count = len(robots.nbad)
        self._read, self._write = _numbers(step, read), _numbers(step, write)
        health = slots_of(step, {"nbad": 1} | dict(zip(STATE, sizes, strict=True)))
        self._health = Health(robots.nbad, robots.diverged, health)
        self._kept = Kept(robots.kept, _segments(step, read, write))
        self._goes_on = len(robots.kept) == self._count
        self._piece = max(1, PIECE_WORK // (work * step.width))
        self._nothing = (
            Rows(_read_only(np.empty((1, 1, 0))), _ALL),
            Rows(np.empty((1, 1, 0)), _ALL),
        )
        self._memories: list[tuple[int, Array]] = []

    def run(
        self, pool: Pool, nstep: int, every: int = 0, ids: Ints = _ALL,
        ctrl: Rows | None = None, out: Rows | None = None,
        shown: Callable[[int], None] | None = None,
    ) -> None:  # fmt: skip
        """Advance robots.

        Args:
            pool: the threads.
            nstep: number of steps; 0: compute the outputs only.
            every: steps per row of outputs; 0: one row for all steps.
            ids: the robots; empty: all.
            ctrl: inputs of the steps; None: no inputs.
            out: outputs to fill; None: no outputs.
            shown: function that is called with the number of finished robot-steps; None: no calls.

        Raises:
            KeyboardInterrupt: after Ctrl-C; each robot has then done all steps or none.
        """
        count = len(ids) or self._count
        blocks = -(-count // self._step.width)
        chunk = max(1, min(blocks // (PARTS * pool.threads), self._piece // max(1, nstep)))
        task = RolloutTask(count, nstep, every or max(1, nstep), chunk, self._piece, self._goes_on)
        work = Work(
            ids, self._read, self._write, ctrl or self._nothing[0], out or self._nothing[1],
            self._health, self._kept, task,
        )  # fmt: skip
        threads = min(pool.threads, -(-blocks // chunk))
        while len(self._memories) < threads:
            self._memories.append(self._step.memory())
        drive, code, memories = self._drive, self._step.addresses, self._memories
        pool.run(lambda k, words, own: drive(code, *memories[k], work, words, own), threads, shown)


def _segments(step: Step, read: Sequence[Columns], write: Sequence[Columns]) -> Ints:
    """Return the segments of a step's memory, without fields that the caller has as arrays."""
    apart = {each.array for each in read} & {each.array for each in write}
    places = [step.slots[name] for name in apart & {*step.slots}]
    held = np.isin(step.segments[:, SLOT], [first for first, count in places if count])
    left: Ints = step.segments[~held]
    return left


def step_rows(step: Step, name: str, ctrl: Array, nbatch: int) -> Rows:
    """Return the steps' inputs that the code of the step reads, without a copy.

    Args:
        step: the code of a step.
        name: the array of the step that receives the inputs.
        ctrl: (nbatch or 1, nstep, n).
        nbatch: number of robots.
    """
    first, count = step.slots.get(name, (0, 0))
    count = min(count, ctrl.shape[2])
    rows = np.broadcast_to(ctrl[:, :, :count], (nbatch, ctrl.shape[1], count))
    return Rows(_read_only(rows), first + np.arange(count))


def remembered(step: Step) -> int:
    """Return the number of entries in the memory of a step."""
    return max((first + count for first, count in step.places.values()), default=0)


def slots_of(step: Step, sizes: dict[str, int]) -> Ints:
    """Return the slots of the first entries of arrays."""
    found = [step.slots.get(name, (0, 0))[0] + np.arange(n) for name, n in sizes.items()]
    return np.concatenate(found)


def _read_only(rows: Array) -> Array:
    rows.flags.writeable = False
    return rows


def _numbers(step: Step, given: Sequence[Columns]) -> Numbers:
    """Return the addresses and the slots of the given columns, without unused entries."""
    at, by, slots = [_ALL], [_ALL], [_ALL]
    for each in given:
        first, count = step.slots.get(each.array, (0, 0))
        column = np.flatnonzero(each.places < count)
        start, (robot, entry) = each.values.ctypes.data, each.values.strides
        at.append(start + entry * column)
        by.append(np.full(column.size, robot if len(each.values) > 1 else 0))
        slots.append(first + each.places[column])
    return Numbers(*(np.concatenate(each) for each in (at, by, slots)))


def step_code(
    m: Model, own: Mapping[str, Sequence[int]], law: RolloutLaw | None, given: Collection[str],
    outputs: Collection[str], specialize: bool,
) -> Step:  # fmt: skip
    """Return the code of a step; the Model keeps it, unless the law calls a user function.

    Args:
        m: the Model.
        own: the flat indices at which robots differ, for each field of the Model, or "gravity".
        law: the law that computes the forces of every step; None: no law.
        given: the forces that are inputs: qfrc_applied, xfrc_applied.
        outputs: fields that are computed for rows of outputs.
        specialize: whether to compile code for this Model.

    Raises:
        ModelError: the Model cannot be specialised.
    """
    check_compiler("rollout")
    observed = tuple(name for name in outputs if name not in STEP_OUTPUTS)
    places = {name: tuple(indices) for name, indices in own.items()}
    known: dict[Any, Any] = vars(m).setdefault("rollout_code", {})
    key = (specialize, repr(m.opt), m.opt.gravity.tobytes(), tuple(given), *places.items())
    key += (law.key,) if law else ()
    # code with a user function is not reused, because the function may change between calls
    repeats = law is None or law.key is not None
    if repeats and (key, observed) in known:
        found: Step = known[key, observed]
        return found
    if law is not None:
        law.check_repeatable()
    model = with_springs(m, places)
    if not specialize:
        made: Step = EngineStep(model, places, law, observed)
    elif repeats and key in known:
        made = known[key].observing(observed)
    else:
        made = _lane_step(model, places, law, given, observed)
    if repeats:
        known[key, observed] = made
        known.setdefault(key, made)
    return made


def _lane_step(
    m: Model, own: Mapping[str, Sequence[int]], law: RolloutLaw | None, given: Collection[str],
    outputs: Collection[str],
) -> LaneStep:  # fmt: skip
    try:
        made = ContactStep if m.ncontact > 0 else LaneStep
        return made(m, own, law, given, outputs)
    except ModelError as error:
        if error.code != "not-traceable":
            raise
        text = f"{error}; specialize=False uses the engine's own code"
        raise ModelError(Finding("not-traceable", text, "error", m.name)) from None
