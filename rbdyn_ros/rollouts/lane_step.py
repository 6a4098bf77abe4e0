"""The step of one Model, traced from the engine's kernels: W robots side by side."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from typing import Any, ClassVar

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.model.model import Model
from rbdyn_ros.rollouts.law import APPLIED, RolloutLaw
from rbdyn_ros.rollouts.outputs import OBSERVERS
from rbdyn_ros.specialization.built_in import OPEN, built_in, function_outputs, open_entries
from rbdyn_ros.specialization.functions import run_traced
from rbdyn_ros.specialization.lanes import compile_lanes
from rbdyn_ros.specialization.program import Program, hoist, program
from rbdyn_ros.specialization.replay import replay
from rbdyn_ros.specialization.symbolic import SYMBOLIC_OPTIONS, Objects
from rbdyn_ros.specialization.symbols import SymbolGraph
from rbdyn_ros.specialization.trace import Tracing


class LaneStep:
    """A Step compiled for one Model, see job.Step.

    Args:
        m: the Model.
        own: indices in flat arrays at which robots differ, by field of the Model, or "gravity".
        law: computes the forces of every step; None: no law.
        given: the forces that are inputs, of FORCES; others are zero, or the law's.
        outputs: fields of a Data.
        width: robots side by side; None: the length of a vector register.

    The attributes are those of job.Step.

    Raises:
        ModelError: the Model cannot be traced.
    """

    segments = np.empty((0, 4), np.int64)  # a tree without contact remembers nothing
    places: ClassVar[dict[str, tuple[int, int]]] = {}

    def __init__(
        self,
        m: Model,
        own: Mapping[str, Collection[int]],
        law: RolloutLaw | None,
        given: Collection[str],
        outputs: Collection[str],
        width: int | None = None,
    ) -> None:
        self._m, self._own = m, own
        still = (*own, *(law.gains if law else ()))
        once, always = hoist(_step_program(m, own, law, given), still)
        programs = {"begin": once, "advance": always}
        programs = {name: each for name, each in programs.items() if each.outputs}
        room = {name: 1 + max(places) for name, places in own.items() if places}
        self._lanes = compile_lanes(programs, width, {"qpos": m.nq, "qvel": m.nv} | room)
        begin, advance = (self._lanes.code.addresses.get(name, 0) for name in ("begin", "advance"))
        self._addresses = begin, advance
        self.observe(outputs)

    def observe(self, outputs: Collection[str]) -> None:
        """Compute other outputs, in memory beside the memory of the step."""
        program = _observers(self._m, tuple(self._own.items()), outputs)
        address, self._whole = 0, self._lanes
        if program.outputs:
            programs = {"observe": program}
            self._whole = compile_lanes(programs, self._lanes.width, beside=self._lanes)
            address = self._whole.address("observe")
        self.width, self.slots = self._whole.width, self._whole.slots
        self.addresses = np.array([*self._addresses, address])

    def observing(self, outputs: Collection[str]) -> LaneStep:
        """Return the same step with other outputs."""
        other = copy.copy(self)
        other.observe(outputs)
        return other

    def memory(self) -> tuple[int, Array]:
        """Return the address of a new memory, and the memory (slots, W)."""
        return self._whole.memory()


def _step_program(
    m: Model, own: Mapping[str, Collection[int]], law: RolloutLaw | None, given: Collection[str]
) -> Program:
    """Return the program of s.step, with known forces built in.

    It is compiled without the law, so that its bits do not depend on it; the law reuses its
    operations.
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
    sizes = {"time": 1, "qpos": m.nq, "qvel": m.nv, "nbad": 1}
    outputs = {name: after[name][:size] for name, size in sizes.items() if size}
    if APPLIED not in given:
        outputs[APPLIED] = forces
    return program(graph, outputs, fused=False)


def _shared_inputs(m: Model, own: Mapping[str, Collection[int]]) -> dict[str, list[int]]:
    """Return the entries that law and robot have in common: a law uses the Model's parameters."""
    found = {}
    for name in OPEN:
        if name not in SYMBOLIC_OPTIONS:
            of_robots = own.get(name, ())
            found[name] = [k for k in range(getattr(m, name).size) if k not in of_robots]
        elif name not in own:
            found[name] = []  # all of an option
    return found


def _observers(m: Model, symbolic: Collection[Any], outputs: Collection[str]) -> Program:
    """Return the program of the outputs that the step does not compute."""
    graph, found = SymbolGraph(), dict[str, Objects]()
    for function in OBSERVERS:
        if {*function.outputs} & {*outputs}:
            found |= function_outputs(m, function, graph, symbolic, {})
    wanted = {name: found[name] for name in outputs if name in found}
    return program(graph, wanted, fused=False)
