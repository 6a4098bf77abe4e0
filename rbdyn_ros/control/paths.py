"""Paths of the joints over time: polynomials between points, and how fast they become."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.control.sampling import sample, write_peaks
from rbdyn_ros.errors import bad_argument

ORDERS = (1, 3, 5)


class Path:
    """Positions of n joints between p points in time; it is not changed once it is made.

    Between two points each joint follows the polynomial of degree `order` that has the positions
    of both (1), their velocities too (3), their accelerations too (5).

    Args:
        times: (p,) of the points, each later than the one before [s].
        positions: (p, n) [rad or m].
        velocities: (p, n), or None.
        accelerations: (p, n), or None; with them there must be velocities.
        order: 1, 3 or 5; None: the highest for which there are derivatives.

    Attributes:
        times, positions, velocities, accelerations: as given, zeros where nothing was.
        order: degree of the polynomials.
        duration: from the first point to the last [s].

    Raises:
        ParameterError: shapes that do not fit, numbers that are not finite, times that do not
            increase, points so far apart that velocities between them overflow.
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
        self._peaks = np.zeros((2, self.positions.shape[1]))
        write_peaks(self.times, self._nodes, self.order, self._peaks)
        self._peaks.flags.writeable = False
        if not np.isfinite(self._peaks).all():
            text = (
                "between points of the path velocities or accelerations are not finite; allowed "
                "are points at such places and times that they are"
            )
            raise bad_argument("path", text)

    @property
    def duration(self) -> float:
        return float(self.times[-1] - self.times[0])

    def sample(self, t: float, rows: Array) -> Array:
        """Write and return position, velocity and acceleration at a time, (3, n).

        Before the first point and from the last one on the joints rest there.

        Args:
            t: on the clock of `times` [s].
            rows: (3, n), Target.rows say; nothing else is allocated.

        Raises:
            ParameterError: the time is not finite, or rows is no such array.
        """
        if not math.isfinite(t):
            raise bad_argument("t", f"the time is {t!r}; allowed is a finite number")
        _check_rows(rows, self.positions.shape[1])
        sample(self.times, self._nodes, self.order, t, rows)
        return rows

    def peaks(self) -> tuple[Array, Array]:
        """Return the largest velocity (n,) and acceleration (n,) of each joint, magnitudes.

        They are exact: those at the points and where their derivatives vanish between them. A
        velocity that jumps in a point (order 1) has no acceleration there.
        """
        return self._peaks[0], self._peaks[1]

    def scaled(self, duration: float) -> Path:
        """Return the same way in another time [s]; it begins when this one does.

        Raises:
            ParameterError: the duration is not a finite number above 0; or this path is one point.
        """
        if self.duration == 0.0:
            raise bad_argument("duration", "a path of one point cannot be stretched in time")
        ratio = finite("the duration of a path", duration, above=0.0, element="") / self.duration
        start = self.times[0]
        with np.errstate(all="ignore"):  # what overflows is refused as every path is
            rates = self.velocities / ratio, self.accelerations / ratio**2
            return Path(start + (self.times - start) * ratio, self.positions, *rates, self.order)


def _checked_times(times: ArrayLike) -> Array:
    values = finite("times of a path", times, None)
    if values.ndim != 1 or len(values) == 0:
        text = f"times of a path have the shape {values.shape}; allowed is (p,), p points"
        raise bad_argument("times", text)
    late = np.flatnonzero(~(values[1:] > values[:-1]))
    if late.size:
        i = int(late[0]) + 1
        text = f"point {i} of the path is at {values[i]:g} s, not after the one before it"
        raise bad_argument("times", text)
    return values


def _nodes(p: int, places: ArrayLike, rates: dict[str, ArrayLike | None]) -> Array:
    """Return positions, velocities and accelerations of the points, (3, p, n)."""
    positions = finite("positions of a path", places, None)
    if positions.ndim != 2 or len(positions) != p or positions.shape[1] == 0:
        text = f"positions of a path of {p} times have the shape {positions.shape}, not ({p}, n)"
        raise bad_argument("positions", text)
    nodes = np.zeros((3, *positions.shape))
    nodes[0] = positions
    for row, (name, value) in zip(nodes[1:], rates.items(), strict=True):
        if value is None:
            continue
        values = finite(f"{name} of a path", value, None)
        if values.shape != positions.shape:
            text = f"{name} of a path have the shape {values.shape}, positions {positions.shape}"
            raise bad_argument(name, text)
        row[:] = values
    nodes.flags.writeable = False
    return nodes


def _checked_order(order: object, velocities: bool, accelerations: bool) -> int:
    if accelerations and not velocities:
        raise bad_argument("velocities", "a path with accelerations needs velocities too")
    highest = 5 if accelerations else 3 if velocities else 1
    if order is None:
        return highest
    degree = int(finite("the order of a path", order, allowed="1, 3 or 5", element=""))
    if degree != order or degree not in ORDERS or degree > highest:
        allowed = ", ".join(str(known) for known in ORDERS if known <= highest)
        text = f"the order of a path is {order!r}; allowed with the derivatives given is {allowed}"
        raise bad_argument("order", text)
    return degree


def _check_rows(rows: object, n: int) -> None:
    fits = isinstance(rows, np.ndarray) and rows.shape == (3, n) and rows.dtype == np.float64
    if not (fits and rows.flags.c_contiguous and rows.flags.writeable):  # type: ignore[attr-defined]
        raise bad_argument("rows", f"rows must be a contiguous float64 array (3, {n}) to write in")
