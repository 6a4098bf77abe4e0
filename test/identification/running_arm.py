# SPDX-License-Identifier: Apache-2.0
"""States of the bundled arm with friction and a payload, while a servo moves it."""

import numpy as np

import rbdyn_ros as rb
from rbdyn_ros.control.base.friction import Friction
from rbdyn_ros.identification.data.blocks import StateBlocks
from rbdyn_ros.identification.equations.online import OnlinePayload

URDF = "config/robots/seven_dof_arm.urdf"
DRY = np.array([2.0, 2.0, 1.5, 1.5, 0.8, 0.8, 0.5])
WET = 0.5 * DRY
#: Period of the states [s], and gains of the servo [1/s^2, 1/s].
PERIOD, STIFF, DAMPED = 0.002, 100.0, 20.0
#: Time until the arm no longer sags further under its payload [s].
SETTLED = 3.0


def arm():
    """Return the Model of the arm, and its declared Friction."""
    m = rb.load_urdf(URDF)
    return m, Friction.of(m.nv, WET, DRY)


def waves(seed, nv, size):
    """Return a function of time that returns positions and velocities (nv,), sums of sines."""
    rng = np.random.default_rng(seed)
    w = 2.0 * np.pi * np.array([0.1, 0.2, 0.35])[:, None]
    a, p = size * rng.uniform(0.3, 1.0, (3, nv)) / (w / w[0]), rng.uniform(0.0, 6.0, (3, nv))
    centre = np.array([0.0, 0.6, 0.0, -1.0, 0.0, 0.6, 0.0])

    def sample(t):
        qpos = (a * (np.sin(w * t + p) - np.sin(p))).sum(axis=0)
        return centre + qpos, (a * w * np.cos(w * t + p)).sum(axis=0)

    return sample


def states(load, scale, seconds, seed, size=0.4, noise=0.05, friction=True):
    """Return stamps [ns] and states (p, 3, nv) of the arm while a servo moves it.

    The arm has `scale` times the declared friction (none if not `friction`), with the engine's
    exact dry friction. Noise is 1e-5 rad, 1e-3 rad/s, and `noise` [N m] for efforts.
    """
    m, rng = rb.load_urdf(URDF), np.random.default_rng(1000 + seed)
    rough = {"dof_damping": scale * WET * friction, "dof_frictionloss": scale * DRY * friction}
    real = m.replaced(**rough)
    if load is not None:
        real = rb.with_payload(real, m.frame_names[-1], *load)
    still = m.replaced(dof_damping=np.zeros(m.nv), dof_frictionloss=np.zeros(m.nv))
    d, held, path = rb.make_data(real), rb.make_data(still), waves(seed, m.nv, size)
    d.qpos[:] = path(0.0)[0]
    every, rows, times = round(PERIOD / m.opt.timestep), [], []
    for k in range(int((SETTLED + seconds) / m.opt.timestep)):
        if k % every == 0:
            q, v = path(k * m.opt.timestep)
            held.qpos[:], held.qvel[:] = d.qpos, d.qvel
            held.qacc[:] = STIFF * (q - d.qpos) + DAMPED * (v - d.qvel)
            rb.inverse(still, held)
            d.qfrc_applied[:] = held.qfrc_inverse
            times.append(round(k * m.opt.timestep * 1e9))
            seen = np.stack([d.qpos, d.qvel, d.qfrc_applied])
            seen += rng.normal(size=seen.shape) * np.array([[1e-5], [1e-3], [noise]])
            rows.append(seen)
        rb.step(real, d)
    begin = round(SETTLED / PERIOD)
    return times[begin:], np.array(rows[begin:])


def estimates(times, rows, m, friction, adds=None, interrupted=False):
    """Return the estimate after each block of states; `adds` goes to OnlinePayload."""
    dofs = np.arange(m.nv)
    blocks = StateBlocks(m.jnt_names, dofs, m.nv)
    online = OnlinePayload(m, dofs, m.frame_id(m.frame_names[-1]), friction, adds)
    found = []
    for time, state in zip(times, rows, strict=True):
        blocks.add(time, state)
        block = blocks.take() if time % 100_000_000 == 0 else None
        if block is not None:
            found.append(online.update(*block[:2]))
            if interrupted:
                online.interrupt()
    return found
