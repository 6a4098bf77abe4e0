# SPDX-License-Identifier: Apache-2.0
"""launch/hil.launch.py starts a simulator with faults and the user's controller."""

import pytest

pytest.importorskip("launch_ros", reason="launch and launch_ros are in no package registry")

CONTROLLER = ("controller_package:=my_controllers", "controller_executable:=balance")


def test_the_simulator_gets_default_faults_and_arguments_override_them(launch_file):
    told = launch_file("hil.launch.py", "time_mode:=lockstep", "faults.command_drop:=0.5").told()
    parameters = told["/simulator"]["parameters"]
    assert parameters["urdf"].endswith("seven_dof_arm.urdf")
    assert parameters["time_mode"] == "lockstep"
    assert parameters["faults.command_drop"] == 0.5
    assert parameters["faults.command_delay"] == 0.001
    assert parameters["seed"] == 1


def test_the_controller_gets_the_namespace_simulated_time_and_its_file(launch_file, tmp_path):
    path = tmp_path / "gains.yaml"
    path.write_text("/**: {ros__parameters: {stiffness: 40.0}}")
    given = ["namespace:=left", f"controller_params_file:={path}", *CONTROLLER]
    told = launch_file("hil.launch.py", *given).told(2)
    assert set(told) == {"/left/simulator", "/left/balance"}
    assert told["/left/balance"]["parameters"] == {"use_sim_time": True, "stiffness": 40.0}


@pytest.mark.parametrize("given", CONTROLLER)
def test_a_controller_needs_a_package_and_an_executable(launch_file, given):
    assert "controller_package is" in launch_file("hil.launch.py", given).fails()


@pytest.mark.parametrize(
    ("package", "executable", "words"),
    [
        ("nope", "balance", "there is no package 'nope'"),
        ("my_controllers", "balanec", "no executable 'balanec' (did you mean 'balance'?)"),
    ],
)
def test_a_missing_controller_is_refused(launch_file, package, executable, words):
    given = (f"controller_package:={package}", f"controller_executable:={executable}")
    assert words in launch_file("hil.launch.py", *given).fails()


@pytest.mark.parametrize("name", ["params_file", "controller_params_file"])
def test_a_missing_parameter_file_is_refused(launch_file, name):
    text = launch_file("hil.launch.py", f"{name}:=/no/gains.yaml", *CONTROLLER).fails()
    assert f"{name} is '/no/gains.yaml', which is not a file" in text


def test_the_simulator_accepts_the_default_parameter_file(launch_file):
    started = launch_file("hil.launch.py", real=True)
    started.wait_for("simulating 'seven_dof_arm'")
    assert "there is no parameter" not in started.text()
    assert started.end() == 0, started.text()
