# SPDX-License-Identifier: Apache-2.0
"""Read a robot from an SDF file."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.checks.names import free_name
from rbdyn_ros.description.build.contacts import check_contact, with_contact
from rbdyn_ros.description.checks.check import audit_description
from rbdyn_ros.description.parts.geometries import Contact
from rbdyn_ros.description.parts.poses import IN_PLACE
from rbdyn_ros.description.parts.types import ROOT_JOINT, WORLD, Description, Joint, Link
from rbdyn_ros.description.reading.xacro_files import check_no_arguments
from rbdyn_ros.description.sdf_files.document import IS_WORLD, name_of
from rbdyn_ros.description.sdf_files.groups import Grouping, SdfGroup
from rbdyn_ros.description.sdf_files.models import read_tree

#: Elements of other readers; a note mentions all other unread elements.
LOOKS = frozenset({"visual", "light"})


def read(
    source: Path | str | bytes,
    *,
    strict: bool = True,
    package_dirs: Sequence[str | Path] = (),
    xacro_args: Mapping[str, object] | None = None,
    contact: bool | Contact = False,
    in_model: bool = False,
) -> Description:
    """Read the model of an SDF.

    The root link is at the origin, as in a URDF, unless a joint connects the model to the world.
    Groups of links that no joint connects float.

    Args:
        source: the path of the file, or the text of a document, which names other files by
            `model://` and `package://` only.
        strict: whether to refuse errors that can be repaired; otherwise they are repaired, each
            with a warning.
        package_dirs: folders to search for models and packages.
        xacro_args: must be empty.
        contact: True or a Contact: read the `<collision>` elements and their meshes, and add the
            obstacles of the Contact; False: ignore them.
        in_model: whether the frame of the model is the root, and the world for fixed parts; the
            pose of the model is then ignored.

    Returns:
        The checked Description, in SI units.

    Raises:
        DescriptionError: with all errors of the document, each with its line.
        ParameterError: contact is neither a bool nor a Contact, or there are arguments of xacro.
    """
    wanted, name = check_contact(contact), name_of(source)
    check_no_arguments(xacro_args, Path(name))
    audit = Audit(strict=strict)
    tree = read_tree(source, audit, package_dirs)
    if tree.is_world:
        audit.error("is-world", tree.world.part.owner, tree.world.part.line, IS_WORLD)
    audit.raise_errors(name)
    if in_model:
        for model in tree.world.inner:
            model.origin.pose, model.origin.relative_to = IN_PLACE, ""
    decompose = wanted is not None and wanted.decompose
    touches = wanted is not None
    grouping = Grouping(tree, name, audit, package_dirs, touches=touches, decompose=decompose)
    groups = grouping.groups()
    if len(groups) == 1:
        described = _in_model(groups[0]) if in_model else _alone(groups[0], audit)
    else:
        described = _together(groups, name)
    for document in tree.files:
        document.report(LOOKS if touches else LOOKS | {"collision"})
    audit.raise_errors(name)
    checked = audit_description(with_contact(described, wanted, audit), audit)
    audit.raise_errors(name)
    return replace(checked, findings=audit.sorted())


def _alone(group: SdfGroup, audit: Audit) -> Description:
    if group.floats and group.at != IN_PLACE:
        text = "its pose acts only in a world; here its root link is at the origin, as in a URDF"
        audit.add("note", "pose-of-model", f"model '{group.name}'", None, text)
    return group.description


def _in_model(group: SdfGroup) -> Description:
    """Return the group; if it floats away from the origin, add a massless root at the origin."""
    own = group.description
    if not group.floats or group.at == IN_PLACE:
        return own
    taken = {link.name for link in own.links} | {joint.name for joint in own.joints}
    frame = free_name(own.name or "model", taken)
    mount = Joint(free_name(f"{frame}_mount", taken), "fixed", frame, group.root, group.at)
    base = frame if own.base else ""
    return replace(own, links=(Link(frame), *own.links), joints=(mount, *own.joints), base=base)


def _together(groups: Sequence[SdfGroup], source: str) -> Description:
    """Return all groups of a model in one world, in which free groups float."""
    whole = Description(groups[0].description.name if groups else "", (Link(WORLD),), (), source)
    whole = replace(whole, base=WORLD)
    for group in groups:
        own = group.description
        joints = own.joints
        if group.floats:
            root = own.base or next(
                link.name for link in own.links if link.name not in {j.child for j in joints}
            )
            start = (*group.at.pos, *group.at.quat)
            name = f"{root}_{ROOT_JOINT}"
            free = Joint(name, "floating", WORLD, root, start=start, actuated=False)
            joints = (free, *joints)
        whole = replace(
            whole,
            links=(*whole.links, *(link for link in own.links if link.name != WORLD)),
            joints=(*whole.joints, *joints),
            geometries=(*whole.geometries, *own.geometries),
            obstacles=(*whole.obstacles, *own.obstacles),
            constraints=(*whole.constraints, *own.constraints),
            sensors=(*whole.sensors, *own.sensors),
            self_collision=whole.self_collision and own.self_collision,
        )
    return whole
