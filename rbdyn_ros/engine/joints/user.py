"""User-defined joint types and motions, compiled and called by address."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
from collections.abc import Callable, Iterable, Sequence
from types import FunctionType
from typing import Any, TypeVar

import numba
import numpy as np
from numba import carray
from numba.core.dispatcher import Dispatcher
from numba.extending import intrinsic

from rbdyn_ros.description.build.builder import SystemBuilder
from rbdyn_ros.description.joint_types import JOINT_SPECS, JointSpec
from rbdyn_ros.description.types import Joint
from rbdyn_ros.engine.jit import DISABLED, OPTIONS
from rbdyn_ros.engine.joints.callbacks import SIGNATURE
from rbdyn_ros.errors import Finding, ParameterError
from rbdyn_ros.model.callbacks import (
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
from rbdyn_ros.model.callbacks import register as enter
from rbdyn_ros.model.joints import TYPE_OF_NAME

F = TypeVar("F", bound=Callable[..., None])

#: Names that a parameter must not have: the arguments of every joint.
TAKEN = {field.name for field in dataclasses.fields(Joint)}.union(
    *(inspect.signature(add).parameters for add in (SystemBuilder.joint, SystemBuilder.loop))
)

_numbers = itertools.count(1)  # stand for addresses where nothing is compiled


def register_joint(
    name: str, nv: int = 1, parameters: Sequence[str] = (), coordinates: Sequence[str] = ()
) -> Callable[[F], F]:
    """Make a function the jcalc of a new joint type; used as a decorator.

    The function is `jcalc(q, qd, p, E, r, S, S_dot)`. It reads q and qd (nv,), positions and
    their derivatives, and p, the parameters in their order; it writes, of the successor's frame
    F_s in the predecessor's F_p, E (3, 3), the coordinate transform from F_p to F_s; r (3,), the
    origin of F_s in F_p; S (6, nv), the motion subspace, and S_dot (6, nv), its apparent
    derivative dS/dq qd, both [angular; linear] in F_s. It finds E as the identity and the others
    as zero; q, qd and p are read-only. It is compiled by Numba and must not keep state, leave its
    arrays (in compiled code nothing looks at indices) or raise (in a tick that is printed, and
    ignored). Source: RBDA section 4.4.

    Before a Model that uses the type is made, the Python function is called at some positions
    and S is compared with the derivative of the pose, S_dot with that of S. A type has to be
    registered in every process before a Model is made or loaded that uses it. A name may be
    registered again with the same sizes: Models made from then on use the new function, others
    and their copies the old one.

    Args:
        name: of the type, for Joint.type.
        nv: degrees of freedom, 1 to 6; it has as many positions.
        parameters: names of what a joint of the type must be given, at most 8.
        coordinates: "rad" or "m" for each degree of freedom; all "rad" if left out.

    Raises:
        ParameterError: if an argument or the name is not allowed, or the function does not
            compile.
    """
    _demand_name(name)
    if name in TYPE_OF_NAME:
        raise _refused(name, "is a type of the library; choose another name")
    size = _size(name, nv)
    spec = JointSpec(
        parameters=_parameters(name, parameters), coordinates=_units(name, size, coordinates)
    )
    if JOINT_SPECS.get(name, spec) != spec:
        what = "another nv, other parameters or coordinates"
        raise _refused(name, f"is registered with {what}; choose another name")

    def register(jcalc: F) -> F:
        _demand_function(name, jcalc, "q, qd, p, E, r, S, S_dot")
        enter(JOINTS, name, _compiled(name, jcalc, size, _joint_callers(_jitted(jcalc), size)))
        JOINT_SPECS[name] = spec
        return jcalc

    return register


def register_motion(name: str, nv: int = 1) -> Callable[[F], F]:
    """Make a function of time the motion of driven joints; used as a decorator.

    The function is `motion(t, q, qd, qdd)`: it writes position, velocity and acceleration (nv,)
    of the joint's coordinates at time t [s], which it finds as zero. It is compiled by Numba and
    must not leave its arrays or raise; before a Model that uses it is made, the Python function
    is called at some times and qd and qdd are compared with derivatives. A name may be
    registered again with the same nv, see register_joint.

    Args:
        name: for Joint.motion.
        nv: coordinates of the joints it can drive.

    Raises:
        ParameterError: if an argument is not allowed or the function does not compile.
    """
    _demand_name(name)
    size = _size(name, nv)
    if name in MOTIONS and MOTIONS[name].nv != size:
        raise _refused(name, "is registered with another nv; choose another name")

    def register(motion: F) -> F:
        _demand_function(name, motion, "t, q, qd, qdd")
        enter(MOTIONS, name, _compiled(name, motion, size, _motion_callers(_jitted(motion), size)))
        return motion

    return register


def _jitted(function: Callable[..., None]) -> Any:
    if DISABLED or isinstance(function, Dispatcher):
        return function
    # unlike a kernel it may allocate, though it had better not
    return numba.njit(**{**OPTIONS, "_nrt": True})(function)


@intrinsic
def _read_only(context, array):
    """Return the same array, of a type that Numba refuses to write to."""

    def generate(context, builder, signature, values):
        return values[0]

    return array.copy(readonly=True)(array), generate


def _joint_callers(jcalc: Any, nv: int) -> tuple[Callable[..., None], Callable[..., None]]:
    """Return two functions of q, qd, parameters, and a row of Data.user_joint.

    One takes pointers and is compiled; one takes arrays, for plain Python and for traces.
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
    """Return a function that lets a jcalc write its parts of a row of Data.user_joint."""

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
    """Return two such functions of the time, and of where to write q, qd, qdd."""
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


def _demand_name(name: object) -> None:
    if not isinstance(name, str) or not name.strip() or "\0" in name:
        raise _refused(name, "is no name; give a text")


def _demand_function(name: str, function: object, arguments: str) -> None:
    """Raise ParameterError unless it is a Python function, or one of Numba, of the arguments."""
    if not isinstance(function, FunctionType | Dispatcher):
        raise _refused(name, f"is to be computed by {function!r}; allowed is a Python function")
    python = getattr(function, "py_func", function)
    try:
        inspect.signature(python).bind(*arguments.split())
    except TypeError as error:
        raise _refused(name, f"needs a function of ({arguments}): {error}") from error


def _size(name: str, nv: object) -> int:
    if isinstance(nv, bool) or not isinstance(nv, int | np.integer) or not 1 <= nv <= MAX_DOFS:
        raise _refused(name, f"has nv {nv!r}; allowed is a whole number from 1 to {MAX_DOFS}")
    return int(nv)


def _units(name: str, nv: int, coordinates: object) -> tuple[str, ...]:
    units = _texts(coordinates)
    if units is None or len(units or ("rad",) * nv) != nv or not set(units) <= {"rad", "m"}:
        needed = f"needs 'rad' or 'm' for each of its {nv} coordinates"
        raise _refused(name, f"{needed}, not {coordinates!r}")
    return units or ("rad",) * nv


def _parameters(name: str, parameters: object) -> tuple[str, ...]:
    names = _texts(parameters)
    if (
        names is None
        or len(set(names)) < len(names)
        or len(names) > MAX_PARAMETERS
        or not all(text.strip() for text in names)
    ):
        allowed = f"at most {MAX_PARAMETERS} different names"
        raise _refused(name, f"has the parameters {parameters!r}; allowed are {allowed}")
    for text in names:
        if text in TAKEN:
            raise _refused(name, f"has the parameter {text!r}, which every joint has; rename it")
    return names


def _texts(values: object) -> tuple[str, ...] | None:
    if isinstance(values, str) or not isinstance(values, Iterable):
        return None
    texts = tuple(values)
    return texts if all(isinstance(text, str) for text in texts) else None


def _refused(name: object, why: str) -> ParameterError:
    return ParameterError(Finding("register", f"{name!r} {why}", "error", str(name)))
