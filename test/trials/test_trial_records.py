# SPDX-License-Identifier: Apache-2.0
"""Failed runs of a trial are recorded, and a table lists all runs."""

import json

import numpy as np
import pytest
from support.commands import run
from support.refusals import refused
from support.trials import joint, trial

import rbdyn_ros as rb
from rbdyn_ros import trials
from rbdyn_ros.errors import ParameterError
from rbdyn_ros.trials.simulation.sampling import run_model

CRASHING = """\
def control(t, qpos, qvel, reference):
    if t > 0.05:
        raise ValueError
    return 0.0 * qvel
"""


def test_recording_a_run_does_not_change_its_result(tmp_path):
    found = trial(tmp_path)
    run = trials.record(found, 17, tmp_path / "run.mcap")
    assert run == trials.repeat(found, 17)
    read = rb.read_run(tmp_path / "run.mcap")
    assert "<robot" in read.urdf
    assert len(read.time) == found.nstep
    error = read.qpos[:, 0] - found.reference[1:, 0]
    assert abs(error).max() == run.measures["tracking_max"]


def test_a_recording_contains_the_robot_with_the_parameters_of_its_run(tmp_path):
    found = trial(
        tmp_path, payload="{link: rod, mass: {uniform: {low: 1, high: 2}}, z: -0.5}",
        vary="{dof_damping: {uniform: {low: 0, high: 1}}}",
    )  # fmt: skip
    run = trials.record(found, 3, tmp_path / "run.mcap")
    m = rb.read_run(tmp_path / "run.mcap").m
    assert m.body_mass[1] == pytest.approx(1.0 + run.values["payload.mass"])
    assert m.dof_damping[0] == run.values[f"dof_damping.{joint()}"]
    laden = rb.with_payload(found.m, "rod", run.values["payload.mass"], (0.0, 0.0, -0.5))
    own = run_model(found, 3, found.m)
    np.testing.assert_allclose(own.body_fullinertia, laden.body_fullinertia, rtol=1e-12)


def test_a_run_is_recorded_until_its_controller_crashes(tmp_path):
    found = trial(tmp_path, CRASHING, controller="{python: 'policy.py:control'}", runs=2)
    run = trials.record(found, 1, tmp_path / "run.mcap")
    assert run.status == "crashed"
    assert len(rb.read_run(tmp_path / "run.mcap").time) == 51


def test_the_worst_runs_are_recorded(tmp_path):
    trial(tmp_path, limits="{tracking_max: 0.05}", recordings=2)
    words = ["trial", str(tmp_path / "trial.yaml"), "--out", str(tmp_path / "out")]
    assert run(*words, "--workers", "1").returncode == 1
    failures = json.loads((tmp_path / "out" / "verdict.json").read_text())["failures"]
    worst = sorted(f"seed_{seed}.mcap" for seed in list(failures)[:2])
    assert sorted(x.name for x in (tmp_path / "out" / "failures").iterdir()) == worst
    assert run(*words, "--record", str(tmp_path / "x.mcap")).returncode == 2
    done = run(*words, "--seed", "3", "--record", str(tmp_path / "x.mcap"))
    assert done.returncode in (0, 1)
    assert rb.read_run(tmp_path / "x.mcap").m.name == "pendulum"


def test_a_bad_path_or_seed_of_a_recording_is_refused(tmp_path):
    found = trial(tmp_path)
    with refused(ParameterError, "unwritable-file"):
        trials.record(found, 1, tmp_path / "nowhere" / "run.mcap")
    with refused(ParameterError, "unknown-suffix"):
        trials.record(found, 1, tmp_path / "run.bag")
    with refused(ParameterError, "bad-argument", "seed"):
        trials.record(found, -1, tmp_path / "run.mcap")


def test_the_table_has_a_row_for_each_run(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    found = trial(tmp_path, name="a trial")
    results = trials.run(found, workers=1)
    files = trials.write_reports(results, tmp_path / "out")
    assert files[-1].name == "runs.parquet"
    table = parquet.read_table(files[-1])
    rows = table.to_pylist()
    assert [row["seed"] for row in rows] == list(range(20))
    for row, each in zip(rows, results.runs, strict=True):
        assert row["measure.tracking_max"] == each.measures["tracking_max"]
        assert row["faults.command_delay"] == each.values["faults.command_delay"]
        assert row["passed"] == (each.seed not in results.verdict.failures)
    assert table.schema.metadata[b"trial"] == b"a trial"
    assert table.schema.metadata[b"partial"] == b"false"


def test_no_table_is_written_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setattr("rbdyn_ros.trials.output.reports.is_available", lambda: False)
    monkeypatch.setattr("rbdyn_ros.trials.output.parquet.is_available", lambda: False)
    results = trials.run(trial(tmp_path, runs=1), workers=1)
    names = [file.name for file in trials.write_reports(results, tmp_path / "out")]
    assert names == ["report.html", "junit.xml", "verdict.json"]
    with refused(ParameterError, "no-trials-extra"):
        trials.write_parquet(results, tmp_path / "runs.parquet")
