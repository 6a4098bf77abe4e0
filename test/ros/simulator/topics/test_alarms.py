# SPDX-License-Identifier: Apache-2.0
"""The log warns of problems in the simulation of a robot."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

import rbdyn_ros as rb
from rbdyn_ros.ros.simulator.topics.alarms import Alarms
from rbdyn_ros.runtime.state import Layout, LoopState

QUIET = {"fault": -1, "saturated": -1, "stale": 0, "bad": 0, "singular": 0, "unsolved": 0}


def at_rest(m):
    """Return a state of the start, without any event to report."""
    layout = Layout(m)
    return LoopState(m, layout, np.zeros(layout.length), 0, 0, False, tracking=False,
                     measured_tick=-1, dropped=0, **QUIET)  # fmt: skip


def test_contacts_and_motions_too_fast_for_the_timestep_are_logged_once():
    ball = rb.Object(
        "ball",
        rb.Sphere(0.1),
        mass=2.0,
        pose=rb.pose((0, 0, 1)),
        surface=rb.Surface(stiffness=4e6),
    )
    m = rb.scene(objects=[ball])
    lines = []
    alarms = Alarms(SimpleNamespace(warning=lines.append), "reset")
    state = at_rest(m)
    for tick in range(3):
        alarms.report(m, replace(state, tick=tick))
    assert len(lines) == 1
    for part in ("'ball", "4e+06 N/m", "2 kg", "2e+06 N/m", "0.00071 s"):
        assert part in lines[0]
    for tick in range(3):
        state.qvel[3:] = 0.0, 600.0 + tick, 0.0
        alarms.report(m, state)
    assert len(lines) == 2
    assert "body 'ball' turns at 600 rad/s" in lines[1]


def test_dropped_and_unconverged_contacts_are_logged_once():
    m = rb.scene(objects=[rb.Object("ball", rb.Sphere(0.1), mass=1.0, pose=rb.pose((0, 0, 1)))])
    lines = []
    alarms = Alarms(SimpleNamespace(warning=lines.append), "reset")
    state = at_rest(m)
    alarms.report(m, state)
    assert lines == []
    for tick in range(3):
        alarms.report(m, replace(state, tick=tick, dropped=7, unsolved=1 + tick))
    assert len(lines) == 2
    assert "not converged" in lines[0]
    assert f"7 contacts do not fit in the list of {m.ncontact}" in lines[1]
