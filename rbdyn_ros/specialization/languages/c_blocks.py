# SPDX-License-Identifier: Apache-2.0
"""Split a long C function into blocks, because compile time grows with the square of the length.

Each block is a static function. Values that another block needs are stored in an array s on the
stack of the calling function, which stores the outputs after the last input has been read.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from rbdyn_ros.specialization.languages.c_language import Writer, named
from rbdyn_ros.specialization.programs.blocks import Line, SinCos, cut
from rbdyn_ros.specialization.programs.program import Program


@dataclass(frozen=True, slots=True)
class CBlock:
    """A block of a function."""

    lines: list[str]
    reads: set[str]


@dataclass(frozen=True, slots=True)
class CBlocks:
    """A function in blocks.

    Attributes:
        blocks: the blocks in calling order; empty if there is nothing to compute.
        size: length of s.
        stores: statements after the last call.
    """

    blocks: list[CBlock]
    size: int
    stores: list[str]


def in_blocks(
    program: Program,
    writer: Callable[[Mapping[int, str]], Writer],
    place: Callable[[str, int], str],
    longest: int,
) -> CBlocks:
    """Return the statements of a Program in blocks.

    Args:
        program: the Program to write.
        writer: function that makes a Writer of the Program, given the names of operations.
        place: function that returns the expression to which an output is assigned.
        longest: maximum number of operations of a block.
    """
    # an output may share memory with an input of a later block, so all outputs are stored in s
    cuts = cut(program, 1, longest, early=False)
    in_s = {n: f"s[{slot}]" for n, slot in cuts.slots.items()}
    kept = {*named(program), *in_s}
    blocks = []
    for block in cuts.blocks:
        own = writer(in_s)
        if isinstance(block, SinCos):
            lines = list(own.sines(block))
        else:
            lines = list(_line_lines(block, kept, in_s, own))
        blocks.append(CBlock(lines, own.read))
    return CBlocks(blocks, cuts.size, list(stores(program, writer(in_s), place)))


def _line_lines(
    block: Line, kept: Collection[int], in_s: Mapping[int, str], writer: Writer
) -> Iterator[str]:
    """Yield the statements of a Line; kept values get names, and some are also stored in s."""
    for n in block.operations:
        if n in kept:
            yield writer.statement(n)
            if n in in_s:
                yield f"{in_s[n]} = {writer.names[n]};"


def stores(program: Program, writer: Writer, place: Callable[[str, int], str]) -> Iterator[str]:
    """Yield the statements that store the outputs.

    Inputs that are also outputs are copied first, because storing another output may overwrite
    them.
    """
    for n in dict.fromkeys(n for *_, n in program.outputs):
        if program.operations[n][0] == "input":
            yield writer.statement(n)
    for array, k, n in program.outputs:
        yield f"{place(array, k)} = {writer.operand(n)};"
