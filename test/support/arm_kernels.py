# SPDX-License-Identifier: Apache-2.0
"""Call single kernels of an arm without the loop of the arm."""

import numpy as np

from rbdyn_ros.control.blind import coasting, endings
from rbdyn_ros.control.blind.blind_arm import BlindArm
from rbdyn_ros.dynamics.entry import Entry

SEE, STOP, COAST = map(Entry, (endings.see, endings.stop_blindly, coasting.coast))


class Stopping(BlindArm):
    """Ends the motion of an arm after a fault; `effort` (nv,) has the last computed efforts."""

    def __init__(self, arm, settings, limits):
        super().__init__(arm, settings, limits)
        self.effort = np.zeros(arm.m.nv)

    def see(self, time, qpos, qvel, dt):
        """Return the efforts (nv,) for a valid state, or None if no effort is commanded."""
        sends = SEE.call(*self.at, time, qpos, qvel, dt, self.effort)
        return self.effort if sends else None

    def stop(self, now, time, qpos, qvel, overdue=0.0):
        """Return the efforts (nv,) without valid states, or None if no effort is commanded."""
        sends = STOP.call(*self.at, now, overdue, time, qpos, qvel, self.effort)
        return self.effort if sends else None

    def coast(self, now, late, dt, qpos, qvel, command):
        return COAST.call(*self.at, now, late, dt, qpos, qvel, command, self.effort)
