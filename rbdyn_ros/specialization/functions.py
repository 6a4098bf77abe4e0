# SPDX-License-Identifier: Apache-2.0
"""The functions that can be traced: their kernels, inputs and outputs."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rbdyn_ros.engine import forward
from rbdyn_ros.engine.forward import substep
from rbdyn_ros.engine.joints.follow import expand
from rbdyn_ros.engine.quantities import jacobian, terms
from rbdyn_ros.engine.tree.kinematics import kinematics
from rbdyn_ros.model.declared.data_fields import DATA_FIELDS
from rbdyn_ros.model.model import Model
from rbdyn_ros.specialization import dynamics_derivatives
from rbdyn_ros.specialization.programs.symbols import SymbolGraph, not_traceable
from rbdyn_ros.specialization.symbolic import Objects
from rbdyn_ros.specialization.trace import Tracing
from rbdyn_ros.specialization.uncompiled import uncompiled

STATE = ("time", "qpos", "qvel")
FORCES = ("qfrc_applied", "xfrc_applied")
COUNTS = ("nbad", "nsingular")

#: For each field without the entries of mimic and driven joints, the field that has them.
WHOLE = {field.name: field.inside for field in DATA_FIELDS if field.inside}


@dataclass(frozen=True, slots=True)
class Function:
    """A function that can be traced.

    Attributes:
        name: name of the function in the API.
        kernel: kernel of (m, d), then `numbers` integers, then an array if there is a `shape`.
        inputs: fields of Data that the function reads.
        outputs: fields of Data that the function writes.
        shape: shape of the array "out" that the function fills; None: no array.
        numbers: number of integer arguments of the kernel.
    """

    name: str
    kernel: Any
    inputs: tuple[str, ...]
    outputs: tuple[str, ...] = ()
    shape: Callable[[Model], tuple[int, ...]] | None = None
    numbers: int = 0


def _timestep(m: Any, d: Any) -> None:
    """Advance by one step, as forward.advance does, including mimic joints."""
    substep(m, d)
    if m.nvall > m.nv:
        expand(m, d)


def _vector(m: Model) -> tuple[int, ...]:
    return (m.nv,)


def _three_squares(m: Model) -> tuple[int, ...]:
    return (3, m.nv, m.nv)


_TABLE = (
    Function(
        "step", _timestep,
        (*STATE, *FORCES, *COUNTS), (*STATE, "qacc_step", *COUNTS),
    ),
    Function(
        "forward_dynamics", forward.forward_dynamics,
        (*STATE, *FORCES, *COUNTS), ("qacc", *COUNTS),
    ),
    Function(
        "inverse", forward.inverse,
        (*STATE, "qacc", "nsingular"), ("qfrc_inverse", "nsingular"),
    ),
    Function(
        "gravity_term", terms.gravity_term,
        ("time", "qpos"), shape=_vector,
    ),
    Function(
        "bias_term", terms.bias_term,
        STATE, shape=_vector,
    ),
    Function(
        "mass_matrix", forward.mass_matrix,
        ("time", "qpos"), shape=lambda m: (m.nv, m.nv),
    ),
    Function(
        "kinematics", kinematics,
        ("time", "qpos"), ("xpos", "xmat", "xipos", "ximat"),
    ),
    Function(
        "frame_pose", jacobian.frame_pose,
        ("time", "qpos"), shape=lambda _: (4, 3), numbers=1,
    ),
    Function(
        "frame_jacobian", jacobian.frame_jacobian,
        ("time", "qpos"), shape=lambda m: (6, m.nv), numbers=2,
    ),
    Function(
        "inverse_derivatives", dynamics_derivatives.inverse_derivatives,
        (*STATE, "qacc"), shape=_three_squares,
    ),
    Function(
        "forward_derivatives", dynamics_derivatives.forward_derivatives,
        (*STATE, *FORCES), shape=_three_squares,
    ),
    Function(
        "step_derivatives", dynamics_derivatives.step_derivatives, (*STATE, *FORCES),
        shape=lambda m: (2 * m.nv, 3 * m.nv),
    ),
)  # fmt: skip

FUNCTIONS = {function.name: function for function in _TABLE}

#: Additional fields that functions read and write in a Model with actuators.
OF_ACTUATORS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "step": (("act",), ("act", "actuator_force")),
    "forward_dynamics": (("act",), ()),
    "inverse": (("act", "qfrc_applied"), ()),
}
#: Functions that a Model with actuators lacks, because they differentiate by a state without the
#: states of actuators.
DERIVATIVES = ("inverse_derivatives", "forward_derivatives", "step_derivatives")


@dataclass(frozen=True, slots=True)
class Trace:
    """The operations of a function on symbols.

    Attributes:
        graph: graph of the operations.
        outputs: arrays of symbols and numbers, by name of a field or "out". qpos, qvel and qacc
            end with the entries of mimic and driven joints, as in qpos_all.
    """

    graph: SymbolGraph
    outputs: dict[str, Objects]


def traced(
    m: Model,
    function: str | Function,
    symbolic: Collection[Any] = (),
    arguments: Sequence[int] = (),
    inputs: Collection[str] | None = None,
) -> Trace:
    """Trace a function.

    Args:
        m: the Model.
        function: name in FUNCTIONS, or another Function.
        symbolic: see Tracing.
        arguments: the integer arguments of the kernel.
        inputs: fields of Data that are inputs; all others are zero. None: all fields that the
            function reads.

    Raises:
        ModelError: the function cannot be traced.
    """
    tracing = Tracing(m, symbolic)
    return Trace(tracing.graph, run_traced(tracing, function, arguments, inputs))


def run_traced(
    tracing: Tracing,
    function: str | Function,
    arguments: Sequence[int] = (),
    inputs: Collection[str] | None = None,
) -> dict[str, Objects]:
    """Return the outputs of a function, traced in an existing graph.

    The arguments are as for `traced`.
    """
    function = FUNCTIONS[function] if isinstance(function, str) else function
    if tracing.model.nu > 0:
        function = _with_actuators(function, tracing.what)
    kernel = uncompiled(function.kernel)

    def run() -> dict[str, Any]:
        d = tracing.data(function.inputs if inputs is None else inputs)
        if function.shape is None:
            kernel(tracing.m, d, *arguments)
            return {field: getattr(d, WHOLE.get(field, field)) for field in function.outputs}
        out = np.full(function.shape(tracing.model), 0.0, object)
        kernel(tracing.m, d, *arguments, out)
        return {"out": out}

    return tracing.trace(run)


def _with_actuators(function: Function, what: str) -> Function:
    """Return a function with the inputs and outputs of actuators added.

    Raises:
        ModelError: the function does not exist for Models with actuators.
    """
    if function.name in DERIVATIVES:
        reason = "derivatives leave out the states of its actuators; use the Model without them"
        raise not_traceable(reason, what)
    read, written = OF_ACTUATORS.get(function.name, ((), ()))
    return replace(
        function, inputs=(*function.inputs, *read), outputs=(*function.outputs, *written)
    )
