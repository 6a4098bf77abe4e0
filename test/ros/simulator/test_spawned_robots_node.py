# SPDX-License-Identifier: Apache-2.0
"""Robots can be spawned into a running simulator, and then move by commands over DDS."""

from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("simulation_interfaces.srv", reason="simulation_interfaces is not built")
pytest.importorskip("tf2_msgs.msg", reason="tf2_msgs is not built")

from commander import Commander
from rclpy.exceptions import InvalidNamespaceException
from sensor_msgs.msg import JointState
from simulation_interfaces import srv
from simulation_interfaces.msg import EntityCategory
from standard_services import done, hash_of, refused
from std_msgs.msg import Float64MultiArray, String

import rbdyn_ros as rb
from rbdyn_ros.ros.common.graph.qos import LATCHED
from rbdyn_ros.ros.simulator.robot.spawned_robots import SpawnedRobots
from rbdyn_ros.ros.simulator.world.world import SpawnedRobot

pytestmark = pytest.mark.skipif(
    not hasattr(srv, "SpawnEntity"), reason="simulation_interfaces is older than rbdyn_ros"
)

SCENE = "config/scenes/gripper.yaml"
ARM = "config/robots/seven_dof_arm.urdf"
INERTIA = '<inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/>'
LINK = (
    f'<link name="{{}}"><inertial><mass value="1"/>{INERTIA}</inertial><collision><geometry>'
    '<box size="0.1 0.1 0.1"/></geometry></collision></link>'
)
JOINT = (
    '<joint name="{}" type="revolute"><parent link="{}"/><child link="{}"/><origin xyz="0 0 0.2"/>'
    '<axis xyz="0 0 1"/><limit lower="-3" upper="3" effort="5" velocity="9"/></joint>'
)
#: A robot with a floating base.
CART = f"""<robot name="cart">{LINK.format("deck")}{LINK.format("arm")}{LINK.format("tip")}
{JOINT.format("turn", "deck", "arm")}{JOINT.format("bend", "arm", "tip")}</robot>"""
#: A robot that is fixed to the world.
CRANE = CART.replace("cart", "crane").replace(
    '<link name="deck">',
    '<link name="world"/><joint name="foot" type="fixed"><parent link="world"/>'
    '<child link="deck"/></joint><link name="deck">',
)


@pytest.fixture
def spawn(ask):
    def call(name, text=CRANE, xyz=(3.0, 0.0, 0.5), uri="", **fields):
        request = srv.SpawnEntity.Request(name=name, **fields)
        resource = getattr(request, "entity_resource", request)
        resource.uri, resource.resource_string = uri, "" if uri else text
        at = request.initial_pose.pose.position
        at.x, at.y, at.z = map(float, xyz)
        given = {key: getattr(request, key) for key in request.get_fields_and_field_types()}
        return ask("SpawnEntity", **given)

    return call


def topics(peer):
    return {name for name, _ in peer.node.get_topic_names_and_types()}


def test_a_spawned_robot_follows_commands_in_its_namespace_until_it_is_deleted(
    simulate, peer, ask, spawn
):
    simulator = simulate("--scene", SCENE, "--ros-args", "-p", "command_timeout:=100.0")
    main = peer.hear(JointState, "joint_states")
    done(spawn("crane"))
    simulator.wait_for("spawned 'crane': states are on /crane/joint_states")
    states = peer.hear(JointState, "crane/joint_states")
    assert states[-1].name == ["turn", "bend"]
    text = peer.hear(String, "crane/robot_description", LATCHED)[-1].data
    assert text == CRANE
    info = done(ask("GetEntityInfo", entity="crane")).info
    assert info.category.category == EntityCategory.CATEGORY_ROBOT
    at = done(ask("GetEntityState", entity="crane")).state.pose.position
    assert (at.x, at.z) == (3.0, 0.5)
    high, low = done(ask("GetEntityBounds", entity="crane")).bounds.points
    assert (high.z, low.z) == pytest.approx((0.45, -0.05))

    # commands use the joint names of the spawned file
    goal = JointState(name=["bend", "turn"], position=[0.5, -0.3])
    send = lambda: peer.send(JointState, "crane/joint_commands", goal)  # noqa: E731
    peer.repeat(send, lambda: abs(states[-1].position[0] + 0.3) < 1e-2)
    peer.until(lambda: abs(states[-1].position[1] - 0.5) < 1e-2)
    push = Float64MultiArray(data=[0.2, 0.0])
    send = lambda: peer.send(Float64MultiArray, "crane/effort_commands", push)  # noqa: E731
    # wait for the joint limit, as a busy machine may lose states on the way
    peer.repeat(send, lambda: abs(states[-1].position[0] - 3.0) < 1e-2)
    assert main[-1].name == ["lift", "left", "right"]

    # a second, floating robot; deleting the first one will renumber its joints
    done(spawn("cart", CART, (6.0, 0.0, 0.3), entity_namespace="fleet/one"))
    cart = peer.hear(JointState, "fleet/one/joint_states")
    done(ask("DeleteEntity", entity="crane"))
    peer.until(lambda: "/crane/joint_commands" not in topics(peer))
    bent = JointState(name=["bend"], position=[0.7])
    send = lambda: peer.send(JointState, "fleet/one/joint_commands", bent)  # noqa: E731
    peer.repeat(send, lambda: abs(cart[-1].position[1] - 0.7) < 2e-2)
    assert done(ask("GetEntityState", entity="cart")).state.pose.position.z < 0.3
    done(ask("DeleteEntity", entity="cart"))
    peer.until(lambda: "/fleet/one/joint_commands" not in topics(peer))
    assert done(ask("GetEntities")).entities == ["gripper", "cube", "ball", "floor", "table"]
    simulator.end_well()


def test_resets_and_saved_states_remove_and_restore_the_topics_of_a_spawned_robot(
    simulate, peer, ask, spawn
):
    own = pytest.importorskip("rbdyn_interfaces.srv")
    simulate("--scene", SCENE, "--paused")
    before = hash_of(peer)
    done(spawn("crane"))
    saved = peer.call(own.SaveState, "/simulator/save_state", own.SaveState.Request(name="crane"))
    assert saved.success, saved.message
    peer.until(lambda: "/crane/joint_commands" in topics(peer))
    states = peer.hear(JointState, "crane/joint_states")
    placed = own.SetJointState.Request(name=["crane/bend"], position=[0.25])
    answer = peer.call(own.SetJointState, "/simulator/set_joint_state", placed)
    assert answer.success, answer.message
    peer.until(lambda: states[-1].position[1] == 0.25)
    done(ask("ResetSimulation"))
    assert hash_of(peer) == before
    peer.until(lambda: "/crane/joint_commands" not in topics(peer))
    loaded = peer.call(own.LoadState, "/simulator/load_state", own.LoadState.Request(name="crane"))
    assert (loaded.success, loaded.state_hash) == (True, saved.state_hash), loaded.message
    peer.until(lambda: "/crane/joint_commands" in topics(peer))


def test_invalid_robots_are_refused_and_change_nothing(simulate, peer, ask, spawn):
    simulate("--scene", SCENE, "--paused")
    codes = srv.SpawnEntity.Response
    done(spawn("crane"))
    before = hash_of(peer)
    refused(spawn("x", entity_namespace="a b"), codes.NAMESPACE_INVALID, "'a b'")
    refused(spawn("x", entity_namespace="crane"), codes.NAMESPACE_INVALID, "another robot")
    refused(spawn("x", entity_namespace="/"), codes.NAMESPACE_INVALID, "another robot")
    refused(spawn("x"), codes.INVALID_POSE, "inside 'crane/")
    refused(
        spawn("x", uri=f"{ARM}?actuators=2"), codes.RESOURCE_PARSE_ERROR, "allowed are 0 and 1"
    )
    refused(spawn("x", uri=f"{ARM}?mass=2"), codes.RESOURCE_PARSE_ERROR, "'actuators'")
    assert hash_of(peer) == before
    # a command for other joints is refused
    peer.send(JointState, "crane/joint_commands", JointState(name=["lift"], effort=[1.0]))
    assert hash_of(peer) == before


def test_a_spawned_robot_without_actuators_is_an_object(simulate, peer, ask, spawn, tmp_path):
    simulate("--scene", SCENE, "--paused")
    states = peer.hear(JointState, "joint_states")
    (tmp_path / "cart.urdf").write_text(CART)
    done(spawn("cart", uri=f"{tmp_path}/cart.urdf?actuators=0"))
    peer.until(lambda: states[-1].name[3:] == ["cart/turn", "cart/bend"])
    info = done(ask("GetEntityInfo", entity="cart")).info
    assert info.category.category == EntityCategory.CATEGORY_DYNAMIC_OBJECT
    assert "/cart/joint_states" not in topics(peer)


def test_lockstep_does_not_wait_for_a_spawned_robot(simulate, peer, spawn, two_joints):
    simulate(two_joints, "--ros-args", "-p", "time_mode:=lockstep", "-p", "lockstep_timeout:=0.0",
             "-p", "contact:=true")  # fmt: skip
    commander = Commander(peer.node, ["turn", "lift"], 1)
    for end in (20, 40):
        commander.end, commander.done = end, False
        peer.until(lambda: commander.done)
        if end == 20:
            done(spawn("crane", xyz=(30.0, 0.0, 0.5)))


# rclpy warns when it destroys a node whose constructor failed
@pytest.mark.filterwarnings("ignore:Failed to fini rosout publisher:RuntimeWarning")
def test_topics_that_were_opened_for_a_refused_world_are_closed(peer):
    def names():
        return {space for _, space in peer.node.get_node_names_and_namespaces()}

    arm = rb.load_urdf(ARM)
    scene = SimpleNamespace(m=arm, loose=SimpleNamespace(joints=()), robots={})
    loop = SimpleNamespace(settings=SimpleNamespace(time_mode="realtime"))
    outputs = SimpleNamespace(spawned=())
    robots = SpawnedRobots(peer.node, loop, outputs, None, None, "hold")
    scene.robots = {"one": SpawnedRobot("/one", "", None)}
    robots.prepare(scene)()
    peer.until(lambda: "/one" in names())
    before = outputs.spawned
    scene.robots = {
        "two": SpawnedRobot("/two", "<robot/>", None),
        "three": SpawnedRobot("/not a namespace", "", None),
    }
    with pytest.raises(InvalidNamespaceException):
        robots.prepare(scene)
    peer.until(lambda: "/two" in names())
    robots.abandon()
    peer.until(lambda: "/two" not in names())
    assert "/one" in names()
    assert outputs.spawned is before
    robots.close()


def test_commands_of_a_spawned_robot_are_counted_and_time_out(simulate, peer, ask, spawn):
    own = pytest.importorskip("rbdyn_interfaces.msg")
    simulator = simulate("--scene", SCENE, "--ros-args", "-p", "command_timeout:=0.3")
    stats = peer.hear(own.Statistics, "simulator/stats")
    done(spawn("crane"))

    def send(name):
        peer.send(JointState, "crane/joint_commands", JointState(name=[name], effort=[1.0]))

    peer.repeat(lambda: send("turn"), lambda: stats[-1].accepted > 0)
    simulator.wait_for("commands stopped")
    peer.repeat(lambda: send("lift"), lambda: stats[-1].rejected > 0)
    done(ask("DeleteEntity", entity="crane"))
    peer.until(lambda: "/crane/joint_commands" not in topics(peer))
    count = len(stats)
    peer.until(lambda: len(stats) > count + 2)
    assert (stats[-1].accepted, stats[-1].rejected) == (1, 1)
