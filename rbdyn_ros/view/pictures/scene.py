"""The scene of a film: boxes for bodies, lines between joints, floors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Array
from rbdyn_ros.model.geoms import GeomType
from rbdyn_ros.model.joints import JointType
from rbdyn_ros.model.model import Model

_CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
_FACES = np.array([[0, 1, 3, 2], [4, 5, 7, 6], [0, 1, 5, 4], [2, 3, 7, 6], [0, 2, 6, 4],
                   [1, 3, 7, 5]])  # fmt: skip
_UNTIED = (JointType.FREE, JointType.SIXDOF_FP, JointType.SIXDOF_FS)  # a free body


@dataclass(frozen=True, slots=True)
class BodyPoses:
    """BodyPoses of the bodies in each frame: origins, axes, centres of mass, principal axes."""

    xpos: Array
    xmat: Array
    xipos: Array
    ximat: Array


class PictureScene:
    """The shapes of a film, in the world [m].

    Attributes:
        faces: sides (frames, 6 bodies, 4, 3) of the bodies with mass.
        links: lines (frames, lines, 2, 3) between joint frames; for a free body from its frame to
            its centre of mass.
        others: lines of springs and loop joints.
    """

    def __init__(self, m: Model, poses: BodyPoses) -> None:
        massive = np.flatnonzero(m.body_mass > 0.0)
        corners = _CORNERS * equivalent_box(m.body_mass[massive], m.body_inertia[massive])[:, None]
        turned = np.einsum("fbij,bcj->fbci", poses.ximat[:, massive], corners)
        boxes = poses.xipos[:, massive, None] + turned
        self.faces = boxes[:, :, _FACES].reshape(len(boxes), 6 * len(massive), 4, 3)

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
        ends = np.concatenate([m.loop_bodyid, m.spring_bodyid]).T
        at = np.concatenate([m.loop_pos, m.spring_pos]).transpose(1, 0, 2)
        nowhere = np.zeros(at[0].shape)
        arms = np.concatenate([line(b, nowhere, b, p) for b, p in zip(ends, at, strict=True)], 1)
        self.others = np.concatenate([arms, line(ends[0], at[0], ends[1], at[1])], axis=1)

        plane = m.obstacle_type == GeomType.PLANE
        self._plane_pos = m.obstacle_pos[plane]
        self._plane_mat = m.obstacle_mat[plane].reshape(-1, 3, 3)

    def extent(self) -> tuple[Array, Array]:
        """Return the corners of the bounding box of all frames, which is nowhere flat."""
        parts = [part.reshape(-1, 3) for part in (self.faces, self.links, self.others)]
        points = np.concatenate([*parts, np.zeros((int(not any(map(len, parts))), 3))])
        middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
        points = np.concatenate([points, self._feet(middle)])
        low, high = points.min(axis=0), points.max(axis=0)
        room = 0.55 * np.maximum(high - low, 0.35 * max(float((high - low).max()), 1e-3))
        middle = 0.5 * (low + high)
        return middle - room, middle + room

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


def equivalent_box(mass: Array, inertia: Array) -> Array:
    """Return the edges (n, 3) of homogeneous boxes with masses (n,) and moments (n, 3).

    From I_x = m (b^2 + c^2) / 12: a^2 = 6 (I_y + I_z - I_x) / m; a negative a^2 gives 0.
    """
    squares = 6.0 * (inertia.sum(axis=1, keepdims=True) - 2.0 * inertia) / mass[:, None]
    edges: Array = np.sqrt(np.maximum(squares, 0.0))
    return edges


def _at(poses: BodyPoses, bodies: NDArray[Any], points: Array) -> Array:
    turned = np.einsum("fbij,bj->fbi", poses.xmat[:, bodies], points)
    places: Array = poses.xpos[:, bodies] + turned
    return places
