# SPDX-License-Identifier: Apache-2.0
"""The triangles of a robot and its world on the graphics card."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.meshes.textures import Pixels
from rbdyn_ros.model.geometry.geoms import GeomType
from rbdyn_ros.model.tree.rotation import quat_to_mat
from rbdyn_ros.view.render.projection import pose_of
from rbdyn_ros.view.scene.parts import Part
from rbdyn_ros.view.scene.scene import Scene
from rbdyn_ros.view.scene.surfaces import Places

FLOOR = (0.72, 0.72, 0.70, 1.0)
#: Half the edge of a plane [m]; nothing is visible beyond the far plane of a camera.
HALF_FLOOR = 500.0
#: Anisotropic filter: number of samples of a texture that is seen at a slant.
ANISOTROPY = 4.0


@dataclass(frozen=True, slots=True, eq=False)
class Drawable:
    """Triangles on the graphics card.

    Attributes:
        body: number of the body to which they are fixed.
        link: link to which they belong; "": an obstacle.
        pose: (4, 4) pose in the body.
        color: red, green, blue, opacity.
        floor: whether they are a plane with a grid.
        vertices: OpenGL object for the picture.
        silhouette: OpenGL object for the shadow; None: it casts no shadow.
        image: texture instead of the colour; None: there is no texture.
    """

    body: int
    link: str
    pose: Array
    color: tuple[float, ...]
    floor: bool
    vertices: Any
    silhouette: Any
    image: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class Programs:
    """The shader programs that draw triangles.

    Attributes:
        context: OpenGL context.
        picture: program that draws the picture.
        shade: program that draws the shadow.
    """

    context: Any
    picture: Any
    shade: Any


def drawables(programs: Programs, scene: Scene) -> list[Drawable]:
    """Return the drawables of a scene; transparent drawables come last."""
    parts = [part for layer in scene.shown for part in scene.parts(layer)]
    images = Images(programs.context)
    drawn = [_part(programs, images, part) for part in [*parts, *scene.obstacles]]
    return sorted(drawn + _floors(programs, scene), key=lambda one: one.color[3] < 1.0)


class Images:
    """Uploads images to the graphics card, each only once."""

    def __init__(self, context: Any) -> None:
        self._context, self._known = context, dict[int, Any]()

    def of(self, pixels: Pixels) -> Any:
        if id(pixels) not in self._known:
            height, width, _ = pixels.shape
            # the first row of an OpenGL image is the lowest
            image = self._context.texture((width, height), 3, pixels[::-1].tobytes(), alignment=1)
            image.build_mipmaps()
            image.anisotropy = ANISOTROPY
            self._known[id(pixels)] = image
        return self._known[id(pixels)]


def _part(programs: Programs, images: Images, part: Part) -> Drawable:
    corners = part.surface.vertices.astype(np.float64) * part.scale
    pose = pose_of(part.pos, quat_to_mat(part.quat))
    if part.image is None:
        arrays = put_triangles(programs, corners, part.surface.faces)
        return Drawable(part.body, part.link, pose, part.color, False, *arrays)
    arrays = put_triangles(programs, corners, part.surface.faces, part.surface.places)
    image = images.of(part.image)
    return Drawable(part.body, part.link, pose, part.color, False, *arrays, image)


def _floors(programs: Programs, scene: Scene) -> list[Drawable]:
    """Return a square floor for each plane of the Model."""
    m, found = scene.m, []
    corners = HALF_FLOOR * np.array([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)])
    faces = np.array([(0, 1, 2), (0, 2, 3)], np.int32)
    for g in np.flatnonzero(m.geom_type == GeomType.PLANE):
        pose = pose_of(m.geom_pos[g], m.geom_mat[g].reshape(3, 3))
        arrays = put_triangles(programs, corners, faces)
        found.append(Drawable(int(m.geom_bodyid[g]), "", pose, FLOOR, True, *arrays))
    return found


def put_triangles(
    programs: Programs, corners: Array, faces: NDArray[np.int32], places: Places | None = None
) -> tuple[Any, Any]:
    """Upload triangles to the graphics card; return OpenGL objects for picture and shadow."""
    context = programs.context
    rows = np.concatenate([corners, vertex_normals(corners, faces)], axis=1).astype(np.float32)
    form, names, skip = "3f 3f", ["at", "across"], 12
    if places is not None:  # split corners with several image coordinates
        each = np.concatenate([rows[faces], places], axis=2).reshape(-1, 8)
        rows, order = np.unique(each, axis=0, return_inverse=True)
        faces = order.reshape(-1, 3).astype(np.int32)
        form, names, skip = "3f 3f 2f", [*names, "place"], 20
    buffer = context.buffer(np.ascontiguousarray(rows, np.float32).tobytes())
    index = context.buffer(np.ascontiguousarray(faces, np.int32).tobytes())
    picture = context.vertex_array(programs.picture, [(buffer, form, *names)], index)
    return picture, context.vertex_array(programs.shade, [(buffer, f"3f {skip}x", "at")], index)


def vertex_normals(corners: Array, faces: NDArray[np.int32]) -> Array:
    """Return the normal at each corner (n, 3): the mean over its triangles, weighted by area."""
    a, b, c = (corners[faces[:, k]] for k in range(3))
    across = np.cross(b - a, c - a)
    total = np.zeros_like(corners)
    for k in range(3):
        np.add.at(total, faces[:, k], across)
    length = np.linalg.norm(total, axis=1, keepdims=True)
    return np.asarray(total / np.where(length > 0.0, length, 1.0))
