# SPDX-License-Identifier: Apache-2.0
"""Passive forces: damping, dry friction, joint limits, springs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbdyn_ros.engine.compiler.jit import inline, is_zero, kernel, select
from rbdyn_ros.engine.compiler.optional import call_stage
from rbdyn_ros.engine.joints.manifold import ball_angle, joint_stretch
from rbdyn_ros.engine.stops.stop_law import exact_stops, find_stops
from rbdyn_ros.engine.tree.springs import spring_forces
from rbdyn_ros.model.declared.options import EULER, RK4

if TYPE_CHECKING:
    from rbdyn_ros.model.data import Data
    from rbdyn_ros.model.model import Model

#: Below this speed [rad/s or m/s] dry friction is viscous in the smooth law.
STICTION_SPEED = 1e-3

#: Default time constant [s] of limits in the smooth law if damping is explicit. A faster damper is
#: unstable if a joint moves much less inertia than dof_inertia0.
SOFT = 0.02

#: A limit's time constant [s] up to this is shorter than any timestep, and means that the user has
#: not set it.
NO_TIME = 1e-5


@kernel
def passive(m: Model, d: Data) -> None:
    """Write qfrc_passive and dof_viscosity, zeros if opt.passive is off. Call `com_vel` first.

    Damping is -b v. A spring in a joint has the force -jnt_stiffness times the distance from
    qpos_spring. Spring-dampers between points act along the line between them; dof_viscosity has
    only the damping in joints.

    Dry friction and limit forces follow stops/stop_law.py at the present velocity; a joint at rest
    has the friction of the last step. `forward` and `step` then overwrite these forces with
    the solved forces, including damping at the end of the step (accelerate.py).

    With opt.exact_stops off, and in specialised code, these forces are a smooth function of
    position and velocity. Dry friction F is then damping with the coefficient F / max(|v|,
    STICTION_SPEED), so it is implicit in the step: a joint that F holds against a load T creeps at
    STICTION_SPEED T / F. A spring-damper acts on a joint beyond its limit, with k = I / (t z)^2
    and b = 2 I / t, where (t, z) = jnt_solref are the time constant and the damping ratio, and I =
    dof_inertia0. By default t is two timesteps; with the integrators euler and rk4 it is SOFT.
    Source: MuJoCo's solref.
    """
    _forces(m, d, m.opt.exact_stops == 0 or d.step_stage != 0)
    if m.opt.passive and exact_stops(m, d):
        if m.ncone > 0 and d.accelerate_stage == 0:  # the exact limit of a ball joint needs M
            _limit_balls_smoothly(m, d)
        find_stops(m, d)


@kernel
def smooth_passive(m, d):
    """Write qfrc_passive and dof_viscosity by the smooth law; no joint comes fully to rest."""
    _forces(m, d, True)


@kernel
def _forces(m, d, smooth):
    d.nstopped = d.damped = 0
    for k in range(m.nv):
        viscosity = m.dof_damping[k] + _smooth_friction(m, d, k) if smooth else m.dof_damping[k]
        d.dof_viscosity[k] = viscosity
        d.qfrc_passive[k] = -viscosity * d.qvel[k]
    if smooth:
        _limit_smoothly(m, d)
    if m.nstiff + m.nspring > 0:
        springs(m, d)
    if not m.opt.passive:
        for k in range(m.nv):
            d.dof_viscosity[k] = 0.0
            d.qfrc_passive[k] = 0.0
    if m.nu > 0:
        call_stage(m.actuator_stage, m, d)


@inline
def _smooth_friction(m, d, k):
    """Return the viscosity of a dof that has the force of dry friction at its velocity."""
    v = d.qvel[k]
    speed = select(v < 0.0, -v, v)
    return m.dof_frictionloss[k] / select(speed > STICTION_SPEED, speed, STICTION_SPEED)


@kernel
def _limit_balls_smoothly(m, d):
    for j in range(m.njnt):
        if m.jnt_limited[j] and m.jnt_dofnum[j] == 3:
            _cone(m, d, j)


@kernel
def _limit_smoothly(m, d):
    for j in range(m.njnt):
        if m.jnt_limited[j]:
            _limit(m, d, j)
    if m.nlimit > 0:
        _coordinate_limits(m, d)


@kernel
def springs(m, d):
    """Add the forces of springs in joints and between points to qfrc_passive.

    Call `com_vel` first.
    """
    if m.nstiff > 0:
        for j in range(m.njnt):
            if not is_zero(m.jnt_stiffness[j]):
                _joint_spring(m, d, j)
    spring_forces(m, d)


@kernel
def _coordinate_limits(m, d):
    for c in range(m.nlimit):
        k = m.limit_dofid[c]
        j = m.dof_jntid[k]
        q = d.qpos[m.jnt_qposadr[j] + k - m.jnt_dofadr[j]]
        _push_back(m, d, j, k, q, m.limit_range[c, 0], m.limit_range[c, 1])


@inline
def _limit(m, d, j):
    if m.jnt_dofnum[j] == 1:
        lower, upper = m.jnt_range[j, 0], m.jnt_range[j, 1]
        _push_back(m, d, j, m.jnt_dofadr[j], d.qpos[m.jnt_qposadr[j]], lower, upper)
    else:
        _cone(m, d, j)


@inline
def _push_back(m, d, j, k, q, lower, upper):
    below, above = lower - q, q - upper
    # distance beyond a limit, with the sign of the force; zero inside the range
    beyond = select(below > 0.0, below, select(above > 0.0, -above, 0.0))
    stiffness, damping = _stop(m, j, m.dof_inertia0[k])
    damping = select(beyond != 0.0, damping, 0.0)
    d.qfrc_passive[k] += stiffness * beyond - damping * d.qvel[k]
    d.dof_viscosity[k] += damping


@inline
def _stop(m, j, inertia):
    """Return the stiffness and damping of the end stops of joint j."""
    # a spring with a time constant shorter than two steps would oscillate
    slowest, timestep = m.jnt_solref[j, 0], m.opt.timestep
    explicit = m.opt.integrator_id == EULER or m.opt.integrator_id == RK4
    slowest = select(slowest > NO_TIME, slowest, SOFT if explicit else 0.0)
    t = select(slowest > 2.0 * timestep, slowest, 2.0 * timestep)
    ratio = m.jnt_solref[j, 1]
    return inertia / (t * t * ratio * ratio), 2.0 * inertia / t


@kernel
def _cone(m, d, j):
    """Add the force that limits the angle of a ball joint to jnt_range[1], as in MuJoCo."""
    k = m.jnt_dofadr[j]
    axis, angle = ball_angle(d.qpos, m.jnt_qposadr[j])
    beyond = select(angle > m.jnt_range[j, 1], angle - m.jnt_range[j, 1], 0.0)
    for n in range(3):
        stiffness, damping = _stop(m, j, m.dof_inertia0[k + n])
        damping = select(beyond > 0.0, damping, 0.0)
        along = axis[0] if n == 0 else axis[1] if n == 1 else axis[2]
        d.qfrc_passive[k + n] -= stiffness * beyond * along + damping * d.qvel[k + n]
        d.dof_viscosity[k + n] += damping


@kernel
def _joint_spring(m, d, j):
    joint_stretch(m, j, d.qpos, m.qpos_spring, d.stretch)
    for k in range(m.jnt_dofadr[j], m.jnt_dofadr[j] + m.jnt_dofnum[j]):
        d.qfrc_passive[k] -= m.jnt_stiffness[j] * d.stretch[k]


@kernel
def passive_slopes(m, d, dq, dv):
    """Subtract the derivatives of qfrc_passive from dq and dv, both (nv, nv).

    Call `kinematics` first.

    Dry friction and limits are differentiated by the smooth law, because the exact law has a jump
    where a joint is at rest.

    Springs in joints with quaternions, limited ball joints and spring-dampers between points are
    not covered: the caller refuses Models with them.
    """
    for k in range(m.nv):
        v = d.qvel[k]
        slides = v > STICTION_SPEED or v < -STICTION_SPEED
        friction = 0.0 if slides else m.dof_frictionloss[k] / STICTION_SPEED
        dv[k, k] += m.dof_damping[k] + friction
    for j in range(m.njnt):
        k, q = m.jnt_dofadr[j], m.jnt_qposadr[j]
        if m.jnt_limited[j]:
            _stop_slope(m, j, k, d.qpos[q], m.jnt_range[j, 0], m.jnt_range[j, 1], dq, dv)
        if m.jnt_stiffness[j] > 0.0:
            for n in range(k, k + m.jnt_dofnum[j]):
                dq[n, n] += m.jnt_stiffness[j]
    for c in range(m.nlimit):
        k = m.limit_dofid[c]
        j = m.dof_jntid[k]
        q = d.qpos[m.jnt_qposadr[j] + k - m.jnt_dofadr[j]]
        _stop_slope(m, j, k, q, m.limit_range[c, 0], m.limit_range[c, 1], dq, dv)


@inline
def _stop_slope(m, j, k, q, lower, upper, dq, dv):
    if q < lower or q > upper:
        stiffness, damping = _stop(m, j, m.dof_inertia0[k])
        dq[k, k] += stiffness
        dv[k, k] += damping
