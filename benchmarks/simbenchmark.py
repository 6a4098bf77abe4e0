# SPDX-License-Identifier: Apache-2.0
"""Six tests of SimBenchmark, next to the results that its authors published.

SimBenchmark (leggedrobotics/SimBenchmark on GitHub, 2018, read at commit 3fd1764) ran RaiSim,
Bullet, ODE, MuJoCo and DART. Its scenes, timesteps and errors are repeated here; an error is the
mean of a square over all steps. For each engine the table has the smallest error of all its
solvers, integrators and settings in data/*/sample.csv and data/rolling/default.csv. Two things
differ: the random offsets of the 216 balls are not published, and the robot is the ANYmal B of
example-robot-data (30.5 kg) instead of theirs (33.9 kg). `python -m benchmarks.simbenchmark
--anymal FILE` uses their robot, which is not copied here: in a clone of their repository, FILE is
res/benchmark/ANYmal-momentum-benchmark/ode-rai-dart/robot.urdf.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

import rbdyn_ros as rb
from benchmarks.robots import folder

INTEGRATORS = ("implicit_damping", "implicit_midpoint", "rk4")
ENGINES = ("RaiSim", "Bullet", "ODE", "MuJoCo", "DART")
G = 9.81
ANYMAL = "anymal_b_simple_description/robots/anymal.urdf"
NO_FRICTION = rb.Surface(friction=0.0)
BOUNCY = rb.Surface(friction=0.0, restitution=1.0)
STIFF = rb.Surface(stiffness=1e8, damping=1e7)

#: A test takes a timestep [s] and an integrator, and yields squared errors.
Test = Callable[[float, str], Iterator[float]]

#: Smallest published errors, in the order of ENGINES, by test and timestep [s].
PUBLISHED = {
    ("rolling, along xy", 1e-3): (4.1e-7, 3.9e-27, 3.1, 2.0e-3, 3.1),
    ("rolling, along y", 1e-3): (4.1e-7, 7.3e-28, 7.6e-9, 2.2e-3, 0.43),
    ("rolling, along y, a stiff surface", 1e-3): (4.1e-7, 7.3e-28, 7.6e-9, 2.2e-3, 0.43),
    ("666", 1e-2): (1.5e-2, 37, 1.6e-2, 0.93, 215),
    ("666", 4e-3): (2.1e-3, 5.8, 2.1e-3, 0.37, 9.3e3),
    ("666", 1e-3): (1.4e-4, 0.38, 1.5e-4, 0.095, 2.8e-4),
    ("elastic 666", 1e-2): (5.2e6, 9.9e6, 8.6e6, None, 1.3e10),
    ("elastic 666", 4e-3): (264, 8.4e5, 1.6e3, None, 6.6e6),
    ("elastic 666", 1e-3): (8.4, 4.1e4, 112, None, 3.5e5),
    ("elastic 666, v half a step later", 1e-3): (8.4, 4.1e4, 112, None, 3.5e5),
    ("bouncing", 1e-2): (186, 7.4e6, 1.9e4, None, 7.4e6),
    ("bouncing", 1e-3): (1.9e-2, 7.5e4, 185, None, 7.2e4),
    ("bouncing", 1e-4): (1.9e-6, 752, 1.9, None, 483),
    ("bouncing, v half a step later", 1e-2): (186, 7.4e6, 1.9e4, None, 7.4e6),
    ("bouncing, v half a step later", 1e-3): (1.9e-2, 7.5e4, 185, None, 7.2e4),
    ("ANYmal momentum", 1e-2): (5.4e-3, 2.3e-2, 4.0e-28, 2.4e-5, 105),
    ("ANYmal momentum", 1e-3): (4.7e-5, 2.7e-4, 1.3e-27, 3.0e-13, 162),
    ("ANYmal energy", 1e-2): (1.4, 343, 378, 5.6e-11, 918),
    ("ANYmal energy", 1e-3): (1.2e-2, 3.7, 3.9, 1.6e-17, 237),
}


def main(anymal: str | None = None) -> None:
    """Run all tests, with the ANYmal of example-robot-data or of another URDF."""
    tests = _tests(anymal)
    warnings.simplefilter("ignore", RuntimeWarning)
    print(f"| test | timestep | {' | '.join((*INTEGRATORS, *ENGINES))} |\n{'|---' * 10}|")
    for (name, timestep), published in PUBLISHED.items():
        ours = [_error(tests[name], timestep, integrator) for integrator in INTEGRATORS]
        figures = " | ".join(_shown(error) for error in (*ours, *published))
        print(f"| {name} | {1000 * timestep:g} ms | {figures} |", flush=True)


def _tests(anymal: str | None) -> dict[str, Test]:
    path = Path(anymal) if anymal else folder() / ANYMAL
    robot = path.read_text().replace('type="revolute"', 'type="continuous"')
    along_y = partial(_rolling, (0.0, 1.0))
    return {
        "rolling, along xy": partial(_rolling, (0.5, 0.75**0.5), rb.Surface()),
        "rolling, along y": partial(along_y, rb.Surface()),
        "rolling, along y, a stiff surface": partial(along_y, STIFF),
        "666": _collapsing,
        "elastic 666": partial(_collapsing_elastically, 0.0),
        "elastic 666, v half a step later": partial(_collapsing_elastically, 0.5),
        "bouncing": partial(_bouncing, 0.0),
        "bouncing, v half a step later": partial(_bouncing, 0.5),
        "ANYmal momentum": partial(_momentum, robot),
        "ANYmal energy": partial(_energy, robot),
    }


def _shown(error: float | None) -> str:
    return "-" if error is None else f"{error:.1e}"


def _error(test: Test, timestep: float, integrator: str) -> float:
    """Return the mean of a test's squared errors over all steps and the start."""
    return float(np.mean(list(test(timestep, integrator))))


def _made(m: rb.Model, timestep: float, integrator: str) -> rb.Data:
    m.opt.timestep, m.opt.integrator = timestep, integrator
    return rb.make_data(m)


def _rolling(
    direction: tuple[float, float], surface: rb.Surface, timestep: float, integrator: str
) -> Iterator[float]:
    """Pull a box of 10 kg, on which 25 balls lie, with 150 N over the floor for 4 s.

    The friction coefficient is 0.4 below the box and 0.8 on it. The result is the squared error of
    the velocity, summed over the box and a ball.
    """
    size, middle = rb.Box((20.0, 20.0, 1.0)), rb.pose((0.0, 0.0, 0.5))
    parts = [rb.Object("box", size, mass=10.0, pose=middle, surface=surface)]
    for x, y in np.ndindex(5, 5):
        at = rb.pose((2.0 * x - 4.0, 2.0 * y - 4.0, 1.5))
        parts.append(rb.Object(f"{x} {y}", rb.Sphere(0.5), mass=1.0, pose=at, surface=surface))
    m = rb.scene(objects=parts, obstacles=[rb.Obstacle("floor", rb.Plane(), friction=0.4)])
    d = _made(m, timestep, integrator)
    d.qfrc_applied[:2] = 150.0 * np.array(direction)
    pull = 150.0 - 0.4 * 35.0 * G
    ball = pull / 10.0 / (3.5 + 25.0 / 10.0)
    exact = np.outer(((pull - 25.0 * ball) / 10.0, ball), (*direction, 0.0))
    for i in range(round(4.0 / timestep)):
        yield float(((d.qvel.reshape(-1, 6)[:2, :3] - i * timestep * exact) ** 2).sum())
        rb.step(m, d)


def _balls(height: float, surface: rb.Surface) -> rb.Model:
    """Return 6 x 6 x 6 balls of 10 kg and radius 0.1 m, 0.21 m apart, with offsets up to 1 mm."""
    at = 0.21 * np.indices((6, 6, 6)).reshape(3, -1).T + (0.0, 0.0, height)
    at += np.random.default_rng(42).uniform(0.0, 0.001, at.shape)
    return rb.scene(
        objects=[
            rb.Object(f"{i}", rb.Sphere(0.1), mass=10.0, pose=rb.pose(p), surface=surface)
            for i, p in enumerate(at.tolist())
        ]
    )


def _collapsing(timestep: float, integrator: str) -> Iterator[float]:
    """Let 216 balls without friction collapse for 10 s; yield squared penetrations [m^2]."""
    m = _balls(0.101, NO_FRICTION)
    d = _made(m, timestep, integrator)
    first, second = np.triu_indices(216, 1)
    for _ in range(round(10.0 / timestep)):
        at = d.qpos.reshape(-1, 7)[:, :3]
        gaps = np.linalg.norm(at[first] - at[second], axis=1) - 0.2
        deep = np.minimum(np.concatenate((gaps, at[:, 2] - 0.1)), 0.0)
        yield float((deep**2).sum())  # a dot product of this size would take all cores
        rb.step(m, d)


def _collapsing_elastically(later: float, timestep: float, integrator: str) -> Iterator[float]:
    """Let the balls bounce with restitution 1 for 10 s; yield squared energy errors [J^2].

    later: as for _energy_of_balls.
    """
    m = _balls(1.101, BOUNCY)
    return _energy_of_balls(m, _made(m, timestep, integrator), 10.0, later)


def _bouncing(later: float, timestep: float, integrator: str) -> Iterator[float]:
    """Drop 49 balls from 5 m with restitution 1 for 20 s; yield squared energy errors [J^2].

    later: as for _energy_of_balls.
    """
    balls = []
    for x, y in np.ndindex(7, 7):
        at = rb.pose((2.0 * x, 2.0 * y, 5.0))
        balls.append(rb.Object(f"{x} {y}", rb.Sphere(0.1), mass=10.0, pose=at, surface=BOUNCY))
    m = rb.scene(objects=balls)
    return _energy_of_balls(m, _made(m, timestep, integrator), 20.0, later)


def _energy_of_balls(m: rb.Model, d: rb.Data, duration: float, later: float) -> Iterator[float]:
    """Yield squares of the energy gained by balls of 10 kg and 0.1 m [J^2].

    Before the energy is computed, gravity advances the velocities by `later` steps.
    """
    at, down = d.qpos.reshape(-1, 7), np.array((0.0, 0.0, later * m.opt.timestep * G))
    start = float(10.0 * G * at[:, 2].sum())
    for _ in range(round(duration / m.opt.timestep)):
        v, w = d.qvel.reshape(-1, 6)[:, :3] - down, d.qvel.reshape(-1, 6)[:, 3:]
        moving = 5.0 * (v**2).sum() + 0.02 * (w**2).sum()
        yield float(10.0 * G * at[:, 2].sum() + moving - start) ** 2
        rb.step(m, d)


def _anymal(text: str, contact: rb.Contact, objects: tuple[rb.Object, ...] = ()) -> rb.Model:
    """Return ANYmal at a height of 2 m without a floor. text: its URDF; objects: other bodies."""
    legs = {"LF": (0.03, 0.4), "RF": (-0.03, 0.4), "LH": (0.03, -0.4), "RH": (-0.03, -0.4)}
    start: dict[str, float] = {}
    for leg, (haa, hfe) in legs.items():
        start |= {f"{leg}_HAA": haa, f"{leg}_HFE": hfe, f"{leg}_KFE": -2.0 * hfe}
    at = rb.pose((0.0, 0.0, 2.0))
    robot = rb.Placed(text, at, floating_base=True, contact=contact, start=start)
    return rb.scene(robot, objects, floor=False, package_dirs=[folder()], strict=False)


def _momentum(robot: str, timestep: float, integrator: str) -> Iterator[float]:
    """Throw a ball of 10 kg at ANYmal with 5 m/s in space; yield squared errors [N^2 s^2]."""
    at = rb.pose((0.0, -5.0, 2.0))
    ball = rb.Object("ball", rb.Sphere(0.2), mass=10.0, pose=at, surface=NO_FRICTION)
    m = _anymal(robot, rb.Contact(obstacles=(), surface=NO_FRICTION), (ball,))
    m.opt.gravity = 0.0, 0.0, 0.0
    d = _made(m, timestep, integrator)
    d.qvel[-5] = 5.0
    for _ in range(round(10.0 / timestep)):
        rb.forward(m, d)
        yield float(((rb.centroidal_momentum(m, d)[3:] - (0.0, 50.0, 0.0)) ** 2).sum())
        rb.step(m, d)


def _energy(robot: str, timestep: float, integrator: str) -> Iterator[float]:
    """Lift ANYmal by twice its weight for 1 s, then let it fly; yield squared errors [J^2]."""
    m = _anymal(robot, rb.Contact(obstacles=(), self_collision=False))
    d = _made(m, timestep, integrator)
    d.qfrc_applied[2] = 2.0 * G * m.body_mass.sum()
    rb.step(m, d, round(1.0 / timestep))
    d.qfrc_applied[2], start = 0.0, None
    for _ in range(round(2.0 / timestep)):
        rb.forward(m, d)
        rb.energy(m, d)
        start = d.energy.sum() if start is None else start
        yield float(d.energy.sum() - start) ** 2
        rb.step(m, d)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Six tests of SimBenchmark.")
    parser.add_argument("--anymal", metavar="FILE", help="SimBenchmark's robot.urdf of ANYmal")
    main(parser.parse_args().anymal)
