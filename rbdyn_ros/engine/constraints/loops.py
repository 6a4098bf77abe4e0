# SPDX-License-Identifier: Apache-2.0
"""Joints that close loops: T^T v_J = 0, with T the complement of the joint's motion axes.

The joint library runs on the Model of the loop joints (model/tree/loops.py), in which no joint is
connected to another. The position of a loop joint is chosen closest to the poses of its two frames
in the mechanism; the remaining displacement is the position error.

Source: RBDA eq 3.36, 3.38, 3.44.
"""

from __future__ import annotations

from rbdyn_ros.engine.algebra.spatial import (
    IDENTITY,
    ZERO3,
    ZERO6,
    add3,
    add6,
    add_scaled6,
    cross_motion,
    dot6,
    load3,
    load6,
    load9,
    mat_mul,
    mat_vec,
    quat_to_mat,
    scaled3,
    store3,
    store9,
    sub3,
    transposed,
)
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.constraints.subspaces import complement, orthonormalise, solve_upper
from rbdyn_ros.engine.constraints.wrenches import attach
from rbdyn_ros.engine.joints.groups import log_mat
from rbdyn_ros.engine.joints.jcalc import joint_motion, joint_pose, joint_velocity
from rbdyn_ros.engine.joints.library import guess_position
from rbdyn_ros.engine.joints.manifold import integrate_joint
from rbdyn_ros.engine.tree.points import point_velocity, turn_rate

#: Largest number of Newton steps for a loop joint's position. If its axes are fixed in its frames,
#: one step suffices, and a second step confirms the result.
MAX_STEPS = 30
SMALL_STEP = 1e-13  # a smaller Newton step is the last [rad or m]


@kernel
def loop_equations(m, d, i):
    """Write the equations of loop joint i."""
    p, s = m.loop_bodyid[i, 0], m.loop_bodyid[i, 1]
    R_p, o_p = _joint_frame(m, d, i, 0)
    R_s, o_s = _joint_frame(m, d, i, 1)
    back = transposed(R_p)
    r, E = mat_vec(back, sub3(o_s, o_p)), mat_mul(back, R_s)
    number = m.loop_efcnum[i]
    ball = m.loop_ball[i] == 1
    if ball:  # a ball joint: the error is the vector between the two centres
        x, y, z = mat_vec(transposed(E), r)
        apart = (0.0, 0.0, 0.0, x, y, z)
        for n in range(3):
            for k in range(6):
                d.loop_T[i, n, k] = 1.0 if k == 3 + n else 0.0
    else:
        apart = _find_position(m.loops, d.loops, i, r, E, d.loop_S[i], d.loop_R[i])
        complement(d.loop_S[i], 6 - number, d.loop_T[i])
    v_p = _twist(m, d, p, o_s)
    v_J = add_scaled6(_twist(m, d, s, o_s), v_p, -1.0)
    rest = ZERO6
    if not ball:
        v_own = _turned(transposed(R_s), v_J)
        rest = _apparent(m.loops, d.loops, i, v_own, d.loop_S[i], d.loop_R[i])
    # k = T^T (c_J + v_p x v_J - a_s + a_p); attach adds the last two terms
    rest = add6(_turned(R_p, rest), cross_motion(v_p, v_J))
    for n in range(number):
        r = m.loop_efcadr[i] + n
        T = load6(d.loop_T[i], n)
        d.efc_pos[r] = dot6(T, apart)
        T = _turned(R_s, T)
        moment, force = (T[0], T[1], T[2]), (T[3], T[4], T[5])
        w = m.efc_wrenchadr[r]
        attach(m, d, r, w, p, o_s, scaled3(moment, -1.0), scaled3(force, -1.0))
        attach(m, d, r, w + 1, s, o_s, moment, force)
        d.efc_aref[r] += dot6(T, rest)


@inline
def _joint_frame(m, d, i, side):
    """Return the rotation and origin, in the world, of the joint's frame on one of its bodies."""
    body = m.loop_bodyid[i, side]
    R = load9(d.xmat, body)
    q, x = m.loop_quat[i, side], m.loop_pos[i, side]
    origin = add3(load3(d.xpos, body), mat_vec(R, (x[0], x[1], x[2])))
    return mat_mul(R, quat_to_mat((q[0], q[1], q[2], q[3]))), origin


@inline
def _twist(m, d, body, x):
    w, v = turn_rate(d, body), point_velocity(m, d, body, x)
    return w[0], w[1], w[2], v[0], v[1], v[2]


@inline
def _turned(R, s):
    w, v = mat_vec(R, (s[0], s[1], s[2])), mat_vec(R, (s[3], s[4], s[5]))
    return w[0], w[1], w[2], v[0], v[1], v[2]


@kernel
def _find_position(m, d, i, r, E, S, R):
    """Move joint i as close as possible to the pose r, E of F_s in F_p; return the error.

    `m` and `d` are the Model and Data of the loop joints. The error is a small displacement in
    F_s. Also write S, with orthonormal rows, and R: the rows of R^T S are the joint's motion axes.
    """
    first, number = m.jnt_dofadr_all[i], m.jnt_dofnum[i]
    guess_position(m, d, i, r)
    left = ZERO6
    for _ in range(MAX_STEPS):
        left = _see_joint(m, d, i, r, E, S, R)
        largest = _step_along(S, R, number, left, d.qvel[first:])
        integrate_joint(m, i, d.qpos, d.qvel, 1.0)
        if not largest > SMALL_STEP:
            break
    return left


@kernel
def _see_joint(m, d, i, r, E, S, R):
    """Write the motion axes of joint i as S (orthonormal rows) and R.

    Return the displacement from the joint's pose to r, E.
    """
    first, number = m.jnt_dofadr_all[i], m.jnt_dofnum[i]
    r_J, R_J = ZERO3, IDENTITY
    if number > 0:
        r_J, R_J = joint_pose(m, d, i, i + 1)
    back = transposed(R_J)
    if number > 0:
        store9(d.xmat, 0, IDENTITY)
        store9(d.xmat, i + 1, R_J)
        store3(d.xpos, i + 1, r_J)
        store3(d.subtree_com, i + 1, r_J)
        joint_motion(m, d, i, i + 1, r_J)
        for k in range(number):
            axis = _turned(back, load6(d.cdof_all, first + k))
            for n in range(6):
                S[k, n] = axis[n]
        orthonormalise(S, number, R)
    w, v = log_mat(mat_mul(back, E)), mat_vec(back, sub3(r, r_J))
    return w[0], w[1], w[2], v[0], v[1], v[2]


@kernel
def _step_along(S, R, number, motion, out):
    """Write velocities for the part of `motion` along S; return the largest absolute value."""
    for k in range(number):
        out[k] = dot6(load6(S, k), motion)
    solve_upper(R, number, out)
    largest = 0.0
    for k in range(number):
        largest = max(largest, abs(out[k]))
    return largest


@kernel
def _apparent(m, d, i, v_J, S, R):
    """Return the velocity-product acceleration c_J in F_p, at the velocity v_J in F_s."""
    first, number = m.jnt_dofadr_all[i], m.jnt_dofnum[i]
    change = ZERO6
    if number > 0:
        _step_along(S, R, number, v_J, d.qvel[first:])
        joint_velocity(m, d, i, i + 1, ZERO6)
        for k in range(first, first + number):
            change = add_scaled6(change, load6(d.cdof_dot_all, k), d.qvel[k])
    return change
