# SPDX-License-Identifier: Apache-2.0
"""A leaning coin rolls on a table without slipping: the path of its centre.

    python examples/rolling_disk.py [--out FOLDER]

At the right spin a leaning coin rolls in a circle that is known in closed form. With less spin it
falls, rises again, and draws a rosette:

    spun at -28.3 rad/s: a circle of 42.42 mm, kept to 1.2e-06 mm
    spun at -11.3 rad/s: its centre goes down to 6.56 mm and comes up to 11.05 mm
    the coin is off the table by 2e-11 m at most
"""

import argparse
from pathlib import Path

import numpy as np

import rbdyn_ros as rb

RADIUS, THICKNESS, MASS = 0.012, 0.002, 0.008  # [m, m, kg]
LEAN, TURN = 0.4, 8.0  # angle to the vertical [rad], rate of turn about it [rad/s]
SLOWER = 0.4  # second spin, as a fraction of the circle's


def coin():
    """Return a coin with its axis along y, upright at zero, that rolls on its edge."""
    disk = rb.shapes.cylinder(RADIUS, THICKNESS, mass=MASS, at=rb.pose(rpy=(np.pi / 2, 0, 0)))
    m = rb.build(
        rb.SystemBuilder("coin", base="table")
        .body("coin", disk)
        .joint("free", "floating", "table", "coin", xyz=(0, 0, RADIUS))
        .roll("edge", "coin", "table", RADIUS, axis=(0, 1, 0))
    )
    m.opt.integrator = "rk4"
    return m


def spin_of_a_circle():
    """Return the spin about its axis at which the coin keeps its lean [rad/s].

    The table's moment rotates the angular momentum. With inertia A across and C along the axis,
    TURN cos(LEAN) ((C + m r^2) spin - A TURN sin(LEAN)) = -m g r sin(LEAN).
    """
    across = MASS * (RADIUS**2 / 4 + THICKNESS**2 / 12)
    along = MASS * RADIUS**2 / 2
    pull = MASS * 9.81 * RADIUS * np.tan(LEAN) / TURN
    return (across * TURN * np.sin(LEAN) - pull) / (along + MASS * RADIUS**2)


def roll(m, spin, seconds):
    """Return the positions of the centre (n, 3), and the coin's largest gap to the table [m]."""
    d = rb.make_data(m)
    d.qpos[2] = RADIUS * (np.cos(LEAN) - 1.0)
    d.qpos[3:] = np.cos(LEAN / 2), np.sin(LEAN / 2), 0.0, 0.0
    d.qvel[:3] = spin * RADIUS, 0.0, 0.0  # velocity of the centre without slip
    d.qvel[3:] = 0.0, spin, TURN * np.cos(LEAN)
    places, gap = [], 0.0
    while d.time < seconds:
        rb.step(m, d, 2)
        rb.forward(m, d)
        places.append(d.xpos[1].copy())
        gap = max(gap, float(np.abs(d.efc_pos).max()))
    return np.array(places), gap


def draw(path, circle, rosette):
    from matplotlib.figure import Figure  # imported here because only drawing needs it

    figure = Figure(figsize=(9, 4.5), layout="constrained")
    figure.suptitle("the centre of a rolling coin")
    left, right = figure.subplots(1, 2)
    for axes, title, places in ((left, "in balance", circle), (right, "too slow", rosette)):
        axes.plot(*places[:, :2].T * 1e3, linewidth=0.8)
        axes.set(title=title, xlabel="x [mm]", ylabel="y [mm]", aspect="equal")
    figure.savefig(path, dpi=70)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path(), metavar="FOLDER", help="output folder")
    folder = parser.parse_args().out
    m, spin = coin(), spin_of_a_circle()
    circle, gap_1 = roll(m, spin, seconds=4.0)
    rosette, gap_2 = roll(m, SLOWER * spin, seconds=4.0)

    # In balance the centre moves on a circle, whose radius follows from the spin.
    radius = abs(spin) * RADIUS / TURN
    off = np.abs(np.hypot(circle[:, 0], circle[:, 1] + radius) - radius).max()
    low, high = rosette[:, 2].min(), rosette[:, 2].max()
    circled = f"a circle of {radius * 1e3:.2f} mm, kept to {off * 1e3:.1e} mm"
    nodded = f"its centre goes down to {low * 1e3:.2f} mm and comes up to {high * 1e3:.2f} mm"
    print(f"spun at {spin:.1f} rad/s: {circled}")
    print(f"spun at {SLOWER * spin:.1f} rad/s: {nodded}")
    print(f"the coin is off the table by {max(gap_1, gap_2):.0e} m at most")

    draw(folder / "rolling_disk.png", circle, rosette)


if __name__ == "__main__":
    main()
