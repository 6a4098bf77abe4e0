# SPDX-License-Identifier: Apache-2.0
"""launch/sim_with_rviz.launch.py starts the simulator, and RViz with its configuration."""

from pathlib import Path

import pytest
import yaml

pytest.importorskip("launch_ros", reason="launch and launch_ros are in no package registry")


def displays(path):
    manager = yaml.safe_load(Path(path).read_text())["Visualization Manager"]
    return {display["Name"]: display for display in manager["Displays"]}, manager


def test_rviz_shows_the_robot_of_its_namespace(launch_file):
    given = ["namespace:=left", "frame_prefix:=left/", "world_frame:=hall"]
    told = launch_file("sim_with_rviz.launch.py", *given).told(2)
    assert told["/left/simulator"]["parameters"]["frame_prefix"] == "left/"
    rviz = told["/rviz2"]
    assert rviz["parameters"]["use_sim_time"] is True
    assert rviz["argv"][0] == "-d"
    shown, manager = displays(rviz["argv"][1])
    assert manager["Global Options"]["Fixed Frame"] == "hall"
    assert shown["left robot"]["Description Topic"]["Value"] == "/left/robot_description"
    assert shown["left robot"]["TF Prefix"] == "left"  # RViz appends a slash
    assert shown["left wrenches"]["Topic"]["Value"] == "/left/simulator/wrench_markers"


def test_use_sim_time_is_passed_to_rviz(launch_file):
    told = launch_file("sim_with_rviz.launch.py", "use_sim_time:=false").told(2)
    assert told["/rviz2"]["parameters"]["use_sim_time"] is False


def test_the_end_of_the_simulator_ends_rviz_too(launch_file):
    started = launch_file("sim_with_rviz.launch.py", "urdf:=/no/such/file.urdf", real=True)
    assert started.process.wait(120.0) is not None
    assert "exit code 2" in started.text()


@pytest.mark.parametrize("file", ["sim_with_rviz.launch.py", "multi_robot.launch.py"])
def test_no_process_is_started_if_rviz_is_not_installed(launch_file, file):
    text = launch_file(file, "rviz:=true", without=["rviz2"]).fails()
    assert "there is no package 'rviz2'" in text
    assert "TOLD" not in text
