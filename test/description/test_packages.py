# SPDX-License-Identifier: Apache-2.0
"""Packages are found by their package.xml, in cloned, built and installed folders."""

import os
from pathlib import Path

import pytest
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.description.meshes.files import MeshFiles
from rbdyn_ros.description.reading import packages
from rbdyn_ros.description.reading.packages import find_package, find_packages
from rbdyn_ros.errors import DescriptionError


def package(folder, name="pack"):
    folder.mkdir(parents=True)
    (folder / "package.xml").write_text(f"<package><name> {name} </name></package>")
    return folder


#: The folders of a package and of a robot in it or near it, below a common folder.
PLACES = {
    "above the robot": ("clone", "clone/urdf/arms"),
    "beside the package of the robot": ("clone", "robots/urdf"),
    "in a package of its repository": ("repo/a/b/clone", "repo/robots/urdf"),
    "in the source of its workspace": ("ws/src/a/b/clone", "ws/src/robots/urdf"),
    "in the install of its workspace": ("ws/install/pack/share/pack", "ws/src/robots/urdf"),
    "in a merged install": ("ws/install/share/pack", "ws/src/robots/urdf"),
}


@pytest.mark.parametrize(("place", "robot"), PLACES.values(), ids=PLACES)
def test_a_package_is_found_around_the_folder_of_the_robot(tmp_path, place, robot):
    at = package(tmp_path / "home" / place)
    if "repo/" in place:
        (tmp_path / "home/repo/.git").mkdir()
    (tmp_path / "home" / robot).mkdir(parents=True, exist_ok=True)
    assert find_package("pack", robot=tmp_path / "home" / robot) == at
    assert find_package("puck", robot=tmp_path / "home" / robot) is None


@pytest.mark.parametrize("given", [".", "ws", "ws/src", "ws/src/group/clone"])
def test_a_package_is_found_below_a_given_folder(tmp_path, given):
    at = package(tmp_path / "ws/src/group/clone")
    assert find_package("pack", [tmp_path / given]) == at


@pytest.mark.parametrize(
    ("variable", "entry", "place"),
    [
        ("AMENT_PREFIX_PATH", "install/pack", "install/pack/share/pack"),
        ("ROS_PACKAGE_PATH", "src", "src/clone"),
        ("GZ_SIM_RESOURCE_PATH", "models", "models/pack"),
    ],
)
def test_environment_variables_lead_to_a_package(tmp_path, monkeypatch, variable, entry, place):
    at = package(tmp_path / place)
    assert find_package("pack") is None
    monkeypatch.setenv(variable, os.pathsep.join(["/nowhere", str(tmp_path / entry)]))
    assert find_package("pack") == at


def test_a_model_of_gazebo_needs_no_manifest(tmp_path, monkeypatch):
    (tmp_path / "models/cup").mkdir(parents=True)
    monkeypatch.setenv("GZ_SIM_RESOURCE_PATH", str(tmp_path / "models"))
    assert find_package("cup") == tmp_path / "models/cup"


def test_a_package_is_searched_in_the_source_before_the_install(tmp_path):
    source = package(tmp_path / "ws/src/clone")
    install = package(tmp_path / "ws/install/pack/share/pack")
    (source / "urdf").mkdir()
    assert list(dict.fromkeys(find_packages("pack", robot=source / "urdf"))) == [source, install]


def test_a_folder_that_colcon_ignores_is_not_searched(tmp_path):
    package(tmp_path / "ws/old/clone")
    (tmp_path / "ws/old/COLCON_IGNORE").touch()
    assert find_package("pack", [tmp_path / "ws"]) is None


def test_a_world_writable_folder_is_not_searched(tmp_path):
    """In /tmp, for example, anybody could put a package whose xacro files run Python."""
    package(tmp_path / "shared/clone")
    robot = tmp_path / "shared/robot"
    robot.mkdir()
    assert find_package("pack", robot=robot) is not None
    (tmp_path / "shared").chmod(0o777)
    assert find_package("pack", robot=robot) is None


@pytest.mark.parametrize(
    ("place", "shared"),
    [
        ("clone", "clone"),
        ("pack", "pack"),
        ("src/clone", "src/clone"),
        ("src/group/clone", "src/group"),
    ],
)
def test_a_world_writable_package_is_found_only_in_a_given_folder(tmp_path, place, shared):
    """Another user could have put the package into such a folder."""
    at = package(tmp_path / place)
    (tmp_path / "src/robot").mkdir(parents=True)
    assert find_package("pack", robot=tmp_path / "src/robot") == at
    (tmp_path / shared).chmod(0o777)
    assert find_package("pack", robot=tmp_path / "src/robot") is None
    assert find_package("pack", [tmp_path], robot=tmp_path / "src/robot") == at


@pytest.mark.parametrize(("robot", "found"), [("/", False), ("/home", False), ("/home/me", True)])
def test_folders_of_other_users_next_to_a_robot_are_not_searched(monkeypatch, robot, found):
    """Folders next to a robot are searched only within the user's own home folder."""
    monkeypatch.setenv("HOME", "/home/me")
    searched = []
    monkeypatch.setattr(packages, "is_open", lambda _: False)
    monkeypatch.setattr(packages, "_beside", lambda place, _: searched.append(place) or ())
    assert find_package("pack", robot=Path(robot) / "robot") is None
    assert (Path(robot) in searched) == found


@pytest.mark.parametrize(
    "name",
    [
        "package://pack/meshes/a.stl",
        "package:///pack//meshes/a.stl",
        "model://pack/meshes/a.stl",
        "$(find pack)/meshes/a.stl",
        "$(find-pkg-share pack)/meshes/a.stl",
    ],
)
def test_a_file_in_a_package_is_found_by_each_of_its_uris(tmp_path, name):
    at = package(tmp_path / "clone")
    (at / "meshes").mkdir()
    (at / "meshes/a.stl").touch()
    assert MeshFiles(at / "urdf").find(name) == at / "meshes/a.stl"


@pytest.mark.parametrize("word", ["find", "find-pkg-share"])
def test_xacro_finds_the_package_of_the_file(tmp_path, word):
    """Clones of vendors' repositories often have another name than the package."""
    (package(tmp_path / "clone") / "urdf").mkdir()
    (tmp_path / "clone/limb.xacro").write_text('<robot><link name="limb"/></robot>')
    (tmp_path / "clone/urdf/arm.urdf.xacro").write_text(
        '<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        f'<xacro:include filename="$({word} pack)/limb.xacro"/></robot>'
    )
    assert rb.load(tmp_path / "clone/urdf/arm.urdf.xacro").name == "arm"
    (tmp_path / "clone/package.xml").unlink()
    with refused(DescriptionError, "package-not-found", found="pack"):
        rb.load(tmp_path / "clone/urdf/arm.urdf.xacro")
