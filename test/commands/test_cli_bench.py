# SPDX-License-Identifier: Apache-2.0
"""The command `rbdyn bench`."""

import json

import pytest
from support.commands import run
from support.robots import find, needs_robots

from rbdyn_ros.share import bundled_robot

ARM = bundled_robot("seven_dof_arm")
QUICK = ("--seconds", "0.05")


def test_the_command_prints_a_table():
    told = run("bench", *QUICK)
    assert (told.returncode, told.stderr) == (0, "")
    head, _, columns, *rows = told.stdout.splitlines()
    assert head.startswith("robot 'seven_dof_arm', nq 7, nv 7; ")
    assert "rbdyn_ros" in columns
    named = [row.split("  ")[0] for row in rows[:7]]
    assert named == [
        *("step(m, d, n)", "step(m, d)", "forward", "forward_dynamics", "inverse"),
        *("mass_matrix", "kinematics"),
    ]
    assert all(float(row[30:].split()[0]) > 0.0 for row in rows[:7])


def test_the_json_has_the_times_of_other_engines_and_their_ratios_to_ours():
    pytest.importorskip("mujoco")
    pytest.importorskip("pinocchio")
    told = json.loads(run("bench", ARM, "--json", *QUICK).stdout)
    assert (told["robot"], told["nq"], told["nv"]) == ("seven_dof_arm", 7, 7)
    assert told["cores"] >= 1
    assert [peer["refusal"] for peer in told["peers"]] == [None, None]
    times = {row["name"]: row for row in told["times"]}
    assert times["inverse"]["peers"].keys() == {peer["name"] for peer in told["peers"]}
    assert not any("Pinocchio" in name for name in times["step(m, d)"]["peers"])
    for row in times.values():
        for other in row["peers"].values():
            # the median of ratios is not the ratio of medians, least of all on a busy machine
            assert 0.1 < other["ratio"] / (other["us"] / row["us"]) < 10.0


def test_a_robot_that_another_engine_cannot_load_is_timed_without_that_engine(tmp_path):
    mechanism = tmp_path / "one.yaml"
    mechanism.write_text(
        "rbdyn_mechanism: 1\nbase: floor\nlinks: {car: {mass: 1, inertia: [1, 1, 1, 0, 0, 0]}}\n"
        "joints: {rail: {type: prismatic, parent: floor, child: car}}\n"
    )
    told = run("bench", mechanism, *QUICK)
    assert told.returncode == 0
    assert told.stdout.count("is not timed: ") == 2
    assert "MuJoCo:" not in told.stdout
    told = json.loads(run("bench", ARM, "--contact", "--json", *QUICK).stdout)
    assert all(row["peers"] == {} for row in told["times"])
    assert {peer["refusal"] is None for peer in told["peers"]} == {False}


@needs_robots
def test_a_note_names_an_engine_in_which_mimic_joints_are_free():
    pytest.importorskip("mujoco")
    told = run("bench", find("panda.urdf"), *QUICK).stdout
    assert "nv 8; " in told
    assert "has nv 9: it moves mimic joints freely." in told


def test_a_refused_robot_ends_with_an_error(tmp_path):
    told = run("bench", tmp_path / "none.urdf")
    assert told.returncode == 1
    assert "none.urdf'" in told.stderr
    assert told.stderr.count("\n") == 1
    assert told.stdout == ""


def test_bench_is_refused_without_compilation(monkeypatch):
    monkeypatch.setattr("rbdyn_ros.engine.compiler.jit.DISABLED", True)
    told = run("bench")
    assert told.returncode == 2
    assert "NUMBA_DISABLE_JIT" in told.stderr


def test_a_terminal_gets_a_progress_bar():
    told = run("bench", *QUICK, screen=True)
    assert "timing: " in told.stderr
    assert "/105 [" in told.stderr
    assert told.stderr.endswith("\r")
