"""Warnings of `step` by name and figure: what a timestep cannot carry."""

from __future__ import annotations

import math

import numpy as np

from rbdyn_ros.engine.contact.law import IS_SPRING, MASS_BY_H, K
from rbdyn_ros.engine.too_much import (
    CRUSHED_CONTACT,
    FAST,
    LOST,
    NO_TIME,
    STIFF_CONTACT,
    STIFF_JOINT,
    STIFF_LIMIT,
    TURN_LIMIT,
)
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.joints import JointClass, JointType
from rbdyn_ros.model.model import Model


def texts_of(m: Model, d: Data, found: int) -> list[str]:
    """Return what `step` has found; springs and crushed bodies once for a Data."""
    counted = {FAST: _fast, LOST: _lost}
    texts = {
        STIFF_CONTACT: lambda: _stiff_contact(m, d),
        CRUSHED_CONTACT: lambda: _crushed(m, d),
        STIFF_JOINT: lambda: _stiff_joint(m),
        STIFF_LIMIT: lambda: _stiff_limit(m),
    }
    said = vars(d).setdefault("said", set())
    new = [kind for kind in texts if found & kind and kind not in said]
    said.update(new)
    first = [text(m, d) for kind, text in counted.items() if found & kind]
    return first + [texts[kind]() for kind in new]


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


def _fast(m: Model, d: Data) -> str:
    """Return what to say of the body on a free or ball joint that turns the fastest."""
    last = m.jnt_dofadr + m.jnt_dofnum
    free = m.jnt_class == JointClass.FREE
    turning = np.flatnonzero(free & np.isin(m.jnt_type, (JointType.FREE, JointType.BALL)))
    speeds = [float(np.linalg.norm(d.qvel[last[j] - 3 : last[j]])) for j in turning]
    speed, body = max(speeds), m.body_names[m.jnt_bodyid[turning[int(np.argmax(speeds))]]]
    return (
        f"body '{body}' turns at {speed:.4g} rad/s, by {speed * m.opt.timestep:.2g} rad in a "
        f"timestep: its motion is inexact above {TURN_LIMIT:g}, and what it touches may "
        f"be missed. Take timesteps below {TURN_LIMIT / speed:.2g} s"
    )


def _lost(m: Model, d: Data) -> str:
    """Return what to say of a state that is not finite."""
    dof = int(np.flatnonzero(~np.isfinite(d.qvel))[0])
    forces = np.isfinite(d.qfrc_applied).all() and np.isfinite(d.xfrc_applied).all()
    remedy = (
        "Look at d.nbad and at what diverges in earlier steps, and take shorter timesteps or "
        "another m.opt.integrator (docs: Integrators)"
        if forces
        else "qfrc_applied or xfrc_applied is not finite"
    )
    return (
        f"the velocity of body '{m.body_names[m.dof_bodyid[dof]]}' is no longer a finite number, "
        f"and the state is lost. {remedy}"
    )
