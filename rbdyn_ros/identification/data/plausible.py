# SPDX-License-Identifier: Apache-2.0
"""Check that a recording is plausible for a robot, before anything is identified from it.

Least squares finds an answer for every recording, even if efforts are missing, angles are in
degrees, or angles jump by a full turn.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.errors import apart, quote
from rbdyn_ros.identification.data.motion import dof_names
from rbdyn_ros.identification.data.samples import Samples
from rbdyn_ros.identification.data.signals import regular_period
from rbdyn_ros.model.declared.joints import JointType
from rbdyn_ros.model.model import Model
from rbdyn_ros.recording.bags import recording_error

#: Largest step between two samples, except for fast joints, see HASTE [rad or m].
JUMP = 0.5
#: A joint may also make any step that it can make at this multiple of its velocity limit.
HASTE = 3.0
#: Assumed velocity limit of a joint without a velocity limit [rad/s or m/s].
FASTEST = 20.0
#: Positions may exceed their limits by this fraction of the range, or by this distance [rad or m].
BEYOND = 0.1, 0.2
#: Factor by which mean speeds may exceed their limits, and the time of the mean [s].
TOO_FAST, WHILE = 1.5, 0.1
#: Smaller efforts count as missing [N m or N].
LEAST_EFFORT = 1e-9
#: Largest distance of a resting joint from its median [rad or m].
STILL = 0.02
#: Largest scatter of the stamps, relative to their period.
SCATTER = 0.25


def plausible(m: Model, samples: Samples) -> Samples:
    """Return a checked recording, with the angles of joints without limits unwrapped.

    Raises:
        ParameterError: the recording cannot be of this robot in SI units: time is not in seconds
            or has a gap, efforts are missing, a position jumps or is far outside its limits, or
            a joint is much too fast.
    """
    dofs = np.array([dof_names(m).index(name) for name in samples.names], np.int64)
    regular_period(samples.time)
    _check_efforts(samples)
    samples = replace(samples, qpos=_unwrapped(m, dofs, samples.qpos))
    _check_positions(m, dofs, samples)
    speed = _speed_limits(m, dofs)
    _check_steady(samples, speed)
    _check_speeds(samples, speed)
    return samples


def at_rest(m: Model, samples: Samples) -> Array:
    """Return positions (nv,) of joints that are not identified, from qpos0 where unknown.

    Raises:
        ParameterError: one of these joints moved.
    """
    rest: Array = m.qpos0.copy()
    names = dof_names(m)
    for name, found in samples.others.items():
        k = names.index(name)
        if name in samples.names:
            continue
        column: Array = _unwrapped(m, np.array([k]), found[:, np.newaxis])[:, 0]
        rest[k] = np.median(column)
        away = np.abs(column - rest[k])
        # take a quantile, because single samples may be wrong
        if np.quantile(away, 0.99) > STILL:
            text = (
                f"joint {quote(name)} should be at rest, but moves from {column.min():.4g} to "
                f"{column.max():.4g}; name it among the joints too"
            )
            raise recording_error("moving-joint", text)
    return rest


def unknown_places(m: Model, samples: Samples) -> list[str]:
    """Return the joints whose positions are not in the recording."""
    return [name for name in dof_names(m) if name not in (*samples.names, *samples.others)]


def stamp_warnings(samples: Samples) -> list[str]:
    """Return warnings about the stamps."""
    steps = np.diff(samples.time)
    period = float(np.median(steps))
    # a gap counts as one period
    scatter = np.sqrt(np.mean(np.minimum(np.abs(steps - period), period) ** 2)) / period
    if scatter <= SCATTER:
        return []
    text = (
        f"the stamps scatter by {scatter:.0%} of a period; if they are the times of sending, not "
        "of measuring, masses will be wrong"
    )
    return [text]


def _check_efforts(samples: Samples) -> None:
    largest = np.abs(samples.effort).max(axis=0)
    if largest.max() < LEAST_EFFORT:
        raise recording_error("no-efforts", "all efforts are 0: the driver does not report them")
    constant = np.ptp(samples.effort, axis=0) == 0.0
    moved = np.ptp(samples.qpos, axis=0) > JUMP
    wrong = _first(samples.names, constant & moved)
    if wrong:
        text = (
            f"joint {quote(wrong)} moves, but its effort is constant: the driver does not report "
            "it"
        )
        raise recording_error("no-efforts", text)


def _unwrapped(m: Model, dofs: Ints, qpos: Array) -> Array:
    """Return positions (p, n), with the angles of joints without limits unwrapped."""
    joints = m.dof_jntid[dofs]
    free = (m.jnt_limited[joints] == 0) & (m.jnt_type[joints] == JointType.HINGE)
    return np.asarray(np.where(free, np.unwrap(qpos, axis=0), qpos), np.float64)


def _check_positions(m: Model, dofs: Ints, samples: Samples) -> None:
    joints = m.dof_jntid[dofs]
    low, high = m.jnt_range[joints].T
    room = np.maximum(BEYOND[0] * (high - low), BEYOND[1])
    least, most = samples.qpos.min(axis=0), samples.qpos.max(axis=0)
    outside = (m.jnt_limited[joints] == 1) & ((least < low - room) | (most > high + room))
    wrong = _first(samples.names, outside)
    if wrong:
        i = samples.names.index(wrong)
        first, last, lower, upper = apart(least[i], most[i], low[i], high[i], digits=4)
        text = (
            f"joint {quote(wrong)} moves from {first} to {last}; its limits are {lower} and "
            f"{upper}. Are positions in rad, and is it this robot?"
        )
        raise recording_error("far-outside", text)


def _speed_limits(m: Model, dofs: Ints) -> Array:
    speed = m.jnt_velocity[m.dof_jntid[dofs]]
    return np.asarray(np.where(np.isfinite(speed) & (speed > 0.0), speed, np.inf), np.float64)


def _check_steady(samples: Samples, speed: Array) -> None:
    steps = np.abs(np.diff(samples.qpos, axis=0))
    times = np.diff(samples.time)[:, np.newaxis]
    far = HASTE * np.where(np.isfinite(speed), speed, FASTEST) * times
    jumps = np.argwhere(steps > np.maximum(far, JUMP))
    if len(jumps):
        k, j = jumps[0]
        text = (
            f"the position of joint {quote(samples.names[j])} jumps by {steps[k, j]:.4g} at "
            f"{samples.time[k]:.3f} s, more than it can move between two samples"
        )
        raise recording_error("position-jumps", text)


def _check_speeds(samples: Samples, limits: Array) -> None:
    """Refuse impossible speeds, for example of angles in degrees."""
    time = np.arange(0.0, samples.time[-1], WHILE)
    if len(time) < 2:
        return
    rows = np.stack([np.interp(time, samples.time, column) for column in samples.qpos.T], axis=1)
    fastest = np.abs(np.diff(rows, axis=0)).max(axis=0) / WHILE
    wrong = _first(samples.names, fastest > TOO_FAST * limits)
    if wrong:
        i = samples.names.index(wrong)
        speed, most = apart(fastest[i], limits[i], digits=4)
        text = (
            f"joint {quote(wrong)} moves at {speed} per second; its velocity limit is {most}. "
            "Are positions in rad, and time in seconds?"
        )
        raise recording_error("too-fast", text)


def _first(names: Sequence[str], marks: NDArray[np.bool_]) -> str:
    return names[int(np.argmax(marks))] if marks.any() else ""
