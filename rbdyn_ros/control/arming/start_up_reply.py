# SPDX-License-Identifier: Apache-2.0
"""The reply of a joint to a known effort, compared with the model in the start-up test.

Let v be the velocity by the reported positions x, and w the velocity that the efforts sent would
cause without friction. While the joint moves in one direction,

    v(t) = share w(t - delay) - viscous x - dry t + start

Each direction has a start and a dry friction of its own, so it does not matter where friction held
the joint. A joint of the right sign and ratio has the share 1, with friction and without. The fit
is by least squares: all other terms are first subtracted from the signal and from the delayed
term.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from rbdyn_ros.control.base.kernels import kernel
from rbdyn_ros.control.base.record import Record
from rbdyn_ros.engine.compiler.jit import Vector
from rbdyn_ros.model.declared.fields import Field

#: Most states of a reply that are stored, and most terms besides the delayed term.
ROWS, TERMS = 512, 5
#: Longest delay that is tried, and shortest step between the delays [s].
LONGEST_DELAY, COARSE = 0.15, 0.004
#: Velocities are differences of positions over this time [s].
WINDOW = 0.02
#: A joint moves while it is faster than this share of its largest speed.
MOVING = 0.3
#: A delay counts only if more than this share remains unexplained without it: with friction,
#: several delays can explain a short motion.
CLEARER = 0.003
#: A fitted share may be out of its bounds by SIGMAS of its standard deviations, but by at most
#: NOISE.
SIGMAS, NOISE = 3.0, 0.4
#: A term is left out if the other terms explain all of it except this share.
SAME = 1e-5
#: Comparisons: velocities with expected velocities, reported velocities with true velocities,
#: measured efforts with the efforts sent.
MOTION, VELOCITY, MEASURED = range(3)


class Reply(Record):
    """States of one joint since a pulse began, and a comparison of two of their rows."""

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("count", (), "number of states", "int"),
        Field("time", (ROWS,), "time since the pulse began [s]"),
        Field("place", (ROWS,), "reported displacement [rad or m]"),
        Field("expected", (ROWS,), "displacement by the model, without friction"),
        Field("speed", (ROWS,), "reported velocity"),
        Field("sent", (ROWS,), "effort beyond gravity, or displacement, that was commanded"),
        Field("measured", (ROWS,), "measured effort or displacement"),
        # the result of the last fit
        Field("share", (), "share of the expected signal in the reported signal"),
        Field("sigma", (), "standard deviation of the share"),
        Field("delay", (), "delay of the reported signal [s]"),
        Field("unlike", (), "part of the signal that the fit does not explain, 0 to 1"),
        # work space
        Field("moving", (ROWS,), "velocity by the positions"),
        Field("counts", (ROWS,), "1, -1: the joint moves forth, back; 0: the state is left out"),
        Field("signal", (ROWS,), "reported signal, with the fitted terms subtracted"),
        Field("due", (ROWS,), "the expected signal, delayed"),
        Field("basis", (TERMS, ROWS), "the other terms, orthonormal"),
        Field("terms", (), "number of these terms", "int"),
        Field("whole", (), "sum of the squares of the signal"),
    )


@kernel
def remember(
    r: Reply,
    spacing: float,
    time: float,
    place: float,
    expected: float,
    speed: float,
    sent: float,
    measured: float,
) -> None:
    """Append a state, unless it follows the last state sooner than `spacing` [s], or r is full.

    The other arguments are the new entries of the fields of r with these names.
    """
    i = r.count
    if i == ROWS or (i > 0 and time - r.time[i - 1] < spacing):
        return
    r.time[i], r.place[i], r.expected[i], r.speed[i] = time, place, expected, speed
    r.sent[i], r.measured[i] = sent, measured
    r.count = i + 1


@kernel
def at(r: Reply, signal: Vector, moment: float) -> float:
    """Return a signal at a time: linear between the states, constant before and after them."""
    low, high = 0, r.count - 1
    if moment <= r.time[low]:
        return float(signal[low])
    if moment >= r.time[high]:
        return float(signal[high])
    while high - low > 1:
        middle = int(0.5 * (low + high))
        if r.time[middle] > moment:
            high = middle
        else:
            low = middle
    share = (moment - r.time[low]) / (r.time[high] - r.time[low])
    return float(signal[low] + share * (signal[high] - signal[low]))


@kernel
def slope(r: Reply, signal: Vector, moment: float, delay: float) -> float:
    """Return the slope of a delayed signal at a time, by its difference over WINDOW."""
    ahead = min(moment + 0.5 * WINDOW, r.time[r.count - 1])
    behind = max(moment - 0.5 * WINDOW, r.time[0])
    way = at(r, signal, ahead - delay) - at(r, signal, behind - delay)
    return float(way / (ahead - behind))


@kernel
def dot(r: Reply, one: Vector, other: Vector) -> float:
    """Return the inner product of two signals."""
    found = 0.0
    for i in range(r.count):
        found += one[i] * other[i]
    return found


@kernel
def take_terms_out(r: Reply, signal: Vector) -> None:
    """Subtract the fitted terms from a signal."""
    for _ in range(2):  # the first pass leaves rounding errors
        for j in range(r.terms):
            share = dot(r, r.basis[j], signal)
            for i in range(r.count):
                signal[i] -= share * r.basis[j, i]


@kernel
def add_term(r: Reply) -> None:
    """Add the term in the next row of the basis, unless the other terms explain it."""
    term = r.basis[r.terms]
    before = np.sqrt(dot(r, term, term))
    take_terms_out(r, term)
    after = np.sqrt(dot(r, term, term))
    if after > SAME * before:
        for i in range(r.count):
            term[i] /= after
        r.terms += 1


@kernel
def prepare_motion(r: Reply) -> None:
    """Write the velocities and the terms of friction, while the joint moves."""
    most = 0.0
    for i in range(r.count):
        r.signal[i] = r.moving[i]
        most = max(most, abs(r.moving[i]))
    for i in range(r.count):
        v = r.moving[i]
        r.counts[i] = 1.0 if v > MOVING * most else -1.0 if v < -MOVING * most else 0.0
        r.signal[i] *= abs(r.counts[i])
    for way in range(2):
        for grows in range(2):
            for i in range(r.count):
                on = max(r.counts[i], 0.0) if way == 0 else max(-r.counts[i], 0.0)
                r.basis[r.terms, i] = on * r.time[i] if grows > 0 else on
            add_term(r)
    for i in range(r.count):
        r.basis[r.terms, i] = abs(r.counts[i]) * r.place[i]
    add_term(r)


@kernel
def prepare(r: Reply, kind: int) -> None:
    """Write the signal of the comparison `kind`, and the terms that do not depend on the delay."""
    r.terms = 0
    for i in range(r.count):
        r.moving[i] = slope(r, r.place, r.time[i], 0.0)
    if kind == MOTION:
        prepare_motion(r)
    else:
        for i in range(r.count):
            r.signal[i] = r.speed[i] if kind == VELOCITY else r.measured[i]
            r.counts[i] = r.basis[0, i] = 1.0
        add_term(r)
    r.whole = dot(r, r.signal, r.signal)
    take_terms_out(r, r.signal)


@kernel
def explain(r: Reply, kind: int, delay: float) -> None:
    """Fit the signal with a delay, and write delay, share, sigma and unlike."""
    used = 0.0
    for i in range(r.count):
        counts = abs(r.counts[i])
        used += counts
        if kind == MOTION:
            r.due[i] = counts * slope(r, r.expected, r.time[i], delay)
        elif kind == VELOCITY:
            r.due[i] = at(r, r.moving, r.time[i] - delay)
        else:
            r.due[i] = at(r, r.sent, r.time[i] - delay)
    take_terms_out(r, r.due)
    size, left = dot(r, r.due, r.due), dot(r, r.signal, r.signal)
    r.delay, r.share, r.sigma, r.unlike = delay, 0.0, 0.0, 1.0
    if size > 0.0 and r.whole > 0.0:
        r.share = dot(r, r.due, r.signal) / size
        left = max(left - r.share * r.share * size, 0.0)
        r.sigma = np.sqrt(left / max(used - float(r.terms) - 1.0, 1.0) / size)
        r.unlike = min(left / r.whole, 1.0)


@kernel
def fit(r: Reply, kind: int) -> None:
    """Fit a signal, see `prepare`, with the delay that explains most; needs two states or more."""
    prepare(r, kind)
    explain(r, kind, 0.0)
    if r.unlike < CLEARER:
        return
    best, near = r.unlike, 0.0
    step = max(COARSE, (r.time[r.count - 1] - r.time[0]) / (float(r.count) - 1.0))
    for i in range(1, int(LONGEST_DELAY / step) + 1):
        explain(r, kind, float(i) * step)
        if r.unlike < best:
            best, near = r.unlike, r.delay
    chosen = near
    for i in range(9):
        explain(r, kind, min(max(near + step * (0.25 * float(i) - 1.0), 0.0), LONGEST_DELAY))
        if r.unlike < best:
            best, chosen = r.unlike, r.delay
    explain(r, kind, chosen)


@kernel
def within(r: Reply, low: float, high: float) -> bool:
    """Return whether r.share lies within bounds, with a margin for its standard deviation."""
    margin = min(SIGMAS * r.sigma, NOISE)
    return bool(low - margin <= r.share and r.share <= high + margin)
