# SPDX-License-Identifier: Apache-2.0
"""Only some resets end the goals of grippers and the twist of a mobile base."""

from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from rbdyn_ros.ros.simulator.robot.robot import Robot

SCOPES = [(True, False, 1), (False, True, 1), (False, False, 0)]


@pytest.mark.parametrize(("time", "state", "times"), SCOPES, ids=["time", "state", "seed"])
def test_a_reset_ends_goals_only_if_it_ends_the_commands_of_the_loop(
    monkeypatch, time, state, times
):
    forgotten, plant = [], SimpleNamespace(reset=lambda *_: None)
    monkeypatch.setattr("rbdyn_ros.ros.simulator.robot.robot.changes.released", lambda _: None)
    robot = SimpleNamespace(
        world=None,
        loop=SimpleNamespace(plant=plant),
        sensors=None,
        enter=lambda *_, **__: None,
        _forget_goals=lambda: forgotten.append(1),
    )
    Robot.reset(robot, time, state, False, seed=3)
    assert len(forgotten) == times
