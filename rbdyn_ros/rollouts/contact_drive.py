# SPDX-License-Identifier: Apache-2.0
"""The compiled loop of a step with contact: passes until all lanes have their solution.

The engine's own step advances a lane, from the same state and before the other lanes move, if the
lane has no solution, or if the robot may touch the world with geometries other than its contact
points. The decision depends on the lane alone, so the bits of a robot do not depend on other
robots.

The friction memory of a robot has two forms. In lanes it is the array "grip": the forces of
contact points and stops, and 1 if the engine's form is newer. The engine's form is a row of
`Robots.kept`, sorted by contact keys. The header before the lanes has the addresses of the other
arrays of a thread.
"""

from __future__ import annotations

import numba
import numpy as np

from rbdyn_ros.model.declared.contact_arrays import FEATURES
from rbdyn_ros.rollouts.contact.points import BY_KEY
from rbdyn_ros.rollouts.driver import (
    LENGTH,
    PER_CONTACT,
    PLACE,
    SLOT,
    array_at,
    call_memory,
    floats_at,
    ints_at,
    kernel,
)

#: Length of the header before the lanes (a cache line), and the indices of its addresses: the
#: thread's own rows (for robots that keep no memory), the results of the engine, the engine's
#: memory, and the plan.
HEADER = 8
KEPT_AT, RESULTS_AT, ENGINE_AT, PLAN_AT = range(4)

#: The engine advances a lane that needs more Newton steps in a round than PASSES, or more rounds
#: than ROUNDS. Between two rounds a lane changes its stops or its list of contacts.
PASSES, ROUNDS = 20, 12

#: Fields of a plan, all whole numbers. Tables of whole numbers come after it, row by row: numbers
#: that the engine reads and writes (lane slot, slot); the segments of the engine's memory; keys
#: and axes of contact points on planes; dofs with stops; own pairs, then spheres on height fields
#: (geometry, other geometry, first key); and other geometries with a height field.
PLAN_FIELDS = {
    "width": "robots side by side",
    "slots": "slots of the lanes",
    "start": "address of each program",
    "below": "",
    "touch": "",
    "factor": "",
    "solve": "",
    "check": "",
    "finish": "",
    "done": "slot of a flag: the forces are found",
    "final": "slot of a flag: the solution of the step is final",
    "stale": "slot of a flag: M must be factored for other stops",
    "refused": "slot of a flag: the engine must compute the lane",
    "find_pairs": "address of each function of contact_pairs.py and contact_ground.py, or 0",
    "late_pairs": "",
    "find_cells": "",
    "find_ground": "",
    "look_late": "",
    "guard": "",
    "left": "slot of a flag: the engine must compute the lane",
    "looks": "slot of a flag: contacts may begin because of the forces",
    "near": "slot of a flag: own pairs may touch",
    "near_late": "slot of a flag: own pairs may touch because of the forces",
    "first_pair": "first slot of each array of contact_pairs.py and contact_ground.py",
    "suspects": "",
    "listed_now": "",
    "balls": "",
    "cells": "",
    "ground": "",
    "xpos": "",
    "xmat": "",
    "cvel": "",
    "subtree_com": "",
    "a": "",
    "grip": "first slot of the memory of friction",
    "kept": "slot of the address of a robot's row; 0: one row per thread",
    "kept_size": "length of a row",
    "engine_slots": "slots of the engine's memory",
    "engine_begin": "address of the engine's function before a step, or 0",
    "engine_step": "address of the engine's step",
    "reads": "rows of the tables",
    "writes": "",
    "segments": "",
    "points": "",
    "of_planes": "length of the memory of contacts with planes",
    "stops": "",
    "pairs": "",
    "fields": "",
    "guarded": "",
    "nstick": "positions of fields in a row of the engine's memory",
    "ndropped": "",
    "stick_key": "",
    "stick_normal": "",
    "stick_force": "",
    "stick_torque": "",
    "stick_qfrc": "",
}
PLAN = np.dtype([(name, np.int64) for name in PLAN_FIELDS])
PLAN_SIZE = PLAN.itemsize

#: Columns of a contact point on a plane, in the plan's table: key, index of its first number in
#: "grip", number of friction components, and three axes.
KEY, FIRST, PARTS, FRAME, POINT = 0, 1, 2, 3, 12
#: The numbers of a contact point on a plane in "grip" are the normal force, friction along two
#: axes, and for capsules the torque against spin. For other contacts, see BY_KEY. SEVERAL is the
#: key of a sphere or a pair for which several contacts are remembered.
SEVERAL = -1.0

_plans = array_at(numba.from_dtype(PLAN), PLAN_SIZE)


def advance(row):
    """Advance all lanes by one step."""
    header = ints_at(row - 8 * HEADER, HEADER)
    plan = plan_of(row)
    memory = floats_at(row, plan.slots * plan.width)
    mode = _mode_of(plan)
    _load(plan, header, row, memory)
    call_memory(plan.start, row)
    if plan.touch != 0:
        memory[plan.left * plan.width : (plan.left + 1) * plan.width] = 0.0
    for part in (plan.find_pairs, plan.find_cells, plan.below, plan.find_ground, plan.touch):
        call_memory(part, row)
    left = _solve(plan, row, memory)
    for lane in range(plan.width):
        if left >> lane & 1 != 0:
            _take_engine(plan, header, row, lane)
    call_memory(plan.finish, row)
    for lane in range(plan.width):
        if left >> lane & 1 != 0:
            _take_results(plan, header, row, memory, lane)
            memory[mode + lane] = 1.0


@kernel
def _solve(plan, row, memory):
    """Solve the step; return a bit mask of the lanes that the engine must compute."""
    width, left = plan.width, _left_by_loops(plan, memory, 0)
    done, final = plan.done * width, plan.final * width
    call_memory(plan.factor, row)
    for _ in range(ROUNDS):
        for _ in range(PASSES):
            call_memory(plan.solve, row)
            if _number_of(memory, done, width) == width:
                break
        for lane in range(width):
            if memory[done + lane] == 0.0:
                left |= 1 << lane
                memory[done + lane] = memory[final + lane] = 1.0
        call_memory(plan.check, row)
        call_memory(plan.late_pairs, row)
        call_memory(plan.look_late, row)
        left = _left_by_loops(plan, memory, left)
        if _number_of(memory, done, width) == width:
            break
        if _number_of(memory, plan.stale * width, width) > 0:
            call_memory(plan.factor, row)
    if plan.guard != 0:
        call_memory(plan.guard, row)
        left = _left_by_loops(plan, memory, left)
    refused = plan.refused * width
    for lane in range(width):
        if memory[final + lane] == 0.0 or memory[refused + lane] != 0.0:
            left |= 1 << lane
    return left


@kernel
def _left_by_loops(plan, memory, left):
    """Add to `left` the lanes that other loops leave to the engine; mark them as solved."""
    width = plan.width
    if plan.touch == 0:
        return left
    for lane in range(width):
        if memory[plan.left * width + lane] != 0.0:
            left |= 1 << lane
        if left >> lane & 1 != 0:
            memory[plan.left * width + lane] = 1.0
            memory[plan.done * width + lane] = memory[plan.final * width + lane] = 1.0
    return left


@kernel
def _number_of(memory, first, width):
    """Return the number of lanes whose flag is set."""
    found = 0
    for lane in range(width):
        found += memory[first + lane] != 0.0
    return found


@kernel
def plan_of(row):
    """Return the plan of a thread's lanes."""
    return _plans(ints_at(row - 8 * HEADER, HEADER)[PLAN_AT], 1)[0]


@kernel
def first_by_key(plan):
    """Return the first slot in "grip" of the contacts that are stored by key."""
    return plan.grip + plan.of_planes


@kernel
def _first_stop(plan):
    """Return the first slot in "grip" of the dofs with stops."""
    return first_by_key(plan) + BY_KEY * (plan.pairs + plan.fields)


@kernel
def _mode_of(plan):
    """Return the slot of the flags that mark the engine's form of the memory as newer."""
    return (_first_stop(plan) + plan.stops) * plan.width


@kernel
def _kept_row(plan, header, row, lane):
    """Return the address of a robot's row of the engine's memory."""
    own = ints_at(row + 8 * (plan.kept * plan.width + lane), 1)[0]
    return own if own != 0 else header[KEPT_AT] + 8 * plan.kept_size * lane


@kernel
def tables_of(plan, row):
    """Return the tables that follow a plan."""
    at = ints_at(row - 8 * HEADER, HEADER)[PLAN_AT] + PLAN_SIZE
    pairs = ints_at(at, 2 * (plan.reads + plan.writes)).reshape(-1, 2)
    at += 16 * (plan.reads + plan.writes)
    segments = ints_at(at, 4 * plan.segments).reshape(-1, 4)
    at += 32 * plan.segments
    points = ints_at(at, POINT * plan.points).reshape(-1, POINT)
    axes = floats_at(at, POINT * plan.points).reshape(-1, POINT)
    at += 8 * POINT * plan.points
    stops = ints_at(at, plan.stops)
    at += 8 * plan.stops
    fields = ints_at(at, 3 * (plan.pairs + plan.fields)).reshape(-1, 3)
    guarded = ints_at(at + 24 * (plan.pairs + plan.fields), 2 * plan.guarded).reshape(-1, 2)
    return pairs, segments, points, axes, stops, fields, guarded


@kernel
def _load(plan, header, row, memory):
    """Update "grip" in all lanes in which the engine's form is newer."""
    for lane in range(plan.width):
        if memory[_mode_of(plan) + lane] != 0.0:
            _unpack(plan, header, row, lane)


@kernel
def _unpack(plan, header, row, lane):
    """Write "grip" of a lane from the robot's row of the engine's memory."""
    _pairs, _segments, points, axes, stops, fields, _guarded = tables_of(plan, row)
    at, width = _kept_row(plan, header, row, lane), plan.width
    bits, kept = ints_at(at, plan.kept_size), floats_at(at, plan.kept_size)
    grip = floats_at(row + 8 * plan.grip * width, plan.of_planes * width)
    for n in range(plan.points):
        first, parts = points[n, FIRST] * width + lane, points[n, PARTS]
        for k in range(parts + 1):
            grip[first + k * width] = 0.0
        for c in range(bits[plan.nstick]):
            if bits[plan.stick_key + c] == points[n, KEY]:
                force, torque = plan.stick_force + 3 * c, plan.stick_torque + 3 * c
                grip[first] = kept[plan.stick_normal + c]
                for k in range(3):
                    axis = axes[n, FRAME + k :: 3]
                    grip[first + width] += axis[0] * kept[force + k]
                    grip[first + 2 * width] += axis[1] * kept[force + k]
                    if parts > 2:
                        grip[first + 3 * width] += axis[2] * kept[torque + k]
    memory = floats_at(row, plan.slots * width)
    for n in range(plan.pairs + plan.fields):
        first = (first_by_key(plan) + BY_KEY * n) * width + lane
        _unpack_field(plan, bits, kept, memory, first, fields[n, 2])
    for n in range(plan.stops):
        memory[(_first_stop(plan) + n) * width + lane] = kept[plan.stick_qfrc + stops[n]]


@kernel
def _unpack_field(plan, bits, kept, memory, first, key):
    """Write the memory of a sphere or pair, whose contacts have FEATURES keys from `key` on."""
    width, found = plan.width, 0
    for k in range(BY_KEY):
        memory[first + k * width] = 0.0
    for c in range(bits[plan.nstick]):
        known = bits[plan.stick_key + c]
        if known >= key and known < key + FEATURES:
            memory[first] = kept[plan.stick_normal + c]
            for k in range(3):
                memory[first + (1 + k) * width] = kept[plan.stick_force + 3 * c + k]
            memory[first + 4 * width] = known if found == 0 else SEVERAL
            found += 1


@kernel
def _pack(plan, header, row, lane):
    """Write a robot's row of the engine's memory from "grip"."""
    _pairs, _segments, points, axes, stops, _fields, _guarded = tables_of(plan, row)
    at, width = _kept_row(plan, header, row, lane), plan.width
    bits, kept, number = ints_at(at, plan.kept_size), floats_at(at, plan.kept_size), 0
    grip = floats_at(row + 8 * plan.grip * width, plan.of_planes * width)
    for n in range(plan.points):
        first = points[n, FIRST] * width + lane
        if grip[first] > 0.0:
            bits[plan.stick_key + number] = points[n, KEY]
            kept[plan.stick_normal + number] = grip[first]
            x, y = grip[first + width], grip[first + 2 * width]
            spin = grip[first + 3 * width] if points[n, PARTS] > 2 else 0.0
            for k in range(3):
                axis = axes[n, FRAME + k :: 3]
                kept[plan.stick_force + 3 * number + k] = x * axis[0] + y * axis[1]
                kept[plan.stick_torque + 3 * number + k] = spin * axis[2]
            number += 1
    memory = floats_at(row, plan.slots * width)
    for n in range(plan.pairs + plan.fields):
        first = (first_by_key(plan) + BY_KEY * n) * width + lane
        if memory[first] > 0.0:
            bits[plan.stick_key + number] = int(memory[first + 4 * width])
            kept[plan.stick_normal + number] = memory[first]
            for k in range(3):
                kept[plan.stick_force + 3 * number + k] = memory[first + (1 + k) * width]
                kept[plan.stick_torque + 3 * number + k] = 0.0
            number += 1
    bits[plan.nstick], bits[plan.ndropped] = number, 0
    for n in range(plan.stops):
        kept[plan.stick_qfrc + stops[n]] = memory[(_first_stop(plan) + n) * width + lane]


@kernel
def _take_engine(plan, header, row, lane):
    """Do a lane's step with the engine; the results are copied once the other lanes have moved."""
    pairs, segments, _points, _axes, _stops, _fields, _guarded = tables_of(plan, row)
    width, engine, at = plan.width, header[ENGINE_AT], _kept_row(plan, header, row, lane)
    lanes, theirs = floats_at(row, plan.slots * width), floats_at(engine, plan.engine_slots)
    results = floats_at(header[RESULTS_AT], plan.writes * width)
    # unused lanes of a block repeat its last robot
    if lane > 0 and at == _kept_row(plan, header, row, lane - 1):
        for k in range(plan.writes):
            results[k * width + lane] = results[k * width + lane - 1]
        return
    if lanes[_mode_of(plan) + lane] == 0.0:
        _pack(plan, header, row, lane)
    for k in range(plan.reads):
        theirs[pairs[k, 1]] = lanes[pairs[k, 0] * width + lane]
    bits, kept = ints_at(engine, plan.engine_slots), ints_at(at, plan.kept_size)
    _copy(segments, bits, kept, kept[plan.nstick], True)
    call_memory(plan.engine_begin, engine)
    call_memory(plan.engine_step, engine)
    _copy(segments, bits, kept, bits[segments[0, SLOT]], False)
    for k in range(plan.writes):
        results[k * width + lane] = theirs[pairs[plan.reads + k, 1]]


@kernel
def _copy(segments, bits, kept, count, entering):
    """Copy a row of the engine's memory into its Data, or out of it, as driver._exchange does."""
    for s in range(len(segments)):
        slot, begin, per = segments[s, SLOT], segments[s, PLACE], segments[s, PER_CONTACT]
        for k in range(per * count if per > 0 else segments[s, LENGTH]):
            if entering:
                bits[slot + k] = kept[begin + k]
            else:
                kept[begin + k] = bits[slot + k]


@kernel
def _take_results(plan, header, row, memory, lane):
    pairs = tables_of(plan, row)[0]
    results = floats_at(header[RESULTS_AT], plan.writes * plan.width)
    for k in range(plan.writes):
        memory[pairs[plan.reads + k, 0] * plan.width + lane] = results[k * plan.width + lane]


def load(row):
    """Update the lanes' form of the memory where the engine's form is newer."""
    header = ints_at(row - 8 * HEADER, HEADER)
    plan = plan_of(row)
    _load(plan, header, row, floats_at(row, plan.slots * plan.width))


def settle(row):
    """Update the engine's form of the memory of all lanes where the lanes' form is newer."""
    header = ints_at(row - 8 * HEADER, HEADER)
    plan = plan_of(row)
    memory = floats_at(row, plan.slots * plan.width)
    for lane in range(plan.width):
        if memory[_mode_of(plan) + lane] == 0.0:
            _pack(plan, header, row, lane)
