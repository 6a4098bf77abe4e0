# SPDX-License-Identifier: Apache-2.0
"""Scenes in which bodies touch each other, and hashes of their states."""

import functools
import hashlib

import numpy as np
from scipy.spatial.transform import Rotation

import rbdyn_ros as rb
from support import robots, touching

PANDA = (*(f"panda_joint{n}" for n in range(1, 8)), "panda_finger_joint1")
REACH = np.array([0, -0.3, 0, -2.2, 0, 2.0, 0.785])  # [rad], hand downward
OPEN = 0.0255  # position of each finger, 0.5 mm from the cube [m]

#: Fields of the friction memory, which belongs to the state with positions and velocities.
MEMORY = ("nstick", "stick_key", "stick_normal", "stick_force", "stick_torque", "stick_qfrc")
CONTACTS = ("contact_key", "contact_pos", "contact_force", "contact_torque")
SUMS = ("cfrc_contact", "qfrc_contact", "qfrc_bias", "qfrc_passive", "nunsolved", "solver_niter")


def tumbling(seed=0):
    """Return a cube that falls on the floor with sliding, torsional and rolling friction."""
    surface = rb.Surface(torsional=0.01, rolling=1e-3)
    m = rb.build(touching.free(touching.CUBE, 2.0, surface))
    turn = Rotation.random(random_state=seed)
    return m, touching.placed(m, (0, 0, 0.3), turn, (1, 0.5, 0), (3, -2, 5))


def stack():
    """Return four cubes of different masses that drop on each other."""
    places = [(0.003 * (n % 3), 0.002 * (n % 2), 0.052 + 0.103 * n) for n in range(4)]
    cubes = [
        rb.Object(f"cube {n}", rb.Box((0.1, 0.1, 0.1)), mass=1.0 + n % 3, pose=rb.pose(place))
        for n, place in enumerate(places)
    ]
    m = rb.scene(objects=cubes)
    return m, rb.make_data(m)


def belt():
    """Return a box that a conveyor carries against a ball."""
    room = [
        rb.Obstacle("belt", rb.Box((2, 1, 0.1)), rb.pose((0, 0, -0.05)), velocity=(0.5, 0, 0)),
        rb.Obstacle("floor", rb.Plane(), rb.pose((0, 0, -0.1))),
    ]
    box = rb.Object("box", rb.Box((0.1, 0.1, 0.1)), mass=1.0, pose=rb.pose((0, 0, 0.051)))
    ball = rb.Object("ball", rb.Sphere(0.05), mass=0.5, pose=rb.pose((0.15, 0.01, 0.05)))
    m = rb.scene(objects=[box, ball], obstacles=room)
    return m, rb.make_data(m)


def attached():
    """Return two cubes that adhere to each other side by side, and fall on a third cube."""
    m, d = stack()
    d.qpos.reshape(-1, 7)[2:, :3] = [(0.02, 0.03, 0.27), (0.13, 0.03, 0.27)]
    m, d = rb.attach(m, d, "cube 2", "cube 3")
    return m, d


def pile(seed=0):
    """Return hulls of 0.01 to 100 kg that fall on each other; a step takes 10 ms."""
    rng = np.random.default_rng(seed)
    hulls = [
        rb.Object(
            f"hull {k}",
            _hull(rng),
            mass=float(10.0 ** (-2 + 4 * ((k * 3 + seed) % 8) / 7)),
            pose=rb.pose((*rng.uniform(-0.1, 0.1, 2), 0.2 + 0.32 * k)),
        )
        for k in range(8)
    ]
    m = rb.scene(objects=hulls)
    m.opt.timestep = 0.01
    d = rb.make_data(m)
    d.qvel[:] = rng.normal(size=m.nv)
    return m, d


def _hull(rng):
    corners = rng.normal(size=(12, 3))
    corners *= rng.uniform(0.05, 0.15) / np.linalg.norm(corners, axis=1)[:, None]
    return rb.Points(tuple(map(tuple, corners)))


def panda():
    """Return a Panda that holds a cube of 0.1 kg; motors carry the arm and press the fingers."""
    box, aside = rb.Box((0.05, 0.05, 0.05)), rb.pose((0.5, 0.0, 0.025))
    cube = rb.Object("cube", box, mass=0.1, pose=aside)
    m = rb.scene(robots.find("panda.urdf"), objects=[cube], strict=False)
    d = rb.make_data(m)
    numbers = [m.jnt_id(name) for name in PANDA]
    d.qpos[m.jnt_qposadr[numbers]] = *REACH, OPEN
    rb.kinematics(m, d)
    tip, turn = rb.frame_pose(m, d, "panda_hand_tcp")
    place = m.jnt_qposadr[m.jnt_id("cube")]
    d.qpos[place : place + 7] = *tip, *touching.wxyz(Rotation.from_matrix(turn))
    rb.forward(m, d)
    dofs = m.jnt_dofadr[numbers]
    d.qfrc_applied[dofs] = *d.qfrc_bias[dofs[:7]], -40.0
    return m, d


def humanoid(self_collision=True):
    """Return a Talos that falls without torque, with the smooth law of friction and limits."""
    contact = rb.Contact(self_collision=self_collision)
    m = rb.load_urdf(robots.find("talos_reduced.urdf"), True, strict=False, contact=contact)
    m.opt.exact_stops = False
    d = rb.make_data(m)
    d.qpos[7:] += np.random.default_rng(0).uniform(-1e-3, 1e-3, m.nq - 7)
    touching.lift(m, d, 0.02)
    return m, d


#: Each scene by its name, with a number of steps in which bodies touch each other.
SCENES = {
    "tumbling": (tumbling, 600),
    "stack": (stack, 300),
    "belt": (belt, 300),
    "attached": (attached, 300),
    "pile": (pile, 100),
}
if robots.FILES:
    SCENES |= {"panda": (panda, 300), "humanoid": (humanoid, 900)}


def bits(d):
    """Return a hash of the state and of the forces of the last step."""
    rows = [getattr(d, name)[: d.ncon] for name in CONTACTS]
    rows += [getattr(d, name)[: d.nstick] for name in MEMORY[1:4]]
    rows += [getattr(d, name) for name in ("qpos", "qvel", "qacc", "stick_qfrc", *SUMS)]
    return hashlib.sha256(b"".join(np.asarray(row).tobytes() for row in rows)).hexdigest()


@functools.cache
def _started(name):
    make, steps = SCENES[name]
    return *make(), steps


def started(name):
    """Return the Model of a scene, a Data at its start, and its number of steps."""
    m, d, steps = _started(name)
    return m, d.copy(), steps
