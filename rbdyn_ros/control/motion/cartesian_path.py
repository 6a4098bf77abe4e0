# SPDX-License-Identifier: Apache-2.0
"""Paths of joints that move a frame along straight lines."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.checks.names import chosen
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.control.motion.cartesian_motion import CartesianLimits, CartesianMotion
from rbdyn_ros.control.motion.paths import Path
from rbdyn_ros.dynamics.configuration import motion_limits
from rbdyn_ros.dynamics.entry import check_pair
from rbdyn_ros.dynamics.toolbox.frames import frame_pose
from rbdyn_ros.dynamics.toolbox.ik import ik
from rbdyn_ros.dynamics.toolbox.ik_targets import targets_of
from rbdyn_ros.errors import RbdynError, apart, bad_argument, quote, refusal
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.declared.joints import JointClass
from rbdyn_ros.model.model import Model

#: Time between two points of the path [s], and the fewest and the most points of a path.
SPACING, FEWEST, MOST = 0.005, 20, 4000
#: Longest motion [s], and the largest coordinate of a position [m].
LONGEST, FARTHEST = 3600.0, 1e4
#: Largest distance of the frame from its line between two points of the path [m or rad].
STRAIGHT = 1e-4
#: Factor for the rounding of velocities and accelerations at their limits.
ROUNDING = 1.0 + 1e-6
#: Larger steps between two points are jumps of a joint without a velocity limit [rad or m].
JUMP = 0.5
CODE = "cartesian-path"


def cartesian_path(
    m: Model,
    d: Data,
    frame: str | int,
    positions: ArrayLike | None = None,
    rotations: ArrayLike | None = None,
    limits: CartesianLimits | None = None,
    *,
    joints: Sequence[str] | None = None,
) -> Path:
    """Return the joint path that moves a frame through poses, on straight lines.

    The frame rotates uniformly between two poses.

    The path begins at d.qpos and ends at rest at the last pose. The arm follows the lines without
    a search, and the path is refused if that is impossible. Collisions are not checked, see
    SelfCollision. d.qpos stays as it is.

    Args:
        m: the robot.
        d: its Data; d.qpos is the start.
        frame: name or number of a frame.
        positions: (n, 3) positions of its origin in the world, one after the other [m]; None: the
            origin stays.
        rotations: rotations of its axes in the world, (n, 3, 3) or quaternions wxyz (n, 4); None:
            the axes stay.
        limits: limits of the frame's speed and acceleration, and its blend; None:
            CartesianLimits().
        joints: names of the joints that may move, the columns of the path; None: all joints.

    Raises:
        ModelError: for the reasons of rb.ik.
        ParameterError: poses or joints are invalid, or the frame is at all poses already.
        RbdynError: the frame cannot reach a part of the path within the limits of positions; or a
            joint would exceed a limit of velocity or acceleration or jump, as near a singular
            posture.

    Source: rb.ik from point to point; clamped cubic splines, de Boor, A practical guide to
    splines, 1978.
    """
    check_pair(m, d, "cartesian_path")
    names, dofs = _columns(m, joints)
    fixed = [name for name in _free(m) if name not in names]
    here = frame_pose(m, d, frame)
    start = targets_of(*here)[0][0]
    targets = _targets(start, positions, rotations)
    motion = CartesianMotion(start, targets, limits or CartesianLimits())
    if motion.duration > LONGEST:
        duration, most = apart(motion.duration, LONGEST, digits=4)
        text = f"the motion would take {duration} s; allowed are {most} s"
        raise bad_argument("positions", text)
    number = int(np.clip(math.ceil(motion.duration / SPACING), FEWEST, MOST))
    times = np.linspace(0.0, motion.duration, number + 1)
    at: Array = d.qpos.copy()
    try:
        places = _followed(m, d, frame, motion, times, fixed)[:, m.jnt_qposadr[m.dof_jntid[dofs]]]
        path = _spline(times, places)
        fastest, gain, _ = motion_limits(m)[:, dofs]
        check_rates(path, names, fastest, gain, motion)
        d.qpos[:] = at
        _check_straight(m, d, frame, motion, path, m.jnt_qposadr[m.dof_jntid[dofs]])
    finally:
        d.qpos[:] = at
    return path


def check_frame(m: Model, frame: str, joints: Sequence[str]) -> None:
    """Raise ModelError or ParameterError unless joints move a frame."""
    body = int(m.frame_bodyid[m.frame_id(frame)])
    while body > 0:
        if m.jnt_names[body - 1] in joints:
            return
        body = int(m.body_parentid[body])
    raise bad_argument("frame", f"no controlled joint moves link {quote(frame)}")


def _free(m: Model) -> list[str]:
    """Return the names of joints with one coordinate of their own."""
    single = (m.jnt_dofnum == 1) & (m.jnt_class == JointClass.FREE)
    return [m.jnt_names[j] for j in np.flatnonzero(single)]


def _columns(m: Model, joints: Sequence[str] | None) -> tuple[list[str], Ints]:
    known = _free(m)
    names = known if joints is None else list(chosen(joints, known, "joint"))
    dofs = np.array([m.jnt_dofadr[m.jnt_names.index(name)] for name in names], np.int64)
    if not names:
        raise bad_argument("joints", "there is no joint that may move along the path")
    return names, dofs


def _targets(start: Array, positions: ArrayLike | None, rotations: ArrayLike | None) -> Array:
    found, _ = targets_of(positions, rotations)
    if positions is None:
        found[:, :3] = start[:3]
    if rotations is None:
        found[:, 3:] = start[3:]
    finite("positions", found[:, :3], None, -FARTHEST, FARTHEST)
    if not len(found):
        raise bad_argument("positions", "the path has no poses; give at least one")
    return found


def _followed(
    m: Model, d: Data, frame: str | int, motion: CartesianMotion, times: Array, fixed: list[str]
) -> Array:
    """Return the configurations (n, nq) at times, each found from the configuration before.

    The joints `fixed` do not move.

    Raise RbdynError at the first pose that the frame cannot reach.
    """
    places, turns = motion.poses(times)
    found = np.empty((len(times), m.nq))
    found[0] = d.qpos
    for k in range(1, len(times)):
        result = ik(m, d, frame, places[k], turns[k], fixed=fixed, attempts=1)
        if not result.success:
            away = f"{result.position_error:.3g} m and {result.rotation_error:.3g} rad"
            text = (
                f"at {motion.where(times[k])} the frame comes no nearer than {away} to the path: "
                "the path leaves the reach of the arm or the limits of its joints there"
            )
            raise refusal(text, CODE, str(frame))
        d.qpos[:] = found[k] = result.qpos
    return found


def _spline(times: Array, places: Array) -> Path:
    """Return the smoothest path through `places` (p, n) at times (p,), from rest to rest."""
    from scipy.interpolate import CubicSpline  # this import is slow

    return Path(times, places, CubicSpline(times, places, bc_type="clamped")(times, 1))


def check_rates(
    path: Path, names: Sequence[str], fastest: Array, gain: Array, motion: CartesianMotion
) -> None:
    """Raise RbdynError if a joint exceeds its limit of velocity or acceleration, or jumps.

    `fastest` are the velocity limits (n,), and `gain` the acceleration limits (n,); 0: no limit.
    """
    steps = np.abs(np.diff(path.positions, axis=0))
    allowed = np.minimum(fastest * np.diff(path.times)[:, None], JUMP)
    over = np.argwhere(steps > allowed * ROUNDING)
    speeds, accelerations = path.peaks()
    limited = np.where(gain > 0.0, gain, np.inf)  # 0 is not a limit, as in many files
    if len(over):
        at, k = over[0].tolist()
        speed = steps[at, k] / (path.times[at + 1] - path.times[at])
        raise _too_fast(motion.where(path.times[at]), names[k], speed, fastest[k])
    for k in np.flatnonzero(speeds > fastest * ROUNDING)[:1].tolist():
        at = int(np.abs(path.velocities[:, k]).argmax())
        raise _too_fast(motion.where(path.times[at]), names[k], speeds[k], fastest[k])
    for k in np.flatnonzero(accelerations > limited * ROUNDING)[:1].tolist():
        found, most = apart(accelerations[k], limited[k], digits=4)
        text = (
            f"joint '{names[k]}' would accelerate by {found} on the path; its "
            f"limit is {most}. Lower the speed and the acceleration of the frame"
        )
        raise refusal(text, CODE, names[k])


def _too_fast(where: str, name: str, speed: float, limit: float) -> RbdynError:
    found, most = apart(speed, limit, digits=4)
    text = (
        f"at {where} joint '{name}' would move at {found}; its velocity limit is {most}. "
        "Lower the speed of the frame, or choose a path that is farther from singular postures, "
        "where joints move fast and jump"
    )
    return refusal(text, CODE, name)


def _check_straight(
    m: Model, d: Data, frame: str | int, motion: CartesianMotion, path: Path, at: Ints
) -> None:
    """Raise RbdynError if the frame leaves its line between two points of the path.

    `at` are the indices of the path's joints in qpos.
    """
    times = 0.5 * (path.times[1:] + path.times[:-1])
    places, turns = motion.poses(times)
    rows = np.empty((3, path.positions.shape[1]))
    for k, time in enumerate(times.tolist()):
        d.qpos[at] = path.sample(time, rows)[0]
        place, turn = frame_pose(m, d, frame)
        away = max(np.abs(place - places[k]).max(), np.abs(turn - turns[k]).max())
        if away > STRAIGHT:
            off, most = apart(away, STRAIGHT, digits=3)
            text = (
                f"at {motion.where(time)} the frame would leave its line by {off} m or rad, "
                f"and {most} is allowed: the joints turn too sharply there, as near a "
                "singular posture or a joint limit. Lower the speed or change the path"
            )
            raise refusal(text, CODE, str(frame))
