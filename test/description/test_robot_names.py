# SPDX-License-Identifier: Apache-2.0
"""Robots are found by name, in example-robot-data and in a stand-in for robot_descriptions."""

import sys

import pytest
from support.refusals import refused
from support.robots import find, needs_robots

import rbdyn_ros as rb
from rbdyn_ros.commands.line.common import ROBOT_FILE
from rbdyn_ros.description.reading.robot_names import robot_by_name
from rbdyn_ros.share import bundled_robot


@needs_robots
@pytest.mark.parametrize(
    ("name", "file"),
    [("panda", "panda.urdf"), ("ur5", "ur5_robot.urdf"), ("ur3", "ur3_robot.urdf")],
)
def test_a_name_finds_a_robot_of_example_robot_data(name, file):
    assert robot_by_name(name) == find(file)
    rb.load_urdf(robot_by_name(name))


@needs_robots
def test_files_of_the_same_name_are_named_after_their_folders():
    assert robot_by_name("anymal_b_simple") != robot_by_name("anymal_c_simple")
    with refused(rb.ParameterError, "unknown-robot"):
        robot_by_name("anymal")


@pytest.fixture
def descriptions(tmp_path, monkeypatch):
    """Install a stand-in for robot_descriptions, with modules of one line."""
    folder = tmp_path / "robot_descriptions"
    folder.mkdir()
    for name, line in {
        "__init__": "",
        "toy_description": f"URDF_PATH = {str(bundled_robot('pendulum'))!r}",
        "far_description": "raise OSError('no network')",
        "bare_description": "",
        "toy_mj_description": "MJCF_PATH = ''",
    }.items():
        (folder / f"{name}.py").write_text(line)
    for name in [name for name in sys.modules if name.startswith("robot_descriptions")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)


def test_a_name_finds_a_robot_of_robot_descriptions(descriptions):
    assert robot_by_name("toy") == bundled_robot("pendulum")


@pytest.mark.parametrize(
    ("name", "code"),
    [("far", "robot-download"), ("bare", "unknown-robot"), ("toy_mj", "unknown-robot")],
)
def test_robots_that_are_not_available_are_refused(descriptions, name, code):
    with refused(rb.ParameterError, code):
        robot_by_name(name)


def test_a_file_takes_precedence_over_a_robot_of_the_same_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pendulum").write_text("")
    assert ROBOT_FILE("pendulum").name == "pendulum"
    assert ROBOT_FILE("seven_dof_arm") == bundled_robot("seven_dof_arm")
    assert str(ROBOT_FILE("pendulum.urdf")) == "pendulum.urdf"
