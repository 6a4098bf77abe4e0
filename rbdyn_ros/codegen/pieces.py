"""A long function in pieces: the time of a compiler grows with the square of a function's length.

A piece is a static function. What one computes for another waits in an array s on the stack of the
function that calls them all. That one stores the outputs, after the last input was read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rbdyn_ros.codegen.language import Writer, demand_divisors, named
from rbdyn_ros.specialization.parts import TURNS, Line, Turns, cut

if TYPE_CHECKING:
    from rbdyn_ros.codegen.language import Real
    from rbdyn_ros.specialization.program import Program

#: Operations of a piece. Talos compiles little faster in shorter ones, and they run slower.
LONGEST_PIECE = 2000


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a function.

    Attributes:
        lines: its statements.
        reads: names in C of the inputs that it reads.
    """

    lines: list[str]
    reads: list[str]


@dataclass(frozen=True, slots=True)
class Pieces:
    """A function in pieces.

    Attributes:
        pieces: in the order in which they are called; none if there is nothing to compute.
        size: numbers in s.
        stores: statements after the last call.
    """

    pieces: list[Piece]
    size: int
    stores: list[str]


def in_pieces(
    program: Program, inputs: Mapping[str, str], outputs: Mapping[str, str], real: Real
) -> Pieces:
    """Return the statements that compute a Program, in pieces; as language.statements."""
    demand_divisors(program, real)
    # outputs may be the memory of inputs, which a later piece may read: so every one waits in s
    parts = cut(program, 1, LONGEST_PIECE, early=False)
    waiting = {n: f"s[{slot}]" for n, slot in parts.slots.items()}
    kept = {*named(program), *waiting}
    pieces = []
    for part in parts.parts:
        writer = Writer(program, inputs, real, waiting)
        if isinstance(part, Turns):
            lines = list(_turn_lines(program, part, writer))
        else:
            lines = list(_line_lines(part, kept, waiting, writer))
        pieces.append(Piece(lines, [c for name, c in inputs.items() if name in writer.read]))
    last = Writer(program, inputs, real, waiting)
    stores = [last.statement(n) for n in _given(program)]
    stores += [f"{outputs[to]}[{k}] = {last.operand(n)};" for to, k, n in program.outputs]
    return Pieces(pieces, parts.size, stores)


def _turn_lines(program: Program, part: Turns, writer: Writer) -> Iterator[str]:
    """Yield the statements of sines and cosines, all of which wait."""
    angles = set(part.angles)
    for n, (name, *operands) in enumerate(program.operations):
        if name in TURNS and operands[0] in angles:
            yield f"{writer.names[n]} = {writer.value(n)};"


def _line_lines(
    part: Line, kept: Collection[int], waiting: Mapping[int, str], writer: Writer
) -> Iterator[str]:
    """Yield the statements of other operations: what is kept gets a name, some of it waits."""
    for n in part.operations:
        if n in kept:
            yield writer.statement(n)
            if n in waiting:
                yield f"{waiting[n]} = {writer.names[n]};"


def _given(program: Program) -> list[int]:
    """Return the inputs that are outputs as they are: storing another may change them."""
    stored = dict.fromkeys(n for _, _, n in program.outputs)
    return [n for n in stored if program.operations[n][0] == "input"]
