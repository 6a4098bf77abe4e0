"""What rollout refuses, in which words, before anything runs."""

import numpy as np
import pytest
from support import rollouts
from support.robots import needs_robots
from support.rollouts import robot

import rbdyn_ros as rb
from rbdyn_ros.rollouts.policies import ComputedTorquePolicy, PDPolicy
from rbdyn_ros.rollouts.rollout import rollout

ZERO = np.zeros(6)
FIELDS = (
    "body_mass, body_ipos, body_fullinertia, dof_armature, dof_damping, dof_frictionloss, "
    "jnt_stiffness, gravity"
)
OUTPUTS = ", ".join(rollouts.OUTPUTS)
MASS = "params['body_mass']"
FLAT = np.tile([1.0, 1.0, 3.0, 0.0, 0.0, 0.0], (2, 1))

CASES = {
    "short qpos0": (
        {"qpos0": np.zeros(5)},
        "qpos0 has the shape (5,); allowed are (6,) and (nbatch, 6)",
    ),
    "no robots": (
        {"qvel0": np.zeros((0, 6))},
        "qvel0 has the shape (0, 6); allowed are (6,) and (nbatch, 6)",
    ),
    "nan": (
        {"qpos0": [np.nan] * 6},
        "qpos0 is [nan, nan, nan, nan, nan, nan]; allowed are finite numbers",
    ),
    "text": ({"qvel0": "fast"}, "qvel0 is 'fast'; allowed are finite numbers"),
    "no steps": ({"nstep": 0}, f"nstep is 0; allowed is a whole number from 1 to {2**53}"),
    "half a step": ({"nstep": 2.5}, f"nstep is 2.5; allowed is a whole number from 1 to {2**53}"),
    "every": ({"every": 3}, "nstep is 4 and every is 3; allowed is an nstep that every divides"),
    "every too large": ({"every": 8}, "every is 8; allowed is a whole number from 1 to 4"),
    "threads": ({"threads": 0}, "threads is 0; allowed is a whole number from 1 to 1024"),
    "output": (
        {"outputs": ["qpoz"]},
        f"outputs names 'qpoz' (did you mean 'qpos'?); allowed are {OUTPUTS}",
    ),
    "no output": ({"outputs": ()}, f"outputs is (); allowed is a list of names of {OUTPUTS}"),
    "one output": (
        {"outputs": "qpos"}, f"outputs is 'qpos'; allowed is a list of names of {OUTPUTS}"
    ),
    "twice": (
        {"outputs": ("qpos", "qpos")}, "outputs is ('qpos', 'qpos'); allowed is every name once"
    ),
    "ctrl of other steps": (
        {"ctrl": np.zeros((3, 6))},
        ("ctrl has the shape (3, 6); for 4 steps allowed are (6,), (4, 6), (nbatch, 4, 6) and "
         "(nbatch, 1, 6)"),
    ),
    "one row of ctrl": (
        {"ctrl": np.zeros((1, 6))},
        ("ctrl has the shape (1, 6); for 4 steps allowed are (6,), (4, 6), (nbatch, 4, 6) and "
         "(nbatch, 1, 6)"),
    ),
    "endless ctrl": (
        {"ctrl": np.full((4, 6), np.inf)},
        "ctrl holds numbers that are not finite; allowed are finite ones",
    ),
    "two numbers of robots": (
        {"qpos0": np.zeros((3, 6)), "qvel0": np.zeros((2, 6))},
        "qpos0 is for 3 robots and qvel0 for 2; allowed is the same number, or one for all",
    ),
    "robots of parameters": (
        {"qpos0": np.zeros((3, 6)), "params": {"gravity": np.zeros((2, 3))}},
        ("qpos0 is for 3 robots and params['gravity'] for 2; allowed is the same number, or one "
         "for all"),
    ),
    "list of parameters": ({"params": [1]}, "params is [1]; allowed is a mapping by field"),
    "field": (
        {"params": {"body_mas": 1}},
        f"params has no 'body_mas' (did you mean 'body_mass'?); allowed are {FIELDS}",
    ),
    "negative mass": (
        {"params": {"body_mass": {"forearm_link": [1.0, -2.0]}}},
        f"{MASS}: robot 1, 'forearm_link' is -2; allowed are numbers of 0 or more",
    ),
    "no such body": (
        {"params": {"body_mass": {"forearm_lnk": 1.0}}},
        f"{MASS}: there is no body 'forearm_lnk' (did you mean 'forearm_link'?)",
    ),
    "the world": (
        {"params": {"body_mass": {"world": 1.0}}}, f"{MASS}: the world has no inertia"
    ),
    "mass of the world": (
        {"params": {"body_mass": np.ones(7)}},
        f"{MASS} changes the world, body 0; allowed is what the Model has",
    ),
    "shape of a part": (
        {"params": {"body_ipos": {"forearm_link": np.zeros(2)}}},
        "params['body_ipos']['forearm_link'] has the shape (2,); allowed are (3,) or (nbatch, 3)",
    ),
    "shape of a number": (
        {"params": {"body_mass": {"forearm_link": np.zeros((2, 2))}}},
        f"{MASS}['forearm_link'] has the shape (2, 2); allowed are one number or (nbatch,)",
    ),
    "flat body": (
        {"params": {"body_fullinertia": {"forearm_link": FLAT}}},
        ("params['body_fullinertia']: robot 0, 'forearm_link' is of the principal moments 1, 1, 3 "
         "kg m^2; allowed are none below 0, and none above the sum of the other two"),
    ),
    "a part twice": (
        {"params": {"body_mass": {"forearm_link": 1.0, 3: 1.0}}},
        f"{MASS} names a part twice",
    ),
    "robots of parts": (
        {"params": {"body_mass": {"forearm_link": [1.0] * 3, "wrist_1_link": [1.0] * 2}}},
        (f"{MASS} is of 2 robots for 'wrist_1_link' and of 3 for another; allowed is one number "
         "of robots"),
    ),
    "names of gravity": (
        {"params": {"gravity": {"z": 1.0}}},
        "params['gravity'] takes an array (3,) or (nbatch, 3), no names",
    ),
    "policy": (
        {"policy": "pd"},
        ("policy is 'pd'; allowed are a PDPolicy(stiffness, damping), PDGravityPolicy, "
         "ComputedTorquePolicy, or a function of (t, qpos, qvel, reference)"),
    ),
    "width": (
        {"policy": PDPolicy(1.0, 1.0), "ctrl": np.zeros(7)},
        ("ctrl has rows of 7 numbers; PDPolicy takes qpos, qvel of the joints, from the first one "
         "on: 6, 12 numbers"),
    ),
    "no reference": (
        {"policy": ComputedTorquePolicy(1.0, 1.0)},
        ("ctrl has rows of 0 numbers; ComputedTorquePolicy takes qpos, qvel, qacc of the joints, "
         "from the first one on: 6, 12, 18 numbers"),
    ),
    "gains": (
        {"policy": PDPolicy(np.ones(5), 1.0), "ctrl": ZERO},
        ("stiffness of the policy has the shape (5,); allowed are one number, (6,), (nbatch, 6) "
         "and (nbatch, 1)"),
    ),
}  # fmt: skip


@needs_robots
@pytest.mark.parametrize("case", CASES)
def test_arguments(case):
    given, sentence = CASES[case]
    given = {"qpos0": ZERO, "qvel0": ZERO, "nstep": 4} | given
    with pytest.raises(rb.ParameterError) as error:
        rollout(robot("arm"), **given)
    assert str(error.value) == sentence


@needs_robots
@pytest.mark.parametrize("name", ["ctrl", "qvel0"])
def test_masked_numbers(name):
    """What is masked is no number, and not the one behind the mask."""
    hidden = np.ma.masked_array(np.ones(6), mask=[False] * 5 + [True])
    given = {"qpos0": ZERO, "qvel0": ZERO, "nstep": 4} | {name: hidden}
    with pytest.raises(rb.ParameterError, match=f"{name} is masked_array"):
        rollout(robot("arm"), **given)
    given[name] = np.ma.masked_array(np.ones(6), mask=False)
    assert rollout(robot("arm"), **given).qpos.shape == (1, 4, 6)


@needs_robots
@pytest.mark.parametrize("specialize", [True, False])
def test_errors_of_the_user(specialize):
    m = robot("arm")
    with pytest.raises(rb.ParameterError, match="the policy divides by an exact zero"):
        rollout(m, ZERO, ZERO, nstep=1, policy=lambda *_: 1 / 0, specialize=specialize)
    with pytest.raises(KeyError, match="gain"):
        rollout(m, ZERO, ZERO, nstep=1, policy=lambda *_: {}["gain"], specialize=specialize)


@needs_robots
def test_outputs_beyond_the_memory():
    with pytest.raises(rb.ParameterError) as error:
        rollout(robot("arm"), np.zeros((2, 6)), ZERO, nstep=2**50, outputs=("qpos",))
    assert str(error.value).startswith(
        f"the outputs, 2 x {2**50} x 6 numbers, would take {8 * 2 * 2**50 * 6} bytes; this machine"
    )


@pytest.mark.parametrize("gain", [-1.0, [[[1.0]]], np.nan, "stiff", [], np.zeros((0, 6))])
def test_gains(gain):
    with pytest.raises(rb.ParameterError, match="stiffness is"):
        PDPolicy(gain, 1.0)


def test_what_is_no_model():
    with pytest.raises(rb.ModelError, match="rollout needs a Model, got 3"):
        rollout(3, ZERO, ZERO, nstep=1)
