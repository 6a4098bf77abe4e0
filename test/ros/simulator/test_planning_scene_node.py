# SPDX-License-Identifier: Apache-2.0
"""The planning scene that move_group gets follows spawned, attached and deleted objects."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("moveit_msgs.msg", reason="moveit_msgs is not installed")

from geometry_msgs.msg import PoseStamped
from moveit_msgs.msg import CollisionObject, PlanningScene
from sensor_msgs.msg import JointState
from simulation_interfaces.srv import DeleteEntity, SpawnEntity
from tf2_msgs.msg import TFMessage

from rbdyn_interfaces.srv import Attach
from rbdyn_ros.share import share_dir

GRIPPER = share_dir() / "config" / "scenes" / "gripper.urdf"
SCENE = f"""rbdyn_scene: 1
robot: {{file: {GRIPPER}, xyz: [0, 0, 0.7], surface: rubber}}
surfaces: {{rubber: {{friction: 1.0}}}}
objects:
  cube: {{box: {{size: [0.04, 0.04, 0.04]}}, mass: 0.1, xyz: [0, 0, 0.32], surface: rubber}}
  pill: {{capsule: {{radius: 0.01, length: 0.05}}, mass: 0.05, xyz: [0.2, 0, 0.32]}}
obstacles:
  table: {{box: {{size: [0.6, 0.8, 0.3]}}, xyz: [0, 0, 0.15]}}
  pole: {{cylinder: {{radius: 0.02, length: 0.5}}, xyz: [0.5, 0, 0.25]}}
"""
#: Links of MoveIt's URDF, the root link first, and the root link's position in the world [m].
LINKS, MOUNT = ("mount", "hand", "left_finger", "right_finger"), (0.0, 0.0, 0.7)
#: Joint positions: open around the cube, closed on the cube, lifted, and open above.
AROUND, CLOSED = (-0.24, 0.02, 0.02), (-0.24, 0.035, 0.035)
LIFTED, ABOVE = (-0.15, 0.035, 0.035), (-0.15, 0.02, 0.02)


class MoveGroup:
    """A planning scene, to which differences are applied by MoveIt's rules."""

    def __init__(self, peer):
        self.world, self.attached, self.wrong, self.count = {}, {}, [], 0
        peer.node.create_subscription(PlanningScene, "planning_scene", self.take, 10)

    def take(self, scene):
        assert scene.is_diff
        assert scene.robot_state.is_diff
        # entries would replace MoveIt's whole collision matrix
        assert not scene.allowed_collision_matrix.entry_names
        self.count += 1
        for one in scene.robot_state.attached_collision_objects:
            self.attach(one)
        for one in scene.world.collision_objects:
            self.place(one)

    def attach(self, one):
        name = one.object.id
        if one.object.operation == CollisionObject.ADD:
            assert one.object.primitives or one.object.meshes
            # the pose must not depend on the state of the arm in MoveIt
            assert one.object.header.frame_id == one.link_name
            self.world.pop(name, None)
            self.attached[name] = one
        elif name in self.attached:
            self.world[name] = self.attached.pop(name).object
        else:
            self.wrong.append(f"{name} is not attached")

    def place(self, one):
        # MoveIt looks up no transforms for a scene, so the frame must be a link
        assert one.operation == CollisionObject.REMOVE or one.header.frame_id in LINKS
        if one.operation == CollisionObject.ADD:
            assert one.primitives or one.meshes or one.planes
            assert one.id not in self.attached, one.id
            self.world[one.id] = one
        elif one.id not in self.world:
            self.wrong.append(f"{one.id} is moved and not there")
        elif one.operation == CollisionObject.MOVE:
            assert not [*one.primitives, *one.meshes, *one.planes]
            self.world[one.id].pose = one.pose
        else:
            assert one.operation == CollisionObject.REMOVE
            del self.world[one.id]


@pytest.fixture
def scene(simulate, peer, tmp_path):
    (tmp_path / "scene.yaml").write_text(SCENE)
    words = ("command_timeout:=60.0", "on_timeout:=hold")
    given = [word for one in words for word in ("-p", one)]
    simulate("--scene", tmp_path / "scene.yaml", "--ros-args", *given)
    return MoveGroup(peer)


def place(pose):
    return np.array([pose.position.x, pose.position.y, pose.position.z])


def world_place(one):
    """Return the position of an object in the world [m]."""
    assert one.header.frame_id == "mount"
    return place(one.pose) + MOUNT


def test_shapes_and_positions_match_the_scene_file(scene, peer):
    peer.until(lambda: {"cube", "pill", "table", "pole"} <= scene.world.keys())
    cube, table, pole = (scene.world[name] for name in ("cube", "table", "pole"))
    (box,) = cube.primitives
    assert (box.type, list(box.dimensions)) == (box.BOX, [0.04, 0.04, 0.04])
    assert list(table.primitives[0].dimensions) == [0.6, 0.8, 0.3]
    assert world_place(table) == pytest.approx([0.0, 0.0, 0.15])
    (post,) = pole.primitives  # dimensions: height, radius
    assert (post.type, list(post.dimensions)) == (post.CYLINDER, [0.5, 0.02])
    kinds = [(one.type, list(one.dimensions)) for one in scene.world["pill"].primitives]
    assert kinds == [(box.CYLINDER, [0.05, 0.01]), (box.SPHERE, [0.01]), (box.SPHERE, [0.01])]
    ends = [place(one)[2] for one in scene.world["pill"].primitive_poses]
    assert ends == pytest.approx([0.0, -0.025, 0.025])
    poses = peer.hear(TFMessage, "object_poses")
    peer.spin(0.5)
    true = {one.child_frame_id: one.transform.translation for one in poses[-1].transforms}
    for name in ("cube", "pill"):
        at = true[name]
        assert world_place(scene.world[name]) == pytest.approx([at.x, at.y, at.z], abs=1e-3)
    assert not scene.wrong


def test_a_gripped_cube_is_attached_and_then_detached(scene, peer):
    publisher = peer.publisher(JointState, "joint_commands")
    joints = ["lift", "left", "right"]
    states = peer.hear(JointState, "joint_states")

    def go(position, condition):
        message = JointState(name=joints, position=list(map(float, position)))
        peer.insist(publisher, message, condition)

    def near(goal):
        by_name = dict(zip(states[-1].name, states[-1].position, strict=True))
        return max(abs(by_name[name] - q) for name, q in zip(joints, goal, strict=True)) < 3e-3

    go(AROUND, lambda: near(AROUND))
    assert "cube" not in scene.attached
    closed = lambda: states[-1].position[states[-1].name.index("left")] > 0.029  # noqa: E731
    go(CLOSED, closed)
    go(LIFTED, lambda: "cube" in scene.attached)
    one = scene.attached["cube"]
    assert (one.link_name, one.touch_links) == ("hand", ["hand", "left_finger", "right_finger"])
    # the fingers hold the cube at 0.32 m, and the hand is at 0.7 m + AROUND[0] = 0.46 m
    assert place(one.object.pose) == pytest.approx([0.0, 0.0, -0.14], abs=0.01)
    assert "cube" not in scene.world
    go(ABOVE, lambda: "cube" in scene.world)
    peer.until(lambda: world_place(scene.world["cube"])[2] < 0.33)
    assert not scene.wrong


def test_the_planning_scene_follows_spawned_attached_and_deleted_objects(scene, peer):
    request = SpawnEntity.Request(name="ball", initial_pose=PoseStamped())
    text = '<robot name="ball"><link name="ball"><inertial><mass value="0.1"/><inertia ixx="1e-4" '
    text += 'iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry>'
    text += '<sphere radius="0.03"/></geometry></collision></link></robot>'
    request.entity_resource.resource_string = text
    request.initial_pose.pose.position.x = 0.2
    request.initial_pose.pose.position.z = 1.0
    answer = peer.call(SpawnEntity, "/simulator/spawn_entity", request)
    assert answer.result.result == 1, answer.result.error_message
    peer.until(lambda: "ball" in scene.world)
    weld = Attach.Request(link="ball", to="hand")
    done = peer.call(Attach, "/simulator/attach", weld)
    assert done.success, done.message
    peer.until(lambda: "ball" in scene.attached)
    assert scene.attached["ball"].link_name == "hand"
    peer.call(Attach, "/simulator/detach", weld)
    peer.until(lambda: "ball" in scene.world)
    peer.call(Attach, "/simulator/attach", weld)
    peer.until(lambda: "ball" in scene.attached)
    # an attached object can be deleted, too
    answer = peer.call(
        DeleteEntity, "/simulator/delete_entity", DeleteEntity.Request(entity="ball")
    )
    assert answer.result.result == 1, answer.result.error_message
    peer.until(lambda: "ball" not in scene.world and "ball" not in scene.attached)
    assert not scene.wrong
