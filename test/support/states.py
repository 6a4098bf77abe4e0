"""Random states of a Model."""

import numpy as np
from scipy.spatial.transform import Rotation

import rbdyn_ros as rb
from rbdyn_ros.model.data import DATA_FIELDS
from rbdyn_ros.model.joints import JOINT_KINDS, JointType
from support.trees import rotation, wxyz

CONSTANT_ROWS = "nbody"  # row 0 of these is the world's: set by make_data, never written again


def randomise(m, d, seed, speed=1.0):
    """Fill qpos, qvel, qacc and both kinds of applied force at random."""
    rng = np.random.default_rng(seed)
    d.qpos = random_qpos(m, rng)
    d.qvel = speed * rng.uniform(-1.0, 1.0, m.nv)
    d.qacc = rng.uniform(-1.0, 1.0, m.nv)
    d.qfrc_applied = rng.uniform(-5.0, 5.0, m.nv)
    d.xfrc_applied[1:] = rng.uniform(-5.0, 5.0, (m.nbody - 1, 6))


def apply_reasonable_forces(m, d):
    """Applied forces that cause the accelerations in qacc: right for any size of robot."""
    d.qfrc_applied = 0.0
    d.xfrc_applied[1:] = 0.01 * m.body_mass[1:, None] * d.xfrc_applied[1:]
    rb.inverse(m, d)
    d.qfrc_applied = d.qfrc_inverse


def random_qpos(m, rng):
    qpos = rng.uniform(-1.5, 1.5, m.nq)
    for quat in quaternions(m):
        value = rng.normal(size=4)
        qpos[quat] = value / np.linalg.norm(value)
    return qpos


def quaternions(m):
    """Return the places of unit quaternions in qpos."""
    places = []
    for kind, adr in zip(m.jnt_type, m.jnt_qposadr, strict=True):
        if kind == JointType.FREE:
            places.append(slice(adr + 3, adr + 7))
        elif kind == JointType.BALL:
            places.append(slice(adr, adr + 4))
    return places


def joint_slices(m, j):
    """Return the places of joint j in qpos and in qvel."""
    kind = JOINT_KINDS[JointType(m.jnt_type[j])]
    q, v = m.jnt_qposadr[j], m.jnt_dofadr[j]
    return slice(q, q + kind.nq), slice(v, v + kind.nv)


def outputs(*stages):
    """Return the fields of Data that any of these stages writes."""
    fields = []
    for field in DATA_FIELDS:
        writers = field.stage.replace(";", ",").split(",")
        if any(writer.strip() in stages for writer in writers) and field.name != "nbad":
            fields.append(field)
    return fields


def poison(d, *stages):
    """Write NaN into every output of the stages: what they do not write stays visible."""
    for field in outputs(*stages):
        array = getattr(d, field.name)
        array[(slice(1, None) if field.dims[0] == CONSTANT_ROWS else ...)] = np.nan


def move(m, d, h, velocity):
    """qpos <- qpos (+) h velocity, in plain NumPy: the integration rule of every joint."""
    for j in range(m.njnt):
        q, v = joint_slices(m, j)
        rate = velocity[v]
        if m.jnt_type[j] in (JointType.FREE, JointType.BALL):
            lines = len(rate) - 3
            d.qpos[q.start : q.start + lines] += h * rate[:lines]
            quat = slice(q.start + lines, q.stop)
            turned = rotation(d.qpos[quat]) * Rotation.from_rotvec(h * rate[lines:])
            d.qpos[quat] = wxyz(turned)
        else:
            d.qpos[q] += h * rate
