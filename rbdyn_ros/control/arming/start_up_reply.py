# SPDX-License-Identifier: Apache-2.0
"""What a joint reports after a known effort, compared with the model: the start-up test's judge.

While the joint moves one way, with the velocity v by its reported positions x and the velocity w
that the efforts sent would cause without friction:

    v(t) = share w(t - delay) - viscous x - dry t + start

Each way has a start and a dry friction of its own, so it does not matter where the joint stuck. A
joint of the right sign and ratio has the share 1, with friction and without.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array

#: Delays are sought up to this one, in steps that are not shorter than this [s].
LONGEST_DELAY, COARSE = 0.15, 0.004
#: Velocities are differences of positions over this time [s].
WINDOW = 0.02
#: A joint moves while it is faster than this share of its largest speed.
MOVING = 0.3
#: A delay counts only if without it more than this part remains unexplained: with friction, a
#: short motion can be explained by several.
CLEARER = 0.003
#: Standard deviations by which a share may be off, and the most that counts in noise.
SIGMAS, NOISE = 3.0, 0.4


@dataclass(frozen=True, slots=True)
class Fit:
    """A comparison of two signals.

    Attributes:
        share: of the expected signal in the reported one, or the reverse.
        sigma: standard deviation of the share.
        delay: of the reported signal [s].
        unlike: part of the signal that the fit does not explain, 0 to 1.
    """

    share: float
    sigma: float
    delay: float
    unlike: float

    def within(self, low: float, high: float) -> bool:
        """Whether the share may be within bounds, by its standard deviation."""
        margin = min(SIGMAS * self.sigma, NOISE)
        return low - margin <= self.share <= high + margin


def motion_fit(time: Array, place: Array, expected: Array) -> Fit:
    """Compare displacements (N,) with the expected ones; the share is reported by expected.

    Args:
        time: (N,) of the states, from the start of the effort [s].
        place: (N,) reported displacements [rad or m].
        expected: (N,) of the model without friction.
    """
    speed = velocity(time, place)
    forth = speed > MOVING * np.abs(speed).max()
    back = speed < -MOVING * np.abs(speed).max()
    moving = forth | back
    ways = np.stack([forth, back])[:, moving].astype(np.float64)
    others = np.concatenate([ways, ways * time[moving], place[None, moving]])

    def at(delay: float) -> tuple[Array, Array]:
        due = velocity(time, _delayed(time, expected, delay))
        return np.concatenate([due[None, moving], others]), speed[moving]

    return _best(time, at)


def velocity_fit(time: Array, place: Array, speed: Array) -> Fit:
    """Compare reported velocities (N,) with the displacements; the share is reported by true."""
    true = velocity(time, place)
    still = np.ones(len(time))
    return _best(time, lambda delay: (np.stack([_delayed(time, true, delay), still]), speed))


def signal_fit(time: Array, sent: Array, measured: Array) -> Fit:
    """Compare measured efforts or positions (N,) with those sent; the share: measured by sent."""
    still = np.ones(len(time))
    return _best(time, lambda delay: (np.stack([_delayed(time, sent, delay), still]), measured))


def velocity(time: Array, place: Array) -> Array:
    """Return the velocities (N,) of displacements, by differences over WINDOW."""
    ahead, behind = time + 0.5 * WINDOW, time - 0.5 * WINDOW
    way = np.interp(ahead, time, place) - np.interp(behind, time, place)
    taken = np.minimum(ahead, time[-1]) - np.maximum(behind, time[0])
    return np.asarray(way / taken)


def _delayed(time: Array, signal: Array, delay: float) -> Array:
    """Return a signal later; it begins with its first number."""
    return np.interp(time - delay, time, signal)


def _best(time: Array, at: Callable[[float], tuple[Array, Array]]) -> Fit:
    """Return the fit of the delay that explains most; `at` gives terms and signal of a delay."""
    step = max(COARSE, float(np.median(np.diff(time))))
    coarse = np.arange(0.0, LONGEST_DELAY, step)
    fits = [_fitted(*at(delay), delay) for delay in coarse]
    if fits[0].unlike < CLEARER:
        return fits[0]
    near = fits[int(np.argmin([fit.unlike for fit in fits]))].delay
    fine = np.clip(near + step * np.linspace(-1.0, 1.0, 9), 0.0, LONGEST_DELAY)
    fits += [_fitted(*at(delay), float(delay)) for delay in fine]
    return min(fits, key=lambda fit: fit.unlike)


def _fitted(terms: Array, signal: Array, delay: float) -> Fit:
    """Return the least-squares fit of terms (k, N) to a signal (N,); the first one's share."""
    size = np.sqrt((terms * terms).sum(axis=1))
    scaled = terms / np.where(size > 0.0, size, 1.0)[:, None]
    inverse = np.linalg.pinv(scaled @ scaled.T, rcond=1e-10, hermitian=True)
    found = inverse @ (scaled @ signal)
    rest = signal - found @ scaled
    left, whole = float(rest @ rest), float(signal @ signal)
    if not (size[0] > 0.0 and whole > 0.0):
        return Fit(0.0, 0.0, float(delay), 1.0)
    spread = left / max(len(signal) - len(terms), 1)
    sigma = float(np.sqrt(spread * max(inverse[0, 0], 0.0)) / size[0])
    return Fit(float(found[0] / size[0]), sigma, float(delay), min(left / whole, 1.0))
