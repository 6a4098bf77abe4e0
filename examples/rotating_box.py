# SPDX-License-Identifier: Apache-2.0
"""A rotating box thrown upwards keeps its angular momentum; Euler's method loses it.

    python examples/rotating_box.py [--out FOLDER]

Introduction to Humanoid Robotics, section 6.1: a box of 0.1 x 0.4 x 0.9 m and 36 kg starts with
(1, 1, 1) rad/s. The book integrates with Euler's method and steps of 20 ms. The engine uses the
Runge-Kutta method and steps of 1 ms, and gravity acts on its box. After 5 s:

    angular velocity [rad/s]: engine (0.6740, 1.6774, -0.4078), Euler (1.5180, 0.4592, 0.8471)
    angular momentum is off by 8e-14, with Euler's method by 6e-02
    energy of the whole fall is off by 1e-13
"""

import argparse
import itertools
from pathlib import Path

import numpy as np

import rbdyn_ros as rb
from rbdyn_ros.textbook.euler_equation import turning as euler_turning

SIZE, MASS = (0.1, 0.4, 0.9), 36.0  # [m, kg]
START = np.ones(3)  # initial angular velocity [rad/s]
SECONDS, EULER_STEP = 5.0, 0.02  # [s]


def by_engine():
    """Return over time: time, angular velocity and momentum, kinetic energy and total energy."""
    system = rb.SystemBuilder("box", base="world").body("box", rb.shapes.box(SIZE, mass=MASS))
    m = rb.build(system.joint("free", "floating", "world", "box"))
    m.opt.integrator, m.opt.timestep = "rk4", 0.001
    d = rb.make_data(m)
    d.qvel[3:] = START
    rows = []
    for _ in range(round(SECONDS / EULER_STEP) + 1):
        _, R = rb.frame_pose(m, d, "box")
        kinetic, potential = rb.kinetic_energy(m, d), rb.potential_energy(m, d)
        turn = rb.centroidal_momentum(m, d)[:3]
        rows.append((d.time, *(R @ d.qvel[3:]), *turn, kinetic, kinetic + potential))
        rb.step(m, d, round(EULER_STEP / m.opt.timestep))
    time, w, L, kinetic, total = np.split(np.array(rows), [1, 4, 7, 8], axis=1)
    return time[:, 0], w, L, kinetic[:, 0], total[:, 0]


def by_euler(count):
    """Return angular velocity and momentum (count, 3), computed by the textbook's program."""
    I_body = np.diag(rb.shapes.box(SIZE, mass=MASS).inertia[:3])
    states = itertools.islice(euler_turning(I_body, START, EULER_STEP), count)
    return np.array([(w, R @ I_body @ R.T @ w) for R, w in states]).transpose(1, 0, 2)


def draw(path, time, engine, euler):
    from matplotlib.figure import Figure  # imported here because only drawing needs it

    figure = Figure(figsize=(10, 4), layout="constrained")
    names = ("angular velocity [rad/s]", "angular momentum [N m s]")
    for axes, name, exact, rough in zip(figure.subplots(1, 2), names, engine, euler, strict=True):
        for k, color in enumerate(("tab:red", "tab:green", "tab:blue")):
            axes.plot(time, exact[:, k], color=color, label=f"{'xyz'[k]}, engine")
            axes.plot(time, rough[:, k], ":", color=color, label=f"{'xyz'[k]}, Euler, 20 ms")
        axes.set(xlabel="time [s]", ylabel=name, xlim=(0.0, SECONDS))
        axes.grid(alpha=0.3)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(path, dpi=100)


def off(values):
    """Return the largest deviation from the first value, relative to its norm."""
    return np.abs(values - values[0]).max() / np.linalg.norm(values[0])


def energy_of_turning(w, L):
    return 0.5 * np.sum(w * L, axis=1, keepdims=True)


def vector(values):
    return "({:.4f}, {:.4f}, {:.4f})".format(*values)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path(), metavar="FOLDER", help="output folder")
    folder = parser.parse_args().out
    time, w, L, kinetic, total = by_engine()
    w_euler, L_euler = by_euler(len(time))

    # No moment acts about the centre of mass, so momentum and rotational energy are constant.
    turning_off, euler_off = off(energy_of_turning(w, L)), off(energy_of_turning(w_euler, L_euler))
    fall_off = np.abs(total - total[0]).max() / kinetic[-1]
    print(f"angular velocity [rad/s]: engine {vector(w[-1])}, Euler {vector(w_euler[-1])}")
    print(f"angular momentum is off by {off(L):.0e}, with Euler's method by {off(L_euler):.0e}")
    print(f"energy of turning is off by {turning_off:.0e}, with Euler's method by {euler_off:.0e}")
    print(f"energy of the whole fall is off by {fall_off:.0e}")

    draw(folder / "rotating_box.png", time, (w, L), (w_euler, L_euler))


if __name__ == "__main__":
    main()
