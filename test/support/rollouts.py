# SPDX-License-Identifier: Apache-2.0
"""Robots for rollouts, and a reference that computes each robot's rollout by rb.step."""

import functools

import numpy as np

import rbdyn_ros as rb
from support.robots import find

ROBOTS = {
    "arm": ("ur5_robot.urdf", False),
    "coupled fingers": ("panda.urdf", False),
    "floating base": ("solo12.urdf", True),
}


@functools.cache
def _loaded(file, floating):
    return rb.load_urdf(find(file), floating_base=floating, strict=False)


def robot(name):
    """Return the Model of a robot of ROBOTS with its own options."""
    return _loaded(*ROBOTS[name]).replaced()


def starts(m, count, seed=0):
    """Return random positions (count, nq) and velocities (count, nv)."""
    rng = np.random.default_rng(seed)
    qpos = np.array([rb.random_qpos(m, rng) for _ in range(count)])
    return qpos, rng.uniform(-1.0, 1.0, (count, m.nv))


def light_forces(m, shape, seed=1):
    """Return random forces (*shape, nv) that suit a robot of any size."""
    scale = np.maximum(m.dof_inertia0, 1e-4)
    return scale * np.random.default_rng(seed).uniform(-20.0, 20.0, (*shape, m.nv))


def looped(models, qpos0, qvel0, nstep, forces, every=1):
    """Return outputs (nbatch, rows, ...) by name; rb.step computes one robot after the other.

    `models` has a Model for each robot. forces(k, n, d) returns qfrc_applied of robot k in step n.
    """
    found = {name: [] for name in OUTPUTS}
    for k, m in enumerate(models):
        d = rb.make_data(m)
        d.qpos, d.qvel = qpos0[k], qvel0[k]
        rows = {name: [] for name in OUTPUTS}
        for n in range(nstep):
            d.qfrc_applied = forces(k, n, d)
            rb.step(m, d)
            if (n + 1) % every == 0:
                seen = d.copy()
                for stage in (rb.kinematics, rb.com_pos, rb.com_vel, rb.energy):
                    stage(m, seen)
                for name, row in rows.items():
                    row.append(np.array(getattr(seen, name)))
        for name, row in rows.items():
            found[name].append(row)
    return {name: np.array(rows) for name, rows in found.items()}


OUTPUTS = (
    "qpos", "qvel", "time", "qfrc_applied",
    "xpos", "xmat", "xipos", "subtree_com", "cvel", "energy",
)  # fmt: skip
