# SPDX-License-Identifier: Apache-2.0
"""The connectivity graph of a system: which joint connects which bodies.

Source: RBDA section 4.1. Bodies are nodes, the fixed base is node 0, joints are edges; those of a
spanning tree carry bodies, the chords close loops.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from rbdyn_ros.description.parts.types import Description, Joint
from rbdyn_ros.errors import Finding, ModelError


class Graph:
    """A regularly numbered graph: joint i connects body i to a body with a lower number.

    Attributes:
        p, s: predecessor and successor of joint 1, 2, ..., N_J; the first N_B are tree joints.
        N_B: moving bodies.

    Raises:
        ModelError: if the numbering is not regular.
    """

    def __init__(self, p: Sequence[int], s: Sequence[int], N_B: int | None = None) -> None:
        self.p = tuple(map(int, p))
        self.s = tuple(map(int, s))
        self.N_B = max((*self.p, *self.s), default=0) if N_B is None else N_B
        self._check_regular()

    @property
    def N_J(self) -> int:
        """Joints."""
        return len(self.p)

    @property
    def N_L(self) -> int:
        """Independent loops: N_J - N_B (RBDA eq 4.1)."""
        return self.N_J - self.N_B

    @cached_property
    def lam(self) -> tuple[int, ...]:
        """Parents of body 1, 2, ..., N_B: min(p, s) (RBDA eq 4.2)."""
        tree = slice(0, self.N_B)
        return tuple(min(pair) for pair in zip(self.p[tree], self.s[tree], strict=True))

    def kappa(self, i: int) -> tuple[int, ...]:
        """Return the support of body i: the tree joints between it and the base."""
        self._check_body(i)
        support = []
        while i > 0:
            support.append(i)
            i = self.lam[i - 1]
        return tuple(reversed(support))

    def mu(self, i: int) -> tuple[int, ...]:
        """Return the children of body i."""
        self._check_body(i)
        return self._children[i]

    def nu(self, i: int) -> tuple[int, ...]:
        """Return the bodies of the subtree that begins with body i."""
        self._check_body(i)
        found, waiting = [], [i]
        while waiting:
            body = waiting.pop()
            found.append(body)
            waiting.extend(self._children[body])
        return tuple(sorted(found))

    def cycle(self, loop: int) -> tuple[int, ...]:
        """Return the joints of loop 1, 2, ..., N_L in cyclic order.

        The cycle begins with the chord, joint N_B + loop, and returns through the tree from the
        chord's successor to its predecessor.
        """
        if not 1 <= loop <= self.N_L:
            text = f"there is no loop {loop}; the graph has {self.N_L}, numbered from 1"
            raise ModelError(Finding("unknown-loop", text))
        chord = self.N_B + loop
        out, back = self.kappa(self.p[chord - 1]), self.kappa(self.s[chord - 1])
        shared = sum(1 for a, b in zip(out, back, strict=False) if a == b)
        return (chord, *reversed(back[shared:]), *out[shared:])

    @cached_property
    def _children(self) -> list[tuple[int, ...]]:
        children: list[list[int]] = [[] for _ in range(self.N_B + 1)]
        for i, parent in enumerate(self.lam, start=1):
            children[parent].append(i)
        return [tuple(row) for row in children]

    def _check_body(self, i: int) -> None:
        if not 0 <= i <= self.N_B:
            text = f"there is no body {i}; the graph has bodies 0 to {self.N_B}"
            raise ModelError(Finding("unknown-body", text))

    def _check_regular(self) -> None:
        count = min(len(self.p), len(self.s))
        for i in range(1, self.N_B + 1):
            ends = (self.p[i - 1], self.s[i - 1]) if i <= count else ()
            if not ends or max(ends) != i or not 0 <= min(ends) < i:
                text = (
                    f"joint {i} connects {ends}; in a regular numbering it connects body {i} to "
                    "a body with a lower number"
                )
                raise ModelError(Finding("irregular-numbering", text))
        for i in range(self.N_B + 1, max(len(self.p), len(self.s)) + 1):
            ends = (self.p[i - 1], self.s[i - 1]) if i <= count else ()
            if len(set(ends)) < 2 or not all(0 <= end <= self.N_B for end in ends):
                text = f"joint {i} closes a loop between {ends}; it must connect two bodies"
                raise ModelError(Finding("irregular-numbering", text))

    def __repr__(self) -> str:
        return f"<Graph: N_B={self.N_B}, N_J={self.N_J}, N_L={self.N_L}>"


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
        """Return, by link, the next link on the way to the base."""
        parent: dict[str, str] = {}
        waiting = [self.base]
        while waiting:
            near = waiting.pop()
            for edge in self.edges.get(near, ()):
                if edge.other != parent.get(near):
                    parent[edge.other] = near
                    waiting.append(edge.other)
        return parent


def span(description: Description) -> Spanning:
    """Return a spanning tree, breadth-first from the base, with ties in the order of the joints.

    Links that fixed joints connect count as one node. The description must have passed
    description/checks.
    """
    base = description.base or _root(description)
    node = _rigid_groups(description)
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
    """Return the link without a parent."""
    children = {joint.child for joint in description.joints if not joint.closes_loop}
    return next(link.name for link in description.links if link.name not in children)


def _rigid_groups(description: Description) -> dict[str, str]:
    """Return, by link, the representative of the links that fixed joints connect to it."""
    leader = {link.name: link.name for link in description.links}

    def find(name: str) -> str:
        while leader[name] != name:
            leader[name] = leader[leader[name]]  # path halving, for later calls
            name = leader[name]
        return name

    for joint in description.joints:
        if joint.type == "fixed" and not joint.closes_loop:
            leader[find(joint.child)] = find(joint.parent)
    return {name: find(name) for name in leader}
