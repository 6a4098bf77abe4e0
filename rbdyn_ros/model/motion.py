"""The motion of joints that are driven over time, as polynomials between knots."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Arrays
from rbdyn_ros.description.joint_types import JOINT_SPECS
from rbdyn_ros.description.types import Joint, Trajectory
from rbdyn_ros.errors import DescriptionError, Finding, quote

DEGREE = 5
# Between samples a spline may swing out: some tenths of the range of the samples where these are
# even, a few times the range where the author was careless with them. Far beyond that the times
# are a slip (a nanosecond between two samples), and the mechanism would be thrown about.
SWING = 10.0
MISSED = 1e-6  # of the range: a spline that misses its samples by more has lost its digits
PROBES = 33  # places in a piece where it is looked how far it swings out


def driven_coordinates(joints: Sequence[Joint]) -> Arrays:
    """Return the fields drive_* and knot_* of driven joints.

    A joint without a motion of its own follows one that is driven: it has no knots.

    Raises:
        DescriptionError: no usable spline runs through the samples of some joint.
    """
    number: list[int] = []
    period: list[float] = []
    times: list[NDArray[np.float64]] = [np.empty(0)]
    coefficients: list[NDArray[np.float64]] = [np.empty((0, DEGREE + 1))]
    unusable: list[Finding] = []
    for joint in joints:
        motion = joint.motion
        for k in range(len(JOINT_SPECS[joint.type].coordinates)):
            if isinstance(motion, Trajectory):
                time, coefficient = _knots(motion, k)
                unusable += _judge(joint, motion, k, coefficient)
                times.append(time)
                coefficients.append(coefficient)
                number.append(len(time))
                period.append(motion.times[-1] - motion.times[0] if motion.periodic else 0.0)
            else:
                number.append(0)
                period.append(0.0)
    if unusable:
        raise DescriptionError(unusable)
    return {
        "drive_knotnum": np.array(number, np.int64),
        "drive_period": np.array(period),
        "knot_time": np.concatenate(times),
        "knot_coef": np.concatenate(coefficients),
    }


def _knots(motion: Trajectory, k: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the spline through coordinate k: begins of the pieces, coefficients in powers.

    Every sample begins a piece. The last has no end: there the joint stands still. Coefficients
    are NaN where the numbers are too extreme for any spline.
    """
    from scipy.interpolate import PPoly, make_interp_spline  # takes half a second to import

    t = np.array(motion.times)
    y = np.array(motion.positions)[:, k]
    at_rest = [(1, 0.0), (2, 0.0)]
    ends = "periodic" if motion.periodic else (at_rest, at_rest)
    try:
        with np.errstate(all="ignore"):  # what overflows is told by _judge
            pieces = PPoly.from_spline(make_interp_spline(t, y, DEGREE, bc_type=ends))
    except (ValueError, np.linalg.LinAlgError):
        return t, np.full((len(t), DEGREE + 1), np.nan)
    begins = pieces.x[:-1]  # a periodic spline has pieces outside, any spline has empty ones
    real = (np.diff(pieces.x) > 0.0) & (begins >= t[0]) & (begins < t[-1])
    final = np.zeros(DEGREE + 1)
    final[0] = y[-1]
    return np.append(begins[real], t[-1]), np.vstack([pieces.c[::-1, real].T, final])


def _judge(
    joint: Joint, motion: Trajectory, k: int, coefficient: NDArray[np.float64]
) -> list[Finding]:
    """Return what is wrong with a spline: it misses its samples, or swings far out of them."""
    y = np.array(motion.positions)[:, k]
    lowest, highest = y.min(), y.max()
    with np.errstate(all="ignore"):
        length = np.diff(np.array(motion.times))[:, None]
        positions = _evaluate(coefficient[:-1], length * np.linspace(0.0, 1.0, PROBES))
        # where all samples are equal there are but rounding errors
        scale = highest - lowest + 1e-9 * np.abs(y).max()
        missed = np.abs(positions[:, [0, -1]] - np.stack([y[:-1], y[1:]], axis=1)).max(axis=1)
        swing = np.maximum(positions - highest, lowest - positions)
    lost = ~(np.isfinite(coefficient[:-1]).all(axis=1) & (missed <= MISSED * scale))
    if lost.any():
        # where all is lost the shortest piece is the one to look at
        i = int(np.argmin(np.where(lost, length[:, 0], np.inf)))
        message = "numbers too extreme for a spline to run through them"
        return [_finding(joint, motion, i, message)]
    if swing.max() > SWING * scale:
        i, probe = divmod(int(swing.argmax()), PROBES)
        message = (
            f"a spline that swings out to {positions[i, probe]:.3g}, though all samples lie "
            f"between {lowest:g} and {highest:g}"
        )
        return [_finding(joint, motion, i, message)]
    return []


def _evaluate(coefficient: NDArray[np.float64], x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values of polynomials, one a row, at places x: Horner's scheme."""
    value = np.zeros_like(x)
    for column in coefficient.T[::-1]:
        value = value * x + column[:, None]
    return value


def _finding(joint: Joint, motion: Trajectory, i: int, message: str) -> Finding:
    """Return an error about the piece from sample i to the next, which count from 0."""
    owner = f"joint {quote(joint.name)}"
    begin, end = motion.times[i], motion.times[i + 1]
    text = (
        f"{owner}: its trajectory has between the samples {i + 1} and {i + 2} (times {begin:g} "
        f"and {end:g}) {message}"
    )
    allowed = "times and positions that a smooth motion can run through"
    return Finding("bad-trajectory", text, "error", owner, joint.line, "", allowed)
