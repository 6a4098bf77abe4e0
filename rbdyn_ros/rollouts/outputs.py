# SPDX-License-Identifier: Apache-2.0
"""The outputs of a rollout, and the kernels that compute them."""

import os
from collections.abc import Collection, Sequence
from typing import Any

from rbdyn_ros.engine.quantities.energy import energy
from rbdyn_ros.engine.tree.kinematics import com_pos, com_vel, kinematics
from rbdyn_ros.errors import bad_argument, did_you_mean, not_allowed, quote, shown
from rbdyn_ros.model.declared.data_fields import DATA_FIELDS
from rbdyn_ros.model.model import Model
from rbdyn_ros.specialization.functions import FUNCTIONS, STATE, Function

#: Outputs that the step itself computes.
STEP_OUTPUTS = ("qpos", "qvel", "time", "qfrc_applied")

#: For each kernel, in calling order, the outputs that need it. They are computed from the new
#: state, only for stored rows.
OBSERVED: dict[Any, tuple[str, ...]] = {
    kinematics: ("xpos", "xmat", "xipos", "subtree_com", "cvel", "energy"),
    com_pos: ("subtree_com", "cvel", "energy"),
    com_vel: ("cvel", "energy"),
    energy: ("energy",),
}


def _centres(m: Any, d: Any) -> None:
    kinematics(m, d)
    com_pos(m, d)
    com_vel(m, d)


def _energies(m: Any, d: Any) -> None:
    _centres(m, d)
    energy(m, d)


#: Functions that compute these outputs in specialised code. The bits of an output do not depend on
#: the other outputs.
OBSERVERS = (
    FUNCTIONS["kinematics"],
    Function("centres", _centres, STATE, ("subtree_com", "cvel")),
    Function("energies", _energies, STATE, ("energy",)),
)

#: The outputs that are computed from the new state; all of them need the first kernel.
OBSERVED_OUTPUTS = OBSERVED[kinematics]
OUTPUTS = (*STEP_OUTPUTS, *OBSERVED_OUTPUTS)

_FIELD = {field.name: field for field in DATA_FIELDS}


def observers(outputs: Collection[str]) -> list[Any]:
    """Return the kernels that the outputs need, in the order of their calls."""
    return [kernel for kernel, names in OBSERVED.items() if set(names) & set(outputs)]


def output_shapes(m: Model, outputs: object) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the outputs by name.

    Raises:
        ParameterError: `outputs` is not a list of names in OUTPUTS, or names an output twice.
    """
    if not isinstance(outputs, Sequence) or isinstance(outputs, str) or not outputs:
        raise not_allowed("outputs", outputs, f"a list of names out of {', '.join(OUTPUTS)}")
    for name in outputs:
        if name not in OUTPUTS:
            hint = did_you_mean(str(name), OUTPUTS)
            found = quote(name) if isinstance(name, str) else shown(name)
            text = f"outputs names {found}{hint}; allowed are {', '.join(OUTPUTS)}"
            raise bad_argument("outputs", text)
    if len(set(outputs)) < len(outputs):
        raise not_allowed("outputs", outputs, "each name once")
    sizes = vars(m)
    return {name: _FIELD[name].shape(sizes) for name in outputs}


def check_memory(nbatch: int, rows: int, width: int) -> None:
    """Raise ParameterError if the outputs do not fit in the memory of this machine."""
    what = f"the outputs, {nbatch} x {rows} x {width} numbers,"
    remedy = "use fewer robots, a larger `every` or fewer outputs"
    check_fits(8 * nbatch * rows * width, what, "outputs", remedy)


def check_fits(
    needed: int, what: str, element: str = "nsim", remedy: str = "use fewer robots"
) -> None:
    """Raise ParameterError if arrays do not fit in the memory of this machine."""
    installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > installed:
        text = f"{what} need {needed} bytes, and this machine has {installed}; {remedy}"
        raise bad_argument(element, text)
