# SPDX-License-Identifier: Apache-2.0
"""The state of a robot at one moment, for displays."""

import math
from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.dynamics.entry import check_pair
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model


@dataclass(frozen=True, slots=True, eq=False)
class Instant:
    """State of a robot and the forces on it at one moment; arrays are copies, with Data's layout.

    Attributes:
        time: time [s].
        qpos: (nq,) positions.
        qvel: (nv,) velocities.
        effort: (nv,) actuator efforts [N m or N].
        xfrc: (nbody, 6) external forces as in Data.xfrc_applied: force, then torque about xipos,
            world axes; None if unknown.
        contact: (nbody, 6) contact forces, in the form of xfrc; None if unknown.
        points: (k, 6) contact points [m] and the forces there on the second geometry [N], world
            axes; None if unknown.
        energy: potential and kinetic energy [J], or None.
        paused: whether simulated time is paused.
        fault: message of a fault, or empty.
        factor: measured real-time factor; NaN if undefined.
        tick: ticks since the start of the simulation; -1 before the start.
        wanted: requested real-time factor; NaN if none was requested.
        world: number of the Model of the arrays, which changes when objects are added or removed.
        held: whether the robot is held until its first command.
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
    world: int = 0
    points: Array | None = None
    held: bool = False

    @classmethod
    def of(cls, m: Model, d: Data) -> "Instant":
        """Return the present state of a Data.

        Contact forces and energy are those of the last `forward` or `step`.

        Raises:
            ModelError: d was not made for m.
        """
        check_pair(m, d)
        potential, kinetic = d.energy.tolist()
        return cls(
            d.time,
            d.qpos.copy(),
            d.qvel.copy(),
            d.qfrc_applied.copy(),
            d.xfrc_applied.copy(),
            contact_on_bodies(m, d),
            (potential, kinetic),
            points=contact_points(d),
        )

    @classmethod
    def still(cls, m: Model, qpos: Array) -> "Instant":
        """Return the Instant of a robot at rest at qpos (nq,), at time 0 and without forces."""
        return cls(0.0, np.array(qpos, np.float64), np.zeros(m.nv), np.zeros(m.nv))


def contact_on_bodies(m: Model, d: Data) -> Array | None:
    """Return the contact forces (nbody, 6) as in Data.xfrc_applied; None without contact.

    Data.cfrc_contact is [moment; force] about the tree's centre of mass, so moments are shifted.
    """
    if m.ncontact == 0:
        return None
    moment, force = d.cfrc_contact[:, :3], d.cfrc_contact[:, 3:]
    arm = d.subtree_com[m.body_rootid] - d.xipos
    on_bodies: Array = np.concatenate([force, moment + np.cross(arm, force)], axis=1)
    on_bodies[0] = 0.0
    return on_bodies


def contact_points(d: Data) -> Array:
    """Return the points of the contacts that have a force, and these forces, as Instant.points."""
    n = min(d.ncon, len(d.contact_pos))
    rows = np.concatenate([d.contact_pos[:n], d.contact_force[:n]], axis=1)
    return rows[rows[:, 3:].any(axis=1)]


def friction_memory(d: Data) -> Array:
    """Return the memory of contacts (n, 8): stick_key, stick_normal, stick_force, stick_torque."""
    n = d.nstick
    return np.column_stack(
        [d.stick_key[:n], d.stick_normal[:n], d.stick_force[:n], d.stick_torque[:n]]
    )


def remember_friction(d: Data, rows: Array | None) -> None:
    """Replace the memory of friction by rows from friction_memory; None clears it."""
    n = 0 if rows is None else min(len(rows), len(d.stick_key))
    d.nstick = n
    if rows is not None and n > 0:
        d.stick_key[:n], d.stick_normal[:n] = rows[:n, 0], rows[:n, 1]
        d.stick_force[:n], d.stick_torque[:n] = rows[:n, 2:5], rows[:n, 5:]
