# SPDX-License-Identifier: Apache-2.0
"""Check trajectories for collisions of the arm with itself and with the declared scene."""

from dataclasses import replace
from types import SimpleNamespace

from rclpy.node import Node

from rbdyn_ros.arrays import Ints
from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.control.collisions.guarded_pairs import with_guarded_pairs
from rbdyn_ros.control.collisions.self_collision import SelfCollision
from rbdyn_ros.description.parts.geometries import Contact
from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.description.scene_files.arm_scene import ArmScene
from rbdyn_ros.description.source import MECHANISM_SUFFIXES, Source, read
from rbdyn_ros.description.urdf_files.srdf import SrdfSource
from rbdyn_ros.dynamics.collisions import overlap_text
from rbdyn_ros.errors import Finding, ParameterError, RbdynError, counted, listing, quote
from rbdyn_ros.loading.load import complete

#: Codes of warnings that concern only contact forces; the distances used here are exact.
OF_FORCES = ("in-obstacle",)


def collision_check(
    node: Node, values: SimpleNamespace, source: Source, dofs: Ints, scene: ArmScene | None
) -> SelfCollision | None:
    """Return the check of trajectories; if there is none, log the reason and return None.

    Args:
        node: node that logs.
        values: values of the parameters.
        source: source of the robot.
        dofs: degrees of freedom of the controlled joints.
        scene: the declared surroundings of the arm, or None.

    Raises:
        RbdynError: a scene is declared but cannot be checked, or the file of parameter srdf
            cannot be used.
    """
    _check_srdf(values.srdf, source)
    log = node.get_logger()
    links: bool = values.check_self_collision
    if not links:
        log.warning("check_self_collision is false: trajectories may send the arm into itself")
        if scene is None:
            return None
    try:
        description = _with_geometries(values, source, scene)
        if scene is not None:
            scene.check_geometries(description)
            scene.check_names(description)
        if not description.geometries:
            log.info("the robot has no <collision> elements: self-collision is not checked")
            return None
        m = complete(description, False, values.strict)
        margin, untested = values.self_collision_margin, list[str]()
        if links:
            m, untested = with_guarded_pairs(m, description, margin)
        check = SelfCollision(m, dofs, margin, links=links, world=scene is not None)
    except RbdynError as error:
        if scene is not None:
            raise
        reason = f"trajectories are not checked for self-collision: {error}"
        log.warning(reason)
        return None
    known = {finding.message for finding in source.description.findings}
    warnings = (f for f in m.findings if f.severity == "warning" and f.code not in OF_FORCES)
    new = [f for f in warnings if f.message not in known]
    overlaps = [overlap_text(m.name, check.overlaps)] if check.overlaps and links else []
    overlaps += [_untested_text(untested)] if untested else []
    if new or overlaps:
        log.warning("\n".join(["self-collision:", *(f"  {each}" for each in [*new, *overlaps])]))
    if scene is not None:
        names = ", ".join(obstacle.name for obstacle in description.obstacles)
        kept = f"trajectories keep clear of {names}"
        log.info(kept)
    return check


def _is_mechanism(source: Source) -> bool:
    return source.path is not None and source.path.suffix.lower() in MECHANISM_SUFFIXES


def _untested_text(pairs: list[str]) -> str:
    """Return a sentence about the pairs of geometries that the check leaves out."""
    return (
        f"the check leaves out {counted(len(pairs), 'pair')} of geometries that are nearer than "
        "self_collision_margin at zero position, in a state of the SRDF, or in most poses: "
        f"{listing(pairs)}"
    )


def _check_srdf(srdf: str, source: Source) -> None:
    """Raise ParameterError if an SRDF is given and cannot be used."""
    if not srdf:
        return
    if _is_mechanism(source):
        text = (
            f"srdf is {quote(srdf, 200)}, but the robot is a mechanism file, which has no SRDF; "
            "disable pairs by exclude in a scene file, see parameter scene"
        )
        raise ParameterError(Finding("bad-srdf", text, "error", "srdf"))
    description = source.description
    links = [link.name for link in description.links]
    try:
        SrdfSource(srdf, None).read(description.name, links, Audit())
    except RbdynError as error:
        text = f"parameter srdf: {error}"
        raise ParameterError(Finding("bad-srdf", text, "error", "srdf")) from error


def _with_geometries(
    values: SimpleNamespace, source: Source, scene: ArmScene | None
) -> Description:
    """Return the description of the robot with its geometries and the scene's obstacles."""
    own = source.description.obstacles
    contact, srdf = scene.beside(own) if scene else Contact(obstacles=()), values.srdf or True
    contact = replace(contact, self_collision=False)  # no step is made with this Model
    dirs = values.package_dirs if source.file is None else ()
    found = read(
        source.file or source.text,
        strict=values.strict,
        package_dirs=dirs,
        contact=contact,
        srdf=srdf,
    )
    return scene.around(found, contact) if scene and _is_mechanism(source) else found
