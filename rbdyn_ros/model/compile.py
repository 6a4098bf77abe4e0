"""Description -> Model: every array filled from the lumped tree."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.description.checks.inertials import as_six
from rbdyn_ros.description.joint_types import JOINT_SPECS
from rbdyn_ros.description.poses import Pose
from rbdyn_ros.description.types import Description, Joint, Limit
from rbdyn_ros.errors import DescriptionError, Finding, ModelError
from rbdyn_ros.model.callbacks import MAX_PARAMETERS, registered_joint, registered_motion
from rbdyn_ros.model.constraints import constraint_names, constraints, equations
from rbdyn_ros.model.couplings import (
    DRIVEN,
    FOLLOWING,
    FREE,
    MAX_M_ENTRIES,
    couplings,
    inertia_pattern,
    joint_addresses,
    joint_classes,
)
from rbdyn_ros.model.geoms import geom_names, geoms
from rbdyn_ros.model.joints import JOINT_KINDS, TYPE_OF_NAME, JointKind, JointType, user_kind
from rbdyn_ros.model.loops import loop_kinds
from rbdyn_ros.model.lumping import (
    WORLD,
    Body,
    Placement,
    Tree,
    free_name,
    lump,
    lumped_inertia,
)
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.motion import driven_coordinates
from rbdyn_ros.model.rotation import Array, mat_to_quat, plane_basis, turn_base

Arrays = dict[str, NDArray[Any]]

DEFAULT_SOLREF = (0.02, 1.0)  # limit spring: 20 ms, critically damped; MuJoCo's default
NO_LIMIT = Limit()


def compile_model(description: Description, floating_base: str = "") -> Model:
    """Turn a checked description into a Model.

    dof_inertia0 is left at 0: engine/constants.py fills it, with the engine's own kernels.

    Args:
        description: judged by description/check.py.
        floating_base: type of a joint `root_joint` between the world and the base link; empty:
            there is none.

    Raises:
        ModelError: if a function of the user that it names is not registered.
    """
    tree = lump(description, floating_base)
    joints = tree.joints
    follow = couplings(joints)
    driven = np.array([joint.motion is not None for joint in joints], bool)
    classes = joint_classes(follow["jnt_mimic"], driven)
    arrays = {**follow, **_bodies(tree), **_joints(tree, follow, classes)}
    arrays.update({**_frames(tree), **_loops(tree)})
    arrays.update(
        driven_coordinates(
            [joint for joint, kind in zip(joints, classes, strict=True) if kind == DRIVEN]
        )
    )
    arrays.update(_dofs(tree, arrays, classes))
    _reflect(joints, arrays)
    arrays.update(inertia_pattern(arrays))
    arrays.update(_springs(description, tree))
    joint_names = _joint_names(tree)
    numbers = {name: j for j, name in enumerate(joint_names)}
    arrays.update(constraints(description.constraints, tree.frames, numbers))
    loop_types = [_user_type(loop.joint) for loop in tree.loops]
    freedoms = [kind.nv for kind in loop_kinds(arrays, loop_types)]
    arrays.update(equations(arrays, freedoms))
    arrays.update(geoms(description, tree.frames))
    names = {
        **constraint_names(description.constraints),
        **geom_names(description, tree.frames),
        "body_names": _body_names(tree),
        "jnt_names": joint_names,
        "frame_names": list(tree.frames),
        "loop_names": [loop.joint.name for loop in tree.loops],
        "spring_names": [spring.name for spring in description.springs],
        "jnt_usertype": [_user_type(joint) for joint in joints],
        "loop_usertype": loop_types,
        "jnt_motion_name": [_motion_name(joint) for joint in joints],
    }
    _demand_matrix(description, arrays)
    return Model(description.name, arrays, names, findings=description.findings)


def _demand_matrix(description: Description, arrays: Arrays) -> None:
    """Raise DescriptionError if something needs M, and M is too large."""
    needs = len(arrays["mimic_jntid"]) > 0 or len(arrays["efc_wrenchadr"]) > 0
    if needs and len(arrays["dof_parentid"]) > 0 and len(arrays["M_colind"]) == 0:
        text = (
            f"'{description.name}' has joints that follow others, or constraints, and a mass "
            f"matrix of more than {MAX_M_ENTRIES} entries, which they need"
        )
        raise DescriptionError([Finding("no-mass-matrix", text)], description.source)


def _body_names(tree: Tree) -> list[str]:
    names = [body.name for body in tree.bodies]
    if WORLD in names[1:]:  # a floating root link may be called like the world
        i = names.index(WORLD, 1)
        names[i] = free_name(f"{WORLD}_link", names)
    return names


def _joint_names(tree: Tree) -> list[str]:
    return [joint.name for joint in tree.joints]


def _type_of(joint: Joint) -> JointType:
    return TYPE_OF_NAME.get(joint.type, JointType.USER)


def _kind_of(joint: Joint) -> JointKind:
    kind = _type_of(joint)
    if kind != JointType.USER:
        return JOINT_KINDS[kind]
    return user_kind(registered_joint(joint.type).nv)


def _user_type(joint: Joint) -> str:
    return joint.type if _type_of(joint) == JointType.USER else ""


def _motion_name(joint: Joint) -> str:
    """Return the name of the function that drives a joint; raises ModelError if none fits."""
    if not isinstance(joint.motion, str):
        return ""
    given, needed = registered_motion(joint.motion).nv, _kind_of(joint).nv
    if given != needed:
        text = (
            f"joint '{joint.name}': the motion '{joint.motion}' has {given} coordinates, the "
            f"joint {needed}"
        )
        raise ModelError(Finding("motion-size", text, "error", f"joint '{joint.name}'"))
    return joint.motion


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
    moments, axes = principal(inertia)
    last_child = {p: i for i, p in enumerate(parent)}
    return {
        "body_parentid": parent,
        "body_rootid": root,
        "body_haschild": np.isin(np.arange(len(bodies)), parent[1:]),
        "body_lastchild": np.array([last_child[p] == i for i, p in enumerate(parent)]),
        "body_pos": np.array([body.place.pos for body in bodies]),
        "body_quat": np.array([mat_to_quat(R) for R in mat]),
        "body_mat": mat,
        "body_ipos": np.array([inertia[1] for inertia in inertias]),
        "body_iquat": np.array([mat_to_quat(R) for R in axes]),
        "body_imat": axes,
        "body_mass": mass,
        "body_inertia": moments,
        "body_fullinertia": as_six(inertia),
        "body_subtreemass": subtree,
    }


def principal(inertia: Array) -> tuple[Array, Array]:
    """Return moments and right-handed axes; a diagonal matrix keeps its axes."""
    moments, axes = np.linalg.eigh(inertia)
    axes[:, :, 2] *= np.linalg.det(axes)[:, None]
    off = np.abs(inertia[:, [0, 0, 1], [1, 2, 2]]).max(axis=1)
    moments[off == 0.0] = np.diagonal(inertia, axis1=1, axis2=2)[off == 0.0]
    axes[off == 0.0] = np.eye(3)
    return moments, axes


def _joints(tree: Tree, follow: Arrays, classes: NDArray[np.int64]) -> Arrays:
    bodies = tree.bodies[1:]
    joints = tree.joints
    kinds = [_kind_of(joint) for joint in joints]
    nq, nv = [kind.nq for kind in kinds], [kind.nv for kind in kinds]
    types = np.array([_type_of(joint) for joint in joints], np.int64)
    forward = np.array([body.forward for body in bodies], bool)
    # what has no freedom has no limits and no spring; what follows keeps its range to be read
    limits = [
        (joint.limit if kind != DRIVEN else None) or NO_LIMIT
        for joint, kind in zip(joints, classes, strict=True)
    ]
    ranges = np.array([(limit.lower, limit.upper) for limit in limits]).reshape(-1, 2)
    user = types == JointType.USER
    free = [
        (joint, kind)
        for joint, kind, where in zip(joints, kinds, classes, strict=True)
        if where == FREE
    ]
    stiff = [joint.stiffness for joint in joints]
    return {
        "jnt_type": types,
        "jnt_reversed": ~forward,
        "jnt_common": forward & (types <= JointType.PLANAR),
        **joint_addresses(nq, nv, follow["jnt_mimic"], classes),
        "jnt_dofnum": np.array(nv, np.int64),
        "jnt_actuated": np.array([joint.actuated for joint in joints], np.int64),
        "jnt_bodyid": np.arange(1, len(bodies) + 1),
        "jnt_userid": np.where(user, np.cumsum(user) - 1, -1),
        "jnt_axis": np.array([joint.axis for joint in joints]).reshape(-1, 3),
        "jnt_param": np.array([_parameters(joint) for joint in joints]),
        "jnt_limited": np.isfinite(ranges).any(axis=1) & (classes == FREE),
        "jnt_range": ranges,
        "jnt_effort": np.array([limit.effort for limit in limits]),
        "jnt_velocity": np.array([limit.velocity for limit in limits]),
        "jnt_solref": np.tile(DEFAULT_SOLREF, (len(bodies), 1)),
        "jnt_stiffness": np.where(classes == FREE, np.array(stiff), 0.0),
        "jnt_rotbase": np.array(
            [_rotation_base(body, joint) for body, joint in zip(bodies, joints, strict=True)]
        ),
        "jnt_basis": np.array([_basis(joint) for joint in joints]),
        "qpos0": np.array([q for _, kind in free for q in kind.qpos0]),
        "qpos_spring": np.array([q for joint, kind in free for q in joint.rest or kind.qpos0]),
    }


def _parameters(joint: Joint) -> list[float]:
    values = [joint.parameters[name] for name in JOINT_SPECS[joint.type].parameters]
    return values + [0.0] * (MAX_PARAMETERS - len(values))


def _basis(joint: Joint) -> Array:
    """Return rows x, y, z: z along the axis, or x and y along both axes of a universal joint."""
    if JOINT_SPECS[joint.type].axes == 0:
        return np.eye(3)
    axis = np.array(joint.axis)
    if joint.axis2 is None:
        return plane_basis(axis)
    other = np.array(joint.axis2)
    if _type_of(joint) == JointType.UNIVERSAL:
        return np.array([axis, other, np.cross(axis, other)])
    return np.array([other, np.cross(axis, other), axis])


def _rotation_base(body: Body, joint: Joint) -> Array:
    """Return turn_base behind body_mat; of a reversed joint, which turns before it, alone."""
    return turn_base(body.place.mat if body.forward else np.eye(3), joint.axis)


def _dofs(tree: Tree, arrays: Arrays, classes: NDArray[np.int64]) -> Arrays:
    bodies, parent = tree.bodies, arrays["body_parentid"]
    last_dof = np.full(len(bodies), -1)
    rows: dict[str, list[Any]] = {key: [] for key in _DOF_KEYS}
    newframe: dict[int, list[int]] = {FREE: [], DRIVEN: [], FOLLOWING: []}
    transmission: dict[int, list[Any]] = {FREE: [], DRIVEN: [], FOLLOWING: []}
    for i, joint in enumerate(tree.joints, start=1):
        kind = _kind_of(joint)
        above = last_dof[parent[i]]
        newframe[classes[i - 1]] += kind.newframe
        transmission[classes[i - 1]] += _transmission(joint, kind)
        if classes[i - 1] == FREE:
            for k, limit in enumerate(joint.limits):
                if math.isfinite(limit.lower) or math.isfinite(limit.upper):
                    rows["limit_dofid"].append(len(rows["dof_bodyid"]) + k)
                    rows["limit_range"].append((limit.lower, limit.upper))
            for _ in range(kind.nv):
                rows["dof_bodyid"].append(i)
                rows["dof_jntid"].append(i - 1)
                rows["dof_parentid"].append(above)
                rows["dof_armature"].append(joint.armature)
                rows["dof_damping"].append(joint.damping)
                rows["dof_frictionloss"].append(joint.friction)
                above = len(rows["dof_bodyid"]) - 1
        last_dof[i] = above
    nv = len(rows["dof_bodyid"])
    number = np.where(classes == FREE, arrays["jnt_dofnum"], 0)
    number = np.concatenate([[0], number]).astype(np.int64)
    return {
        **{key: np.array(row) for key, row in rows.items()},
        "dof_newframe": np.array([flag for row in newframe.values() for flag in row]),
        "dof_transmission": np.array(
            [one for row in transmission.values() for one in row]
        ).reshape(-1, 6),
        "body_dofadr": np.where(number > 0, _starts(number), -1),
        "body_dofnum": number,
        "body_lastdof": last_dof,
        "dof_inertia0": np.zeros(nv),
    }


def _transmission(joint: Joint, kind: JointKind) -> list[tuple[float, ...]]:
    return list(joint.transmission) if joint.transmission else [(0.0,) * 6] * kind.nv


def _reflect(joints: Sequence[Joint], arrays: Arrays) -> None:
    """Add what acts along a joint that follows to the dof it follows, as seen there."""
    nv = len(arrays["dof_armature"])
    for j, joint in enumerate(joints):
        k, leader, r = (
            arrays["jnt_dofadr"][j],
            arrays["jnt_mimic"][j],
            arrays["jnt_mimic_ratio"][j],
        )
        if leader < 0 or k >= nv:
            continue
        arrays["dof_armature"][k] += r * r * joint.armature
        arrays["dof_damping"][k] += r * r * joint.damping
        arrays["dof_frictionloss"][k] += abs(r) * joint.friction
        if joint.stiffness > 0.0 and r != 0.0:
            # two springs on one coordinate are one, at rest where they balance
            own, q = arrays["jnt_stiffness"][leader], arrays["jnt_qposadr"][j]
            seen = r * r * joint.stiffness
            rest = ((joint.rest or (0.0,))[0] - arrays["jnt_mimic_offset"][j]) / r
            balance = own * arrays["qpos_spring"][q] + seen * rest
            arrays["qpos_spring"][q] = balance / (own + seen)
            arrays["jnt_stiffness"][leader] = own + seen


_DOF_KEYS = (
    "dof_bodyid",
    "dof_jntid",
    "dof_parentid",
    "dof_armature",
    "dof_damping",
    "dof_frictionloss",
    "limit_dofid",
    "limit_range",
)


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
        "loop_axis": np.array([joint.axis for joint in joints]),
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
