# SPDX-License-Identifier: Apache-2.0
"""Setting a joint position moves attached objects, but no other joint and no other object."""

import numpy as np
import pytest
from support.refusals import refused

pytest.importorskip("rclpy", reason="rclpy is not installed")

import rbdyn_ros as rb
from rbdyn_ros.ros.simulator.robot.placement import given_state

BALL = rb.Sphere(0.02)
OBJECTS = [
    rb.Object(name, BALL, mass=0.1, pose=rb.pose((x, 0.0, 1.0)))
    for name, x in (("held", 1.0), ("flyer", 2.0))
]


def attached(to):
    m = rb.scene("config/scenes/gripper.urdf", objects=OBJECTS)
    return rb.attach(m, rb.make_data(m), "held", to)


def test_setting_a_joint_without_attachments_changes_no_other_joint():
    m, _ = attached("world")
    free = given_state(m, ["left"], [0.01], [], None)
    names = [m.jnt_names[j] for j in m.dof_jntid[free[3]]]
    assert (names, free[2].sum()) == (["left"], 1)
    assert given_state(m, ["left"], [], [0.2], None)[1][free[3]] == [0.2]


def test_setting_a_joint_moves_the_attached_object_and_stops_no_other_object():
    m, d = attached("hand")
    with refused(rb.RbdynError, "request"):
        given_state(m, ["lift"], [-0.05], [], None)
    qpos, qvel, of_qpos, of_qvel = given_state(m, ["lift"], [-0.05], [], np.array(d.qpos))
    flyer = m.jnt_id("flyer")
    assert np.array_equal(of_qvel, m.dof_jntid != flyer)
    assert of_qpos.sum() == m.nq - 7
    at = m.jnt_qposadr[m.jnt_id("held")] + 2
    assert qpos[at] == pytest.approx(d.qpos[at] - 0.05, abs=1e-9)
    assert not qvel.any()
