"""Configurations of a Model: add a velocity, take a difference, draw at random.

Positions are no vectors where quaternions are among them: nq may differ from nv. Every function
treats each joint by the rule of its type (engine/joints/manifold.py).
"""

from __future__ import annotations

import math

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.joint_types import JOINT_SPECS
from rbdyn_ros.dynamics.entry import Entry, is_vector
from rbdyn_ros.engine import integrate as _integrate
from rbdyn_ros.engine.jit import DISABLED
from rbdyn_ros.errors import Finding, ModelError, ParameterError
from rbdyn_ros.model.joints import TYPE_OF_NAME, JointClass, JointKind, JointType
from rbdyn_ros.model.model import Model

#: A limit beyond this is none [rad or m].
FAR = 1e6

_integrate_pos = Entry(_integrate.integrate_pos)
_differentiate_pos = Entry(_integrate.differentiate_pos)
_qpos_dot = Entry(_integrate.qpos_dot)


def integrate_pos(m: Model, qpos: Array, qvel: Array, dt: float) -> None:
    """Advance qpos (nq,) by the velocity qvel (nv,) over dt [s], in place.

    Quaternions are of unit length afterwards. Source: MuJoCo mj_integratePos.

    Raises:
        ModelError: for an array of another shape or type, or if m is no Model.
        ParameterError: if dt is not finite.
    """
    _demand_model(m)
    _demand(m.nq, "qpos", qpos, written=True)
    _demand(m.nv, "qvel", qvel)
    if not _is_finite(dt):
        raise _wrong_time(dt, "allowed is a finite number of seconds")
    _call(_integrate_pos, m, qpos, qvel, float(dt))


def differentiate_pos(m: Model, qvel: Array, dt: float, qpos1: Array, qpos2: Array) -> None:
    """Write qvel (nv,): the velocity that leads from qpos1 to qpos2 in dt [s].

    It undoes integrate_pos; turns go the shorter way round. Source: MuJoCo mj_differentiatePos.

    Raises:
        ModelError: for an array of another shape or type.
        ParameterError: if dt is zero or not finite.
    """
    _demand_model(m)
    _demand(m.nv, "qvel", qvel, written=True)
    _demand(m.nq, "qpos1", qpos1)
    _demand(m.nq, "qpos2", qpos2)
    if not _is_finite(dt) or dt == 0.0:
        raise _wrong_time(dt, "a velocity needs a time that is finite and not zero")
    _call(_differentiate_pos, m, qvel, float(dt), qpos1, qpos2)


def qpos_dot(m: Model, qpos: Array, qvel: Array) -> Array:
    """Return the derivative of the positions, Q(q) alpha, (nq,). Source: RBDA eq 3.7.

    Raises:
        ModelError: for an array of another shape or type.
    """
    _demand_model(m)
    _demand(m.nq, "qpos", qpos)
    _demand(m.nv, "qvel", qvel)
    rate = np.zeros(m.nq)
    _call(_qpos_dot, m, qpos, qvel, rate)
    return rate


def random_qpos(m: Model, rng: np.random.Generator) -> Array:
    """Return a random configuration (nq,) within the limits.

    Where there is none, an angle is between -pi and pi and a distance between -1 and 1 m;
    orientations are uniform. The neutral configuration is m.qpos0.

    Raises:
        ModelError: if m is no Model.
        ParameterError: if rng is no Generator.
    """
    _demand_model(m)
    _demand_generator(rng)
    qpos: Array = m.qpos0.copy()
    for j in range(m.njnt):
        q = int(m.jnt_qposadr[j])
        if m.jnt_class[j] != JointClass.FREE:
            continue
        kind = m.jnt_kind(j)
        share = rng.uniform(-1.0, 1.0, kind.nq)
        if kind.quat >= 0:
            share[kind.quat : kind.quat + 4] = _random_quat(m, j, rng)
        for k, (low, high) in enumerate(usual_ranges(m, j)):
            x = rng.uniform()  # low + x (high - low) could overflow
            share[k] = min(max(low * (1.0 - x) + high * x, low), high)
        qpos[q : q + kind.nq] = share
    return qpos


def usual_ranges(m: Model, j: int) -> list[tuple[float, float]]:
    """Return, by coordinate, its limits; where there is none, a turn or a metre to either side.

    A limit beyond FAR, which some files write for none, counts as none.

    The list is empty for a joint with a quaternion.
    """
    kind, v = m.jnt_kind(j), int(m.jnt_dofadr[j])
    limits = dict(zip(m.limit_dofid.tolist(), m.limit_range.tolist(), strict=True))
    if kind.nv == 1 and m.jnt_limited[j]:
        limits[v] = m.jnt_range[j].tolist()
    ranges = []
    for k, reach in enumerate(_reach(m, j, kind)):
        lower, upper = limits.get(v + k, (-math.inf, math.inf))
        lower, upper = (x if abs(x) <= FAR else math.copysign(math.inf, x) for x in (lower, upper))
        low = lower if math.isfinite(lower) else min(-reach, upper - reach)
        high = upper if math.isfinite(upper) else max(reach, lower + reach)
        ranges.append((low, high))
    return ranges


_NAME_OF_TYPE = {kind: name for name, kind in TYPE_OF_NAME.items()}


def _reach(m: Model, j: int, kind: JointKind) -> list[float]:
    """Return how far each coordinate goes where no limit holds; empty if it has none."""
    if kind.quat >= 0:
        return []
    name = m.jnt_usertype[j] or _NAME_OF_TYPE[JointType(m.jnt_type[j])]
    units = JOINT_SPECS[name].coordinates or ("rad", "m", "m")
    return [math.pi if unit == "rad" else 1.0 for unit in units]


def _random_quat(m: Model, j: int, rng: np.random.Generator) -> Array:
    """Return a uniform unit quaternion; of a limited ball one within its cone."""
    quat: Array = rng.normal(size=4)
    quat /= np.linalg.norm(quat)
    if m.jnt_limited[j]:
        half = 0.5 * rng.uniform(0.0, min(m.jnt_range[j, 1], math.pi))
        quat[1:] *= math.sin(half) / np.linalg.norm(quat[1:])
        quat[0] = math.cos(half)
    return quat


def _call(entry: Entry, m: Model, *args: object) -> None:
    if DISABLED:
        entry.kernel(m, *args)
    else:
        entry.call(m.address, *args)


def _demand_model(m: object) -> None:
    if not isinstance(m, Model):
        raise ModelError(Finding("not-a-model", f"a Model is needed, got {m!r}"))


def _demand_generator(rng: object) -> None:
    if not isinstance(rng, np.random.Generator):
        text = f"rng is {rng!r}; allowed is a generator such as numpy.random.default_rng(0)"
        raise ParameterError(Finding("rng", text, "error", "rng"))


def _is_finite(number: object) -> bool:
    real = isinstance(number, int | float | np.integer | np.floating)
    try:
        return real and math.isfinite(number)  # type: ignore[arg-type]
    except OverflowError:  # a whole number that is no float
        return False


def _wrong_time(dt: object, allowed: str) -> ParameterError:
    return ParameterError(Finding("dt", f"dt is {dt}; {allowed}", "error", "dt", None, str(dt)))


def _demand(length: int, name: str, array: object, written: bool = False) -> None:
    """Raise ModelError unless a kernel may read the array, or write it."""
    if not is_vector(array, length, written):
        kind = "writable, " if written else ""
        text = (
            f"{name}: a {kind}contiguous float64 array of shape ({length},) is needed, "
            f"got {array!r}"
        )
        raise ModelError(Finding("vector-shape", text, "error", name))
