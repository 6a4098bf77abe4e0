# SPDX-License-Identifier: Apache-2.0
"""The programs of a step of one Model, and of the outputs of a state."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from rbdyn_ros.model.model import Model
from rbdyn_ros.rollouts.law import APPLIED, RolloutLaw
from rbdyn_ros.rollouts.outputs import OBSERVERS
from rbdyn_ros.specialization.built_in import OPEN, built_in, function_outputs, open_entries
from rbdyn_ros.specialization.functions import run_traced
from rbdyn_ros.specialization.programs.program import Program, program
from rbdyn_ros.specialization.programs.symbols import SymbolGraph
from rbdyn_ros.specialization.replay import replay
from rbdyn_ros.specialization.symbolic import SYMBOLIC_OPTIONS, Objects
from rbdyn_ros.specialization.trace import Tracing


def step_program(
    m: Model, own: Mapping[str, Collection[int]], law: RolloutLaw | None, given: Collection[str]
) -> Program:
    """Return the program of a specialised step, with the law, if any, and known forces built in.

    The step is traced without the law, so that its bits do not depend on the law; the law reuses
    operations of the step.
    """
    symbolic, graph = tuple(own.items()), SymbolGraph()
    tracing = Tracing(m, open_entries(m, symbolic))
    step = run_traced(tracing, "step")
    whole = program(tracing.graph, step)
    values = built_in(m, whole, graph, symbolic)
    if "xfrc_applied" not in given:
        values |= {("xfrc_applied", k): 0.0 for k in range(6 * m.nbody)}
    forces = np.full(m.nv, 0.0, object)
    if law is not None:
        inputs = _shared_inputs(m, own)
        acting = tracing.trace(lambda: {APPLIED: law.forces(tracing.graph, inputs)})
        ahead = program(tracing.graph, acting, beside=step)
        known = built_in(m, ahead, graph, symbolic)
        forces = replay(ahead, graph, known).get(APPLIED, forces)
    if APPLIED not in given:
        values |= {(APPLIED, k): force for k, force in enumerate(forces)}
    after = replay(whole, graph, values)
    sizes = {"time": 1, "qpos": m.nq, "qvel": m.nv, "act": m.na, "nbad": 1}
    outputs = {name: after[name][:size] for name, size in sizes.items() if size}
    if APPLIED not in given:
        outputs[APPLIED] = forces
    return program(graph, outputs, fused=False)


def _shared_inputs(m: Model, own: Mapping[str, Collection[int]]) -> dict[str, list[int]]:
    """Return the entries that all robots share; elsewhere the law has the Model's own numbers."""
    found = {}
    for name in OPEN:
        if name not in SYMBOLIC_OPTIONS:
            of_robots = own.get(name, ())
            found[name] = [k for k in range(getattr(m, name).size) if k not in of_robots]
        elif name not in own:
            found[name] = []  # an option has no separate entries
    return found


def observer_program(m: Model, symbolic: Collection[Any], outputs: Collection[str]) -> Program:
    """Return the program of the outputs that the step does not compute."""
    graph, found = SymbolGraph(), dict[str, Objects]()
    for function in OBSERVERS:
        if {*function.outputs} & {*outputs}:
            found |= function_outputs(m, function, graph, symbolic, {})
    wanted = {name: found[name] for name in outputs if name in found}
    return program(graph, wanted, fused=False)
