"""From links and joints to bodies: regular numbering, fixed joints lumped, frames kept."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from rbdyn_ros.description.types import Description, Inertial, Joint, Pose
from rbdyn_ros.model.rotation import Array, cross_matrix, quat_to_mat

WORLD = "world"


@dataclass(slots=True)
class Placement:
    """A frame in a body: origin and rotation matrix."""

    body: int
    pos: Array
    mat: Array

    def then(self, pose: Pose) -> Placement:
        mat = self.mat if pose.quat == (1.0, 0.0, 0.0, 0.0) else self.mat @ quat_to_mat(pose.quat)
        return Placement(self.body, self.pos + self.mat @ np.asarray(pose.pos), mat)


@dataclass(slots=True)
class Body:
    """One body of the tree: the link its joint moves and all links fixed to that one.

    Attributes:
        place: in the parent body at zero joint position.
        joint: None for the joint `root_joint` of a floating base.
        parts: inertials of its links and where those links are.
    """

    name: str
    place: Placement
    joint: Joint | None
    parts: list[tuple[Inertial, Placement]] = field(default_factory=list)


@dataclass(slots=True)
class Tree:
    """Bodies in regular numbering and the frame of every link; bodies[0] is the world."""

    bodies: list[Body]
    frames: dict[str, Placement]


def lump(description: Description, floating_base: bool) -> Tree:
    """Number bodies depth-first, children in the order of their joints, fixed ones in place.

    This is MuJoCo's order (fusestatic), so arrays compare field by field. The description must
    have passed description/check.py.
    """
    links = {link.name: link for link in description.links}
    joints_below: dict[str, list[Joint]] = defaultdict(list)
    for edge in description.joints:
        joints_below[edge.parent].append(edge)
    children = {edge.child for edge in description.joints}
    root = next(name for name in links if name not in children)

    origin = Placement(0, np.zeros(3), np.eye(3))
    tree = Tree([Body(WORLD, origin, None)], {})
    waiting: list[tuple[str, Placement, Joint | None, bool]] = [
        (root, origin, None, floating_base)
    ]
    while waiting:
        name, place, joint, moves = waiting.pop()
        if moves:
            tree.bodies.append(Body(name, place, joint))
            place = Placement(len(tree.bodies) - 1, np.zeros(3), np.eye(3))
        tree.frames[name] = place
        inertial = links[name].inertial
        if inertial is not None:
            tree.bodies[place.body].parts.append((inertial, place))
        waiting.extend(
            (below.child, place.then(below.origin), below, below.type != "fixed")
            for below in reversed(joints_below[name])
        )
    return tree


def lumped_inertia(body: Body) -> tuple[float, Array, Array]:
    """Return mass, centre of mass and 3x3 inertia about it, both in the body's axes."""
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
