# SPDX-License-Identifier: Apache-2.0
"""Objects can be spawned into a running simulator over DDS, and deleted again."""

import itertools
import os
import threading
from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("simulation_interfaces.srv", reason="simulation_interfaces is not built")
pytest.importorskip("tf2_msgs.msg", reason="tf2_msgs is not built")

from commander import Commander
from geometry_msgs.msg import Vector3
from sensor_msgs.msg import JointState
from simulation_interfaces import srv
from simulation_interfaces.msg import EntityCategory, SimulatorFeatures
from standard_services import done, refused
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage

import rbdyn_ros as rb
from rbdyn_ros.errors import RbdynError, refusal
from rbdyn_ros.nanoseconds import nanoseconds
from rbdyn_ros.ros.simulator.robot.payloads import Payloads
from rbdyn_ros.ros.simulator.robot.robot import Robot

pytestmark = pytest.mark.skipif(
    not hasattr(srv, "SpawnEntity"), reason="simulation_interfaces is older than rbdyn_ros"
)

SCENE = "config/scenes/gripper.yaml"
#: Obstacles of the scene.
FIXED = ("floor", "table")
BOX = "primitive:box?size=0.1,0.1,0.1&mass=0.2"
URDF = """<robot name="mallet"><link name="grip"><inertial><mass value="0.3"/>
<inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><cylinder radius="0.02" length="0.3"/></geometry></collision></link>
<link name="head"><inertial><mass value="0.5"/>
<inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision></link>
<joint name="hinge" type="revolute"><parent link="grip"/><child link="head"/>
<origin xyz="0 0 0.25"/><axis xyz="1 0 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/>
</joint></robot>"""


def wish(kind, name, uri=BOX, xyz=(1.0, 0.0, 0.5), text="", frame="", **fields):
    """Return a request of SpawnEntity, or one entry of a request of SpawnEntities."""
    request = kind(name=name, **fields)
    resource = getattr(request, "entity_resource", request)
    resource.uri, resource.resource_string = uri, text
    at = request.initial_pose.pose.position
    at.x, at.y, at.z = map(float, xyz)
    request.initial_pose.header.frame_id = frame
    return request


@pytest.fixture
def spawn(ask):
    def call(*arguments, **fields):
        request = wish(srv.SpawnEntity.Request, *arguments, **fields)
        given = {key: getattr(request, key) for key in request.get_fields_and_field_types()}
        return ask("SpawnEntity", **given)

    return call


def height(ask, name):
    return done(ask("GetEntityState", entity=name)).state.pose.position.z


def test_a_spawned_box_falls_on_the_table_and_is_deleted(simulate, peer, ask, spawn):
    simulate("--scene", SCENE, "--ros-args", "-p", "on_timeout:=hold")
    states = peer.hear(JointState, "joint_states")
    objects = peer.collect(TFMessage, "object_poses")
    assert done(spawn("box", xyz=(-0.15, 0.2, 0.6))).entity_name == "box"
    assert done(ask("GetEntities")).entities == ["gripper", "cube", "ball", "box", *FIXED]
    peer.until(lambda: abs(height(ask, "box") - 0.35) < 1e-3)
    peer.until(lambda: "box" in [t.child_frame_id for t in objects[-1].transforms])
    info = done(ask("GetEntityInfo", entity="box")).info
    assert info.category.category == EntityCategory.CATEGORY_DYNAMIC_OBJECT
    high, low = done(ask("GetEntityBounds", entity="box")).bounds.points
    assert (high.x, low.z) == pytest.approx((0.05, -0.05))

    # a region around the box contains nothing else
    filters = srv.GetEntities.Request().filters
    filters.bounds.type = filters.bounds.TYPE_SPHERE
    filters.bounds.points = [Vector3(x=-0.15, y=0.2, z=0.5), Vector3(x=0.11)]
    assert done(ask("GetEntities", filters=filters)).entities == ["box"]
    filters.bounds.points[1].x = 0.09
    assert done(ask("GetEntities", filters=filters)).entities == []

    # a second box lies on the first, and falls when the first is deleted
    done(spawn("second", xyz=(0.0, 0.0, 0.2), frame="box"))
    peer.until(lambda: abs(height(ask, "second") - 0.45) < 1e-3)
    done(ask("DeleteEntity", entity="box"))
    peer.until(lambda: abs(height(ask, "second") - 0.35) < 1e-3)
    assert done(ask("GetEntities")).entities == ["gripper", "cube", "ball", "second", *FIXED]
    count = len(states)
    peer.until(lambda: len(states) > count)
    assert states[-1].name == ["lift", "left", "right"]


def test_a_spawned_urdf_has_its_joints_and_a_fixed_box_does_not_fall(simulate, peer, ask, spawn):
    simulate("--scene", SCENE, "--paused", "--ros-args", "-p", "on_timeout:=hold")
    states = peer.hear(JointState, "joint_states")
    done(spawn("shelf", "primitive:box?size=0.4,0.4,0.1", (1.5, 0.0, 0.5)))
    answer = spawn("", "", (1.5, 0.0, 0.8), URDF, allow_renaming=True)
    assert done(answer).entity_name == "mallet"
    peer.until(lambda: peer.hear(JointState, "mallet/joint_states")[-1].name == ["hinge"])
    assert states[-1].name == ["lift", "left", "right"]
    assert done(ask("GetEntities")).entities[3:] == ["mallet", *FIXED, "shelf"]
    static = done(ask("GetEntityInfo", entity="shelf")).info.category.category
    assert static == EntityCategory.CATEGORY_STATIC_OBJECT
    assert height(ask, "shelf") == 0.5
    peer.pause(False)
    peer.until(lambda: 0.55 < height(ask, "mallet") < 0.75)
    peer.pause(True)
    done(ask("DeleteEntity", entity="shelf"))
    peer.pause(False)
    peer.until(lambda: height(ask, "mallet") < 0.5)


def test_a_distant_object_does_not_change_a_lockstep_run_of_the_robot(
    simulate, peer, ask, spawn, two_joints
):
    """A run is repeated from a saved state while an object is spawned and deleted."""
    own = pytest.importorskip("rbdyn_interfaces.srv")
    given = ("time_mode:=lockstep", "lockstep_timeout:=0.0", "seed:=7", "contact:=true")
    faults = (
        *("faults.command_delay:=0.003", "faults.command_jitter:=0.002"),
        *("faults.encoder_noise:=[0.001]", "faults.effort_noise:=[0.1]"),
    )
    simulate(two_joints, "--ros-args", *(w for p in (*given, *faults) for w in ("-p", p)))
    states = peer.collect(JointState, "joint_states", 1000)
    commander = Commander(peer.node, ["turn", "lift"], 1)
    until_tick(peer, commander, 30)
    saved = peer.call(own.SaveState, "/simulator/save_state", own.SaveState.Request(name="half"))
    assert saved.success, saved.message
    expected = until_tick(peer, commander, 90)
    alone = measured(states)

    commander.end, commander.done = 30, False
    loaded = peer.call(own.LoadState, "/simulator/load_state", own.LoadState.Request(name="half"))
    assert loaded.success, loaded.message
    states.clear()
    done(spawn("far", xyz=(50.0, 0.0, 40.0)))
    until_tick(peer, commander, 60)
    peer.until(lambda: height(ask, "far") < 40.0)  # the object falls while the robot moves
    done(ask("DeleteEntity", entity="far"))
    assert until_tick(peer, commander, 90) == expected
    # a busy machine may lose states of either run
    peer.until(lambda: len(measured(states).keys() & alone.keys()) > 40)
    beside = measured(states)
    both = beside.keys() & alone.keys()
    assert {stamp: beside[stamp] for stamp in both} == {stamp: alone[stamp] for stamp in both}


def measured(states):
    """Return positions and efforts of joint_states by their stamps [ns]."""
    return {nanoseconds(s.header.stamp): (tuple(s.position), tuple(s.effort)) for s in states}


def until_tick(peer, commander, tick):
    commander.end, commander.done = tick, False
    peer.until(lambda: commander.done)
    return peer.trigger("simulator/state_hash")


def test_invalid_objects_are_refused_and_change_nothing(simulate, peer, ask, spawn):
    simulate("--scene", SCENE, "--paused")
    before = peer.trigger("simulator/state_hash")
    codes = srv.SpawnEntity.Response
    refused(spawn("cube"), codes.NAME_NOT_UNIQUE, "'cube' is taken")
    refused(spawn("floor"), codes.NAME_NOT_UNIQUE, "'floor' is taken")
    refused(spawn("a/b"), codes.NAME_INVALID, "'a/b'")
    refused(spawn(""), codes.NAME_INVALID, "''")
    refused(spawn("x", entity_namespace="left"), codes.NAMESPACE_INVALID, "no topics")
    refused(spawn("x", ""), codes.NO_RESOURCE, "neither")
    refused(spawn("x", "", text="<robot"), codes.RESOURCE_PARSE_ERROR, "line 1")
    refused(spawn("x", "", text="mjcf"), codes.UNSUPPORTED_FORMAT, "begin with '<'")
    refused(spawn("x", "model.usd"), codes.UNSUPPORTED_FORMAT, "'model.usd'")
    refused(spawn("x", "/no/where.urdf"), codes.MISSING_ASSETS, "/no/where.urdf")
    refused(spawn("x", "package://nowhere/a.urdf"), codes.MISSING_ASSETS, "'nowhere'")
    refused(spawn("x", "primitive:cube?size=1"), codes.UNSUPPORTED_FORMAT, "'cube'")
    refused(spawn("x", "primitive:box?mass=1"), codes.RESOURCE_PARSE_ERROR, "size")
    refused(spawn("x", "primitive:sphere?radius=-1&mass=1"), codes.RESOURCE_PARSE_ERROR, "-1")
    refused(spawn("x", "primitive:sphere?radius=nan&mass=1"), codes.RESOURCE_PARSE_ERROR, "nan")
    refused(spawn("x", "primitive:sphere?r=1"), codes.RESOURCE_PARSE_ERROR, "'r'")
    hard = "primitive:box?size=1,1,1&restitution=0.5"
    refused(spawn("x", hard), codes.RESOURCE_PARSE_ERROR, "has no restitution")
    empty = "<robot name='a'><link name='b'/></robot>"
    refused(spawn("x", "", text=empty), codes.RESOURCE_PARSE_ERROR, "no mass")
    refused(spawn("x", xyz=(float("nan"), 0, 0)), codes.INVALID_POSE, "nan")
    refused(spawn("x", xyz=(0.0, 0.0, 0.32)), codes.INVALID_POSE, "object 'x' starts")
    refused(spawn("x", frame="nowhere"), 2, "'nowhere'")
    refused(ask("DeleteEntity", entity="nobody"), 2, "'nobody'")
    refused(ask("DeleteEntity", entity="world"), 2, "'world'")
    refused(ask("DeleteEntity", entity="gripper"), 4, "is a robot")
    refused(ask("GetEntityBounds", entity="nobody"), 2, "'nobody'")
    assert peer.trigger("simulator/state_hash") == before

    # a request with several entities spawns the valid ones
    if hasattr(srv, "SpawnEntities"):
        from simulation_interfaces.msg import SpawnEntity

        wishes = [("a", BOX, (5.0, 0.0, 1.0)), ("a", BOX, (6.0, 0.0, 1.0)), ("b", "x"),
                  ("b", BOX, (5.0, 0.0, 1.05)), ("b", BOX, (7.0, 0.0, 1.0))]  # fmt: skip
        answer = ask("SpawnEntities", spawn_requests=[wish(SpawnEntity, *one) for one in wishes])
        refused(answer, srv.SpawnEntities.Response.ENTITIES_SPAWN_FAILED, "3 of 5")
        found = [(one.result.result, one.entity_name) for one in answer.results]
        assert found == [(1, "a"), (codes.NAME_NOT_UNIQUE, ""), (codes.UNSUPPORTED_FORMAT, ""),
                         (codes.INVALID_POSE, ""), (1, "b")]  # fmt: skip
        for name in "ab":
            done(ask("DeleteEntity", entity=name))
        assert peer.trigger("simulator/state_hash") == before

    features = ask("GetSimulatorFeatures").features
    assert SimulatorFeatures.SPAWNING in features.features
    assert "urdf" in features.spawn_formats
    refused(ask("GetSpawnables", sources=["/tmp"]), 0, "sources must be empty, got '/tmp'")
    uris = [getattr(x, "entity_resource", x).uri for x in done(ask("GetSpawnables")).spawnables]
    for k, uri in enumerate(uris):
        done(spawn(f"example{k}", uri, (3.0 * k + 5.0, 0.0, 1.0)))
    assert len(done(ask("GetEntities")).entities) == 5 + len(uris)

    # resetting spawned entities removes them and restores the hash of the start
    scope = srv.ResetSimulation.Request
    done(ask("ResetSimulation", scope=scope.SCOPE_SPAWNED))
    assert done(ask("GetEntities")).entities == ["gripper", "cube", "ball", *FIXED]
    assert peer.trigger("simulator/state_hash") == before


MACRO = """<robot name="x" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:property name="kept" value="${xacro.load_yaml('keys.yaml')['token']}"/>
<link name="${kept}"/><link name="$(env HOME)"/></robot>"""
#: Files whose content must not appear in a response or in the log.
SECRETS = {
    "keys.yaml": "token: hunter2\n",
    "world.yaml": "rbdyn_scene: 1\nobjects:\n  a: {hunter2: 1}\n",
    "robot.xacro": MACRO,
    "arm.yaml": "rbdyn_mechanism: 1\nrobot: robot.xacro\n",
    "robot.urdf": URDF.replace("0.3", "hunter2"),
    "mesh.obj": "v 0 0 hunter2\nf 1 1 1\n",
}


def test_requests_neither_run_xacro_nor_reveal_files(simulate, ask, spawn, tmp_path):
    """Each request names a file, a file that includes another, or a text that includes a file."""
    pytest.importorskip("xacro")
    simulator = simulate("--scene", SCENE, "--paused")

    def load(uri="", text=""):
        request = srv.LoadWorld.Request()
        resource = getattr(request, "world_resource", None) or request.level_resource
        resource.uri, resource.resource_string = uri, text
        given = {key: getattr(request, key) for key in request.get_fields_and_field_types()}
        return ask("LoadWorld", **given)

    answers = {}
    for name, content in SECRETS.items():
        path = tmp_path / name
        path.write_text(content)
        shape = f"mesh: {{file: {path}}}, mass: 1" if path.suffix == ".obj" else f"file: {path}"
        text = f"rbdyn_scene: 1\nobjects:\n  x: {{{shape}}}\n"
        mass = "?mass=1" if path.suffix == ".obj" else ""
        answers[name] = spawn("x", f"{path}{mass}"), load(str(path)), load(text=text)
    for answer in itertools.chain(*answers.values()):
        assert answer.result.result != answer.result.RESULT_OK
        assert "hunter2" not in answer.result.error_message
        assert os.environ["HOME"] not in answer.result.error_message.replace(str(tmp_path), "")
    codes = srv.SpawnEntity.Response
    refused(answers["robot.xacro"][0], codes.UNSUPPORTED_FORMAT, "no service expands one")
    world_code = srv.LoadWorld.Response.RESOURCE_PARSE_ERROR
    refused(answers["robot.xacro"][2], world_code, "no service expands one")
    refused(answers["arm.yaml"][0], codes.RESOURCE_PARSE_ERROR, "no service expands one")
    refused(answers["robot.urdf"][0], codes.RESOURCE_PARSE_ERROR, "the simulator logged why")
    assert "hunter2" in simulator.text()


def test_spawning_is_refused_without_contact(simulate, spawn):
    simulate("config/robots/pendulum.urdf", "--paused")
    refused(spawn("x"), 4, "without contact")


def test_objects_can_be_spawned_beside_a_legged_robot_and_saved(simulate, peer, ask, spawn):
    own = pytest.importorskip("rbdyn_interfaces.srv")
    simulate("config/scenes/gripper.urdf", "--floating-base", "--paused",
             "--ros-args", "-p", "contact:=true")  # fmt: skip
    done(spawn("box", xyz=(3.0, 0.0, 0.5)))
    kept = peer.call(own.SaveState, "/simulator/save_state", own.SaveState.Request(name="with"))
    assert kept.success, kept.message
    done(ask("DeleteEntity", entity="box"))
    assert peer.trigger("simulator/state_hash") != kept.state_hash
    loaded = peer.call(own.LoadState, "/simulator/load_state", own.LoadState.Request(name="with"))
    assert (loaded.success, loaded.state_hash) == (True, kept.state_hash), loaded.message
    assert height(ask, "box") == 0.5
    assert peer.call(Trigger, "/simulator/step", Trigger.Request()).success
    assert height(ask, "box") < 0.5


@pytest.mark.parametrize("refusing", ["outputs", "spawned"])
def test_an_object_whose_topics_cannot_be_opened_is_not_spawned(refusing):
    """Otherwise the loop would simulate a world whose states are not published."""

    def prepare(part):
        def act(*_):
            if part == refusing:
                raise refusal("the topic cannot be opened")

        return act

    moved, abandoned = [], []
    m = rb.load_urdf("config/robots/pendulum.urdf")
    before = SimpleNamespace(m=m)
    robot = Robot(None, "", SimpleNamespace(seed=0), "")
    robot.world, robot.sensors = before, None
    robot.loop = SimpleNamespace(m=m, move=lambda *_: moved.append(1))
    robot.outputs = SimpleNamespace(lock=threading.RLock(), drain=None)
    robot.outputs.prepare = prepare("outputs")
    robot.spawned = SimpleNamespace(prepare=prepare("spawned"))
    robot.spawned.abandon = lambda: abandoned.append(1)
    robot.payloads = Payloads(robot.loop, None)
    world = SimpleNamespace(m=m.replaced(), start=m.qpos0, description=None, robots={})
    with pytest.raises(RbdynError, match="cannot be opened"):
        robot.enter(world)
    assert (moved, abandoned) == ([], [1])
    assert (robot.world, robot.payloads.m) == (before, m)
