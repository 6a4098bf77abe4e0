# SPDX-License-Identifier: Apache-2.0
"""A trial's controller can be a ROS node in another process, in lock-step with the simulator."""

from contextlib import contextmanager
from pathlib import Path

import pytest
from support.domains import free_domain
from support.refusals import refused
from support.trials import NODE, joint, trial

from rbdyn_ros import read_run, trials
from rbdyn_ros.errors import DescriptionError, ParameterError, RbdynError
from rbdyn_ros.share import bundled_robot

rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed")

#: The law of the node in support.trials.NODE, as a Python function.
LAW = "def control(t, qpos, qvel, reference):\n    return 40.0 * (0.3 - qpos) - 4.0 * qvel\n"
COMMAND = "{node: {command: [python, policy.py]}}"
MEASURED = {"limits": None, "measures": "{last: {python: 'last.py:last'}}"}


@contextmanager
def ros_in_use():
    """Within a `with` block, let a node exist in this process."""
    context = rclpy.Context()
    with free_domain() as domain:
        rclpy.init(context=context, domain_id=domain)
        try:
            node = rclpy.create_node("here", context=context)
            yield
            node.destroy_node()
        finally:
            rclpy.shutdown(context=context)


def of_node(folder, fault="pass", **changed):
    """Return a trial whose controller is NODE, with `fault` as its faulty statement."""
    Path(folder, "last.py").write_text("def last(history):\n    return history.qpos[-1, 0]\n")
    settings = {"controller": COMMAND, "duration": 0.1, "runs": 2, **MEASURED, **changed}
    return trial(folder, NODE.replace("FAULT", fault), **settings)


def test_a_node_has_the_same_runs_as_its_law_in_python(tmp_path):
    """Both laws read each state, and their commands pass through the actuators of the run."""
    name = joint()
    (tmp_path / "actuators.yaml").write_text(f"rbdyn_actuators: 1\nactuators: {{{name}: {{}}}}\n")
    robots = {
        "payload": "{link: rod, mass: {uniform: {low: 0, high: 0.2}}}",
        "actuators": "actuators.yaml",
        "vary": "{actuators: {gear: 9, delay: 2e-3, armature: {uniform: {low: 0, high: 1e-3}}}}",
    }
    found = of_node(tmp_path, **robots)
    there = trials.run(found, workers=2)
    assert [run.why for run in there.runs] == ["", ""]
    recorded = tmp_path / "run.mcap"
    with ros_in_use():  # a process that uses ROS must not be forked for a run
        assert trials.repeat(found, 1) == there.runs[1]
        assert trials.record(found, 1, recorded) == there.runs[1]
    states = read_run(recorded)
    assert states.qpos[100, 0] == there.runs[1].measures["last"]
    here = of_node(tmp_path, controller="{python: 'policy.py:control'}", **robots)
    (tmp_path / "policy.py").write_text(LAW)
    alike = trials.run(trials.load(here.path), workers=1)
    for one, other in zip(there.runs, alike.runs, strict=True):
        assert one.values == other.values
        assert one.measures == pytest.approx(other.measures, rel=1e-9)
        # the bits are equal, because both run the engine's general code
        assert one.state == other.state


def test_measures_of_a_slow_node_use_only_the_states_that_it_receives(tmp_path):
    """Measures over a quarter of the states differ little from measures over all states."""
    rate, without = "rate: 250}", {"runs": 1, "measures": None}
    found = of_node(tmp_path, controller=COMMAND.replace("}}", "}, ") + rate, **without)
    (run,) = trials.run(found, workers=1).runs
    law = "{python: 'policy.py:control', " + rate
    found = of_node(tmp_path, controller=law, **without)
    (tmp_path / "policy.py").write_text(LAW)
    (alike,) = trials.run(trials.load(found.path), workers=1).runs
    for name in ("tracking_rms", "effort_rms", "energy", "settling_time"):
        assert run.measures[name] == pytest.approx(alike.measures[name], rel=0.1)


@pytest.mark.parametrize(
    ("fault", "status", "why"),
    [
        ("raise ValueError('no torque')", "crashed",
         "the node ended with status 1: ValueError: no torque"),
        ("time.sleep(600)", "timeout", "after 15 s the node has not"),
    ],
    ids=["raises", "hangs"],
)  # fmt: skip
def test_the_result_of_a_run_says_what_its_node_did(tmp_path, fault, status, why):
    limits = "{time: 15, memory: 2048}" if status == "timeout" else "{time: 300, memory: 2048}"
    (run,) = trials.run(of_node(tmp_path, fault, runs=1, process=limits), workers=1).runs
    assert run.status == status
    assert run.why.startswith(why)
    assert run.why.endswith(f"for '{joint()}'") == (status == "timeout")
    assert run.values


@pytest.mark.parametrize(
    ("node", "code"),
    [
        ("{}", "bad-node"),
        ("{command: []}", "bad-value"),
        ("{command: [a], package: b, executable: c}", "bad-node"),
        ("{executable: c}", "missing-key"),
        ("{command: [a], joints: [knee]}", "unknown-joint"),
    ],
)
def test_an_invalid_node_is_refused_with_its_line(tmp_path, node, code):
    with refused(DescriptionError, code):
        of_node(tmp_path, controller=f"{{node: {node}}}")


def test_a_missing_program_is_refused_before_the_first_run(tmp_path):
    for node in ("{command: [nowhere]}", "{package: nowhere, executable: pd}"):
        with refused(ParameterError, "no-program"):
            trials.run(of_node(tmp_path, controller=f"{{node: {node}}}"), workers=1)
    faults = "{effort_scale: 0.5}"
    with refused(DescriptionError, "bad-fault"):
        of_node(tmp_path, faults=faults)


def test_files_that_changed_since_the_trial_was_read_are_refused(tmp_path):
    """Such files may differ on another machine of a cluster, too."""
    robot = tmp_path / "robot.urdf"
    robot.write_text(bundled_robot("pendulum").read_text())
    found = of_node(tmp_path, robot=robot)
    node, text = tmp_path / "policy.py", robot.read_text()
    robot.write_text(text.replace('mass value="', 'mass value="1'))
    with refused(RbdynError, "changed-file"):
        trials.run(found, workers=1)
    robot.write_text(text)
    node.write_text(node.read_text() + "\n")
    with refused(RbdynError, "changed-file"):
        trials.run(found, workers=1)


def test_a_changed_file_of_a_node_changes_the_digest(tmp_path):
    assert of_node(tmp_path).digest != of_node(tmp_path, "return").digest
    assert of_node(tmp_path).digest == of_node(tmp_path, runs=9).digest
