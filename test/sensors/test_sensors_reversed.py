# SPDX-License-Identifier: Apache-2.0
"""Sensors at every joint of trees with reversed joints and shifted frames measure the weight."""

import numpy as np
import pytest
from snapshot import snapshot
from support.robots import find, needs_robots
from support.states import random_qpos
from support.trees import auto_tree

import rbdyn_ros as rb
from rbdyn_ros.description import robot_files
from rbdyn_ros.description.checks.check import check
from rbdyn_ros.sensors import ForceTorqueSpec, Suite

KINDS = ("revolute", "fixed", "prismatic", "fixed", "helical", "spherical", "fixed")
GRAVITY = np.array([1.0, -2.0, -9.0])


def beyond(description, joint):
    """Return the links beyond a joint, seen from the base, and whether they include its child."""
    children = {other.child for other in description.joints}
    base = description.base or next(x.name for x in description.links if x.name not in children)
    reached, waiting = {base}, [base]
    while waiting:
        link = waiting.pop()
        for other in description.joints:
            if other is not joint and link in (other.parent, other.child):
                far = other.child if link == other.parent else other.parent
                if far not in reached:
                    reached.add(far)
                    waiting.append(far)
    return [link for link in description.links if link.name not in reached], (
        joint.child not in reached
    )


@pytest.mark.parametrize("floating", [False, "floating"])
@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_a_sensor_at_every_joint_measures_the_weight_beyond_it(seed, floating):
    description = check(auto_tree(12, 1.7, kinds=KINDS, seed=seed, reversals=0.5, offsets=0.5))
    assert {joint.type for joint in description.joints} >= {"fixed"}
    _assert_weights(rb.build(description, floating_base=floating), description, seed)


@needs_robots
@pytest.mark.parametrize("mimic", [True, False])
def test_a_sensor_at_every_joint_measures_the_weight_despite_mimic_joints(mimic):
    path = find("panda.urdf")
    m = rb.load_urdf(path, strict=False, mimic=mimic)
    assert (m.nmimic > 0) is mimic
    _assert_weights(m, robot_files.read(path, strict=False), 0)


@needs_robots
def test_a_sensor_at_every_joint_of_a_humanoid_measures_the_weight():
    path = find("talos_reduced.urdf")
    m = rb.load_urdf(path, floating_base=True, strict=False)
    _assert_weights(m, robot_files.read(path, strict=False), 0)


def _assert_weights(m, description, seed):
    m.opt.gravity = GRAVITY
    d = rb.make_data(m)
    d.qpos[:] = random_qpos(m, np.random.default_rng(seed))
    specs = [
        ForceTorqueSpec(f"{end}{k}", joint.name, getattr(joint, end))
        for k, joint in enumerate(description.joints)
        for end in ("parent", "child")
    ]
    suite = Suite(m, description, specs, 1_000_000)
    joints = {joint.name: joint for joint in description.joints}
    for k, shown in suite.read(snapshot(m, d, qacc=0.0)):
        spec = specs[k]
        links, child_is_beyond = beyond(description, joints[spec.joint])
        sign = 1.0 if child_is_beyond else -1.0
        x, R = rb.frame_pose(m, d, spec.frame)
        force, torque = np.zeros(3), np.zeros(3)
        for link in links:
            if link.inertial is not None:
                x_link, R_link = rb.frame_pose(m, d, link.name)
                com = x_link + R_link @ np.array(link.inertial.origin.pos)
                force += link.inertial.mass * GRAVITY
                torque += np.cross(com - x, link.inertial.mass * GRAVITY)
        np.testing.assert_allclose(shown.force, sign * R.T @ force, atol=1e-9, err_msg=spec.name)
        np.testing.assert_allclose(shown.torque, sign * R.T @ torque, atol=1e-9)
