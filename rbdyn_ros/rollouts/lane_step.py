# SPDX-License-Identifier: Apache-2.0
"""A Step for one Model, traced from the engine's kernels, for W robots side by side."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from typing import ClassVar

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.model.model import Model
from rbdyn_ros.rollouts.law import RolloutLaw
from rbdyn_ros.rollouts.programs import observer_program, step_program
from rbdyn_ros.specialization.lanes import compile_lanes
from rbdyn_ros.specialization.programs.program import hoist


class LaneStep:
    """A Step compiled for one Model, see job.Step.

    Args:
        m: the Model.
        own: the flat indices at which robots differ, for each field of the Model, or "gravity".
        law: the law that computes the forces of every step; None: no law.
        given: the forces in FORCES that are inputs; other forces are zero, or the forces of the
            law.
        outputs: fields of a Data.
        width: number of robots side by side; None: the length of a vector register.

    The attributes are those of job.Step.

    Raises:
        ModelError: the Model cannot be traced.
    """

    segments = np.empty((0, 4), np.int64)  # without contact there is no memory between steps
    remembered = segments
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
        once, always = hoist(step_program(m, own, law, given), still)
        programs = {"begin": once, "advance": always}
        programs = {name: each for name, each in programs.items() if each.outputs}
        room = {name: 1 + max(places) for name, places in own.items() if places}
        state = {"qpos": m.nq, "qvel": m.nv} | ({"act": m.na} if m.na else {})
        self._lanes = compile_lanes(programs, width, state | room)
        begin, advance = (self._lanes.code.addresses.get(name, 0) for name in ("begin", "advance"))
        self._addresses = begin, advance
        self.observe(outputs)

    def observe(self, outputs: Collection[str]) -> None:
        """Compile the function OBSERVE for other outputs, stored behind the memory of the step."""
        program = observer_program(self._m, tuple(self._own.items()), outputs)
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
