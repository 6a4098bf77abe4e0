# SPDX-License-Identifier: Apache-2.0
"""Every robot of example-robot-data can fall for a second with default options."""

import numpy as np
from support import pairs, robots

import rbdyn_ros as rb

pytestmark = robots.needs_robots

#: Joint neck_roll of iCub has an inertia of 2e-13 kg m^2, less than the rounding errors.
ILL = ("icub.urdf",)


def beyond(m, qpos):
    """Return how far each joint is beyond its limit at qpos; 0 within limits or without limits."""
    q = qpos[m.jnt_qposadr]
    r = np.maximum(np.maximum(m.jnt_range[:, 0] - q, q - m.jnt_range[:, 1]), 0.0)
    return np.where(m.jnt_limited, r, 0.0)


def total_energy(m, d):
    """Return the energy, including the energy of limit springs with k = I / (t z)^2 [J]."""
    rb.forward(m, d)
    rb.energy(m, d)
    t = np.maximum(m.jnt_solref[:, 0], 2.0 * m.opt.timestep)
    stiffness = m.dof_inertia0[m.jnt_dofadr] / (t * m.jnt_solref[:, 1]) ** 2
    return d.energy.sum() + 0.5 * stiffness @ beyond(m, d.qpos) ** 2


@pairs.each_base
@robots.each_robot
def test_a_falling_robot_gains_no_energy(path, base):
    m = robots.load(path, pairs.BASES[base])
    d = rb.make_data(m)
    for j in np.flatnonzero(m.jnt_limited):
        q = m.jnt_qposadr[j]
        d.qpos[q] = np.clip(d.qpos[q], *m.jnt_range[j])
    energies = [total_energy(m, d)]
    for _ in range(20):
        rb.step(m, d, 50)
        energies.append(total_energy(m, d))
    assert np.isfinite(d.qpos).all()
    assert np.isfinite(d.qvel).all()
    if path.name not in ILL:
        assert d.nbad == 0
    # damping and limits remove energy; first-order steps may add a small part of the exchanged
    # energy
    exchanged = 9.81**2 * m.body_mass.sum()  # twice m g h of a fall of one second
    gained = max(np.diff(energies))
    assert gained <= 1e-3 * exchanged
