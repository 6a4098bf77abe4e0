# SPDX-License-Identifier: Apache-2.0
"""Feedback laws of the joints: efforts from a state and a target.

A law is an object that holds its gains. `law(qpos, qvel, target)` returns the law's own array
(nv,), which the next call overwrites. The efforts are ready for the robot: they contain friction,
but not the gravity and the Coriolis forces that the robot compensates itself (see Arm). Friction
is computed at the desired velocity, which has no noise or delay and starts a sticking joint.
GravityCompensation, which has no desired velocity, uses the measured velocity.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.control.base.target import Target
from rbdyn_ros.dynamics import laws
from rbdyn_ros.dynamics.entry import public


class Law:
    """Base class of the joint laws.

    Args:
        arm: the robot.
        stiffness: position gain, one number or one per joint (nv,), 0 or more.
        damping: velocity gain, like `stiffness`.

    Attributes:
        effort: (nv,), result of the last call.
        tracks: whether the law follows a desired velocity.

    Raises:
        ParameterError: a gain is negative or not a number.
    """

    tracks = True
    #: Names of the gains, for error messages.
    _names = ("stiffness", "damping")
    #: The law: the public function of a kernel in dynamics.laws.
    _compute: Callable[..., Any]

    def __init__(self, arm: Arm, stiffness: ArrayLike, damping: ArrayLike) -> None:
        self._memory = np.zeros((6, arm.m.nv))  # rows as in law_code.py
        self._gains = self._memory[:2]
        self.effort: Array = self._memory[2]
        self._name = self._compute.__name__
        self.arm = arm
        self.set_gains(stiffness, damping)

    def set_gains(self, stiffness: ArrayLike, damping: ArrayLike) -> None:
        """Change the gains, see the class."""
        n = self.arm.m.nv
        gains = zip(self._names, (stiffness, damping), strict=True)
        self._gains[0], self._gains[1] = [checked_gains(*pair, n) for pair in gains]

    def use(self, arm: Arm) -> None:
        """Continue with an arm with the same joints, for example with another payload."""
        self.arm = arm

    def __call__(self, qpos: Array, qvel: Array, target: Target) -> Array:
        """Return the efforts (nv,) [N m or N].

        Args:
            qpos: (nv,) measured positions [rad or m].
            qvel: (nv,) measured velocities [rad/s or m/s].
            target: desired motion.
        """
        d = self.arm.d
        d.qpos[:], d.qvel[:] = qpos, qvel
        return self._computed(qpos, qvel, target)

    def of_own(self, qpos: Array, qvel: Array, target: Target) -> Array:
        """Return the efforts (nv,) as a call does, without checking the arrays."""
        self.arm.place(qpos, qvel)
        return self._computed(qpos, qvel, target)

    def _computed(self, qpos: Array, qvel: Array, target: Target) -> Array:
        """Return the efforts (nv,) for the state in arm.d."""
        arm, rows = self.arm, target.rows
        d, code = arm.d, arm.code
        if code is None or not code.computes(self._name, d, self._memory, rows):
            self._compute(arm.m, d, rows, self._gains, self.effort)
        if arm.is_plain:
            return self.effort
        return arm.command(self.effort, qpos, qvel, target.qvel if self.tracks else None)


def checked_gains(name: str, gains: ArrayLike, n: int) -> Array:
    """Return gains (n,); raise ParameterError unless they are finite and not negative."""
    return finite(name, gains, (n,), low=0.0, fill=True)


class GravityCompensation(Law):
    """g - rate M qvel: the arm floats and comes to rest.

    With an exact model the kinetic energy T obeys dT/dt = -2 rate T, because
    qvel^T (dM/dt - 2 C) qvel = 0. All motion decays as exp(-rate t), whatever the inertia.

    Args:
        arm: the robot.
        damping_rate: rate at which motion decays [1/s].

    Raises:
        ParameterError: the rate is negative or not a number.

    Source: RBDA section 5.3 (gravity term); Siciliano et al., Robotics, eq 7.49 (passivity).
    """

    tracks = False
    _names = ("stiffness", "damping_rate")
    _compute = staticmethod(public(laws.damped_gravity))

    def __init__(self, arm: Arm, damping_rate: float = 0.0) -> None:
        # only one number, because a rate per joint could increase the energy
        rate = finite("damping_rate", damping_rate, element="")
        super().__init__(arm, 0.0, rate)


class PDGravity(Law):
    """K (qpos_d - qpos) + D (qvel_d - qvel) + g: a spring and a damper in every joint.

    Args:
        arm: the robot.
        stiffness: K [N m/rad or N/m].
        damping: D [N m s/rad or N s/m].

    Source: Takegaki, Arimoto, A new feedback method for dynamic control of manipulators, 1981.
    """

    _compute = staticmethod(public(laws.pd_gravity))


class JointImpedance(Law):
    """M qacc_d + C qvel + g + K (qpos_d - qpos) + D (qvel_d - qvel).

    Like PDGravity, with a feedforward of the desired motion. The arm keeps its natural inertia.

    Args:
        arm: the robot.
        stiffness: K [N m/rad or N/m].
        damping: D [N m s/rad or N s/m].

    Source: Hogan, Impedance control, 1985, without inertia shaping.
    """

    _compute = staticmethod(public(laws.joint_impedance))


class ComputedTorque(Law):
    """M (qacc_d + Kd (qvel_d - qvel) + Kp (qpos_d - qpos)) + C qvel + g: inverse dynamics control.

    With an exact model each joint's error obeys d2e/dt2 + Kd de/dt + Kp e = 0 independently.

    Args:
        arm: the robot.
        stiffness: Kp [1/s^2].
        damping: Kd [1/s]; 2 sqrt(Kp) is critical.

    Source: Luh, Walker, Paul, Resolved-acceleration control, 1980; RBDA section 5.1.
    """

    _compute = staticmethod(public(laws.computed_torque))
