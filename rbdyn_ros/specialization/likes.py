"""Which operations of a program do on one limb what others do on another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from rbdyn_ros.specialization.program import LEAVES, Program, operands_of

Places: TypeAlias = Mapping[str, Mapping[int, tuple[int, ...]]]

#: How many of the first operands may change places.
COMMUTE = {"add": 2, "mul": 2, "fma": 2, "fms": 2, "fnma": 2}

#: Operations on what limbs share are compared so far back.
DEPTH = 8


class Likes:
    """Finds by operation on the first limbs those on the others that are like it.

    Two are alike if their operands are: constants, the same operation, operations known to be
    alike, or ones that do alike with what all limbs share, where these hang on it. What is like
    several is told apart by order: kernels go through all limbs in the same one.

    Attributes:
        partners: by operation on the first limbs, those on the others.

    Args:
        program: of one robot.
        places: by array and place in it, on the first limbs, the places on the others.
        others: how many these are.
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
            likes = [inputs.get((array, other), -1) for other in elsewhere]
            if likes and min(likes) >= 0:
                self._note(n, likes)
        for n, operation in enumerate(self.operations):
            if operation[0] not in LEAVES and n not in self._taken:
                self._search(n, others)

    def _note(self, n: int, likes: Sequence[int]) -> None:
        if len({n, *likes}) > len(likes) and not any(x in self._taken for x in (n, *likes)):
            self.partners[n] = tuple(likes)
            self._taken.update(dict.fromkeys((n, *likes), n))

    def _search(self, n: int, others: int) -> None:
        """Find the likes of an operation that has an operand of which they are known."""
        known = [x for x in operands_of(self.operations[n]) if x in self.partners]
        if not known:
            return
        users, partners = self._users, self.partners[known[0]]
        same = [x for x in users[known[0]] if self._alike(n, x, None)]
        likes = []
        for lane in range(others):
            there = [x for x in users.get(partners[lane], ()) if self._alike(n, x, lane)]
            if len(there) != len(same):
                return
            likes.append(there[same.index(n)])
        self._note(n, likes)
        self._note_operands(n, likes)

    def _note_operands(self, n: int, likes: Sequence[int]) -> None:
        """Note the likes of operands that do with shared numbers what their like do."""
        kind, *own = self.operations[n]
        rows = [self.matched(kind, own, list(self.operations[x][1:]), lane)
                for lane, x in enumerate(likes)]  # fmt: skip
        for k, x in enumerate(own):
            others = [row[k] for row in rows]
            new = self.operations[x][0] not in LEAVES and x not in self._taken and x not in others
            # what was noted of the operands before may have made another pair of these two
            if new and all(self._alike(x, other, lane) for lane, other in enumerate(others)):
                self._note(x, others)
                if x in self.partners:
                    self._note_operands(x, others)

    def matched(self, kind: str, own: Sequence[int], others: list[int], lane: int) -> list[int]:
        """Return operands in the order in which their likes stand."""
        if COMMUTE.get(kind, 0) == 0 or self._all_alike(own, others, lane, DEPTH):
            return others
        return [others[1], others[0], *others[2:]]

    def _alike(self, n: int, x: int, lane: int | None, depth: int = DEPTH) -> bool:
        """Whether x does on the limbs of a lane (None: of the first) what n does on the first."""
        if self.operations[n][0] != self.operations[x][0]:
            return False
        kind, *own = self.operations[n]
        others = list(self.operations[x][1:])
        straight = self._all_alike(own, others, lane, depth)
        if straight or COMMUTE.get(kind, 0) == 0:
            return straight
        return self._all_alike(own, [others[1], others[0], *others[2:]], lane, depth)

    def _all_alike(
        self, own: Sequence[int], others: Sequence[int], lane: int | None, depth: int
    ) -> bool:
        return all(self._same(n, x, lane, depth) for n, x in zip(own, others, strict=True))

    def _same(self, n: int, x: int, lane: int | None, depth: int) -> bool:
        """Whether two operands are alike."""
        if n in self.partners:
            return x == n if lane is None else x == self.partners[n][lane]
        if n == x:
            return True
        kinds = self.operations[n][0], self.operations[x][0]
        if "constant" in kinds:
            return bool(kinds[0] == kinds[1])
        if "input" in kinds or n in self._taken or x in self._taken or depth == 0:
            return False
        return self._alike(n, x, lane, depth - 1)
