# SPDX-License-Identifier: Apache-2.0
"""Keyframes are named states, which SRDFs and scene files contain."""

import copy
import pickle

import numpy as np
import pytest
from support.refusals import refused
from support.robots import find, needs_robots

import rbdyn_ros as rb
from rbdyn_ros.share import bundled_robot

ARM = bundled_robot("seven_dof_arm")
SRDF = """<robot name="seven_dof_arm">
  <group_state name="ready" group="arm"><joint name="elbow_pitch" value="1.0"/></group_state>
  <group_state name="open" group="hand"><joint name="shoulder_yaw" value="-0.5"/></group_state>
  <group_state name="ready" group="wrist"><joint name="shoulder_yaw" value="0.2"/>
    <joint name="of_another_robot" value="3"/></group_state>
  <group_state name="foreign" group="arm"><joint name="of_another_robot" value="1"/></group_state>
</robot>"""


@pytest.fixture(scope="module")
def m():
    return rb.load_urdf(ARM, srdf=SRDF)


def test_states_of_an_srdf_are_keyframes(m):
    assert (m.nkey, m.key_names) == (2, ("ready", "open"))
    ready = m.key("ready").qpos
    assert ready.tolist() == m.key_qpos[0].tolist()
    assert ready[m.joint("elbow_pitch").qposadr] == [1.0]
    assert ready[m.joint("shoulder_yaw").qposadr] == [0.2]
    assert np.count_nonzero(ready) == 2


def test_a_data_begins_at_a_keyframe_and_returns_to_it(m):
    d = rb.make_data(m, key="ready")
    assert (d.qpos == m.key("ready").qpos).all()
    rb.step(m, d, 10)
    rb.reset_data_keyframe(m, d, "open")
    assert (d.time, d.qvel.any(), d.joint("shoulder_yaw").qpos) == (0.0, False, [-0.5])
    rb.reset_data(m, d)
    assert (d.qpos == m.qpos0).all()


def test_copies_of_a_model_keep_its_keyframes(m, tmp_path):
    rb.save(m, tmp_path / "m.npz")
    copies = (copy.copy(m), pickle.loads(pickle.dumps(m)), rb.load(tmp_path / "m.npz"))
    changed = m.replaced(dof_damping=m.dof_damping + 1.0)
    loaded = rb.with_payload(m, "tool_flange", 1.0, (0.0, 0.0, 0.1))
    for other in (*copies, changed, loaded):
        assert other.key_names == m.key_names
        assert (other.key_qpos == m.key_qpos).all()
    assert m.sha256() == rb.load_urdf(ARM).sha256()  # keyframes do not change the robot's motion


def test_names_of_keyframes_have_prefixes_in_a_scene(tmp_path):
    (tmp_path / "arm.urdf").write_text(ARM.read_text())
    (tmp_path / "arm.srdf").write_text(SRDF)
    scene = tmp_path / "scene.yaml"
    text = "rbdyn_scene: 1\nrobots:\n  left: arm.urdf\n  right: arm.urdf\n"
    scene.write_text(
        text + "keyframes:\n  handover: {left/elbow_pitch: 1.5, right/elbow_pitch: -0.5}\n"
    )
    m = rb.load(scene)
    assert m.key_names == ("left/ready", "left/open", "right/ready", "right/open", "handover")
    d = rb.make_data(m, key="handover")
    assert (d.joint("left/elbow_pitch").qpos, d.joint("right/elbow_pitch").qpos) == ([1.5], [-0.5])
    scene.write_text(text + "keyframes:\n  handover: {left/elbow_ptch: 1.5}\n")
    with refused(rb.DescriptionError, "unknown-joint", "keyframe 'handover'"):
        rb.load(scene)
    scene.write_text(text + "keyframes:\n  handover: {left/elbow_pitch: high}\n")
    with refused(rb.DescriptionError, "bad-value"):
        rb.load(scene)


def test_a_keyframe_of_another_robot_is_refused(m):
    other = rb.load_urdf(bundled_robot("pendulum"))
    with refused(rb.ModelError, "unknown-keyframe"):
        rb.make_data(other, key="ready")
    with refused(rb.ModelError, "data-of-other-model"):
        rb.reset_data_keyframe(m, rb.make_data(other), "ready")
    d = rb.make_data(m)
    d.qpos[0] = 0.5
    with refused(rb.ModelError, "unknown-keyframe"):
        rb.reset_data_keyframe(m, d, "readdy")
    assert d.qpos[0] == 0.5


@needs_robots
def test_the_states_of_the_panda_are_found_beside_its_urdf():
    m = rb.load("panda")
    assert m.name == rb.load_urdf(find("panda.urdf")).name == "panda"
    assert m.nkey > 0
