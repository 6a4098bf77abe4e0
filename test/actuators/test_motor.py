# SPDX-License-Identifier: Apache-2.0
"""Current, torque, speed, heat, friction, cogging and delay of motors agree with closed forms."""

import numpy as np
import pytest

import rbdyn_ros as rb

#: With this rotor inertia the speed of a motor stays constant [kg m^2].
HEAVY = 1e12

H = 1e-3


def moving(one, speed, **values):
    """Return a Model and a Data of a joint whose motor turns at a constant speed [rad/s]."""
    m = rb.with_actuators(one, [rb.ActuatorSpec("j", armature=HEAVY, **values)])
    d = rb.make_data(m)
    d.qvel[0] = speed
    return m, d


def test_the_current_follows_with_the_time_constant_of_the_winding(one):
    ohm, henry, constant = 0.5, 5e-3, 0.05
    m, d = moving(one, 0.0, motorconst=(constant, constant), resistance=ohm, inductance=henry)
    d.qfrc_applied[0] = 2.0 * constant
    for n in range(1, 50):
        rb.step(m, d)
        assert d.act[0] == pytest.approx(2.0 * (1.0 - np.exp(-n * H * ohm / henry)), rel=1e-12)
    impulse = d.actuator_force[0] * H
    gain = np.exp(-48 * H * ohm / henry) - np.exp(-49 * H * ohm / henry)
    assert impulse == pytest.approx(2.0 * constant * (H - henry / ohm * gain), rel=1e-9)


@pytest.mark.parametrize("speed", [0.0, 100.0, 230.0, 300.0, -100.0])
def test_the_voltage_limits_the_torque_at_high_speed(one, speed):
    volts, ohm, constant = 12.0, 0.5, 0.05
    m, d = moving(one, speed, motorconst=(constant, constant), resistance=ohm, voltage=volts)
    d.qfrc_applied[0] = 10.0
    rb.step(m, d)
    line = constant * (volts - constant * speed) / ohm
    assert d.actuator_force[0] == pytest.approx(min(10.0, line), rel=1e-9)


@pytest.mark.parametrize("speed", [0.0, 50.0, 150.0, 199.0, 250.0, -150.0])
@pytest.mark.parametrize("gear", [1.0, -5.0])
def test_torque_stays_on_the_torque_speed_curve(one, speed, gear):
    speeds, torques = [0.0, 100.0, 200.0], [2.0, 1.5, 0.0]
    curve = tuple(zip(speeds, torques, strict=True))
    m, d = moving(one, speed / gear, gear=gear, torque_speed=curve)
    d.qfrc_applied[0] = 50.0 * gear
    rb.step(m, d)
    # while it brakes, a motor has the torque that it has at rest
    largest = np.interp(max(speed, 0.0), speeds, torques)
    assert d.actuator_force[0] == pytest.approx(gear * largest, rel=1e-9)


def test_an_unloaded_motor_runs_up_to_the_end_of_its_curve(one):
    curve = (0.0, 2.0), (100.0, 0.0)
    m = rb.with_actuators(one, [rb.ActuatorSpec("j", torque_speed=curve)])
    d = rb.make_data(m)
    d.qfrc_applied[0] = 1e3
    rb.step(m, d, 1000)
    # the implicit Euler method solves J dw/dt = 2 - 0.02 w
    expected = 100.0 * (1.0 - (1.0 + H * 0.02 / 0.02) ** -1000.0)
    assert d.qvel[0] == pytest.approx(expected, rel=1e-9)


def test_the_true_torque_constant_may_differ_from_the_assumed_constant(one):
    m, d = moving(one, 0.0, gear=3.0, motorconst=(0.05, 0.05), motorconst_error=0.1)
    d.qfrc_applied[0] = 0.6
    rb.step(m, d)
    assert d.actuator_force[0] == pytest.approx(0.66, rel=1e-12)
    assert d.act[0] == pytest.approx(0.6 / (3.0 * 0.05), rel=1e-12)


def test_the_winding_warms_as_a_first_order_lag(one):
    m, d = moving(
        one, 0.0, motorconst=(0.1, 0.1), resistance=0.5, thermal=(2.0, 0.05, 0.0, 25.0, 25.0)
    )
    d.qfrc_applied[0] = 0.3
    rb.step(m, d, 150)
    final = 2.0 * 0.5 * 3.0**2
    assert d.act[1] == pytest.approx(final * (1.0 - np.exp(-0.15 / 0.1)), rel=1e-10)


def test_a_warm_winding_has_more_resistance_and_a_hot_winding_less_current(one):
    values = {"motorconst": (0.1, 0.1), "resistance": 0.5, "current": 10.0}
    m, d = moving(
        one, 0.0, voltage=1.0, thermal=(2.0, 50.0, 0.004, 25.0, 20.0), derating=(70.0, 170.0),
        **values,
    )  # fmt: skip
    d.qfrc_applied[0], d.act[1] = 5.0, 25.0  # the winding is at 45 C
    rb.step(m, d)
    assert d.act[0] == pytest.approx(1.0 / (0.5 * (1.0 + 0.004 * 20.0)), rel=1e-12)
    d.act[1], d.qfrc_applied[0] = 140.0, 0.1 * 100.0  # at 160 C a tenth of the current is allowed
    rb.step(m, d)
    assert d.act[0] == pytest.approx(1.0, rel=1e-12)


def test_friction_bristles_bend_and_slide_as_in_the_lugre_model(one):
    stiffness, coulomb, static, stribeck, speed = 50.0, 0.3, 0.5, 2.0, 0.7
    m, d = moving(one, speed, lugre=(stiffness, 0.0, coulomb, static, stribeck), damping=0.1)
    dry = coulomb + (static - coulomb) * np.exp(-((speed / stribeck) ** 2))
    for n in range(1, 30):
        rb.step(m, d)
        bent = dry / stiffness * (1.0 - np.exp(-stiffness * speed * n * H / dry))
        assert d.act[2] == pytest.approx(bent, rel=1e-10)
        assert d.actuator_force[0] == pytest.approx(-stiffness * bent - 0.1 * speed, rel=1e-9)


@pytest.mark.parametrize("speed", [0.01, 0.5, 2.0, 10.0, -4.0])
def test_sliding_friction_is_on_the_stribeck_curve(one, speed):
    coulomb, static, stribeck = 0.3, 0.5, 2.0
    m, d = moving(one, speed, lugre=(1e5, 1.0, coulomb, static, stribeck))
    rb.step(m, d, 100)
    dry = coulomb + (static - coulomb) * np.exp(-((speed / stribeck) ** 2))
    assert d.actuator_force[0] == pytest.approx(-np.sign(speed) * dry, rel=1e-6)


def test_a_motor_starts_to_turn_when_its_torque_exceeds_static_friction(one):
    static = 0.5
    m = rb.with_actuators(one, [rb.ActuatorSpec("j", lugre=(1e4, 0.0, 0.3, static, 0.1))])
    m.opt.timestep = 2e-4  # the friction uses the sliding speed of the previous step
    d, friction = rb.make_data(m), []
    while d.qvel[0] < 0.5:
        d.qfrc_applied[0] = 0.1 * d.time  # the ramp is so slow that the bristles follow it
        rb.step(m, d)
        friction.append(1e4 * d.act[2])
    assert max(friction) == pytest.approx(static, rel=5e-3)
    assert friction[-1] == pytest.approx(0.3, rel=0.01)


def test_cogging_torque_depends_on_the_angle(one):
    m, d = moving(one, 0.0, gear=10.0, cogging=(0.02, 7.0, 0.3))
    for angle in (0.0, 0.1, -0.7):
        d.qpos[0] = angle
        rb.step(m, d)
        expected = 10.0 * 0.02 * np.sin(7.0 * 10.0 * angle + 0.3)
        assert d.actuator_force[0] == pytest.approx(expected, rel=1e-12)


def test_a_command_acts_after_its_delay_in_steps_of_its_resolution(one):
    m, d = moving(one, 0.0, delay=0.003, resolution=0.1)
    found = []
    for command in (0.34, 0.36, -0.36, 5.0, 0.0, 0.0, 0.0, 0.0):
        d.qfrc_applied[0] = command
        rb.step(m, d)
        found.append(d.actuator_force[0])
    assert found == pytest.approx([0.0, 0.0, 0.0, 0.3, 0.4, -0.4, 5.0, 0.0], abs=1e-12)
