# SPDX-License-Identifier: Apache-2.0
"""Cut a program into blocks that are short enough for a compiler.

Compile time grows faster than the length of a function, and a processor evaluates the sines and
cosines of several angles at about the cost of one. So operations are sorted into levels, by the
length of the longest chain of sines and cosines on which they depend. Each level starts with all
of its sines and cosines.

    program          level  block             where the value is kept for other blocks
    0 input qpos 0     0    -                 not kept: each block that uses it loads it
    1 sin 0            1    SinCos: angle 0   in slot 0 of row 0; row 1 is for cosines
    2 constant 2.0     0    -                 not kept: each block that uses it repeats it
    3 div 1 2          1    Line: 3, 4        not kept: no other block uses it
    4 add 3 0          1                      in the next free slot, if another block uses it
"""

from collections.abc import Iterator
from dataclasses import dataclass

from rbdyn_ros.specialization.programs.program import LEAVES, Program, operands_of
from rbdyn_ros.specialization.programs.symbols import CONDITIONS

#: Number of operations in a block. Shorter blocks would not compile faster, and longer blocks
#: would not run faster.
BLOCK_LENGTH = 500

#: Operations that are evaluated together.
SINCOS = ("sin", "cos")

#: Operations that every block repeats where it uses them.
INLINE = (*CONDITIONS, "pack", "lane")
NOT_IN_LINES = (*LEAVES, *INLINE, *SINCOS)

Output = tuple[str, int, int]  # a tuple of Program.outputs


@dataclass(frozen=True, slots=True)
class SinCos:
    """Sines and cosines of angles.

    Attributes:
        angles: operations that give the angles.
        sin: first slot of the sines.
        cos: first slot of the cosines.
    """

    angles: tuple[int, ...]
    sin: int
    cos: int


@dataclass(frozen=True, slots=True)
class Line:
    """Other operations, in an order in which they can be computed.

    Attributes:
        operations: numbers of the operations, in this order.
        outputs: outputs that this block writes, because no block reads their arrays.
    """

    operations: tuple[int, ...]
    outputs: tuple[Output, ...]


@dataclass(frozen=True, slots=True)
class Blocks:
    """A program in blocks.

    Attributes:
        blocks: the blocks, in the order of execution.
        slots: for each operation whose value another block uses, the first slot of the value.
        size: number of slots.
        outputs: outputs that are written after the last block.
    """

    blocks: tuple[SinCos | Line, ...]
    slots: dict[int, int]
    size: int
    outputs: tuple[Output, ...]


@dataclass(frozen=True, slots=True)
class _Angles:
    """Angles (operations) whose sines and cosines are evaluated together."""

    operations: list[int]


@dataclass(frozen=True, slots=True)
class _Run:
    """Operations that are computed in order."""

    operations: list[int]


_Work = list[_Angles | _Run]


def cut(
    program: Program, together: int, longest: int = BLOCK_LENGTH, early: bool = True
) -> Blocks:
    """Cut a program into blocks.

    Args:
        program: the program to cut.
        together: number of angles that are evaluated at once. Their sines are adjacent, so a
            SinCos takes a multiple of this number of slots.
        longest: maximum number of operations of a block.
        early: whether a block writes its outputs if no block reads their array; otherwise all
            outputs are written after the last block.
    """
    work = _work(program, longest)
    home = {n: k for k, run in enumerate(work) if isinstance(run, _Run) for n in run.operations}
    read = {array for array, *_ in program.inputs}
    late = tuple(o for o in program.outputs if not early or o[0] in read or o[2] not in home)
    last = _last_uses(program, work, home, [n for *_, n in late])
    slots, sizes = _Slots(together), widths(program)
    blocks: list[SinCos | Line] = []
    for k, each in enumerate(work):
        slots.release(k)
        line = each.operations
        if isinstance(each, _Angles):
            sin, cos = slots.rows(len(line)), slots.rows(len(line))
            blocks.append(SinCos(tuple(line), sin, cos))
            slots.of.update(_sincos_slots(program, line, sin, cos))
        else:
            for n in line:
                if n in last:
                    slots.take(n, sizes[n], last[n])
            here = set(line)
            done = (o for o in program.outputs if early and o[2] in here and o[0] not in read)
            blocks.append(Line(tuple(line), tuple(done)))
    return Blocks(tuple(blocks), slots.of, slots.size, late)


def sources(program: Program, n: int) -> Iterator[int]:
    """Yield the operations whose stored values a block needs in order to use an operation."""
    if program.operations[n][0] in INLINE:
        yield from _operand_sources(program, n)
    else:
        yield n


def _operand_sources(program: Program, n: int) -> Iterator[int]:
    """Yield the sources of the operands of an operation."""
    for x in operands_of(program.operations[n]):
        yield from sources(program, x)


def _work(program: Program, longest: int) -> _Work:
    """Return the work of a program in order: groups of angles, and runs of other operations."""
    levels = _levels(program)
    by_level: list[list[int]] = [[] for _ in range(max(levels, default=0) + 1)]
    for n, level in enumerate(levels):
        by_level[level].append(n)
    work: _Work = []
    for here in by_level:
        kinds = {n: program.operations[n][0] for n in here}
        evaluated = [n for n in here if kinds[n] in SINCOS]
        angles = dict.fromkeys(
            program.operations[n][1] for n in (*_packed(program, here), *evaluated)
        )
        work += [_Angles(list(angles))] if angles else []
        line = [n for n in here if kinds[n] not in NOT_IN_LINES]
        work += [_Run(line[k : k + longest]) for k in range(0, len(line), longest)]
    return work


def _packed(program: Program, here: list[int]) -> Iterator[int]:
    """Yield the sines and cosines that packs contain, pack by pack, so that a pack is adjacent."""
    for n in here:
        kind, *members = program.operations[n]
        if kind == "pack" and all(program.operations[x][0] in SINCOS for x in members):
            yield from members


def widths(program: Program) -> list[int]:
    """Return how many numbers the result of each operation has."""
    found: list[int] = []
    for kind, *operands in program.operations:
        if kind in ("pack", "constants"):
            found.append(len(operands))
        elif kind in ("input", "constant", "lane"):
            found.append(1)
        else:
            found.append(found[operands[-1]])  # a select's first operand may be a single condition
    return found


def _levels(program: Program) -> list[int]:
    """Return, for each operation, the length of the longest chain of sines and cosines to it."""
    levels: list[int] = []
    for operation in program.operations:
        before = [levels[x] for x in operands_of(operation)]
        levels.append(max(before, default=0) + (operation[0] in SINCOS))
    return levels


def _last_uses(
    program: Program, work: _Work, home: dict[int, int], at_end: list[int]
) -> dict[int, int]:
    """Return, for each value that is used outside its own block, the last block that uses it.

    Args:
        program: the program that was cut.
        work: its blocks.
        home: the block that computes each operation.
        at_end: operations whose values are used after the last block.
    """
    last: dict[int, int] = {}
    for k, each in enumerate([*work, _Angles(at_end)]):
        # a SinCos uses its angles, a run the operands of its operations
        uses = sources if isinstance(each, _Angles) else _operand_sources
        for n in each.operations:
            last.update({x: k for x in uses(program, n) if home.get(x, k) != k})
    return last


def _sincos_slots(program: Program, angles: list[int], sin: int, cos: int) -> dict[int, int]:
    """Return the slots of the sines and cosines of angles."""
    first = {"sin": sin, "cos": cos}
    place = {x: k for k, x in enumerate(angles)}
    return {
        n: first[operation[0]] + place[operation[1]]
        for n, operation in enumerate(program.operations)
        if operation[0] in SINCOS and operation[1] in place
    }


class _Slots:
    """Allocates slots, and reuses slots whose values are no longer needed."""

    def __init__(self, together: int) -> None:
        self.together = together
        self.of: dict[int, int] = {}
        self.size = 0
        self._free: dict[int, list[int]] = {}
        self._ends: dict[int, list[tuple[int, int]]] = {}

    def rows(self, number: int) -> int:
        """Allocate `number` adjacent new slots, in whole rows; return the first slot."""
        return self._new(-(-number // self.together) * self.together)

    def take(self, n: int, number: int, end: int) -> None:
        """Allocate `number` slots for the operation n until its last use, in the block `end`."""
        free = self._free.get(number)
        self.of[n] = free.pop() if free else self._new(number)
        self._ends.setdefault(end, []).append((number, self.of[n]))

    def release(self, block: int) -> None:
        """Free the slots whose last use was before a block."""
        for end in [end for end in self._ends if end < block]:
            for number, slot in self._ends.pop(end):
                self._free.setdefault(number, []).append(slot)

    def _new(self, number: int) -> int:
        self.size += number
        return self.size - number
