# SPDX-License-Identifier: Apache-2.0
"""Learn to swing a pendulum up and to hold it there: many robots try many policies at once.

    python examples/swing_up.py [--robots 512] [--generations 20] [--learner ppo]

The motor is too weak to lift the pendulum at once, so it must swing back and forth. The
cross-entropy method draws the weights of small policies, tries each on eight robots, keeps
the best policies, and draws the next policies around them. With ppo, stable-baselines3 trains a
policy of its own on the same task, if it is installed; that takes some minutes.

    torque to hold it level 4.9 N m, of the motor 2 N m
    ...
    upright in the last 2 s: 100 % of 64 robots
"""

import argparse
import functools

import numpy as np

import rbdyn_ros as rb
from rbdyn_ros.gym import BatchEnv
from rbdyn_ros.share import bundled_robot

MOTOR = 2.0  # largest torque [N m]
NSTEP, HORIZON = 20, 400  # timesteps of an action (20 ms), actions of an episode (8 s)
#: Number of weights of a policy.
WEIGHTS = 5
#: Number of robots with the same weights and different starts; the worst robot gives the reward.
STARTS = 8


class SwingUp(BatchEnv):
    """A pendulum that hangs at 0 and must stand at pi."""

    def observe(self):
        angle, rate = self.batch.qpos[:, 0], self.batch.qvel[:, 0]
        return np.stack([np.cos(angle), np.sin(angle), rate / 5.0], axis=1)

    def limits(self):
        high = np.array([1.0, 1.0, 10.0])
        return -high, high

    def reward(self, actions):
        angle, rate = self.batch.qpos[:, 0], self.batch.qvel[:, 0]
        return -np.cos(angle) - 0.005 * rate**2 - 0.01 * actions[:, 0] ** 2

    def start(self, robots):
        count = int(robots.sum())
        self.batch.qpos[robots, 0] = self.np_random.uniform(-0.3, 0.3, count)
        self.batch.qvel[robots, 0] = self.np_random.uniform(-0.3, 0.3, count)


def policy(weights, seen):
    """Return actions for observations: hold near the top, add energy elsewhere.

    weights: (1 or n, WEIGHTS).
    """
    spring, damper, push, pump, kinetic = weights.T
    cos, sin, rate = seen.T
    near = 1.0 / (1.0 + np.exp(20.0 * (cos + 0.85)))
    lacking = 1.0 + cos - kinetic * rate**2  # missing energy; cos is -1 at the top
    hold, swing = spring * sin + damper * rate, (push + pump * lacking) * rate
    return np.tanh(near * hold + (1.0 - near) * swing)[:, None]


def episode(envs, act, seed):
    """Run an episode; return the sum of rewards, and the share of the last 2 s spent upright.

    act: returns actions from observations.
    """
    seen, _ = envs.reset(seed=seed)
    total, upright = np.zeros(envs.num_envs), np.zeros(envs.num_envs)
    for n in range(HORIZON):
        seen, rewards, *_ = envs.step(act(seen))
        total += rewards
        if n >= HORIZON - 100:
            upright += seen[:, 0] < -0.9
    return total, upright / 100


def learn(m, robots, generations):
    """Return the policy of the mean weights that the cross-entropy method finds.

    Each generation simulates a number of robots, of which STARTS share the same weights.
    """
    envs = SwingUp(m, robots, nstep=NSTEP, horizon=HORIZON, effort=MOTOR)
    rng, drawn = np.random.default_rng(1), robots // STARTS
    mean, spread = np.zeros(WEIGHTS), np.full(WEIGHTS, 5.0)
    for generation in range(1, generations + 1):
        weights = mean + spread * rng.normal(size=(drawn, WEIGHTS))
        each = np.repeat(weights, STARTS, axis=0)
        total, upright = episode(envs, functools.partial(policy, each), generation)
        worst = total.reshape(drawn, STARTS).min(axis=1)
        best = weights[np.argsort(worst)[-max(2, drawn // 8) :]]
        mean = best.mean(axis=0)
        spread = 0.3 * spread + 0.7 * best.std(axis=0)
        if generation % 5 == 0:
            print(f"generation {generation}: reward {total.mean():.0f}, best {total.max():.0f}, "
                  f"upright {100 * upright.mean():.0f} %")  # fmt: skip
    return functools.partial(policy, mean[None])


def vec_env(envs):
    """Return environments with autoreset in the same step as a VecEnv of stable-baselines3."""
    from stable_baselines3.common.vec_env import VecEnv

    class Robots(VecEnv):
        def reset(self):
            return envs.reset(seed=0)[0]

        def step_async(self, actions):
            self.actions = actions

        def step_wait(self):
            seen, rewards, terminated, truncated, infos = envs.step(self.actions)
            over = terminated | truncated
            told = [{} for _ in over]
            for k in np.flatnonzero(over):
                told[k]["terminal_observation"] = infos["final_obs"][k]
                told[k]["TimeLimit.truncated"] = bool(truncated[k])
            return seen, rewards, over, told

        def close(self):
            envs.close()

        def get_attr(self, name, *_, **__):
            return [getattr(envs, name, None)] * self.num_envs

        def set_attr(self, name, value, *_, **__):
            setattr(envs, name, value)

        def env_method(self, name, *args, **_):
            return [getattr(envs, name)(*args)] * self.num_envs

        def env_is_wrapped(self, *_, **__):
            return [False] * self.num_envs

    return Robots(envs.num_envs, envs.single_observation_space, envs.single_action_space)


def train_by_ppo(m, steps=800_000):
    """Return a policy that PPO of stable-baselines3 trains on 64 robots, in some minutes."""
    from stable_baselines3 import PPO

    envs = SwingUp(
        m, 64, nstep=NSTEP, horizon=HORIZON, effort=MOTOR, autoreset_mode="SameStep"
    )  # fmt: skip
    model = PPO(
        "MlpPolicy", vec_env(envs), n_steps=100, batch_size=800, n_epochs=6, gamma=0.99,
        learning_rate=1e-3, use_sde=True, sde_sample_freq=8, seed=0, device="cpu", verbose=1,
        policy_kwargs={"net_arch": [32, 32]},
    )  # fmt: skip
    model.learn(steps)
    return lambda seen: model.predict(seen, deterministic=True)[0]


def try_out(m, act):
    """Print the share of robots that stand upright at the end."""
    envs = SwingUp(m, 64, nstep=NSTEP, horizon=HORIZON, effort=MOTOR)
    _, upright = episode(envs, act, seed=1000)
    share = 100 * (upright > 0.99).mean()
    print(f"upright in the last 2 s: {share:.0f} % of 64 robots")


def main():
    parser = argparse.ArgumentParser(description="Learn to swing a pendulum up.")
    parser.add_argument("--robots", type=int, default=512, help="robots side by side")
    parser.add_argument("--generations", type=int, default=20, help="rounds of learning")
    parser.add_argument("--learner", default="cem", help="cem, or ppo of stable-baselines3")
    options = parser.parse_args()
    m = rb.load_urdf(bundled_robot("pendulum"))
    level = rb.make_data(m)
    level.qpos[0] = np.pi / 2
    holds = abs(rb.gravity_term(m, level)[0])
    print(f"torque to hold it level {holds:.1f} N m, of the motor {MOTOR:g} N m")
    if options.learner == "ppo":
        act = train_by_ppo(m)
    else:
        act = learn(m, options.robots, options.generations)
    try_out(m, act)


if __name__ == "__main__":
    main()
