# SPDX-License-Identifier: Apache-2.0
"""Draw lines between bodies, arrows of forces and contact points, as in the view."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.parts.geometries import Sphere
from rbdyn_ros.view.render.drawables import Drawable, Programs, put_triangles
from rbdyn_ros.view.render.projection import pose_of
from rbdyn_ros.view.scene.scene import BodyPlacement, Scene
from rbdyn_ros.view.scene.surfaces import surfaces_of
from rbdyn_ros.view.scene.wrench_lines import CONTACT, COUPLE, HEAD, PUSH, SHAFT, TOUCH

#: Radius of a line relative to the size of the robot, and number of sides of a rod or a cone.
LINE, SIDES = 0.004, 12

Placed = tuple[Drawable, Array]


class Marks:
    """Draws the lines of a scene, and the forces at an instant; they cast no shadows.

    Args:
        programs: shader programs that draw triangles.
        scene: the scene, whose size scales the marks.
    """

    def __init__(self, programs: Programs, scene: Scene) -> None:
        self._scene, size = scene, scene.size
        (ball,) = surfaces_of(Sphere(0.5 * TOUCH * size))
        self._rod = _drawable(programs, *_tube(1.0))
        self._head = _drawable(programs, *_tube(0.0, HEAD * size, 2.0 * HEAD * size))
        self._ball = _drawable(programs, ball.vertices.astype(np.float64), ball.faces)

    def at(self, place: BodyPlacement) -> list[Placed]:
        """Return the marks to draw at a placement, each with its pose (4, 4) in the world."""
        size, found = self._scene.size, list[Placed]()
        for segment, color in zip(place.lines, self._scene.lines.colors, strict=True):
            found += self._rods(segment[None], LINE * size, tuple(color.tolist()))
        for arrows, rgb in (
            (place.contacts, CONTACT),
            (place.pushes, PUSH),
            (place.couples, COUPLE),
        ):
            color = tuple(value / 255.0 for value in rgb)
            found += self._rods(arrows, SHAFT * size, color)
            found += self._poses(self._head, arrows, color)
        ball = replace(self._ball, color=(*(value / 255.0 for value in CONTACT), 1.0))
        return found + [(ball, pose_of(point, np.eye(3))) for point in place.touches]

    def _rods(self, segments: Array, radius: float, color: tuple[float, ...]) -> Iterable[Placed]:
        for segment, (rod, pose) in zip(
            segments, self._poses(self._rod, segments, color), strict=True
        ):
            length = float(np.linalg.norm(segment[1] - segment[0]))
            pose[:3, :3] *= radius, radius, length
            pose[:3, 3] = segment[0]
            yield rod, pose

    @staticmethod
    def _poses(one: Drawable, segments: Array, color: tuple[float, ...]) -> Iterable[Placed]:
        """Yield `one` at the end of each segment (2, 3), with its z axis along the segment."""
        for start, end in segments:
            way = end - start
            z = way / max(float(np.linalg.norm(way)), 1e-300)
            x = np.cross(z, np.eye(3)[np.abs(z).argmin()])
            x /= max(float(np.linalg.norm(x)), 1e-300)
            pose = pose_of(end, np.stack([x, np.cross(z, x), z], axis=1))
            yield replace(one, color=(*color, 1.0)), pose


def _drawable(programs: Programs, corners: Array, faces: NDArray[np.int32]) -> Drawable:
    return Drawable(
        0, "", np.eye(4), (1.0,) * 4, False, put_triangles(programs, corners, faces)[0], None
    )


def _tube(top: float, radius: float = 1.0, length: float = 1.0) -> tuple[Array, NDArray[np.int32]]:
    """Return vertices and triangles of the side of a cone; top: upper divided by lower radius."""
    angles = np.linspace(0.0, 2.0 * np.pi, SIDES, endpoint=False)
    ring = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(SIDES)]) * radius
    corners = np.concatenate([ring, ring * top + (0.0, 0.0, length)])
    k = np.arange(SIDES)
    after = (k + 1) % SIDES
    below, above = (
        np.stack([k, after, after + SIDES], 1),
        np.stack([k, after + SIDES, k + SIDES], 1),
    )
    return corners, np.concatenate([below, above]).astype(np.int32)
