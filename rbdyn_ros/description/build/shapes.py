"""Mass distributions of simple homogeneous bodies.

Each maker takes exactly one of `density` [kg/m^3] and `mass` [kg], and `at`, the frame of the
shape in the frame of the link.
"""

from __future__ import annotations

import math

import numpy as np

from rbdyn_ros.description.arguments import frame, positive, vector
from rbdyn_ros.description.poses import IN_PLACE, Pose, Vec3, compose, rotate
from rbdyn_ros.description.types import Inertial
from rbdyn_ros.errors import Finding, ParameterError, not_allowed

ALUMINIUM = 2.7e3  # [kg/m^3]


def box(
    size: Vec3, *, density: float | None = None, mass: float | None = None, at: Pose = IN_PLACE
) -> Inertial:
    """Return the inertial of a box around the origin of its frame.

    Args:
        size: lengths of the edges along x, y and z [m].
        density: [kg/m^3].
        mass: [kg].
        at: frame of the box in the frame of the link.

    Raises:
        ParameterError: a length, the density or the mass is not above 0, or not one of the latter
            two is given.
    """
    x, y, z = (positive("an edge of the box", edge) for edge in vector("the size", size))
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
    """Return the inertial of a cylinder along z, around the origin of its frame [m].

    Further arguments and errors as for `box`.
    """
    r, h = positive("the radius", radius), positive("the length", length)
    m = _mass(math.pi * r * r * h, density, mass)
    across = (3 * r * r + h * h) / 12
    return _inertial(m, at, across, across, r * r / 2)


def sphere(
    radius: float, *, density: float | None = None, mass: float | None = None, at: Pose = IN_PLACE
) -> Inertial:
    """Return the inertial of a sphere around the origin of its frame [m].

    Further arguments and errors as for `box`.
    """
    r = positive("the radius", radius)
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
    """Return the inertial of a cylinder along z with half a sphere on either end.

    Args:
        radius: of cylinder and spheres [m].
        length: of the cylinder alone [m].
        density: as for `box`, like the errors.
        mass: as for `box`.
        at: frame of the capsule, which has its origin in the middle, in the frame of the link.
    """
    r, h = positive("the radius", radius), positive("the length", length)
    tube, ends = math.pi * r * r * h, 4 / 3 * math.pi * r**3
    m = _mass(tube + ends, density, mass)
    tube, ends = tube / (tube + ends), ends / (tube + ends)
    # the centre of mass of half a sphere lies 3/8 r above its flat side
    across = tube * (r * r / 4 + h * h / 12) + ends * (2 / 5 * r * r + h * h / 4 + 3 / 8 * h * r)
    return _inertial(m, at, across, across, tube * r * r / 2 + ends * 2 / 5 * r * r)


def top(
    radius: float,
    thickness: float,
    height: float,
    *,
    density: float | None = None,
    mass: float | None = None,
    at: Pose = IN_PLACE,
) -> Inertial:
    """Return the inertial of a spinning top: a disk on a shaft whose mass does not count.

    Args:
        radius: of the disk [m].
        thickness: of the disk [m].
        height: of the middle of the disk above the foot of the shaft [m].
        density: of the disk [kg/m^3]; aluminium if there is neither density nor mass.
        mass: of the disk [kg].
        at: frame with its origin in the foot and z along the shaft, in the frame of the link.

    Source: Kajita et al., Introduction to Humanoid Robotics, MakeTop.m of figure 6.27.
    """
    if density is None and mass is None:
        density = ALUMINIUM
    up = Pose((0.0, 0.0, positive("the height", height)))
    return cylinder(radius, thickness, density=density, mass=mass, at=compose(frame("at", at), up))


def combine(*inertials: Inertial) -> Inertial:
    """Return the inertial of the bodies of one link together, in the axes of the link.

    Raises:
        ParameterError: there is nothing to combine.
    """
    if not inertials:
        raise not_allowed("what combine gets", inertials, "one Inertial or more")
    if len(inertials) == 1:
        return inertials[0]
    mass = sum(part.mass for part in inertials)
    centres = np.array([part.origin.pos for part in inertials])
    shares = np.array([part.mass for part in inertials])
    com = shares @ centres / mass if mass > 0.0 else np.zeros(3)
    total = np.zeros((3, 3))
    for part, arm in zip(inertials, centres - com, strict=True):
        # Steiner: I + m (r^2 1 - r r^T)
        total += _about_com(part) + part.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = total.tolist()
    return Inertial(mass, Pose(tuple(com.tolist())), (xx, yy, zz, xy, xz, yz))


def _about_com(part: Inertial) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Return the 3x3 inertia about the centre of mass, in the axes of the link."""
    xx, yy, zz, xy, xz, yz = part.inertia
    units: tuple[Vec3, ...] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    R = np.array([rotate(part.origin.quat, unit) for unit in units]).T
    rotated: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = (
        R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
    )
    return rotated


def _mass(volume: float, density: float | None, mass: float | None) -> float:
    if (density is None) == (mass is None):
        given = "neither is" if density is None else "both are"
        message = f"a shape takes either a density or a mass; {given} given"
        raise ParameterError(Finding("density-or-mass", message))
    if mass is not None:
        return positive("the mass", mass)
    return positive("the mass by that density", positive("the density", density) * volume)


def _inertial(mass: float, at: Pose, xx: float, yy: float, zz: float) -> Inertial:
    """Return an Inertial from moments of inertia per mass."""
    return Inertial(mass, frame("at", at), (mass * xx, mass * yy, mass * zz, 0.0, 0.0, 0.0))
