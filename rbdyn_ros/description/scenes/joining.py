# SPDX-License-Identifier: Apache-2.0
"""Read a part of a scene, and join it to the other parts."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rbdyn_ros.checks.audit import Audit, Subject
from rbdyn_ros.description.build.builder import SystemBuilder
from rbdyn_ros.description.build.contacts import check_contact, with_contact
from rbdyn_ros.description.checks.check import check
from rbdyn_ros.description.parts.geometries import Contact
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.description.robot_files import read
from rbdyn_ros.errors import RbdynError


def described(
    source: Any, contact: Contact, package_dirs: Sequence[str | Path], audit: Audit
) -> Description:
    """Return the Description of a robot or an object; raise RbdynError if it is refused."""
    if isinstance(source, SystemBuilder | Description):
        own = source.description() if isinstance(source, SystemBuilder) else source
        checked = check(own, strict=audit.strict)
        wanted = replace(contact, obstacles=checked.obstacles)
        more = Audit(strict=audit.strict)
        found = with_contact(checked, check_contact(wanted), more)
        more.raise_errors(checked.source)
        return found
    return read(source, strict=audit.strict, package_dirs=package_dirs, contact=contact)


def add_findings(error: RbdynError, part: Subject) -> None:
    """Add the errors about a part of the scene."""
    for finding in error.findings:
        place = f"line {finding.line}: " if finding.line is not None else ""
        where = f"{error.source}: {place}" if error.source else place
        text = f"{where}{finding.message}"
        part.error(finding.code, text, found=finding.found, allowed=finding.allowed)


def coordinates(pose: Pose) -> tuple[float, ...]:
    """Return the position of a floating joint."""
    return (*pose.pos, *pose.quat)
