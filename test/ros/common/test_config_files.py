# SPDX-License-Identifier: Apache-2.0
"""Files in config/ name existing parameters with allowed values; RViz's file fits the nodes."""

from pathlib import Path

import pytest
import yaml

pytest.importorskip("rclpy", reason="rclpy is not installed")

import rbdyn_ros as rb
from rbdyn_ros.control.base.limits import Limits
from rbdyn_ros.ros.simulator.parameters import INITIAL, PARAMETERS
from rbdyn_ros.ros.simulator.rviz_config import rviz_config
from rbdyn_ros.share import bundled_robot

CONFIG = Path(__file__).parents[3] / "config"
TABLES = {"hil.yaml": PARAMETERS, "multi_robot.yaml": PARAMETERS}


def flat(values, prefix=""):
    for name, value in values.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


@pytest.mark.parametrize("file", TABLES)
def test_all_parameters_in_the_files_exist_and_have_allowed_values(file):
    table = {parameter.name: parameter for parameter in TABLES[file]}
    nodes = yaml.safe_load((CONFIG / file).read_text())
    assert "/**" in nodes
    for node, body in nodes.items():
        assert set(body) == {"ros__parameters"}, node
        for name, value in flat(body["ros__parameters"]):
            if not name.startswith(INITIAL):
                table[name].checked(value)


def test_multi_robot_yaml_and_its_launch_file_name_the_same_robots():
    nodes = yaml.safe_load((CONFIG / "multi_robot.yaml").read_text())
    text = (CONFIG.parent / "launch" / "multi_robot.launch.py").read_text()
    assert set(nodes) == {"/**", "/left/simulator", "/right/simulator"}
    assert 'default_value="left,right"' in text


@pytest.mark.parametrize("file", ["simulator.yaml", *TABLES])
def test_parameter_files_for_all_robots_name_no_joints(file):
    joints = set(rb.load_urdf(str(bundled_robot("seven_dof_arm"))).jnt_names)
    nodes = yaml.safe_load((CONFIG / file).read_text())
    values = {n: v for body in nodes.values() for n, v in flat(body["ros__parameters"])}
    for name, value in values.items():
        assert not joints & {*name.split("."), *(value if isinstance(value, list) else ())}, name
    assert not any(name.startswith(INITIAL) for name in values)


def test_efforts_in_the_ros2_control_file_have_the_order_of_the_simulator():
    nodes = yaml.safe_load((CONFIG / "ros2_control" / "effort_controllers.yaml").read_text())
    manager, forward = (
        nodes[n]["ros__parameters"] for n in ("controller_manager", "forward_effort")
    )
    assert "forward_effort" in manager
    assert forward["interface_name"] == "effort"
    controlled = Limits.of(rb.load_urdf(str(bundled_robot("seven_dof_arm")))).names
    assert forward["joints"] == list(controlled)


TEMPLATE = (CONFIG / "sim.rviz").read_text()


def displays(text):
    shown = yaml.safe_load(text)["Visualization Manager"]["Displays"]
    return {display["Name"]: display for display in shown}


def test_sim_rviz_is_the_configuration_for_one_robot_without_namespace():
    same = rviz_config(TEMPLATE, [("", "")], "world")
    assert yaml.safe_load(same) == yaml.safe_load(TEMPLATE)


def test_rviz_shows_each_robot_with_its_topics_and_frames():
    text = rviz_config(TEMPLATE, [("left", "left/"), ("/a/b", "b/")], "map")
    shown = displays(text)
    assert list(shown) == [
        *("Grid", "TF", "left robot", "a/b robot", "left wrenches", "a/b wrenches")
    ]
    assert shown["left robot"]["Description Topic"]["Value"] == "/left/robot_description"
    assert shown["a/b robot"]["Description Topic"]["Value"] == "/a/b/robot_description"
    assert [shown[f"{n} robot"]["TF Prefix"] for n in ("left", "a/b")] == ["left", "b"]
    assert shown["a/b wrenches"]["Topic"]["Value"] == "/a/b/simulator/wrench_markers"
    manager = yaml.safe_load(text)["Visualization Manager"]
    assert manager["Global Options"]["Fixed Frame"] == "map"


def test_rviz_subscribes_to_the_description_with_transient_local_durability():
    topic = displays(TEMPLATE)["robot"]["Description Topic"]
    assert topic["Durability Policy"] == "Transient Local"
