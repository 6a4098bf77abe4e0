# SPDX-License-Identifier: Apache-2.0
"""Check the parameters that differ between the robots of a rollout, and return them as columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.description.checks.inertials import INERTIA_ALLOWED, inertia_faults
from rbdyn_ros.errors import (
    Finding,
    ModelError,
    ParameterError,
    bad_argument,
    did_you_mean,
    quote,
    shown,
)
from rbdyn_ros.loading.inertias import inertias_of
from rbdyn_ros.model.declared.actuators import CURVE_POINTS
from rbdyn_ros.model.declared.joints import JointClass
from rbdyn_ros.model.declared.model_fields import MODEL_FIELDS, NOT_NEGATIVE
from rbdyn_ros.model.model import Model

#: Fields of actuators that may differ between robots.
OF_ACTUATORS = tuple(
    field.name
    for field in MODEL_FIELDS
    if field.dims[0] == "nu" and not field.derived and field.name != "actuator_dofid"
)

#: Fields that may differ between robots, and the parts that names in a mapping refer to; an
#: actuator has the name of its joint.
FIELDS = {
    "body_mass": "body",
    "body_ipos": "body",
    "body_fullinertia": "body",
    "dof_armature": "joint",
    "dof_damping": "joint",
    "dof_frictionloss": "joint",
    "dof_inertia0": "joint",
    "jnt_stiffness": "joint",
    **dict.fromkeys(OF_ACTUATORS, "actuator"),
    "gravity": "",
}
GRAVITY = "gravity"

#: The only field that holds whole numbers.
DELAY = "actuator_delay"


@dataclass(frozen=True, slots=True)
class Columns:
    """Values of some entries of one array, for each robot.

    Attributes:
        array: name of the array.
        places: (n,), indices of the entries in the flat array.
        values: (nbatch, n), or (1, n) if all robots share them.
        names: for each column, the name of the body or joint.
    """

    array: str
    places: Ints
    values: Array
    names: tuple[str, ...] = ()

    @classmethod
    def whole(cls, array: str, values: Array) -> Columns:
        """Return all entries of an array, from rows (nbatch, n) or (1, n)."""
        return cls(array, np.arange(values.shape[1]), values)


def columns(m: Model, params: object) -> list[Columns]:
    """Return the parameters of a rollout as columns, one Columns per array.

    Raises:
        ParameterError: a field or name is unknown, a shape is wrong, or a robot cannot have the
            values.
    """
    if params is None:
        return []
    if not isinstance(params, Mapping):
        raise bad_argument(
            "params", f"params is {shown(params)}; allowed is a mapping from fields to arrays"
        )
    found = []
    for name, given in params.items():
        if name not in FIELDS:
            hint = did_you_mean(str(name), FIELDS)
            text = f"params has no field {quote(str(name))}{hint}; allowed are {', '.join(FIELDS)}"
            raise bad_argument("params", text)
        parts = _parts(m, name, given) if isinstance(given, Mapping) else [_whole(m, name, given)]
        if parts:
            found.append(_joined(name, parts))
    for each in found:
        _check_possible(m, each)
    return [_as_stored(each) for each in [*found, *_inertias(m, found)]]


def _inertias(m: Model, found: Sequence[Columns]) -> list[Columns]:
    """Return dof_inertia0 for robots with their own dof_armature, unless dof_inertia0 is given."""
    given = {each.array: each for each in found}
    if "dof_armature" not in given or "dof_inertia0" in given:
        return []
    own = given["dof_armature"]
    armatures = np.tile(m.dof_armature, (len(own.values), 1))
    armatures[:, own.places] = own.values
    return [Columns.whole("dof_inertia0", inertias_of(m, armatures))]


def _as_stored(given: Columns) -> Columns:
    """Return columns as stored in the memory of a robot: delays are integers."""
    if given.array != DELAY:
        return given
    return replace(given, values=given.values.astype(np.int64).view(np.float64))


def _whole(m: Model, name: str, given: ArrayLike) -> Columns:
    """Return an array without the world's entries; raise ParameterError if these were changed."""
    own = model_array(m, name)
    values = _rows(f"params[{name!r}]", given, own.shape)
    kind, places = FIELDS[name], open_places(m, name)
    names = [name] * own.size
    if kind:
        names = [part for k in range(own.shape[0]) for part in [_owner(m, name, k)] * own[k].size]
    if kind == "body":
        world = own[0].size
        if not (values[:, :world] == own[0].reshape(-1)).all():
            text = (
                f"params[{name!r}] changes the world, body 0; allowed are the numbers of the Model"
            )
            raise bad_argument("params", text)
    if name == "jnt_stiffness":
        moved = m.jnt_class == JointClass.FREE
        if values[:, ~moved].any():
            joint = m.jnt_names[int(np.flatnonzero(values.any(axis=0) & ~moved)[0])]
            raise bad_argument("params", _no_spring(name, joint))
    return Columns(name, places, values[:, places], tuple(names[k] for k in places))


def params_of(m: Model, params: Mapping[str, Any] | None, robots: slice) -> dict[str, Any]:
    """Return the parameters of some robots, given the checked parameters of all robots."""

    def own(values: ArrayLike, shape: tuple[int, ...]) -> Array:
        rows = finite("params", values, None)
        return rows if rows.shape == shape or len(rows) == 1 else rows[robots]

    found: dict[str, Any] = {}
    for name, given in (params or {}).items():
        array = model_array(m, name)
        if not isinstance(given, Mapping):
            found[name] = own(given, array.shape)
            continue
        found[name] = {}
        for part, values in given.items():
            rows, _ = _place(m, name, FIELDS[name], part)
            found[name][part] = own(values, _entry_shape(array, rows))
    return found


def _entry_shape(array: Array, rows: Ints) -> tuple[int, ...]:
    """Return the shape of the entry of one body or joint."""
    return array.shape[1:] if rows.size == 1 else (rows.size, *array.shape[1:])


def model_array(m: Model, name: str) -> Array:
    """Return the array of a field in FIELDS."""
    array: Array = m.opt.gravity if name == GRAVITY else getattr(m, name)
    return array


def open_places(m: Model, name: str) -> Ints:
    """Return the indices of the flat array at which robots may differ.

    The world has no inertia, and driven joints and mimic joints have no springs.
    """
    array = model_array(m, name)
    if FIELDS[name] == "body":
        return np.arange(array[0].size, array.size)
    if name == "jnt_stiffness":
        return np.flatnonzero(m.jnt_class == JointClass.FREE)
    return np.arange(array.size)


def _parts(m: Model, name: str, given: Mapping[Any, ArrayLike]) -> list[Columns]:
    """Return the entries of the named bodies or joints, or raise ParameterError."""
    kind = FIELDS[name]
    if not kind:
        raise bad_argument(
            "params", f"params[{name!r}] must be an array (3,) or (nbatch, 3), not a mapping"
        )
    found = []
    for part, values in given.items():
        rows, label = _place(m, name, kind, part)
        own = getattr(m, name)
        shape = _entry_shape(own, rows)
        each = int(np.prod(own.shape[1:], dtype=int))
        places = (rows[:, None] * each + np.arange(each)).reshape(-1)
        entries = _rows(f"params[{name!r}][{label!r}]", values, shape)
        found.append(Columns(name, places, entries, (label,) * places.size))
    return found


def _place(m: Model, name: str, kind: str, part: Any) -> tuple[Ints, str]:
    """Return an array's rows for a part, and the part's name; raise an error for a wrong part."""
    try:
        number = m.body_id(part) if kind == "body" else m.jnt_id(part)
    except ModelError as error:
        raise bad_argument("params", f"params[{name!r}]: {error}") from None
    if kind == "body":
        if number == 0:
            raise bad_argument("params", f"params[{name!r}]: the world has no inertia")
        return np.array([number]), m.body_names[number]
    if kind == "actuator":
        own = np.flatnonzero(m.dof_jntid[m.actuator_dofid] == number)
        if not own.size:
            text = f"params[{name!r}]: joint '{m.jnt_names[number]}' has no actuator"
            raise bad_argument("params", text)
        return own, m.jnt_names[number]
    if not name.startswith("dof_"):
        if m.jnt_class[number] != JointClass.FREE:
            raise bad_argument("params", _no_spring(name, m.jnt_names[number]))
        return np.array([number]), m.jnt_names[number]
    rows = np.flatnonzero(m.dof_jntid == number)
    if not rows.size:
        text = f"params[{name!r}]: joint '{m.jnt_names[number]}' has no degree of freedom"
        raise bad_argument("params", text)
    return rows, m.jnt_names[number]


def _no_spring(name: str, joint: str) -> str:
    reason = "is moved by another joint or a prescribed motion, so it cannot have a spring"
    return f"params[{name!r}]: joint '{joint}' {reason}"


def _owner(m: Model, name: str, k: int) -> str:
    if FIELDS[name] == "body":
        return str(m.body_names[k])
    if FIELDS[name] == "actuator":
        k = int(m.actuator_dofid[k])
        return str(m.jnt_names[m.dof_jntid[k]])
    return str(m.jnt_names[m.dof_jntid[k] if name.startswith("dof_") else k])


def _rows(called: str, given: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Return an array (nbatch, *shape) as rows (nbatch, n), or an array of `shape` as one row."""
    values = finite(called, given, None)
    size = int(np.prod(shape, dtype=int))
    if values.shape == shape:
        return values.reshape(1, size)
    if values.shape[1:] != shape or values.ndim == 0 or len(values) == 0:
        batch = f"({', '.join(['nbatch', *map(str, shape)])}{',' if not shape else ''})"
        allowed = f"{shape or 'one number'} or {batch}"
        text = f"{called} has the shape {values.shape}; allowed are {allowed}"
        raise bad_argument("params", text)
    return values.reshape(len(values), size)


def _joined(name: str, parts: list[Columns]) -> Columns:
    """Return the columns of an array's named parts as one Columns, or raise ParameterError."""
    places = np.concatenate([part.places for part in parts])
    names = tuple(label for part in parts for label in part.names)
    if len(np.unique(places)) < len(places):
        raise bad_argument("params", f"params[{name!r}] names a {FIELDS[name]} twice")
    count = max(len(part.values) for part in parts)
    for part in parts:
        if len(part.values) not in (1, count):
            text = (
                f"params[{name!r}] has {len(part.values)} rows for '{part.names[0]}' and {count} "
                f"for another {FIELDS[name]}; allowed is one row per robot, or one for all"
            )
            raise bad_argument("params", text)
    rows = [np.broadcast_to(part.values, (count, part.places.size)) for part in parts]
    return Columns(name, places, np.concatenate(rows, axis=1), names)


def _check_possible(m: Model, given: Columns) -> None:
    """Raise ParameterError if a robot cannot have these values."""
    values = given.values
    if given.array in NOT_NEGATIVE:
        _refuse(given, values < 0.0, "numbers of 0 or more")
    if given.array == "actuator_error":
        _refuse(given, values <= -1.0, "numbers above -1")
    elif given.array == "actuator_gear":
        _refuse(given, values == 0.0, "numbers other than 0")
    elif given.array == "actuator_motorconst":
        constants = given.places % 2 == 0  # odd entries are the back-EMF constants
        _refuse(given, constants & (values == 0.0), "torque constants above 0")
    elif given.array == "actuator_curve":
        _check_curves(given)
    elif given.array == DELAY:
        most = m.actuator_delay[given.places]
        bad = (values < 0.0) | (values > most) | (values != np.rint(values))
        _refuse(given, bad, "whole timesteps, at most as many as in the Model")
    elif given.array == "body_fullinertia":
        _check_inertias(given)


def _refuse(given: Columns, bad: Any, allowed: str) -> None:
    """Raise ParameterError for the first bad value, if there is one."""
    if bad.any():
        row, column = np.argwhere(bad)[0].tolist()
        found = f"is {given.values[row, column]:g}"
        raise _impossible(given, row, column, found, allowed)


def _check_curves(given: Columns) -> None:
    points = given.values.reshape(len(given.values), -1, CURVE_POINTS, 2)
    bad = (np.diff(points[..., 0]) < 0.0) | (np.diff(points[..., 1]) > 0.0)
    if bad.any():
        row, curve, _ = np.argwhere(bad)[0].tolist()
        allowed = "speeds that do not fall, with torques that do not rise"
        raise _impossible(given, row, 2 * CURVE_POINTS * curve, "has a wrong curve", allowed)


def _check_inertias(given: Columns) -> None:
    bodies = given.places.size // 6
    for fault in inertia_faults(given.values.reshape(-1, 6)):
        row, body = divmod(fault.row, bodies)
        found = f"has the principal moments {fault.moments} kg m^2"
        raise _impossible(given, row, 6 * body, found, INERTIA_ALLOWED)


def _impossible(given: Columns, row: int, column: int, found: str, allowed: str) -> ParameterError:
    text = f"params[{given.array!r}]: '{given.names[column]}' of robot {row} {found}"
    return bad_argument("params", f"{text}; allowed are {allowed}")


def check_built_in(m: Model, name: str, instead: str) -> None:
    """Raise ModelError unless code for a Model can read a field for each robot.

    Args:
        m: the Model.
        name: name of a field in FIELDS.
        instead: advice that ends the message.

    Raises:
        ModelError: the code contains the numbers of the Model as constants.
    """
    if name in OF_ACTUATORS:
        text = f"with specialised code, robots cannot differ in {name}; {instead}"
        raise ModelError(Finding("not-traceable", text, "error", m.name))


def with_springs(m: Model, own: Mapping[str, Sequence[int]]) -> Model:
    """Return the Model with a spring in each joint in which a robot may have a spring."""
    if "jnt_stiffness" not in own:
        return m
    stiffness = m.jnt_stiffness.copy()
    # any positive number: the value of each robot replaces it
    stiffness[list(own["jnt_stiffness"])] = 1.0
    return m.replaced(jnt_stiffness=stiffness)
