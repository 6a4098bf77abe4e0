"""Forces the robot makes by itself: viscous damping, dry friction, joint limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbdyn_ros.engine.jit import kernel, select

if TYPE_CHECKING:
    from rbdyn_ros.model.data import Data
    from rbdyn_ros.model.model import Model

#: Below this speed [rad/s or m/s] dry friction is viscous. A joint held by friction F against
#: a load T < F therefore creeps at STICTION_SPEED * T / F; the price of needing no solver.
STICTION_SPEED = 1e-3


@kernel
def passive(m: Model, d: Data) -> None:
    """Write qfrc_passive and dof_viscosity from qpos and qvel; zero where opt.passive is off.

    Damping is -b v. Dry friction F is damping of coefficient F / max(|v|, STICTION_SPEED), so
    it is implicit in the step. A joint beyond its limit by r meets a spring and damper
    k = I / (t z)^2, b = 2 I / t with (t, z) = jnt_solref and I = dof_inertia0: time constant t,
    damping ratio z, whatever the size of the robot. Source: MuJoCo's solref.
    """
    for k in range(m.nv):
        v = d.qvel[k]
        speed = select(v < 0.0, -v, v)
        slide = m.dof_frictionloss[k] / select(speed > STICTION_SPEED, speed, STICTION_SPEED)
        d.dof_viscosity[k] = m.dof_damping[k] + slide
        d.qfrc_passive[k] = -d.dof_viscosity[k] * v
    for j in range(m.njnt):
        if m.jnt_limited[j]:
            _limit(m, d, j)
    if not m.opt.passive:
        for k in range(m.nv):
            d.dof_viscosity[k] = 0.0
            d.qfrc_passive[k] = 0.0


@kernel
def _limit(m, d, j):
    q, k = d.qpos[m.jnt_qposadr[j]], m.jnt_dofadr[j]
    below, above = m.jnt_range[j, 0] - q, q - m.jnt_range[j, 1]
    # how far beyond, towards positive force; zero inside
    beyond = select(below > 0.0, below, select(above > 0.0, -above, 0.0))
    # a spring faster than two steps would ring
    slowest, timestep = m.jnt_solref[j, 0], m.opt.timestep
    t = select(slowest > 2.0 * timestep, slowest, 2.0 * timestep)
    inertia, ratio = m.dof_inertia0[k], m.jnt_solref[j, 1]
    damping = select(beyond != 0.0, 2.0 * inertia / t, 0.0)
    d.qfrc_passive[k] += beyond * inertia / (t * t * ratio * ratio) - damping * d.qvel[k]
    d.dof_viscosity[k] += damping
