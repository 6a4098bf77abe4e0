"""Inverse kinematics: configurations that bring a frame to where it should be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.checks.numbers import count, finite
from rbdyn_ros.dynamics.assembly import holonomic_rows
from rbdyn_ros.dynamics.configuration import random_qpos
from rbdyn_ros.dynamics.entry import Entry, check_pair, handles
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.engine.constants import survey
from rbdyn_ros.engine.quantities.inverse_kinematics import solve_targets, straighten
from rbdyn_ros.errors import Finding, ModelError, ParameterError, quote
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.joints import JointClass, JointType
from rbdyn_ros.model.model import Model

_solve_targets, _straighten, _survey = Entry(solve_targets), Entry(straighten), Entry(survey)

#: Largest number of attempts of one target.
MOST_ATTEMPTS = 10_000
#: Targets of one call of the kernel, between which Ctrl-C gets through.
PIECE = 16
#: By how much a rotation from outside may miss being one.
ROTATION_ERROR = 1e-6

#: In place of a position or a rotation that is not given.
NOWHERE, UNTURNED = np.zeros((1, 3)), np.eye(3).reshape(1, 9)


class IkResult(NamedTuple):
    """What rb.ik found. With many targets every field has one row per target.

    Attributes:
        qpos: (nq,) or (n, nq): the configuration; where success is False, the nearest one found.
        success: whether every error is within the tolerance.
        position_error: distance of the frame from its target [m]; 0 if none was given.
        rotation_error: angle of the frame from its target [rad]; 0 if none was given.
        loop_error: the largest position error of closed loops [m or rad].
        iterations: steps of all attempts together.
        attempts: number of starts tried.
    """

    qpos: Array
    success: Any
    position_error: Any
    rotation_error: Any
    loop_error: Any
    iterations: Any
    attempts: Any

    def check(self) -> Array:
        """Return qpos.

        Raises:
            ModelError: a target was not reached; the message says how near the frame came.
        """
        reached = np.atleast_1d(self.success)
        if reached.all():
            return self.qpos
        first = int(np.flatnonzero(~reached)[0])
        place, turn, loop, attempts = (
            np.atleast_1d(x)[first]
            for x in (self.position_error, self.rotation_error, self.loop_error, self.attempts)
        )
        which = "the target is"
        if np.ndim(self.success):
            which = f"{int((~reached).sum())} of {reached.size} targets are not reached; number "
            which += f"{first} is"
        open_loops = f", with loops open by {loop:.3g} m or rad" if loop > 0.0 else ""
        text = (
            f"ik: {which} not reached from {attempts} starts: the nearest configuration is "
            f"{place:.3g} m and {turn:.3g} rad away{open_loops}; the target is out of reach "
            "within the limits, or needs a start nearer to it"
        )
        raise ModelError(Finding("not-reached", text, "error", "target"))


def ik(
    m: Model,
    d: Data,
    frame: str | int,
    position: ArrayLike | None = None,
    rotation: ArrayLike | None = None,
    *,
    posture: ArrayLike | None = None,
    fixed: Sequence[str] = (),
    tolerance: float = 1e-8,
    attempts: int = 100,
) -> IkResult:
    """Return a configuration within the joint limits in which a frame is at a target.

    The search starts at d.qpos, then at configurations drawn at random within the limits, the
    same ones at every call; the first that is found is returned. Among separate solutions (elbow
    up or down) start near the one you want. Only the joints between the frame and the world move,
    or with closed loops those that the loops couple to them; mimic joints follow, also within
    their own limits, and loops are closed. Joints that turn without limit, or by more than one
    turn, end within half a turn of the start where the limits allow it. d.qpos stays as it is.

    Many targets are solved in one call, each on its own from d.qpos.

    Args:
        m: the Model.
        d: its Data; d.qpos is the start.
        frame: name or number of a frame.
        position: where its origin shall be in the world, (3,) or (n, 3) [m]; None: anywhere.
        rotation: its axes in the world: a rotation matrix (3, 3) or (n, 3, 3), or a quaternion
            wxyz (4,) or (n, 4); None: any. frame_pose returns both arguments.
        posture: (nq,) configuration that the result shall be near to as far as the target leaves
            room, in the sense of least squares of joint positions; the local minimum next to the
            solution found first. None: whatever is found.
        fixed: names of joints that stay where they are.
        tolerance: largest error of the position [m], of the angle [rad], and of loops.
        attempts: number of starts for each target.

    Returns:
        an IkResult; its `check()` returns the configuration or raises if there is none.

    Raises:
        ModelError: d was not made for m, the frame or a fixed joint is unknown, or no joint that
            may move carries the frame.
        ParameterError: there is no target, or an argument has the wrong shape, is not finite or
            is out of range.

    Source: Levenberg-Marquardt, Sugihara 2011; see engine/quantities/inverse_kinematics.py.
    """
    check_pair(m, d, "ik")
    number, fixed = m.frame_id(frame), _names(fixed)
    targets, single = _targets(position, rotation)
    kind = (number, fixed, position is not None, rotation is not None)
    problem = _problem(m, d, kind)
    start: Array = d.qpos.copy()
    if not np.isfinite(start).all():
        finite("d.qpos", start, (m.nq,), code="qpos")
    goal = start if posture is None else finite("posture", posture, (m.nq,), code="posture")
    tolerance = finite("tolerance", tolerance, above=0.0, code="tolerance")
    attempts = count("attempts", attempts, 1, MOST_ATTEMPTS, code="attempts")
    found, report = np.empty((len(targets), m.nq)), np.empty((len(targets), 6))
    seeds = _seeds(m, attempts - 1)
    try:
        for k in range(0, len(targets), PIECE):
            piece = slice(k, k + PIECE)
            _solve_targets.call(
                *handles(m, d), *kind[:1], *kind[2:], *problem.arrays, tolerance, *problem.space,
                start, seeds, attempts, posture is not None, goal, targets[piece], found[piece],
                report[piece],
            )  # fmt: skip
    finally:
        d.qpos[:] = start
    return _result(found, report, single)


def _result(found: Array, report: Array, single: bool) -> IkResult:
    if single:
        success, place, turn, loop, steps, used = report[0].tolist()
        return IkResult(found[0], success == 1.0, place, turn, loop, int(steps), int(used))
    counts = report[:, 4:].astype(np.int64)
    errors = report[:, 1:4].T.copy()
    return IkResult(found, report[:, 0] == 1.0, *errors, *counts.T.copy())


class _Problem(NamedTuple):
    """What may move for a frame, and the memory of its solution; see Task and Space."""

    arrays: tuple[Any, ...]
    space: tuple[Any, ...]


def _problem(m: Model, d: Data, kind: tuple[int, tuple[str, ...], bool, bool]) -> _Problem:
    kept: dict[Any, _Problem] = vars(d).setdefault("ik", {})
    if kind not in kept:
        kept[kind] = _new_problem(m, *kind)
    return kept[kind]


def _new_problem(
    m: Model, frame: int, fixed: tuple[str, ...], position: bool, rotation: bool
) -> _Problem:
    dofs = _moving_dofs(m, frame, fixed)
    joints = m.dof_jntid[dofs]
    at, limits = _limits(m, dofs)
    loops = np.flatnonzero(holonomic_rows(m))
    rows = 3 * position + 3 * rotation + len(loops)
    ends = np.append(m.jnt_qposadr[m.jnt_class == JointClass.FREE], m.nq)
    places = [np.arange(q, ends[ends > q].min()) for q in m.jnt_qposadr[np.unique(joints)]]
    hinged = (m.jnt_type[joints] == JointType.HINGE) & ~np.isin(joints, m.jnt_mimic)
    turning = hinged & (m.nefc == 0)
    balls = np.unique(
        joints[(m.jnt_type[joints] == JointType.BALL) & (m.jnt_limited[joints] == 1)]
    )
    at[turning] = m.jnt_qposadr[joints[turning]]
    arrays = (loops, dofs, np.concatenate(places), at, limits, turning.astype(np.int64), balls)
    space = (
        np.zeros((6, m.nv)), np.zeros((rows, len(dofs))), np.zeros((rows, rows)),
        np.zeros((2, rows)), np.zeros((2, m.nv)), np.zeros(len(dofs), np.int64),
        np.zeros((2, m.nq)),
    )  # fmt: skip
    return _Problem(arrays, space)


def _moving_dofs(m: Model, frame: int, fixed: tuple[str, ...]) -> Ints:
    """Return the dofs that move the frame, or the loops of which it is a part."""
    moves = np.zeros(m.nv, bool)
    body = int(m.frame_bodyid[frame])
    while body > 0:
        _mark(m, moves, body - 1, True)
        body = int(m.body_parentid[body])
    if m.nefc > 0:
        _mark_coupled(m, moves)
    for name in fixed:
        _mark(m, moves, m.jnt_id(name), False)
    if not moves.any():
        text = (
            f"ik: no joint that may move carries the frame {quote(m.frame_names[frame])}"
            f"{' but the fixed ones' if fixed else ''}; choose a frame behind a moving joint"
        )
        raise ModelError(Finding("frame-cannot-move", text, "error", m.frame_names[frame]))
    return np.flatnonzero(moves)


def _mark(m: Model, moves: Any, j: int, moving: bool) -> None:
    """Mark the dofs of a joint, for a mimic joint its leader's."""
    leader = int(m.jnt_mimic[j]) if m.jnt_mimic[j] >= 0 else j
    moves[m.dof_jntid == leader] = moving


def _mark_coupled(m: Model, moves: Any) -> None:
    """Mark all dofs that position constraints couple to marked ones, at a random qpos."""
    d = make_data(m)
    d.qpos[:] = random_qpos(m, np.random.default_rng(0))
    _survey.call(*handles(m, d))
    coupled = np.abs(d.efc_J[holonomic_rows(m)]) > 0.0
    before = -1
    while before != moves.sum():
        before = int(moves.sum())
        moves |= coupled[(coupled & moves).any(axis=1)].any(axis=0)


def _limits(m: Model, dofs: Ints) -> tuple[Ints, Array]:
    """Return the entry of qpos of each dof with limits, else -1, and the limits (n, 2).

    A mimic joint's limits count for its leader.
    """
    limits = np.tile([-np.inf, np.inf], (m.nv, 1))
    limits[m.limit_dofid] = m.limit_range
    single = (m.jnt_limited == 1) & (m.jnt_type != JointType.BALL)
    limits[m.jnt_dofadr[single]] = m.jnt_range[single]
    for j in m.mimic_jntid:
        ratio, k = m.jnt_mimic_ratio[j], m.jnt_dofadr[j]
        if ratio != 0.0:
            low, high = np.sort((m.jnt_range[j] - m.jnt_mimic_offset[j]) / ratio)
            limits[k] = max(limits[k, 0], low), min(limits[k, 1], high)
    joints = m.dof_jntid[dofs]
    limits = limits[dofs]
    at = m.jnt_qposadr[joints] + dofs - m.jnt_dofadr[joints]
    return np.where(np.isfinite(limits).any(axis=1), at, -1), limits


def _seeds(m: Model, number: int) -> Array:
    """Return configurations to start from, the same ones for every call."""
    kept: Array | None = vars(m).get("ik_seeds")
    if kept is None or len(kept) < number:
        rng = np.random.default_rng(0)
        drawn = [random_qpos(m, rng) for _ in range(number)]
        kept = vars(m)["ik_seeds"] = np.array(drawn).reshape(number, m.nq)
    return kept


def _names(fixed: Any) -> tuple[str, ...]:
    if isinstance(fixed, str) or not isinstance(fixed, Iterable):
        text = f"ik: fixed is {fixed!r}; allowed is a list of joint names"
        raise ParameterError(Finding("fixed", text, "error", "fixed"))
    return tuple(fixed)


def _targets(position: ArrayLike | None, rotation: ArrayLike | None) -> tuple[Array, bool]:
    """Return the targets (n, 12), position and rotation matrix, and whether it is a single one."""
    if position is None and rotation is None:
        text = "ik: there is no target; give a position, a rotation, or both"
        raise ParameterError(Finding("no-target", text, "error", "position"))
    places = NOWHERE if position is None else _positions(position)
    turns = UNTURNED if rotation is None else _matrices(rotation)
    n = max(len(places), len(turns)) if len(places) and len(turns) else 0
    if not (len(places) in (1, n) and len(turns) in (1, n)):
        text = f"ik: there are {len(places)} positions and {len(turns)} rotations; give as many"
        raise ParameterError(Finding("target", f"{text}, or one", "error", "rotation"))
    targets = np.empty((n, 12))
    targets[:, :3], targets[:, 3:] = places, turns
    wrong = _straighten.call(targets, ROTATION_ERROR)
    if wrong >= 0:
        raise _wrong_target(position, rotation, wrong)
    single = np.ndim(position) < 2 and (rotation is None or np.shape(rotation) in ((4,), (3, 3)))  # type: ignore[arg-type]
    return targets, single


def _positions(position: ArrayLike) -> Array:
    """Return positions (n, 3)."""
    places = _numbers("position", position)
    if places.ndim not in (1, 2) or places.shape[-1] != 3:
        raise _wrong_shape("position", places, "(3,) or (n, 3)")
    return places.reshape(-1, 3)


def _matrices(rotation: ArrayLike) -> Array:
    """Return rotation matrices, row by row (n, 9)."""
    turns = _numbers("rotation", rotation)
    if turns.ndim in (2, 3) and turns.shape[-2:] == (3, 3):
        return turns.reshape(-1, 9)
    if turns.ndim not in (1, 2) or turns.shape[-1] != 4:
        allowed = "a matrix (3, 3) or (n, 3, 3), or a quaternion wxyz (4,) or (n, 4)"
        raise _wrong_shape("rotation", turns, allowed)
    w, x, y, z = turns.reshape(
        -1, 4
    ).T  # of a quaternion q the matrix is that of a rotation, times q.q
    rows = [
        w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y),
        2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x),
        2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z,
    ]  # fmt: skip
    return np.stack(rows, axis=1)


def _numbers(name: str, value: ArrayLike) -> Array:
    """Return an array of numbers; the kernel refuses those that are not finite."""
    if type(value) is np.ndarray and value.dtype == np.float64:  # the usual case, fast
        return value
    return finite(name, value, None, code="target")


def _wrong_shape(name: str, found: Array, allowed: str) -> ParameterError:
    text = f"ik: {name} has the shape {found.shape}; allowed is {allowed}"
    return ParameterError(Finding("target", text, "error", name, None, "", allowed))


def _wrong_target(position: Any, rotation: Any, wrong: int) -> ParameterError:
    """Return the error of a target that is not finite, or whose rotation is none."""
    if position is not None:
        finite("position", position, None, code="target")
    finite("rotation", rotation, None, code="target")
    text = (
        f"ik: rotation {wrong} is no rotation; allowed are right-handed orthonormal matrices and "
        f"unit quaternions wxyz, to {ROTATION_ERROR:g}"
    )
    return ParameterError(Finding("not-a-rotation", text, "error", "rotation"))
