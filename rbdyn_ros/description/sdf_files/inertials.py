# SPDX-License-Identifier: Apache-2.0
"""Read the <inertial> of the links of an SDF."""

from __future__ import annotations

from dataclasses import replace

from rbdyn_ros.description.build import shapes
from rbdyn_ros.description.parts.geometries import Box, Capsule, Cylinder, Points, Sphere
from rbdyn_ros.description.parts.types import Inertial
from rbdyn_ros.description.sdf_files.collisions import SolidReader
from rbdyn_ros.description.sdf_files.document import SdfElement
from rbdyn_ros.description.sdf_files.frames import Frame
from rbdyn_ros.errors import ParameterError

#: Of SDF: what a link without numbers has.
DENSITY = 1000.0
_SIX = (("ixx", 1.0), ("iyy", 1.0), ("izz", 1.0), ("ixy", 0.0), ("ixz", 0.0), ("iyz", 0.0))


def read_inertial(link: Frame, reader: SolidReader) -> Inertial:
    """Return the mass distribution of a link; by default 1 kg and 1 kg m^2.

    Args:
        link: a link.
        reader: of its collisions, from which `auto` inertials follow.
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
    bodies = []
    try:
        for solid in reader.solids(link):
            if isinstance(solid.shape, Box | Sphere | Cylinder | Capsule | Points):
                density = solid.part.number("density", default=usual)
                bodies.append(shapes.of_shape(solid.shape, density=density, at=solid.origin))
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
