# SPDX-License-Identifier: Apache-2.0
"""Reach points with the flange of an arm behind its ROS node, which is in lock-step.

    python examples/reach_node.py [--episodes 5] [--learner ppo] [--steps 20000]

Without a learner a spring pulls the flange to the point, by the transposed Jacobian. With ppo,
stable-baselines3 trains a policy on the node, if it is installed. All states and actions go
through topics of ROS 2, so rclpy is needed, and your own nodes can be in between.

    spring: the flange ends 0.002 m from the point, 5 episodes
"""

import argparse

import numpy as np

import rbdyn_ros as rb
from rbdyn_ros.gym import NodeEnv
from rbdyn_ros.share import bundled_robot

#: Timesteps of an action, and actions of an episode: 10 ms, 3 s.
NSTEP, HORIZON = 10, 300
FLANGE = "tool_flange"
STIFFNESS, DAMPING = 1500.0, 80.0  # gains of the flange [N/m], [N s/m]
JOINTS = 0.5  # damping of the joints [N m s/rad]


class Reach(NodeEnv):
    """An arm whose flange must reach a point."""

    def observe(self):
        return np.concatenate([self.position, self.velocity, self.away()])

    def reward(self, action):
        return float(-np.linalg.norm(self.away()) - 0.01 * action @ action)

    def start(self):
        reached = self.np_random.uniform(-0.6, 0.6, self.m.nq)
        self.goal = self.flange(reached)
        return {name: self.np_random.uniform(-0.3, 0.3) for name in self.joints}, {}

    def away(self):
        """Return the vector from the flange to the point [m]."""
        return getattr(self, "goal", np.zeros(3)) - self.flange(self.position)

    def flange(self, qpos):
        if not hasattr(self, "d"):
            self.d = rb.make_data(self.m)
        self.d.qpos = qpos
        return rb.frame_pose(self.m, self.d, FLANGE)[0]


def spring(env):
    """Return the action of a spring between the flange and the point."""
    m, d, away = env.m, env.d, env.away()
    jacobian = rb.frame_jacobian(m, d, FLANGE)[3:]
    force = STIFFNESS * away - DAMPING * jacobian @ env.velocity
    effort = jacobian.T @ force - JOINTS * env.velocity + rb.gravity_term(m, d)
    return effort / env.effort


def ppo(env, steps):
    """Return a policy that PPO trains on the node."""
    from stable_baselines3 import PPO

    learner = PPO("MlpPolicy", env, n_steps=min(1024, steps), batch_size=min(64, steps), seed=0)
    learner.learn(steps)
    return lambda: learner.predict(env.observe().astype(np.float32), deterministic=True)[0]


def main(episodes=5, learner="spring", steps=20_000):
    """Run episodes; return the largest final distance of the flange from its point [m]."""
    env = Reach(bundled_robot("seven_dof_arm"), nstep=NSTEP, horizon=HORIZON)
    try:
        act = ppo(env, steps) if learner == "ppo" else lambda: spring(env)
        ends = []
        for seed in range(episodes):
            env.reset(seed=seed)
            over = False
            while not over:
                _, _, ended, cut, _ = env.step(act())
                over = ended or cut
            ends.append(np.linalg.norm(env.away()))
    finally:
        env.close()
    print(f"{learner}: the flange ends {max(ends):.3f} m from the point, {episodes} episodes")
    return max(ends)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=5)
    parser.add_argument("--learner", choices=("spring", "ppo"), default="spring")
    parser.add_argument("--steps", type=int, default=20_000, help="actions of ppo")
    main(**vars(parser.parse_args()))
