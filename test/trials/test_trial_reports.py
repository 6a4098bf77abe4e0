# SPDX-License-Identifier: Apache-2.0
"""Trials end in verdicts, which reports explain."""

import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import scipy.stats
from support.commands import run, run_process
from support.trials import joint, text, trial

from rbdyn_ros import trials
from rbdyn_ros.trials.output.html import influences
from rbdyn_ros.trials.results.verdict import judge
from rbdyn_ros.trials.running import results
from rbdyn_ros.trials.simulation.runs import Run


def made(found, values):
    """Return finished runs of the trial `found` with these values of tracking_max."""
    name = f"start.position.{joint()}"
    return [
        Run(seed, "finished", "", {name: value, "faults.command_delay": 0.0},
            {"tracking_max": value, "energy": 1.0})
        for seed, value in zip(found.seeds, values, strict=False)
    ]  # fmt: skip


def test_the_interval_of_the_pass_rate_matches_clopper_and_pearson(tmp_path):
    found = trial(tmp_path, verdict="{pass_rate: 0.5, confidence: 0.9}")
    verdict = judge(found, made(found, [0.0] * 15 + [0.2] * 5))
    # Clopper and Pearson (1934): the bounds are quantiles of beta distributions
    assert verdict.low == pytest.approx(scipy.stats.beta(15, 6).ppf(0.05), rel=1e-9)
    assert verdict.high == pytest.approx(scipy.stats.beta(16, 5).ppf(0.95), rel=1e-9)
    assert verdict.passes == 15
    assert verdict.decision == "passed"


@pytest.mark.parametrize(
    ("rule", "broken", "decision"),
    [
        (None, 0, "passed"),
        (None, 1, "failed"),
        ("{pass_rate: 0.9}", 0, "undecided"),  # 20 runs are too few to show 90 %
        ("{pass_rate: 0.8}", 0, "passed"),
        ("{pass_rate: 0.8}", 10, "failed"),
    ],
)
def test_the_decision_of_a_verdict_follows_its_rule(tmp_path, rule, broken, decision):
    found = trial(tmp_path, verdict=rule)
    runs = made(found, [0.2] * broken + [0.0] * (20 - broken))
    assert judge(found, runs).decision == decision
    assert not judge(found, runs[:10]).passed
    assert judge(found, runs[:10]).partial


def test_a_verdict_without_runs_is_undecided(tmp_path):
    verdict = judge(trial(tmp_path), [])
    assert (verdict.decision, verdict.low, verdict.high) == ("undecided", 0.0, 1.0)


def test_the_spread_of_a_measure_is_reported(tmp_path):
    found = trial(tmp_path)
    values = np.linspace(0.0, 0.19, 20)
    runs = made(found, values)
    # the measures of unfinished runs do not count
    runs[3] = Run(3, "diverged", "", runs[3].values, {"tracking_max": None})
    runs[4] = Run(4, "not finite", "", runs[4].values, {"tracking_max": 0.0})
    runs[5] = Run(5, "finished", "", runs[5].values, {"tracking_max": None})
    spread = judge(found, runs).measures["tracking_max"]
    known = np.delete(values, [3, 4, 5])
    assert spread.mean == pytest.approx(known.mean())
    assert spread.p95 == pytest.approx(np.quantile(known, 0.95))
    assert (spread.worst, spread.seed) == (None, 5)
    assert spread.broken == (known > 0.1).sum() + 1
    # for 17 values the width of the bootstrap interval is within 20 % of the t interval's
    t = scipy.stats.t(16).interval(0.95)[1] * known.std(ddof=1) / np.sqrt(17)
    assert spread.high - spread.low == pytest.approx(2 * t, rel=0.2)
    assert list(judge(found, runs).failures) == [3, 4, 5, *range(19, 10, -1)]


def test_the_mean_of_a_large_trial_has_the_interval_of_a_normal_distribution(tmp_path):
    found = trial(tmp_path, runs=5000)
    values = np.random.default_rng(0).exponential(size=5000)
    spread = judge(found, made(found, values)).measures["tracking_max"]
    half = 1.959964 * values.std(ddof=1) / np.sqrt(5000)
    assert spread.high - spread.mean == pytest.approx(half, rel=1e-6)


def test_the_strongest_dependence_of_a_measure_comes_first(tmp_path):
    found = trial(tmp_path)
    assert influences(results(found, {}), "tracking_max") == []
    runs = {run.seed: run for run in made(found, np.linspace(0.0, 0.1, 20))}
    assert influences(results(found, runs), "tracking_max") == [f"start.position.{joint()}"]


def test_junit_has_a_case_for_each_limit(tmp_path):
    found = trial(tmp_path, name='a <b> & "c" \u2028', limits="{tracking_max: 0.1, energy: 2}")
    runs = made(found, [0.2, 0.0])
    runs.append(Run(2, "crashed", "ValueError: ]]> \x00", {}, {}))
    trials.write_reports(results(found, {run.seed: run for run in runs}), tmp_path / "out")
    suite = ET.parse(tmp_path / "out" / "junit.xml").getroot()
    assert suite.attrib["tests"] == "4"
    broken = {case.attrib["name"]: case.find("failure") for case in suite.iter("testcase")}
    assert [name for name, failure in broken.items() if failure is not None] == [
        "verdict",
        "runs finish",
        "limit of tracking_max",
    ]
    assert "seed 0: tracking_max is 0.2" in broken["limit of tracking_max"].text
    assert "seed 2: crashed" in broken["runs finish"].text
    properties = {x.attrib["name"]: x.attrib["value"] for x in suite.iter("property")}
    assert properties["partial"] == "true"


def test_the_report_is_one_file_that_loads_no_other_files(tmp_path):
    found = trial(tmp_path, name="<script>alert(1)</script>", limits="{tracking_max: 0.03}")
    whole = trials.run(found, workers=1)
    files = trials.write_reports(whole, tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<script>" not in page
    assert "http" not in page.split("data:image")[0]
    assert page.count("data:image/svg+xml;base64") == 3  # a histogram and two scatter plots
    assert "<td>tracking_max [rad or m]</td>" in page
    assert '<th class="words">reasons</th>' in page
    assert "follow the smooth law" in page
    before = {file: file.read_bytes() for file in files}
    trials.write_reports(trials.run(found, workers=1), tmp_path / "out")
    assert {file: file.read_bytes() for file in files} == before
    assert json.loads((tmp_path / "out" / "verdict.json").read_text())["passes"] == 0


def test_the_command_runs_a_trial_and_repeats_a_run(tmp_path):
    trial(tmp_path, limits="{tracking_max: 1}")
    words = ["trial", str(tmp_path / "trial.yaml"), "--out", str(tmp_path / "out")]
    done = run_process(*words, "--workers", "1")
    assert done.returncode == 0, done.stderr
    assert "passed: 20 of 20 runs" in done.stdout
    done = run(*words, "--seed", "17")
    assert done.returncode == 0
    assert f", as in {tmp_path / 'out'}" in done.stdout
    trial(tmp_path, limits="{tracking_max: 0}")
    assert run(*words, "--workers", "1").returncode == 1
    assert json.loads(run(*words, "--seed", "3", "--json").stdout)["failures"]
    file = tmp_path / "trial.yaml"
    file.write_text(text(runs=0))
    done = run(*words)
    assert done.returncode == 1
    assert f"{file}: line {len(text(runs=0).splitlines())}" in done.stderr
    trial(tmp_path, duration=0.1)
    assert run(*words).returncode == 2
    noisy = "print('hello')\ndef control(t, qpos, qvel, reference):\n    print(t)\n"
    noisy += "    return 0.0 * qvel\n"
    trial(tmp_path, noisy, controller="{python: 'policy.py:control'}", runs=1)
    done = run_process(*words, "--fresh", "--json")
    assert json.loads(done.stdout)["runs"] == 1
    assert done.stderr == "hello\n"
    assert run(*words, "--runs", "0").returncode == 2
