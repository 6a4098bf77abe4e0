# SPDX-License-Identifier: Apache-2.0
"""Rollouts on a cluster of Ray have the bits of one process, on any machines."""

import threading

import numpy as np
import pytest
from support import ray_nodes
from support.refusals import refused
from support.rollouts import robot, starts

import rbdyn_ros as rb
from rbdyn_ros.errors import ParameterError
from rbdyn_ros.rollouts import shards

pytest.importorskip("ray")

cluster = ray_nodes.cluster
SETTINGS = {"nstep": 20, "every": 10, "outputs": ("qpos", "xpos", "energy"), "progress": False}


def arguments(m, count):
    """Return the arguments of a rollout; some are shared, some have a row for each robot."""
    rng = np.random.default_rng(2)
    qpos, _ = starts(m, count)
    bodies = m.body_mass * rng.uniform(0.9, 1.1, (count, 1))
    joints = {
        m.jnt_names[0]: rng.uniform(0.0, 1.0, count),
        m.jnt_names[1]: 0.5,
    }
    params = {"body_mass": bodies, "dof_damping": joints, "gravity": np.array([0.0, 0.0, -9.0])}
    policy = rb.PDPolicy(rng.uniform(10.0, 50.0, (count, 1)), 2.0)
    goals = rng.uniform(-0.5, 0.5, (count, 1, m.nq))
    return (qpos, np.zeros(m.nv), goals), {"params": params, "policy": policy, **SETTINGS}


def bits(r):
    return [r.diverged.tobytes(), r.nbad.tobytes(), *(x.tobytes() for x in r.outputs.values())]


def test_a_rollout_has_the_bits_of_one_process_even_if_a_node_dies(cluster, monkeypatch):
    monkeypatch.setattr(shards, "LEAST", 5)
    m = robot("arm")
    given, settings = arguments(m, 103)
    whole = rb.rollout(m, *given, **settings, threads=1)
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    cluster.wait_for_nodes()
    kill = threading.Thread(target=lambda: cluster.remove_node(nodes[0], allow_graceful=False))
    divided = shards.divided

    def killing(nbatch, cores):
        for k, part in enumerate(divided(nbatch, cores)):
            if k == 3:
                kill.start()
            yield part

    monkeypatch.setattr("rbdyn_ros.rollouts.rollout.divided", killing)
    there = rb.rollout(m, *given, **settings, ray=cluster.address)
    kill.join()
    assert bits(there) == bits(whole)


def test_arguments_are_checked_before_ray_is_contacted():
    m = robot("arm")
    with refused(ParameterError, "bad-argument", "nbatch"):
        rb.rollout(m, np.zeros((3, m.nq)), np.zeros((2, m.nv)), nstep=1, ray="127.0.0.1:9")


def test_rollouts_refuse_the_address_of_a_server_that_is_not_ray():
    m = robot("arm")
    with ray_nodes.silent_server() as address, refused(ParameterError, "no-cluster", "ray"):
        rb.rollout(m, np.zeros(m.nq), np.zeros(m.nv), nstep=1, ray=address)
