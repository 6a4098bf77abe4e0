# SPDX-License-Identifier: Apache-2.0
"""Numbers and elements of the XML formats. Reading a written number gives the same number."""

from xml.etree import ElementTree as ET

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.checks.inertials import as_matrix
from rbdyn_ros.description.parts.poses import Quat, Vec3, rotate
from rbdyn_ros.description.parts.types import Inertial

#: The number for no limit in an SDF. A URDF has no such number; there this is a very high limit.
UNLIMITED = 1e16
#: The inertial that a link gets if it has none but the format needs one.
LIGHT = Inertial(1e-6, inertia=(1e-9, 1e-9, 1e-9, 0.0, 0.0, 0.0))


def words(*values: float) -> str:
    """Return numbers, separated by spaces, without needless decimal points."""
    return " ".join(repr(float(value)).removesuffix(".0") for value in values)


def valued(parent: ET.Element, tag: str, *values: float | str) -> ET.Element:
    """Add an element whose text is a word or numbers, and return it."""
    element = ET.SubElement(parent, tag)
    texts = (value if isinstance(value, str) else words(value) for value in values)
    element.text = " ".join(texts)
    return element


def document(root: ET.Element) -> bytes:
    """Return an element as an indented XML document."""
    ET.indent(root)
    text: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def tensor(inertial: Inertial) -> Array:
    """Return the inertia about the centre of mass in the axes of the link, (3, 3)."""
    turn = matrix(inertial.origin.quat)
    own = as_matrix(np.array(inertial.inertia))
    return own if np.array_equal(turn, np.eye(3)) else turn @ own @ turn.T


def matrix(quat: Quat) -> Array:
    """Return the rotation matrix of a quaternion."""
    axes: list[Vec3] = [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)]
    turned: Array = np.array([rotate(quat, axis) for axis in axes]).T
    return turned
