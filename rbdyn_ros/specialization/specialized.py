# SPDX-License-Identifier: Apache-2.0
"""rb.specialize: functions compiled for one robot."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.names import one_of
from rbdyn_ros.dynamics.entry import (
    NOBODY,
    Substitute,
    in_pieces,
    no_mass_matrix,
    not_a_pair,
    whole_steps,
)
from rbdyn_ros.dynamics.toolbox.derivatives import linear_system
from rbdyn_ros.dynamics.toolbox.filling import REFERENCES, unknown_reference
from rbdyn_ros.errors import Finding, ModelError, ParameterError, shown
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import FEW_STEPS, Model, check_model
from rbdyn_ros.specialization import machine
from rbdyn_ros.specialization.built_in import function_program
from rbdyn_ros.specialization.calling import entry, filling_entry
from rbdyn_ros.specialization.functions import FUNCTIONS, Function
from rbdyn_ros.specialization.programs.program import Program
from rbdyn_ros.specialization.programs.symbols import not_traceable
from rbdyn_ros.specialization.row_code import OTHER_OPTIONS, compiled_row
from rbdyn_ros.specialization.symbolic import symbolic_entries


def specialize(
    m: Model, functions: Collection[str] = ("step",), symbolic: Collection[str] = ()
) -> Specialized:
    """Return functions compiled for one Model, several times as fast as the functions of rb.

    Dry friction and limits of joints follow the smooth law, as with m.opt.exact_stops off: a joint
    loaded below its dry friction creeps, and a limit is a spring.

    Args:
        m: the Model.
        functions: functions to compile now; others are compiled at their first call.
        symbolic: arrays and options that are read at every call instead of being built in.

    Raises:
        ModelError: m is not a Model, or has contact or loops, which cannot be specialised.
        ParameterError: a function is unknown.
    """
    try:
        return Specialized(m, functions, symbolic)
    except ModelError as error:
        if error.code != "not-traceable" or "step" not in functions:
            raise
        text = f"{error}; or call rb.step(m, d), which needs no specialised code"
        raise ModelError(Finding(error.code, text, "error", error.element)) from None


#: Functions that need the mass matrix M.
WITH_M = ("mass_matrix", "inverse_derivatives", "forward_derivatives", "step_derivatives")


class Specialized(Substitute):
    """Functions of one robot as straight-line machine code, traced from the engine's kernels.

    The functions take a Data of the Model. Up to rounding, they compute the same results as the
    functions of the same names in rb; if joints have dry friction or limits, the results are those
    with m.opt.exact_stops off. Only results are written: step writes qpos, qvel, time, qacc_step,
    nbad, nsingular, and act and actuator_force of actuators; forward_dynamics writes qacc.

    A function is compiled at its first call, or loaded from disk. The options timestep, integrator
    and passive are built in: after a change of m.opt the next call compiles the function for the
    new options.

    Attributes:
        model: the Model for which the functions are compiled.
        symbolic: the arrays and options of the Model that are read at every call, always including
            gravity.

    Args:
        m: the Model.
        functions: names of FUNCTIONS to compile now.
        symbolic: arrays and options that are read at every call instead of being built in.

    Raises:
        ModelError: the Model cannot be specialised because it has contact or constraints other
            than gears, a name in `symbolic` cannot be read at every call, or NUMBA_DISABLE_JIT is
            set.
        ParameterError: a function is unknown.
    """

    def __init__(
        self, m: Model, functions: Collection[str] = ("step",), symbolic: Collection[str] = ()
    ) -> None:
        check_model(m, "specialize")
        machine.check_compiler("a specialised Model")
        _check_names("functions", functions)
        _check_names("symbolic", symbolic)
        self.symbolic = tuple(dict.fromkeys(("gravity", *symbolic)))
        symbolic_entries(m, self.symbolic)
        self.model = m
        # the keys are a name, or a name and numbers, see program()
        self._addresses: dict[Any, int] = {}
        self._fillers: dict[Any, tuple[tuple[int, ...], Any]] = {}
        self._enter: Callable[..., int] = entry()
        for name in functions:
            if _function(name).numbers == 0:
                self._address(name, ())

    def __reduce__(self) -> tuple[Any, ...]:
        # addresses are valid only in this process
        return Specialized, (self.model, (), self.symbolic)

    def __repr__(self) -> str:
        return f"<Specialized '{self.model.name}'>"

    def step(self, d: Data, nstep: int = 1) -> None:
        """Advance d by nstep timesteps.

        Raises:
            ParameterError: nstep is not a whole number, 0 or more and less than 2^62.
            ModelError: d was not made for this Model, or has driven dofs (set_drive).
            KeyboardInterrupt: after Ctrl-C, within 0.1 s or eight timesteps, whichever is longer;
                d is at the end of a timestep.
        """
        if type(nstep) is not int or not 0 <= nstep <= FEW_STEPS:
            nstep = whole_steps(nstep)
        self._check_no_driven_dofs(d)
        if nstep <= FEW_STEPS or nstep <= self.model.steps_at_once:
            self._run("step", d, nstep)
        else:
            in_pieces(lambda n: self._run("step", d, n), nstep, self.model.steps_at_once)

    def forward_dynamics(self, d: Data) -> None:
        """Write qacc, as rb.forward_dynamics does. Errors: see step."""
        self._check_no_driven_dofs(d)
        self._run("forward_dynamics", d)

    def inverse(self, d: Data) -> None:
        """Write qfrc_inverse, as rb.inverse does, but not cacc."""
        self._run("inverse", d)

    def kinematics(self, d: Data) -> None:
        """Write xpos, xmat, xipos and ximat, as rb.kinematics does."""
        self._run("kinematics", d)

    def gravity_term(self, d: Data) -> Array:
        """Return rb.gravity_term(m, d), (nv,)."""
        return self._filled("gravity_term", d)

    def bias_term(self, d: Data) -> Array:
        """Return rb.bias_term(m, d), (nv,)."""
        return self._filled("bias_term", d)

    def mass_matrix(self, d: Data) -> Array:
        """Return rb.mass_matrix(m, d), (nv, nv)."""
        return self._filled("mass_matrix", d)

    def frame_pose(self, d: Data, frame: str | int) -> tuple[Array, Array]:
        """Return the position (3,) and rotation (3, 3) of a frame, as rb.frame_pose does."""
        out = self._filled("frame_pose", d, self.model.frame_id(frame))
        return out[3], out[:3]

    def frame_jacobian(
        self, d: Data, frame: str | int, reference: str = "local_world_aligned"
    ) -> Array:
        """Return rb.frame_jacobian(m, d, frame, reference), (6, nv).

        Each frame has separate code.
        """
        if not isinstance(reference, str) or reference not in REFERENCES:
            raise unknown_reference(reference)
        number = self.model.frame_id(frame)
        return self._filled("frame_jacobian", d, number, REFERENCES[reference])

    def inverse_derivatives(self, d: Data) -> tuple[Array, Array, Array]:
        """Return rb.inverse_derivatives(m, d), even for Models that rb's function refuses.

        For a Model with gears these are the derivatives of the forces of `inverse`, so the third
        is not M.
        """
        dq, dv, da = self._filled("inverse_derivatives", d)
        return dq, dv, da

    def forward_derivatives(self, d: Data) -> tuple[Array, Array, Array]:
        """Return rb.forward_derivatives(m, d), even for Models that rb's function refuses."""
        self._check_no_driven_dofs(d)
        dq, dv, dtau = self._filled("forward_derivatives", d)
        return dq, dv, dtau

    def linearise(self, d: Data, timestep: float | None = None) -> tuple[Array, Array]:
        """Return rb.linearise(m, d, timestep)."""
        return linear_system(self.model, d, timestep, self.forward_derivatives(d))

    def step_derivatives(self, d: Data) -> tuple[Array, Array]:
        """Return A (2 nv, 2 nv) and B (2 nv, nv), the derivatives of one timestep.

        In x+ = A x + B u, x holds small changes of position, along the axes of qvel before and
        after the step, and changes of qvel; u holds changes of qfrc_applied.
        """
        self._check_no_driven_dofs(d)
        both, nv = self._filled("step_derivatives", d), self.model.nv
        return both[:, : 2 * nv], both[:, 2 * nv :]

    def install(self, d: Data | None = None) -> None:
        """Make compiled loops step a Data with this code; rb.step(m, d) still uses the engine.

        The options timestep, integrator and passive are built in; after a change, install the code
        again.

        Raises:
            ModelError: d was not made for the Model.
            ParameterError: d is missing.
        """
        if d is None:
            text = "install needs a Data, whose timesteps then use this code: call s.install(d)"
            raise ParameterError(Finding("install", text, "error", "d"))
        if getattr(d, "model", NOBODY) is not self.model:
            raise not_a_pair(self.model, d)
        d.take_step_code(self.step_address())

    def step_address(self) -> int:
        """Return the address of the timestep, for Data.take_step_code."""
        return int(self._code("step", ()).addresses["step.stage"])

    def program(self, name: str, *numbers: int) -> Program:
        """Return the program of a function of FUNCTIONS.

        `numbers` are frame and reference, if any.
        """
        if len(numbers) != _function(name).numbers:
            text = f"{name} takes {FUNCTIONS[name].numbers} numbers, got {len(numbers)}"
            raise ParameterError(Finding("specialize", text, "error", name))
        for frame in numbers[:1]:
            self.model.frame_id(frame)
        if not set(numbers[1:]) <= set(REFERENCES.values()):
            raise unknown_reference(numbers[1])
        return function_program(self.model, name, self.symbolic, numbers)

    def _filled(self, name: str, d: Data, *numbers: int) -> Array:
        """Return a new array that a function fills.

        Raise ModelError if d belongs to another Model.
        """
        if getattr(d, "model", NOBODY) is not self.model:
            raise not_a_pair(self.model, d)
        key = (name, *numbers) if numbers else name
        shape, fill = self._fillers.get(key) or self._filler(name, numbers)
        out = np.empty(shape)
        address = self._addresses[key]
        while fill(address, d.model_address, d.address, out) == OTHER_OPTIONS:
            address = self._address(name, numbers)
        return out

    def _filler(self, name: str, numbers: tuple[int, ...]) -> tuple[tuple[int, ...], Any]:
        """Return the shape of a function's array and the function's entry, or raise ModelError."""
        shape = FUNCTIONS[name].shape
        assert shape is not None
        if name in WITH_M and self.model.nM == 0 < self.model.nv:
            raise no_mass_matrix(self.model, name)
        self._address(name, numbers)
        found = shape(self.model), filling_entry(len(shape(self.model)))
        self._fillers[(name, *numbers) if numbers else name] = found
        return found

    def _run(self, name: str, d: Data, times: int = 1) -> None:
        if getattr(d, "model", NOBODY) is not self.model:
            raise not_a_pair(self.model, d)
        address = self._addresses.get(name) or self._address(name, ())
        while self._enter(address, d.model_address, d.address, 0, times) == OTHER_OPTIONS:
            address = self._address(name, ())

    def _address(self, name: str, numbers: tuple[int, ...]) -> int:
        """Return the address of a function for the current options; compile it if needed."""
        address = self._code(name, numbers).addresses[name]
        self._addresses[(name, *numbers) if numbers else name] = address
        return address

    def _code(self, name: str, numbers: tuple[int, ...]) -> machine.Code:
        return compiled_row(
            self.model, name, lambda: self.program(name, *numbers), self.symbolic,
            *map(str, numbers),
        )  # fmt: skip

    def _check_no_driven_dofs(self, d: Data) -> None:
        if getattr(d, "report_stage", 0) != 0 and d.drive_mode.any():
            reason = "some of its dofs are driven (set_drive); use rb.step(m, d)"
            raise not_traceable(reason, f"'{self.model.name}'")


def _check_names(what: str, names: Any) -> None:
    """Raise ParameterError unless `names` is a list of strings."""
    listed = isinstance(names, Collection) and not isinstance(names, str | bytes)
    if not listed or not all(isinstance(name, str) for name in names):
        text = f"{what} is {shown(names)}; allowed is a list of names"
        raise ParameterError(Finding("specialize", text, "error", what, None, shown(names)))


def _function(name: str) -> Function:
    """Return a function of FUNCTIONS; raise ParameterError if the name is unknown."""
    what = "the function to specialise"
    return FUNCTIONS[one_of(what, name, FUNCTIONS, code="specialize", element=name)]
