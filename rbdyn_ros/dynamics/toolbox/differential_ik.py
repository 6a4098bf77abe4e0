# SPDX-License-Identifier: Apache-2.0
"""Differential inverse kinematics: the velocity that meets tasks best within all limits."""

import importlib
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array, Bools, Ints
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.dynamics.assembly import holonomic_rows
from rbdyn_ros.dynamics.configuration import differentiate_pos, motion_limits
from rbdyn_ros.dynamics.entry import Entry, check_pair, handles
from rbdyn_ros.dynamics.toolbox.clearance import MovedPairs, clearance_of, moved_pairs
from rbdyn_ros.dynamics.toolbox.ik import dof_limits, joint_names, mark_joint
from rbdyn_ros.dynamics.toolbox.ik_targets import targets_of
from rbdyn_ros.engine.quantities.constants import survey
from rbdyn_ros.engine.quantities.differential_ik import pose_error, separation_rows
from rbdyn_ros.errors import Finding, ModelError, ParameterError, RbdynError
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model

_pose_error, _separation_rows, _survey = Entry(pose_error), Entry(separation_rows), Entry(survey)

#: A step ignores pairs that are farther apart than the clearance plus this distance [m].
SIGHT = 0.1
#: Numbers that daqp defines: a missing bound, and the marks of inequalities and equalities.
UNBOUNDED, WITHIN, EQUAL = 1e30, 0, 5
#: Allowed violation of a bound by a step [rad or m].
TOLERANCE = 1e-9
SOLVED = 1
#: The reasons why no step exists, for messages.
NOT_CLOSED = (
    "no step keeps the closed loops closed within the limits; give a configuration whose loops "
    "are closed, see rb.assemble"
)
TOO_DIFFERENT = (
    "the weights, velocities and the damping differ too much in size for double "
    "precision; choose weights nearer to 1"
)


class FrameTask(NamedTuple):
    """A moving target of a frame: a pose, a velocity, or both.

    Attributes:
        frame: name or number of the frame.
        position: target of the frame's origin in the world, (3,) [m]; None: any.
        rotation: target of the frame's axes in the world: a matrix (3, 3), or a quaternion wxyz
            (4,); None: any.
        velocity: target velocity at the frame's origin, [angular; linear] in world axes, (6,)
            [rad/s; m/s]. If there is a pose target, this velocity is added to the velocity towards
            the pose.
        position_weight: weight of an error in position [1/m].
        rotation_weight: weight of an error in rotation [1/rad].
        gain: share of the pose error that one step should remove, from 0 to 1.
    """

    frame: str | int
    position: ArrayLike | None = None
    rotation: ArrayLike | None = None
    velocity: ArrayLike | None = None
    position_weight: float = 1.0
    rotation_weight: float = 1.0
    gain: float = 1.0


class PostureTask(NamedTuple):
    """A configuration to approach as far as the other tasks allow.

    Attributes:
        qpos: (nq,) the configuration.
        weight: weight of a dof's error [1/rad or 1/m]; it should be small compared with the
            weights of frames.
        gain: share of the error that one step should remove, from 0 to 1.
    """

    qpos: ArrayLike
    weight: float = 1e-3
    gain: float = 0.1


def differential_ik(
    m: Model,
    d: Data,
    tasks: Sequence[FrameTask | PostureTask],
    dt: float,
    *,
    fixed: Sequence[str] = (),
    clearance: float | None = None,
    damping: float = 1e-6,
) -> Array:
    """Return the velocity qvel (nv,) that brings frames towards their targets within the limits.

    It minimises the weighted squared errors of the tasks after one step qvel dt,

        sum of w^2 |J qvel dt - gain e|^2 + damping |qvel dt|^2,

    under these constraints: no joint passes a limit of position or velocity, closed loops stay
    closed, and, if there is a clearance, all pairs keep this distance. Weights decide between
    conflicting tasks. A joint outside its limits can stay there, but not move farther out. A pair
    nearer than the clearance can stay so, but not come nearer. d.qpos does not change; call
    `rb.integrate_pos(m, d.qpos, qvel, dt)` to move. Distances and loops are linearised, so their
    error grows with the square of the step. A step that moves a link by more than 0.1 m can pass
    through an obstacle.

    Args:
        m: the Model.
        d: its Data; d.qpos is the present configuration.
        tasks: FrameTask and PostureTask objects.
        dt: length of the step [s].
        fixed: names of joints that keep their positions.
        clearance: smallest distance of links from each other and from obstacles [m]; m is loaded
            with `contact`. None: distances do not matter.
        damping: weight of the squared step; a larger weight slows the robot near singularities.

    Raises:
        ModelError: d was not made for m, a name is unknown, a Model without geometries is given a
            clearance, or closed loops cannot be kept within the limits.
        ParameterError: an argument has the wrong shape or type, is not finite or out of range.
        RbdynError: the package daqp is missing.

    Source: Escande, Mansard, Wieber, Hierarchical quadratic programming, 2014, section 2. The
    solver is daqp: Arnstrom, Bemporad, Axehill, A dual active-set solver for embedded quadratic
    programming using recursive LDL' updates, 2022.
    """
    check_pair(m, d, "differential_ik")
    dt = finite("dt", dt, above=0.0, code="dt")
    damping = finite("damping", damping, above=0.0, code="damping")
    if not np.isfinite(d.qpos).all():
        finite("d.qpos", d.qpos, (m.nq,), code="qpos")
    distance = clearance_of(clearance)
    problem = _problem(m, d, joint_names("differential_ik", fixed))
    J, e = _task_rows(m, d, tasks, dt)
    J = J[:, problem.dofs]
    with np.errstate(over="ignore", invalid="ignore"):  # _solve checks for overflow
        H, f = J.T @ J, -(J.T @ e)
    H.ravel()[:: len(H) + 1] += damping  # add to the diagonal
    step = np.zeros(m.nv)
    step[problem.dofs] = _solve(H, f, *_bounds(m, d, problem, dt, distance))
    return step / dt


class _VelocityProblem(NamedTuple):
    """The parts of the optimisation problem that do not depend on the configuration.

    Attributes:
        dofs: (n,) the dofs that may move.
        at: (n,) the entry of qpos for each dof with limits, -1 for other dofs.
        limits: (n, 2) position limits of each dof [rad or m].
        fastest: (n,) velocity limit of each dof [rad/s or m/s].
        loops: (nefc,) the equations of closed loops.
    """

    dofs: Ints
    at: Ints
    limits: Array
    fastest: Array
    loops: Bools


def _problem(m: Model, d: Data, fixed: tuple[str, ...]) -> _VelocityProblem:
    kept: dict[Any, _VelocityProblem] = vars(d).setdefault("differential_ik", {})
    if fixed not in kept:
        kept[fixed] = _new_problem(m, fixed)
    return kept[fixed]


def _new_problem(m: Model, fixed: tuple[str, ...]) -> _VelocityProblem:
    dofs = _moving(m, fixed)
    at, limits = dof_limits(m, dofs)
    fastest = motion_limits(m)[0, dofs]
    return _VelocityProblem(dofs, at, limits, fastest, holonomic_rows(m))


def _moving(m: Model, fixed: tuple[str, ...]) -> Ints:
    moves = np.ones(m.nv, bool)
    for name in fixed:
        mark_joint(m, moves, m.jnt_id(name), False)
    if not moves.any():
        text = f"differential_ik: all joints of '{m.name}' are fixed, so nothing can move"
        raise ParameterError(Finding("fixed", text, "error", "fixed"))
    return np.flatnonzero(moves)


def _task_rows(m: Model, d: Data, tasks: Any, dt: float) -> tuple[Array, Array]:
    """Return the weighted rows of all tasks (rows, nv), and the desired change of each row."""
    if not isinstance(tasks, Sequence) or not tasks:
        text = "differential_ik: tasks must be a list of FrameTask and PostureTask objects"
        raise ParameterError(Finding("tasks", text, "error", "tasks"))
    found = []
    for k, task in enumerate(tasks):
        if isinstance(task, FrameTask):
            found.append(_frame_rows(m, d, task, f"tasks[{k}].", dt))
        elif isinstance(task, PostureTask):
            found.append(_posture_rows(m, d, task, f"tasks[{k}]."))
        else:
            text = f"differential_ik: tasks[{k}] is a {type(task).__name__}; allowed are FrameTask"
            raise ParameterError(Finding("tasks", f"{text} and PostureTask", "error", "tasks"))
    return np.concatenate([J for J, _ in found]), np.concatenate([e for _, e in found])


def _frame_rows(m: Model, d: Data, task: FrameTask, name: str, dt: float) -> tuple[Array, Array]:
    J, e = np.empty((6, m.nv)), np.empty(6)
    frame, moving = m.frame_id(task.frame), task.velocity is not None
    posed = np.repeat([task.rotation is not None, task.position is not None], 3)
    target = np.eye(4, 3).ravel()
    if posed.any() or not moving:
        targets, single = targets_of(task.position, task.rotation)
        if not single:
            text = f"differential_ik: {name[:-1]} has {len(targets)} targets; allowed is one pose"
            raise ParameterError(Finding("target", text, "error", "tasks"))
        target = targets[0]
    _pose_error.call(*handles(m, d), frame, target, J, e)
    e *= finite(f"{name}gain", task.gain, low=0.0, high=1.0, code="gain") * posed
    if moving:
        e += dt * finite(f"{name}velocity", task.velocity, (6,), code="velocity")
    weights = np.repeat(
        [
            finite(f"{name}rotation_weight", task.rotation_weight, low=0.0, code="weight"),
            finite(f"{name}position_weight", task.position_weight, low=0.0, code="weight"),
        ],
        3,
    )
    rows = posed | moving
    return (weights[:, None] * J)[rows], (weights * e)[rows]


def _posture_rows(m: Model, d: Data, task: PostureTask, name: str) -> tuple[Array, Array]:
    qpos = np.array(finite(f"{name}qpos", task.qpos, (m.nq,), code="posture"))
    weight = finite(f"{name}weight", task.weight, low=0.0, code="weight")
    gain = finite(f"{name}gain", task.gain, low=0.0, high=1.0, code="gain")
    away = np.empty(m.nv)
    differentiate_pos(m, away, 1.0, d.qpos, qpos)
    return weight * np.eye(m.nv), weight * gain * away


def _bounds(
    m: Model, d: Data, problem: _VelocityProblem, dt: float, distance: float | None
) -> tuple[Array, Array, Array, Any]:
    """Return the constraint rows A (k, n), lower and upper bounds (n + k), and daqp's marks."""
    low, high = _step_limits(d, problem, dt)
    apart, room = np.empty((0, m.nv)), np.empty(0)
    if distance is not None:
        pairs = moved_pairs(m, d, problem.dofs, "differential_ik")
        apart, room = _separations(m, d, pairs, distance)
    loops, gaps = np.empty((0, m.nv)), np.empty(0)
    if m.nefc > 0:
        _survey.call(*handles(m, d))
        loops, gaps = d.efc_J[problem.loops], -d.efc_pos[problem.loops]
    marks = np.full(len(low) + len(room) + len(gaps), WITHIN, np.int32)
    marks[len(low) + len(room) :] = EQUAL
    return (
        np.concatenate([apart, loops])[:, problem.dofs],
        np.concatenate([low, -room, gaps]),
        np.concatenate([high, np.full(len(room), UNBOUNDED), gaps]),
        marks,
    )


def _step_limits(d: Data, problem: _VelocityProblem, dt: float) -> tuple[Array, Array]:
    """Return the smallest and the largest step of each dof that moves; 0 is always allowed."""
    q = np.where(problem.at >= 0, d.qpos[problem.at], 0.0)
    fastest = np.minimum(problem.fastest * dt, UNBOUNDED)
    low = np.maximum(np.minimum(problem.limits[:, 0] - q, 0.0), -fastest)
    return low, np.minimum(np.maximum(problem.limits[:, 1] - q, 0.0), fastest)


def _separations(m: Model, d: Data, pairs: MovedPairs, distance: float) -> tuple[Array, Array]:
    """Return the derivatives of distances by a step (n, nv), and the allowed decreases (n,)."""
    near = pairs.near(d, distance + SIGHT)
    rows = np.empty((len(near.rows), m.nv))
    first, second = np.ascontiguousarray(near.bodies.T)
    _separation_rows.call(*handles(m, d), first, second, near.rows, rows)
    return rows, np.maximum(near.rows[:, 0] - distance, 0.0)


def _solve(H: Array, f: Array, A: Array, low: Array, high: Array, marks: Any) -> Array:
    A = np.ascontiguousarray(A)
    if not (np.isfinite(H).all() and np.isfinite(f).all()):
        raise _no_step(TOO_DIFFERENT)
    step, _, status, _ = _daqp().solve(H, f, A, high, low, marks, primal_tol=TOLERANCE)
    if status != SOLVED or not np.isfinite(step).all():
        raise _no_step(NOT_CLOSED if (marks == EQUAL).any() else TOO_DIFFERENT)
    n = len(f)
    within: Array = np.clip(step, low[:n], high[:n])
    return within


def _no_step(reason: str) -> ModelError:
    return ModelError(Finding("no-step", f"differential_ik: {reason}", "error", "tasks"))


def check_solver() -> None:
    """Raise RbdynError if the package daqp is missing."""
    _daqp()


@cache
def _daqp() -> Any:
    try:
        return importlib.import_module("daqp")
    except ImportError as error:
        text = 'differential_ik needs the package daqp: pip install "rbdyn_ros[ik]"'
        raise RbdynError(Finding("daqp-missing", text, "error", "daqp")) from error
