# SPDX-License-Identifier: Apache-2.0
"""The motion of joints that are driven over time, as polynomials between knots."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Arrays
from rbdyn_ros.description.parts.joint_types import JOINT_SPECS
from rbdyn_ros.description.parts.types import Joint, Trajectory
from rbdyn_ros.errors import DescriptionError, Finding, quote

DEGREE = 5
# Largest overshoot of a spline, as a multiple of the samples' range. Usual samples cause an
# overshoot of some tenths, and badly chosen samples a few times the range. A much larger overshoot
# means wrong times, such as a nanosecond between two samples.
SWING = 10.0
MISSED = 1e-6  # a spline with a larger error at a sample, as a part of the range, is unusable
PROBES = 33  # points of each piece at which the overshoot is measured


def driven_coordinates(joints: Sequence[Joint]) -> Arrays:
    """Return the fields drive_* and knot_* of driven joints.

    A mimic joint of a driven joint has no knots.

    Raises:
        DescriptionError: no usable spline through the samples of a joint exists.
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
                unusable += _audit(joint, motion, k, coefficient)
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
    """Return the spline of coordinate k: start times and polynomial coefficients of its pieces.

    A piece begins at every sample; in the last piece the joint is at rest. Coefficients are NaN if
    the numbers are too extreme for a spline.
    """
    # imported here, because the import takes half a second
    from scipy.interpolate import PPoly, make_interp_spline

    t = np.array(motion.times)
    y = np.array(motion.positions)[:, k]
    at_rest = [(1, 0.0), (2, 0.0)]
    ends = "periodic" if motion.periodic else (at_rest, at_rest)
    try:
        with np.errstate(all="ignore"):  # _audit reports overflow
            pieces = PPoly.from_spline(make_interp_spline(t, y, DEGREE, bc_type=ends))
    except (ValueError, np.linalg.LinAlgError):
        return t, np.full((len(t), DEGREE + 1), np.nan)
    # drop empty pieces, and the pieces of a periodic spline outside the samples
    begins = pieces.x[:-1]
    real = (np.diff(pieces.x) > 0.0) & (begins >= t[0]) & (begins < t[-1])
    final = np.zeros(DEGREE + 1)
    final[0] = y[-1]
    return np.append(begins[real], t[-1]), np.vstack([pieces.c[::-1, real].T, final])


def _audit(
    joint: Joint, motion: Trajectory, k: int, coefficient: NDArray[np.float64]
) -> list[Finding]:
    """Return an error if a spline misses its samples or overshoots them too far."""
    y = np.array(motion.positions)[:, k]
    lowest, highest = y.min(), y.max()
    with np.errstate(all="ignore"):
        length = np.diff(np.array(motion.times))[:, None]
        positions = _evaluate(coefficient[:-1], length * np.linspace(0.0, 1.0, PROBES))
        # the second term allows for rounding errors if all samples are equal
        scale = highest - lowest + 1e-9 * np.abs(y).max()
        missed = np.abs(positions[:, [0, -1]] - np.stack([y[:-1], y[1:]], axis=1)).max(axis=1)
        swing = np.maximum(positions - highest, lowest - positions)
    lost = ~(np.isfinite(coefficient[:-1]).all(axis=1) & (missed <= MISSED * scale))
    if lost.any():
        # report the shortest of the bad pieces
        i = int(np.argmin(np.where(lost, length[:, 0], np.inf)))
        message = "numbers too extreme for a spline"
        return [_finding(joint, motion, i, message)]
    if swing.max() > SWING * scale:
        i, probe = divmod(int(swing.argmax()), PROBES)
        message = (
            f"a spline that overshoots to {positions[i, probe]:.3g}; all samples are between "
            f"{lowest:g} and {highest:g}"
        )
        return [_finding(joint, motion, i, message)]
    return []


def _evaluate(coefficient: NDArray[np.float64], x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values at x of polynomials, one in each row, by Horner's scheme."""
    value = np.zeros_like(x)
    for column in coefficient.T[::-1]:
        value = value * x + column[:, None]
    return value


def _finding(joint: Joint, motion: Trajectory, i: int, message: str) -> Finding:
    """Return an error about the piece from sample i to sample i + 1; samples count from 0."""
    owner = f"joint {quote(joint.name)}"
    begin, end = motion.times[i], motion.times[i + 1]
    text = (
        f"{owner}: between samples {i + 1} and {i + 2} (times {begin:g} and {end:g}) its "
        f"trajectory has {message}"
    )
    allowed = "times and positions of a smooth motion"
    return Finding("bad-trajectory", text, "error", owner, joint.line, "", allowed)
