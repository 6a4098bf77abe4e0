# SPDX-License-Identifier: Apache-2.0
"""The example that records a motion stops the arm under the right conditions, and only then."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from support.refusals import refused

from rbdyn_ros.errors import ParameterError

pytest.importorskip("rclpy")
pytest.importorskip("trajectory_msgs")

FILE = Path(__file__).parents[2] / "examples" / "record_motion.py"
TIMES = np.linspace(0.0, 4.0, 81)
ROWS = [0.5 * np.cos(TIMES)[:, None] * [1.0, 0.0] + [0.0, 0.7], *np.zeros((2, 81, 2))]


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("record_motion", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Arm:
    """A stand-in for the recorder: an arm with states at 100 Hz, which follows sent motions.

    Args:
        receives: function of the number of a message that returns whether the arm receives it.
        fault: time after which the arm stops following [s].
    """

    def __init__(self, receives=lambda _: True, fault=np.inf):
        self.stamp, self.start, self.position = 10**9, 0, np.zeros(2)
        self.sent, self.receives, self.fault, self.judge = 0, receives, fault, str
        self.names = ("a", "b")

    def send(self, times, rows):
        self.sent += 1
        if self.receives(self.sent):
            self.plan = np.append(0.0, times), np.vstack([self.position, rows[0]])
            self.begun = self.stamp

    def states_until(self, stamp):
        while self.stamp < stamp:
            self.stamp += 10**7
            now = 1e-9 * (self.stamp - getattr(self, "begun", self.stamp))
            if hasattr(self, "plan") and now < self.fault:
                self.position = np.array([np.interp(now, self.plan[0], c) for c in self.plan[1].T])
            failure = self.judge()
            if failure:
                return failure
        return ""


def run(example, arm):
    failure = example.approach(arm, TIMES, ROWS)
    if failure:
        return failure
    arm.judge = lambda: example.strayed(arm, TIMES, ROWS[0])
    return arm.states_until(arm.start + 4 * 10**9)


def test_the_motion_of_an_arm_that_follows_is_recorded(example):
    assert run(example, Arm()) == ""
    # the first message is lost, because discovery is not complete
    late = Arm(receives=lambda sent: sent > 1)
    assert run(example, late) == ""
    assert late.sent == 2


def test_an_arm_that_does_not_start_is_noticed_halfway(example):
    arm = Arm(receives=lambda _: False)
    assert "does not go to the start" in run(example, arm)
    # 0.7 rad at 0.2 rad/s take 3.5 s; the example checks after half of it and at the end
    assert 1e-9 * arm.stamp - 1.0 == pytest.approx(3.5, abs=0.1)


def test_an_arm_that_leaves_the_motion_is_stopped_at_once(example):
    arm = Arm(fault=3.5 + 1.0)
    assert "the arm left the motion at 1." in run(example, arm)
    assert 1e-9 * arm.stamp < 1.0 + 3.5 + 2.0


def test_joints_outside_the_controller_must_not_move(example):
    names, rows = example.chosen(("a", "b"), ROWS, ["a"])
    assert names == ("a",)
    assert np.array_equal(rows[0], ROWS[0][:, :1])
    assert example.chosen(("a", "b"), ROWS, None)[0] == ("a", "b")
    for joints in (["b"], ["a", "c"]):
        with refused(ParameterError, "other-joints", "joints"):
            example.chosen(("a", "b"), ROWS, joints)
