"""Parameters in which the robots of a rollout differ: checked, and as columns of numbers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.description.checks.inertials import INERTIA_ALLOWED, inertia_faults
from rbdyn_ros.errors import ModelError, bad_argument, did_you_mean
from rbdyn_ros.model.joints import JointClass
from rbdyn_ros.model.model import Model

#: What may differ, and of what a name in it is the name.
FIELDS = {
    "body_mass": "body",
    "body_ipos": "body",
    "body_fullinertia": "body",
    "dof_armature": "joint",
    "dof_damping": "joint",
    "dof_frictionloss": "joint",
    "jnt_stiffness": "joint",
    "gravity": "",
}
GRAVITY = "gravity"

#: Of them what cannot be less than zero.
_NOT_NEGATIVE = (
    "body_mass", "dof_armature", "dof_damping", "dof_frictionloss", "jnt_stiffness",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Columns:
    """Numbers of every robot that belong to entries of one array.

    Attributes:
        array: its name.
        places: (n,), of the entries in the flat array.
        values: (nbatch, n), or (1, n) if all robots have the same.
        names: by column, of the part that it belongs to.
    """

    array: str
    places: Ints
    values: Array
    names: tuple[str, ...] = ()


def columns(m: Model, params: object) -> list[Columns]:
    """Return the parameters of a rollout as columns, those of an array together.

    Raises:
        ParameterError: for an unknown field or name, another shape, or numbers that mean nothing.
    """
    if params is None:
        return []
    if not isinstance(params, Mapping):
        raise bad_argument("params", f"params is {params!r:.80}; allowed is a mapping by field")
    found = []
    for name, given in params.items():
        if name not in FIELDS:
            hint = did_you_mean(str(name), FIELDS)
            text = f"params has no {str(name)!r:.80}{hint}; allowed are {', '.join(FIELDS)}"
            raise bad_argument("params", text)
        parts = _parts(m, name, given) if isinstance(given, Mapping) else [_whole(m, name, given)]
        if parts:
            found.append(_joined(name, parts))
    for each in found:
        _demand_sense(each)
    return found


def _whole(m: Model, name: str, given: ArrayLike) -> Columns:
    """Return all entries of an array; those of the world stay as they are."""
    own = m.opt.gravity if name == GRAVITY else getattr(m, name)
    values = _rows(f"params[{name!r}]", given, own.shape)
    kind = FIELDS[name]
    names, places = [name] * own.size, np.arange(own.size)
    if kind:
        names = [part for k in range(own.shape[0]) for part in [_owner(m, name, k)] * own[k].size]
    if kind == "body":
        world = own[0].size
        if not (values[:, :world] == own[0].reshape(-1)).all():
            text = f"params[{name!r}] changes the world, body 0; allowed is what the Model has"
            raise bad_argument("params", text)
        values, places, names = values[:, world:], places[world:], names[world:]
    if name == "jnt_stiffness":
        moved = m.jnt_class == JointClass.FREE
        if values[:, ~moved].any():
            told = m.jnt_names[int(np.flatnonzero(values.any(axis=0) & ~moved)[0])]
            raise bad_argument("params", _no_spring(name, told))
        values, places, names = values[:, moved], places[moved], [names[k] for k in places[moved]]
    return Columns(name, places, values, tuple(names))


def _parts(m: Model, name: str, given: Mapping[Any, ArrayLike]) -> list[Columns]:
    """Return the entries of the bodies or joints that are named."""
    kind = FIELDS[name]
    if not kind:
        raise bad_argument(
            "params", f"params[{name!r}] takes an array (3,) or (nbatch, 3), no names"
        )
    found = []
    for part, values in given.items():
        rows, label = _place(m, name, kind, part)
        own = getattr(m, name)
        shape = own.shape[1:] if rows.size == 1 else (rows.size, *own.shape[1:])
        each = int(np.prod(own.shape[1:], dtype=int))
        places = (rows[:, None] * each + np.arange(each)).reshape(-1)
        told = f"params[{name!r}][{label!r}]"
        found.append(Columns(name, places, _rows(told, values, shape), (label,) * places.size))
    return found


def _place(m: Model, name: str, kind: str, part: Any) -> tuple[Ints, str]:
    """Return the rows of an array that belong to a body or joint, and the name of that."""
    try:
        number = m.body_id(part) if kind == "body" else m.jnt_id(part)
    except ModelError as error:
        raise bad_argument("params", f"params[{name!r}]: {error}") from None
    if kind == "body":
        if number == 0:
            raise bad_argument("params", f"params[{name!r}]: the world has no inertia")
        return np.array([number]), m.body_names[number]
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
    return f"params[{name!r}]: joint '{joint}' moves by no force, so it can have no spring"


def _owner(m: Model, name: str, k: int) -> str:
    if FIELDS[name] == "body":
        return str(m.body_names[k])
    return str(m.jnt_names[m.dof_jntid[k] if name.startswith("dof_") else k])


def _rows(told: str, given: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Return rows (nbatch, n) of an array (nbatch, *shape), or one row of an array of shape."""
    values = finite(told, given, None)
    size = int(np.prod(shape, dtype=int))
    if values.shape == shape:
        return values.reshape(1, size)
    if values.shape[1:] != shape or values.ndim == 0 or len(values) == 0:
        batch = f"({', '.join(['nbatch', *map(str, shape)])}{',' if not shape else ''})"
        text = (
            f"{told} has the shape {values.shape}; allowed are {shape or 'one number'} or {batch}"
        )
        raise bad_argument("params", text)
    return values.reshape(len(values), size)


def _joined(name: str, parts: list[Columns]) -> Columns:
    """Return the parts of one array as one."""
    places = np.concatenate([part.places for part in parts])
    names = tuple(label for part in parts for label in part.names)
    if len(np.unique(places)) < len(places):
        raise bad_argument("params", f"params[{name!r}] names a part twice")
    count = max(len(part.values) for part in parts)
    for part in parts:
        if len(part.values) not in (1, count):
            text = (
                f"params[{name!r}] is of {len(part.values)} robots for '{part.names[0]}' and of "
                f"{count} for another; allowed is one number of robots"
            )
            raise bad_argument("params", text)
    rows = [np.broadcast_to(part.values, (count, part.places.size)) for part in parts]
    return Columns(name, places, np.concatenate(rows, axis=1), names)


def _demand_sense(given: Columns) -> None:
    """Raise ParameterError unless a robot can be so."""
    if given.array in _NOT_NEGATIVE:
        bad = given.values < 0.0
        if bad.any():
            row, column = np.argwhere(bad)[0].tolist()
            value = given.values[row, column]
            _not_so(given, row, column, f"{value:g}", "numbers of 0 or more")
    if given.array == "body_fullinertia":
        _demand_inertia(given)


def _demand_inertia(given: Columns) -> None:
    bodies = given.places.size // 6
    for fault in inertia_faults(given.values.reshape(-1, 6)):
        row, body = divmod(fault.row, bodies)
        found = f"of the principal moments {fault.moments} kg m^2"
        _not_so(given, row, 6 * body, found, INERTIA_ALLOWED)


def _not_so(given: Columns, row: int, column: int, found: str, allowed: str) -> None:
    where = f"params[{given.array!r}]: robot {row}, '{given.names[column]}' is {found}"
    raise bad_argument("params", f"{where}; allowed are {allowed}")


def with_springs(m: Model, given: Collection[Columns]) -> Model:
    """Return the Model with springs wherever robots may have them, so that they are computed."""
    for each in given:
        if each.array == "jnt_stiffness":
            stiffness = m.jnt_stiffness.copy()
            stiffness[each.places] = 1.0  # robots have their own instead
            return m.replaced(jnt_stiffness=stiffness)
    return m
