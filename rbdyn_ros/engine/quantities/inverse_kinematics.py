"""Inverse kinematics: Levenberg-Marquardt within limits, from many starts, and a posture.

The rows of a target are the position and the rotation of one frame, and with closed loops the
position errors of all loops. A step s minimises

    |G s - e|^2 + damping |s|^2    with q + s within the limits

over the dofs that may move: a dof that would pass its limit goes to it, and the others are solved
again. The system has one equation per row, however many dofs there are.

Source: Sugihara, Solvability-unconcerned inverse kinematics by the Levenberg-Marquardt method,
2011 (damping by the remaining error); Baerlocher, Boulic, An inverse kinematics architecture
enforcing an arbitrary number of strict priority levels, 2004 (limits); Liegeois, Automatic
supervisory control of the configuration and behavior of multibody mechanisms, 1977 (posture).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rbdyn_ros.engine.integrate import differentiate_pos, integrate_pos
from rbdyn_ros.engine.jit import brief, inline, kernel
from rbdyn_ros.engine.joints.groups import log_mat
from rbdyn_ros.engine.kinematics import axes, poses
from rbdyn_ros.engine.optional import call_stage
from rbdyn_ros.engine.quantities.jacobian import pose_and_jacobian
from rbdyn_ros.engine.spatial import IDENTITY, cross3, dot3, mat_mul, quat_at, transposed

if TYPE_CHECKING:
    from rbdyn_ros.arrays import Ints
    from rbdyn_ros.engine.jit import Matrix, Vector
    from rbdyn_ros.model.data import Data
    from rbdyn_ros.model.model import Model

#: Steps of one attempt; slower ones end in a local minimum.
MAX_STEPS = 60
#: A step that leaves more than this share of the squared error is slow; so many end an attempt.
SLOW, MOST_SLOW = 0.9, 4
#: The longest step of a dof [rad or m].
LONGEST_STEP = 1.0
#: Damping in units of the squared error: at the start, its factors after a step, and its floor.
DAMPING, LESS, MORE, LEAST = 0.02, 0.8, 4.0, 1e-11
#: Steps towards a posture, and the largest one that counts as arrived [rad or m].
POSTURE_STEPS, ARRIVED = 200, 1e-7
#: On the way to a posture targets are met this much better, or their errors would hide its steps.
SHARPER = 1e-4


class Task(NamedTuple):
    """What is asked of a frame, and what may move.

    Attributes:
        frame: its number.
        position, rotation: whether they matter.
        loops: (nloops,) the rows of efc_pos that matter.
        dofs: (n,) the dofs that may move.
        places: (k,) the entries of qpos that may move.
        at: (n,) the entry of qpos of each dof that is one, else -1: it has limits then.
        limits: (n, 2).
        turning: (n,) 1 if a whole turn of the dof changes no pose.
        balls: the ball joints that may move and have a limit.
        tolerance: of every error [m or rad].
    """

    frame: Any
    position: Any
    rotation: Any
    loops: Any
    dofs: Any
    places: Any
    at: Any
    limits: Any
    turning: Any
    balls: Any
    tolerance: Any


class Space(NamedTuple):
    """Memory of a solution.

    Attributes:
        J: (6, nv) Jacobian of the frame.
        G: (rows, n) Jacobian of the rows.
        A: (rows, rows) system of a step, then its Cholesky factor.
        e, y: (rows,) errors; right-hand side and solution.
        step: (nv,) step of every dof.
        held: (n,) 1 for dofs that go to a limit.
        kept, best: (nq,) configurations to return to.
        away: (nv,) from the configuration to the posture.
    """

    J: Any
    G: Any
    A: Any
    e: Any
    y: Any
    step: Any
    held: Any
    kept: Any
    best: Any
    away: Any


@kernel
def solve_targets(
    m: Model, d: Data, frame: int, position: bool, rotation: bool, loops: Ints, dofs: Ints,
    places: Ints, at: Ints, limits: Matrix, turning: Ints, balls: Ints, tolerance: float,
    J: Matrix, G: Matrix, A: Matrix, rows: Matrix, velocities: Matrix, held: Ints,
    configurations: Matrix, start: Vector, seeds: Matrix, first: int, attempts: int,
    postured: bool, posture: Vector, targets: Matrix, found: Matrix, report: Matrix,
) -> None:  # fmt: skip
    """Write a configuration to found (n, nq) for each of targets (n, 12), from start and seeds.

    A row of targets is a position and a rotation matrix, row by row. A row of report (n, 6) is:
    solved, the errors of position, rotation and loops, steps, attempts. Attempts before `first`,
    which count too, are skipped: a caller was not content with their result.
    """
    task = Task(
        frame, position, rotation, loops, dofs, places, at, limits, turning, balls, tolerance
    )
    w = Space(
        J, G, A, rows[0], rows[1], velocities[0], held, configurations[0], configurations[1],
        velocities[1],
    )  # fmt: skip
    for t in range(targets.shape[0]):
        target = targets[t]
        solved, steps, used = _from_all_starts(
            m, d, task, w, target, start, seeds, first, attempts
        )
        if solved:
            _turn_back(d, task, posture if postured else start)
            if postured:
                _take_posture(m, d, task, w, target, posture)
        errors = _look(m, d, task, w, target)
        report[t, 0] = 1.0 if solved else 0.0
        report[t, 1], report[t, 2], report[t, 3] = errors
        report[t, 4], report[t, 5] = steps, used
        for k in range(m.nq):
            found[t, k] = d.qpos[k]


@brief
def straighten(targets: Matrix, most: float) -> int:
    """Replace the rotations of targets (n, 12) by the nearest ones: Newton's iteration.

    Returns:
        the first row whose matrix is not a rotation, by more than `most` in an entry of R^T R, or
        whose numbers are not finite; -1 if there is none.
    """
    for t in range(targets.shape[0]):
        total = 0.0
        for k in range(12):
            total += targets[t, k]
        if not np.isfinite(total):
            return t
        for _ in range(3):
            R = _rotation_of(targets[t])
            S = mat_mul(transposed(R), R)
            gap = 0.0
            for k in range(9):
                gap = max(gap, abs(S[k] - IDENTITY[k]))
            right_handed = dot3(cross3((R[0], R[1], R[2]), (R[3], R[4], R[5])), (R[6], R[7], R[8]))
            if gap > most or right_handed < 0.0:
                return t
            # R (3 - R^T R) / 2
            half = (
                1.5 - 0.5 * S[0], -0.5 * S[1], -0.5 * S[2], -0.5 * S[3], 1.5 - 0.5 * S[4],
                -0.5 * S[5], -0.5 * S[6], -0.5 * S[7], 1.5 - 0.5 * S[8],
            )  # fmt: skip
            R = mat_mul(R, half)
            for k in range(9):
                targets[t, 3 + k] = R[k]
    return -1


@inline
def _rotation_of(target):
    return (
        target[3], target[4], target[5], target[6], target[7], target[8], target[9], target[10],
        target[11],
    )  # fmt: skip


@kernel
def _from_all_starts(m, d, task, w, target, start, seeds, first, attempts):
    """Write qpos, solved or the nearest; return whether it is solved, the steps, the attempts."""
    least, steps = np.inf, 0
    for k in range(m.nq):
        d.qpos[k] = start[k]
    for attempt in range(first, attempts):
        if attempt > 0:
            for n in range(task.places.size):
                d.qpos[task.places[n]] = seeds[attempt - 1, task.places[n]]
        _clip(m, d, task)
        solved, cost, taken = _descend(m, d, task, w, target)
        steps += taken
        if solved:
            return True, steps, attempt + 1
        if cost < least or attempt == first:
            least = cost
            for k in range(m.nq):
                w.best[k] = d.qpos[k]
    for k in range(m.nq):
        d.qpos[k] = w.best[k]
    return False, steps, attempts


@kernel
def _descend(m, d, task, w, target):
    """Step until the target is reached or steps are slow; return whether, cost, and steps."""
    damping, slow = DAMPING, 0
    solved, cost = _errors(m, d, task, w, target)
    for taken in range(MAX_STEPS):
        if solved or slow == MOST_SLOW or not np.isfinite(cost):
            return solved, cost, taken
        for k in range(m.nq):
            w.kept[k] = d.qpos[k]
        _find_step(m, d, task, w, damping * cost + LEAST)
        integrate_pos(m, d.qpos, w.step, 1.0)
        _clip(m, d, task)
        solved, after = _errors(m, d, task, w, target)
        slow = slow + 1 if after > SLOW * cost else 0
        if after < cost:
            cost = after
            damping *= LESS
        else:
            damping *= MORE
            for k in range(m.nq):
                d.qpos[k] = w.kept[k]
            solved, cost = _errors(m, d, task, w, target)
    return solved, cost, MAX_STEPS


@kernel
def _errors(m, d, task, w, target):
    """Write e and G; return whether every error is within the tolerance, and the cost e.e."""
    position, rotation, loops = _look(m, d, task, w, target)
    cost = 0.0
    for r in range(w.e.size):
        cost += w.e[r] * w.e[r]
    return max(position, rotation, loops) <= task.tolerance, cost


@kernel
def _look(m, d, task, w, target):
    """Write e and G at qpos; return the errors of position [m], rotation [rad] and loops."""
    x, R = pose_and_jacobian(m, d, task.frame, w.J)
    row, position, rotation, loops = 0, 0.0, 0.0, 0.0
    if task.position:
        w.e[0], w.e[1], w.e[2] = target[0] - x[0], target[1] - x[1], target[2] - x[2]
        position = np.sqrt(w.e[0] ** 2 + w.e[1] ** 2 + w.e[2] ** 2)
        _take_rows(task, w, 3, 0)
        row = 3
    if task.rotation:
        turn = mat_mul(_rotation_of(target), transposed(R))
        w.e[row], w.e[row + 1], w.e[row + 2] = log_mat(turn)
        rotation = np.sqrt(w.e[row] ** 2 + w.e[row + 1] ** 2 + w.e[row + 2] ** 2)
        _take_rows(task, w, 0, row)
        row += 3
    if m.nefc > 0:
        poses(m, d)
        axes(m, d)
        call_stage(m.constraint_stage, m, d)
        for i in range(task.loops.size):
            r = task.loops[i]
            w.e[row + i] = -d.efc_pos[r]
            loops = max(loops, abs(d.efc_pos[r]))
            for n in range(task.dofs.size):
                w.G[row + i, n] = d.efc_J[r, task.dofs[n]]
    return position, rotation, loops


@kernel
def _take_rows(task, w, first, row):
    """Copy three rows of J, the columns of the dofs that may move, to G."""
    for n in range(task.dofs.size):
        k = task.dofs[n]
        w.G[row, n] = w.J[first, k]
        w.G[row + 1, n] = w.J[first + 1, k]
        w.G[row + 2, n] = w.J[first + 2, k]


@kernel
def _find_step(m, d, task, w, damping):
    """Write the step: s = G^T y with (G G^T + damping) y = e - G s_held, within the limits."""
    for n in range(task.dofs.size):
        w.held[n] = 0
        w.step[task.dofs[n]] = 0.0
    for _ in range(task.dofs.size + 1):
        for r in range(w.e.size):
            w.y[r] = w.e[r]
        _free_step(task, w, damping)
        if not _hold_at_limits(d, task, w):
            break
    longest = 0.0
    for n in range(task.dofs.size):
        longest = max(longest, abs(w.step[task.dofs[n]]))
    if longest > LONGEST_STEP:
        for n in range(task.dofs.size):
            w.step[task.dofs[n]] *= LONGEST_STEP / longest


@kernel
def _free_step(task, w, damping):
    """Write the step of the dofs that are not held, from y, the error without the held ones."""
    for n in range(task.dofs.size):
        if w.held[n]:
            for r in range(w.y.size):
                w.y[r] -= w.G[r, n] * w.step[task.dofs[n]]
    _factor(task, w, damping)
    _solve(w)
    for n in range(task.dofs.size):
        if not w.held[n]:
            s = 0.0
            for r in range(w.y.size):
                s += w.G[r, n] * w.y[r]
            w.step[task.dofs[n]] = s


@kernel
def _hold_at_limits(d, task, w):
    """Hold the dofs whose step would pass a limit at that limit; return whether there are any."""
    passed = False
    for n in range(task.dofs.size):
        if task.at[n] >= 0 and not w.held[n]:
            q = d.qpos[task.at[n]]
            reached = q + w.step[task.dofs[n]]
            limit = min(max(reached, task.limits[n, 0]), task.limits[n, 1])
            if limit != reached:
                w.held[n] = 1
                w.step[task.dofs[n]] = limit - q
                passed = True
    return passed


@kernel
def _factor(task, w, damping):
    """Write the Cholesky factor of G G^T + damping, over the dofs that are not held."""
    rows = w.y.size
    for r in range(rows):
        for c in range(r + 1):
            total = damping if r == c else 0.0
            for n in range(task.dofs.size):
                if not w.held[n]:
                    total += w.G[r, n] * w.G[c, n]
            for k in range(c):
                total -= w.A[r, k] * w.A[c, k]
            # rounding may leave less than the damping on the diagonal
            w.A[r, c] = np.sqrt(max(total, LEAST)) if r == c else total / w.A[c, c]


@kernel
def _solve(w):
    """Replace y by the solution of the factored system."""
    rows = w.y.size
    for r in range(rows):
        for k in range(r):
            w.y[r] -= w.A[r, k] * w.y[k]
        w.y[r] /= w.A[r, r]
    for r in range(rows - 1, -1, -1):
        for k in range(r + 1, rows):
            w.y[r] -= w.A[k, r] * w.y[k]
        w.y[r] /= w.A[r, r]


@kernel
def _clip(m, d, task):
    """Move every coordinate with limits into them."""
    for n in range(task.dofs.size):
        if task.at[n] >= 0:
            q = d.qpos[task.at[n]]
            d.qpos[task.at[n]] = min(max(q, task.limits[n, 0]), task.limits[n, 1])
    for i in range(task.balls.size):
        _clip_ball(m, d, task.balls[i])


@kernel
def _clip_ball(m, d, j):
    """Turn a ball joint back to the angle of its limit, about the same axis."""
    q = m.jnt_qposadr[j]
    w, x, y, z = quat_at(d.qpos, q)
    sine = np.sqrt(x * x + y * y + z * z)
    half = 0.5 * m.jnt_range[j, 1]
    if np.arctan2(sine, abs(w)) > half:
        scale = np.sin(half) / sine
        d.qpos[q] = np.copysign(np.cos(half), w)
        d.qpos[q + 1], d.qpos[q + 2], d.qpos[q + 3] = scale * x, scale * y, scale * z


@kernel
def _turn_back(d, task, near):
    """Turn dofs by whole turns towards a configuration, within the limits."""
    for n in range(task.dofs.size):
        if task.turning[n]:
            k = task.at[n]
            turns = np.floor((near[k] - d.qpos[k]) / (2.0 * np.pi) + 0.5)
            while turns != 0.0:
                q = d.qpos[k] + turns * 2.0 * np.pi
                if task.limits[n, 0] <= q <= task.limits[n, 1]:
                    d.qpos[k] = q
                    break
                turns -= np.sign(turns)


@kernel
def _take_posture(m, d, task, w, target, posture):
    """Move towards a posture without leaving the target: gradient projection.

    A step is the part of the way that changes no row, and a correction back to the target. It
    counts if the posture is nearer then; if not, half of it is tried.
    """
    sharp = Task(
        task.frame, task.position, task.rotation, task.loops, task.dofs, task.places, task.at,
        task.limits, task.turning, task.balls, SHARPER * task.tolerance,
    )  # fmt: skip
    _descend(m, d, sharp, w, target)
    share = 1.0
    distance = _distance(m, d, task, w, posture)
    for k in range(m.nq):
        w.best[k] = d.qpos[k]
    for _ in range(POSTURE_STEPS):
        _errors(m, d, task, w, target)
        _null_step(d, task, w)
        longest = 0.0
        for n in range(task.dofs.size):
            longest = max(longest, abs(w.step[task.dofs[n]]))
        if longest <= ARRIVED or share < ARRIVED:
            break
        scale = share * min(1.0, LONGEST_STEP / longest)
        integrate_pos(m, d.qpos, w.step, scale)
        _clip(m, d, task)
        _descend(m, d, sharp, w, target)
        solved, _ = _errors(m, d, task, w, target)
        after = _distance(m, d, task, w, posture)
        nearer = solved and after < distance
        for k in range(m.nq):
            if nearer:
                w.best[k] = d.qpos[k]
            else:
                d.qpos[k] = w.best[k]
        if nearer:
            distance, share = after, min(1.0, 2.0 * share)
        else:
            share *= 0.5
            distance = _distance(m, d, task, w, posture)


@kernel
def _distance(m, d, task, w, posture):
    """Write the way from qpos to a posture; return half of its square, over dofs that move."""
    differentiate_pos(m, w.away, 1.0, d.qpos, posture)
    total = 0.0
    for n in range(task.dofs.size):
        total += 0.5 * w.away[task.dofs[n]] ** 2
    return total


@kernel
def _null_step(d, task, w):
    """Write the part of `away` that changes no row; dofs at a limit that would pass it stay."""
    for n in range(task.dofs.size):
        w.held[n] = 0
        w.step[task.dofs[n]] = 0.0
    for _ in range(task.dofs.size + 1):
        for r in range(w.y.size):
            w.y[r] = 0.0
            for n in range(task.dofs.size):
                if not w.held[n]:
                    w.y[r] -= w.G[r, n] * w.away[task.dofs[n]]
        _free_step(task, w, LEAST)
        for n in range(task.dofs.size):
            if not w.held[n]:
                w.step[task.dofs[n]] += w.away[task.dofs[n]]
        if not _stay_at_limits(d, task, w):
            break


@kernel
def _stay_at_limits(d, task, w):
    """Hold the dofs that are at a limit and would pass it; return whether there are any."""
    passed = False
    for n in range(task.dofs.size):
        k = task.at[n]
        if k >= 0 and not w.held[n]:
            s = w.step[task.dofs[n]]
            low, high = task.limits[n, 0], task.limits[n, 1]
            if (s < 0.0 and d.qpos[k] <= low) or (s > 0.0 and d.qpos[k] >= high):
                w.held[n] = 1
                w.step[task.dofs[n]] = 0.0
                passed = True
    return passed
