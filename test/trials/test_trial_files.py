# SPDX-License-Identifier: Apache-2.0
"""Trial files are read, and errors in them name the line."""

import numpy as np
import pytest
from support.refusals import refused
from support.trials import joint, text, trial

from rbdyn_ros import trials
from rbdyn_ros.errors import DescriptionError, ParameterError
from rbdyn_ros.share import bundled_robot
from rbdyn_ros.trials.distributions import Choice, Normal
from rbdyn_ros.trials.files.reader import with_runs
from rbdyn_ros.trials.trial import MeasureLimit

LAW = "{law: pd, stiffness: 1, damping: 1}"

#: Keys of a trial file, wrong values for them, and the code of the error.
BAD = [
    ("speed", "fast", "unknown-key"),
    ("controller", None, "missing-key"),
    ("duration", "0", "bad-value"),
    ("duration", "nan", "bad-value"),
    ("duration", "1e9", "bad-value"),
    ("timestep", "-0.001", "bad-value"),
    ("runs", "0", "bad-value"),
    ("runs", "1.5", "bad-value"),
    ("first_seed", "-1", "bad-value"),
    ("robot", "nowhere.urdf", "bad-robot"),
    ("floating_base", "maybe", "bad-value"),
    ("controller", "{}", "bad-controller"),
    ("controller", "{law: pid, stiffness: 1, damping: 1}", "unknown-law"),
    ("controller", "{law: pd, stiffness: 1}", "missing-key"),
    ("controller", "{law: pd, stiffness: -1, damping: 1}", "bad-value"),
    ("controller", "{law: pd, stiffness: {knee: 1}, damping: 1}", "unknown-joint"),
    ("controller", "{law: pd, python: 'policy.py:f'}", "bad-controller"),
    ("controller", "{python: policy.py}", "bad-value"),
    ("controller", "{python: 'nowhere.py:f'}", "unreadable-file"),
    ("controller", "{python: 'policy.py:f', damping: 1}", "unknown-key"),
    ("controller", "{law: pd, stiffness: 1, damping: 1, rate: 700}", "bad-value"),
    ("reference", "{knee: 1}", "unknown-joint"),
    ("reference", "{JOINT: {times: [1, 0], positions: [0, 1]}}", "bad-motion"),
    ("reference", "{JOINT: {times: [0], positions: [0, 1]}}", "bad-motion"),
    ("reference", "{JOINT: {amplitude: 1}}", "missing-key"),
    ("start", "{position: {normal: {stddev: 0.1}}}", "missing-key"),
    ("start", "{position: {normal: {mean: .nan, stddev: 0.1}}}", "bad-value"),
    ("start", "{position: {normal: {mean: 0, stddev: -1}}}", "bad-distribution"),
    ("start", "{position: {normal: {mean: 0, stddev: 1, low: 20}}}", "bad-distribution"),
    ("start", "{position: {uniform: {low: 1, high: 0}}}", "bad-distribution"),
    ("start", "{position: {loguniform: {low: 0, high: 1}}}", "bad-distribution"),
    ("start", "{position: {gauss: {mean: 0}}}", ["unknown-key", "unknown-joint"]),
    ("start", "{position: {JOINT: {gauss: {mean: 0}}}}", "unknown-key"),
    ("start", "{position: {choice: []}}", "bad-value"),
    ("start", "{position: [1]}", "bad-value"),
    ("payload", "{link: nowhere, mass: 1}", "unknown-moving-link"),
    ("payload", "{mass: 1}", "missing-key"),
    ("vary", "{dof_damping: {JOINT: -1}}", "bad-distribution"),
    ("vary", "{dof_damping: {JOINT: {normal: {mean: 1, stddev: 0.1}}}}", "bad-distribution"),
    ("vary", "{inertia: 1}", "unknown-key"),
    ("faults", "{command_delay: 1}", "bad-distribution"),
    ("faults", "{command_drop: 1.5}", "bad-distribution"),
    ("faults", "{comand_delay: 0}", "unknown-key"),
    ("measures", "{tracking_max: {python: 'policy.py:f'}}", "duplicate-measure"),
    ("measures", "{mine: 3}", "bad-value"),
    ("limits", "{tracking_max: nan}", "bad-value"),
    ("limits", "{tracking: 1}", "unknown-measure"),
    ("limits", "{base_height: {min: 1}}", "unknown-measure"),
    ("limits", "{tracking_max: {min: 2, max: 1}}", "bad-value"),
    ("limits", "{tracking_max: {}}", "bad-value"),
    ("verdict", "{pass_rate: 1.5}", "bad-value"),
    ("verdict", "{pass_rate: 1}", "bad-value"),
    ("verdict", "{confidence: 1}", "bad-value"),
    ("duration", "1e308", "out-of-range"),
    ("controller", '{python: "a\\0b.py:f"}', "unreadable-file"),
    ("process", "{time: 0}", "bad-value"),
    ("robot", "r" * 300, "bad-robot"),
    ("actuators", "a" * 300, "bad-actuators"),
    ("reference", "{JOINT: {times: [0, 1e300], positions: [0, 1]}}", "out-of-range"),
    ("reference", "{JOINT: 1e300}", "out-of-range"),
    ("timestep", "1e-300", "out-of-range"),
    ("start", "{position: 1e-300}", "out-of-range"),
    ("start", "{position: {choice: [0, 1e300]}}", "out-of-range"),
]


@pytest.mark.parametrize(("key", "value", "code"), BAD)
def test_the_error_about_a_wrong_value_names_its_line(tmp_path, key, value, code):
    value = value and value.replace("JOINT", joint())
    written = text(**{key: value})
    (tmp_path / "policy.py").write_text("def f(t, qpos, qvel, reference):\n    return 0 * qvel\n")
    (tmp_path / "trial.yaml").write_text(written)
    with refused(DescriptionError, code) as caught:
        trials.load(tmp_path / "trial.yaml")
    lines = written.splitlines()
    if value is not None:
        assert lines[caught.value.line - 1].startswith(f"{key}: ")
    assert str(tmp_path / "trial.yaml") in str(caught.value)


def test_a_word_of_a_command_may_be_longer_than_a_file_name(tmp_path):
    node = "{node: {command: [python3, -c, " + "x" * 300 + "]}}"
    assert trial(tmp_path, controller=node).controller.program.files


def test_all_errors_of_a_file_are_reported_together(tmp_path):
    (tmp_path / "trial.yaml").write_text(text(runs=0, limits="{x: 1}", verdict="{y: 1}"))
    with refused(DescriptionError, ["bad-value", "unknown-measure", "unknown-key"]) as caught:
        trials.load(tmp_path / "trial.yaml")
    assert "3 errors" in str(caught.value)


def test_a_yaml_file_that_is_not_a_trial_is_refused(tmp_path):
    (tmp_path / "scene.yaml").write_text("rbdyn_scene: 1\n")
    with refused(DescriptionError, "not-a-trial", line=1):
        trials.load(tmp_path / "scene.yaml")
    with refused(DescriptionError, "no-such-file"):
        trials.load(tmp_path / "trail.yaml")


def test_the_keys_of_a_file_become_the_fields_of_a_trial(tmp_path):
    found = trial(
        tmp_path, runs=7, first_seed=100, timestep=0.002, verdict="{pass_rate: 0.9}",
        limits="{tracking_max: {min: 0, max: 1}}", controller=LAW.replace("}", ", rate: 250}"),
    )  # fmt: skip
    assert list(found.seeds) == list(range(100, 107))
    assert (found.nstep, found.controller.every) == (100, 2)
    assert found.limits == {"tracking_max": MeasureLimit(0.0, 1.0)}
    assert found.rule.pass_rate == 0.9
    assert [varied.name for varied in found.varied] == [
        f"start.position.{joint()}",
        "faults.command_delay",
    ]
    assert [varied.distribution for varied in found.varied] == [
        Normal(0.0, 0.05),
        Choice((0.0, 0.001, 0.002)),
    ]
    assert with_runs(found, 3).runs == 3
    with refused(ParameterError, "bad-argument"):
        with_runs(found, 0)


def test_a_smooth_motion_passes_its_points_and_rests_at_both_ends(tmp_path):
    m = trial(tmp_path).m
    table = trial(tmp_path).reference
    q, v, a = table[:, 0], table[:, m.nq], table[:, m.nq + m.nv]
    assert q[0] == q[20] == 0.0
    assert q[-1] == q[150] == 0.4
    assert v[0] == v[-1] == 0.0
    # compare with central differences, which have errors of h^2 / 6
    step = float(m.opt.timestep)
    smooth = slice(22, 148)
    np.testing.assert_allclose(np.gradient(q, step)[smooth], v[smooth], atol=2e-3 * abs(v).max())
    np.testing.assert_allclose(np.gradient(v, step)[smooth], a[smooth], atol=2e-3 * abs(a).max())


def test_the_digest_depends_on_exactly_the_keys_that_change_a_run(tmp_path):
    digest = trial(tmp_path).digest
    assert trial(tmp_path, runs=3, limits="{energy: 1}", name="other").digest == digest
    for changed in (
        {"duration": 0.3}, {"controller": LAW}, {"start": None}, {"faults": "{command_drop: 0.1}"},
        {"robot": bundled_robot("seven_dof_arm"), "reference": None}, {"timestep": 0.002},
    ):  # fmt: skip
        assert trial(tmp_path, **changed).digest != digest


def test_package_folders_do_not_depend_on_the_working_folder(tmp_path, monkeypatch):
    file = tmp_path / "trial.yaml"
    robot = f"{{file: {bundled_robot('pendulum')}, package_dirs: [packages]}}"
    law = "{law: pd_gravity, stiffness: 1, damping: 1}"
    file.write_text(f"rbdyn_trial: 1\nrobot: {robot}\ncontroller: {law}\nduration: 0.1\n")
    monkeypatch.chdir(tmp_path)
    found = trials.load("trial.yaml").robot_file.file
    assert [*found.package_dirs] == [tmp_path / "packages"]
