# SPDX-License-Identifier: Apache-2.0
"""With growing stiffness, motions with MuJoCo's equality constraints converge to ours.

MuJoCo's constraints are springs and dampers with a time constant of at least two timesteps. As
this time constant and the timestep go to zero, MuJoCo's motion approaches ours.
"""

from itertools import pairwise

import numpy as np
import pytest
from support import mechanisms, mujoco_twin
from support.compare import relative_error
from support.mechanisms import started
from support.mujoco_twin import mujoco
from support.trees import rotation, wxyz

import rbdyn_ros as rb

SECONDS = 0.2


def twin(description, timestep):
    """Return MuJoCo's model of a Description, with stiff equality constraints."""
    spec = mujoco.MjSpec()
    spec.option.timestep = timestep
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_EULER
    spec.option.iterations = 200
    spec.option.tolerance = 1e-14
    spec.option.disableflags = mujoco.mjtDisableBit.mjDSBL_CONTACT
    spec.compiler.fusestatic = True
    links = {link.name: link for link in description.links}
    bodies = {description.base: spec.worldbody}
    for joint in description.joints:
        if joint.closes_loop:
            _equality(spec, joint, description.base, timestep)
            continue
        body = mujoco_twin._add_body(
            bodies[joint.parent], links[joint.child], joint.origin.pos, joint.origin.quat
        )
        mujoco_twin._add_joints(body, joint)
        bodies[joint.child] = body
    for gear in description.constraints:
        one, other = gear.terms  # joint1 = offset + slope joint2
        e = _stiff(spec, mujoco.mjtEq.mjEQ_JOINT, timestep)
        e.name1, e.name2 = one.joint, other.joint
        e.data[:2] = [gear.offset / one.factor, -other.factor / one.factor]
    return spec.compile()


def _equality(spec, joint, base, timestep):
    weld = joint.type == "fixed"
    kind = mujoco.mjtEq.mjEQ_WELD if weld else mujoco.mjtEq.mjEQ_CONNECT
    e = _stiff(spec, kind, timestep)
    e.objtype = mujoco.mjtObj.mjOBJ_BODY
    e.name1, e.name2 = ("world" if n == base else n for n in (joint.parent, joint.child))
    if not weld:
        # a connect at one point: the other joints allow only planar motion
        e.data[:3] = joint.origin.pos
        return
    R_p, R_s = rotation(joint.origin.quat), rotation(joint.child_origin.quat)
    # data of a weld: anchor in the second body, anchor in the first, relative orientation, and
    # weight of the rotation
    e.data[:11] = [*joint.child_origin.pos, *joint.origin.pos, *wxyz(R_p * R_s.inv()), 1.0]


def _stiff(spec, kind, timestep):
    e = spec.add_equality(type=kind)
    e.solref = [2.0 * timestep, 1.0]
    e.solimp = [0.9999, 0.9999, 1e-3, 0.5, 2.0]
    return e


def difference(system, timestep, **start):
    """Return the largest difference from MuJoCo's qpos, relative to the largest coordinate."""
    m = rb.build(system)
    m.opt.integrator = "rk4"
    d = started(m, speed=1.0, **start)
    theirs = twin(system.description(), timestep)
    e = mujoco.MjData(theirs)
    _set_state(m, d, theirs, e)
    rb.step(m, d, round(SECONDS / m.opt.timestep))
    for _ in range(round(SECONDS / timestep)):
        mujoco.mj_step(theirs, e)
    return relative_error(_by_name(theirs, e, m), d.qpos)


def _set_state(m, d, theirs, e):
    for j, name in enumerate(m.jnt_names):
        k = mujoco.mj_name2id(theirs, mujoco.mjtObj.mjOBJ_JOINT, name)
        e.qpos[theirs.jnt_qposadr[k]] = d.qpos[m.jnt_qposadr[j]]
        e.qvel[theirs.jnt_dofadr[k]] = d.qvel[m.jnt_dofadr[j]]
    # MuJoCo computes the second anchor of a connect at qpos0, where the loop may be open
    mujoco.mj_kinematics(theirs, e)
    for i in np.flatnonzero(theirs.eq_type == mujoco.mjtEq.mjEQ_CONNECT):
        one, other = theirs.eq_obj1id[i], theirs.eq_obj2id[i]
        place = e.xpos[one] + e.xmat[one].reshape(3, 3) @ theirs.eq_data[i, :3]
        theirs.eq_data[i, 3:6] = e.xmat[other].reshape(3, 3).T @ (place - e.xpos[other])


def _by_name(theirs, e, m):
    ids = [mujoco.mj_name2id(theirs, mujoco.mjtObj.mjOBJ_JOINT, name) for name in m.jnt_names]
    return e.qpos[theirs.jnt_qposadr[ids]]


def welded():
    """Return a chain of three hinged bars, welded to a fourth bar that has its own hinge."""
    s = rb.SystemBuilder("welded", base="ground")
    for name in ("a", "b", "c", "e"):
        s.body(name, mechanisms.bar(0.2))
    s.joint("A", "revolute", "ground", "a", **mechanisms.HINGE)
    s.joint("B", "revolute", "a", "b", xyz=(0.2, 0, 0), **mechanisms.HINGE)
    s.joint("C", "revolute", "b", "c", xyz=(0.2, 0, 0), **mechanisms.HINGE)
    s.joint("E", "revolute", "ground", "e", xyz=(0.3, 0, 0), **mechanisms.HINGE)
    return s.weld("W", "c", "e", rb.pose((0.2, 0, 0)), rb.pose((0.1, 0, 0), (0, -0.4, 0)))


def geared():
    s = rb.SystemBuilder("geared", base="ground")
    s.body("a", mechanisms.bar(0.2)).body("b", mechanisms.bar(0.3)).body("c", mechanisms.bar(0.1))
    s.joint("A", "revolute", "ground", "a", **mechanisms.HINGE)
    s.joint("B", "revolute", "a", "b", xyz=(0.2, 0, 0), **mechanisms.HINGE)
    s.joint("C", "revolute", "b", "c", xyz=(0.3, 0, 0), **mechanisms.HINGE)
    return s.gear("pair", {"C": 1.0, "A": 1.7}, 0.3)


SYSTEMS = {
    "connect": lambda: mechanisms.four_bar(0.1, 0.25, 0.2, 0.3, closing="spherical"),
    "weld": welded,
    "joint": geared,
}
STARTS = {"connect": {"A": 1.0}, "weld": {}, "joint": {}}


@pytest.mark.parametrize("kind", SYSTEMS)
def test_stiff_equality_constraints_of_mujoco_converge_to_ours(kind):
    steps = (1e-3, 2.5e-4, 6.25e-5)
    errors = [difference(SYSTEMS[kind](), h, **STARTS[kind]) for h in steps]
    print(kind, [f"{error:.1e}" for error in errors])
    # the error is of first order: a quarter of the timestep gives a quarter of the error
    assert errors[0] < 2e-2
    for coarse, fine in pairwise(errors):
        assert 2.5 < coarse / fine < 6.5
    assert errors[-1] < 1e-3
