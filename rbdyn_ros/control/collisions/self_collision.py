# SPDX-License-Identifier: Apache-2.0
"""Refuse paths on which an arm would touch itself or its world, before it moves.

A path is checked without gaps: from one pose to the next no point of the arm can move farther than
the clearance that is left, because the speed of every point has a bound. Close to the margin the
steps are RESOLUTION long instead, so a link may come nearer than the margin by that length.
"""

import threading

import numpy as np

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.control.collisions.collision_kernels import (
    CLEAR,
    RESOLUTION,
    TOO_LONG,
    first_breach,
)
from rbdyn_ros.control.collisions.uncontrolled import uncontrolled
from rbdyn_ros.control.motion.paths import Path
from rbdyn_ros.dynamics.collisions import NearPairs, check_pairs, find_near, start_overlaps
from rbdyn_ros.dynamics.entry import handles
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.errors import Finding, ParameterError, RbdynError, apart, refusal
from rbdyn_ros.model.declared.joints import JointType
from rbdyn_ros.model.model import Model

#: A pair that starts nearer than the margin may come nearer only by this rounding error [m].
ROUNDING = 1e-9


class SelfCollision:
    """Checks paths of an arm. Any thread may use it.

    Args:
        m: the arm with its geometries; all its joints turn or slide.
        dofs: (n,) degrees of freedom of the columns of a path.
        margin: smallest distance of two links, or of a link and an obstacle [m], RESOLUTION or
            more. Two bodies that are nearer where a path starts must not come nearer.
        links: whether pairs of links are checked.
        world: whether links and obstacles are checked.

    Attributes:
        model: the arm with its geometries.
        margin: the argument.
        overlaps: the pairs of links that overlap at qpos0, which are not checked.
        uncontrolled: joints outside of dofs that the distances depend on.

    Raises:
        ModelError: the Model has no geometries, or too many.
        ParameterError: the margin is too small; or the speed of a link has no bound, because of
            the type of a joint or a slide without limits.
    """

    def __init__(
        self, m: Model, dofs: Ints, margin: float, *, links: bool = True, world: bool = False
    ) -> None:
        check_pairs(m, "SelfCollision")
        if not margin >= RESOLUTION:
            found, least = apart(1e3 * margin, 1e3 * RESOLUTION)
            text = (
                f"the margin is {found} mm; allowed are {least} mm or more: a path is checked in "
                f"steps of {least} mm, between which thin parts could pass through each other"
            )
            raise ParameterError(Finding("self-collision", text, "error", "margin"))
        self.overlaps = start_overlaps(m)
        self.model, self._dofs, self.margin = m, np.array(dofs, np.int64), margin
        self._reach = _reach_of_dofs(m)[self._dofs]
        self._d, self._memory, self._lock = make_data(m), NearPairs(m), threading.Lock()
        overlapping = {(one.geom1, one.geom2) for one in self.overlaps}
        names, self._obstacle = m.geom_names, m.ngeomlink
        wanted = (
            world if h >= self._obstacle else links and (names[g], names[h]) not in overlapping
            for g, h in m.distance_geom
        )  # fmt: skip
        self._skipped = np.array([not one for one in wanted], np.int64)
        self.uncontrolled = uncontrolled(m, self._dofs, m.distance_geom[self._skipped == 0])
        self.check([Path([0.0], np.zeros((1, len(dofs))))], m.qpos0)  # compile the kernel

    def check(self, parts: list[Path], qpos: Array, what: str = "the path") -> None:
        """Raise RbdynError if two links, or a link and an obstacle, would come too near.

        Args:
            parts: parts of the path, one after the other.
            qpos: (nq,) present position; joints that the path does not move stay there.
            what: name of the path in the refusal.
        """
        with self._lock:
            self._d.qpos[:] = qpos
            self._d.qpos[self._dofs] = parts[0].positions[0]
            bounds = self._bounds()
            for path in parts:
                self._check(path, bounds, what)

    def _bounds(self) -> Array:
        """Return the smallest allowed distance of each pair on a path that starts at d.qpos."""
        bounds = np.full(self.model.ndistance, self.margin)
        memory = self._memory
        number = find_near(self.model, self._d, self.margin, self._skipped, memory)
        near = memory.found[:number]
        bounds[near] = np.minimum(memory.out[:number, 0] - ROUNDING, self.margin)
        return bounds

    def _check(self, path: Path, bounds: Array, what: str) -> None:
        memory, n, result = self._memory, len(self._dofs), np.zeros(2)
        pair = first_breach.call(
            *handles(self.model, self._d), path.times, path.nodes, path.order, self._dofs,
            self._reach, bounds, self.margin, self._skipped, memory.place, memory.order,
            memory.axes, memory.found, memory.out, np.empty((3, n)), np.zeros((4, n)), result,
        )  # fmt: skip
        if pair == TOO_LONG:
            text = f"{what} is too long to be checked for collisions; send shorter paths"
            raise refusal(text, "self-collision")
        if pair != CLEAR:
            raise self._refusal(pair, what, *result.tolist())

    def _refusal(self, pair: int, what: str, at: float, dist: float) -> RbdynError:
        """Return the error of a pair at the distance `dist` [m], at a time of the path `what`."""
        g, h = self.model.distance_geom[pair].tolist()
        one, other = self.model.geom_names[g], self.model.geom_names[h]
        near, margin = apart(1e3 * dist, 1e3 * self.margin, digits=3)
        how = f"be {near} mm apart" if dist >= 0.0 else "touch"
        world = h >= self._obstacle
        where = "by exclude in the scene file" if world else "in an SRDF"
        text = (
            f"'{one}' and '{other}' would {how} at {at:.4g} s of {what}; "
            f"self_collision_margin is {margin} mm. If only their shapes are "
            f"too coarse there, disable the pair {where}"
        )
        return refusal(text, "scene-collision" if world else "self-collision", one)


def _reach_of_dofs(m: Model) -> Array:
    """Return the largest relative speed of two points per unit of velocity of each dof, (nv,)."""
    moved = m.jnt_dofadr < m.nv  # a mimic joint has the dof of its leader
    reach = np.zeros(m.nv)
    np.add.at(reach, m.jnt_dofadr[moved], (np.abs(m.jnt_mimic_ratio) * _reach(m))[moved])
    return reach


def _reach(m: Model) -> Array:
    """Return the largest speed of a point per unit of velocity of each joint, (njnt,).

    Raise ParameterError unless each joint is a hinge, or a slide with limits, and is not reversed.
    """
    sliding = m.jnt_type == JointType.SLIDE
    travel = np.where(sliding, _travel(m), 0.0)
    known = (sliding | (m.jnt_type == JointType.HINGE)) & (m.jnt_reversed == 0)
    for j in np.flatnonzero(~(known & np.isfinite(travel)))[:1].tolist():
        reason = "slides without limits" if sliding[j] else "neither turns nor slides"
        text = f"self-collision is not checked: joint '{m.jnt_names[j]}' {reason}"
        raise ParameterError(Finding("self-collision", text, "error", m.jnt_names[j]))
    far = np.zeros(m.nbody)  # farthest point of a subtree from its body's origin
    beyond = np.linalg.norm(m.geom_pos, axis=1) + m.geom_rbound
    np.maximum.at(far, m.geom_bodyid, beyond)
    length = np.linalg.norm(m.body_pos, axis=1)
    for i in range(m.nbody - 1, 0, -1):
        parent = m.body_parentid[i]
        far[parent] = max(far[parent], length[i] + travel[i - 1] + far[i])
    return np.where(sliding, 1.0, far[1:])


def _travel(m: Model) -> Array:
    """Return the largest absolute position of each joint, (njnt,); it matters for slides.

    A mimic joint follows its leader even beyond its own limits.
    """
    leader = np.where(m.jnt_mimic >= 0, m.jnt_mimic, np.arange(m.njnt))
    with np.errstate(invalid="ignore"):
        follows = m.jnt_mimic_ratio[:, None] * m.jnt_range[leader] + m.jnt_mimic_offset[:, None]
    travel: Array = np.maximum(np.abs(m.jnt_range), np.abs(follows)).max(axis=1)
    return travel
