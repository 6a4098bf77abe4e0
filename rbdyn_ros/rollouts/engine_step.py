# SPDX-License-Identifier: Apache-2.0
"""A Step that runs the engine's own code, for one robot at a time.

The memory of a robot is a Data, followed by the robot's own arrays of the Model. Kernels find
arrays by a table; the robot's copy of the table points to its own arrays. The machine code is that
of rb.step, so the results have the same bits.
"""

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.engine import forward
from rbdyn_ros.engine.compiler.views import MODEL, OPTIONS
from rbdyn_ros.model.data import STAGES_AT
from rbdyn_ros.model.declared.data_fields import DATA_FIELDS
from rbdyn_ros.model.declared.model_fields import DATA_STAGES, SIZES
from rbdyn_ros.model.model import Model
from rbdyn_ros.rollouts import call_plan
from rbdyn_ros.rollouts.call_plan import HEADER, PLAN, PLAN_AT, TABLE_AT
from rbdyn_ros.rollouts.law import APPLIED, REFERENCE, RolloutLaw
from rbdyn_ros.rollouts.outputs import observers
from rbdyn_ros.rollouts.params import model_array
from rbdyn_ros.specialization.functions import STATE

FIELDS = {field.name: field for field in DATA_FIELDS}

#: Fields, besides qpos and qvel, by which a step depends on earlier steps: the friction memory (of
#: the first nstick contacts), the last position in which loops were closed, the start of the
#: search for contacts between moving bodies, and the states of actuators.
BY_CONTACT = ("stick_key", "stick_normal", "stick_force", "stick_torque")
REMEMBERED = (
    "nstick", "ndropped", "nunsolved", "stick_qfrc", "closed_known", "closed_time",
    "closed_qpos", "drive_locked", "drive_stop", "sweep_order", "push_axis", "act", *BY_CONTACT,
)  # fmt: skip

#: Numbers in a cache line. Every array starts at a cache line.
LINE = 8


class EngineStep:
    """A Step that calls the engine's compiled kernels, see job.Step.

    Args:
        m: the Model.
        own: fields of the Model, or "gravity", that differ between robots.
        law: the law that computes the forces of every step; None: ctrl holds the forces.
        outputs: fields of a Data.

    Attributes:
        width: number of robots that are advanced side by side: 1.
        end: number of slots of a memory.
        addresses: addresses of the functions BEGIN, ADVANCE and OBSERVE.
        segments: segments of the memory between steps: the friction memory, fields of closed loops
            and of contacts between bodies, and the counters.
        places: for each field of this memory, its first entry, and the number of entries.
        slots: first slot and length of each field of Data or Model, and of each input of the law.

    Raises:
        ModelError: the law cannot be compiled.
    """

    width = 1

    def __init__(
        self, m: Model, own: Collection[str], law: RolloutLaw | None, outputs: Collection[str]
    ) -> None:
        self.m, self.end = m, -(-m.data_slots // LINE) * LINE
        self.slots = {
            each.name: (m.data_offsets[each.name], int(np.prod(each.shape(vars(m)), dtype=int)))
            for each in DATA_FIELDS
        }
        values = {name: model_array(m, name) for name in own}
        if "body_mass" in own:
            values["body_subtreemass"] = m.body_subtreemass
        self._moved = {name: self._take(name, array.size) for name, array in values.items()}
        plan = np.zeros(1, PLAN)
        plan["counter"] = self._take("nbad", 1)
        plan["mass"] = self._moved.get("body_mass", -1)
        plan["subtree"] = self._moved.get("body_subtreemass", -1)
        plan["step"] = call_plan.kernel_address(forward.substep)
        self._plan_law(plan, law)
        observing = observers(outputs)
        plan["slots"], plan["observers"] = self.end, len(observing)
        addresses = [*map(call_plan.kernel_address, observing)]
        self._plan = np.array([*plan.view(np.int64), *addresses])
        self._fresh = np.zeros(self.end)
        self._fresh[: m.data_slots] = make_data(m).buffer
        m.opt.find_stages("dof_frictionloss" in own)
        for name, slot in self._moved.items():
            self._fresh[slot : slot + values[name].size] = values[name].reshape(-1).view(float)
        self.segments, self.places = _segments(m)
        self.remembered = self.segments
        self.addresses = np.array([
            call_plan.code_address(call_plan.begin) if "body_mass" in own else 0,
            call_plan.code_address(call_plan.advance),
            call_plan.code_address(call_plan.observe) if observing else 0,
        ])  # fmt: skip

    def _take(self, name: str, count: int) -> int:
        """Allocate slots for an array; return the first."""
        slot: int = self.end
        self.slots[name] = slot, count
        self.end += -(-count // LINE) * LINE
        return slot

    def _plan_law(self, plan: NDArray[Any], law: RolloutLaw | None) -> None:
        if law is None:
            return
        lanes = law.compiled()
        memory = self._take("law", lanes.size)
        at = {name: (memory + first, count) for name, (first, count) in lanes.slots.items()}
        self.slots |= {name: at[name] for name in {REFERENCE, *law.gains} & set(at)}
        nothing = 0, 0  # for a robot without joints, for which a law computes no forces
        plan["law"], plan["law_memory"] = lanes.address("law"), memory
        plan["law_forces"] = at.get(APPLIED, nothing)[0]
        # the law may read only the first entries, or none
        for name in STATE:
            plan[f"law_{name}"], plan[f"law_{name}_count"] = at.get(name, nothing)

    def memory(self) -> tuple[int, Array]:
        """Return the address of a new memory, and the memory (slots, 1).

        The block described in call_plan.py starts at a cache line.
        """
        table = self.m.table.copy()
        slots = HEADER + self.end
        raw = np.zeros(LINE + slots + len(table))
        first = -raw.ctypes.data % (8 * LINE) // 8
        row = raw[first + HEADER : first + slots]
        row[:] = self._fresh
        address = int(row.ctypes.data)
        for name, slot in self._moved.items():
            place = (OPTIONS if name == "gravity" else MODEL).fields[name][0]
            table[place] = address + 8 * slot
        self._make_parts_act(table)
        whole = raw.view(np.int64)
        whole[first + slots : first + slots + len(table)] = table
        header = whole[first : first + HEADER]
        header[PLAN_AT] = self._plan.ctypes.data
        header[STAGES_AT : STAGES_AT + len(DATA_STAGES)] = self.m.data_stages
        header[TABLE_AT] = address + 8 * self.end
        return address, row.reshape(-1, 1)

    def _make_parts_act(self, table: NDArray[np.int64]) -> None:
        """Activate dry friction and springs, which robots may have even if the Model has none."""
        if "dof_frictionloss" in self._moved:
            table[list(SIZES).index("nstop")] += 1
        if "jnt_stiffness" in self._moved:
            table[list(SIZES).index("nstiff")] += 1


def _segments(m: Model) -> tuple[Ints, dict[str, tuple[int, int]]]:
    """Return the segments of the memory between steps, and the positions of the fields in it."""
    segments, places, end = [], {}, 0
    for name in REMEMBERED:
        size = int(np.prod(FIELDS[name].shape(vars(m)), dtype=int))
        by_contact = size // m.ncontact if name in BY_CONTACT and size else 0
        if size:
            segments.append((m.data_offsets[name], end, size, by_contact))
        places[name] = end, size
        end += size
    return np.array(segments, np.int64), places
