# SPDX-License-Identifier: Apache-2.0
"""MuJoCo's twin of a Model: the same bodies, joints and geometries, and the pairs that may touch.

All joints are free joints, hinges or slides; positions and velocities have the same order.
"""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

import rbdyn_ros as rb
from benchmarks.contact import add_geometry
from rbdyn_ros.model.declared.joints import JointType


def mirror(m: rb.Model) -> Any:
    """Return MuJoCo's model of a Model, with our timestep and MuJoCo's Euler integrator."""
    spec = mujoco.MjSpec()
    spec.option.timestep, spec.option.gravity = m.opt.timestep, m.opt.gravity
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_EULER
    spec.compiler.balanceinertia, spec.compiler.degree = True, False
    bodies = [spec.worldbody]
    for i in range(1, m.nbody):
        bodies.append(_add_body(m, i, bodies[m.body_parentid[i]]))
    every = _all_touch(m)
    for g in range(m.ngeom):
        floor = g >= m.ngeomlink
        kind, touched = (1, int(every)) if floor or every else (0, 1)
        where = bodies[m.geom_bodyid[g]]
        add_geometry(spec, where, m, g, contype=kind, conaffinity=0 if floor else touched)
    for g, h in m.push_geom.tolist():
        if not every and max(g, h) < m.ngeomlink:
            friction = [min(m.geom_friction[[g, h]])] * 2 + [0.0] * 3
            spec.add_pair(geomname1=f"g{g}", geomname2=f"g{h}", friction=friction, condim=3)
    theirs = spec.compile()
    names = [theirs.body(i).name for i in range(1, theirs.nbody)]
    assert names == [m.body_names[i] for i in range(1, m.nbody)], "the orders differ"
    assert (theirs.nq, theirs.nv) == (m.nq, m.nv)
    return theirs


def _all_touch(m: rb.Model) -> bool:
    """Return whether all geometries of different bodies touch each other."""
    bodies = m.geom_bodyid[: m.ngeommoving]
    return m.npush == int(np.triu(bodies[:, None] != bodies[None], 1).sum())


def _add_body(m: rb.Model, i: int, parent: Any) -> Any:
    """Add body i with its joint; both have the same frame."""
    j = i - 1
    body = parent.add_body(name=m.body_names[i], pos=m.body_pos[i], quat=m.body_quat[i])
    body.explicitinertial = True
    body.mass, body.ipos, body.iquat = m.body_mass[i], m.body_ipos[i], m.body_iquat[i]
    body.inertia = m.body_inertia[i]
    k, kind = m.jnt_dofadr[j], JointType(m.jnt_type[j])
    if kind == JointType.FREE:
        body.add_freejoint()
        return body
    assert kind in (JointType.HINGE, JointType.SLIDE), kind
    body.add_joint(
        type=mujoco.mjtJoint(int(kind)),
        axis=m.jnt_axis[j],
        damping=m.dof_damping[k],
        armature=m.dof_armature[k],
        frictionloss=m.dof_frictionloss[k],
        limited=bool(m.jnt_limited[j]),
        range=m.jnt_range[j] if m.jnt_limited[j] else (0.0, 0.0),
    )
    return body
