# SPDX-License-Identifier: Apache-2.0
"""Random mechanisms whose loops are closed, by construction, in a random configuration."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation
from support import states, trees
from support.compare import with_inverse

import rbdyn_ros as rb
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.model.declared.joints import JOINT_KINDS
from rbdyn_ros.textbook.constraints import significant
from rbdyn_ros.textbook.crba import crba
from rbdyn_ros.textbook.loops import loop_constraints, motion_at
from rbdyn_ros.textbook.rnea import rnea
from rbdyn_ros.textbook.spatial import Array
from rbdyn_ros.textbook.subspaces import null_matrix
from rbdyn_ros.textbook.system import System

#: All types of joints that can close a loop with constraints.
LOOP_TYPES = tuple(
    kind for kind in (*trees.LIBRARY, "fixed") if not kind.startswith(("sixdof", "floating"))
)


@dataclass
class Mechanism:
    """A Model and its textbook System in a state that the loops allow."""

    m: rb.Model
    s: System
    q: Array
    qd: Array
    q_L: list[Array]


def mechanism(nb, loops, seed, kinds=trees.LIBRARY, **tree):
    """Return a random tree with loop joints of the given types, closed at a random q.

    For each loop joint X_P and the joint's position are random, and X_S follows from the poses of
    its two bodies. The velocity is a random vector projected onto null(K).
    """
    rng = np.random.default_rng([seed, nb, len(loops)])
    description = trees.auto_tree(nb, kinds=kinds, seed=seed, **tree)
    qpos = states.random_qpos(rb.build(description), rng)
    q_L = []
    for number, kind in enumerate(loops):
        description, position = _with_loop(description, f"loop{number}", kind, qpos, rng)
        q_L.append(position)
    m = rb.build(description)
    s = System.of(m)
    qd = velocity(s, qpos, rng)
    return Mechanism(m, s, qpos, qd, q_L)


def tolerance(least, H, K):
    """Return the relative tolerance of accelerations and forces under constraints.

    It is at least `least`. Rounding errors grow with cond(H) and with cond(K)^2, because K is
    inverted twice.
    """
    singular = significant(K)[1]
    spread = (singular[0] / singular[-1]) ** 2 if len(singular) else 1.0
    return with_inverse(least, H, spread)


def velocity(s, q, rng):
    """Return a random velocity (nv,) that the loops allow at q."""
    G = null_matrix(loop_constraints(s, q, np.zeros(s.nv)).K)
    return G @ (G.T @ rng.uniform(-1.0, 1.0, s.nv))


def unconstrained(s, q, qd, f_ext=None):
    """Return the mass matrix H and bias forces C of the spanning tree."""
    return crba(s, q), rnea(s, q, qd, np.zeros(s.nv), f_ext)


def _with_loop(description, name, kind, qpos, rng):
    links = [link.name for link in description.links]
    p, s = rng.choice(links, 2, replace=False)
    X_P = trees.random_pose(rng, 2.0)
    axis = trees.unit(rng.normal(size=3))
    loop = trees.library_joint(name, kind, (p, X_P), (s, Pose()), axis, rng, closes_loop=True)
    m = rb.build(replace(description, joints=(*description.joints, loop)))
    jtype = System.of(m).loops[-1].jtype
    position = loop_state(jtype.kind, rng)
    d = rb.make_data(m)
    d.qpos = qpos
    rb.kinematics(m, d)
    F_p = frame(*rb.frame_pose(m, d, p)) @ frame(*pose(X_P))
    F_s = F_p @ homogeneous(motion_at(jtype, position).X_J)
    X_S = np.linalg.inv(frame(*rb.frame_pose(m, d, s))) @ F_s
    quat = trees.wxyz(Rotation.from_matrix(X_S[:3, :3]))
    loop = replace(loop, child_origin=Pose(tuple(X_S[:3, 3].tolist()), quat))
    return replace(description, joints=(*description.joints, loop)), position


def loop_state(kind, rng):
    """Return a random position of a joint of this kind."""
    q = rng.uniform(-1.5, 1.5, JOINT_KINDS[kind].nq)
    first = JOINT_KINDS[kind].quat
    if first >= 0:
        q[first : first + 4] /= np.linalg.norm(q[first : first + 4])
    return q


def pose(origin):
    return np.array(origin.pos), trees.rotation(origin.quat).as_matrix()


def frame(position, rotation):
    """Return the homogeneous matrix (4, 4) of a position and a rotation matrix."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = rotation, position
    return T


def homogeneous(X):
    """Return the pose (4, 4) of frame B in A for the transform X = rot(E) xlt(r) from A to B."""
    E = X[:3, :3]
    rx = -E.T @ X[3:, :3]
    return frame([rx[2, 1], rx[0, 2], rx[1, 0]], E.T)
