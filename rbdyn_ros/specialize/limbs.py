"""Limbs that are alike, computed side by side: the legs of a robot fill a vector register.

Two limbs whose joints are of the same types lead kernels through the same operations on other
numbers. Where every operation on one has its like on the others, one on vectors does the work of
all. Which inputs are alike the tree says; from there on operations are alike whose operands are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rbdyn_ros.model.data import DATA_FIELDS
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.model_fields import MODEL_FIELDS
from rbdyn_ros.specialize.program import LEAVES, Program, operands_of
from rbdyn_ros.specialize.symbols import CONDITIONS, Operation

#: What there are instructions on vectors for.
PACKED = (
    "add", "sub", "mul", "div", "neg", "fma", "fms", "fnma", "sqrt", "fabs", "select", *CONDITIONS
)  # fmt: skip
#: How many of the first operands may change places.
COMMUTE = {"add": 2, "mul": 2, "fma": 2, "fms": 2, "fnma": 2}

#: Operations on what limbs share are compared so far back.
DEPTH = 8

Limbs = tuple[tuple[int, ...], ...]  # by lane the bodies of all limbs in it, in one order


def side_by_side(m: Model, program: Program, register: int) -> Program:
    """Return a program in which operations on limbs that are alike are operations on vectors.

    Args:
        m: the Model whose program it is.
        program: of one robot.
        register: numbers in a vector register.
    """
    best = program
    for lanes in (2, 4, 8):
        limbs = alike(m, lanes) if lanes <= register else ()
        if limbs:
            packed = _Packing(program, _Likes(m, program, limbs)).program(program.outputs)
            best = min(best, packed, key=_instructions)
    return best


def _instructions(program: Program) -> int:
    return sum(operation[0] not in (*LEAVES, "constants") for operation in program.operations)


def alike(m: Model, lanes: int) -> Limbs:
    """Return limbs that hang on one body and are alike, so many of a kind; empty if none are."""
    children: list[list[int]] = [[] for _ in range(m.nbody)]
    for body in range(1, m.nbody):
        children[m.body_parentid[body]].append(body)
    kinds: list[tuple[Any, ...]] = [()] * m.nbody
    for body in range(m.nbody - 1, 0, -1):
        below = tuple(kinds[child] for child in children[body])
        kinds[body] = (int(m.jnt_type[body - 1]), int(m.jnt_reversed[body - 1]), below)
    found: list[list[int]] = [[] for _ in range(lanes)]
    left = [0]
    while left:
        body = left.pop()
        groups: dict[Any, list[int]] = {}
        for child in children[body]:
            groups.setdefault(kinds[child], []).append(child)
        for group in groups.values():
            together = len(group) // lanes * lanes
            for k in range(0, together, lanes):
                for lane in range(lanes):
                    found[lane] += _subtree(children, group[k + lane])
            left += group[together:]
    return tuple(map(tuple, found)) if found[0] else ()


def _subtree(children: Sequence[Sequence[int]], body: int) -> list[int]:
    bodies = [body]
    for child in children[body]:
        bodies += _subtree(children, child)
    return bodies


class _Likes:
    """Finds by operation on the first limbs those on the others that are like it.

    Two are alike if their operands are: constants, the same operation, operations known to be
    alike, or ones that do alike with what all limbs share, where these hang on it. What is like
    several is told apart by order: kernels go through all limbs in the same one.
    """

    def __init__(self, m: Model, program: Program, limbs: Limbs) -> None:
        self.operations = program.operations
        self.partners: dict[int, tuple[int, ...]] = {}
        self._taken: dict[int, int] = {}
        self._users: dict[int, list[int]] = {}
        for n, operation in enumerate(self.operations):
            for x in dict.fromkeys(operands_of(operation)):
                self._users.setdefault(x, []).append(n)
        inputs = {(array, place): n for array, place, n in program.inputs}
        places = _places(m, limbs)
        for (array, place), n in inputs.items():
            others = places.get(array, {}).get(place, ())
            likes = [inputs.get((array, other), -1) for other in others]
            if likes and min(likes) >= 0:
                self._enter(n, likes)
        for n, operation in enumerate(self.operations):
            if operation[0] not in LEAVES and n not in self._taken:
                self._search(n, len(limbs) - 1)

    def _enter(self, n: int, likes: Sequence[int]) -> None:
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
        self._enter(n, likes)
        self._enter_operands(n, likes)

    def _enter_operands(self, n: int, likes: Sequence[int]) -> None:
        """Note the likes of operands that do with shared numbers what their like do."""
        kind, *own = self.operations[n]
        rows = [self.matched(kind, own, list(self.operations[x][1:]), lane)
                for lane, x in enumerate(likes)]  # fmt: skip
        for k, x in enumerate(own):
            others = [row[k] for row in rows]
            if self.operations[x][0] not in LEAVES and x not in self._taken and x not in others:
                self._enter(x, others)
                if x in self.partners:
                    self._enter_operands(x, others)

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


def _places(m: Model, limbs: Limbs) -> dict[str, dict[int, tuple[int, ...]]]:
    """Return by array and place in it, on the first limbs, the places on the others."""
    rows = {
        "nbody": [np.array(lane) for lane in limbs],
        "njnt": [np.array(lane) - 1 for lane in limbs],
        "nv": [_entries(m.jnt_dofadr_all, m.jnt_dofnum, lane) for lane in limbs],
        "nq": [_entries(m.jnt_qposadr_all, _position_numbers(m), lane) for lane in limbs],
    }
    found: dict[str, dict[int, tuple[int, ...]]] = {}
    for field in (*DATA_FIELDS, *MODEL_FIELDS):
        if field.dims and field.dims[0] in rows:
            width = int(np.prod([dim for dim in field.dims[1:] if isinstance(dim, int)]))
            lanes = [
                (row[:, None] * width + np.arange(width)).ravel().tolist()
                for row in rows[str(field.dims[0])]
            ]
            found[field.name] = {
                first: tuple(others) for first, *others in zip(*lanes, strict=True)
            }
    return found


def _entries(first: Any, number: Any, bodies: Sequence[int]) -> Any:
    return np.array([k for b in bodies for k in range(first[b - 1], first[b - 1] + number[b - 1])])


def _position_numbers(m: Model) -> list[int]:
    return [m.jnt_kind(j).nq for j in range(m.njnt)]


class _Packing:
    """Writes the program in which operations that are alike are one on vectors."""

    def __init__(self, program: Program, likes: _Likes) -> None:
        self.old = program.operations
        self.likes, partners = likes, likes.partners
        packs = {n: (n, *likes) for n, likes in partners.items() if self.old[n][0] in PACKED}
        self.packs = {n: pack for n, pack in packs.items() if self._decides_alike(n, packs)}
        self.lane = {x: (n, k) for n, pack in self.packs.items() for k, x in enumerate(pack)}
        self.operations: list[Operation] = []
        self._known: dict[Operation, int] = {}
        self._new: dict[int, int] = {}

    def program(self, outputs: Sequence[tuple[str, int, int]]) -> Program:
        """Return it."""
        for n in self._order():
            if n in self.packs:
                self._new[n] = self._enter(self._vector(n))
            else:
                kind, *operands = self.old[n]
                given = operands if kind in LEAVES else [self._number(x) for x in operands]
                self._new[n] = self._enter((kind, *given))
        written = tuple((array, place, self._number(n)) for array, place, n in outputs)
        return Program(tuple(self.operations), written)

    def _decides_alike(self, n: int, packs: Mapping[int, tuple[int, ...]]) -> bool:
        """Whether a select chooses by conditions that are packed as well."""
        return self.old[n][0] != "select" or self.old[n][1] in packs

    def _vector(self, n: int) -> Operation:
        """Return the operation on vectors that stands for a pack."""
        kind, *first = self.old[n]
        rows = [self._in_order(kind, first, lane, x) for lane, x in enumerate(self.packs[n])]
        return (kind, *(self._gathered(column) for column in zip(*rows, strict=True)))

    def _in_order(self, kind: str, first: Sequence[int], lane: int, x: int) -> list[int]:
        """Return the operands of lane `lane`, in the order in which those of the first stand."""
        own = list(self.old[x][1:])
        return own if lane == 0 else self.likes.matched(kind, first, own, lane - 1)

    def _gathered(self, column: Sequence[int]) -> int:
        """Return the vector of an operand of every lane."""
        n, place = self.lane.get(column[0], (-1, 0))
        if place == 0 and self.packs.get(n) == tuple(column):
            return self._new[n]
        if all(self.old[x][0] == "constant" for x in column):
            return self._enter(("constants", *(self.old[x][1] for x in column)))
        return self._enter(("pack", *(self._number(x) for x in column)))

    def _number(self, x: int) -> int:
        """Return the operation that gives a single number."""
        if x not in self.lane:
            return self._new[x]
        n, place = self.lane[x]
        return self._enter(("lane", self._new[n], place))

    def _enter(self, operation: Operation) -> int:
        if operation[0] in ("input", "constant", "constants"):
            key = (operation[0], *map(repr, operation[1:]))  # 0.0 is not -0.0
        else:
            key = operation
        if key not in self._known:
            self._known[key] = len(self.operations)
            self.operations.append(operation)
        return self._known[key]

    def _order(self) -> Iterator[int]:
        """Yield operations, of a pack the first, each after all that it and its like need."""
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
                    # none needs itself: what its like need is like what it needs
                    assert top not in asked
                    asked.add(top)
                    left += waiting
                    continue
                left.pop()
                if top not in done:
                    done.add(top)
                    yield top
