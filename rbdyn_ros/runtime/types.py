# SPDX-License-Identifier: Apache-2.0
"""Data types of the orders to the loop: Command, TrajectoryOrder, Wrench, Pull and Faults.

Whoever makes them must check them; the loop does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbdyn_ros.arrays import Array, Bools, Ints

#: Modes of a joint, set by its last command.
EFFORT, POSITION, VELOCITY, IMPEDANCE, GRIP = range(5)


def _set_arrays(order: Any, **dtypes: type) -> None:
    """Convert fields to C-contiguous arrays for compiled code; dtypes: types by field."""
    for name, dtype in dtypes.items():
        value: NDArray[Any] = np.ascontiguousarray(getattr(order, name), dtype)
        object.__setattr__(order, name, value)


@dataclass(frozen=True, slots=True, eq=False)
class Command:
    """Commands for some dofs, each in force until the next command for the same dof.

    Units depend on the joint: m or rad, m/s or rad/s, N or N m.

    Attributes:
        dofs: (n,) entries of qvel, each at most once.
        mode: (n,) EFFORT, POSITION, VELOCITY, IMPEDANCE or GRIP. A dof in GRIP goes to `position`
            with limits of its own, and its command does not expire.
        position: (n,) goal in modes POSITION, IMPEDANCE and GRIP; ignored in other modes.
        velocity: (n,) goal in mode VELOCITY, feedforward in POSITION, rest velocity of the damper
            in IMPEDANCE, largest speed in GRIP; ignored in EFFORT.
        effort: (n,) the effort in mode EFFORT, the largest effort in GRIP; feedforward in the
            other modes.
        stiffness: (n,) stiffness of the spring to `position` [N/m or N m/rad] in mode IMPEDANCE.
        damping: (n,) damping of the damper to `velocity` [N s/m or N m s/rad] in mode IMPEDANCE.
    """

    dofs: Ints
    mode: Ints
    position: Array
    velocity: Array
    effort: Array
    stiffness: Array
    damping: Array

    def __post_init__(self) -> None:
        _set_arrays(self, dofs=np.int64, mode=np.int64, **dict.fromkeys(NUMBERS, np.float64))
        if len({len(getattr(self, name)) for name in ("dofs", "mode", *NUMBERS)}) != 1:
            raise ValueError("the arrays of a Command differ in their lengths")

    @staticmethod
    def of_efforts(dofs: ArrayLike, efforts: ArrayLike) -> Command:
        """Return the command that applies efforts [N or N m] to dofs, both (n,)."""
        k = np.array(dofs, np.int64)
        zeros = np.zeros(len(k))
        return Command(
            dofs=k,
            mode=np.full(len(k), EFFORT),
            position=zeros,
            velocity=zeros,
            effort=np.array(efforts, np.float64),
            stiffness=zeros,
            damping=zeros,
        )


#: The numeric fields of a Command, in their order.
NUMBERS = ("position", "velocity", "effort", "stiffness", "damping")


@dataclass(frozen=True, slots=True, eq=False)
class TrajectoryOrder:
    """Positions of some dofs over time; the motion starts at their references or measured state.

    Attributes:
        dofs: (n,) entries of qvel, each at most once.
        times: (p,) times of the points since the start [s], strictly increasing, the first >= 0.
        positions: (p, n) positions at the points [m or rad].
        velocities: (p, n) velocities at the points [m/s or rad/s]; used with orders 3 and 5.
        accelerations: (p, n) accelerations at the points [m/s^2 or rad/s^2]; used with order 5.
        order: order of the polynomials between the points: 1 linear; 3 cubic, through the
            velocities; 5 quintic, through the velocities and accelerations.
    """

    dofs: Ints
    times: Array
    positions: Array
    velocities: Array
    accelerations: Array
    order: int

    def __post_init__(self) -> None:
        names = ("times", "positions", "velocities", "accelerations")
        _set_arrays(self, dofs=np.int64, **dict.fromkeys(names, np.float64))


@dataclass(frozen=True, slots=True, eq=False)
class Wrench:
    """A force and a torque on a body for a duration.

    Attributes:
        body: number of the body in the Model.
        point: (3,) point of application, in the frame of the body [m].
        force: (3,) the force [N].
        torque: (3,) the torque about `point` [N m].
        in_body: whether force and torque are in the axes of the body; False: of the world.
        duration: time for which the wrench acts [s].
    """

    body: int
    point: Array
    force: Array
    torque: Array
    in_body: bool
    duration: float

    def __post_init__(self) -> None:
        _set_arrays(self, point=np.float64, force=np.float64, torque=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Pull:
    """A spring and a damper from a point of a body to a goal in the world, for a duration.

    Attributes:
        body: number of the body in the Model.
        point: (3,) point of application, in the frame of the body [m].
        goal: (3,) goal of the point [m]; or (3, 3) goal of the body's orientation.
        stiffness: (3, 3) stiffness of the spring in world axes [N/m]; for an orientation
            [N m/rad].
        lag: damping divided by stiffness [s].
        most: largest force of the spring [N]; for an orientation largest torque [N m].
        duration: time for which the pull acts [s].
    """

    body: int
    point: Array
    goal: Array
    stiffness: Array
    lag: float
    most: float
    duration: float

    def __post_init__(self) -> None:
        _set_arrays(self, point=np.float64, goal=np.float64, stiffness=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Faults:
    """Faults between controller and robot. Arrays are (nv,).

    Attributes:
        command_delay, command_jitter: a command arrives after the delay plus a random part of the
            jitter [s]; a command that a later command overtakes is lost.
        command_drop: probability that a command is lost.
        state_delay, state_jitter, state_drop: the same for the measured state.
        link_loss: whether the link is lost, so that nothing passes in either direction.
        encoder_resolution: step of a measured position [m or rad]; 0: exact.
        encoder_noise: standard deviation of a measured position [m or rad].
        encoder_bias: offset of a measured position [m or rad].
        velocity_noise: standard deviation of a measured velocity [m/s or rad/s].
        effort_noise: standard deviation of the noise added to an applied effort [N or N m].
        stuck: whether the dof cannot move.
    """

    command_delay: float
    command_jitter: float
    command_drop: float
    state_delay: float
    state_jitter: float
    state_drop: float
    link_loss: bool
    encoder_resolution: Array
    encoder_noise: Array
    encoder_bias: Array
    velocity_noise: Array
    effort_noise: Array
    stuck: Bools

    def __post_init__(self) -> None:
        _set_arrays(self, **dict.fromkeys(PER_DOF, np.float64))
        _set_arrays(self, stuck=np.bool_)

    @staticmethod
    def none(nv: int) -> Faults:
        """Return Faults of `nv` dofs without any fault."""
        z = np.zeros(nv)
        return Faults(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, False, z, z, z, z, z, np.zeros(nv, np.bool_))


#: The fields of Faults with one number per dof.
PER_DOF = ("encoder_resolution", "encoder_noise", "encoder_bias", "velocity_noise", "effort_noise")
