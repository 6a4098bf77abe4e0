# SPDX-License-Identifier: Apache-2.0
"""A description in the order in which tree formats write it: from the base outwards."""

from dataclasses import dataclass, replace

from rbdyn_ros.description.appearance.shapes import LinkShape
from rbdyn_ros.description.parts.geometries import Geometry
from rbdyn_ros.description.parts.poses import IN_PLACE, Pose, Vec3, compose, inverse
from rbdyn_ros.description.parts.spanning import Edge, span
from rbdyn_ros.description.parts.types import Description, Joint, Link
from rbdyn_ros.writing.left_out import refuse_joint

#: A joint of these types moves in the same way if parent and child swap and its axis is reversed.
_TURNABLE = ("fixed", "revolute", "continuous", "prismatic")


@dataclass(frozen=True, slots=True)
class Branch:
    """A link, and the joint that carries it.

    Attributes:
        joint: from the parent to this link; None for the base.
    """

    link: Link
    joint: Joint | None = None

    @property
    def at(self) -> Pose:
        """The link frame in the parent frame at zero position; for a free link, at its start."""
        joint = self.joint
        if joint is None:
            return IN_PLACE
        frame = joint.origin
        if joint.type == "floating" and joint.start:
            x, y, z, a, b, c, d = joint.start
            frame = compose(frame, Pose((x, y, z), (a, b, c, d)))
        return compose(frame, inverse(joint.child_origin))


@dataclass(frozen=True, slots=True)
class WrittenRobot:
    """The content of a file to write.

    Attributes:
        branches: all links, each behind its parent, in depth-first order.
        loops: the joints that close loops.
        floats: whether the base moves freely.
        visuals: the visible shapes.
    """

    description: Description
    branches: tuple[Branch, ...]
    loops: tuple[Joint, ...]
    floats: bool
    visuals: tuple[LinkShape, ...]

    @property
    def base(self) -> str:
        """The link that is fixed to the world, or that floats."""
        return self.branches[0].link.name

    @property
    def joints(self) -> list[Joint]:
        """The joints of the tree, in the order of the branches."""
        return [branch.joint for branch in self.branches if branch.joint is not None]

    def geometries(self, link: str) -> list[Geometry]:
        """Return the contact shapes of a link."""
        return [part for part in self.description.geometries if part.link == link]

    def shapes(self, link: str) -> list[LinkShape]:
        """Return the visible shapes of a link."""
        return [shape for shape in self.visuals if shape.link == link]


def arranged(
    description: Description,
    visuals: tuple[LinkShape, ...],
    floats: bool,
    form: str,
    *,
    any_direction: bool = False,
) -> WrittenRobot:
    """Return the robot with links and joints in the order of the tree.

    Args:
        description: the robot.
        visuals: visible shapes of the robot.
        floats: whether the robot's base moves freely.
        form: the format, for messages.
        any_direction: whether joints of the format may point towards the base.

    Raises:
        ParameterError: a joint points towards the base and cannot be reversed.
    """
    spanning = span(description)
    links = {link.name: link for link in description.links}
    branches = [Branch(links[spanning.base])]
    seen = {spanning.base}
    waiting = list(reversed(spanning.edges.get(spanning.base, ())))
    while waiting:
        edge = waiting.pop()
        if edge.other in seen:
            continue
        seen.add(edge.other)
        joint = edge.joint if any_direction else _outwards(edge, form)
        branches.append(Branch(links[edge.other], joint))
        waiting.extend(reversed(spanning.edges.get(edge.other, ())))
    return WrittenRobot(description, tuple(branches), tuple(spanning.chords), floats, visuals)


def _outwards(edge: Edge, form: str) -> Joint:
    """Return the joint of an edge, from the near to the far link, or raise ParameterError."""
    joint = edge.joint
    if edge.forward:
        return joint
    if joint.type not in _TURNABLE:
        raise refuse_joint(joint, form, f"{form} needs its parent to be nearer to the base")
    x, y, z = joint.axis
    axis: Vec3 = (-x, -y, -z) if joint.type != "fixed" else joint.axis
    return replace(
        joint,
        parent=joint.child,
        child=joint.parent,
        origin=joint.child_origin,
        child_origin=joint.origin,
        axis=axis,
    )
