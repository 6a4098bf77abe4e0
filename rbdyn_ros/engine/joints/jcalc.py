# SPDX-License-Identifier: Apache-2.0
"""Pose, motion axes and velocity of each joint.

Only this file, library.py, ypr.py and manifold.py depend on the type of a joint.

A joint leads from its predecessor's frame F_p to its successor's frame F_s. Vectors are in world
axes about the tree's centre of mass, so a reversed joint (RBDA table 4.2) is the same joint with
its two frames exchanged and its motion negated, without any transform.

Code for joints of common types that are not reversed (jnt_common) is inlined into the loops over
bodies. All other joints use optional stages, which are compiled only when a Model needs them.

Source: RBDA table 4.1 and sections 4.4, 4.5 (jcalc); names and layout are MuJoCo's.
"""

from __future__ import annotations

from rbdyn_ros.engine.algebra.spatial import (
    IDENTITY,
    ZERO3,
    ZERO6,
    add3,
    add_scaled3,
    add_scaled6,
    cross3,
    cross_motion,
    load3,
    load6,
    load9,
    mat_mul,
    mat_vec,
    scaled3,
    store3,
    store6,
    store9,
    sub3,
    transposed,
)
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.compiler.optional import call_stage, data_at, model_at, optional_stage
from rbdyn_ros.engine.joints.frames import (
    frame_p,
    frame_s,
    in_plane,
    quat_mat,
    turned,
    write_shift,
    write_shifts,
    write_turn,
    write_turns,
)
from rbdyn_ros.engine.joints.library import (
    PLANAR_FP,
    RACK_PINION,
    USER,
    add_apparent,
    library_motion,
    library_successor,
)
from rbdyn_ros.model.declared.joints import JointType

FREE = int(JointType.FREE)
BALL = int(JointType.BALL)
SLIDE = int(JointType.SLIDE)
HINGE = int(JointType.HINGE)
PLANAR = int(JointType.PLANAR)


@inline
def joint_pose(m, d, j, i):
    """Return the position and rotation of body i, moved by joint j, in its parent, at d.qpos."""
    r, E = load3(m.body_pos, i), load9(m.body_mat, i)
    if m.jnt_common[j]:
        return _common_successor(m, d, j, r, E)
    d.joint_now[0], d.joint_now[1] = j, i
    call_stage(m.pose_stage, m, d)
    return load3(d.joint_pos, 0), load9(d.joint_mat, 0)


@optional_stage("pose_stage")
def _pose_by_address(table, row):
    _uncommon_pose(model_at(table), data_at(table, row))


@kernel
def _uncommon_pose(m, d):
    """Write joint_pos and joint_mat: the pose of body joint_now[1] in its parent."""
    j, i = d.joint_now[0], d.joint_now[1]
    r, E = load3(m.body_pos, i), load9(m.body_mat, i)
    if m.jnt_reversed[j]:
        # (E, r) (R_s, r_s)^-1 with R_s, r_s of F_s in F_p
        r_s, R_s = _successor(m, d, j, ZERO3, IDENTITY)
        E = mat_mul(E, transposed(R_s))
        r = sub3(r, mat_vec(E, r_s))
    else:
        r, E = _successor(m, d, j, r, E)
    store3(d.joint_pos, 0, r)
    store9(d.joint_mat, 0, E)


@inline
def _successor(m, d, j, r, E):
    """Return the position and rotation of F_s, given the position r and rotation E of F_p."""
    if m.jnt_type[j] <= PLANAR:
        return _common_successor(m, d, j, r, E)
    return library_successor(m, d, j, r, E)


@inline
def _common_successor(m, d, j, r, E):
    kind = m.jnt_type[j]
    q = m.jnt_qposadr_all[j]
    qpos = d.qpos_all
    if kind == HINGE:
        E = turned(m, j, qpos[q])
    elif kind == SLIDE:
        r = add3(r, mat_vec(E, scaled3(load3(m.jnt_axis, j), qpos[q])))
    elif kind == FREE:
        r = add3(r, mat_vec(E, (qpos[q], qpos[q + 1], qpos[q + 2])))
        E = mat_mul(E, quat_mat(qpos, q + 3))
    elif kind == BALL:
        E = mat_mul(E, quat_mat(qpos, q))
    else:
        r = add3(r, mat_vec(E, in_plane(m, j, qpos[q], qpos[q + 1])))
        E = turned(m, j, qpos[q + 2])
    return r, E


@inline
def joint_motion(m, d, j, i, origin):
    """Write cdof of joint j: its motion axes in the world, about `origin`."""
    if m.jnt_common[j]:
        common_motion(m, j, i, origin, False, d.xpos, d.xmat, d.cdof_all)
    else:
        uncommon_motion(m, d, j, i, origin)


@inline
def uncommon_motion(m, d, j, i, origin):
    """Write cdof of a joint that is not common."""
    d.joint_now[0], d.joint_now[1] = j, i
    store3(d.joint_pos, 0, origin)
    call_stage(m.motion_stage, m, d)


@optional_stage("motion_stage")
def _motion_by_address(table, row):
    _uncommon_motion(model_at(table), data_at(table, row))


@kernel
def _uncommon_motion(m, d):
    """Write cdof of the joint joint_now[0] about the point joint_pos."""
    j, i = d.joint_now[0], d.joint_now[1]
    origin = load3(d.joint_pos, 0)
    reverse = m.jnt_reversed[j] == 1
    if m.jnt_type[j] <= PLANAR:
        common_motion(m, j, i, origin, reverse, d.xpos, d.xmat, d.cdof_all)
    else:
        library_motion(m, d, j, i, origin, reverse)
    if reverse:
        for k in range(m.jnt_dofadr_all[j], m.jnt_dofadr_all[j] + m.jnt_dofnum[j]):
            for n in range(6):
                d.cdof_all[k, n] = -d.cdof_all[k, n]


@inline
def common_motion(m, j, i, origin, reverse, xpos, xmat, cdof):
    """Write cdof of a joint from its predecessor to its successor.

    If `reverse`, body i is the predecessor.
    """
    kind = m.jnt_type[j]
    v = m.jnt_dofadr_all[j]
    R, p = frame_s(m, xpos, xmat, i, reverse)
    arm = sub3(origin, p)
    if kind == HINGE:
        write_turn(cdof, v, mat_vec(R, load3(m.jnt_axis, j)), arm)
    elif kind == SLIDE:
        write_shift(cdof, v, mat_vec(R, load3(m.jnt_axis, j)))
    elif kind == PLANAR:
        # x and y are axes of F_p
        P, _ = frame_p(m, xpos, xmat, i, reverse)
        write_shift(cdof, v, mat_vec(P, in_plane(m, j, 1.0, 0.0)))
        write_shift(cdof, v + 1, mat_vec(P, in_plane(m, j, 0.0, 1.0)))
        write_turn(cdof, v + 2, mat_vec(R, load3(m.jnt_axis, j)), arm)
    elif kind == FREE:
        P, _ = frame_p(m, xpos, xmat, i, reverse)
        write_shifts(cdof, v, P)
        write_turns(cdof, v + 3, R, arm)
    else:
        write_turns(cdof, v, R, arm)


@inline
def joint_velocity(m, d, j, i, v):
    """Write cdof_dot of joint j; return the velocity of body i, where `v` is its parent's.

    The axis of a dof turns with the velocity just before the dof, counted from the predecessor.
    Dofs that turn together (the axes of a ball) share the velocity of the first dof.
    Source: MuJoCo mj_comVel.
    """
    if m.jnt_common[j]:
        return _velocity(m, d, j, v)
    d.joint_now[0], d.joint_now[1] = j, i
    store6(d.joint_twist, 0, v)
    call_stage(m.velocity_stage, m, d)
    return load6(d.joint_twist, 0)


@inline
def _velocity(m, d, j, v):
    carrier = v
    first = m.jnt_dofadr_all[j]
    if m.jnt_type[j] == FREE and m.body_parentid[j + 1] == 0:
        return _velocity_in_world(d, first)
    for k in range(first, first + m.jnt_dofnum[j]):
        if m.dof_newframe[k]:
            carrier = v
        S = load6(d.cdof_all, k)
        store6(d.cdof_dot_all, k, cross_motion(carrier, S))
        v = add_scaled6(v, S, d.qvel_all[k])
    return v


@inline
def _velocity_in_world(d, first):
    """Do the work of _velocity for a free joint on the world: its linear axes do not rotate."""
    v, w = ZERO3, ZERO3
    for k in range(first, first + 3):
        store6(d.cdof_dot_all, k, ZERO6)
        v = add_scaled3(v, (d.cdof_all[k, 3], d.cdof_all[k, 4], d.cdof_all[k, 5]), d.qvel_all[k])
    shift = v
    for k in range(first + 3, first + 6):
        x, y, z, a, b, c = load6(d.cdof_all, k)
        p, q, r = cross3(shift, (x, y, z))
        store6(d.cdof_dot_all, k, (0.0, 0.0, 0.0, p, q, r))
        w, v = add_scaled3(w, (x, y, z), d.qvel_all[k]), add_scaled3(v, (a, b, c), d.qvel_all[k])
    return w[0], w[1], w[2], v[0], v[1], v[2]


@optional_stage("velocity_stage")
def _velocity_by_address(table, row):
    _uncommon_velocity(model_at(table), data_at(table, row))


@kernel
def _uncommon_velocity(m, d):
    """Write cdof_dot of the joint joint_now[0].

    Replace joint_twist by the velocity of its body.
    """
    j, i = d.joint_now[0], d.joint_now[1]
    v = load6(d.joint_twist, 0)
    reverse = m.jnt_reversed[j] == 1
    if reverse:
        v = _reversed_velocity(m, d, j, v)
    else:
        v = _velocity(m, d, j, v)
    if m.jnt_type[j] == RACK_PINION or m.jnt_type[j] == USER:
        add_apparent(m, d, j, i, reverse)
    store6(d.joint_twist, 0, v)


@inline
def _reversed_velocity(m, d, j, v):
    first = m.jnt_dofadr_all[j]
    end = first + m.jnt_dofnum[j]
    for k in range(first, end):
        v = add_scaled6(v, load6(d.cdof_all, k), d.qvel_all[k])
    reached = carrier = v  # in a reversed joint the body itself is the predecessor
    for k in range(first, end):
        if m.dof_newframe[k]:
            carrier = reached
        S = load6(d.cdof_all, k)
        store6(d.cdof_dot_all, k, cross_motion(carrier, S))
        reached = add_scaled6(reached, S, -d.qvel_all[k])
    return v


@inline
def carried_from(m, j):
    """Return the dof of joint j at which the axes that are fixed in the successor begin."""
    kind = m.jnt_type[j]
    if kind == FREE:
        return 3
    if kind == BALL or kind >= PLANAR_FP:
        return 0
    return m.jnt_dofnum[j]
