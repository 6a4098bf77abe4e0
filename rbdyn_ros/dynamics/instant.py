"""One moment of a robot, as everything that shows one takes it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.dynamics.entry import demand_pair
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model


@dataclass(frozen=True, slots=True, eq=False)
class Instant:
    """Where a robot is, how it moves, and what acts on it; arrays are copies, laid out as in Data.

    Attributes:
        time: [s].
        qpos: (nq,).
        qvel: (nv,).
        effort: of the actuators (nv,) [N m or N].
        xfrc: forces from outside, by body (nbody, 6), as Data.xfrc_applied: force, then torque
            about xipos, world axes; None where nobody knows.
        contact: of the surroundings on each body, likewise.
        energy: potential and kinetic [J], or None.
        paused: whether time stands on request.
        fault: what went wrong, a sentence; empty: nothing.
        factor: simulated seconds per second as measured; NaN where that means nothing.
        tick: ticks since the simulation began.
        wanted: simulated seconds per second as asked for; NaN where nobody asked.
    """

    time: float
    qpos: Array
    qvel: Array
    effort: Array
    xfrc: Array | None = None
    contact: Array | None = None
    energy: tuple[float, float] | None = None
    paused: bool = False
    fault: str = ""
    factor: float = math.nan
    tick: int = 0
    wanted: float = math.nan

    @classmethod
    def of(cls, m: Model, d: Data) -> Instant:
        """Return what a Data says now; it is only read.

        Contact forces and energy are those of the last forward or step, as in Data.

        Raises:
            ModelError: if d was not made for m.
        """
        demand_pair(m, d)
        potential, kinetic = d.energy.tolist()
        return cls(
            d.time,
            d.qpos.copy(),
            d.qvel.copy(),
            d.qfrc_applied.copy(),
            d.xfrc_applied.copy(),
            contact_on_bodies(m, d),
            (potential, kinetic),
        )

    @classmethod
    def still(cls, m: Model, qpos: Array, time: float = 0.0) -> Instant:
        """Return a robot that stands still at qpos (nq,), with nothing acting on it."""
        return cls(time, np.array(qpos, np.float64), np.zeros(m.nv), np.zeros(m.nv))


def contact_on_bodies(m: Model, d: Data) -> Array | None:
    """Return the contact forces (nbody, 6) as Data.xfrc_applied has forces; None without any.

    Data has them [moment; force] about the centre of mass of the tree: the moment is shifted.
    """
    if m.ngeom == 0:
        return None
    moment, force = d.cfrc_contact[:, :3], d.cfrc_contact[:, 3:]
    arm = d.subtree_com[m.body_rootid] - d.xipos
    on_bodies: Array = np.concatenate([force, moment + np.cross(arm, force)], axis=1)
    on_bodies[0] = 0.0
    return on_bodies
