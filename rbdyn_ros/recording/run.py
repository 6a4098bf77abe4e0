"""What a recording says of a robot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Array
from rbdyn_ros.dynamics.instant import Instant
from rbdyn_ros.model.model import Model
from rbdyn_ros.recording.series import Series


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """The motion of a robot, in order of time.

    Attributes:
        m: the robot.
        name: of the robot's namespace, or of the robot.
        source: the recording.
        time: since the recording began [s] (n,), growing.
        clock: simulated time, which joints driven over time depend on [s] (n,).
        stamps: ROS time [ns] (n,).
        qpos: (n, nq), finite.
        qvel: (n, nv), NaN where unknown.
        effort: that acted (n, nv), NaN where unknown [N m or N].
        xfrc: (n, nbody, 6) wrenches from outside as in Data; None: not known, or none.
        contact: (n, nbody, 6) wrenches of contact likewise.
        measured: what encoders saw.
        commanded: by topic, what was commanded; a topic that names no joint has an empty `names`.
        urdf: text of the robot's URDF, empty if the recording has none.
        exact: positions and velocities are those of a simulation, to the last bit.
        truncated: the recording was cut off before its end; all up to there is in it.
        notes: sentences about what a reader of it should know.
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
    measured: Series | None = None
    commanded: Mapping[str, Series] = field(default_factory=dict)
    urdf: str = ""
    exact: bool = False
    truncated: bool = False
    notes: tuple[str, ...] = ()

    @property
    def duration(self) -> float:
        """From the first sample to the last [s]."""
        return float(self.time[-1] - self.time[0])

    def at(self, time: float) -> int:
        """Return the number of the last sample that is not after a time [s]."""
        return max(int(np.searchsorted(self.time, time, side="right")) - 1, 0)

    def instant(self, k: int) -> Instant:
        """Return a sample as views take it; what is unknown is zero there."""
        return Instant(
            time=float(self.time[k]),
            qpos=self.qpos[k].copy(),
            qvel=np.nan_to_num(self.qvel[k]),
            effort=np.nan_to_num(self.effort[k]),
            xfrc=None if self.xfrc is None else self.xfrc[k].copy(),
            contact=None if self.contact is None else self.contact[k].copy(),
            paused=True,
            tick=k,
        )
