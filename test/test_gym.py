# SPDX-License-Identifier: Apache-2.0
"""A BatchEnv behaves like gymnasium's SyncVectorEnv of single environments."""

import runpy
import subprocess
import sys
import warnings

import numpy as np
import pytest
from support.documents import ROOT
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.share import bundled_robot

gymnasium = pytest.importorskip("gymnasium", reason="gymnasium is not installed")
from gymnasium.utils.env_checker import check_env, data_equivalence  # noqa: E402
from gymnasium.vector import AutoresetMode, SyncVectorEnv  # noqa: E402

from rbdyn_ros.gym import BatchEnv, RobotEnv  # noqa: E402

NSTEP, HORIZON = 5, 7


class Fall(BatchEnv):
    """A task that starts with a speed of the first joint and ends if this joint turns too far."""

    def reward(self, actions):
        return -np.abs(self.batch.qpos).sum(axis=1) - 0.1 * (actions**2).sum(axis=1)

    def ended(self):
        return np.abs(self.batch.qpos[:, 0]) > 0.35

    def start(self, robots):
        self.batch.qvel[robots, 0] = 3.0


class Drawn(Fall):
    """The task Fall with random start positions."""

    def start(self, robots):
        self.batch.qpos[robots] = self.np_random.uniform(-0.2, 0.2, (int(robots.sum()), 7))


@pytest.fixture(scope="module")
def m():
    return rb.load_urdf(bundled_robot("seven_dof_arm"))


def actions(count, steps, seed=0):
    return np.random.default_rng(seed).uniform(-1.2, 1.2, (steps, count, 7)).astype(np.float32)


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_episodes_equal_episodes_of_gymnasiums_vector_environment(m, mode):
    """Observations, rewards, ends and infos of both are equal to the last bit."""
    envs = Fall(m, 5, nstep=NSTEP, horizon=HORIZON, autoreset_mode=mode)
    single = [lambda: RobotEnv(Fall, m, nstep=NSTEP, horizon=HORIZON)] * 5
    oracle = SyncVectorEnv(single, autoreset_mode=mode)
    ends, cut = 0, 0
    seen, expected = envs.reset(seed=0)[0], oracle.reset(seed=0)[0]
    np.testing.assert_array_equal(seen, expected)
    for row in actions(5, 30):
        seen, reward, over, late, infos = envs.step(row)
        wanted = oracle.step(np.clip(row, -1.0, 1.0))
        for found, each in zip((seen, reward, over, late), wanted, strict=False):
            np.testing.assert_array_equal(found, each)
        assert seen.dtype == wanted[0].dtype
        assert data_equivalence(infos, wanted[4], exact=True)
        ends, cut = ends + over.sum(), cut + late.sum()
        assert seen in envs.observation_space
    assert ends > 0 < cut
    assert envs.metadata["autoreset_mode"] is mode


def test_without_autoreset_the_caller_resets_ended_robots(m):
    envs = Fall(m, 3, nstep=NSTEP, horizon=2, autoreset_mode="Disabled")
    envs.reset(seed=1)
    envs.batch.qvel[1, 0] = 0.0
    nothing = np.zeros((3, 7))
    envs.step(nothing)
    _, _, over, late, _ = envs.step(nothing)
    assert (over | late).all()
    with refused(rb.ParameterError, "bad-argument", "actions"):
        envs.step(nothing)
    time = envs.batch.time.copy()
    envs.reset(options={"reset_mask": np.array([True, False, True])})
    assert (envs.batch.time == [0.0, time[1], 0.0]).all()
    with refused(rb.ParameterError, "bad-argument", "actions"):
        envs.step(nothing)
    envs.reset()
    envs.step(nothing)
    assert envs.actions_taken.tolist() == [1, 1, 1]


def test_an_environment_passes_the_check_of_gymnasium(m):
    env = RobotEnv(Drawn, m, nstep=NSTEP, horizon=50)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*infinity.*")  # for joints without limits
        check_env(env, skip_render_check=True)


def test_a_seed_repeats_an_episode_and_observations_share_no_memory(m):
    envs = Drawn(m, 4, nstep=NSTEP)
    rows, runs = actions(4, 6), []
    for _ in range(2):
        kept = [envs.reset(seed=3)[0], *(envs.step(row)[0] for row in rows)]
        runs.append(kept)
    assert data_equivalence(*runs, exact=True)
    assert not any(np.shares_memory(a, b) for a in runs[0] for b in runs[1])
    assert len(np.unique(runs[0][0][:, 0])) == 4
    assert not np.array_equal(envs.reset(seed=4)[0], runs[0][0])
    assert envs.reset(seed=3)[0] in envs.observation_space
    assert envs.step(envs.action_space.sample())[0] in envs.observation_space


def test_the_spaces_of_an_environment_have_the_limits_of_the_robot(m):
    envs = Fall(m, 2)
    space = envs.single_observation_space
    assert space.shape == (14,)
    for j in range(7):
        low, high = m.jnt_range[j] if m.jnt_limited[j] else (-np.inf, np.inf)
        assert (space.low[j], space.high[j]) == (np.float32(low), np.float32(high))
        assert space.high[7 + j] == np.float32(m.jnt_velocity[j])
    assert envs.single_action_space.shape == (7,)
    np.testing.assert_array_equal(envs.effort, m.jnt_effort)
    envs.reset()
    envs.step(np.full((2, 7), 2.0))  # actions beyond 1 become 1
    np.testing.assert_array_equal(envs.batch.qfrc_applied, np.tile(m.jnt_effort, (2, 1)))
    floating = rb.load_urdf(bundled_robot("seven_dof_arm"), floating_base=True)
    assert Fall(floating, 1).actuated.tolist() == list(range(6, 13))


@pytest.mark.parametrize("mode", AutoresetMode)
def test_a_robot_that_diverges_ends_its_episode(m, mode):
    envs = Fall(m, 3, autoreset_mode=mode)
    envs.reset()
    row = np.zeros((3, 7))
    row[1] = np.nan
    seen, reward, over, late, infos = envs.step(row)
    assert over.tolist() == [False, True, False]
    assert not late.any()
    assert np.isfinite(seen).all()
    assert np.isfinite(reward).all()
    told = infos["final_info"] if mode is AutoresetMode.SAME_STEP else infos
    assert told["diverged"].tolist() == [False, True, False]
    if mode is not AutoresetMode.DISABLED:
        seen, *_, infos = envs.step(np.zeros((3, 7)))
        assert "diverged" not in infos
        assert not envs.batch.diverged.any()
    assert seen in envs.observation_space


def test_a_task_can_compute_the_efforts_of_each_timestep(m):
    """The task applies the efforts of springs; the motion has the bits of a plain Batch."""

    class Sprung(Fall):
        def drive(self, actions):
            for _ in range(self.nstep):
                self.batch.qfrc_applied[:] = 20.0 * (actions - self.batch.qpos)
                self.batch.step()

    envs, batch = Sprung(m, 3, nstep=NSTEP, horizon=100), rb.Batch(m, 3)
    envs.reset(seed=0)
    batch.qvel[:, 0] = 3.0
    for row in actions(3, 4):
        seen, *_ = envs.step(row)
        for _ in range(NSTEP):
            batch.qfrc_applied[:] = 20.0 * (np.clip(row, -1.0, 1.0) - batch.qpos)
            batch.step()
    np.testing.assert_array_equal(envs.batch.qpos, batch.qpos)
    np.testing.assert_array_equal(seen[:, :7], batch.qpos.astype(np.float32))


def test_invalid_arguments_of_an_environment_are_refused(m):
    with refused(rb.ParameterError, "bad-argument", "effort"):
        Fall(rb.load_urdf(bundled_robot("pendulum")), 1)
    for effort in (np.ones(6), -1.0, np.nan, "strong"):
        with refused(rb.ParameterError, "bad-argument", "effort"):
            Fall(m, 1, effort=effort)
    for wrong in ({"nstep": 0}, {"horizon": 1.5}, {"autoreset_mode": "Later"}, {"nthread": -1}):
        with refused(rb.ParameterError, "bad-argument"):
            Fall(m, 1, **wrong)
    box = rb.shapes.box((1, 1, 1), mass=1.0)
    with refused(rb.ModelError, "no-actuator", "post"):
        Fall(rb.build(rb.SystemBuilder("post", base="post").body("post", box)), 1)
    envs = Fall(m, 2)
    envs.reset()
    for row in (np.zeros(7), np.zeros((2, 6)), "left", None):
        with refused(rb.ParameterError, "bad-argument", "actions"):
            envs.step(row)
    for mask in ([True, False], np.ones(3, bool), np.ones(2)):
        with refused(rb.ParameterError, "bad-argument", "options"):
            envs.reset(options={"reset_mask": mask})
    with pytest.raises(NotImplementedError, match="reward"):
        BatchEnv(m, 1).step(np.zeros((1, 7)))

    class Longer(Fall):
        def observe(self):
            return np.zeros((2, 3 + int(self.batch.time[0] > 0.0)))

    envs = Longer(m, 2)
    envs.reset()
    with refused(rb.ParameterError, "bad-argument", "observe"):
        envs.step(np.zeros((2, 7)))


def test_closing_an_environment_releases_its_robots(m):
    envs = Fall(m, 2)
    envs.reset()
    envs.close()
    assert not hasattr(envs, "batch")
    envs.close()


def test_the_error_without_gymnasium_names_the_package_to_install():
    code = "import sys; sys.modules['gymnasium'] = None; import rbdyn_ros.gym"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert "pip install 'rbdyn_ros[gym]'" in done.stderr


def test_the_example_swing_up_learns_to_swing_a_pendulum_up():
    """The example runs with few robots and without a display."""
    command = [sys.executable, str(ROOT / "examples" / "swing_up.py")]
    few = ["--robots", "256", "--generations", "10"]
    done = subprocess.run(
        [*command, *few], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    share = float(done.stdout.splitlines()[-1].split(": ")[1].split(" %")[0])
    assert share > 80.0


def test_stable_baselines3_can_train_on_many_robots_and_on_one():
    """The adapter in the example trains on many robots, and RobotEnv trains on one robot."""
    pytest.importorskip("stable_baselines3", reason="stable-baselines3 is not installed")
    example = runpy.run_path(str(ROOT / "examples" / "swing_up.py"))
    from stable_baselines3 import PPO

    m = rb.load_urdf(bundled_robot("pendulum"))
    train = example["train_by_ppo"]
    train.__globals__["HORIZON"] = 30  # episodes end within the rollout
    act = train(m, steps=64 * 100)
    assert act(np.zeros((5, 3), np.float32)).shape == (5, 1)
    env = RobotEnv(example["SwingUp"], m, nstep=20, horizon=50, effort=2.0)
    PPO("MlpPolicy", env, n_steps=64, batch_size=64, device="cpu").learn(128)
