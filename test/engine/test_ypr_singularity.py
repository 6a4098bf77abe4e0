# SPDX-License-Identifier: Apache-2.0
"""Yaw-pitch-roll joints near a pitch of a quarter turn cause no NaN; d.nsingular counts them.

At a quarter turn the yaw and roll axes coincide, so the joint cannot rotate about one direction.
Near it, slow rotations need large angle rates.
"""

import dataclasses
import warnings

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support import states, trees
from support.compare import Comparison

import rbdyn_ros as rb
from rbdyn_ros.engine.joints.ypr import SINGULAR
from rbdyn_ros.textbook.joint_models import spherical_ypr

pytestmark = pytest.mark.filterwarnings("ignore:.* near its singularity")

QUARTER = np.pi / 2
each_polarity = pytest.mark.parametrize("reversals", [0.0, 1.0], ids=["forward", "reversed"])
each_sign = pytest.mark.parametrize("sign", [1.0, -1.0], ids=["up", "down"])


def robot(nb=1, seed=0, reversals=0.0):
    """Return Model and Data of a chain in which yaw-pitch-roll joints and hinges alternate."""
    kinds = ("spherical_ypr", "revolute")
    odd = {"reversals": reversals, "offsets": 0.5}
    m = rb.build(trees.auto_tree(nb, kinds=kinds, shuffle=False, seed=seed, **odd))
    return m, rb.make_data(m)


@each_sign
@each_polarity
def test_results_are_finite_at_the_singularity(reversals, sign):
    m, d = robot(3, reversals=reversals)
    for pitch in (sign * QUARTER, sign * 3.0 * QUARTER, sign * (QUARTER - 1e-12)):
        states.randomise(m, d, 1)
        d.qpos[1] = pitch
        d.qacc = 1.0
        before = d.nsingular
        states.poison(d, "kinematics", "com_pos", "com_vel", "rne", "inverse", "aba", "crb")
        rb.inverse(m, d)
        assert d.nsingular > before
        rb.forward(m, d)
        rb.energy(m, d)
        rb.mass_matrix(m, d)
        for field in states.outputs("com_vel", "rne", "inverse", "fwd_acceleration", "crb"):
            assert np.isfinite(getattr(d, field.name)).all(), field.name
        assert np.isfinite(d.qacc).all()
        assert d.nbad == 0
    joint = rb.jcalc(m, "joint1", d.qpos[:3])  # the pose is still exact
    E = spherical_ypr(d.qpos[:3], np.zeros(3), 0.0).E
    assert np.abs(joint.E - (E.T if reversals else E)).max() < 1e-15
    assert np.isfinite(joint.S).all()


@each_polarity
def test_close_to_the_singularity_the_axes_stay_independent(reversals):
    """Closer than SINGULAR, S has the axes of the distance SINGULAR, so its rank is still 3."""
    m, _ = robot(reversals=reversals)
    for distance in (0.0, 1e-9, -1e-9, 0.5 * SINGULAR, -2.0 * SINGULAR):
        q = np.array([0.4, QUARTER - distance, -0.7])
        turning = rb.jcalc(m, "joint1", q, [1.0, 1.0, 1.0]).S[:3]
        size = max(abs(np.cos(q[1])), SINGULAR)  # the determinant of RBDA eq 4.8
        assert np.abs(np.linalg.det(turning)) == pytest.approx(size, rel=1e-3)
        model = spherical_ypr(q, np.zeros(3), 0.0)
        expected = -model.E.T @ model.S[:3] if reversals else model.S[:3]
        assert np.abs(turning - expected).max() < 1.001 * SINGULAR


@each_polarity
def test_each_tick_counts_joints_close_to_the_singularity(reversals):
    """Joints within 0.01 rad count."""
    m, d = robot(3, reversals=reversals)
    first, second = m.jnt_qposadr[m.jnt_type == rb.JointType.YPR] + 1
    for pitches, count in (
        ((0.0, 1.0), 0),
        ((QUARTER - 0.011, QUARTER + 0.011), 0),
        ((QUARTER - 0.009, 0.0), 1),
        ((-QUARTER + 0.009, 0.0), 1),
        ((QUARTER + 0.009, 3.0 * QUARTER), 2),
        ((5.0 * QUARTER, -QUARTER), 2),
    ):
        rb.reset_data(m, d)
        assert d.nsingular == 0
        d.qpos[[first, second]] = pitches
        rb.forward(m, d)
        assert d.nsingular == count, pitches
        rb.forward(m, d)
        assert d.nsingular == 2 * count, pitches


@pytest.mark.parametrize("integrator", ["euler", "implicit_damping", "rk4"])
def test_several_steps_count_singular_joints_like_single_steps(integrator):
    """Ten steps in one call give the same count as ten calls."""
    m, d = robot()
    m.opt.integrator = integrator
    d.qpos[1] = QUARTER - 0.005  # so all ten steps count
    one_by_one = d.copy()
    rb.step(m, d, 10)
    for _ in range(10):
        rb.step(m, one_by_one)
    assert d.nsingular == one_by_one.nsingular >= 10
    assert d.qpos.tobytes() == one_by_one.qpos.tobytes()


@pytest.mark.parametrize("nstep", [1, 20], ids=["one step", "many steps"])
def test_a_step_near_the_singularity_causes_one_warning(nstep):
    m, d = robot()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rb.step(m, d, nstep)
    d.qpos[1] = QUARTER - 0.005
    with pytest.warns(RuntimeWarning, match=r"d\.nsingular") as caught:
        rb.step(m, d, nstep)
    (warning,) = caught
    assert warning.filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rb.step(m, d, nstep)
    d.reset()
    d.qpos[1] = QUARTER - 0.005
    with pytest.warns(RuntimeWarning, match=repr(m.name)):
        rb.step(m, d, nstep)


@pytest.mark.parametrize("integrator", ["euler", "implicit_damping", "rk4"])
@pytest.mark.parametrize("distance", [0.0, 1e-9, 1e-4, 0.05])
def test_a_simulation_passes_through_the_singularity(distance, integrator):
    """The robots start at or near the singularity and swing for 2 s."""
    met = 0  # number of robots that passed close to the singularity
    for seed in range(12):
        m, d = robot(1 + seed % 3, seed, reversals=0.5)
        m.opt.integrator = integrator
        d.qpos[:3] = (0.2, (-1.0) ** seed * (QUARTER - distance), -0.3)
        d.qvel[:3] = (0.01, (-1.0) ** seed, -0.02)
        rb.step(m, d, 2000)
        rb.forward(m, d)
        met += d.nsingular > 0
        where = f"seed {seed}: {d.qpos}, {d.qvel}"
        assert np.isfinite(d.buffer).all(), where
        assert d.nbad == 0, where
    assert met == 12 if distance < 0.01 else met > 2


def test_a_ypr_joint_far_from_the_singularity_moves_like_a_ball_joint():
    """The same link moves on both joints."""
    ypr, ball = like_a_ball(np.array([0.4, 0.3, -0.5]), np.array([1.0, -0.8, 0.6]), "rk4", 300)
    assert ypr.nsingular == 0
    with Comparison("yaw-pitch-roll", "like a ball") as case:
        for name in ("xpos", "xmat", "cvel"):
            case.close(name, getattr(ypr, name), getattr(ball, name), 1e-9)


@pytest.mark.parametrize("integrator", ["euler", "implicit_damping", "rk4"])
@pytest.mark.parametrize("aside", [0.0, 0.003, 0.02, 0.1])
def test_a_ypr_joint_that_passes_the_singularity_moves_like_a_ball_joint(aside, integrator):
    """Without gravity the energy stays constant, and the motion agrees with a ball joint's.

    Near the singularity steps are of first order, with errors of about 1e-3 rad.
    """
    q, rates = np.array([0.1, QUARTER - 0.2, aside]), np.array([aside, 1.0, 0.0])
    ypr, ball = like_a_ball(q, rates, integrator, 400, gravity=(0.0, 0.0, 0.0))
    assert ypr.nsingular > 0
    assert ypr.energy.sum() == pytest.approx(ball.energy.sum(), rel=2e-5)
    assert np.abs(ypr.xmat - ball.xmat).max() < 5e-3


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
@pytest.mark.parametrize(("timestep", "rate"), [(5e-3, 3.0), (5e-3, 8.0), (2e-3, 8.0)])
def test_fast_passes_of_the_singularity_with_long_steps_keep_the_energy(
    timestep, rate, integrator
):
    """A free body passes the singularity repeatedly."""
    box = rb.shapes.box((0.3, 0.2, 0.1), mass=1.0)
    builder = rb.SystemBuilder("tumbling").body("box", box)
    m = rb.build(builder.joint("joint", "spherical_ypr", "base", "box"))
    m.opt.gravity = (0.0, 0.0, 0.0)
    m.opt.integrator, m.opt.timestep = integrator, timestep
    for start in range(12):
        d = rb.make_data(m)
        d.qpos = (0.0, -0.3 - 0.005 * start, 1e-4)
        d.qvel = (0.0, rate, 0.0)
        rb.forward(m, d)
        rb.energy(m, d)
        energy = d.energy.sum()
        rb.step(m, d, round(2.0 / timestep))
        rb.forward(m, d)
        rb.energy(m, d)
        # near the singularity steps are of first order; the worst error of 60 starts was 0.013
        assert d.energy.sum() == pytest.approx(energy, rel=0.05)


def like_a_ball(q, rates, integrator, steps, **options):
    """Return a link's Data after some steps on a yaw-pitch-roll joint, and on a ball joint."""
    description = trees.auto_tree(1, kinds=("spherical_ypr",), seed=4)
    (joint,) = description.joints
    model = spherical_ypr(q, rates, 0.0)
    quat = trees.wxyz(Rotation.from_matrix(model.E.T))
    moved = []
    turning = model.S[:3] @ rates
    for kind, qpos, qvel in (("spherical_ypr", q, rates), ("spherical", quat, turning)):
        joints = (dataclasses.replace(joint, type=kind),)
        m = rb.build(dataclasses.replace(description, joints=joints))
        m.opt.integrator = integrator
        for name, value in options.items():
            setattr(m.opt, name, value)
        d = rb.make_data(m)
        d.qpos, d.qvel = qpos, qvel
        rb.step(m, d, steps)
        rb.forward(m, d)
        rb.energy(m, d)
        moved.append(d)
    return moved
