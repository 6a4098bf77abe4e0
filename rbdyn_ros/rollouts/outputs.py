"""What a rollout may leave, and what each of it needs."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from typing import Any

from rbdyn_ros.engine.kinematics import com_pos, com_vel, kinematics
from rbdyn_ros.engine.quantities.energy import energy
from rbdyn_ros.errors import bad_argument, did_you_mean, not_allowed, quote
from rbdyn_ros.model.data_fields import DATA_FIELDS
from rbdyn_ros.model.model import Model

#: What a step leaves.
LEFT = ("qpos", "qvel", "time", "qfrc_applied")

#: What follows from the new state, computed where it is due: by kernel, in the order in which
#: they run, the outputs that need it.
OBSERVED: dict[Any, tuple[str, ...]] = {
    kinematics: ("xpos", "xmat", "xipos", "subtree_com", "cvel", "energy"),
    com_pos: ("subtree_com", "cvel", "energy"),
    com_vel: ("cvel", "energy"),
    energy: ("energy",),
}

#: What outputs may be; whatever is observed needs the first kernel.
OUTPUTS = (*LEFT, *OBSERVED[kinematics])

_FIELD = {field.name: field for field in DATA_FIELDS}


def observers(outputs: Collection[str]) -> list[Any]:
    """Return the kernels that outputs need, in order."""
    return [kernel for kernel, names in OBSERVED.items() if set(names) & set(outputs)]


def output_shapes(m: Model, outputs: object) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the outputs by name.

    Raises:
        ParameterError: it is no list of names of OUTPUTS, or names one twice.
    """
    if not isinstance(outputs, Sequence) or isinstance(outputs, str) or not outputs:
        raise not_allowed("outputs", outputs, f"a list of names of {', '.join(OUTPUTS)}")
    for name in outputs:
        if name not in OUTPUTS:
            hint = did_you_mean(str(name), OUTPUTS)
            told = quote(name) if isinstance(name, str) else repr(name)
            text = f"outputs names {told}{hint}; allowed are {', '.join(OUTPUTS)}"
            raise bad_argument("outputs", text)
    if len(set(outputs)) < len(outputs):
        raise not_allowed("outputs", outputs, "every name once")
    sizes = vars(m)
    return {name: _FIELD[name].shape(sizes) for name in outputs}


def demand_room(nbatch: int, rows: int, width: int) -> None:
    """Raise ParameterError if the outputs would not fit in this machine's memory."""
    needed = 8 * nbatch * rows * width
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > there:
        text = (
            f"the outputs, {nbatch} x {rows} x {width} numbers, would take {needed} bytes; this "
            f"machine has {there}; allowed are fewer robots, or a larger `every`, or fewer outputs"
        )
        raise bad_argument("outputs", text)
