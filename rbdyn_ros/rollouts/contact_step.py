# SPDX-License-Identifier: Apache-2.0
"""A step with contact in lanes, and the engine's own step for lanes that do not converge."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.model.model import Model
from rbdyn_ros.rollouts import call_plan, contact_drive
from rbdyn_ros.rollouts.contact.fields import CELL
from rbdyn_ros.rollouts.contact.points import Touching, frame_of, touching
from rbdyn_ros.rollouts.contact_drive import (
    ENGINE_AT,
    HEADER,
    KEPT_AT,
    PLAN,
    PLAN_AT,
    RESULTS_AT,
)
from rbdyn_ros.rollouts.contact_programs import contact_programs, memory_of, of_planes
from rbdyn_ros.rollouts.engine_step import LINE, EngineStep
from rbdyn_ros.rollouts.lane_step import LaneStep
from rbdyn_ros.rollouts.law import APPLIED, RolloutLaw, plain_tree
from rbdyn_ros.rollouts.params import Columns
from rbdyn_ros.specialization.functions import FORCES
from rbdyn_ros.specialization.lanes import compile_lanes

FLAGS = ("done", "final", "stale", "refused")
#: Additional arrays in lanes if compiled loops list the contacts of the Model, and the functions
#: of these loops.
OF_BODIES = ("left", "looks", "listed_now", "xpos", "xmat", "cvel", "subtree_com", "a")
ON_FIELDS, ON_PAIRS = ("suspects", "balls", "cells", "ground"), ("near", "near_late")
FUNCTIONS = ("find_cells", "find_ground", "look_late")
#: Fields of the engine's memory whose positions in a row a plan holds.
IN_ROW = (
    "nstick", "ndropped", "stick_key", "stick_normal", "stick_force", "stick_torque", "stick_qfrc",
)  # fmt: skip

#: Arrays of a robot in addition to its state: the friction memory, see contact_drive.py, and the
#: address of the robot's row of `Robots.kept`.
MEMORY, ROW = "grip", "kept"


class ContactStep(LaneStep):
    """A Step with contact, compiled for one Model; the arguments are those of LaneStep.

    Attributes:
        places: see EngineStep. Robots have rows with these entries, but there are no segments,
            because the step itself copies a row, and only if the engine advances the lane.
        memory_size: length of a robot's friction memory.

    Raises:
        ModelError: the Model cannot be traced, or has contacts that lanes do not support.
    """

    def __init__(
        self,
        m: Model,
        own: Mapping[str, Collection[int]],
        law: RolloutLaw | None,
        given: Collection[str],
        outputs: Collection[str],
        width: int | None = None,
    ) -> None:
        found = touching(m)
        programs, stops = contact_programs(m, own, law, given, found)
        self._m, self._own = plain_tree(m), own
        self._engine = EngineStep(m, tuple(own), None, ())
        self._kept_size = max(sum(place) for place in self._engine.places.values())
        self._stops = np.array(stops, np.int64)
        self.memory_size = memory_of(found) + len(stops) + 1
        room = {"qpos": m.nq, "qvel": m.nv, "time": 1, "nbad": 1, ROW: 1}
        forces = {"qfrc_applied": m.nv, "xfrc_applied": 6 * m.nbody}
        room |= {name: size for name, size in forces.items() if name in (*given, APPLIED)}
        room |= {name: 1 + max(places) for name, places in own.items() if places}
        if found.loops:
            room |= {"left": 1, "cells": CELL * len(found.fields)}
        self._lanes = compile_lanes(programs, width, room)
        self._addresses = 0, call_plan.code_address(contact_drive.advance)
        self._plan_step(m, found, own, given, law)
        self.observe(outputs)

    @property
    def remembered(self) -> Ints:  # type: ignore[override]
        """The segments of a robot's row."""
        return self._engine.segments

    @property
    def places(self) -> dict[str, tuple[int, int]]:  # type: ignore[override]
        """For each field, its first entry in the row of a robot, and the number of entries."""
        return self._engine.places

    def _plan_step(
        self, m: Model, found: Touching, own: Mapping[str, Collection[int]],
        given: Collection[str], law: RolloutLaw | None,
    ) -> None:  # fmt: skip
        slots, engine = self._lanes.slots, self._engine
        fields = {"time": 1, "qpos": m.nq, "qvel": m.nv, "nbad": 1}
        entries = {name: range(size) for name, size in fields.items()}
        forces = {"qfrc_applied": m.nv, "xfrc_applied": 6 * m.nbody}
        acting = {*given, *([APPLIED] if law else [])}
        read = {
            **entries,
            **{name: range(forces[name]) for name in FORCES if name in acting},
            **own,
        }
        tables = [_pairs(slots, engine.slots, part) for part in (read, entries)]
        plan, places = np.zeros(1, PLAN), self._engine.places
        for name, address in self._lanes.code.addresses.items():
            plan[name] = address
        names = (*(OF_BODIES if found.loops else ()), *(ON_FIELDS if found.fields else ()))
        for name in (*FLAGS, MEMORY, ROW, *names, *(ON_PAIRS if found.own else ())):
            plan[name] = slots[name][0]
        _plan_loops(plan, found)
        if found.pairs:
            plan["first_pair"] = slots["pairs"][0]
        for name in IN_ROW:
            plan[name] = places[name][0]
        plan["width"], plan["slots"] = self._lanes.width, self._lanes.size
        plan["kept_size"], plan["engine_slots"] = self._kept_size, engine.end
        plan["engine_begin"], plan["engine_step"] = engine.addresses[:2]
        plan["reads"], plan["writes"] = map(len, tables)
        plan["segments"], plan["points"] = len(engine.segments), len(found.planes)
        plan["stops"], plan["fields"] = len(self._stops), len(found.fields)
        plan["pairs"] = len(found.pairs)
        plan["guarded"] = len(found.guarded_fields)
        plan["of_planes"] = of_planes(found)
        spheres = [[pair.geom, pair.obstacle, pair.key] for pair in found.pairs + found.fields]
        guarded = [[pair.geom, pair.obstacle] for pair in found.guarded_fields]
        points = _points(m, found)
        last = [np.array(rows, np.int64) for rows in (points, self._stops, spheres, guarded)]
        parts = [*tables, engine.segments, *last]
        self._plan = np.concatenate([plan.view(np.int64), *(each.reshape(-1) for each in parts)])

    def memory(self) -> tuple[int, Array]:
        """Return the address of a new memory, and the memory (slots, W)."""
        width, lanes = self.width, self._whole.size * self.width
        results, rows = int(self._plan_of("writes")) * width, self._kept_size * width
        raw = np.zeros(LINE + HEADER + lanes + results + rows)
        first = -raw.ctypes.data % (8 * LINE) // 8 + HEADER
        address = int(raw.ctypes.data) + 8 * first
        engine, held = self._engine.memory()
        # `raw` contains the address of `held`, so keep `held` alive
        weakref.finalize(raw, held.fill, 0.0)
        header = raw[first - HEADER : first].view(np.int64)
        header[RESULTS_AT], header[KEPT_AT] = address + 8 * lanes, address + 8 * (lanes + results)
        header[ENGINE_AT], header[PLAN_AT] = engine, self._plan.ctypes.data
        return address, raw[first : first + lanes].reshape(-1, width)

    def _plan_of(self, name: str) -> int:
        return int(self._plan[: PLAN.itemsize // 8].view(PLAN)[name][0])


def _points(m: Model, found: Touching) -> list[list[int]]:
    """Return the table of the contact points on planes, see contact_drive.py."""
    rows, first = [], 0
    for pair in found.planes:
        axes = frame_of(m, pair.obstacle).reshape(-1).astype(float).view(np.int64)
        rows.append([pair.key, first, pair.parts, *axes])
        first += pair.parts + 1
    return rows


def _plan_loops(plan: NDArray[Any], found: Touching) -> None:
    """Write to a plan the addresses of the functions that list contacts.

    They are compiled once.
    """
    if found.fields:
        from rbdyn_ros.rollouts import contact_ground

        for name in (*FUNCTIONS, *(["guard"] if found.guarded_fields else [])):
            plan[name] = call_plan.code_address(getattr(contact_ground, name))
    if found.own:
        from rbdyn_ros.rollouts import contact_pairs

        for name in ("find_pairs", "late_pairs"):
            plan[name] = call_plan.code_address(getattr(contact_pairs, name))


def _pairs(
    lanes: Mapping[str, tuple[int, int]], engine: Mapping[str, tuple[int, int]],
    entries: Mapping[str, Collection[int]],
) -> Ints:  # fmt: skip
    """Return the slots of entries of arrays in lanes and in the engine's memory."""
    rows = [(lanes[name][0] + k, engine[name][0] + k) for name, ks in entries.items() for k in ks]
    return np.array(rows, np.int64).reshape(-1, 2)


class ContactMemory:
    """The friction memory of the robots of a Batch whose Step is a ContactStep.

    Args:
        step: the ContactStep of the Batch.
        grip: (size, nsim), zeros; robots begin with the memory in their rows.
        kept: (nsim, n), the memory in the engine's form, see contact_drive.py.
    """

    def __init__(self, step: ContactStep, grip: Array, kept: Ints) -> None:
        self._step, self._kept, self.grip = step, kept, grip
        self.rows = kept.ctypes.data + kept.strides[0] * np.arange(len(kept))
        self.forget(slice(None))
        self._address, self._lanes = step.memory()

    def columns(self) -> list[Columns]:
        """Return the arrays that a call reads and writes, and the arrays that it only reads."""
        rows = self.rows.view(float).reshape(-1, 1)
        return [Columns.whole(MEMORY, self.grip.T), Columns.whole(ROW, rows)]

    def forget(self, robots: Any) -> None:
        """Make robots continue from the memory in their rows instead of the lanes' form."""
        self.grip[-1, robots] = 1.0

    def settle(self, robots: Ints) -> None:
        """Write the memory in lanes to the rows of the robots where it is newer."""
        self._each(contact_drive.settle, robots, 1.0)

    def load(self, robots: Ints) -> None:
        """Write the rows of the robots to the memory in lanes where they are newer."""
        self._each(contact_drive.load, robots, 0.0)

    def _each(self, code: Callable[[int], None], robots: Ints, idle: float) -> None:
        """Call code for some robots; lanes without a robot get `idle` at the end of grip."""
        first, count = self._step.slots[MEMORY]
        row, width = self._step.slots[ROW][0], self._step.width
        call = ctypes.CFUNCTYPE(None, ctypes.c_int64)(call_plan.code_address(code))
        for begin in range(0, len(robots), width):
            part = robots[begin : begin + width]
            self._lanes[first + count - 1] = idle
            self._lanes[first : first + count, : len(part)] = self.grip[:, part]
            self._lanes[row, : len(part)] = self.rows[part].view(float)
            call(self._address)
            self.grip[:, part] = self._lanes[first : first + count, : len(part)]
