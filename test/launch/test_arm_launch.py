# SPDX-License-Identifier: Apache-2.0
"""launch/gravity_compensation.launch.py and computed_torque.launch.py start their nodes."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("launch_ros", reason="launch and launch_ros are in no package registry")

import rclpy
from launch.launch_description_sources import PythonLaunchDescriptionSource
from rclpy.executors import SingleThreadedExecutor
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from support.robots import find

import launch
import rbdyn_ros as rb
from rbdyn_ros.ros.arm.parameters import PARAMETERS
from rbdyn_ros.share import bundled_robot

FOLDER = Path(__file__).parents[2] / "launch"
MODES = {
    "gravity_compensation.launch.py": "gravity",
    "computed_torque.launch.py": "computed_torque",
}
GRAVITY = "gravity_compensation.launch.py"
JOINTS = list(rb.load_urdf(bundled_robot("seven_dof_arm")).jnt_names)
ARM, PENDULUM = str(bundled_robot("seven_dof_arm")), str(bundled_robot("pendulum"))


@pytest.mark.parametrize("file", MODES)
def test_every_parameter_is_an_argument_and_has_a_description(file):
    source = PythonLaunchDescriptionSource(str(FOLDER / file))
    found = source.get_launch_description(launch.LaunchContext()).get_launch_arguments()
    arguments = {argument.name: argument for argument in found}
    assert {p.name for p in PARAMETERS} <= set(arguments)
    assert set(arguments) >= {"urdf", "namespace", "params_file", "sim", "discovery"}
    assert all(argument.description for argument in found)
    assert arguments["dry_run"].choices == ("", "true", "false")
    for parameter in PARAMETERS:
        if parameter.choices:
            assert arguments[parameter.name].choices == ("", *parameter.choices)


@pytest.mark.parametrize(("file", "mode"), MODES.items())
def test_a_launch_for_a_real_arm_starts_only_the_controller_in_a_dry_run(launch_file, file, mode):
    """The launch file does not set dry_run, which is true by default."""
    started = launch_file(file, f"urdf:={ARM}")
    told = started.told()
    assert told["/arm_controller"]["parameters"] == {
        "urdf": ARM,
        "mode": mode,
        "use_sim_time": False,
    }
    assert "simulator" not in started.text()


def test_arguments_have_the_types_of_parameters_and_only_given_topics_are_renamed(launch_file):
    told = launch_file(
        GRAVITY,
        "namespace:=left",
        "dry_run:=false",
        "gravity:=[0, 0, -1.5]",
        "joints:=[a, b]",
        "impedance.frame:=7",
        "computed_torque.stiffness:=[100]",
        "joint_states:=/driver/states",
        "mode:=hold",
    ).told()["/left/arm_controller"]
    assert told["parameters"] == {
        "dry_run": False,
        "gravity": [0.0, 0.0, -1.5],
        "joints": ["a", "b"],
        "impedance.frame": "7",
        "computed_torque.stiffness": [100],
        "mode": "hold",
        "use_sim_time": False,
    }
    assert "joint_states:=/driver/states" in told["argv"]
    assert "joint_commands:=joint_commands" not in told["argv"]


FILE = "/**: {ros__parameters: {dry_run: true, state_timeout: 0.2, blind_time: 0.3, mode: hold}}"


def test_a_simulator_replaces_the_arm_and_the_file_may_set_dry_run(launch_file, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(FILE)
    given = ("sim:=true", "blind_time:=0.5", "joint_states:=states")
    told = launch_file(GRAVITY, *given, f"params_file:={path}").told(2)
    assert told["/arm_controller"]["parameters"] == {
        "dry_run": True,
        "friction_compensation": 1.0,
        "simulated_clock": True,
        "state_timeout": 0.2,
        "blind_time": 0.5,
        "mode": "gravity",
        "use_sim_time": False,
    }
    simulator = told["/simulator"]
    lockstep = {"time_mode": "lockstep", "lockstep_timeout": 2.0, "lockstep_joints": JOINTS}
    assert simulator["parameters"] == {
        "urdf": ARM,
        "on_timeout": "gravity",
        "use_sim_time": False,
        **lockstep,
    }
    assert "joint_states:=states" in simulator["argv"]


def test_lockstep_joints_are_the_joints_of_the_controller(launch_file):
    joints = ("joints:=[elbow_pitch, wrist_pitch]", "namespace:=left")
    told = launch_file(GRAVITY, "sim:=true", *joints).told(2)
    simulator, controller = told["/left/simulator"], told["/left/arm_controller"]
    assert simulator["parameters"]["lockstep_joints"] == ["elbow_pitch", "wrist_pitch"]
    # each simulated arm has its own clock
    for node in (simulator, controller):
        assert "/clock:=/left/clock" in node["argv"]


@pytest.mark.parametrize("given", ["output:=effort_commands", "arm:=ur5e", "urdf:=''"])
def test_without_stamps_or_known_joints_time_mode_is_not_lockstep(launch_file, given):
    told = launch_file(GRAVITY, "sim:=true", given).told(2)
    assert "time_mode" not in told["/simulator"]["parameters"]


def test_the_simulated_arm_is_the_controlled_robot_with_its_mounting(launch_file, tmp_path):
    path = tmp_path / "sim.yaml"
    path.write_text("/**: {ros__parameters: {on_timeout: hold, urdf: nothing}}")
    told = launch_file(
        GRAVITY,
        *("sim:=true", f"urdf:={PENDULUM}", "mounting_rpy:=[0, 1.5707963267948966, 0]"),
        *("sim_initial_positions:={swing: 1e-5}", f"sim_params_file:={path}"),
    ).told(2)
    parameters = told["/simulator"]["parameters"]
    assert (parameters["urdf"], parameters["on_timeout"]) == (PENDULUM, "hold")
    assert parameters["initial_positions.swing"] == 1e-5
    # the base link is pitched by a quarter turn, so its x axis points down
    np.testing.assert_allclose(parameters["gravity"], [9.81, 0.0, 0.0], atol=1e-12)
    controller = told["/arm_controller"]["parameters"]
    assert controller["dry_run"] is False
    assert controller["urdf"] == PENDULUM


def test_the_scene_of_the_arm_matches_the_simulator(launch_file):
    """The arm has the mounting of its robot in the scene."""
    scene = str(Path(__file__).parents[2] / "config" / "scenes" / "gripper.yaml")
    given = ("sim:=true", f"scene:={scene}", "mounting_rpy:=[3.141592653589793, 0, 0]")
    told = launch_file(GRAVITY, *given).told(2)
    found = told["/simulator"]["parameters"]
    assert found["scene"] == scene
    assert "gravity" not in found
    assert "urdf" not in found
    assert told["/arm_controller"]["parameters"]["scene"] == scene


def test_parameters_of_the_arm_in_the_file_reach_the_simulator(launch_file, tmp_path):
    """Of several matching entries in the file the last one counts; arguments override it."""
    path = tmp_path / "arm.yaml"
    path.write_text(
        f"/**: {{ros__parameters: {{urdf: {PENDULUM}, gravity: [0.0, 0.0, -1.0]}}}}\n"
        "left: {arm_controller: {ros__parameters: {gravity: [0.0, 0.0, -2.0]}}}\n"
        # this entry matches only a node without a namespace
        "arm_controller: {ros__parameters: {gravity: [0.0, 0.0, -3.0]}}\n"
        "/**/arm_controller: {ros__parameters: {mounting_rpy: [3.141592653589793, 0.0, 0.0]}}\n"
    )
    for given, urdf, gravity in (
        (["namespace:=left"], PENDULUM, 2.0),
        ([f"urdf:={ARM}"], ARM, 3.0),
        (["gravity:=[0, 0, -4]"], PENDULUM, 4.0),
    ):
        told = launch_file(GRAVITY, "sim:=true", f"params_file:={path}", *given).told(2)
        (found,) = (v["parameters"] for k, v in told.items() if k.endswith("/simulator"))
        assert found["urdf"] == urdf
        # the robot hangs upside down from the ceiling
        np.testing.assert_allclose(found["gravity"], [0.0, 0.0, gravity], atol=1e-12)
        assert "mounting_rpy" not in found
        (found,) = (v["parameters"] for k, v in told.items() if k.endswith("/arm_controller"))
        assert (found["urdf"], found["gravity"][2]) == (urdf, -gravity)


def test_simulator_and_controller_get_the_compensation_of_the_file(launch_file, tmp_path):
    path = tmp_path / "arm.yaml"
    path.write_text("arm_controller: {ros__parameters: {robot_compensates_gravity: true}}")
    for given, carried in ([], True), (["robot_compensates_gravity:=false"], False):
        told = launch_file(GRAVITY, "sim:=true", f"params_file:={path}", *given).told(2)
        for node in ("/arm_controller", "/simulator"):
            assert told[node]["parameters"]["robot_compensates_gravity"] is carried


def test_the_simulator_gets_the_topics_and_compensation_of_a_preset(launch_file):
    """The simulator gets the topics and compensation of a preset; the controller gets its name."""
    told = launch_file(GRAVITY, "sim:=true", "arm:=ur5e", "joint_states:=mine").told(2)
    simulator, controller = told["/simulator"], told["/arm_controller"]
    carried = {
        name: value
        for name, value in simulator["parameters"].items()
        if name.startswith(("robot_compensates", "effort_includes"))
    }
    assert carried == {
        "robot_compensates_gravity": True,
        "robot_compensates_coriolis": False,
        "robot_compensates_friction": True,
        "effort_includes_gravity": False,
    }
    assert "effort_commands:=forward_effort_controller/commands" in simulator["argv"]
    assert "joint_states:=mine" in simulator["argv"]
    assert "joint_states:=joint_states" not in simulator["argv"]
    assert controller["parameters"]["arm"] == "ur5e"
    # the robot itself compensates friction
    assert "friction_compensation" not in controller["parameters"]
    assert controller["parameters"]["dry_run"] is False


def test_an_empty_urdf_argument_overrides_the_file_for_both_nodes(launch_file, tmp_path):
    path = tmp_path / "arm.yaml"
    path.write_text(f"arm_controller: {{ros__parameters: {{urdf: {PENDULUM}}}}}")
    told = launch_file(GRAVITY, "sim:=true", "urdf:=''", f"params_file:={path}").told(2)
    for node in ("/arm_controller", "/simulator"):
        assert told[node]["parameters"]["urdf"] == ""


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("params_file:=nowhere.yaml", "params_file is 'nowhere.yaml'"),
        ("sim_initial_positions:=0.5", "sim_initial_positions is '0.5'"),
        ("sim_initial_positions:={a: high}", "sim_initial_positions is '{a: high}'"),
        ("arm:=ur5", "did you mean 'ur5e'"),
    ],
)
def test_invalid_arguments_of_the_simulated_arm_are_refused(launch_file, given, words):
    started = launch_file(GRAVITY, "sim:=true", given)
    assert started.process.wait(120.0) == 1
    assert words in started.text()


@pytest.mark.parametrize(
    ("more", "robot", "joint"),
    [
        ((), "seven_dof_arm", "elbow_pitch"),
        (("arm:=ur5e", f"urdf:={find('ur5_robot.urdf')}"), "ur5", "elbow_joint"),
    ],
    ids=["plain", "ur5e"],
)
def test_the_simulated_arm_can_be_armed_by_the_logged_service(
    launch_file, domain, monkeypatch, more, robot, joint
):
    """One of the arms has the driver of a UR, whose measured efforts exclude gravity."""
    given = ("namespace:=left", "sim:=true", f"sim_initial_positions:={{{joint}: 0.5}}", *more)
    started = launch_file(GRAVITY, *given, real=True)
    started.wait_for(f"controlling '{robot}'")
    name = "/left/arm_controller/arm"
    assert f"to arm it: ros2 service call {name} std_srvs/srv/Trigger" in started.text()
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=domain)
    node = rclpy.create_node("peer", context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    states = []
    node.create_subscription(JointState, "/left/joint_states", states.append, 10)
    client = node.create_client(Trigger, name)
    try:
        assert client.wait_for_service(30.0)
        asked = []  # a busy machine may lose an answer, and arming again has no effect
        while not any(future.done() for future in asked) and len(asked) < 30:
            asked.append(client.call_async(Trigger.Request()))
            executor.spin_until_future_complete(asked[-1], 10.0)
        answer = next(future.result() for future in asked if future.done())
        assert answer.success, answer.message
        while len(states) < 2:
            executor.spin_once(timeout_sec=30.0)
        at = states[-1].name.index(joint)
        assert states[-1].position[at] == pytest.approx(0.5, abs=1e-4)
    finally:
        executor.shutdown()
        node.destroy_node()
        context.try_shutdown()
    assert started.end() == 0, started.text()
    assert "Traceback" not in started.text()


def test_the_end_of_the_controller_ends_the_launch(launch_file):
    started = launch_file(GRAVITY, "sim:=true", "joints:=[elbow]", real=True)
    assert started.process.wait(60.0) is not None
    assert "there is no joint 'elbow'" in started.text()
    assert "exit code 2" in started.text()
    assert "process has finished cleanly" in started.text()  # the line about the simulator
