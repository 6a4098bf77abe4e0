"""What other threads ask of the loop: commands, trajectories, wrenches and faults.

Whoever makes one has checked it; the loop takes it as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbdyn_ros.arrays import Array, Ints

#: Modes of a joint: what its last command said how it is to be driven.
EFFORT, POSITION, VELOCITY, IMPEDANCE = range(4)


def _set_arrays(order: Any, **dtypes: type) -> None:
    """Make the named fields C-contiguous arrays of these types: compiled code reads them."""
    for name, dtype in dtypes.items():
        value: NDArray[Any] = np.ascontiguousarray(getattr(order, name), dtype)
        object.__setattr__(order, name, value)


@dataclass(frozen=True, slots=True, eq=False)
class Command:
    """Commands for some dofs, in force until the next one for the same dof.

    Units are those of the joint: m or rad, m/s or rad/s, N or N m.

    Attributes:
        dofs: (n,) entries of qvel, each at most once.
        mode: (n,) EFFORT, POSITION, VELOCITY or IMPEDANCE.
        position: (n,) goal in modes POSITION and IMPEDANCE, else ignored.
        velocity: (n,) goal in mode VELOCITY; feeds forward in POSITION, goal of the damper in
            IMPEDANCE; ignored in EFFORT.
        effort: (n,) the effort in mode EFFORT; feeds forward in the others.
        stiffness: (n,) of the spring to `position` [N/m or N m/rad], mode IMPEDANCE.
        damping: (n,) of the damper to `velocity` [N s/m or N m s/rad], mode IMPEDANCE.
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

    @staticmethod
    def of_efforts(dofs: ArrayLike, efforts: ArrayLike) -> Command:
        """Return the command of these efforts [N or N m] at these dofs, both (n,)."""
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


#: The fields of a Command that hold numbers of a dof, in their order.
NUMBERS = ("position", "velocity", "effort", "stiffness", "damping")


@dataclass(frozen=True, slots=True, eq=False)
class Trajectory:
    """Positions over time for some dofs; it begins at the positions in force when it starts.

    Attributes:
        dofs: (n,) entries of qvel, each at most once.
        times: (p,) of the points, from the start of the trajectory [s], strictly ascending, the
            first >= 0.
        positions: (p, n) at the points [m or rad].
        velocities: (p, n) at the points [m/s or rad/s]; they count with order 3 and 5.
        accelerations: (p, n) at the points [m/s^2 or rad/s^2]; they count with order 5.
        order: of the polynomials between the points. 1: straight lines; 3: cubic, the velocities
            hold; 5: quintic, the velocities and accelerations hold.
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
    """A force and a torque on a body, for a while.

    Attributes:
        body: number of the body in the Model.
        point: (3,) where the force acts, in the frame of the body [m].
        force: (3,) [N].
        torque: (3,) about `point` [N m].
        in_body: whether force and torque are in the axes of the body; else in those of the world.
        duration: how long it acts [s].
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
class Faults:
    """What goes wrong between controller and robot. Arrays are (nv,).

    Attributes:
        command_delay, command_jitter: a command takes the delay plus a random part of the jitter
            to arrive [s]. None overtakes another: what a later one has overtaken is lost.
        command_drop: probability that a command is lost.
        state_delay, state_jitter, state_drop: the same for the measured state.
        link_loss: nothing passes in either direction.
        encoder_resolution: step of a measured position [m or rad]; 0: none.
        encoder_noise: standard deviation of a measured position [m or rad].
        encoder_bias: added to a measured position [m or rad].
        velocity_noise: standard deviation of a measured velocity [m/s or rad/s].
        effort_noise: standard deviation of what an actuator adds to its effort [N or N m].
        stuck: whether the dof does not move.
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
    stuck: NDArray[np.bool_]

    def __post_init__(self) -> None:
        _set_arrays(self, **dict.fromkeys(PER_DOF, np.float64))
        _set_arrays(self, stuck=np.bool_)

    @staticmethod
    def none(nv: int) -> Faults:
        """Return what holds when nothing goes wrong, for `nv` dofs."""
        z = np.zeros(nv)
        return Faults(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, False, z, z, z, z, z, np.zeros(nv, np.bool_))


#: The fields of Faults that hold a number a dof.
PER_DOF = ("encoder_resolution", "encoder_noise", "encoder_bias", "velocity_noise", "effort_noise")
