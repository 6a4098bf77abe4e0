# SPDX-License-Identifier: Apache-2.0
"""launch/sim.launch.py starts the simulator."""

from pathlib import Path

import pytest

pytest.importorskip("launch_ros", reason="launch and launch_ros are in no package registry")

from launch.launch_description_sources import PythonLaunchDescriptionSource

import launch
from rbdyn_ros.ros.simulator.parameters import PARAMETERS
from rbdyn_ros.share import bundled_robot

FOLDER = Path(__file__).parents[2] / "launch"
# test_arm_launch.py tests these
ARMS = ("gravity_compensation.launch.py", "computed_torque.launch.py")
FILES = sorted(path for path in FOLDER.glob("*.launch.py") if path.name not in ARMS)
ARM, PENDULUM = str(bundled_robot("seven_dof_arm")), str(bundled_robot("pendulum"))


def arguments_of(path):
    source = PythonLaunchDescriptionSource(str(path))
    description = source.get_launch_description(launch.LaunchContext())
    return {argument.name: argument for argument in description.get_launch_arguments()}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_arguments_have_descriptions_and_choices(path):
    arguments = arguments_of(path)
    assert set(arguments) >= {"urdf", "start_paused", "use_sim_time", "rviz", "discovery"}
    assert all(argument.description for argument in arguments.values())
    assert arguments["rviz"].choices == ("true", "false")
    assert arguments["start_paused"].choices == ("", "true", "false")
    assert ("namespace" in arguments) == (path.name != "multi_robot.launch.py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_parameter_of_the_node_is_an_argument(path):
    arguments = arguments_of(path)
    missing = {p.name for p in PARAMETERS} - set(arguments)
    assert missing <= {"robots"}
    for parameter in PARAMETERS:
        if parameter.choices:
            assert arguments[parameter.name].choices == ("", *parameter.choices)


def test_only_arguments_that_are_given_become_parameters(launch_file):
    told = launch_file("sim.launch.py").told()
    assert told["/simulator"]["parameters"] == {"urdf": ARM, "use_sim_time": False}


def test_arguments_have_the_type_of_the_parameter(launch_file):
    started = launch_file(
        "sim.launch.py",
        "namespace:=left",
        "start_paused:=true",
        "timestep:=0.002",
        "gravity:=[0, 0, -1.5]",
        "frame_prefix:=7",
        "world_frame:=''",
        "integrator:=rk4",
    )
    parameters = started.told()["/left/simulator"]["parameters"]
    assert parameters == {
        "urdf": ARM,
        "start_paused": True,
        "timestep": 0.002,
        "gravity": [0.0, 0.0, -1.5],
        "frame_prefix": "7",
        "world_frame": "",
        "integrator": "rk4",
        "use_sim_time": False,
    }


@pytest.mark.parametrize("typed", ["urdf:=''", 'urdf:=""'])
def test_an_empty_urdf_argument_is_passed_to_the_simulator(launch_file, typed):
    """Without quotes, `ros2 launch` itself refuses `urdf:=` as malformed."""
    parse = pytest.importorskip("ros2launch.api.api").parse_launch_arguments
    assert dict(parse([typed]))["urdf"] == typed.removeprefix("urdf:=")
    with pytest.raises(RuntimeError):
        parse(["urdf:="])
    told = launch_file("sim.launch.py", typed).told()
    assert told["/simulator"]["parameters"] == {"urdf": "", "use_sim_time": False}


FILE = """
/**:
  ros__parameters: {on_timeout: gravity, clock_rate: 50.0}
/left/simulator:
  ros__parameters: {urdf: %s, timestep: 0.002, on_timeout: hold}
"""


def test_arguments_override_the_file_and_the_file_overrides_the_default_robot(
    launch_file, tmp_path
):
    path = tmp_path / "mine.yaml"
    path.write_text(FILE % PENDULUM)
    given = ["namespace:=left", f"params_file:={path}", "timestep:=0.004"]
    parameters = launch_file("sim.launch.py", *given).told()["/left/simulator"]["parameters"]
    assert parameters["timestep"] == 0.004
    assert (parameters["on_timeout"], parameters["clock_rate"]) == ("hold", 50.0)
    assert parameters["urdf"] == PENDULUM


TEXT = """<?xml version="1.0"?>
<robot name="it's: 1.0"><!-- a "text", with: all [that] {YAML} means # something -->
  <link name="base"/>
</robot>
"""


def test_a_robot_description_arrives_unchanged_and_overrides_the_default(launch_file):
    told = launch_file("sim.launch.py", f"robot_description:={TEXT}").told()
    parameters = told["/simulator"]["parameters"]
    assert parameters["robot_description"] == TEXT
    assert parameters["urdf"] == ""


def test_a_choice_that_does_not_exist_is_refused(launch_file):
    started = launch_file("sim.launch.py", "integrator:=heun")
    assert started.process.wait(120.0) == 1
    assert '"integrator" provided value "heun" is not valid' in started.text()


def test_the_simulator_starts_in_its_namespace_and_ends_with_ctrl_c(launch_file):
    started = launch_file("sim.launch.py", "namespace:=left", "start_paused:=true", real=True)
    started.wait_for("simulating 'seven_dof_arm'")
    assert "[left.simulator]" in started.text()
    assert started.end() == 0, started.text()
    assert "process has finished cleanly" in started.text()
    assert "Traceback" not in started.text()


def test_the_end_of_the_simulator_ends_the_launch(launch_file):
    started = launch_file("sim.launch.py", "urdf:=/no/such/file.urdf", real=True)
    assert started.process.wait(120.0) is not None
    assert "exit code 2" in started.text(), started.text()
