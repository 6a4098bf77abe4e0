"""What one law demands: forward gives the next step, and the reported forces balance."""

import numpy as np

import rbdyn_ros as rb

#: Part of the largest force that the balance may miss: a joint that friction holds keeps 1e-10 of
#: what its friction may do, and the rest is rounding.
EXACT = 1e-9


def preview(m, d):
    """Return a Data with forward's answer, and one after the next step."""
    before, after = d.copy(), d.copy()
    rb.forward(m, before)
    rb.step(m, after)
    return before, after


def assert_one_answer(m, d):
    """Check that forward gives what the next step does, bit for bit."""
    before, after = preview(m, d)
    still = (after.qvel == 0.0) & (before.qacc == -d.qvel / m.opt.timestep)
    reached = np.where(still, 0.0, d.qvel + m.opt.timestep * before.qacc)
    turns = m.nypr > 0  # such joints keep their rate of turning instead (engine/joints/ypr.py)
    if not turns and (m.nefc == 0 or before.nstopped or before.ncon):
        # a processor with FMA rounds the sum once, NumPy twice
        largest = max(np.abs(d.qvel).max(), np.abs(reached).max())
        assert np.abs(reached - after.qvel).max() <= np.spacing(largest)
    for name in ("qacc", "qfrc_passive", "qfrc_contact", "cfrc_contact", "qfrc_constraint"):
        assert getattr(before, name).tobytes() == getattr(after, name).tobytes(), name
    again = before.copy()
    rb.forward(m, again)
    assert again.qacc.tobytes() == before.qacc.tobytes()
    return before


def missing_force(m, d):
    """Return what M qacc + bias lacks in the reported forces, and the largest of them."""
    M = rb.mass_matrix(m, d)
    outside = np.zeros(m.nv)
    for body in np.flatnonzero(d.xfrc_applied.any(axis=1)):
        J = rb.frame_jacobian(m, d, m.body_names[body])  # local_world_aligned
        position, _ = rb.frame_pose(m, d, m.body_names[body])
        force, torque = d.xfrc_applied[body, :3], d.xfrc_applied[body, 3:]
        arm = d.xipos[body] - position
        outside += J.T @ np.concatenate([torque + np.cross(arm, force), force])
    parts = [M @ d.qacc, d.qfrc_bias, -d.qfrc_applied, -d.qfrc_passive, -d.qfrc_contact,
             -d.qfrc_constraint, -d.qfrc_drive, -outside]  # fmt: skip
    return np.abs(sum(parts)).max(), max(np.abs(part).max() for part in parts)


def assert_balance(m, d):
    """Check that the reported forces are those that accelerate the bodies."""
    missing, largest = missing_force(m, d)
    assert missing <= EXACT * largest
