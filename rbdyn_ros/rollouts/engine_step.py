"""The step that is the engine's own, for one robot at a time.

The memory of a robot is a Data, and behind it what of the Model differs from robot to robot: the
table by which kernels find their arrays is a copy that leads there. What runs is the machine code
of rb.step itself, so results are those of rb.step to the last bit.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from rbdyn_ros.arrays import Array
from rbdyn_ros.engine import forward
from rbdyn_ros.engine.views import MODEL, OPTIONS
from rbdyn_ros.model.data import STAGES_AT, Data
from rbdyn_ros.model.data_fields import DATA_FIELDS
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.model_fields import DATA_STAGES
from rbdyn_ros.rollouts import call_plan
from rbdyn_ros.rollouts.call_plan import HEADER, PLAN, PLAN_AT, TABLE_AT
from rbdyn_ros.rollouts.law import APPLIED, REFERENCE, RolloutLaw
from rbdyn_ros.rollouts.outputs import observers
from rbdyn_ros.specialization.functions import STATE

#: Numbers in a cache line, at which whatever is given slots begins.
LINE = 8


class EngineStep:
    """What the loop over robots calls, of the engine's compiled kernels.

    Args:
        m: the Model.
        own: fields of the Model, and "gravity", of which robots have their own.
        law: says what acts at every step; None: that is given.
        outputs: fields of a Data.

    Attributes:
        width: 1.
        addresses: by BEGIN, ADVANCE, OBSERVE.
        fresh: (slots,), what the memory holds before a robot starts.
        slots: by name of a field of Data or Model, or of an input of the law, its first slot and
            its length.

    Raises:
        ModelError: the law cannot be compiled.
    """

    width = 1

    def __init__(
        self, m: Model, own: Collection[str], law: RolloutLaw | None, outputs: Collection[str]
    ) -> None:
        self.m, self._end = m, -(-m.data_slots // LINE) * LINE
        self.slots = {
            each.name: (m.data_offsets[each.name], int(np.prod(each.shape(vars(m)), dtype=int)))
            for each in DATA_FIELDS
        }
        values = {name: _array(m, name) for name in own}
        if "body_mass" in own:
            values["body_subtreemass"] = m.body_subtreemass
        self._moved = {name: self._take(name, array.size) for name, array in values.items()}
        plan = np.zeros(1, PLAN)
        plan["counter"] = self._take("nbad", 1)
        plan["mass"] = self._moved.get("body_mass", -1)
        plan["subtree"] = self._moved.get("body_subtreemass", -1)
        plan["step"] = call_plan.kernel_address(forward.advance, types.int64)
        self._plan_law(plan, law)
        observing = observers(outputs)
        plan["slots"], plan["observers"] = self._end, len(observing)
        addresses = [*map(call_plan.kernel_address, observing)]
        self._plan = np.array([*plan.view(np.int64), *addresses])
        self.fresh = np.zeros(self._end)
        self.fresh[: m.data_slots] = Data(m).buffer
        for name, slot in self._moved.items():
            self.fresh[slot : slot + values[name].size] = values[name].reshape(-1)
        self.addresses = np.array([
            call_plan.code_address(call_plan.begin) if "body_mass" in own else 0,
            call_plan.code_address(call_plan.advance),
            call_plan.code_address(call_plan.observe) if observing else 0,
        ])  # fmt: skip

    def _take(self, name: str, count: int) -> int:
        """Give slots to a name."""
        slot: int = self._end
        self.slots[name] = slot, count
        self._end += -(-count // LINE) * LINE
        return slot

    def _plan_law(self, plan: NDArray[Any], law: RolloutLaw | None) -> None:
        if law is None:
            return
        lanes = law.compiled()
        memory = self._take("law", lanes.size)
        at = {name: (memory + first, count) for name, (first, count) in lanes.slots.items()}
        self.slots |= {name: at[name] for name in {REFERENCE, *law.gains} & set(at)}
        nothing = 0, 0  # there may be no joint to move
        plan["law"], plan["law_memory"] = lanes.address("law"), memory
        plan["law_forces"] = at.get(APPLIED, nothing)[0]
        # it may look at the first entries only, or at none
        for name in STATE:
            plan[f"law_{name}"], plan[f"law_{name}_count"] = at.get(name, nothing)

    def memory(self) -> tuple[int, Array]:
        """Return a new memory (slots, 1), and its address.

        Up to a line is left out before the block of call_plan.py, so that it begins at a line.
        """
        table = self.m.table.copy()
        slots = HEADER + self._end
        raw = np.zeros(LINE + slots + len(table))
        first = -raw.ctypes.data % (8 * LINE) // 8
        row = raw[first + HEADER : first + slots]
        address = int(row.ctypes.data)
        for name, slot in self._moved.items():
            place = (OPTIONS if name == "gravity" else MODEL).fields[name][0]
            table[place] = address + 8 * slot
        whole = raw.view(np.int64)
        whole[first + slots : first + slots + len(table)] = table
        header = whole[first : first + HEADER]
        header[PLAN_AT] = self._plan.ctypes.data
        header[STAGES_AT : STAGES_AT + len(DATA_STAGES)] = self.m.data_stages
        header[TABLE_AT] = address + 8 * self._end
        return address, row.reshape(-1, 1)


def _array(m: Model, name: str) -> Array:
    array: Array = m.opt.gravity if name == "gravity" else getattr(m, name)
    return array
