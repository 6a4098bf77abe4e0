# SPDX-License-Identifier: Apache-2.0
"""The example lockstep_controller.py works when it is run as a user runs it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

ROOT = Path(__file__).parents[3]
LOCKSTEP = ("-p", "time_mode:=lockstep", "-p", "start_paused:=true")


def control(domain, *arguments):
    env = dict(os.environ, ROS_DOMAIN_ID=str(domain), ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST")
    command = [sys.executable, str(ROOT / "examples" / "lockstep_controller.py"), *arguments]
    return subprocess.run(
        command, env=env, capture_output=True, text=True, timeout=600, check=False
    )


def hash_of_a_run(simulate, domain, *parameters):
    simulator = simulate("--ros-args", *parameters, *LOCKSTEP)
    done = control(domain, "0.3")
    assert done.returncode == 0, done.stderr
    simulator.end()
    return re.fullmatch(r"after 0\.300 s: ([0-9a-f]{64})\n", done.stdout)[1]


def test_two_runs_with_one_seed_end_in_the_same_state(simulate, domain):
    file = ("--params-file", ROOT / "config" / "hil.yaml")
    first = hash_of_a_run(simulate, domain, *file)
    assert hash_of_a_run(simulate, domain, *file) == first
    assert hash_of_a_run(simulate, domain, *file, "-p", "seed:=2") != first


def test_the_example_refuses_wrong_arguments(simulate, domain):
    simulate()
    for arguments, words in (
        ([], "the simulator does not wait for commands: start it with time_mode:=lockstep"),
        (["long"], "the duration 'long' is not a number"),
    ):
        done = control(domain, *arguments)
        assert done.returncode == 1
        assert words in done.stderr
        assert "Traceback" not in done.stderr
