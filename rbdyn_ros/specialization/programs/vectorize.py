# SPDX-License-Identifier: Apache-2.0
"""Merge matching operations of similar limbs into vector operations."""

from collections.abc import Iterator, Mapping, Sequence

from rbdyn_ros.specialization.programs.matching import Matching
from rbdyn_ros.specialization.programs.program import LEAVES, Program, operands_of
from rbdyn_ros.specialization.programs.symbols import CONDITIONS, Operation

#: Operations that have vector instructions.
VECTOR_OPERATIONS = (
    "add", "sub", "mul", "div", "neg", "fma", "fms", "fnma", "sqrt", "fabs", "select", *CONDITIONS
)  # fmt: skip


class Vectorizer:
    """Rewrites a program so that each group of matching operations is one vector operation."""

    def __init__(self, program: Program, matching: Matching) -> None:
        self.old = program.operations
        self.matching = matching
        packs = {
            n: (n, *others)
            for n, others in matching.partners.items()
            if self.old[n][0] in VECTOR_OPERATIONS
        }
        self.packs = {n: pack for n, pack in packs.items() if self._has_vector_condition(n, packs)}
        self.lane = {x: (n, k) for n, pack in self.packs.items() for k, x in enumerate(pack)}
        self.operations: list[Operation] = []
        self._known: dict[Operation, int] = {}
        self._new: dict[int, int] = {}

    def program(self, outputs: Sequence[tuple[str, int, int]]) -> Program:
        """Return the program with vector operations."""
        for n in self._order():
            if n in self.packs:
                self._new[n] = self._enter(self._vector(n))
            else:
                kind, *operands = self.old[n]
                given = operands if kind in LEAVES else [self._number(x) for x in operands]
                self._new[n] = self._enter((kind, *given))
        written = tuple((array, place, self._number(n)) for array, place, n in outputs)
        return Program(tuple(self.operations), written)

    def _has_vector_condition(self, n: int, packs: Mapping[int, tuple[int, ...]]) -> bool:
        """Return whether an operation can be packed: a select needs a packed condition."""
        return self.old[n][0] != "select" or self.old[n][1] in packs

    def _vector(self, n: int) -> Operation:
        kind, *first = self.old[n]
        rows = [self._in_order(kind, first, lane, x) for lane, x in enumerate(self.packs[n])]
        return (kind, *(self._gathered(column) for column in zip(*rows, strict=True)))

    def _in_order(self, kind: str, first: Sequence[int], lane: int, x: int) -> list[int]:
        """Return the operands of a lane in the order of the first lane's operands."""
        own = list(self.old[x][1:])
        return own if lane == 0 else self.matching.in_order(kind, first, own, lane - 1)

    def _gathered(self, column: Sequence[int]) -> int:
        """Return the operation that makes a vector of one operand from each lane."""
        n, place = self.lane.get(column[0], (-1, 0))
        if place == 0 and self.packs.get(n) == tuple(column):
            return self._new[n]
        if all(self.old[x][0] == "constant" for x in column):
            return self._enter(("constants", *(self.old[x][1] for x in column)))
        return self._enter(("pack", *(self._number(x) for x in column)))

    def _number(self, x: int) -> int:
        if x not in self.lane:
            return self._new[x]
        n, place = self.lane[x]
        return self._enter(("lane", self._new[n], place))

    def _enter(self, operation: Operation) -> int:
        if operation[0] in LEAVES:
            key = (operation[0], *map(repr, operation[1:]))  # repr distinguishes 0.0 from -0.0
        else:
            key = operation
        if key not in self._known:
            self._known[key] = len(self.operations)
            self.operations.append(operation)
        return self._known[key]

    def _order(self) -> Iterator[int]:
        """Yield the first operation of each pack and all other operations, operands first."""
        done: set[int] = set()
        asked: set[int] = set()
        for n in range(len(self.old)):
            left = [self.lane.get(n, (n, 0))[0]]
            while left:
                top = left[-1]
                needed = [
                    self.lane.get(x, (x, 0))[0]
                    for member in self.packs.get(top, (top,))
                    for x in operands_of(self.old[member])
                ]
                waiting = [x for x in needed if x not in done]
                if waiting and top not in done:
                    # a pack never needs itself, because the operands of matching operations match
                    assert top not in asked
                    asked.add(top)
                    left += waiting
                    continue
                left.pop()
                if top not in done:
                    done.add(top)
                    yield top
