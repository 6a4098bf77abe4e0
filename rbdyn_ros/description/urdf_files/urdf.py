# SPDX-License-Identifier: Apache-2.0
"""Read robots from URDF and xacro: guard, prune, parse, convert, check."""

import importlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from rbdyn_ros.checks.audit import Audit, robot_element
from rbdyn_ros.collector import uncollected
from rbdyn_ros.description.build.contacts import check_contact, with_contact, with_furniture
from rbdyn_ros.description.checks.check import audit_description
from rbdyn_ros.description.checks.connectivity import links_on_base
from rbdyn_ros.description.meshes.files import MeshFiles
from rbdyn_ros.description.meshes.meshes import Meshes
from rbdyn_ros.description.parts.geometries import Contact
from rbdyn_ros.description.parts.joint_types import LOOP_TYPES, URDF_TYPES
from rbdyn_ros.description.parts.poses import Pose, quat_from_rpy
from rbdyn_ros.description.parts.types import Description, Inertial, Joint, Limit, Link, Mimic
from rbdyn_ros.description.reading import guard
from rbdyn_ros.description.reading.files import read_bytes
from rbdyn_ros.description.reading.xacro_files import check_no_arguments, expand, refuse_xacro
from rbdyn_ros.description.urdf_files import collisions
from rbdyn_ros.description.urdf_files.joint_limits import with_limits
from rbdyn_ros.description.urdf_files.loops import take_loops
from rbdyn_ros.description.urdf_files.prune import prune
from rbdyn_ros.description.urdf_files.schema import NEW_LIMITS, WANTED
from rbdyn_ros.description.urdf_files.srdf import OF_STATES, SrdfSource, check_srdf
from rbdyn_ros.description.urdf_files.vendors import VendorParts, take_vendors
from rbdyn_ros.description.urdf_files.words import counter

_TYPES = tuple(dict.fromkeys((*URDF_TYPES, *LOOP_TYPES, "universal")))
ADDRESSES = ("package://", "file://", "model://", "http://", "https://")


@dataclass(frozen=True, slots=True)
class _Beside:
    """The settings for the files that belong to a URDF; without contact, only states are read."""

    contact: Contact | None
    meshes: Meshes
    srdf: SrdfSource


def read_file(
    path: Path,
    *,
    strict: bool = True,
    package_dirs: Sequence[str | Path] = (),
    xacro_args: Mapping[str, object] | None = None,
    contact: bool | Contact = False,
    srdf: str | bytes | Path | bool = True,
) -> tuple[Description, str]:
    """Read a robot file once; return the Description and the URDF text, which xacro has expanded.

    Args:
        path: path of a ``.urdf`` or ``.xacro`` file.
        strict: whether to refuse errors that can be repaired (an unknown leader, a missing limit);
            otherwise they are repaired, each with a warning in ``findings``.
        package_dirs: a folder, or a list of folders, to search for packages, of
            ``$(find package)`` and of meshes; each may contain the package or be it.
        xacro_args: values for the ``$(arg ...)`` of a xacro file: text, bools and numbers; None:
            no values.
        contact: True or a Contact: read the `<collision>` elements and their meshes, and add the
            obstacles of the Contact; False: ignore them.
        srdf: path or text of the SRDF whose `<group_state>` are used, and for contact its
            `<disable_collisions>`; True: a file next to the robot; False: no SRDF.

    Raises:
        DescriptionError: with all errors of the document, each with its line. For a xacro file
            the lines are those of the output of the command ``xacro``.
        ParameterError: contact is neither a bool nor a Contact.
    """
    wanted = check_contact(contact)
    check_srdf(srdf)
    data = read_bytes(path, "a .urdf or .xacro file", "a path or the text of a URDF")
    audit = Audit(strict=strict)
    decompose = wanted is not None and wanted.decompose
    meshes = Meshes(MeshFiles(path.parent, package_dirs), decompose=decompose)
    beside = _Beside(wanted, meshes, SrdfSource(srdf, path))
    if path.suffix.lower() != ".xacro":
        refuse_xacro(data, path)
        check_no_arguments(xacro_args, path)
        return _read(data, str(path), audit, beside), guard.decode(data, str(path))
    # check first: xacro's own errors are hard to read
    guard.parse(data, str(path), "robot", WANTED)
    text = expand(path, audit, package_dirs, xacro_args)
    return _read(text, f"{path} (as expanded by xacro)", audit, beside), text


def read_text(
    text: str | bytes,
    *,
    source: str = "<text>",
    strict: bool = True,
    package_dirs: Sequence[str | Path] = (),
    contact: bool | Contact = False,
    srdf: str | bytes | Path | bool = True,
    folder: Path | None = None,
) -> Description:
    """Read a robot from the text of a URDF; never runs xacro.

    Meshes are opened for contact only, and without a folder only meshes of packages.

    Args:
        text: the document; bytes are decoded as declared.
        source: name of the document, for messages.
        strict: as for ``read_file``.
        package_dirs: folders to search for packages of meshes, as for ``read_file``.
        contact: as for ``read_file``.
        srdf: as for ``read_file``; there is no file next to a text.
        folder: folder of the meshes that are named relative to the file; None: such meshes are not
            found.

    Returns:
        The checked Description.

    Raises:
        DescriptionError: with all errors of the document, each with its line.
        ParameterError: contact is neither a bool nor a Contact.
    """
    wanted = check_contact(contact)
    check_srdf(srdf)
    decompose = wanted is not None and wanted.decompose
    meshes = Meshes(MeshFiles(folder, package_dirs), decompose=decompose)
    beside = _Beside(wanted, meshes, SrdfSource(srdf, None))
    return _read(text, source, Audit(strict=strict), beside)


def _read(text: str | bytes, source: str, audit: Audit, beside: _Beside) -> Description:
    with uncollected():  # garbage collection would take a fifth of the time
        description = audit_description(_convert(text, source, audit, beside), audit, _TYPES)
    audit.raise_errors(source)
    return replace(description, findings=audit.sorted())


def _convert(text: str | bytes, source: str, audit: Audit, beside: _Beside) -> Description:
    if beside.contact is None:
        robot = guard.parse(text, source, "robot", WANTED)
        described, _ = _described(robot, source, audit, beside.srdf)
        semantic = Audit()
        named = beside.srdf.read(described.name, (), semantic)
        # leave out findings about pairs
        audit.findings += [x for x in semantic.findings if x.code in OF_STATES]
        return replace(described, states=named.states)
    robot = guard.parse(text, source, "robot", collisions.WANTED)
    geometries = collisions.read_collisions(robot, beside.meshes, audit)
    described, vendors = _described(robot, source, audit, beside.srdf)
    described = vendors.touched(replace(described, geometries=geometries))
    links = [link.name for link in described.links]
    found = beside.srdf.read(described.name, links, audit)
    still = links_on_base(described)
    stands = [min(pair & still) for pair in found.enabled if len(pair & still) == 1]
    excluded = (*described.exclusions, *found.exclusions)
    described = replace(described, exclusions=excluded, states=found.states)
    described = with_furniture(described, stands)
    return with_contact(described, beside.contact, audit)


def _described(
    robot: guard.Element, source: str, audit: Audit, srdf: SrdfSource
) -> tuple[Description, VendorParts]:
    unused, vendors = counter(), take_vendors(robot, source, audit)
    prune(robot, audit, source, unused)
    lines = {tag: [part.line for part in robot if part.tag == tag] for tag in ("link", "joint")}  # type: ignore[attr-defined]
    name = robot.attrib.setdefault("name", "")  # a missing name was reported
    loops = take_loops(robot)
    newer = [_newer_limits(part) for part in robot if part.tag == "joint"]
    parsed = _parse(robot, source)
    described = Description(
        name=name,
        links=tuple(map(_link, parsed.links, lines["link"])),
        joints=(*map(_joint, parsed.joints, newer, lines["joint"]), *loops),
        source=source,
    )
    described = vendors.applied(described, unused)
    moveit = srdf.robot if srdf.given is True else None
    described = replace(described, joints=with_limits(described.joints, moveit, audit))
    unused.report(robot_element(name), audit)
    return described, vendors


def is_text(source: str) -> bool:
    """Return whether a string is the text of a document rather than a path."""
    return "<" in source or "\n" in source or "\0" in source or not source.strip()


def _parse(robot: guard.Element, source: str) -> Any:
    try:
        parser = importlib.import_module("urdf_parser_py.urdf")
        core = importlib.import_module("urdf_parser_py.xml_reflection.core")
    except ImportError:
        message = "reading URDF needs the package urdf_parser_py: pip install urdf-parser-py"
        guard.refuse("urdf-parser-missing", message, source)
    try:
        if hasattr(core, "Path"):
            return parser.URDF.from_xml(robot, core.Path("robot"))
        # releases of urdf_parser_py before 2020 read text only
        return parser.URDF.from_xml_string(ET.tostring(robot))
    except Exception as error:  # noqa: BLE001 - it raises many types; nothing may pass unseen
        reason = " ".join(str(error).split())
        guard.refuse("urdf-parser", f"urdf_parser_py refuses the document: {reason}", source)


def _link(parsed: Any, line: int) -> Link:
    if parsed.inertial is None:
        return Link(parsed.name, None, line)
    inertia = parsed.inertial.inertia
    return Link(
        name=parsed.name,
        inertial=Inertial(
            mass=parsed.inertial.mass,
            origin=_pose(parsed.inertial.origin),
            inertia=(inertia.ixx, inertia.iyy, inertia.izz, inertia.ixy, inertia.ixz, inertia.iyz),
        ),
        line=line,
    )


def _newer_limits(joint: ET.Element) -> dict[str, float]:
    """Remove the limits that urdf_parser_py does not read from a joint, and return them."""
    limit = joint.find("limit")
    if limit is None:
        return {}
    return {name: float(limit.attrib.pop(name)) for name in NEW_LIMITS if name in limit.attrib}


def _joint(parsed: Any, newer: Mapping[str, float], line: int) -> Joint:
    axis = parsed.axis or (1.0, 0.0, 0.0)
    dynamics = parsed.dynamics
    mimic = parsed.mimic
    return Joint(
        name=parsed.name,
        type=parsed.type,
        parent=parsed.parent,
        child=parsed.child,
        origin=_pose(parsed.origin),
        axis=(axis[0], axis[1], axis[2]),
        limit=_limit(parsed.limit, newer, parsed.type),
        damping=(dynamics.damping or 0.0) if dynamics else 0.0,
        friction=(dynamics.friction or 0.0) if dynamics else 0.0,
        mimic=_mimic(mimic) if mimic else None,
        line=line,
    )


def _limit(parsed: Any, newer: Mapping[str, float], joint_type: str) -> Limit | None:
    if parsed is None:
        return None
    lower, upper = float(parsed.lower or 0.0), float(parsed.upper or 0.0)
    if joint_type == "continuous" and lower == 0.0 and upper == 0.0:
        lower, upper = -math.inf, math.inf  # default of URDF: no bounds
    return Limit(lower, upper, parsed.effort, parsed.velocity, **newer)


def _mimic(parsed: Any) -> Mimic:
    ratio = 1.0 if parsed.multiplier is None else parsed.multiplier
    return Mimic(parsed.joint, ratio, parsed.offset or 0.0)


def _pose(parsed: Any) -> Pose:
    if parsed is None:
        return Pose()
    x, y, z = parsed.xyz or (0.0, 0.0, 0.0)
    roll, pitch, yaw = parsed.rpy or (0.0, 0.0, 0.0)
    return Pose((x, y, z), quat_from_rpy(roll, pitch, yaw))
