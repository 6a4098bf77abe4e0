# SPDX-License-Identifier: Apache-2.0
"""Sizes of the arrays of actuators, and the layout of an actuator's state."""

from __future__ import annotations

from typing import Any

import numpy as np

from rbdyn_ros.arrays import NamedArrays

#: Number of points of a torque-speed curve; shorter curves repeat their last point.
CURVE_POINTS = 8

#: Numbers of an actuator's state, in this order: current [A], temperature of the winding above the
#: ambient temperature [K], deflection of the bristles [rad of the motor], twist of the gear and
#: its rate [rad or m, of the joint: rotor minus joint], then the delayed commands, the oldest
#: first [N m or N]. They are 0 in a new Data.
CURRENT, HEAT, BRISTLE, TWIST, TWIST_RATE, DELAYED = range(6)

#: Largest number of timesteps of a delay.
MAX_DELAY = 1000

#: Number of values that a step stores from computing an actuator's force until its new state.
ACTUATOR_WORK = 10


def state_lengths(delays: Any) -> list[int]:
    """Return how many entries of act each actuator has, from actuator_delay."""
    return [DELAYED + int(steps) for steps in np.asarray(delays)]


def no_actuators(fields: Any) -> dict[str, Any]:
    """Return the arrays of a Model without actuators.

    Args:
        fields: the fields of the Model.
    """
    names = [field for field in fields if field.dims[0] == "nu" and not field.derived]
    return {
        field.name: np.zeros((0, *field.dims[1:]), np.int64 if field.kind == "int" else np.float64)
        for field in names
    }


def wrong_actuators(arrays: NamedArrays) -> list[tuple[str, str]]:
    """Return the errors in the arrays of actuators, each as (name of the array, reason)."""
    wrong = []
    delay, gear, curve = (arrays[f"actuator_{name}"] for name in ("delay", "gear", "curve"))
    if ((delay < 0) | (delay > MAX_DELAY)).any():
        wrong.append(("actuator_delay", f"contains a number outside 0 to {MAX_DELAY}"))
    if (gear == 0.0).any():
        wrong.append(("actuator_gear", "contains 0; allowed is any other number"))
    if (arrays["actuator_motorconst"][:, 0] <= 0.0).any():
        wrong.append(("actuator_motorconst", "contains a torque constant that is not above 0"))
    if (np.diff(curve[:, :, 0]) < 0.0).any() or (np.diff(curve[:, :, 1]) > 0.0).any():
        wrong.append(("actuator_curve", "contains a curve with falling speeds or rising torques"))
    dofs = arrays["actuator_dofid"]
    if len(np.unique(dofs)) < len(dofs):
        wrong.append(("actuator_dofid", "names a dof twice"))
    return wrong
