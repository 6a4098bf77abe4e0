# SPDX-License-Identifier: Apache-2.0
"""Path planning: minimum jerk through points, and time-optimal within limits."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.names import chosen
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.control.motion.paths import Path
from rbdyn_ros.dynamics.configuration import motion_limits
from rbdyn_ros.errors import Finding, ParameterError, bad_argument, counted
from rbdyn_ros.model.declared.joints import JointClass
from rbdyn_ros.model.model import Model, check_model

#: Names of joints, and one limit for each joint.
Limits = tuple[Sequence[str], Array]

#: Points closer in time are merged, because shorter polynomials would have rounding errors [s].
SHORTEST = 1e-6


def quintic(
    points: ArrayLike,
    times: ArrayLike,
    velocities: ArrayLike | None = None,
    accelerations: ArrayLike | None = None,
) -> Path:
    """Return a path of polynomials of fifth degree through points.

    Without velocities it starts and ends at rest, without acceleration, and minimises the integral
    of the squared jerk: a spline with continuous derivatives up to the fourth.

    Args:
        points: (p, n) positions, at least two [rad or m].
        times: (p,) increasing times of the points [s].
        velocities: (p, n) at the points [rad/s or m/s]; None: minimum jerk.
        accelerations: (p, n) at the points [rad/s^2 or m/s^2]; None with velocities: zeros.

    Raises:
        ParameterError: for the reasons of Path; or there are fewer than two points, or
            accelerations without velocities.

    Source: Flash, Hogan, The coordination of arm movements, 1985 (minimum jerk); its solution
    through points is the spline of fifth degree, de Boor, A practical guide to splines, 1978.
    """
    plain = Path(times, points)
    if len(plain.times) < 2:
        raise bad_argument("points", "a quintic path needs at least two points, got 1")
    if velocities is not None:
        if accelerations is None:
            accelerations = np.zeros(plain.positions.shape)
        return Path(times, points, velocities, accelerations)
    if accelerations is not None:
        raise bad_argument("velocities", "a path with accelerations also needs velocities")
    return Path(times, points, *_least_jerk(plain))


def _least_jerk(plain: Path) -> tuple[Array, Array]:
    """Return the velocities and accelerations of least jerk at the points, (p, n) each.

    Raise ParameterError if the times are too uneven.
    """
    from scipy.interpolate import make_interp_spline  # this import is slow

    still = np.zeros(plain.positions.shape[1])
    at_rest = [(1, still), (2, still)]
    # normalised times, for well conditioned equations
    start, duration = plain.times[0], plain.duration
    parts = (plain.times - start) / duration
    try:
        spline = make_interp_spline(parts, plain.positions, k=5, bc_type=(at_rest, at_rest))
    except (ValueError, np.linalg.LinAlgError):
        text = "the times of the path are too uneven for a spline through its points"
        raise bad_argument("times", text) from None
    found = [spline(parts, k) / duration**k for k in (1, 2)]
    for rates in found:
        rates[[0, -1]] = 0.0
    return found[0], found[1]


def time_optimal(
    points: ArrayLike,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    jerk: ArrayLike | None = None,
    *,
    m: Model | None = None,
    joints: Sequence[str] | None = None,
) -> Path:
    """Return the fastest path within limits that rests at every point.

    All joints reach a point at the same time, on a straight line if that costs no time. The
    trajectory is computed by the library ruckig. Its pieces of constant jerk become segments of
    the path, except for pieces shorter than SHORTEST, which are skipped.

    Args:
        points: (p, n) positions [rad or m]; the path starts at the first point at time 0.
        velocity: velocity limits, one number or one per joint [rad/s or m/s]; None: the limits of
            m.
        acceleration: acceleration limits, one number or one per joint [rad/s^2 or m/s^2]; None:
            the smaller of the acceleration and deceleration limits of m.
        jerk: jerk limits, one number or one per joint [rad/s^3 or m/s^3]; None: the limits of m;
            without m, or for joints without a limit in m, unlimited.
        m: the robot whose limits count; None: all limits but the jerk limits are given.
        joints: names of the joints of m for the columns of points; None: the joints of all degrees
            of freedom.

    Raises:
        ParameterError: points or limits are not finite numbers, a limit is missing or not
            positive, joints are not joints of m with one coordinate, ruckig is not installed, or
            it finds no trajectory.

    Source: Berscheid, Kroeger, Jerk-limited real-time trajectory generation with arbitrary target
    states, 2021.
    """
    places = finite("points of a path", points, None)
    if places.ndim != 2 or 0 in places.shape:
        raise bad_argument("points", f"points have the shape {places.shape}; allowed is (p, n)")
    n = places.shape[1]
    robot = (None, None, None) if m is None else _limits_of(m, joints, n)
    given = {"velocity": velocity, "acceleration": acceleration, "jerk": jerk}
    checked = [_limit(name, given[name], own, n) for name, own in zip(given, robot, strict=True)]
    times, rows = [np.zeros(1)], [np.stack([places[:1], np.zeros((1, n))])]
    for i in range(len(places) - 1):
        found = _segment(places[i], places[i + 1], checked, i)
        if found is not None:
            times.append(times[-1][-1] + found[0])
            rows.append(found[1])
    whole = np.concatenate(rows, axis=1)
    return Path(np.concatenate(times), whole[0], whole[1])


def _segment(start: Array, goal: Array, limits: list[Array], i: int) -> tuple[Array, Array] | None:
    """Return times and (positions, velocities) after the start, or None if nothing moves.

    The segment leads from point i to point i + 1.
    """
    trajectory = _trajectory(start, goal, limits, i)
    if trajectory.duration < SHORTEST:
        return None
    (profiles,) = trajectory.profiles
    ends = np.unique(np.concatenate([np.cumsum(profile.t) for profile in profiles]))
    times: list[float] = []
    for t in ends[ends < trajectory.duration - SHORTEST].tolist():
        if t - (times[-1] if times else 0.0) >= SHORTEST:
            times.append(t)
    states = [trajectory.at_time(t)[:2] for t in times]
    rows = np.array([*states, (goal, np.zeros(len(goal)))])
    return np.array([*times, trajectory.duration]), rows.swapaxes(0, 1)


def _trajectory(start: Array, goal: Array, limits: list[Array], i: int) -> Any:
    """Return ruckig's trajectory from rest to rest; raise ParameterError if there is none.

    It leads from point i to point i + 1.
    """
    try:
        import ruckig
    except ModuleNotFoundError:
        text = (
            "time-optimal paths need ruckig, which is not installed: "
            'pip install "rbdyn_ros[control]"'
        )
        raise ParameterError(Finding("no-ruckig", text)) from None
    given = ruckig.InputParameter(len(start))
    given.current_position, given.target_position = start.tolist(), goal.tolist()
    given.max_velocity, given.max_acceleration, given.max_jerk = (x.tolist() for x in limits)
    given.synchronization = ruckig.Synchronization.Phase
    trajectory = ruckig.Trajectory(len(start))
    try:
        result = ruckig.Ruckig(len(start)).calculate(given, trajectory)
        fine = result in (ruckig.Result.Working, ruckig.Result.Finished)
    except (ruckig.RuckigError, ValueError):  # ruckig refuses some numbers by a ValueError
        fine = False
    if not fine:
        text = (
            f"ruckig finds no trajectory from point {i} to point {i + 1} of the path; use points "
            "and limits of realistic magnitude"
        )
        raise bad_argument("points", text)
    return trajectory


def _limits_of(m: Model, joints: Sequence[str] | None, n: int) -> Iterable[Limits]:
    """Return names and values of each kind of limit of n joints; None: the joints of all dofs.

    Raise ParameterError for joints that m lacks, or for another number of joints.
    """
    check_model(m, "time_optimal")
    names = [m.jnt_names[j] for j in m.dof_jntid] if joints is None else joints

    def why_not(name: str) -> str:
        j = m.jnt_names.index(name)
        single = m.jnt_dofnum[j] == 1 and m.jnt_class[j] == JointClass.FREE
        return "" if single else "is not an independent joint with one coordinate"

    names = chosen(names, m.jnt_names, "joint", why_not)
    if len(names) != n:
        found = f"{counted(n, 'column')} for {counted(len(names), 'joint')}"
        raise bad_argument("joints", f"the points have {found}; each joint needs one column")
    dofs = m.jnt_dofadr[[m.jnt_names.index(name) for name in names]]
    return [(names, row) for row in motion_limits(m)[:, dofs]]


def _limit(name: str, limit: ArrayLike | None, robot: Limits | None, n: int) -> Array:
    if limit is None and robot is not None:
        return _own_limit(name, *robot)
    if limit is None and name == "jerk":
        return np.full(n, np.inf)
    found = np.nan if limit is None else limit
    values = finite(f"{name} limit", found, (n,), fill=True)
    return finite(f"{name} limit", values, (n,), above=0.0, element=name)


def _own_limit(name: str, joints: Sequence[str], values: Array) -> Array:
    """Return the robot's own limits `values` of the kind `name`.

    Raise ParameterError if a limit is 0, or if a velocity or acceleration limit is missing.
    """
    usable = (values > 0.0) & ((name == "jerk") | np.isfinite(values))
    for k in np.flatnonzero(~usable)[:1]:
        has = f"no {name} limit" if values[k] > 0.0 else f"a {name} limit of 0"
        raise bad_argument(name, f"joint '{joints[k]}' has {has}; pass the argument {name}")
    return values
