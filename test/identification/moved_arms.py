# SPDX-License-Identifier: Apache-2.0
"""Recordings of robots that move by sums of sines, with the efforts of their drives."""

import numpy as np
from support import robots

import rbdyn_ros as rb
from rbdyn_ros.control.base.friction import Friction
from rbdyn_ros.identification.data.motion import Motion, dof_names
from rbdyn_ros.identification.equations.residuals import validate

ARM = "config/robots/seven_dof_arm.urdf"


def load(name):
    """Return the Model of the bundled arm or of a robot of example-robot-data."""
    return rb.load_urdf(ARM if name == "seven_dof_arm" else robots.find(name))


def sines(n, seed, samples=1500, seconds=20.0, size=1.2):
    """Return time, qpos, qvel and qacc of n joints; all motions have a period of 10 s."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0.0, seconds, samples)
    q = np.zeros((3, samples, n))
    for h in range(1, 6):
        w, a, p = 0.2 * np.pi * h, size * rng.uniform(-1.0, 1.0, n) / h**0.8, rng.uniform(0, 6, n)
        angle = np.outer(t, np.full(n, w)) + p
        q += a * np.array([np.sin(angle), w * np.cos(angle), -w * w * np.sin(angle)])
    return t, *q


def recorded(m, friction, seed, noise=0.0, offset=None, by_load=None, **shape):
    """Return a Motion of a robot, with efforts from the engine's inverse dynamics.

    `friction`, `offset` and `by_load` go to validate, `shape` to sines. `noise` is the noise of
    efforts as a share of their standard deviation. With noise, positions also have noise of 1e-4
    rad or m, and velocities and accelerations have as much as after a low-pass filter of 5 Hz.
    """
    t, q, v, a = sines(m.nv, seed, **shape)
    names, rng = dof_names(m), np.random.default_rng(100 + seed)
    motion = Motion(names, t, q, v, a, np.zeros_like(q))
    effort = validate(m, friction, motion, offset, by_load=by_load).predicted
    if noise:
        effort = effort + noise * effort.std(axis=0) * rng.normal(size=effort.shape)
        w = 2.0 * np.pi * 5.0
        q, v, a = (
            x + 1e-4 * w**k * 0.1 * rng.normal(size=x.shape) for k, x in enumerate((q, v, a))
        )
    return Motion(names, t, q, v, a, effort)


def rubbing(m, seed=7):
    """Return random friction: 0.1 to 2 % of the effort limit, or of 50 N m if that is less."""
    rng = np.random.default_rng(seed)
    limit = np.minimum(m.jnt_effort[m.dof_jntid], 50.0)
    return Friction.of(
        m.nv, limit * rng.uniform(1e-3, 0.02, m.nv), limit * rng.uniform(1e-3, 0.02, m.nv)
    )


def wrong(m):
    """Return a Model with 0.7 times all masses, and centres of mass shifted by 2 cm."""
    from rbdyn_ros.identification.equations.inertia import change_of_frame, with_parameters

    aside = change_of_frame(np.eye(3), np.array([0.02, -0.02, 0.02]))
    return with_parameters(m, 0.7 * rb.inertial_parameters(m).reshape(-1, 10) @ aside.T)
