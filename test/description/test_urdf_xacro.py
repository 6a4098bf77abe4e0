# SPDX-License-Identifier: Apache-2.0
"""A xacro file is expanded if a user names it; xacro in a string never is."""

import math
import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from support.refusals import refused

from rbdyn_ros.description.meshes.files import MeshFiles
from rbdyn_ros.description.reading import xacro_files
from rbdyn_ros.description.reading.packages import find_package
from rbdyn_ros.description.reading.xacro_files import texts_of
from rbdyn_ros.description.robot_files import read
from rbdyn_ros.description.urdf_files.urdf import read_text
from rbdyn_ros.errors import DescriptionError, ParameterError

pytest.importorskip("xacro")

XMLNS = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'
MACRO = f"""<robot {XMLNS}>
  <xacro:macro name="limb" params="name parent mass">
    <link name="${{name}}"><inertial><mass value="${{mass}}"/>
      <inertia ixx="${{mass * 2}}" iyy="${{mass * 2}}" izz="${{mass * 2}}"
        ixy="0" ixz="0" iyz="0"/></inertial></link>
    <joint name="${{name}}_joint" type="continuous">
      <parent link="${{parent}}"/><child link="${{name}}"/><origin rpy="0 0 ${{pi / 2}}"/>
    </joint>
  </xacro:macro>
</robot>
"""
ARM = f"""<robot name="arm" {XMLNS}>
  <xacro:include filename="INCLUDE"/>
  <xacro:arg name="heavy" default="1.5"/>
  <xacro:property name="m" value="$(arg heavy)"/>
  <link name="base"/>
  <xacro:limb name="upper" parent="base" mass="${{m}}"/>
  <xacro:limb name="lower" parent="upper" mass="${{m / 3}}"/>
</robot>
"""


def write(folder, include="limb.xacro", arm=ARM):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "limb.xacro").write_text(MACRO, encoding="utf-8")
    path = folder / "arm.urdf.xacro"
    path.write_text(arm.replace("INCLUDE", include), encoding="utf-8")
    return path


def test_macros_properties_includes_and_arguments_are_expanded(tmp_path, capfd):
    path = write(tmp_path)
    robot = read(path)
    assert [joint.name for joint in robot.joints] == ["upper_joint", "lower_joint"]
    assert [link.inertial.mass for link in robot.links[1:]] == [1.5, 0.5]
    assert robot.links[1].inertial.inertia[0] == 3.0
    assert robot.source == f"{path} (as expanded by xacro)"
    heavy = read(str(path), xacro_args={"heavy": "6"})
    assert heavy.links[2].inertial.mass == 2.0
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (False, "false"),
        (np.bool_(True), "true"),
        (2, "2"),
        (2**70, str(2**70)),
        (0.1, "0.1"),
        (np.float32(0.5), "0.5"),
        (np.int64(3), "3"),
        (Path("/a/b"), "/a/b"),
        ("as it is ", "as it is "),
    ],
)
def test_arguments_of_python_are_passed_as_text(value, text):
    assert texts_of({"x": value}) == {"x": text}


def test_a_bool_and_a_number_are_arguments(tmp_path):
    arm = ARM.replace("<link", '<xacro:arg name="tool" default="no"/><link', 1)
    tool = '<xacro:if value="$(arg tool)"><link name="t"/></xacro:if>'
    path = write(tmp_path, arm=arm.replace('"base"/>', f'"base"/>{tool}'))
    assert read(path, xacro_args={"heavy": 6.0, "tool": False}).links[1].inertial.mass == 6.0
    with refused(DescriptionError, "several-roots"):
        read(path, xacro_args={"heavy": 6.0, "tool": True})


@pytest.mark.parametrize(
    ("given", "element"),
    [
        ({"heavy": None}, "heavy"),
        ({"heavy": math.nan}, "heavy"),
        ({"heavy": [1, 2]}, "heavy"),
        ({"heavy": np.zeros(3)}, "heavy"),
        ({3: "x"}, "xacro_args"),
        (["heavy:=6"], "xacro_args"),
        ("heavy:=6", "xacro_args"),
    ],
)
def test_the_error_about_a_bad_xacro_argument_names_it(tmp_path, given, element):
    with refused(ParameterError, "bad-argument", element):
        read(write(tmp_path), xacro_args=given)


@pytest.mark.parametrize("name", ["heavi", "m", ""])
def test_an_argument_that_the_file_does_not_have_is_refused(tmp_path, name):
    """xacro itself would ignore such an argument."""
    with refused(DescriptionError, "xacro-args", found=name, allowed="heavy"):
        read(write(tmp_path), xacro_args={name: "6"})


def test_arguments_of_included_files_can_be_set(tmp_path):
    path = write(tmp_path, arm=ARM.replace("limb.xacro", "INCLUDE"))
    inner = f'<robot {XMLNS}><xacro:arg name="tool" default="none"/></robot>'
    (tmp_path / "tool.xacro").write_text(inner)
    head = '<xacro:include filename="tool.xacro"/>'
    path.write_text(path.read_text().replace("<link", f"{head}<link", 1))
    assert len(read(path, xacro_args={"tool": "drill"}).links) == 3


def test_an_xacro_argument_without_effect_causes_a_warning(tmp_path):
    """The file declares this argument, so there is no error, but it does not use it."""
    inner = '<xacro:arg name="tool" default="none"/><link name="$(arg tool)"/>'
    guarded = (
        f'<xacro:arg name="on" default="false"/><xacro:if value="$(arg on)">{inner}</xacro:if>'
        '<link name="base"/>'
    )
    path = write(tmp_path, arm=ARM.replace('<link name="base"/>', guarded))
    robot = read(path, xacro_args={"tool": "drill"})
    assert [(f.severity, f.code) for f in robot.findings] == [("warning", "xacro")]
    assert "'tool' has no effect" in robot.findings[0].message
    with refused(DescriptionError, "xacro-args", found="tol", allowed="heavy, on, tool"):
        read(path, xacro_args={"tol": "drill"})


def test_only_xacro_files_take_arguments(tmp_path):
    plain = tmp_path / "arm.urdf"
    plain.write_text('<robot name="arm"><link name="base"/></robot>')
    with refused(DescriptionError, "xacro-args", found="heavy"):
        read(plain, xacro_args={"heavy": "6"})
    with refused(DescriptionError, "xacro-args", found="heavy"):
        read(plain.read_text(), xacro_args={"heavy": "6"})


def test_warnings_of_xacro_become_findings(tmp_path, capfd):
    extra = '<xacro:include filename="no*.xacro"/><link name="base"/>'
    robot = read(write(tmp_path, arm=ARM.replace('<link name="base"/>', extra)))
    assert [(f.severity, f.code) for f in robot.findings] == [("warning", "xacro")]
    assert "matched no files" in robot.findings[0].message
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("dirs", [["."], ["my_arm"], ["elsewhere", "."]])
def test_packages_are_found_in_package_dirs(tmp_path, monkeypatch, dirs):
    path = write(tmp_path / "my_arm", "$(find my_arm)/limb.xacro")
    monkeypatch.chdir(tmp_path)
    assert len(read(path, package_dirs=dirs).links) == 3
    assert len(read(path, package_dirs=[tmp_path / name for name in dirs]).links) == 3


def test_package_dirs_can_be_a_single_path(tmp_path):
    path = write(tmp_path / "my_arm", "$(find my_arm)/limb.xacro")
    assert len(read(path, package_dirs=str(tmp_path)).links) == 3
    assert len(read(path, package_dirs=tmp_path).links) == 3
    assert find_package("my_arm", tmp_path) == tmp_path / "my_arm"
    assert MeshFiles(None, str(tmp_path)).of([".xacro"]).find("package://my_arm/limb.xacro")


@pytest.mark.parametrize("dirs", [None, 3, [3], [None], b"/ws", [b"/ws"]])
def test_the_error_about_bad_package_dirs_names_them(dirs):
    with refused(ParameterError, "bad-argument", "package_dirs"):
        read('<robot name="r"><link name="a"/></robot>', package_dirs=dirs)


def test_a_missing_package_is_refused(tmp_path):
    path = write(tmp_path, "$(find no_such_arm)/limb.xacro")
    with refused(DescriptionError, "package-not-found", found="no_such_arm"):
        read(path, package_dirs=[tmp_path])


def test_a_package_of_a_sourced_workspace_is_found(tmp_path, monkeypatch):
    """A stand-in for ROS's index of packages lets the test run without ROS."""
    index = tmp_path / "ros/ament_index_python"
    index.mkdir(parents=True)
    (index / "__init__.py").touch()
    (index / "packages.py").write_text(
        "def get_package_share_directory(name):\n"
        f"    return {{'my_arm': {str(tmp_path / 'share/my_arm')!r}}}[name]\n"
    )
    monkeypatch.syspath_prepend(tmp_path / "ros")
    path = write(tmp_path / "share/my_arm", "$(find my_arm)/limb.xacro")
    assert len(read(path).links) == 3
    path = write(tmp_path / "other", "$(find other_arm)/limb.xacro")
    with refused(DescriptionError, "package-not-found"):
        read(path)


def test_this_package_is_found_where_no_workspace_is_sourced(monkeypatch):
    # this lets its import fail
    monkeypatch.setitem(sys.modules, "ament_index_python.packages", None)
    folder = find_package("rbdyn_ros")
    assert (folder / "config" / "worlds" / "tables.yaml").is_file()


@pytest.mark.parametrize("name", ["..", "../a", "/etc", "", "a/b", "."])
def test_package_names_cannot_leave_the_folders(tmp_path, name):
    (tmp_path / "a").mkdir()
    assert find_package(name, [tmp_path / "a"]) is None


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("${m / 3}", "${n / 3}", "xacro"),
        ("limb.xacro", "leg.xacro", "xacro"),
        ("xacro:limb", "xacro:limp", "xacro"),
        ("<link name", "<link nme", "missing-name"),
        ("</robot>", "</robt>", "malformed-xml"),
        ("<robot", "<!DOCTYPE a><robot", "doctype"),
        ("${m / 3}", "1 / 0", "bad-number"),
        ("${m / 3}", "${1 / 0}", "xacro"),
        ("<link name", "<sdf name", "unknown-link"),
    ],
)
def test_a_broken_xacro_file_is_refused(tmp_path, capfd, old, new, code):
    path = write(tmp_path)
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    # the message depends on the version of xacro
    with pytest.raises(DescriptionError) as caught:
        read(path)
    assert caught.value.code == code
    assert caught.value.source.startswith(str(path))
    assert capfd.readouterr() == ("", "")


def test_an_error_in_an_included_file_names_the_file(tmp_path):
    path = write(tmp_path)
    (tmp_path / "limb.xacro").write_text("<robot><link></robot>", encoding="utf-8")
    with pytest.raises(DescriptionError) as caught:
        read(path)
    assert caught.value.code == "xacro"
    assert f"(in {tmp_path}" in str(caught.value)
    assert "mismatched tag" in str(caught.value)


def test_a_file_is_read_after_another_file_failed(tmp_path):
    broken = write(tmp_path / "broken", "$(find nowhere)/limb.xacro")
    good = write(tmp_path / "good")
    with pytest.raises(DescriptionError):
        read(broken)
    assert len(read(good).links) == 3


def test_xacro_in_a_text_or_a_urdf_file_is_refused_and_never_expanded(tmp_path):
    mark = tmp_path / "mark"
    text = f"""<robot name="r" {XMLNS}>
      <xacro:property name="x" value="${{open('{mark}', 'w')}}"/><link name="a"/></robot>"""
    for reader in (read, read_text):
        with refused(DescriptionError, "raw-xacro"):
            reader(text)
    path = tmp_path / "raw.urdf"
    path.write_text(text, encoding="utf-8")
    with refused(DescriptionError, "raw-xacro") as caught:
        read(path)
    assert f"'cp {path.name} {path.name}.xacro'" in str(caught.value)
    assert not mark.exists()
    shutil.copy(path, f"{path}.xacro")  # the message advises to do this
    assert len(read(tmp_path / "raw.urdf.xacro").links) == 1


def test_a_urdf_may_declare_xacro_without_using_it(tmp_path):
    """The output of xacro still declares the namespace. Comments do not count as use."""
    path = tmp_path / "expanded.urdf"
    path.write_text(
        f"<robot name='r' {XMLNS}><!-- ${{x}} <xacro:arg/> --><link name='a'/></robot>"
    )
    assert len(read(path).links) == 1
    path.write_text(f"<robot name='r' {XMLNS}>\n<!-- \n -->\n<link name='${{ns}}a'/></robot>")
    with pytest.raises(DescriptionError) as caught:
        read(path)
    assert (caught.value.code, caught.value.findings[0].line) == ("raw-xacro", 4)


def doubling(depth):
    """Return xacro macros, each of which calls the macro before it twice."""
    macros = [f'<xacro:macro name="m{k}"><xacro:m{k - 1}/><xacro:m{k - 1}/></xacro:macro>'
              for k in range(1, depth)]  # fmt: skip
    last = f"<xacro:m{depth - 1}/>"
    return f'<xacro:macro name="m0"><link name="a"/></xacro:macro>{"".join(macros)}{last}'


@pytest.mark.parametrize(
    ("hostile", "code"),
    [
        ("${9**9**9}", "xacro-too-slow"),
        ("${len([k for k in range(10**12)])}", "xacro-too-slow"),
        (doubling(60), "xacro-too-slow"),
        ("${len('a' * 10**11)}", "xacro"),
        ('<xacro:macro name="again"><xacro:again/></xacro:macro><xacro:again/>', "xacro"),
        ("${fatal('no')}", "xacro"),
    ],
    ids=["power", "range", "macros", "memory", "recursion", "fatal"],
)
def test_expressions_that_take_too_long_are_refused(tmp_path, monkeypatch, hostile, code):
    monkeypatch.setattr(xacro_files, "LONGEST", 1)
    path = tmp_path / "hostile.xacro"
    path.write_text(f'<robot name="h" {XMLNS}>{hostile}<link name="base"/></robot>')
    with refused(DescriptionError, code):
        read(path)


def test_an_include_of_a_pipe_is_refused_after_a_timeout(tmp_path, monkeypatch):
    monkeypatch.setattr(xacro_files, "PATIENCE", 1.0)
    path = write(tmp_path, "pipe.xacro")
    os.mkfifo(tmp_path / "pipe.xacro")
    with refused(DescriptionError, "xacro-too-slow"):
        read(path)


def test_the_process_takes_no_module_from_the_working_directory(tmp_path, monkeypatch):
    (tmp_path / "xacro.py").write_text("raise ImportError")
    path = write(tmp_path / "robot")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [folder for folder in sys.path if folder])
    assert len(read(path).links) == 3
