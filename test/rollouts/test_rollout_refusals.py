# SPDX-License-Identifier: Apache-2.0
"""Bad arguments are refused before a rollout starts."""

import numpy as np
import pytest
from support.refusals import refused
from support.robots import needs_robots
from support.rollouts import robot

import rbdyn_ros as rb
from rbdyn_ros.rollouts.policies import ComputedTorquePolicy, PDPolicy
from rbdyn_ros.rollouts.rollout import rollout

ZERO = np.zeros(6)
FLAT = np.tile([1.0, 1.0, 3.0, 0.0, 0.0, 0.0], (2, 1))

CASES = {
    "short qpos0": ({"qpos0": np.zeros(5)}, "bad-argument", "qpos0"),
    "no robots": ({"qvel0": np.zeros((0, 6))}, "bad-argument", "qvel0"),
    "nan": ({"qpos0": [np.nan] * 6}, "bad-argument", "qpos0"),
    "text": ({"qvel0": "fast"}, "bad-argument", "qvel0"),
    "no steps": ({"nstep": 0}, "bad-argument", ""),
    "half a step": ({"nstep": 2.5}, "bad-argument", ""),
    "every": ({"every": 3}, "bad-argument", "every"),
    "every too large": ({"every": 8}, "bad-argument", ""),
    "threads": ({"threads": 0}, "bad-argument", ""),
    "output": ({"outputs": ["qpoz"]}, "bad-argument", "outputs"),
    "no output": ({"outputs": ()}, "bad-argument", ""),
    "one output": ({"outputs": "qpos"}, "bad-argument", ""),
    "twice": ({"outputs": ("qpos", "qpos")}, "bad-argument", ""),
    "ctrl of other steps": ({"ctrl": np.zeros((3, 6))}, "bad-argument", "ctrl"),
    "one row of ctrl": ({"ctrl": np.zeros((1, 6))}, "bad-argument", "ctrl"),
    "endless ctrl": ({"ctrl": np.full((4, 6), np.inf)}, "bad-argument", "ctrl"),
    "two numbers of robots": (
        {"qpos0": np.zeros((3, 6)), "qvel0": np.zeros((2, 6))},
        "bad-argument",
        "nbatch",
    ),
    "robots of parameters": (
        {"qpos0": np.zeros((3, 6)), "params": {"gravity": np.zeros((2, 3))}},
        "bad-argument",
        "nbatch",
    ),
    "list of parameters": ({"params": [1]}, "bad-argument", "params"),
    "field": ({"params": {"body_mas": 1}}, "bad-argument", "params"),
    "negative mass": (
        {"params": {"body_mass": {"forearm_link": [1.0, -2.0]}}},
        "bad-argument",
        "params",
    ),
    "no such body": ({"params": {"body_mass": {"forearm_lnk": 1.0}}}, "bad-argument", "params"),
    "the world": ({"params": {"body_mass": {"world": 1.0}}}, "bad-argument", "params"),
    "mass of the world": ({"params": {"body_mass": np.ones(7)}}, "bad-argument", "params"),
    "shape of a part": (
        {"params": {"body_ipos": {"forearm_link": np.zeros(2)}}},
        "bad-argument",
        "params",
    ),
    "shape of a number": (
        {"params": {"body_mass": {"forearm_link": np.zeros((2, 2))}}},
        "bad-argument",
        "params",
    ),
    "flat body": (
        {"params": {"body_fullinertia": {"forearm_link": FLAT}}},
        "bad-argument",
        "params",
    ),
    "a part twice": (
        {"params": {"body_mass": {"forearm_link": 1.0, 3: 1.0}}},
        "bad-argument",
        "params",
    ),
    "robots of parts": (
        {"params": {"body_mass": {"forearm_link": [1.0] * 3, "wrist_1_link": [1.0] * 2}}},
        "bad-argument",
        "params",
    ),
    "names of gravity": ({"params": {"gravity": {"z": 1.0}}}, "bad-argument", "params"),
    "policy": ({"policy": "pd"}, "policy", "policy"),
    "width": ({"policy": PDPolicy(1.0, 1.0), "ctrl": np.zeros(7)}, "policy", "policy"),
    "no reference": ({"policy": ComputedTorquePolicy(1.0, 1.0)}, "policy", "policy"),
    "gains": ({"policy": PDPolicy(np.ones(5), 1.0), "ctrl": ZERO}, "bad-argument", "stiffness"),
}


@needs_robots
@pytest.mark.parametrize("case", CASES)
def test_bad_arguments_are_refused(case):
    given, code, element = CASES[case]
    given = {"qpos0": ZERO, "qvel0": ZERO, "nstep": 4} | given
    with refused(rb.ParameterError, code, element):
        rollout(robot("arm"), **given)


@needs_robots
@pytest.mark.parametrize("name", ["ctrl", "qvel0"])
def test_masked_arrays_with_a_masked_number_are_refused(name):
    """A masked number must not be used."""
    hidden = np.ma.masked_array(np.ones(6), mask=[False] * 5 + [True])
    given = {"qpos0": ZERO, "qvel0": ZERO, "nstep": 4} | {name: hidden}
    with refused(rb.ParameterError, "bad-argument", name):
        rollout(robot("arm"), **given)
    given[name] = np.ma.masked_array(np.ones(6), mask=False)
    assert rollout(robot("arm"), **given).qpos.shape == (1, 4, 6)


@needs_robots
@pytest.mark.parametrize("specialize", [True, False])
def test_errors_of_a_users_law_are_reported(specialize):
    m = robot("arm")
    with refused(rb.ParameterError, "policy", "policy"):
        rollout(m, ZERO, ZERO, nstep=1, policy=lambda *_: 1 / 0, specialize=specialize)
    with pytest.raises(KeyError, match="gain"):
        rollout(m, ZERO, ZERO, nstep=1, policy=lambda *_: {}["gain"], specialize=specialize)


@needs_robots
def test_outputs_larger_than_the_memory_are_refused():
    with pytest.raises(rb.ParameterError, match=f"{8 * 2 * 2**50 * 6} bytes") as caught:
        rollout(robot("arm"), np.zeros((2, 6)), ZERO, nstep=2**50, outputs=("qpos",))
    # test/messages.txt lacks this text, which depends on this machine's memory
    assert (caught.value.code, caught.value.element) == ("bad-argument", "outputs")


@pytest.mark.parametrize("gain", [-1.0, [[[1.0]]], np.nan, "stiff", [], np.zeros((0, 6))])
def test_bad_gains_are_refused(gain):
    with refused(rb.ParameterError, "bad-argument", "stiffness"):
        PDPolicy(gain, 1.0)


def test_a_rollout_of_something_other_than_a_model_is_refused():
    with refused(rb.ModelError, "not-a-model"):
        rollout(3, ZERO, ZERO, nstep=1)
