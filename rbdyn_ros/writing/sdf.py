# SPDX-License-Identifier: Apache-2.0
"""Write a robot as SDF: a model, or a world if it has obstacles."""

import math
from collections.abc import Mapping
from xml.etree import ElementTree as ET

from rbdyn_ros.checks.names import free_name
from rbdyn_ros.description.appearance.shapes import AnyShape
from rbdyn_ros.description.parts.geometries import HeightField, Obstacle, Plane, TriangleMesh
from rbdyn_ros.description.parts.poses import IN_PLACE, Pose, Vec3, compose
from rbdyn_ros.description.parts.types import WORLD, Inertial, Joint, Limit
from rbdyn_ros.description.urdf_files.collisions import UniqueNames
from rbdyn_ros.errors import quote
from rbdyn_ros.writing.left_out import NO_MESH, LeftOut, refuse_joint
from rbdyn_ros.writing.meshes import MeshFolder
from rbdyn_ros.writing.robot import WrittenRobot
from rbdyn_ros.writing.xml import LIGHT, UNLIMITED, document, tensor, valued

FORM = "SDF"
VERSION = "1.11"  # the first version with mimic joints
#: Types of joints that have another name in SDF.
TYPES = {"spherical": "ball", "helical": "screw"}
_SAME = ("revolute", "continuous", "prismatic", "universal", "fixed")
_PASSIVE = ("damping", "friction", "stiffness")
_SAID = (*_PASSIVE, "rest", "mimic", "start", "lower", "upper", "effort", "velocity")


def write(robot: WrittenRobot, left: LeftOut, meshes: MeshFolder) -> bytes:
    """Return an SDF document; record in `left` everything that it cannot express.

    Raises:
        ParameterError: a joint has a type that SDF lacks.
    """
    described = robot.description
    names = UniqueNames()
    names.free(described.name)
    root = ET.Element("sdf", version=VERSION)
    stands = robot.base == WORLD and bool(robot.shapes(WORLD) or robot.geometries(WORLD))
    scene = root
    if described.obstacles or stands:
        scene = ET.SubElement(root, "world", name=described.name)
    for obstacle in described.obstacles:
        _obstacle(scene, obstacle, names.free(obstacle.name), left, meshes)
    if stands:  # parts that the robot's own file fixes in the world
        static = _static(scene, names.free(f"{described.name}_{WORLD}"))
        _shapes(static, robot, WORLD, IN_PLACE, left, meshes)
    model = ET.SubElement(scene, "model", name=described.name)
    if not described.self_collision:
        left.note(f"robot {quote(described.name)}", "links of an SDF touch only with self_collide")
    else:
        valued(model, "self_collide", "true")
    frames = _frames(robot)
    _links(model, robot, frames, left, meshes)
    if not robot.floats and robot.base != WORLD:
        _fixed_to_world(model, robot)
    for joint in robot.joints:
        if joint.type == "floating":  # a link without a joint moves freely
            left.joint(joint, ("actuated", "start"))
        elif joint.child not in frames:
            _joint(model, joint, left)
    for loop in robot.loops:
        _joint(model, loop, left)
    left.parts(described, "springs", "constraints", "states", "servos")
    left.contact((*described.geometries, *described.obstacles))
    for pair in described.exclusions:
        left.pair(pair)
    return document(root)


def _frames(robot: WrittenRobot) -> dict[str, tuple[str, Pose]]:
    """Return the massless links that fixed joints carry, each with its carrier and its pose.

    In SDF every link has a mass, so massless links become frames.
    """
    frames: dict[str, tuple[str, Pose]] = {}
    for branch in robot.branches:
        joint = branch.joint
        if joint is None or joint.type != "fixed" or branch.link.inertial is not None:
            continue
        carrier, pose = frames.get(joint.parent, (joint.parent, IN_PLACE))
        if carrier != WORLD or robot.base != WORLD:
            frames[branch.link.name] = carrier, compose(pose, branch.at)
    return frames


def _links(
    model: ET.Element,
    robot: WrittenRobot,
    frames: Mapping[str, tuple[str, Pose]],
    left: LeftOut,
    meshes: MeshFolder,
) -> None:
    branches = {branch.link.name: branch for branch in robot.branches}
    # keep the order of the description, so that links keep their numbers
    for own_link in robot.description.links:
        name = own_link.name
        branch = branches[name]
        if name == WORLD and branch.joint is None and not robot.floats:
            continue
        if name in frames:
            carrier, pose = frames[name]
            frame = ET.SubElement(model, "frame", name=name, attached_to=carrier)
            _pose(frame, pose, carrier)
            left.note(f"link {quote(name)}", "it is a frame: links of an SDF have mass")
            continue
        link = ET.SubElement(model, "link", name=name)
        if branch.joint is not None and branch.joint.parent != WORLD:
            _pose(link, branch.at, branch.joint.parent)
        elif branch.joint is not None:
            _pose(link, branch.at)
        if branch.link.inertial is None:
            text = f"it has no mass; SDF needs one, and {LIGHT.mass:g} kg are written"
            left.note(f"link {quote(name)}", text)
        _inertial(link, branch.link.inertial or LIGHT)
        _shapes(link, robot, name, IN_PLACE, left, meshes)
        for own, (carrier, pose) in frames.items():
            if carrier == name:
                _shapes(link, robot, own, pose, left, meshes)


def _shapes(
    link: ET.Element, robot: WrittenRobot, name: str, at: Pose, left: LeftOut, meshes: MeshFolder
) -> None:
    """Add a robot link's shapes to an SDF link; `at` is the robot link's pose in the SDF link."""
    for n, shape in enumerate(robot.shapes(name)):
        visual = ET.Element("visual", name=f"{name}_visual_{n}")
        _pose(visual, compose(at, shape.origin))
        if not _shape(visual, f"{shape.link}_visual", shape.shape, meshes):
            left.add(f"link {quote(shape.link)}", "a visible shape", NO_MESH)
            continue
        left.texture(shape)
        if shape.color is not None:
            material = ET.SubElement(visual, "material")
            for tag in ("ambient", "diffuse"):
                valued(material, tag, *shape.color)
        link.append(visual)
    for geometry in robot.geometries(name):
        owner = f"geometry {quote(geometry.name)}"
        collision = ET.Element("collision", name=geometry.name)
        _pose(collision, compose(at, geometry.origin))
        if not _shape(collision, geometry.name, geometry.shape, meshes):
            left.add(owner, "it", "its corners are on a line")
            continue
        left.surface(owner, geometry.surface, ("friction", "restitution"))
        _surface(collision, geometry.surface.friction, geometry.surface.restitution)
        link.append(collision)


def _surface(collision: ET.Element, friction: float, restitution: float = 0.0) -> None:
    surface = ET.SubElement(collision, "surface")
    ode = ET.SubElement(ET.SubElement(surface, "friction"), "ode")
    for tag in ("mu", "mu2"):
        valued(ode, tag, friction)
    if restitution:
        valued(ET.SubElement(surface, "bounce"), "restitution_coefficient", restitution)


def _inertial(link: ET.Element, inertial: Inertial) -> None:
    part = ET.SubElement(link, "inertial")
    _pose(part, Pose(inertial.origin.pos))
    valued(part, "mass", inertial.mass)
    moments = tensor(inertial)
    own = ET.SubElement(part, "inertia")
    for tag, row, column in (
        ("ixx", 0, 0),
        ("ixy", 0, 1),
        ("ixz", 0, 2),
        ("iyy", 1, 1),
        ("iyz", 1, 2),
        ("izz", 2, 2),
    ):
        valued(own, tag, moments[row, column])


def _fixed_to_world(model: ET.Element, robot: WrittenRobot) -> None:
    name = free_name("to_world", [joint.name for joint in robot.description.joints])
    joint = ET.SubElement(model, "joint", name=name, type="fixed")
    valued(joint, "parent", WORLD)
    valued(joint, "child", robot.base)


def _joint(model: ET.Element, joint: Joint, left: LeftOut) -> None:
    if joint.type not in _SAME and joint.type not in TYPES:
        raise refuse_joint(joint, FORM)
    axes = {"fixed": (), "spherical": (), "universal": (joint.axis, joint.axis2)}
    directions = axes.get(joint.type, (joint.axis,))
    left.joint(joint, _SAID if directions else ())
    part = ET.SubElement(model, "joint", name=joint.name, type=TYPES.get(joint.type, joint.type))
    _pose(part, joint.child_origin)
    valued(part, "parent", joint.parent)
    valued(part, "child", joint.child)
    if joint.type == "helical":
        valued(part, "screw_thread_pitch", 2.0 * math.pi * joint.parameters["pitch"])
    limits = joint.limits or ((joint.limit,) if joint.limit else ())
    for k, axis in enumerate(directions):
        assert axis is not None
        tag = "axis" if k == 0 else "axis2"
        _axis(part, tag, joint, axis, limits[k] if k < len(limits) else Limit(), k)


def _axis(part: ET.Element, tag: str, joint: Joint, direction: Vec3, limit: Limit, k: int) -> None:
    axis = ET.SubElement(part, tag)
    valued(axis, "xyz", *direction)
    if k < len(joint.start):
        valued(axis, "initial_position", joint.start[k])
    if joint.mimic is not None:
        mimic = ET.SubElement(axis, "mimic", joint=joint.mimic.joint, axis="axis")
        valued(mimic, "multiplier", joint.mimic.ratio)
        valued(mimic, "offset", joint.mimic.offset)
        valued(mimic, "reference", 0.0)
    bounds = ET.SubElement(axis, "limit")
    for name in ("lower", "upper", "effort", "velocity"):
        value = getattr(limit, name)
        if math.isfinite(value):
            valued(bounds, name, value)
        elif name in ("lower", "upper"):
            valued(bounds, name, math.copysign(UNLIMITED, value))
    dynamics = ET.SubElement(axis, "dynamics")
    numbers = {
        "damping": joint.damping,
        "friction": joint.friction,
        "spring_reference": joint.rest[k] if k < len(joint.rest) else 0.0,
        "spring_stiffness": joint.stiffness,
    }
    for name, value in numbers.items():
        valued(dynamics, name, value)


def _static(world: ET.Element, name: str) -> ET.Element:
    """Add a model that does not move, and return its link."""
    model = ET.SubElement(world, "model", name=name)
    valued(model, "static", "true")
    return ET.SubElement(model, "link", name="link")


def _obstacle(
    world: ET.Element, obstacle: Obstacle, name: str, left: LeftOut, meshes: MeshFolder
) -> None:
    owner = f"obstacle {quote(obstacle.name)}"
    shape = obstacle.shape
    if isinstance(shape, HeightField):
        left.add(owner, "it", "SDF reads heights only from an image")
        return
    if any(obstacle.velocity):
        left.add(owner, "the velocity of its surface")
    parts = [ET.Element(tag, name=obstacle.name) for tag in ("collision", "visual")]
    for part in parts:
        _pose(part, obstacle.origin)
        if isinstance(shape, Plane):
            plane = ET.SubElement(ET.SubElement(part, "geometry"), "plane")
            valued(plane, "normal", 0.0, 0.0, 1.0)
            valued(plane, "size", 100.0, 100.0)
        elif not _shape(part, obstacle.name, shape, meshes):
            left.add(owner, "it", "its corners are on a line")
            return
    if math.isfinite(obstacle.friction):
        _surface(parts[0], obstacle.friction)
    _static(world, name).extend(parts)


def _shape(
    part: ET.Element, name: str, shape: AnyShape | TriangleMesh, meshes: MeshFolder
) -> bool:
    """Add the `<geometry>` of a shape; return False if there is no mesh for it."""
    geometry, found = ET.SubElement(part, "geometry"), meshes.words_of(name, shape)
    if found is not None:
        element = ET.SubElement(geometry, found[0])
        for key, value in found[1].items():
            valued(element, key, value)
    return found is not None


def _pose(part: ET.Element, pose: Pose, relative_to: str = "") -> None:
    """Add a pose with a quaternion, which keeps all digits."""
    if pose == IN_PLACE and not relative_to:
        return
    w, x, y, z = pose.quat
    element = valued(part, "pose", *pose.pos, x, y, z, w)
    element.set("rotation_format", "quat_xyzw")
    if relative_to:
        element.set("relative_to", relative_to)
