"""The step of one Model, traced from the engine's kernels: W robots side by side."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.engine import forward
from rbdyn_ros.model.model import Model
from rbdyn_ros.rollouts.law import APPLIED, RolloutLaw
from rbdyn_ros.rollouts.outputs import observers
from rbdyn_ros.specialization.functions import STATE
from rbdyn_ros.specialization.lanes import compile_lanes
from rbdyn_ros.specialization.program import Program, hoist, program
from rbdyn_ros.specialization.trace import Tracing
from rbdyn_ros.specialization.uncompiled import uncompiled


class LaneStep:
    """A Step compiled for one Model, see job.Step.

    Args:
        m: the Model.
        own: indices in flat arrays at which robots differ, by field of the Model, or "gravity".
        law: computes the forces of every step; None: ctrl holds them, or they are zero.
        given: whether ctrl holds the forces.
        outputs: fields of a Data.
        width: robots side by side; None: the length of a vector register.

    The attributes are those of job.Step.

    Raises:
        ModelError: the Model cannot be traced.
    """

    def __init__(
        self,
        m: Model,
        own: Mapping[str, Collection[int]],
        law: RolloutLaw | None,
        given: bool,
        outputs: Collection[str],
        width: int | None = None,
    ) -> None:
        still = (*own, *(law.gains if law else ()))
        programs = _programs(Tracing(m, tuple(own.items())), law, given, outputs, still)
        self._lanes = compile_lanes(programs, width)
        self.width = self._lanes.width
        self.slots = self._lanes.slots
        names = ("begin", "advance", "observe")
        found = [self._lanes.address(name) if name in programs else 0 for name in names]
        self.addresses = np.array(found)
        self.fresh = np.zeros(self._lanes.size)

    def memory(self) -> tuple[int, Array]:
        """Return the address of a new memory, and the memory (slots, W)."""
        return self._lanes.memory()


def _programs(
    t: Tracing,
    law: RolloutLaw | None,
    given: bool,
    outputs: Collection[str],
    constant: Collection[str],
) -> dict[str, Program]:
    """Return the programs "begin" (constant operations), "advance" and "observe" (outputs)."""

    def step() -> Mapping[str, Any]:
        d = t.data((*STATE, "nbad", *([APPLIED] if given else [])))
        if law is not None:
            d.qfrc_applied[:] = law.forces(t.graph)
        forces = d.qfrc_applied.copy()
        uncompiled(forward.substep)(t.m, d)
        after = {name: getattr(d, name) for name in (*STATE, "nbad")}
        return after if given else after | {APPLIED: forces}

    def observe() -> Mapping[str, Any]:
        d = t.data(STATE)
        for kernel in observers(outputs):
            uncompiled(kernel)(t.m, d)
        return {name: getattr(d, name) for name in outputs}

    once, always = hoist(program(t.graph, t.trace(step)), constant)
    programs = {"begin": once, "advance": always}
    if outputs:
        programs["observe"] = program(t.graph, t.trace(observe))
    return {name: each for name, each in programs.items() if each.outputs}
