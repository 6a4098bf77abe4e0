# SPDX-License-Identifier: Apache-2.0
"""The robots of a Batch in the memory of this machine, advanced by its cores."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array, Bools, Ints
from rbdyn_ros.errors import ModelError
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model
from rbdyn_ros.rollouts.arguments import robot_numbers
from rbdyn_ros.rollouts.contact_step import ContactMemory, ContactStep
from rbdyn_ros.rollouts.job import COMMANDS, STATE, Job, Robots, Step, remembered, step_code
from rbdyn_ros.rollouts.outputs import OBSERVED_OUTPUTS, check_fits
from rbdyn_ros.rollouts.params import Columns, check_built_in, open_places
from rbdyn_ros.rollouts.pool import Pool
from rbdyn_ros.specialization.functions import FORCES


class Cpu:
    """A Device of a Batch, see device.Device.

    Args:
        m: the Model.
        nsim: number of robots.
        threads: number of threads.
        wanted: whether robots run with code for the Model; None: if the Model can be specialised.
    """

    def __init__(self, m: Model, nsim: int, threads: int, wanted: bool | None) -> None:
        check_fits(9 * nsim, f"{nsim} robots")
        self.model, self.nsim, self.threads = m, nsim, threads
        self._wanted, self._held = wanted, 0
        self._robots = Robots.new(nsim, np.zeros((nsim, 0), np.int64))
        self._pool = Pool(threads, "batch")
        self._job: Job
        self._step: Step
        self.friction: ContactMemory | None = None
        self.why = ""

    @property
    def nbad(self) -> Ints:
        """(nsim,), counts of inertias that were not positive, see Batch.nbad."""
        return self._robots.nbad

    @property
    def diverged(self) -> Bools:
        """A mask of the robots that have diverged, see Batch.diverged."""
        return self._robots.diverged

    def zeros(self, name: str, shape: tuple[int, ...]) -> Array:
        """Return new C-contiguous memory (*shape, nsim) that begins at a cache line."""
        size = self.nsim * int(np.prod(shape, dtype=int))
        check_fits(8 * size + self._held, f"{name} of {self.nsim} robots")
        self._held += 8 * size
        raw = np.zeros(size + 8)
        first = -raw.ctypes.data % 64 // 8
        return raw[first : first + size].reshape(*shape, self.nsim)

    def given(self, value: Any) -> Any:
        """Return a value that can be assigned to an array.

        None becomes a text, which arrays refuse.
        """
        return "nothing" if value is None else value

    def on_host(self, values: Array) -> Array:
        """Return an array as a NumPy array."""
        return values

    def check_own(self, name: str) -> None:
        """Raise ModelError unless each robot can have its own values of a field of the Model."""
        if self._wanted:
            check_built_in(self.model, name, "specialize=None runs the engine's own code")

    def prepare(self, memory: Mapping[str, Array], expanded: Collection[str]) -> None:
        """Prepare the code for the options of the Model, with the addresses of the arrays."""
        m = self.model
        held = {name: each for name, each in memory.items() if name not in expanded}
        self._settle(np.arange(self.nsim))
        self._step, self.why = self._code(held, expanded)
        old, size = self._robots, remembered(self._step)
        if old.kept.shape[1] != size:
            check_fits(8 * self.nsim * size, f"the contacts of {self.nsim} robots")
            kept = np.zeros((self.nsim, size), np.int64)
            self._robots = Robots(old.nbad, old.diverged, kept)
        commands = held.pop(COMMANDS, None)
        whole = {name: Columns.whole(name, self._rows(each)) for name, each in held.items()}
        read = [whole[name] for name in ("time", *STATE, "act", *FORCES) if name in whole]
        for name in expanded:
            read += self._pieces(name, open_places(m, name), memory[name])
        write = [each for name, each in whole.items() if name not in FORCES]
        before, self.friction = self.friction, None
        if isinstance(self._step, ContactStep):
            size = self._step.memory_size
            same = before is not None and len(before.grip) == size
            grip = before.grip if before and same else self.zeros("friction", (size,))
            self.friction = ContactMemory(self._step, grip, self._robots.kept)
            remembered_now = self.friction.columns()
            read, write = [*read, *remembered_now], [*write, remembered_now[0]]
        if commands is not None:
            dofs = m.actuator_dofid
            read.append(Columns("qfrc_applied", dofs, self._rows(commands)))
            write += self._pieces("qfrc_applied", dofs, memory["qfrc_applied"])
        self._job = Job(self._step, self._robots, m.work, read, write, (m.nq, m.nv))

    def _code(self, held: Collection[str], expanded: Collection[str]) -> tuple[Step, str]:
        """Return the code of a step, and the reason why it is the engine's code, or ""."""
        m, given = self.model, [name for name in FORCES if name in held]
        own = {name: open_places(m, name).tolist() for name in expanded}
        seen = [name for name in OBSERVED_OUTPUTS if name in held]
        why = "specialize=False"
        if self._wanted is not False:
            try:
                return step_code(m, own, None, given, seen, True), ""
            except ModelError as error:
                if self._wanted or error.code != "not-traceable":
                    raise
                why = str(error).partition(";")[0]
        return step_code(m, own, None, given, seen, False), why

    def _pieces(self, name: str, places: Ints, memory: Array) -> list[Columns]:
        """Return entries of an array as views, one for each group of adjacent entries."""
        flat = self._rows(memory)
        pieces = np.split(places, np.flatnonzero(np.diff(places) > 1) + 1)
        return [Columns(name, x, flat[:, x[0] : x[-1] + 1]) for x in pieces if x.size]

    def _rows(self, memory: Array) -> Array:
        """Return an array (..., nsim) as rows (nsim, n)."""
        rows: Array = memory.reshape(-1, self.nsim).T
        return rows

    def run(self, nstep: int, ids: Ints | None) -> None:
        """Advance robots, all if `ids` is None, by nstep timesteps; compute the outputs."""
        if ids is None:
            self._job.run(self._pool, nstep)
        elif ids.size:
            self._job.run(self._pool, nstep, ids=ids)

    def clear(self, rows: Any) -> None:
        """Reset the counts and the memory of friction of some robots."""
        # the entry before stick_key is nstick
        counts, _ = self._step.places.get("stick_key", (0, 0))
        self._robots.kept[rows, :counts] = 0
        if self.friction is not None:
            self.friction.forget(rows)
        self._robots.nbad[rows] = 0

    def remember(self, d: Data, k: int) -> None:
        """Write the memory of robot k, without its state, into a Data."""
        self._settle(np.array([k]))
        kept = self._robots.kept[k]
        for slot, place, length, by_contact in self._step.remembered.tolist():
            used = by_contact * int(kept[0]) or length * (by_contact == 0)
            d.buffer[slot : slot + used].view(np.int64)[:] = kept[place : place + used]

    def counted(self, name: str) -> Ints:
        """Return the counter `name` of each robot, (nsim,)."""
        place, size = self._step.places.get(name, (0, 0))
        self._settle(np.arange(self.nsim))
        return self._robots.kept[:, place].copy() if size else np.zeros(self.nsim, np.int64)

    def load(self, robots: Ints) -> None:
        """Copy the friction memory from the robots' rows to lanes where the rows are newer."""
        if self.friction is not None:
            self.friction.load(robots)

    def _settle(self, robots: Ints) -> None:
        """Copy the friction memory from lanes to the robots' rows where the lanes are newer."""
        if self.friction is not None:
            self.friction.settle(robots)

    def chosen(self, ids: ArrayLike) -> Ints:
        """Return numbers of robots, given numbers or a mask."""
        found = robot_numbers(np.asarray(ids), ids, self.nsim, _sorted)
        return np.ascontiguousarray(found, np.int64)

    def __str__(self) -> str:
        how = f"the engine's own code ({self.why})" if self.why else "code for this Model"
        return f"{how}, {self.threads} threads"


def _sorted(numbers: Ints) -> Ints:
    # a stable sort is fast for numbers that are already in order
    return np.sort(numbers, kind="stable")
