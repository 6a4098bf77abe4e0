"""Model constants that need the engine's own kernels: dof_inertia0, and whether it is positive.

Bodies may be massless; what must be positive is the inertia each dof sees (the D of the
articulated-body algorithm), or its acceleration would be infinite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.engine.aba import articulated
from rbdyn_ros.engine.crb import composite_inertia
from rbdyn_ros.engine.integrate import integrate_pos, smooth_stages
from rbdyn_ros.engine.jit import kernel
from rbdyn_ros.engine.spatial import dot6, inertia_times, load6, load10
from rbdyn_ros.entry import stage
from rbdyn_ros.model.data import Data

if TYPE_CHECKING:
    from rbdyn_ros.model.model import Model

#: Below this part of the rigid subtree's inertia, D is a rounding error.
RELATIVE_ZERO = 1e-12


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


def dof_inertia(m: Model) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the inertia seen by each dof at qpos0, and which dofs have none at all.

    A dof has none if D vanishes at qpos0 and at an arbitrary other configuration as well.
    """
    d = Data(m)
    see_inertia = stage(articulated_inertia)
    see_inertia(m, d)
    inertia = d.D.copy()
    absent = ~(inertia > RELATIVE_ZERO * np.abs(d.Dinv_u))
    if absent.any():
        d.qvel[:] = np.random.default_rng(1).uniform(-2.0, 2.0, m.nv)
        stage(move)(m, d, 1.0)
        d.qvel[:] = 0.0
        see_inertia(m, d)
        inertia[absent] = d.D[absent]
        absent &= ~(RELATIVE_ZERO * np.abs(d.Dinv_u) < d.D)
    return inertia, absent
