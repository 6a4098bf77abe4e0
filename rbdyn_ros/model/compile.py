"""Description -> Model: every array filled from the lumped tree."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.description.types import Description, Limit
from rbdyn_ros.model.joints import JOINT_KINDS, JointType
from rbdyn_ros.model.lumping import WORLD, Body, Tree, lump, lumped_inertia
from rbdyn_ros.model.model import MAX_M_ENTRIES, Model
from rbdyn_ros.model.rotation import Array, cross_matrix, mat_to_quat, plane_basis

Arrays = dict[str, NDArray[Any]]

URDF_TYPES = {
    "revolute": JointType.HINGE,
    "continuous": JointType.HINGE,
    "prismatic": JointType.SLIDE,
    "floating": JointType.FREE,
    "planar": JointType.PLANAR,
}
DEFAULT_SOLREF = (0.02, 1.0)  # limit spring: 20 ms, critically damped; MuJoCo's default
ROOT_JOINT = "root_joint"


def compile_model(description: Description, floating_base: bool = False) -> Model:
    """Turn a checked description into a Model.

    dof_inertia0 is left at 0: engine/constants.py fills it, with the engine's own kernels.

    Args:
        description: judged by description/check.py.
        floating_base: put a free joint `root_joint` between the world and the root link.
    """
    tree = lump(description, floating_base)
    arrays = {**_bodies(tree), **_joints(tree), **_frames(tree)}
    arrays.update(_dofs(tree, arrays))
    arrays.update(_inertia_pattern(arrays))
    return Model(
        description.name,
        arrays,
        body_names=_body_names(tree),
        jnt_names=_joint_names(tree),
        frame_names=list(tree.frames),
        findings=description.findings,
    )


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


def _type_of(body: Body) -> JointType:
    return URDF_TYPES[body.joint.type] if body.joint else JointType.FREE


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
    nv = [0, *(JOINT_KINDS[_type_of(body)].nv for body in bodies[1:])]
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
    kinds = [JOINT_KINDS[_type_of(body)] for body in bodies]
    axes = [np.array(body.joint.axis if body.joint else (0.0, 0.0, 1.0)) for body in bodies]
    limits = [body.joint.limit or Limit() if body.joint else Limit() for body in bodies]
    ranges = np.array([(limit.lower, limit.upper) for limit in limits]).reshape(-1, 2)
    return {
        "jnt_type": np.array([_type_of(body) for body in bodies], np.int64),
        "jnt_qposadr": _starts(kind.nq for kind in kinds)[: len(kinds)],
        "jnt_dofadr": _starts(kind.nv for kind in kinds)[: len(kinds)],
        "jnt_bodyid": np.arange(1, len(bodies) + 1),
        "jnt_axis": np.array(axes).reshape(-1, 3),
        "jnt_limited": np.isfinite(ranges).any(axis=1),
        "jnt_range": ranges,
        "jnt_effort": np.array([limit.effort for limit in limits]),
        "jnt_velocity": np.array([limit.velocity for limit in limits]),
        "jnt_solref": np.tile(DEFAULT_SOLREF, (len(bodies), 1)),
        "jnt_rotbase": np.array(
            [_rotation_base(body.place.mat, a) for body, a in zip(bodies, axes, strict=True)]
        ),
        "jnt_basis": np.array([plane_basis(axis) for axis in axes]),
        "qpos0": np.array([q for kind in kinds for q in kind.qpos0]),
    }


def _rotation_base(E0: Array, a: Array) -> Array:
    """Return P, Q, W with E0 R(a, q) = P + cos(q) Q + sin(q) W (Rodrigues' formula)."""
    along = np.outer(a, a)
    return np.array([E0 @ along, E0 @ (np.eye(3) - along), E0 @ cross_matrix(a)])


def _dofs(tree: Tree, arrays: Arrays) -> Arrays:
    bodies, parent = tree.bodies, arrays["body_parentid"]
    last_dof = np.full(len(bodies), -1)
    rows: dict[str, list[float]] = {key: [] for key in _DOF_KEYS}
    for i, body in enumerate(bodies[1:], start=1):
        above = last_dof[parent[i]]
        for newframe in JOINT_KINDS[_type_of(body)].newframe:
            rows["dof_bodyid"].append(i)
            rows["dof_jntid"].append(i - 1)
            rows["dof_parentid"].append(above)
            rows["dof_newframe"].append(newframe)
            rows["dof_damping"].append(body.joint.damping if body.joint else 0.0)
            rows["dof_frictionloss"].append(body.joint.friction if body.joint else 0.0)
            above = len(rows["dof_bodyid"]) - 1
        last_dof[i] = above
    nv = len(rows["dof_bodyid"])
    zeros = {"dof_armature": np.zeros(nv), "dof_inertia0": np.zeros(nv)}
    return {**{key: np.array(row) for key, row in rows.items()}, **zeros}


_DOF_KEYS = (
    "dof_bodyid",
    "dof_jntid",
    "dof_parentid",
    "dof_newframe",
    "dof_damping",
    "dof_frictionloss",
)


def _inertia_pattern(arrays: Arrays) -> Arrays:
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
