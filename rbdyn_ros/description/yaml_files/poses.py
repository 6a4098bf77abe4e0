# SPDX-License-Identifier: Apache-2.0
"""The keys of a pose in all elements of YAML files."""

import math

from rbdyn_ros.checks.rotations import unit_quaternion
from rbdyn_ros.description.parts.poses import IN_PLACE, Pose, quat_from_rpy
from rbdyn_ros.description.yaml_files.kinds import VECTOR, Number, NumberList
from rbdyn_ros.description.yaml_files.tables import Given, Key

AT = (
    Key("xyz", VECTOR, "position [m]"),
    # a description has quaternions only, so nothing else can check these angles
    Key("rpy", NumberList(3, Number(quantity="angle", unit="rad")), "roll, pitch and yaw [rad]"),
)
PLACE = (*AT, Key("quat", NumberList(4), "w, x, y, z, instead of `rpy`"))


def pose_of(given: Given, before: Pose = IN_PLACE) -> Pose:
    """Return the pose of the keys AT; missing keys keep the values of `before`."""
    quat = quat_from_rpy(*given["rpy"]) if "rpy" in given else before.quat
    return Pose(given.get("xyz", before.pos), quat)


def placement_of(given: Given) -> Pose:
    """Return the pose of the keys PLACE."""
    at = pose_of(given)
    if "quat" not in given:
        return at
    if "rpy" in given.lines:
        text = "it has both 'rpy' and 'quat'; delete one"
        given.error("duplicate-key", "quat", text, found="quat")
        return at
    quat = given["quat"]
    unit = unit_quaternion(quat)
    if unit is None:
        text = f"the quat has length {math.hypot(*quat):g}; it must be 1: w, x, y, z of a rotation"
        given.error("bad-quaternion", "quat", text, found=str(quat), allowed="length 1")
        return at
    w, x, y, z = unit
    return Pose(at.pos, (w, x, y, z))
