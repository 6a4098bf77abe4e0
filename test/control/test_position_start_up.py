# SPDX-License-Identifier: Apache-2.0
"""The start-up test of an arm commanded by positions finds errors with small motions."""

import numpy as np
import pytest
from positioned_arm import PositionedArm
from support.refusals import refused

from rbdyn_ros.errors import RbdynError

#: A joint may move this far in the test [rad].
MOVED = 0.025
#: Largest speed of the servos [rad/s].
FASTEST = 1.0


class Servoed(PositionedArm):
    """An arm whose servos lag, and which may misread commands or report a wrong state.

    Args:
        takes: function of the commanded positions; returns the positions that the servos use.
        reports: function of the loop, which returns the changed entries of a state.
        lag: time constant of the servos [s].
        delay: time after which a commanded position reaches the servos [s].
    """

    def __init__(self, takes=None, reports=None, lag=0.0, delay=0.0, **settings):
        super().__init__(start_up_test=True, **settings)
        self.takes, self.reports = takes or (lambda q: q), reports or (lambda _: {})
        self.lag, self.queue, self.late = lag, [], round(delay / self.h)
        self.start, self.far = self.d.qpos.copy(), 0.0
        self.said = set()

    def drive(self, qpos, qvel):  # noqa: ARG002
        self.queue.append(self.takes(qpos.copy()))
        before, goal = self.d.qpos.copy(), self.queue[max(0, len(self.queue) - 1 - self.late)]
        step = (goal - before) * (self.h / (self.lag + self.h))
        self.d.qpos += np.clip(step, -FASTEST * self.h, FASTEST * self.h)
        self.d.qvel[:] = (self.d.qpos - before) / self.h

    def tick(self, **changes):
        super().tick(**changes | self.reports(self))
        self.far = max(self.far, np.abs(self.d.qpos - self.start).max())
        self.said.add(self.controller.status())

    def tried(self):
        """Arm; return the reason why the start-up test failed, or "" if it passed."""
        self.armed()
        begun = self.now
        while self.controller.testing:
            self.tick()
            assert self.now - begun < 20e9
        if self.controller.armed:
            return ""
        self.run(0.2)
        assert self.controller.fault is None
        assert not self.controller.sending
        return self.controller.failed_test


def relative(joint, ratio):
    """Return a function for `reports` that scales the position and velocity of a joint."""

    def report(loop):
        q, v = loop.d.qpos.copy(), loop.d.qvel.copy()
        q[joint] += (ratio - 1.0) * (q[joint] - loop.start[joint])
        v[joint] *= ratio
        return {"position": q, "velocity": v}

    return report


def exchanged(loop):
    """Return entries of a state in which two wrist joints are exchanged."""
    way, v = loop.d.qpos - loop.start, loop.d.qvel.copy()
    way[[4, 5]], v[[4, 5]] = way[[5, 4]], v[[5, 4]]
    return {"position": loop.start + way, "velocity": v}


def scaled(loop, joint, factor):
    v = loop.d.qvel.copy()
    v[joint] *= factor
    return {"velocity": v}


def late_velocities(delay):
    """Return a function for `reports` that reports the velocities from `delay` seconds ago."""
    seen = []

    def report(loop):
        seen.append(loop.d.qvel.copy())
        return {"velocity": seen[max(0, len(seen) - 1 - round(delay / loop.h))]}

    return report


def creeping(speed):
    """Return a function for `takes` with which the fourth joint drifts away [rad/s]."""
    calls = []

    def take(q):
        calls.append(0)
        return q + speed * 0.004 * len(calls) * (np.arange(6) == 3)

    return take


def braked(start):
    """Return a function for `takes` with which the third joint does not move."""
    return lambda q: np.where(np.arange(6) == 2, start, q)


ERRORS = {
    **{f"sign_{k}": ({"reports": relative(k, -1.0)}, "sign") for k in range(6)},
    **{
        f"ratio_{r}": ({"reports": relative(1, r)}, "ratio")
        for r in (0.0, 0.1, 0.5, 0.7, 1.5, 2.0, 5.0)
    },
    "exchanged": ({"reports": exchanged}, "order"),
    "delay": ({"delay": 0.12}, "ms after"),
    **{
        f"ratio_{r}_lag": ({"reports": relative(1, r), "lag": 0.1}, "ratio")
        for r in (0.6, 1.5, 1.7)
    },
    "velocity_late": ({"reports": late_velocities(0.14)}, "ms late"),
    "velocity_zero": ({"reports": lambda loop: scaled(loop, 3, 0.0)}, "velocities"),
    "velocity_sign": ({"reports": lambda loop: scaled(loop, 3, -1.0)}, "velocities"),
    "velocity_degrees": ({"reports": lambda loop: scaled(loop, 3, 57.3)}, "velocit"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_of_a_position_arm_prevents_arming(name):
    given, word = ERRORS[name]
    arm = Servoed(**given)
    found = arm.tried()
    assert "start-up test" in found
    assert word in found
    assert arm.far < MOVED
    with refused(RbdynError, "start-up"):
        arm.controller.check_tested()


@pytest.mark.parametrize("error", ["degrees", "zero", "order", "sign"])
def test_misread_positions_are_found_at_the_first_command(error):
    """The arm moves at the first position, so no second position may follow."""
    takes = {
        "degrees": np.radians,
        "zero": lambda q: q + 0.05,
        "order": lambda q: q[::-1].copy(),
        "sign": lambda q: -q,
    }[error]
    arm = Servoed(takes=takes, lag=0.1)
    found = arm.tried()
    assert "when it is sent the position that it reports" in found
    # if commands went on, the servos would move to 2.2 rad
    assert np.abs(arm.d.qpos - arm.start).max() < 0.15


@pytest.mark.parametrize("speed", [0.002, 0.01, -0.01])
def test_a_joint_that_creeps_away_is_stopped_near_its_rest(speed):
    arm = Servoed(takes=creeping(speed))
    found = arm.tried()
    assert "zeros" in found
    assert "wrist_1_joint" in found
    assert np.abs(arm.d.qpos - arm.start)[3] < 0.0081


def test_the_start_up_test_finds_a_closed_brake():
    arm = Servoed()
    arm.takes = braked(arm.start)
    assert "brakes" in arm.tried()


@pytest.mark.parametrize(
    ("lag", "delay", "period"),
    [(0.0, 0.0, 0.004), (0.05, 0.0, 0.002), (0.1, 0.0, 0.004), (0.03, 0.05, 0.008), (0, 0, 0.01)],
)
def test_a_correct_position_arm_is_armed_and_hardly_moves(lag, delay, period):
    arm = Servoed(lag=lag, delay=delay, period=period)
    assert arm.tried() == ""
    assert arm.far < (0.0065 if lag < 0.1 else 0.0125)
    assert any("testing joint" in line for line in arm.said)
    there = arm.d.qpos.copy()
    arm.run(0.5)
    assert arm.controller.fault is None
    # a slow servo is still on its way back
    assert np.abs(arm.d.qpos - there).max() < (1e-4 if lag < 0.1 else 3e-3)


def test_a_position_arm_with_noisy_and_coarse_states_passes_the_test():
    random = np.random.default_rng(5)

    def noisy(loop):
        q = np.round((loop.d.qpos + 1e-4 * random.standard_normal(6)) / 2e-4) * 2e-4
        return {"position": q, "velocity": loop.d.qvel + 0.02 * random.standard_normal(6)}

    assert Servoed(reports=noisy, lag=0.02).tried() == ""


def test_servos_that_sag_do_not_jump_at_the_end_of_the_start_up_test():
    arm = Servoed(takes=lambda q: q - 0.003)
    assert arm.tried() == ""
    there = arm.d.qpos.copy()
    arm.run(0.5)
    assert np.abs(arm.d.qpos - there).max() < 1e-9


@pytest.mark.parametrize("onset", [0.05, 0.3, 0.9])
def test_states_that_stop_end_the_start_up_test_of_a_position_arm(onset):
    arm = Servoed().armed()
    arm.run(onset)
    assert arm.controller.testing
    arm.now += 200_000_000
    assert arm.controller.on_watch(arm.now) is None
    assert not arm.controller.testing
    assert "start-up test was stopped" in arm.controller.failed_test


def test_the_start_up_test_of_a_position_arm_can_be_switched_off():
    arm = PositionedArm().armed()
    assert arm.controller.armed


def test_a_mode_that_the_arm_does_not_have_is_refused_during_the_start_up_test():
    arm = Servoed().armed()
    assert arm.controller.testing
    with refused(RbdynError, "mode"):
        arm.controller.set_mode("admittance")  # admittance.frame is empty
    assert arm.controller.mode == "tracking"
    assert arm.tried() == ""


def test_an_arm_whose_wrench_sensor_falls_silent_during_the_start_up_test_is_not_armed():
    arm = Servoed(admittance_frame="tool0")
    arm.armed()
    arm.controller.set_mode("admittance")
    arm.feels = False  # no wrench arrives from now on
    found = arm.tried()
    assert "wrench" in found
    assert not arm.controller.armed
