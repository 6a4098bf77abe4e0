"""Join robots, free objects and obstacles into one Description."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.build import shapes
from rbdyn_ros.description.build.builder import SystemBuilder
from rbdyn_ros.description.build.contacts import check_contact, with_contact
from rbdyn_ros.description.build.renaming import renamed, root_of
from rbdyn_ros.description.checks.check import audit_description, check
from rbdyn_ros.description.checks.names import audit_names
from rbdyn_ros.description.checks.values import audit_pose
from rbdyn_ros.description.geometries import (
    FLOOR,
    Box,
    Capsule,
    Contact,
    Cylinder,
    Exclusion,
    Filter,
    Geometry,
    Obstacle,
    Points,
    Shape,
    Sphere,
    Surface,
)
from rbdyn_ros.description.meshes.files import MeshFiles, UnusableMeshError
from rbdyn_ros.description.meshes.meshes import Meshes
from rbdyn_ros.description.objects import Object, Placed
from rbdyn_ros.description.poses import IN_PLACE, Pose
from rbdyn_ros.description.robot_files import read
from rbdyn_ros.description.types import Description, Inertial, Joint, Link
from rbdyn_ros.description.urdf_files.urdf import is_text
from rbdyn_ros.errors import RbdynError, listing, not_allowed, quote

WORLD, ROOT_JOINT, MOUNT = "world", "root_joint", "mount"
MESHES = (".stl", ".obj", ".dae")
ROBOTS = (".urdf", ".xacro", ".xml", ".yaml", ".yml")
SHAPES = (
    "a Sphere, Box, Cylinder, Capsule or Points, a list of shapes or of pairs (shape, pose), or "
    f"the path of a file {', '.join((*ROBOTS, *MESHES))}"
)
_INERTIALS: dict[type, Callable[..., Inertial]] = {
    Box: lambda box, **more: shapes.box(box.size, **more),
    Sphere: lambda ball, **more: shapes.sphere(ball.radius, **more),
    Cylinder: lambda tube, **more: shapes.cylinder(tube.radius, tube.length, **more),
    Capsule: lambda tube, **more: shapes.capsule(tube.radius, tube.length, **more),
    Points: lambda hull, **more: shapes.hull(hull.points, **more),
}


@dataclass(frozen=True, slots=True)
class SceneParts:
    """The parts of a scene.

    Attributes:
        name: of the scene.
        robots: by name; the names of their parts begin with it and a slash, unless it is empty.
        objects: free objects.
        obstacles: shapes fixed in the world.
        floor: whether there is a floor at height 0, if no obstacle is called floor.
        exclude: pairs of links, objects, geometries or obstacles that do not push each other.
        about: a description for people.
        tags: words by which scenes are chosen.
    """

    name: str
    robots: Mapping[str, Placed]
    objects: Sequence[Object]
    obstacles: Sequence[Obstacle]
    floor: bool = True
    exclude: Sequence[Exclusion] = ()
    about: str = ""
    tags: Sequence[str] = ()


def scene_description(
    parts: SceneParts,
    audit: Audit,
    source: str = "",
    package_dirs: Sequence[str | Path] = (),
) -> Description:
    """Return the Description of a scene, in normal form unless the audit has errors.

    The base is a link without mass, fixed to the world. Each robot stands on it by a fixed or a
    floating joint, each object by a floating joint of its name.

    Args:
        parts: of the scene.
        audit: receives all errors.
        source: file of the scene, for messages.
        package_dirs: folders to search for packages of robots and meshes.
    """
    audit_parts(parts, audit)
    described = {
        name: _robot(name, placed, package_dirs, audit) for name, placed in parts.robots.items()
    }
    robots = {name: found for name, found in described.items() if found is not None}
    base = _base(robots, parts.robots)
    joined = Description(parts.name, (Link(base),), (), source or parts.name, base=base)
    for name, robot in robots.items():
        joined = with_robot(joined, robot, name, parts.robots[name])
    audit.partial |= len(robots) < len(parts.robots)
    return with_parts(joined, parts, audit, package_dirs)


def with_parts(
    joined: Description,
    parts: SceneParts,
    audit: Audit,
    package_dirs: Sequence[str | Path] = (),
) -> Description:
    """Return a scene of robots with the other parts, in normal form unless the audit has errors.

    Args:
        joined: the robots.
        parts: their names are different from each other.
        audit: receives all errors.
        package_dirs: as for scene_description.
    """
    _audit_taken(joined, parts, audit)
    seen: set[str] = set()
    for item in parts.objects:
        if item.name not in seen:
            joined = with_object(joined, item, package_dirs, audit)
        seen.add(item.name)
    audit.partial |= bool(audit.errors)
    obstacles = [*joined.obstacles, *parts.obstacles]
    if parts.floor and FLOOR.name not in {obstacle.name for obstacle in obstacles}:
        obstacles.insert(0, FLOOR)
    excluded = (*joined.exclusions, *parts.exclude)
    joined = replace(joined, obstacles=tuple(obstacles), exclusions=excluded)
    return joined if audit.errors else audit_description(joined, audit)


@dataclass(frozen=True, slots=True)
class _Named:
    name: str
    line: int | None


def audit_parts(parts: SceneParts, audit: Audit) -> None:
    """Add an error for every name that two parts of a scene have."""
    audit_names("part of the scene", _named(parts), audit)


def _named(parts: SceneParts) -> list[_Named]:
    robots = [_Named(name, robot.line) for name, robot in parts.robots.items() if name]
    others: list[Object | Obstacle] = [*parts.objects, *parts.obstacles]
    return [*robots, *(_Named(item.name, item.line) for item in others)]


def _audit_taken(robots: Description, parts: SceneParts, audit: Audit) -> None:
    """Add an error for objects and obstacles with the name of a part of the robots.

    An object has a link, a joint and geometries; an obstacle is named beside geometries only.
    """
    shapes = {geometry.name: "a geometry" for geometry in robots.geometries}
    joints = {joint.name: "a joint" for joint in robots.joints}
    taken = {**shapes, **joints, **{link.name: "a link" for link in robots.links}}

    def audit_part(kind: str, item: Object | Obstacle, known: Mapping[str, str]) -> None:
        if item.name in known:
            text = f"{known[item.name]} of the scene has this name; choose another"
            audit.error("duplicate-name", f"{kind} {quote(item.name)}", item.line, text)

    for item in parts.objects:
        audit_part("object", item, taken)
    for obstacle in parts.obstacles:
        audit_part("obstacle", obstacle, shapes)


def _base(robots: Mapping[str, Description], placed: Mapping[str, Placed]) -> str:
    """Return the name of the base: that of the only robot's root if it is the world already."""
    robot = robots.get("")
    if robot is None:
        return WORLD
    links = {link.name for link in robot.links}
    if WORLD not in links:
        return WORLD
    at_home = placed[""].pose == IN_PLACE and not placed[""].floating_base
    return WORLD if at_home and root_of(robot) == WORLD else _free("scene", links)


def _robot(
    name: str, placed: Placed, package_dirs: Sequence[str | Path], audit: Audit
) -> Description | None:
    """Return the Description of a robot with its surfaces; None after an error."""
    owner = f"robot {quote(name)}" if name else "the robot"
    if not audit_pose("pose", placed.pose, owner, placed.line, audit):
        return None
    try:
        found = _described(placed.source, placed.contact, package_dirs, audit)
    except RbdynError as error:
        _take(error, owner, placed.line, audit)
        return None
    return _started(_without_lines(found), placed.start, owner, audit)


def _described(
    source: Any, contact: Contact, package_dirs: Sequence[str | Path], audit: Audit
) -> Description:
    if isinstance(source, SystemBuilder | Description):
        own = source.description() if isinstance(source, SystemBuilder) else source
        checked = check(own, strict=audit.strict)
        wanted = replace(contact, obstacles=checked.obstacles)
        more = Audit(strict=audit.strict)
        described = with_contact(checked, check_contact(wanted), more)
        more.raise_errors(checked.source)
        return described
    return read(source, strict=audit.strict, package_dirs=package_dirs, contact=contact)


def _take(error: RbdynError, owner: str, line: int | None, audit: Audit) -> None:
    """Add the errors about a part of the scene."""
    for finding in error.findings:
        at = f"line {finding.line}: " if finding.line is not None else ""
        where = f"{error.source}: {at}" if error.source else at
        text = f"{where}{finding.message}"
        audit.error(finding.code, owner, line, text, found=finding.found, allowed=finding.allowed)


def _without_lines(robot: Description) -> Description:
    """Return a description without the line numbers of its own file."""
    names = ("links", "joints", "springs", "constraints", "geometries", "obstacles", "exclusions",
             "states")  # fmt: skip
    plain: dict[str, Any] = {
        name: tuple(replace(part, line=None) for part in getattr(robot, name)) for name in names
    }
    findings = tuple(replace(finding, line=None) for finding in robot.findings)
    return replace(robot, findings=findings, **plain)


def with_robot(joined: Description, robot: Description, name: str, placed: Placed) -> Description:
    """Return a scene with one more robot."""
    prefix = f"{name}/" if name else ""
    robot = renamed(robot, lambda old: f"{prefix}{old}")
    root, base = root_of(robot), joined.base
    taken = {joint.name for joint in robot.joints}
    if placed.floating_base:
        joint = Joint(
            _free(f"{prefix}{ROOT_JOINT}", taken),
            "floating",
            base,
            root,
            actuated=False,
            start=_coordinates(placed.pose),
        )
    else:
        joint = Joint(_free(f"{prefix}{MOUNT}", taken), "fixed", base, root, origin=placed.pose)
    own = () if root == base else (joint,)
    links = robot.links if root != base else tuple(x for x in robot.links if x.name != base)
    joined = replace(joined, links=(*joined.links, *links), joints=(*joined.joints, *own))
    if root == base:  # its root may have mass
        root_link = next(link for link in robot.links if link.name == base)
        joined = replace(joined, links=(root_link, *joined.links[1:]))
    return _joined(joined, replace(robot, links=()))


def _joined(scene: Description, more: Description) -> Description:
    """Return a scene with all parts of another description."""
    names = ("links", "joints", "springs", "constraints", "geometries", "obstacles", "exclusions",
             "states", "findings")  # fmt: skip
    both: dict[str, Any] = {name: (*getattr(scene, name), *getattr(more, name)) for name in names}
    pushes = scene.self_collision and more.self_collision
    return replace(scene, self_collision=pushes, **both)


def with_object(
    joined: Description,
    item: Object,
    package_dirs: Sequence[str | Path],
    audit: Audit,
    acts: bool = False,
) -> Description:
    """Return a scene with one more object; without it after an error.

    Args:
        joined: the scene.
        item: the object.
        package_dirs: as for scene_description.
        audit: receives all errors.
        acts: whether the joints of a robot file keep their actuators. If it has some and its root
            is the link `world`, it does not float and is not among the objects of the scene.
    """
    fixed, owner = False, f"object {quote(item.name)}"
    if not audit_pose("pose", item.pose, owner, item.line, audit):
        return joined
    try:
        if item.filter is not None and not isinstance(item.filter, Filter):
            raise not_allowed("the filter", item.filter, "a Filter or None")
        if not isinstance(item.decompose, bool):
            raise not_allowed("decompose", item.decompose, "True or False")
        if is_robot_file(item.shape):
            made, is_fixed = _of_file(item, package_dirs, audit, acts)
            fixed = is_fixed and acts and any(joint.actuated for joint in made.joints)
        else:
            made = _of_shapes(item, package_dirs)
    except RbdynError as error:
        _take(error, owner, item.line, audit)
        return joined
    except UnusableMeshError as error:
        audit.error(error.code, owner, item.line, f"the mesh {quote(str(item.shape))} {error}")
        return joined
    if not any(link.inertial is not None and link.inertial.mass > 0.0 for link in made.links):
        text = "it has no mass, so it cannot move freely; give a link an <inertial>"
        audit.error("no-mass", owner, item.line, text)
        return joined
    if fixed:
        root = root_of(joined)
        joint = Joint(item.name, "fixed", root, item.name, item.pose, line=item.line)
        joined = replace(joined, joints=(*joined.joints, joint))
        return _joined(joined, made)
    joint = Joint(
        item.name,
        "floating",
        root_of(joined),
        item.name,
        actuated=False,
        start=_coordinates(item.pose),
        line=item.line,
    )
    joined = replace(joined, joints=(*joined.joints, joint))
    return replace(_joined(joined, made), objects=(*joined.objects, item.name))


def is_robot_file(shape: object) -> bool:
    """Return whether the shape of an object is a robot file or the text of a URDF."""
    if isinstance(shape, str) and is_text(shape):
        return True
    return isinstance(shape, str | Path) and Path(shape).suffix.lower() in ROBOTS


def _of_file(
    item: Object, package_dirs: Sequence[str | Path], audit: Audit, acts: bool
) -> tuple[Description, bool]:
    """Return an object from a robot file, and whether its root was the link `world`.

    Its root has the name of the object. Its joints have no actuators unless it `acts`.
    """
    if item.mass is not None or item.density is not None:
        what = "mass" if item.mass is not None else "density"
        raise not_allowed(f"the {what}", getattr(item, what), "None: the file has the masses")
    surface = item.surface or Surface()
    contact = Contact(obstacles=(), surface=surface, decompose=item.decompose)
    found = _without_lines(_described(item.shape, contact, package_dirs, audit))
    root = root_of(found)
    named = renamed(found, lambda old: item.name if old == root else f"{item.name}/{old}")
    joints = tuple(
        replace(joint, actuated=acts and joint.actuated and joint.type != "fixed")
        for joint in named.joints
    )
    filtered = tuple(replace(x, filter=item.filter or x.filter) for x in named.geometries)
    made = replace(named, joints=joints, geometries=filtered, obstacles=())
    return made, root == WORLD


def _of_shapes(item: Object, package_dirs: Sequence[str | Path]) -> Description:
    """Return an object of shapes."""
    placed = placed_shapes(item, package_dirs)
    parts = [_INERTIALS[type(shape)](shape, density=1.0, at=at) for shape, at in placed]
    whole = shapes.combine(*parts)
    inertial = shapes.scaled(whole, density=item.density, mass=item.mass)
    names = [item.name] if len(placed) == 1 else [f"{item.name}_{k}" for k in range(len(placed))]
    surface, masks = item.surface or Surface(), item.filter or Filter()
    geometries = tuple(
        Geometry(name, item.name, shape, at, surface, item.line, masks)
        for name, (shape, at) in zip(names, placed, strict=True)
    )
    return Description(
        item.name, (Link(item.name, inertial, item.line),), (), geometries=geometries
    )


def placed_shapes(item: Object, package_dirs: Sequence[str | Path]) -> list[tuple[Shape, Pose]]:
    """Return the shapes of an object and their places; raise ParameterError for anything else."""
    shape: Any = item.shape
    if isinstance(shape, str | Path):
        path = Path(shape)
        if path.suffix.lower() not in MESHES:
            raise not_allowed("the shape", shape, SHAPES)
        local = "://" not in str(shape)
        meshes = Meshes(MeshFiles(path.parent if local else None, package_dirs))
        name = path.name if local else str(shape)
        if item.decompose:
            return [(part, IN_PLACE) for part in meshes.convex(name, item.scale)]
        return [(meshes.points(name, item.scale), IN_PLACE)]
    if item.decompose:
        raise not_allowed("decompose", True, "False for shapes: they are convex")
    listed = shape if isinstance(shape, list | tuple) else [shape]
    pairs = [
        one if isinstance(one, tuple) and len(one) == 2 else (one, IN_PLACE) for one in listed
    ]
    if not pairs or not all(isinstance(a, Shape) and isinstance(b, Pose) for a, b in pairs):
        raise not_allowed("the shape", shape, SHAPES)
    return pairs


def _coordinates(pose: Pose) -> tuple[float, ...]:
    """Return the position of a floating joint."""
    return (*pose.pos, *pose.quat)


def _started(
    robot: Description, start: Mapping[str, float], owner: str, audit: Audit
) -> Description:
    """Return a robot whose joints start at given positions."""
    known = {joint.name: joint for joint in robot.joints}
    for name in start:
        if name not in known:
            message = f"its start names {quote(name)}, which is no joint{audit.hint(name, known)}"
            audit.error("unknown-joint", owner, None, message, found=name, allowed=listing(known))
    joints = tuple(
        replace(joint, start=(float(start[joint.name]),)) if joint.name in start else joint
        for joint in robot.joints
    )
    return replace(robot, joints=joints)


def _free(wanted: str, taken: Collection[str]) -> str:
    while wanted in taken:
        wanted += "_"
    return wanted
