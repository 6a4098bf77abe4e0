# SPDX-License-Identifier: Apache-2.0
"""Noise depends only on seed, sensor, channel and tick, and has the right statistics."""

import numpy as np
import pytest
from snapshot import snapshot
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.description.source import read
from rbdyn_ros.dynamics.payload import with_payload
from rbdyn_ros.sensors import ContactSpec, ForceTorqueSpec, ImuSpec, NoiseSpec, Suite
from rbdyn_ros.sensors.noise import Hashed, Noise, variance

ARM = "config/robots/seven_dof_arm.urdf"
TICKS = 20_000
TODAY_WHITE = [-0.3086090276801334, -0.6487553414921131]
TODAY_WALK = [-450.61408750570615, 1020.4242661851803]


def test_noise_does_not_depend_on_skipped_ticks():
    every = [Hashed(7, 2, 6).white(tick) for tick in range(50)]
    some = Hashed(7, 2, 6)
    for tick in (49, 3, 3, 20):
        assert some.white(tick).tobytes() == every[tick].tobytes()
    walks = [Hashed(7, 2, 6).walk(tick) for tick in range(50)]
    assert some.walk(31).tobytes() == walks[31].tobytes()


def test_noise_has_the_values_of_earlier_versions():
    """Recorded runs can be repeated only if the noise keeps these values."""
    numbers = Hashed(1, 0, 2)
    np.testing.assert_allclose(numbers.white(5), TODAY_WHITE, rtol=1e-14)
    np.testing.assert_allclose(numbers.walk(1_000_000), TODAY_WALK, rtol=1e-12)


@pytest.mark.parametrize("other", [(8, 2), (7, 3), (-7, 2), (7 + 2**64, 2)])
def test_another_seed_or_sensor_has_other_noise(other):
    a = np.array([Hashed(7, 2, 3).white(tick) for tick in range(2000)])
    b = np.array([Hashed(*other, 3).white(tick) for tick in range(2000)])
    assert abs(np.corrcoef(a.T, b.T)[:3, 3:]).max() < 0.1


def test_white_noise_is_normal_and_independent():
    numbers = Hashed(3, 1, 6)
    x = np.array([numbers.white(tick) for tick in range(TICKS)])
    limit = 5.0 / np.sqrt(TICKS)
    assert abs(x.mean(axis=0)).max() < limit
    assert abs(x.var(axis=0) - 1.0).max() < limit * np.sqrt(2.0)
    assert abs((x**3).mean(axis=0)).max() < limit * np.sqrt(15.0)
    assert abs((x**4).mean(axis=0) - 3.0).max() < limit * np.sqrt(96.0)
    assert abs(np.corrcoef(x.T) - np.eye(6)).max() < limit
    for lag in (1, 2, 7):
        assert abs((x[lag:] * x[:-lag]).mean(axis=0)).max() < limit


def test_a_random_walk_has_independent_steps():
    numbers = Hashed(3, 1, 4)
    walk = np.array([numbers.walk(tick) for tick in range(TICKS)])
    steps = np.diff(walk, axis=0)
    limit = 5.0 / np.sqrt(TICKS)
    assert walk[0].tolist() == [0.0] * 4
    assert abs(steps.mean(axis=0)).max() < limit
    assert abs(steps.var(axis=0) - 1.0).max() < limit * np.sqrt(2.0)
    for lag in (1, 2, 4, 5):
        assert abs((steps[lag:] * steps[:-lag]).mean(axis=0)).max() < limit


@pytest.mark.parametrize("tick", [1, 777, 3_000_000, 2**35 + 5])
def test_the_variance_of_a_random_walk_grows_with_time(tick):
    ends = np.array([Hashed(seed, 0, 3).walk(tick) for seed in range(2000)])
    assert ends.var() / tick == pytest.approx(1.0, abs=5.0 * np.sqrt(2.0 / 6000.0))


def test_readings_are_true_values_with_errors():
    spec = NoiseSpec(bias=(0.1, 0.0, -0.1), resolution=(0.0, 0.25, 0.25))
    noise = Noise((spec,), 0, 0, 0.001)
    np.testing.assert_allclose(noise.measured(3, np.array([1.0, 0.6, 1.0])), [1.1, 0.5, 1.0])
    assert noise.measured(3, np.zeros(3)).tobytes() == noise.measured(99, np.zeros(3)).tobytes()
    walking = Noise((NoiseSpec(bias_walk=(2.0, 0.0, 0.0)),), 4, 1, 0.01)
    expected = 2.0 * 0.1 * Hashed(4, 1, 3).walk(50)[0]
    np.testing.assert_allclose(walking.error(50), [expected, 0.0, 0.0], rtol=1e-14)


def test_the_variance_of_a_reading_includes_rounding():
    spec = NoiseSpec(stddev=(0.1, 0.0, 2.0), resolution=(0.0, 0.6, 0.0))
    np.testing.assert_allclose(variance(spec), [0.01, 0.03, 4.0])


def test_noise_depends_on_sensor_and_seed(robot):
    noise = {"force": NoiseSpec((1.0,) * 3)}
    specs = [ForceTorqueSpec(name, "flange", "tool_flange", noise=noise) for name in "ab"]
    suite = Suite(*robot, specs, 1_000_000, seed=1)
    state = snapshot(robot[0], tick=12)
    (_, a), (_, b) = suite.read(state)
    assert not np.array_equal(a.force, b.force)
    np.testing.assert_array_equal(a.torque, b.torque)
    suite.reseed(2)
    (_, other), _ = suite.measure([0, 1], state)
    assert not np.array_equal(a.force, other.force)
    suite.reseed(1)
    (_, again), _ = suite.measure([0, 1], state)
    assert again.force.tobytes() == a.force.tobytes()


def test_reseed_restarts_the_noise_at_a_tick(robot):
    noise = {"force": NoiseSpec((1.0,) * 3, bias_walk=(2.0,) * 3)}
    suite = Suite(*robot, [ForceTorqueSpec("a", "flange", "tool_flange", noise=noise)], 1_000_000)

    def force(tick):
        ((_, reading),) = suite.measure([0], snapshot(robot[0], tick=tick))
        return reading.force.tobytes()

    suite.reseed(7)
    from_zero = [force(tick) for tick in (0, 1, 40)]
    suite.reseed(7, 1234)
    assert [force(tick) for tick in (1234, 1235, 1274)] == from_zero
    assert force(1233) == from_zero[0]  # a state from before the reset can be read after it
    suite.reseed(8, 1234)
    assert force(1235) != from_zero[1]


def test_orientation_noise_rotates_in_the_axes_of_the_sensor(robot):
    noise = {"orientation": NoiseSpec(bias=(0.0, 0.0, 0.2))}
    spec = ImuSpec("imu", "base_link", noise=noise)
    ((_, shown),) = Suite(*robot, [spec], 1_000_000).read(snapshot(robot[0]))
    expected = [np.cos(0.1), 0.0, 0.0, np.sin(0.1)]
    np.testing.assert_allclose(shown.orientation, expected, atol=1e-15)


def test_rates_are_rounded_to_ticks(robot):
    m, description = robot
    rates = {"every": None, "fast": 500.0, "odd": 300.0, "slow": 0.5}
    specs = [ImuSpec(name, "hand", rate) for name, rate in rates.items()]
    suite = Suite(m, description, specs, 1_000_000)
    assert suite.notes == ["sensor 'odd' reads every 3 ticks, at 333.333 Hz instead of 300 Hz"]
    assert suite.every == (1, 2, 3, 2000)
    due = [suite.due(snapshot(m, tick=tick)) for tick in range(8)]
    assert due == [[0, 1, 2, 3], [0], [0, 1], [0, 2], [0, 1], [0], [0, 1, 2], [0]]
    assert suite.due(snapshot(m, tick=7)) == [], "no sensor is due twice in a tick"
    assert suite.due(snapshot(m, tick=13)) == [0, 1, 2], "sensors are due after missed ticks"
    assert suite.due(snapshot(m, tick=0, epoch=1)) == [0, 1, 2, 3], "all are due after a reset"


def test_a_rate_above_the_tick_rate_reads_every_tick(robot):
    suite = Suite(*robot, [ImuSpec("a", "hand", 4000.0)], 1_000_000)
    assert suite.notes == ["sensor 'a' reads every tick, at 1000 Hz instead of 4000 Hz"]


def test_a_note_names_a_contact_sensor_in_a_model_without_contact(robot):
    suite = Suite(*robot, [ContactSpec("foot", "hand")], 1_000_000)
    (note,) = suite.notes
    assert "sensor 'foot'" in note


def test_a_description_of_another_robot_is_refused(robot):
    other = read("config/robots/pendulum.urdf")
    with refused(rb.ModelError, "not-its-description"):
        Suite(robot[0], other, [], 1_000_000)


def test_a_model_with_an_attachment_is_refused(robot):
    m, description = robot
    attached, _ = rb.attach(m, rb.make_data(m), "tool_flange")
    with refused(rb.ModelError, "not-its-description"):
        Suite(attached, description, [], 1_000_000)


def test_a_model_with_other_masses_than_its_description_is_refused(robot):
    """Sensors would combine accelerations of the Model with other masses of the description."""
    m, description = robot
    specs = [ForceTorqueSpec("wrist", "flange", "tool_flange")]
    heavy = m.replaced(body_mass=3.0 * m.body_mass)
    with refused(rb.ModelError, "not-its-description", m.body_names[1]):
        Suite(heavy, description, specs, 1_000_000)
    suite = Suite(m, description, specs, 1_000_000)
    payload = ("tool_flange", 1.0, np.zeros(3), np.zeros(6))
    loaded = with_payload(m, *payload)
    suite.use(loaded, [payload])
    with refused(rb.ModelError, "not-its-description"):
        suite.use(loaded)
