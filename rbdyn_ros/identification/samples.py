"""What a recording holds, whatever file it came from, and the judge of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Array
from rbdyn_ros.errors import Finding, ParameterError, quote

#: More than half an hour at 1 kHz; what is larger is not a calibration motion.
MOST_SAMPLES = 2_000_000
#: Of the samples so many may lack something, and so many may repeat a stamp.
TOLERATED = 0.01
FEWEST = 10
#: Of positions, speeds, efforts and seconds: products of what is larger may overflow.
LARGEST = 1e9


@dataclass(frozen=True, slots=True)
class Samples:
    """A motion as it was measured; nothing in it is filtered.

    Attributes:
        names: of the joints (n).
        time: since the first sample (p,), growing [s].
        qpos: (p, n) [rad or m].
        qvel: (p, n) [rad/s or m/s]; None if the recording has no velocities, or not everywhere.
        effort: (p, n) [N m or N].
        left_out: how many samples were left out because they lacked something.
        others: positions of joints that were asked for beside, by name; each has as many as it
            has, finite [rad or m]. Joints that the recording does not name are not in it.
    """

    names: tuple[str, ...]
    time: Array
    qpos: Array
    qvel: Array | None
    effort: Array
    left_out: int = 0
    others: Mapping[str, Array] = field(default_factory=dict)


def recording_error(code: str, source: str, text: str) -> ParameterError:
    """Return the error for a recording that is of no use."""
    return ParameterError(Finding(code, text, "error", "recording"), source)


def checked_samples(
    source: str,
    names: Sequence[str],
    time: Array,
    qpos: Array,
    qvel: Array,
    effort: Array,
    others: Mapping[str, Array] | None = None,
) -> Samples:
    """Return the samples that are whole, in order of time.

    Args:
        source: where they are from, for messages.
        names: of the joints (n).
        time: (p,) [s].
        qpos: (p, n); NaN where a sample has none. Likewise qvel and effort.
        qvel: (p, n).
        effort: (p, n).
        others: positions of other joints, NaN where there is none.

    Raises:
        ParameterError: there are too few, too many of them lack something or repeat a stamp, a
            number is too large to calculate with, or time goes back.
    """
    whole = np.isfinite(time) & np.isfinite(qpos).all(axis=1) & np.isfinite(effort).all(axis=1)
    if not whole.all():
        _check_mostly(whole, source, names, time, qpos, effort)
    left_out = int(len(whole) - whole.sum())
    found = {name: rows[np.isfinite(rows)] for name, rows in (others or {}).items()}
    found = {name: rows for name, rows in found.items() if len(rows)}
    time, qpos, qvel, effort = time[whole], qpos[whole], qvel[whole], effort[whole]
    fresh = np.diff(time, prepend=-np.inf) != 0.0
    _check_order(time, fresh, source)
    if fresh.sum() < FEWEST:
        text = f"it has {fresh.sum()} samples of the joints; at least {FEWEST} are needed"
        raise recording_error("empty-recording", source, text)
    time, qpos, qvel, effort = time[fresh], qpos[fresh], qvel[fresh], effort[fresh]
    _check_ordinary(source, names, qpos, effort)
    speeds = qvel if (np.abs(qvel) <= LARGEST).all() else None  # NaN is not
    return Samples(tuple(names), time - time[0], qpos, speeds, effort, left_out, found)


def _check_ordinary(source: str, names: Sequence[str], qpos: Array, effort: Array) -> None:
    for kind, rows in (("position", qpos), ("effort", effort)):
        large = np.argwhere(np.abs(rows) > LARGEST)
        if len(large):
            k, j = large[0]
            text = (
                f"the {kind} of the joint {quote(names[j])} in sample {k + 1} is {rows[k, j]:g}; "
                f"at most {LARGEST:g} is possible"
            )
            raise recording_error("large-number", source, text)


def _check_mostly(
    whole: NDArray[np.bool_],
    source: str,
    names: Sequence[str],
    time: Array,
    qpos: Array,
    effort: Array,
) -> None:
    lacking = int((~whole).sum())
    if lacking <= TOLERATED * len(whole):
        return
    first = int(np.argmin(whole))
    what, where = "time", ""
    for kind, values in (("position", qpos), ("effort", effort)):
        bad = np.flatnonzero(~np.isfinite(values[first]))
        if np.isfinite(time[first]) and len(bad):
            what, where = kind, f" of the joint {quote(names[bad[0]])}"
            break
    text = (
        f"{lacking} of {len(whole)} samples lack something or have a number that is not finite, "
        f"first the {what}{where} in sample {first + 1}; at most {TOLERATED:.0%} may"
    )
    raise recording_error("incomplete-samples", source, text)


def _check_order(time: Array, fresh: NDArray[np.bool_], source: str) -> None:
    steps = np.diff(time)
    if (steps < 0.0).any():
        k = int(np.argmax(steps < 0.0))
        text = (
            f"time goes back by {-steps[k]:.3g} s after {time[k] - time[0]:.3f} s: two nodes "
            "publish on the topic, or the clock was set; record one arm, without a reset"
        )
        raise recording_error("time-goes-back", source, text)
    repeated = int((~fresh).sum())
    if repeated > TOLERATED * len(time):
        text = (
            f"{repeated} of {len(time)} samples have the stamp of the one before: they have no "
            "stamps of their own, or two nodes publish on the topic"
        )
        raise recording_error("repeated-stamps", source, text)
