# SPDX-License-Identifier: Apache-2.0
"""Read mechanism files: robots in YAML, with features that URDF lacks."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.build.contacts import check_contact, with_contact
from rbdyn_ros.description.build.renaming import without_lines
from rbdyn_ros.description.checks.check import audit_description
from rbdyn_ros.description.mechanism_files import geometries
from rbdyn_ros.description.mechanism_files.constraints import (
    CONSTRAINTS,
    SPRINGS,
    read_constraints,
    read_springs,
)
from rbdyn_ros.description.mechanism_files.joints import (
    COUPLINGS,
    DRIVES,
    couple,
    drive,
    joint_table,
    read_joints,
    read_loops,
)
from rbdyn_ros.description.mechanism_files.links import LINKS, read_links
from rbdyn_ros.description.meshes.files import MeshFiles
from rbdyn_ros.description.meshes.meshes import Meshes
from rbdyn_ros.description.parts.geometries import Contact
from rbdyn_ros.description.parts.types import Description, Link
from rbdyn_ros.description.reading.files import read_bytes
from rbdyn_ros.description.reading.xacro_files import check_no_arguments
from rbdyn_ros.description.urdf_files import urdf
from rbdyn_ros.description.yaml_files.dialect import Dialect
from rbdyn_ros.description.yaml_files.kinds import Flag, Name, is_sound
from rbdyn_ros.description.yaml_files.robots import ROBOT_FILE, robot_file_of
from rbdyn_ros.description.yaml_files.tables import ByName, Given, Key, Table, section
from rbdyn_ros.errors import DescriptionError, Finding, ParameterError, quote

ROBOT_SUFFIXES = (".urdf", ".xacro")
SECTIONS = (
    "links",
    "joints",
    "loops",
    "couplings",
    "constraints",
    "springs",
    "drives",
    "geometries",
    "obstacles",
)


def dialect() -> Dialect:
    """Return the keys of a mechanism file; register_joint may have added keys."""
    joints, loops = (
        ByName(joint_table(loop=loop), "joint", "joint", empty=True) for loop in (False, True)
    )
    keys = (
        Key("name", Name(), "default: the name of the robot, or of the file"),
        Key("robot", ROBOT_FILE, "a robot to start from: a .urdf or .xacro file, or a name"),
        Key(
            "base",
            Name("the name of a link"),
            "the link that is fixed to the world; default: the root link of the robot",
        ),
        Key("contact", Flag(), "use the <collision> elements of the robot, too; default false"),
        Key("floor", geometries.FLOOR_TABLE, "a level plane"),
        Key("links", LINKS, "a shape, a list of shapes, mass and inertia, or nothing"),
        Key("joints", joints, "new joints, and properties to change in the robot's joints"),
        Key("loops", loops, "joints that are never part of the spanning tree"),
        Key("couplings", COUPLINGS, "mimic joints: q = ratio * q_leader + offset"),
        Key("constraints", CONSTRAINTS, "constraints between bodies, in addition to joints"),
        Key("springs", SPRINGS, "springs between points of two links"),
        Key("drives", DRIVES, "prescribed motions, by joint"),
        Key("geometries", geometries.GEOMETRIES, "contact shapes of links"),
        Key("obstacles", geometries.OBSTACLES, "shapes fixed in the world"),
    )
    table = Table("mechanism", keys)
    return Dialect("rbdyn_mechanism", "a mechanism file", "not-a-mechanism", table, apart=True)


def read(path: str | Path, **how: Any) -> Description:
    """Read a mechanism file; further arguments, result and errors as for `read_text`."""
    path = Path(path)
    data = read_bytes(path, "a .yaml file", "the path of a mechanism file")
    return read_text(data, source=str(path), folder=path.parent, **how)


def read_text(
    text: str | bytes,
    *,
    source: str = "<text>",
    folder: Path | None = None,
    strict: bool = True,
    package_dirs: Sequence[str | Path] = (),
    xacro_args: Mapping[str, object] | None = None,
    contact: bool | Contact = False,
) -> Description:
    """Read a mechanism from text.

    Args:
        text: the document.
        source: name of the document, for messages.
        folder: folder of the robot to start from; None: the text must not name a robot, so that
            text alone never opens a file.
        strict: whether to refuse errors that can be repaired; otherwise they are repaired, each
            with a warning.
        package_dirs: for meshes and for the xacro file to start from, as for `urdf.read_file`.
        xacro_args: for that xacro file.
        contact: as for `urdf.read_file`, for the robot to start from. Geometries and obstacles
            of the file itself do not need it; the obstacles of a Contact are added to them.

    Returns:
        The checked Description; links and joints of the robot it starts from come first.

    Raises:
        DescriptionError: with all errors of the document, each with its line.
        ParameterError: contact is neither a bool nor a Contact.
    """
    wanted = check_contact(contact)
    audit = Audit(strict=strict)
    keys = dialect()
    top = keys.read(keys.parse(text, source, audit), audit)
    if top.get("contact") and wanted is None:
        wanted = Contact()
    robot = None
    if "robot" in top.lines:
        touches = wanted is not None
        robot = _robot(top, folder, package_dirs, xacro_args, touches)
        if robot is None:
            raise DescriptionError(audit.errors, source)
    else:
        check_no_arguments(xacro_args, Path(source))
    described = _described(top, robot, source)
    if described is None:
        raise DescriptionError(audit.errors, source)
    described = _with_geometries(
        described, top, robot, Meshes(MeshFiles(folder, package_dirs)), folder
    )
    checked = audit_description(with_contact(described, wanted, audit), audit)
    audit.raise_errors(source)
    if robot is not None:
        _keep(robot, top, audit)
    return replace(checked, findings=audit.sorted())


def _described(top: Given, robot: Description | None, source: str) -> Description | None:
    """Return the Description of the file, or None if it has no name or no base."""
    top.audit.partial |= any(name in top.lines and name not in top for name in SECTIONS)
    links = read_links(section(top, "links"), robot.links if robot else ())
    joints = read_joints(section(top, "joints"), robot.joints if robot else ())
    joints += read_loops(section(top, "loops"))
    joints = drive(section(top, "drives"), couple(section(top, "couplings"), joints))
    springs = read_springs(section(top, "springs"))
    constraints = read_constraints(section(top, "constraints"))
    name, base = _name(top, robot, source), _base(top, robot)
    if name is None or base is None:
        return None
    joined = {end for joint in joints for end in (joint.parent, joint.child)}
    if base in joined - {link.name for link in links}:
        links.append(Link(base))
    return Description(
        name,
        tuple(links),
        tuple(joints),
        source,
        base=base,
        springs=tuple(springs),
        constraints=tuple(constraints),
        exclusions=robot.exclusions if robot else (),
        self_collision=robot.self_collision if robot else True,
        sensors=robot.sensors if robot else (),
        states=robot.states if robot else (),
    )


def _with_geometries(
    described: Description,
    top: Given,
    robot: Description | None,
    meshes: Meshes,
    folder: Path | None,
) -> Description:
    """Return a description with the geometries of the robot and the file, and with obstacles."""
    own = geometries.read_geometries(section(top, "geometries"), meshes)
    floor = geometries.read_floor(top.get("floor"))
    obstacles = geometries.read_obstacles(section(top, "obstacles"), folder, meshes)
    known = robot.geometries if robot is not None else ()
    return replace(described, geometries=(*known, *own), obstacles=(*floor, *obstacles))


def _name(top: Given, robot: Description | None, source: str) -> str | None:
    if "name" in top.lines:
        return top.get("name")
    return robot.name if robot is not None else Path(source).stem or "mechanism"


def _base(top: Given, robot: Description | None) -> str | None:
    if "base" in top.lines:
        return top.get("base")
    if robot is not None:
        children = {joint.child for joint in robot.joints}
        return next(link.name for link in robot.links if link.name not in children)
    message = (
        "it has no key 'base', which names the link that is fixed to the world; without the key "
        "'robot' it is required"
    )
    top.audit.error("missing-key", "the mechanism", top.line, message, allowed="base")
    return None


def _robot(
    top: Given,
    folder: Path | None,
    package_dirs: Sequence[str | Path],
    xacro_args: Mapping[str, object] | None,
    touches: bool,
) -> Description | None:
    """Return the robot to start from, without line numbers.

    Return None without a robot, or after an error.
    """
    given = top.get("robot")
    if given is None or not is_sound(given):
        return None
    file = robot_file_of(given, folder or Path()).with_more(package_dirs, xacro_args)
    audit, line = top.audit, top.lines["robot"]
    name = given if isinstance(given, str) else given["file"]
    try:
        path = file.located()
    except ParameterError as error:
        top.error("bad-robot", "robot", str(error), found=name)
        return None
    if path.suffix.lower() not in ROBOT_SUFFIXES:
        message = f"the robot {quote(name)} is not a .urdf or .xacro file"
        top.error("bad-robot", "robot", message, found=name, allowed=".urdf or .xacro")
        return None
    if folder is None:
        message = f"the robot {quote(name)} is a file; a mechanism given as text cannot open files"
        top.error("bad-robot", "robot", message, found=name, allowed="a mechanism file")
        return None
    try:
        robot = urdf.read_file(
            path,
            strict=audit.strict,
            package_dirs=file.package_dirs,
            xacro_args=file.xacro_args,
            contact=touches,
        )[0]
    except DescriptionError as error:
        audit.findings += [_at_line(finding, name, line) for finding in error.findings]
        return None
    findings = tuple(_at_line(finding, name, line) for finding in robot.findings)
    return replace(without_lines(robot), findings=findings)


def _at_line(finding: Finding, file: str, line: int) -> Finding:
    """Return a finding of another file, moved to the line that names the file."""
    where = f"{file}, line {finding.line}" if finding.line is not None else file
    return replace(finding, message=f"{where}: {finding.message}", line=line)


def _keep(robot: Description, top: Given, audit: Audit) -> None:
    """Put the robot file's findings first, except those of replaced links; drop repetitions."""
    replaced = {f"link {quote(name)}" for name in section(top, "links").lines}
    kept = [finding for finding in robot.findings if finding.element not in replaced]
    known = {(finding.code, finding.element) for finding in kept}
    new = [f for f in audit.findings if f.line is not None or (f.code, f.element) not in known]
    audit.findings[:] = [*kept, *new]
