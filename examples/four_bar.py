# SPDX-License-Identifier: Apache-2.0
"""Hoeken's linkage: a motor turns a crank, and the tip of a bar draws a nearly straight line.

    python examples/four_bar.py [--out FOLDER]

The motor has a constant torque and a damped bearing, which limits its speed to 10 rad/s:

    time [s]  crank [turns]  speed [rad/s]
         0.5           0.49           9.31
    ...
         3.0           4.43          10.08
    the loop is open by 3e-08 m at most
    half a turn draws 0.1594 m, straight to 0.00039 m
"""

import argparse
from pathlib import Path

import numpy as np

import rbdyn_ros as rb

CRANK = 0.04  # [m]
GROUND, BAR, ROCKER = 2.0 * CRANK, 5.0 * CRANK, 2.5 * CRANK
TORQUE = 0.5  # motor torque [N m]
HINGE = {"axis": (0, -1, 0)}  # rotates x upwards


def bar(length):
    return rb.shapes.box((length, 0.02, 0.01), density=2700.0, at=rb.pose((length / 2, 0, 0)))


def linkage():
    """Return a linkage whose crank pushes a bar; the rocker holds the middle of the bar."""
    middle, tip = rb.pose((BAR / 2, 0, 0)), rb.pose((ROCKER, 0, 0))
    return rb.build(
        rb.SystemBuilder("hoeken", base="ground")
        .body("crank", bar(CRANK))
        .body("bar", bar(BAR))
        .body("rocker", bar(ROCKER))
        .joint("motor", "revolute", "ground", "crank", damping=0.05, armature=0.01, **HINGE)
        .joint("crank_pin", "revolute", "crank", "bar", xyz=(CRANK, 0, 0), **HINGE)
        .joint("pivot", "revolute", "ground", "rocker", xyz=(GROUND, 0, 0), **HINGE)
        .loop("rocker_pin", "revolute", "bar", "rocker", X_P=middle, X_S=tip, **HINGE)
    )


def simulate(m, seconds):
    """Return arrays over time: time, crank angle, its speed, tip (x, z), gap of the loop."""
    d = rb.make_data(m)
    d.qpos = rb.assemble(m, [0.0, 1.4, 1.8], fixed=["motor"])  # a guess above the ground
    motor = m.jnt_dofadr[m.jnt_id("motor")]
    d.qfrc_applied[motor] = TORQUE
    rows = []
    while d.time < seconds:
        rb.step(m, d, 2)
        rb.forward(m, d)
        place, R = rb.frame_pose(m, d, "bar")
        tip = place + R @ [BAR, 0.0, 0.0]
        rows.append((d.time, d.qpos[motor], d.qvel[motor], *tip[[0, 2]], np.abs(d.efc_pos).max()))
    return np.array(rows).T


def draw(path, time, error, tip, straight):
    from matplotlib.figure import Figure  # imported here because only drawing needs it

    figure = Figure(figsize=(10, 4), layout="constrained")
    curve, gap = figure.subplots(1, 2)
    curve.plot(*tip, color="0.7")
    curve.plot(*tip[:, straight], ".", markersize=2, color="tab:blue")
    curve.plot([0, GROUND], [0, 0], "k^")
    curve.set(title="the tip of the bar", xlabel="x [m]", ylabel="z [m]", aspect="equal")
    gap.semilogy(time, error, linewidth=0.5)
    gap.set(title="the loop is open by", xlabel="time [s]", ylabel="[m]")
    figure.savefig(path, dpi=80)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path(), metavar="FOLDER", help="output folder")
    folder = parser.parse_args().out
    time, angle, speed, x, z, error = simulate(linkage(), seconds=3.0)
    print("time [s]  crank [turns]  speed [rad/s]")
    for k in range(249, len(time), 250):
        print(f"{time[k]:8.1f}  {angle[k] / (2 * np.pi):13.2f}  {speed[k]:13.2f}")

    # The tip draws the line in the half turn in which the crank points away from the pivot.
    straight = np.cos(angle) < 0.0
    print(f"the loop is open by {error.max():.0e} m at most")
    length, height = np.ptp(x[straight]), np.ptp(z[straight])
    print(f"half a turn draws {length:.4f} m, straight to {height:.5f} m")
    draw(folder / "four_bar.png", time, error, np.array([x, z]), straight)


if __name__ == "__main__":
    main()
