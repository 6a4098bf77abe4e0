# SPDX-License-Identifier: Apache-2.0
"""A state as the loop hands it over."""

import hashlib
from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array, Bools
from rbdyn_ros.model.declared.data_fields import STICK_NUMBERS
from rbdyn_ros.model.model import Model
from rbdyn_ros.runtime.shared import stick_length


class Layout:
    """The offset of each part of a state's row.

    Args:
        m: the robot.
    """

    def __init__(self, m: Model) -> None:
        nq, nv, n = m.nqall, m.nvall, m.nbody
        lengths = {
            "qpos": nq,
            "qvel": nv,
            "effort": nv,
            "time": 1,
            "measured": 3 * nv,
            "qacc": m.nv,
            "xfrc": 6 * n,
            "contact": 6 * n,
            "stick_qfrc": m.nv,
            "blocked": m.nv,
            "act": m.na,
            "stick": stick_length(m),  # last: a record ends with its last contact
        }
        self.start: dict[str, int] = {}
        end = 0
        for name, length in lengths.items():
            self.start[name] = end
            end += length
        self.length = end


@dataclass(frozen=True, slots=True, eq=False)
class LoopState:
    """One state of the loop.

    Attributes:
        m: the robot.
        layout: layout of the row.
        row: copy of all its numbers; the properties are views of it.
        tick: number of ticks since time was last reset; a reset counts as a tick.
        epoch: number of resets of time and of loaded states.
        paused: whether time is paused on request.
        fault: the joint whose state diverged or whose drive locked, or -1. With a fault this is
            the last good state.
        saturated: a dof whose effort was clamped since the previous record, or -1.
        stale: number of dofs whose command has expired.
        bad: see Data.nbad.
        singular: see Data.nsingular.
        unsolved: see Data.nunsolved.
        dropped: see Data.ndropped.
        tracking: whether a trajectory is in progress.
        measured_tick: tick of the measured values; -1: no measurement has arrived yet.
        missed: number of records lost since the previous record.
    """

    m: Model
    layout: Layout
    row: Array
    tick: int
    epoch: int
    paused: bool
    fault: int
    saturated: int
    stale: int
    bad: int
    singular: int
    unsolved: int
    dropped: int
    tracking: bool
    measured_tick: int
    missed: int = 0

    @property
    def qpos(self) -> Array:
        """Position as in Data (nq,)."""
        return self.row[: self.m.nq]

    @property
    def qvel(self) -> Array:
        """Velocity as in Data (nv,)."""
        return self._part("qvel", self.m.nv)

    @property
    def effort(self) -> Array:
        """Applied efforts, clamped [N m or N] (nv,)."""
        return self._part("effort", self.m.nv)

    @property
    def qacc(self) -> Array:
        """Mean acceleration of the last physics step (nv,)."""
        return self._part("qacc", self.m.nv)

    @property
    def xfrc(self) -> Array:
        """External wrenches (nbody, 6): force [N], then torque about xipos [N m], world axes."""
        return self._part("xfrc", 6 * self.m.nbody).reshape(-1, 6)

    @property
    def contact(self) -> Array:
        """Contact wrenches (nbody, 6): force [N], then torque about xipos [N m], world axes."""
        return self._part("contact", 6 * self.m.nbody).reshape(-1, 6)

    @property
    def stick(self) -> Array:
        """Memory of contacts that pressed (n, 8): key, normal force, friction, torque of each."""
        if self.m.ncontact == 0:
            return np.zeros((0, STICK_NUMBERS))
        count = int(self._part("stick", 1)[0])
        start = self.layout.start["stick"] + 1
        return self.row[start : start + STICK_NUMBERS * count].reshape(-1, STICK_NUMBERS)

    @property
    def stick_qfrc(self) -> Array:
        """Dry friction and limit forces of the last physics step [N m or N] (nv,)."""
        return self._part("stick_qfrc", self.m.nv)

    @property
    def blocked(self) -> Bools:
        """Mask (nv,) of dofs that a brake or a fault keeps at rest, or the next step will hold.

        After the start, a reset or a new state, the next step holds dofs without a command.
        """
        blocked: Bools = self._part("blocked", self.m.nv) != 0.0
        return blocked

    @property
    def act(self) -> Array:
        """States of actuators as in Data (na,)."""
        return self._part("act", self.m.na)

    @property
    def measured(self) -> Array:
        """Measured positions, velocities and efforts, concatenated (3 nvall,)."""
        return self._part("measured", 3 * self.m.nvall)

    @property
    def measured_position(self) -> Array:
        """Measured positions (nvall,), by entry of qvel_all, of joints with one coordinate."""
        return self._part("measured", self.m.nvall)

    @property
    def measured_velocity(self) -> Array:
        """Measured velocities (nvall,)."""
        return self._part("measured", self.m.nvall, 1)

    @property
    def measured_effort(self) -> Array:
        """Measured efforts (nvall,)."""
        return self._part("measured", self.m.nvall, 2)

    @property
    def time(self) -> float:
        """Simulated time as in Data [s]."""
        return float(self.row[self.layout.start["time"]])

    def _part(self, name: str, length: int, k: int = 0) -> Array:
        start = self.layout.start[name] + k * length
        return self.row[start : start + length]

    def hash(self, changes: bytes = b"") -> str:
        """Return a SHA-256 of tick, positions, velocities, memory of friction and actuators.

        Args:
            changes: payloads and gravity as bytes, which are hashed too; empty: as loaded.
        """
        digest = hashlib.sha256(np.int64(self.tick).tobytes())
        digest.update(self.qpos.tobytes())
        digest.update(self.qvel.tobytes())
        digest.update(self.stick.tobytes())
        if self.m.nstop:
            digest.update(self.stick_qfrc.tobytes())
        digest.update(self.act.tobytes())
        digest.update(changes)
        return digest.hexdigest()
