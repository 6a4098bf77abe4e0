# SPDX-License-Identifier: Apache-2.0
"""Objects are spawned and deleted in a simulator in this process; refusals have no effect."""

import os
from contextlib import ExitStack
from dataclasses import replace

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("simulation_interfaces.srv", reason="simulation_interfaces is not built")
pytest.importorskip("rbdyn_interfaces.srv", reason="rbdyn_interfaces is not built")

import numpy as np
from rclpy.parameter import Parameter
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.engine.compiler import jit

if jit.DISABLED:
    pytest.skip("the loop needs compiled code", allow_module_level=True)

from rbdyn_ros.errors import ModelError, ParameterError, RbdynError
from rbdyn_ros.ros.simulator.embedded import embedded
from rbdyn_ros.ros.simulator.services.simulation_services import SavedStates
from rbdyn_ros.ros.simulator.services.world_files import read_world
from rbdyn_ros.ros.simulator.setup import Setup
from rbdyn_ros.ros.simulator.world.world import SpawnedRobot
from rbdyn_ros.runtime.types import Wrench
from rbdyn_ros.share import bundled_robot

SHELF = """<robot name="shelf"><link name="board"><inertial><mass value="2"/>
  <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial>
  <collision><geometry><box size="0.3 0.3 0.04"/></geometry></collision></link>
  <joint name="drawer" type="prismatic"><parent link="board"/><child link="box"/>
    <axis xyz="1 0 0"/><limit lower="-0.1" upper="0.1" effort="5" velocity="1"/></joint>
  <link name="box"><inertial><mass value="0.5"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
</robot>"""
WORLD = """rbdyn_scene: 1
objects:
  cube: {box: {size: [0.04, 0.04, 0.04]}, mass: 0.1, xyz: [0, 0, 0.32]}
  post: {box: {size: [0.2, 0.2, 0.2]}, mass: 1, xyz: [2, 0, 0.4]}
obstacles:
  table: {box: {size: [0.6, 0.8, 0.3]}, xyz: [0, 0, 0.15]}
  block: {box: {size: [0.3, 0.3, 0.3]}, xyz: [2, 0, 0.15]}
"""
ROBOT = "robot: {{file: {}, xyz: [0, 0, 0.7]}}\n"
SHELVES = "  shelf: {file: shelf.urdf, xyz: [-2, 0, 0.02]}\n"


@pytest.fixture
def simulated(tmp_path, domain, monkeypatch, request):
    """Yield simulated(parameter=value, ...), which starts a paused simulator in this process."""
    monkeypatch.setenv("ROS_DOMAIN_ID", str(domain))
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    gripper = request.config.rootpath / "config/scenes/gripper.urdf"
    (tmp_path / "shelf.urdf").write_text(SHELF)
    scene = tmp_path / "scene.yaml"
    scene.write_text(WORLD.replace("objects:\n", f"{ROBOT.format(gripper)}objects:\n{SHELVES}"))
    with ExitStack() as stack:

        def start(**values):
            given = {"start_paused": True, "realtime": "off", "publish_clock": False}
            if "urdf" not in values:
                given["scene"] = str(scene)
            node = stack.enter_context(embedded(Setup(given | values, locked=False)))
            return Simulated(node)

        yield start


class Simulated:
    """The simulation of a node, with helpers of the tests."""

    def __init__(self, node):
        self.node, self.simulation = node, node._simulation
        self.robot, self.entities = self.simulation.robots[0], self.simulation.entities

    def now(self):
        """Return what a refusal must not change: entities, tick and state hash."""
        simulation = self.simulation
        return self.entities.names(), simulation.tick, simulation.state_hash()

    def load_world(self, text):
        """Load the world in a text, as the service LoadWorld does."""
        self.simulation.load_world(*read_world("", text, self.entities.first_scene, True))
        self.node._standard._stop()


def box(name, *xyz, size=0.05):
    return rb.Object(name, rb.Box((size, size, size)), mass=0.1, pose=rb.pose(xyz))


SENSORS = {
    "imu": "{type: imu, link: cube}",
    "touch": "{type: contact, link: cube}",
    "drawer": "{type: force_torque, joint: shelf/drawer}",
    "scan": "{type: range, link: hand, rate: 100, near: 0.1, far: 9, exclude: [cube]}",
}


@pytest.mark.parametrize("name", SENSORS)
def test_entities_with_a_sensor_cannot_be_deleted(simulated, tmp_path, name):
    sensors = tmp_path / "sensors.yaml"
    sensors.write_text(f"rbdyn_sensors: 1\nsensors:\n  {name}: {SENSORS[name]}\n")
    sim = simulated(sensors=str(sensors))
    sim.simulation.step(5)
    before = sim.now()
    changes = (
        lambda: sim.entities.delete("shelf" if name == "drawer" else "cube"),
        lambda: sim.load_world("rbdyn_scene: 1\n"),
        sim.simulation.unload_world,
    )
    for change in changes:
        with refused(ModelError, "sensor-part", name):
            change()
        assert sim.now() == before
    sim.entities.delete("post")
    sim.simulation.step(5)


def diverge(sim):
    """Push the post of the scene so hard that the simulation diverges."""
    body, zero = sim.robot.m.body_id("post"), np.zeros(3)
    sim.robot.loop.orders.push(Wrench(body, zero, np.array([1e15, 0.0, 0.0]), zero, False, 0.05))
    sim.simulation.step(30)
    assert sim.simulation.diverged
    with refused(RbdynError, "request"):
        sim.entities.delete("cube")


def goes_on(sim):
    assert not sim.simulation.diverged
    tick = sim.simulation.tick
    sim.simulation.step(5)
    return sim.simulation.tick == tick + 5 and not sim.simulation.diverged


def spawn(sim):
    sim.entities.spawn(box("extra", 1.0, 0.0, 1.0))


def attach(sim):
    sim.robot.attach("cube", "hand")


@pytest.mark.parametrize("change", [spawn, attach])
def test_a_simulation_that_diverged_after_a_world_change_can_be_reset(simulated, change):
    sim = simulated()
    start, saved = sim.now(), SavedStates(sim.simulation)
    saved.save("start")

    def again():
        change(sim)
        diverge(sim)

    again()
    sim.simulation.reset(state=True)
    assert sim.robot.world.attached == ()
    assert ("extra" in sim.entities.names()) == (change is spawn)
    assert goes_on(sim)
    sim.simulation.reset(time=True, state=True, robot=True)
    again()
    with refused(RbdynError, "request"):
        sim.simulation.reset(robot=True)  # this reset keeps the diverged state
    sim.node._standard._stop()
    assert sim.now() == start
    again()
    saved.load("start")
    assert sim.now() == start
    again()
    sim.simulation.unload_world()
    sim.node._standard._stop()
    assert (sim.simulation.diverged, sim.entities.names()) == (False, ["scene"])
    sim.load_world(WORLD)
    again()
    sim.load_world("rbdyn_scene: 1\n")  # the new world lacks the diverged object
    assert goes_on(sim)


def test_objects_with_joints_can_be_deleted_while_memory_is_shared(simulated):
    sim = simulated(shared_memory=f"worlds{os.getpid()}")
    assert "shelf/drawer" in sim.robot.m.jnt_names
    sim.simulation.step(5)
    sim.entities.delete("shelf")
    assert "shelf" not in sim.entities.names()
    sim.simulation.step(5)
    assert sim.robot.loop.readout.latest().tick == sim.simulation.tick
    sim.load_world("rbdyn_scene: 1\n")
    assert sim.entities.names() == ["scene", "floor"]


def set_faults(sim, **values):
    """Set parameters of faults; return the reason for a refusal, or ''."""
    changes = [Parameter(f"faults.{name}", value=value) for name, value in values.items()]
    result = sim.node.set_parameters_atomically(changes)
    return "" if result.successful else result.reason


def faults_of(sim, *names):
    return [list(sim.node.get_parameter(f"faults.{name}").value) for name in names]


def test_fault_parameters_follow_joints_that_are_added_and_deleted(simulated):
    sim = simulated()
    both, saved = ("stuck_joints", "encoder_noise"), SavedStates(sim.simulation)
    noise = [0.0, 1e-3, 2e-3]
    assert set_faults(sim, stuck_joints=["shelf/drawer", "lift"], encoder_noise=noise) == ""
    saved.save("shelf")
    sim.entities.delete("shelf")
    assert faults_of(sim, *both) == [["lift"], noise]
    crane = SpawnedRobot("/crane", SHELF, None)
    sim.entities.spawn(rb.Object("crane", SHELF, pose=rb.pose((3.0, 0.0, 1.0))), crane)
    assert "crane/drawer" in sim.robot.m.jnt_names
    assert faults_of(sim, *both) == [["lift"], [*noise, 0.0]]
    assert set_faults(sim, command_delay=0.001) == ""
    saved.save("crane")
    expected = sim.now()

    assert set_faults(sim, stuck_joints=["crane/drawer"]) == ""
    sim.entities.spawn(box("extra", 1.0, 0.0, 1.0))
    saved.load("crane")
    assert sim.now() == expected
    assert faults_of(sim, *both) == [["lift"], [*noise, 0.0]]
    saved.load("shelf")
    assert faults_of(sim, *both) == [["shelf/drawer", "lift"], noise]
    stuck = np.flatnonzero(sim.robot.loop.plant.faults.stuck)
    assert [sim.robot.m.jnt_names[j] for j in sim.robot.m.dof_jntid[stuck]] == [
        "lift", "shelf/drawer"
    ]  # fmt: skip


def test_loading_a_saved_state_with_invalid_faults_has_no_effect(simulated):
    sim = simulated()
    sim.entities.spawn(box("extra", 1.0, 0.0, 1.0))
    state = sim.robot.save_state()
    name = "faults.stuck_joints"
    wrong = {**state.faults, name: Parameter(name, value=["lid"])}
    sim.entities.delete("extra")
    before = sim.now()
    with refused(ParameterError, "fault", name):
        sim.robot.load_state(replace(state, faults=wrong))
    assert sim.now() == before


def place(sim, name):
    m, q = sim.robot.m, sim.robot.loop.readout.latest().qpos
    at = m.jnt_qposadr[m.jnt_id(name)]
    return q[at : at + 7].tolist()


def test_a_reset_returns_a_deleted_object_to_its_start_without_moving_others(simulated):
    sim = simulated()
    start = place(sim, "cube")
    sim.entities.delete("cube")
    sim.entities.spawn(box("cube", 1.0, 0.0, 1.0))
    sim.simulation.step(50)
    post = place(sim, "post")
    sim.simulation.reset(robot=True)
    assert place(sim, "cube") == start  # the old cube is back at its start
    assert place(sim, "post") == post


@pytest.mark.parametrize("name", ["cube", "table"])
def test_a_reset_that_would_put_an_object_into_another_object_is_refused(simulated, name):
    sim = simulated()
    first = sim.now()
    sim.entities.delete(name)
    at = (0.0, 0.0, 0.25)
    still = (0.0,) * 3
    sim.entities.set_state("post", (at, (1.0, 0.0, 0.0, 0.0)), (still, still))
    before = sim.now()
    with refused(RbdynError, "no-room"):
        sim.simulation.reset(robot=True)
    assert sim.now() == before
    sim.simulation.reset(time=True, state=True, robot=True)
    assert sim.now() == first


def contact_of(sim, name):
    """Return the contact force on an object [N]."""
    return sim.robot.loop.readout.latest().contact[sim.robot.m.body_id(name), :3]


def test_an_object_that_reuses_the_name_of_an_obstacle_has_contact(simulated):
    sim = simulated()
    sim.simulation.step(300)
    sim.robot.attach("post", "world")
    sim.entities.delete("block")
    sim.entities.spawn(box("block", 2.0, 0.0, 0.6, size=0.1))
    sim.simulation.step(600)
    assert place(sim, "block")[2] == pytest.approx(0.55, abs=1e-3)


@pytest.mark.parametrize("pair", [("cube", "mount"), ("mount", "cube")])
def test_bodies_attached_to_the_world_get_no_contact_forces_from_the_world(simulated, pair):
    """`mount` is fixed to the world, like the table under the cube."""
    sim = simulated()
    sim.simulation.step(300)
    assert contact_of(sim, "cube")[2] == pytest.approx(0.1 * 9.81, rel=1e-3)
    sim.robot.attach(*pair)
    sim.simulation.step(5)
    assert contact_of(sim, "cube").tolist() == [0.0, 0.0, 0.0]


def test_changes_that_specialised_code_cannot_follow_are_refused(simulated):
    arm = str(bundled_robot("seven_dof_arm"))
    sim = simulated(urdf=arm, specialize=True)
    first, saved = sim.now(), SavedStates(sim.simulation)
    saved.save("start")
    sim.simulation.step(200)
    expected = sim.now()
    with refused(RbdynError, "specialized"):
        sim.robot.attach("tool_flange", "world")
    assert sim.now() == expected
    sim.robot.payloads.set_payload("tool_flange", 1.0, (0.0,) * 3, (0.1, 0.1, 0.1, 0.0, 0.0, 0.0))
    sim.simulation.unload_world()
    sim.load_world("rbdyn_scene: 1\nfloor: false\n")
    assert sim.now() == first
    sim.simulation.step(200)
    assert sim.now() == expected
    saved.load("start")
    sim.simulation.step(200)
    assert sim.now() == expected


def test_a_simulation_with_a_spawned_object_does_not_count_as_stopped(simulated):
    """Otherwise a request to stop, which removes the object, would have no effect."""
    sim = simulated()
    standard, saved = sim.node._standard, SavedStates(sim.simulation)
    stopped, paused = 0, 2

    def stop():
        standard._stop()
        assert (standard._state(), sim.entities.names()) == (stopped, first)

    first = sim.entities.names()
    assert standard._state() == stopped
    sim.entities.spawn(box("extra", 1.0, 0.0, 1.0))
    assert (standard._state(), sim.simulation.tick) == (paused, 0)
    saved.save("extra")
    stop()
    saved.load("extra")
    assert (standard._state(), sim.simulation.tick) == (paused, 0)
    stop()
    sim.robot.payloads.set_gravity((0.0, 0.0, -1.6))
    assert standard._state() == paused
    stop()
