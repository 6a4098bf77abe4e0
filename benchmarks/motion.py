# SPDX-License-Identifier: Apache-2.0
"""Time whole runs of bodies that move in contact, against MuJoCo, and the same bodies at rest.

The bodies are robots that trot and walk, cubes that tumble, a pile and balls that collapse, balls
that are poured, and an arm that grasps again and again. MuJoCo gets the same bodies, joints and
geometries (mirror.py); it runs its default solver with the elliptic and with the pyramidal cone.
Springs in the joints move the robots. Each engine gets their forces from its own states, every
CONTROL steps, and only the steps are timed. After a run the rest positions of the springs stay
constant for REST seconds, and the last steps are timed again.

Every run repeats the same motion, in turns. For each block of steps the smallest time of all
rounds counts, because other programs disturb it least.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

import rbdyn_ros as rb
from benchmarks.mirror import mirror
from benchmarks.robots import folder, path_of
from rbdyn_ros.arrays import Array

FLOOR = rb.Obstacle("floor", rb.Plane())
CONTROL = 4  # steps of 1 ms
ROUNDS = 3
REST, TIMED = 4.0, 0.2  # at the end of a run [s]
CONES = {"elliptic": mujoco.mjtCone.mjCONE_ELLIPTIC, "pyramidal": mujoco.mjtCone.mjCONE_PYRAMIDAL}
COLUMNS = (
    "scene", "s", "passes: mean, p99", "unsolved", "motion, us",
    *(f"{cone}, us, ratio" for cone in CONES),
    "at rest, us", *(f"{cone}, ratio" for cone in CONES),
)  # fmt: skip

#: Function of positions, velocities and time [s] that returns the forces on all dofs.
Law = Callable[[Array, Array, float], Array]


@dataclass
class Scene:
    """Bodies, their start, and the forces that move them."""

    m: rb.Model
    seconds: float
    qpos: Array
    qvel: Array | None = None
    law: Law | None = None


def main(names: list[str] | None = None) -> None:
    """Print a row for each scene, or for each named scene."""
    print(f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|")
    for name in names or SCENES:
        print(_row(name, SCENES[name]()), flush=True)


def _row(name: str, scene: Scene) -> str:
    runs = [_ours(scene), *(_theirs(scene, cone) for cone in CONES.values())]
    least: list[Array] = [np.empty(0)] * len(runs)
    for n in range(ROUNDS):
        for k, run in enumerate(runs):
            times = np.array(list(run()))
            least[k] = times if n == 0 else np.minimum(least[k], times)
    moving = round(1000 * scene.seconds) // CONTROL
    steps = 1e6 / CONTROL
    ours, *others = (steps * times[:moving].mean() for times in least)
    rest, *resting = (steps * times[moving:].mean() for times in least)
    passes, unsolved = _passes(scene)
    cells = [name, f"{scene.seconds:g}", passes, str(unsolved), f"{ours:.1f}"]
    cells += [f"{each:.1f}, {each / ours:.2f}" for each in others]
    cells += [f"{rest:.1f}", *(f"{each / rest:.2f}" for each in resting)]
    return f"| {' | '.join(cells)} |"


def _passes(scene: Scene) -> tuple[str, int]:
    """Return the solver's passes per step, mean and 99 %, and the number of unsolved steps."""
    m, d, found = scene.m, _started(scene), []
    for n in range(round(1000 * scene.seconds)):
        if n % CONTROL == 0:
            _push(scene, d, n)
        rb.step(m, d)
        found.append(int(d.solver_niter))
    return f"{np.mean(found):.1f}, {np.percentile(found, 99):.0f}", int(d.nunsolved)


def _started(scene: Scene) -> rb.Data:
    d = rb.make_data(scene.m)
    d.qpos[:] = scene.qpos
    d.qvel[:] = 0.0 if scene.qvel is None else scene.qvel
    return d


def _push(scene: Scene, d: Any, n: int) -> None:
    """Write the forces of step n; after the end of the motion the time of the law is constant."""
    if scene.law is not None:
        d.qfrc_applied[:] = scene.law(d.qpos, d.qvel, min(0.001 * n, scene.seconds))


def _blocks(scene: Scene, d: Any, step: Callable[[int], object]) -> Iterator[float]:
    """Yield the times of the blocks of a run, then of the blocks at rest [s]."""
    moving = round(1000 * scene.seconds)
    for n in (*range(0, moving, CONTROL), *range(moving, moving + round(1000 * REST), CONTROL)):
        _push(scene, d, n)
        start = time.perf_counter()
        step(CONTROL)
        spent = time.perf_counter() - start
        if n < moving or n >= moving + round(1000 * (REST - TIMED)):
            yield spent


def _ours(scene: Scene) -> Callable[[], Iterator[float]]:
    def run() -> Iterator[float]:
        d = _started(scene)
        return _blocks(scene, d, lambda n: rb.step(scene.m, d, n))

    return run


def _theirs(scene: Scene, cone: int) -> Callable[[], Iterator[float]]:
    m = mirror(scene.m)
    m.opt.cone = cone

    def run() -> Iterator[float]:
        d = mujoco.MjData(m)
        d.qpos[:] = scene.qpos
        d.qvel[:] = 0.0 if scene.qvel is None else scene.qvel
        return _blocks(scene, d, lambda n: mujoco.mj_step(m, d, n))

    return run


def _trot(
    file: str, gains: tuple[float, float], legs: tuple[str, ...], text: str | None = None,
    ground: rb.Obstacle = FLOOR,
) -> Scene:  # fmt: skip
    """Return a scene: a robot with four legs of three joints, whose diagonal legs swing in turn.

    `text` replaces the text of the file.
    """
    stiffness, damping = gains
    contact, dirs = rb.Contact(obstacles=(ground,), self_collision=False), [folder()]
    robot = folder() / file if text is None else text
    m = rb.load_urdf(robot, floating_base=True, strict=False, contact=contact, package_dirs=dirs)
    m = m.replaced(dof_damping=np.where(np.arange(m.nv) < 6, 0.0, damping))
    joints = [[m.jnt_id(name.format(leg)) for name in legs[4:]] for leg in legs[:4]]
    stand, stride, lift = STANCES[file]

    def law(qpos: Array, _qvel: Array, t: float) -> Array:
        force = np.zeros(m.nv)
        for n, ids in enumerate(joints):
            turn = 2.0 * np.pi * (2.0 * t + 0.5 * (n in (1, 2)))
            wanted = stand * SIGNS[file][n]
            swing = lift * max(np.sin(turn), 0.0)
            wanted += (0.0, stride * np.cos(turn), 0.0) + swing * SIGNS[file][n] * (0.0, 0.5, -1.0)
            k = m.jnt_dofadr[ids]
            force[k] = stiffness * (wanted - qpos[m.jnt_qposadr[ids]])
        return force

    qpos = m.qpos0.copy()
    for n, ids in enumerate(joints):
        qpos[m.jnt_qposadr[ids]] = stand * SIGNS[file][n]
    return Scene(m, 4.0, _on_floor(m, qpos), law=law)


GO2, ANYMAL = "go2_description/urdf/go2.urdf", "anymal_b_simple_description/robots/anymal.urdf"
#: Angles of a standing leg: abduction, hip, knee; strides and lifts of the feet [rad].
STANCES = {
    GO2: (np.array([0.0, 0.8, -1.5]), 0.15, 0.6),
    ANYMAL: (np.array([0.0, 0.4, -0.8]), 0.12, 0.5),
}
#: Signs of these angles, leg by leg: front left, front right, rear left, rear right.
SIGNS = {
    GO2: [np.ones(3)] * 4,
    ANYMAL: [np.ones(3), np.ones(3), np.array([1, -1, -1]), np.array([1, -1, -1])],
}


def _go2(text: str | None = None, ground: rb.Obstacle = FLOOR) -> Scene:
    legs = ("FL", "FR", "RL", "RR", "{}_hip_joint", "{}_thigh_joint", "{}_calf_joint")
    return _trot(GO2, (60.0, 1.5), legs, text, ground)


def round_go2(ground: rb.Obstacle = FLOOR) -> Scene:
    """Return the scene of a trotting Go2 whose feet are spheres, as in its maker's description."""
    foot = r'<mesh filename="[^"]*foot_convex.stl" */>'
    return _go2(re.sub(foot, '<sphere radius="0.022"/>', (folder() / GO2).read_text()), ground)


def anymal() -> Scene:
    return _trot(ANYMAL, (300.0, 6.0), ("LF", "RF", "LH", "RH", "{}_HAA", "{}_HFE", "{}_KFE"))


def _talos() -> Scene:
    """Return a scene: Talos walks by scripted joint angles; springs hold its base on its path."""
    contact = rb.Contact(self_collision=False)
    m = rb.load_urdf(path_of("Talos reduced"), True, strict=False, contact=contact)
    m = m.replaced(dof_damping=np.where(np.arange(m.nv) < 6, 0.0, np.maximum(m.dof_damping, 10.0)))
    stand = m.qpos0.copy()
    names = ("leg_{}_3_joint", "leg_{}_4_joint", "leg_{}_5_joint")  # hip, knee, ankle
    legs = [[m.jnt_qposadr[m.jnt_id(name.format(leg))] for name in names] for leg in LEGS]
    for ids in legs:
        stand[ids] = -0.4, 0.8, -0.4
    stiffness = np.minimum(800.0, HELD * m.dof_inertia0[6:])

    def law(qpos: Array, qvel: Array, t: float) -> Array:
        wanted, force = stand.copy(), np.zeros(m.nv)
        for n, ids in enumerate(legs):
            swing = max(np.sin(2.0 * np.pi * t + np.pi * n), 0.0)
            way = 0.2 * np.cos(2.0 * np.pi * t + np.pi * n)
            wanted[ids] += np.array((-0.3, 0.6, -0.3)) * swing + np.array((-way, 0.0, way))
        force[6:] = stiffness * (wanted - qpos)[7:]
        force[:2] = 4000.0 * (np.array((0.3 * t, 0.0)) - qpos[:2]) - 400.0 * qvel[:2]
        force[3:6] = -1000.0 * qpos[3] * qpos[4:7] - 20.0 * qvel[3:6]
        return force

    return Scene(m, 4.0, _on_floor(m, stand), law=law)


LEGS = ("left", "right")
#: Largest stiffness of a joint over its inertia [1/s^2], as forces are constant for CONTROL steps.
HELD = 6000.0


def _on_floor(m: rb.Model, qpos: Array) -> Array:
    """Return the positions with the lowest corner of a robot 1 mm above the floor."""
    d, lowest = rb.make_data(m), np.inf
    d.qpos[:] = qpos
    rb.kinematics(m, d)
    for g in range(m.ngeommoving):
        body, first = m.geom_bodyid[g], m.geom_vertadr[g]
        corners = m.vert_pos[first : first + m.geom_vertnum[g]] @ m.geom_mat[g].reshape(3, 3).T
        heights = (corners + m.geom_pos[g]) @ d.xmat[body].reshape(3, 3)[2] + d.xpos[body, 2]
        lowest = min(lowest, float(heights.min()) - m.geom_radius[g])
    qpos[2] += 0.001 - lowest
    return qpos


def _cubes(number: int) -> Callable[[], Scene]:
    """Return a function that makes a scene: cubes of 0.2 m fall next to and onto each other."""

    def make() -> Scene:
        rng = np.random.default_rng(7)
        at = [(0.32 * (n % 2), 0.32 * (n // 2 % 2), 0.4 + 0.36 * (n // 4)) for n in range(number)]
        cube = rb.Box((0.2, 0.2, 0.2))
        return _thrown(
            [rb.Object(f"{n}", cube, mass=1.0, pose=_at(p, rng)) for n, p in enumerate(at)]
        )

    return make


def _at(place: tuple[float, float, float], rng: Any) -> Any:
    return rb.pose(place, rpy=tuple(rng.uniform(-0.5, 0.5, 3)))


def _thrown(objects: list[Any]) -> Scene:
    m = rb.scene(objects=objects)
    speeds = np.random.default_rng(8).uniform(-1.0, 1.0, m.nv)
    return Scene(m, 2.0, m.qpos0.copy(), speeds)


def _pile() -> Scene:
    """Return a scene: thirty boxes, balls and capsules fall on each other."""
    rng = np.random.default_rng(9)
    shapes = (rb.Box((0.2, 0.15, 0.1)), rb.Sphere(0.08), rb.Capsule(0.06, 0.15))
    at = [(0.3 * (n % 2), 0.3 * (n // 2 % 2), 0.3 + 0.3 * (n // 4)) for n in range(30)]
    return _thrown(
        [
            rb.Object(f"{n}", shapes[n % 3], mass=1.0, pose=_at(place, rng))
            for n, place in enumerate(at)
        ]
    )


def _collapse() -> Scene:
    """Return a scene: 216 balls, 6 x 6 x 6, collapse."""
    at = 0.21 * np.indices((6, 6, 6)).reshape(3, -1).T + (0.0, 0.0, 0.101)
    at += np.random.default_rng(42).uniform(0.0, 0.001, at.shape)
    ball = rb.Sphere(0.1)
    m = rb.scene(
        objects=[
            rb.Object(f"{n}", ball, mass=1.0, pose=rb.pose(p)) for n, p in enumerate(at.tolist())
        ]
    )
    return Scene(m, 1.0, m.qpos0.copy())


def _poured() -> Scene:
    """Return a scene: a cup of 48 balls turns over within a second.

    The balls start within 1 um of a grid: exact columns of balls would stay columns.
    """
    wall, side = 0.01, 0.12
    system = rb.SystemBuilder("pour", base="world").floor()
    system.body("cup", rb.shapes.box((side, side, side), mass=2.0))
    system.joint(
        "tilt",
        "continuous",
        "world",
        "cup",
        xyz=(0.0, 0.0, 0.6),
        axis=(0.0, 1.0, 0.0),
        damping=1.0,
    )
    half = 0.5 * (side + wall)
    for n, (x, y, z) in enumerate(
        ((half, 0, 0), (-half, 0, 0), (0, half, 0), (0, -half, 0), (0, 0, -half))
    ):
        size = tuple(wall if abs(c) > 0 else side + 2.0 * wall for c in (x, y, z))
        system.geometry(f"wall{n}", "cup", rb.Box(size), origin=rb.pose((x, y, z)))
    ball, rng = rb.Sphere(0.014), np.random.default_rng(1)
    qpos = [0.0]
    for n in range(48):
        system.body(f"b{n}", rb.shapes.sphere(0.014, mass=0.02))
        system.joint(f"j{n}", "floating", "world", f"b{n}")
        system.geometry(f"g{n}", f"b{n}", ball)
        x, y, z = 0.03 * (n % 4) - 0.045, 0.03 * (n // 4 % 4) - 0.045, 0.03 * (n // 16)
        place = np.array((x + 0.001 * (n // 16), y, 0.56 + z)) + rng.uniform(-1e-6, 1e-6, 3)
        qpos += [*place.tolist(), 1.0, 0.0, 0.0, 0.0]
    m = rb.build(system)

    def law(qpos: Array, _qvel: Array, t: float) -> Array:
        force = np.zeros(m.nv)
        force[0] = 20.0 * (2.5 * min(t, 1.0) - qpos[0])
        return force

    return Scene(m, 2.0, np.array(qpos), law=law)


def _regrasp() -> Scene:
    """Return a scene: each second, a Panda grasps a cube on a block, lifts it, puts it back."""
    start = {
        "panda_joint2": -0.3,
        "panda_joint4": -2.2,
        "panda_joint6": 1.9,
        "panda_joint7": 0.785,
    }
    # without mimic joints, which are exact in our engine but soft in MuJoCo
    text = re.sub("<mimic[^>]*>", "", path_of("Panda").read_text())
    robot = rb.load_urdf(text, package_dirs=[folder()], strict=False)
    d = rb.make_data(robot)
    for name, angle in start.items():
        d.qpos[robot.jnt_qposadr[robot.jnt_id(name)]] = angle
    rb.kinematics(robot, d)
    (x, y, z), turn = rb.frame_pose(robot, d, "panda_hand_tcp")
    size = (0.05, 0.05, 0.05)
    yaw = float(np.arctan2(turn[1, 0], turn[0, 0]))
    cube = rb.Object("cube", rb.Box(size), mass=0.1, pose=rb.pose((x, y, z), rpy=(0.0, 0.0, yaw)))
    block = rb.Obstacle("block", rb.Box((0.1, 0.1, z - 0.025)), rb.pose((x, y, 0.5 * (z - 0.025))))
    floor = rb.Obstacle("floor", rb.Plane())
    things = {"objects": [cube], "obstacles": [floor, block], "package_dirs": [folder()]}
    m = rb.scene(text, **things, strict=False)
    arm = [m.jnt_dofadr[m.jnt_id(f"panda_joint{n}")] for n in range(1, 8)]
    fingers = [m.jnt_dofadr[m.jnt_id(f"panda_finger_joint{n}")] for n in (1, 2)]
    damping = np.zeros(m.nv)
    damping[arm], damping[fingers] = np.repeat((30.0, 3.0), (4, 3)), 5.0
    m = m.replaced(dof_damping=damping)
    qpos = m.qpos0.copy()
    for name, angle in start.items():
        qpos[m.jnt_qposadr[m.jnt_id(name)]] = angle
    qpos[fingers] = 0.035
    wanted, lift = qpos[arm].copy(), np.zeros(7)
    lift[1], lift[3] = -0.1, 0.05
    stiffness = np.repeat((600.0, 60.0), (4, 3))
    twin = rb.make_data(m)

    def law(qpos: Array, _qvel: Array, t: float) -> Array:
        phase, force = t % 1.0, np.zeros(m.nv)
        twin.qpos[:] = qpos
        up = np.clip(min((phase - 0.2) / 0.2, (0.8 - phase) / 0.2), 0.0, 1.0)
        weight = rb.gravity_term(m, twin)
        force[arm] = weight[arm] + stiffness * (wanted + up * lift - qpos[arm])
        force[fingers] = -20.0 if 0.05 < phase < 0.9 else 10.0
        return force

    return Scene(m, 4.0, qpos, law=law)


SCENES: dict[str, Callable[[], Scene]] = {
    "Go2 trots": _go2,
    "ANYmal trots": anymal,
    "Talos walks in a harness": _talos,
    "six cubes tumble": _cubes(6),
    "fourteen cubes tumble": _cubes(14),
    "a pile of thirty falls": _pile,
    "216 balls collapse": _collapse,
    "48 balls are poured": _poured,
    "a Panda grasps again": _regrasp,
}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Bodies that move in contact, against MuJoCo.")
    parser.add_argument("scene", nargs="*", choices=[[], *SCENES], help="default: all")
    main(parser.parse_args().scene)
