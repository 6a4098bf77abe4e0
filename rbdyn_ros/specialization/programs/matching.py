# SPDX-License-Identifier: Apache-2.0
"""Match corresponding operations of similar limbs."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from rbdyn_ros.specialization.programs.program import LEAVES, Program, operands_of

Places: TypeAlias = Mapping[str, Mapping[int, tuple[int, ...]]]

#: Number of leading operands of an operation that may be exchanged.
COMMUTE = {"add": 2, "mul": 2, "fma": 2, "fms": 2, "fnma": 2}

#: Operations outside the limbs are compared with their operands up to this depth.
DEPTH = 8


class Matching:
    """Finds for each operation on the first limb the matching operations on the other limbs.

    Two operations match if they are of the same kind and their operands match. Operands match if
    they are both constants, the same operation, or matching operations. If several operations
    match, the first in order is chosen, because kernels process all limbs in the same order.

    Attributes:
        partners: for each operation on the first limb, the matching operations on the other limbs.

    Args:
        program: program of one robot.
        places: for each array and index of the first limb, the indices of the other limbs.
        others: number of other limbs.
    """

    def __init__(self, program: Program, places: Places, others: int) -> None:
        self.operations = program.operations
        self.partners: dict[int, tuple[int, ...]] = {}
        self._taken: dict[int, int] = {}
        self._users: dict[int, list[int]] = {}
        for n, operation in enumerate(self.operations):
            for x in dict.fromkeys(operands_of(operation)):
                self._users.setdefault(x, []).append(n)
        inputs = {(array, place): n for array, place, n in program.inputs}
        for (array, place), n in inputs.items():
            elsewhere = places.get(array, {}).get(place, ())
            matches = [inputs.get((array, other), -1) for other in elsewhere]
            if matches and min(matches) >= 0:
                self._note(n, matches)
        for n, operation in enumerate(self.operations):
            if operation[0] not in LEAVES and n not in self._taken:
                self._search(n, others)

    def _note(self, n: int, matches: Sequence[int]) -> None:
        distinct = len({n, *matches}) > len(matches)
        if distinct and not any(x in self._taken for x in (n, *matches)):
            self.partners[n] = tuple(matches)
            self._taken.update(dict.fromkeys((n, *matches), n))

    def _search(self, n: int, others: int) -> None:
        """Find the matches of an operation with at least one matched operand."""
        known = [x for x in operands_of(self.operations[n]) if x in self.partners]
        if not known:
            return
        users, partners = self._users, self.partners[known[0]]
        same = [x for x in users[known[0]] if self._match(n, x, None)]
        matches = []
        for lane in range(others):
            there = [x for x in users.get(partners[lane], ()) if self._match(n, x, lane)]
            if len(there) != len(same):
                return
            matches.append(there[same.index(n)])
        self._note(n, matches)
        self._note_operands(n, matches)

    def _note_operands(self, n: int, matches: Sequence[int]) -> None:
        """Match the operands of matched operations too, if they are not matched yet."""
        kind, *own = self.operations[n]
        rows = [self.in_order(kind, own, list(self.operations[x][1:]), lane)
                for lane, x in enumerate(matches)]  # fmt: skip
        for k, x in enumerate(own):
            others = [row[k] for row in rows]
            new = self.operations[x][0] not in LEAVES and x not in self._taken and x not in others
            # matching earlier operands may have matched these operations with others
            if new and all(self._match(x, other, lane) for lane, other in enumerate(others)):
                self._note(x, others)
                if x in self.partners:
                    self._note_operands(x, others)

    def in_order(self, kind: str, own: Sequence[int], others: list[int], lane: int) -> list[int]:
        """Return the operands on another limb, in the order of their matches on the first limb."""
        if COMMUTE.get(kind, 0) == 0 or self._all_match(own, others, lane, DEPTH):
            return others
        return [others[1], others[0], *others[2:]]

    def _match(self, n: int, x: int, lane: int | None, depth: int = DEPTH) -> bool:
        """Return whether x, on a lane's limb (None: the first), matches n of the first limb."""
        if self.operations[n][0] != self.operations[x][0]:
            return False
        kind, *own = self.operations[n]
        others = list(self.operations[x][1:])
        straight = self._all_match(own, others, lane, depth)
        if straight or COMMUTE.get(kind, 0) == 0:
            return straight
        return self._all_match(own, [others[1], others[0], *others[2:]], lane, depth)

    def _all_match(
        self, own: Sequence[int], others: Sequence[int], lane: int | None, depth: int
    ) -> bool:
        return all(self._same(n, x, lane, depth) for n, x in zip(own, others, strict=True))

    def _same(self, n: int, x: int, lane: int | None, depth: int) -> bool:
        """Return whether two operands match."""
        if n in self.partners:
            return x == n if lane is None else x == self.partners[n][lane]
        if n == x:
            return True
        kinds = self.operations[n][0], self.operations[x][0]
        if "constant" in kinds:
            return bool(kinds[0] == kinds[1])
        if "input" in kinds or n in self._taken or x in self._taken or depth == 0:
            return False
        return self._match(n, x, lane, depth - 1)
