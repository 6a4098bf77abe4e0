# SPDX-License-Identifier: Apache-2.0
"""User-defined joint types and motions, compiled and called by address."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
from collections.abc import Callable, Iterable, Sequence
from types import FunctionType
from typing import Any, TypeVar

import numba
from numba import carray
from numba.extending import intrinsic

from rbdyn_ros.checks.numbers import count
from rbdyn_ros.description.build.builder import SystemBuilder
from rbdyn_ros.description.parts.joint_types import JOINT_SPECS, JointSpec
from rbdyn_ros.description.parts.types import Joint
from rbdyn_ros.engine.compiler.jit import COMPILED, DISABLED, OPTIONS
from rbdyn_ros.engine.joints.callbacks import SIGNATURE
from rbdyn_ros.errors import Finding, ParameterError, counted
from rbdyn_ros.model.declared.callbacks import (
    E_AT,
    JOINTS,
    MAX_DOFS,
    MAX_PARAMETERS,
    MOTIONS,
    R_AT,
    ROW,
    S_AT,
    S_DOT_AT,
    Callback,
)
from rbdyn_ros.model.declared.callbacks import register as enter
from rbdyn_ros.model.declared.joints import TYPE_OF_NAME

F = TypeVar("F", bound=Callable[..., None])

#: Arguments that every joint has; no parameter may have these names.
TAKEN = {field.name for field in dataclasses.fields(Joint)}.union(
    *(inspect.signature(add).parameters for add in (SystemBuilder.joint, SystemBuilder.loop))
)

_numbers = itertools.count(1)  # numbers that replace addresses if nothing is compiled


def register_joint(
    name: str, nv: int = 1, parameters: Sequence[str] = (), coordinates: Sequence[str] = ()
) -> Callable[[F], F]:
    """Return a decorator that registers a function as the jcalc of a new joint type.

    The function is `jcalc(q, qd, p, E, r, S, S_dot)`. Its inputs are read-only: q and qd (nv,),
    positions and their derivatives, and p, the parameters in their order. It writes the pose and
    motion of the successor's frame F_s relative to the predecessor's frame F_p: E (3, 3), the
    coordinate transform from F_p to F_s; r (3,), the origin of F_s in F_p; S (6, nv), the motion
    subspace; and S_dot (6, nv), its apparent derivative dS/dq qd, both [angular; linear] in F_s.
    At the call E is the identity and all other outputs are zero. Numba compiles the function. It
    must not keep state, index out of bounds (compiled code does not check) or raise (the engine
    prints and ignores it). Source: RBDA section 4.4.

    Before a Model with the type is made, the Python function is called at some positions to check
    that S is the derivative of the pose and S_dot is the derivative of S. Register a type in every
    process, before the first Model with it is made or loaded. A name may be registered again with
    the same sizes: new Models use the new function, existing Models and their copies keep the old
    function.

    Args:
        name: name of the type, for Joint.type.
        nv: degrees of freedom, 1 to 6; the number of positions is the same.
        parameters: names of the parameters of a joint of this type, up to 8 names.
        coordinates: "rad" or "m" for each degree of freedom; empty: all "rad".

    Raises:
        ParameterError: an argument or the name is not allowed, or the function does not compile.
    """
    _check_name(name)
    if name in TYPE_OF_NAME:
        raise _refused(name, "is a type of the library; choose another name")
    size = _size(name, nv)
    spec = JointSpec(
        parameters=_parameters(name, parameters), coordinates=_units(name, size, coordinates)
    )
    if JOINT_SPECS.get(name, spec) != spec:
        known = "another nv, other parameters or coordinates"
        raise _refused(name, f"is already registered with {known}; choose another name")

    def register(jcalc: F) -> F:
        _check_function(name, jcalc, "q, qd, p, E, r, S, S_dot")
        enter(JOINTS, name, _compiled(name, jcalc, size, _joint_callers(_jitted(jcalc), size)))
        JOINT_SPECS[name] = spec
        return jcalc

    return register


def register_motion(name: str, nv: int = 1) -> Callable[[F], F]:
    """Return a decorator that registers a function of time as a motion of driven joints.

    The function is `motion(t, q, qd, qdd)`: it writes position, velocity and acceleration (nv,)
    of the joint's coordinates at time t [s]; at the call they are zero. Numba compiles it; it must
    not index out of bounds or raise. Before a Model with the motion is made, the Python function
    is called at some times to check that qd and qdd are the derivatives. A name may be registered
    again with the same nv, see register_joint.

    Args:
        name: name of the motion, for Joint.motion.
        nv: number of coordinates of the joints that the motion can drive.

    Raises:
        ParameterError: an argument is not allowed or the function does not compile.
    """
    _check_name(name)
    size = _size(name, nv)
    if name in MOTIONS and MOTIONS[name].nv != size:
        raise _refused(name, "is already registered with another nv; choose another name")

    def register(motion: F) -> F:
        _check_function(name, motion, "t, q, qd, qdd")
        enter(MOTIONS, name, _compiled(name, motion, size, _motion_callers(_jitted(motion), size)))
        return motion

    return register


def _jitted(function: Callable[..., None]) -> Any:
    if DISABLED or isinstance(function, COMPILED):
        return function
    # unlike a kernel, a user's function may print, and may (but should not) allocate memory
    return numba.njit(**{**OPTIONS, "_nrt": True})(function)


@intrinsic
def _read_only(context, array):
    """Return the same array with a read-only type."""

    def generate(context, builder, signature, values):
        return values[0]

    return array.copy(readonly=True)(array), generate


def _joint_callers(jcalc: Any, nv: int) -> tuple[Callable[..., None], Callable[..., None]]:
    """Return two functions of q, qd, the parameters and a row of Data.user_joint.

    The first is compiled and takes pointers. The second takes arrays, for plain Python and traces.
    """
    fill = _row_filler(jcalc, nv)
    compiled_fill = fill if DISABLED else numba.njit(**{**OPTIONS, "_nrt": True})(fill)
    plain_fill = _row_filler(getattr(jcalc, "py_func", jcalc), nv)

    def caller(q, qd, p, out):
        compiled_fill(
            _read_only(carray(q, nv)), _read_only(carray(qd, nv)),
            _read_only(carray(p, MAX_PARAMETERS)), carray(out, ROW),
        )  # fmt: skip

    def plain(q, qd, p, out):
        plain_fill(q[:nv].copy(), qd[:nv].copy(), p.copy(), out)

    return caller, plain


def _row_filler(jcalc: Any, nv: int) -> Callable[..., None]:
    """Return a function that calls a jcalc to fill a row of Data.user_joint."""

    def fill(q, qd, p, row):
        row[:] = 0.0
        row[E_AT] = row[E_AT + 4] = row[E_AT + 8] = 1.0
        S, S_dot = row[S_AT : S_AT + 6 * nv], row[S_DOT_AT : S_DOT_AT + 6 * nv]
        jcalc(
            q, qd, p, row[E_AT : E_AT + 9].reshape(3, 3), row[R_AT : R_AT + 3],
            S.reshape(nv, 6).T, S_dot.reshape(nv, 6).T,
        )  # fmt: skip

    return fill


def _motion_callers(motion: Any, nv: int) -> tuple[Callable[..., None], Callable[..., None]]:
    """Return two functions that write q, qd and qdd of a motion at a time."""
    python = getattr(motion, "py_func", motion)

    def caller(t, q, qd, qdd):
        values = carray(q, nv), carray(qd, nv), carray(qdd, nv)
        for k in range(nv):
            values[0][k] = values[1][k] = values[2][k] = 0.0
        motion(carray(t, 1)[0], values[0], values[1], values[2])

    def plain(t, q, qd, qdd):
        values = q[:nv], qd[:nv], qdd[:nv]
        for value in values:
            value[:] = 0.0
        python(t[0], *values)

    return caller, plain


def _compiled(
    name: str,
    function: Callable[..., None],
    nv: int,
    callers: tuple[Callable[..., None], Callable[..., None]],
) -> Callback:
    python = getattr(function, "py_func", function)
    caller, plain = callers
    if DISABLED:
        return Callback(next(_numbers), python, nv, plain)
    try:
        machine_code = numba.cfunc(SIGNATURE, error_model="numpy")(caller)
    except numba.core.errors.NumbaError as error:
        reason = " ".join(str(error).split())[:400]
        raise _refused(name, f"does not compile: {reason}") from error
    return Callback(machine_code.address, python, nv, plain, machine_code)


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not name.strip() or "\0" in name:
        raise _refused(name, "is not a name; allowed is a string that is not empty")


def _check_function(name: str, function: object, arguments: str) -> None:
    """Raise ParameterError unless `function` is a Python or Numba function of these arguments."""
    if not isinstance(function, (FunctionType, *COMPILED)):
        raise _refused(name, f"needs a Python function, got {function!r}")
    python = getattr(function, "py_func", function)
    try:
        inspect.signature(python).bind(*arguments.split())
    except TypeError as error:
        raise _refused(name, f"needs a function of ({arguments}): {error}") from error


def _size(name: str, nv: object) -> int:
    return count(f"nv of {name!r}", nv, 1, MAX_DOFS, code="register", element=name)


def _units(name: str, nv: int, coordinates: object) -> tuple[str, ...]:
    units = _strings(coordinates)
    if units is None or len(units or ("rad",) * nv) != nv or not set(units) <= {"rad", "m"}:
        needed = f"has {counted(nv, 'coordinate')}; each needs 'rad' or 'm'"
        raise _refused(name, f"{needed}, got {coordinates!r}")
    return units or ("rad",) * nv


def _parameters(name: str, parameters: object) -> tuple[str, ...]:
    names = _strings(parameters)
    if (
        names is None
        or len(set(names)) < len(names)
        or len(names) > MAX_PARAMETERS
        or not all(parameter.strip() for parameter in names)
    ):
        allowed = f"at most {MAX_PARAMETERS} different names"
        raise _refused(name, f"has the parameters {parameters!r}; allowed are {allowed}")
    for parameter in names:
        if parameter in TAKEN:
            raise _refused(
                name, f"has the parameter {parameter!r}, which every joint has; rename it"
            )
    return names


def _strings(values: object) -> tuple[str, ...] | None:
    if isinstance(values, str) or not isinstance(values, Iterable):
        return None
    strings = tuple(values)
    return strings if all(isinstance(string, str) for string in strings) else None


def _refused(name: object, why: str) -> ParameterError:
    return ParameterError(Finding("register", f"{name!r} {why}", "error", str(name)))
