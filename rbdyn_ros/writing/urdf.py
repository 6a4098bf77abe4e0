# SPDX-License-Identifier: Apache-2.0
"""Write a robot as URDF."""

import math
from xml.etree import ElementTree as ET

from rbdyn_ros.description.appearance.shapes import AnyShape, LinkShape
from rbdyn_ros.description.parts.geometries import Surface
from rbdyn_ros.description.parts.joint_types import LOOP_TYPES, URDF_TYPES
from rbdyn_ros.description.parts.poses import IN_PLACE, Pose, inverse, rpy_from_quat
from rbdyn_ros.description.parts.types import Joint, Limit, Link
from rbdyn_ros.errors import quote
from rbdyn_ros.writing.left_out import LIMITS, NO_MESH, LeftOut, refuse_joint
from rbdyn_ros.writing.meshes import MeshFolder
from rbdyn_ros.writing.robot import WrittenRobot
from rbdyn_ros.writing.xml import UNLIMITED, document, words

FORM = "URDF"
#: The version with capsules, optional limits, and limits of acceleration and jerk.
NEWER = "1.2"
_SAID = ("damping", "friction", "mimic", "stiffness")
#: Properties that URDF can express, for joints with one coordinate.
_SAID_OF_ONE = (*_SAID, "rest", *LIMITS)
#: Surface properties in <gazebo>.


def write(robot: WrittenRobot, left: LeftOut, meshes: MeshFolder) -> bytes:
    """Return a URDF document; record in `left` everything that it cannot express.

    `write_srdf` writes the named poses, and the pairs of links that may overlap.

    Raises:
        ParameterError: a joint has a type that URDF lacks.
    """
    described = robot.description
    root = ET.Element("robot", name=described.name)
    # keep the order of the description, so that links keep their numbers
    for link in described.links:
        _link(root, robot, link, left, meshes)
    carrying = {joint.name: joint for joint in robot.joints}
    for joint in described.joints:
        if joint.name in carrying:
            _joint(root, carrying[joint.name], left)
    for loop in robot.loops:
        _loop(root, loop, left)
    left.parts(described, "springs", "constraints", "obstacles", "servos")
    left.contact(described.geometries)
    owner = f"robot {quote(described.name)}"
    if robot.floats:
        left.add(owner, "its floating base")
    if _needs_newer(root):
        root.set("version", NEWER)
        left.note(owner, f"URDF {NEWER} is written, which older readers refuse")
    return document(root)


def write_srdf(robot: WrittenRobot, left: LeftOut) -> bytes | None:
    """Return the SRDF for the URDF, or None if it would be empty; `left` as for `write`."""
    described = robot.description
    root = ET.Element("robot", name=described.name)
    links = {branch.link.name for branch in robot.branches}
    if described.states:
        group = ET.SubElement(root, "group", name="all")
        for joint in described.joints:
            ET.SubElement(group, "joint", name=joint.name)
    for state in described.states:
        part = ET.SubElement(root, "group_state", name=state.name, group="all")
        for name, position in state.positions.items():
            if isinstance(position, tuple):
                left.add(f"state {quote(state.name)}", f"the position of {quote(name)}")
            else:
                ET.SubElement(part, "joint", name=name, value=words(position))
    for pair in described.exclusions:
        if {pair.first, pair.second} <= links:
            ends = {"link1": pair.first, "link2": pair.second, "reason": "Default"}
            ET.SubElement(root, "disable_collisions", ends)
        else:
            left.pair(pair, "an SRDF excludes pairs of links only")
    return document(root) if len(root) else None


def _needs_newer(root: ET.Element) -> bool:
    """Return whether the document uses features that version 1.0 lacks."""
    if next(root.iter("capsule"), None) is not None:
        return True
    older = {"lower", "upper", "effort", "velocity"}
    limits = [set(limit.attrib) for limit in root.iter("limit")]
    return any(given - older or not {"effort", "velocity"} <= given for given in limits)


def _link(
    root: ET.Element, robot: WrittenRobot, link: Link, left: LeftOut, meshes: MeshFolder
) -> None:
    element = ET.SubElement(root, "link", name=link.name)
    inertial = link.inertial
    if inertial is not None:
        part = ET.SubElement(element, "inertial")
        _origin(part, inertial.origin)
        ET.SubElement(part, "mass", value=words(inertial.mass))
        names = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
        moments = zip(names, inertial.inertia, strict=True)
        ET.SubElement(part, "inertia", {name: words(value) for name, value in moments})
    for shape in robot.shapes(link.name):
        _visual(element, shape, left, meshes)
    geometries = robot.geometries(link.name)
    frictions = {x.surface.friction for x in geometries}
    if len(frictions) == 1:
        _touch(root, link.name, *frictions)
    for geometry in geometries:
        owner = f"geometry {quote(geometry.name)}"
        left.surface(owner, geometry.surface, ("friction",) if len(frictions) == 1 else ())
        part = ET.Element("collision", name=geometry.name)
        _origin(part, geometry.origin)
        if _shape(part, geometry.name, geometry.shape, meshes):
            element.append(part)
        else:
            left.add(owner, "it", "its corners are on a line")


def _touch(root: ET.Element, link: str, mu: float) -> None:
    """Write the friction of a link for Gazebo and rbdyn_ros."""
    if mu != Surface().friction:
        part = ET.SubElement(root, "gazebo", reference=link)
        for tag in ("mu1", "mu2"):
            ET.SubElement(part, tag).text = words(mu)


def _visual(link: ET.Element, shape: LinkShape, left: LeftOut, meshes: MeshFolder) -> None:
    part = ET.Element("visual")
    _origin(part, shape.origin)
    if not _shape(part, f"{shape.link}_visual", shape.shape, meshes):
        left.add(f"link {quote(shape.link)}", "a visible shape", NO_MESH)
        return
    left.texture(shape)
    if shape.color is not None:
        material = ET.SubElement(part, "material", name=f"{words(*shape.color)}")
        ET.SubElement(material, "color", rgba=words(*shape.color))
    link.append(part)


def _shape(part: ET.Element, name: str, shape: AnyShape, meshes: MeshFolder) -> bool:
    """Add the `<geometry>` of a shape; return False if there is no mesh for it."""
    geometry, found = ET.SubElement(part, "geometry"), meshes.words_of(name, shape)
    if found is not None:
        sizes = {{"uri": "filename"}.get(key, key): value for key, value in found[1].items()}
        ET.SubElement(geometry, found[0], sizes)
    return found is not None


def _joint(root: ET.Element, joint: Joint, left: LeftOut) -> None:
    if joint.type not in URDF_TYPES:
        raise refuse_joint(joint, FORM)
    several = bool(joint.limits) or len(joint.rest) > 1
    left.joint(joint, _SAID if several else _SAID_OF_ONE)
    if joint.axis2 is not None:
        left.add(f"joint {quote(joint.name)}", "its second axis")
    child = joint.child if joint.child_origin == IN_PLACE else f"{joint.name}_frame"
    part = ET.SubElement(root, "joint", name=joint.name, type=_type(joint))
    _ends(part, joint.parent, child, joint.origin)
    if joint.type not in ("fixed", "floating"):
        ET.SubElement(part, "axis", xyz=words(*joint.axis))
    if joint.limit is not None or _type(joint) in ("revolute", "prismatic"):
        _limit(part, joint, joint.limit or Limit(), left)
    if joint.damping or joint.friction:
        dynamics = {"damping": words(joint.damping), "friction": words(joint.friction)}
        ET.SubElement(part, "dynamics", dynamics)
    if joint.stiffness:
        spring = ET.SubElement(root, "gazebo", reference=joint.name)
        ET.SubElement(spring, "springStiffness").text = words(joint.stiffness)
        if len(joint.rest) == 1:
            ET.SubElement(spring, "springReference").text = words(joint.rest[0])
    if joint.mimic is not None:
        mimic = {"multiplier": words(joint.mimic.ratio), "offset": words(joint.mimic.offset)}
        ET.SubElement(part, "mimic", {"joint": joint.mimic.joint, **mimic})
    if child != joint.child:
        _joint_frame(root, joint, child, left)


def _type(joint: Joint) -> str:
    """Return the type in URDF, where each revolute joint has bounds."""
    limit = joint.limit or Limit()
    free = math.isinf(limit.lower) and math.isinf(limit.upper)
    return "continuous" if joint.type == "revolute" and free else joint.type


def _joint_frame(root: ET.Element, joint: Joint, frame: str, left: LeftOut) -> None:
    """Add a link in the joint frame, and fix the child to it: URDF has no other child origin."""
    ET.SubElement(root, "link", name=frame)
    part = ET.SubElement(root, "joint", name=f"{joint.name}_fixed", type="fixed")
    _ends(part, frame, joint.child, inverse(joint.child_origin))
    left.note(f"joint {quote(joint.name)}", f"the link {quote(frame)} is added at its frame")


def _ends(part: ET.Element, parent: str, child: str, origin: Pose) -> None:
    ET.SubElement(part, "parent", link=parent)
    ET.SubElement(part, "child", link=child)
    _origin(part, origin)


def _limit(part: ET.Element, joint: Joint, limit: Limit, left: LeftOut) -> None:
    bounds = {"lower": limit.lower, "upper": limit.upper}
    others = {name: getattr(limit, name) for name in LIMITS if name not in bounds}
    if _type(joint) != "continuous":
        for name, value in bounds.items():
            if math.isinf(value):
                bounds[name] = math.copysign(UNLIMITED, value)
                owner = f"joint {quote(joint.name)}"
                left.note(owner, f"no limit of {name} is written as {bounds[name]:g}")
    given = {name: words(x) for name, x in (bounds | others).items() if math.isfinite(x)}
    ET.SubElement(part, "limit", given)


def _loop(root: ET.Element, loop: Joint, left: LeftOut) -> None:
    """Write a loop joint as `<loop>`, which other readers of URDF ignore."""
    owner = f"joint {quote(loop.name)}"
    if loop.type not in LOOP_TYPES:
        left.add(owner, "it", f"a loop in URDF has no joint of type {loop.type}")
        return
    left.joint(loop, ())
    left.note(owner, "it closes a loop: only programs that read <loop> close it")
    part = ET.SubElement(root, "loop", name=loop.name, type=loop.type)
    ends = (
        (loop.parent, loop.origin, "predecessor"),
        (loop.child, loop.child_origin, "successor"),
    )
    for link, origin, tag in ends:
        _origin(ET.SubElement(part, tag, link=link), origin)
    if loop.type not in ("fixed", "spherical"):
        ET.SubElement(part, "axis", xyz=words(*loop.axis))


def _origin(part: ET.Element, pose: Pose) -> None:
    if pose != IN_PLACE:
        ET.SubElement(part, "origin", xyz=words(*pose.pos), rpy=words(*rpy_from_quat(pose.quat)))
