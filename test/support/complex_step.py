# SPDX-License-Identifier: Apache-2.0
"""Compute derivatives of the smooth kernels by complex steps; it needs NUMBA_DISABLE_JIT=1.

    python -m support.complex_step MODEL_AND_DATA.pickle RESULT.pickle

For a tiny h, f(x + i h) = f(x) + i h f'(x) up to rounding. No difference loses digits.
The result holds the derivatives of qfrc_inverse by position and by velocity, and of qacc.
"""

import pickle
import sys
import types
from pathlib import Path

import numpy as np

import rbdyn_ros as rb
from rbdyn_ros.engine.compiler.jit import DISABLED
from rbdyn_ros.engine.tree.aba import articulated
from rbdyn_ros.engine.tree.kinematics import com_pos, com_vel, poses
from rbdyn_ros.engine.tree.rne import bias_force, rne_acc
from rbdyn_ros.model.declared.data_fields import DATA_FIELDS
from rbdyn_ros.model.declared.model_fields import DATA_STAGES
from support import states

TINY = 1e-150


def complex_copy(m, d):
    """Return a namespace with complex copies of the arrays of d."""
    s = types.SimpleNamespace(model=m, **{name: getattr(d, name) for name in DATA_STAGES})
    for field in DATA_FIELDS:
        if field.inside:
            setattr(s, field.name, getattr(s, field.inside)[: len(getattr(d, field.name))])
        else:
            value = getattr(d, field.name)
            whole = field.kind != "float" or not field.dims
            setattr(s, field.name, value if whole else np.array(value, complex))
    return s


def displace(m, s, k):
    """Move s.qpos by i TINY along dof k; a quaternion q has the rate q (0, u / 2).

    Joint types with other rates, such as yaw-pitch-roll, are not supported.
    """
    j = m.dof_jntid[k]
    kind = m.jnt_type[j]
    q, v = states.joint_slices(m, j)
    first, rate = states.quaternion(kind), np.eye(m.nv)[k, v]
    if first is not None:
        turned = quat_product(s.qpos[q][first:].real, 0.5 * rate[first:])
        rate = np.concatenate([rate[:first], turned])
    s.qpos[q] += 1j * TINY * rate


def quat_product(q, u):
    """Return the quaternion product q (0, u)."""
    w, r = q[0], q[1:]
    return np.concatenate([[-r @ u], w * u + np.cross(r, u)])


def inverse(m, s):
    for stage in (poses, com_pos, com_vel, bias_force, rne_acc):
        stage(m, s)
    return s.qfrc_inverse


def forward(m, s):
    for stage in (poses, com_pos, com_vel, bias_force):
        stage(m, s)
    articulated(m, s, 0.0, 1.0, s.qacc)
    return s.qacc


def slopes(m, d, f):
    """Return the derivatives of f by position and by velocity, (nv, nv) each."""
    by_position, by_velocity = np.zeros((m.nv, m.nv)), np.zeros((m.nv, m.nv))
    for k in range(m.nv):
        s = complex_copy(m, d)
        displace(m, s, k)
        by_position[:, k] = f(m, s).imag / TINY
        s = complex_copy(m, d)
        s.qvel[k] += 1j * TINY
        by_velocity[:, k] = f(m, s).imag / TINY
    return by_position, by_velocity


def main(source, result):
    assert DISABLED, "NUMBA_DISABLE_JIT is not set"
    m, d = pickle.loads(Path(source).read_bytes())
    m.opt.passive = False
    rb.forward(m, d.copy())
    results = {"inverse": slopes(m, d, inverse), "forward": slopes(m, d, forward)}
    Path(result).write_bytes(pickle.dumps(results))


if __name__ == "__main__":
    main(*sys.argv[1:])
