# SPDX-License-Identifier: Apache-2.0
"""Make states like those of the runtime."""

from types import SimpleNamespace

import numpy as np


def snapshot(m, d=None, tick=0, **given):
    """Return a state of the robot from a Data, or at rest at qpos0, with replaced fields."""
    state = SimpleNamespace(
        tick=tick,
        epoch=0,
        time=d.time if d else tick * 0.001,
        qpos=d.qpos.copy() if d else m.qpos0.copy(),
        qvel=d.qvel.copy() if d else np.zeros(m.nv),
        qacc=d.qacc.copy() if d else np.zeros(m.nv),
        effort=d.qfrc_applied.copy() if d else np.zeros(m.nv),
        act=d.act.copy() if d else np.zeros(m.na),
        xfrc=d.xfrc_applied.copy() if d else np.zeros((m.nbody, 6)),
        contact=np.zeros((m.nbody, 6)),
    )
    vars(state).update(given)
    return state
