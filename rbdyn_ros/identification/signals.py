"""From what was measured to a motion: one clock, no noise, velocities and accelerations.

Positions and efforts go through the same filter, forward and backward. Forward and backward,
because a filter that delays would show each effort with the acceleration of another moment.
The same, because what the filter takes from the accelerations it must take from the efforts too:
an equation that is linear in both still holds when both are filtered alike ("parallel
filtering"). The regressor is linear in accelerations, and nearly so in what little a filter well
above the motion's frequencies takes from positions and velocities.

Source: Gautier, 1997, Dynamic identification of robots with power model; Khalil, Dombre, 2002,
Modeling, Identification and Control of Robots, ch. 12.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import make_interp_spline
from scipy.ndimage import maximum_filter1d
from scipy.signal import butter, savgol_filter, sosfiltfilt, welch

from rbdyn_ros.arrays import Array, Bools
from rbdyn_ros.errors import Finding, ParameterError
from rbdyn_ros.identification.motion import Motion
from rbdyn_ros.identification.samples import Samples

#: Of the Butterworth filter; forward and backward it acts as one of twice the order.
ORDER = 4
#: The cutoff is so many times the highest frequency of the motion, ...
CUTOFF_RATIO = 10.0
#: ... below which is all but this share of the power of the velocities, ...
REST_OF_POWER = 0.01
#: ... and at least this, since gravity and friction vary faster than the joints [Hz].
LEAST_CUTOFF = 5.0
#: No filter is sharp: it needs this much room below half the sampling rate.
MOST_OF_NYQUIST = 0.8
#: Without a rate of one's own, samples are thinned to this many times the cutoff.
RATE_RATIO = 5.0
#: The filter does not know what was before and after: so much is cut off there [1 / cutoff].
TRIMMED = 2.0
#: Gaps are bridged up to this many periods, or this long [s], whichever is longer.
LONGEST_GAP = 5.0, 0.1
#: What is bridged over more than this many periods tells nothing.
BRIDGED = 3.5
#: No arm is measured at longer or shorter periods than these [s].
PERIODS = 1e-5, 0.2
#: Stamps may be off a regular grid by this much of a period.
REGULAR = 1e-3
#: Measured velocities differ at most by this share from those of the positions, or do not count.
AGREEMENT = 0.02
#: Share of its limit, or of what it never exceeds, at which an effort is cut.
SATURATED = 0.999
#: Never exceeded because it is cut off is a value that so many samples have, and this share, ...
FLAT = 10, 0.01
#: ... so many times as many as have the values next to it, of which there are these many.
FLATNESS, NEXT, LEVELS = 10.0, 5, 20


def to_motion(
    samples: Samples,
    cutoff: float | None = None,
    rate: float | None = None,
    effort_limits: ArrayLike | None = None,
) -> Motion:
    """Return a motion that can be identified from.

    Samples are brought to a regular grid by straight lines if their stamps are off it, filtered
    by a Butterworth filter without delay, differentiated by central differences of fourth order,
    freed of the ends, and thinned. (Lines, since a curve through two stamps that lie closer to
    each other than the samples were taken swings far out.)

    Measured velocities are used for a joint, and differentiated to its acceleration, if they
    carry less noise than the derivative of its position would in the band that is kept, and
    agree with it to within 2 %: what a drive reports is often delayed or filtered already.

    Args:
        samples: of a recording.
        cutoff: of the low-pass filter [Hz]; None: ten times the highest frequency of the motion,
            at least 5 Hz, and no more than the sampling rate allows.
        rate: of the motion's samples [Hz]; None: five times the cutoff. It is met as nearly as
            leaving out samples allows.
        effort_limits: of the joints (n,) [N m or N], 0 or infinite where there is none. Efforts
            at them tell nothing, nor do those near them in time, into which the filter spreads
            them; such samples are marked in the motion. So are those of a drive that cuts its
            efforts below its limit, and what is bridged of a gap.

    Raises:
        ParameterError: an argument is not allowed, or the samples are too short, too sparse, or
            have a gap.
    """
    _check_positive("cutoff", cutoff)
    _check_positive("rate", rate)
    period = regular_period(samples.time)
    most = 0.5 * MOST_OF_NYQUIST / period
    usable = ~saturated(samples.effort, effort_limits)
    qpos, qvel, effort, usable = _regular(samples, period, usable)
    if cutoff is None:
        cutoff = min(max(CUTOFF_RATIO * _highest_frequency(qpos, period), LEAST_CUTOFF), most)
    if cutoff > most:
        text = (
            f"the cutoff of {cutoff:g} Hz is too high for samples at {1.0 / period:.4g} Hz; "
            f"allowed is at most {most:.4g} Hz"
        )
        raise _refused("high-cutoff", text)
    low_pass = butter(ORDER, cutoff, output="sos", fs=1.0 / period)
    trimmed = int(np.ceil(TRIMMED / cutoff / period))
    if len(qpos) < 4 * trimmed:
        text = (
            f"the recording lasts {samples.time[-1]:.3g} s; with a cutoff of {cutoff:.3g} Hz at "
            f"least {4 * trimmed * period:.3g} s are needed"
        )
        raise _refused("short-recording", text)

    def smooth(rows: Array) -> Array:
        # as much is added at each end, mirrored through it, as is cut off later
        return np.asarray(sosfiltfilt(low_pass, rows, axis=0, padlen=trimmed), np.float64)

    q = smooth(qpos)
    qd, qdd = _derivative(q, period, 1), _derivative(q, period, 2)
    if qvel is not None:
        v = smooth(qvel)
        better = _better(qpos - q, qvel - v, qd, v, cutoff)
        qd, qdd = np.where(better, v, qd), np.where(better, _derivative(v, period, 1), qdd)
    step = max(1, int(1.0 / (period * (RATE_RATIO * cutoff if rate is None else rate))))
    kept = slice(trimmed, len(q) - trimmed, step)
    time = np.arange(len(q), dtype=np.float64)[kept] * period
    wide = 2 * int(np.ceil(1.0 / cutoff / period)) + 1  # what the filter mixes with a sample
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


def saturated(effort: Array, limits: ArrayLike | None = None) -> Bools:
    """Tell which efforts are as large as the drive gives, (p, n).

    At the limits (n,), or where an effort as measured (not filtered) is cut: many samples share
    the largest or the least value of all, and few the values next to it. That is no matter of
    coarse numbers: of those the value at the top of a curve is no ten times as frequent as the
    next ones.
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
    """Tell whether the last of all values, by how often there is each, is where they are cut."""
    there, beside = int(counts[-1]), float(counts[-1 - NEXT : -1].mean())
    return there >= max(FLAT[0], FLAT[1] * samples) and there > FLATNESS * beside


def _check_positive(name: str, value: float | None) -> None:
    if value is not None and not (np.isfinite(value) and value > 0.0):
        raise _refused(f"bad-{name}", f"the {name} is {value!r}; allowed is a number over 0 [Hz]")


def regular_period(time: Array) -> float:
    """Return the period of samples without a gap [s].

    Raises:
        ParameterError: there is a gap, or the period is not one at which arms are measured.
    """
    steps = np.diff(time)
    period = float(np.median(steps))
    if not PERIODS[0] <= period <= PERIODS[1]:
        text = (
            f"the samples are {period:.3g} s apart; allowed is {PERIODS[0]:g} to {PERIODS[1]:g} "
            "s. Is the time in seconds?"
        )
        raise _refused("odd-period", text)
    k = int(np.argmax(steps))
    if steps[k] > max(LONGEST_GAP[0] * period, LONGEST_GAP[1]):
        text = (
            f"the recording has no samples from {time[k]:.3f} to {time[k + 1]:.3f} s; cut it "
            "there, or record again"
        )
        raise _refused("gap", text)
    # as many periods as there are samples, so that a grid does not drift off a regular clock
    return float(time[-1]) / max(1, round(float(time[-1]) / period))


def _regular(
    samples: Samples, period: float, usable: Bools
) -> tuple[Array, Array | None, Array, Bools]:
    """Return positions, velocities, efforts and which are of use at multiples of the period."""
    time = samples.time
    grid = period * np.arange(round(time[-1] / period) + 1)
    if len(grid) == len(time) and np.abs(time - grid).max() <= REGULAR * period:
        return samples.qpos, samples.qvel, samples.effort, usable
    grid[-1] = time[-1]

    def there(rows: Array) -> Array:
        return np.asarray(make_interp_spline(time, rows, k=1)(grid), np.float64)

    qvel = None if samples.qvel is None else there(samples.qvel)
    # between two samples it is of use if both are, and if they are neighbours
    of_use = there(usable.astype(np.float64)) > 1.0 - REGULAR
    after = np.searchsorted(time, grid).clip(1, len(time) - 1)
    of_use[time[after] - time[after - 1] > BRIDGED * period] = False
    return there(samples.qpos), qvel, there(samples.effort), of_use


def _highest_frequency(qpos: Array, period: float) -> float:
    """Return the frequency that all but a small share of the power of the velocities is below.

    Noise of positions grows with frequency when they are differentiated, so the spectrum's floor
    is taken off first.
    """
    length = min(len(qpos), round(20.0 / period))
    frequency, density = welch(qpos, 1.0 / period, "hann", length, detrend="linear", axis=0)
    density = np.clip(density - 3.0 * np.median(density, axis=0), 0.0, None)
    power = np.cumsum(frequency[:, np.newaxis] ** 2 * density, axis=0)
    moving = power[-1] > 0.0
    if not moving.any():
        return 0.0
    first = np.argmax(power[:, moving] >= (1.0 - REST_OF_POWER) * power[-1, moving], axis=0)
    return float(frequency[first].max())


def _derivative(rows: Array, period: float, order: int) -> Array:
    # five points and a polynomial of fourth degree: the central differences of fourth order
    derived: Array = savgol_filter(rows, 5, 4, deriv=order, delta=period, axis=0)
    return derived


def _better(
    noise_q: Array, noise_v: Array, qd: Array, v: Array, cutoff: float
) -> NDArray[np.bool_]:
    """Tell for which joints the measured velocities are better than the derived ones.

    White noise of positions has in its derivative, up to the cutoff f, 2 pi f / sqrt(3) times its
    amplitude there.
    """
    derived = 2.0 * np.pi * cutoff / np.sqrt(3.0) * noise_q.std(axis=0)
    agrees = (v - qd).std(axis=0) <= AGREEMENT * qd.std(axis=0)
    better: NDArray[np.bool_] = (noise_v.std(axis=0) < derived) & agrees
    return better


def _refused(code: str, text: str) -> ParameterError:
    return ParameterError(Finding(code, text, "error", "recording"))
