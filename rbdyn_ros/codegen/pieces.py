"""A long function in pieces: the time of a compiler grows with the square of a function's length.

A piece is a static function. What one computes for another waits in an array s on the stack of the
function that calls them all. That one stores the outputs, after the last input was read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rbdyn_ros.codegen.language import Writer, demand_divisors
from rbdyn_ros.specialize.parts import TURNS, Line, Turns, cut
from rbdyn_ros.specialize.program import Program

if TYPE_CHECKING:
    from rbdyn_ros.codegen.language import Real

#: Operations of a piece. Talos compiles little faster in shorter ones, and they run slower.
PIECE = 2000


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
        pieces: in the order in which they are called.
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
    # nothing that a part reads may be written early: so every output waits in s
    array = program.inputs[0][0]
    late = tuple((array, place, n) for place, (_, _, n) in enumerate(program.outputs))
    parts = cut(Program(program.operations, late), 1, PIECE)
    writer = Writer(program, inputs, real)
    named = {*writer.names, *parts.slots}
    waiting = {n: f"s[{slot}]" for n, slot in parts.slots.items()}
    pieces = []
    for part in parts.parts:
        writer.names, writer.read = dict(waiting), set()
        lines = list(_lines(program, part, writer, named))
        pieces.append(Piece(lines, [c for name, c in inputs.items() if name in writer.read]))
    writer.names = dict(waiting)
    given = {n: f"t{k}" for k, n in enumerate(_given(program))}
    stores = [f"const {real.name} {name} = {writer.value(n)};" for n, name in given.items()]
    writer.names.update(given)
    stores += [f"{outputs[to]}[{k}] = {writer.operand(n)};" for to, k, n in program.outputs]
    return Pieces(pieces, parts.size, stores)


def _lines(program: Program, part: Turns | Line, writer: Writer, named: set[int]) -> Iterator[str]:
    """Yield the statements of a part; what has a name in it gets one."""
    if isinstance(part, Turns):
        angles = set(part.angles)
        for n, (name, *operands) in enumerate(program.operations):
            if name in TURNS and operands[0] in angles:
                yield f"{writer.names[n]} = {writer.value(n)};"
        return
    for place, n in enumerate(n for n in part.operations if n in named):
        waits = writer.names.get(n)
        yield f"const {writer.real.name} t{place} = {writer.value(n)};"
        writer.names[n] = f"t{place}"
        if waits:
            yield f"{waits} = t{place};"


def _given(program: Program) -> list[int]:
    """Return the inputs that are outputs as they are: storing another may change them."""
    stored = dict.fromkeys(n for _, _, n in program.outputs)
    return [n for n in stored if program.operations[n][0] == "input"]
