# SPDX-License-Identifier: Apache-2.0
"""A wing nut in orbit: spun about its middle axis, it flips again and again.

    python examples/dzhanibekov.py [--out FOLDER]

The cosmonaut Dzhanibekov observed this motion. Jacobi had solved its equations: the components of
the angular velocity are elliptic functions, and the body flips after each half of their period.

    moments of inertia: 0.0041, 0.0150, 0.0184 kg m^2
    a flip every 3.8580 s; by the elliptic integral 3.8580 s: off by 9e-11
"""

import argparse
from pathlib import Path

import numpy as np
from scipy.special import ellipk

import rbdyn_ros as rb

BAR, STEM = (0.06, 0.3, 0.04), (0.1, 0.05, 0.04)  # sizes of the parts of the T [m]
SPIN, NUDGE = 6.0, 0.01  # about the middle axis and the other axes [rad/s]
SECONDS = 20.0


def wing_nut():
    """Return a Model of a T without gravity, with principal axes along the body's axes."""
    bar = rb.shapes.box(BAR, density=rb.shapes.ALUMINIUM)
    stem = rb.shapes.box(STEM, density=rb.shapes.ALUMINIUM, at=rb.pose((0.08, 0, 0)))
    system = rb.SystemBuilder("wing_nut", base="world").body("nut", rb.shapes.combine(bar, stem))
    m = rb.build(system.joint("free", "floating", "world", "nut"))
    m.opt.gravity, m.opt.integrator = (0.0, 0.0, 0.0), "rk4"
    return m


def principal(m):
    """Return the moments of inertia in ascending order, and their axes as columns."""
    order = np.argsort(m.body_inertia[1])
    return m.body_inertia[1, order], m.body_imat[1].reshape(3, 3)[:, order]


def simulate(m, start):
    """Simulate from `start`; return time and angular velocity about the principal axes (n, 3)."""
    d, axes = rb.make_data(m), principal(m)[1]
    d.qvel[3:] = axes @ start
    rows = []
    while d.time < SECONDS:
        rows.append((d.time, *(axes.T @ d.qvel[3:])))
        rb.step(m, d)
    return np.split(np.array(rows), [1], axis=1)


def time_between_flips(moments, w):
    """Return 2 K(k) / rate [s], half the period of Jacobi's functions.

    With I1 < I2 < I3, energy T, momentum L and L^2 > 2 T I2 (otherwise exchange I1 and I3):
    rate^2 = (I3 - I2) (L^2 - 2 T I1) / (I1 I2 I3),
    k^2 = (I2 - I1) (2 T I3 - L^2) / ((I3 - I2) (L^2 - 2 T I1)).
    Source: Landau, Lifshitz, Mechanics, section 37.
    """
    LL, TT = np.sum((moments * w) ** 2), np.sum(moments * w**2)  # L^2, 2 T
    I1, I2, I3 = moments if moments[1] * TT < LL else moments[::-1]
    rate = np.sqrt((I3 - I2) * (LL - TT * I1) / (I1 * I2 * I3))
    return 2.0 * ellipk((I2 - I1) * (TT * I3 - LL) / ((I3 - I2) * (LL - TT * I1))) / rate


def zeros(time, values):
    """Return the times of sign changes, by linear interpolation between samples."""
    k = np.flatnonzero(values[:-1] * values[1:] < 0.0)
    return time[k] - values[k] * (time[k + 1] - time[k]) / (values[k + 1] - values[k])


def draw(path, time, w):
    from matplotlib.figure import Figure  # imported here because only drawing needs it

    figure = Figure(figsize=(9, 3.5), layout="constrained")
    axes = figure.subplots()
    for k, name in enumerate(("smallest", "middle", "largest")):
        axes.plot(time, w[:, k], label=f"axis of the {name} moment")
    axes.set(xlabel="time [s]", ylabel="angular velocity [rad/s]", xlim=(0.0, SECONDS))
    axes.grid(alpha=0.3)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(path, dpi=100)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path(), metavar="FOLDER", help="output folder")
    folder = parser.parse_args().out
    m, start = wing_nut(), np.array([NUDGE, SPIN, NUDGE])
    moments, _ = principal(m)
    time, w = simulate(m, start)

    # The middle component changes sign at every flip.
    measured = np.diff(zeros(time[:, 0], w[:, 1])).mean()
    exact = time_between_flips(moments, start)
    print("moments of inertia: {:.4f}, {:.4f}, {:.4f} kg m^2".format(*moments))
    error = f"off by {abs(measured / exact - 1.0):.0e}"
    print(f"a flip every {measured:.4f} s; by the elliptic integral {exact:.4f} s: {error}")
    draw(folder / "dzhanibekov.png", time[:, 0], w)


if __name__ == "__main__":
    main()
