# SPDX-License-Identifier: Apache-2.0
"""Read robots and worlds from MJCF, the format of MuJoCo."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rbdyn_ros.checks.audit import Audit, robot_element
from rbdyn_ros.description.build.contacts import check_contact, with_contact
from rbdyn_ros.description.checks.check import audit_description
from rbdyn_ros.description.meshes.files import MeshFiles
from rbdyn_ros.description.mjcf_files.actuators import read_servos
from rbdyn_ros.description.mjcf_files.bodies import BodyTree, read_tree, site_frames
from rbdyn_ros.description.mjcf_files.constraints import followed, read_couplings
from rbdyn_ros.description.mjcf_files.contacts import read_contacts
from rbdyn_ros.description.mjcf_files.defaults import Classes
from rbdyn_ros.description.mjcf_files.document import MjcfDocument, parsed
from rbdyn_ros.description.mjcf_files.hfields import read_hfields
from rbdyn_ros.description.mjcf_files.masses import read_masses
from rbdyn_ros.description.mjcf_files.meshes import MeshShapes, read_meshes
from rbdyn_ros.description.mjcf_files.sensors import read_sensors
from rbdyn_ros.description.mjcf_files.settings import CompilerSettings, read_options, read_settings
from rbdyn_ros.description.parts.geometries import Contact, GroupState
from rbdyn_ros.description.parts.types import WORLD, Description, Joint, Link
from rbdyn_ros.description.reading.files import read_bytes
from rbdyn_ros.description.reading.xacro_files import check_no_arguments
from rbdyn_ros.errors import quote


def read(
    path: str | Path, *, xacro_args: Mapping[str, object] | None = None, **how: Any
) -> Description:
    """Read an MJCF file and the files that it includes.

    Further arguments, result and errors as for `read_text`; `xacro_args` must be empty.
    """
    path = Path(path)
    check_no_arguments(xacro_args, path)
    data = read_bytes(path, "an .xml file", "the path of an MJCF file")
    return read_text(data, source=str(path), folder=path.parent, **how)


def read_text(
    text: str | bytes,
    *,
    source: str = "<text>",
    folder: Path | None = None,
    strict: bool = True,
    package_dirs: Sequence[str | Path] = (),
    contact: bool | Contact = False,
) -> Description:
    """Read a model from text.

    Args:
        text: the document.
        source: its name, for messages.
        folder: folder of its includes and meshes; None: the text opens no files except meshes of
            packages.
        strict: whether to refuse errors that can be repaired, such as a muscle; otherwise parts
            that cannot be read are left out, each with a warning.
        package_dirs: folders to search for packages of meshes.
        contact: True or a Contact: read the geoms that touch, with their meshes, and the obstacles
            of the world. False: open only meshes that give a body its inertia.

    Returns:
        The checked Description. Its base is the world.

    Raises:
        DescriptionError: with all errors of the document, each with its line.
        ParameterError: contact is neither a bool nor a Contact.
    """
    wanted = check_contact(contact)
    audit = Audit(strict=strict)
    document = parsed(text, source, folder, audit)
    classes, settings = Classes(document), read_settings(document)
    gravity = read_options(document)
    assets = read_meshes(document, classes, settings)
    divides = wanted is not None and wanted.decompose
    files = MeshFiles(folder, package_dirs)
    fields = None if wanted is None else read_hfields(document, classes, settings, files)
    meshes = MeshShapes(files, decompose=divides, fields=fields)
    tree = read_tree(document, classes, settings, assets)
    described = _described(document, classes, settings, tree, meshes)
    described = replace(described, gravity=gravity)
    if wanted is None:
        document.skip("contact", "geom", "pair", "exclude", "hfield")
    else:
        geometries, obstacles, exclusions = read_contacts(document, classes, tree, meshes)
        described = replace(
            described,
            geometries=tuple(geometries),
            obstacles=tuple(obstacles),
            exclusions=tuple(exclusions),
        )
    document.report_unused(robot_element(described.name))
    checked = audit_description(with_contact(described, wanted, audit), audit)
    audit.raise_errors(source)
    return replace(checked, findings=audit.sorted())


def _described(
    document: MjcfDocument,
    classes: Classes,
    settings: CompilerSettings,
    tree: BodyTree,
    meshes: MeshShapes,
) -> Description:
    """Return the model without its geometries."""
    couplings = read_couplings(document, classes, settings, tree)
    servos, joints = read_servos(document, classes, settings, tree, couplings)
    masses = read_masses(tree.bodies, settings, meshes)
    links = [Link(name, masses.get(name), body.item.line) for name, body in tree.bodies.items()]
    sites, fixed = site_frames(tree)
    taken = [link.name for link in (*links, *tree.between, *sites)]
    taken += [joint.name for joint in (*joints, *fixed)]
    of_site = dict(zip(tree.sites, (site.name for site in sites), strict=True))
    sensors = read_sensors(document, tree, of_site, taken)
    named = document.root.get("model", "").strip()
    return Description(
        named or (Path(document.source).stem if document.folder is not None else "model"),
        (*links, *tree.between, *sites, *sensors.links),
        (*followed(joints, couplings.mimics), *fixed, *sensors.joints, *couplings.loops),
        document.source,
        base=WORLD,
        constraints=tuple(couplings.gears),
        states=tuple(read_keyframes(document, tree)),
        servos=tuple(servos),
        sensors=tuple(sensors.sensors),
    )


_COORDINATES = {"fixed": 0, "floating": 7, "spherical": 4}


def read_keyframes(document: MjcfDocument, tree: BodyTree) -> list[GroupState]:
    """Return a pose for each <key>."""
    states, names = list[GroupState](), set[str]()
    count = sum(_coordinates(joint) for joint in tree.joints)
    for number, element in enumerate(document.sections("keyframe")):
        name = element.get("name") or f"key{number}"
        item = document.item(element, f"keyframe {quote(name)}")
        if name in names:
            message = "another keyframe has this name; names must be unique"
            item.error("duplicate-name", message, found=name)
        names.add(name)
        given = item.numbers("qpos", 1, count) if count else []
        if given:
            if len(given) < count:
                message = f"qpos has {len(given)} of {count} numbers; the others stay at the start"
                item.warn("short-keyframe", message)
            states.append(GroupState(name, _positions(tree.joints, given), item.line))
    return states


def _coordinates(joint: Joint) -> int:
    return _COORDINATES.get(joint.type, 1)


def _positions(joints: list[Joint], given: list[float]) -> dict[str, float | tuple[float, ...]]:
    """Return the numbers of a keyframe by joint; MuJoCo's order is the order of the file."""
    found: dict[str, float | tuple[float, ...]] = {}
    first = 0
    for joint in joints:
        last = first + _coordinates(joint)
        if last > len(given):
            break
        if last == first + 1:
            found[joint.name] = given[first]
        elif last > first:
            found[joint.name] = tuple(given[first:last])
        first = last
    return found
