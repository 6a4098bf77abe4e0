# SPDX-License-Identifier: Apache-2.0
"""Write random states, and move positions along velocities, in NumPy without the engine."""

import numpy as np
from scipy.spatial.transform import Rotation

import rbdyn_ros as rb
from rbdyn_ros.model.declared.data_fields import DATA_FIELDS
from rbdyn_ros.model.declared.joints import JOINT_KINDS, JointClass, JointType
from support.trees import rotation, wxyz

SIXDOF = (JointType.SIXDOF_FP, JointType.SIXDOF_FS)
PLANAR = (JointType.PLANAR_FP, JointType.PLANAR_FS)
MAX_PITCH = 1.2  # largest pitch in a random state [rad]; pi / 2 is singular

CONSTANT_ROWS = "nbody"  # row 0 belongs to the world, and only make_data writes it


def randomise(m, d, seed, speed=1.0):
    """Fill qpos, qvel, qacc and both kinds of applied force at random."""
    rng = np.random.default_rng(seed)
    d.qpos = random_qpos(m, rng)
    d.qvel = speed * rng.uniform(-1.0, 1.0, m.nv)
    d.qacc = rng.uniform(-1.0, 1.0, m.nv)
    d.qfrc_applied = rng.uniform(-5.0, 5.0, m.nv)
    d.xfrc_applied[1:] = rng.uniform(-5.0, 5.0, (m.nbody - 1, 6))


def apply_reasonable_forces(m, d):
    """Apply the forces that cause the accelerations in qacc, so they suit a robot of any size."""
    d.qfrc_applied = 0.0
    d.xfrc_applied[1:] = 0.01 * m.body_mass[1:, None] * d.xfrc_applied[1:]
    rb.inverse(m, d)
    d.qfrc_applied = d.qfrc_inverse


def random_qpos(m, rng):
    qpos = rng.uniform(-1.5, 1.5, m.nq)
    for quat in quaternions(m):
        value = rng.normal(size=4)
        qpos[quat] = value / np.linalg.norm(value)
    for pitch in m.jnt_qposadr[m.jnt_type == JointType.YPR] + 1:
        qpos[pitch] *= MAX_PITCH / 1.5
    return qpos


def quaternions(m):
    """Return the slices of the unit quaternions in qpos."""
    places = []
    for kind, adr in zip(m.jnt_type, m.jnt_qposadr, strict=True):
        first = quaternion(kind)
        if first is not None:
            places.append(slice(adr + first, adr + first + 4))
    return places


def quaternion(kind):
    """Return the index of the quaternion in a joint's positions, or None if it has none."""
    if kind == JointType.FREE:
        return 3
    return 0 if kind in (JointType.BALL, *SIXDOF) else None


def joint_slices(m, j):
    """Return the slices of joint j in qpos and in qvel."""
    q, v, nv = m.jnt_qposadr[j], m.jnt_dofadr[j], m.jnt_dofnum[j]
    kind = JointType(m.jnt_type[j])
    nq = nv if kind == JointType.USER else JOINT_KINDS[kind].nq
    return slice(q, q + nq), slice(v, v + nv)


def outputs(*stages):
    """Return the names of the fields of Data that any of these stages writes."""
    fields = []
    for field in DATA_FIELDS:
        writers = field.stage.replace(";", ",").split(",")
        if any(writer.strip() in stages for writer in writers) and field.kind == "float":
            fields.append(field)
    return fields


def poison(d, *stages):
    """Write NaN into every output of the stages, so that entries without a result stay NaN."""
    for field in outputs(*stages):
        array = getattr(d, field.name)
        array[(slice(1, None) if field.dims[0] == CONSTANT_ROWS else ...)] = np.nan


def move(m, d, h, velocity):
    """Move d.qpos for h [s] at a velocity (nv,), by the integration rule of each joint."""
    for j in range(m.njnt):
        if m.jnt_class[j] == JointClass.FREE:
            q, v = joint_slices(m, j)
            d.qpos[q] = moved(m.jnt_type[j], d.qpos[q], h * velocity[v])


def moved(kind, q, u):
    """Return the positions of one joint after a displacement u from the positions q.

    Numbers are added, and rotations and poses are multiplied by exp(u). If the velocity of F_s is
    given in the axes of F_s, F_s moves along a screw: pose <- pose exp(u).
    """
    if kind in SIXDOF:
        return sixdof_moved(q, u, in_successor=kind == JointType.SIXDOF_FS)
    if kind in PLANAR:
        return planar_moved(q, u, in_successor=kind == JointType.PLANAR_FS)
    first = quaternion(kind)
    if first is None:
        return q + u
    turned = rotation(q[first:]) * Rotation.from_rotvec(u[first:])
    return np.concatenate([q[:first] + u[:first], wxyz(turned)])


def sixdof_moved(q, u, in_successor):
    R = rotation(q[:4])
    r = R.apply(q[4:]) if in_successor else q[4:]
    (x, y, z), velocity = u[:3], u[3:]
    twist = np.zeros((4, 4))
    twist[:3, :3] = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]
    twist[:3, 3] = velocity
    r = r + R.apply(exponential(twist)[:3, 3])
    R = R * Rotation.from_rotvec(u[:3])
    return np.concatenate([wxyz(R), R.inv().apply(r) if in_successor else r])


def planar_moved(q, u, in_successor):
    w, x, y = u
    twist = np.array([[0.0, -w, x], [w, 0.0, y], [0.0, 0.0, 0.0]])
    r = turn(q[0]) @ q[1:] if in_successor else q[1:]
    r = r + turn(q[0]) @ exponential(twist)[:2, 2]
    angle = q[0] + w
    return np.concatenate([[angle], turn(-angle) @ r if in_successor else r])


def exponential(A):
    """Return exp(A) of a small matrix by scaling and squaring of the Taylor series."""
    halvings = max(0, int(np.ceil(np.log2(np.abs(A).max() + 1e-300))) + 2)
    term = total = np.eye(len(A))
    for n in range(1, 20):
        term = term @ A / (2.0**halvings * n)
        total = total + term
    for _ in range(halvings):
        total = total @ total
    return total


def turn(angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s], [s, c]])


def at_world_origin(d, i):
    """Return xfrc_applied (force, torque at xipos) as [moment; force] about the world's origin."""
    force, torque = d.xfrc_applied[i, :3], d.xfrc_applied[i, 3:]
    return np.concatenate([torque + np.cross(d.xipos[i], force), force])


def energy(m, d):
    """Return the total energy [J] at the state of d, without the energy of contact springs."""
    rb.fwd_position(m, d)
    rb.fwd_velocity(m, d)
    rb.energy(m, d)
    return float(d.energy.sum())


def bias_slopes(m, d):
    """Return d qfrc_bias / d qvel (nv, nv) by differences, exact because the bias is quadratic."""
    D, e = np.zeros((m.nv, m.nv)), d.copy()
    for k in range(m.nv):
        for sign in (1.0, -1.0):
            e.qvel = d.qvel + sign * np.eye(m.nv)[k]
            D[:, k] += 0.5 * sign * rb.bias_term(m, e)
    return D


def at_present(m, d):
    """Compute the forces of d in continuous time at qvel and qacc, without contact."""
    rb.fwd_position(m, d)
    rb.fwd_velocity(m, d)
    rb.aba(m, d)
