"""What a robot touches its surroundings with: shapes of links, obstacles of the world.

Plain frozen data, like types.py. Links touch obstacles, never each other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from rbdyn_ros.description.poses import IN_PLACE, Pose, Vec3, keep_floats, keep_points

#: Of sizes, corners and places of geometries and obstacles [m]; links are shorter.
MAX_LENGTH = 1e5


@dataclass(frozen=True, slots=True)
class Sphere:
    """Around the origin of its frame; radius in [m]."""

    radius: float


@dataclass(frozen=True, slots=True)
class Box:
    """Around the origin of its frame; lengths of the edges along x, y and z [m]."""

    size: Vec3

    def __post_init__(self) -> None:
        keep_floats(self, "size", always=True)


@dataclass(frozen=True, slots=True)
class Cylinder:
    """Along z, around the origin of its frame [m]."""

    radius: float
    length: float


@dataclass(frozen=True, slots=True)
class Capsule:
    """A cylinder along z with half a sphere on either end; length of the cylinder alone [m]."""

    radius: float
    length: float


@dataclass(frozen=True, slots=True)
class Points:
    """Corners of a convex body, in its frame [m]; of a mesh those of its convex hull."""

    points: tuple[Vec3, ...]

    def __post_init__(self) -> None:
        keep_points(self)


@dataclass(frozen=True, slots=True)
class Plane:
    """Everything below z = 0 of its frame; only the world has one."""


Shape = Sphere | Box | Cylinder | Capsule | Points
WorldShape = Plane | Sphere | Box


@dataclass(frozen=True, slots=True)
class Surface:
    """How a geometry presses and rubs, at each point that touches.

    Attributes:
        friction: of Coulomb, dimensionless.
        time_constant: in which a penetration dies out [s]; with the mass that the point moves it
            makes stiffness and damping, so that light and heavy links do alike.
        damping_ratio: of that spring; 1 is critical.
        stiffness: [N/m], instead of what follows from the time constant.
        damping: [N s/m], likewise.
        viscosity: of purely viscous friction [N s/m], instead of Coulomb's.
    """

    friction: float = 0.8
    time_constant: float = 0.002
    damping_ratio: float = 1.0
    stiffness: float | None = None
    damping: float | None = None
    viscosity: float | None = None


@dataclass(frozen=True, slots=True)
class Geometry:
    """A shape fixed to a link.

    Attributes:
        origin: frame of the shape in that of the link.
    """

    name: str
    link: str
    shape: Shape
    origin: Pose = IN_PLACE
    surface: Surface = Surface()
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Obstacle:
    """A shape fixed in the world.

    Attributes:
        origin: frame of the shape in the world.
        friction: of what touches it the smaller of this and its own holds.
    """

    name: str
    shape: WorldShape
    origin: Pose = IN_PLACE
    friction: float = math.inf
    line: int | None = None


FLOOR = Obstacle("floor", Plane())


@dataclass(frozen=True, slots=True)
class Contact:
    """What a robot's `<collision>` elements meet, and how.

    Attributes:
        obstacles: of the world; by default a floor at z = 0.
        surface: of all geometries but those in `surfaces`.
        surfaces: by the name of a geometry or of a link.
    """

    obstacles: tuple[Obstacle, ...] = (FLOOR,)
    surface: Surface = Surface()
    surfaces: Mapping[str, Surface] = field(default_factory=dict)
