# SPDX-License-Identifier: Apache-2.0
"""The forces of actuators on their joints, and their states after a step.

The command of an actuator is qfrc_applied of its dof. The force of the actuator minus this command
is added to qfrc_passive, so all other stages use the actuator's force. The force is A - B v, where
v is the speed of the joint at the end of the step. B is added to dof_viscosity, so it is implicit,
like damping.

With a rigid gear the inertia of the rotor is part of dof_armature. With an elastic gear the rotor
is a separate body, whose motion is eliminated: with positions and speeds p, w of the rotor and q,
v of the joint, inertia J and torque T - S w of the rotor, J (w+ - w) / h = T - S w+ - f. The force
of the gear on the joint is f = k (p - q + s h (w+ - v+)) + c (w+ - v+). With s = 0 this is the
symplectic Euler method, which does not damp oscillations. It is stable while h times the frequency
of the two masses is below 2. Where this product exceeds 1, s grows from 0 to 1/2: then any
stiffness is stable, and oscillations are damped. With backlash the gear is a spring only outside
its free play.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.actuators.lugre import advance_bristles, lugre_torque
from rbdyn_ros.engine.actuators.motor import advance_motor, motor_torque
from rbdyn_ros.engine.compiler.jit import inline, is_zero, kernel, select
from rbdyn_ros.engine.compiler.optional import data_at, model_at, optional_stage
from rbdyn_ros.model.declared.actuators import TWIST, TWIST_RATE

#: Columns of actuator_work. FORCE is the force on the joint at speed 0, and SLOPE its decrease per
#: speed of the joint. SPEED is the speed of the rotor if the joint rests, and SHARE its increase
#: per speed of the joint.
FORCE, SLOPE, SPEED, SHARE = 6, 7, 8, 9


@optional_stage("actuator_stage")
def _by_address(table, row):
    actuate(model_at(table), data_at(table, row))


@optional_stage("act_stage")
def _advance_by_address(table, row):
    advance_act(model_at(table), data_at(table, row))


@kernel
def actuate(m, d):
    """Add actuator forces minus commands to qfrc_passive, and their slopes to dof_viscosity."""
    for a in range(m.nu):
        k = m.actuator_dofid[a]
        v, twist_rate = d.qvel[k], d.act[m.actuator_actadr[a] + TWIST_RATE]
        torque, slope = _rotor_torque(m, d, a, v + twist_rate)
        if not is_zero(m.actuator_spring[a, 0]):
            torque, slope = _through_gear(m, d, a, torque, slope)
        d.actuator_work[a, FORCE], d.actuator_work[a, SLOPE] = torque, slope
        d.qfrc_passive[k] += torque - slope * v - d.qfrc_applied[k]
        d.dof_viscosity[k] += slope


@inline
def _rotor_torque(m, d, a, w):
    """Return the torque on the rotor at speed w = 0, as a joint torque, and its decrease per w."""
    n = m.actuator_gear[a]
    torque, slope = motor_torque(m, d, a, w)
    slope += n * n * m.actuator_damping[a]
    if not is_zero(m.actuator_cogging[a, 0]):
        amplitude, poles = m.actuator_cogging[a, 0], m.actuator_cogging[a, 1]
        angle = n * (_position(m, d, a) + d.act[m.actuator_actadr[a] + TWIST])
        torque += n * amplitude * np.sin(poles * angle + m.actuator_cogging[a, 2])
    if not is_zero(m.actuator_lugre[a, 0]):
        friction, fall = lugre_torque(m, d, a, n * w)
        torque += n * friction
        slope += n * n * fall
    return torque, slope


@inline
def _position(m, d, a):
    """Return the position of the joint that actuator a moves."""
    return d.qpos[m.jnt_qposadr[m.dof_jntid[m.actuator_dofid[a]]]]


@kernel
def _through_gear(m, d, a, torque, slope):
    """Return an elastic gear's force on the joint at joint speed 0, and its decrease per speed.

    The rotor gets the torque `torque` - `slope` w, at the rotor speed w.
    """
    at, h, n = m.actuator_actadr[a], m.opt.timestep, m.actuator_gear[a]
    inertia, k = n * n * m.actuator_armature[a], m.actuator_spring[a, 0]
    twist, half = d.act[at + TWIST], 0.5 * m.actuator_backlash[a]
    beyond = select(twist > half, twist - half, select(twist < -half, twist + half, 0.0))
    # (h omega)^2, where omega is the frequency at which the two masses oscillate
    fast = h * h * k * (1.0 / inertia + 1.0 / m.dof_inertia0[m.actuator_dofid[a]])
    share = select(fast > 1.0, 0.5 - 0.5 / fast, 0.0)
    tie = share * h * k + m.actuator_spring[a, 1]
    if not is_zero(half):
        tie = select(beyond == 0.0, 0.0, tie)
    w = d.qvel[m.actuator_dofid[a]] + d.act[at + TWIST_RATE]
    mass = inertia / h + slope + tie
    speed, per_speed = (inertia * w / h + torque - k * beyond) / mass, tie / mass
    d.actuator_work[a, SPEED], d.actuator_work[a, SHARE] = speed, per_speed
    return k * beyond + tie * speed, tie * (1.0 - per_speed)


@kernel
def advance_act(m, d):
    """Write act and actuator_force from the qvel at the end of the step. Call `actuate` first."""
    for a in range(m.nu):
        v, at = d.qvel[m.actuator_dofid[a]], m.actuator_actadr[a]
        w, work = v, d.actuator_work
        if not is_zero(m.actuator_spring[a, 0]):
            w = work[a, SPEED] + work[a, SHARE] * v
            d.act[at + TWIST] += m.opt.timestep * (w - v)
            d.act[at + TWIST_RATE] = w - v
        advance_motor(m, d, a, w)
        if not is_zero(m.actuator_lugre[a, 0]):
            advance_bristles(m, d, a, m.actuator_gear[a] * w)
        d.actuator_force[a] = work[a, FORCE] - work[a, SLOPE] * v
