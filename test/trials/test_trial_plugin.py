# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin runs trials; it is tested in separate sessions of pytest."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest
from support.trials import trial

from rbdyn_ros.share import bundled_robot

PASSES = """\
def test_passes(rbdyn_trial):
    results = rbdyn_trial("trial.yaml", runs=5, workers=1)
    assert results.passed
    assert len(results.runs) == 5

def test_fails(rbdyn_trial):
    results = rbdyn_trial("strict.yaml", workers=1)
    assert results.passed, results.verdict
"""

WITHOUT = """\
import sys

def test_the_plugin_loads_no_engine():
    assert "numba" not in sys.modules
    assert "numpy" not in sys.modules
    assert "scipy" not in sys.modules
"""


def session(folder, *words):
    """Run pytest with the plugin and these arguments in a folder; return the finished process."""
    command = [sys.executable, "-m", "pytest", "-p", "rbdyn_ros.trials.pytest_plugin"]
    command += ["-p", "no:cacheprovider", "-q", *words]
    environment = {name: x for name, x in os.environ.items() if not name.startswith("PYTEST_")}
    # a wheel that is installed would register the plugin a second time
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, env=environment, check=False
    )


def test_a_session_runs_trials_in_tests_and_reports_their_verdicts(tmp_path):
    trial(tmp_path, limits="{tracking_max: 0}", runs=3)
    (tmp_path / "trial.yaml").rename(tmp_path / "strict.yaml")
    trial(tmp_path, limits="{tracking_max: 1}")
    (tmp_path / "test_controller.py").write_text(PASSES)
    words = [
        "-W",
        "error",
        "--rbdyn-results",
        str(tmp_path / "out"),
        "--junit-xml",
        str(tmp_path / "all.xml"),
    ]
    done = session(tmp_path, *words)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 1 passed" in done.stdout
    assert "failed: 0 of 3 runs within all limits" in done.stdout
    found = [x.attrib for x in ET.parse(tmp_path / "all.xml").getroot().iter("property")]
    verdicts = [x["value"] for x in found if x["name"] == "rbdyn_verdict"]
    assert verdicts[0].startswith("passed: 5 of 5 runs")
    folders = sorted((tmp_path / "out").iterdir())
    assert [folder.name[:-9] for folder in folders] == [  # the name without its hash
        "test_controller_test_fails_pendulum",
        "test_controller_test_passes_pendulum",
    ]
    assert (folders[0] / "report.html").exists()


def test_the_plugin_imports_nothing_in_sessions_that_do_not_use_it(tmp_path):
    (tmp_path / "test_other.py").write_text(WITHOUT)
    done = session(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_fixture_starts_a_simulator_and_fails_the_test_on_an_error(tmp_path):
    pytest.importorskip("rclpy")
    (tmp_path / "test_node.py").write_text(f"""\
import os

def test_a_node(rbdyn_sim):
    words = ("--ros-args", "-p", "time_mode:=lockstep", "-p", "start_paused:=true")
    simulator = rbdyn_sim({str(bundled_robot("pendulum"))!r}, *words)
    assert os.environ["ROS_DOMAIN_ID"] == str(simulator.domain)
    assert "simulating 'pendulum'" in simulator.log.read_text()
    assert simulator.end() == 0

def test_an_error(rbdyn_sim):
    rbdyn_sim("nowhere.urdf")
""")
    done = session(tmp_path)
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "there is no file" in done.stdout
