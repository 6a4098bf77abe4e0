# SPDX-License-Identifier: Apache-2.0
"""Check random scenes of bodies and of joints with friction, limits, springs and drives.

In every scene `forward` gives the acceleration of the next step, the reported forces balance, and
the energy does not rise without a drive.
"""

from __future__ import annotations

import hashlib
import warnings
from typing import Any

import numpy as np
from support import forests, states
from support.one_law import assert_balance, assert_one_answer

import rbdyn_ros as rb
from rbdyn_ros.model.declared.joints import JointClass

STEPS, EVERY = 60, 6
TIMESTEPS = (1e-4, 5e-4, 1e-3, 2e-3, 5e-3)
#: Share of its kinetic energy that a scene may gain, because a step is only of first order.
GAIN = 0.05


#: Number of scenes that compile all kernels before inputs have a time limit.
FIRST = 16


def seeds() -> list[bytes]:
    found = [bytes([k]) for k in range(40)]
    for data in found[:FIRST]:
        fuzz_laws(data)
    return found


def fuzz_laws(data: bytes) -> None:
    """Build the scene that the bytes choose, and check its forces and energy during a motion."""
    rng = np.random.default_rng(list(hashlib.sha256(data).digest()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        m, d, driven = _scene(rng)
        highest, energy = most_energy(m, d), _energy(m, d)
        for n in range(STEPS):
            if n % EVERY == 0:
                assert_balance(m, assert_one_answer(m, d))
            rb.step(m, d)
            if not np.isfinite(d.qvel).all():
                raise ArithmeticError(f"the velocities of step {n} are not finite")
            before, energy = energy, _energy(m, d)
            # `euler` adds energy to bodies that tumble freely
            if m.opt.integrator == "euler" and d.ncon == 0:
                highest += max(0.0, energy - before)
            # `euler` diverges if a body rotates so fast that `step` warns
            diverges = m.opt.integrator == "euler" and d.nfast > 0
            if not driven and not diverges and energy > highest:
                raise ArithmeticError(f"step {n} has {energy} J, more than {highest} J")


def _energy(m: rb.Model, d: Any) -> float:
    return float(rb.kinetic_energy(m, d) + rb.potential_energy(m, d))


def most_energy(m: rb.Model, d: Any) -> float:
    """Return the largest allowed energy [J]: the present energy, a share of it, and a swing.

    The velocities after a semi-implicit step belong to another instant, half a step away. So the
    energy swings by the work of the forces in half a step.
    """
    twin = d.copy()
    rb.forward(m, twin)
    forces = abs(twin.qfrc_bias) + abs(twin.qfrc_passive)
    swing = m.opt.timestep * float((1.0 + abs(d.qvel)) @ forces)
    return _energy(m, d) + GAIN * (float(rb.kinetic_energy(m, d)) + 1.0) + 2.0 * swing


def _scene(rng: np.random.Generator) -> tuple[rb.Model, Any, bool]:
    """Return the Model of a random scene, a Data in motion, and whether a drive acts."""
    kind = rng.integers(3)
    driven = False
    if kind == 0:  # a forest with couplings and friction
        types = tuple(rng.choice((*forests.FLAT, "spherical", "floating"), 5))
        coupled = bool(rng.integers(2))
        m = rb.build(forests.forest(types, int(rng.integers(1000)), coupled=coupled, losses=True))
    else:
        objects = [_object(rng, k) for k in range(rng.integers(1, 4))]
        robot = _arm(rng) if kind == 2 else None
        m = rb.scene(robot, objects) if robot else rb.scene(objects=objects)
    m.opt.timestep = float(rng.choice(TIMESTEPS))
    m.opt.integrator = str(rng.choice(("implicit_damping", "euler")))
    d = rb.make_data(m)
    if kind == 0:
        forests.randomise(m, d, int(rng.integers(1000)))
        _put_into_limits(m, d)
        d.qfrc_applied[:], d.xfrc_applied[:] = 0.0, 0.0
    else:
        d.qvel[:] = rng.normal(size=m.nv) * rng.choice((0.1, 1.0, 5.0))
    if kind == 2 and rng.integers(2):
        rb.set_drive(m, d, "shoulder", "velocity", float(rng.normal()))
        driven = True
    if kind == 2 and rng.integers(3) == 0:
        m, d = rb.attach(m, d, "object 0", "hand")
    return m, d, driven


def _put_into_limits(m: rb.Model, d: Any) -> None:
    """Move joints inside their limits, because a limit that pushes a joint back adds energy."""
    for j in np.flatnonzero(m.jnt_limited):
        place = states.joint_slices(m, j)[0]
        d.qpos[place] = np.clip(d.qpos[place], *m.jnt_range[j])
    for k, limits in zip(
        m.limit_dofid, m.limit_range, strict=True
    ):  # limits of joints with several dofs
        own = (m.jnt_dofadr <= k) & (k < m.jnt_dofadr + m.jnt_dofnum)
        j = np.flatnonzero(own & (m.jnt_class == JointClass.FREE))[0]
        place = m.jnt_qposadr[j] + k - m.jnt_dofadr[j]
        d.qpos[place] = np.clip(d.qpos[place], *limits)


def _object(rng: np.random.Generator, k: int) -> rb.Object:
    size = rng.uniform(0.05, 0.2, 3)
    shapes = (
        rb.Box(tuple(size)),
        rb.Sphere(size[0]),
        rb.Capsule(size[0] / 2, size[1]),
        rb.Cylinder(size[0], size[1]),
        rb.Points(tuple(map(tuple, rng.uniform(-size[0], size[0], (10, 3))))),
    )
    surface: dict[str, float] = {"friction": float(rng.choice((0.0, 0.3, 1.0)))}
    if rng.integers(3) == 0:
        surface["restitution"] = float(rng.uniform())
    elif rng.integers(2):
        surface |= {"stiffness": float(10.0 ** rng.uniform(2, 4)), "damping": 1.0}
    place = (*rng.uniform(-0.3, 0.0, 2), 0.4 + 0.5 * k)
    shape = shapes[rng.integers(len(shapes))]
    mass = float(10.0 ** rng.uniform(-1, 1))
    return rb.Object(
        f"object {k}", shape, mass=mass, pose=rb.pose(place), surface=rb.Surface(**surface)
    )


def _arm(rng: np.random.Generator) -> rb.SystemBuilder:
    """Return an arm of two links with dry friction and limits; its hand can touch the objects."""
    rod = rb.shapes.box((0.05, 0.05, 0.4), mass=1.0)
    arm = rb.SystemBuilder("arm", base="world").body("upper", rod).body("hand", rod)
    stops = {"friction": float(rng.uniform(0, 2)), "limit": (-1.0, 1.0), "damping": 0.1}
    arm.joint("shoulder", "revolute", "world", "upper", axis=(0, 1, 0), xyz=(0.6, 0, 1.0), **stops)
    arm.joint("elbow", "revolute", "upper", "hand", axis=(0, 1, 0), xyz=(0, 0, -0.4), **stops)
    arm.geometry("palm", "hand", rb.Sphere(0.06), origin=rb.pose((0, 0, -0.2)))
    return arm
