# SPDX-License-Identifier: Apache-2.0
"""Versions of URDF and their additions, by the rules of urdfdom 6.0.

1.1 adds `quat_xyzw` and `<capsule>`. 1.2 adds limits of acceleration, deceleration and jerk. It
makes the limits of effort and velocity optional, but requires the position limits of revolute and
prismatic joints. A file without a version has version 1.0.
"""

import re

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.reading.guard import Element
from rbdyn_ros.errors import listing, quote

Version = tuple[int, int]

FIRST: Version = (1, 0)
WITH_QUATERNIONS: Version = (1, 1)
WITH_CAPSULES: Version = (1, 1)
WITH_JERK: Version = (1, 2)

_KNOWN = (FIRST, WITH_QUATERNIONS, WITH_JERK)
_FORM = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})")


def version_of(robot: Element) -> Version:
    """Return the version of a robot; an unknown version counts as the first."""
    return version_in(robot.get("version"))


def version_in(text: str | None) -> Version:
    """Return the version in an attribute, or the first version if it is missing or unknown."""
    return FIRST if text is None else _read(text) or FIRST


def is_known(text: str | None) -> bool:
    """Return whether an attribute is a known version, or missing."""
    return text is None or _read(text) is not None


def _read(text: str) -> Version | None:
    found = _FORM.fullmatch(text.lstrip())
    version = (int(found[1]), int(found[2])) if found else None
    return version if version in _KNOWN else None


def audit_version(robot: Element, audit: Audit) -> None:
    """Add an error for an unknown version."""
    version = robot.get("version", "1.0")
    if _read(version) is None:
        allowed = listing([f"{major}.{minor}" for major, minor in _KNOWN])
        message = f"the URDF version is {quote(version)}; known are {allowed}"
        audit.error("bad-version", "", robot.line, message, found=version, allowed=allowed)


def needed(since: Version) -> str:
    """Return the words by which a message asks for a version."""
    return f'write version="{since[0]}.{since[1]}" in <robot> to use it'
