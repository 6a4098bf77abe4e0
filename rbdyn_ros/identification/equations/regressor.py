# SPDX-License-Identifier: Apache-2.0
"""Regressors of the efforts: inertia of all bodies, friction, offsets, rotors."""

from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control.base.friction import STRIBECK_VELOCITY
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.dynamics.toolbox.regressors import joint_torque_regressor
from rbdyn_ros.identification.data.motion import Motion, check_identifiable
from rbdyn_ros.model.model import Model


def torque_regressor(m: Model, qpos: Array, qvel: Array, qacc: Array) -> Array:
    """Return the regressor Y (p, nv, 10 (nbody - 1)) of samples (p, nv), including gravity.

    Y @ inertial_parameters gives the inverse dynamics without rotors and friction. Mimic joints
    are included exactly.

    Raises:
        ModelError: for the reasons of check_identifiable.
    """
    check_identifiable(m)
    d = make_data(m)
    Y = np.empty((len(qpos), m.nv, 10 * (m.nbody - 1)))
    for row, position, velocity, acceleration in zip(Y, qpos, qvel, qacc, strict=True):
        d.qpos[:], d.qvel[:], d.qacc[:] = position, velocity, acceleration
        row[:] = joint_torque_regressor(m, d)
    return Y


#: Kinds of unknowns for all joints: rotation of gravity about the x and y axes of the base [rad].
TILTS = "tilt_x", "tilt_y"


@dataclass(frozen=True, slots=True)
class Extra:
    """An unknown of one joint.

    Attributes:
        kind: "viscous", "coulomb", "stribeck", "load", "armature" or "offset"; "tilt_x" and
            "tilt_y" belong to all joints.
        column: column of the joint in the motion; 0 for a tilt.
    """

    kind: str
    column: int


@dataclass(frozen=True, slots=True, eq=False)
class Linearised:
    """Efforts of a Model, in which load-dependent friction and a tilt are linear.

    Attributes:
        effort: (p, n) efforts of bodies and rotors [N m or N].
        tilt: (p, n, 2) change of the efforts if gravity rotates about x and y [N m/rad or N/rad].
    """

    effort: Array
    tilt: Array


def extra_columns(
    kind: str, motion: Motion, smoothing: Array, at: Linearised | None = None
) -> Array:
    """Return the regressor columns (p, n) of a kind of Extra.

    Args:
        kind: kind of Extra.
        motion: the recorded motion.
        smoothing: (n,) smoothing of the joints' Coulomb friction.
        at: efforts of a Model; "load" and tilts need them; None: for other kinds only.
    """
    if at is not None and kind in TILTS:
        return at.tilt[:, :, TILTS.index(kind)]
    if at is not None and kind == "load":
        return extra_columns("coulomb", motion, smoothing) * np.abs(at.effort)
    if kind == "viscous":
        return motion.qvel
    if kind == "coulomb":
        with np.errstate(over="ignore"):  # tanh is 1 after an overflow
            return motion.of_velocity(lambda qvel: np.tanh(qvel / smoothing))
    if kind == "stribeck":
        return motion.of_velocity(
            lambda v: np.tanh(v / smoothing) * np.exp(-((v / STRIBECK_VELOCITY) ** 2))
        )
    if kind == "armature":
        return motion.qacc
    return np.ones(motion.qvel.shape)
