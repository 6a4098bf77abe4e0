# SPDX-License-Identifier: Apache-2.0
"""States of a robot like those of the runtime."""

from types import SimpleNamespace

import numpy as np

import rbdyn_ros as rb
from rbdyn_ros.dynamics.instant import friction_memory


def snapshot(m, d=None, tick=0, qacc=None, **given):
    """Return a state with the values of `d`, or of the robot at rest at qpos0.

    `given` replaces fields. Without `d`, or with `qacc`, the efforts are those that cause the
    acceleration qacc, by default zero.
    """
    own = rb.make_data(m)
    for name in ("qpos", "qvel", "xfrc_applied"):
        value = given.get(name.removesuffix("_applied"), getattr(d, name) if d else None)
        if value is not None:
            getattr(own, name)[:] = value
    own.time = d.time if d else tick * 0.001
    if d is None or qacc is not None:
        own.qacc[:] = 0.0 if qacc is None else qacc
        rb.inverse_with_xfrc(m, own)
        own.qfrc_applied[:] = own.qfrc_inverse
    else:
        own.qfrc_applied[:] = d.qfrc_applied
    state = SimpleNamespace(
        tick=tick,
        epoch=0,
        time=own.time,
        qpos=own.qpos.copy(),
        qvel=own.qvel.copy(),
        effort=own.qfrc_applied.copy(),
        act=d.act.copy() if d else np.zeros(m.na),
        xfrc=own.xfrc_applied.copy(),
        stick=friction_memory(d or own),
        stick_qfrc=(d or own).stick_qfrc.copy(),
        blocked=np.zeros(m.nv, np.bool_),
    )
    vars(state).update(given)
    return state
