# SPDX-License-Identifier: Apache-2.0
"""Scans: the distances that a lidar, a range sensor or a depth camera measures in a state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.checks.numbers import count
from rbdyn_ros.dynamics.configuration import integrate_pos
from rbdyn_ros.dynamics.entry import check_pair
from rbdyn_ros.dynamics.ray_shapes import RayShapes, geometry_shapes
from rbdyn_ros.dynamics.rays import meet
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.dynamics.toolbox.frames import frame_pose
from rbdyn_ros.errors import Finding, ModelError
from rbdyn_ros.machine import cores
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model
from rbdyn_ros.sensors.camera_specs import DepthSpec
from rbdyn_ros.sensors.noise import Hashed
from rbdyn_ros.sensors.ray_specs import LidarSpec, RangeSpec

RangingSpec = LidarSpec | RangeSpec | DepthSpec

#: A drawn picture, (height, width, 2): depth [m] and number of the shape; infinity and -1: none.
Drawn = NDArray[np.float32]

#: A sweep is split into at most this many instants; the columns of an instant see the same state.
INSTANTS = 64

_GOLDEN_ANGLE = np.pi * (3.0 - np.sqrt(5.0))


@dataclass(frozen=True, slots=True, eq=False)
class Scan:
    """A measurement of a lidar, a range sensor or a depth camera, with the rays and shapes.

    Attributes:
        distance: (rows, columns), distance along each ray, or along z for a depth camera [m];
            infinity: nothing up to `far`; -infinity: a surface nearer than `near`; NaN: the
            reading is lost (REP 117).
        direction: (rows, columns, 3), vectors along the rays in the axes of the link: unit
            vectors, or vectors with z = 1 for a depth camera.
        geom: (rows, columns), index in `names` of the shape that each ray meets; -1 for none.
        names: names of the shapes that the rays can meet.
    """

    distance: Array
    direction: Array
    geom: Ints
    names: tuple[str, ...]

    @property
    def points(self) -> Array:
        """The measured points in the frame of the link, (rows, columns, 3); NaN without a hit."""
        measured = np.where(np.isfinite(self.distance), self.distance, np.nan)
        return np.asarray(measured[..., None] * self.direction)


def scan(
    m: Model,
    d: Data,
    sensor: RangingSpec,
    *,
    shapes: RayShapes | None = None,
    seed: int | None = None,
    tick: int = 0,
) -> Scan:
    """Return a measurement of a lidar, a range sensor or a depth camera at qpos.

    During a sweep the robot moves with qvel, so earlier rays start at earlier positions.

    Args:
        m: the Model, loaded with `contact` unless `shapes` are given.
        d: its Data, which is not changed.
        sensor: a LidarSpec, a RangeSpec or a DepthSpec.
        shapes: shapes that rays meet instead of the geometries, see rb.visual_shapes.
        seed: seed of noise and dropouts, a whole number; None: no noise and no dropouts.
        tick: number of the reading; the same tick has the same noise.

    Raises:
        ModelError: d was not made for m, the Model has no geometries, or it lacks the sensor's
            link.
        ParameterError: `tick` is not a whole number, 0 or more, or `seed` is not a whole number.
    """
    check_pair(m, d, "scan")
    scanner = Scanner(m, sensor, shapes)
    true = scanner.measure(d.qpos, d.qvel, d.time, cores())
    if seed is None:
        return true
    noise = RayNoise(sensor, count("seed", seed, -(2**63), 2**64 - 1), 0)
    return noise.applied(count("tick", tick, 0, 2**62), true)


class Scanner:
    """Makes the scans of one sensor, with its own Data. Only one thread may use a Scanner.

    Args:
        m: the Model.
        sensor: specification of the sensor.
        shapes: shapes that rays meet; None: the geometries.

    Attributes:
        sensor: specification of the sensor.
        shapes: the visible shapes.

    Raises:
        ModelError: the Model lacks the sensor's link, or has no geometries.
    """

    def __init__(self, m: Model, sensor: RangingSpec, shapes: RayShapes | None = None) -> None:
        self._m, self._d, self.sensor = m, make_data(m), sensor
        self._frame = m.frame_id(sensor.link)
        self.shapes = geometry_shapes(m) if shapes is None else shapes
        if shapes is None and not self.shapes.names:
            raise _nothing(m, sensor)
        for link in sensor.excluded:
            m.frame_id(link)  # to raise ModelError for an unknown link
        self._shown = np.array([x not in sensor.excluded for x in self.shapes.links], np.bool_)
        self._rays = directions(sensor)
        self._length = np.linalg.norm(self._rays, axis=-1)
        self._unit = self._rays / self._length[..., None]

    def measure(self, qpos: Array, qvel: Array, time: float, threads: int) -> Scan:
        """Return a measurement without noise.

        Args:
            qpos: (nq,) position [rad or m].
            qvel: (nv,) velocity [rad/s or m/s].
            time: time of this state [s].
            threads: largest number of threads.
        """
        sensor, rays = self.sensor, self._rays
        rows, columns = rays.shape[:2]
        distance, geom = np.empty((rows, columns)), np.empty((rows, columns), np.int64)
        for first, end, before in instants(sensor):
            self._go(qpos, qvel, time, before)
            length = self._length[:, first:end]
            part = self._unit[:, first:end].reshape(-1, 3)
            far, geom[:, first:end] = self._cast(part, threads, rows, float(length.max()))
            distance[:, first:end] = far / length
        if isinstance(sensor, RangeSpec):
            nearest = int(np.argmin(distance))
            distance = distance.reshape(-1)[None, nearest : nearest + 1]
            geom = geom.reshape(-1)[None, nearest : nearest + 1]
            rays = np.array([[[1.0, 0.0, 0.0]]])
        return self._limited(distance, rays, geom)

    def cast(
        self, qpos: Array, time: float, chosen: NDArray[np.bool_], threads: int
    ) -> tuple[Array, Ints]:
        """Return the hits of some rays up to `far`: distances and shapes, without noise.

        Args:
            qpos: (nq,) position.
            time: time of this state [s].
            chosen: (rows, columns) mask of the rays to cast; at least one ray.
            threads: largest number of threads.
        """
        self._go(qpos, np.zeros(0), time, 0.0)
        length = self._length[chosen]
        far, geom = self._cast(self._unit[chosen], threads, 1, float(length.max()))
        return far[0] / length, geom[0]

    def drawn(self, picture: Drawn) -> Scan:
        """Return the measurement of a depth camera without noise, from a drawn picture."""
        distance, geom = picture[..., 0].astype(np.float64), picture[..., 1].astype(np.int64)
        return self._limited(distance, self._rays, geom)

    def _limited(self, distance: Array, rays: Array, geom: Ints) -> Scan:
        distance[distance < self.sensor.near] = -np.inf
        beyond = distance > self.sensor.far
        distance[beyond], geom[beyond] = np.inf, -1
        return Scan(distance, rays, geom, self.shapes.names)

    def _go(self, qpos: Array, qvel: Array, time: float, before: float) -> None:
        """Move the Data to the pose `before` seconds before a state, with constant qvel."""
        d = self._d
        d.time = time - before
        d.qpos[:] = qpos
        if before > 0.0:
            integrate_pos(self._m, d.qpos, np.ascontiguousarray(qvel), -before)

    def _cast(self, rays: Array, threads: int, rows: int, longest: float) -> tuple[Array, Ints]:
        m, d = self._m, self._d
        origin, R = frame_pose(m, d, self._frame)
        starts = np.ascontiguousarray(np.broadcast_to(origin, rays.shape))
        along = np.ascontiguousarray(rays @ R.T)
        far = self.sensor.far * longest
        hits = meet(m, d, self.shapes, starts, along, far, self._shown, threads)
        return hits.distance.reshape(rows, -1), hits.geom.reshape(rows, -1)


def directions(sensor: RangingSpec) -> Array:
    """Return the directions of the rays as in a Scan, (rows, columns, 3)."""
    if isinstance(sensor, DepthSpec):
        plane = sensor.plane()
        return np.concatenate([plane, np.ones((*plane.shape[:2], 1))], axis=-1)
    if isinstance(sensor, RangeSpec):
        return _cone(sensor.field_of_view, sensor.rays)
    if sensor.angles is not None:
        azimuth, elevation = (x[None] for x in np.array(sensor.angles).T)
    else:
        around, up = sensor.horizontal, sensor.vertical
        azimuth = around.first + around.step * np.arange(around.rays)
        elevation = (up.first + up.step * np.arange(up.rays))[:, None]
    flat = np.cos(elevation)
    rays = np.broadcast_arrays(flat * np.cos(azimuth), flat * np.sin(azimuth), np.sin(elevation))
    return np.stack(rays, axis=-1)


def _cone(view: float, rays: int) -> Array:
    """Return directions spread evenly over a cone about x, the first of them along x (1, rays, 3).

    Source: Vogel, A better way to construct the sunflower head, 1979, on the sphere.
    """
    count = 1 if view == 0.0 else rays
    k = np.arange(count)
    x = 1.0 - (1.0 - np.cos(0.5 * view)) * k / max(count - 1, 1)
    across, turn = np.sqrt(np.maximum(1.0 - x * x, 0.0)), _GOLDEN_ANGLE * k
    return np.stack([x, across * np.cos(turn), across * np.sin(turn)], axis=-1)[None]


def instants(sensor: RangingSpec) -> Sequence[tuple[int, int, float]]:
    """Return (first column, last column + 1, time before the state [s]) of a sweep's instants.

    Columns are measured at equal intervals. The time of an instant is the mean time of its
    columns.
    """
    if isinstance(sensor, RangeSpec):
        return [(0, sensor.rays, 0.0)]
    if isinstance(sensor, DepthSpec):
        return [(0, sensor.width, 0.0)]
    if sensor.sweep == 0.0:
        return [(0, sensor.columns, 0.0)]
    edges = np.linspace(0, sensor.columns, min(INSTANTS, sensor.columns) + 1).astype(int).tolist()
    share = sensor.sweep / sensor.columns
    return [(a, b, sensor.sweep - share * 0.5 * (a + b - 1)) for a, b in pairwise(edges)]


class RayNoise:
    """Noise and dropouts of a sensor: a pure function of seed, sensor, ray and tick.

    Args:
        spec: the sensor.
        seed: any whole number.
        sensor: number of the sensor.
        begun: first tick; earlier ticks have the noise of this tick.
    """

    def __init__(self, spec: RangingSpec, seed: int, sensor: int, begun: int = 0) -> None:
        self._spec, self._begun = spec, begun
        self._numbers = Hashed(seed, sensor, _readings(spec))

    def applied(self, tick: int, true: Scan) -> Scan:
        """Return a scan with the noise and dropouts of a tick."""
        spec, noise, since = self._spec, self._spec.noise, max(tick - self._begun, 0)
        if not (noise.bias or noise.stddev or noise.resolution or spec.dropout):
            return true
        distance = true.distance + noise.bias
        if noise.stddev > 0.0:
            distance += noise.stddev * self._numbers.white(since).reshape(distance.shape)
        if noise.resolution > 0.0:
            distance = np.round(distance / noise.resolution) * noise.resolution
        distance[distance < spec.near] = -np.inf
        distance[distance > spec.far] = np.inf
        if spec.dropout > 0.0:
            lost = self._numbers.uniform(since).reshape(distance.shape) < spec.dropout
            distance[lost] = np.nan
        return Scan(distance, true.direction, true.geom, true.names)


def _readings(spec: RangingSpec) -> int:
    if isinstance(spec, RangeSpec):
        return 1
    return spec.rows * spec.columns if isinstance(spec, LidarSpec) else spec.width * spec.height


def _nothing(m: Model, sensor: RangingSpec) -> ModelError:
    text = (
        f"sensor '{sensor.name}' sees the collision geometries, but '{m.name}' has none; load a "
        "robot with <collision> elements and with contact (contact:=true), or let the sensor see "
        "visuals (sees: visual)"
    )
    return ModelError(Finding("no-geometries", text, "error", f"sensor '{sensor.name}'"))
