# SPDX-License-Identifier: Apache-2.0
"""`rbdyn codegen --ros2-control` writes a whole package for ros2_control, or no files."""

import xml.etree.ElementTree as ET

import pytest
import yaml
from support.commands import run
from support.refusals import refused

from rbdyn_ros.codegen.ros2_control import folder as output
from rbdyn_ros.errors import ParameterError
from rbdyn_ros.share import bundled_robot

ARM = bundled_robot("seven_dof_arm")
BRICK = (
    '<inertial><mass value="1"/>'
    '<inertia ixx="0.1" iyy="0.2" izz="0.25" ixy="0" ixz="0" iyz="0"/></inertial>'
)


def robot(joint, name="r", joint_name="j"):
    """Return the URDF of a robot with one joint."""
    return (
        f'<robot name="{name}"><link name="a">{BRICK}</link><link name="b">{BRICK}</link>'
        f'<joint name="{joint_name}" {joint}<parent link="a"/><child link="b"/></joint></robot>'
    )


def files(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_a_package_is_complete(tmp_path):
    folder = tmp_path / "my_arm"
    done = run(
        "codegen", ARM, "--ros2-control", folder, "--prefix", "seven", "--mounting", 3, 0, 0
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("wrote the package my_arm: ")
    assert {path.name for path in tmp_path.iterdir()} == {"my_arm"}
    found = files(folder)
    assert {"CMakeLists.txt", "package.xml", "src/seven_dynamics.c", "test/test_seven.c"} <= found
    assert ET.parse(folder / "package.xml").findtext("name") == "my_arm"
    for plugin in ("controller_plugin.xml", "solver_plugin.xml"):
        (row,) = ET.parse(folder / plugin).getroot()
        assert row.get("name").startswith("my_arm/")
        assert row.get("type").startswith("rbdyn_my_arm::")
    config = yaml.safe_load((folder / "config/controllers.yaml").read_text())
    names = config["trajectory_controller"]["ros__parameters"]
    assert names["command_joints"] == [f"my_arm/{name}" for name in names["joints"]]
    for name in found:
        assert "@{" not in (folder / name).read_text(), name
    header = " ".join((folder / "src/seven_dynamics.h").read_text().replace("*", " ").split())
    assert "mounted with roll, pitch, yaw 3, 0, 0 rad" in header


def test_an_empty_folder_is_filled(tmp_path):
    folder = tmp_path / "my_arm"
    folder.mkdir()
    assert run("codegen", ARM, "--ros2-control", folder).returncode == 0
    before = {name: (folder / name).read_bytes() for name in files(folder)}
    done = run("codegen", ARM, "--ros2-control", folder)
    assert done.returncode == 2
    assert f"'{folder}' is not written: it is not empty" in done.stderr
    assert {name: (folder / name).read_bytes() for name in files(folder)} == before


@pytest.mark.parametrize("name", ["Arm", "7arm", "_arm", "arm_", "my-arm", "my__arm", "a", "ärm"])
def test_names_that_colcon_refuses_are_refused(name, tmp_path):
    done = run("codegen", ARM, "--ros2-control", tmp_path / name)
    assert done.returncode == 2
    assert f"names the package '{name}', which colcon refuses" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "more",
    [
        ("--float",),
        ("--functions", "gravity"),
        ("--frame", "hand"),
        ("--floating-base",),
        ("--no-passive",),
    ],
    ids=lambda more: more[0],
)
def test_ros2_control_refuses_options_that_only_plain_c_code_has(more, tmp_path):
    done = run("codegen", ARM, "--ros2-control", tmp_path / "my_arm", *more)
    assert done.returncode == 2
    assert f"{more[0]} cannot be combined with --ros2-control" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("joint", "why"),
    [
        ('type="fixed">', "it has no"),
        ('type="floating">', "has several coordinates"),
        ('type="continuous">', "has no joint with an actuator and an effort limit above 0"),
    ],
    ids=["fixed", "floating", "no limit"],
)
def test_robots_that_are_not_arms_are_refused(joint, why, tmp_path):
    (tmp_path / "r.urdf").write_text(robot(joint))
    done = run("codegen", tmp_path / "r.urdf", "--ros2-control", tmp_path / "my_arm")
    assert done.returncode == 1
    assert why in done.stderr
    assert done.stderr.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} == {"r.urdf"}


def test_special_characters_in_names_are_escaped_in_the_files(tmp_path):
    limited = 'type="revolute"><limit lower="-1" upper="1" effort="9" velocity="9"/>'
    text = robot(limited, "a &lt;b&gt; &amp; @{package}", "j&quot;); \\ ?? @{dofs} é")
    (tmp_path / "r.urdf").write_text(text)
    folder = tmp_path / "true"
    done = run("codegen", tmp_path / "r.urdf", "--ros2-control", folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert (
        ET.parse(folder / "package.xml").findtext("description").count("a <b> & @{package}") == 1
    )
    config = yaml.safe_load((folder / "config/controllers.yaml").read_text())
    (name,) = config["trajectory_controller"]["ros__parameters"]["joints"]
    assert name == 'j"); \\ ?? @{dofs} é'
    assert set(config) == {"controller_manager", "true", "trajectory_controller"}
    assert (
        r'NAMES{"j\042); \134 \077\077 \100{dofs} \303\251"}'
        in (folder / "src/robot.hpp").read_text()
    )


def test_a_full_disk_leaves_no_files_behind(tmp_path, monkeypatch):
    def fails(*_):
        raise OSError(28, "No space left on device")

    (tmp_path / "old").mkdir()
    monkeypatch.setattr("pathlib.Path.rename", fails)
    for name in ("new", "old"):
        with refused(ParameterError, "unwritable-file", "path"):
            output.write_tree(tmp_path / name, {"a/b.txt": "b", "c.txt": "c"})
    assert {path.name for path in tmp_path.iterdir()} == {"old"}
    assert not list((tmp_path / "old").iterdir())


def test_folders_without_write_access_are_refused(tmp_path):
    (tmp_path / "file").write_text("")
    for name, why in (("file", "it is a file"), ("no/such", "its parent folder does not exist")):
        done = run("codegen", ARM, "--ros2-control", tmp_path / name)
        assert done.returncode == 2
        assert why in done.stderr
