# SPDX-License-Identifier: Apache-2.0
"""The start-up test finds errors that do not show at rest, and moves the arm only a little."""

import numpy as np
import pytest
from battery import rubbed
from closed_loop import FILES, MS, SEVEN, ClosedLoop, model
from support.lies import LIES
from support.refusals import refused

from rbdyn_ros.control.base.friction import Friction
from rbdyn_ros.errors import RbdynError

UR5, PANDA = FILES[0], FILES[1]
#: An arm may move this far in the test, even with wrong states [rad or m].
MOVED = 0.06
#: A joint may move at this share of its velocity limit in the test.
SPEED = 0.7


class Tried(ClosedLoop):
    """An arm whose states may be wrong, from the start of the test on or later.

    Args:
        lie: function of the loop and the time [s], which returns the changed entries of a state.
        m: the controller's Model of the arm; None for the Model of the file.
    """

    def __init__(self, file=UR5, lie=None, period=0.001, m=None, **more):
        super().__init__(model(file) if m is None else m, start_up_test=True, **more)
        self.lie, self.h = lie, period
        self.run(0.3)
        self.start = self.d.qpos.copy()
        self.begun, self.far, self.fast = self.now, 0.0, 0.0
        self.said = set()

    def tick(self, **changes):
        if hasattr(self, "begun") and self.lie is not None:
            changes |= self.lie(self, (self.now - self.begun) * 1e-9)
        super().tick(**changes)
        if hasattr(self, "begun"):
            k = self.dofs
            self.far = max(self.far, np.abs(self.d.qpos - self.start)[k].max())
            self.fast = max(self.fast, (np.abs(self.d.qvel[k]) / self.gate.limits.velocity).max())
            self.said.add(self.controller.status())

    def tried(self):
        """Arm, and run the start-up test to its end; return why it failed, or "" if it passed."""
        self.controller.try_arm(self.now)
        while self.controller.testing:
            self.tick()
            assert self.now - self.begun < 10_000 * MS
        if self.controller.armed:
            return ""
        self.run(0.2)
        assert self.controller.fault is None
        return self.controller.failed_test


def relative(joint, ratio):
    """Return a lie that scales the position and velocity of a joint."""

    def change(loop, _time):
        q, v = loop.d.qpos.copy(), loop.d.qvel.copy()
        q[joint] += (ratio - 1.0) * (q[joint] - loop.start[joint])
        v[joint] *= ratio
        return {"position": q, "velocity": v}

    return change


def exchanged(one, other):
    """Return a lie that exchanges the motions of two joints."""

    def change(loop, _time):
        way, v = loop.d.qpos - loop.start, loop.d.qvel.copy()
        way[[one, other]], v[[one, other]] = way[[other, one]], v[[other, one]]
        return {"position": loop.start + way, "velocity": v}

    return change


def hidden(delay):
    """Return a lie that sends numbers from `delay` seconds ago with present stamps."""
    seen = []

    def change(loop, _time):
        seen.append((loop.d.qpos.copy(), loop.d.qvel.copy(), loop.applied.copy()))
        late = seen[max(0, len(seen) - 1 - round(delay / loop.h))]
        return dict(zip(("position", "velocity", "effort"), late, strict=True))

    return change


def slow(time_constant):
    """Return a lie that low-pass filters velocities with a time constant [s]."""
    shown = []

    def change(loop, _time):
        before = shown[-1] if shown else loop.d.qvel
        shown.append(before + (loop.d.qvel - before) * (loop.h / (time_constant + loop.h)))
        return {"velocity": shown[-1].copy()}

    return change


def scaled(row, joint, factor):
    """Return a lie that gives one joint's entry in `row` a wrong unit."""

    def change(loop, _time):
        numbers = {"velocity": loop.d.qvel, "effort": loop.applied}[row].copy()
        numbers[joint] *= factor
        return {row: numbers}

    return change


def drifting(joint, rate):
    def change(loop, time):
        return {"position": loop.d.qpos + rate * time * (np.arange(len(loop.d.qpos)) == joint)}

    return change


ERRORS = {
    **{f"sign_{k}": (relative(k, -1.0), None) for k in range(6)},
    **{
        f"ratio_{k}_{ratio}": (relative(k, ratio), None)
        for k in (0, 1, 5)
        for ratio in (0.1, 0.3, 0.5, 2.0, 5.0)
    },
    "wrists": (exchanged(4, 5), "while 'wrist_2_joint' was driven. Check the order of the joints"),
    **{f"delay_{ms}": (lambda ms=ms: hidden(1e-3 * ms), "answered") for ms in (20, 30, 50, 100)},
    "filter_50": (lambda: slow(0.05), "velocity"),
    "filter_100": (lambda: slow(0.1), "velocity"),
    "velocity_zero": (scaled("velocity", 0, 0.0), "velocity"),
    "velocity_sign": (scaled("velocity", 5, -1.0), "velocity"),
    "velocity_half": (scaled("velocity", 5, 0.5), "velocity"),
    "effort_milli": (scaled("effort", 0, 1e3), "effort"),
    "effort_kilo": (scaled("effort", 5, 1e-3), "effort"),
    "effort_sign": (scaled("effort", 0, -1.0), "effort"),
    "drift": (drifting(3, 0.1), "wrist_1_joint"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_of_the_arm_prevents_arming(name):
    lie, word = ERRORS[name]
    loop = Tried(lie=lie() if name.startswith(("delay", "filter")) else lie)
    found = loop.tried()
    assert "start-up test" in found
    assert word is None or word in found
    assert loop.far < MOVED
    assert loop.fast < SPEED
    with refused(RbdynError, "start-up"):
        loop.controller.check_tested()


def told(lie):
    """Return a lie of the battery in the form that Tried takes; it begins with the test."""
    change = lie.start()

    def tell(loop, time):
        (shown,) = change(loop.state(), time)
        return shown

    return tell


#: Lies that the start-up test detects; other tests cover wrong loads.
FELT = [lie for lie in LIES if lie.felt and lie.liar]


@pytest.mark.parametrize("lie", FELT, ids=lambda lie: lie.name)
def test_false_states_of_the_battery_are_found_by_the_start_up_test(lie):
    loop = Tried(lie=told(lie))
    assert "start-up test" in loop.tried()
    assert loop.far < MOVED
    assert loop.fast < SPEED


@pytest.mark.parametrize("period", [0.001, 0.004, 0.01])
@pytest.mark.parametrize("file", FILES)
def test_a_correct_arm_passes_and_hardly_moves(file, period):
    loop = Tried(file, period=period)
    assert loop.tried() == ""
    assert loop.far < 0.03
    assert loop.fast < SPEED
    assert any("testing joint" in line for line in loop.said)
    loop.controller.check_tested()
    loop.run(0.5)
    assert loop.controller.fault is None


@pytest.mark.parametrize("mode", ["hold", "computed_torque", "impedance"])
def test_the_arm_stays_where_the_start_up_test_ended_in_every_mode(mode):
    loop = Tried(mode=mode)
    assert loop.tried() == ""
    there = loop.d.qpos.copy()
    loop.run(1.0)
    assert np.abs(loop.d.qpos - there).max() < 2e-3


@pytest.mark.parametrize("share", [1.0, 0.9, 0.33, 0.0])
@pytest.mark.parametrize("file", [UR5, SEVEN])
def test_an_arm_with_friction_passes_with_any_share_of_friction_in_the_model(file, share):
    """The robot has friction; the controller's model has a share of it."""
    plant = rubbed(model(file))
    arm = {"friction": Friction.of_model(plant).scaled(share)}
    loop = Tried(file, plant=plant, arm=arm)
    assert loop.tried() == ""
    assert loop.far < MOVED


def test_friction_of_two_joints_with_one_axis_is_not_an_error():
    """The arm stands upright, so its first and third joints turn about the same line."""
    plant = model(SEVEN)
    plant.opt.passive = True
    loop = Tried(SEVEN, plant=plant, qpos=np.zeros(7))
    assert loop.tried() == ""
    assert loop.far < MOVED
    wrong = Tried(SEVEN, relative(0, -1.0), plant=plant, qpos=np.zeros(7))
    assert "sign" in wrong.tried()


@pytest.mark.parametrize("scale", [0.5, 0.2])
def test_friction_under_the_slow_pulses_of_a_first_arming_is_not_an_error(scale):
    """With velocity_scale, as for real arms, the pulses are so weak that friction matters."""
    plant = rubbed(model(SEVEN))
    slow = plant.replaced(jnt_velocity=scale * plant.jnt_velocity)
    rest = (0.0, 0.6, 0.4, -0.7, 0.0, 0.4, 0.0)
    loop = Tried(SEVEN, m=slow, plant=plant, qpos=rest)
    assert loop.tried() == ""
    assert loop.far < MOVED
    for lie in (relative(2, -1.0), exchanged(0, 2), exchanged(1, 3)):
        assert "start-up test" in Tried(SEVEN, lie, m=slow, plant=plant, qpos=rest).tried()


@pytest.mark.parametrize("pair", [(4, 5), (0, 3), (1, 2)])
def test_a_wrong_order_of_joints_is_found_despite_exaggerated_friction_in_the_description(pair):
    plant = model(UR5)
    rough = plant.replaced(dof_frictionloss=0.3 * plant.jnt_effort)
    assert "start-up test" in Tried(lie=exchanged(*pair), m=rough, plant=plant).tried()


def test_the_start_up_test_skips_a_joint_that_described_friction_holds():
    m = rubbed(model(PANDA))
    m.opt.passive = True
    loop = Tried(PANDA, m=m)
    assert loop.tried() == ""
    assert loop.controller.untested == ["panda_finger_joint1"]
    assert "panda_finger_joint1" in loop.controller.status()


@pytest.mark.parametrize(
    ("place", "speed", "effort", "coarse"),
    [(1e-4, 0.02, 0.01, 0.0), (1e-5, 0.2, 0.03, 0.0), (0.0, 0.0, 0.0, 2e-4)],
)
def test_noise_and_coarse_encoders_are_not_errors(place, speed, effort, coarse):
    random = np.random.default_rng(3)

    def noisy(loop, _time):
        q = loop.d.qpos + place * random.standard_normal(6)
        q = np.round(q / coarse) * coarse if coarse else q
        most = loop.gate.limits.effort
        return {
            "position": q,
            "velocity": loop.d.qvel + speed * random.standard_normal(6),
            "effort": loop.applied + effort * most * random.standard_normal(6),
        }

    assert Tried(lie=noisy).tried() == ""


@pytest.mark.parametrize("mass", [0.5, 1.0, 3.0])
def test_a_missing_payload_is_found_by_the_start_up_test(mass):
    """The effort of the load is within arm_tolerance, so arming does not notice it."""
    loop = Tried(arm_tolerance=40.0)
    loop.controller.set_payload("tool0", mass, (0.0, 0.0, 0.05), (0.0,) * 6)
    found = loop.tried()
    assert "payload" in found
    assert loop.far < 0.03


@pytest.mark.parametrize("tilt", [3.0, 20.0])
def test_a_tilted_base_is_found_by_the_start_up_test(tilt):
    loop = Tried(arm_tolerance=100.0, mounting=(np.radians(tilt), 0.0, 0.0))
    loop.plant.opt.gravity = (0.0, 0.0, -9.81)
    assert "mounting" in loop.tried()
    assert loop.far < MOVED


def begins(onset, lie):
    """Return a lie that begins at a time [s] after the start of the test."""
    kept = {}

    def change(loop, time):
        if time < onset:
            kept.update(position=loop.d.qpos.copy(), velocity=loop.d.qvel.copy())
            return {}
        return lie(loop, kept)

    return change


LATER = {
    "frozen": lambda _loop, kept: {k: kept[k].copy() for k in kept},
    "nan": lambda loop, _kept: {"position": np.full(6, np.nan) + 0.0 * loop.d.qpos},
    "jump": lambda loop, _kept: {"position": loop.d.qpos + 0.02},
    "sign": lambda loop, kept: {
        "position": 2.0 * kept["position"] - loop.d.qpos,
        "velocity": -loop.d.qvel,
    },
    "stamps": lambda loop, _kept: {"stamp": loop.now + 5_000 * MS},
}


@pytest.mark.parametrize("onset", [0.05, 0.17, 0.25, 0.4, 0.77])
@pytest.mark.parametrize("name", LATER)
def test_a_false_state_that_begins_in_the_start_up_test_ends_it(name, onset):
    loop = Tried(lie=begins(onset, LATER[name]))
    assert "start-up test" in loop.tried()
    assert loop.far < MOVED
    assert loop.fast < SPEED


@pytest.mark.parametrize("onset", [0.05, 0.17, 0.25, 0.4, 0.77])
def test_states_that_stop_end_the_start_up_test(onset):
    loop = Tried()
    loop.controller.try_arm(loop.now)
    loop.run(onset)
    loop.publish = False
    loop.run(0.3)
    assert "start-up test" in loop.controller.failed_test
    assert loop.far < MOVED


def test_no_effort_of_the_start_up_test_acts_much_longer_than_30_ms():
    """on_watch is called every 10 ms."""
    loop = Tried()
    loop.controller.try_arm(loop.now)
    loop.run(0.2)
    assert loop.controller.testing
    loop.publish = False
    loop.run(0.03)
    assert loop.controller.testing
    loop.run(0.015)
    assert not loop.controller.testing
    assert "ms apart" in loop.controller.failed_test


def test_a_joint_that_moves_too_far_is_reported_with_the_expected_motion():
    loop = Tried(lie=relative(0, 10.0))
    found = loop.tried()  # the second pulse moves the joint by 0.8 of the largest displacement
    assert "from where it rested, under a pulse that moves it by -0.012." in found


def test_a_simulated_arm_may_wait_for_its_states():
    loop = Tried(gate={"simulated": True})
    loop.controller.try_arm(loop.now)
    loop.run(0.2)
    loop.publish = False
    loop.run(0.06)
    assert loop.controller.testing


def test_the_error_about_a_low_rate_of_states_names_no_joint():
    loop = Tried()
    loop.controller.try_arm(loop.now)
    loop.run(0.2)
    with refused(RbdynError, "start-up", ""):
        loop.controller._test.check_age(0.05)


def test_requests_during_the_start_up_test_are_refused():
    """Payloads and paths are refused during the test, but the arm can be disarmed."""
    loop = Tried(mode="hold")
    c = loop.controller
    c.try_arm(loop.now)
    loop.run(0.2)
    c.try_arm(loop.now)
    assert c.testing
    with refused(RbdynError, "testing"):
        c.set_payload("tool0", 1.0, (0.0, 0.0, 0.0), (0.0,) * 6)
    with refused(RbdynError, "mode"):
        c.check_following()
    c.set_mode("computed_torque")
    with refused(RbdynError, "not-armed"):
        c.check_following()
    c.disarm()
    loop.run(0.1)
    assert (c.testing, c.armed, c.sending) == (False, False, False)
    with refused(RbdynError, "not-armed"):
        c.check_tested()
    assert loop.tried() == ""


def test_gains_that_would_shake_the_arm_are_refused_during_the_start_up_test():
    loop = Tried(mode="hold", impedance_stiffness=100.0, impedance_damping=30.0, period=0.004)
    loop.controller.try_arm(loop.now)
    loop.run(0.2)
    assert loop.controller.testing
    with refused(RbdynError, "gains"):
        loop.controller.set_mode("impedance")
    assert loop.controller.mode == "hold"


def test_a_joint_between_near_limits_is_refused():
    m = model()
    m = m.replaced(jnt_range=np.where(np.arange(6)[:, None] == 5, [[0.395, 0.405]], m.jnt_range))
    loop = ClosedLoop(m, start_up_test=True)
    loop.run(0.3)
    with refused(RbdynError, "start-up", "wrist_3_joint"):
        loop.controller.try_arm(loop.now)


def test_the_start_up_test_moves_away_from_a_limit():
    loop = Tried()
    q = loop.d.qpos.copy()
    q[5] = loop.gate.limits.upper[5] - 0.001
    loop = Tried(qpos=q)
    assert loop.tried() == ""


def test_the_start_up_test_repeats_to_the_last_bit():
    one, other = Tried(SEVEN), Tried(SEVEN)
    assert (one.tried(), other.tried()) == ("", "")
    assert one.now == other.now
    np.testing.assert_array_equal(one.d.qpos, other.d.qpos)


def test_a_dry_run_skips_the_start_up_test():
    loop = ClosedLoop(model(), start_up_test=True, dry_run=True)
    loop.run(0.3)
    loop.controller.try_arm(loop.now)
    assert loop.controller.armed


def test_limits_can_be_tightened_during_the_start_up_test_as_when_armed():
    loop = Tried()
    c, limits = loop.controller, loop.gate.limits
    c.try_arm(loop.now)
    loop.run(0.2)
    assert c.testing
    with refused(RbdynError, "too-heavy", "shoulder_lift_joint"):
        c.tighten(0.05, 1.0, 0.0)
    with refused(RbdynError, "limits", "elbow_joint"):
        c.tighten(1.0, 1.0, 2.2)
    assert loop.gate.limits is limits
    c.tighten(0.9, 0.8, 0.01)
    assert loop.tried() == ""
    assert loop.gate.limits.effort[0] == 0.9 * limits.effort[0]
