# SPDX-License-Identifier: Apache-2.0
"""`rbdyn check FOLDER` gives a verdict on each robot file below a folder."""

import json
import os

import pytest
from support.commands import run

from rbdyn_ros.commands.line.common import loaded_robot

SOUND = '<robot name="r"><link name="base"/></robot>'
WITHOUT_LIMIT = """<robot name="r"><link name="base"/>
  <link name="arm">
  <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  </link><joint name="j" type="revolute"><parent link="base"/><child link="arm"/></joint>
</robot>"""
MJCF = '<mujoco><worldbody><body><freejoint/><geom size="1"/></body></worldbody></mujoco>'
FILES = {
    "sound.urdf": SOUND,
    "deep/er/model.xml": MJCF,
    "deep/robot.xml": SOUND,
    "mechanism.yaml": "rbdyn_mechanism: 1\nbase: base\nlinks: {base: }\njoints: {}\n",
}
#: Files in the folder that are not robots, or that other files include.
OTHERS = {
    "package.xml": "<package/>",
    "part.xml": "<mujocoinclude/>",
    "macros.xacro": "<robot xmlns:xacro='http://wiki.ros.org/xacro'/>",
    "named.xacro": "<robot name='r' xmlns:xacro='http://wiki.ros.org/xacro'/>",
    "arm.srdf.xacro": "<robot name='r'/>",
    "values.yaml": "a: 1\n",
    "README": SOUND,
    ".hidden/robot.urdf": SOUND,
}


@pytest.fixture
def folder(tmp_path):
    """Return a function that writes files into a folder and returns it."""

    def fill(files):
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        return tmp_path

    return fill


def test_each_robot_file_has_a_line(folder):
    done = run("check", folder(FILES | OTHERS))
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines[:-1]] == ["loads"] * len(FILES)
    assert {name for name in FILES | OTHERS if name in done.stdout} == set(FILES)
    assert lines[-1].startswith("4 robot files: 4 load, 0 after repairs, 0 refused, in ")
    assert done.returncode == 0


def test_each_file_has_a_verdict_and_its_reason(folder):
    files = {"a.urdf": WITHOUT_LIMIT, "b.urdf": "<robot", "c.urdf": SOUND}
    done = run("check", folder(files), "--format", "json")
    rows = json.loads(done.stdout)
    assert [row["verdict"] for row in rows] == ["repaired", "refused", "loads"]
    assert "must have a <limit>" in rows[0]["reason"]
    assert "malformed" in rows[1]["reason"]
    assert done.returncode == 1


def test_a_file_with_a_repairable_error_passes_with_the_option_repair(folder):
    files = folder({"a.urdf": WITHOUT_LIMIT})
    assert run("check", files).returncode == 1
    assert run("check", files, "--repair").returncode == 0


def test_xacro_arguments_are_used_only_for_xacro_files(folder):
    pytest.importorskip("xacro")
    text = """<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">
      <xacro:arg name="n" default="x"/>
      <link name="$(arg n)"/></robot>"""
    done = run("check", folder({"a.xacro": text, "b.urdf": SOUND}), "n:=base")
    assert done.returncode == 0, done.stdout


def test_pipes_in_a_folder_are_ignored(folder):
    at = folder({"a.urdf": SOUND})
    for name in ("pipe.xml", "pipe.yaml", "pipe.urdf"):
        os.mkfifo(at / name)
    assert "1 robot file:" in run("check", at).stdout


def test_a_reader_that_fails_does_not_end_the_run(folder, monkeypatch):
    def failing(options, path):
        if path.name == "a.urdf":
            raise RecursionError("too deep")
        return loaded_robot(options, path)

    monkeypatch.setattr("rbdyn_ros.commands.checking.folders.loaded_robot", failing)
    done = run("check", folder({"a.urdf": SOUND, "b.urdf": SOUND}), "--format", "json")
    rows = json.loads(done.stdout)
    assert [row["verdict"] for row in rows] == ["refused", "loads"]
    assert rows[0]["reason"] == "the reader failed: RecursionError: too deep"
    assert done.returncode == 1


def test_a_folder_without_a_robot_is_refused(folder):
    done = run("check", folder(OTHERS))
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no robot file in '" in done.stderr


def test_sarif_has_the_findings_of_all_files(folder):
    done = run("check", folder({"a.urdf": WITHOUT_LIMIT, "b.urdf": "<robot"}), "--format", "sarif")
    results = json.loads(done.stdout)["runs"][0]["results"]
    assert {row["ruleId"] for row in results} == {"missing-limit", "malformed-xml"}


@pytest.mark.parametrize("words", [["--fix"], ["--graph", "g.svg"], ["--collisions"]])
def test_options_for_single_files_are_refused_with_a_folder(folder, words):
    done = run("check", folder(FILES), *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert "need a file" in done.stderr


def test_a_folder_and_a_file_in_one_call_are_refused(folder):
    done = run("check", folder(FILES), folder(FILES) / "sound.urdf")
    assert (done.returncode, done.stdout) == (2, "")
