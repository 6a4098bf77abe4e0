"""Whether the arrays of a Model belong together, so that kernels may trust them.

Kernels do not look whether an index is within an array. A Model that was compiled here is right by
construction; one that was read from a file is judged: what the numbering and the types of the
joints decide is computed again and must be equal, and every other index must be within its range.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.description.audit import Audit, quote
from rbdyn_ros.model.callbacks import registered_joint, registered_motion
from rbdyn_ros.model.compile import driven_last, inertia_pattern
from rbdyn_ros.model.fields import Field
from rbdyn_ros.model.joints import JOINT_KINDS, JointKind, JointType, user_kind
from rbdyn_ros.model.model import MODEL_FIELDS

Arrays = Mapping[str, NDArray[Any]]
Names = Mapping[str, Sequence[str]]
Ints = NDArray[np.int64]

#: What each list of names in a Model is as long as.
LENGTHS = {
    "body_names": "nbody",
    "jnt_names": "njnt",
    "frame_names": "nframe",
    "loop_names": "nloop",
    "spring_names": "nspring",
    "jnt_usertype": "njnt",
    "loop_usertype": "nloop",
    "jnt_motion_name": "njnt",
}

#: Where infinity means that there is no limit.
UNLIMITED = ("jnt_range", "jnt_effort", "jnt_velocity", "limit_range")

#: Fields with indices and flags that nothing else determines; their ranges are in _judge_free.
FREE = (
    "body_parentid",
    "jnt_type",
    "jnt_reversed",
    "jnt_limited",
    "limit_dofid",
    "frame_bodyid",
    "loop_type",
    "loop_bodyid",
    "spring_bodyid",
    "drive_knotnum",
)

_CARRYING = [kind for kind, row in JOINT_KINDS.items() if row.nv > 0]


def judge_arrays(arrays: Arrays, names: Names, audit: Audit) -> None:
    """Add an error for everything that would let a kernel leave its arrays, or that is no number.

    Args:
        arrays: all of MODEL_FIELDS, of the right element types.
        names: all of NAMES, lists of texts.
        audit: receives the errors; the later judgements need what the earlier ones demand.

    Raises:
        ModelError: if a function of the user that is named is not registered.
    """
    sizes = _judge_shapes(arrays, names, audit)
    if audit.errors:
        return
    _judge_numbers(arrays, audit)
    _judge_free(arrays, sizes, audit)
    _judge_user_types("jnt", arrays, names, audit)
    _judge_user_types("loop", arrays, names, audit)
    if audit.errors:
        return
    kinds = [
        _kind(JointType(number), name)
        for number, name in zip(arrays["jnt_type"].tolist(), names["jnt_usertype"], strict=True)
    ]
    driven = arrays["jnt_dofadr"] >= sizes["nv"]
    for name, expected in _derived(arrays, kinds, driven).items():
        if not np.array_equal(arrays[name], expected):
            _wrong(audit, name, "does not follow from the bodies and the types of the joints")
    _judge_drives(arrays, names, kinds, driven, sizes, audit)
    _judge_limits(arrays, kinds, driven, audit)


def _judge_shapes(arrays: Arrays, names: Names, audit: Audit) -> dict[str, int]:
    """Return the sizes; add an error for each array whose shape contradicts one before it."""
    sizes: dict[str, int] = {}
    for field in MODEL_FIELDS:
        shape = arrays[field.name].shape
        if len(shape) == len(field.dims):
            for dim, extent in zip(field.dims, shape, strict=True):
                if isinstance(dim, str):
                    sizes.setdefault(dim, extent)
        _judge_shape(field, shape, sizes, audit)
    if audit.errors:
        return sizes
    if sizes["nbody"] != sizes["njnt"] + 1 or sizes["nvall"] != sizes["nv"] + sizes["ndrive"]:
        audit.error("bad-shape", "the sizes", None, "every body but the world has one joint")
    for name, size in LENGTHS.items():
        if len(names[name]) != sizes[size]:
            message = f"has {len(names[name])} names, not {sizes[size]}"
            audit.error("bad-shape", name, None, message)
    return sizes


def _judge_shape(
    field: Field, shape: tuple[int, ...], sizes: Mapping[str, int], audit: Audit
) -> None:
    expected = tuple(sizes.get(dim, "?") if isinstance(dim, str) else dim for dim in field.dims)
    if shape != expected:
        message = f"has the shape {shape}, not ({', '.join(map(str, expected))})"
        audit.error("bad-shape", field.name, None, message, found=str(shape))


def _judge_numbers(arrays: Arrays, audit: Audit) -> None:
    for field in MODEL_FIELDS:
        array = arrays[field.name]
        if field.kind == "int":
            continue
        if np.isnan(array).any():
            _wrong(audit, field.name, "holds NaN")
        elif field.name not in UNLIMITED and not np.isfinite(array).all():
            _wrong(audit, field.name, "holds an infinite number")


def _judge_free(arrays: Arrays, sizes: Mapping[str, int], audit: Audit) -> None:
    nbody, parent = sizes["nbody"], arrays["body_parentid"]
    if (parent < 0).any() or (parent[1:] >= np.arange(1, nbody)).any() or parent[0] != 0:
        _wrong(audit, "body_parentid", "has a parent that is not before its child")
    ranges = {
        "jnt_reversed": 2,
        "jnt_limited": 2,
        "limit_dofid": sizes["nv"],
        "frame_bodyid": nbody,
        "loop_bodyid": nbody,
        "spring_bodyid": nbody,
        "drive_knotnum": sizes["nknot"] + 1,
    }
    for name, end in ranges.items():
        if (arrays[name] < 0).any() or (arrays[name] >= end).any():
            _wrong(audit, name, f"has an entry that is not from 0 to {end - 1}")
    known = {"jnt_type": [*_CARRYING, JointType.USER], "loop_type": list(JointType)}
    for name, types in known.items():
        if not np.isin(arrays[name], types).all():
            _wrong(audit, name, "has an entry that is no type of a joint there")
    if (arrays["loop_bodyid"][:, 0] == arrays["loop_bodyid"][:, 1]).any():
        _wrong(audit, "loop_bodyid", "has a loop that begins and ends at one body")


def _judge_user_types(kind: str, arrays: Arrays, names: Names, audit: Audit) -> None:
    user = arrays[f"{kind}_type"] == JointType.USER
    named = np.array([bool(name) for name in names[f"{kind}_usertype"]], bool)
    if not np.array_equal(user, named):
        message = "names a type of the user where there is none, or none where there is one"
        _wrong(audit, f"{kind}_usertype", message)


def _kind(kind: JointType, user_type: str) -> JointKind:
    if kind != JointType.USER:
        return JOINT_KINDS[kind]
    return user_kind(registered_joint(user_type).nv)


def _derived(arrays: Arrays, kinds: Sequence[JointKind], driven: NDArray[np.bool_]) -> Arrays:
    """Return every field of indices that follows from the numbering and the types."""
    parent = arrays["body_parentid"]
    types, njnt = arrays["jnt_type"], len(kinds)
    nq = np.array([kind.nq for kind in kinds], np.int64)
    nv = np.array([kind.nv for kind in kinds], np.int64)
    dofnum = np.concatenate([[0], np.where(driven, 0, nv)]).astype(np.int64)
    bodies = np.arange(njnt + 1)
    root = bodies.copy()
    for i in range(1, njnt + 1):
        if parent[i] > 0:
            root[i] = root[parent[i]]
    last_child = np.zeros(njnt + 1, np.int64)
    last_child[parent] = bodies
    user = types == JointType.USER
    derived: dict[str, NDArray[Any]] = {
        "body_rootid": root,
        "body_haschild": np.isin(bodies, parent[1:]),
        "body_lastchild": last_child[parent] == bodies,
        "body_dofnum": dofnum,
        "body_dofadr": np.where(dofnum > 0, np.cumsum(dofnum) - dofnum, -1),
        "jnt_common": (arrays["jnt_reversed"] == 0) & (types <= JointType.PLANAR),
        "jnt_qposadr": driven_last(nq, driven),
        "jnt_dofadr": driven_last(nv, driven),
        "jnt_dofnum": nv,
        "jnt_bodyid": bodies[1:],
        "jnt_userid": np.where(user, np.cumsum(user) - 1, -1),
        "drive_knotadr": np.cumsum(arrays["drive_knotnum"]) - arrays["drive_knotnum"],
    }
    derived.update(_derived_dofs(parent, kinds, driven))
    derived.update(inertia_pattern(derived))
    return derived


def _derived_dofs(
    parent: Ints, kinds: Sequence[JointKind], driven: NDArray[np.bool_]
) -> dict[str, NDArray[Any]]:
    last = [-1] * len(parent)
    body, above = list[int](), list[int]()
    newframe, driven_newframe = list[int](), list[int]()
    for i, kind in enumerate(kinds, start=1):
        last[i] = last[parent[i]]
        if driven[i - 1]:
            driven_newframe += kind.newframe
            continue
        for flag in kind.newframe:
            body.append(i)
            above.append(last[i])
            newframe.append(flag)
            last[i] = len(body) - 1
    dof_bodyid = np.array(body, np.int64)
    return {
        "body_lastdof": np.array(last),
        "dof_bodyid": dof_bodyid,
        "dof_jntid": dof_bodyid - 1,
        "dof_parentid": np.array(above, np.int64),
        "dof_newframe": np.array(newframe + driven_newframe, np.int64),
    }


def _judge_drives(
    arrays: Arrays,
    names: Names,
    kinds: Sequence[JointKind],
    driven: NDArray[np.bool_],
    sizes: Mapping[str, int],
    audit: Audit,
) -> None:
    """Whether every driven coordinate has knots, or its joint a function of the right size."""
    number = arrays["drive_knotnum"]
    if sizes["nq"] != sum(k.nq for k, d in zip(kinds, driven, strict=True) if not d):
        _wrong(audit, "qpos0", "is not as long as the positions of all joints together")
    if sizes["ndrive"] != sum(k.nv for k, d in zip(kinds, driven, strict=True) if d):
        _wrong(audit, "drive_knotnum", "is not as long as all driven joints together")
        return
    if number.sum() != sizes["nknot"]:
        _wrong(audit, "drive_knotnum", "does not add up to the number of knots")
    at = 0
    for j, name in enumerate(names["jnt_motion_name"]):
        if not driven[j]:
            if name:
                _wrong(audit, "jnt_motion_name", f"drives joint {j}, which is not driven")
            continue
        shares, at = number[at : at + kinds[j].nv], at + kinds[j].nv
        if not kinds[j].flat or (shares.any() if name else not shares.all()):
            _wrong(audit, "drive_knotnum", f"does not say how joint {j} moves")
        if name and registered_motion(name).nv != kinds[j].nv:
            message = (
                f"gives joint {j} the motion {quote(name)}, which is registered for "
                f"{registered_motion(name).nv} coordinates, not {kinds[j].nv}"
            )
            _wrong(audit, "jnt_motion_name", message)


def _judge_limits(
    arrays: Arrays, kinds: Sequence[JointKind], driven: NDArray[np.bool_], audit: Audit
) -> None:
    """Whether limits and springs belong to joints that a force moves, and that have them."""
    one = np.array([kind.nv == 1 for kind in kinds], bool) | (arrays["jnt_type"] == JointType.BALL)
    if (arrays["jnt_limited"].astype(bool) & (driven | ~one)).any():
        _wrong(audit, "jnt_limited", "limits a joint that has no limit of its own")
    if arrays["jnt_stiffness"][driven].any():
        _wrong(audit, "jnt_stiffness", "gives a spring to a joint that is driven")
    limited = arrays["dof_jntid"][arrays["limit_dofid"]] if not audit.errors else ()
    if not all(kinds[j].flat for j in limited):
        _wrong(audit, "limit_dofid", "limits a coordinate that is no position")


def _wrong(audit: Audit, name: str, message: str) -> None:
    audit.error("bad-array", name, None, message)
