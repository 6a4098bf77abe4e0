# SPDX-License-Identifier: Apache-2.0
"""States of entities in one answer have the same time; parts of a state can be set."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

import rbdyn_ros as rb
from rbdyn_ros.ros.simulator.robot.entities import Entities

NAMES = ("a", "b")


class MovingRobot:
    """A replacement for a robot with two objects, which moves on by a tick at each read."""

    name = ""

    def __init__(self):
        shape = rb.Sphere(0.1)
        objects = [
            rb.Object(name, shape, mass=1.0, pose=rb.pose((x, 0.0, 1.0)))
            for name, x in zip(NAMES, (5.0, 7.0), strict=True)
        ]
        self.m = rb.scene("config/scenes/gripper.urdf", objects=objects, floor=False)
        self.tick, self.given = 0, SimpleNamespace(parts=None)
        self.values = SimpleNamespace(floating_base=False)
        loose = SimpleNamespace(objects=NAMES, obstacles=())
        self.world = SimpleNamespace(
            robots={}, spawned={}, loose=loose, first_robots={"": "robot"}
        )
        self.world.check_loose = lambda _: None
        plant = SimpleNamespace(set_state=lambda *state: setattr(self, "put", state))
        self.loop = SimpleNamespace(plant=plant, readout=SimpleNamespace(latest=self.latest))

    def latest(self):
        self.tick += 1
        qpos = self.m.qpos0 + self.tick
        return SimpleNamespace(
            tick=self.tick, qpos=qpos, qvel=np.zeros(self.m.nv), qacc=np.zeros(self.m.nv)
        )

    def stamp_ns(self, tick):
        return 1000 * tick


def test_entities_in_one_answer_have_states_of_the_same_tick():
    entities = Entities([MovingRobot()])
    for _ in range(2):
        found = entities.states(["a", "robot", "b"])
        stamps = {stamp for stamp, _ in found}
        assert len(stamps) == 1
        tick = stamps.pop() / 1000
        assert [found[n][1][0][0] for n in (0, 2)] == [5.0 + tick, 7.0 + tick]


def test_parts_of_a_state_that_are_not_given_stay_unchanged():
    robot = MovingRobot()
    entities, k = Entities([robot]), robot.m.jnt_dofadr[robot.m.jnt_id("b")]
    entities.set_state("b", None, ((1, 2, 3), (0, 0, 0)))
    _, qvel, of_qpos, of_qvel = robot.put
    assert not of_qpos.any()
    assert np.flatnonzero(of_qvel).tolist() == list(range(k, k + 6))
    assert qvel[k : k + 3].tolist() == [1, 2, 3]
    entities.set_state("b", ((1, 2, 3), (0, 0, 0, 1)), None)
    _, _, of_qpos, of_qvel = robot.put
    assert of_qpos.sum() == 7
    # turning the body changes the components of its angular velocity, which are in body axes
    assert np.flatnonzero(of_qvel).tolist() == list(range(k + 3, k + 6))
