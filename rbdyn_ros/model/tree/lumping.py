# SPDX-License-Identifier: Apache-2.0
"""From links and joints to bodies: lump links at fixed joints, and number a spanning tree."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.names import free_name
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.description.parts.spanning import Edge, span
from rbdyn_ros.description.parts.types import ROOT_JOINT, WORLD, Description, Inertial, Joint
from rbdyn_ros.model.tree.rotation import cross_matrix, quat_to_mat

IDENTITY = Pose()


@dataclass(slots=True)
class Placement:
    """A frame in a body, with its origin and its rotation matrix."""

    body: int
    pos: Array
    mat: Array

    def then(self, pose: Pose) -> Placement:
        """Return the frame whose pose in this frame is `pose`."""
        mat = self.mat if pose.quat == IDENTITY.quat else self.mat @ quat_to_mat(pose.quat)
        return Placement(self.body, self.pos + self.mat @ np.asarray(pose.pos), mat)

    def before(self, pose: Pose) -> Placement:
        """Return the frame in which this frame has the pose `pose`."""
        if pose == IDENTITY:
            return self
        mat = self.mat if pose.quat == IDENTITY.quat else self.mat @ quat_to_mat(pose.quat).T
        return Placement(self.body, self.pos - mat @ np.asarray(pose.pos), mat)


@dataclass(slots=True)
class Body:
    """One body of the tree: the link that its joint moves, and all links fixed to that link.

    The body's frame is the joint frame on the body's side.

    Attributes:
        place: the joint's frame on the parent's side, as a placement in the parent body.
        joint: the joint that carries the body; None only for the world.
        forward: True if the body is the joint's successor.
        parts: inertials and placements of the body's links.
    """

    name: str
    place: Placement
    joint: Joint | None
    forward: bool = True
    parts: list[tuple[Inertial, Placement]] = field(default_factory=list)


@dataclass(slots=True)
class LoopJoint:
    """A joint that closes a loop, with its frames in the predecessor and the successor body."""

    joint: Joint
    predecessor: Placement
    successor: Placement


@dataclass(slots=True)
class Tree:
    """The bodies in a regular numbering, and the frame of every link; bodies[0] is the world."""

    bodies: list[Body]
    frames: dict[str, Placement]
    loops: list[LoopJoint]

    @property
    def joints(self) -> list[Joint]:
        """Return the joints that carry bodies[1:]."""
        return [body.joint for body in self.bodies if body.joint is not None]


def lump(description: Description, floating_base: str) -> Tree:
    """Number bodies depth-first, children in the order of their joints.

    This is MuJoCo's order (fusestatic), so arrays can be compared field by field.

    Args:
        description: a description that has passed description/checks.
        floating_base: type of a joint `root_joint` between the world and the base link; empty:
            the base link is fixed to the world.
    """
    spanning = span(description)
    inertials = {link.name: link.inertial for link in description.links}
    origin = Placement(0, np.zeros(3), np.eye(3))
    tree = Tree([Body(WORLD, origin, None)], {}, [])
    at_base = origin
    if floating_base:
        root = _root_joint(description, spanning.base, floating_base)
        tree.bodies.append(Body(spanning.base, origin, root))
        at_base = Placement(1, origin.pos, origin.mat)
    waiting: list[tuple[str, Placement, Edge | None]] = [(spanning.base, at_base, None)]
    while waiting:
        name, place, edge = waiting.pop()
        if edge is not None:
            place = _cross(tree, edge, place)
        tree.frames[name] = place
        inertial = inertials[name]
        if inertial is not None:
            tree.bodies[place.body].parts.append((inertial, place))
        waiting.extend(
            (below.other, place, below)
            for below in reversed(spanning.edges.get(name, ()))
            if below.other not in tree.frames
        )
    for joint in spanning.chords:
        ends = tree.frames[joint.parent], tree.frames[joint.child]
        loop = LoopJoint(joint, ends[0].then(joint.origin), ends[1].then(joint.child_origin))
        tree.loops.append(loop)
    return tree


def _root_joint(description: Description, base: str, joint_type: str) -> Joint:
    """Return the joint of a floating base, with a unique name."""
    name = free_name(ROOT_JOINT, [joint.name for joint in description.joints])
    return Joint(name, joint_type, WORLD, base, axis=(0.0, 0.0, 1.0), actuated=False)


def _cross(tree: Tree, edge: Edge, place: Placement) -> Placement:
    """Add the body of a joint unless it is fixed; return the placement of its other link."""
    joint = edge.joint
    near, far = joint.origin, joint.child_origin
    if not edge.forward:
        near, far = far, near
    place = place.then(near)
    if joint.type != "fixed":
        tree.bodies.append(Body(edge.other, place, joint, edge.forward))
        place = Placement(len(tree.bodies) - 1, np.zeros(3), np.eye(3))
    return place.before(far)


def lumped_inertia(body: Body) -> tuple[float, Array, Array]:
    """Return the mass, centre of mass, and 3x3 inertia about the centre of mass, in body axes."""
    parts = []
    for inertial, place in body.parts:
        at = place.then(inertial.origin)
        xx, yy, zz, xy, xz, yz = inertial.inertia
        moment = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        parts.append((inertial.mass, at.pos, at.mat @ moment @ at.mat.T))
    if len(parts) == 1:
        return parts[0]
    mass = sum(part[0] for part in parts)
    if mass > 0.0:
        com = sum((part[0] * part[1] for part in parts), np.zeros(3)) / mass
    else:
        com = np.zeros(3)
    total = np.zeros((3, 3))
    for m, c, moment in parts:
        arm = cross_matrix(c - com)
        total += moment + m * arm @ arm.T
    return mass, com, total
