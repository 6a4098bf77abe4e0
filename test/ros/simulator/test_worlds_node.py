# SPDX-License-Identifier: Apache-2.0
"""Services over DDS find worlds, and load them into a running simulator."""

from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("simulation_interfaces.srv", reason="simulation_interfaces is not built")
pytest.importorskip("tf2_msgs.msg", reason="tf2_msgs is not built")

from commander import Commander
from sensor_msgs.msg import JointState
from simulation_interfaces import srv
from simulation_interfaces.msg import SimulationState, SimulatorFeatures
from standard_services import done, hash_of, refused
from std_srvs.srv import SetBool, Trigger

pytestmark = pytest.mark.skipif(
    not hasattr(srv, "LoadWorld"), reason="simulation_interfaces is older than rbdyn_ros"
)

SCENE = "config/scenes/gripper.yaml"
TABLES = "config/worlds/tables.yaml"
SLAB = """rbdyn_scene: 1
name: slab
description: a slab with a cube
tags: [bare, test]
floor: false
obstacles:
  slab: {box: {size: [4, 4, 0.2]}, xyz: [0, 0, -0.5]}
objects:
  cube: {box: {size: [0.1, 0.1, 0.1]}, mass: 1, xyz: [1, 0, 0.5]}
"""
OK, NOT_FOUND, INCORRECT_STATE, FAILED = 1, 2, 3, 4
PLAYING, STOPPED, NO_WORLD = 1, 0, 4


@pytest.fixture
def load(ask):
    def call(uri="", text=""):
        request = srv.LoadWorld.Request()
        resource = getattr(request, "world_resource", None) or request.level_resource
        resource.uri, resource.resource_string = uri, text
        given = {key: getattr(request, key) for key in request.get_fields_and_field_types()}
        return ask("LoadWorld", **given)

    return call


def set_state(ask, wanted):
    return ask("SetSimulationState", state=SimulationState(state=wanted))


def state(ask):
    return done(ask("GetSimulationState")).state.state


def height(ask, name):
    return done(ask("GetEntityState", entity=name)).state.pose.position.z


def resource_of(world):
    return getattr(world, "world_resource", None) or world.level_resource


def test_a_loaded_world_replaces_the_old_one_and_a_reset_returns_to_it(simulate, peer, ask, load):
    simulate("--scene", SCENE, "--ros-args", "-p", "on_timeout:=hold")
    assert state(ask) == PLAYING
    first = done(ask("GetCurrentWorld")).world
    assert (first.name, resource_of(first).uri.endswith(SCENE)) == ("gripper", True)

    loaded = done(load(TABLES)).world
    assert (loaded.name, loaded.tags) == ("tables", ["indoor", "manipulation"])
    assert state(ask) == STOPPED
    names = ["gripper", "box", "ball", "floor", "table", "shelf"]
    assert done(ask("GetEntities")).entities == names
    assert done(ask("GetCurrentWorld")).world == loaded
    start, begin = hash_of(peer), height(ask, "box")

    done(set_state(ask, PLAYING))
    peer.until(lambda: height(ask, "box") < begin)
    done(ask("DeleteEntity", entity="ball"))
    scope = srv.ResetSimulation.Request
    peer.pause(True)
    done(ask("ResetSimulation", scope=scope.SCOPE_ALL))
    assert done(ask("GetEntities")).entities == names
    assert hash_of(peer) == start

    # a world can also be given as a text
    assert done(load(text=SLAB)).world.name == "slab"
    assert done(ask("GetEntities")).entities == ["gripper", "cube", "slab"]
    done(set_state(ask, PLAYING))
    peer.until(lambda: abs(height(ask, "cube") + 0.35) < 1e-3)

    # a world file may name the robot, which exists already
    assert done(load(SCENE)).world.name == "gripper"
    assert "table" in done(ask("GetEntities")).entities


def test_a_simulation_without_a_world_cannot_be_started(simulate, peer, ask, load):
    own = pytest.importorskip("rbdyn_interfaces.srv")
    simulate("--scene", SCENE, "--paused", "--ros-args", "-p", "on_timeout:=hold")
    states = peer.hear(JointState, "joint_states")
    saved = peer.call(own.SaveState, "/simulator/save_state", own.SaveState.Request(name="begin"))
    assert saved.success, saved.message
    done(ask("UnloadWorld"))
    assert state(ask) == NO_WORLD
    assert done(ask("GetEntities")).entities == ["gripper"]
    refused(ask("GetCurrentWorld"), 101, "no world is loaded")
    refused(ask("UnloadWorld"), 101, "no world is loaded")
    refused(set_state(ask, PLAYING), INCORRECT_STATE, "no world is loaded")
    refused(ask("StepSimulation", steps=1), FAILED, "no world is loaded")
    for kind, name, fields in (
        (SetBool, "pause", {"data": False}),
        (Trigger, "step", {}),
    ):
        answer = peer.call(kind, f"/simulator/{name}", kind.Request(**fields))
        assert not answer.success
        assert "no world is loaded" in answer.message
    done(ask("ResetSimulation"))
    assert state(ask) == NO_WORLD

    # a saved state includes the world
    loaded = peer.call(own.LoadState, "/simulator/load_state", own.LoadState.Request(name="begin"))
    assert (loaded.success, loaded.state_hash) == (True, saved.state_hash), loaded.message
    assert done(ask("GetCurrentWorld")).world.name == "gripper"
    done(ask("UnloadWorld"))
    done(load(TABLES))
    count = len(states)
    done(set_state(ask, PLAYING))
    peer.until(lambda: len(states) > count)
    assert states[-1].name == ["lift", "left", "right"]


def test_a_refused_world_changes_nothing(simulate, peer, ask, load, tmp_path):
    simulate("--scene", SCENE, "--paused")
    before, codes = hash_of(peer), srv.LoadWorld.Response
    bad = tmp_path / "bad.yaml"

    def broken(text, code, words, hidden="the simulator logged why"):
        """Assert that a world `text` is refused with `words`, but as a file with `hidden`."""
        bad.write_text(text)
        refused(load(str(bad)), code, hidden)
        refused(load(text=text), code, words)

    refused(load(), codes.NO_RESOURCE, "neither")
    refused(load("/no/where.yaml"), NOT_FOUND, "/no/where.yaml")
    refused(load("package://nowhere/a.yaml"), NOT_FOUND, "'nowhere'")
    refused(load("world.sdf"), codes.UNSUPPORTED_FORMAT, "'world.sdf'")
    refused(load("file:///no/world.usd"), codes.UNSUPPORTED_FORMAT, "world.usd")
    broken("rbdyn_scene: 1\nobjects: {a: {box: }", codes.RESOURCE_PARSE_ERROR, "line 3: ")
    broken("a: 1\n", codes.UNSUPPORTED_FORMAT, "not a scene file")
    light = "line 3: the scene cannot have the key 'light'"
    broken("rbdyn_scene: 1\n\nlight: 3\n", codes.UNSUPPORTED_ELEMENTS, light)
    size = "rbdyn_scene: 1\nobjects:\n  a: {box: {size: [1, 1, -1]}, mass: 1}\n"
    broken(size, codes.RESOURCE_PARSE_ERROR, "object 'a'")
    tags = "rbdyn_scene: 1\ntags: indoor\n"
    broken(tags, codes.RESOURCE_PARSE_ERROR, "line 2: tags are 'indoor', not a list of tags")
    mesh = "rbdyn_scene: 1\nobjects:\n  a: {mesh: {file: no.stl}, mass: 1}\n"
    broken(mesh, codes.MISSING_ASSETS, "no.stl")
    twice = "rbdyn_scene: 1\nobjects:\n  grip: {sphere: {radius: 1}, mass: 1}\n"
    broken(twice.replace("grip", "hand"), codes.RESOURCE_PARSE_ERROR, "'hand'")
    robot = twice.replace("grip", "gripper")
    broken(robot, codes.RESOURCE_PARSE_ERROR, "line 3: object 'gripper': a robot of the scene")
    inside = "rbdyn_scene: 1\nobjects:\n  a: {sphere: {radius: 1}, mass: 1, xyz: [0, 0, 2]}\n"
    broken(
        f"{inside}  b: {inside.splitlines()[2][5:]}\n", FAILED, "inside object", "inside object"
    )
    robot = "rbdyn_scene: 1\nrobots: {left: {file: robot.urdf}}\n"
    broken(robot, codes.UNSUPPORTED_ELEMENTS, *["has the robots 'left'"] * 2)
    (tmp_path / "copy.yaml").write_text(Path(SCENE).read_text())
    refused(load(str(tmp_path / "copy.yaml")), codes.UNSUPPORTED_ELEMENTS, "has a robot")

    assert hash_of(peer) == before
    assert done(ask("GetCurrentWorld")).world.name == "gripper"
    assert state(ask) == STOPPED
    features = set(ask("GetSimulatorFeatures").features.features)
    names = ("WORLD_LOADING", "WORLD_RESOURCE_STRING", "WORLD_UNLOADING", "WORLD_INFO_GETTING",
             "AVAILABLE_WORLDS", "WORLD_TAGS", "ENTITY_TAGS", "ENTITY_INFO_SETTING")  # fmt: skip
    assert {getattr(SimulatorFeatures, name) for name in names} <= features


def test_worlds_are_found_in_folders_by_their_tags(simulate, peer, ask, tmp_path):
    (tmp_path / "slab.yaml").write_text(SLAB)
    (tmp_path / "broken.yaml").write_text("rbdyn_scene: 1\ntags: {")
    (tmp_path / "arm.yaml").write_text("rbdyn_scene: 1\nrobot: arm.urdf\n")
    (tmp_path / "notes.txt").write_text("no world")
    more, empty = tmp_path / "more", tmp_path / "empty"
    more.mkdir()
    empty.mkdir()
    (more / "plain.yml").write_text("rbdyn_scene: 1\n")
    simulate("--scene", SCENE, "--paused", "--ros-args", "-p", f"world_sources:=['{tmp_path}']")

    def found(**fields):
        return [world.name for world in done(ask("GetAvailableWorlds", **fields)).worlds]

    assert found() == ["gripper", "slab", "steps", "tables"]
    assert found(additional_sources=[f"file://{more}"])[-1] == "plain"
    filters = srv.GetAvailableWorlds.Request().filter
    filters.tags = ["bare", "outdoor"]
    assert found(filter=filters) == ["slab", "steps"]
    filters.filter_mode = filters.FILTER_MODE_ALL
    assert found(filter=filters) == []
    filters.tags = ["bare", "test"]
    assert found(filter=filters) == ["slab"]
    filters.filter_mode = 7
    refused(ask("GetAvailableWorlds", filter=filters), FAILED, "filter_mode is 7")

    online, gone = "https://worlds.org/a", str(tmp_path / "gone")
    refused(ask("GetAvailableWorlds", additional_sources=[online]), 0, "is online")
    assert found(additional_sources=[online], offline_only=True)[-1] == "tables"
    refused(ask("GetAvailableWorlds", additional_sources=[gone]), NOT_FOUND, gone)
    assert found(additional_sources=[gone], continue_on_error=True)[-1] == "tables"
    peer.set_parameters({})
    slab = next(w for w in done(ask("GetAvailableWorlds")).worlds if w.name == "slab")
    assert slab.description == "a slab with a cube"
    assert resource_of(slab).uri == str(tmp_path / "slab.yaml")


def test_a_missing_folder_of_worlds_has_its_own_result_code(simulate, ask):
    simulate("config/robots/pendulum.urdf", "--paused",
             "--ros-args", "-p", "world_sources:=['/no/where']")  # fmt: skip
    refused(ask("GetAvailableWorlds"), 101, "/no/where")
    assert len(done(ask("GetAvailableWorlds", continue_on_error=True)).worlds) == 2


def test_loading_worlds_is_refused_without_contact_and_for_separate_robots(simulate, ask, load):
    simulate("config/robots/pendulum.urdf", "--paused")
    world = done(ask("GetCurrentWorld")).world
    assert world.name == "empty"
    refused(load(TABLES), FAILED, "without contact")
    done(ask("UnloadWorld"))
    done(load(text=resource_of(world).resource_string))
    assert state(ask) == STOPPED


def test_a_scene_without_robots_can_be_unloaded(simulate, peer, ask, load):
    simulate("--scene", TABLES, "--paused")
    before = hash_of(peer)
    done(ask("UnloadWorld"))
    assert done(ask("GetEntities")).entities == ["tables"]
    done(load(text=SLAB))
    peer.pause(False)
    peer.until(lambda: height(ask, "cube") < 0.5)
    done(load(TABLES))
    assert hash_of(peer) == before


def test_a_legged_robot_stands_on_the_ground_of_a_loaded_world(simulate, ask, load):
    simulate("config/scenes/gripper.urdf", "--floating-base", "--paused",
             "--ros-args", "-p", "contact:=true")  # fmt: skip
    assert done(ask("GetCurrentWorld")).world.name == "floor"
    before = height(ask, "gripper")
    done(load(text=SLAB.replace("-0.5", "0")))
    assert height(ask, "gripper") == pytest.approx(before + 0.1)
    done(load(TABLES))
    assert height(ask, "gripper") == pytest.approx(before)


def test_a_world_can_be_loaded_in_lockstep(simulate, peer, ask, load, two_joints):
    simulate(two_joints, "--ros-args", "-p", "time_mode:=lockstep", "-p", "lockstep_timeout:=0.0",
             "-p", "contact:=true")  # fmt: skip
    states = peer.collect(JointState, "joint_states")
    commander = Commander(peer.node, ["turn", "lift"], 1)
    commander.end, commander.done = 20, False
    peer.until(lambda: commander.done)
    done(load(text=SLAB))
    assert state(ask) == STOPPED
    count = len(states)
    done(set_state(ask, PLAYING))
    commander.end, commander.done = 20, False
    peer.until(lambda: commander.done and len(states) > count)
    peer.until(lambda: height(ask, "cube") < 0.5)


def test_no_world_is_loaded_while_a_run_is_recorded(simulate, peer, ask, load, tmp_path):
    pytest.importorskip("mcap")
    simulate("--scene", SCENE, "--paused", "--ros-args", "-p", f"record:={tmp_path / 'run.mcap'}")
    before = hash_of(peer)
    refused(load(TABLES), FAILED, "is recorded")
    refused(ask("UnloadWorld"), FAILED, "is recorded")
    assert hash_of(peer) == before
    assert done(ask("GetCurrentWorld")).world.name == "gripper"
