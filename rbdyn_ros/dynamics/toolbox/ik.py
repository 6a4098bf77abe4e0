# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics: configurations that bring a frame to a target pose."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.checks.numbers import count, finite
from rbdyn_ros.dynamics.assembly import holonomic_rows
from rbdyn_ros.dynamics.configuration import random_qpos, slides
from rbdyn_ros.dynamics.entry import Entry, check_pair, handles
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.dynamics.toolbox.clearance import clearance_of, moved_pairs
from rbdyn_ros.dynamics.toolbox.ik_targets import targets_of
from rbdyn_ros.engine.quantities.constants import survey
from rbdyn_ros.engine.quantities.ik.targets import solve_targets
from rbdyn_ros.errors import Finding, ModelError, ParameterError, quote
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.declared.joints import JointClass, JointType
from rbdyn_ros.model.model import Model

_solve_targets, _survey = Entry(solve_targets), Entry(survey)

#: Largest number of attempts for one target.
MOST_ATTEMPTS = 10_000
#: Columns of a report; columns 1 to 3 are the errors of position, rotation and loops.
SOLVED, STEPS, ATTEMPTS, TOO_NEAR = 0, 4, 5, 6
#: Lengths of usual robots [m].
USUAL = 0.1, 10.0
#: Number of targets in one call of the kernel; Ctrl-C is handled between calls.
PIECE = 16


class IkResult(NamedTuple):
    """The result of rb.ik. With many targets every field has one row per target.

    Attributes:
        qpos: (nq,) or (n, nq): the configuration; if success is False, the configuration found
            nearest to the target.
        success: whether every error is within the tolerance.
        position_error: distance of the frame from its target [m]; 0 without a position target.
        rotation_error: angle between the frame and its target [rad]; 0 without a rotation target.
        loop_error: the largest position error of closed loops [m or rad].
        iterations: number of steps of all attempts together.
        attempts: number of starts tried.
        too_near: True if the target was reached, but only with a link nearer to an obstacle or
            another link than `clearance`; success is then False.
    """

    qpos: Array
    success: Any
    position_error: Any
    rotation_error: Any
    loop_error: Any
    iterations: Any
    attempts: Any
    too_near: Any

    def check(self) -> Array:
        """Return qpos if every target was reached.

        Raises:
            ModelError: a target was not reached; the message contains the remaining errors.
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
        if np.atleast_1d(self.too_near)[first]:
            text = (
                f"ik: {which} reached, but from each of {attempts} starts links come nearer to "
                "each other or to an obstacle than `clearance`; rb.collisions lists the pairs"
            )
            raise ModelError(Finding("too-near", text, "error", "target"))
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
    clearance: float | None = None,
) -> IkResult:
    """Return a configuration within the joint limits in which a frame is at a target.

    The search starts at d.qpos, then at random configurations within the limits, which are the
    same at every call. In the random configurations, prismatic, planar and floating joints without
    limits are set to bring the frame near the target. The first solution found is returned; if
    there are several (elbow up or down), start near the desired solution. Only the joints between
    the frame and the world move, and the joints that closed loops couple to them. Mimic joints
    follow within their own limits, and loops are closed. A joint that can rotate by more than a
    full turn ends within half a turn of the start if its limits allow it. d.qpos does not change.

    One call can solve many targets, each independently, starting at d.qpos.

    Args:
        m: the Model.
        d: its Data; d.qpos is the start.
        frame: name or number of a frame.
        position: target of the frame's origin in the world, (3,) or (n, 3) [m]; None: any.
        rotation: target of the frame's axes in the world: a rotation matrix (3, 3) or (n, 3, 3),
            or a quaternion wxyz (4,) or (n, 4); None: any. A matrix must be orthonormal, and a
            quaternion of unit length, up to 1e-3. frame_pose returns a position and a matrix.
        posture: (nq,) configuration to which the result should be as near as the target allows, by
            least squares of joint positions; it is the local minimum next to the first solution.
            None: the first solution is returned.
        fixed: names of joints that keep their positions.
        tolerance: largest error of the position [m], of the angle [rad], and of loops.
        attempts: largest number of starts for each target.
        clearance: smallest distance of links from each other and from obstacles [m], for pairs
            whose distance the moving joints change. m must be loaded with `contact`; pairs that
            `rb.collisions` leaves out do not count. None: distances do not matter.

    Returns:
        An IkResult. Its `check()` returns the configuration, or raises an error if none was found.

    Raises:
        ModelError: d was not made for m, the frame or a fixed joint is unknown, all joints
            that move the frame are fixed, or a Model without geometries is given a clearance.
        ParameterError: there is no target, or an argument has the wrong shape, is not finite or
            is out of range.

    Source: Sugihara, 2011 (Levenberg-Marquardt); see engine/quantities/ik/.
    """
    check_pair(m, d, "ik")
    number, fixed = m.frame_id(frame), joint_names("ik", fixed)
    targets, single = targets_of(position, rotation)
    kind = (number, fixed, position is not None, rotation is not None)
    problem = _problem(m, d, kind)
    start: Array = d.qpos.copy()
    if not np.isfinite(start).all():
        finite("d.qpos", start, (m.nq,), code="qpos")
    goal = start if posture is None else finite("posture", posture, (m.nq,), code="posture")
    tolerance = finite("tolerance", tolerance, above=0.0, code="tolerance")
    attempts = count("attempts", attempts, 1, MOST_ATTEMPTS, code="attempts")
    apart = None
    if (distance := clearance_of(clearance)) is not None:
        apart = partial(moved_pairs(m, d, problem.dofs, "ik").are_apart, d, distance)
    found, report = np.empty((len(targets), m.nq)), np.zeros((len(targets), 7))
    seeds, m_and_d = _seeds(m, attempts - 1), handles(m, d)

    def solve(piece: slice, first: int) -> None:
        _solve_targets.call(
            *m_and_d, *kind[:1], *kind[2:], *problem.arrays, tolerance, *problem.space, start,
            seeds, first, attempts, posture is not None, goal, targets[piece], found[piece],
            report[piece],
        )  # fmt: skip

    try:
        for k in range(0, len(targets), PIECE):
            solve(slice(k, k + PIECE), 0)
        if apart is not None:
            for k in range(len(targets)):
                _leave(d, apart, solve, k, found[k], report[k], attempts)
    finally:
        d.qpos[:] = start
    return _result(found, report, single)


def _leave(
    d: Data,
    apart: Callable[[], bool],
    solve: Any,
    k: int,
    qpos: Array,
    report: Array,
    attempts: int,
) -> None:
    """Solve target k again until links and obstacles are far enough apart; else mark TOO_NEAR."""
    near, steps = None, 0.0
    while report[SOLVED] == 1.0:
        d.qpos[:] = qpos
        if apart():
            report[STEPS] += steps
            return
        near = qpos.copy(), report[1:STEPS].copy()
        if report[ATTEMPTS] == attempts:
            break
        steps += report[STEPS]
        solve(slice(k, k + 1), int(report[ATTEMPTS]))
    if near is not None:
        qpos[:], report[1:STEPS] = near
        report[SOLVED], report[TOO_NEAR] = 0.0, 1.0
        report[STEPS] += steps


def _result(found: Array, report: Array, single: bool) -> IkResult:
    if single:
        success, place, turn, loop, steps, used, near = report[0].tolist()
        return IkResult(
            found[0], success == 1.0, place, turn, loop, int(steps), int(used), near == 1.0
        )
    place, turn, loop = report[:, 1:STEPS].T.copy()
    steps, used = report[:, STEPS:TOO_NEAR].T.astype(np.int64)
    near = report[:, TOO_NEAR] == 1.0
    return IkResult(found, report[:, SOLVED] == 1.0, place, turn, loop, steps, used, near)


class _IkProblem(NamedTuple):
    """The dofs that may move a frame, and the scratch memory of the solver; see Task and Space."""

    dofs: Ints
    arrays: tuple[Any, ...]
    space: tuple[Any, ...]


def _problem(m: Model, d: Data, kind: tuple[int, tuple[str, ...], bool, bool]) -> _IkProblem:
    kept: dict[Any, _IkProblem] = vars(d).setdefault("ik", {})
    if kind not in kept:
        kept[kind] = _new_problem(m, *kind)
    return kept[kind]


def _new_problem(
    m: Model, frame: int, fixed: tuple[str, ...], position: bool, rotation: bool
) -> _IkProblem:
    dofs = _moving_dofs(m, frame, fixed)
    joints = m.dof_jntid[dofs]
    at, limits = dof_limits(m, dofs)
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
    arrays = (
        loops, dofs, np.concatenate(places), at, limits, turning.astype(np.int64), balls,
        *slides(m, dofs), _weight(m, frame),
    )  # fmt: skip
    space = (
        np.zeros((6, m.nv)), np.zeros((rows, len(dofs))), np.zeros((rows, rows)),
        np.zeros((2, rows)), np.zeros((2, m.nv)), np.zeros(len(dofs), np.int64),
        np.zeros((2, m.nq)),
    )  # fmt: skip
    return _IkProblem(dofs, arrays, space)


def _weight(m: Model, frame: int) -> float:
    """Return the weight of a position error [1/m]; a rotation error has the weight 1 [1/rad].

    The weight is 1 for robots of usual size, and otherwise 1 over the length of the links that
    carry the frame.
    """
    length, body = float(np.linalg.norm(m.frame_pos[frame])), int(m.frame_bodyid[frame])
    while body > 0:
        length += float(np.linalg.norm(m.body_pos[body]))
        body = int(m.body_parentid[body])
    return 1.0 if length == 0.0 or USUAL[0] <= length <= USUAL[1] else 1.0 / length


def _moving_dofs(m: Model, frame: int, fixed: tuple[str, ...]) -> Ints:
    """Return the dofs that move the frame or its loops; raise ModelError if there are none."""
    moves = np.zeros(m.nv, bool)
    body = int(m.frame_bodyid[frame])
    while body > 0:
        mark_joint(m, moves, body - 1, True)
        body = int(m.body_parentid[body])
    if m.nefc > 0:
        _mark_coupled(m, moves)
    is_carried = bool(moves.any())
    for name in fixed:
        mark_joint(m, moves, m.jnt_id(name), False)
    if not moves.any():
        name = quote(m.frame_names[frame])
        text = f"ik: no joint moves the frame {name}; choose a frame behind a moving joint"
        if is_carried:
            text = (
                f"ik: the argument fixed names all joints that move the frame {name}; leave at "
                "least one joint out"
            )
        raise ModelError(Finding("frame-cannot-move", text, "error", m.frame_names[frame]))
    return np.flatnonzero(moves)


def mark_joint(m: Model, moves: Any, j: int, moving: bool) -> None:
    """Write to `moves` whether the dofs of a joint, or of a mimic joint's leader, may move."""
    leader = int(m.jnt_mimic[j]) if m.jnt_mimic[j] >= 0 else j
    moves[m.dof_jntid == leader] = moving


def _mark_coupled(m: Model, moves: Any) -> None:
    """Mark all dofs that position constraints couple to marked dofs, tested at a random qpos."""
    d = make_data(m)
    d.qpos[:] = random_qpos(m, np.random.default_rng(0))
    _survey.call(*handles(m, d))
    coupled = np.abs(d.efc_J[holonomic_rows(m)]) > 0.0
    before = -1
    while before != moves.sum():
        before = int(moves.sum())
        moves |= coupled[(coupled & moves).any(axis=1)].any(axis=0)


def dof_limits(m: Model, dofs: Ints) -> tuple[Ints, Array]:
    """Return, for each dof, its entry of qpos if it has limits, else -1; and the limits (n, 2).

    The limits of a mimic joint apply to its leader.
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
    """Return configurations to start from, which are the same for every call."""
    kept: Array | None = m.kept.get("ik_seeds")
    if kept is None or len(kept) < number:
        rng = np.random.default_rng(0)
        drawn = [random_qpos(m, rng) for _ in range(number)]
        kept = m.kept["ik_seeds"] = np.array(drawn).reshape(number, m.nq)
    return kept


def joint_names(function: str, fixed: Any) -> tuple[str, ...]:
    """Return the names of the joints that keep their positions, or raise ParameterError."""
    if not isinstance(fixed, str) and isinstance(fixed, Iterable):
        names = tuple(fixed)
        if all(isinstance(name, str | int | np.integer) for name in names):
            return names
    text = f"{function}: fixed is {fixed!r}; allowed is a list of joint names"
    raise ParameterError(Finding("fixed", text, "error", "fixed"))
