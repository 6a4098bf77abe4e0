# SPDX-License-Identifier: Apache-2.0
"""Bodies that touch each other: a card house, an arch, dominoes, a stack, a grasp, a trot.

    python examples/contact_scenes.py [--out FOLDER] [--film] [SCENE ...]

Friction and normal forces hold the card house and the arch; nothing is glued. Each scene is
simulated with steps of 1 ms, and a line shows the speed of its fastest body at the end.
"""

import argparse
from itertools import pairwise
from pathlib import Path

import numpy as np

import rbdyn_ros as rb
from rbdyn_ros.share import share_dir

CARD = (0.002, 0.06, 0.09)  # thickness, width, length [m]
LEAN, APART = np.radians(15.0), 0.052  # lean of a tent's cards [rad]; distance between tents [m]
MARBLE, KNOCK = 0.015, 1.5  # radius of the marble [m]; time at which it starts [s]
INNER, OUTER, STONES = 0.3, 0.4, 9  # radii [m] and number of stones of the arch
DOMINO, PITCH, DOMINOES = (0.008, 0.024, 0.048), 0.02, 15
PUSH = 5.0  # speed of the first domino [rad/s]
CUBE, CUBES = 0.1, 10
LEG, HIP, KNEE = 0.2, 0.6, -1.2  # length of thigh and shank [m]; angles of a standing leg [rad]
STRIDE, LIFT, PACE = 0.2, 0.35, 2.5  # trot: hip and knee angles [rad]; steps per second
GRIPPER = share_dir() / "config" / "scenes" / "gripper.yaml"


def card_house():
    """Return two tents of two cards, a flat card and a tent on them, and a marble next to them."""
    thick, _, length = CARD
    sin, cos = np.sin(LEAN), np.cos(LEAN)
    aside, middle = (length * sin + thick * cos) / 2, (length * cos + thick * sin) / 2
    cards = []

    def card(x, z, lean):
        name, at = f"card {len(cards) + 1}", rb.pose((x, 0.0, z), rpy=(0.0, lean, 0.0))
        cards.append(rb.Object(name, rb.Box(CARD), mass=0.004, pose=at))

    for x, z in ((-APART / 2, 0.0), (APART / 2, 0.0), (0.0, 2 * middle + thick)):
        card(x - aside, z + middle, LEAN)
        card(x + aside, z + middle, -LEAN)
    card(0.0, 2 * middle + thick / 2, np.pi / 2)
    ball = rb.Sphere(MARBLE)
    marble = rb.Object("marble", ball, mass=0.02, pose=rb.pose((-0.25, 0.0, MARBLE)))
    return started([*cards, marble])


def arch():
    """Return an arch of wedges that stands on the floor; each wedge is a convex hull."""
    stones, edges = [], np.linspace(0.0, np.pi, STONES + 1)
    for k, (one, two) in enumerate(pairwise(edges)):
        corners = np.array(
            [
                (-radius * np.cos(angle), y, radius * np.sin(angle))
                for angle in (one, two)
                for radius in (INNER, OUTER)
                for y in (-0.05, 0.05)
            ]
        )
        middle = corners.mean(axis=0)
        hull = rb.Points(tuple(map(tuple, corners - middle)))
        stones.append(rb.Object(f"stone {k + 1}", hull, density=2000.0, pose=rb.pose(middle)))
    return started(stones)


def dominoes():
    """Return a row of dominoes; the first domino has a velocity, as if pushed."""
    thick, _, tall = DOMINO
    m, d = started(
        rb.Object(f"domino {n + 1}", rb.Box(DOMINO), density=700.0, pose=rb.pose((x, 0, tall / 2)))
        for n, x in enumerate(PITCH * np.arange(DOMINOES))
    )
    d.qvel[:6] = PUSH * tall / 2, 0.0, PUSH * thick / 2, 0.0, PUSH, 0.0  # about its lower edge
    return m, d


def stack():
    """Return cubes above each other with small offsets, each 5 mm above the cube below it."""
    places = [
        (0.006 * (n % 3), 0.004 * (n % 2), CUBE / 2 + (CUBE + 0.005) * n) for n in range(CUBES)
    ]
    return started(
        rb.Object(f"cube {n + 1}", rb.Box((CUBE, CUBE, CUBE)), mass=1.0, pose=rb.pose(place))
        for n, place in enumerate(places)
    )


def started(objects):
    m = rb.scene(objects=list(objects))
    return m, rb.make_data(m)


def grasp():
    """Return the bundled scene of a gripper and a cube."""
    m = rb.load(GRIPPER)
    return m, rb.make_data(m)


def quadruped():
    """Return a robot with four legs of two joints, above hills of a few centimetres."""
    rng, cells = np.random.default_rng(4), 60
    coarse = rng.uniform(0.0, 0.06, (12, 12))
    near = np.linspace(0.0, 11.0, cells)
    rows = np.array([np.interp(near, np.arange(12), row) for row in coarse])
    hills = np.array([np.interp(near, np.arange(12), column) for column in rows.T]).T
    ground = rb.Obstacle("floor", rb.HeightField(hills, (3.0, 3.0)), friction=0.8)
    start = {f"{leg}_{kind}": angle for leg in LEGS for kind, angle in JOINTS.items()}
    robot = rb.Placed(dog(), rb.pose((-0.6, 0.0, 0.42)), floating_base=True, start=start)
    m = rb.scene(robot, obstacles=[ground])
    return m, rb.make_data(m)


#: Position of each hip, and whether its leg moves with the first or the second diagonal pair.
LEGS = {
    "fl": (0.22, 0.2, 0.0), "fr": (0.22, -0.2, 0.5),
    "rl": (-0.22, 0.2, 0.5), "rr": (-0.22, -0.2, 0.0),
}  # fmt: skip
JOINTS = {"hip": HIP, "knee": KNEE}


def dog():
    """Return the text of the robot's URDF."""
    inertia = '<inertia ixx="{0}" iyy="{0}" izz="{0}" ixy="0" ixz="0" iyz="0"/>'
    trunk = f"""<link name="trunk"><inertial><mass value="8"/>{inertia.format(0.15)}</inertial>
        <collision><geometry><box size="0.5 0.2 0.1"/></geometry></collision></link>"""
    capsule = f"""<origin xyz="0 0 {-LEG / 2}"/><geometry><capsule radius="0.02"
        length="{LEG}"/></geometry>"""
    limit = '<axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="60" velocity="30"/>'
    parts = [trunk]
    for leg, (x, y, _) in LEGS.items():
        places = {"hip": ("trunk", f"{x} {y} 0"), "knee": (f"{leg}_hip_link", f"0 0 {-LEG}")}
        for kind, (parent, at) in places.items():
            parts.append(f"""<link name="{leg}_{kind}_link"><inertial>
                <origin xyz="0 0 {-LEG / 2}"/><mass value="0.4"/>{inertia.format(2e-3)}</inertial>
                <collision>{capsule}</collision></link>
                <joint name="{leg}_{kind}" type="revolute"><parent link="{parent}"/>
                <child link="{leg}_{kind}_link"/><origin xyz="{at}"/>{limit}</joint>""")
    return f'<robot name="dog" version="1.2">{"".join(parts)}</robot>'


def trot(m, d, time):
    """Advance by a step: springs drive the joints; after a second, diagonal legs swing in turn."""
    for leg, (_, _, phase) in LEGS.items():
        turn = 2.0 * np.pi * (PACE * max(time - 1.0, 0.0) + phase)
        going = 1.0 if 1.0 < time < 4.0 else 0.0
        wanted = {
            "hip": HIP + going * STRIDE * np.cos(turn),
            "knee": KNEE - going * LIFT * max(np.sin(turn), 0.0),
        }
        for kind, angle in wanted.items():
            j = m.jnt_id(f"{leg}_{kind}")
            q, v = d.qpos[m.jnt_qposadr[j]], d.qvel[m.jnt_dofadr[j]]
            d.qfrc_applied[m.jnt_dofadr[j]] = 120.0 * (angle - q) - 3.0 * v
    rb.step(m, d)


def let_go(m, d, _time):
    """Advance by a step in which only weight, friction and normal forces act."""
    rb.step(m, d)


def knock(m, d, time):
    """Advance by a step; at the time KNOCK the marble starts towards the card house."""
    if abs(time - KNOCK) < m.opt.timestep / 2:
        d.qvel[-6:] = 1.0, 0.0, 0.0, 0.0, 1.0 / MARBLE, 0.0
    rb.step(m, d)


def grip(m, d, time):
    """Advance by a step: the hand goes down, its fingers close, and it lifts the cube."""
    lift, *fingers = (int(m.jnt_dofadr[m.jnt_id(name)]) for name in ("lift", "left", "right"))
    height = -0.235 * np.clip(min(time / 0.8, (2.3 - time) / 0.9), 0.0, 1.0)
    d.qfrc_applied[lift] = 2000.0 * (height - d.qpos[lift]) - 80.0 * d.qvel[lift] + 12.0
    d.qfrc_applied[fingers] = (6.0 if time > 1.0 else -2.0) - 5.0 * d.qvel[fingers]
    rb.step(m, d)


#: For each name: functions that return the scene and advance it by a step, the duration [s], and
#: elevation and azimuth of the camera.
SCENES = {
    "card_house": (card_house, knock, 3.0, (12.0, -70.0)),
    "arch": (arch, let_go, 2.0, (12.0, -70.0)),
    "dominoes": (dominoes, let_go, 2.0, (25.0, -60.0)),
    "stack": (stack, let_go, 3.0, (12.0, -60.0)),
    "grasp": (grasp, grip, 3.0, (15.0, -50.0)),
    "quadruped": (quadruped, trot, 6.0, (20.0, -65.0)),
}
FPS = 25


def simulate(m, d, step, seconds):
    """Simulate a scene; return qpos at each frame of a film."""
    frames, every = [d.qpos.copy()], round(1.0 / (FPS * m.opt.timestep))
    for k in range(round(seconds / m.opt.timestep)):
        step(m, d, k * m.opt.timestep)
        if (k + 1) % every == 0:
            frames.append(d.qpos.copy())
    return np.array(frames)


def show(name, folder):
    """Simulate a scene, print its final state, and write a film if a folder is given."""
    make, step, seconds, (elevation, azimuth) = SCENES[name]
    m, d = make()
    frames = simulate(m, d, step, seconds)
    speed = np.abs(d.qvel).max()
    print(f"{name}: {d.ncon} contacts after {seconds:g} s, fastest {speed:.1e} m/s or rad/s")
    if folder is not None:
        looks = {"fps": FPS, "size": (400, 300), "elevation": elevation, "azimuth": azimuth}
        rb.animate(m, frames, folder / f"{name}.gif", **looks)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("scene", nargs="*", choices=[[], *SCENES], help="default: all")
    parser.add_argument("--out", type=Path, default=Path(), metavar="FOLDER", help="output folder")
    parser.add_argument("--film", action="store_true", help="also write films")
    given = parser.parse_args()
    for name in given.scene or SCENES:
        show(name, given.out if given.film else None)


if __name__ == "__main__":
    main()
