"""rb.Batch: robots of one Model whose arrays stay, to be advanced from outside."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbdyn_ros.arrays import Array, Bools, Ints
from rbdyn_ros.checks.numbers import count, flag
from rbdyn_ros.errors import (
    Finding,
    ModelError,
    bad_argument,
    did_you_mean,
    not_allowed,
    quote,
    shown,
)
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.data_fields import DATA_FIELDS
from rbdyn_ros.model.model import Model, check_model
from rbdyn_ros.rollouts import arguments
from rbdyn_ros.rollouts.job import Job, Robots, Step, remembered, step_code
from rbdyn_ros.rollouts.outputs import OBSERVED_OUTPUTS, check_fits
from rbdyn_ros.rollouts.params import FIELDS, GRAVITY, Columns, model_array, open_places
from rbdyn_ros.rollouts.pool import Pool

#: Fields of the state: numbers that a step changes.
STATE = ("time", "qpos", "qvel")
#: Forces, which a step reads.
FORCES = ("qfrc_applied", "xfrc_applied")
#: Fields that the caller writes.
INPUTS = (*STATE, *FORCES)
#: Fields that can be bound. The others are computed from the state.
DATA_NAMES = (*INPUTS, *OBSERVED_OUTPUTS)

#: More robots than any memory holds.
MAX_ROBOTS = 2**40

_FIELD = {field.name: field for field in DATA_FIELDS}


class Batch:
    """Robots of one Model that stay between calls, with live arrays (nsim, ...).

        b = rb.Batch(m, 1024)
        for _ in range(1000):
            b.qfrc_applied[:] = policy(b.qpos, b.qvel)
            b.step()

    Robots advance side by side in vector registers, by code compiled for the Model, on all cores.
    A robot has the bits of `s.step(d)` with `s = rb.specialize(m)`, whatever the other robots and
    the threads: dry friction and limits of joints follow the smooth law. What cannot be
    specialised, such as contact and closed loops, runs in the engine's own code, with the bits of
    `rb.step(m, d)`, which obeys m.opt.exact_stops.

    An array is live: a write counts at the next call, and a call leaves its results in it. The
    numbers of a field lie robot beside robot, as vectors want them: `b.qpos` is the transposed of
    a compact array (nq, nsim), which NumPy, torch and JAX share without a copy (DLPack). Arrays
    stay valid after the Batch is gone.

    Names and signatures are those of mujoco.batch.Batch where it has them.

    Args:
        m: the Model. Its options hold at every call, as for rb.step.
        nsim: number of robots; they begin as rb.make_data leaves a robot.
        nthread: number of threads, with the calling one; 0: one per core.
        specialize: True: by code for this Model. False: by the engine's own code, where joints
            stop exactly. None: by code for this Model if there is any.

    Attributes:
        model: the Model.
        nsim: number of robots.
        nthread: number of threads.
        nbad: (nsim,), times that the inertia of a dof was not positive, since reset.
        diverged: (nsim,), whether qpos or qvel was not finite after the last call.

    Raises:
        ParameterError: an argument is not allowed, or the robots do not fit in the memory.
        ModelError: m is not a Model, or cannot be specialised as `specialize` wants.
    """

    model: Model
    nsim: int
    nthread: int
    nbad: Ints
    diverged: Bools

    def __init__(
        self, m: Model, nsim: int, nthread: int = 0, specialize: bool | None = None
    ) -> None:
        check_model(m, "Batch")
        nsim = count("nsim", nsim, 1, MAX_ROBOTS, element="")
        threads = None if type(nthread) is int and nthread == 0 else nthread
        threads = arguments.thread_count(threads, "nthread")
        if specialize is not None:
            specialize = flag("specialize", specialize)
        check_fits(9 * nsim, f"{nsim} robots")
        robots = Robots.new(nsim, np.zeros((nsim, 0), np.int64))
        vars(self).update(
            model=m, nsim=nsim, nthread=threads,
            nbad=robots.nbad, diverged=robots.diverged,
        )  # fmt: skip
        self._wanted, self._robots = specialize, robots
        self._pool = Pool(threads, "batch")
        self._memory: dict[str, Array] = {}  # (..., nsim), by name of a field
        self._views: dict[str, Array] = {}  # the same as (nsim, ...): bound fields of Data
        self._expanded: dict[str, Array] = {}  # and fields of the Model
        self._options: Any = None  # for which the job is made; None: look again
        self._job: Job
        self._step: Step
        self._why = ""
        for name in (*STATE, "qfrc_applied"):
            self.bind(name)
        self.qpos[:] = m.qpos0
        self._ready()

    def step(self, ids: ArrayLike | None = None, nstep: int = 1) -> None:
        """Advance robots by nstep timesteps; then compute the bound fields of their new state.

        Args:
            ids: numbers of the robots, or a mask (nsim,); None: all.
            nstep: number of timesteps.

        Raises:
            ParameterError: an argument is not allowed.
            KeyboardInterrupt: after Ctrl-C, within about a tenth of a second; each robot has then
                done all timesteps of the call or none, as b.time shows.
        """
        if type(nstep) is not int or not 0 <= nstep <= arguments.MAX_STEPS:
            nstep = count("nstep", nstep, 0, arguments.MAX_STEPS, element="")
        self._run(nstep, ids)

    def forward(self, ids: ArrayLike | None = None) -> None:
        """Compute the bound fields of the present state, and `diverged`.

        Args:
            ids: numbers of the robots, or a mask (nsim,); None: all.
        """
        self._run(0, ids)

    def reset(self, ids: ArrayLike | None = None) -> None:
        """Restore the state that the robots began with, without forces; then do as forward.

        Parameters (see expand) stay.

        Args:
            ids: numbers of the robots, or a mask (nsim,); None: all.
        """
        rows = slice(None) if ids is None else self._chosen(ids)
        for name in INPUTS:
            if name in self._views:
                self._views[name][rows] = self.model.qpos0 if name == "qpos" else 0.0
        counts, _ = self._step.places.get("stick_key", (0, 0))  # nstick is before it
        self._robots.kept[rows, :counts] = 0
        self._robots.nbad[rows] = 0
        self._run(0, ids)

    def bind(self, name: str) -> Array:
        """Return the live array (nsim, ...) of a field of Data; b.xpos means b.bind("xpos").

        time, qpos, qvel, qfrc_applied and xfrc_applied may be written. xpos, xmat, xipos,
        subtree_com, cvel and energy are computed by every call for its robots, so writes are lost;
        a field that is bound between calls is zero until the next call. They belong to the new
        state (those of mujoco.batch are one timestep behind).

        Raises:
            ParameterError: unknown name, or no memory for the array.
        """
        _check_name("bind", name, DATA_NAMES)
        if name not in self._views:
            self._views[name] = self._allocate(name, _FIELD[name].shape(vars(self.model)))
            self._options = None
        found: Array = self._views[name]
        return found

    def expand(self, name: str) -> Array:
        """Give every robot its own numbers of a field of the Model; return them, (nsim, ...).

        They begin with the Model's. The numbers are not checked: a robot that cannot exist
        diverges or counts in nbad. The entries of body 0, and springs of joints that cannot have
        one, are not read.

        Args:
            name: body_mass, body_ipos, body_fullinertia, dof_armature, dof_damping,
                dof_frictionloss, jnt_stiffness, or gravity, also by MuJoCo's name opt.gravity.

        Raises:
            ParameterError: unknown name, or no memory for the array.
        """
        name = GRAVITY if name == f"opt.{GRAVITY}" else name
        _check_name("expand", name, FIELDS)
        if name not in self._expanded:
            given = model_array(self.model, name)
            view = self._allocate(name, given.shape)
            view[:] = given
            self._expanded[name] = view
            self._options = None
        return self._expanded[name]

    def get_data(self, sim: int) -> Data:
        """Return a Data of one robot with its time, positions, velocities, forces and friction.

        Raises:
            ParameterError: there is no such robot.
        """
        k = count("sim", sim, 0, self.nsim - 1, element="")
        d = Data(self.model)
        for name in INPUTS:
            if name in self._views:
                setattr(d, name, self._views[name][k])
        kept = self._robots.kept[k]
        for slot, place, length, by_contact in self._step.segments.tolist():
            used = by_contact * int(kept[0]) or length * (by_contact == 0)
            d.buffer[slot : slot + used].view(np.int64)[:] = kept[place : place + used]
        return d

    @property
    def ndropped(self) -> Ints:
        """(nsim,), contacts of the last timestep that did not fit in the list, as in Data."""
        return self._counted("ndropped")

    @property
    def nunsolved(self) -> Ints:
        """(nsim,), timesteps with inexact contact forces, since reset, as in Data."""
        return self._counted("nunsolved")

    @property
    def specialized(self) -> bool:
        """Whether the robots run by code for their Model, as the last call did."""
        return not self._why

    def __getattr__(self, name: str) -> Any:
        kept = vars(self)
        if name in DATA_NAMES and "_options" in kept:
            return self.bind(name)
        if name in kept.get("_expanded", ()):
            return kept["_expanded"][name]
        more = "; b.expand makes an array of it" if name in FIELDS else ""
        raise AttributeError(f"a Batch has no '{name}'{did_you_mean(name, DATA_NAMES)}{more}")

    def __setattr__(self, name: str, value: object) -> None:
        if name.startswith("_"):
            object.__setattr__(self, name, value)
            return
        if name not in INPUTS and name not in self._expanded:
            known = name in DATA_NAMES or name in vars(self)
            why = "is computed" if known else f"is no array of it{did_you_mean(name, INPUTS)}"
            allowed = f"{', '.join(INPUTS)} and expanded fields"
            raise AttributeError(f"'{name}' of a Batch {why}; allowed are {allowed}")
        view = getattr(self, name)
        try:
            view[...] = "nothing" if value is None else value
        except (TypeError, ValueError):
            found = (
                f"the shape {np.shape(value)}" if isinstance(value, np.ndarray) else shown(value)
            )
            text = f"{name} is given {found}; allowed are numbers {view.shape} or {view.shape[1:]}"
            raise bad_argument(name, text) from None

    def __reduce__(self) -> NoReturn:
        text = "a Batch cannot be copied or pickled; make another one and copy the arrays"
        raise ModelError(Finding("not-copied", text, "error", "Batch"))

    def __len__(self) -> int:
        return self.nsim

    def __repr__(self) -> str:
        how = f"the engine's own code ({self._why})" if self._why else "code for this Model"
        return f"<Batch of {self.nsim} '{self.model.name}' by {how}, {self.nthread} threads>"

    def _counted(self, name: str) -> Ints:
        place, size = self._step.places.get(name, (0, 0))
        return self._robots.kept[:, place].copy() if size else np.zeros(self.nsim, np.int64)

    def _allocate(self, name: str, shape: tuple[int, ...]) -> Array:
        """Return a new live array; its memory is compact and begins at a cache line."""
        size = int(np.prod(shape, dtype=int))
        held = sum(memory.nbytes for memory in self._memory.values())
        check_fits(8 * self.nsim * size + held, f"{name} of {self.nsim} robots")
        raw = np.zeros(self.nsim * size + 8)
        first = -raw.ctypes.data % 64 // 8
        memory = raw[first : first + self.nsim * size].reshape(*shape, self.nsim)
        self._memory[name] = memory
        return np.moveaxis(memory, -1, 0)

    def _ready(self) -> Job:
        """Return the job for the present options and arrays."""
        opt = self.model.opt
        now = opt.timestep, opt.integrator_id, opt.passive, opt.exact_stops, opt.gravity.tobytes()
        if now != self._options:
            self._prepare()
            self._options = now
        return self._job

    def _prepare(self) -> None:
        """Find the code, and tell it where the arrays are."""
        m, held = self.model, {name: Columns.whole(name, self._flat(name)) for name in self._views}
        self._step, self._why = self._code()
        old, size = self._robots, remembered(self._step)
        if old.kept.shape[1] != size:
            check_fits(8 * self.nsim * size, f"the contacts of {self.nsim} robots")
            kept = np.zeros((self.nsim, size), np.int64)
            self._robots = Robots(old.nbad, old.diverged, kept)
        read = [held[name] for name in INPUTS if name in held]
        read += [each for name in self._expanded for each in self._own(name)]
        write = [each for name, each in held.items() if name not in FORCES]
        self._job = Job(self._step, self._robots, m.work, read, write, (m.nq, m.nv))

    def _code(self) -> tuple[Step, str]:
        """Return the code of a step, and why it is the engine's, or ""."""
        m, given = self.model, [name for name in FORCES if name in self._views]
        own = {name: open_places(m, name).tolist() for name in self._expanded}
        seen = [name for name in OBSERVED_OUTPUTS if name in self._views]
        why = "specialize=False"
        if self._wanted is not False:
            try:
                return step_code(m, own, None, given, seen, True), ""
            except ModelError as error:
                if self._wanted or error.code != "not-traceable":
                    raise
                why = str(error).partition(";")[0]
        return step_code(m, own, None, given, seen, False), why

    def _own(self, name: str) -> list[Columns]:
        """Return the entries of an expanded array that are read, in pieces that are views."""
        places, flat = open_places(self.model, name), self._flat(name)
        pieces = np.split(places, np.flatnonzero(np.diff(places) > 1) + 1)
        return [Columns(name, x, flat[:, x[0] : x[-1] + 1]) for x in pieces if x.size]

    def _flat(self, name: str) -> Array:
        """Return the live array as rows (nsim, n)."""
        rows: Array = self._memory[name].reshape(-1, self.nsim).T
        return rows

    def _run(self, nstep: int, ids: ArrayLike | None) -> None:
        job = self._ready()
        if ids is None:
            job.run(self._pool, nstep)
            return
        chosen = self._chosen(ids)
        if chosen.size:
            job.run(self._pool, nstep, ids=chosen)

    def _chosen(self, ids: ArrayLike) -> Ints:
        """Return numbers of robots, from numbers or from a mask.

        Raises:
            ParameterError: a number is out of range or occurs twice, or it is no list of numbers.
        """
        given: NDArray[Any] = np.atleast_1d(np.asarray(ids))
        if given.dtype == np.bool_ and given.shape == (self.nsim,):
            return np.flatnonzero(given)
        allowed = f"numbers from 0 to {self.nsim - 1}, each once, or a mask ({self.nsim},)"
        if given.ndim != 1 or (given.dtype.kind not in "iu" and given.size):
            raise not_allowed("ids", ids, allowed)
        wrong = (given < 0) | (given >= self.nsim)
        if wrong.any():
            raise bad_argument("ids", f"ids has {given[wrong][0]}; allowed are {allowed}")
        chosen = np.ascontiguousarray(given, np.int64)
        ordered = np.sort(chosen, kind="stable")  # they often are in order
        twice = ordered[1:][ordered[1:] == ordered[:-1]]
        if twice.size:
            raise bad_argument("ids", f"ids has {twice[0]} twice; allowed are {allowed}")
        return chosen


def _check_name(what: str, name: object, known: Collection[str]) -> None:
    if name not in known:
        called = quote(name) if isinstance(name, str) else shown(name)
        text = f"there is no field {called}{did_you_mean(str(name), known)}"
        raise bad_argument(what, f"{what}: {text}; allowed are {', '.join(known)}")
