# SPDX-License-Identifier: Apache-2.0
"""The Go2 of examples/trot.py walks with its learned policy, also in MuJoCo, and can learn."""

import runpy

import numpy as np
import pytest
from support import networks, robots

import rbdyn_ros as rb
from rbdyn_ros.model.tree.rotation import quat_to_mat

pytest.importorskip("gymnasium", reason="gymnasium is not installed")
pytestmark = robots.needs_robots
EXAMPLE = runpy.run_path(str(networks.TROT.with_suffix(".py")))
Trot, SPEC, STANDING, SEEN = (EXAMPLE[k] for k in ("Trot", "SPEC", "STANDING", "SEEN"))

#: Commands [m/s, m/s, rad/s], and the allowed error of the mean velocity from 2 s to 10 s.
COMMANDS = {
    "forwards": ([0.5, 0.0, 0.0], 0.05),
    "in place": ([0.0, 0.0, 0.0], 0.05),
    "a bend": ([0.3, 0.0, 0.8], 0.08),
}
each_command = pytest.mark.parametrize(("command", "off"), COMMANDS.values(), ids=COMMANDS)


@pytest.fixture(scope="module")
def policy():
    return rb.load_policy(networks.TROT)


def mean_velocity(motion):
    """Assert that the robot stays upright; return its mean velocity after the first 2 s."""
    velocities, heights, ups = (np.array(each) for each in zip(*motion, strict=True))
    assert 0.26 < heights.min() < heights.max() < 0.38
    assert ups.min() > np.cos(np.radians(12.0))
    return velocities[2 * int(SPEC.rate) :].mean(axis=0)


@each_command
def test_the_robot_follows_a_command(policy, command, off):
    """Here feet are hulls and timesteps 1 ms; the policy has learned with balls and 5 ms."""
    policy.reset()
    walk = EXAMPLE["trot"](policy, EXAMPLE["go2"](), command, 10.0)
    motion = [(EXAMPLE["velocity"](d), d.qpos[2], d.xmat[1, 8]) for d in walk]
    np.testing.assert_allclose(mean_velocity(motion), command, atol=off)


def test_the_robot_walks_the_same_in_mujoco(policy):
    """In MuJoCo the geometries and the policy are the same; the cone is elliptic."""
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    pytest.importorskip("pinocchio", reason="pinocchio is not installed")
    from benchmarks.mirror import mirror

    m, command = EXAMPLE["go2"](), [0.5, 0.0, 0.0]
    policy.reset()
    *_, ours = EXAMPLE["trot"](policy, m, command, 5.0)
    theirs = mirror(m)
    theirs.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    d = mujoco.MjData(theirs)
    d.qpos[:] = m.qpos0
    d.qpos[2], d.qpos[7:] = EXAMPLE["HEIGHT"] + 0.01, STANDING
    policy.reset()
    for tick in range(5000):
        if tick % 20 == 0:
            quat, linear, angular = d.qpos[3:7], d.qvel[:3], d.qvel[3:6]
            base = rb.BaseState(quat, angular, quat_to_mat(quat).T @ linear)
            policy.act(d.qpos[7:], d.qvel[6:], base, command)
        effort = SPEC.stiffness * (policy.target - d.qpos[7:]) - SPEC.damping * d.qvel[6:]
        d.qfrc_applied[6:] = np.clip(effort, -m.jnt_effort[1:], m.jnt_effort[1:])
        mujoco.mj_step(theirs, d)
    assert ours.qpos[0] > 2.0
    np.testing.assert_allclose(d.qpos[:2], ours.qpos[:2], atol=0.25)
    np.testing.assert_allclose(d.qpos[2], ours.qpos[2], atol=0.02)


# the task


def quiet(count, monkeypatch):
    """Return `count` environments after a reset, without noise, pushes and new commands."""
    for name in ("PUSH", "RARELY"):
        monkeypatch.setitem(Trot.drive.__globals__, name, 0.0)
    monkeypatch.setitem(Trot.observe.__globals__, "NOISE", {})
    envs = Trot(count)
    envs.reset(seed=0)
    return envs


def test_the_task_and_the_policy_compute_the_same_actions(policy, monkeypatch):
    """The robots walk by actions for the task's observations; the policy has the same targets."""
    commands = np.array([command for command, _ in COMMANDS.values()])
    envs = quiet(3, monkeypatch)
    envs.phase[:], envs.command[:] = 0.0, commands
    b, policies, motion = envs.batch, [rb.load_policy(networks.TROT) for _ in range(3)], []
    seen = envs.observe()
    for _ in range(500):
        actions = []
        for k, each in enumerate(policies):
            actions.append(network(policy, seen[k]))
            base = rb.BaseState(b.qpos[k, 3:7], b.qvel[k, 3:6], np.zeros(3))
            target = each.act(b.qpos[k, 7:], b.qvel[k, 6:], base, commands[k])
            np.testing.assert_allclose(
                STANDING + SPEC.action_scale * actions[-1], target, atol=1e-5
            )
        seen, _, ended, *_ = envs.step(actions)
        assert not ended.any()
        linear, angular, up = envs.base()
        motion.append((np.c_[linear[:, :2], angular[:, 2]], b.qpos[:, 2].copy(), up[:, 2].copy()))
    np.testing.assert_allclose(mean_velocity(motion), commands, atol=0.08)


def network(policy, seen):
    """Return the action of a policy's network for an observation of the task."""
    return policy._network(np.asarray(seen)[: len(SEEN)])


def test_left_and_right_are_mirrored(policy, monkeypatch):
    """A robot and its mirror image stay mirror images, almost: a Go2's masses differ by 1 %."""
    envs, joints = quiet(2, monkeypatch), EXAMPLE["DONE"]
    b, flip = envs.batch, np.array([1.0, -1.0, 1.0])
    envs.phase[1] = envs.phase[0] + np.pi
    envs.command[0], envs.command[1] = [0.5, 0.3, 0.8], [0.5, -0.3, -0.8]
    b.qpos[1, 2:], b.qvel[1] = b.qpos[0, 2:], b.qvel[0]
    b.qpos[1, 7:] = b.qpos[0, 7:] @ joints
    b.qvel[1, :6] *= np.r_[flip, -flip]
    b.forward()
    seen = envs.observe()
    for _ in range(25):
        # observations are scaled to about 1
        np.testing.assert_allclose(seen[1], seen[0] @ EXAMPLE["ALL"], atol=0.15)
        action, image = (network(policy, each) for each in (seen[0], seen[0] @ EXAMPLE["ALL"]))
        np.testing.assert_allclose(image, action @ joints, atol=1e-5)
        seen, reward, *_ = envs.step(np.array([action, image]))
        np.testing.assert_allclose(reward[1], reward[0], atol=0.003)
    assert abs(b.qpos[0, 1]) > 0.02  # the robot has moved to one side


# learning


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """Run a short training; return the result of `learn` and the folder."""
    pytest.importorskip("jax", reason="jax is not installed")
    folder = tmp_path_factory.mktemp("learned")
    return EXAMPLE["learn"](40, 64, 3, folder), folder


def test_the_reward_rises_during_learning(learned):
    (_, rewards), _ = learned
    assert np.mean(rewards[-5:]) > np.mean(rewards[:5]) + 0.2


def test_learning_gives_the_same_rewards_only_with_the_same_seed(learned, tmp_path):
    (_, rewards), _ = learned
    again, other = (EXAMPLE["learn"](3, 64, seed, tmp_path)[1] for seed in (3, 4))
    # later the learning rate differs, because it depends on the number of iterations
    assert rewards[:2] == again[:2]
    assert rewards[:2] != other[:2]


def test_the_written_network_gives_the_actions_of_the_learned_network(learned):
    (params, _), folder = learned
    policy = rb.load_policy(folder / "trot.yaml")
    seen = np.random.default_rng(0).normal(size=(20, len(EXAMPLE["ALL"]))).astype(np.float32)
    wanted = np.asarray(EXAMPLE["decide"](params, seen)[0])
    found = [network(policy, each) for each in seen]
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    assert np.ptp(wanted, axis=0).min() > 0.01
