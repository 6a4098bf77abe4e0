# SPDX-License-Identifier: Apache-2.0
"""Trace the Programs of the functions requested in C."""

from collections.abc import Sequence
from dataclasses import dataclass

from rbdyn_ros.codegen import table
from rbdyn_ros.codegen.names import unique
from rbdyn_ros.dynamics.toolbox.filling import REFERENCES
from rbdyn_ros.errors import Finding, ModelError, ParameterError, did_you_mean, quote
from rbdyn_ros.model.model import Model
from rbdyn_ros.specialization.functions import traced
from rbdyn_ros.specialization.programs.program import Program, program

#: Largest number of operations of a function. A step of a humanoid has 20,000. GCC compiles this
#: many in half a minute; other compilers take longer.
MAX_C_OPERATIONS = 200_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """The functions that the user wants, and choices of their arguments.

    Attributes:
        functions: names in SPECS, each once.
        frames: frames of the Jacobians, each once.
        gravity_input: whether gravity is an argument instead of a constant.
        external_forces: whether external forces are an argument instead of zero.
    """

    functions: tuple[str, ...]
    frames: tuple[str, ...] = ()
    gravity_input: bool = False
    external_forces: bool = False


@dataclass(frozen=True, slots=True)
class CFunction:
    """A function to be written in C.

    Attributes:
        name: name in C, without the prefix.
        spec: its entry in SPECS.
        inputs: arguments that the function reads.
        outputs: arguments that the function writes.
        program: its operations.
        frame: number of its frame; -1: no frame.
    """

    name: str
    spec: table.FunctionSpec
    inputs: tuple[table.Argument, ...]
    outputs: tuple[table.Argument, ...]
    program: Program
    frame: int = -1


def check_functions(names: Sequence[str]) -> tuple[str, ...]:
    """Return names of functions, each once.

    Raises:
        ParameterError: a name is not in SPECS, or the list is empty.
    """
    wanted = tuple(dict.fromkeys(name.strip() for name in names))
    for name in wanted:
        if name not in table.SPECS:
            allowed = ", ".join(table.SPECS)
            hint = did_you_mean(name, table.SPECS)
            what = (
                f"there is no function {quote(name)}{hint}" if name else "a function has no name"
            )
            text = f"{what}; allowed are {allowed}"
            raise ParameterError(Finding("unknown-function", text, found=name, allowed=allowed))
    return wanted


def c_functions(m: Model, wanted: Wanted) -> list[CFunction]:
    """Trace the requested functions.

    Args:
        m: the Model.
        wanted: the functions and their arguments.

    Raises:
        ModelError: the Model cannot be traced, has no degrees of freedom or has joints with a
            prescribed motion; a frame is unknown; inverse dynamics are requested for a Model with
            actuators; or a function would be too long.
    """
    if m.nv == 0:
        raise _refused(m, "it has no degrees of freedom")
    if m.ndrive > 0:
        raise _refused(m, "the code cannot move joints with a prescribed motion")
    if m.nu > 0 and "inverse" in wanted.functions:
        text = (
            "inverse dynamics of a robot with actuators are not available; use the Model without"
        )
        raise _refused(m, f"{text} actuators")
    found = []
    for name in wanted.functions:
        if name != "jacobian":
            found.append(_c_function(m, wanted, name, name))
            continue
        numbers = [m.frame_id(frame) for frame in wanted.frames]
        for text, number in zip(unique(wanted.frames), numbers, strict=True):
            found.append(_c_function(m, wanted, name, f"jacobian_{text}", number))
    return found


def _c_function(m: Model, wanted: Wanted, key: str, name: str, frame: int = -1) -> CFunction:
    spec = table.spec_of(key, m)
    with_gravity = wanted.gravity_input and spec.heavy
    pushed = wanted.external_forces and spec.pushed
    numbers = () if frame < 0 else (frame, REFERENCES["local_world_aligned"])
    symbolic = (table.GRAVITY.array,) if with_gravity else ()
    fields = (*spec.inputs, *([table.EXTERNAL] if pushed else []))
    trace = traced(m, spec.traced, symbolic, numbers, {argument.array for argument in fields})
    outputs = {
        # drop the entries of mimic joints, which come after the entries of the dofs
        argument.array: trace.outputs[argument.array].reshape(-1)[: table.length_of(argument, m)]
        for argument in spec.outputs
    }
    straight = program(trace.graph, outputs, fused=False)
    if len(straight.operations) > MAX_C_OPERATIONS:
        reason = f"{name} has {len(straight.operations)} operations, more than {MAX_C_OPERATIONS}"
        raise _refused(m, reason)
    inputs = (*fields, table.GRAVITY) if with_gravity else fields
    return CFunction(name, spec, inputs, spec.outputs, straight, frame)


def _refused(m: Model, reason: str) -> ModelError:
    return ModelError(Finding("no-code", f"no C code is possible for {quote(m.name)}: {reason}"))
