"""Read mechanism files: robots in YAML, with features that URDF lacks.

    rbdyn_mechanism: 1              # version of this format
    name: crank_slider              # default: the name of the robot, or of the file
    robot: robot.urdf               # .urdf or .xacro file to start from, relative to this file
    base: ground                    # default: the root link of the robot; needs no entry below

    links:                          # more links, or new inertials for links of the robot
      crank: {box: {size: [1, 0.1, 0.1], density: 2700, xyz: [0.5, 0, 0], rpy: [0, 0, 0]}}
      rod: {mass: 1.0, inertia: [ixx, iyy, izz, ixy, ixz, iyz], xyz: [0, 0, 0]}
      dumb_bell: [{sphere: {...}}, {cylinder: {...}}]

    joints:
      J1: {type: revolute, parent: ground, child: crank, xyz: [0, 0, 1], axis: [0, 0, 1]}
      lead_screw: {type: helical, pitch: 0.01}       # of the robot: changes only these properties

    loops:                          # joints that are never part of the spanning tree
      J4: {type: revolute, predecessor: rod, successor: ground, X_P: {xyz: [1, 0, 0]}}

    couplings:                      # mimic joints: q = ratio * q_thumb + offset
      finger: {follows: thumb, ratio: 2.0, offset: 0.0}

    constraints:                    # constraints between bodies in addition to joints
      strut: {rod: {from: {link: crank, xyz: [1, 0, 0]}, to: {link: slider}, length: 2}}
      belt: {band: {points: [{link: a}, {link: b}, {link: c, xyz: [0, 1, 0]}], length: 4,
                    closed: true, radius: 0.1}}
      pair: {gear: {terms: [{joint: J1, factor: 2}, {joint: J3, factor: 1, coordinate: 0}],
                    offset: 0}}
      wheel: {roll: {link: disk, on: ground, radius: 0.1, centre: [0, 0, 0], axis: [0, 1, 0],
                     point: [0, 0, 0], normal: [0, 0, 1]}}

    springs:
      return: {from: {link: crank, xyz: [1, 0, 0]}, to: {link: ground}, stiffness: 10}

    drives:                         # joints with a prescribed motion
      J1: {times: [0, 1, 2], positions: [0, 1, 0], periodic: true}
      J2: {function: my_motion}     # registered with register_motion

    contact: true                   # use the <collision> elements of the robot, too
    geometries:                     # contact shapes of links
      toe: {link: rod, sphere: {radius: 0.02}, xyz: [1, 0, 0], friction: 0.6}
      cover: {link: slider, mesh: {file: meshes/cover.stl, scale: [0.001, 0.001, 0.001]}}
    floor: {height: 0, friction: .inf}              # a level plane; all keys are optional
    obstacles:                      # fixed in the world
      step: {box: {size: [1, 1, 0.1]}, xyz: [1, 0, 0.05], friction: 0.5}
      hills: {height_field: {file: hills.csv, size: [10, 8]}}

Units are SI. Shapes are those of rb.shapes, each with `density` or `mass` and with `xyz`, `rpy`;
a link may have a list of shapes, or none: then it is massless. `xyz` and `rpy` of a link without
a shape are the frame of its inertia (`com` is the old key for `xyz`). A joint has `type`,
`parent`, `child`, `xyz` and `rpy` (or a table of both called `origin`), `child_origin` (such a
table), `axis` (default [1, 0, 0]),
`axis2`, `limit` (a table of `lower`, `upper`, `effort`, `velocity`, `acceleration`,
`deceleration`, `jerk`, or a list [lower, upper]),
`limits` (a list of such), `damping`, `friction`, `armature`, `stiffness`, `rest`, `actuated`
(true or false), `transmission` (a list of spatial forces, six numbers each) and the parameters of
its type. A loop has `predecessor`, `successor`, `X_P` and `X_S` instead of
`parent`, `child`, `origin` and `child_origin`; `xyz` and `rpy` are its X_P, too. Joints may point
in either direction; joints that are not loops must connect every link to the base. A constraint
has one kind. Optional are, for a band, `closed` (default true) and `radius` (of disks, default 0);
for a roll, `axis` (without it a sphere rolls); and everything that is 0 or upright by default.
types.py describes all fields.

A geometry has one of `box`, `sphere`, `cylinder`, `capsule`, `mesh` and `points` (a list of
corners), and optionally the fields of geometries.Surface; an obstacle has one of `plane`,
`sphere` and `box`. `contact: true` is like the argument `contact=True` of `load`: without
obstacles there is a floor at height 0. Meshes are found as for a URDF, from the folder of this
file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.build.contacts import check_contact, with_contact
from rbdyn_ros.description.checks.check import audit_description
from rbdyn_ros.description.mechanism_files.constraints import read_constraints, read_springs
from rbdyn_ros.description.mechanism_files.forms import Form, is_nothing
from rbdyn_ros.description.mechanism_files.geometries import (
    read_floor,
    read_geometries,
    read_obstacles,
)
from rbdyn_ros.description.mechanism_files.joints import couple, drive, read_joints, read_loops
from rbdyn_ros.description.mechanism_files.links import read_links
from rbdyn_ros.description.mechanism_files.yaml_text import (
    Node,
    YamlTable,
    check_version,
    parse,
)
from rbdyn_ros.description.meshes.files import MeshFiles
from rbdyn_ros.description.meshes.meshes import Meshes
from rbdyn_ros.description.parts.geometries import Contact
from rbdyn_ros.description.parts.types import Description, Link
from rbdyn_ros.description.reading.files import read_bytes
from rbdyn_ros.description.reading.xacro_files import check_no_arguments
from rbdyn_ros.description.urdf_files import urdf
from rbdyn_ros.errors import DescriptionError, Finding, quote

VERSION = "rbdyn_mechanism"
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
KEYS = (VERSION, "name", "robot", "base", "contact", "floor", *SECTIONS)
ROBOT_SUFFIXES = (".urdf", ".xacro")


def read(
    path: str | Path,
    *,
    strict: bool = True,
    package_dirs: Sequence[str | Path] = (),
    xacro_args: Mapping[str, object] | None = None,
    contact: bool | Contact = False,
) -> Description:
    """Read a mechanism file.

    Args:
        path: of the file.
        strict: refuse errors that can be repaired; otherwise repair them, each with a warning.
        package_dirs: for meshes and for the xacro file to start from, as for `urdf.read`.
        xacro_args: for that xacro file.
        contact: as for `urdf.read`, for the robot to start from. Geometries and obstacles of the
            file itself do not need it; the obstacles of a Contact are added to them.

    Returns:
        The checked Description; links and joints of the robot it starts from come first.

    Raises:
        DescriptionError: with all errors of the document, each with its line.
        ParameterError: contact is neither a bool nor a Contact.
    """
    path = Path(path)
    data = read_bytes(path, "a .yaml file", "the path of a mechanism file")
    return read_text(
        data,
        source=str(path),
        folder=path.parent,
        strict=strict,
        package_dirs=package_dirs,
        xacro_args=xacro_args,
        contact=contact,
    )


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
        strict: as for `read`.
        package_dirs: as for `read`.
        xacro_args: as for `read`.
        contact: as for `read`.

    Raises:
        DescriptionError: with all errors of the document, each with its line.
        ParameterError: contact is neither a bool nor a Contact.
    """
    wanted = check_contact(contact)
    audit = Audit(strict=strict)
    top = parse(text, source, audit)
    check_version(top, VERSION, source, "a mechanism file", "not-a-mechanism", apart=True)
    form = Form(audit)
    form.table(top, "mechanism", "", KEYS)
    wanted = _contact(top, wanted, form)
    robot = None
    if "robot" in top.nodes:
        touches = wanted is not None
        robot = _robot(top.nodes["robot"], folder, form, package_dirs, xacro_args, touches)
        if robot is None:
            raise DescriptionError(audit.errors, source)
    else:
        check_no_arguments(xacro_args, Path(source))
    described = _described(top, robot, source, form)
    if described is None:
        raise DescriptionError(audit.errors, source)
    described = _with_geometries(
        described, top, robot, Meshes(MeshFiles(folder, package_dirs)), folder, form
    )
    checked = audit_description(with_contact(described, wanted, audit), audit)
    audit.raise_errors(source)
    if robot is not None:
        _keep(robot, top, audit)
    return replace(checked, findings=audit.sorted())


def _described(
    top: YamlTable, robot: Description | None, source: str, form: Form
) -> Description | None:
    """Return the Description of the file; None if it has no name or no base."""
    parts = {name: _section(name, top, form) for name in SECTIONS}
    links = read_links(parts["links"], robot.links if robot else (), form)
    joints = read_joints(parts["joints"], robot.joints if robot else (), form)
    joints += read_loops(parts["loops"], form)
    joints = drive(parts["drives"], couple(parts["couplings"], joints, form), form)
    springs = read_springs(parts["springs"], form)
    constraints = read_constraints(parts["constraints"], form)
    name, base = _name(top, robot, source, form), _base(top, robot, form)
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
    )


def _contact(top: YamlTable, wanted: Contact | None, form: Form) -> Contact | None:
    """Return the Contact of the caller, else of the file."""
    if "contact" not in top.nodes:
        return wanted
    asked = form.flag(top.nodes["contact"], "contact", "")
    return Contact() if asked and wanted is None else wanted


def _with_geometries(
    described: Description,
    top: YamlTable,
    robot: Description | None,
    meshes: Meshes,
    folder: Path | None,
    form: Form,
) -> Description:
    """Return a description with the geometries of the robot, then its own, and its obstacles."""
    own = read_geometries(_section("geometries", top, form), meshes, form)
    floor = read_floor(top.nodes["floor"], form) if "floor" in top.nodes else []
    obstacles = read_obstacles(_section("obstacles", top, form), folder, form)
    known = robot.geometries if robot is not None else ()
    return replace(described, geometries=(*known, *own), obstacles=(*floor, *obstacles))


def _section(name: str, top: YamlTable, form: Form) -> YamlTable:
    """Return a section of the file; empty if it is missing or broken."""
    node = top.nodes.get(name)
    if isinstance(node, YamlTable):
        return node
    if node is not None and not is_nothing(node):
        form.audit.partial = True
        form.wrong(node, f"section {quote(name)}", "", "a table of names")
    return YamlTable(top.line)


def _name(top: YamlTable, robot: Description | None, source: str, form: Form) -> str | None:
    if "name" in top.nodes:
        return form.name(top.nodes["name"], "name", "")
    if robot is not None:
        return robot.name
    return Path(source).stem or "mechanism"


def _base(top: YamlTable, robot: Description | None, form: Form) -> str | None:
    if "base" in top.nodes:
        return form.name(top.nodes["base"], "base", "")
    if robot is not None:
        children = {joint.child for joint in robot.joints}
        return next(link.name for link in robot.links if link.name not in children)
    message = (
        "has no key 'base', the link that is fixed to the world; it is required without 'robot'"
    )
    form.audit.error("missing-key", "the mechanism", top.line, message, allowed="base")
    return None


def _robot(
    node: Node,
    folder: Path | None,
    form: Form,
    package_dirs: Sequence[str | Path],
    xacro_args: Mapping[str, object] | None,
    touches: bool,
) -> Description | None:
    """Return the robot to start from, without line numbers; None after an error."""
    name = form.name(node, "robot", "")
    if name is None:
        return None
    path, audit = Path(name), form.audit
    if path.suffix.lower() not in ROBOT_SUFFIXES:
        message = f"the robot {quote(name)} is not a .urdf or .xacro file"
        audit.error("bad-robot", "", node.line, message, found=name, allowed=".urdf or .xacro")
        return None
    if folder is None:
        message = f"the robot {quote(name)} is a file; a mechanism given as text cannot open files"
        audit.error("bad-robot", "", node.line, message, found=name, allowed="a mechanism file")
        return None
    try:
        robot = urdf.read_file(
            folder / path,
            strict=audit.strict,
            package_dirs=package_dirs,
            xacro_args=xacro_args,
            contact=touches,
        )[0]
    except DescriptionError as error:
        audit.findings += [_at_line(finding, name, node.line) for finding in error.findings]
        return None
    return replace(
        robot,
        links=tuple(replace(link, line=None) for link in robot.links),
        joints=tuple(replace(joint, line=None) for joint in robot.joints),
        geometries=tuple(replace(geometry, line=None) for geometry in robot.geometries),
        findings=tuple(_at_line(finding, name, node.line) for finding in robot.findings),
    )


def _at_line(finding: Finding, file: str, line: int) -> Finding:
    """Return a finding of another file, moved to the line that names the file."""
    where = f"{file}, line {finding.line}" if finding.line is not None else file
    return replace(finding, message=f"{where}: {finding.message}", line=line)


def _keep(robot: Description, top: YamlTable, audit: Audit) -> None:
    """Add the findings of the robot file, without repeating them for the mechanism."""
    links = top.nodes.get("links")
    replaced = (
        {f"link {quote(name)}" for name in links.nodes} if isinstance(links, YamlTable) else ()
    )
    kept = [finding for finding in robot.findings if finding.element not in replaced]
    known = {(finding.code, finding.element) for finding in kept}
    new = [f for f in audit.findings if f.line is not None or (f.code, f.element) not in known]
    audit.findings[:] = [*kept, *new]
