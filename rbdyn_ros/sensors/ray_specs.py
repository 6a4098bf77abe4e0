# SPDX-License-Identifier: Apache-2.0
"""Sensors that measure distances by rays, as declared in a sensor file or in Python."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from rbdyn_ros.checks.numbers import count, finite
from rbdyn_ros.errors import Finding, ParameterError, RbdynError, apart, not_allowed

#: Targets of rays: the <collision> elements and obstacles, or the <visual> elements and obstacles.
SEEN = ("collision", "visual")

#: The kinds of range sensors.
RADIATION = ("infrared", "ultrasound")

#: Largest number of rays of a sensor.
MAX_RAYS = 1_000_000

#: A full turn and a quarter turn [rad], rounded up to six digits, as files write them.
TURN, QUARTER = 6.28319, 1.5708

#: If the ends of a turn are nearer to each other than this angle, they share a ray [rad].
FULL_TURN = 1e-4

#: Upper limit of latencies and sweeps [s].
LONGEST = 60.0

_ANGLES = "azimuth and elevation of each ray, up to one full turn"


@dataclass(frozen=True, slots=True)
class Fan:
    """Evenly spaced rays, with a ray at each end; the ends of a full turn are one ray.

    Attributes:
        first: angle of the first ray [rad].
        last: angle of the last ray [rad], not below `first`.
        rays: number of rays.
    """

    first: float
    last: float
    rays: int

    @property
    def step(self) -> float:
        """The angle between neighbouring rays [rad], or 0 for a single ray."""
        if self.last - self.first > 2.0 * math.pi - FULL_TURN:
            return 2.0 * math.pi / self.rays
        return (self.last - self.first) / (self.rays - 1) if self.rays > 1 else 0.0

    def findings(self, name: str, limit: float) -> list[Finding]:
        """Return the faults of a fan whose angles must be between -limit and limit."""
        found = checked(
            lambda: finite(f"{name}.from", self.first, low=-limit, high=limit, element=name),
            lambda: finite(f"{name}.to", self.last, low=-limit, high=limit, element=name),
            lambda: count(f"{name}.rays", self.rays, 1, MAX_RAYS, element=name),
        )
        if not found and not 0.0 <= self.last - self.first <= 2.0 * math.pi + FULL_TURN:
            first, last = apart(self.first, self.last)
            text = f"{name} goes from {first} to {last} rad; the last angle "
            text += "must be at least the first, and at most a full turn above the first"
            found = [Finding("bad-argument", text, "error", name)]
        if not found and self.rays > 1 and self.last == self.first:
            text = f"{name} has {self.rays} rays, but its first and its last angle are equal; "
            text += "allowed is 1 ray"
            found = [Finding("bad-argument", text, "error", name)]
        return found


@dataclass(frozen=True, slots=True)
class RangeNoise:
    """The errors of a distance.

    Attributes:
        stddev: standard deviation of white noise [m].
        bias: constant offset [m].
        resolution: the smallest step [m]; 0: not rounded.
    """

    stddev: float = 0.0
    bias: float = 0.0
    resolution: float = 0.0


_ROW = (tuple, type(None))
#: Types of the fields that hold neither a number nor an allowed word, with their names in
#: messages.
TYPES: dict[str, tuple[Any, str]] = {
    "name": (str, "a name"),
    "link": (str, "the name of a link"),
    "noise": (RangeNoise, "a RangeNoise"),
    "horizontal": (Fan, "a Fan"),
    "vertical": (Fan, "a Fan"),
    "exclude": (_ROW, "a list of names of links"),
    "angles": (_ROW, "pairs of angles"),
    "intrinsics": (_ROW, "fx, fy, cx and cy"),
    "distortion": (tuple, "4, 5 or 8 coefficients"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RaySpec:
    """The base class of sensors that measure by rays; the constructor checks all values.

    Attributes:
        name: name of the sensor.
        link: link whose frame the sensor has: x forward, z up.
        rate: readings per second [Hz].
        near: smallest measured distance [m].
        far: largest measured distance [m].
        noise: errors of each distance.
        dropout: share of readings that are lost, 0 to 1.
        latency: simulated time between a measurement and its message [s].
        sees: one of SEEN.
        exclude: links whose shapes rays pass through; None: `link` alone.

    Raises:
        ParameterError: with a finding for each value that is not allowed.
    """

    name: str = field(kw_only=False)
    link: str = field(kw_only=False)
    rate: float
    near: float
    far: float
    noise: RangeNoise = RangeNoise()
    dropout: float = 0.0
    latency: float = 0.0
    sees: str = SEEN[0]
    exclude: tuple[str, ...] | None = None

    @property
    def excluded(self) -> tuple[str, ...]:
        """The links whose shapes rays pass through."""
        return (self.link,) if self.exclude is None else self.exclude

    def __post_init__(self) -> None:
        for each in fields(self):
            object.__setattr__(self, each.name, _without_lists(getattr(self, each.name)))
        if findings := self._type_findings() or self.findings():
            raise ParameterError(findings)

    def _type_findings(self) -> list[Finding]:
        """Return a finding for each value of a wrong type; numbers are checked elsewhere."""
        found: list[Finding] = []
        for each in fields(self):
            kind, allowed = TYPES.get(each.name, (object, ""))
            if not isinstance(value := getattr(self, each.name), kind):
                found += not_allowed(each.name, value, allowed, each.name).findings
        if not found and not all(isinstance(link, str) for link in self.exclude or ()):
            allowed = TYPES["exclude"][1]
            found += not_allowed("exclude", self.exclude, allowed, "exclude").findings
        return found

    def findings(self) -> list[Finding]:
        """Return all faults of the sensor."""
        noise = self.noise
        found = checked(
            lambda: finite("rate", self.rate, above=0.0, high=1e6),
            lambda: finite("near", self.near, low=0.0),
            lambda: finite("far", self.far, above=0.0, high=1e9),
            lambda: finite("noise.stddev", noise.stddev, low=0.0, element="noise"),
            lambda: finite("noise.bias", noise.bias, element="noise"),
            lambda: finite("noise.resolution", noise.resolution, low=0.0, element="noise"),
            lambda: finite("dropout", self.dropout, low=0.0, high=1.0),
            lambda: finite("latency", self.latency, low=0.0, high=LONGEST),
        )
        found += one_of("sees", self.sees, SEEN)
        if not found and self.near >= self.far:
            near, far = apart(self.near, self.far)
            text = f"near is {near} m and far is {far} m; allowed is near below far"
            found.append(Finding("bad-argument", text, "error", "far"))
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class LidarSpec(RaySpec):
    """A lidar: a fan of rays in one row or in several, or rays at any angles.

    A ray at azimuth a and elevation e goes along (cos e cos a, cos e sin a, sin e).

    Attributes:
        horizontal: azimuths of the columns, anticlockwise about z from the x axis.
        vertical: elevations of the rows above the plane of x and y.
        angles: azimuth and elevation of each ray [rad]; None: `horizontal` and `vertical` are
            used.
        sweep: time in which the columns (or `angles`) are measured one after the other [s]; it
            ends at the time of the reading. 0: all are measured at once.
    """

    horizontal: Fan = Fan(-math.pi, math.pi, 360)
    vertical: Fan = Fan(0.0, 0.0, 1)
    angles: tuple[tuple[float, float], ...] | None = None
    sweep: float = 0.0

    def findings(self) -> list[Finding]:
        """Return all faults of the sensor."""
        found = RaySpec.findings(self)
        found += checked(lambda: finite("sweep", self.sweep, low=0.0, high=LONGEST))
        if not found and self.sweep * self.rate > 1.0 + 1e-9:
            sweep, period = apart(self.sweep, 1 / self.rate)
            text = f"sweep is {sweep} s; allowed is at most the period, {period} s"
            found.append(Finding("bad-argument", text, "error", "sweep"))
        if self.angles is not None:
            return found + self._angle_findings(self.angles)
        found += self.horizontal.findings("horizontal", TURN)
        found += self.vertical.findings("vertical", QUARTER)
        rays = self.horizontal.rays * self.vertical.rays
        if not found and rays > MAX_RAYS:
            text = f"the lidar has {rays} rays; allowed are at most {MAX_RAYS}"
            found.append(Finding("bad-argument", text, "error", "horizontal"))
        return found

    @staticmethod
    def _angle_findings(angles: tuple[tuple[float, float], ...]) -> list[Finding]:
        found = checked(
            lambda: count("the number of angles", len(angles), 1, MAX_RAYS, element="angles")
        )
        found = found or checked(
            lambda: finite("angles", angles, (None, 2), low=-TURN, high=TURN, allowed=_ANGLES),
            lambda: finite(
                "elevation", [e for _, e in angles], (None,), low=-QUARTER,
                high=QUARTER, element="angles",
            ),
        )[:1]  # fmt: skip
        return found

    @property
    def rows(self) -> int:
        """The number of rows; 1 with `angles`."""
        return 1 if self.angles is not None else self.vertical.rays

    @property
    def columns(self) -> int:
        """The number of columns; with `angles` the number of rays."""
        return self.horizontal.rays if self.angles is None else len(self.angles)


def is_planar(spec: LidarSpec) -> bool:
    """Return whether the rays of a lidar are in the xy plane and evenly spaced."""
    return spec.angles is None and spec.vertical.rays == 1 and spec.vertical.first == 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeSpec(RaySpec):
    """A range sensor, which measures the nearest distance in a cone along x.

    Attributes:
        field_of_view: full angle of the cone [rad], below pi; 0: a single ray.
        radiation: one of RADIATION.
        rays: number of rays in the cone.
    """

    field_of_view: float = 0.0
    radiation: str = RADIATION[0]
    rays: int = 32

    def findings(self) -> list[Finding]:
        """Return all faults of the sensor."""
        view = self.field_of_view
        found = RaySpec.findings(self) + checked(
            lambda: finite("field_of_view", view, low=0.0, high=math.pi - 1e-3),
            lambda: count("rays", self.rays, 1, MAX_RAYS),
        )
        return [*found, *one_of("radiation", self.radiation, RADIATION)]


def checked(*checks: Callable[[], object]) -> list[Finding]:
    """Run functions that raise errors; return the findings of all errors."""
    return [finding for check in checks for finding in _findings(check)]


def one_of(what: str, word: object, words: Sequence[str]) -> Sequence[Finding]:
    """Return a finding if a word is not one of the allowed words."""
    return () if word in words else not_allowed(what, word, " or ".join(words), what).findings


def _findings(check: Callable[[], object]) -> Iterable[Finding]:
    try:
        check()
    except RbdynError as error:
        return error.findings
    return ()


def _without_lists(value: object) -> object:
    """Return a value with tuples for lists and arrays, because specifications must be hashable."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return tuple(map(_without_lists, value)) if isinstance(value, list | tuple) else value
