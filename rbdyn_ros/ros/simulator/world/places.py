# SPDX-License-Identifier: Apache-2.0
"""Poses of the links and shapes of a simulated world in one state."""

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.parts import geometries
from rbdyn_ros.description.parts.poses import IN_PLACE, Pose, compose, inverse
from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.description.scenes.entities import entity_of
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.dynamics.toolbox.frames import frame_pose
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.tree.rotation import mat_to_quat, quat_to_mat


class Places:
    """Computes the poses of links in one state.

    Args:
        m: the Model.
        qpos: (nq,) position.
        time: time [s], for joints with a prescribed motion.
    """

    def __init__(self, m: Model, qpos: Array, time: float) -> None:
        self._m, self._d = m, make_data(m)
        self._d.qpos, self._d.time = qpos, time

    def of(self, link: str) -> Pose:
        """Return the pose of a link in the world."""
        pos, mat = frame_pose(self._m, self._d, link)
        return Pose(tuple(pos.tolist()), tuple(mat_to_quat(mat).tolist()))

    def parts(
        self, description: Description, name: str, others: Collection[str]
    ) -> "list[PlacedShape]":
        """Return the shapes of an entity in its root link's frame; arguments as for `placed`."""
        m = self._m
        moving = [link for link in m.frame_names if m.frame_bodyid[m.frame_id(link)] > 0]
        own = [link for link in m.frame_names if name and entity_of(link, others) == name]
        back = inverse(self.of((own or moving or m.frame_names)[0]))
        placed = self.placed(description, name, others)
        return [replace(part, pose=compose(back, part.pose)) for part in placed]

    def placed(
        self, description: Description, name: str, others: Collection[str]
    ) -> "list[PlacedShape]":
        """Return the shapes of an entity in the world's frame.

        Args:
            description: description of the scene.
            name: name of an object or a robot; empty: the initial robot without a name.
            others: names of all objects, and of all robots that have a name.
        """
        return [
            PlacedShape(geom.shape, compose(self.of(geom.link), geom.origin))
            for geom in description.geometries
            if entity_of(geom.link, others) == name
        ]


@dataclass(frozen=True, slots=True)
class PlacedShape:
    """A shape and its pose in the world, or in the frame of a link."""

    shape: object
    pose: Pose = IN_PLACE

    @property
    def corners(self) -> tuple[Array, Array]:
        """Lower and upper corner of the bounding box, in the axes of the shape."""
        pos, mat, shape = np.array(self.pose.pos), quat_to_mat(self.pose.quat), self.shape
        if isinstance(shape, geometries.Points):
            points = pos + np.asarray(shape.points) @ mat.T
            return points.min(axis=0), points.max(axis=0)
        if isinstance(shape, geometries.Plane):  # bounded only above, and only if it is z = 0
            top = 0.0 if self.pose == IN_PLACE else np.inf
            return np.full(3, -np.inf), np.array([np.inf, np.inf, top])
        if isinstance(shape, geometries.HeightField):
            heights = np.asarray(shape.heights)
            low, high = heights.min(), heights.max()
            box = geometries.Box((*shape.size, float(high - low)))
            middle = Pose((0.0, 0.0, float(low + high) / 2.0))
            return PlacedShape(box, compose(self.pose, middle)).corners
        if isinstance(shape, geometries.TriangleMesh):
            points = pos + shape.vertices @ mat.T
            return points.min(axis=0), points.max(axis=0)
        half = np.zeros(3)
        if isinstance(shape, geometries.Box):
            half = np.abs(mat) @ (0.5 * np.asarray(shape.size))
        elif isinstance(shape, geometries.Sphere):
            half = np.full(3, shape.radius)
        elif isinstance(shape, geometries.Capsule):
            half = np.abs(mat[:, 2]) * 0.5 * shape.length + shape.radius
        elif isinstance(shape, geometries.Cylinder):
            rim = np.sqrt(np.maximum(1.0 - mat[:, 2] ** 2, 0.0))
            half = np.abs(mat[:, 2]) * 0.5 * shape.length + rim * shape.radius
        return pos - half, pos + half
