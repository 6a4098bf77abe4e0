# SPDX-License-Identifier: Apache-2.0
"""The safety gate checks states exactly at each bound and in order, and limits efforts."""

import dataclasses
import itertools
from functools import cache

import numpy as np
import pytest
from closed_loop import MS, START, model
from support.refusals import refused

from rbdyn_ros.control.base.faults import Fault
from rbdyn_ros.control.base.limits import MARGIN, Limits
from rbdyn_ros.control.base.state_kernels import LONGEST, SHORTEST
from rbdyn_ros.control.states.clock import FASTER
from rbdyn_ros.control.states.gate import GateSettings, SafetyGate
from rbdyn_ros.errors import ParameterError

N = 6
REST = np.array([0.3, -0.9, 1.1, -0.7, 0.5, 0.4])
HAIR = 1e-9


@cache
def ur5():
    return model()


@cache
def ur5_limits():
    return Limits.of(ur5())


class Admitting:
    """Sends states to a SafetyGate; its clocks advance by a millisecond per state by default."""

    def __init__(self, limits=None, **settings):
        self.gate = SafetyGate(ur5(), limits or ur5_limits(), GateSettings(**settings))
        self.stamp = self.arrival = START

    def __call__(self, qpos=REST, qvel=None, dt=1.0, waited=None, names=None, effort=None):
        """Send a state dt [ms] later (arrival: `waited` or dt); return the time step and fault."""
        self.stamp += round(dt * MS)
        self.arrival += round((dt if waited is None else waited) * MS)
        names = ur5_limits().names if names is None else names
        qvel = np.zeros(N) if qvel is None else qvel
        effort = np.zeros(N) if effort is None else effort
        return self.gate.admit(names, np.array(qpos), qvel, effort, self.stamp, self.arrival)


def admitting(**settings):
    """Return an Admitting that has sent a valid state."""
    send = Admitting(**settings)
    assert send() == (SHORTEST, None)
    return send


def at(k, value, base=None):
    """Return REST or the array `base`, with entry k replaced."""
    row = (REST if base is None else base).copy()
    row[k] = value
    return row


def code(result):
    return None if result[1] is None else result[1].code


# states


def test_a_good_state_is_accepted_with_its_time_step():
    send = admitting()
    assert send() == (pytest.approx(0.001), None)
    assert send(dt=7.0) == (pytest.approx(0.007), None)
    assert send(dt=0.001) == (SHORTEST, None)
    assert send(dt=50.0) == (LONGEST, None)
    assert send.gate.fault is None


def test_the_first_check_that_fails_is_reported():
    """The checks come in the order: finite, names, clock, position, velocity."""
    send = admitting()
    wrong = {
        "names": ("x", *ur5_limits().names[1:]),
        "qpos": at(1, 9.0),
        "qvel": at(2, 4.0, np.zeros(N)),
        "dt": -5.0,
    }
    found = [send(**wrong | {"qpos": at(1, np.nan)}), send(**wrong)]
    found.append(send(qvel=wrong["qvel"], dt=-5.0))
    found.append(Admitting()(**wrong | {"names": ur5_limits().names}))
    found.append(admitting()(qvel=wrong["qvel"]))
    assert [code(result) for result in found] == [
        "finite",
        "names",
        "clock",
        "position",
        "velocity",
    ]
    blind = [result[1].blind for result in found]
    assert blind == [True, True, False, False, False]
    assert [dt for dt, _ in found] == [0.0, 0.0, SHORTEST, SHORTEST, pytest.approx(0.001)]


@pytest.mark.parametrize("jump", [-5000.0, 5000.0])
def test_names_in_another_order_are_sorted_also_after_a_clock_jump(jump):
    """A driver that restarted may list its joints in another order."""
    send = admitting()
    dt, fault = send(qpos=REST[[1, 0, 2, 3, 4, 5]], dt=jump, waited=1.0)
    assert (dt, fault.code, fault.blind) == (0.0, "clock", True)
    np.testing.assert_array_equal(send.gate.measured.qpos, REST)


@pytest.mark.parametrize("k", range(N))
@pytest.mark.parametrize("side", ["lower", "upper"])
def test_positions_may_exceed_a_limit_by_half_a_degree_at_most(k, side):
    sign = -1.0 if side == "lower" else 1.0
    limit = getattr(ur5_limits(), side)[k]
    for beyond, expected in ((MARGIN - HAIR, None), (MARGIN + HAIR, "position")):
        send = Admitting()
        result = send(qpos=at(k, limit + sign * beyond))
        assert code(result) == expected
    assert ur5_limits().names[k] in result[1].text


@pytest.mark.parametrize("k", range(N))
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_velocities_may_not_exceed_their_limit(k, sign):
    limit = ur5_limits().velocity[k]
    assert code(admitting()(qvel=at(k, sign * limit, np.zeros(N)))) is None
    result = admitting()(qvel=at(k, sign * (limit + HAIR), np.zeros(N)))
    assert code(result) == "velocity"
    assert f"joint '{ur5_limits().names[k]}' moves at" in result[1].text


@pytest.mark.parametrize("k", range(N))
def test_a_joint_cannot_move_farther_than_its_velocity_allows(k):
    """This check finds swapped joints and jumping encoders."""
    for dt in (1.0, 75.0):
        most = ur5_limits().velocity[k] * dt * 1e-3 + MARGIN
        assert code(admitting()(qpos=at(k, REST[k] + most - HAIR), dt=dt)) is None
        result = admitting()(qpos=at(k, REST[k] + most + HAIR), dt=dt)
        assert code(result) == "velocity"
        assert f"joint '{ur5_limits().names[k]}' moved by" in result[1].text
    # the position of the first state is not compared
    assert code(Admitting()(qpos=at(k, 0.0))) is None


def test_an_impossible_displacement_is_refused():
    """States of swapped joints are refused until the elapsed time allows the displacement."""
    send = admitting()
    # the two positions differ by 1.2 rad; the joints move at up to 3.15 rad/s
    swapped = REST[[1, 0, 2, 3, 4, 5]]
    for _ in range(377):
        dt, fault = send(qpos=swapped)
        assert (dt, fault.code, fault.blind) == (0.0, "velocity", True)
        np.testing.assert_array_equal(send.gate.measured.qpos, REST)
    assert send.gate.watch(send.arrival).code == "age"
    assert send() == (LONGEST, None)  # a correct state is accepted at once
    assert send.gate.watch(send.arrival) is None
    beyond = send(qpos=at(1, 7.0))[1]
    assert (beyond.code, beyond.blind) == (
        "position",
        True,
    )  # the position is beyond its limits, and too far from the last one
    np.testing.assert_array_equal(send.gate.measured.qpos, REST)


@pytest.mark.parametrize("dt", [1.0, 10.0])
def test_after_an_overspeed_that_the_velocities_confirm_the_states_are_trusted(dt):
    """Positions and velocities agree on 4.2 rad/s, above the limit of 3.15 rad/s."""
    send = admitting()
    qpos, speed, faults = REST.copy(), 0.0, []
    while speed < 4.2:
        before, speed = speed, speed + 20.0 * dt * 1e-3
        qpos[3] += 0.5 * (before + speed) * dt * 1e-3
        faults.append(send(qpos=qpos, qvel=at(3, speed, ZERO), dt=dt)[1])
    assert {f.code for f in faults if f} == {"velocity"}
    assert not any(f.blind for f in faults if f)
    qpos[3] += 7.0 * dt * 1e-3 + 0.02  # the velocities do not explain this motion
    assert send(qpos=qpos, qvel=at(3, speed, ZERO), dt=dt)[1].blind


def test_a_slow_drift_of_a_position_is_a_velocity_fault():
    """Slow drifts are compared over a quarter of a second, which allows 0.4 rad/s."""
    send = admitting()
    found = []
    for k in range(8000):
        found.append(code(send(qpos=at(2, REST[2] + 2e-5 * k))))
        if found[-1]:
            break
    assert found[-1] == "velocity"
    assert 2e-5 * k < 0.2


@pytest.mark.parametrize(("most", "expected"), [(300.0, None), (40.0, "acceleration")])
def test_velocities_that_change_too_fast_are_a_fault_but_noise_is_not(most, expected):
    send = Admitting(limits=ur5_limits().tightened(1.0, 1.0, 0.0, most))
    rng = np.random.default_rng(3)
    v, qpos = np.zeros(N), REST.copy()
    found = set()
    for k in range(400):
        v[1] = 0.6 * np.sin(0.1 * k)  # the acceleration is up to 60 rad/s^2
        qpos[1] += 1e-3 * v[1]
        found.add(code(send(qpos=qpos, qvel=v + rng.normal(size=N) * 0.02)))
    assert found - {None} == ({expected} - {None})


@pytest.mark.parametrize(
    ("speeding", "braking", "noise", "expected"),
    [
        (1.9, 1.9, 0.0, None),
        (2.1, 1.9, 0.0, "acceleration"),
        (1.9, 20.0, 0.0, None),
        (1.0, 1.0, 0.05, None),
    ],
)
def test_a_gain_of_speed_beyond_twice_the_robots_acceleration_is_a_fault(
    speeding, braking, noise, expected
):
    """`speeding` and `braking` are multiples of the limit of 4 rad/s^2. Braking may exceed it."""
    send = Admitting(limits=Limits.of(ur5().replaced(jnt_acceleration=np.full(ur5().njnt, 4.0))))
    rng = np.random.default_rng(5)
    v, qpos = np.zeros(N), REST.copy()
    found = set()
    for k in range(600):  # the joint speeds up to 1.3 rad/s and slows down, twice
        v[1] = max(0.0, v[1] + (4e-3 * speeding if k % 300 < 150 else -4e-3 * braking))
        qpos[1] += 1e-3 * v[1]
        found.add(code(send(qpos=qpos, qvel=v + rng.normal(size=N) * noise)))
    assert found - {None} == {expected} - {None}


def test_effort_times_velocity_above_the_power_limit_is_a_fault():
    send = Admitting(limits=ur5_limits().tightened(1.0, 1.0, 0.0, power_limit=20.0))
    send()
    settled(send.gate, np.full(N, 25.0), ZERO)
    assert code(send(qvel=np.full(N, 0.7))) is None
    assert code(send(qvel=np.full(N, 0.9))) == "power"


def test_a_joint_may_have_moved_farther_after_invalid_states():
    send = admitting()
    bad = at(0, np.nan)
    for _ in range(50):
        assert code(send(qpos=bad)) == "finite"
    assert code(send(qpos=at(0, REST[0] + 0.14))) is None  # 51 ms at 3.15 rad/s allow 0.16 rad
    assert code(send(qpos=at(0, REST[0]))) == "velocity"


@pytest.mark.parametrize("lie", [-1.0, 0.0, 57.3])
def test_velocities_that_contradict_positions_are_faults(lie):
    """With a wrong sign, in degrees or always 0, velocities would not damp the motion."""
    send = admitting()
    speed = 0.05 if lie > 1.0 else 1.0
    qpos = REST.copy()
    for _ in range(400):
        qpos[3] += speed * 0.001
        velocity = at(3, lie * speed, np.zeros(N))
        _, fault = send(qpos=qpos, qvel=velocity)
        if fault is not None and fault.code != "acceleration":
            break
    assert (fault.code, fault.blind) == ("velocity", True)
    assert "joint 'wrist_1_joint'" in fault.text
    assert qpos[3] - REST[3] < 0.15
    np.testing.assert_array_equal(send.gate.measured.qpos, qpos)  # the position is still accepted
    for _ in range(400):
        result = send(qpos=qpos)
    assert result == (pytest.approx(0.001), None)  # a state at rest agrees with itself


def test_velocities_may_be_noisy_and_filtered():
    """A joint swings at 1 Hz with up to 2 rad/s; velocities are 10 ms late, with 0.05 rad/s of
    noise.
    """
    send = admitting()
    rng = np.random.default_rng(4)
    w = 2.0 * np.pi
    for k in range(3000):
        t = k * 1e-3
        qpos = REST + 2.0 / w * (1.0 - np.cos(w * t))
        late = 2.0 * np.sin(w * max(t - 0.01, 0.0)) + rng.normal(size=N) * 0.05
        assert code(send(qpos=qpos, qvel=late)) is None


@pytest.mark.parametrize("row", ["qpos", "qvel"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
@pytest.mark.parametrize("k", range(N))
def test_numbers_that_are_not_finite_are_refused_in_every_joint(row, bad, k):
    send = admitting()
    before = send.gate.measured.qpos.copy(), send.gate.measured.arrival
    dt, fault = send(**{row: at(k, bad)})
    assert (dt, fault.code, fault.blind) == (0.0, "finite", True)
    assert ur5_limits().names[k] in fault.text
    np.testing.assert_array_equal(send.gate.measured.qpos, before[0])
    assert send.gate.measured.arrival == before[1]  # the state ages


def test_names_may_be_reordered_but_not_missing():
    send = admitting()
    order = [3, 1, 0, 5, 4, 2]
    names = [ur5_limits().names[k] for k in order]
    assert send(qpos=REST[order], names=names) == (pytest.approx(0.001), None)
    np.testing.assert_array_equal(send.gate.measured.qpos, REST)
    zeros = np.zeros(N - 1)
    _, fault = send(qpos=REST[1:], qvel=zeros, effort=zeros, names=ur5_limits().names[1:])
    assert (fault.code, fault.blind) == ("names", True)
    assert "joint 'shoulder_pan_joint' is missing" in fault.text
    _, fault = send(qvel=np.empty(0))
    assert (fault.code, fault.blind) == ("names", True)
    assert code(send(effort=np.empty(0))) is None


# clocks


def test_a_repeated_state_is_ignored_and_ages():
    send = admitting()
    arrival = send.arrival
    for _ in range(200):
        assert send(dt=0.0, waited=1.0) == (0.0, None)
    assert send.gate.watch(arrival + 79 * MS) is None
    fault = send.gate.watch(send.arrival)
    assert (fault.code, fault.blind) == ("age", True)


def test_states_without_stamps_use_their_arrival():
    send = admitting()
    for _ in range(300):
        send.arrival += MS
        step, fault = send.gate.admit(
            ur5_limits().names, REST, np.zeros(N), np.zeros(N), 0, send.arrival
        )
        assert code((step, fault)) in (None, "clock")
    assert (step, fault) == (pytest.approx(0.001), None)


@pytest.mark.parametrize(
    ("dt", "waited", "expected"),
    [
        (-HAIR * 1000, 1.0, "clock"),  # the stamp goes back by a nanosecond
        (-1e9, 1.0, "clock"),
        (1e9, 1.0, "clock"),
        (80.9, 1.0, None),
        (81.1, 1.0, "clock"),
        (1.0, 80.9, None),
        (5000.0, 5000.0, None),
    ],
)
def test_a_clock_jump_of_the_states_is_a_fault(dt, waited, expected):
    send = admitting()
    step, fault = send(dt=dt, waited=waited)
    assert code((step, fault)) == expected
    assert SHORTEST <= step <= LONGEST
    if fault is not None:
        assert not fault.blind
    assert code(send()) is None  # the next state is accepted


@pytest.mark.parametrize("factor", [2.0, 10.0, 90.0])
def test_a_clock_that_runs_too_fast_is_a_fault(factor):
    """Effort rates and paths use this clock, so both would be too fast."""
    send = admitting()
    found = [code(send(dt=factor, waited=1.0)) for _ in range(250)]
    first = found.index("clock")
    assert first <= 0.1 / ((factor - FASTER) * 1e-3) + 1


@pytest.mark.parametrize("factor", [0.05, 1.0, 20.0])
def test_simulated_time_may_run_at_any_speed_but_not_jump(factor):
    send = admitting(simulated=True)
    assert [code(send(dt=factor, waited=1.0)) for _ in range(250)] == [None] * 250
    assert code(send(dt=79.0, waited=0.001)) is None
    assert code(send(dt=81.0, waited=1.0)) == "clock"
    assert code(send(dt=-1.0, waited=1.0)) == "clock"


@pytest.mark.parametrize("factor", [0.999, 1.0, 1.001, 1.05])
def test_a_slightly_wrong_clock_and_late_messages_are_accepted(factor):
    send = admitting()
    rng = np.random.default_rng(2)
    late = 0.0
    for _ in range(5000):
        before, late = (
            late,
            rng.uniform(0.0, 60.0) if rng.random() < 0.002 else max(late - 1.0, 0.0),
        )
        result = send(dt=factor, waited=max(1.0 + late - before, 0.0))
        assert code(result) is None


def test_watch_reports_the_age_of_the_newest_state():
    gate = SafetyGate(ur5(), ur5_limits())
    fault = gate.watch(START)
    assert (fault.code, fault.blind) == ("age", True)
    send = admitting()
    assert send.gate.watch(send.arrival + 80 * MS) is None
    fault = send.gate.watch(send.arrival + 80 * MS + 1)
    assert (fault.code, fault.blind) == ("age", True)


def test_the_first_fault_is_latched():
    gate = SafetyGate(ur5(), ur5_limits())
    gate.trip(Fault("age", "first"))
    gate.trip(Fault("position", "second"))
    assert gate.fault.text == "first"
    gate.clear()
    assert gate.fault is None


@pytest.mark.parametrize("name", ["state_timeout", "effort_rate", "blend_time"])
@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf, "1", None])
def test_settings_that_would_switch_the_gate_off_are_refused(name, bad):
    with refused(ParameterError, "bad-argument"):
        GateSettings(**{name: bad})


# efforts


def releasing(qpos=REST, **settings):
    send = Admitting(**settings)
    send(qpos=qpos)
    gate = send.gate
    return gate


ZERO = np.zeros(N)


@pytest.mark.parametrize("dt", [SHORTEST, 1e-4, 1e-3, 7e-3, LONGEST])
def test_efforts_change_by_the_effort_rate_at_most(dt):
    gate = releasing()
    rng = np.random.default_rng(1)
    gate.begin(rng.normal(size=N) * 30.0)
    before = gate.effort.copy()
    for k in range(3000):
        wanted = rng.normal(size=N) * 300.0 if k % 7 else ZERO
        if k == 1500:
            gate.begin(before)
        now = gate.release(wanted, rng.normal(size=N), dt).copy()
        assert (np.abs(now - before) <= 1000.0 * dt * (1 + 1e-12)).all()
        assert (np.abs(now) <= ur5_limits().effort).all()
        before = now


def test_efforts_change_by_one_longest_step_at_most_after_a_pause():
    gate = releasing()
    gate.release(ZERO, ZERO, 1e-3)
    assert np.abs(gate.release(ur5_limits().effort, ZERO, 60.0)).max() == pytest.approx(
        1000 * LONGEST
    )


def test_clamped_efforts_are_reported():
    gate = releasing()
    wanted = np.array([1e9, -1e9, 150.0, 28.0 + 1e-6, -27.0, 0.0])
    for _ in range(1000):
        effort = gate.release(wanted, ZERO, 1e-3)
    np.testing.assert_array_equal(effort, [150.0, -150.0, 150.0, 28.0, -27.0, 0.0])
    np.testing.assert_array_equal(gate.saturated, [1, 1, 0, 1, 0, 0])


def settled(gate, wanted, holding):
    for _ in range(1000):
        effort = gate.release(wanted, holding, 1e-3)
    return effort


@pytest.mark.parametrize(("side", "sign"), [("upper", 1.0), ("lower", -1.0)])
def test_a_joint_at_a_limit_is_held_but_not_pushed_beyond_it(side, sign):
    limit = getattr(ur5_limits(), side)
    for place in (limit, limit + sign * 0.5 * MARGIN):
        gate = releasing(place)
        for hold, want, expected in (
            (0.0, 20.0, 0.0),  # no effort drives the joint into the stop
            (12.0, 20.0, 12.0),  # the effort that holds the arm may point into the stop
            # gravity pulls the joint away from the stop, so no effort is needed there
            (-12.0, 20.0, 0.0),
            (0.0, -20.0, -20.0),  # an effort away from the stop is always allowed
            (12.0, -20.0, -20.0),
            (12.0, 5.0, 5.0),
        ):
            rows = np.full((2, N), [[sign * want], [sign * hold]])
            np.testing.assert_array_equal(settled(gate, *rows), np.full(N, sign * expected))
    gate = releasing(limit - sign * HAIR)  # just before the stop, any effort is allowed
    np.testing.assert_array_equal(
        settled(gate, np.full(N, sign * 20.0), ZERO), np.full(N, sign * 20.0)
    )


def test_an_effort_into_a_joint_limit_decays_during_a_bumpless_start():
    gate = releasing(ur5_limits().upper)
    gate.begin(np.full(N, 20.0))
    gate.release(ZERO, ZERO, 1e-3)
    for _ in range(30):
        effort = gate.release(ZERO, ZERO, 1e-3).copy()
    # the 20 N m into the stop decay by 1 N m per ms
    np.testing.assert_array_equal(effort, ZERO)


def test_a_start_is_bumpless_and_the_old_effort_decays_within_half_a_second():
    gate = releasing()
    measured, law = np.array([40.0, -30.0, 20.0, 5.0, -4.0, 1.0]), np.linspace(-20.0, 20.0, N)
    gate.begin(measured)
    seen = np.array([gate.release(law, law, 1e-3).copy() for _ in range(700)])
    np.testing.assert_array_equal(seen[0], measured)
    t = np.arange(700)[:, None] * 1e-3
    share = np.where(t < 0.5, 0.5 + 0.5 * np.cos(np.pi * t / 0.5), 0.0)
    np.testing.assert_allclose(seen, law + share * (measured - law), rtol=0, atol=1e-9)
    np.testing.assert_array_equal(seen[501], law)


def test_a_start_beyond_the_effort_limits_is_clamped():
    gate = releasing()
    gate.begin(np.full(N, 1e6))
    seen = np.array(
        [gate.release(-ur5_limits().effort * 2, ZERO, 1e-3).copy() for _ in range(900)]
    )
    np.testing.assert_array_equal(seen[0], ur5_limits().effort)
    assert (np.abs(seen) <= ur5_limits().effort).all()
    np.testing.assert_array_equal(seen[-1], -ur5_limits().effort)
    assert np.abs(np.diff(seen, axis=0)).max() <= 1.0 + 1e-12


def test_a_bumpless_start_adds_nothing_when_the_law_changes():
    """Efforts stay between the effort at the start and the law's, so no bump drives the arm."""
    gate = releasing()
    gate.begin(ZERO)
    gate.release(np.full(N, -20.0), ZERO, 1e-3)
    for _ in range(600):
        effort = gate.release(np.full(N, -2.0), ZERO, 1e-3)
        assert (effort <= 0.0).all()
        assert (effort >= -3.0).all()
    np.testing.assert_allclose(effort, -2.0)


@pytest.mark.parametrize("row", [0, 1])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_is_never_commanded(row, bad):
    gate = releasing(ur5_limits().upper)
    settled(gate, np.full(N, -5.0), ZERO)
    rows = np.zeros((2, N))
    rows[0] = -5.0
    rows[row, 2] = bad
    for k in itertools.count():
        effort = gate.release(rows[0], rows[1], 1e-3)
        assert np.isfinite(effort).all()
        assert (np.abs(effort) <= ur5_limits().effort).all()
        if np.isnan(bad):
            assert gate.unfit == 2
            np.testing.assert_array_equal(effort, np.full(N, -5.0))
        if k == 20:
            break
    gate.begin(np.full(N, -3.0))
    assert np.isfinite(gate.release(rows[0], rows[1], 1e-3)).all()
    gate.release(np.full(N, -5.0), ZERO, 1e-3)
    assert gate.unfit == -1
    np.testing.assert_allclose(settled(gate, np.full(N, -5.0), ZERO), -5.0)


@pytest.mark.parametrize(
    "kind", [lambda row: np.repeat(row, 2)[::2], lambda row: row.astype(np.float32), list]
)
def test_efforts_and_joints_may_have_any_type_and_stride(kind):
    """Kernels take contiguous 64-bit numbers and check nothing."""
    wanted, holding = np.arange(12.0).reshape(2, N)
    limits = dataclasses.replace(ur5_limits(), dofs=np.arange(2 * N, dtype=np.int32)[:N])
    gate, same = Admitting(limits).gate, Admitting().gate
    for each, make in ((gate, kind), (same, np.copy)):
        each.begin(make(holding))
        for _ in range(3):
            effort = each.release(make(wanted), make(holding), 1e-3)
    np.testing.assert_array_equal(effort, gate.effort)
    assert effort.any()


def test_tightened_limits_apply_from_the_next_state_on():
    send = admitting()
    gate = send.gate
    settled(gate, ur5_limits().effort, ZERO)
    gate.use(gate.limits.tightened(0.5, 0.1, 0.0))
    np.testing.assert_array_equal(
        settled(gate, ur5_limits().effort, ZERO), 0.5 * ur5_limits().effort
    )
    assert code(send(qvel=np.full(N, 0.4))) == "velocity"
    gate.use(gate.limits.tightened(0.5, 0.1, 3.0))
    # the elbow is at 1.1 rad; an inset of 3 rad leaves a limit of 0.14 rad
    assert code(send()) == "position"
    with pytest.raises(ParameterError):
        gate.limits.tightened(1.0, 1.0, 0.0)
    np.testing.assert_array_equal(gate.limits.effort, 0.5 * ur5_limits().effort)
