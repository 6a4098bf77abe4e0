# SPDX-License-Identifier: Apache-2.0
"""The connectivity graph of a system: the bodies that each joint connects.

Bodies are nodes, the fixed base is node 0, and joints are edges. The joints of a spanning tree
carry bodies, and the other joints, the chords, close loops. Source: RBDA section 4.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from rbdyn_ros.errors import Finding, ModelError


class Graph:
    """A regularly numbered graph: tree joint i connects body i to a body with a lower number.

    Attributes:
        p, s: predecessor and successor of joint 1, 2, ..., N_J; the first N_B are tree joints.
        N_B: number of moving bodies; None: the largest number in p and s.

    Raises:
        ModelError: the numbering is not regular.
    """

    def __init__(self, p: Sequence[int], s: Sequence[int], N_B: int | None = None) -> None:
        self.p = tuple(map(int, p))
        self.s = tuple(map(int, s))
        self.N_B = max((*self.p, *self.s), default=0) if N_B is None else N_B
        self._check_regular()

    @property
    def N_J(self) -> int:
        """Number of joints."""
        return len(self.p)

    @property
    def N_L(self) -> int:
        """Number of independent loops: N_J - N_B (RBDA eq 4.1)."""
        return self.N_J - self.N_B

    @cached_property
    def lam(self) -> tuple[int, ...]:
        """Parents of body 1, 2, ..., N_B: min(p, s) (RBDA eq 4.2)."""
        tree = slice(0, self.N_B)
        return tuple(min(pair) for pair in zip(self.p[tree], self.s[tree], strict=True))

    def kappa(self, i: int) -> tuple[int, ...]:
        """Return the support of body i: the tree joints between the body and the base."""
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
        """Return the bodies of the subtree whose root is body i."""
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
        chord's successor to its predecessor. Raise ModelError if the loop does not exist.
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
