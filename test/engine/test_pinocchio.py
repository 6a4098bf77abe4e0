# SPDX-License-Identifier: Apache-2.0
"""Every robot of example-robot-data agrees with Pinocchio, which computes in link frames.

The tolerance is 1e-10 of the largest entry; for forward dynamics it is 64 cond(M) eps if this is
larger.
"""

import numpy as np
import pytest

pytest.importorskip("pinocchio", reason="pin is not installed")
from support import pairs, pinocchio_twin, robots, states
from support.compare import Comparison, with_inverse

import rbdyn_ros as rb

TOLERANCE = 1e-10
pytestmark = robots.needs_robots


@pairs.each_base
@robots.each_robot
def test_a_robot_agrees_with_pinocchio(path, base):
    theirs = pinocchio_twin.load(path, pairs.BASES[base])
    m = robots.load(path, pairs.BASES[base])
    # strict=False may add a small armature, which Pinocchio's model lacks
    m = m.replaced(dof_armature=0.0 * m.dof_armature)
    # Pinocchio's forward dynamics is in continuous time
    m.opt.passive, m.opt.integrator = False, "euler"
    d = rb.make_data(m)
    assert (m.nv, m.njnt) == (theirs.nv, theirs.njoints - 1)
    for seed in (1, 2, 3):
        states.randomise(m, d, seed)
        d.xfrc_applied = 0.0
        twin = pinocchio_twin.Twin(m, d, theirs)
        where = f"{robots.robot_id(path)}, {base} base, seed {seed}"
        with Comparison("Pinocchio", where) as case:
            compare(case, m, d, twin, path.name not in robots.SINGULAR)


def compare(case, m, d, twin, regular):
    M = twin.mass_matrix()
    case.close("mass_matrix", rb.mass_matrix(m, d), M, TOLERANCE)
    qacc = d.qacc.copy()
    rb.inverse(m, d)
    case.close("inverse", d.qfrc_inverse, twin.rnea(qacc), TOLERANCE)
    if regular:
        rb.forward_dynamics(m, d)
        tolerance = with_inverse(TOLERANCE, M, 1)
        case.close("forward_dynamics", d.qacc, twin.aba(d.qfrc_applied), tolerance)
    rb.fwd_position(m, d)
    rb.fwd_velocity(m, d)
    case.close("bias", d.qfrc_bias, twin.rnea(np.zeros(m.nv)), TOLERANCE)
    theirs = twin.frame_poses()
    added = set(m.frame_names) - set(theirs)  # only our Model has the frames of sensors
    assert set(theirs) <= set(m.frame_names)
    assert all(name.endswith("_frame") for name in added)
    for name, (position, rotation) in theirs.items():
        p, R = rb.frame_pose(m, d, name)
        case.close("frame position", p - position, 0.0 * position, TOLERANCE)
        case.close("frame rotation", R, rotation, TOLERANCE)


def test_robots_left_out_of_forward_dynamics_have_a_singular_mass_matrix():
    for name in robots.SINGULAR:
        m = robots.load(robots.find(name)).replaced()
        m = m.replaced(dof_armature=0.0 * m.dof_armature)
        d = rb.make_data(m)
        states.randomise(m, d, 1)
        assert np.linalg.cond(rb.mass_matrix(m, d)) > 1e15, name
