"""The sensors of one robot: what they show in a state of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbdyn_ros.description.poses import quat_mul
from rbdyn_ros.description.types import Description
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.rotation import mat_to_quat
from rbdyn_ros.sensors.noise import Noise
from rbdyn_ros.sensors.scene import Scene
from rbdyn_ros.sensors.specs import ContactSpec, ForceTorqueSpec, ImuSpec, NoiseSpec, Spec

Array = NDArray[np.float64]

#: By kind of sensor, its quantities, in the order of its numbers.
QUANTITIES = {
    ImuSpec: ("angular_velocity", "linear_acceleration", "orientation"),
    ForceTorqueSpec: ("force", "torque"),
    ContactSpec: ("force", "torque"),
}

#: A payload: link, mass [kg], centre of mass (3,) [m], inertia (6,) [kg m^2]; as with_payload.
Payload = tuple[str, float, ArrayLike, ArrayLike]


class StateLike(Protocol):
    """What sensors need of a state of the runtime."""

    @property
    def tick(self) -> int: ...
    @property
    def epoch(self) -> int: ...
    @property
    def time(self) -> float: ...
    @property
    def qpos(self) -> Array: ...
    @property
    def qvel(self) -> Array: ...
    @property
    def qacc(self) -> Array: ...
    @property
    def effort(self) -> Array: ...
    @property
    def xfrc(self) -> Array: ...
    @property
    def contact(self) -> Array: ...


@dataclass(frozen=True, slots=True)
class ImuReading:
    """What an IMU shows, in the axes of its frame.

    Attributes:
        angular_velocity: (3,) [rad/s].
        linear_acceleration: (3,) specific force: acceleration less gravity [m/s^2].
        orientation: of the frame in the world, unit quaternion wxyz; None: not measured.
    """

    angular_velocity: Array
    linear_acceleration: Array
    orientation: Array | None


@dataclass(frozen=True, slots=True)
class WrenchReading:
    """A wrench about the origin of the sensor's frame, in its axes.

    Attributes:
        force: (3,) [N].
        torque: (3,) [N m].
    """

    force: Array
    torque: Array


@dataclass(frozen=True, slots=True)
class ContactReading(WrenchReading):
    """The wrench on a link from what it touches, and whether it touches.

    Attributes:
        touching: whether the true force is above the threshold.
    """

    touching: bool


Reading = ImuReading | WrenchReading


@dataclass(slots=True)
class _Sensor:
    """One sensor: its spec, every how many ticks it reads, its noise."""

    spec: Spec
    every: int
    noise: Noise
    last: tuple[int, int] = field(default=(-1, -1))


class Suite:
    """The sensors of one robot.

    Readings are asked for by one thread; `use` and `reseed` may be called by others.

    Args:
        m: the robot as it was loaded.
        description: what it was made of.
        specs: its sensors.
        period_ns: of a tick [ns].
        seed: of the noise.

    Attributes:
        notes: sentences the user should be told.

    Raises:
        ModelError: m was not made of the description.
    """

    def __init__(
        self,
        m: Model,
        description: Description,
        specs: Sequence[Spec],
        period_ns: int,
        seed: int = 0,
    ) -> None:
        self.specs = tuple(specs)
        self.notes: list[str] = []
        self._m, self._description, self._period_ns = m, description, period_ns
        self._scene = Scene(m, description, self.specs)
        self._sensors = [
            _Sensor(spec, self._every(spec), self._noise(k, spec, seed))
            for k, spec in enumerate(self.specs)
        ]
        touches = [spec.name for spec in self.specs if isinstance(spec, ContactSpec)]
        if touches and m.ngeom == 0:
            self.notes.append(
                f"sensor '{touches[0]}' waits for contact, but the robot touches nothing: it was "
                "loaded without contact, or has no geometries"
            )

    def _every(self, spec: Spec) -> int:
        """Return every how many ticks a sensor reads; its rate is rounded to that."""
        if spec.rate is None:
            return 1
        every = max(1, round(1e9 / (spec.rate * self._period_ns)))
        rate = 1e9 / (every * self._period_ns)
        if abs(rate - spec.rate) > 1e-9 * rate:
            ticks = "every tick" if every == 1 else f"every {every} ticks"
            self.notes.append(
                f"sensor '{spec.name}' reads {ticks}, at {rate:g} Hz instead of {spec.rate:g} Hz"
            )
        return every

    def _noise(self, k: int, spec: Spec, seed: int, begun: int = 0) -> Noise:
        kinds = tuple(spec.noise.get(name, NoiseSpec()) for name in QUANTITIES[type(spec)])
        return Noise(kinds, seed, k, self._period_ns * 1e-9, begun)

    @property
    def every(self) -> tuple[int, ...]:
        """Every how many ticks each sensor reads."""
        return tuple(sensor.every for sensor in self._sensors)

    def reseed(self, seed: int, tick: int = 0) -> None:
        """Let the noise begin anew at a tick, as it did at tick 0, with this seed."""
        for k, sensor in enumerate(self._sensors):
            sensor.noise = self._noise(k, sensor.spec, seed, tick)

    def use(self, plant: Model, payloads: Sequence[Payload] = ()) -> None:
        """Measure on a robot that has changed: its gravity, and what is fixed to its links.

        Args:
            plant: the Model that moves, of the layout of the one that was loaded.
            payloads: all that are fixed to links now.

        Raises:
            ModelError, ParameterError: as with_payload.
        """
        self._scene = Scene(self._m, self._description, self.specs, plant, payloads)

    def read(self, state: StateLike) -> list[tuple[int, Reading]]:
        """Return by number what the sensors show that are due in a state."""
        return self.measure(self.due(state), state)

    def due(self, state: StateLike) -> list[int]:
        """Return the numbers of the sensors that read in this state, each once a period.

        A sensor of every n ticks reads in the ticks 0, n, 2n, ..., or where states are left out
        in the first one after.
        """
        due = []
        for k, sensor in enumerate(self._sensors):
            now = (state.epoch, state.tick // sensor.every)
            if now != sensor.last:
                sensor.last = now
                due.append(k)
        return due

    def measure(self, numbers: Sequence[int], state: StateLike) -> list[tuple[int, Reading]]:
        """Return what some sensors show in a state, whether it is their turn or not."""
        if not numbers:
            return []
        scene = self._scene
        scene.enter(state)
        return [(k, _shown(self._sensors[k], scene, state)) for k in numbers]


def _shown(sensor: _Sensor, scene: Scene, state: StateLike) -> Reading:
    spec, noise = sensor.spec, sensor.noise
    if isinstance(spec, ImuSpec):
        return _imu(spec, scene, noise, state.tick)
    if isinstance(spec, ForceTorqueSpec):
        shown = noise.seen(state.tick, scene.joint_wrench(spec))
        return WrenchReading(shown[:3], shown[3:])
    true = scene.contact_wrench(spec, state.contact)
    shown = noise.seen(state.tick, true)
    touching = bool(np.linalg.norm(true[:3]) > spec.threshold)
    return ContactReading(shown[:3], shown[3:], touching)


def _imu(spec: ImuSpec, scene: Scene, noise: Noise, tick: int) -> ImuReading:
    omega, acceleration, R = scene.motion(spec.link)
    shown = noise.seen(tick, np.concatenate([omega, acceleration, np.zeros(3)]))
    if not spec.orientation:
        return ImuReading(shown[:3], shown[3:6], None)
    quat = mat_to_quat(R)
    if shown[6:].any():
        turned = quat_mul(tuple(quat.tolist()), _turn(shown[6:]))
        quat = np.array(turned)
    return ImuReading(shown[:3], shown[3:6], quat)


def _turn(vector: Array) -> tuple[float, float, float, float]:
    """Return the quaternion wxyz of a rotation vector that is not zero."""
    angle = float(np.linalg.norm(vector))
    x, y, z = (vector * (np.sin(angle / 2.0) / angle)).tolist()
    return float(np.cos(angle / 2.0)), x, y, z
