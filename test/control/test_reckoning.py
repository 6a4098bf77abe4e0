"""Where a blind arm is estimated to be: by states that are late, and by a clock that lies."""

import numpy as np
import pytest
from closed_loop import MS, START, ClosedLoop, model

from rbdyn_ros.control.arm import Arm
from rbdyn_ros.control.reckoning import FOLLOWING, FOLLOWING_LATE, Reckoning

#: The first joint turns about a vertical axis at this speed [rad/s]; nothing else moves.
SPEED = 0.5
ZERO = np.zeros(6)
#: Time between states, and between their measurement and their use [ns].
PERIOD = 4 * MS


class Turning:
    """An arm that turns steadily, and what is estimated from states whose stamps may lie.

    Args:
        told: velocity that the states tell [rad/s].
        stamp: function of the true time that gives the stamp [ns].
    """

    def __init__(self, told, stamp):
        self.arm, self.told, self.stamp = Arm(model()), np.zeros(6), stamp
        self.told[0] = told
        self.reckoning, self.now = Reckoning(self.arm), 0
        self.start = np.array([0.3, -0.9, 1.1, -0.7, 0.5, 0.4])
        v = np.zeros(6)
        v[0] = SPEED
        self.effort = self.arm.inverse_dynamics(self.start, v, ZERO, np.empty(6))
        self.due = v

    def place(self, late=0):
        qpos = self.start + 1e-6 * (self.now // PERIOD % 2)  # repeated numbers would say nothing
        qpos[0] += SPEED * 1e-9 * (self.now - late)
        return qpos

    def remember(self, lying, late=0):
        """Let a state arrive that was measured `late` [ns] ago."""
        known, told = self.reckoning.history, self.told if lying else self.due
        stamp = self.stamp(self.now - late) if lying else self.now - late
        known.shift = 0
        known.add(stamp, self.now, self.place(late), told, ZERO, self.due, 0.9 * lying, 0.0)
        known.sent(self.effort)
        self.now += PERIOD


def test_a_clock_at_half_pace_does_not_make_the_arm_twice_as_fast():
    """Positions over stamps are twice the velocities; by the time of arrival both are true."""
    onset = 40 * PERIOD
    turning = Turning(SPEED, lambda now: onset + (now - onset) // 2)
    for _ in range(40):
        turning.remember(lying=False)
    for _ in range(4):
        turning.remember(lying=True)
    known = turning.reckoning
    known.begin(turning.now, turning.effort, lying=True)
    for _ in range(100):
        turning.now += PERIOD
        known.advance(turning.now, turning.effort)
        known.correct(turning.place(), turning.told, 1e-9 * (turning.now - onset) / 2)
    np.testing.assert_allclose(known.qvel, turning.due, atol=0.02)
    np.testing.assert_allclose(known.qpos, turning.place(), atol=1e-3)


@pytest.mark.parametrize("late", [0, 10 * MS, 50 * MS])
def test_an_estimate_that_follows_late_positions_does_not_diverge(late):
    """The velocities say 0; a filter as fast as for punctual positions would diverge."""
    turning = Turning(0.0, lambda now: now)
    for _ in range(40):
        turning.remember(lying=False, late=late)
    for _ in range(6):
        turning.remember(lying=True, late=late)
    known = turning.reckoning
    known.begin(turning.now, turning.effort, lying=True)
    known.qvel[0] += 0.1  # what it has to forget
    rate = min(FOLLOWING, FOLLOWING_LATE / max(1e-9 * late, 1e-9))
    for _ in range(int(20.0 / rate / (1e-9 * PERIOD))):
        turning.now += PERIOD
        known.advance(turning.now, turning.effort)
        known.correct(turning.place(late), turning.told, 1e-9 * late)
    np.testing.assert_allclose(known.qvel, turning.due, atol=0.02)


def test_an_arm_rests_between_arming_and_the_first_answer():
    """Arming may take long; nothing was sent until then, but the arm did not fall."""
    loop = ClosedLoop(model()).arm()
    loop.now += 80 * MS
    for _ in range(5):
        loop.tick()
    known = loop.controller._ending.reckoning
    known.begin(loop.now, loop.applied, lying=True)
    assert np.abs(known.qvel).max() < 1e-3
    assert known.history.time(0) < START + 80 * MS
