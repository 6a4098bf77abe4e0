# SPDX-License-Identifier: Apache-2.0
"""A mobile base detects a box with its lidar and stops before it.

    python examples/lidar_stop.py

The base drives towards a box with 1 m/s. Its wheels do not slip, so two prismatic joints and a
revolute joint replace them. Its lidar of 181 rays sweeps the half turn ahead ten times a
second, with noise and lost rays. After each scan the base drives at the speed from which it can
still stop, with 1 m/s^2, half a metre before the nearest object in its lane; a wall next to the
lane does not stop it:

    the lidar first saw the box at a distance of 5.9 m
    the base stands 0.50 m before the box
"""

import numpy as np

import rbdyn_ros as rb
from rbdyn_ros.sensors import Fan, LidarSpec, RangeNoise

LENGTH, WIDTH = 0.6, 0.4  # size of the base [m]
SPEED, BRAKING, GAP = 1.0, 1.0, 0.5  # speed [m/s], braking [m/s^2], distance to keep [m]
BOX = 8.0  # distance of the box's front from the start [m]
REACTION = 0.1  # time in which the speed follows its goal [s]
SECONDS = 14.0

LIDAR = LidarSpec(
    "front",
    "base",
    rate=10.0,
    near=0.05,
    far=6.0,
    horizontal=Fan(-0.5 * np.pi, 0.5 * np.pi, 181),
    sweep=0.1,
    noise=RangeNoise(stddev=0.01),
    dropout=0.02,
)


def base():
    """Return the Model of the base, a box ahead, and a wall next to its lane."""
    slide = rb.shapes.box((0.1, 0.1, 0.1), mass=0.1)
    system = (
        rb.SystemBuilder("base", base="world")
        .body("slide_x", slide)
        .body("slide_y", slide)
        .body("base", rb.shapes.box((LENGTH, WIDTH, 0.3), mass=20.0))
        .joint("x", "prismatic", "world", "slide_x", axis=(1, 0, 0))
        .joint("y", "prismatic", "slide_x", "slide_y", axis=(0, 1, 0))
        .joint("yaw", "continuous", "slide_y", "base", axis=(0, 0, 1))
        .obstacle("box", rb.Box((0.5, 0.5, 0.5)), origin=rb.pose((BOX + 0.25, 0, 0)))
        .obstacle("wall", rb.Box((12.0, 0.1, 1.0)), origin=rb.pose((4.0, 1.0, 0)))
    )
    return rb.build(system)


def free_way(scan):
    """Return the distance from the front of the base to the nearest object in its lane."""
    x, y = scan.points[0, :, 0], scan.points[0, :, 1]
    ahead = x[np.abs(y) < 0.5 * WIDTH + 0.1]  # NaN (no hit) is not in the lane
    return ahead.min(initial=np.inf) - 0.5 * LENGTH


def main():
    m = base()
    d = rb.make_data(m)
    M = rb.mass_matrix(m, d).diagonal().copy()
    every = round(1.0 / (LIDAR.rate * m.opt.timestep))
    goal, seen = SPEED, None
    for tick in range(round(SECONDS / m.opt.timestep)):
        if tick % every == 0 and tick > 0:
            way = free_way(rb.scan(m, d, LIDAR, seed=1, tick=tick))
            if np.isfinite(way) and seen is None:
                seen = way + 0.5 * LENGTH
            left = max(way - GAP - REACTION * d.qvel[0], 0.0)
            goal = min(SPEED, np.sqrt(2.0 * BRAKING * left))
        velocity = np.array([goal, 0.0, 0.0])
        d.qfrc_applied[:] = M * (velocity - d.qvel) / REACTION
        rb.step(m, d)
    print(f"the lidar first saw the box at a distance of {seen:.1f} m")
    print(f"the base stands {BOX - d.qpos[0] - 0.5 * LENGTH:.2f} m before the box")


if __name__ == "__main__":
    main()
