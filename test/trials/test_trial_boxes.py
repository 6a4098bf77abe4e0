# SPDX-License-Identifier: Apache-2.0
"""Trials of a program that connects to a control box, in a process of its own."""

import importlib.util
import shutil
from pathlib import Path

import pytest
from support.refusals import refused
from support.robots import find

from rbdyn_ros import read_run, trials
from rbdyn_ros.errors import DescriptionError, ParameterError

PROGRAM = Path(__file__).with_name("box_program.py")
TRIAL = """\
rbdyn_trial: 1
robot: {robot}
runs: 3
duration: 0.5
controller: {controller}
process: {{time: {time}}}
payload: {{link: panda_link7, mass: {{uniform: {{low: 0, high: 0.5}}}}}}
faults: {{command_drop: {{uniform: {{low: 0.02, high: 0.05}}}}}}
measures: {{swing: {{python: "swing.py:swing"}}}}
"""
MEASURES = """\
def swing(history):
    return abs(history.qpos[:, 3] - history.qpos[0, 3]).max()
"""
needs_client = pytest.mark.skipif(
    importlib.util.find_spec("pylibfranka") is None,
    reason='pylibfranka is not installed (pip install "rbdyn_ros[box-test]")',
)


def command(*words, box="franka"):
    return f"{{command: [{', '.join(words)}], box: {box}}}"


def of_box(folder, *words, controller="", robot="panda.urdf", time=300):
    """Return a trial whose controller is a program with a box."""
    (folder / "swing.py").write_text(MEASURES)
    shutil.copy(PROGRAM, folder)
    path = folder / "trial.yaml"
    own = command("python3", *words)
    path.write_text(TRIAL.format(robot=find(robot), controller=controller or own, time=time))
    return trials.load(path)


def is_running(words):
    files = Path("/proc").glob("[0-9]*/cmdline")
    return any(words in file.read_bytes().split(b"\0") for file in files)


@needs_client
def test_a_program_is_tried_twice_with_the_same_bits(tmp_path):
    found = of_box(tmp_path, "box_program.py", "127.0.0.1")
    there = trials.run(found, workers=2)
    assert [run.why for run in there.runs] == ["", "", ""]
    for run in there.runs:
        # a spring of 200 N m/rad that swings within its time constant gives way by a half
        assert 0.03 < run.measures["swing"] < 0.1
    assert len({run.state for run in there.runs}) == 3
    recorded = tmp_path / "run.mcap"
    assert trials.record(found, 2, recorded) == there.runs[2]
    states = read_run(recorded)
    assert abs(states.qpos[:, 3] - states.qpos[1, 3]).max() == there.runs[2].measures["swing"]
    assert len(states.qpos) == 501  # time went on after the program


@needs_client
@pytest.mark.parametrize(
    ("fault", "time", "status", "why"),
    [
        ("ends", 300, "crashed", "the program ended with status 1: I give up"),
        ("waits", 15, "timeout", "after 15 s the box waits for the program at the state of 0."),
    ],
)
def test_what_a_program_does_is_the_result_of_its_run(tmp_path, fault, time, status, why):
    found = of_box(tmp_path, "box_program.py", "127.0.0.1", fault, time=time)
    (run,) = trials.run(trials.with_runs(found, 1), workers=1).runs
    assert run.status == status
    assert run.why.startswith(why)
    assert not is_running(b"987")  # what it started has ended with it


@pytest.mark.parametrize(
    ("code", "time", "status", "why"),
    [
        ("pass", 60, "crashed", "the program ended with status 0; it never connected"),
        ("raise OSError('no arm')", 60, "crashed",
         "the program ended with status 1: OSError: no arm; it never connected"),
        ("import time; time.sleep(600)", 3, "timeout", "after 3 s the program has not connected"),
    ],
    ids=["ends", "raises", "hangs"],
)  # fmt: skip
def test_a_program_that_never_connects_is_named(tmp_path, code, time, status, why):
    controller = command("python3", "-c", f'"{code}"', "127.0.0.1")
    found = of_box(tmp_path, controller=controller, time=time)
    (run,) = trials.run(trials.with_runs(found, 1), workers=1).runs
    assert run.status == status
    assert run.why.startswith(why)


@pytest.mark.parametrize(
    ("controller", "code"),
    [
        ("{command: [a, 127.0.0.1]}", "missing-key"),
        ("{law: pd, stiffness: 1, damping: 1, box: franka}", "unknown-key"),
        (command("a", "127.0.0.1", box="frank"), "bad-box"),
        (command("a", "127.0.0.1", box="ur"), "bad-box"),
        (command("a", "127.0.0.1", box="franka@127.0.0.2"), "bad-command"),
        (command("a"), "bad-command"),
    ],
)
def test_a_box_that_cannot_be_is_refused_with_its_line(tmp_path, controller, code):
    with refused(DescriptionError, code):
        of_box(tmp_path, controller=controller)


def test_a_program_that_is_not_there_is_refused_before_the_first_run(tmp_path):
    found = of_box(tmp_path, controller=command("nowhere", "127.0.0.1"))
    with refused(ParameterError, "no-program"):
        trials.run(found, workers=1)


def test_the_box_is_part_of_the_digest(tmp_path):
    one, other = ("franka", "franka@127.0.0.1")
    digests = {
        of_box(tmp_path, controller=command("a", "127.0.0.1", box=box)).digest
        for box in (one, other)
    }
    assert len(digests) == 2
