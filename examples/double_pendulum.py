# SPDX-License-Identifier: Apache-2.0
"""A double pendulum conserves its energy, but its motion cannot be predicted.

    python examples/double_pendulum.py [--out FOLDER]

Two double pendulums, released a billionth of a radian apart, diverge within 13 s. Energy errors
after 20 s with steps of 1 ms, relative to the energy that lifts the pendulum from hanging to
standing:

    energy is off by 7e-08 with rk4, by 2e-01 with the default integrator
    1e-09 rad apart at first; 1 rad apart after 12.9 s
"""

import argparse
from pathlib import Path

import numpy as np

import rbdyn_ros as rb

LENGTH, SECONDS, APART = 0.5, 20.0, 1e-9  # [m], [s], [rad]
RELEASED = (2.0, 1.0)  # angles of shoulder and elbow, zero when hanging [rad]


def double_pendulum():
    rod = rb.shapes.box((0.03, 0.03, LENGTH), mass=1.0, at=rb.pose((0, 0, -LENGTH / 2)))
    return rb.build(
        rb.SystemBuilder("double_pendulum", base="ceiling")
        .body("upper", rod)
        .body("lower", rod)
        .joint("shoulder", "revolute", "ceiling", "upper", axis=(0, -1, 0))
        .joint("elbow", "revolute", "upper", "lower", axis=(0, -1, 0), xyz=(0, 0, -LENGTH))
    )


def swing(m, integrator, qpos):
    """Return arrays over time: time, angles (2), total energy, position of the tip (x, z)."""
    m.opt.integrator = integrator
    d = rb.make_data(m)
    d.qpos = qpos
    rows = []
    while d.time < SECONDS:
        energy = rb.kinetic_energy(m, d) + rb.potential_energy(m, d)
        upper, lower = d.qpos[0], d.qpos.sum()
        tip = np.array([np.sin(upper) + np.sin(lower), -np.cos(upper) - np.cos(lower)]) * LENGTH
        rows.append((d.time, *d.qpos, energy, *tip))
        rb.step(m, d, 5)
    return np.array(rows).T


def draw(path, time, tips, apart, energies):
    from matplotlib.figure import Figure  # imported here because only drawing needs it

    figure = Figure(figsize=(12, 3.8), layout="constrained")
    ways, gap, kept = figure.subplots(1, 3)
    parting = (time > 10.5) & (time < 13.5)
    for tip, style in zip(tips, ("tab:blue", "tab:orange"), strict=True):
        ways.plot(*tip[:, parting], color=style, linewidth=1.0)
    ways.plot(0, 0, "k^")
    ways.set(title="both tips, 10.5 s to 13.5 s", xlabel="x [m]", ylabel="z [m]", aspect="equal")
    gap.semilogy(time, apart)
    gap.set(title="distance of the angles", xlabel="time [s]", ylabel="[rad]")
    for name, error in energies.items():
        kept.semilogy(time[1:], error[1:] + 1e-17, linewidth=0.7, label=name)
    kept.set(title="error of the energy", xlabel="time [s]", ylabel="of hanging to standing")
    kept.set_ylim(1e-16, 1.0)
    kept.legend()
    for axes in (ways, gap, kept):
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=80)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path(), metavar="FOLDER", help="output folder")
    folder = parser.parse_args().out
    m = double_pendulum()

    # Run two integrators, and one of them again from an angle a billionth of a radian away.
    lift = 9.81 * LENGTH * 2.0 * m.body_mass.sum()  # energy from hanging to standing [J]
    runs = {name: swing(m, name, RELEASED) for name in ("rk4", "implicit_damping")}
    other = swing(m, "rk4", np.add(RELEASED, (APART, 0.0)))

    # How large are the energy errors, and when did the two motions diverge?
    errors = {name: np.abs(run[3] - run[3, 0]) / lift for name, run in runs.items()}
    exact = runs["rk4"]
    time, apart = exact[0], np.linalg.norm(exact[1:3] - other[1:3], axis=0)
    rk4, default = (error.max() for error in errors.values())
    print(f"energy is off by {rk4:.0e} with rk4, by {default:.0e} with the default integrator")
    parted = time[np.argmax(apart > 1.0)]
    print(f"{APART:.0e} rad apart at first; 1 rad apart after {parted:.1f} s")
    draw(folder / "double_pendulum.png", time, (exact[4:], other[4:]), apart, errors)


if __name__ == "__main__":
    main()
