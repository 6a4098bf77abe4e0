"""Trouble of a simulated robot in the log."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

import rbdyn_ros as rb
from rbdyn_ros.ros.simulator.alarms import Alarms
from rbdyn_ros.runtime.state import LoopState

QUIET = {"fault": -1, "saturated": -1, "stale": 0, "bad": 0, "singular": 0, "unsolved": 0}


def test_contacts_that_are_left_out_or_inexact_are_logged_once():
    m = rb.scene(objects=[rb.Object("ball", rb.Sphere(0.1), mass=1.0, pose=rb.pose((0, 0, 1)))])
    lines = []
    alarms = Alarms(SimpleNamespace(warning=lines.append), "reset")
    state = LoopState(m, None, None, 0, 0, False, tracking=False, measured_tick=-1, dropped=0,
                      **QUIET)  # fmt: skip
    alarms.report(m, state)
    assert lines == []
    for tick in range(3):
        alarms.report(m, replace(state, tick=tick, dropped=7, unsolved=1 + tick))
    assert len(lines) == 2
    assert "not converged" in lines[0]
    assert f"7 contacts do not fit in the list of {m.ncontact}" in lines[1]
