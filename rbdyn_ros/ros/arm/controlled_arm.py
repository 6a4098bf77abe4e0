"""What services and the action need of the node that controls an arm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.control.arm import Arm
from rbdyn_ros.control.controller import Progress

Array = NDArray[np.float64]
Numbers = Sequence[float]


class QueriedArm(Protocol):
    """What questions about the dynamics are answered from; any thread may ask."""

    @property
    def arm(self) -> Arm:
        """The arm with its payloads now; its Data belongs to the control loop."""

    @property
    def gains(self) -> tuple[Array, Array]:
        """Stiffness [1/s^2] and damping [1/s] of computed torque, (nv,) each."""

    @property
    def effort_limits(self) -> Array:
        """(nv,) [N m or N]; infinite where there is none."""

    def measured(self) -> tuple[Array, Array, int] | None:
        """Return copies of qpos and qvel, and their stamp [ns]; None: no state came yet."""


class LoadedArm(QueriedArm, Protocol):
    """An arm whose load can be told."""

    def set_payload(self, link: str, mass: float, com: Numbers, inertia: Numbers) -> str:
        """Fix a body to a link; inertia Ixx Iyy Izz Ixy Ixz Iyz about its centre of mass.

        Returns why it is refused, or nothing.
        """


class FollowingArm(Protocol):
    """An arm that follows trajectories; any thread may ask."""

    @property
    def names(self) -> Sequence[str]:
        """The controlled joints in order, n."""

    def follow(self, message: Any) -> str:
        """Follow a trajectory_msgs/JointTrajectory in the place of what it follows now.

        Returns why it is refused, or nothing. One that is taken has the next number in `progress`
        from then on, wherever it came from.
        """

    def progress(self) -> Progress:
        """Return how far it is."""

    def stop_following(self) -> None:
        """Stop, and hold where it is."""


class ControlledArm(LoadedArm, FollowingArm, Protocol):
    """All of it."""
