# SPDX-License-Identifier: Apache-2.0
"""An environment of gymnasium that steps the simulator node has the motion of the engine."""

import runpy
from types import SimpleNamespace

import numpy as np
import pytest
from support.documents import ROOT
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.errors import RbdynError
from rbdyn_ros.share import bundled_robot

pytest.importorskip("rclpy", reason="rclpy is not installed")
gymnasium = pytest.importorskip("gymnasium", reason="gymnasium is not installed")
from gymnasium.utils.env_checker import check_env  # noqa: E402

from rbdyn_ros.gym import NodeEnv  # noqa: E402
from rbdyn_ros.ros.common.graph.qos import LATCHED  # noqa: E402

ROBOT = bundled_robot("pendulum")

#: A node that doubles each action. It also answers repeated states, because a message to a node
#: can be lost just after the discovery of the node.
NODE = """\
import rclpy
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState

rclpy.init()
node = rclpy.create_node("doubles")
publisher = node.create_publisher(JointState, "joint_commands", 10)
sent = []

def take(wanted):
    wanted.effort = [2.0 * x for x in wanted.effort]
    sent[:] = [wanted]
    publisher.publish(wanted)

def repeat(state):
    if sent and sent[0].header.stamp == state.header.stamp:
        publisher.publish(sent[0])

latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
node.create_subscription(JointState, "wanted", take, latched)
node.create_subscription(JointState, "joint_states", repeat, 10)
rclpy.spin(node)
"""


class Upright(NodeEnv):
    """A task with a pendulum that starts near its hanging position."""

    def reward(self, action):
        return float(-np.cos(self.position[0]) - 0.1 * action @ action)

    def ended(self):
        return bool(abs(self.position[0]) > 3.0)

    def start(self):
        return {"swing": self.np_random.uniform(-0.2, 0.2)}, {"swing": 0.1}


class Through(Upright):
    """The task Upright with a node between the actions and the robot."""

    def act(self, action):
        from sensor_msgs.msg import JointState

        if not hasattr(self, "publisher"):
            node = self.simulation.client.node
            self.publisher = node.create_publisher(JointState, "wanted", LATCHED)
        message = JointState(name=self.actuated, effort=(action * self.effort).tolist())
        message.header.stamp = self.simulation.client.state.header.stamp
        self.publisher.publish(message)


@pytest.fixture(scope="module")
def env():
    made = Upright(ROBOT, nstep=5, horizon=30, effort=2.0)
    yield made
    made.close()


def simulated(env, seed, actions, factor=1.0):
    """Return the engine's states of an episode with the start of `env` and these actions."""
    env.reset(seed=seed)
    m = rb.load_urdf(ROBOT)
    d = rb.make_data(m)
    d.qpos, d.qvel = env.position, env.velocity
    states = []
    for action in actions:
        d.qfrc_applied = factor * 2.0 * action
        rb.step(m, d, 5)
        states.append([*d.qpos, *d.qvel])
    return np.array(states)


def test_an_environment_that_steps_a_node_passes_the_check_of_gymnasium(env):
    check_env(env, skip_render_check=True, skip_close_check=True)


def test_an_episode_has_the_bits_of_the_engine(env):
    actions = np.random.default_rng(0).uniform(-1.0, 1.0, (30, 1))
    expected = simulated(env, 3, actions)
    for k, action in enumerate(actions):
        _, _, ended, cut, _ = env.step(action)
        assert [*env.position, *env.velocity] == expected[k].tolist()
        assert (ended, cut) == (False, k == 29)


def test_an_environment_sends_a_lost_command_again(env, monkeypatch):
    """The simulator waits for the command, and repeats its state."""
    expected = simulated(env, 4, np.full((1, 1), 0.5))
    client = env.simulation.client
    publisher, sent = client._commands, []

    def publish(command):
        sent.append(command)
        if len(sent) > 1:
            publisher.publish(command)

    monkeypatch.setattr(client, "_commands", SimpleNamespace(publish=publish))
    env.step(np.array([0.5]))
    assert [*env.position, *env.velocity] == expected[0].tolist()


def test_a_node_of_the_user_can_change_the_commands(tmp_path, monkeypatch):
    (tmp_path / "doubles.py").write_text(NODE)
    monkeypatch.chdir(tmp_path)
    env = Through(ROBOT, nstep=5, effort=2.0, nodes=[["python", "doubles.py"]])
    try:
        actions = np.full((4, 1), 0.5)
        expected = simulated(env, 3, actions, 2.0)
        for k, action in enumerate(actions):
            env.step(action)
            assert [*env.position, *env.velocity] == expected[k].tolist()
    finally:
        env.close()


def test_an_environment_raises_an_error_for_a_bad_robot_or_a_node_that_ends(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with refused(RbdynError, "no-such-file"):
        Upright("nowhere.urdf")
    (tmp_path / "ends.py").write_text("raise ValueError('no torque')")

    def begin():
        Upright(ROBOT, effort=1.0, nodes=[["python", "ends.py"]]).reset()

    with pytest.raises(RbdynError, match="the node ended with status 1: ValueError: no torque"):
        begin()


def test_the_example_reach_node_reaches_its_goals():
    example = runpy.run_path(str(ROOT / "examples" / "reach_node.py"))
    assert example["main"](episodes=2) < 0.01
    pytest.importorskip("stable_baselines3")
    assert np.isfinite(example["main"](episodes=1, learner="ppo", steps=64))
