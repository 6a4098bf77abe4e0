# SPDX-License-Identifier: Apache-2.0
"""rb.Batch: robots of one Model in persistent arrays, which the caller advances."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from rbdyn_ros.arrays import Array, Bools, Ints
from rbdyn_ros.checks.names import one_of
from rbdyn_ros.checks.numbers import count, flag
from rbdyn_ros.dynamics.too_much import text_if_fast, texts_before
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
from rbdyn_ros.model.declared.data_fields import DATA_FIELDS
from rbdyn_ros.model.model import Model, check_model
from rbdyn_ros.rollouts import arguments
from rbdyn_ros.rollouts.cpu import Cpu
from rbdyn_ros.rollouts.cuda import Cuda
from rbdyn_ros.rollouts.device import Device
from rbdyn_ros.rollouts.job import COMMANDS
from rbdyn_ros.rollouts.limits import warn_of_limits
from rbdyn_ros.rollouts.named import NamedView, body_places, joint_places
from rbdyn_ros.rollouts.outputs import OBSERVED_OUTPUTS
from rbdyn_ros.rollouts.params import FIELDS, GRAVITY, model_array
from rbdyn_ros.specialization.functions import FORCES, STATE

#: Fields that the caller writes.
INPUTS = (*STATE, "act", *FORCES, COMMANDS)
#: Fields that can be bound; fields that the caller does not write are computed from the state.
DATA_NAMES = (*INPUTS, *OBSERVED_OUTPUTS)

#: Upper limit of the number of robots, more than any memory holds.
MAX_ROBOTS = 2**40
#: Joint limits are checked after the first call, and then after every LOOK calls.
LOOK = 64

DEVICES = ("cpu", "cuda")

_FIELD = {field.name: field for field in DATA_FIELDS}


class Batch:
    """Robots of one Model that persist between calls, with live arrays (nsim, ...).

        b = rb.Batch(m, 1024)
        for _ in range(1000):
            b.qfrc_applied[:] = policy(b.qpos, b.qvel)
            b.step()

    Robots advance side by side in vector registers, with code compiled for the Model, on all
    cores. The results of a robot equal `s.step(d)` bit for bit, with `s = rb.specialize(m)`,
    and do not depend on the other robots or the number of threads. Dry friction and limits of
    joints follow the smooth law. Models that cannot be specialised, for example because of closed
    loops or most kinds of contact, run in the engine's own code. They give the bits of `rb.step(m,
    d)`, which follows m.opt.exact_stops.

    These contacts are specialised too: spheres on planes and height fields, capsules on planes,
    and a few pairs of a robot's own spheres and capsules. They follow the law of `rb.step`,
    including exact stops, up to the tolerance of its solver. If the forces of a robot do not
    converge, or its other geometries come near the ground, the engine's own step advances the
    robot.

    An array is live: the next call reads the numbers in it and writes results to it. For
    each entry of a field the numbers of all robots are adjacent in memory, as vector registers
    need them. So `b.qpos` is the transpose of a C-contiguous array (nq, nsim), which NumPy, torch
    and JAX share without a copy (DLPack). Arrays stay valid after the Batch is deleted.

    With `device="cuda"` the robots are on a GPU (experimental): arrays are CuPy arrays, and a step
    gives the same bits in 64-bit floats. Calls return before the GPU has finished, unless robots
    have contact. On a GPU only contact with planes is supported, and the CPU does the steps of a
    robot that need the engine's own code.

    Methods that mujoco.batch.Batch also has use its names and signatures.

    Args:
        m: the Model. Its present options apply to every call, as for rb.step.
        nsim: number of robots; they start in the state of a new rb.make_data(m).
        nthread: number of threads, including the calling thread; 0: one per core.
        specialize: True: use code for this Model. False: use the engine's own code, where joints
            stop exactly. None: use code for this Model if it can be specialised. On a GPU only
            such code is available.
        device: "cpu", or "cuda" for the current GPU of CuPy.
        dtype: type of all floats; on a GPU 32-bit floats are also allowed without contact.

    Attributes:
        model: the Model.
        nsim: number of robots.
        nthread: number of threads; 0 on a GPU.
        nbad: (nsim,), how often the inertia of a dof was not positive since reset.
        diverged: (nsim,), True if qpos or qvel was not finite after the last call.

    On a CPU a RuntimeWarning is given once if a spring is too stiff for the timestep, and once if
    a body on a free or ball joint rotates by more than half a radian in a timestep.

    Raises:
        ParameterError: an argument is not allowed, the robots do not fit in the memory, or there
            is no GPU.
        ModelError: m is not a Model, or it cannot be specialised although `specialize` or a GPU
            requires it.
    """

    model: Model
    nsim: int
    nthread: int
    nbad: Ints
    diverged: Bools

    def __init__(
        self,
        m: Model,
        nsim: int,
        nthread: int = 0,
        specialize: bool | None = None,
        device: str = "cpu",
        dtype: DTypeLike = "float64",
    ) -> None:
        check_model(m, "Batch")
        nsim = count("nsim", nsim, 1, MAX_ROBOTS, element="")
        threads = None if type(nthread) is int and nthread == 0 else nthread
        threads = arguments.thread_count(threads, "nthread")
        if specialize is not None:
            specialize = flag("specialize", specialize)
        number = arguments.float_type(dtype)
        self._device: Device
        if one_of("device", device, DEVICES) == "cuda":
            if nthread != 0:
                raise not_allowed("nthread", nthread, "0 for robots on a GPU", "nthread")
            if specialize is False:
                text = (
                    "the engine's own code runs on device='cpu' only; a GPU needs specialize=True"
                )
                raise bad_argument("specialize", text)
            self._device, threads = Cuda(m, nsim, number, threads), 0
        elif number != np.float64:
            raise not_allowed("dtype", number.name, "float64 for device='cpu'", "dtype")
        else:
            self._device = Cpu(m, nsim, threads, specialize)
        vars(self).update(
            model=m, nsim=nsim, nthread=threads,
            nbad=self._device.nbad, diverged=self._device.diverged,
        )  # fmt: skip
        self._memory: dict[str, Array] = {}  # arrays (..., nsim), by name of the field
        self._views: dict[str, Array] = {}  # views (nsim, ...) of the bound fields of Data
        self._expanded: dict[str, Array] = {}  # views of the fields of the Model
        # the options for which the code is prepared; None: it is not prepared
        self._options: Any = None
        for name in (*STATE, "qfrc_applied", *(["act"] if m.na else [])):
            self.bind(name)
        self.qpos = m.qpos0
        limited = bool(m.jnt_limited.any() or m.nlimit) and m.ncontact == 0
        self._calls, self._watched = 0, device == "cpu" and limited
        self._unsaid = {"springs", "turns"} if device == "cpu" else set()
        self._ready()

    def step(self, ids: ArrayLike | None = None, nstep: int = 1) -> None:
        """Advance robots by nstep timesteps; then compute the bound fields of their new state.

        Args:
            ids: numbers of the robots, or a mask (nsim,); None: all.
            nstep: number of timesteps.

        Raises:
            ParameterError: an argument is not allowed.
            KeyboardInterrupt: within about a tenth of a second after Ctrl-C; each robot has then
                done all timesteps of the call or none, as b.time shows. On a GPU this is raised
                only with contact, and a robot may have done some of the timesteps.
        """
        if type(nstep) is not int or not 0 <= nstep <= arguments.MAX_STEPS:
            nstep = count("nstep", nstep, 0, arguments.MAX_STEPS, element="")
        self._run(nstep, None if ids is None else self._device.chosen(ids))

    def forward(self, ids: ArrayLike | None = None) -> None:
        """Compute the bound fields of the present state, and `diverged`.

        Args:
            ids: numbers of the robots, or a mask (nsim,); None: all.
        """
        self._run(0, None if ids is None else self._device.chosen(ids))

    def reset(self, ids: ArrayLike | None = None) -> None:
        """Restore the initial state of the robots, without forces; then compute as `forward` does.

        Parameters do not change, see `expand`.

        Args:
            ids: numbers of the robots, or a mask (nsim,); None: all.
        """
        rows = slice(None) if ids is None else self._device.chosen(ids)
        qpos0 = self._device.given(self.model.qpos0)
        for name in INPUTS:
            if name in self._views:
                self._views[name][rows] = qpos0 if name == "qpos" else 0.0
        self._device.clear(rows)
        self._run(0, None if ids is None else rows)

    def bind(self, name: str) -> Array:
        """Return the live array (nsim, ...) of a field of Data; b.xpos means b.bind("xpos").

        time, qpos, qvel, act, qfrc_applied, xfrc_applied and ctrl may be written. act (nsim, na)
        holds the states of actuators as in Data. ctrl (nsim, nu) holds the command of each
        actuator, the effort of its joint [N m or N], in the order of m.actuator_dofid. Without
        ctrl the commands are the entries of qfrc_applied at these dofs. When ctrl is bound, it
        receives the present commands; from then on every call copies ctrl to these entries.

        xpos, xmat, xipos, subtree_com, cvel and energy are computed by every call for its robots,
        so writes to them are lost. A computed field that is bound between calls is zero until the
        next call. Computed fields belong to the new state; in mujoco.batch they are one timestep
        behind.

        Raises:
            ParameterError: the name is unknown, or there is no memory for the array.
        """
        _check_name("bind", name, DATA_NAMES)
        if name not in self._views:
            shape = (self.model.nu,) if name == COMMANDS else _FIELD[name].shape(vars(self.model))
            self._views[name] = self._allocate(name, shape)
            self._options = None
            if name == COMMANDS and self.model.nu > 0:
                # a list, because CuPy does not accept arrays of NumPy as indices
                dofs = self.model.actuator_dofid.tolist()
                self._views[name][:] = self.qfrc_applied[:, dofs]
        found: Array = self._views[name]
        return found

    def expand(self, name: str) -> Array:
        """Give every robot its own values of a field of the Model; return their array (nsim, ...).

        The initial values are those of the Model. New values are not checked: a physically
        impossible robot diverges or is counted in nbad. Entries of body 0, and of springs in
        joints that cannot have springs, are ignored.

        Args:
            name: body_mass, body_ipos, body_fullinertia, dof_armature, dof_damping,
                dof_frictionloss, dof_inertia0, jnt_stiffness, a numeric field actuator_*
                (actuator_delay in whole timesteps, at most as many as in the Model), or gravity,
                also by MuJoCo's name opt.gravity. If the gear is rigid, dof_armature and
                dof_inertia0 include the rotor, gear^2 armature, and do not change with
                actuator_gear.

        Raises:
            ParameterError: the name is unknown, or there is no memory for the array.
            ModelError: the field is actuator_*, but robots must run with code for the Model: on a
                GPU, or with specialize=True.
        """
        name = GRAVITY if name == f"opt.{GRAVITY}" else name
        _check_name("expand", name, FIELDS)
        self._device.check_own(name)
        if name not in self._expanded:
            given = model_array(self.model, name)
            view = self._allocate(name, given.shape, given.dtype)
            view[:] = self._device.given(given)
            self._expanded[name] = view
            self._options = None
        return self._expanded[name]

    def joint(self, name: str) -> NamedView:
        """Return the live arrays of a joint: qpos, qvel and qfrc_applied, (nsim, n) each.

        A joint with an actuator also has ctrl and act. The arrays can be read, written in place
        and assigned: b.joint("elbow").qpos = 0.3.

        Raises:
            ModelError: the joint is unknown, or has no degree of freedom of its own.
        """
        return NamedView(self.bind, joint_places(self.model, name))

    def body(self, name: str) -> NamedView:
        """Return the live arrays of a body: xpos, xmat, xipos and so on.

        As with `bind`, every call after the first use of a computed field computes it.

        Raises:
            ModelError: the body is unknown.
        """
        return NamedView(self.bind, body_places(self.model, name))

    def get_data(self, sim: int) -> Data:
        """Return a Data of one robot with its time, positions, velocities, forces and friction.

        Raises:
            ParameterError: no robot has this number.
        """
        k = count("sim", sim, 0, self.nsim - 1, element="")
        d = Data(self.model)
        self._device.remember(d, k)
        for name in INPUTS:
            if name in self._views:
                values = self._device.on_host(self._views[name][k])
                if name == COMMANDS:
                    d.qfrc_applied[self.model.actuator_dofid] = values
                else:
                    setattr(d, name, values)
        return d

    @property
    def ndropped(self) -> Ints:
        """(nsim,), number of contacts of the last timestep that did not fit in the list."""
        return self._device.counted("ndropped")

    @property
    def nunsolved(self) -> Ints:
        """(nsim,), number of timesteps with inexact contact forces since reset, as in Data."""
        return self._device.counted("nunsolved")

    @property
    def specialized(self) -> bool:
        """Return whether the last call ran the robots with code for their Model."""
        return not self._device.why

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
            why = (
                "is computed" if known else f"is not one of its arrays{did_you_mean(name, INPUTS)}"
            )
            allowed = f"{', '.join(INPUTS)} and expanded fields"
            raise AttributeError(f"'{name}' of a Batch {why}; allowed are {allowed}")
        view = getattr(self, name)
        try:
            view[...] = self._device.given(value)
        except (TypeError, ValueError):
            found = f"the shape {value.shape}" if hasattr(value, "shape") else shown(value)
            text = f"{name} got {found}; allowed is the shape {view.shape} or {view.shape[1:]}"
            raise bad_argument(name, text) from None

    def __reduce__(self) -> NoReturn:
        text = "a Batch cannot be copied or pickled; make another one and copy the arrays"
        raise ModelError(Finding("not-copied", text, "error", "Batch"))

    def __len__(self) -> int:
        return self.nsim

    def __repr__(self) -> str:
        return f"<Batch of {self.nsim} '{self.model.name}' by {self._device}>"

    def _allocate(self, name: str, shape: tuple[int, ...], kind: DTypeLike = float) -> Array:
        """Allocate an array in the memory of the device; return the live view of it."""
        memory = self._device.zeros(name, shape)
        memory = self._memory[name] = memory if kind != np.int64 else memory.view(np.int64)
        view: Array = memory.transpose(len(shape), *range(len(shape)))
        return view

    def _ready(self) -> None:
        """Prepare the code again if an option has changed since the last call."""
        opt = self.model.opt
        now = opt.timestep, opt.integrator_id, opt.passive, opt.exact_stops, opt.gravity.tobytes()
        if now != self._options:
            self._device.prepare(self._memory, self._expanded)
            self._options = now

    def _run(self, nstep: int, ids: Any) -> None:
        self._ready()
        self._device.run(nstep, ids)
        self._calls += 1
        if self._calls % LOOK == 1:
            self._watch()

    def _watch(self) -> None:
        """Warn once of each kind of problem: exceeded limits, stiff springs, fast rotations."""
        m = self.model
        if self._watched and self.specialized:
            instead = "rb.Batch(m, nsim, specialize=False)"
            self._watched = not warn_of_limits(m, self.qpos, instead, stacklevel=4)
        found = []
        if "springs" in self._unsaid:
            found = texts_before(m)
            self._unsaid.remove("springs")
        if "turns" in self._unsaid and (text := text_if_fast(m, self.qvel)):
            found.append(text)
            self._unsaid.remove("turns")
        for text in found:
            warnings.warn(f"'{m.name}': {text}", RuntimeWarning, stacklevel=4)


def _check_name(what: str, name: object, known: Collection[str]) -> None:
    if name not in known:
        called = quote(name) if isinstance(name, str) else shown(name)
        text = f"there is no field {called}{did_you_mean(str(name), known)}"
        raise bad_argument(what, f"{what}: {text}; allowed are {', '.join(known)}")
