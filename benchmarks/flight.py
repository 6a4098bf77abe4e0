# SPDX-License-Identifier: Apache-2.0
"""Energy and momentum of bodies in flight, by integrator, and the time of a step.

A box of 0.1 x 0.2 x 0.3 m, its frame 0.12 m from its centre of mass, tumbles without gravity for
10,000 steps of 1 ms. A robot with two legs of two links floats, moves its joints at up to 4 rad/s,
and is hit by a ball. A steel part of 3 x 6 x 20 mm falls from 0.5 m.
"""

from __future__ import annotations

import time
import warnings

import numpy as np

import rbdyn_ros as rb
from rbdyn_ros.arrays import Array
from rbdyn_ros.model.declared.options import INTEGRATORS

AT = rb.pose((0.1, 0.05, -0.02), rpy=(0.4, 0.2, -0.9))
TURNS, STEPS, PART = (0.01, 0.1, 0.3), 10_000, (0.003, 0.006, 0.020)


def main() -> None:
    warnings.simplefilter("ignore", RuntimeWarning)
    print("| integrator | rad in a step | energy | momentum | angular | ns a step |")
    print("|---|---|---|---|---|---|")
    for integrator in INTEGRATORS:
        for turn in TURNS:
            _show(integrator, f"{turn:g}", *_tumbling(integrator, turn))
    print("\n| integrator | steps with contact | energy | momentum | angular | ns in flight |")
    print("|---|---|---|---|---|---|")
    for integrator in INTEGRATORS:
        m, d = _robot(integrator)
        m.opt.integrator = integrator
        before, touched = _momentum(m, d), 0
        for _ in range(300):
            rb.step(m, d)
            touched += bool(d.ncon > 0 and d.contact_force[: d.ncon].any())
        after = _momentum(m, d)
        d.qpos[-7:-4] = 9.0, 9.0, 9.0  # take the ball away to time the robot alone
        _show(integrator, f"{touched}", before, after, _nanoseconds(m, d, 200))
    print("\n| restitution | energy at most | after 0.5 s |\n|---|---|---|")
    for restitution in (0.5, 0.9, 1.0):
        ratios = np.array([_bouncing(restitution, seed) for seed in range(12)])
        print(f"| {restitution} | {ratios[:, 0].max():.4f} | {ratios[:, 1].mean():.3f} |")


def _show(integrator: str, what: str, before: list[Array], after: list[Array], ns: float) -> None:
    parts = [np.linalg.norm(b - a) / np.linalg.norm(a) for a, b in zip(before, after, strict=True)]
    print(f"| {integrator} | {what} | {' | '.join(f'{x:.1e}' for x in parts)} | {ns:.0f} |")


def _tumbling(integrator: str, turn: float) -> tuple[list[Array], list[Array], float]:
    system = rb.SystemBuilder("free", base="world")
    system.body("body", rb.shapes.box((0.1, 0.2, 0.3), mass=2.0, at=AT))
    m = rb.build(system.joint("free", "floating", "world", "body"))
    m.opt.gravity, m.opt.integrator = (0.0, 0.0, 0.0), integrator
    d = rb.make_data(m)
    w = np.array([0.3, 0.9, 0.1])
    d.qvel[:] = 0.3, -0.2, 0.1, *(turn / m.opt.timestep * w / np.linalg.norm(w))
    ns, before = _nanoseconds(m, d, 1000), _momentum(m, d)
    rb.step(m, d, STEPS)
    return before, _momentum(m, d), ns


def _robot(integrator: str) -> tuple[rb.Model, rb.Data]:
    rod = rb.shapes.box((0.05, 0.05, 0.3), mass=0.5, at=rb.pose((0.0, 0.02, -0.15)))
    robot = rb.SystemBuilder("jumper", base="trunk")
    robot.body("trunk", rb.shapes.box((0.4, 0.2, 0.1), mass=4.0, at=rb.pose((0.05, 0.0, 0.02))))
    robot.geometry("trunk", "trunk", rb.Box((0.4, 0.2, 0.1)))
    for side, x in (("left", 0.2), ("right", -0.2)):
        thigh, shin = f"{side}_thigh", f"{side}_shin"
        robot.body(thigh, rod).body(shin, rod)
        robot.joint(f"{side}_hip", "revolute", "trunk", thigh, xyz=(x, 0, 0), axis=(0, 1, 0))
        robot.joint(f"{side}_knee", "revolute", thigh, shin, xyz=(0, 0, -0.3), axis=(0.6, 0.8, 0))
    ball = rb.Object("ball", rb.Sphere(0.1), mass=1.0, pose=rb.pose((0.0, 0.5, 0.01)))
    m = rb.scene({"it": rb.Placed(robot, floating_base=True)}, objects=[ball], floor=False)
    m.opt.gravity, m.opt.integrator = (0.0, 0.0, 0.0), integrator
    d = rb.make_data(m)
    d.qvel[:10] = 0.1, 0.0, 0.2, 1.0, 2.0, -1.0, 3.0, -2.0, 1.0, 4.0
    d.qvel[-6:-3] = 0.0, -4.0, 0.0
    return m, d


def _bouncing(restitution: float, seed: int) -> tuple[float, float]:
    """Return the largest energy and the final energy, relative to the initial energy."""
    skin = rb.Surface(restitution=restitution)
    part = rb.Object("part", rb.Box(PART), mass=7850 * np.prod(PART), surface=skin)
    m = rb.scene(objects=[part])
    d, turn = rb.make_data(m), np.random.default_rng(seed).normal(size=4)
    d.qpos[:] = 0.0, 0.0, 0.5, *(turn / np.linalg.norm(turn))
    first, most = _energy(m, d), 0.0
    for _ in range(500):
        rb.step(m, d)
        most = max(most, _energy(m, d))
    return most / first, _energy(m, d) / first


def _energy(m: rb.Model, d: rb.Data) -> float:
    d = d.copy()
    rb.forward(m, d)
    rb.energy(m, d)
    return float(d.energy.sum())


def _momentum(m: rb.Model, d: rb.Data) -> list[Array]:
    """Return kinetic energy, linear and angular momentum of all bodies about the origin."""
    d = d.copy()
    rb.forward(m, d)
    energy, P, L = np.zeros(1), np.zeros(3), np.zeros(3)
    for i in range(1, m.nbody):
        R, x, w = d.ximat[i].reshape(3, 3), d.xipos[i], d.cvel[i, :3]
        v = d.cvel[i, 3:] + np.cross(w, x - d.subtree_com[m.body_rootid[i]])
        spin = R @ (m.body_inertia[i] * (R.T @ w))
        P += m.body_mass[i] * v
        L += spin + np.cross(x, m.body_mass[i] * v)
        energy += 0.5 * (w @ spin + m.body_mass[i] * v @ v)
    return [energy, P, L]


def _nanoseconds(m: rb.Model, d: rb.Data, steps: int) -> float:
    """Return the time of a step in the fastest of 20 runs [ns]."""
    best = np.inf
    for _ in range(20):
        twin = d.copy()
        start = time.perf_counter_ns()
        rb.step(m, twin, steps)
        best = min(best, (time.perf_counter_ns() - start) / steps)
    return best


if __name__ == "__main__":
    main()
