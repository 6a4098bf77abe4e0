# SPDX-License-Identifier: Apache-2.0
"""Settings of a client: frames, load, stiffness, thresholds, guiding."""

from typing import Any

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control_box.franka.arm import FrankaArm
from rbdyn_ros.control_box.franka.laws import (
    CARTESIAN_STIFFNESS,
    JOINT_STIFFNESS,
    MOST_JOINT_STIFFNESS,
)
from rbdyn_ros.control_box.franka.packets import Request, RequestStatus
from rbdyn_ros.control_box.franka.paths import is_rigid
from rbdyn_ros.control_box.links import Load
from rbdyn_ros.errors import ParameterError

#: Larger numbers are refused.
LARGEST = 1e6
#: The heaviest load [kg], and the largest distance of loads and frames from the flange [m].
HEAVIEST, FARTHEST = 50.0, 2.0
#: Thresholds of contacts and collisions at the start [N m; N and N m].
_TORQUES = np.array([20.0, 20.0, 18.0, 18.0, 16.0, 14.0, 12.0])
_FORCES = np.array([20.0, 20.0, 20.0, 25.0, 25.0, 25.0])


class Settings:
    """The settings of an arm, which are kept when a client leaves.

    Args:
        arm: the robot.

    Attributes:
        F_T_NE, NE_T_EE, EE_T_K: frames (4, 4).
        joint_stiffness: (7,) stiffness of the joint controller [N m/rad].
        stiffness: (6,) stiffness of the Cartesian controller, linear first [N/m, N m/rad].
        torques, forces: thresholds (2, 2, 7) [N m] and (2, 2, 6) [N, N m]; the axes are
            accelerating or nominal, and lower or upper.
        free, elbow_free: axes that guiding moves.
    """

    def __init__(self, arm: FrankaArm) -> None:
        self._arm = arm
        self.F_T_NE, self.NE_T_EE, self.EE_T_K = arm.F_T_NE, np.eye(4), np.eye(4)
        self.joint_stiffness, self.stiffness = JOINT_STIFFNESS, CARTESIAN_STIFFNESS
        self.torques, self.forces = np.tile(_TORQUES, (2, 2, 1)), np.tile(_FORCES, (2, 2, 1))
        self.free, self.elbow_free = np.ones(6, bool), True

    @property
    def F_T_EE(self) -> Array:
        """End effector in the flange."""
        return self.F_T_NE @ self.NE_T_EE

    @property
    def F_T_K(self) -> Array:
        """Stiffness frame in the flange."""
        return self.F_T_EE @ self.EE_T_K

    def apply(self, request: Request, given: Any) -> RequestStatus:
        """Apply a request that sets something, or refuse it; return the status."""
        numbers = [given[name] for name in given.dtype.names]
        if not all((np.abs(x) < LARGEST).all() for x in numbers):  # a NaN is not below the limit
            return RequestStatus.INVALID_ARGUMENT
        right = {
            Request.SET_COLLISION_BEHAVIOR: self._thresholds,
            Request.SET_JOINT_IMPEDANCE: self._joint_stiffness,
            Request.SET_CARTESIAN_IMPEDANCE: self._stiffness,
            Request.SET_GUIDING_MODE: self._guiding,
            Request.SET_EE_TO_K: lambda x: self._frame("EE_T_K", x),
            Request.SET_NE_TO_EE: lambda x: self._frame("NE_T_EE", x),
            Request.SET_LOAD: self._load,
        }[request](given)
        return RequestStatus.SUCCESS if right else RequestStatus.INVALID_ARGUMENT

    def _thresholds(self, given: Any) -> bool:
        torques, forces = given["torques"].reshape(2, 2, 7), given["forces"].reshape(2, 2, 6)
        if (torques < 0.0).any() or (forces < 0.0).any():
            return False
        self.torques, self.forces = torques.copy(), forces.copy()
        return True

    def _joint_stiffness(self, given: Any) -> bool:
        K = given["K"].copy()
        right = bool((K >= 0.0).all() and (K <= MOST_JOINT_STIFFNESS).all())
        self.joint_stiffness = K if right else self.joint_stiffness
        return right

    def _stiffness(self, given: Any) -> bool:
        K = given["K"].copy()
        right = bool((K >= 0.0).all() and (K <= CARTESIAN_STIFFNESS).all())
        self.stiffness = K if right else self.stiffness
        return right

    def _guiding(self, given: Any) -> bool:
        self.free, self.elbow_free = given["axes"] != 0, bool(given["elbow"])
        return True

    def _frame(self, name: str, given: Any) -> bool:
        T = given["T"].reshape(4, 4).T.copy()
        if right := is_rigid(T) and bool(np.linalg.norm(T[:3, 3]) <= FARTHEST):
            setattr(self, name, T)
        return right

    def _load(self, given: Any) -> bool:
        mass, com, inertia = float(given["mass"]), given["com"].copy(), given["inertia"].copy()
        inertia = inertia.reshape(3, 3)
        small = mass <= HEAVIEST and np.linalg.norm(com) <= FARTHEST
        small = small and np.abs(inertia).max() <= HEAVIEST * FARTHEST**2
        if not (small and np.allclose(inertia, inertia.T, rtol=1e-6, atol=1e-9)):
            return False
        try:
            self._arm.carry(Load(mass, com, inertia))
        except ParameterError:
            return False
        return True
