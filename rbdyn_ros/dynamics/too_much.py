# SPDX-License-Identifier: Apache-2.0
"""Warnings of `step`: springs too stiff, and motions too fast, for the timestep."""

import math

import numpy as np

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.dynamics.configuration import integrate_pos
from rbdyn_ros.engine.step import too_much
from rbdyn_ros.engine.step.passive import NO_TIME
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.declared.contact_arrays import IS_SPRING, MASS_BY_H, K
from rbdyn_ros.model.declared.joints import JointClass, JointType
from rbdyn_ros.model.model import Model

#: Relative tolerance for rounding errors of a spring at the limit of a timestep.
ROUNDING = 1e-9


def texts_of(m: Model, d: Data, found: int) -> list[str]:
    """Return the warnings of `step` for the flags `found`; some are given only once for a Data."""
    counted = {too_much.FAST: _fast, too_much.LOST: _lost}
    texts = {
        too_much.STIFF_CONTACT: lambda: _stiff_contact(m, d),
        too_much.CRUSHED_CONTACT: lambda: _crushed(m, d),
        too_much.STIFF_JOINT: lambda: _stiff_joint(m),
        too_much.STIFF_LIMIT: lambda: _stiff_limit(m),
    }
    said = vars(d).setdefault("said", set())
    new = [kind for kind in texts if found & kind and kind not in said]
    said.update(new)
    first = [text(m, d) for kind, text in counted.items() if found & kind]
    if found & too_much.GROWING and too_much.GROWING not in said and (text := _growing(m, d)):
        said.add(too_much.GROWING)
        first.append(text)
    return first + [texts[kind]() for kind in new]


def texts_before(m: Model) -> list[str]:
    """Return warnings about contacts, joints and limits that are too stiff for the timestep.

    A Batch and the simulator give these warnings at their start, because the warnings of `step` do
    not cover their runs.
    """
    h2 = m.opt.timestep**2
    texts = []
    with np.errstate(divide="ignore"):
        ratio = m.geom_solref.prod(axis=1)
        given = np.where(m.geom_solref[:, 0] > NO_TIME, m.geom_mass0 / ratio**2, 0.0)
        k = np.where(m.geom_stiffness > 0.0, m.geom_stiffness, given)
    times = np.where(m.geom_mass0 > 0.0, h2 * k / np.maximum(m.geom_mass0, 1e-300), 0.0)
    if times.max(initial=0.0) > 1.0 + ROUNDING:
        g = int(np.argmax(times))
        texts.append(
            f"the contact spring of '{m.geom_names[g]}' has {k[g]:.4g} N/m, and with "
            f"{m.geom_mass0[g]:.4g} kg on a rigid surface {_what_it_carries(m, m.geom_mass0[g])}: "
            f"the excess acts as a damper. {_remedy(m.geom_mass0[g], k[g])}"
        )
    if not m.opt.passive:
        return texts
    if m.nv and (h2 * m.jnt_stiffness[m.dof_jntid] > m.dof_inertia0).any():
        texts.append(_stiff_joint(m))
    t, limits = m.jnt_solref[:, 0], m.jnt_solref.prod(axis=1)
    if ((m.jnt_limited != 0) & (t > NO_TIME) & (h2 > limits**2)).any():
        texts.append(_stiff_limit(m))
    return texts


def text_if_fast(m: Model, qvel: Array) -> str | None:
    """Return a warning if a body on a free or ball joint rotates too fast, else None.

    Args:
        m: the Model.
        qvel: (nv,), or (n, nv) of n robots.
    """
    if not np.abs(qvel).max(initial=0.0) > 0.5 * too_much.TURN_LIMIT / m.opt.timestep:
        return None
    joints = _turning(m)
    if not joints.size:
        return None
    last = m.jnt_dofadr[joints] + m.jnt_dofnum[joints]
    w = np.atleast_2d(qvel)[:, last[:, None] + np.arange(-3, 0)]
    speeds = np.sqrt((w**2).sum(axis=2)).max(axis=0)
    n = int(np.argmax(np.where(np.isfinite(speeds), speeds, 0.0)))
    too_fast = m.opt.timestep * speeds[n] > too_much.TURN_LIMIT and np.isfinite(speeds[n])
    return _turns_fast(m, int(joints[n]), float(speeds[n])) if too_fast else None


def no_turn_is_fast(m: Model) -> float:
    """Return the speed up to which no body is too fast for `text_if_fast` [rad/s or m/s].

    It is infinite for a Model without free and ball joints.
    """
    return 0.5 * too_much.TURN_LIMIT / m.opt.timestep if _turning(m).size else math.inf


def _stiff_contact(m: Model, d: Data) -> str:
    spring, h = d.contact_spring[: d.ncon], m.opt.timestep
    times = np.where(spring[:, IS_SPRING] > 0.0, h * spring[:, K] / spring[:, MASS_BY_H], 0.0)
    c = int(np.argmax(times))
    k, mass = spring[c, K], spring[c, MASS_BY_H] * h
    return (
        f"the contact spring of {_pair(m, d, c)} has {k:.4g} N/m, and with {mass:.4g} kg "
        f"{_what_it_carries(m, mass)}: the excess acts as a damper. {_remedy(mass, k)}"
    )


def _what_it_carries(m: Model, mass: float) -> str:
    return f"a timestep of {m.opt.timestep:g} s carries {mass / m.opt.timestep**2:.4g} N/m"


def _remedy(mass: float, k: float) -> str:
    return f"Take a timestep of {math.sqrt(mass / k):.2g} s, or a softer spring"


def _crushed(m: Model, d: Data) -> str:
    rigid = d.contact_spring[: d.ncon, IS_SPRING] == 0.0
    c = int(np.argmin(np.where(rigid, d.contact_dist[: d.ncon], 0.0)))
    force = np.linalg.norm(d.contact_force[c])
    return (
        f"{_pair(m, d, c)} are pressed {-1e3 * d.contact_dist[c]:.3g} mm into each other by "
        f"{force:.3g} N, and still go deeper: rigid bodies do not give way. Look for a joint "
        f"that is driven without a largest force, or give one body a stiffness"
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
        f"and with the inertia {inertia:.4g} a timestep of {h:g} s resolves at most "
        f"{inertia / h**2:.4g}; above four times this number the motion grows without bound. "
        f"Take a timestep of {math.sqrt(inertia / k[dof]):.2g} s, or a softer spring"
    )


def _stiff_limit(m: Model) -> str:
    given = np.where(m.jnt_limited != 0, m.jnt_solref.prod(axis=1), np.inf)
    j = int(np.argmin(np.where(m.jnt_solref[:, 0] > NO_TIME, given, np.inf)))
    t, ratio = m.jnt_solref[j]
    return (
        f"the limit of joint '{m.jnt_names[j]}' has jnt_solref {t:g} s and {ratio:g}: their "
        f"product is less than the timestep of {m.opt.timestep:g} s, so the limit is damped more. "
        f"Take a timestep of {t * ratio:.2g} s"
    )


def _fast(m: Model, d: Data) -> str:
    """Return the warning for the body on a free or ball joint that rotates the fastest."""
    last = m.jnt_dofadr + m.jnt_dofnum
    turning = _turning(m)
    speeds = [float(np.linalg.norm(d.qvel[last[j] - 3 : last[j]])) for j in turning]
    return _turns_fast(m, int(turning[int(np.argmax(speeds))]), max(speeds))


def _turning(m: Model) -> Ints:
    free = m.jnt_class == JointClass.FREE
    return np.flatnonzero(free & np.isin(m.jnt_type, (JointType.FREE, JointType.BALL)))


def _turns_fast(m: Model, joint: int, speed: float) -> str:
    body = m.body_names[m.jnt_bodyid[joint]]
    return (
        f"body '{body}' turns at {speed:.4g} rad/s, by {speed * m.opt.timestep:.2g} rad in a "
        f"timestep: its motion is inexact above {too_much.TURN_LIMIT:g} rad, and contacts may "
        f"be missed. Take timesteps below {too_much.TURN_LIMIT / speed:.2g} s"
    )


def _growing(m: Model, d: Data) -> str | None:
    """Return a warning if the kinetic energy has doubled in the last step without a cause.

    The work of springs and gravity is the change of potential energy in the timestep, and the work
    of qfrc_applied follows from the velocities. The work of other forces, and of springs of
    contacts and limits, is unknown: if such forces act, no warning is given.
    """
    # imported here, because a program that only loads and steps a robot needs no toolbox
    from rbdyn_ros.dynamics.toolbox.terms import kinetic_energy, potential_energy

    if _may_be_driven(m, d):
        return None
    h, before, now = m.opt.timestep, d.copy(), d.copy()
    if m.opt.integrator == "rk4":
        before.qpos[:], before.qvel[:] = d.rk_qpos, d.rk_qvel
    else:
        before.qvel[:] -= h * d.qacc
        integrate_pos(m, before.qpos, d.qvel, -h)
    least = kinetic_energy(m, before)
    least += 0.5 * h * float(np.abs(d.qfrc_applied) @ np.abs(before.qvel + d.qvel))
    starts, ends = (kinetic_energy(m, e) + potential_energy(m, e) for e in (before, now))
    if not ends - starts > least:
        return None
    gains = m.dof_inertia0 * (d.qvel**2 - before.qvel**2)
    body = m.body_names[m.dof_bodyid[int(np.argmax(gains))]]
    return (
        f"the kinetic energy grew from {kinetic_energy(m, before):.3g} J to "
        f"{kinetic_energy(m, now):.3g} J in a timestep of {h:g} s, most of it at body '{body}', "
        "and no force, spring or fall explains it. Take shorter timesteps, or another "
        "m.opt.integrator: implicit_damping for stiff damping, implicit_midpoint or rk4 for "
        "bodies that tumble (docs: Integrators)"
    )


def _may_be_driven(m: Model, d: Data) -> bool:
    """Return whether forces with unknown work act."""
    motion = d.drive_mode.any() or (m.jnt_class == JointClass.DRIVEN).any()
    pressed = d.nstopped > 0 or bool(d.contact_spring[: d.ncon, IS_SPRING].any())
    return bool(motion or pressed or m.geom_velocity.any() or d.xfrc_applied.any())


def _lost(m: Model, d: Data) -> str:
    """Return the warning for a state that is not finite."""
    dof = int(np.flatnonzero(~np.isfinite(d.qvel))[0])
    forces = np.isfinite(d.qfrc_applied).all() and np.isfinite(d.xfrc_applied).all()
    remedy = (
        "Look at d.nbad and at the fields that diverge in earlier steps, and take shorter "
        "timesteps or "
        "another m.opt.integrator (docs: Integrators)"
        if forces
        else "qfrc_applied or xfrc_applied is not finite"
    )
    return (
        f"the velocity of body '{m.body_names[m.dof_bodyid[dof]]}' is no longer a finite number, "
        f"and the state is lost. {remedy}"
    )
