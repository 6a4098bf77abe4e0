"""rbdyn sim --scene: objects beside the robot on topics, in services and in recordings."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("tf2_msgs.msg", reason="tf2_msgs is not built")
pytest.importorskip("simulation_interfaces.srv", reason="simulation_interfaces is not built")

from sensor_msgs.msg import JointState
from simulation_interfaces.msg import EntityCategory
from simulation_interfaces.srv import (
    GetEntities,
    GetEntityInfo,
    GetEntityState,
    SetEntityState,
)
from tf2_msgs.msg import TFMessage

import rbdyn_ros as rb

SCENE = "config/scenes/gripper.yaml"


def place(transforms, name):
    found = next(one for one in transforms if one.child_frame_id == name)
    at = found.transform.translation
    return found.header.frame_id, (at.x, at.y, at.z)


def test_objects_on_topics_and_as_entities(simulate, peer, tmp_path):
    run = tmp_path / "run.mcap"
    simulator = simulate("--scene", SCENE, "--record", run, "--paused",
                         "--ros-args", "-p", "on_timeout:=hold")  # fmt: skip
    objects = peer.collect(TFMessage, "object_poses")
    tf = peer.collect(TFMessage, "/tf")
    states = peer.hear(JointState, "joint_states")
    assert states[0].name == ["lift", "left", "right"]
    peer.until(lambda: objects and tf)
    assert place(objects[0].transforms, "ball")[1] == pytest.approx((0.15, 0.0, 0.33))
    assert place(tf[0].transforms, "cube") == ("world", pytest.approx((0.0, 0.0, 0.32)))

    def call(kind, name, **fields):
        return peer.call(kind, f"simulator/{name}", kind.Request(**fields))

    assert call(GetEntities, "get_entities").entities == [
        *("gripper", "cube", "ball"),
        *("floor", "table"),
    ]
    info = call(GetEntityInfo, "get_entity_info", entity="cube").info
    assert info.category.category == EntityCategory.CATEGORY_DYNAMIC_OBJECT
    request = SetEntityState.Request(entity="cube")
    if hasattr(request, "set_pose"):
        request.set_pose = request.set_twist = True
    request.state.pose.position.x = 0.2
    request.state.pose.position.z = 0.4
    request.state.pose.orientation.w = 1.0
    answer = peer.call(SetEntityState, "simulator/set_entity_state", request)
    assert answer.result.result == answer.result.RESULT_OK, answer.result.error_message
    cube = call(GetEntityState, "get_entity_state", entity="cube").state
    assert (cube.pose.position.x, cube.pose.position.z) == (0.2, 0.4)
    peer.until(lambda: place(objects[-1].transforms, "cube")[1][0] == 0.2)

    # everything falls, and rests on the table
    peer.pause(False)
    m = rb.load(SCENE)
    height = 0.3 + 0.02
    peer.until(lambda: place(objects[-1].transforms, "cube")[1][2] < height + 1e-4)
    simulator.end_well()
    recorded = rb.read_run(run)
    assert recorded.m.jnt_names == m.jnt_names
    at = m.jnt_qposadr[m.jnt_id("cube")]
    assert recorded.qpos[0, at + 2] == pytest.approx(0.32)
    assert np.min(recorded.qpos[:, at + 2]) > height - 1e-3


def test_a_scene_and_a_robot_exclude_each_other(simulate):
    for words in (["config/robots/pendulum.urdf"], ["--floating-base"]):
        simulator = simulate("--scene", SCENE, *words, wait=False)
        assert simulator.process.wait(60) == 2
