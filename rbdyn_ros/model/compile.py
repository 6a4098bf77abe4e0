"""Description -> Model: every array filled from the lumped tree."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbdyn_ros.description.joint_types import JOINT_SPECS
from rbdyn_ros.description.types import Description, Joint, Limit, Pose
from rbdyn_ros.errors import Finding, ModelError
from rbdyn_ros.model.callbacks import MAX_PARAMETERS, registered_joint, registered_motion
from rbdyn_ros.model.joints import JOINT_KINDS, TYPE_OF_NAME, JointKind, JointType, user_kind
from rbdyn_ros.model.lumping import WORLD, Body, Placement, Tree, lump, lumped_inertia
from rbdyn_ros.model.model import MAX_M_ENTRIES, Model
from rbdyn_ros.model.motion import driven_coordinates
from rbdyn_ros.model.rotation import Array, cross_matrix, mat_to_quat, plane_basis

Arrays = dict[str, NDArray[Any]]

DEFAULT_SOLREF = (0.02, 1.0)  # limit spring: 20 ms, critically damped; MuJoCo's default
NO_LIMIT = Limit()
ROOT_JOINT = "root_joint"


def compile_model(description: Description, floating_base: bool = False) -> Model:
    """Turn a checked description into a Model.

    dof_inertia0 is left at 0: engine/constants.py fills it, with the engine's own kernels.

    Args:
        description: judged by description/check.py.
        floating_base: put a free joint `root_joint` between the world and the base link.

    Raises:
        ModelError: if a function of the user that it names is not registered.
    """
    tree = lump(description, floating_base)
    arrays = {**_bodies(tree), **_joints(tree), **_frames(tree), **_loops(tree)}
    arrays.update(_dofs(tree, arrays))
    arrays.update(inertia_pattern(arrays))
    arrays.update(_springs(description, tree))
    arrays.update(driven_coordinates([body.joint for body in tree.bodies[1:]]))
    joints = [body.joint for body in tree.bodies[1:]]
    names = {
        "body_names": _body_names(tree),
        "jnt_names": _joint_names(tree),
        "frame_names": list(tree.frames),
        "loop_names": [loop.joint.name for loop in tree.loops],
        "spring_names": [spring.name for spring in description.springs],
        "jnt_usertype": [_user_type(joint) for joint in joints],
        "loop_usertype": [_user_type(loop.joint) for loop in tree.loops],
        "jnt_motion_name": [_motion_name(joint) for joint in joints],
    }
    return Model(description.name, arrays, names, findings=description.findings)


def _body_names(tree: Tree) -> list[str]:
    names = [body.name for body in tree.bodies]
    if WORLD in names[1:]:  # a floating root link may be called like the world
        i = names.index(WORLD, 1)
        names[i] = _free_name(f"{WORLD}_link", names)
    return names


def _joint_names(tree: Tree) -> list[str]:
    names = [body.joint.name for body in tree.bodies if body.joint]
    if any(body.joint is None for body in tree.bodies[1:]):
        names.insert(0, _free_name(ROOT_JOINT, names))
    return names


def _free_name(wanted: str, taken: list[str]) -> str:
    while wanted in taken:
        wanted += "_"
    return wanted


def _type_of(joint: Joint | None) -> JointType:
    return TYPE_OF_NAME.get(joint.type, JointType.USER) if joint else JointType.FREE


def _kind_of(joint: Joint | None) -> JointKind:
    kind = _type_of(joint)
    if joint is None or kind != JointType.USER:
        return JOINT_KINDS[kind]
    return user_kind(registered_joint(joint.type).nv)


def _user_type(joint: Joint | None) -> str:
    return joint.type if joint and _type_of(joint) == JointType.USER else ""


def _motion_name(joint: Joint | None) -> str:
    """Return the name of the function that drives a joint; raises ModelError if none fits."""
    if joint is None or not isinstance(joint.motion, str):
        return ""
    given, needed = registered_motion(joint.motion).nv, _kind_of(joint).nv
    if given != needed:
        text = (
            f"joint '{joint.name}': the motion '{joint.motion}' has {given} coordinates, the "
            f"joint {needed}"
        )
        raise ModelError(Finding("motion-size", text, "error", f"joint '{joint.name}'"))
    return joint.motion


def _is_driven(joint: Joint | None) -> bool:
    return joint is not None and joint.motion is not None


def _starts(lengths: Iterable[int]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(list(lengths), dtype=np.int64)[:-1]]).astype(np.int64)


def _bodies(tree: Tree) -> Arrays:
    bodies = tree.bodies
    parent = np.array([body.place.body for body in bodies])
    root = np.arange(len(bodies))
    for i in range(1, len(bodies)):
        if parent[i] > 0:
            root[i] = root[parent[i]]
    mat = np.array([body.place.mat for body in bodies])
    inertias = [(0.0, np.zeros(3), np.zeros((3, 3))), *map(lumped_inertia, bodies[1:])]
    mass = np.array([inertia[0] for inertia in inertias])
    subtree = mass.copy()
    for i in range(len(bodies) - 1, 0, -1):
        subtree[parent[i]] += subtree[i]
    inertia = np.array([inertia[2] for inertia in inertias])
    moments, axes = _principal(inertia)
    last_child = {p: i for i, p in enumerate(parent)}
    nv = [0, *(0 if _is_driven(b.joint) else _kind_of(b.joint).nv for b in bodies[1:])]
    return {
        "body_parentid": parent,
        "body_rootid": root,
        "body_haschild": np.isin(np.arange(len(bodies)), parent[1:]),
        "body_lastchild": np.array([last_child[p] == i for i, p in enumerate(parent)]),
        "body_dofadr": np.where(np.array(nv) > 0, _starts(nv), -1),
        "body_dofnum": np.array(nv),
        "body_pos": np.array([body.place.pos for body in bodies]),
        "body_quat": np.array([mat_to_quat(R) for R in mat]),
        "body_mat": mat,
        "body_ipos": np.array([inertia[1] for inertia in inertias]),
        "body_iquat": np.array([mat_to_quat(R) for R in axes]),
        "body_imat": axes,
        "body_mass": mass,
        "body_inertia": moments,
        "body_fullinertia": inertia[:, [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]],
        "body_subtreemass": subtree,
    }


def _principal(inertia: Array) -> tuple[Array, Array]:
    """Return moments and right-handed axes; a diagonal matrix keeps its axes."""
    moments, axes = np.linalg.eigh(inertia)
    axes[:, :, 2] *= np.linalg.det(axes)[:, None]
    off = np.abs(inertia[:, [0, 0, 1], [1, 2, 2]]).max(axis=1)
    moments[off == 0.0] = np.diagonal(inertia, axis1=1, axis2=2)[off == 0.0]
    axes[off == 0.0] = np.eye(3)
    return moments, axes


def _joints(tree: Tree) -> Arrays:
    bodies = tree.bodies[1:]
    joints = [body.joint for body in bodies]
    kinds = [_kind_of(joint) for joint in joints]
    driven = [_is_driven(joint) for joint in joints]
    types = np.array([_type_of(joint) for joint in joints], np.int64)
    forward = np.array([body.forward for body in bodies], bool)
    # what has no freedom has no limits and no spring
    acting = [None if _is_driven(joint) else joint for joint in joints]
    limits = [(joint.limit if joint else None) or NO_LIMIT for joint in acting]
    ranges = np.array([(limit.lower, limit.upper) for limit in limits]).reshape(-1, 2)
    user = types == JointType.USER
    free = [pair for pair in zip(joints, kinds, strict=True) if not _is_driven(pair[0])]
    return {
        "jnt_type": types,
        "jnt_reversed": ~forward,
        "jnt_common": forward & (types <= JointType.PLANAR),
        "jnt_qposadr": driven_last([kind.nq for kind in kinds], driven),
        "jnt_dofadr": driven_last([kind.nv for kind in kinds], driven),
        "jnt_dofnum": np.array([kind.nv for kind in kinds], np.int64),
        "jnt_bodyid": np.arange(1, len(bodies) + 1),
        "jnt_userid": np.where(user, np.cumsum(user) - 1, -1),
        "jnt_axis": np.array([_axis(joint) for joint in joints]).reshape(-1, 3),
        "jnt_param": np.array([_parameters(joint) for joint in joints]),
        "jnt_limited": np.isfinite(ranges).any(axis=1),
        "jnt_range": ranges,
        "jnt_effort": np.array([limit.effort for limit in limits]),
        "jnt_velocity": np.array([limit.velocity for limit in limits]),
        "jnt_solref": np.tile(DEFAULT_SOLREF, (len(bodies), 1)),
        "jnt_stiffness": np.array([joint.stiffness if joint else 0.0 for joint in acting]),
        "jnt_rotbase": np.array([_rotation_base(body) for body in bodies]),
        "jnt_basis": np.array([_basis(joint) for joint in joints]),
        "qpos0": np.array([q for _, kind in free for q in kind.qpos0]),
        "qpos_spring": np.array(
            [q for joint, kind in free for q in (joint.rest if joint else ()) or kind.qpos0]
        ),
    }


def driven_last(lengths: ArrayLike, driven: ArrayLike) -> NDArray[np.int64]:
    """Return where each joint's share begins if those of driven joints come after all others."""
    shares = np.asarray(lengths, np.int64)
    order = np.argsort(np.asarray(driven, bool), kind="stable")
    starts = np.zeros_like(shares)
    starts[order] = np.cumsum(shares[order]) - shares[order]
    return starts


def _axis(joint: Joint | None) -> Sequence[float]:
    return joint.axis if joint else (0.0, 0.0, 1.0)


def _parameters(joint: Joint | None) -> list[float]:
    names = JOINT_SPECS[joint.type].parameters if joint else ()
    values = [joint.parameters[name] for name in names] if joint else []
    return values + [0.0] * (MAX_PARAMETERS - len(values))


def _basis(joint: Joint | None) -> Array:
    """Return rows x, y, z: z along the axis, or x and y along both axes of a universal joint."""
    if joint is None or JOINT_SPECS[joint.type].axes == 0:
        return np.eye(3)
    axis = np.array(joint.axis)
    if joint.axis2 is None:
        return plane_basis(axis)
    other = np.array(joint.axis2)
    if _type_of(joint) == JointType.UNIVERSAL:
        return np.array([axis, other, np.cross(axis, other)])
    return np.array([other, np.cross(axis, other), axis])


def _rotation_base(body: Body) -> Array:
    """Return P, Q, W with E0 R(a, q) = P + cos(q) Q + sin(q) W (Rodrigues' formula).

    E0 is body_mat; of a reversed joint, which turns before it, the identity.
    """
    E0 = body.place.mat if body.forward else np.eye(3)
    a = np.array(_axis(body.joint))
    along = np.outer(a, a)
    return np.array([E0 @ along, E0 @ (np.eye(3) - along), E0 @ cross_matrix(a)])


def _dofs(tree: Tree, arrays: Arrays) -> Arrays:
    bodies, parent = tree.bodies, arrays["body_parentid"]
    last_dof = np.full(len(bodies), -1)
    rows: dict[str, list[Any]] = {key: [] for key in _DOF_KEYS}
    driven_newframe: list[int] = []
    for i, body in enumerate(bodies[1:], start=1):
        joint, kind = body.joint, _kind_of(body.joint)
        above = last_dof[parent[i]]
        if _is_driven(joint):
            driven_newframe += kind.newframe
        else:
            for k, limit in enumerate(joint.limits if joint else ()):
                if math.isfinite(limit.lower) or math.isfinite(limit.upper):
                    rows["limit_dofid"].append(len(rows["dof_bodyid"]) + k)
                    rows["limit_range"].append((limit.lower, limit.upper))
            for newframe in kind.newframe:
                rows["dof_bodyid"].append(i)
                rows["dof_jntid"].append(i - 1)
                rows["dof_parentid"].append(above)
                rows["dof_newframe"].append(newframe)
                rows["dof_armature"].append(joint.armature if joint else 0.0)
                rows["dof_damping"].append(joint.damping if joint else 0.0)
                rows["dof_frictionloss"].append(joint.friction if joint else 0.0)
                above = len(rows["dof_bodyid"]) - 1
        last_dof[i] = above
    nv = len(rows["dof_bodyid"])
    rows["dof_newframe"] += driven_newframe
    arrays = {key: np.array(row) for key, row in rows.items()}
    return {**arrays, "body_lastdof": last_dof, "dof_inertia0": np.zeros(nv)}


_DOF_KEYS = (
    "dof_bodyid",
    "dof_jntid",
    "dof_parentid",
    "dof_newframe",
    "dof_armature",
    "dof_damping",
    "dof_frictionloss",
    "limit_dofid",
    "limit_range",
)


def inertia_pattern(arrays: Arrays) -> Arrays:
    """Return where M has entries; none at all where they would be too many."""
    parent = arrays["dof_parentid"].astype(np.int64)
    depth = np.ones(len(parent), np.int64)
    for i, p in enumerate(parent):
        if p >= 0:
            depth[i] += depth[p]
    if depth.sum() > MAX_M_ENTRIES:
        depth[:] = 0
    starts = _starts(depth)[: len(depth)]
    columns = np.empty(depth.sum(), np.int64)
    for i, p in enumerate(parent):
        n, row = depth[i], starts[i]
        if n > 0:
            columns[row + n - 1] = i
        if n > 1:
            columns[row : row + n - 1] = columns[starts[p] : starts[p] + n - 1]
    return {"M_rownnz": depth, "M_rowadr": starts, "M_colind": columns}


def _frames(tree: Tree) -> Arrays:
    places = list(tree.frames.values())
    return {
        "frame_bodyid": np.array([place.body for place in places]),
        "frame_pos": np.array([place.pos for place in places]),
        "frame_quat": np.array([mat_to_quat(place.mat) for place in places]),
    }


def _loops(tree: Tree) -> Arrays:
    ends = [(loop.predecessor, loop.successor) for loop in tree.loops]
    joints = [loop.joint for loop in tree.loops]
    return {
        "loop_type": np.array([_type_of(joint) for joint in joints], np.int64),
        "loop_bodyid": _pairs(ends, lambda place: place.body, np.int64),
        "loop_pos": _pairs(ends, lambda place: place.pos),
        "loop_quat": _pairs(ends, lambda place: mat_to_quat(place.mat)),
        "loop_axis": np.array([_axis(joint) for joint in joints]),
        "loop_basis": np.array([_basis(joint) for joint in joints]),
        "loop_param": np.array([_parameters(joint) for joint in joints]),
    }


def _springs(description: Description, tree: Tree) -> Arrays:
    springs = description.springs
    ends = [
        (
            tree.frames[spring.link1].then(Pose(spring.point1)),
            tree.frames[spring.link2].then(Pose(spring.point2)),
        )
        for spring in springs
    ]
    return {
        "spring_bodyid": _pairs(ends, lambda place: place.body, np.int64),
        "spring_pos": _pairs(ends, lambda place: place.pos),
        "spring_stiffness": np.array([spring.stiffness for spring in springs]),
        "spring_damping": np.array([spring.damping for spring in springs]),
        "spring_length": np.array([spring.length for spring in springs]),
    }


def _pairs(
    ends: Sequence[tuple[Placement, Placement]],
    value: Callable[[Placement], Any],
    dtype: type = np.float64,
) -> NDArray[Any]:
    return np.array([[value(place) for place in pair] for pair in ends], dtype)
