# SPDX-License-Identifier: Apache-2.0
"""The spanning tree of a description: its joints carry links, the other joints close loops.

Source: RBDA section 4.1.
"""

from collections import defaultdict, deque
from dataclasses import dataclass

from rbdyn_ros.description.parts.types import Description, Joint


@dataclass(slots=True)
class Edge:
    """A joint of the spanning tree as seen from one of its links.

    Attributes:
        other: the link at its other end.
        forward: whether the other link is its successor.
    """

    joint: Joint
    other: str
    forward: bool


@dataclass(slots=True)
class Spanning:
    """A spanning tree over links.

    Attributes:
        base: the link at the root.
        edges: by link, the tree's joints at the link (with fixed joints), in the description's
            order.
        chords: the joints that close loops, in the same order.
    """

    base: str
    edges: dict[str, list[Edge]]
    chords: list[Joint]

    def parents(self) -> dict[str, str]:
        """Return, by link, the next link on the path to the base."""
        return {link: parent for link, (_, parent) in self.rises().items()}

    def rises(self) -> dict[str, tuple[Joint, str]]:
        """Return, by link, the joint towards the base and the link at its other end."""
        above: dict[str, tuple[Joint, str]] = {}
        waiting = [self.base]
        while waiting:
            near = waiting.pop()
            for edge in self.edges.get(near, ()):
                if near not in above or edge.other != above[near][1]:
                    above[edge.other] = edge.joint, near
                    waiting.append(edge.other)
        return above


def span(description: Description) -> Spanning:
    """Return a spanning tree, breadth-first from the base, with ties in the order of the joints.

    Links that fixed joints connect count as one node. The description must have passed
    description/checks.
    """
    base = description.base or _root(description)
    node = rigid_groups(description)
    at_node: dict[str, list[Joint]] = defaultdict(list)
    for joint in description.joints:
        if joint.type != "fixed" and not joint.closes_loop:
            at_node[node[joint.parent]].append(joint)
            at_node[node[joint.child]].append(joint)
    reached, tree = {node[base]}, set()
    waiting = deque(reached)
    while waiting:
        here = waiting.popleft()
        for joint in at_node[here]:
            ends = (node[joint.parent], node[joint.child])
            far = ends[0] if ends[1] == here else ends[1]
            if far not in reached:
                reached.add(far)
                waiting.append(far)
                tree.add(joint.name)
    edges: dict[str, list[Edge]] = defaultdict(list)
    chords = []
    for joint in description.joints:
        if joint.name in tree or (joint.type == "fixed" and not joint.closes_loop):
            edges[joint.parent].append(Edge(joint, joint.child, forward=True))
            edges[joint.child].append(Edge(joint, joint.parent, forward=False))
        else:
            chords.append(joint)
    return Spanning(base, edges, chords)


def _root(description: Description) -> str:
    children = {joint.child for joint in description.joints if not joint.closes_loop}
    return next(link.name for link in description.links if link.name not in children)


def rigid_groups(description: Description) -> dict[str, str]:
    """Return, by link, the representative of the links that fixed joints connect to it."""
    leader = {link.name: link.name for link in description.links}

    def find(name: str) -> str:
        while leader[name] != name:
            leader[name] = leader[leader[name]]  # halve the path to make later calls faster
            name = leader[name]
        return name

    for joint in description.joints:
        if joint.type == "fixed" and not joint.closes_loop:
            leader[find(joint.child)] = find(joint.parent)
    return {name: find(name) for name in leader}
