# SPDX-License-Identifier: Apache-2.0
"""Contact geometry: shapes of links and obstacles of the world, as plain frozen data."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.description.parts.poses import (
    IN_PLACE,
    Pose,
    Vec3,
    keep_floats,
    keep_points,
    keep_rows,
    keep_table,
)


@dataclass(frozen=True, slots=True)
class Sphere:
    """A sphere around the origin of its frame; radius in [m]."""

    radius: float


@dataclass(frozen=True, slots=True)
class Box:
    """A box around the origin of its frame; edge lengths along x, y and z [m]."""

    size: Vec3

    def __post_init__(self) -> None:
        keep_floats(self, "size", always=True)


@dataclass(frozen=True, slots=True)
class Cylinder:
    """A cylinder along z, around the origin of its frame [m]."""

    radius: float
    length: float


@dataclass(frozen=True, slots=True)
class Capsule:
    """A cylinder along z with a half sphere on each end; length of the cylinder alone [m]."""

    radius: float
    length: float


@dataclass(frozen=True, slots=True)
class Points:
    """Corners of a convex body in its frame [m]; for a mesh the corners of its convex hull."""

    points: tuple[Vec3, ...]

    def __post_init__(self) -> None:
        keep_points(self)


@dataclass(frozen=True, slots=True)
class Plane:
    """The half space below z = 0 of its frame; for obstacles only."""


@dataclass(frozen=True, slots=True)
class HeightField:
    """Terrain, for obstacles only: the solid below a grid of heights around the frame's origin.

    Four neighbouring heights span two triangles: the cell is cut from its corner of small x and y
    to its corner of large x and y. Outside the grid there is no ground.

    Attributes:
        heights: (rows, columns), at least (2, 2), of z [m]; rows along y, columns along x, the
            first at small y and small x. An array or nested sequences.
        size: lengths along x and y [m].
    """

    heights: tuple[tuple[float, ...], ...]
    size: tuple[float, float]

    def __post_init__(self) -> None:
        keep_rows(self, "heights")
        keep_floats(self, "size", always=True)


@dataclass(frozen=True, slots=True, eq=False)
class TriangleMesh:
    """A triangle mesh that need not be convex, in its frame; for obstacles only.

    A triangle acts from its front side, from which its corners are anticlockwise: an open mesh
    is a surface, a closed mesh a solid. Vertices at the same position are merged, and
    triangles without area are left out.

    Attributes:
        vertices: (n, 3), corners [m]; an array or nested sequences.
        faces: (k, 3), indices of the corners of each triangle.
    """

    vertices: NDArray[np.float64]
    faces: NDArray[np.int64]

    def __post_init__(self) -> None:
        for name, dtype in (("vertices", np.float64), ("faces", np.int64)):
            keep_table(self, name, dtype)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TriangleMesh) and self._content() == other._content()

    def __hash__(self) -> int:
        return hash(self._content())

    def _content(self) -> tuple[object, ...]:
        tables = self.vertices, self.faces
        return tuple(x.tobytes() if isinstance(x, np.ndarray) else repr(x) for x in tables)


Shape = Sphere | Box | Cylinder | Capsule | Points
WorldShape = Shape | Plane | HeightField | TriangleMesh


@dataclass(frozen=True, slots=True)
class Surface:
    """Contact properties of a geometry, at each contact point.

    Attributes:
        friction: Coulomb coefficient, dimensionless.
        time_constant: decay time of a penetration [s]; stiffness and damping follow from it and
            the mass at the point, so that light and heavy links behave alike. The default, with a
            damping_ratio of 1, is near-rigid instead: half of a penetration disappears in a step.
        damping_ratio: damping ratio of the contact spring; 1 is critical.
        stiffness: stiffness of the contact [N/m]; None: it follows from the time constant.
        damping: damping of the contact [N s/m]; None: it follows from the time constant.
        viscosity: coefficient of viscous friction [N s/m], instead of Coulomb friction; None:
            Coulomb friction.
        restitution: part of the closing speed that an impact gives back, 0 to 1.
        torsional: greatest torque about the normal per normal force [m]: for a soft finger 2/3 mu
            times the radius of its patch.
        rolling: greatest torque across the normal per normal force [m].
        limit_surface: whether the friction and the torsional friction of a single point share an
            ellipsoid, as in a contact patch: a sliding point then resists spin less.
    """

    friction: float = 0.8
    time_constant: float = 1e-6
    damping_ratio: float = 1.0
    stiffness: float | None = None
    damping: float | None = None
    viscosity: float | None = None
    restitution: float = 0.0
    torsional: float = 0.0
    rolling: float = 0.0
    limit_surface: bool = False


@dataclass(frozen=True, slots=True)
class Filter:
    """A contact filter of a geometry.

    Two geometries touch if the contype of one geometry and the conaffinity of the other share a
    bit: (contype1 & conaffinity2) || (contype2 & conaffinity1), MuJoCo's rule.

    Attributes:
        contype: bits of the groups that the geometry belongs to, 0 to 2^31 - 1.
        conaffinity: bits of the groups that it touches, 0 to 2^31 - 1.
    """

    contype: int = 1
    conaffinity: int = 1


@dataclass(frozen=True, slots=True)
class Geometry:
    """A shape fixed to a link.

    Attributes:
        origin: frame of the shape in the link frame.
        filter: contact filter.
    """

    name: str
    link: str
    shape: Shape
    origin: Pose = IN_PLACE
    surface: Surface = Surface()
    line: int | None = None
    filter: Filter = Filter()


@dataclass(frozen=True, slots=True)
class Obstacle:
    """A shape fixed in the world.

    Attributes:
        origin: frame of the shape in the world.
        friction: coefficient of friction; a contact has the smaller coefficient of its two shapes;
            infinite: the other shape's coefficient counts.
        filter: contact filter.
        velocity: velocity of its surface, in the axes of the shape [m/s]: a conveyor belt. The
            part along the surface moves what touches it, by friction; the shape stays where it is.
    """

    name: str
    shape: WorldShape
    origin: Pose = IN_PLACE
    friction: float = math.inf
    line: int | None = None
    filter: Filter = Filter()
    velocity: Vec3 = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        keep_floats(self, "velocity")


FLOOR = Obstacle("floor", Plane())


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Two links, geometries or obstacles that may overlap.

    No distance query lists the pair, and the two do not push each other. A link means all its
    geometries.

    Attributes:
        links: whether the names are names of links only, as in an SRDF.
    """

    first: str
    second: str
    line: int | None = None
    links: bool = False


@dataclass(frozen=True, slots=True)
class GroupState:
    """A named pose of some joints in which a robot may stand, from an SRDF or a scene file.

    Attributes:
        positions: by the name of a joint: a number for one coordinate [rad or m], else all
            coordinates, as of a floating or a spherical joint.
    """

    name: str
    positions: Mapping[str, float | tuple[float, ...]]
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Contact:
    """The things that the `<collision>` elements of a robot touch, and their surfaces.

    Attributes:
        obstacles: obstacles of the world; by default a floor at z = 0.
        surface: surface of the geometries that have no other surface, from Python or from the
            robot's file, such as by `<mu1>` in a URDF or by default in an SDF.
        surfaces: surfaces by the name of a geometry or of a link; they override the file.
        exclude: pairs of names of links, geometries or obstacles that do not push each other;
            `collisions` leaves these pairs out.
        self_collision: whether links of one robot push each other, except links that overlap at
            qpos0 or in a pose of the SRDF. Free bodies and several robots always do.
        filters: contact filters by the name of a geometry, of a link or of an obstacle.
        decompose: whether a mesh that is not convex becomes several convex geometries (needs the
            package coacd) instead of its convex hull. Parts are numbered after the first part.
        furniture: links that are fixed to the world and are not parts of the robot, such as a
            table: links that a joint connects to the world touch them, too. An SRDF names such
            links by `<enable_collisions>`.
    """

    obstacles: tuple[Obstacle, ...] = (FLOOR,)
    surface: Surface = Surface()
    surfaces: Mapping[str, Surface] = field(default_factory=dict)
    exclude: tuple[tuple[str, str], ...] = ()
    self_collision: bool = True
    filters: Mapping[str, Filter] = field(default_factory=dict)
    decompose: bool = False
    furniture: tuple[str, ...] = ()
