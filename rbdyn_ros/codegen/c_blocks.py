"""Split a long C function into blocks: compile time grows with the square of its length.

Each block is a static function. Values that another block needs are kept in an array s on the
stack of the calling function. That function stores the outputs after the last input was read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rbdyn_ros.codegen.language import Writer, check_divisors, named
from rbdyn_ros.specialization.blocks import SINCOS, Line, SinCos, cut

if TYPE_CHECKING:
    from rbdyn_ros.codegen.language import Real
    from rbdyn_ros.specialization.program import Program

#: Operations of a block. For Talos, shorter blocks compile little faster and run slower.
LONGEST_BLOCK = 2000


@dataclass(frozen=True, slots=True)
class CBlock:
    """A block of a function.

    Attributes:
        lines: its statements.
        reads: C names of the inputs that it reads.
    """

    lines: list[str]
    reads: list[str]


@dataclass(frozen=True, slots=True)
class CBlocks:
    """A function in blocks.

    Attributes:
        blocks: in calling order; empty if there is nothing to compute.
        size: length of s.
        stores: statements after the last call.
    """

    blocks: list[CBlock]
    size: int
    stores: list[str]


def in_blocks(
    program: Program, inputs: Mapping[str, str], outputs: Mapping[str, str], real: Real
) -> CBlocks:
    """Return the statements of a Program in blocks; for the arguments see language.statements."""
    check_divisors(program, real)
    # an output may share memory with an input that a later block reads, so all outputs go to s
    cuts = cut(program, 1, LONGEST_BLOCK, early=False)
    in_s = {n: f"s[{slot}]" for n, slot in cuts.slots.items()}
    kept = {*named(program), *in_s}
    blocks = []
    for block in cuts.blocks:
        writer = Writer(program, inputs, real, in_s)
        if isinstance(block, SinCos):
            lines = list(_sincos_lines(program, block, writer))
        else:
            lines = list(_line_lines(block, kept, in_s, writer))
        blocks.append(CBlock(lines, [c for name, c in inputs.items() if name in writer.read]))
    last = Writer(program, inputs, real, in_s)
    stores = [last.statement(n) for n in _copied(program)]
    stores += [f"{outputs[to]}[{k}] = {last.operand(n)};" for to, k, n in program.outputs]
    return CBlocks(blocks, cuts.size, stores)


def _sincos_lines(program: Program, block: SinCos, writer: Writer) -> Iterator[str]:
    """Yield the statements that compute sines and cosines; all results go to s."""
    angles = set(block.angles)
    for n, (name, *operands) in enumerate(program.operations):
        if name in SINCOS and operands[0] in angles:
            yield f"{writer.names[n]} = {writer.value(n)};"


def _line_lines(
    block: Line, kept: Collection[int], in_s: Mapping[int, str], writer: Writer
) -> Iterator[str]:
    """Yield the statements of other operations; kept values get a name, and some also go to s."""
    for n in block.operations:
        if n in kept:
            yield writer.statement(n)
            if n in in_s:
                yield f"{in_s[n]} = {writer.names[n]};"


def _copied(program: Program) -> list[int]:
    """Return inputs that are outputs unchanged; storing another output may overwrite them."""
    stored = dict.fromkeys(n for _, _, n in program.outputs)
    return [n for n in stored if program.operations[n][0] == "input"]
