# SPDX-License-Identifier: Apache-2.0
"""Energy errors and convergence orders of the integrators.

    python examples/integrators.py [--out FOLDER]

The systems are a double pendulum without friction, the same pendulum with strong damping, and a
freely tumbling box. The box is on a joint of type floating or sixdof_fp; the pose of sixdof_fp
follows the exponential of its velocity in SE(3). An order is the slope of the error of all poses
after a second:

    order of euler                1.04
    order of implicit_damping     1.04
    order of rk4                  4.00
    order of euler, floating      1.01
    order of euler, sixdof_fp     1.01
    order of rk4, floating        4.01
    order of rk4, sixdof_fp       4.01
    no friction, 5 ms:      implicit_damping   energy rises by 1.2e+00 J
    no friction, 5 ms:      rk4                energy rises by 1.0e-05 J
    a hard brake, 20 ms:    euler              energy rises by 2.0e+02 J
    a hard brake, 20 ms:    implicit_damping   energy rises by 0.0e+00 J
    tumbling freely, 5 ms:  euler, floating    energy rises by 8.1e+00 J
    tumbling freely, 5 ms:  euler, sixdof_fp   energy rises by 5.9e+01 J
    ...
"""

import argparse
import warnings
from pathlib import Path

import numpy as np

import rbdyn_ros as rb

STEPS = 1.0 / np.array([128, 256, 512, 1024])  # [s]
LENGTH = 0.5  # length of a rod [m]
INTEGRATORS = ("euler", "implicit_damping", "rk4")


def double_pendulum(brake=0.0):
    rod = rb.shapes.box((0.03, 0.03, LENGTH), mass=1.0, at=rb.pose((0, 0, -LENGTH / 2)))
    hinge = {"axis": (0, -1, 0), "damping": brake}
    m = rb.build(
        rb.SystemBuilder("double_pendulum", base="ceiling")
        .body("upper", rod)
        .body("lower", rod)
        .joint("shoulder", "revolute", "ceiling", "upper", **hinge)
        .joint("elbow", "revolute", "upper", "lower", xyz=(0, 0, -LENGTH), **hinge)
    )
    return m, np.array([1.0, 0.5]), np.zeros(2)


def tumbling(joint):
    """Return a Model of a box, its position and its velocity, equal for both joint types."""
    box = rb.shapes.box((0.1, 0.4, 0.9), mass=36.0)
    system = rb.SystemBuilder("box", base="world").body("box", box)
    m = rb.build(system.joint("free", joint, "world", "box"))
    m.opt.gravity = np.zeros(3)
    linear, angular = np.array([0.5, 0.0, 1.0]), np.array([3.0, 3.0, 3.0])
    parts = (linear, angular) if joint == "floating" else (angular, linear)
    return m, m.qpos0, np.concatenate(parts)


def simulate(system, integrator, timestep, seconds, every):
    """Return time and energy every `every` steps, and the final poses of the bodies."""
    m, qpos, qvel = system
    m.opt.integrator, m.opt.timestep = integrator, timestep
    d, rows = rb.make_data(m), []
    d.qpos, d.qvel = qpos, qvel
    with warnings.catch_warnings():  # rb.step warns if an integrator adds energy
        warnings.simplefilter("ignore", RuntimeWarning)
        for _ in range(round(seconds / (every * timestep))):
            rows.append((d.time, rb.kinetic_energy(m, d) + rb.potential_energy(m, d)))
            rb.step(m, d, every)
    rb.kinematics(m, d)
    return np.array(rows).T, np.concatenate([d.xipos[1:].ravel(), d.ximat[1:].ravel()])


def by_integrator(system, timestep, seconds, every):
    """Return time and energy every `every` steps, for each integrator by name."""
    return {name: simulate(system, name, timestep, seconds, every)[0] for name in INTEGRATORS}


def errors(system, integrator):
    """Return the error of the poses after a second for each step size."""
    exact = simulate(system, "rk4", 1.0 / 8192, 1.0, 8192)[1]
    ends = [simulate(system, integrator, h, 1.0, 1)[1] for h in STEPS]
    return np.array([np.abs(end - exact).max() for end in ends])


def order(error):
    """Return the slope of log(error) over log(step), without the largest step."""
    return np.polyfit(np.log(STEPS[1:]), np.log(error[1:]), 1)[0]


def convergence():
    """Return the errors of all integrators and joint types by name."""
    cases = {name: errors(double_pendulum(), name) for name in INTEGRATORS}
    for name in ("euler", "rk4"):
        for joint in ("floating", "sixdof_fp"):
            cases[f"{name}, {joint}"] = errors(tumbling(joint), name)
    return cases


def draw(path, energies, cases):
    from matplotlib.figure import Figure  # imported here because only drawing needs it

    figure = Figure(figsize=(11, 6.5), layout="constrained")
    panels = figure.subplots(2, 2).ravel()
    for axes, (title, runs) in zip(panels, energies.items(), strict=False):
        for k, (name, (time, energy)) in enumerate(runs.items()):
            axes.plot(time, energy, ("-", "--", ":", "-.")[k], label=name)
        axes.set(title=title, xlabel="time [s]", ylabel="energy [J]")
    for k, (name, error) in enumerate(cases.items()):
        panels[3].loglog(STEPS * 1e3, error, "os^vD<>"[k] + "-", markersize=4, label=name)
    panels[3].set(title="error after a second", xlabel="step [ms]", ylabel="largest")
    panels[1].set_ylim(-8.0, 4.0)  # Euler's method leaves this range
    panels[3].set_xticks(STEPS * 1e3, [f"{h * 1e3:.2g}" for h in STEPS])
    panels[3].minorticks_off()
    for axes in panels:
        axes.grid(alpha=0.3)
        beside = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
        axes.legend(**(beside if axes is panels[3] else {"loc": "upper left"}))
    figure.savefig(path, dpi=70)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path(), metavar="FOLDER", help="output folder")
    folder = parser.parse_args().out
    # How does the error after a second decrease with the step?
    cases = convergence()
    for name, error in cases.items():
        print(f"order of {name:20} {order(error):.2f}")

    # Compare the energy in three systems, each of which shows another weakness.
    free, braked = double_pendulum(), double_pendulum(brake=3.0)
    energies = {
        "no friction, 5 ms": by_integrator(free, 0.005, 10.0, 4),
        "a hard brake, 20 ms": by_integrator(braked, 0.02, 0.3, 1),
        "tumbling freely, 5 ms": {
            f"{name}, {joint}": simulate(tumbling(joint), name, 0.005, 10.0, 4)[0]
            for name in ("euler", "rk4")
            for joint in ("floating", "sixdof_fp")
        },
    }
    for title, runs in energies.items():
        for name, (_, energy) in runs.items():
            rise = f"{energy.max() - energy[0]:.1e}"
            print(f"{title + ':':24}{name:18} energy rises by {rise} J")

    draw(folder / "integrators.png", energies, cases)


if __name__ == "__main__":
    main()
