# SPDX-License-Identifier: Apache-2.0
"""The sensors of one robot and their readings in a state."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.dynamics.ray_shapes import RayShapes
from rbdyn_ros.errors import Finding, ModelError, listing, quote
from rbdyn_ros.machine import cores
from rbdyn_ros.model.model import Model
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.sensors.camera_specs import ColorSpec, DepthSpec
from rbdyn_ros.sensors.evaluation import StateLike
from rbdyn_ros.sensors.noise import Noise
from rbdyn_ros.sensors.ray_specs import LidarSpec, RangeSpec
from rbdyn_ros.sensors.readings import QUANTITIES, Reading, reading_of
from rbdyn_ros.sensors.scanning import Drawn, RangingSpec, RayNoise, Scan, Scanner
from rbdyn_ros.sensors.scene import Payload, SensorScene
from rbdyn_ros.sensors.specs import ContactSpec, NoiseSpec, Spec, parts_of

#: A note warns if more than this share of the rays end at the sensor's housing.
ENCLOSED = 0.5

#: The sensors that measure by rays.
RayKinds = (LidarSpec, RangeSpec, DepthSpec)

#: Function that returns the visuals of a Model as shapes for rays.
Visuals = Callable[[Model], RayShapes]


@dataclass(slots=True)
class _Sensor:
    """A sensor's specification, with its period in ticks and its noise."""

    spec: Spec
    every: int
    noise: Noise | RayNoise
    last: tuple[int, int] = field(default=(-1, -1))


class Suite:
    """The sensors of one robot.

    One thread can call for readings, another for scans, and others can call `use` and `reseed`.

    Args:
        m: the robot as it was loaded.
        description: the description from which the robot was loaded.
        specs: sensors of the robot.
        period_ns: duration of a tick [ns].
        seed: seed of the noise.
        visuals: function that returns the visuals, for sensors whose `sees` is visual; None: no
            sensor sees visuals.

    Attributes:
        notes: warnings for the user, such as rounded rates.

    Raises:
        ModelError: m was not loaded from the description, there are no shapes for rays, or a
            body's masses in m and in the description differ although sensors measure forces.
    """

    def __init__(
        self,
        m: Model,
        description: Description,
        specs: Sequence[Spec],
        period_ns: int,
        seed: int = 0,
        visuals: Visuals | None = None,
    ) -> None:
        self.specs = tuple(specs)
        self._visuals = visuals
        self.notes: list[str] = []
        self._m, self._description, self._period_ns = m, description, period_ns
        self._scene = SensorScene(m, description, self.specs)
        self._sensors = [
            _Sensor(spec, self._every(spec), self._noise(k, spec, seed))
            for k, spec in enumerate(self.specs)
        ]
        self._scanners = self._make_scanners(m)
        for scanner in self._scanners.values():
            # this also compiles the kernels before the simulation starts
            first = scanner.measure(m.qpos0, np.zeros(m.nv), 0.0, 1)
            self.notes += _enclosed(scanner.sensor, first, scanner.shapes)
        pressed = [spec for spec in self.specs if isinstance(spec, ContactSpec)]
        if pressed and m.ncontact == 0:
            self.notes.append(
                f"sensor '{pressed[0].name}' never reports contact: the robot was loaded without "
                "contact or has no collision geometries"
            )
            pressed = []
        self.notes += [
            f"sensor '{spec.name}' never reports contact: link '{spec.link}' is fixed to the world"
            for spec in pressed
            if m.frame_bodyid[m.frame_id(spec.link)] == 0
        ]

    def _every(self, spec: Spec) -> int:
        """Return the period of a sensor in ticks; add a note if its rate is rounded."""
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

    def _make_scanners(self, m: Model) -> dict[int, Scanner]:
        """Return the scanner of each sensor with rays, by sensor number; raises ModelError."""
        specs = {k: spec for k, spec in enumerate(self.specs) if isinstance(spec, RayKinds)}
        visible = [spec for spec in specs.values() if spec.sees == "visual"]
        if visible and self._visuals is None:
            text = f"sensor '{visible[0].name}' sees visuals; give Suite the argument visuals"
            raise ModelError(Finding("no-visuals", text, "error", "visuals"))
        shapes = self._visuals(m) if visible and self._visuals is not None else None
        return {
            k: Scanner(m, spec, shapes if spec.sees == "visual" else None)
            for k, spec in specs.items()
        }

    @property
    def m(self) -> Model:
        """The robot and its objects, without payloads."""
        return self._m

    def _noise(self, k: int, spec: Spec, seed: int, begun: int = 0) -> Noise | RayNoise:
        if isinstance(spec, ColorSpec):
            return Noise((), seed, k, self._period_ns * 1e-9, begun)
        if isinstance(spec, RayKinds):
            return RayNoise(spec, seed, k, begun)
        kinds = tuple(spec.noise.get(name, NoiseSpec()) for name in QUANTITIES[type(spec)])
        return Noise(kinds, seed, k, self._period_ns * 1e-9, begun)

    @property
    def every(self) -> tuple[int, ...]:
        """The period of each sensor in ticks."""
        return tuple(sensor.every for sensor in self._sensors)

    def reseed(self, seed: int, tick: int = 0) -> None:
        """Restart the noise with a new seed; the given tick has the noise of tick 0."""
        for k, sensor in enumerate(self._sensors):
            sensor.noise = self._noise(k, sensor.spec, seed, tick)

    def use(self, plant: Model, payloads: Sequence[Payload] = ()) -> None:
        """Continue with other options, such as gravity, or other payloads.

        Args:
            plant: the simulated Model, with the layout of the loaded Model.
            payloads: all payloads of its links.

        Raises:
            ModelError: a link is unknown, or the plant's masses differ from the masses of the
                description with the payloads.
            ParameterError: the numbers of a payload are physically impossible.
        """
        self._scene = SensorScene(self._m, self._description, self.specs, plant, payloads)

    def move(
        self, m: Model, description: Description, plant: Model, payloads: Sequence[Payload]
    ) -> None:
        """Continue with a Model that has other objects; for the arguments, see Suite and `use`.

        Raises:
            ModelError: the new Model lacks a link or a joint that a sensor needs.
        """
        self._check_parts(m, description)
        self._m, self._description = m, description
        self._scanners = self._make_scanners(m)
        self.use(plant, payloads)

    def _check_parts(self, m: Model, description: Description) -> None:
        """Raise ModelError if a new Model lacks a link or a joint that a sensor needs."""
        joints = (joint.name for joint in description.joints)
        there = {*m.frame_names, *m.jnt_names, *m.loop_names, *joints}
        for spec in self.specs:
            if gone := [name for name in parts_of(spec) if name not in there]:
                part = quote(gone[0])
                text = (
                    f"sensor {quote(spec.name)} needs {part}, so {part} cannot be removed; "
                    "start the simulator without this sensor"
                )
                raise ModelError(Finding("sensor-part", text, "error", spec.name))

    def read(self, state: StateLike) -> list[tuple[int, Reading]]:
        """Return the readings of the sensors that are due in a state, by sensor number."""
        return self.measure(self.due(state), state)

    def due(self, state: StateLike) -> list[int]:
        """Return the numbers of the sensors that are due in this state, each once per period.

        A sensor with a period of n ticks is due at the ticks 0, n, 2n, ...; if the state of such a
        tick is missing, it is due in the next state. A lidar is first due after a full sweep.
        """
        due = []
        for k, sensor in enumerate(self._sensors):
            now = (state.epoch, state.tick // sensor.every)
            if now != sensor.last:
                sensor.last = now
                sweep = sensor.spec.sweep if isinstance(sensor.spec, LidarSpec) else 0.0
                if state.tick * self._period_ns >= sweep * NANOSECONDS:
                    due.append(k)
        return due

    def measure(self, numbers: Sequence[int], state: StateLike) -> list[tuple[int, Reading]]:
        """Return the readings of the numbered sensors in a state, by number, whether due or not.

        Colour cameras are left out; rb.render draws their pictures.
        """
        scene, scanners = self._scene, self._scanners
        numbers = [k for k in numbers if not isinstance(self.specs[k], ColorSpec)]
        if any(k not in scanners for k in numbers):
            scene.enter(state)
        return [
            (k, self.scan(k, state) if k in scanners else self._read(k, state)) for k in numbers
        ]

    def _read(self, k: int, state: StateLike) -> Reading:
        sensor = self._sensors[k]
        assert isinstance(sensor.noise, Noise)
        return reading_of(sensor.spec, self._scene, sensor.noise, state.tick)

    def scan(self, k: int, state: StateLike, threads: int | None = None) -> Scan:
        """Return the scan of a lidar, range sensor or depth camera in a state, whether due or not.

        Args:
            k: number of the sensor.
            state: the state to measure.
            threads: largest number of threads; None: one for each core.
        """
        m = self._m
        qpos, qvel = state.qpos[: m.nq], state.qvel[: m.nv]
        true = self._scanners[k].measure(qpos, qvel, state.time, threads or cores())
        return self._noisy(k, state.tick, true)

    def drawn(self, k: int, tick: int, picture: Drawn) -> Scan:
        """Return the reading of a depth camera whose picture was drawn.

        Args:
            k: number of the camera.
            tick: tick of the state.
            picture: picture of the camera, without noise.
        """
        return self._noisy(k, tick, self._scanners[k].drawn(picture))

    def shapes(self, k: int) -> RayShapes:
        """Return the shapes that a lidar, range sensor or depth camera can see."""
        return self._scanners[k].shapes

    def _noisy(self, k: int, tick: int, true: Scan) -> Scan:
        noise = self._sensors[k].noise
        assert isinstance(noise, RayNoise)
        return noise.applied(tick, true)


def _enclosed(spec: RangingSpec, scan: Scan, shapes: RayShapes) -> list[str]:
    """Return a note if most rays end nearer than `near` at links, such as the sensor's housing."""
    near = np.isneginf(scan.distance)
    links = Counter(shapes.links[g] for g in scan.geom[near].tolist())
    del links[""]  # leave out obstacles
    if links.total() <= ENCLOSED * near.size:
        return []
    ((link, _),) = links.most_common(1)
    text = (
        f"{links.total()} of {near.size} rays of sensor '{spec.name}' end nearer than "
        f"{spec.near:g} m at link {quote(link)}: their readings are -inf. If it is a housing, "
        f"name it in the sensor's 'exclude', which is now {listing(spec.excluded)}"
    )
    return [text]
