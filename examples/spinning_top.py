# SPDX-License-Identifier: Apache-2.0
"""A spinning top falls on the floor, precesses and nutates.

    python examples/spinning_top.py [--out FOLDER] [--film]

Introduction to Humanoid Robotics, section 6.3.4: an aluminium disk on a shaft. A
spring, a damper and viscous friction act on its foot. The rates of precession and nutation of a
tilted top are the roots of a quadratic equation. In the book the foot slides by a millimetre; this
damps the nutation and makes the equation cubic:

    [rad/s]               precession  nutation
    steady, foot fixed         2.206     17.88
    steady, foot sliding       2.206     16.85
    simulated at 2 ms          2.204     16.87
    steady, foot fixed         2.206     17.88
    steady, foot sliding       2.206     16.85
    simulated at 0.2 ms        2.206     16.73
    it landed after 0.25 s and spins at 49.90 rad/s
"""

import argparse
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares

import rbdyn_ros as rb

RADIUS, THICKNESS, HEIGHT = 0.2, 0.05, 0.2  # disk, and its height above the foot [m]
FOOT = rb.Surface(stiffness=1e4, damping=1e3, viscosity=1e3)  # [N/m, N s/m, N s/m]
TILT, SPIN, DROP = np.pi / 50, 50.0, 0.3  # at the start: angle [rad], spin [rad/s], height [m]
SECONDS, SETTLED, SAMPLE = 2.0, 0.8, 0.002  # duration, start of steady motion, sample period [s]


def spinning_top(timestep):
    m = rb.build(
        rb.SystemBuilder("top", base="world")
        .body("top", rb.shapes.top(RADIUS, THICKNESS, HEIGHT))
        .joint("free", "floating", "world", "top")
        .geometry("foot", "top", rb.Points(((0, 0, 0),)), surface=FOOT)
        .geometry("disk", "top", rb.Cylinder(RADIUS, THICKNESS), origin=rb.pose((0, 0, HEIGHT)))
        .floor()
    )
    m.opt.timestep, m.opt.gravity = timestep, (0.0, 0.0, -9.8)
    return m


def dropped(m):
    """Return a Data of the top above the floor, spinning about the vertical."""
    d = rb.make_data(m)
    d.qpos = 0.0, 0.0, DROP, np.cos(TILT / 2), np.sin(TILT / 2), 0.0, 0.0
    _, R = rb.frame_pose(m, d, "top")
    d.qvel[3:] = R.T @ (0.0, 0.0, SPIN)
    return d


def simulate(m):
    """Return arrays over time: time, direction of the shaft as x + iy, its z, spin, contacts."""
    d, rows = dropped(m), []
    while d.time < SECONDS - 1e-9:
        rb.step(m, d, round(SAMPLE / m.opt.timestep))
        _, R = rb.frame_pose(m, d, "top")
        x, y, z = R[:, 2]
        rows.append((d.time, x + 1j * y, z, d.qvel[5], d.ncon))
    time, shaft, z, spin, touch = np.array(rows).T
    return time.real, shaft, z.real, spin.real, touch.real


def steady(m, spin, z, viscosity):
    """Return the rates of precession and nutation for a viscous friction D of the foot [rad/s].

    For a fixed foot A cos(tilt) W^2 - C spin W + m g l = 0 with A about the foot. For a foot that
    slides with velocity u the friction -D u moves the centre of mass, m (u' + l x') = -D u. With
    the shaft's direction x + iy = exp(s t) this gives u = -m l s^2 / (m s + D), beside the moment
    -l D u about the centre of mass. W is the imaginary part of s.
    """
    mass, (A, _, C), g = m.body_mass[1], m.body_inertia[1], -m.opt.gravity[2]
    about_com = [A * z, -1j * C * spin, -mass * g * HEIGHT]
    carried = [mass * HEIGHT**2 * viscosity * z, 0.0, 0.0]
    rates = np.roots(np.polyadd(np.polymul(about_com, [mass, viscosity]), carried))
    slow, fast = sorted(rates, key=lambda s: abs(s.real))[:2]
    return slow.imag, fast.imag


def measured(time, shaft):
    """Return the rates of precession and nutation: x + iy fitted by two decaying rotations."""

    def error(p):
        slow, fast = complex(p[0], p[1]), complex(p[2], p[3])
        arrows = complex(p[4], p[5]) * np.exp(slow * t) + complex(p[6], p[7]) * np.exp(fast * t)
        return (arrows - shaft).view(float)

    t = time - time[0]
    p = least_squares(error, [0.0, 2.0, -4.0, 18.0, shaft[0].real, shaft[0].imag, 0.0, 0.0]).x
    return p[1], p[3]


def report(m):
    """Print the rates of theory and simulation; return the simulation."""
    time, shaft, z, spin, touch = simulate(m)
    late = time >= SETTLED
    rates = {
        "steady, foot fixed": steady(m, spin[-1], z[late].mean(), 1e9),
        "steady, foot sliding": steady(m, spin[-1], z[late].mean(), FOOT.viscosity),
        f"simulated at {m.opt.timestep * 1e3:g} ms": measured(time[late], shaft[late]),
    }
    for name, (precession, nutation) in rates.items():
        print(f"{name:21} {precession:10.3f} {nutation:9.2f}")
    return time, shaft, z, spin, touch


def draw(path, runs):
    from matplotlib.figure import Figure  # imported here because only drawing needs it

    figure = Figure(figsize=(9, 4.5), layout="constrained")
    path_axes, tilt = figure.subplots(1, 2)
    for name, (time, shaft, _, _, touch) in runs.items():
        landed = touch.cumsum() > 0.0
        path_axes.plot(shaft[landed].real, shaft[landed].imag, linewidth=0.9)
        tilt.plot(time, np.degrees(np.arcsin(abs(shaft))), linewidth=0.9, label=name)
    tilt.axvspan(0.0, time[np.argmax(touch > 0.0)], color="0.9", label="in the air")
    path_axes.set(title="direction of the shaft", xlabel="x", ylabel="y", aspect="equal")
    tilt.set(title="its tilt", xlabel="time [s]", ylabel="[degree]", xlim=(0.0, SECONDS), ylim=0.0)
    for axes in (path_axes, tilt):
        axes.grid(alpha=0.3)
    tilt.legend(loc="upper right")
    figure.savefig(path, dpi=90)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path(), metavar="FOLDER", help="output folder")
    parser.add_argument("--film", action="store_true", help="also write a film")
    given = parser.parse_args()
    models = {f"step {step * 1e3:g} ms": spinning_top(step) for step in (SAMPLE, 0.1 * SAMPLE)}
    print("[rad/s]               precession  nutation")
    runs = {name: report(m) for name, m in models.items()}

    # When did it land, and how much of its spin remains?
    time, _, _, spin, touch = runs["step 2 ms"]
    landed = time[np.argmax(touch > 0.0)]
    print(f"it landed after {landed:.2f} s and spins at {spin[-1]:.2f} rad/s")
    draw(given.out / "spinning_top.png", runs)

    # The film starts in the air.
    if given.film:
        m = models["step 2 ms"]
        film = given.out / "spinning_top.gif"
        rb.animate(m, dropped(m), film, duration=SECONDS, fps=25, size=(480, 360))


if __name__ == "__main__":
    main()
