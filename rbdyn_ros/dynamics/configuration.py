# SPDX-License-Identifier: Apache-2.0
"""Configurations of a Model: add a velocity, compute a difference, draw a random configuration.

Positions with quaternions are not vectors, and nq can differ from nv. Each joint type has its own
rule (engine/joints/manifold.py).
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.description.parts.joint_types import JOINT_SPECS
from rbdyn_ros.dynamics.entry import Entry, check_vector
from rbdyn_ros.engine.compiler.jit import DISABLED
from rbdyn_ros.engine.step import integrate as _integrate
from rbdyn_ros.errors import Finding, ParameterError
from rbdyn_ros.model.declared.joints import TYPE_OF_NAME, JointClass, JointKind, JointType
from rbdyn_ros.model.model import Model, check_model

#: A limit with a larger absolute value counts as no limit [rad or m].
FAR = 1e6

_integrate_pos = Entry(_integrate.integrate_pos)
_differentiate_pos = Entry(_integrate.differentiate_pos)
_qpos_dot = Entry(_integrate.qpos_dot)


def integrate_pos(m: Model, qpos: Array, qvel: Array, dt: float) -> None:
    """Advance qpos (nq,) by the velocity qvel (nv,) over dt [s], in place.

    Quaternions are of unit length afterwards. Source: MuJoCo mj_integratePos.

    Raises:
        ModelError: an array has the wrong shape or type, or m is not a Model.
        ParameterError: dt is not finite.
    """
    check_model(m, "integrate_pos")
    check_vector(qpos, m.nq, True, "qpos")
    check_vector(qvel, m.nv, False, "qvel")
    _call(_integrate_pos, m, qpos, qvel, _seconds(dt))


def differentiate_pos(m: Model, qvel: Array, dt: float, qpos1: Array, qpos2: Array) -> None:
    """Write qvel (nv,): the velocity that leads from qpos1 to qpos2 in dt [s].

    This is the inverse of integrate_pos; the shorter of two possible rotations is used.
    Source: MuJoCo mj_differentiatePos.

    Raises:
        ModelError: an array has the wrong shape or type.
        ParameterError: dt is zero or not finite.
    """
    check_model(m, "differentiate_pos")
    check_vector(qvel, m.nv, True, "qvel")
    check_vector(qpos1, m.nq, False, "qpos1")
    check_vector(qpos2, m.nq, False, "qpos2")
    dt = _seconds(dt)
    if dt == 0.0:
        text = "dt is 0; a velocity needs a time that is not zero"
        raise ParameterError(Finding("dt", text, "error", "dt", None, "0"))
    _call(_differentiate_pos, m, qvel, dt, qpos1, qpos2)


def qpos_dot(m: Model, qpos: Array, qvel: Array) -> Array:
    """Return the derivative of the positions, Q(q) alpha, (nq,). Source: RBDA eq 3.7.

    Raises:
        ModelError: an array has the wrong shape or type.
    """
    check_model(m, "qpos_dot")
    check_vector(qpos, m.nq, False, "qpos")
    check_vector(qvel, m.nv, False, "qvel")
    rate = np.zeros(m.nq)
    _call(_qpos_dot, m, qpos, qvel, rate)
    return rate


def random_qpos(m: Model, rng: np.random.Generator) -> Array:
    """Return a random configuration (nq,) within the limits.

    Without limits an angle is between -pi and pi, and a distance between -1 and 1 m. Orientations
    are uniformly distributed.

    Raises:
        ModelError: m is not a Model.
        ParameterError: rng is not a Generator.
    """
    check_model(m, "random_qpos")
    _check_generator(rng)
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


def position_ranges(m: Model, joints: ArrayLike) -> Array:
    """Return the position limits of joints with one coordinate; infinite: no limit.

    Args:
        m: the robot.
        joints: (n,) numbers of the joints.

    Returns:
        (n, 2), lower and upper limit [rad or m].
    """
    j = np.asarray(joints, np.int64)
    return np.where(m.jnt_limited[j, None] == 1, m.jnt_range[j], [[-np.inf, np.inf]])


def start_within_limits(m: Model) -> Array:
    """Return qpos0 (nq,), changed so that no joint is outside its limits.

    A coordinate whose limits exclude its qpos0 is set to the middle between its limits, or to the
    limit if it has only one. In a robot with closed loops it is set to the nearer limit.
    """
    qpos: Array = np.array(m.qpos0)
    for _, at, low, high in _outside(m):
        middle = 0.5 * (low + high)
        inside = np.isfinite(middle) and m.nefc == 0
        qpos[at] = middle if inside else np.clip(qpos[at], low, high)
    return qpos


def moved_starts(m: Model, qpos: Array) -> str:
    """Return a text with the start position of each joint whose limits exclude its qpos0, or "".

    A joint is included only if its position in qpos (nq,) is the position of start_within_limits.
    With closed loops the text is "", because the loops determine the positions of joints.
    """
    inside = start_within_limits(m)
    return ", ".join(
        f"'{m.jnt_names[j]}' at {qpos[k]:.4g}"
        for j, k, _, _ in _outside(m)
        if qpos[k] == inside[k] and m.nefc == 0
    )


def moves_to_limits(m: Model) -> list[str]:
    """Return texts, as `'elbow' (0.5 to 2) at 1.25`, on joints that start_within_limits moves."""
    inside = start_within_limits(m)
    return [
        f"'{m.jnt_names[j]}' ({low:.4g} to {high:.4g}) at {inside[k]:.4g}"
        for j, k, low, high in _outside(m)
    ]


def _outside(m: Model) -> list[tuple[int, int, float, float]]:
    """Return joint, index in qpos and limits of each coordinate whose limits exclude its qpos0.

    A limit beyond FAR, which some files use for no limit, counts as no limit.
    """
    ranges = np.tile([[-np.inf], [np.inf]], m.nv)
    ranges[:, m.limit_dofid] = m.limit_range.T
    free = m.jnt_class == JointClass.FREE
    single = np.flatnonzero(free & (m.jnt_dofnum == 1))
    ranges[:, m.jnt_dofadr[single]] = position_ranges(m, single).T
    ranges = np.where(np.abs(ranges) <= FAR, ranges, np.copysign(np.inf, ranges))
    found = []
    for j in np.flatnonzero(free & (m.jnt_dofnum > 0)).tolist():
        if m.jnt_dofnum[j] > 1 and m.jnt_kind(j).quat >= 0:
            continue
        for k in range(int(m.jnt_dofnum[j])):
            at, (low, high) = int(m.jnt_qposadr[j]) + k, ranges[:, m.jnt_dofadr[j] + k].tolist()
            if not low <= m.qpos0[at] <= high:
                found.append((j, at, low, high))
    return found


def motion_limits(m: Model) -> Array:
    """Return the limits of each degree of freedom for planned motions; infinite: no limit.

    The limits of mimic joints apply to their leader. Joints with several coordinates have no
    limits.

    Returns:
        (3, nv): velocity [rad/s or m/s], the smaller of acceleration and deceleration
        [rad/s^2 or m/s^2], jerk [rad/s^3 or m/s^3].
    """
    either_way = np.minimum(m.jnt_acceleration, m.jnt_deceleration)
    limits, found = np.stack([m.jnt_velocity, either_way, m.jnt_jerk]), np.full((3, m.nv), np.inf)
    for j in np.flatnonzero((m.jnt_dofnum == 1) & (m.jnt_dofadr < m.nv)):
        dof, ratio = m.jnt_dofadr[j], abs(m.jnt_mimic_ratio[j])
        if ratio > 0.0:
            found[:, dof] = np.minimum(found[:, dof], limits[:, j] / ratio)
    return found


def usual_ranges(m: Model, j: int) -> list[tuple[float, float]]:
    """Return the range of each coordinate of joint j: its limits, or else -pi to pi or -1 to 1 m.

    A limit beyond FAR, which some files use for no limit, counts as no limit. The list is empty
    for a joint with a quaternion.
    """
    kind, ranges = m.jnt_kind(j), []
    for reach, (lower, upper) in zip(_reach(m, j, kind), _limits(m, j), strict=False):
        low = lower if math.isfinite(lower) else min(-reach, upper - reach)
        high = upper if math.isfinite(upper) else max(reach, lower + reach)
        ranges.append((low, high))
    return ranges


def slides(m: Model, dofs: Ints) -> tuple[Ints, Ints]:
    """Return which dofs only translate their bodies, and which of these dofs have no limits.

    Returns:
        (n,), for each dof: 0 if it rotates, 1 if it only translates, 2 if it only translates and
        has no limit; and the indices in qpos of all translations without limits.
    """
    kinds, places = np.zeros(len(dofs), np.int64), []
    for n, k in enumerate(dofs.tolist()):
        j = int(m.dof_jntid[k])
        first = int(m.jnt_dofadr[j])
        moved = _SHIFTS.get(JointType(m.jnt_type[j]), {})
        if k - first not in moved or j in m.jnt_mimic:
            continue
        limits = _limits(m, j)[k - first]
        kinds[n] = 1 if np.isfinite(limits).all() else 2
        if kinds[n] == 2:
            places.append(int(m.jnt_qposadr[j]) + moved[k - first])
    return kinds, np.array(places, np.int64)


def is_unlimited(m: Model, j: int) -> bool:
    """Return whether a joint can translate its body without bounds."""
    kind, leader = m.jnt_kind(j), int(m.jnt_mimic[j] if m.jnt_mimic[j] >= 0 else j)
    if kind.quat >= 0:
        return kind.nv > 3  # the joint also translates
    ways = _reach(m, j, kind)
    if m.jnt_type[j] in (JointType.HELICAL, JointType.RACK_PINION):
        ways = [_WAY]  # these joints translate as they rotate
    limits = zip(ways, _limits(m, leader), strict=False)
    return any(way == _WAY and not np.isfinite(pair).all() for way, pair in limits)


def _limits(m: Model, j: int) -> list[tuple[float, float]]:
    """Return the limits of each coordinate of a joint; infinite: no limits."""
    kind, v = m.jnt_kind(j), int(m.jnt_dofadr[j])
    limits = dict(zip(m.limit_dofid.tolist(), m.limit_range.tolist(), strict=True))
    if kind.nv == 1 and m.jnt_limited[j]:
        limits[v] = m.jnt_range[j].tolist()
    found = []
    for k in range(kind.nv):
        lower, upper = limits.get(v + k, (-math.inf, math.inf))
        lower, upper = (x if abs(x) <= FAR else math.copysign(math.inf, x) for x in (lower, upper))
        found.append((lower, upper))
    return found


#: For joint types with pure translations: these dofs of the joint, with their entries of its qpos.
_SHIFTS: dict[JointType, dict[int, int]] = {
    JointType.SLIDE: {0: 0},
    JointType.FREE: {0: 0, 1: 1, 2: 2},
    JointType.PLANAR: {0: 0, 1: 1},
    JointType.CYLINDRICAL: {1: 1},
    JointType.PLANAR_FP: {1: 1, 2: 2},
    JointType.PLANAR_FS: {1: 1, 2: 2},
    JointType.SIXDOF_FP: {3: 4, 4: 5, 5: 6},
    JointType.SIXDOF_FS: {3: 4, 4: 5, 5: 6},
}

#: Random translations without limits are drawn from -_WAY to _WAY [m].
_WAY = 1.0

_NAME_OF_TYPE = {kind: name for name, kind in TYPE_OF_NAME.items()}


def _reach(m: Model, j: int, kind: JointKind) -> list[float]:
    """Return, for each coordinate, half the range to use without limits: pi or _WAY [m].

    The list is empty for a joint with a quaternion.
    """
    if kind.quat >= 0:
        return []
    name = m.jnt_usertype[j] or _NAME_OF_TYPE[JointType(m.jnt_type[j])]
    units = JOINT_SPECS[name].coordinates or ("rad", "m", "m")
    return [math.pi if unit == "rad" else _WAY for unit in units]


def _random_quat(m: Model, j: int, rng: np.random.Generator) -> Array:
    """Return a uniformly random unit quaternion.

    For a limited ball joint it is within the limit.
    """
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


def _check_generator(rng: object) -> None:
    if not isinstance(rng, np.random.Generator):
        text = f"rng is {rng!r}; allowed is a generator such as numpy.random.default_rng(0)"
        raise ParameterError(Finding("rng", text, "error", "rng"))


def _seconds(dt: object) -> float:
    if type(dt) is float and math.isfinite(dt):  # the usual case, on a fast path
        return dt
    return finite("dt", dt, code="dt", allowed="a finite number of seconds")
