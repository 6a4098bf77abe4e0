# SPDX-License-Identifier: Apache-2.0
"""The surfaces that are fixed to bodies: visuals, collisions, inertia shapes, obstacles."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.appearance.shapes import LinkShape, MeshFile, Placeholder
from rbdyn_ros.description.meshes.files import UnusableMeshError
from rbdyn_ros.description.meshes.textures import Pixels, find_texture, read_texture
from rbdyn_ros.description.parts.geometries import Box, Capsule, Cylinder, Points, Shape, Sphere
from rbdyn_ros.errors import Finding, quote
from rbdyn_ros.model.geometry.geoms import GeomType
from rbdyn_ros.model.geometry.triangle_meshes import triangles_of
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.tree.rotation import mat_to_quat, quat_to_mat
from rbdyn_ros.view.scene.surfaces import (
    TriangleSurface,
    mesh_surface,
    surfaces_of,
    surfaces_or_marker,
    terrain_surface,
)
from rbdyn_ros.view.scene.texture_places import places_of

Color = tuple[float, float, float, float]

LIGHT_GREY: Color = (0.80, 0.81, 0.83, 1.0)
COLLISION: Color = (0.34, 0.71, 0.91, 0.45)
INERTIA: Color = (0.0, 0.45, 0.70, 0.35)
ELLIPSOID: Color = (0.84, 0.37, 0.0, 0.45)
MASS: Color = (0.84, 0.37, 0.0, 1.0)
OBSTACLE: Color = (0.62, 0.60, 0.56, 1.0)
OBJECT: Color = (0.90, 0.62, 0.0, 1.0)

#: Thickness of flat shapes, and radius of the largest mass ball, relative to the robot's size.
THINNEST, LARGEST_BALL = 1e-3, 0.02

_PICKS = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A surface fixed to a body.

    Attributes:
        body: number of the body; 0: the world.
        surface: triangles, in the frame of the surface.
        pos: origin of this frame in the body [m].
        quat: orientation of this frame in the body, wxyz.
        color: red, green, blue and opacity, 0 to 1; with an image: its mean colour.
        scale: scale along the axes of this frame.
        link: link whose visual or collision it is; "": another surface.
        image: (height, width, 3) texture that the surface shows instead of the colour; None: it
            has no texture.
    """

    body: int
    surface: TriangleSurface
    pos: Array
    quat: Array
    color: Color
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    link: str = ""
    image: Pixels | None = None

    def corners(self) -> Array:
        """Return the corners (8, 3) of the bounding box of the part, in the frame of its body."""
        points = np.asarray(self.surface.vertices, np.float64) * self.scale
        box: Array = np.where(_PICKS, points.max(axis=0), points.min(axis=0))
        placed: Array = box @ quat_to_mat(self.quat).T + self.pos
        return placed


def can_be_drawn(looks: tuple[LinkShape, ...]) -> bool:
    """Return whether more than half of the shapes can be drawn; False if there are no shapes."""
    missing = sum(isinstance(look.shape, Placeholder) for look in looks)
    return 2 * missing < len(looks)


def parts_of_looks(
    m: Model, looks: tuple[LinkShape, ...], color: Color | None = None
) -> tuple[list[Part], list[Finding]]:
    """Return the parts of visuals or collisions, and a warning for each broken mesh or texture.

    Args:
        m: the robot.
        looks: shapes of its links.
        color: colour of all parts; None: use the texture or colour of the mesh file, else of the
            link, else light grey.

    Raises:
        ModelError: a shape belongs to an unknown link.
    """
    parts: list[Part] = []
    findings: dict[str, Finding] = {}
    for look in looks:
        frame = m.frame_id(look.link)
        R = quat_to_mat(m.frame_quat[frame])
        pos = m.frame_pos[frame] + R @ np.array(look.origin.pos)
        quat = mat_to_quat(R @ quat_to_mat(look.origin.quat))
        surfaces, broken = surfaces_or_marker(look.shape)
        if broken is not None:
            findings.setdefault(broken.message, broken)
        for surface in surfaces:
            part = Part(
                int(m.frame_bodyid[frame]),
                surface,
                pos,
                quat,
                color or surface.color or look.color or LIGHT_GREY,
                link=look.link,
            )
            if color is None:
                part, unread = _textured(part, look)
                if unread is not None:
                    findings.setdefault(unread.message, unread)
            parts.append(part)
    return parts, list(findings.values())


def _textured(part: Part, look: LinkShape) -> tuple[Part, Finding | None]:
    """Return a part with its texture; and a warning if the texture is unusable, or None.

    If there is no usable texture, the part is returned unchanged.
    """
    surface, name = part.surface, ""
    try:
        if surface.texture and isinstance(look.shape, MeshFile):
            name = f"{quote(surface.texture, 200)} of the mesh {quote(str(look.shape.path), 200)}"
            image = read_texture(find_texture(surface.texture, look.shape.path))
        elif look.texture is not None and surface.color is None:
            name = quote(str(look.texture), 200)
            image = read_texture(look.texture)
        else:
            return part, None
    except UnusableMeshError as error:
        return part, _without(name, str(error), error)
    places = places_of(look.shape, surface)
    if places is None:
        return part, _without(name, "is of a shape without texture coordinates")
    red, green, blue = (image.mean(axis=(0, 1)) / 255.0).tolist()
    color = red, green, blue, part.color[3]
    return replace(part, surface=replace(surface, places=places), image=image, color=color), None


def _without(name: str, reason: str, error: UnusableMeshError | None = None) -> Finding:
    text = f"the texture {name} {reason}; the shape is drawn in its colour"
    code, allowed = (error.code, error.allowed) if error is not None else ("bad-texture", "")
    return Finding(code, text, "warning", allowed=allowed)


def geometry_parts(m: Model, color: Color) -> list[Part]:
    """Return the parts of the links' contact geometries, except geometries without volume."""
    parts = []
    for g in range(m.ngeomlink):
        shape = geometry_shape(m, g)
        if shape is not None:
            body, pos, quat = int(m.geom_bodyid[g]), m.geom_pos[g], mat_to_quat(m.geom_mat[g])
            link = m.frame_names[m.geom_frameid[g]]
            parts += [
                Part(body, surface, pos, quat, color, link=link) for surface in surfaces_of(shape)
            ]
    return parts


def geometry_shape(m: Model, g: int) -> Shape | None:
    """Return the shape of geometry g, or None if it has too few corners for a volume."""
    first, size = m.geom_vertadr[g], m.geom_size[g]
    corners = m.vert_pos[first : first + m.geom_vertnum[g]]
    match m.geom_type[g]:
        case GeomType.SPHERE:
            return Sphere(float(size[0]))
        case GeomType.CAPSULE:
            return Capsule(float(size[0]), 2.0 * float(size[1]))
        case GeomType.CYLINDER:
            return Cylinder(float(size[0]), 2.0 * float(size[1]))
        case GeomType.BOX:
            x, y, z = (2.0 * size).tolist()
            return Box((x, y, z))
    return Points(tuple(map(tuple, corners.tolist()))) if len(corners) > 3 else None


def inertia_boxes(m: Model, size: float, color: Color = INERTIA) -> list[Part]:
    """Return for each body a homogeneous box with its mass and inertia.

    size: size of the robot [m], for the least thickness of a box.
    """
    (box,) = surfaces_of(Box((1.0, 1.0, 1.0)))
    return _for_inertia(m, box, 1.0, color, size)


def equivalent_box(mass: Array, inertia: Array) -> Array:
    """Return the edges (n, 3) [m] of homogeneous boxes with these masses (n,) and moments (n, 3).

    From I_x = m (b^2 + c^2) / 12 follows a^2 = 6 (I_y + I_z - I_x) / m. If a^2 is negative, the
    edge is 0.
    """
    squares = 6.0 * (inertia.sum(axis=1, keepdims=True) - 2.0 * inertia) / mass[:, None]
    edges: Array = np.sqrt(np.maximum(squares, 0.0))
    return edges


def inertia_ellipsoids(m: Model, size: float) -> list[Part]:
    """Return for each body a homogeneous ellipsoid with its mass and inertia.

    The semi-axes are sqrt(5 / 12) times the edges of the equivalent box, because
    I_x = m (b^2 + c^2) / 5 for an ellipsoid with semi-axes a, b and c.
    """
    (ball,) = surfaces_of(Sphere(1.0))
    return _for_inertia(m, ball, float(np.sqrt(5.0 / 12.0)), ELLIPSOID, size)


def _for_inertia(
    m: Model, surface: TriangleSurface, factor: float, color: Color, size: float
) -> list[Part]:
    bodies = massive_bodies(m)
    edges = factor * equivalent_box(m.body_mass[bodies], m.body_inertia[bodies])
    parts = []
    for body, edge in zip(bodies.tolist(), np.maximum(edges, THINNEST * size), strict=True):
        x, y, z = edge.tolist()
        pos, quat = m.body_ipos[body], m.body_iquat[body]
        parts.append(Part(body, surface, pos, quat, color, (x, y, z)))
    return parts


def mass_balls(m: Model, size: float) -> list[Part]:
    """Return for each body a ball at its com, with a volume proportional to its mass.

    The largest radius is LARGEST_BALL times `size`, the size of the robot [m]. No radius is
    smaller than a quarter of the largest.
    """
    (ball,) = surfaces_of(Sphere(1.0))
    bodies = massive_bodies(m)
    heaviest = m.body_mass[bodies].max(initial=0.0)
    parts = []
    for body in bodies.tolist():
        share = float(np.cbrt(m.body_mass[body] / heaviest))
        radius = LARGEST_BALL * size * max(share, 0.25)
        scale = (radius, radius, radius)
        parts.append(Part(body, ball, m.body_ipos[body], np.array([1.0, 0, 0, 0]), MASS, scale))
    return parts


def obstacle_parts(m: Model) -> list[Part]:
    """Return the parts of the obstacles except planes, which the grid shows."""
    parts = []
    for g in range(m.ngeomlink, m.ngeom):
        kind, half = m.geom_type[g], m.geom_size[g]
        pos, quat = m.geom_pos[g], mat_to_quat(m.geom_mat[g])
        if kind == GeomType.PLANE:
            continue
        if kind == GeomType.HFIELD:
            k = int(m.geom_fieldid[g])
            grid = (int(m.field_nrow[k]), int(m.field_ncol[k]))
            heights = m.field_height[m.field_adr[k] :][: grid[0] * grid[1]].reshape(grid)
            surface = terrain_surface(heights, half)
            parts.append(Part(0, surface, pos, quat, OBSTACLE))
            continue
        if kind == GeomType.TRIMESH:
            parts.append(Part(0, mesh_surface(*triangles_of(m, g)), pos, quat, OBSTACLE))
            continue
        shape = geometry_shape(m, g)
        surfaces = surfaces_of(shape) if shape is not None else ()
        parts += [Part(0, surface, pos, quat, OBSTACLE) for surface in surfaces]
    return parts


def massive_bodies(m: Model) -> NDArray[np.int64]:
    """Return the numbers of the bodies with mass."""
    return np.flatnonzero(m.body_mass > 0.0)
