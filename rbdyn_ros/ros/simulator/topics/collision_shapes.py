# SPDX-License-Identifier: Apache-2.0
"""Convert shapes to shape_msgs: primitives, meshes and planes of a CollisionObject."""

from itertools import pairwise
from typing import Any

import numpy as np
from geometry_msgs.msg import Point
from geometry_msgs.msg import Pose as PoseMessage

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.description.meshes.hulls import hull_faces
from rbdyn_ros.description.parts import geometries
from rbdyn_ros.description.parts.poses import Pose, compose

#: Planes are lowered by this distance [m]; otherwise MoveIt reports that links on them collide.
BELOW = 1e-3


def fill_shapes(message: Any, shapes: Any, shape: object, pose: Pose) -> None:
    """Add a shape to a CollisionObject.

    Args:
        message: the CollisionObject.
        shapes: the module shape_msgs.msg.
        shape: a shape of a description.
        pose: pose of the shape in the object's frame.
    """
    kinds = shapes.SolidPrimitive
    if isinstance(shape, geometries.Plane):
        message.planes.append(shapes.Plane(coef=[0.0, 0.0, 1.0, BELOW]))
        message.plane_poses.append(pose_message(pose))
    elif isinstance(shape, geometries.Box):
        _add_primitive(message, shapes, kinds.BOX, shape.size, pose)
    elif isinstance(shape, geometries.Sphere):
        _add_primitive(message, shapes, kinds.SPHERE, [shape.radius], pose)
    elif isinstance(shape, geometries.Cylinder):
        _add_primitive(message, shapes, kinds.CYLINDER, [shape.length, shape.radius], pose)
    elif isinstance(shape, geometries.Capsule):
        _add_primitive(message, shapes, kinds.CYLINDER, [shape.length, shape.radius], pose)
        for end in (-0.5, 0.5):
            at = compose(pose, Pose((0.0, 0.0, end * shape.length)))
            _add_primitive(message, shapes, kinds.SPHERE, [shape.radius], at)
    else:
        vertices, faces = _triangles(shape)
        message.meshes.append(_mesh(shapes, vertices, faces))
        message.mesh_poses.append(pose_message(pose))


def pose_message(pose: Pose) -> PoseMessage:
    """Return a pose as a geometry_msgs/Pose."""
    message = PoseMessage()
    at, turn = message.position, message.orientation
    at.x, at.y, at.z = map(float, pose.pos)
    turn.w, turn.x, turn.y, turn.z = map(float, pose.quat)
    return message


def _add_primitive(message: Any, shapes: Any, kind: int, numbers: Any, pose: Pose) -> None:
    given = [float(number) for number in numbers]
    message.primitives.append(shapes.SolidPrimitive(type=kind, dimensions=given))
    message.primitive_poses.append(pose_message(pose))


def _mesh(shapes: Any, vertices: Array, faces: Ints) -> Any:
    corners = [shapes.MeshTriangle(vertex_indices=face) for face in faces.astype(np.uint32)]
    places = [Point(x=x, y=y, z=z) for x, y, z in vertices.tolist()]
    return shapes.Mesh(triangles=corners, vertices=places)


def _triangles(shape: object) -> tuple[Array, Ints]:
    """Return vertices (n, 3) and triangles (k, 3), anticlockwise seen from outside, of a shape."""
    if isinstance(shape, geometries.TriangleMesh):
        return shape.vertices, shape.faces
    if isinstance(shape, geometries.HeightField):
        return _terrain(shape)
    assert isinstance(shape, geometries.Points), shape
    points = np.array(shape.points, np.float64)
    rings = [ring for _, ring in hull_faces(points)]
    rows = [(ring[0], a, b) for ring in rings for a, b in pairwise(ring[1:])]
    return points, np.array(rows, np.int64).reshape(-1, 3)


def _terrain(field: geometries.HeightField) -> tuple[Array, Ints]:
    """Return a height field as triangles; each cell is cut from its corner with the least x, y."""
    heights = np.asarray(field.heights, np.float64)
    rows, columns = heights.shape
    x, y = (0.5 * np.linspace(-s, s, n) for s, n in zip(field.size, (columns, rows), strict=True))
    X, Y = np.meshgrid(x, y)
    first = np.arange(rows * columns).reshape(rows, columns)[:-1, :-1].reshape(-1)
    right, up = first + 1, first + columns
    faces = np.concatenate(
        [np.stack([first, right, up + 1], axis=1), np.stack([first, up + 1, up], axis=1)]
    )
    return np.stack([X, Y, heights], axis=-1).reshape(-1, 3), faces
