# SPDX-License-Identifier: Apache-2.0
"""A node finds its robot by a file, xacro arguments and the parameter `scene`."""

import threading
from types import SimpleNamespace

import pytest
from support.refusals import refused

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("xacro")

from rbdyn_ros.errors import DescriptionError, ParameterError
from rbdyn_ros.ros.common.graph.source import find

ARM = """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="prefix" default=""/>
  <link name="$(arg prefix)base"/>
</robot>
"""


@pytest.fixture
def found(tmp_path):
    """Return found(suffix, **values), which reads a robot's file with these parameters."""

    def find_robot(suffix=".xacro", **given):
        path = tmp_path / f"arm{suffix}"
        path.write_text(ARM)
        values = {"urdf": str(path), "robot_description": "", "strict": True, **given}
        values = {"package_dirs": (), **values}
        return find(None, SimpleNamespace(**values), threading.Event(), None)

    return find_robot


def test_xacro_arguments_reach_the_robot_and_its_description(found):
    source = found(xacro_args=["prefix:=left_"])
    assert [link.name for link in source.description.links] == ["left_base"]
    assert 'name="left_base"' in source.text


@pytest.mark.parametrize("words", [["prefix"], ["prefix:=a", "prefix:=b"]])
def test_invalid_or_repeated_xacro_arguments_are_refused(found, words):
    with refused(ParameterError, "xacro-args"):
        found(xacro_args=words)


def test_arguments_without_a_xacro_file_are_refused(found):
    with refused(DescriptionError, "raw-xacro"):
        found(".urdf", xacro_args=["prefix:=left_"])
    with refused(ParameterError, "xacro-args", element="xacro_args"):
        found(urdf="", robot_description=ARM, xacro_args=["prefix:=left_"])


def test_the_parameter_scene_must_be_the_path_of_a_scene_file(found, tmp_path):
    with refused(ParameterError, "bad-scene", element="scene"):
        found(".urdf", scene=str(tmp_path / "arm.urdf"), xacro_args=[])
    with refused(DescriptionError, "no-such-file"):
        found(scene=str(tmp_path / "there_is_none.yaml"), xacro_args=[])
