# SPDX-License-Identifier: Apache-2.0
"""Draw how a tool follows a twist to the end of its reach: docs/pictures/twists.png.

    PYTHONPATH=.:test .venv/bin/python tools/twists.py [--out FOLDER]

A UR5 moves its tool outward at 0.1 m/s, for 4 s, then back. It also prints the largest distance of
the tool from its line.
"""

import argparse
from pathlib import Path

import numpy as np
from support.robots import find

import rbdyn_ros as rb
from rbdyn_ros.control.motion.servoing import ServoSettings, TwistServo
from rbdyn_ros.view.pictures.canvas import new_figure

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"
START = (0.3, -0.9, 1.1, -0.7, 0.5, 0.4)
PERIOD, SPEED, OUT, END = 0.01, 0.1, 4.0, 6.0


def main() -> None:
    """Follow the twist, draw speed and condition number and print the deviation."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=PICTURES, metavar="FOLDER")
    folder = parser.parse_args().out
    m = rb.load_urdf(find("ur5_robot.urdf"))
    servo, d = TwistServo(m, tuple(m.jnt_names), ServoSettings("tool0")), rb.make_data(m)
    q, v, along = np.array(START), np.zeros(m.nv), np.array([0.6, 0.0, 0.8])
    times, rows = np.arange(0.0, END, PERIOD), []
    for t in times:
        twist = np.append(np.zeros(3), (SPEED if t < OUT else -SPEED) * along)
        new, _ = servo.step(q, q, v, "", twist, PERIOD)
        q, v = q + 0.5 * PERIOD * (v + new), new
        d.qpos[:], d.qvel[:] = q, v
        J = rb.frame_jacobian(m, d, "tool0")
        place, _ = rb.frame_pose(m, d, "tool0")
        rows.append((along @ (J @ v)[3:], np.linalg.cond(J), *place))
    speed, condition = np.array(rows)[:, :2].T
    way = np.array(rows)[:, 2:] - rows[0][2:]
    print(f"leaves its line by {1e6 * np.abs(way - np.outer(way @ along, along)).max():.1f} um")
    figure = new_figure(8.0, 2.6, 90.0)
    figure.set_layout_engine("constrained")
    left, right = figure.subplots(1, 2)
    left.plot(times, speed)
    left.set(xlabel="time [s]", ylabel="speed of the tool [m/s]")
    right.plot(times, condition)
    for name in ("lower_singularity_threshold", "hard_stop_singularity_threshold"):
        right.axhline(getattr(servo.settings, name), color="gray", linestyle="--")
        right.text(END, getattr(servo.settings, name), name, ha="right", va="bottom", fontsize=7)
    right.set(xlabel="time [s]", ylabel="condition number")
    figure.savefig(folder / "twists.png")


if __name__ == "__main__":
    main()
