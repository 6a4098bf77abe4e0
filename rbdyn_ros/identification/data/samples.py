# SPDX-License-Identifier: Apache-2.0
"""Samples of a recording, independent of its file format, and their checks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Array
from rbdyn_ros.errors import exactly, quote
from rbdyn_ros.recording.bags import recording_error

#: Largest number of samples: more than half an hour at 1 kHz.
MOST_SAMPLES = 2_000_000
#: Largest fraction of incomplete samples, and of samples with a repeated stamp.
TOLERATED = 0.01
FEWEST = 10
#: Gaps are interpolated up to this many periods or this time [s], whichever is longer.
LONGEST_GAP = 5.0, 0.1
#: Largest position, speed, effort and time: products of larger numbers may overflow.
LARGEST = 1e9

#: Names of joints and rows (p, n), by the measured quantity.
Measured = Mapping[str, tuple[Sequence[str], Array]]


@dataclass(frozen=True, slots=True)
class Samples:
    """A measured motion, not filtered.

    Attributes:
        names: names of the joints (n).
        time: (p,) time since the first sample, increasing [s].
        qpos: (p, n) positions [rad or m].
        qvel: (p, n) velocities [rad/s or m/s]; None if the recording lacks velocities.
        effort: (p, n) efforts [N m or N].
        left_out: number of incomplete samples that were skipped.
        others: finite positions of other joints by name, each of its own length [rad or m].
            Joints that the recording does not name are missing.
        motors: (p,) angles of the motors of some joints, by joint [rad].
    """

    names: tuple[str, ...]
    time: Array
    qpos: Array
    qvel: Array | None
    effort: Array
    left_out: int = 0
    others: Mapping[str, Array] = field(default_factory=dict)
    motors: Mapping[str, Array] = field(default_factory=dict)


def checked_samples(
    source: str,
    names: Sequence[str],
    time: Array,
    qpos: Array,
    qvel: Array,
    effort: Array,
    others: Mapping[str, Array] | None = None,
    motors: Mapping[str, Array] | None = None,
) -> Samples:
    """Return the complete samples whose stamps do not repeat.

    Args:
        source: file name for messages.
        names: names of the joints (n).
        time: (p,) increasing times of the samples [s]; NaN where missing.
        qpos: (p, n) positions [rad or m]; NaN where missing, also in qvel and effort.
        qvel: (p, n) velocities [rad/s or m/s].
        effort: (p, n) efforts [N m or N].
        others: positions of other joints, NaN where missing [rad or m]; None: no other joints.
        motors: (p,) angles of motors by joint, NaN where missing [rad]; None: no motors.

    Raises:
        ParameterError: there are too few samples, too many are incomplete or repeat a stamp, a
            number is too large, or time goes back.
    """
    measured = {"position": (names, qpos), "effort": (names, effort)}
    measured |= {"motor angle": (tuple(motors or ()), _columns(motors or {}, len(time)))}
    whole = np.isfinite(time)
    for _, rows in measured.values():
        whole &= np.isfinite(rows).all(axis=1)
    if not whole.all():
        _check_mostly(whole, source, time, measured)
    left_out = int(len(whole) - whole.sum())
    found = {name: rows[np.isfinite(rows)] for name, rows in (others or {}).items()}
    found = {name: rows for name, rows in found.items() if len(rows)}
    fresh = np.diff(time[whole], prepend=-np.inf) != 0.0
    _check_order(time[whole], fresh, source)
    if fresh.sum() < FEWEST:
        text = (
            f"the recording has {fresh.sum()} samples of the joints; at least {FEWEST} are needed"
        )
        raise recording_error("empty-recording", text, source)
    kept = np.flatnonzero(whole)[fresh]
    measured = {kind: (of, rows[kept]) for kind, (of, rows) in measured.items()}
    _check_ordinary(source, measured)
    (_, qpos), (_, effort), (with_motors, angles) = measured.values()
    time, qvel = time[kept], qvel[kept]
    speeds = qvel if (np.abs(qvel) <= LARGEST).all() else None  # this is false for NaN
    return Samples(
        tuple(names),
        time - time[0],
        qpos,
        speeds,
        effort,
        left_out,
        found,
        dict(zip(with_motors, angles.T, strict=True)),
    )


def check_gaps(time: Array, lacking: str, source: str = "") -> None:
    """Raise ParameterError if times (p,) [s] have a gap that cannot be interpolated.

    Args:
        time: (p,) increasing.
        lacking: begins the message, such as "the recording has no samples"; the times of the gap
            follow.
        source: file name for the message.
    """
    steps = np.diff(time)
    if not len(steps):
        return
    k = int(np.argmax(steps))
    if steps[k] > max(LONGEST_GAP[0] * float(np.median(steps)), LONGEST_GAP[1]):
        text = (
            f"{lacking} from {time[k]:.3f} to {time[k + 1]:.3f} s; cut the recording there, or "
            "record again"
        )
        raise recording_error("gap", text, source)


def _columns(rows: Mapping[str, Array], count: int) -> Array:
    """Return rows by name as columns (count, k)."""
    return np.column_stack([np.zeros((count, 0)), *rows.values()])


def _check_ordinary(source: str, measured: Measured) -> None:
    for kind, (names, rows) in measured.items():
        large = np.argwhere(np.abs(rows) > LARGEST)
        if len(large):
            k, j = large[0]
            text = (
                f"the {kind} of joint {quote(names[j])} in sample {k + 1} is "
                f"{exactly(rows[k, j])}; at most {LARGEST:g} is allowed"
            )
            raise recording_error("large-number", text, source)


def _check_mostly(whole: NDArray[np.bool_], source: str, time: Array, measured: Measured) -> None:
    lacking = int((~whole).sum())
    if lacking <= TOLERATED * len(whole):
        return
    first = int(np.argmin(whole))
    what, where = "time", ""
    for kind, (names, rows) in measured.items():
        bad = np.flatnonzero(~np.isfinite(rows[first]))
        if np.isfinite(time[first]) and len(bad):
            what, where = kind, f" of joint {quote(names[bad[0]])}"
            break
    text = (
        f"{lacking} of {len(whole)} samples are incomplete or not finite, and at most "
        f"{TOLERATED:.0%} are allowed; the first is the {what}{where} in sample {first + 1}"
    )
    raise recording_error("incomplete-samples", text, source)


def _check_order(time: Array, fresh: NDArray[np.bool_], source: str) -> None:
    steps = np.diff(time)
    if (steps < 0.0).any():
        k = int(np.argmax(steps < 0.0))
        text = (
            f"time goes back by {-steps[k]:.3g} s after {time[k] - time[0]:.3f} s: two nodes "
            "publish on the topic, or the clock was set; record one arm, without a clock reset"
        )
        raise recording_error("time-goes-back", text, source)
    repeated = int((~fresh).sum())
    if repeated > TOLERATED * len(time):
        text = (
            f"{repeated} of {len(time)} samples have the stamp of the previous one: the driver "
            "does not set stamps, or two nodes publish on the topic"
        )
        raise recording_error("repeated-stamps", text, source)
