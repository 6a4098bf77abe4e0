# SPDX-License-Identifier: Apache-2.0
"""Turn measured samples into a motion: resample, filter and differentiate.

Positions and efforts pass the same filter, forward and backward, so that efforts and accelerations
are not delayed against each other. The filter is the same because an equation that is linear in
accelerations and efforts still holds if both are filtered equally ("parallel filtering"). The
regressor is linear in accelerations, and nearly linear in the small changes that a filter well
above the motion's frequencies makes to positions and velocities.

Source: Gautier, 1997, Dynamic identification of robots with power model; Khalil, Dombre, 2002,
Modeling, Identification and Control of Robots, ch. 12.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import make_interp_spline
from scipy.ndimage import maximum_filter1d
from scipy.signal import butter, savgol_filter, sosfiltfilt, welch

from rbdyn_ros.arrays import Array, Bools, Ints
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.errors import apart
from rbdyn_ros.identification.data.motion import SATURATED, Motion
from rbdyn_ros.identification.data.samples import Samples, check_gaps
from rbdyn_ros.recording.bags import recording_error

#: Order of the Butterworth filter; forward and backward it acts as a filter of twice the order.
ORDER = 4
#: Default cutoff as a multiple of the highest frequency of the motion. Only the fraction
#: REST_OF_POWER of the power of the velocities is above that frequency.
CUTOFF_RATIO, REST_OF_POWER = 10.0, 0.01
#: Part of the peak power density of a position below which there is only noise.
PART_OF_PEAK = 1e-6
#: Least default cutoff, because gravity and friction vary faster than the joints [Hz].
LEAST_CUTOFF = 5.0
#: Largest cutoff as a fraction of the Nyquist frequency.
MOST_OF_NYQUIST = 0.8
#: Default rate of the motion, as a multiple of the cutoff.
RATE_RATIO = 5.0
#: Time cut off at both ends because of transients of the filter [1 / cutoff].
TRIMMED = 2.0
#: Most periods over which an effort is interpolated; beyond them it is not used.
BRIDGED = 3.5
#: Shortest and longest period of a recording [s].
PERIODS = 1e-5, 0.2
#: Largest deviation of stamps from a regular grid, as a fraction of the period.
REGULAR = 1e-3
#: Largest relative difference of measured velocities from differentiated positions.
AGREEMENT = 0.02
#: An extreme value is a saturation if it occurs this many times, in this fraction of the samples,
#: and far more often than its neighbours, see FLATNESS.
FLAT = 10, 0.01
#: A saturation occurs FLATNESS times as often as the mean of the NEXT neighbouring values. The
#: samples must have at least LEVELS different values.
FLATNESS, NEXT, LEVELS = 10.0, 5, 20


def to_motion(
    samples: Samples,
    cutoff: float | None = None,
    rate: float | None = None,
    effort_limits: ArrayLike | None = None,
) -> Motion:
    """Return a motion for identification.

    Samples are interpolated linearly to a regular grid if necessary, filtered by a Butterworth
    filter without delay, differentiated by central differences of fourth order, cut at both ends,
    and downsampled. (A curve would overshoot between two stamps that are closer than the sampling
    period.)

    Measured velocities of a joint are used, and differentiated to its acceleration, if they have
    less noise in the pass band than the differentiated position and agree with it within 2 %, as
    far as noise allows: drives often report delayed or filtered velocities.

    Args:
        samples: samples of a recording.
        cutoff: cutoff of the low-pass filter [Hz]; None: ten times the highest frequency of the
            motion, at least 5 Hz, and at most the cutoff that the sampling rate allows.
        rate: rate of the motion's samples [Hz]; None: five times the cutoff. The result has the
            nearest rate that skipping samples allows.
        effort_limits: (n,) [N m or N]; 0 or infinite means no limit. Efforts at their limits
            and next to them in time, where the filter spreads them, are marked as unusable. So are
            efforts that a drive cuts off below its limit, and interpolated efforts in a gap.

    Raises:
        ParameterError: an argument is not allowed, or the recording is too short or too sparse or
            has a gap.
    """
    for name, value in (("cutoff", cutoff), ("rate", rate)):
        if value is not None:
            finite(f"the {name}", value, above=0.0, code=f"bad-{name}", element="recording")
    period = regular_period(samples.time)
    usable = ~saturated(samples.effort, effort_limits)
    qpos, qvel, effort, usable = _regular(samples, period, usable)
    cutoff = _cutoff(cutoff, qpos, period)
    low_pass = butter(ORDER, cutoff, output="sos", fs=1.0 / period)
    trimmed = int(np.ceil(TRIMMED / cutoff / period))
    if len(qpos) < 4 * trimmed:
        lasts, least = apart(samples.time[-1], 4 * trimmed * period, digits=3)
        text = (
            f"the recording lasts {lasts} s; a cutoff of {cutoff:.3g} Hz needs at least {least} s"
        )
        raise recording_error("short-recording", text)

    def smooth(rows: Array) -> Array:
        # extend both ends, point-mirrored, by the length that is cut off later
        return np.asarray(sosfiltfilt(low_pass, rows, axis=0, padlen=trimmed), np.float64)

    q = smooth(qpos)
    qd, qdd = _derivative(q, period, 1), _derivative(q, period, 2)
    if qvel is not None:
        v = smooth(qvel)
        better = _better(qpos - q, qvel - v, qd, v, cutoff, period)
        qd, qdd = np.where(better, v, qd), np.where(better, _derivative(v, period, 1), qdd)
    step = max(1, int(1.0 / (period * (RATE_RATIO * cutoff if rate is None else rate))))
    kept = slice(trimmed, len(q) - trimmed, step)
    time = np.arange(len(q), dtype=np.float64)[kept] * period
    wide = 2 * int(np.ceil(1.0 / cutoff / period)) + 1  # width of the filter
    return Motion(
        samples.names,
        time,
        q[kept],
        qd[kept],
        qdd[kept],
        smooth(effort)[kept],
        fast_qvel=qd,
        thin=lambda rows: smooth(rows)[kept],
        kept=None if usable.all() else ~maximum_filter1d(~usable, wide, axis=0)[kept],
    )


def without_repeats(samples: Samples) -> tuple[Samples, str]:
    """Return samples without rows that repeat the previous row, and a note about them.

    A recorder that polls a driver writes a message twice if the next message is late. Efforts of a
    moving arm never repeat exactly. Positions then seem to stop for one period, which looks like
    a jerk. If the next step is as long as the steps next to it, the recorder's clock went on while
    the motion did not, so the period is taken out of the time too.
    """
    parts = np.column_stack([samples.qpos, samples.effort])
    moved = np.diff(samples.qpos, axis=0).any(axis=1)
    again = np.append(False, ~np.diff(parts, axis=0).any(axis=1))
    again[1:] &= maximum_filter1d(moved, 5)
    if not again.any():
        return samples, ""
    kept, period = ~again, float(np.median(np.diff(samples.time)))
    motors = {name: angles[kept] for name, angles in samples.motors.items()}
    qvel = None if samples.qvel is None else samples.qvel[kept]
    time = samples.time[kept]
    short = (samples.time - period * np.cumsum(again))[kept]
    late = np.flatnonzero(np.diff(np.cumsum(again)[kept])) + 1
    stopped = _bend(short, samples.qpos[kept], late) < _bend(time, samples.qpos[kept], late)
    chosen = short if stopped else time
    text = f"{again.sum()} of {len(again)} samples repeat the previous one and are left out"
    if stopped:
        text += f", and their periods of {period:.3g} s are cut, as the motion stands still there"
    found = replace(
        samples,
        time=chosen - chosen[0],
        qpos=samples.qpos[kept],
        qvel=qvel,
        effort=samples.effort[kept],
        motors=motors,
    )
    return found, text


def _bend(time: Array, qpos: Array, places: Ints) -> float:
    """Return the mean change of speed at the samples `places`, relative to their neighbours.

    Return infinity if the times do not increase, and 0 without usable samples.
    """
    if not (np.diff(time) > 0.0).all():
        return float("inf")
    speed = np.diff(qpos, axis=0) / np.diff(time)[:, np.newaxis]
    inner = places[(places > 1) & (places < len(speed))]
    before, at, after = (speed[inner + k] for k in (-2, -1, 0))
    return float(np.mean(np.abs(at - 0.5 * (before + after)))) if len(inner) else 0.0


def motor_angles(samples: Samples, motion: Motion) -> dict[str, Array]:
    """Return the angles of motors (p,) at the times of a motion of these samples, by joint."""
    if not samples.motors or motion.thin is None:
        return {}
    names, rows = tuple(samples.motors), np.column_stack(list(samples.motors.values()))
    return dict(zip(names, motion.thin(_on_grid(samples.time, rows)).T, strict=True))


def _on_grid(time: Array, rows: Array) -> Array:
    """Return rows (p, k) at multiples of the period."""
    grid, is_regular = _grid(time, regular_period(time))
    return rows if is_regular else np.asarray(make_interp_spline(time, rows, k=1)(grid))


def _grid(time: Array, period: float) -> tuple[Array, bool]:
    """Return multiples of the period until the last time, and whether they equal the times.

    If they differ, the last multiple becomes the last time.
    """
    grid = period * np.arange(round(time[-1] / period) + 1)
    if len(grid) == len(time) and np.abs(time - grid).max() <= REGULAR * period:
        return grid, True
    grid[-1] = time[-1]
    return grid, False


def _cutoff(cutoff: float | None, qpos: Array, period: float) -> float:
    """Return the cutoff [Hz]; None means ten times the highest frequency of positions (p, n).

    Raise ParameterError if it is too high for the sampling period [s].
    """
    most = 0.5 * MOST_OF_NYQUIST / period
    if cutoff is None:
        return min(max(CUTOFF_RATIO * _highest_frequency(qpos, period), LEAST_CUTOFF), most)
    if cutoff > most:
        found, highest = apart(cutoff, most, digits=4)
        text = (
            f"the cutoff of {found} Hz is too high for samples at {1.0 / period:.4g} Hz; "
            f"allowed is at most {highest} Hz"
        )
        raise recording_error("high-cutoff", text)
    return cutoff


def saturated(effort: Array, limits: ArrayLike | None = None) -> Bools:
    """Return a mask (p, n) of the saturated efforts.

    These are efforts at the limits (n,) (None: no limits), and measured (not filtered) efforts
    that a drive cuts off: many samples share the largest or least value, and few have the values
    next to it. Coarse quantisation differs: there the value at the top of a curve is less than ten
    times as frequent as its neighbours.
    """
    top = np.full(effort.shape[1], np.inf)
    if limits is not None:
        given = np.broadcast_to(np.asarray(limits, np.float64), top.shape)
        top = np.where(given > 0.0, SATURATED * given, np.inf)
    marks: Bools = np.abs(effort) >= top
    for j, column in enumerate(effort.T):
        values, counts = np.unique(column, return_counts=True)
        for ends, often in ((values, counts), (values[::-1], counts[::-1])):
            if len(ends) >= LEVELS and _is_flat(often, len(column)):
                marks[:, j] |= np.abs(column - ends[-1]) <= (1.0 - SATURATED) * np.abs(ends[-1])
    return marks


def _is_flat(counts: NDArray[np.int64], samples: int) -> bool:
    """Return whether the last value is a saturation, from the counts of all values.

    `samples` is the number of samples.
    """
    here, beside = int(counts[-1]), float(counts[-1 - NEXT : -1].mean())
    return here >= max(FLAT[0], FLAT[1] * samples) and here > FLATNESS * beside


def regular_period(time: Array) -> float:
    """Return the period of samples without a gap [s].

    Raises:
        ParameterError: there is a gap, or the period is implausible for a recording of an arm.
    """
    steps = np.diff(time)
    period = float(np.median(steps))
    if not PERIODS[0] <= period <= PERIODS[1]:
        found, low, high = apart(period, *PERIODS, digits=3)
        text = f"the samples are {found} s apart; allowed is {low} to {high} s. "
        text += "Is the time in seconds?"
        raise recording_error("odd-period", text)
    check_gaps(time, "the recording has no samples")
    # use an integer number of periods, so that the grid does not drift from a regular clock
    return float(time[-1]) / max(1, round(float(time[-1]) / period))


def _regular(
    samples: Samples, period: float, usable: Bools
) -> tuple[Array, Array | None, Array, Bools]:
    """Return positions, velocities, efforts and usable marks at multiples of the period.

    The velocities are None if they were not recorded.
    """
    time = samples.time
    grid, is_regular = _grid(time, period)
    if is_regular:
        return samples.qpos, samples.qvel, samples.effort, usable

    def on_grid(rows: Array) -> Array:
        return np.asarray(make_interp_spline(time, rows, k=1)(grid), np.float64)

    qvel = None if samples.qvel is None else on_grid(samples.qvel)
    # an interpolated effort is usable if both samples are usable and close in time
    on_grid_usable = on_grid(usable.astype(np.float64)) > 1.0 - REGULAR
    after = np.searchsorted(time, grid).clip(1, len(time) - 1)
    on_grid_usable[time[after] - time[after - 1] > BRIDGED * period] = False
    return on_grid(samples.qpos), qvel, on_grid(samples.effort), on_grid_usable


def _highest_frequency(qpos: Array, period: float) -> float:
    """Return the frequency [Hz] below which nearly all power of the velocities lies; 0 at rest.

    Differentiation amplifies noise with frequency, so the noise floor is subtracted first. Coarse
    positions and irregular stamps make noise that is not white; it is far below the peak.
    """
    length = min(len(qpos), round(20.0 / period))
    frequency, density = welch(qpos, 1.0 / period, "hann", length, detrend="linear", axis=0)
    floor = np.maximum(3.0 * np.median(density, axis=0), PART_OF_PEAK * density.max(axis=0))
    density = np.clip(density - floor, 0.0, None)
    power = np.cumsum(frequency[:, np.newaxis] ** 2 * density, axis=0)
    moving = power[-1] > 0.0
    if not moving.any():
        return 0.0
    first = np.argmax(power[:, moving] >= (1.0 - REST_OF_POWER) * power[-1, moving], axis=0)
    return float(frequency[first].max())


def _derivative(rows: Array, period: float, order: int) -> Array:
    # a polynomial of fourth degree through five points gives central differences of fourth order
    derived: Array = savgol_filter(rows, 5, 4, deriv=order, delta=period, axis=0)
    return derived


def _better(
    noise_q: Array, noise_v: Array, qd: Array, v: Array, cutoff: float, period: float
) -> NDArray[np.bool_]:
    """Return a mask of the joints whose measured velocities are better than derived velocities.

    `noise_q` and `noise_v` are the noise of positions and velocities, `qd` the differentiated and
    `v` the measured velocities. Differentiation amplifies white noise below the cutoff f by 2 pi f
    / sqrt(3). The two velocities may differ by the noise that passes the filter.
    """
    derived = 2.0 * np.pi * cutoff / np.sqrt(3.0) * noise_q.std(axis=0)
    left = derived * np.sqrt(2.0 * cutoff * period)
    agrees = (v - qd).std(axis=0) <= np.hypot(AGREEMENT * qd.std(axis=0), left)
    better: NDArray[np.bool_] = (noise_v.std(axis=0) < derived) & agrees
    return better
