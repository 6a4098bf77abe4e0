# SPDX-License-Identifier: Apache-2.0
"""Mass distributions of simple homogeneous bodies.

Each function takes either `density` [kg/m^3] or `mass` [kg], and `at`, the frame of the shape in
the link frame.
"""

import math
from collections.abc import Sequence

import numpy as np

from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.description.build.arguments import frame, positive, vector
from rbdyn_ros.description.meshes.hulls import NoHullError, hull_moments
from rbdyn_ros.description.meshes.moments import Moments
from rbdyn_ros.description.parts.geometries import Box, Capsule, Cylinder, Shape, Sphere
from rbdyn_ros.description.parts.inertials import total
from rbdyn_ros.description.parts.poses import IN_PLACE, Pose, Vec3, compose
from rbdyn_ros.description.parts.types import Inertial
from rbdyn_ros.errors import Finding, ParameterError, counted, not_allowed

ALUMINIUM = 2.7e3  # [kg/m^3]


def box(
    size: Vec3, *, density: float | None = None, mass: float | None = None, at: Pose = IN_PLACE
) -> Inertial:
    """Return the inertial of a box around the origin of its frame.

    Args:
        size: edge lengths along x, y and z [m].
        density: density of the body [kg/m^3]; None: the mass is given.
        mass: mass of the body [kg]; None: the density is given.
        at: frame of the box in the link frame.

    Raises:
        ParameterError: a length, the density or the mass is not above 0; or both or neither of
            density and mass are given.
    """
    x, y, z = (positive("an edge of the box", edge, "size") for edge in vector("the size", size))
    m = _mass(x * y * z, density, mass)
    return _inertial(m, at, (y * y + z * z) / 12, (z * z + x * x) / 12, (x * x + y * y) / 12)


def cylinder(
    radius: float,
    length: float,
    *,
    density: float | None = None,
    mass: float | None = None,
    at: Pose = IN_PLACE,
) -> Inertial:
    """Return the inertial of a cylinder along z around the origin of its frame; lengths in [m].

    Further arguments and errors as for `box`.
    """
    r, h = positive("the radius", radius, "size"), positive("the length", length, "size")
    m = _mass(math.pi * r * r * h, density, mass)
    across = (3 * r * r + h * h) / 12
    return _inertial(m, at, across, across, r * r / 2)


def sphere(
    radius: float, *, density: float | None = None, mass: float | None = None, at: Pose = IN_PLACE
) -> Inertial:
    """Return the inertial of a sphere of a radius [m] around the origin of its frame.

    Further arguments and errors as for `box`.
    """
    r = positive("the radius", radius, "size")
    m = _mass(4 / 3 * math.pi * r**3, density, mass)
    return _inertial(m, at, *[2 / 5 * r * r] * 3)


def capsule(
    radius: float,
    length: float,
    *,
    density: float | None = None,
    mass: float | None = None,
    at: Pose = IN_PLACE,
) -> Inertial:
    """Return the inertial of a cylinder along z with a half sphere on each end.

    Args:
        radius: radius of the cylinder and the spheres [m].
        length: length of the cylinder alone [m].
        density: as for `box`.
        mass: as for `box`.
        at: frame of the capsule, with its origin in the middle, in the link frame.
    """
    r, h = positive("the radius", radius, "size"), positive("the length", length, "size")
    tube, ends = math.pi * r * r * h, 4 / 3 * math.pi * r**3
    m = _mass(tube + ends, density, mass)
    tube, ends = tube / (tube + ends), ends / (tube + ends)
    # the centre of mass of a half sphere is 3/8 r above its flat side
    across = tube * (r * r / 4 + h * h / 12) + ends * (2 / 5 * r * r + h * h / 4 + 3 / 8 * h * r)
    return _inertial(m, at, across, across, tube * r * r / 2 + ends * 2 / 5 * r * r)


def hull(
    points: Sequence[Vec3],
    *,
    density: float | None = None,
    mass: float | None = None,
    at: Pose = IN_PLACE,
) -> Inertial:
    """Return the inertial of the convex hull of points, in the axes of `at`.

    Args:
        points: at least four points, not in a plane [m].
        density: as for `box`.
        mass: as for `box`.
        at: frame of the points in the link frame.

    Raises:
        ParameterError: the points have no volume; or as for `box`.
    """
    corners = finite("points", points, (None, 3), element="")
    try:
        found = hull_moments(corners)
    except NoHullError:
        text = (
            f"{counted(len(corners), 'point')} cannot enclose a volume; a body needs four points "
            "that are not in a plane"
        )
        raise ParameterError(Finding("no-volume", text)) from None
    return of_moments(found, density=density, mass=mass, at=at)


def of_moments(
    moments: Moments,
    *,
    density: float | None = None,
    mass: float | None = None,
    at: Pose = IN_PLACE,
) -> Inertial:
    """Return the inertial of a body from its volume, centre and second moments about the centre.

    Further arguments and errors as for `box`.
    """
    volume, com, second = moments
    m = _mass(volume, density, mass)
    turned = np.trace(second) * np.eye(3) - second
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = (m / volume * turned).tolist()
    centre = compose(frame("at", at), Pose(tuple(com.tolist())))
    return Inertial(m, centre, (xx, yy, zz, xy, xz, yz))


def of_shape(
    shape: Shape, *, density: float | None = None, mass: float | None = None, at: Pose = IN_PLACE
) -> Inertial:
    """Return the inertial of a Box, Sphere, Cylinder, Capsule or Points.

    Further arguments and errors as for `box`.
    """
    if isinstance(shape, Box):
        return box(shape.size, density=density, mass=mass, at=at)
    if isinstance(shape, Sphere):
        return sphere(shape.radius, density=density, mass=mass, at=at)
    if isinstance(shape, Cylinder):
        return cylinder(shape.radius, shape.length, density=density, mass=mass, at=at)
    if isinstance(shape, Capsule):
        return capsule(shape.radius, shape.length, density=density, mass=mass, at=at)
    return hull(shape.points, density=density, mass=mass, at=at)


def top(
    radius: float,
    thickness: float,
    height: float,
    *,
    density: float | None = None,
    mass: float | None = None,
    at: Pose = IN_PLACE,
) -> Inertial:
    """Return the inertial of a spinning top: a disk on a massless shaft.

    Args:
        radius: radius of the disk [m].
        thickness: thickness of the disk [m].
        height: height of the centre of the disk above the foot of the shaft [m].
        density: density of the disk [kg/m^3]; None: the mass is given, or aluminium.
        mass: mass of the disk [kg]; None: it follows from the density.
        at: frame with its origin at the foot and z along the shaft, in the link frame.

    Source: Kajita et al., Introduction to Humanoid Robotics, MakeTop.m of figure 6.27.
    """
    if density is None and mass is None:
        density = ALUMINIUM
    up = Pose((0.0, 0.0, positive("the height", height, "size")))
    return cylinder(radius, thickness, density=density, mass=mass, at=compose(frame("at", at), up))


def scaled(
    inertial: Inertial, *, density: float | None = None, mass: float | None = None
) -> Inertial:
    """Return the inertial of a body of density 1, scaled to another density or to a mass.

    Raises:
        ParameterError: the density or the mass is not above 0; or both or neither are given.
    """
    total = _mass(inertial.mass, density, mass)
    xx, yy, zz, xy, xz, yz = (total / inertial.mass * x for x in inertial.inertia)
    return Inertial(total, inertial.origin, (xx, yy, zz, xy, xz, yz))


def combine(*inertials: Inertial) -> Inertial:
    """Return the sum of the inertials of one link, in the axes of the link.

    Raises:
        ParameterError: no inertial is given.
    """
    if not inertials:
        raise not_allowed("the list of inertials to combine", inertials, "at least one Inertial")
    return total(inertials)


def _mass(volume: float, density: float | None, mass: float | None) -> float:
    if (density is None) == (mass is None):
        given = "neither is" if density is None else "both are"
        message = f"a shape needs either a density or a mass; {given} given"
        raise ParameterError(Finding("density-or-mass", message))
    if mass is not None:
        return positive("the mass", mass, "mass")
    mass = positive("the density", density, "density") * volume
    return positive("the mass from the density", mass, "mass")


def _inertial(mass: float, at: Pose, xx: float, yy: float, zz: float) -> Inertial:
    return Inertial(mass, frame("at", at), (mass * xx, mass * yy, mass * zz, 0.0, 0.0, 0.0))
