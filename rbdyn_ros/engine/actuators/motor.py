# SPDX-License-Identifier: Apache-2.0
"""A motor with its drive: from the commanded effort to the torque of the windings.

The drive converts the command to a current i and limits this current. It applies the voltage R i +
Ke w that would keep this current, within its largest voltage. The current follows with the time
constant L / R: L di/dt = V - R i - Ke w. w is the speed of the motor. Source: MuJoCo's dcmotor
(documentation, XML reference, actuator/dcmotor, input "ff").

Within a step the voltage is constant, so the current decays exponentially towards a current that
depends linearly on the speed at the end of the step: aim - aim_slope * w.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.actuators.decay import decay, mean_decay
from rbdyn_ros.engine.compiler.jit import inline, is_zero, kernel, select
from rbdyn_ros.model.declared.actuators import (
    CURRENT,
    CURVE_POINTS,
    DELAYED,
    HEAT,
)

#: Columns of actuator_work: the current's final value at speed 0, and its decrease per speed of
#: the joint; the share of the old current that remains at the end of the step, and the mean of
#: this share over the step.
AIM, AIM_SLOPE, LEFT, MEAN_LEFT = range(4)

#: Least resistance of a winding, as a share of its nominal resistance.
LEAST_RESISTANCE = 0.1


@kernel
def motor_torque(m, d, a, w):
    """Return the motor's torque on the joint if the rotor rests, and its decrease per speed w.

    Args:
        m: the Model.
        d: the Data.
        a: the actuator.
        w: speed of the rotor, as a speed of the joint [rad/s or m/s].
    """
    n, believed = m.actuator_gear[a], m.actuator_motorconst[a, 0]
    constant = believed * (1.0 + m.actuator_error[a])
    wanted = command(m, d, a) / (n * believed)
    current, slope = _limited(m, d, a, wanted, n * w)
    slope = slope * n  # now per speed of the joint, not of the motor
    aim, left, mean_left = current + slope * w, 0.0, 0.0
    if not is_zero(m.actuator_resistance[a]):
        ohm = resistance(m, d, a)
        back = m.actuator_motorconst[a, 1] * n
        most = m.actuator_voltage[a]
        if most < np.inf:
            voltage = ohm * current + back * w
            high, low = voltage > most, voltage < -most
            aim = select(high, most / ohm, select(low, -most / ohm, aim))
            slope = select(high, back / ohm, select(low, back / ohm, slope))
        if not is_zero(m.actuator_inductance[a]):
            x = m.opt.timestep * ohm / m.actuator_inductance[a]
            left, mean_left = decay(x), mean_decay(x)
    work = d.actuator_work
    work[a, AIM], work[a, AIM_SLOPE] = aim, slope
    work[a, LEFT], work[a, MEAN_LEFT] = left, mean_left
    rest, ratio = 1.0 - mean_left, n * constant
    now = d.act[m.actuator_actadr[a] + CURRENT]
    return ratio * (mean_left * now + rest * aim), ratio * rest * slope


@inline
def command(m, d, a):
    """Return the effort [N m or N] that was commanded one delay ago and acts now."""
    effort = d.qfrc_applied[m.actuator_dofid[a]]
    if delay_steps(m, a) > 0:
        effort = d.act[m.actuator_actadr[a] + DELAYED]
    if not is_zero(m.actuator_resolution[a]):
        step = m.actuator_resolution[a]
        effort = step * np.floor(effort / step + 0.5)
    return effort


@inline
def delay_steps(m, a):
    """Return the number of timesteps of the delay, limited to the commands that act can hold."""
    end = m.na
    if a + 1 < m.nu:
        end = m.actuator_actadr[a + 1]
    return min(m.actuator_delay[a], end - m.actuator_actadr[a] - DELAYED)


@inline
def temperature(m, d, a):
    """Return the temperature of the winding [C]."""
    return m.actuator_thermal[a, 4] + d.act[m.actuator_actadr[a] + HEAT]


@inline
def resistance(m, d, a):
    """Return the resistance of the winding at its temperature [Ohm]."""
    cold = m.actuator_resistance[a]
    if is_zero(m.actuator_thermal[a, 2]):
        return cold
    warm = temperature(m, d, a) - m.actuator_thermal[a, 3]
    factor = 1.0 + m.actuator_thermal[a, 2] * warm
    return cold * select(factor > LEAST_RESISTANCE, factor, LEAST_RESISTANCE)


@kernel
def _limited(m, d, a, wanted, speed):
    """Return the current that the drive allows [A], and its decrease per speed of the motor.

    Args:
        m: the Model.
        d: the Data.
        a: the actuator.
        wanted: current for the command [A].
        speed: speed of the motor [rad/s].
    """
    limit, fall = m.actuator_current[a], 0.0
    start, end = m.actuator_derating[a, 0], m.actuator_derating[a, 1]
    if end > start:
        share = (end - temperature(m, d, a)) / (end - start)
        limit = limit * select(share < 0.0, 0.0, select(share > 1.0, 1.0, share))
    if m.actuator_curve[a, 0, 1] > 0.0:
        size = select(speed < 0.0, -speed, speed)
        # while the motor brakes, its torque is limited as at standstill
        size = select(wanted * speed >= 0.0, size, 0.0)
        torque, slope = _from_curve(m, a, size)
        most = torque / m.actuator_motorconst[a, 0]
        fall = select(wanted * speed >= 0.0, slope / m.actuator_motorconst[a, 0], 0.0)
        if m.actuator_current[a] < np.inf:
            fall = select(most < limit, fall, 0.0)
            limit = select(most < limit, most, limit)
        else:
            limit = most
    elif m.actuator_current[a] == np.inf:
        return wanted, 0.0
    low, high = wanted < -limit, wanted > limit
    current = select(low, -limit, select(high, limit, wanted))
    return current, select(low, fall, select(high, fall, 0.0))


@kernel
def _from_curve(m, a, speed):
    """Return the torque on the torque-speed curve at a speed >= 0, and its decrease per speed."""
    torque, slope = m.actuator_curve[a, 0, 1], 0.0
    for p in range(1, CURVE_POINTS):
        begin, end = m.actuator_curve[a, p - 1, 0], m.actuator_curve[a, p, 0]
        if end > begin:
            top, bottom = m.actuator_curve[a, p - 1, 1], m.actuator_curve[a, p, 1]
            fall = (top - bottom) / (end - begin)
            inside = speed >= begin
            torque = select(inside, top - fall * (speed - begin), torque)
            slope = select(inside, fall, slope)
            beyond = speed > end
            torque = select(beyond, bottom, torque)
            slope = select(beyond, 0.0, slope)
    return torque, slope


@inline
def advance_motor(m, d, a, w):
    """Write the current and temperature at the end of a step, where w is the rotor's speed."""
    work, at = d.actuator_work, m.actuator_actadr[a]
    aim = work[a, AIM] - work[a, AIM_SLOPE] * w
    now, mean_left = d.act[at + CURRENT], work[a, MEAN_LEFT]
    if not is_zero(m.actuator_thermal[a, 0]):
        mean = aim + (now - aim) * mean_left
        final = m.actuator_thermal[a, 0] * resistance(m, d, a) * mean * mean
        time = m.actuator_thermal[a, 0] * m.actuator_thermal[a, 1]
        left = decay(m.opt.timestep / time)
        d.act[at + HEAT] = final + (d.act[at + HEAT] - final) * left
    d.act[at + CURRENT] = aim + (now - aim) * work[a, LEFT]
    steps = delay_steps(m, a)
    for k in range(steps - 1):
        d.act[at + DELAYED + k] = d.act[at + DELAYED + k + 1]
    if steps > 0:
        d.act[at + DELAYED + steps - 1] = d.qfrc_applied[m.actuator_dofid[a]]
