"""Warnings of `step` by name and figure: springs too stiff for the timestep, crushed bodies."""

from __future__ import annotations

import math

import numpy as np

from rbdyn_ros.engine.contact.law import IS_SPRING, MASS_BY_H, K
from rbdyn_ros.engine.too_much import (
    CRUSHED_CONTACT,
    NO_TIME,
    STIFF_CONTACT,
    STIFF_JOINT,
    STIFF_LIMIT,
)
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model


def texts_of(m: Model, d: Data, found: int) -> list[str]:
    """Return what `step` has found, each kind once for a Data."""
    texts = {
        STIFF_CONTACT: lambda: _stiff_contact(m, d),
        CRUSHED_CONTACT: lambda: _crushed(m, d),
        STIFF_JOINT: lambda: _stiff_joint(m),
        STIFF_LIMIT: lambda: _stiff_limit(m),
    }
    said = vars(d).setdefault("said", set())
    new = [kind for kind in texts if found & kind and kind not in said]
    said.update(new)
    return [texts[kind]() for kind in new]


def _stiff_contact(m: Model, d: Data) -> str:
    spring, h = d.contact_spring[: d.ncon], m.opt.timestep
    times = np.where(spring[:, IS_SPRING] > 0.0, h * spring[:, K] / spring[:, MASS_BY_H], 0.0)
    c = int(np.argmax(times))
    k, mass = spring[c, K], spring[c, MASS_BY_H] * h
    return (
        f"the contact spring of {_pair(m, d, c)} has {k:.4g} N/m, and with {mass:.4g} kg a "
        f"timestep of {h:g} s carries {mass / h**2:.4g} N/m: what exceeds it acts as a damper. "
        f"Take a timestep of {math.sqrt(mass / k):.2g} s, or a softer spring"
    )


def _crushed(m: Model, d: Data) -> str:
    rigid = d.contact_spring[: d.ncon, IS_SPRING] == 0.0
    c = int(np.argmin(np.where(rigid, d.contact_dist[: d.ncon], 0.0)))
    force = np.linalg.norm(d.contact_force[c])
    return (
        f"{_pair(m, d, c)} are pressed {-1e3 * d.contact_dist[c]:.3g} mm into each other by "
        f"{force:.3g} N, and still go deeper: rigid bodies do not give way. Look for a joint that "
        "is driven without a largest force, or give one of them a stiffness"
    )


def _pair(m: Model, d: Data, c: int) -> str:
    geom1, geom2 = d.contact_geom[c].tolist()
    return f"'{m.geom_names[geom2]}' and '{m.geom_names[geom1]}'"


def _stiff_joint(m: Model) -> str:
    k, h = m.jnt_stiffness[m.dof_jntid], m.opt.timestep
    dof = int(np.argmax(k / m.dof_inertia0))
    inertia = m.dof_inertia0[dof]
    return (
        f"the spring of joint '{m.jnt_names[m.dof_jntid[dof]]}' has the stiffness {k[dof]:.4g}, "
        f"and with the inertia {inertia:.4g} a timestep of {h:g} s resolves "
        f"{inertia / h**2:.4g}; beyond four times as much the motion grows without bound. Take a "
        f"timestep of {math.sqrt(inertia / k[dof]):.2g} s, or a softer spring"
    )


def _stiff_limit(m: Model) -> str:
    given = np.where(m.jnt_limited != 0, m.jnt_solref.prod(axis=1), np.inf)
    j = int(np.argmin(np.where(m.jnt_solref[:, 0] > NO_TIME, given, np.inf)))
    t, ratio = m.jnt_solref[j]
    return (
        f"the limit of joint '{m.jnt_names[j]}' has jnt_solref {t:g} s and {ratio:g}: their "
        f"product is less than the timestep of {m.opt.timestep:g} s, so it is more damped. Take a "
        f"timestep of {t * ratio:.2g} s"
    )
