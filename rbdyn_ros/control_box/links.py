# SPDX-License-Identifier: Apache-2.0
"""Links of an arm as rigid bodies: loads, side branches of the chain, and the arm as URDF."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from xml.etree import ElementTree as ET

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.checks.inertials import as_matrix, as_six
from rbdyn_ros.description.parts.poses import Pose, compose, rpy_from_quat
from rbdyn_ros.description.parts.types import Description, Inertial, Joint
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.dynamics.toolbox.frames import frame_pose
from rbdyn_ros.errors import quote, refusal
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.tree.rotation import mat_to_quat, quat_to_mat


@dataclass(frozen=True, slots=True, eq=False)
class Load:
    """A rigid body at the flange.

    Attributes:
        mass: mass of the body [kg].
        com: (3,) centre of mass in the flange [m].
        inertia: (3, 3) about the centre of mass, axes of the flange [kg m^2].
    """

    mass: float
    com: Array
    inertia: Array

    @property
    def six(self) -> Array:
        """Ixx Iyy Izz Ixy Ixz Iyz."""
        return as_six(self.inertia)


NO_LOAD = Load(0.0, np.zeros(3), np.zeros((3, 3)))


def check_chain(joints: list[Joint], called: str) -> None:
    """Raise RbdynError unless each joint hangs from the joint before it.

    Args:
        joints: joints in order from the base on.
        called: name of such an arm in the message.
    """
    for upper, lower in itertools.pairwise(joints):
        if upper.child != lower.parent:
            raise refusal(
                f"this robot is not {called}: joint {quote(lower.name)} hangs from link "
                f"{quote(lower.parent)}; it must hang from {quote(upper.child)}"
            )


def behind(description: Description, link: str) -> list[Joint]:
    """Return all joints that descend from a link."""
    found: list[Joint] = []
    links = {link}
    for _ in description.joints:
        new = [j for j in description.joints if j.parent in links and j.child not in links]
        if not new:
            break
        found += new
        links |= {joint.child for joint in new}
    return found


def inertials(
    m: Model, description: Description, joints: list[Joint], tails: list[list[Joint]]
) -> dict[str, Inertial | None]:
    """Return the inertia of each link, with the bodies that it carries outside the chain.

    A link without mass has the inertia None.

    Args:
        m: the robot.
        description: description of the robot.
        joints: joints of the arm.
        tails: all joints that descend from each of these joints.
    """
    found = {link.name: link.inertial for link in description.links}
    for joint, tail, after in zip(joints, tails, tails[1:], strict=False):
        chain = {j.child for j in (*joints, *after)}
        beside = [j.child for j in tail if j.child not in chain]
        if beside:
            bodies = {name: found[name] for name in (joint.child, *beside)}
            body = lumped(m, joint.child, bodies)
            com, six = tuple(body.com.tolist()), tuple(body.six.tolist())
            found[joint.child] = Inertial(body.mass, Pose(com), six)
    return found


def lumped(
    m: Model, link: str, links: dict[str, Inertial | None], place: Pose | None = None
) -> Load:
    """Return links as one rigid body in a frame of a link, with closed fingers.

    Args:
        m: the robot.
        link: name of the link.
        links: inertias of the links by name; None: a link without mass.
        place: pose of the frame in the link; None: the frame of the link itself.
    """
    d = make_data(m)
    for j in range(m.njnt):  # move all joints to zero, where fingers are closed
        if m.jnt_dofnum[j] == 1:
            d.qpos[m.jnt_qposadr[j]] = 0.0
    p0, R0 = frame_pose(m, d, link)
    if place is not None:
        p0, R0 = p0 + R0 @ place.pos, R0 @ quat_to_mat(place.quat)
    mass, moment, parts = 0.0, np.zeros(3), []
    for name, inertial in links.items():
        if inertial is None or inertial.mass == 0.0:
            continue
        p, R = frame_pose(m, d, name)
        com = R0.T @ (p + R @ np.array(inertial.origin.pos) - p0)
        turn = R0.T @ R @ quat_to_mat(inertial.origin.quat)
        parts.append((inertial.mass, com, turn @ as_matrix(np.array(inertial.inertia)) @ turn.T))
        mass += inertial.mass
        moment += inertial.mass * com
    centre = moment / mass if mass else moment
    inertia = np.zeros((3, 3))
    for m_i, com, I in parts:
        r = com - centre
        inertia += I + m_i * (r @ r * np.eye(3) - np.outer(r, r))
    return Load(mass, centre, inertia)


def place_in(m: Model, frame: str, link: str) -> Pose:
    """Return the pose of a frame in the link to which it is fixed."""
    d = make_data(m)
    (p, R), (p0, R0) = frame_pose(m, d, frame), frame_pose(m, d, link)
    x, y, z = (R0.T @ (p - p0)).tolist()
    w, i, j, k = mat_to_quat(R0.T @ R).tolist()
    return Pose((x, y, z), (w, i, j, k))


def urdf_alone(
    name: str,
    joints: list[Joint],
    links: dict[str, Inertial | None],
    flange: Pose,
    base: Pose | None = None,
    extend: Callable[[ET.Element, int], object] = lambda _, __: None,
) -> str:
    """Return an arm alone as URDF with links link0, link1 and so on; the last is the flange.

    Args:
        name: name of the robot.
        joints: joints of the chain.
        links: inertias of the links by name; None: a link without mass.
        flange: pose of the flange in the last link.
        base: pose of the parent of the first joint in link0; None: link0 is this parent.
        extend: function that adds elements to a joint, called with the joint and its number from
            0.
    """
    root = ET.Element("robot", name=name)
    ET.SubElement(root, "link", name="link0")
    for k, joint in enumerate(joints):
        link = ET.SubElement(root, "link", name=f"link{k + 1}")
        if (inertial := links[joint.child]) is not None:
            _write_inertial(link, inertial)
        one = ET.SubElement(root, "joint", name=f"joint{k + 1}", type="revolute")
        _write_origin(one, joint.origin if k or base is None else compose(base, joint.origin))
        ET.SubElement(one, "parent", link=f"link{k}")
        ET.SubElement(one, "child", link=f"link{k + 1}")
        ET.SubElement(one, "axis", xyz=" ".join(f"{x:g}" for x in joint.axis))
        assert joint.limit is not None
        names = ("lower", "upper", "velocity", "effort")
        given = {name: repr(float(getattr(joint.limit, name))) for name in names}
        ET.SubElement(one, "limit", given)
        extend(one, k)
    n = len(joints)
    ET.SubElement(root, "link", name=f"link{n + 1}")
    fixed = ET.SubElement(root, "joint", name=f"joint{n + 1}", type="fixed")
    _write_origin(fixed, flange)
    ET.SubElement(fixed, "parent", link=f"link{n}")
    ET.SubElement(fixed, "child", link=f"link{n + 1}")
    return ET.tostring(root, "unicode", xml_declaration=True)


def _write_origin(parent: ET.Element, pose: Pose) -> None:
    xyz, rpy = (" ".join(map(repr, x)) for x in (pose.pos, rpy_from_quat(pose.quat)))
    ET.SubElement(parent, "origin", xyz=xyz, rpy=rpy)


def _write_inertial(link: ET.Element, inertial: Inertial) -> None:
    element = ET.SubElement(link, "inertial")
    _write_origin(element, inertial.origin)
    ET.SubElement(element, "mass", value=repr(inertial.mass))
    names = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    ET.SubElement(
        element, "inertia", {k: repr(x) for k, x in zip(names, inertial.inertia, strict=True)}
    )
