"""Kernels for what a Model must know of itself before it is used: the inertia its dofs see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbdyn_ros.engine.aba import articulated
from rbdyn_ros.engine.crb import composite_inertia
from rbdyn_ros.engine.integrate import integrate_pos, smooth_stages
from rbdyn_ros.engine.jit import kernel
from rbdyn_ros.engine.spatial import dot6, inertia_times, load6, load10

if TYPE_CHECKING:
    from rbdyn_ros.model.data import Data
    from rbdyn_ros.model.model import Model


@kernel
def articulated_inertia(m: Model, d: Data) -> None:
    """Write D; and to Dinv_u the same inertia with all joints below held rigid."""
    smooth_stages(m, d)
    articulated(m, d, 0.0, d.qacc)
    composite_inertia(m, d)
    for k in range(m.nv):
        S = load6(d.cdof, k)
        rigid = dot6(S, inertia_times(load10(d.crb, m.dof_bodyid[k]), S))
        d.Dinv_u[k] = rigid + m.dof_armature[k]


@kernel
def move(m: Model, d: Data, h: float) -> None:
    """Advance qpos by h qvel."""
    integrate_pos(m, d.qpos, d.qvel, h)
