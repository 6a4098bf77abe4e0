# SPDX-License-Identifier: Apache-2.0
"""The steps from the efforts of the rigid body dynamics to the commands of an arm.

A command contains friction, but not the efforts that the robot compensates itself. In these
kernels m and d are the robot without payloads, because the robot compensates only its own weight.
In kernels with an argument `bare`, m and d are the robot with its payloads, and `bare` is the
robot without payloads.
"""

from __future__ import annotations

from typing import ClassVar

from rbdyn_ros.control.base.friction import write_effort
from rbdyn_ros.control.base.kernels import kernel
from rbdyn_ros.control.base.record import Record
from rbdyn_ros.engine.compiler.jit import Vector
from rbdyn_ros.engine.quantities.terms import coriolis_term, gravity_term
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.declared.fields import Field
from rbdyn_ros.model.model import Model


class Actuation(Record):
    """Friction of an arm, and the robot's own compensation of gravity and Coriolis forces."""

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("rubs", (), "1: there is friction to be compensated", "int"),
        Field("own_gravity", (), "1: the robot adds its gravity to every command", "int"),
        Field(
            "own_coriolis",
            (),
            "1: the robot adds its Coriolis forces at the measured velocity",
            "int",
        ),
        Field("viscous", ("nv",), "viscous friction; this field and the next four as in Friction"),
        Field("coulomb", ("nv",), ""),
        Field("stribeck", ("nv",), ""),
        Field("stribeck_velocity", ("nv",), ""),
        Field("smoothing", ("nv",), ""),
        Field("term", ("nv",), "work space"),
        Field("rest", ("nv",), "zeros"),
    )


@kernel
def add_friction(a: Actuation, qvel: Vector, sign: float, effort: Vector) -> None:
    """Add the friction at the velocities `qvel`, times `sign`, to the efforts."""
    if a.rubs > 0:
        write_effort(
            qvel, a.viscous, a.coulomb, a.stribeck, a.stribeck_velocity, a.smoothing, a.term
        )
        for k in range(len(effort)):
            effort[k] += sign * a.term[k]


@kernel
def add_own_gravity(
    m: Model, d: Data, a: Actuation, qpos: Vector, sign: float, effort: Vector
) -> None:
    """Add the gravity forces that the robot compensates, times `sign`, to the efforts."""
    if a.own_gravity > 0:
        for k in range(m.nv):
            d.qpos[k] = qpos[k]
        gravity_term(m, d, a.term)
        for k in range(m.nv):
            effort[k] += sign * a.term[k]


@kernel
def add_own(
    m: Model, d: Data, a: Actuation, qpos: Vector, qvel: Vector, sign: float, effort: Vector
) -> None:
    """Add gravity and Coriolis forces that the robot compensates, times `sign`, to the efforts."""
    add_own_gravity(m, d, a, qpos, sign, effort)
    if a.own_coriolis > 0:
        for k in range(m.nv):
            d.qpos[k], d.qvel[k] = qpos[k], qvel[k]
        coriolis_term(m, d, a.term)
        for k in range(m.nv):
            effort[k] += sign * a.term[k]


@kernel
def to_command(
    m: Model, d: Data, a: Actuation, qpos: Vector, qvel: Vector, rubbing: Vector, effort: Vector
) -> None:
    """Convert efforts to commands in place; friction is computed at the velocities `rubbing`."""
    add_friction(a, rubbing, 1.0, effort)
    add_own(m, d, a, qpos, qvel, -1.0, effort)


@kernel
def applied(
    m: Model, d: Data, a: Actuation, command: Vector, qpos: Vector, qvel: Vector, effort: Vector
) -> None:
    """Write to `effort` the efforts that result from a command: the inverse of `to_command`."""
    for k in range(m.nv):
        effort[k] = command[k]
    add_friction(a, qvel, -1.0, effort)
    add_own(m, d, a, qpos, qvel, 1.0, effort)


@kernel
def hold(
    m: Model, d: Data, bare: Model, own: Data, a: Actuation, qpos: Vector, effort: Vector
) -> None:
    """Write the efforts that hold the arm at qpos, less the gravity that the robot compensates.

    m and d are the robot with its payloads; `bare` and `own` are the Model and Data without
    payloads.
    """
    for k in range(m.nv):
        d.qpos[k] = qpos[k]
    gravity_term(m, d, effort)
    add_own_gravity(bare, own, a, qpos, -1.0, effort)
