# SPDX-License-Identifier: Apache-2.0
"""The motion that a controller must track: a table with a row for each timestep."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.model.model import Model
from rbdyn_ros.trials.trial import Joints


@dataclass(frozen=True)
class Waypoints:
    """Positions of a joint at given times; before the first and after the last time it rests.

    Attributes:
        times: [s], increasing.
        positions: a position for each time [rad or m].
        smooth: whether quintics connect the positions, with rest at each; False: steps.
    """

    times: tuple[float, ...]
    positions: tuple[float, ...]
    smooth: bool

    def at(self, t: Array) -> Array:
        """Return positions, velocities and accelerations (3, n) at the times t (n,)."""
        if not self.smooth or len(self.times) == 1:
            last = np.searchsorted(self.times, t, side="right") - 1
            return np.stack([np.array(self.positions)[np.maximum(last, 0)], 0.0 * t, 0.0 * t])
        found = np.zeros((3, t.size))
        found[0] = np.where(t < self.times[0], self.positions[0], self.positions[-1])
        for k in range(len(self.times) - 1):
            begin, length = self.times[k], self.times[k + 1] - self.times[k]
            travel = self.positions[k + 1] - self.positions[k]
            inside = (t >= begin) & (t < begin + length)
            s = (t[inside] - begin) / length
            found[0, inside] = self.positions[k] + travel * s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
            found[1, inside] = travel * 30.0 * s**2 * (1.0 - s) ** 2 / length
            found[2, inside] = travel * 60.0 * s * (1.0 - 3.0 * s + 2.0 * s**2) / length**2
        return found


@dataclass(frozen=True)
class Sine:
    """offset + amplitude sin(2 pi frequency t)."""

    amplitude: float
    frequency: float
    offset: float = 0.0

    def at(self, t: Array) -> Array:
        """Return positions, velocities and accelerations (3, n) at the times t (n,)."""
        w = 2.0 * np.pi * self.frequency
        sine, cosine = self.amplitude * np.sin(w * t), self.amplitude * np.cos(w * t)
        return np.stack([self.offset + sine, w * cosine, -w * w * sine])


Path = Waypoints | Sine


def reference_table(m: Model, nstep: int, paths: Mapping[str, Path]) -> Array:
    """Return the target qpos, qvel and qacc by timestep, (nstep + 1, nq + 2 nv).

    Args:
        m: the Model; joints without a path stay at qpos0.
        nstep: number of timesteps.
        paths: the path (Waypoints or Sine) of each joint, by joint name.
    """
    joints = Joints.of(m)
    t: Array = np.arange(nstep + 1, dtype=np.float64) * float(m.opt.timestep)
    table = np.zeros((nstep + 1, m.nq + 2 * m.nv))
    table[:, : m.nq] = m.qpos0
    for name, path in paths.items():
        k = joints.names.index(name)
        position, dof = joints.qposadr[k], joints.dofadr[k]
        columns = [position, m.nq + dof, m.nq + m.nv + dof]
        table[:, columns] = path.at(t).T
    return table
