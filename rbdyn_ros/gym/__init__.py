# SPDX-License-Identifier: Apache-2.0
"""Gymnasium environments: of many robots side by side, and of one robot in its ROS node.

    from rbdyn_ros.gym import BatchEnv

    class Upright(BatchEnv):
        def reward(self, actions):
            return np.cos(self.batch.qpos[:, 0])

    envs = Upright(m, 256, nstep=20, horizon=200)

pip install "rbdyn_ros[gym]" installs gymnasium.
"""

from typing import TYPE_CHECKING

from rbdyn_ros.gym.batch_env import BatchEnv as BatchEnv
from rbdyn_ros.gym.batch_env import RobotEnv as RobotEnv

if TYPE_CHECKING:
    from rbdyn_ros.gym.node_env import NodeEnv as NodeEnv


def __getattr__(name: str) -> object:
    if name != "NodeEnv":
        raise AttributeError(f"module 'rbdyn_ros.gym' has no attribute '{name}'")
    from rbdyn_ros.gym.node_env import NodeEnv

    return NodeEnv
