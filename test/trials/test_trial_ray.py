# SPDX-License-Identifier: Apache-2.0
"""Trials run on a Ray cluster; here its nodes are processes on this machine."""

import socket

import pytest
from support import ray_nodes
from support.commands import run_process
from support.refusals import refused
from support.trials import NODE, trial

from rbdyn_ros import cluster as cluster_of_ray
from rbdyn_ros import trials
from rbdyn_ros.errors import ParameterError

pytest.importorskip("ray")

cluster = ray_nodes.cluster

PYTHON = """\
import os

def control(t, qpos, qvel, reference):
    if t > 0.02 and qpos[0] > 0.0:
        os._exit(3)
    return 0.0 * qvel
"""


def test_ray_gives_the_results_of_one_process_even_if_a_node_dies(tmp_path, cluster, monkeypatch):
    monkeypatch.setattr("rbdyn_ros.trials.simulation.runs.SHARD", 3)
    found = trial(tmp_path, runs=60)
    whole = trials.run(found, workers=1)
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    cluster.wait_for_nodes()
    dead = []

    def kill(runs):
        if not dead:
            dead.append(nodes[0])
            cluster.remove_node(nodes[0], allow_graceful=False)

    found_there = trials.run(found, tmp_path / "out", ray=cluster.address, progress=kill)
    assert dead
    assert found_there.runs == whole.runs
    assert trials.run(found, workers=2).runs == whole.runs


def test_a_crash_of_a_controller_on_ray_is_a_result(tmp_path, cluster):
    found = trial(tmp_path, PYTHON, controller="{python: 'policy.py:control'}", runs=6)
    there = trials.run(found, ray=cluster.address)
    assert there.runs == trials.run(found, workers=1).runs
    assert {run.status for run in there.runs} == {"finished", "crashed"}


def test_a_ros_node_has_the_same_results_on_ray_and_without_ray(tmp_path, cluster):
    """Each process of Ray must use another ROS domain."""
    pytest.importorskip("rclpy", reason="rclpy is not installed")
    cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    command = "{node: {command: [python, policy.py]}}"
    found = trial(
        tmp_path, NODE.replace("FAULT", "pass"), controller=command, duration=0.1, runs=4,
        reference=None,
    )  # fmt: skip
    there = trials.run(found, ray=cluster.address)
    assert {run.status for run in there.runs} == {"finished"}
    assert there.runs == trials.run(found, workers=1).runs


def test_a_trial_on_ray_reports_broken_code_and_other_versions(tmp_path, cluster, monkeypatch):
    broken = trial(tmp_path, "x = 1 / 0\n", controller="{traced: 'policy.py:control'}")
    with refused(ParameterError, "broken-code"):
        trials.run(broken, ray=cluster.address)
    monkeypatch.setattr(cluster_of_ray, "__version__", "0.0.0")
    with refused(ParameterError, "other-version"):
        trials.run(trial(tmp_path), ray=cluster.address)


@pytest.mark.parametrize("address", ["", "nowhere", "http://a:1", "a:b", "host:99999"])
def test_an_invalid_address_of_a_cluster_is_refused(tmp_path, address):
    with refused(ParameterError, "bad-argument", "ray"):
        trials.run(trial(tmp_path), ray=address)


def test_an_address_that_accepts_no_connections_is_refused(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # this socket does not listen
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with refused(ParameterError, "no-cluster", "ray"):
            trials.run(trial(tmp_path), ray=address)
        words = ["trial", str(tmp_path / "trial.yaml"), "--out", str(tmp_path / "out")]
        done = run_process(*words, "--ray", address)
    assert done.returncode == 1
    assert "nothing accepts connections" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_server_that_is_not_ray_is_refused(tmp_path):
    with ray_nodes.silent_server() as address, refused(ParameterError, "no-cluster", "ray"):
        trials.run(trial(tmp_path), ray=address)
