# SPDX-License-Identifier: Apache-2.0
"""Potential and kinetic energy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbdyn_ros.engine.algebra.spatial import (
    dot3,
    load6,
    load9,
    mat_vec,
    symmetric_times,
    transposed,
)
from rbdyn_ros.engine.compiler.jit import brief, is_zero, kernel
from rbdyn_ros.engine.joints.manifold import joint_stretch
from rbdyn_ros.engine.quantities.momentum import com_twist
from rbdyn_ros.engine.tree.kinematics import axes, body_velocities, poses
from rbdyn_ros.engine.tree.springs import spring_energy

if TYPE_CHECKING:
    from rbdyn_ros.model.data import Data
    from rbdyn_ros.model.model import Model


@kernel
def energy(m: Model, d: Data) -> None:
    """Write energy: potential, kinetic [J]. Call `com_vel` first.

    The potential energy includes springs if opt.passive is on, but never the springs of limits.

    Source: RBDA eq 3.2 summed over bodies; MuJoCo mj_energyPos, mj_energyVel.
    """
    d.energy[0] = _potential(m, d)
    d.energy[1] = _kinetic(m, d)


@brief
def potential_energy(m: Model, d: Data) -> float:
    """Return the potential energy at qpos [J]; it includes the same springs as in `energy`."""
    poses(m, d)
    total: float = _potential(m, d)
    return total


@brief
def kinetic_energy(m: Model, d: Data) -> float:
    """Return the kinetic energy at qpos and qvel [J]."""
    poses(m, d)
    axes(m, d)
    body_velocities(m, d)
    total: float = _kinetic(m, d)
    return total


@kernel
def _potential(m, d):
    g, total = m.opt.gravity, 0.0
    for i in range(1, m.nbody):
        height = g[0] * d.xipos[i, 0] + g[1] * d.xipos[i, 1] + g[2] * d.xipos[i, 2]
        total -= m.body_mass[i] * height
    if m.opt.passive:
        total += _joint_springs(m, d) + spring_energy(m, d)
    return total


@kernel
def _kinetic(m, d):
    twice = 0.0
    for i in range(1, m.nbody):
        # m v.v + w.I w, with v of the centre of mass and w in the axes of the body
        w, v = com_twist(m, d, i)
        w = mat_vec(transposed(load9(d.xmat, i)), w)
        twice += m.body_mass[i] * dot3(v, v)
        twice += dot3(w, symmetric_times(load6(m.body_fullinertia, i), w))
    for k in range(m.nv):
        twice += m.dof_armature[k] * d.qvel[k] * d.qvel[k]
    return 0.5 * twice


@kernel
def _joint_springs(m, d):
    total = 0.0
    if m.nstiff == 0:
        return total
    for j in range(m.njnt):
        if not is_zero(m.jnt_stiffness[j]):
            joint_stretch(m, j, d.qpos, m.qpos_spring, d.stretch)
            for k in range(m.jnt_dofadr[j], m.jnt_dofadr[j] + m.jnt_dofnum[j]):
                total += 0.5 * m.jnt_stiffness[j] * d.stretch[k] * d.stretch[k]
    return total
