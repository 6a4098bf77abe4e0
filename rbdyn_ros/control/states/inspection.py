# SPDX-License-Identifier: Apache-2.0
"""Inspection of the positions and velocities of a state."""

from __future__ import annotations

import math

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control.base.faults import Fault
from rbdyn_ros.control.base.limits import OVERSHOOT, Limits
from rbdyn_ros.control.base.state_kernels import (
    ACCELERATION,
    AGE,
    ALLOWED,
    BLIND,
    FOUND,
    GAIN,
    JOINT,
    KIND,
    MOVED,
    POSITION,
    POWER,
    ROWS,
    UNLIKE,
    VALUE,
    WAY,
    inspect,
)
from rbdyn_ros.control.states.measured import Measured
from rbdyn_ros.errors import apart

#: Remedy if positions and velocities disagree.
MIXED_UP = "Check units, signs and the order of joints, and the encoders"


class Inspection:
    """Compares states with the limits, and positions with velocities.

    Args:
        seen: holds the newest state.
        limits: limits of the controlled joints (n).

    Attributes:
        dofs: (n,) their degrees of freedom.
        rows: (6, n) limits as state_kernels takes them.
    """

    def __init__(self, seen: Measured, limits: Limits) -> None:
        n = len(limits.names)
        self._seen, self._last = seen, (seen.before[0], seen.before[1])
        self._memory, self._found = np.zeros((ROWS, n)), np.zeros(FOUND)
        self._memory[AGE] = math.inf
        self.use(limits)

    def use(self, limits: Limits) -> None:
        """Continue with other limits of the same joints."""
        self._limits, self.rows = limits, limits.rows
        self.dofs, self._acceleration = np.array(limits.dofs, np.int64), limits.acceleration

    def forget(self) -> None:
        """Take the next positions and velocities as ones that agree."""
        self._memory[: WAY + 1] = 0.0

    @property
    def moved(self) -> bool:
        """Whether the state is so far from the last one that it should be taken back."""
        return bool(self._found[BLIND] == MOVED)

    def judge(self, step: float, effort: Array) -> Fault | None:
        """Return the fault of the newest state, or None.

        Args:
            step: time since the state before [s]; infinite: there is none.
            effort: (n,) efforts that acted since then, the gate's own array [N m or N].
        """
        seen, found = self._seen, self._found
        fine = inspect.call(
            seen.qpos,
            seen.qvel,
            *self._last,
            self.dofs,
            self.rows,
            self._acceleration,
            effort,
            step,
            self._memory,
            found,
        )
        if fine:
            return None
        return self._fault(int(found[KIND]), int(found[JOINT]), step, effort)

    def _fault(self, kind: int, k: int, step: float, effort: Array) -> Fault:
        limits, found = self._limits, self._found
        blind = bool(found[BLIND] > 0.0)
        name, dof = limits.names[k], limits.dofs[k]
        place, speed = self._seen.qpos[dof], self._seen.qvel[dof]
        if kind == POSITION:
            found_at, low, high = apart(place, limits.lower[k], limits.upper[k])
            text = f"joint '{name}' is at {found_at}, beyond its limits {low} and {high}"
            return Fault("position", text, blind)
        if kind == UNLIKE:
            off, most = apart(found[VALUE], found[ALLOWED], digits=3)
            text = (
                f"joint '{name}' does not move at its measured velocity, {speed:.4g}: its "
                f"positions are {off} away from there; allowed is {most}"
            )
            return Fault("velocity", text, blind, MIXED_UP)
        if kind == ACCELERATION:
            text = (
                f"the velocity of joint '{name}' jumped to {speed:.4g}; acceleration_limit is "
                f"{limits.acceleration:.6g}"
            )
            return Fault("acceleration", text, blind)
        if kind == GAIN:
            text = (
                f"joint '{name}' moves at {speed:.4g} and gains speed too fast; {OVERSHOOT:g} "
                f"times its acceleration limit is {limits.gain[k]:.6g}"
            )
            return Fault("acceleration", text, blind)
        if kind == POWER:
            power, most = apart(found[VALUE], limits.power[k], digits=4)
            text = (
                f"joint '{name}' works with {power} W, {effort[k]:.4g} at velocity {speed:.4g}; "
                f"its limit is {most} W"
            )
            return Fault("power", text, blind)
        if kind == MOVED:
            text = f"joint '{name}' moved by {found[VALUE]:.6g} in {step:.6f} s; "
            text += f"its velocity limit is {limits.velocity[k]:.6g}"
            return Fault("velocity", text, True, MIXED_UP)
        fast, most, _ = apart(speed, limits.velocity[k], -limits.velocity[k])
        text = f"joint '{name}' moves at {fast}; its velocity limit is {most}"
        return Fault("velocity", text, blind)
