# SPDX-License-Identifier: Apache-2.0
"""The scene of a film: solids on bodies, lines between joints, floors, contact forces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.appearance.shapes import Appearance
from rbdyn_ros.model.geoms import GeomType
from rbdyn_ros.model.joints import JointType
from rbdyn_ros.model.model import Model
from rbdyn_ros.view.pictures.solids import Solid, has_visuals, obstacles_of, solids_of
from rbdyn_ros.view.scene.wrench_lines import point_arrows, weight_of

_PICKS = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])
_UNTIED = (JointType.FREE, JointType.SIXDOF_FP, JointType.SIXDOF_FS)  # a free body

#: A robot without visuals.
NO_LOOKS = Appearance()


@dataclass(frozen=True, slots=True)
class BodyPoses:
    """Poses of the bodies in each frame: origins (frames, nbody, 3) and axes (..., 3, 3)."""

    xpos: Array
    xmat: Array


class PictureScene:
    """The shapes of a film, in the world [m].

    Args:
        m: the Model.
        poses: poses of the bodies.
        looks: visuals of the robot.
        contacts: of each frame, contact points and the forces there, as Instant.points.

    Attributes:
        solids: the solids on the bodies.
        obstacles: boxes and spheres of the world.
        links: lines (frames, lines, 2, 3) between joint frames; for a free body from its frame to
            its centre of mass; none if visuals show the robot.
        others: lines of springs and loop joints.
        touches: of each frame, the contact points (n, 3).
        forces: of each frame, arrows (k, 2, 3) of the contact forces, as long as in the view.
        size: diagonal of the bounding box of the bodies in the first frame.
        findings: warnings about visuals that were left out or replaced.
    """

    def __init__(
        self,
        m: Model,
        poses: BodyPoses,
        looks: Appearance = NO_LOOKS,
        contacts: Sequence[Array] = (),
    ) -> None:
        self.solids, broken = solids_of(m, looks)
        self.findings = (*looks.findings, *broken)
        self._poses = poses

        def line(body1: NDArray[Any], p1: Array, body2: NDArray[Any], p2: Array) -> Array:
            return np.stack([_at(poses, body1, p1), _at(poses, body2, p2)], axis=2)

        bodies = 1 + np.flatnonzero(~np.isin(m.jnt_type, _UNTIED))
        parents, here = m.body_parentid[bodies], np.zeros((len(bodies), 3))
        on_parent = m.body_pos[bodies]
        inner = parents > 0
        arms = line(parents[inner], here[inner], parents[inner], on_parent[inner])
        free = 1 + np.flatnonzero(np.isin(m.jnt_type, _UNTIED))
        shafts = line(free, np.zeros((len(free), 3)), free, m.body_ipos[free])
        self.links = np.concatenate([arms, line(parents, on_parent, bodies, here), shafts], axis=1)
        if has_visuals(looks):
            self.links = self.links[:, :0]
        ends = np.concatenate([m.loop_bodyid, m.spring_bodyid]).T
        at = np.concatenate([m.loop_pos, m.spring_pos]).transpose(1, 0, 2)
        nowhere = np.zeros(at[0].shape)
        arms = np.concatenate([line(b, nowhere, b, p) for b, p in zip(ends, at, strict=True)], 1)
        self.others = np.concatenate([arms, line(ends[0], at[0], ends[1], at[1])], axis=1)

        plane = m.geom_type == GeomType.PLANE
        self._plane_pos = m.geom_pos[plane]
        self._plane_mat = m.geom_mat[plane].reshape(-1, 3, 3)
        self.obstacles: list[Solid] = []
        low, high = self.extent()
        self.obstacles = obstacles_of(m, float((high - low).max()))
        first = np.concatenate([self._corners()[0], self.links[0].reshape(-1, 3)])
        self.size = float(np.linalg.norm(np.ptp(first, axis=0))) if len(first) else 1.0
        drawn = [point_arrows(points, weight_of(m), self.size) for points in contacts]
        self.forces, self.touches = [arrows for arrows, _ in drawn], [at for _, at in drawn]

    def extent(self) -> tuple[Array, Array]:
        """Return the corners of the bounding box of all frames, which is nowhere flat."""
        still = (one.triangles for one in self.obstacles)
        drawn = (self._corners(), self.links, self.others, *still)
        parts = [part.reshape(-1, 3) for part in drawn]
        points = np.concatenate([*parts, np.zeros((int(not any(map(len, parts))), 3))])
        middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
        points = np.concatenate([points, self._feet(middle)])
        low, high = points.min(axis=0), points.max(axis=0)
        room = 0.55 * np.maximum(high - low, 0.35 * max(float((high - low).max()), 1e-3))
        middle = 0.5 * (low + high)
        return middle - room, middle + room

    def triangles(self, frame: int) -> Array:
        """Return the corners (n, 3, 3) of all triangles in a frame."""
        mat, pos = self._poses.xmat[frame], self._poses.xpos[frame]
        placed = [one.triangles @ mat[one.body].T + pos[one.body] for one in self.solids]
        return np.concatenate([np.zeros((0, 3, 3)), *placed])

    def colors(self) -> Array:
        """Return the colours (n, 4) of all triangles."""
        rows = [np.tile(one.color, (len(one.triangles), 1)) for one in self.solids]
        return np.concatenate([np.zeros((0, 4)), *rows])

    def _corners(self) -> Array:
        """Return the corners of the bounding boxes of the solids in all frames."""
        mat, pos, corners = self._poses.xmat, self._poses.xpos, [np.zeros((len(self.links), 0, 3))]
        for one in self.solids:
            points = one.triangles.reshape(-1, 3)
            box = np.where(_PICKS, points.max(axis=0), points.min(axis=0))
            turned = box @ mat[:, one.body].transpose(0, 2, 1)
            corners.append(turned + pos[:, one.body, None])
        return np.concatenate(corners, axis=1)

    def floors(self) -> Array:
        """Return a square (n, 4, 3) on every plane of the world, of the size of the view."""
        low, high = self.extent()
        R = self._plane_mat
        reach = 0.5 * np.abs(R).transpose(0, 2, 1) @ (high - low)
        x, y = R[:, :, 0] * reach[:, :1], R[:, :, 1] * reach[:, 1:2]
        pieces: Array = np.stack([x + y, x - y, -x - y, y - x], axis=1)
        return pieces + self._feet(0.5 * (low + high))[:, None]

    def _feet(self, point: Array) -> Array:
        """Return the point of each plane that is closest to a point, (n, 3)."""
        normal = self._plane_mat[:, :, 2]
        height = np.sum(normal * (point - self._plane_pos), axis=1, keepdims=True)
        feet: Array = point - height * normal
        return feet


def _at(poses: BodyPoses, bodies: NDArray[Any], points: Array) -> Array:
    turned = np.einsum("fbij,bj->fbi", poses.xmat[:, bodies], points)
    places: Array = poses.xpos[:, bodies] + turned
    return places
