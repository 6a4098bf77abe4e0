# SPDX-License-Identifier: Apache-2.0
"""The recorded motion of a robot."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Array
from rbdyn_ros.dynamics.entry import check_pair
from rbdyn_ros.dynamics.instant import Instant, contact_points, remember_friction
from rbdyn_ros.dynamics.stages import make_data, step
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model
from rbdyn_ros.recording.series import Series

#: Positions [rad or m] and times [timesteps] that differ by less than this count as equal.
SAME = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class RecordedRun:
    """The recorded motion of a robot: n samples in the order of time.

    Attributes:
        m: the robot.
        name: namespace, or name of the robot.
        source: path of the recording.
        time: (n,) times since the start of the recording [s], increasing.
        clock: (n,) simulated times [s], for joints with prescribed motion.
        stamps: (n,) ROS times [ns].
        qpos: (n, nq) positions, finite.
        qvel: (n, nv) velocities; NaN: unknown.
        effort: (n, nv) applied efforts [N m or N]; NaN: unknown.
        xfrc: (n, nbody, 6) external wrenches as in Data; None: unknown or zero.
        contact: (n, nbody, 6) contact wrenches; None: unknown or zero.
        stick: (n) memories of friction at contacts, each (contacts, 8); None: unknown, or there is
            no contact.
        stick_qfrc: (n, nv) friction and limit forces of joints, which the next step uses [N m or
            N]; None: unknown, or there are none.
        act: (n, na) states of actuators; None: unknown, or there are no actuators.
        measured: encoder readings; None: there are none.
        commanded: commands by topic; a topic without joint names has empty `names`.
        urdf: text of the URDF; "": the recording has no URDF.
        exact: whether positions and velocities are bit-exact simulation states.
        truncated: whether the recording was cut off.
        notes: notes for the user.
    """

    m: Model
    name: str
    source: str
    time: Array
    clock: Array
    stamps: NDArray[np.int64]
    qpos: Array
    qvel: Array
    effort: Array
    xfrc: Array | None = None
    contact: Array | None = None
    stick: tuple[Array, ...] | None = None
    stick_qfrc: Array | None = None
    act: Array | None = None
    measured: Series | None = None
    commanded: Mapping[str, Series] = field(default_factory=dict)
    urdf: str = ""
    exact: bool = False
    truncated: bool = False
    notes: tuple[str, ...] = ()

    @property
    def duration(self) -> float:
        """Time from the first to the last sample [s]."""
        return float(self.time[-1] - self.time[0])

    def at(self, time: float) -> int:
        """Return the index of the last sample that is not after a time [s]; at least 0."""
        return max(int(np.searchsorted(self.time, time, side="right")) - 1, 0)

    def restore(self, d: Data, k: int) -> None:
        """Set a Data of the robot to sample k, including memory of friction and actuators.

        If the recording is exact, a simulation with its efforts repeats the run from there.

        Raises:
            ModelError: d was not made for the robot.
        """
        check_pair(self.m, d, "restore")
        d.qpos, d.qvel = self.qpos[k], np.nan_to_num(self.qvel[k])
        d.time = float(self.clock[k])
        remember_friction(d, self.stick[k] if self.stick is not None else None)
        d.stick_qfrc = 0.0 if self.stick_qfrc is None else self.stick_qfrc[k]
        d.act = 0.0 if self.act is None else self.act[k]

    def instant(self, k: int) -> Instant:
        """Return sample k as an Instant; unknown velocities and efforts are zero.

        Contact points are not recorded; they are computed again if the recording has every step.
        """
        return Instant(
            time=float(self.time[k]),
            qpos=self.qpos[k].copy(),
            qvel=np.nan_to_num(self.qvel[k]),
            effort=np.nan_to_num(self.effort[k]),
            xfrc=None if self.xfrc is None else self.xfrc[k].copy(),
            contact=None if self.contact is None else self.contact[k].copy(),
            points=self._points(k),
            paused=True,
            tick=k,
        )

    def _points(self, k: int) -> Array | None:
        """Return the contact points and forces of sample k; None: they are unknown.

        The step to the sample is simulated again from the sample before. The points are unknown if
        the recording lacks that sample, or if the new step does not reach sample k.
        """
        h = self.m.opt.timestep
        if self.contact is None or not self.exact or k == 0:
            return None
        if abs(self.clock[k] - self.clock[k - 1] - h) > SAME * h:
            return None
        d = make_data(self.m)
        self.restore(d, k - 1)
        d.qfrc_applied = np.nan_to_num(self.effort[k])
        if self.xfrc is not None:
            d.xfrc_applied = self.xfrc[k]
        step(self.m, d)
        return contact_points(d) if np.abs(d.qpos - self.qpos[k]).max() < SAME else None
