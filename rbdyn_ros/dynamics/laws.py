# SPDX-License-Identifier: Apache-2.0
"""Kernels of joint feedback laws: efforts from a state and a target.

Each law is a kernel of (m, d, target, gains, effort). Modules in control/ call these kernels;
law_code and the policies of rollouts trace them.

    target  (3, nq): rows of positions, velocities and accelerations; the last two use nv columns
    gains   (2, nv): gains of the position error and of the velocity error
    effort  (nv,): receives the efforts

d holds the state, qpos and qvel; d.qacc is overwritten.
"""

from __future__ import annotations

from rbdyn_ros.engine.compiler.jit import Matrix, Vector, kernel
from rbdyn_ros.engine.forward import inverse
from rbdyn_ros.engine.quantities.terms import gravity_term
from rbdyn_ros.engine.step.integrate import differentiate_pos
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model


@kernel
def pd(m: Model, d: Data, target: Matrix, gains: Matrix, effort: Vector) -> None:
    """Write K e + D de/dt; e is the position error by differentiate_pos, for any joint type."""
    differentiate_pos(m, effort, 1.0, d.qpos, target[0])
    for k in range(m.nv):
        effort[k] = gains[0, k] * effort[k] + gains[1, k] * (target[1, k] - d.qvel[k])


@kernel
def pd_gravity(m: Model, d: Data, target: Matrix, gains: Matrix, effort: Vector) -> None:
    """Write K e + D de/dt + g."""
    gravity_term(m, d, effort)
    _add_pd(m, d, target, gains, effort)


@kernel
def joint_impedance(m: Model, d: Data, target: Matrix, gains: Matrix, effort: Vector) -> None:
    """Write M qacc_d + C qvel + g + K e + D de/dt."""
    for k in range(m.nv):
        d.qacc[k] = target[2, k]
    _inverse_dynamics(m, d, effort)
    _add_pd(m, d, target, gains, effort)


@kernel
def computed_torque(m: Model, d: Data, target: Matrix, gains: Matrix, effort: Vector) -> None:
    """Write M (qacc_d + Kd de/dt + Kp e) + C qvel + g."""
    pd(m, d, target, gains, d.qacc)
    for k in range(m.nv):
        d.qacc[k] = target[2, k] + d.qacc[k]
    _inverse_dynamics(m, d, effort)


@kernel
def damped_gravity(m: Model, d: Data, target: Matrix, gains: Matrix, effort: Vector) -> None:  # noqa: ARG001
    """Write g - rate M qvel, with the rate in gains[1]; d.qvel becomes 0.

    The effort is the inverse dynamics at qvel = 0 of the acceleration -rate qvel, which brakes.
    """
    for k in range(m.nv):
        d.qacc[k] = -gains[1, k] * d.qvel[k]
        d.qvel[k] = 0.0
    _inverse_dynamics(m, d, effort)


@kernel
def _add_pd(m: Model, d: Data, target: Matrix, gains: Matrix, effort: Vector) -> None:
    pd(m, d, target, gains, d.qacc)
    for k in range(m.nv):
        effort[k] += d.qacc[k]


@kernel
def _inverse_dynamics(m: Model, d: Data, effort: Vector) -> None:
    inverse(m, d)
    for k in range(m.nv):
        effort[k] = d.qfrc_inverse[k]
