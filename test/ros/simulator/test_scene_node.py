# SPDX-License-Identifier: Apache-2.0
"""With `rbdyn sim --scene` topics, services and recordings have the scene's objects."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("tf2_msgs.msg", reason="tf2_msgs is not built")
pytest.importorskip("simulation_interfaces.srv", reason="simulation_interfaces is not built")

from sensor_msgs.msg import JointState
from simulation_interfaces import srv
from simulation_interfaces.msg import EntityCategory, EntityState
from simulation_interfaces.srv import (
    GetEntities,
    GetEntityInfo,
    GetEntityState,
    SetEntityState,
)
from standard_services import done, refused
from tf2_msgs.msg import TFMessage

import rbdyn_ros as rb

SCENE = "config/scenes/gripper.yaml"


def place(transforms, name):
    found = next(one for one in transforms if one.child_frame_id == name)
    at = found.transform.translation
    return found.header.frame_id, (at.x, at.y, at.z)


def test_objects_have_poses_on_a_topic_and_are_entities(simulate, peer, tmp_path):
    run = tmp_path / "run.mcap"
    simulator = simulate("--scene", SCENE, "--record", run, "--paused",
                         "--ros-args", "-p", "on_timeout:=hold")  # fmt: skip
    objects = peer.collect(TFMessage, "object_poses")
    tf = peer.collect(TFMessage, "/tf")
    states = peer.hear(JointState, "joint_states")
    assert states[0].name == ["lift", "left", "right"]
    peer.until_tf(lambda: objects and tf)
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

    # the objects fall onto the table
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


ROBOTS = """rbdyn_scene: 1
name: pair
robots:
  left: {file: GRIPPER, xyz: [0, 1, 0.7], rpy: [0, 0, 3.141592653589793]}
  right: {file: GRIPPER, xyz: [0, -1, 0.7], floating_base: true}
objects:
  ball: {sphere: {radius: 0.1}, mass: 1, xyz: [3, 0, 1]}
"""


def test_robots_of_a_scene_are_entities_with_the_names_of_the_robots(
    simulate, peer, ask, tmp_path
):
    scene = tmp_path / "pair.yaml"
    scene.write_text(ROBOTS.replace("GRIPPER", str(Path("config/scenes/gripper.urdf").absolute())))
    simulate("--scene", scene, "--paused", "--ros-args", "-p", "on_timeout:=hold")
    assert done(ask("GetEntities")).entities == ["left", "right", "ball", "floor"]
    kinds = [done(ask("GetEntityInfo", entity=name)).info for name in ("left", "right", "ball")]
    robot, free = EntityCategory.CATEGORY_ROBOT, EntityCategory.CATEGORY_DYNAMIC_OBJECT
    assert [info.category.category for info in kinds] == [robot, robot, free]
    left = done(ask("GetEntityState", entity="left")).state.pose
    assert (left.position.y, left.position.z) == (1.0, 0.7)
    assert left.orientation.z == pytest.approx(1.0)

    # in the frame of the mount the hand is 0.18 m wide, and the fingers reach 0.15 m down
    for name in ("left", "right"):
        high, low = done(ask("GetEntityBounds", entity=name)).bounds.points
        assert (high.x, high.y, low.y) == pytest.approx((0.05, 0.09, -0.09))
        assert (high.z, low.z) == pytest.approx((0.025, -0.15))

    moved = EntityState()
    moved.pose.position.x, moved.pose.position.z, moved.pose.orientation.w = 1.0, 2.0, 1.0
    flag = {"set_pose": True} if hasattr(SetEntityState.Request(), "set_pose") else {}
    done(ask("SetEntityState", entity="right", state=moved, **flag))
    right = done(ask("GetEntityState", entity="right")).state.pose.position
    assert (right.x, right.y, right.z) == (1.0, 0.0, 2.0)
    failed = GetEntities.Response().result.RESULT_OPERATION_FAILED
    refused(ask("SetEntityState", entity="left", state=moved, **flag), failed, "is fixed")
    refused(ask("DeleteEntity", entity="right"), failed, "was started with")
    if hasattr(srv, "LoadWorld"):
        request = srv.LoadWorld.Request()
        resource = getattr(request, "world_resource", None) or request.level_resource
        resource.resource_string = "rbdyn_scene: 1\nobstacles:\n  left: {sphere: {radius: 1}}\n"
        given = {key: getattr(request, key) for key in request.get_fields_and_field_types()}
        unread = srv.LoadWorld.Response.RESOURCE_PARSE_ERROR
        refused(ask("LoadWorld", **given), unread, "line 3: obstacle 'left': a robot")


CUBE = """rbdyn_scene: 1
robot: {file: GRIPPER, xyz: [0, 0, 0.9]}
objects:
  cube: {sphere: {radius: 0.1}, mass: 1, xyz: [3, 0, 1]}
  shelf/drawer: {sphere: {radius: 0.1}, mass: 1, xyz: [4, 0, 1]}
"""


def test_an_object_with_the_name_of_the_scene_does_not_hide_the_robot(simulate, ask, tmp_path):
    scene = tmp_path / "cube.yaml"
    scene.write_text(CUBE.replace("GRIPPER", str(Path("config/scenes/gripper.urdf").absolute())))
    simulator = simulate("--scene", scene, "--paused")
    simulator.wait_for("as an entity the robot is named 'cube_robot'")
    assert done(ask("GetEntities")).entities == ["cube_robot", "cube", "shelf/drawer", "floor"]
    kinds = [done(ask("GetEntityInfo", entity=name)).info for name in ("cube_robot", "cube")]
    robot, free = EntityCategory.CATEGORY_ROBOT, EntityCategory.CATEGORY_DYNAMIC_OBJECT
    assert [info.category.category for info in kinds] == [robot, free]
    assert done(ask("GetEntityBounds", entity="cube_robot")).bounds.points[1].z < -0.14
    done(ask("DeleteEntity", entity="cube"))
    assert done(ask("GetEntities")).entities == ["cube_robot", "shelf/drawer", "floor"]
    if hasattr(srv, "SpawnEntity"):
        codes = srv.SpawnEntity.Response
        refused(ask("SpawnEntity", name="shelf"), codes.NAME_NOT_UNIQUE, "'shelf' is taken")


def test_a_scene_together_with_a_robot_is_refused(simulate):
    for words in (["config/robots/pendulum.urdf"], ["--floating-base"]):
        simulator = simulate("--scene", SCENE, *words, wait=False)
        assert simulator.process.wait(60) == 2


def test_object_poses_are_published_as_soon_as_a_node_subscribes(simulate, peer):
    """Until then the compiled loop publishes joint_states without Python."""
    lacks = "import sys; sys.modules['visualization_msgs.msg'] = None"
    simulate("--scene", SCENE, "--ros-args", "-p", "publish_tf:=false", prelude=lacks)
    states = peer.hear(JointState, "joint_states")
    seen = len(states)
    peer.until(lambda: len(states) > seen + 200)
    objects, late = peer.collect(TFMessage, "object_poses"), states[-1].header.stamp.sec + 10
    peer.until(lambda: objects or states[-1].header.stamp.sec > late)
    assert objects


WORLD = "test/fuzz/seeds/good/sdf.world.sdf"


@pytest.mark.parametrize("words", [(WORLD,), ("--scene", WORLD)], ids=["file", "scene"])
def test_the_simulator_can_simulate_a_world_of_gazebo(simulate, peer, words):
    """A model with a joint, an object and two obstacles are read from the world file."""
    simulate(*words, "--paused")
    objects = peer.collect(TFMessage, "object_poses")
    states = peer.hear(JointState, "joint_states")
    assert states[0].name == ["swing/hinge"]
    peer.until_tf(lambda: objects)
    assert place(objects[0].transforms, "ball")[1] == pytest.approx((0.0, 0.0, 3.0))
    found = peer.call(GetEntities, "simulator/get_entities", GetEntities.Request())
    assert {*found.entities} >= {"swing", "post", "ball", "ground", "post/l/d"}
