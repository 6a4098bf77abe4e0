# SPDX-License-Identifier: Apache-2.0
"""Read the <inertial> of the links of an SDF."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rbdyn_ros.description.build import shapes
from rbdyn_ros.description.meshes.files import UnusableMeshError
from rbdyn_ros.description.meshes.moments import Moments, closed_moments
from rbdyn_ros.description.parts.geometries import Box, Capsule, Cylinder, Points, Sphere
from rbdyn_ros.description.parts.types import Inertial
from rbdyn_ros.description.sdf_files.collisions import LinkSolid, SolidReader
from rbdyn_ros.description.sdf_files.frames import Frame
from rbdyn_ros.description.sdf_files.shapes import cone_of, outline_of, radii_of
from rbdyn_ros.description.xml_files.sdf_elements import SdfElement
from rbdyn_ros.errors import ParameterError

#: The density of a link of SDF without numbers [kg/m^3].
DENSITY = 1000.0
#: Shapes that are hulls for contact, but have an inertia of their own.
_TOUCH_AS_HULLS = ("ellipsoid", "cone", "mesh", "polyline")
_SIX = (("ixx", 1.0), ("iyy", 1.0), ("izz", 1.0), ("ixy", 0.0), ("ixz", 0.0), ("iyz", 0.0))


def read_inertial(link: Frame, reader: SolidReader) -> Inertial:
    """Return the mass distribution of a link; by default 1 kg and 1 kg m^2.

    Args:
        link: frame of the element <link>.
        reader: reader of its collisions, from which `auto` inertials follow.
    """
    assert link.part is not None
    part = link.part.child("inertial")
    if part is None:
        text = "it has no <inertial>; SDF gives it 1 kg and 1 kg m^2 about all axes"
        link.part.note("default-inertial", text)
        return Inertial(1.0, inertia=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
    if part.truth(part.attribute("auto"), default=False):
        return _of_shapes(part, link, reader)
    inertia = part.child("inertia")
    xx, yy, zz, xy, xz, yz = (
        default if inertia is None else inertia.number(tag, default=default)
        for tag, default in _SIX
    )
    at = part.pose()
    return Inertial(part.number("mass", default=1.0), at, (xx, yy, zz, xy, xz, yz))


def _of_shapes(part: SdfElement, link: Frame, reader: SolidReader) -> Inertial:
    """Return the sum of the collisions of a link, each with its density, or with a given mass."""
    usual = part.number("density", default=DENSITY)
    by_part: dict[int, list[LinkSolid]] = {}
    for solid in reader.solids(link):
        by_part.setdefault(id(solid.part.element), []).append(solid)
    try:
        bodies = [body for solids in by_part.values() for body in _bodies(solids, usual, reader)]
        whole = shapes.combine(*bodies)
    except ParameterError as error:
        part.error("auto-inertial", f"no inertia follows from its collisions: {error}")
        return Inertial(1.0)
    mass = part.child("mass")
    if mass is None or not whole.mass:
        return whole
    total = part.number("mass", default=whole.mass)
    ratio = total / whole.mass
    xx, yy, zz, xy, xz, yz = (ratio * entry for entry in whole.inertia)
    return replace(whole, mass=total, inertia=(xx, yy, zz, xy, xz, yz))


def _bodies(solids: Sequence[LinkSolid], usual: float, reader: SolidReader) -> list[Inertial]:
    """Return the mass distribution of a collision, or of each of its shapes.

    `usual` is the density of a collision that gives none [kg/m^3].
    """
    part = solids[0].part
    density = part.number("density", default=usual)
    exact = _moments(part, reader)
    if exact is not None:
        return [shapes.of_moments(exact, density=density, at=solids[0].origin)]
    return [
        shapes.of_shape(solid.shape, density=density, at=solid.origin)
        for solid in solids
        if isinstance(solid.shape, Box | Sphere | Cylinder | Capsule | Points)
    ]


def _moments(part: SdfElement, reader: SolidReader) -> Moments | None:
    """Return the moments of a collision whose contact shape is its hull, else None."""
    geometry = part.child("geometry")
    found = [] if geometry is None else list(geometry.children(*_TOUCH_AS_HULLS))
    if len(found) != 1:
        return None
    if found[0].tag == "mesh":
        return reader.mesh_moments(part)
    if found[0].tag == "polyline":
        return _of_prism(*outline_of(found[0]))
    if found[0].tag == "ellipsoid":
        a, b, c = radii_of(found[0])
        volume = 4.0 / 3.0 * math.pi * a * b * c
        return volume, np.zeros(3), volume / 5.0 * np.diag([a * a, b * b, c * c])
    radius, length = cone_of(found[0])
    volume = math.pi * radius * radius * length / 3.0
    across, along = 3.0 / 20.0 * radius * radius, 3.0 / 80.0 * length * length
    # the centre of a cone is a quarter of its length above the base
    return volume, np.array([0.0, 0.0, -length / 4.0]), volume * np.diag([across, across, along])


def _of_prism(outline: Sequence[Sequence[float]], height: float) -> Moments | None:
    """Return the moments of the prism over an outline, or None if it has no volume.

    Its ends are fans of triangles; triangles across a hollow count negatively.
    """
    n = len(outline)
    corners = np.array([(x, y, z) for z in (0.0, height) for x, y in outline])
    ends = [(0, k + 1, k) for k in range(1, n - 1)]
    faces = ends + [(n, n + b, n + a) for _, a, b in ends]
    for k in range(n):
        after = (k + 1) % n
        faces += [(k, after, n + after), (k, n + after, n + k)]
    try:
        return closed_moments(corners, np.array(faces))
    except UnusableMeshError:
        return None
