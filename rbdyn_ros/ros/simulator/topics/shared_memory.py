# SPDX-License-Identifier: Apache-2.0
"""Commands to a robot, and readings of its sensors, in shared memory."""

from collections.abc import Callable, Sequence
from dataclasses import fields

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.ros.common.parsing.convert import xyzw
from rbdyn_ros.ros.common.reports.answer import MessageLog
from rbdyn_ros.ros.simulator.topics.commanders import AnswerAges, CommanderWatch
from rbdyn_ros.runtime.port import Port
from rbdyn_ros.sensors.readings import Reading
from rbdyn_ros.sensors.specs import ForceTorqueSpec, ImuSpec, MagnetometerSpec, PoseSpec, Spec

_XYZ = ("x", "y", "z")
#: State interfaces of ros2_control's sensors, in the order of `numbers_of`.
WRENCH = tuple(f"{part}.{axis}" for part in ("force", "torque") for axis in _XYZ)
IMU = (
    *(f"{part}.{axis}" for part in ("angular_velocity", "linear_acceleration") for axis in _XYZ),
    *(f"orientation.{axis}" for axis in (*_XYZ, "w")),
)
POSE = (*(f"position.{axis}" for axis in _XYZ), *IMU[6:])
MAGNETIC = tuple(f"magnetic_field.{axis}" for axis in _XYZ)
#: Specs of the sensors that ros2_control knows.
SharedSpec = ImuSpec | ForceTorqueSpec | MagnetometerSpec | PoseSpec


class SharedMemory:
    """Logs and counts what the other process does. Only one thread may use it.

    Args:
        port: the shared memory.
        watch: logs when commands stop.
        log: counts and logs refused commands.
        ages: counts commands that answered an old state.
    """

    def __init__(
        self, port: Port, watch: CommanderWatch, log: MessageLog, ages: AnswerAges
    ) -> None:
        self._port, self._watch, self._log, self._ages = port, watch, log, ages
        self._accepted = self._refused = self._late = 0

    @property
    def accepted(self) -> int:
        """Number of accepted records of commands."""
        return self._port.accepted

    def poll(self) -> None:
        """Note new commands, and log new refusals."""
        port = self._port
        process, accepted, refused, late = port.client, port.accepted, port.refused, port.late
        self._ages.late += late - self._late
        if refused > self._refused:
            self._log.reject(f"shared memory '{port.name}'", port.why_refused())
        if accepted > self._accepted:
            who = f"process {process}" if process else "a process that has ended"
            self._watch.note_process(f"{who} through shared memory '{port.name}'")
        self._accepted, self._refused, self._late = accepted, refused, late

    def close(self) -> None:
        """Remove the memory. Call it only when the loop has ended."""
        self._port.close()


class SharedReadings:
    """The readings of sensors that ros2_control knows, as one row of numbers.

    Args:
        specs: specs of all sensors.

    Attributes:
        names: names of the numbers, such as imu/orientation.x.
        wanted: indices in `specs` of the sensors whose readings are in the row.
    """

    def __init__(self, specs: Sequence[Spec]) -> None:
        self._start: dict[int, int] = {}
        names: list[str] = []
        for k, spec in enumerate(specs):
            if isinstance(spec, SharedSpec):
                self._start[k] = len(names)
                names += [f"{spec.name}/{interface}" for interface in _interfaces(spec)]
        self.names = tuple(names)
        self.wanted: frozenset[int] = frozenset()
        self._numbers = np.full(len(names), np.nan)
        self._write: Callable[[int, Array], None] | None = None

    def share(self, write: Callable[[int, Array], None]) -> None:
        """Call `write(tick, numbers)` with the row at each tick from now on."""
        self._write, self.wanted = write, frozenset(self._start)

    @property
    def is_shared(self) -> bool:
        """Return whether `share` was called."""
        return self._write is not None

    def take(self, k: int, reading: Reading) -> None:
        """Store the reading of sensor k, if it is in the row."""
        if k in self._start:
            numbers = numbers_of(reading)
            self._numbers[self._start[k] :][: len(numbers)] = numbers

    def write(self, tick: int) -> None:
        """Write the row for a tick."""
        if self._write is not None:
            self._write(tick, self._numbers)


def _interfaces(spec: SharedSpec) -> Sequence[str]:
    if isinstance(spec, ForceTorqueSpec):
        return WRENCH
    if isinstance(spec, MagnetometerSpec):
        return MAGNETIC
    if isinstance(spec, PoseSpec):
        return POSE
    return IMU if spec.orientation else IMU[:6]


def numbers_of(reading: Reading) -> Array:
    """Return the numbers of a reading in the order of its message; quaternions are xyzw."""
    named = {field.name: getattr(reading, field.name) for field in fields(reading)}
    return np.concatenate(
        [
            xyzw(value) if name == "orientation" else np.atleast_1d(value)
            for name, value in named.items()
            if value is not None and name != "touching"
        ]
    )
