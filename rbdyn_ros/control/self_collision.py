"""Refuse paths on which an arm would touch itself, before it moves.

A path is checked without gaps: from one pose to the next no point of the arm can move farther than
the clearance that is left, because the speed of every point has a bound. Close to the margin the
steps are RESOLUTION long instead, so a link may come nearer than the margin by that much.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.control.kernels import entry
from rbdyn_ros.control.paths import Path
from rbdyn_ros.control.sampling import sample
from rbdyn_ros.dynamics.collisions import Memory, check_pairs, find_near, start_overlaps
from rbdyn_ros.dynamics.entry import handles
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.engine.collision.near import near_pairs
from rbdyn_ros.errors import Finding, ParameterError, refusal
from rbdyn_ros.model.joints import JointType
from rbdyn_ros.model.model import Model

if TYPE_CHECKING:
    from rbdyn_ros.engine.jit import Cube, Matrix, Vector
    from rbdyn_ros.model.data import Data

#: Shortest way between two poses that are checked, summed over all joints [m].
RESOLUTION = 1e-3
#: Pairs farther apart than the margin and this are not measured [m].
SIGHT = 0.2
#: Most poses of one path: some seconds.
MOST_POSES = 200_000
#: A pair that starts nearer than the margin may not come nearer, but for rounding [m].
ROUNDING = 1e-9

CLEAR, TOO_LONG = -1, -2

_sample = sample.kernel


class SelfCollision:
    """Checks paths of an arm; for any thread.

    Args:
        m: the arm with its geometries; all its joints turn or slide.
        dofs: (n,) degrees of freedom that the columns of paths belong to.
        margin: smallest distance of two links [m]. Two links that are nearer where a path starts
            may not come nearer.

    Raises:
        ModelError: the Model has no geometries, or too many.
        ParameterError: the speed of a link has no bound, because of the type of a joint or a
            slide without limits.
    """

    def __init__(self, m: Model, dofs: Ints, margin: float) -> None:
        check_pairs(m, "SelfCollision")
        self.overlaps = start_overlaps(m)
        self._m, self._dofs, self._margin = m, np.array(dofs, np.int64), margin
        self._reach = _reach(m)
        self._d, self._memory, self._lock = make_data(m), Memory(m), threading.Lock()
        overlapping = {(one.geom1, one.geom2) for one in self.overlaps}
        names, first_obstacle = m.geom_names_all, m.ngeomall - m.nobstacle
        self._skipped = np.array(
            [h >= first_obstacle or (names[g], names[h]) in overlapping for g, h in m.meet_geom],
            np.int64,
        )
        self.check([Path([0.0], np.zeros((1, len(dofs))))], m.qpos0)  # compiles it

    def check(self, parts: list[Path], qpos: Array) -> None:
        """Raise RbdynError if two links would come too near on a path.

        Args:
            parts: of the path, one after the other.
            qpos: (nq,) present position; joints that the path does not move stay there.
        """
        with self._lock:
            self._d.qpos[:] = qpos
            self._d.qpos[self._dofs] = parts[0].positions[0]
            bounds = self._bounds()
            for path in parts:
                self._check(path, bounds)

    def _bounds(self) -> Array:
        """Return the smallest allowed distance of each pair on a path that starts at d.qpos."""
        bounds = np.full(self._m.nmeet, self._margin)
        memory = self._memory
        number = find_near(self._m, self._d, self._margin, self._skipped, memory)
        near = memory.found[:number]
        bounds[near] = np.minimum(memory.out[:number, 0] - ROUNDING, self._margin)
        return bounds

    def _check(self, path: Path, bounds: Array) -> None:
        memory, rows = self._memory, np.empty((3, len(self._dofs)))
        fastest, result = self._fastest(path), np.zeros(2)
        pair = _first_breach.call(
            *handles(self._m, self._d), path.times, path.nodes, path.order, self._dofs, bounds,
            self._margin, fastest, self._skipped, memory.place, memory.order, memory.axes,
            memory.found, memory.out, rows, result,
        )  # fmt: skip
        if pair == TOO_LONG:
            text = "the path is too long to be checked for self-collision; send shorter ones"
            raise refusal(text, "self-collision")
        if pair != CLEAR:
            g, h = (self._m.geom_names_all[k] for k in self._m.meet_geom[pair])
            at, dist = result.tolist()
            how = f"be {1e3 * dist:.3g} mm apart" if dist >= 0.0 else "touch"
            text = (
                f"'{g}' and '{h}' would {how} at {at:.4g} s of the path; "
                f"self_collision_margin is {1e3 * self._margin:.3g} mm. If only their shapes are "
                "too coarse there, disable the pair in an SRDF"
            )
            raise refusal(text, "self-collision", g)

    def _fastest(self, path: Path) -> float:
        """Return a bound of the relative speed of any two points of the arm on a path."""
        m, speed = self._m, np.zeros(self._m.nv)
        speed[self._dofs] = path.peaks()[0]
        by_joint = np.zeros(m.njnt)
        moved = m.jnt_dofadr < m.nv
        own = np.abs(m.jnt_mimic_ratio)
        by_joint[moved] = own[moved] * speed[m.jnt_dofadr[moved]]
        return float(by_joint @ self._reach)


def _reach(m: Model) -> Array:
    """Return the largest speed of a point per unit of velocity of each joint, (njnt,)."""
    sliding = m.jnt_type == JointType.SLIDE
    travel = np.where(sliding, np.abs(m.jnt_range).max(axis=1), 0.0)
    known = (sliding | (m.jnt_type == JointType.HINGE)) & (m.jnt_reversed == 0)
    for j in np.flatnonzero(~(known & np.isfinite(travel)))[:1].tolist():
        why = "slides without limits" if sliding[j] else "neither turns nor slides"
        text = f"self-collision is not checked: joint '{m.jnt_names[j]}' {why}"
        raise ParameterError(Finding("self-collision", text, "error", m.jnt_names[j]))
    far = np.zeros(m.nbody)  # of the points of a subtree from the origin of its body
    beyond = np.linalg.norm(m.geom_pos_all, axis=1) + m.geom_rbound_all
    np.maximum.at(far, m.geom_bodyid_all, beyond)
    length = np.linalg.norm(m.body_pos, axis=1)
    for i in range(m.nbody - 1, 0, -1):
        parent = m.body_parentid[i]
        far[parent] = max(far[parent], length[i] + travel[i - 1] + far[i])
    reach: Array = np.where(sliding, 1.0, far[1:])
    return reach


@entry
def _first_breach(
    m: Model, d: Data, times: Vector, nodes: Cube, order: int, dofs: Ints, bounds: Vector,
    margin: float, fastest: float, skipped: Ints, place: Matrix, sweep: Ints, axes: Matrix,
    found: Ints, out: Matrix, rows: Matrix, result: Vector,
) -> int:  # fmt: skip
    """Return the first pair that comes too near on a path, CLEAR or TOO_LONG.

    `result` receives the time and the distance.
    """
    last = times[len(times) - 1]
    t = times[0]
    for _ in range(MOST_POSES):
        _sample(times, nodes, order, t, rows)
        for k in range(len(dofs)):
            d.qpos[dofs[k]] = rows[0, k]
        number = near_pairs(m, d, margin + SIGHT, skipped, place, sweep, axes, found, out)
        room = SIGHT
        for n in range(number):
            left = out[n, 0] - bounds[found[n]]
            if left < 0.0:
                result[0], result[1] = t, out[n, 0]
                pair: int = found[n]
                return pair
            room = min(room, left)
        if t >= last or fastest <= 0.0:
            return CLEAR
        t = min(last, t + max(room, RESOLUTION) / fastest)
    return TOO_LONG
