# SPDX-License-Identifier: Apache-2.0
"""Read numbers and poses from pruned elements, whose text is known to be well-formed."""

from xml.etree import ElementTree as ET

from rbdyn_ros.description.parts.poses import ZERO, Pose, Vec3, pose


def pose_of(element: ET.Element) -> Pose:
    """Return the pose of the attributes xyz and rpy of a pruned element."""
    return pose(vector(element, "xyz", ZERO), vector(element, "rpy", ZERO))


def vector(element: ET.Element, attribute: str, default: Vec3) -> Vec3:
    """Return the three numbers of an attribute of a pruned element, or the default."""
    text = element.attrib.get(attribute)
    if text is None:
        return default
    x, y, z = map(float, text.split())
    return x, y, z
