# SPDX-License-Identifier: Apache-2.0
"""Check the arrays of a Model that come from files or users, so that kernels need no checks.

Kernels do not check whether an index is within an array. A Model compiled from a description is
correct by construction. Arrays from a file, a pickle or a user are checked: every index must be
within its range, and the number of coordinates must match the joints. model/derive.py computes all
other indices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rbdyn_ros.arrays import Arrays, NamedArrays
from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.errors import ModelError, counted, did_you_mean, listing, quote, shown
from rbdyn_ros.model.audits.audit_geoms import audit_geom_arrays, audit_geom_lists, wrong_array
from rbdyn_ros.model.audits.number_rules import descending, limit_ranges, wrong_numbers
from rbdyn_ros.model.declared.actuators import no_actuators, wrong_actuators
from rbdyn_ros.model.declared.callbacks import registered_motion
from rbdyn_ros.model.declared.fields import Field, frozen
from rbdyn_ros.model.declared.joints import (
    JOINT_KINDS,
    JointClass,
    JointKind,
    JointType,
    joint_kinds,
)
from rbdyn_ros.model.declared.model_fields import DERIVED, MODEL_FIELDS, NAME_DIMS, PRIMARY
from rbdyn_ros.model.geometry.geoms import NO_LINK, NO_ROBOT
from rbdyn_ros.model.tree.couplings import joint_classes

Names = Mapping[str, Sequence[str]]
Sizes = Mapping[str, int]
DRIVEN = JointClass.DRIVEN

FLAGS = ("jnt_reversed", "jnt_limited", "jnt_actuated", "length_closed", "geom_limitsurface")

#: Fields that hold indices, and the size that is their bound.
INDICES = {
    "body_parentid": "nbody",
    "limit_dofid": "nv",
    "frame_bodyid": "nbody",
    "loop_bodyid": "nbody",
    "spring_bodyid": "nbody",
    "point_bodyid": "nbody",
    "roll_bodyid": "nbody",
    "term_jntid": "njnt",
    "term_coord": "nv",
    "geom_bodyid": "nbody",
    "exclude_geom": "ngeom",
    "edge_vert": "nvert",
    "push_geom": "ngeom",
    "face_vert": "nvert",
    "actuator_dofid": "nv",
}

#: Fields that hold counts which add up to a size; the size and the least count.
SHARES = {
    "drive_knotnum": ("nknot", 0),
    "length_pointnum": ("npoint", 2),
    "gear_termnum": ("nterm", 1),
    "geom_vertnum": ("nvert", 0),
    "vert_edgenum": ("nedge", 0),
    "geom_facenum": ("nface", 0),
    "face_vertnum": ("nfacevert", 3),
}

_CARRYING = [kind for kind, row in JOINT_KINDS.items() if row.nv > 0]
TYPES = {"jnt_type": [*_CARRYING, JointType.USER], "loop_type": list(JointType)}

#: The fields that a file contains.
STORED = tuple(field for field in MODEL_FIELDS if not field.derived)


def checked(arrays: object, names: object) -> tuple[Arrays, dict[str, tuple[str, ...]]]:
    """Return copies of the fields PRIMARY and the lists NAMES, after all checks.

    Args:
        arrays: the fields PRIMARY; derived fields are ignored.
        names: the lists NAMES.

    Raises:
        ModelError: an array or list is wrong (the message lists all errors), or a user-defined
            joint type or motion is not registered.
    """
    audit = Audit()
    lists = _name_lists(names, audit)
    fields = _frozen_fields(arrays, audit)
    if not audit.errors:
        audit_arrays(fields, lists, audit)
    if audit.errors:
        raise ModelError(audit.errors)
    return fields, lists


def _name_lists(names: object, audit: Audit) -> dict[str, tuple[str, ...]]:
    """Return the lists NAMES; add an error for each value that is not a list of strings."""
    if not isinstance(names, Mapping) or set(names) != set(NAME_DIMS):
        audit.error("bad-names", "names", None, f"a Model needs the lists {', '.join(NAME_DIMS)}")
        return {}
    lists = {}
    for kind, given in names.items():
        sound = isinstance(given, Sequence) and not isinstance(given, str)
        if not sound or not all(type(name) is str for name in given):
            audit.error("bad-names", kind, None, f"it is {shown(given)}; allowed are strings")
        else:
            lists[kind] = tuple(given)
    return lists


def _frozen_fields(arrays: object, audit: Audit) -> Arrays:
    """Return copies of the fields PRIMARY; add errors for missing, unknown and wrong fields."""
    if not isinstance(arrays, Mapping):
        audit.error("missing-field", "arrays", None, f"it is {shown(arrays)}, not arrays by name")
        return {}
    given = {**no_actuators(MODEL_FIELDS), **arrays}
    missing = [name for name in PRIMARY if name not in given]
    if missing:
        audit.error("missing-field", "arrays", None, f"a Model needs {listing(missing)}")
    for name in given:
        if name not in PRIMARY and name not in DERIVED:
            hint = did_you_mean(name, PRIMARY) if isinstance(name, str) else ""
            message = f"{shown(name)} is not a field of a Model{hint}"
            audit.error("unknown-field", "arrays", None, message)
    fields = {field.name: given.get(field.name) for field in STORED}
    return {field.name: _frozen_field(field, fields[field.name], audit) for field in STORED}


def _frozen_field(field: Field, value: object, audit: Audit) -> Any:
    """Return a copy of a field; add an error if it does not hold numbers of its kind."""
    try:
        array = np.asarray(value)
        numbers = array.dtype.kind in ("biu" if field.kind == "int" else "biuf")
        copied = frozen(field, array, array.shape) if numbers else None
    except (TypeError, ValueError, OverflowError):
        copied = None
    if copied is None or (array.dtype.kind == "u" and (copied != array).any()):
        kind = "whole numbers" if field.kind == "int" else "numbers"
        wrong_array(audit, field.name, f"is {shown(value)}; allowed is an array of {kind}")
    return copied


def audit_arrays(arrays: NamedArrays, names: Names, audit: Audit) -> None:
    """Add an error for every index outside its array, and every invalid number.

    Args:
        arrays: the fields PRIMARY, of the right element types.
        names: all of NAMES, lists of strings.
        audit: receives the errors; later checks rely on earlier checks.

    Raises:
        ModelError: a user-defined joint type or motion is not registered.
    """
    sizes = _audit_shapes(arrays, names, audit)
    if audit.errors:
        return
    _audit_numbers(arrays, audit)
    _audit_ranges(arrays, sizes, audit)
    _audit_types(arrays, names, audit)
    audit_geom_arrays(arrays, audit)
    for name, why in wrong_actuators(arrays):
        wrong_array(audit, name, why)
    if audit.errors:
        return
    audit_geom_lists(arrays, audit)
    kinds = joint_kinds(arrays["jnt_type"], names["jnt_usertype"])
    _audit_couplings(arrays, kinds, audit)
    if audit.errors:
        return
    _audit_coordinates(arrays, kinds, sizes, audit)
    if audit.errors:
        return
    _audit_drives(arrays, names, kinds, audit)
    if audit.errors:
        return
    _audit_limits(arrays, kinds, audit)
    _audit_terms(arrays, kinds, audit)


def _audit_shapes(arrays: NamedArrays, names: Names, audit: Audit) -> dict[str, int]:
    """Return the sizes; add an error for each array whose shape contradicts an earlier array."""
    sizes: dict[str, int] = {}
    for field in STORED:
        shape = arrays[field.name].shape
        if len(shape) == len(field.dims):
            for dim, extent in zip(field.dims, shape, strict=True):
                if isinstance(dim, str):
                    sizes.setdefault(dim, extent)
        _audit_shape(field, shape, sizes, audit)
    if audit.errors:
        return sizes
    if sizes["nbody"] != sizes["njnt"] + 1:
        audit.error("bad-shape", "the sizes", None, "every body except the world has one joint")
    for name, size in NAME_DIMS.items():
        if len(names[name]) != sizes[size]:
            message = f"it has {counted(len(names[name]), 'name')}, not {sizes[size]}"
            audit.error("bad-shape", name, None, message)
    return sizes


def _audit_shape(field: Field, shape: tuple[int, ...], sizes: Sizes, audit: Audit) -> None:
    expected = tuple(sizes.get(dim, "?") if isinstance(dim, str) else dim for dim in field.dims)
    if shape != expected:
        message = f"it has the shape {shape}, not ({', '.join(map(str, expected))})"
        audit.error("bad-shape", field.name, None, message, found=str(shape))


def _audit_numbers(arrays: NamedArrays, audit: Audit) -> None:
    for field in STORED:
        if why := wrong_numbers(field.name, arrays[field.name]):
            wrong_array(audit, field.name, why)
    for name, ranges in limit_ranges(arrays):
        if why := descending(ranges):
            wrong_array(audit, name, why)


def _audit_ranges(arrays: NamedArrays, sizes: Sizes, audit: Audit) -> None:
    _audit_range(arrays, "jnt_mimic", -1, sizes["njnt"] - 1, audit)
    _audit_range(arrays, "geom_frameid", NO_LINK, sizes["nframe"] - 1, audit)
    _audit_range(arrays, "geom_robotid", NO_ROBOT, sizes["nframe"] - 1, audit)
    _audit_range(arrays, "jnt_class", 0, len(JointClass) - 1, audit)
    for name in FLAGS:
        _audit_range(arrays, name, 0, 1, audit)
    for name, size in INDICES.items():
        _audit_range(arrays, name, 0, sizes[size] - 1, audit)
    for name, (size, least) in SHARES.items():
        if not _audit_range(arrays, name, least, sizes[size], audit):
            continue
        if (total := arrays[name].sum()) != sizes[size]:
            wrong_array(audit, name, f"adds up to {total}, not to {size}, which is {sizes[size]}")
    parent, ends = arrays["body_parentid"], arrays["loop_bodyid"]
    if (parent[1:] >= np.arange(1, sizes["nbody"])).any() or parent[0] != 0:
        wrong_array(audit, "body_parentid", "has a parent that is not before its child")
    if (ends[:, 0] == ends[:, 1]).any():
        wrong_array(audit, "loop_bodyid", "has a loop that begins and ends at one body")


def _audit_range(arrays: NamedArrays, name: str, least: int, most: int, audit: Audit) -> bool:
    array = arrays[name]
    if ((array >= least) & (array <= most)).all():
        return True
    wrong_array(audit, name, f"has an entry outside {least} to {most}")
    return False


def _audit_types(arrays: NamedArrays, names: Names, audit: Audit) -> None:
    for field, types in TYPES.items():
        if not np.isin(arrays[field], types).all():
            wrong_array(audit, field, "has an entry that is not an allowed joint type")
        user = arrays[field] == JointType.USER
        list_name = field.replace("_type", "_usertype")
        if user.tolist() != [bool(name) for name in names[list_name]]:
            message = "does not match the joints with a user-defined type"
            wrong_array(audit, list_name, message)


def _audit_couplings(arrays: NamedArrays, kinds: Sequence[JointKind], audit: Audit) -> None:
    """Check jnt_class, and that leaders and mimic joints have one coordinate and form no chain."""
    mimic, classes = arrays["jnt_mimic"], arrays["jnt_class"]
    is_mimic = mimic >= 0
    leaders = mimic[is_mimic]
    single = np.array([kind.nv == 1 for kind in kinds], bool)
    if is_mimic[leaders].any() or not (single[is_mimic].all() and single[leaders].all()):
        wrong_array(audit, "jnt_mimic", "has mimic joints of several coordinates, or in a chain")
    elif not np.array_equal(classes, joint_classes(mimic, (classes == DRIVEN) & ~is_mimic)):
        wrong_array(audit, "jnt_class", "does not follow from the driven joints and the leaders")


def _audit_coordinates(
    arrays: NamedArrays, kinds: Sequence[JointKind], sizes: Sizes, audit: Audit
) -> None:
    """Check that the numbers of coordinates are those that the joints need."""
    classes = arrays["jnt_class"]
    nq, nv = (np.array([getattr(kind, n) for kind in kinds], np.int64) for n in ("nq", "nv"))
    counts = {
        ("qpos0", "nq"): nq[classes == JointClass.FREE].sum(),
        ("dof_armature", "nv"): nv[classes == JointClass.FREE].sum(),
        ("drive_knotnum", "ndrive"): nv[classes == DRIVEN].sum(),
        ("dof_transmission", "nvall"): nv.sum(),
    }
    for (name, size), count in counts.items():
        if sizes[size] != count:
            wrong_array(audit, name, f"has {sizes[size]} entries; the joints need {count}")


def _audit_drives(
    arrays: NamedArrays,
    names: Names,
    kinds: Sequence[JointKind],
    audit: Audit,
) -> None:
    """Check that every driven coordinate has knots, or a function of the right size."""
    number, at = arrays["drive_knotnum"], 0
    for j, name in enumerate(names["jnt_motion_name"]):
        if arrays["jnt_class"][j] != DRIVEN:
            if name:
                wrong_array(
                    audit, "jnt_motion_name", f"names a motion of joint {j}, which is not driven"
                )
            continue
        shares, at = number[at : at + kinds[j].nv], at + kinds[j].nv
        if arrays["jnt_mimic"][j] >= 0:  # the leader of this joint is driven
            if name or shares.any():
                wrong_array(audit, "drive_knotnum", f"drives joint {j}, which is a mimic joint")
            continue
        if not kinds[j].flat or (shares.any() if name else not shares.all()):
            wrong_array(audit, "drive_knotnum", f"has no valid motion of joint {j}")
        if name and registered_motion(name).nv != kinds[j].nv:
            message = (
                f"gives joint {j} the motion {quote(name)}, which is registered for "
                f"{registered_motion(name).nv} coordinates, not {kinds[j].nv}"
            )
            wrong_array(audit, "jnt_motion_name", message)


def _audit_limits(arrays: NamedArrays, kinds: Sequence[JointKind], audit: Audit) -> None:
    """Check that limits and springs belong to free joints that can have them."""
    bound = arrays["jnt_class"] != JointClass.FREE
    one = np.array([kind.nv == 1 for kind in kinds], bool) | (arrays["jnt_type"] == JointType.BALL)
    if (arrays["jnt_limited"].astype(bool) & (bound | ~one)).any():
        wrong_array(audit, "jnt_limited", "limits a joint that cannot have a limit")
    if arrays["jnt_stiffness"][bound].any():
        wrong_array(
            audit, "jnt_stiffness", "gives a spring to a joint without a degree of freedom"
        )
    free = np.flatnonzero(~bound).tolist()
    joints = np.repeat(free, np.array([kinds[j].nv for j in free], np.int64))
    if not all(kinds[j].flat for j in joints[arrays["limit_dofid"]]):
        wrong_array(audit, "limit_dofid", "limits a coordinate that is not a position")


def _audit_terms(arrays: NamedArrays, kinds: Sequence[JointKind], audit: Audit) -> None:
    """Check that the terms of gears are positions of joints."""
    for j, coordinate in zip(arrays["term_jntid"], arrays["term_coord"], strict=True):
        if not (kinds[j].flat and coordinate < kinds[j].nv):
            wrong_array(
                audit, "term_coord", f"has {coordinate}, which is not a position of joint {j}"
            )
