"""Potential and kinetic energy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbdyn_ros.engine.jit import kernel
from rbdyn_ros.engine.spatial import dot6, inertia_times, load6, load10

if TYPE_CHECKING:
    from rbdyn_ros.model.data import Data
    from rbdyn_ros.model.model import Model


@kernel
def energy(m: Model, d: Data) -> None:
    """Write energy: potential, kinetic [J]; needs com_vel. Limit springs are not counted.

    Source: RBDA eq 3.2 summed over bodies; MuJoCo mj_energyPos, mj_energyVel.
    """
    g = m.opt.gravity
    potential, twice_kinetic = 0.0, 0.0
    for i in range(1, m.nbody):
        height = g[0] * d.xipos[i, 0] + g[1] * d.xipos[i, 1] + g[2] * d.xipos[i, 2]
        potential -= m.body_mass[i] * height
        v = load6(d.cvel, i)
        twice_kinetic += dot6(v, inertia_times(load10(d.cinert, i), v))
    for k in range(m.nv):
        twice_kinetic += m.dof_armature[k] * d.qvel[k] * d.qvel[k]
    d.energy[0] = potential
    d.energy[1] = 0.5 * twice_kinetic
