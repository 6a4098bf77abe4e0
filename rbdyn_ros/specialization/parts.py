"""A program cut into parts that compilers digest: what each does, where values wait in between.

A compiler takes more than twice the time for a function of twice the length, and a processor that
evaluates sines and cosines of many angles at once takes little more than for one. So operations
are ordered by how many of these stand before them; each level begins with all of its own.

    program          level  part              where it waits for other parts
    0 input qpos 0     0    -                 nowhere: it is loaded in each that uses it
    1 sin 0            1    Turns: angle 0    in slot 0 of row 0; row 1 is for cosines
    2 constant 2.0     0    -                 nowhere: it is written in each that uses it
    3 div 1 2          1    Line: 3, 4        nowhere: none uses it
    4 add 3 0          1                      in the next free slot, if one uses it
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rbdyn_ros.specialization.program import LEAVES, Program, operands_of
from rbdyn_ros.specialization.symbols import CONDITIONS

#: Operations of one part. Shorter ones compile no faster, longer ones run no faster.
PART = 500

#: What is evaluated together.
TURNS = ("sin", "cos")

#: What is written where it is used, in every part again.
INLINE = (*CONDITIONS, "pack", "lane")
NOT_IN_LINES = (*LEAVES, *INLINE, *TURNS)

Output = tuple[str, int, int]  # as Program.outputs


@dataclass(frozen=True, slots=True)
class Turns:
    """Sines and cosines of angles.

    Attributes:
        angles: operations that give the angles.
        sin: first slot where the sines wait.
        cos: first slot where the cosines wait.
    """

    angles: tuple[int, ...]
    sin: int
    cos: int


@dataclass(frozen=True, slots=True)
class Line:
    """Other operations, in an order in which they can be computed.

    Attributes:
        operations: to be computed.
        outputs: to be written as soon as they are: no part reads their array.
    """

    operations: tuple[int, ...]
    outputs: tuple[Output, ...]


@dataclass(frozen=True, slots=True)
class Parts:
    """A program in parts.

    Attributes:
        parts: in order.
        slots: where a value waits that another part uses, by operation.
        size: number of slots.
        outputs: what is left to be written when all is computed.
    """

    parts: tuple[Turns | Line, ...]
    slots: dict[int, int]
    size: int
    outputs: tuple[Output, ...]


@dataclass(frozen=True, slots=True)
class _Angles:
    """Operations whose values are turned together."""

    operations: list[int]


@dataclass(frozen=True, slots=True)
class _Run:
    """Operations that are computed one after the other."""

    operations: list[int]


_Work = list[_Angles | _Run]


def cut(program: Program, together: int, longest: int = PART, early: bool = True) -> Parts:
    """Cut a program into parts.

    Args:
        program: what is to be computed.
        together: angles that are turned at once; their sines lie beside each other, so that
            the slots of a Turns are a multiple of this.
        longest: operations of a part.
        early: whether a part writes the outputs that it computes, where no part reads their
            array; else all are left for the end.
    """
    work = _work(program, longest)
    home = {n: k for k, run in enumerate(work) if isinstance(run, _Run) for n in run.operations}
    read = {array for array, *_ in program.inputs}
    late = tuple(o for o in program.outputs if not early or o[0] in read or o[2] not in home)
    last = _last_uses(program, work, home, [n for *_, n in late])
    slots, sizes = _Slots(together), widths(program)
    parts: list[Turns | Line] = []
    for k, each in enumerate(work):
        slots.release(k)
        line = each.operations
        if isinstance(each, _Angles):
            sin, cos = slots.rows(len(line)), slots.rows(len(line))
            parts.append(Turns(tuple(line), sin, cos))
            slots.of.update(_turned(program, line, sin, cos))
        else:
            for n in line:
                if n in last:
                    slots.take(n, sizes[n], last[n])
            here = set(line)
            done = (o for o in program.outputs if early and o[2] in here and o[0] not in read)
            parts.append(Line(tuple(line), tuple(done)))
    return Parts(tuple(parts), slots.of, slots.size, late)


def sources(program: Program, n: int) -> Iterator[int]:
    """Yield the operations to compute before a value is known, through what is written there."""
    if program.operations[n][0] in INLINE:
        yield from _waited_for(program, n)
    else:
        yield n


def _waited_for(program: Program, n: int) -> Iterator[int]:
    """Yield the sources of the operands of an operation."""
    for x in operands_of(program.operations[n]):
        yield from sources(program, x)


def _work(program: Program, longest: int) -> _Work:
    """Return angles to be turned, and runs of other operations, in order."""
    levels = _levels(program)
    by_level: list[list[int]] = [[] for _ in range(max(levels, default=0) + 1)]
    for n, level in enumerate(levels):
        by_level[level].append(n)
    work: _Work = []
    for here in by_level:
        kinds = {n: program.operations[n][0] for n in here}
        turned = [n for n in here if kinds[n] in TURNS]
        angles = dict.fromkeys(
            program.operations[n][1] for n in (*_packed(program, here), *turned)
        )
        work += [_Angles(list(angles))] if angles else []
        line = [n for n in here if kinds[n] not in NOT_IN_LINES]
        work += [_Run(line[k : k + longest]) for k in range(0, len(line), longest)]
    return work


def _packed(program: Program, here: list[int]) -> Iterator[int]:
    """Yield the sines and cosines that are packed, pack by pack: they will lie side by side."""
    for n in here:
        kind, *members = program.operations[n]
        if kind == "pack" and all(program.operations[x][0] in TURNS for x in members):
            yield from members


def widths(program: Program) -> list[int]:
    """Return how many numbers each operation gives."""
    found: list[int] = []
    for kind, *operands in program.operations:
        if kind in ("pack", "constants"):
            found.append(len(operands))
        elif kind in ("input", "constant", "lane"):
            found.append(1)
        else:
            found.append(found[operands[-1]])  # not the first: a select's condition may be single
    return found


def _levels(program: Program) -> list[int]:
    """Return how many sines and cosines stand before each operation, itself included."""
    levels: list[int] = []
    for operation in program.operations:
        before = [levels[x] for x in operands_of(operation)]
        levels.append(max(before, default=0) + (operation[0] in TURNS))
    return levels


def _last_uses(
    program: Program, work: _Work, home: dict[int, int], at_end: list[int]
) -> dict[int, int]:
    """Return which part uses a value last, for those that leave their own.

    Args:
        program: what is computed.
        work: its parts.
        home: the part that computes an operation.
        at_end: what is used when all parts are done.
    """
    last: dict[int, int] = {}
    for k, each in enumerate([*work, _Angles(at_end)]):
        # an angle is waited for itself, of what a run computes the operands are
        uses = sources if isinstance(each, _Angles) else _waited_for
        for n in each.operations:
            last.update({x: k for x in uses(program, n) if home.get(x, k) != k})
    return last


def _turned(program: Program, angles: list[int], sin: int, cos: int) -> dict[int, int]:
    """Return the slots of the sines and cosines of angles."""
    first = {"sin": sin, "cos": cos}
    place = {x: k for k, x in enumerate(angles)}
    return {
        n: first[operation[0]] + place[operation[1]]
        for n, operation in enumerate(program.operations)
        if operation[0] in TURNS and operation[1] in place
    }


class _Slots:
    """Hands out slots; what is used no more is handed out again."""

    def __init__(self, together: int) -> None:
        self.together = together
        self.of: dict[int, int] = {}
        self.size = 0
        self._free: dict[int, list[int]] = {}
        self._ends: dict[int, list[tuple[int, int]]] = {}

    def rows(self, number: int) -> int:
        """Return the first of new slots side by side, whole rows of them."""
        return self._new(-(-number // self.together) * self.together)

    def take(self, n: int, number: int, end: int) -> None:
        """Give slots to an operation whose last use is known."""
        free = self._free.get(number)
        self.of[n] = free.pop() if free else self._new(number)
        self._ends.setdefault(end, []).append((number, self.of[n]))

    def release(self, part: int) -> None:
        """Take back the slots whose last use was before a part."""
        for end in [end for end in self._ends if end < part]:
            for number, slot in self._ends.pop(end):
                self._free.setdefault(number, []).append(slot)

    def _new(self, number: int) -> int:
        self.size += number
        return self.size - number
