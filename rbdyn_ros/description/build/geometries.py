# SPDX-License-Identifier: Apache-2.0
"""The methods of a SystemBuilder that add contact: geometries of bodies, and obstacles."""

import math
from typing import TYPE_CHECKING

from rbdyn_ros.description.build.arguments import frame, name, number, vector
from rbdyn_ros.description.parts import geometries
from rbdyn_ros.description.parts.poses import IN_PLACE, Pose, Vec3
from rbdyn_ros.errors import not_allowed

if TYPE_CHECKING:  # Self is in typing from Python 3.11 on
    from typing_extensions import Self

SHAPES = "a Sphere, Box, Cylinder, Capsule or Points"
WORLD_SHAPES = "a Plane, Sphere, Box, Cylinder, Capsule, Points, HeightField or TriangleMesh"


class GeometryBuilder:
    """Geometries and obstacles, one method each; every method returns the builder."""

    def __init__(self) -> None:
        super().__init__()
        self._geometries: list[geometries.Geometry] = []
        self._obstacles: list[geometries.Obstacle] = []

    def geometry(
        self,
        geometry: str,
        body: str,
        shape: geometries.Shape,
        *,
        origin: Pose = IN_PLACE,
        surface: geometries.Surface | None = None,
        filter: geometries.Filter | None = None,  # noqa: A002 - the word of Geometry and of the files
    ) -> "Self":
        """Add a contact shape to a body.

        Args:
            geometry: name of the shape.
            body: the body to which the shape is fixed.
            shape: a Sphere, Box, Cylinder, Capsule or Points.
            origin: frame of the shape in the body frame.
            surface: contact properties of the shape; None: a default Surface.
            filter: contact filter; None: the geometry touches everything.

        Raises:
            ParameterError: an argument has the wrong type or a value that is not allowed.
        """
        owner = f"geometry {name('the name of a geometry', geometry)!r}"
        if not isinstance(shape, geometries.Shape):
            raise not_allowed(f"the shape of {owner}", shape, SHAPES)
        if surface is not None and not isinstance(surface, geometries.Surface):
            raise not_allowed(f"the surface of {owner}", surface, "a Surface or None")
        at = frame(f"the origin of {owner}", origin)
        link = name(f"the body of {owner}", body)
        chosen = _filter(owner, filter)
        self._geometries.append(
            geometries.Geometry(
                geometry, link, shape, at, surface or geometries.Surface(), filter=chosen
            )
        )
        return self

    def floor(self, height: float = 0.0, friction: float = math.inf) -> "Self":
        """Add a level floor to the world.

        Args:
            height: height of its surface [m].
            friction: coefficient of friction; a contact has the smaller coefficient of its two
                shapes; infinite: the other shape's coefficient counts.

        Raises:
            ParameterError: an argument has the wrong type or a value that is not allowed.
        """
        at = Pose((0.0, 0.0, number("the height of the floor", height)))
        return self.obstacle(
            geometries.FLOOR.name, geometries.Plane(), origin=at, friction=friction
        )

    def obstacle(
        self,
        obstacle: str,
        shape: geometries.WorldShape,
        *,
        origin: Pose = IN_PLACE,
        friction: float = math.inf,
        filter: geometries.Filter | None = None,  # noqa: A002 - the word of Geometry and of the files
        velocity: Vec3 = (0.0, 0.0, 0.0),
    ) -> "Self":
        """Add an obstacle to the world.

        Args:
            obstacle: name of the obstacle.
            shape: a Plane, Sphere, Box, Cylinder, Capsule, Points, HeightField or TriangleMesh.
            origin: frame of the shape in the world; z of a plane points out of the solid.
            friction: coefficient of friction; a contact has the smaller coefficient of its two
                shapes; infinite: the other shape's coefficient counts.
            filter: contact filter; None: the obstacle touches everything.
            velocity: velocity of its surface, in the axes of the shape [m/s]: a conveyor belt.

        Raises:
            ParameterError: an argument has the wrong type or a value that is not allowed.
        """
        owner = f"obstacle {name('the name of an obstacle', obstacle)!r}"
        if not isinstance(shape, geometries.WorldShape):
            raise not_allowed(f"the shape of {owner}", shape, WORLD_SHAPES)
        if friction != math.inf:
            friction = number(f"the friction of {owner}", friction)
        at = frame(f"the origin of {owner}", origin)
        chosen = _filter(owner, filter)
        moves = vector(f"the surface velocity of {owner}", velocity)
        self._obstacles.append(
            geometries.Obstacle(obstacle, shape, at, friction, filter=chosen, velocity=moves)
        )
        return self


def _filter(owner: str, given: object) -> geometries.Filter:
    if given is not None and not isinstance(given, geometries.Filter):
        raise not_allowed(f"the filter of {owner}", given, "a Filter or None")
    return given or geometries.Filter()
