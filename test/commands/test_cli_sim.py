# SPDX-License-Identifier: Apache-2.0
"""The parameters that `rbdyn sim` passes to the node; test/ros tests the node itself."""

import importlib.util
import json
import sys
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.commands import run

from rbdyn_ros.commands.line import interrupts
from rbdyn_ros.share import bundled_robot
from rbdyn_ros.view.live import spawned


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Make robot files in the working folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("robot.urdf", "arm.urdf.xacro"):
        (tmp_path / name).touch()


@pytest.fixture
def node(monkeypatch):
    """Replace the node; return a dictionary of the arguments with which it is started."""
    called = {}

    def stand_in(words, urdf, fallback, imports, view):
        called.update(words=words, urdf=urdf, fallback=fallback, imports=imports, view=view)
        return 0

    monkeypatch.setattr(spawned, "spawn", lambda: "a process")
    monkeypatch.setattr(interrupts, "end_at_once", lambda status, *_: called.update(status=status))
    simulator = SimpleNamespace(node=SimpleNamespace(run=stand_in))
    monkeypatch.setitem(sys.modules, "rbdyn_ros.ros.simulator", simulator)
    return called


@pytest.fixture
def viser(monkeypatch):
    """Return a function that sets whether viser seems to be installed; at first it does."""

    def installed(there):
        spec = object() if there else None
        monkeypatch.setattr(importlib.util, "find_spec", lambda _: spec)

    installed(True)
    return installed


def parameters(words):
    """Return the values of ROS parameters in a list of arguments; the last value counts."""
    pairs = [word.split(":=", 1) for flag, word in pairwise(words) if flag == "-p"]
    return dict(pairs)


def test_sim_starts_the_node_with_the_robot_and_the_view(node, viser, files):
    assert run("sim", "robot.urdf").returncode == 0
    assert node["urdf"] == Path("robot.urdf")
    assert node["fallback"] == bundled_robot("seven_dof_arm")
    assert node["words"][1] == "--ros-args"
    assert parameters(node["words"]) == {"view": "true", "start": '"shown"'}
    assert node["view"] == "a process"
    assert node["status"] == 0  # Ctrl-C is the normal end of a simulation


def test_a_missing_robot_is_refused_before_the_node_starts(node, viser, files):
    done = run("sim", "robt.urdf")
    assert done.returncode == 2
    assert "there is no file 'robt.urdf' (did you mean 'robot.urdf'?)" in done.stderr
    assert "urdf" not in node


def test_options_of_sim_become_parameters_of_the_node(node, viser, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ("--port", "9000", "--record", "run.mcap", "--floating-base", "--contact", "--paused")
    assert run("sim", *words).returncode == 0
    assert node["urdf"] is None
    assert parameters(node["words"]) == {
        "view": "true",
        "start": '"shown"',
        "view_port": "9000",
        "record": json.dumps(str(tmp_path / "run.mcap")),
        "floating_base": "true",
        "contact": "true",
        "start_paused": "true",
    }
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        ("arm.urdf.xacro", "space:=/left", "prefix:=", "--contact"),
        ("arm.urdf.xacro", "--contact", "space:=/left", "prefix:="),
        ("--contact", "arm.urdf.xacro", "space:=/left", "--no-view", "prefix:="),
    ],
)
def test_xacro_arguments_become_a_parameter(node, viser, files, words):
    assert run("sim", *words).returncode == 0
    assert node["urdf"] == Path("arm.urdf.xacro")
    given = parameters(node["words"])
    assert json.loads(given["xacro_args"]) == ["space:=/left", "prefix:="]
    assert given["contact"] == "true"


def test_parameters_after_ros_args_override_options(node, viser):
    run("sim", "--contact", "--ros-args", "-p", "contact:=false", "-p", "view:=false")
    assert parameters(node["words"]) == {
        "view": "false",
        "start": '"shown"',
        "contact": "false",
    }
    assert node["words"][-4:] == ["-p", "contact:=false", "-p", "view:=false"]


def test_a_path_may_contain_any_character(node, viser, tmp_path):
    yaml = pytest.importorskip("yaml")
    folder = tmp_path / "a: \"b\" 'c' #d, é"
    folder.mkdir()
    assert run("sim", "--record", folder / "run.mcap").returncode == 0
    assert yaml.safe_load(parameters(node["words"])["record"]) == str(folder / "run.mcap")


def test_no_view_starts_with_the_option_no_view(node, viser):
    done = run("sim", "--no-view")
    assert parameters(node["words"]) == {"view": "false", "start": '"shown"'}
    assert node["view"] is None
    assert done.stderr == ""


def test_no_view_starts_without_viser(node, viser):
    viser(False)
    done = run("sim")
    assert done.returncode == 0
    assert parameters(node["words"]) == {"view": "false", "start": '"shown"'}
    assert node["view"] is None
    assert "viser" in done.stderr
    assert done.stderr.count("\n") == 1
    assert run("sim", "--no-view").stderr == ""


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--record", "run.bag"), "'run.bag'"),
        (("--record", "/no/such/run.mcap"), "'/no/such/run.mcap'"),
        (("--record", ""), "argument --record"),
        (("--port", "-1"), "'-1'"),
        (("--port", "65536"), "'65536'"),
        (("--port", "9" * 99), "'99999999999999999999"),
        (("--port", "8080", "--no-view"), "--no-view"),
        (("arm.xacro", "left"), "put robots of one world into a scene"),
        (("arm.xacro", ":=left"), "xacro argument ':=left' has no name and value"),
        (("arm.xacro", "a:=1", "a:=2"), "'a:=2' names 'a' a second time"),
        (("arm.xacro", "--contact", "left"), "'left' is neither an option nor name:=value"),
        (("arm.urdf", "-p", "3"), "'-p'"),
    ],
)
def test_wrong_options_are_refused_before_the_node_starts(node, words, named):
    done = run("sim", *words)
    assert done.returncode == 2
    assert named in done.stderr
    assert done.stderr.count("\n") == 1
    assert "words" not in node


def test_an_existing_recording_is_not_overwritten(node, viser, tmp_path):
    path = tmp_path / "run.mcap"
    path.write_text("mine")
    done = run("sim", "--record", path)
    assert done.returncode == 2
    assert f"'{path}'" in done.stderr
    assert path.read_text() == "mine"
    assert "words" not in node
