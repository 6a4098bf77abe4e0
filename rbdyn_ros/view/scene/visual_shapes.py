# SPDX-License-Identifier: Apache-2.0
"""Convert the visuals of a robot to shapes that rays can hit."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.appearance.shapes import (
    Appearance,
    LinkShape,
    MeshFile,
    Placeholder,
    read_appearance,
)
from rbdyn_ros.description.meshes.files import UnusableMeshError
from rbdyn_ros.description.parts.geometries import Points
from rbdyn_ros.dynamics.ray_shapes import RayShape, RayShapes, hull_triangles, obstacle_shapes
from rbdyn_ros.errors import Finding, quote
from rbdyn_ros.model.geometry.geoms import GEOM_TYPES, size_of
from rbdyn_ros.model.model import Model, check_model
from rbdyn_ros.model.tree.rotation import quat_to_mat
from rbdyn_ros.view.scene.surfaces import surfaces_of


def visual_shapes(
    m: Model, looks: Appearance | str | bytes | Path, *, package_dirs: Sequence[str | Path] = ()
) -> RayShapes:
    """Return the visuals of a robot and the obstacles of its world, for rb.cast_rays.

    Boxes, spheres, cylinders and capsules are exact. Meshes have all their triangles, with corners
    in single precision. Each shape has the name of its link or obstacle.

    Args:
        m: the Model.
        looks: source of the <visual> elements: the file or URDF text of the robot.
        package_dirs: as for load_urdf.

    Returns:
        The shapes; their attribute `findings` has warnings about visuals that were left out.

    Raises:
        ModelError: m is not a Model, or `looks` is another robot.
        DescriptionError: the file in `looks` is refused.
    """
    check_model(m, "visual_shapes")
    if not isinstance(looks, Appearance):
        looks = read_appearance(looks, package_dirs=package_dirs)
    return with_visuals(m, looks, obstacle_shapes(m))


def with_visuals(m: Model, looks: Appearance, others: Sequence[RayShape]) -> RayShapes:
    """Return the visuals of a robot followed by `others`, with warnings about unusable meshes."""
    shapes: list[RayShape] = []
    findings: dict[str, Finding] = {finding.message: finding for finding in looks.findings}
    for look in looks.visuals:
        shape = _of_look(m, look)
        if isinstance(shape, Finding):
            findings.setdefault(shape.message, shape)
        elif shape is not None:
            shapes.append(shape)
    return RayShapes([*shapes, *others], tuple(findings.values()))


def _of_look(m: Model, look: LinkShape) -> RayShape | Finding | None:
    """Return a visual as a shape that rays can hit, or a warning that its mesh cannot be read.

    Return None for a mesh that was not found, about which the appearance already has a warning.
    """
    if isinstance(look.shape, Placeholder):
        return None
    frame = m.frame_id(look.link)
    R = quat_to_mat(m.frame_quat[frame])
    body, pos = int(m.frame_bodyid[frame]), m.frame_pos[frame] + R @ np.array(look.origin.pos)
    mat: Array = R @ quat_to_mat(look.origin.quat)
    if isinstance(look.shape, MeshFile):
        try:
            triangles = _of_file(look.shape)
        except UnusableMeshError as error:
            name = str(look.shape.path)
            text = f"the mesh {quote(name, 200)} {error}; rays pass through it"
            return Finding(error.code, text, "warning", "", None, name, error.allowed)
        return RayShape(look.link, body, pos, mat, triangles=triangles, link=look.link)
    if isinstance(look.shape, Points):
        triangles = hull_triangles(np.array(look.shape.points, np.float64))
        return RayShape(look.link, body, pos, mat, triangles=triangles, link=look.link)
    kind, size = GEOM_TYPES[type(look.shape)], np.array(size_of(look.shape))
    return RayShape(look.link, body, pos, mat, kind, size, link=look.link)


def _of_file(shape: MeshFile) -> Array:
    """Return the corners of all triangles of a mesh, (k, 3, 3)."""
    parts = [surface.vertices[surface.faces] for surface in surfaces_of(shape)]
    return np.concatenate(parts).astype(np.float64)
