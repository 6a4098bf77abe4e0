# SPDX-License-Identifier: Apache-2.0
"""Friction of a motor by the LuGre model: bristles bend, then slide.

The bristles deflect by z: dz/dt = w - s0 |w| / g(w) z, and the friction is s0 z + s1 dz/dt + s2 w.
At a constant speed it becomes g(w) + s2 |w|, the Stribeck curve, with
g = coulomb + (static - coulomb) exp(-(w / stribeck)^2). Source: Canudas de Wit, Olsson, Astrom,
Lischinsky, A new model for control of systems with friction, 1995; names as in MuJoCo's dcmotor.

s0 |w| / g(w) is held constant within a step, so z is exponential in time, and linear in the speed
at the end of the step. At a constant speed z is exact for any stiffness.
"""

from __future__ import annotations

from rbdyn_ros.engine.actuators.decay import decay, mean_decay
from rbdyn_ros.engine.compiler.jit import inline, kernel, select
from rbdyn_ros.model.declared.actuators import BRISTLE

#: Columns of actuator_work: the share of the deflection z that remains after a step, and the
#: increase of z per speed.
BRISTLE_LEFT, BRISTLE_GROWTH = 4, 5


@kernel
def lugre_torque(m, d, a, speed):
    """Return the friction at the end of a step: the torque at speed 0 and its decrease per speed.

    Args:
        m: the Model.
        d: the Data.
        a: the actuator.
        speed: speed of the motor at the start of the step [rad/s].
    """
    stiffness, damping = m.actuator_lugre[a, 0], m.actuator_lugre[a, 1]
    h, z = m.opt.timestep, d.act[m.actuator_actadr[a] + BRISTLE]
    rate = stiffness * select(speed < 0.0, -speed, speed) / stribeck(m, a, speed)
    mean_left = mean_decay(h * rate)
    left = 1.0 - h * rate * mean_left
    d.actuator_work[a, BRISTLE_LEFT], d.actuator_work[a, BRISTLE_GROWTH] = left, h * mean_left
    force = stiffness * left - damping * mean_left * rate
    return -force * z, stiffness * h * mean_left + damping * mean_left


@inline
def stribeck(m, a, speed):
    """Return the dry friction of a motor that slides at a constant speed [N m]."""
    coulomb, static = m.actuator_lugre[a, 2], m.actuator_lugre[a, 3]
    ratio = speed / m.actuator_lugre[a, 4]
    return coulomb + (static - coulomb) * decay(ratio * ratio)


@inline
def advance_bristles(m, d, a, speed):
    """Write the final deflection of the bristles; `speed` is the final motor speed [rad/s]."""
    at, work = m.actuator_actadr[a] + BRISTLE, d.actuator_work
    d.act[at] = work[a, BRISTLE_LEFT] * d.act[at] + work[a, BRISTLE_GROWTH] * speed
