# SPDX-License-Identifier: Apache-2.0
"""A program: all operations of a trace that its outputs need, in order."""

from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rbdyn_ros.specialization.programs.symbols import CONDITIONS, Operation, SymbolGraph

#: Operations without operands.
LEAVES = ("input", "constant", "constants")

SUMS = ("add", "sub")


@dataclass(frozen=True, slots=True)
class Program:
    """Operations whose operands are indices of earlier operations.

    Attributes:
        operations: as in a SymbolGraph. Fused multiply-adds are ("fma", a, b, c) for a b + c,
            ("fms", a, b, c) for a b - c and ("fnma", a, b, c) for c - a b, rounded once. Similar
            limbs (limbs.py) have vector operations: ("pack", operations ...) and ("constants",
            values ...) make vectors, and ("lane", vector, index) takes one number.
        outputs: for each output, its array, its flat index, and the operation that computes it.
    """

    operations: tuple[Operation, ...]
    outputs: tuple[tuple[str, int, int], ...]

    @property
    def inputs(self) -> tuple[tuple[str, int, int], ...]:
        """For each input: its array, its flat index, and the operation that reads it."""
        return tuple((o[1], o[2], n) for n, o in enumerate(self.operations) if o[0] == "input")

    def lengths(self) -> dict[str, int]:
        """Return, for each array, the length of the part that the program reads or writes."""
        longest: dict[str, int] = {}
        for array, place, _ in self.inputs + self.outputs:
            longest[array] = max(longest.get(array, 0), place + 1)
        return longest

    def counts(self) -> dict[str, int]:
        """Return the number of operations of each kind."""
        kinds: dict[str, int] = {}
        for operation in self.operations:
            kinds[operation[0]] = kinds.get(operation[0], 0) + 1
        return kinds

    def flops(self) -> int:
        """Return the number of floating-point operations.

        A multiply-add counts as two operations, a sine or cosine as one, a select or negation as
        none.
        """
        twice = ("fma", "fms", "fnma")
        free = (*LEAVES, *CONDITIONS, "select", "neg")
        return sum(2 if kind in twice else 1 for kind, *_ in self.operations if kind not in free)


def program(
    graph: SymbolGraph,
    outputs: Mapping[str, Any],
    fused: bool = True,
    beside: Mapping[str, Any] | None = None,
) -> Program:
    """Return the program of some outputs.

    Args:
        graph: the graph of the outputs.
        outputs: arrays of symbols and numbers, by name.
        fused: whether products that only sums use become multiply-adds.
        beside: outputs of another program of the same graph. Operations that both programs need
            have the same multiply-adds as there. None: no other program.
    """
    wanted = _wanted(graph, outputs)
    kept = {n for *_, n in wanted}
    shared = _chosen(graph, {n for *_, n in _wanted(graph, beside or {})}, {})
    every = _chosen(graph, kept, shared) if fused else dict(enumerate(graph.operations))
    operations = {n: every[n] for n in needed(every, kept)}
    new = {old: place for place, old in enumerate(operations)}
    return Program(
        tuple(_renumbered(operation, new) for operation in operations.values()),
        tuple((array, place, new[n]) for array, place, n in wanted),
    )


def _wanted(graph: SymbolGraph, outputs: Mapping[str, Any]) -> list[tuple[str, int, int]]:
    """Return the array, the flat index and the operation of each output."""
    return [
        (array, place, graph.number(value))
        for array, values in outputs.items()
        for place, value in enumerate(np.asarray(values, object).reshape(-1))
    ]


def _chosen(
    graph: SymbolGraph, kept: Collection[int], shared: Mapping[int, Operation]
) -> dict[int, Operation]:
    """Return the needed operations with multiply-adds, and the shared operations."""
    found = needed(graph.operations, kept)
    own = {n: graph.operations[n] for n in found if n not in shared}
    return {**shared, **_fused(own, kept)}


def hoist(whole: Program, constant: Collection[str]) -> tuple[Program, Program]:
    """Split a repeated program, so that operations on constant arrays are computed only once.

    Returns:
        The program that runs once and writes the array "invariant", and the repeated program,
        which reads it.
    """
    still = [False] * len(whole.operations)
    for n, operation in enumerate(whole.operations):
        if operation[0] == "input":
            still[n] = operation[1] in constant
        else:
            still[n] = all(still[x] for x in operands_of(operation))
    used = [x for n, o in enumerate(whole.operations) if not still[n] for x in operands_of(o)]
    used += [n for *_, n in whole.outputs]
    conditions = [whole.operations[n] for n in used if whole.operations[n][0] in CONDITIONS]
    used += [x for condition in conditions for x in operands_of(condition)]
    moved = [
        n for n in sorted(set(used))
        if still[n] and whole.operations[n][0] not in (*LEAVES, *CONDITIONS)
    ]  # fmt: skip
    once = _cut(whole, [("invariant", place, n) for place, n in enumerate(moved)], {})
    given: dict[int, Operation] = {n: ("input", "invariant", k) for k, n in enumerate(moved)}
    return once, _cut(whole, list(whole.outputs), given)


def _cut(
    whole: Program, outputs: list[tuple[str, int, int]], given: Mapping[int, Operation]
) -> Program:
    """Return the part of a program for some outputs, with some operations as inputs."""
    found = needed(whole.operations, [n for *_, n in outputs], given)
    new = {old: place for place, old in enumerate(found)}
    operations = tuple(given.get(n) or _renumbered(whole.operations[n], new) for n in found)
    return Program(operations, tuple((array, place, new[n]) for array, place, n in outputs))


def operands_of(operation: Operation) -> tuple[int, ...]:
    """Return the operations that an operation needs."""
    if operation[0] in LEAVES:
        return ()
    return operation[1:2] if operation[0] == "lane" else operation[1:]


def _renumbered(operation: Operation, new: Mapping[int, int]) -> Operation:
    if operation[0] in LEAVES:
        return operation
    # a list is faster here than a generator
    return (operation[0], *[new[x] for x in operation[1:]])


def needed(
    operations: Sequence[Operation] | Mapping[int, Operation],
    outputs: Collection[int],
    given: Container[int] = (),
) -> list[int]:
    """Return the wanted operations and all operations on which they depend, in order.

    Args:
        operations: all operations.
        outputs: the wanted operations.
        given: operations whose values are given, so that their operands are not needed.
    """
    found: set[int] = set()
    left = list(outputs)
    while left:
        n = left.pop()
        if n not in found:
            found.add(n)
            if n not in given:
                left += operands_of(operations[n])
    return sorted(found)


def _fused(operations: Mapping[int, Operation], kept: Container[int]) -> dict[int, Operation]:
    """Fuse products that only sums use with these sums, at most one product per sum."""
    users: dict[int, list[int]] = {n: [] for n in operations}
    for n, operation in operations.items():
        for x in operands_of(operation):
            users.setdefault(x, []).append(n)
    fused = dict(operations)
    for n, (kind, *factors) in operations.items():
        sums = users[n]
        if kind == "mul" and n not in kept and all(_takes(fused.get(each), n) for each in sums):
            for each in sums:
                fused[each] = _multiply_add(fused[each], n, factors)
            del fused[n]
    return fused


def _takes(operation: Operation | None, product: int) -> bool:
    """Return whether an operation is a sum that uses a product exactly once."""
    return operation is not None and operation[0] in SUMS and operation.count(product) == 1


def _multiply_add(total: Operation, product: int, factors: Sequence[int]) -> Operation:
    """Return a sum or difference of a product and another number as one operation."""
    kind, *terms = total
    side = terms.index(product)
    name = "fma" if kind == "add" else ("fms", "fnma")[side]
    return (name, *factors, terms[1 - side])
