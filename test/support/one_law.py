# SPDX-License-Identifier: Apache-2.0
"""Check that forward gives the accelerations of the next step, and that the forces balance."""

import numpy as np

import rbdyn_ros as rb
from rbdyn_ros.engine.step.too_much import TURN_LIMIT
from rbdyn_ros.engine.tree.flight import FLYING
from support.trees import rotation

#: Tolerance of the balance as a share of the largest force: a joint that friction holds can have
#: an error of 1e-10 of its largest friction, and the rest is rounding.
EXACT = 1e-9


def preview(m, d):
    """Return two copies of d: one after forward, and one after a step."""
    before, after = d.copy(), d.copy()
    rb.forward(m, before)
    rb.step(m, after)
    return before, after


def assert_one_answer(m, d):
    """Check that forward gives the same results as the next step, bit for bit."""
    before, after = preview(m, d)
    still = (after.qvel == 0.0) & (before.qacc == -d.qvel / m.opt.timestep)
    reached = np.where(still, 0.0, d.qvel + m.opt.timestep * before.qacc)
    turns = m.nypr > 0  # steps keep the angular velocity of these joints (engine/joints/ypr.py)
    if not turns and (m.nefc == 0 or before.nstopped or before.ncon):
        # compiled code can round a sum once (fused multiply-add); NumPy rounds it twice
        largest = max(np.abs(d.qvel).max(), np.abs(reached).max())
        assert np.abs(reached - after.qvel).max() <= np.spacing(largest)
    for name in ("qacc", "qfrc_passive", "qfrc_contact", "cfrc_contact", "qfrc_constraint"):
        assert getattr(before, name).tobytes() == getattr(after, name).tobytes(), name
    assert momentum_missed(m, d, before, after) <= EXACT
    again = before.copy()
    rb.forward(m, again)
    assert again.qacc.tobytes() == before.qacc.tobytes()
    return before


def missing_force(m, d):
    """Return the residual of M qacc + bias minus the reported forces, and the largest term."""
    M = rb.mass_matrix(m, d)
    outside = np.zeros(m.nv)
    for body in np.flatnonzero(d.xfrc_applied.any(axis=1)):
        J = rb.frame_jacobian(m, d, m.body_names[body])  # local_world_aligned
        position, _ = rb.frame_pose(m, d, m.body_names[body])
        force, torque = d.xfrc_applied[body, :3], d.xfrc_applied[body, 3:]
        arm = d.xipos[body] - position
        outside += J.T @ np.concatenate([torque + np.cross(arm, force), force])
    tree = np.ones(m.nv, bool)  # momentum_missed checks flying bodies
    for body in np.flatnonzero(d.flight_mode[m.flight_bodyid]):
        first = m.body_dofadr[m.flight_bodyid[body]]
        tree[first : first + 6] = False
    parts = [M @ d.qacc, d.qfrc_bias, -d.qfrc_applied, -d.qfrc_passive, -d.qfrc_contact,
             -d.qfrc_constraint, -d.qfrc_drive, -outside]  # fmt: skip
    missing = np.abs(sum(parts))[tree].max(initial=0.0)
    return missing, max(np.abs(part).max() for part in parts)


def assert_balance(m, d):
    """Check that the reported forces cause the reported accelerations."""
    missing, largest = missing_force(m, d)
    assert missing <= EXACT * largest


def momenta(m, d, body):
    """Return momentum, angular momentum about the centre of mass, and rotation of a free body."""
    q, k = m.jnt_qposadr[body - 1], m.body_dofadr[body]
    base = rotation(m.body_quat[body]).as_matrix()
    R = base @ rotation(d.qpos[q + 3 : q + 7]).as_matrix()
    v, w = base @ d.qvel[k : k + 3], d.qvel[k + 3 : k + 6]
    xx, yy, zz, xy, xz, yz = m.body_fullinertia[body]
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    linear = m.body_mass[body] * (v + R @ np.cross(w, m.body_ipos[body]))
    return linear, R @ inertia @ w, R


def momentum_missed(m, d, before, after):
    """Return the largest error between momentum changes of flying bodies and reported impulses.

    The error is relative to the largest momentum or impulse. `before` is d after forward.
    """
    h, missed = m.opt.timestep, 0.0
    for body in m.flight_bodyid:
        turn = h * np.linalg.norm(d.qvel[m.body_dofadr[body] + 3 :][:3])
        if before.flight_mode[body] != FLYING or turn > TURN_LIMIT:
            continue
        k, mass = m.body_dofadr[body], m.body_mass[body]
        linear, angular, R = momenta(m, d, body)
        moved, turned, _ = momenta(m, after, body)
        applied = (before.qfrc_applied + before.qfrc_passive)[k : k + 6]
        push = rotation(m.body_quat[body]).as_matrix() @ applied[:3]
        force = mass * np.array(m.opt.gravity) + before.cfrc_contact[body, 3:] + push
        force = force + before.xfrc_applied[body, :3]
        torque = before.cfrc_contact[body, :3] + before.xfrc_applied[body, 3:] + R @ applied[3:]
        torque = torque - np.cross(R @ m.body_ipos[body], push)
        for was, now, change in ((linear, moved, force), (angular, turned, torque)):
            scale = max(np.abs(part).max() for part in (was, now, h * change, [1e-12]))
            missed = max(missed, np.abs(now - was - h * change).max() / scale)
    return missed
