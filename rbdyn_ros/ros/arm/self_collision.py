"""The check of trajectories for self-collision: the arm's geometries, from its robot file."""

from __future__ import annotations

from types import SimpleNamespace

from rclpy.node import Node

from rbdyn_ros.arrays import Ints
from rbdyn_ros.control.self_collision import SelfCollision
from rbdyn_ros.description.geometries import Contact
from rbdyn_ros.description.source import MECHANISM_SUFFIXES, read
from rbdyn_ros.description.types import Description
from rbdyn_ros.description.urdf_files import urdf
from rbdyn_ros.description.urdf_files.xacro_files import xacro_arguments
from rbdyn_ros.dynamics.collisions import overlap_text
from rbdyn_ros.errors import RbdynError
from rbdyn_ros.loading.load import complete
from rbdyn_ros.ros.common.source import Source


def self_collision(
    node: Node, values: SimpleNamespace, source: Source, dofs: Ints
) -> SelfCollision | None:
    """Return the check of trajectories; None, and a line in the log, if they are not checked.

    Args:
        node: logs.
        values: of the parameters.
        source: of the robot.
        dofs: degrees of freedom of the controlled joints.
    """
    log = node.get_logger()
    if not values.check_self_collision:
        log.warning("check_self_collision is false: trajectories may send the arm into itself")
        return None
    try:
        description = _with_geometries(values, source)
        if not description.geometries:
            log.info("the robot has no <collision> elements: self-collision is not checked")
            return None
        m = complete(description, False, values.strict)
        check = SelfCollision(m, dofs, values.self_collision_margin)
    except RbdynError as error:
        reason = f"trajectories are not checked for self-collision: {error}"
        log.warning(reason)
        return None
    known = {finding.message for finding in source.description.findings}
    new = [f for f in m.findings if f.severity == "warning" and f.message not in known]
    overlaps = [overlap_text(m.name, check.overlaps)] if check.overlaps else []
    if new or overlaps:
        log.warning("\n".join(["self-collision:", *(f"  {each}" for each in [*new, *overlaps])]))
    return check


def _with_geometries(values: SimpleNamespace, source: Source) -> Description:
    """Return the robot with its geometries, which its other users do not need."""
    contact, srdf = Contact(obstacles=()), values.srdf or True
    if source.path is None:
        return urdf.read_text(source.text, strict=values.strict, contact=contact, srdf=srdf)
    arguments = xacro_arguments(values.xacro_args)
    if source.path.suffix.lower() in MECHANISM_SUFFIXES:
        return read(source.path, strict=values.strict, xacro_args=arguments, contact=contact)
    return urdf.read(
        source.path, strict=values.strict, xacro_args=arguments, contact=contact, srdf=srdf
    )
