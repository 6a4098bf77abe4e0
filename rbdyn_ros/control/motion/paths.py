# SPDX-License-Identifier: Apache-2.0
"""Joint paths: polynomials of time between points, their peaks and their extent."""

import math

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.control.motion.sampling import sample, write_peaks
from rbdyn_ros.errors import bad_argument

ORDERS = (1, 3, 5)


class Path:
    """An immutable path of n joints through p points in time.

    Between two points each joint follows a polynomial of degree `order`. It has the positions of
    both points (1), also their velocities (3), or also their accelerations (5).

    Args:
        times: (p,) increasing times of the points [s].
        positions: (p, n) positions at these times [rad or m].
        velocities: (p, n) [rad/s or m/s], or None.
        accelerations: (p, n) [rad/s^2 or m/s^2], or None; they need velocities.
        order: 1, 3 or 5; None: the highest for which there are derivatives.

    Attributes:
        times, positions, velocities, accelerations: the arguments, with zeros for None.
        order: degree of the polynomials.
        duration: time from the first to the last point [s].

    Raises:
        ParameterError: shapes do not fit, a number is not finite, times do not increase, or
            velocities between points overflow.
    """

    __slots__ = ("_nodes", "_peaks", "accelerations", "order", "positions", "times", "velocities")

    def __init__(
        self,
        times: ArrayLike,
        positions: ArrayLike,
        velocities: ArrayLike | None = None,
        accelerations: ArrayLike | None = None,
        order: int | None = None,
    ) -> None:
        self.times = _checked_times(times)
        rates = {"velocities": velocities, "accelerations": accelerations}
        self._nodes = _nodes(len(self.times), positions, rates)
        self.positions, self.velocities, self.accelerations = self._nodes
        self.order = _checked_order(order, velocities is not None, accelerations is not None)
        self._peaks = np.zeros((4, self.positions.shape[1]))
        self._peaks[2:] = self.positions.min(axis=0), self.positions.max(axis=0)
        write_peaks(self.times, self._nodes, self.order, self._peaks)
        self._peaks.flags.writeable = False
        if not np.isfinite(self._peaks).all():
            text = (
                "the velocities or accelerations between points of the path are not finite; use "
                "smaller distances or longer times"
            )
            raise bad_argument("path", text)

    @property
    def nodes(self) -> Array:
        """Positions, velocities and accelerations of the points, (3, p, n)."""
        return self._nodes

    @property
    def duration(self) -> float:
        return float(self.times[-1] - self.times[0])

    def sample(self, t: float, rows: Array) -> Array:
        """Write and return position, velocity and acceleration at a time, (3, n).

        Before the first and after the last point the joints rest.

        Args:
            t: time as in `times` [s].
            rows: (3, n) output, for example Target.rows.

        Raises:
            ParameterError: the time is not finite, or rows is not a float64 array (3, n).
        """
        if not math.isfinite(t):
            raise bad_argument("t", f"the time is {t!r}; allowed is a finite number")
        n = self.positions.shape[1]
        fits = isinstance(rows, np.ndarray) and rows.shape == (3, n) and rows.dtype == np.float64
        if not (fits and rows.flags.c_contiguous and rows.flags.writeable):
            text = f"rows must be a contiguous float64 array (3, {n}) to write in"
            raise bad_argument("rows", text)
        sample.call(self.times, self._nodes, self.order, t, rows)
        return rows

    def peaks(self) -> tuple[Array, Array]:
        """Return the largest absolute velocity (n,) and acceleration (n,) of each joint.

        They are exact, found at the points and at extrema between them. The velocity jumps at
        points of a path of order 1, without an acceleration there.
        """
        return self._peaks[0], self._peaks[1]

    def extent(self) -> tuple[Array, Array]:
        """Return the lowest (n,) and the highest position (n,) of each joint [rad or m].

        They are exact, found at the points and where a joint reverses between them.
        """
        return self._peaks[2], self._peaks[3]

    def scaled(self, duration: float) -> "Path":
        """Return the path stretched to another duration [s], with the same start time.

        Raises:
            ParameterError: the duration is not finite and above 0, or this path has one point.
        """
        if self.duration == 0.0:
            raise bad_argument("duration", "a path of one point cannot be stretched in time")
        ratio = finite("the duration of a path", duration, above=0.0, element="") / self.duration
        start = self.times[0]
        with np.errstate(all="ignore"):  # Path refuses numbers that overflow
            rates = self.velocities / ratio, self.accelerations / ratio**2
            return Path(start + (self.times - start) * ratio, self.positions, *rates, self.order)


def _checked_times(times: ArrayLike) -> Array:
    values = finite("times of a path", times, None)
    if values.ndim != 1 or len(values) == 0:
        text = f"times of a path have the shape {values.shape}; allowed is (p,) with p > 0"
        raise bad_argument("times", text)
    late = np.flatnonzero(~(values[1:] > values[:-1]))
    if late.size:
        i = int(late[0]) + 1
        text = f"point {i} of the path is at {values[i]:g} s, not after the previous one"
        raise bad_argument("times", text)
    return values


def _nodes(p: int, places: ArrayLike, rates: dict[str, ArrayLike | None]) -> Array:
    """Return the nodes (3, p, n), see Path.nodes, or raise ParameterError for other shapes.

    `places` are the positions; `rates` are velocities and accelerations by name, None for zeros.
    """
    positions = finite("positions of a path", places, None)
    if positions.ndim != 2 or len(positions) != p or positions.shape[1] == 0:
        text = f"positions of a path of {p} times have the shape {positions.shape}, not ({p}, n>0)"
        raise bad_argument("positions", text)
    nodes = np.zeros((3, *positions.shape))
    nodes[0] = positions
    for row, (name, value) in zip(nodes[1:], rates.items(), strict=True):
        if value is None:
            continue
        values = finite(f"{name} of a path", value, None)
        if values.shape != positions.shape:
            text = f"{name} of a path have shape {values.shape}, but positions {positions.shape}"
            raise bad_argument(name, text)
        row[:] = values
    nodes.flags.writeable = False
    return nodes


def _checked_order(order: object, velocities: bool, accelerations: bool) -> int:
    if accelerations and not velocities:
        raise bad_argument("velocities", "a path with accelerations also needs velocities")
    highest = 5 if accelerations else 3 if velocities else 1
    if order is None:
        return highest
    degree = int(finite("the order of a path", order, allowed="1, 3 or 5", element=""))
    if degree != order or degree not in ORDERS or degree > highest:
        allowed = ", ".join(str(known) for known in ORDERS if known <= highest)
        text = f"the order of a path is {order!r}; the given derivatives allow {allowed}"
        raise bad_argument("order", text)
    return degree
