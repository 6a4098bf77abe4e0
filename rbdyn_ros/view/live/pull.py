"""The force that pulls a link towards the dragged handle: a spring suited to the robot."""

from __future__ import annotations

import threading

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.dynamics.instant import Instant
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.dynamics.toolbox.frames import frame_jacobian, frame_pose
from rbdyn_ros.dynamics.toolbox.inertia import mass_matrix
from rbdyn_ros.model.model import Model

#: Natural frequency of the spring [rad/s]. The force is renewed about thirty times a second, so a
#: much stiffer spring would be unstable.
RATE = 6.0
#: Largest force, as a multiple of the weight of the robot.
MOST_WEIGHTS = 5.0
GRAVITY = 9.81


class HandSpring:
    """A critically damped spring on a link; thread-safe.

    Its stiffness follows from the operational-space inertia at the link, so that one frequency
    fits a finger and a torso; no direction counts as heavier than the whole robot.

    Args:
        m: the robot.
    """

    def __init__(self, m: Model) -> None:
        self._m, self._d, self._lock = m, make_data(m), threading.Lock()
        self.mass = float(m.body_mass.sum())

    def at(self, instant: Instant, link: str) -> Array:
        """Return the origin of a link in the world, (3,) [m]."""
        with self._lock:
            return self._place(instant, link)

    def force(self, instant: Instant, link: str, target: Array, pace: float = 1.0) -> Array:
        """Return the force on the origin of a link, (3,) in world axes [N].

        Args:
            instant: the robot.
            link: name of the link.
            target: (3,) position of the handle [m].
            pace: simulated seconds per second; above 1 the spring is softer by that factor.
        """
        rate = RATE / max(1.0, pace)
        with self._lock:
            away = np.asarray(target, np.float64) - self._place(instant, link)
            J = frame_jacobian(self._m, self._d, link)[3:]
            wanted = rate**2 * away - 2.0 * rate * (J @ instant.qvel)
            force = self._inertia(J) @ wanted
        size, most = float(np.linalg.norm(force)), MOST_WEIGHTS * GRAVITY * self.mass
        return force * (most / size) if size > most else force

    def _place(self, instant: Instant, link: str) -> Array:
        self._d.qpos, self._d.time = instant.qpos, instant.time
        place: Array = frame_pose(self._m, self._d, link)[0].copy()
        return place

    def _inertia(self, J: Array) -> Array:
        """Return the operational-space inertia at the link, (3, 3) [kg]."""
        if self._m.nM == 0:  # too large for a mass matrix
            return np.eye(3) * self.mass
        mobility = J @ np.linalg.lstsq(mass_matrix(self._m, self._d), J.T, rcond=None)[0]
        ease, axes = np.linalg.eigh(0.5 * (mobility + mobility.T))
        least = 1.0 / self.mass if self.mass > 0.0 else 1.0
        heavy: Array = axes @ np.diag(1.0 / np.maximum(ease, least)) @ axes.T
        return heavy
