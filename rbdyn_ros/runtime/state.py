"""A state as the loop hands it over."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.model.model import Model


class Layout:
    """Where the parts of a state's row lie.

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
        }
        self.start: dict[str, int] = {}
        end = 0
        for name, length in lengths.items():
            self.start[name] = end
            end += length
        self.length = end


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """One record of the loop.

    Attributes:
        m: the robot.
        layout: of the row.
        row: everything that is a number, a copy; see the properties.
        tick: ticks since time began, resets included.
        epoch: times time began anew.
        paused: whether time stands on request.
        fault: the joint whose state diverged, -1 if none; the state is then the last good one.
        saturated: a dof whose effort was clamped since the record before, -1 if none.
        stale: number of dofs without a command that is young enough.
        bad: see Data.nbad.
        singular: see Data.nsingular.
        following: whether a trajectory is under way.
        measured_tick: the tick that the measured values are of; -1: nothing is delivered.
        missed: records lost between the one before and this one.
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
    following: bool
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
        """Per dof, the effort that led here: commanded or by policy, clamped [N m or N] (nv,)."""
        return self._part("effort", self.m.nv)

    @property
    def qacc(self) -> Array:
        """Mean acceleration of the last physics step (nv,)."""
        return self._part("qacc", self.m.nv)

    @property
    def xfrc(self) -> Array:
        """Wrenches that act: force, torque at xipos, world axes (nbody, 6)."""
        return self._part("xfrc", 6 * self.m.nbody).reshape(-1, 6)

    @property
    def contact(self) -> Array:
        """The same of contact forces (nbody, 6)."""
        return self._part("contact", 6 * self.m.nbody).reshape(-1, 6)

    @property
    def measured(self) -> Array:
        """Position, velocity and effort as encoders saw them, one after the other (3 nvall,)."""
        return self._part("measured", 3 * self.m.nvall)

    @property
    def measured_position(self) -> Array:
        """What encoders saw, per entry of qvel_all; of joints of one coordinate (nvall,)."""
        return self._part("measured", self.m.nvall)

    @property
    def measured_velocity(self) -> Array:
        """The same (nvall,)."""
        return self._part("measured", self.m.nvall, 1)

    @property
    def measured_effort(self) -> Array:
        """The same (nvall,)."""
        return self._part("measured", self.m.nvall, 2)

    @property
    def time(self) -> float:
        """Simulated time as in Data [s]."""
        return float(self.row[self.layout.start["time"]])

    def _part(self, name: str, length: int, k: int = 0) -> Array:
        start = self.layout.start[name] + k * length
        return self.row[start : start + length]

    def hash(self) -> str:
        """Return SHA-256 of tick, position and velocity: equal for equal trajectories."""
        digest = hashlib.sha256(np.int64(self.tick).tobytes())
        digest.update(self.qpos.tobytes())
        digest.update(self.qvel.tobytes())
        return digest.hexdigest()
