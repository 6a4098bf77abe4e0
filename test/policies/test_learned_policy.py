# SPDX-License-Identifier: Apache-2.0
"""Learned policies get the right observations, and their actions act at the right times."""

import json

import numpy as np
import pytest
from support import networks, robots
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.policies.pacer import JointsState, Pacer
from rbdyn_ros.policies.policy import BaseState, LearnedPolicy
from rbdyn_ros.policies.reader import read_policy_text

SIZES = {"base_lin_vel": 3, "base_ang_vel": 3, "projected_gravity": 3, "velocity_commands": 3}
SIZES |= {"joint_pos_rel": 2, "joint_vel_rel": 2, "last_action": 2, "gait_phase": 2}
#: With these weights joint a's action is the sine of the phase plus the forward command.
WEIGHTS = np.array([[1.0, 0, 1, 0, 0], [0, 1, 0, 0, 0]])
UPRIGHT = BaseState(np.array([1.0, 0, 0, 0]), np.zeros(3), np.zeros(3))


def policy_of(folder, observation, weights, bias=(0.0, 0.0), **more):
    """Return a LearnedPolicy of joints a and b whose network is linear."""
    networks.linear(folder / "n.onnx", weights, bias)
    given = {"rbdyn_policy": 1, "network": "n.onnx", "joints": ["a", "b"], "rate": 50}
    given |= {"stiffness": 10, "damping": 1, "action": {"scale": 1}, "observation": observation}
    return LearnedPolicy(read_policy_text(json.dumps(given | more), folder=folder))


def observed(folder, *terms, acts=1, **inputs):
    """Return the observation of the last of `acts` actions, number by number."""
    given = {"position": [0.0, 0.0], "velocity": [0.0, 0.0], "base": UPRIGHT, "command": [0, 0, 0]}
    size = sum(SIZES[term["term"]] * term.get("history", 1) for term in terms)
    seen = []
    for place in range(size):  # joint a's action is one number of the observation
        weights = np.zeros((2, size))
        weights[0, place] = 1.0
        policy = policy_of(folder, list(terms), weights)
        for _ in range(acts):
            target = policy.act(**given | inputs)
        seen.append(target[0])
    return np.array(seen)


def test_observation_terms_have_the_values_of_isaac_lab(tmp_path):
    turned = BaseState(
        np.array([np.sqrt(0.5), np.sqrt(0.5), 0, 0]), np.array([1.0, 2, 3]), np.array([4.0, 5, 6])
    )
    each = {name: observed(tmp_path, {"term": name}, base=turned) for name in SIZES}
    # for a base that has rolled by 90 degrees to the right, gravity is along -y
    np.testing.assert_allclose(each["projected_gravity"], [0, -1, 0], atol=1e-7)
    np.testing.assert_allclose(each["base_ang_vel"], [1, 2, 3])
    np.testing.assert_allclose(each["base_lin_vel"], [4, 5, 6])
    angle = 2 * np.pi * 0.02
    np.testing.assert_allclose(each["gait_phase"], [np.sin(angle), np.cos(angle)], rtol=1e-6)
    seen = observed(tmp_path, {"term": "joint_vel_rel", "scale": 0.05}, velocity=[2.0, -4.0])
    np.testing.assert_allclose(seen, [0.1, -0.2], rtol=1e-6)
    term = {"term": "velocity_commands", "clip": [-1, 1], "scale": [2, 2, 0.25]}
    seen = observed(tmp_path, term, command=[3.0, -0.5, 1.0])
    np.testing.assert_allclose(seen, [2, -1, 0.25])


def test_a_history_repeats_the_first_observation_until_full_and_ends_with_the_latest(tmp_path):
    term = {"term": "gait_phase", "history": 3}
    # the number of steps of the phase, from the first to the third action
    steps = np.array([0, 0, 0, 1, 2]) + 1
    phase = 2 * np.pi * 0.02 * steps
    numbers = np.stack([np.sin(phase), np.cos(phase)], axis=1)
    np.testing.assert_allclose(observed(tmp_path, term), numbers[:3].ravel(), atol=1e-6)
    np.testing.assert_allclose(observed(tmp_path, term, acts=3), numbers[2:].ravel(), atol=1e-6)


def test_the_last_action_is_observed_as_the_network_returned_it(tmp_path):
    policy = policy_of(
        tmp_path,
        [{"term": "last_action"}],
        2.0 * np.eye(2),
        [1.0, -1.0],
        action={"scale": 0.5, "offset": 0.25, "clip": 5},
    )
    actions = [1.0, 3.0, 7.0, 15.0]  # each action is twice the last action plus one
    for action in actions:
        target = policy.act([0, 0], [0, 0], UPRIGHT, [0, 0, 0])
        clipped = min(action, 5.0)
        np.testing.assert_allclose(target, [0.25 + 0.5 * clipped, 0.25 - 0.5 * clipped])
    policy.reset()
    np.testing.assert_allclose(policy.act([0, 0], [0, 0], UPRIGHT, [0, 0, 0]), [0.75, -0.25])


def test_a_recurrent_network_remembers_until_it_is_reset(tmp_path):
    policy = policy_of(tmp_path, [{"term": "joint_pos_rel"}], np.eye(2))
    networks.adding_up(tmp_path / "n.onnx", 2)
    policy = LearnedPolicy(policy.spec)
    act = lambda: policy.act([1.0, -2.0], [0, 0], UPRIGHT, [0, 0, 0])  # noqa: E731
    np.testing.assert_allclose(act(), [1, -2])
    np.testing.assert_allclose(act(), [2, -4])
    policy.reset()
    np.testing.assert_allclose(act(), [1, -2])


def test_a_network_with_wrong_sizes_is_refused(tmp_path):
    terms = [{"term": "joint_pos_rel"}, {"term": "base_ang_vel"}]
    with refused(rb.DescriptionError, "network-size"):
        policy_of(tmp_path, terms, np.zeros((2, 6)))
    with refused(rb.DescriptionError, "network-size"):
        policy_of(tmp_path, terms, np.zeros((3, 5)), np.zeros(3))
    policy = policy_of(tmp_path, terms, np.zeros((2, 5)))
    networks.linear(tmp_path / "n.onnx", np.zeros((2, 5)), np.zeros(2), batch=8)
    with refused(rb.DescriptionError, "network-run"):
        LearnedPolicy(policy.spec)
    (tmp_path / "bad.onnx").write_bytes(b"not a network")
    with refused(rb.DescriptionError, "bad-network"):
        rb.load_policy(tmp_path / "bad.onnx")
    with refused(rb.DescriptionError, "no-such-file"):
        rb.load_policy(tmp_path / "none.onnx")


def test_states_and_actions_that_are_not_finite_are_refused(tmp_path):
    policy = policy_of(tmp_path, [{"term": "joint_pos_rel"}], 1e38 * np.eye(2))
    with refused(rb.ParameterError, "bad-argument"):
        policy.act([np.nan, 0], [0, 0], UPRIGHT, [0, 0, 0])
    with refused(rb.RbdynError, "not-finite"):
        policy.act([1e6, 0], [0, 0], UPRIGHT, [0, 0, 0])


# pacing


def pacer_of(folder):
    policy = policy_of(folder, [{"term": "gait_phase"}], np.eye(2))
    return policy, Pacer(policy, 0.1, 0.5)


def joints(milliseconds):
    return JointsState(milliseconds * 1_000_000, np.zeros(2), np.zeros(2))


def test_the_rate_of_actions_does_not_depend_on_the_rate_of_states(tmp_path):
    policy, pacer = pacer_of(tmp_path)
    targets = []
    for now in range(100, 300, 3):
        pacer.take_base(now * 1_000_000, UPRIGHT)
        assert pacer.take_joints(joints(now)) is not None
        targets.append(tuple(policy.target))
    assert len(set(targets)) == 10  # 200 ms at 50 Hz are 10 actions


def test_an_action_needs_joint_and_base_states_of_the_same_time(tmp_path):
    _, pacer = pacer_of(tmp_path)
    assert pacer.take_joints(joints(5)) is None
    assert pacer.take_base(4_000_000, UPRIGHT) is None
    assert pacer.take_base(5_000_000, UPRIGHT).stamp == 5_000_000
    assert pacer.take_joints(joints(6)) is not None  # 1 ms is less than the allowed difference
    assert pacer.take_joints(joints(106)) is None  # the state of the base is too old
    pacer.take_base(107_000_000, UPRIGHT)
    assert pacer.take_joints(joints(107)) is not None


@pytest.mark.parametrize(("every", "behind", "late"), [(1, 0, 2), (10, 3, 5), (5, 0, 40)])
def test_a_base_with_another_rate_and_other_stamps_is_accepted(tmp_path, every, behind, late):
    """Base states come every `every` ms, `late` ms late, with stamps `behind` joint states."""
    policy, pacer = pacer_of(tmp_path)
    targets = set()
    for now in range(1000, 2000):
        if (now - late) % every == 0:
            pacer.take_base((now - late - behind) * 1_000_000, UPRIGHT)
        pacer.take_joints(joints(now))
        targets.add(tuple(policy.target))
    assert len(targets) >= 1000 / max(20, late + every + behind) - 2


def test_a_base_state_with_a_much_later_stamp_is_refused(tmp_path):
    _, pacer = pacer_of(tmp_path)
    assert pacer.take_joints(joints(0)) is None
    with refused(rb.RbdynError, "request"):
        # a stamp 10 s ahead may be from before a reset
        pacer.take_base(10_000_000_000, UPRIGHT)
    assert pacer.take_joints(joints(1)) is None


@pytest.mark.parametrize("base_first", [False, True])
def test_a_reset_of_time_restarts_the_policy(tmp_path, base_first):
    policy = policy_of(tmp_path, [{"term": "gait_phase"}, {"term": "velocity_commands"}], WEIGHTS)
    pacer, firsts = Pacer(policy, 0.1, 5.0), []
    for _ in range(2):
        if not base_first:
            assert pacer.take_joints(joints(0)) is None
        pacer.take_base(0, UPRIGHT)
        if base_first:
            assert pacer.take_joints(joints(0)) is not None
        firsts.append(tuple(policy.target))
        pacer.set_command(np.array([0.5, 0.0, 0.0]))
        assert pacer.take_joints(joints(30)) is None
        pacer.take_base(30_000_000, UPRIGHT)
        assert policy.target[0] > firsts[0][0] + 0.4
    assert firsts[0] == firsts[1]


def test_a_small_step_back_of_the_stamps_does_not_restart_the_policy(tmp_path):
    policy, pacer = pacer_of(tmp_path)
    pacer.take_base(30_000_000, UPRIGHT)
    pacer.take_joints(joints(30))
    before = tuple(policy.target)
    assert pacer.take_joints(joints(29)) is not None
    assert tuple(policy.target) == before


def test_a_velocity_command_expires(tmp_path):
    policy = policy_of(tmp_path, [{"term": "velocity_commands"}], np.eye(2, 3))
    pacer = Pacer(policy, 0.1, 0.5)
    seen = []
    for now in range(0, 1000, 50):
        if now == 200:
            pacer.set_command(np.array([0.3, 0.1, 0.0]))  # the last state before it was at 150 ms
        pacer.take_joints(joints(now))
        pacer.take_base(now * 1_000_000, UPRIGHT)
        seen.append(policy.target[0])
    np.testing.assert_allclose(seen, [*[0] * 4, *[0.3] * 10, *[0] * 6], atol=1e-7)


# robots


@robots.needs_robots
def test_a_policy_needs_its_joints_and_a_floating_base(tmp_path):
    policy = rb.load_policy(networks.trot(tmp_path))
    with refused(rb.ModelError, ["unknown-joint"] * 12):
        rb.PolicyJoints(rb.load_urdf(robots.find("panda.urdf")), policy)
    with refused(rb.ModelError, "no-floating-base"):
        rb.PolicyJoints(rb.load_urdf(robots.find("go2.urdf"), strict=False), policy)


def test_a_command_of_zero_is_kept_even_if_the_range_excludes_it(tmp_path):
    policy = policy_of(
        tmp_path, [{"term": "velocity_commands"}], np.eye(2, 3), command={"forward": [0.3, 1]}
    )
    for given, seen in ((0.0, 0.0), (0.1, 0.3), (2.0, 1.0)):
        target = policy.act([0, 0], [0, 0], UPRIGHT, [given, 0, 0])
        np.testing.assert_allclose(target[0], seen, atol=1e-7)


def test_a_refused_action_leaves_the_policy_as_it_was(tmp_path):
    terms = [{"term": "joint_pos_rel", "history": 2}, {"term": "gait_phase"}]
    weights = np.hstack([np.zeros((2, 2)), 1e38 * np.eye(2), np.eye(2)])
    runs = []
    for bad in (False, True):
        policy = policy_of(tmp_path, terms, weights)
        act = lambda q, p=policy: p.act([q, 0], [0, 0], UPRIGHT, [0, 0, 0])  # noqa: E731
        act(1e-38)
        act(3e-38)
        if bad:
            with refused(rb.RbdynError, "not-finite"):
                act(1e6)
        runs.append([tuple(act(2e-38)), tuple(act(0.0))])
    assert runs[0] == runs[1]


@pytest.mark.parametrize(
    "base",
    [
        BaseState(np.array([2.0, 0, 0, 0]), np.zeros(3), np.zeros(3)),
        BaseState(np.array([1.0, 0, 0, np.nan]), np.zeros(3), np.zeros(3)),
        BaseState(np.array([1.0, 0, 0, 0]), np.array([np.inf, 0, 0]), np.zeros(3)),
        BaseState(np.array([1.0, 0, 0, 0]), np.zeros(3), np.zeros(2)),
    ],
)
def test_bad_states_of_the_base_are_refused(tmp_path, base):
    policy = policy_of(tmp_path, [{"term": "base_ang_vel"}], np.eye(2, 3))
    with refused(rb.ParameterError, "bad-argument"):
        policy.act([0, 0], [0, 0], base, [0, 0, 0])
