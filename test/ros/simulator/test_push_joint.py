# SPDX-License-Identifier: Apache-2.0
"""The example push_joint.py works when it is run as a user runs it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

FILE = Path(__file__).parents[3] / "examples" / "push_joint.py"


def push(domain, *arguments):
    env = dict(os.environ, ROS_DOMAIN_ID=str(domain), ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST")
    command = [sys.executable, str(FILE), *arguments]
    return subprocess.run(
        command, env=env, capture_output=True, text=True, timeout=600, check=False
    )


def test_the_example_pushes_a_joint_and_prints_its_motion(simulate, domain, two_joints):
    patient = "command_timeout:=100.0"
    simulate(two_joints, "--ros-args", "-p", "gravity:=[0.0, 0.0, 0.0]", "-p", patient)
    for _ in range(3):  # a machine that stalls prints too few rows, so try again
        done = push(domain, "turn", "0.5")
        assert done.returncode == 0, done.stderr
        rows = re.findall(
            r"^turn: position +(\S+)  velocity +(\S+)  effort +(\S+)$", done.stdout, re.MULTILINE
        )
        if len(rows) >= 4:
            break
    assert len(rows) >= 4
    assert float(rows[-1][0]) > float(rows[1][0])
    assert float(rows[-1][2]) == 0.5


def test_the_example_push_joint_refuses_wrong_arguments(simulate, domain, two_joints):
    simulate(two_joints)
    for arguments, words in (
        (["trun"], "there is no joint 'trun'; the robot has lift, turn"),
        (["turn", "much"], "the effort 'much' is not a number"),
    ):
        done = push(domain, *arguments)
        assert done.returncode == 1
        assert words in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.nightly  # waits ten seconds
def test_the_script_reports_a_timeout_without_a_simulator(domain):
    done = push(domain)
    assert done.returncode == 1
    assert "no simulator answers: start one with `make sim`" in done.stderr
    assert "Traceback" not in done.stderr
