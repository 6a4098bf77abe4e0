# SPDX-License-Identifier: Apache-2.0
"""The state machine of an arm, as its box and the services of a node use it."""

from abc import ABC, abstractmethod

import numpy as np

from rbdyn_ros.arrays import Array

#: An arm rests after SETTLED ticks below the speed REST [rad/s].
REST, SETTLED = 1e-3, 50


class BoxedRobot(ABC):
    """The state machine of an arm, without sockets and clocks."""

    _rested = 0  # consecutive ticks without a motion

    @property
    @abstractmethod
    def awaits(self) -> bool:
        """Return whether the client has to send a command now."""

    @property
    @abstractmethod
    def _holds(self) -> bool:
        """Return whether only the brakes hold the arm."""

    @property
    def rests(self) -> bool:
        """Return whether the arm waits for a client: until then its state stays the same."""
        return self._holds and self._rested > SETTLED

    @property
    def settles(self) -> bool:
        """Return whether the arm comes to rest without a command of a client."""
        return self._holds and self._rested <= SETTLED

    def _count_rest(self, dq: Array, wanted: Array) -> None:
        """Count the ticks at rest, from measured speeds dq and desired speeds of a tick (n,)."""
        still = (np.abs(dq) < REST).all() and (np.abs(wanted) < REST).all()
        self._rested = self._rested + 1 if still else 0

    @abstractmethod
    def restart(self) -> None:
        """Restart after the simulated arm was reset."""

    @abstractmethod
    def reboot(self) -> None:
        """Return to the state after power-on."""

    @abstractmethod
    def press_user_stop(self, pressed: bool) -> None:
        """Press or release the button that stops the arm."""

    @abstractmethod
    def guide(self, on: bool) -> bool:
        """Begin or end guiding by hand; return whether the arm may be guided now."""
