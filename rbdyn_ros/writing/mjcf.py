# SPDX-License-Identifier: Apache-2.0
"""Write a robot as MJCF, the format of MuJoCo."""

from collections.abc import Mapping
from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.names import free_name
from rbdyn_ros.description.parts.poses import Pose, compose, inverse
from rbdyn_ros.description.parts.servos import UNLIMITED
from rbdyn_ros.description.parts.types import ROOT_JOINT, WORLD, Gear, Inertial, Joint, Spring
from rbdyn_ros.errors import quote
from rbdyn_ros.writing.left_out import LeftOut
from rbdyn_ros.writing.meshes import MeshFolder
from rbdyn_ros.writing.mjcf_joints import add_joints, coordinates
from rbdyn_ros.writing.mjcf_shapes import add_geometries, add_obstacles, add_visuals, place
from rbdyn_ros.writing.robot import Branch, WrittenRobot
from rbdyn_ros.writing.xml import LIGHT, document, tensor, words

FORM = "MJCF"


def write(robot: WrittenRobot, left: LeftOut, meshes: MeshFolder) -> bytes:
    """Return an MJCF document; record in `left` everything that it cannot express.

    Raises:
        ParameterError: a joint has a type that MJCF lacks.
    """
    described = robot.description
    root = ET.Element("mujoco", model=described.name)
    # without autolimits an unlimited joint would need limited="false"
    ET.SubElement(root, "compiler", angle="radian", autolimits="true", inertiafromgeom="false")
    assets = ET.SubElement(root, "asset")
    world = ET.SubElement(root, "worldbody")
    bodies = _bodies(world, robot, left)
    for link, body in bodies.items():
        add_visuals(body, assets, robot.shapes(link), left, meshes)
        add_geometries(body, assets, robot, link, left)
    add_obstacles(world, assets, described.obstacles, left)
    _exclusions(root, robot, bodies, left)
    tendons = ET.SubElement(root, "tendon")
    equalities = ET.SubElement(root, "equality")
    for joint in robot.joints:
        if joint.mimic is not None:
            _mimic(equalities, joint, left)
    for loop in robot.loops:
        _loop(equalities, bodies, loop, left)
    for constraint in described.constraints:
        if isinstance(constraint, Gear):
            _gear(tendons, equalities, robot, constraint, left)
        else:
            left.add(f"constraint {quote(constraint.name)}", "it")
    for spring in described.springs:
        _spring(tendons, bodies, spring)
    _servos(root, tendons, robot, left)
    _keyframes(root, robot)
    left.parts(replace(described, gravity=None))
    if described.gravity is not None:
        ET.SubElement(root, "option", gravity=words(*described.gravity))
    for empty in [part for part in root if part is not world and not (len(part) or part.attrib)]:
        root.remove(empty)
    return document(root)


def _bodies(world: ET.Element, robot: WrittenRobot, left: LeftOut) -> dict[str, ET.Element]:
    """Add all bodies and their joints; return the bodies by link."""
    bodies: dict[str, ET.Element] = {}
    hollow, heavy = _hollow(robot), _heavy(robot)
    for branch in robot.branches:
        name = branch.link.name
        if name in hollow:
            left.note(f"link {quote(name)}", f"it is not a body: {_MASSLESS}")
            continue
        if branch.joint is None and name == WORLD and not robot.floats:
            bodies[name] = world
            if branch.link.inertial is not None:
                left.add(f"link {quote(name)}", "its inertia", "the world of MJCF has none")
            continue
        joints, at = _to_body(branch, hollow)
        parent = bodies[joints[0].parent] if joints else world
        body = bodies[name] = ET.SubElement(parent, "body", name=_name(name))
        place(body, at)
        for joint in joints:
            add_joints(body, joint, parent is world, left)
        if not joints and robot.floats:
            ET.SubElement(body, "freejoint", name=ROOT_JOINT)
        inertial = branch.link.inertial
        if name not in heavy and (robot.floats if not joints else joints[-1].type != "fixed"):
            left.note(f"link {quote(name)}", f"{LIGHT.mass:g} kg are written: {_MASSLESS}")
            inertial = LIGHT
        if inertial is not None:
            _inertial(body, inertial, f"link {quote(name)}", left)
    return bodies


_MASSLESS = "MuJoCo accepts no moving body without mass"


def _hollow(robot: WrittenRobot) -> dict[str, Branch]:
    """Return the massless links that only connect two joints, which share a body in MJCF."""
    described = robot.description
    used = {part.link for part in described.geometries} | {part.link for part in robot.visuals}
    used |= {link for spring in described.springs for link in (spring.link1, spring.link2)}
    used |= {link for loop in robot.loops for link in (loop.parent, loop.child)}
    used |= {link for pair in described.exclusions for link in (pair.first, pair.second)}
    below: dict[str, list[Joint]] = {}
    for joint in robot.joints:
        below.setdefault(joint.parent, []).append(joint)
    found, dofs = dict[str, Branch](), dict[str, int]()
    for branch in robot.branches:
        name, above, joints = branch.link.name, branch.joint, below.get(branch.link.name, [])
        if above is None or name in used or _has_mass(branch) or len(joints) != 1:
            continue
        if above.type in ("spherical", *_NOT_STACKED) or joints[0].type in _NOT_STACKED:
            continue
        dofs[name] = dofs.get(above.parent, 0) + _dofs(above)
        if dofs[name] + _dofs(joints[0]) <= MOST_DOFS:
            found[name] = branch
        else:
            del dofs[name]
    return found


#: Joint types that must be the only joint of a body. A spherical joint must be the last of a body.
_NOT_STACKED = ("fixed", "floating")
#: Most degrees of freedom that a body has in MuJoCo.
MOST_DOFS = 6


def _dofs(joint: Joint) -> int:
    return len(coordinates(joint)) or 3  # a ball joint has 3 degrees of freedom


def _has_mass(branch: Branch) -> bool:
    inertial = branch.link.inertial
    return inertial is not None and (inertial.mass > 0.0 or any(inertial.inertia))


def _heavy(robot: WrittenRobot) -> set[str]:
    """Return the links that have mass, or to which links with mass are fixed."""
    found = {branch.link.name for branch in robot.branches if _has_mass(branch)}
    for branch in reversed(robot.branches):
        joint = branch.joint
        if joint is not None and joint.type == "fixed" and branch.link.name in found:
            found.add(joint.parent)
    return found


def _to_body(branch: Branch, hollow: Mapping[str, Branch]) -> tuple[list[Joint], Pose]:
    """Return the joints of a body, and the pose of its frame in the parent's at zero position.

    `hollow` are the massless links that share its body in MJCF.
    """
    at, joints = branch.at, [] if branch.joint is None else [branch.joint]
    while joints and joints[0].parent in hollow:
        above = hollow[joints[0].parent]
        assert above.joint is not None
        frame = compose(inverse(at), above.joint.child_origin)
        joints.insert(0, replace(above.joint, child_origin=frame))
        at = compose(above.at, at)
    return joints, at


def _name(link: str) -> str:
    """Return the name of the body of a link; `world` is the name of MuJoCo's world body."""
    return f"{WORLD}_link" if link == WORLD else link


def _inertial(body: ET.Element, inertial: Inertial, owner: str, left: LeftOut) -> None:
    """Add mass and inertia, in principal axes if the description gives these."""
    xx, yy, zz, xy, xz, yz = inertial.inertia
    if inertial.mass == 0.0 and not any(inertial.inertia):
        return
    part = ET.SubElement(body, "inertial", pos=words(*inertial.origin.pos))
    part.set("mass", words(inertial.mass))
    moments = tensor(inertial)
    if any(inertial.inertia) and not is_possible(moments):
        # MuJoCo refuses the inertia; replace it as with balanceinertia
        mean = max(float(np.trace(moments)) / 3.0, LEAST_MOMENT)
        part.set("diaginertia", words(mean, mean, mean))
        left.add(owner, "its inertia", f"no body can have it; moments of {mean:g} replace it")
    elif xy == xz == yz == 0.0:
        place(part, Pose(inertial.origin.pos, inertial.origin.quat))
        part.set("diaginertia", words(xx, yy, zz))
    else:  # MJCF allows no rotation with fullinertia
        upper = [moments[k] for k in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
        part.set("fullinertia", words(*upper))


def is_possible(moments: Array) -> bool:
    """Return whether MuJoCo accepts moments: positive, each at most the sum of the other two."""
    own = np.linalg.eigvalsh(moments)
    return bool(own[0] > LEAST_MOMENT and own[0] + own[1] >= own[2] - LEAST_MOMENT)


#: MuJoCo treats a smaller moment of inertia as zero [kg m^2].
LEAST_MOMENT = 1e-15


def _exclusions(
    root: ET.Element, robot: WrittenRobot, bodies: dict[str, ET.Element], left: LeftOut
) -> None:
    contact = ET.SubElement(root, "contact")
    for pair in robot.description.exclusions:
        if {pair.first, pair.second} <= set(bodies):
            ends = [bodies[name].get("name", WORLD) for name in (pair.first, pair.second)]
            ET.SubElement(contact, "exclude", body1=ends[0], body2=ends[1])
        else:
            left.pair(pair, "MJCF excludes pairs of bodies only")


def _servos(root: ET.Element, tendons: ET.Element, robot: WrittenRobot, left: LeftOut) -> None:
    """Write the servos as general actuators; a servo of several joints acts on a tendon."""
    actuators = ET.SubElement(root, "actuator")
    starts = any(joint.start for joint in robot.joints)
    for servo in robot.description.servos:
        if servo.damping_ratio and starts:
            text = "MuJoCo applies its damping ratio at zero positions, not at the start"
            left.note(f"servo {quote(servo.name)}", text)
        part = ET.SubElement(actuators, "general", name=servo.name)
        if len(servo.terms) == 1:
            part.set("joint", servo.terms[0].joint)
            part.set("gear", words(servo.terms[0].factor))
        else:
            names = [tendon.get("name", "") for tendon in tendons]
            part.set("tendon", free_name(servo.name, names))
            tendon = ET.SubElement(tendons, "fixed", name=part.get("tendon", ""))
            for term in servo.terms:
                ET.SubElement(tendon, "joint", joint=term.joint, coef=words(term.factor))
        part.set("gainprm", words(servo.gain))
        rest, length, velocity = servo.bias
        if any(servo.bias) or servo.damping_ratio:
            part.set("biastype", "affine")
            # MuJoCo reads a positive third number as the damping ratio
            part.set("biasprm", words(rest, length, servo.damping_ratio or velocity))
        for name, bounds in (("ctrlrange", servo.control), ("forcerange", servo.force)):
            if bounds != UNLIMITED:
                part.set(name, words(*bounds))


def _mimic(equalities: ET.Element, joint: Joint, left: LeftOut) -> None:
    assert joint.mimic is not None
    mimic = joint.mimic
    poly = words(mimic.offset, mimic.ratio, 0.0, 0.0, 0.0)
    ET.SubElement(equalities, "joint", joint1=joint.name, joint2=mimic.joint, polycoef=poly)
    left.note(f"joint {quote(joint.name)}", "MuJoCo couples it to its leader by a force only")


#: Distance of the two points of a hinge that closes a loop [m].
HINGE_ARM = 0.1


def _loop(
    equalities: ET.Element, bodies: dict[str, ET.Element], loop: Joint, left: LeftOut
) -> None:
    """Close a loop by a weld, or a common point; for a hinge, by two points on its axis."""
    owner = f"joint {quote(loop.name)}"
    kinds = {"fixed": ["weld"], "spherical": ["connect"]}
    hinge = {name: ["connect", "connect"] for name in ("revolute", "continuous")}
    if loop.type not in kinds | hinge:
        left.add(owner, "it", f"MJCF closes no loop by a joint of type {loop.type}")
        return
    left.joint(loop, ())
    if loop.type in hinge:
        left.note(owner, "two points on its axis are connected")
    for n, kind in enumerate((kinds | hinge)[loop.type]):
        name = loop.name if n == 0 else f"{loop.name}_axis"
        x, y, z = loop.axis
        arm = n * HINGE_ARM
        beside = Pose((arm * x, arm * y, arm * z))
        ends = ((loop.parent, loop.origin), (loop.child, loop.child_origin))
        sites = {}
        for end, (link, frame) in enumerate(ends, start=1):
            sites[f"site{end}"] = f"{name}_{end}"
            site = ET.SubElement(bodies[link], "site", name=f"{name}_{end}")
            place(site, compose(frame, beside))
        ET.SubElement(equalities, kind, {"name": name, **sites})


def _gear(
    tendons: ET.Element, equalities: ET.Element, robot: WrittenRobot, gear: Gear, left: LeftOut
) -> None:
    """Write a gear as a fixed tendon of constant length."""
    carried = {joint.name: joint for joint in robot.joints}
    names = [coordinates(carried[term.joint]) for term in gear.terms if term.joint in carried]
    if len(names) < len(gear.terms) or not all(names):
        left.add(
            f"constraint {quote(gear.name)}",
            "it",
            "one of its joints is neither a hinge nor a slide",
        )
        return
    tendon = ET.SubElement(tendons, "fixed", name=gear.name)
    for term, of_joint in zip(gear.terms, names, strict=True):
        joint = of_joint[term.coordinate]
        ET.SubElement(tendon, "joint", joint=joint, coef=words(term.factor))
    poly = words(gear.offset, 0.0, 0.0, 0.0, 0.0)
    ET.SubElement(equalities, "tendon", name=gear.name, tendon1=gear.name, polycoef=poly)


def _spring(tendons: ET.Element, bodies: dict[str, ET.Element], spring: Spring) -> None:
    """Write a spring as a tendon between two sites."""
    ends = ((spring.link1, spring.point1), (spring.link2, spring.point2))
    tendon = ET.SubElement(tendons, "spatial", name=spring.name)
    tendon.set("stiffness", words(spring.stiffness))
    tendon.set("damping", words(spring.damping))
    tendon.set("springlength", words(spring.length, spring.length))
    for n, (link, point) in enumerate(ends, start=1):
        site = f"{spring.name}_{n}"
        ET.SubElement(bodies[link], "site", name=site, pos=words(*point))
        ET.SubElement(tendon, "site", site=site)


def _keyframes(root: ET.Element, robot: WrittenRobot) -> None:
    """Write the named poses, and `start` if joints have one; other joints are at their start."""
    key = ET.SubElement(root, "keyframe")
    starts = any(joint.start for joint in robot.joints if joint.type != "floating")
    states = robot.description.states
    poses = {state.name: dict(state.positions) for state in states}
    if starts and "start" not in poses:
        poses = {"start": {}, **poses}
    for name, positions in poses.items():
        row: list[float] = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0] if robot.floats else []
        for branch in robot.branches:
            if branch.joint is not None:
                row += _position(branch, positions)
        ET.SubElement(key, "key", name=name, qpos=words(*row))


def _position(branch: Branch, positions: Mapping[str, float | tuple[float, ...]]) -> list[float]:
    """Return the coordinates of a joint in a keyframe."""
    joint = branch.joint
    assert joint is not None
    names = coordinates(joint)
    if joint.name in positions:
        found = positions[joint.name]
        at = found if isinstance(found, tuple) else (found,)
        branch = replace(branch, joint=(joint := replace(joint, start=at[: len(names) or 7])))
    elif joint.mimic is not None and joint.mimic.joint in positions:
        leader = positions[joint.mimic.joint]
        assert not isinstance(leader, tuple)  # a leader has a single coordinate
        return [joint.mimic.ratio * leader + joint.mimic.offset]
    if joint.type == "fixed":
        return []
    if joint.type == "floating":
        return [*branch.at.pos, *branch.at.quat]
    if joint.type == "spherical":
        return list(joint.start) or [1.0, 0.0, 0.0, 0.0]
    return list(joint.start) or [0.0] * len(names)
