# SPDX-License-Identifier: Apache-2.0
"""An unpowered humanoid falls on the floor and comes to rest.

    python examples/falling_humanoid.py [--out FOLDER] [--film]

Introduction to Humanoid Robotics, section 6.4.3: all torques are zero, only gravity and the floor
act. Talos has 32 joints and collides with the convex hulls of its collision meshes. It comes from
a package of robots: pip install example-robot-data. A fall with many impacts depends on the last
bit of every number, so its times and speeds differ a little between processors.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from scipy.spatial import ConvexHull

import rbdyn_ros as rb

ROBOT = "talos_data/robots/talos_reduced.urdf"
HEIGHT = 1.1  # initial height of the pelvis [m]
DAMPING = 0.1  # least damping of each joint [N m s/rad]
SECONDS, SAMPLE, QUIET = 40.0, 0.01, 10.0  # duration, sample period, start of the quiet end [s]
SHOWN = (0.0, 0.5, 0.8, 1.1, 1.5, 5.0)  # times of the silhouettes [s]


def robots():
    """Return the robots folder of the package example-robot-data."""
    for entry in sys.path:
        folder = Path(entry) / "cmeel.prefix/share/example-robot-data/robots"
        if folder.is_dir():
            return folder
    raise SystemExit("Talos is missing: pip install example-robot-data")


def talos(folder):
    """Return a Model of Talos on a floor."""
    m = rb.load_urdf(
        folder / ROBOT,
        floating_base=True,
        package_dirs=[folder],
        strict=False,  # needed, because mimic joints of the grippers have fixed leaders
        contact=True,
    )
    damping = np.maximum(m.dof_damping, DAMPING)
    damping[:6] = 0.0  # the free joint is not damped
    return m.replaced(dof_damping=damping)


def standing(m):
    d = rb.make_data(m)
    d.qpos[2] = HEIGHT
    return d


def simulate(m):
    """Simulate the fall; return four arrays over time, silhouettes by time, and the final Data.

    The arrays are time, speed of the fastest joint, number of contacts, and height of the pelvis.
    """
    d, rows, poses = standing(m), [], {}
    for k in range(round(SECONDS / SAMPLE) + 1):
        rb.forward(m, d)
        rows.append((d.time, np.abs(d.qvel[6:]).max(), d.ncon, d.qpos[2]))
        if any(abs(d.time - shown) < 0.5 * SAMPLE for shown in SHOWN):
            poses[f"{k * SAMPLE:.1f} s"] = silhouette(m, d)
        if k * SAMPLE < SECONDS:
            rb.step(m, d, round(SAMPLE / m.opt.timestep))
    return np.array(rows).T, poses, d


def silhouette(m, d):
    """Return the outline (2, n) of every geometry seen along y, the nearest one last."""
    outlines = []
    for g in range(m.ngeommoving):
        body = m.geom_bodyid[g]
        corners = m.vert_pos[m.geom_vertadr[g] :][: m.geom_vertnum[g]]
        corners = m.geom_pos[g] + corners @ m.geom_mat[g].reshape(3, 3).T
        places = d.xpos[body] + corners @ d.xmat[body].reshape(3, 3).T
        side = places[:, [0, 2]]
        outlines.append((places[:, 1].mean(), side[ConvexHull(side).vertices].T))
    return [outline for _, outline in sorted(outlines, key=lambda pair: -pair[0])]


def draw(path, time, speed, poses):
    from matplotlib.figure import Figure  # imported here because only drawing needs it

    figure = Figure(figsize=(11, 5.5), layout="constrained")
    film, speeds = figure.subplots(2, 1, height_ratios=(3, 2))
    looks = {"facecolor": "#9ecae1", "edgecolor": "#08519c", "linewidth": 0.5}
    for k, (name, outlines) in enumerate(poses.items()):
        for x, z in outlines:
            film.fill(x + 1.7 * k, z, **looks)
        film.text(1.7 * k, -0.12, name, ha="center", va="top")
    film.axhline(0.0, color="0.3")
    film.set(ylabel="z [m]", ylim=(-0.3, 2.0), aspect="equal", xticks=[])
    speeds.semilogy(time, speed + 1e-6, linewidth=0.7)
    speeds.axhline(0.05, color="tab:red", linestyle="--", label="0.05 rad/s")
    speeds.set(xlabel="time [s]", ylabel="fastest joint [rad/s]", xlim=(0.0, SECONDS))
    speeds.grid(alpha=0.3)
    speeds.legend()
    figure.savefig(path, dpi=80)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path(), metavar="FOLDER", help="output folder")
    parser.add_argument("--film", action="store_true", help="also write a film")
    given = parser.parse_args()
    folder = robots()
    m = talos(folder)
    (time, speed, touch, height), poses, d = simulate(m)

    # When did it touch the floor, when was its trunk down, and did it come to rest?
    landed, down = time[np.argmax(touch > 0)], time[np.argmax(height < 0.3)]
    quiet = speed[time >= QUIET].max()
    force, weight = d.cfrc_contact[:, 5].sum(), m.body_mass.sum() * 9.81
    print(f"first contact after {landed:.2f} s; the trunk is down at {down:.1f} s")
    later = f"from {QUIET:g} s to {SECONDS:g} s {quiet:.4f} rad/s"
    print(f"fastest joint: {speed.max():.1f} rad/s; {later}")
    print(f"the floor carries it with {force:.1f} N; it weighs {weight:.1f} N")

    draw(given.out / "falling_humanoid.png", time, speed, poses)
    if given.film:
        film = given.out / "falling_humanoid.gif"
        looks = {"looks": folder / ROBOT, "package_dirs": [folder]}
        rb.animate(m, standing(m), film, duration=3.0, fps=12.5, size=(480, 360), **looks)


if __name__ == "__main__":
    main()
