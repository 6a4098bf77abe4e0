# SPDX-License-Identifier: Apache-2.0
"""Load or build a robot in MuJoCo from the same URDF or Description."""

import functools
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from support.trees import rotation

mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")

# otherwise MuJoCo writes MUJOCO_LOG.TXT to the folder of the tests
mujoco.set_mju_user_warning(lambda _: None)

ANCHOR = "anchor_of_the_floating_base"


class RefusedError(Exception):
    """MuJoCo cannot read this robot."""


@functools.lru_cache(maxsize=8)
def from_urdf(path, floating_base=False):
    """Return MuJoCo's model of a URDF without visuals, collisions and constraints."""
    try:
        return _smooth(mujoco.MjModel.from_xml_string(stripped(path, floating_base)))
    except ValueError as error:
        raise RefusedError(" ".join(str(error).split())[:140]) from None


def stripped(path, floating_base):
    """Return the URDF with inertia and joints only, and a free joint if the base floats."""
    robot = ET.parse(path).getroot()
    for link in robot.iter("link"):
        for child in [*link.findall("visual"), *link.findall("collision")]:
            link.remove(child)
    for joint in robot.iter("joint"):  # mimic joints become ordinary joints
        for mimic in joint.findall("mimic"):
            joint.remove(mimic)
    if floating_base:
        children = {joint.find("child").get("link") for joint in robot.findall("joint")}
        root = next(link for link in robot.findall("link") if link.get("name") not in children)
        if root.get("name") == "world":  # MuJoCo's world body cannot move
            _rename_link(robot, root, "moving_world")
        ET.SubElement(robot, "link", name=ANCHOR)
        joint = ET.SubElement(robot, "joint", name="root_joint", type="floating")
        ET.SubElement(joint, "parent", link=ANCHOR)
        ET.SubElement(joint, "child", link=root.get("name"))
    for theirs in robot.findall("mujoco"):
        robot.remove(theirs)
    settings = ET.SubElement(robot, "mujoco")
    ET.SubElement(
        settings, "compiler", fusestatic="true", balanceinertia="false", discardvisual="true"
    )
    return ET.tostring(robot, encoding="unicode")


def _rename_link(robot, link, name):
    for joint in robot.findall("joint"):
        if joint.find("parent").get("link") == link.get("name"):
            joint.find("parent").set("link", name)
    link.set("name", name)


def from_description(description, floating_base=False):
    """Return MuJoCo's model of a Description; MuJoCo itself fuses fixed links.

    A free joint inside the tree becomes three slides and a ball, and a planar joint becomes two
    slides and a hinge. The coordinates and velocities stay the same.
    """
    spec = mujoco.MjSpec()
    spec.compiler.fusestatic = True
    links = {link.name: link for link in description.links}
    children = {joint.child for joint in description.joints}
    root = next(name for name in links if name not in children)
    bodies = {root: _add_body(spec.worldbody, links[root], (0, 0, 0), (1, 0, 0, 0))}
    if floating_base:
        bodies[root].add_freejoint(name="root_joint")
    for joint in description.joints:
        parent, child = bodies[joint.parent], links[joint.child]
        body = _add_body(parent, child, joint.origin.pos, joint.origin.quat)
        _add_joints(body, joint)
        bodies[joint.child] = body
    return _smooth(spec.compile())


def _add_body(parent, link, pos, quat):
    inertial = {}
    if link.inertial is not None:
        R = rotation(link.inertial.origin.quat).as_matrix()
        xx, yy, zz, xy, xz, yz = link.inertial.inertia
        I = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
        inertial = {
            "mass": link.inertial.mass,
            "ipos": link.inertial.origin.pos,
            "fullinertia": [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]],
            "explicitinertial": True,
        }
    return parent.add_body(name=link.name, pos=pos, quat=quat, **inertial)


def _add_joints(body, joint):
    kinds = mujoco.mjtJoint
    slide, hinge, ball = kinds.mjJNT_SLIDE, kinds.mjJNT_HINGE, kinds.mjJNT_BALL
    axes = np.eye(3)
    if joint.type == "planar":  # the shortest turn of z onto the axis gives x and y
        x, y, z = joint.axis
        turn = rotation(np.array([1.0 + z, -y, x, 0.0]))
        axes = turn.as_matrix().T
    parts = {
        "fixed": [],
        "revolute": [(hinge, joint.axis)],
        "continuous": [(hinge, joint.axis)],
        "prismatic": [(slide, joint.axis)],
        "spherical": [(ball, axes[2])],
        "planar": [(slide, axes[0]), (slide, axes[1]), (hinge, axes[2])],
        "floating": [(slide, axes[0]), (slide, axes[1]), (slide, axes[2]), (ball, axes[2])],
    }[joint.type]
    for k, (kind, axis) in enumerate(parts):
        name = joint.name if len(parts) == 1 else f"{joint.name}-{k}"
        body.add_joint(name=name, type=kind, axis=axis, damping=[joint.damping, 0, 0])


def _smooth(model):
    """Switch off contacts, limits and dry friction; smooth dynamics with damping remains."""
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    model.opt.timestep = 0.001
    return model


def copy_state(d, theirs):
    """Copy state and inputs of d to MuJoCo's data; xfrc_applied has the same layout in both."""
    for name in ("qpos", "qvel", "qacc", "qfrc_applied", "xfrc_applied"):
        getattr(theirs, name)[:] = getattr(d, name)
