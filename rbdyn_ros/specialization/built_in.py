# SPDX-License-Identifier: Apache-2.0
"""Make the programs of functions, with the numbers of a Model built in.

A product that becomes part of a multiply-add is not rounded. Whether this happens depends on the
operations around it, and some of these vanish if a number is zero or one. So a function is first
traced with inputs for all numbers that any generated code reads at run time, and its multiply-adds
are chosen. Then the numbers that are constant in the present code are built in. So two codes in
which different numbers are built in, such as a specialised step and a rollout, compute the same
bits.
"""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from rbdyn_ros.model.model import Model
from rbdyn_ros.specialization.functions import Function, traced
from rbdyn_ros.specialization.programs.limbs import uneven
from rbdyn_ros.specialization.programs.program import Program, program
from rbdyn_ros.specialization.programs.symbols import SymbolGraph
from rbdyn_ros.specialization.replay import Values, replay
from rbdyn_ros.specialization.symbolic import SYMBOLIC_OPTIONS, Objects, symbolic_entries

#: Options and arrays of a Model that are inputs until the multiply-adds are chosen.
OPEN = (
    "gravity", "timestep", "body_mass", "body_ipos", "body_fullinertia", "dof_armature",
    "dof_damping", "dof_frictionloss",
)  # fmt: skip
SPRINGS = "jnt_stiffness"


def function_program(
    m: Model, function: str | Function, symbolic: Collection[Any] = (), numbers: Sequence[int] = ()
) -> Program:
    """Return the program of a function.

    Args:
        m: the Model.
        function: name in FUNCTIONS, or another Function.
        symbolic: the numbers of the Model that the program reads, see Tracing; others are built
            in.
        numbers: the integers that the kernel of the function takes.

    Raises:
        ModelError: the function cannot be traced.
    """
    graph = SymbolGraph()
    return program(graph, function_outputs(m, function, graph, symbolic, {}, numbers), fused=False)


def function_outputs(
    m: Model,
    function: str | Function,
    graph: SymbolGraph,
    symbolic: Collection[Any],
    values: Values,
    numbers: Sequence[int] = (),
) -> dict[str, Objects]:
    """Return the outputs of a function as symbols of a graph, with multiply-adds chosen.

    Args:
        m: the Model.
        function: name in FUNCTIONS, or another Function.
        graph: the graph to which the operations are added.
        symbolic: the numbers of the Model that the code reads, see Tracing; others are built in.
        values: values of inputs that are fields of Data, by name and flat index.
        numbers: the integers that the kernel of the function takes.
    """
    trace = traced(m, function, open_entries(m, symbolic), numbers)
    whole = program(trace.graph, trace.outputs)
    return replay(whole, graph, {**built_in(m, whole, graph, symbolic), **values})


def open_entries(m: Model, symbolic: Collection[Any]) -> list[tuple[str, Collection[int] | None]]:
    """Return the inputs of a trace: OPEN, springs, and `symbolic`."""
    entries: dict[str, Collection[int] | None] = symbolic_entries(m, symbolic)
    springs = np.flatnonzero(m.jnt_stiffness).tolist()
    if springs and entries.get(SPRINGS, ()) is not None:
        entries[SPRINGS] = sorted({*springs, *(entries.get(SPRINGS) or ())})
    return list((entries | dict.fromkeys(OPEN)).items())


def built_in(
    m: Model, whole: Program, graph: SymbolGraph, symbolic: Collection[Any]
) -> dict[tuple[str, int], Any]:
    """Return the values of the inputs of a program that become constants in the code.

    Keys are the array and the flat index of an input.

    Args:
        m: the Model.
        whole: the program, traced with the inputs of open_entries.
        graph: the graph for numbers that must not be simplified, see limbs.uneven.
        symbolic: the numbers that stay inputs, see Tracing.
    """
    read, kept = symbolic_entries(m, symbolic), uneven(m)
    found: dict[tuple[str, int], Any] = {}
    for array, place, _ in whole.inputs:
        entries = read.get(array, ())
        if array in (*OPEN, SPRINGS) and entries is not None and place not in entries:
            owner = m.opt if array in SYMBOLIC_OPTIONS else m
            value = float(np.ravel(getattr(owner, array))[place])
            uneven_here = place in kept.get(array, ())
            found[array, place] = graph.constant(value) if uneven_here else value
    return found
