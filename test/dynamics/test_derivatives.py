# SPDX-License-Identifier: Apache-2.0
"""Derivatives of the dynamics agree with differences of order eight along the axes of qvel.

The tolerance is 1e-11 of the largest entry, because values are up to a hundred times as large as
derivatives, and have rounding errors of 100 eps. For forward dynamics it is a hundred times 64 nv
cond(M) eps, which is the rounding error of its values.
"""

import numpy as np
import pytest
from support import forests, robots, states, trees
from support.compare import Comparison, with_inverse
from support.differences import STEP, by_entry, by_position
from support.smooth import smoothly

import rbdyn_ros as rb
from rbdyn_ros.description.parts.joint_types import JOINT_SPECS

EXACT, DIFFERENCE = 1e-13, 1e-11

ALL = tuple(kind for kind in trees.LIBRARY if kind != "rack_pinion")
MORE = ("revolute", "prismatic", "helical", "revolute", "prismatic", "revolute")
SINGLE = tuple(kind for kind in ALL if JOINT_SPECS[kind].dofs == 1)
CASES = {
    "forward": {"kinds": (*ALL, *MORE), "seed": 11, "offsets": 0.5},
    "coupled": {"kinds": (*ALL, *MORE), "seed": 12, "coupled": True, "count": 3},
    "reversed": {"kinds": SINGLE * 4, "seed": 13, "reversals": 0.6, "coupled": True},
    "lossy": {"kinds": (*forests.FLAT[:-1], *MORE), "seed": 14, "losses": True},
    "lossy, coupled": {
        "kinds": SINGLE * 4,
        "seed": 15,
        "losses": True,
        "coupled": True,
        "reversals": 0.5,
    },
    "driven": {"kinds": (*ALL, *MORE), "seed": 16, "driven": True, "coupled": True},
}
CASES |= {f"{kind}-only": {"kinds": (kind,) * 4, "seed": 17, "offsets": 0.5} for kind in ALL}
REAL = {
    "ur5_robot.urdf": False,
    "panda.urdf": False,
    "talos_reduced.urdf": True,
    "tiago.urdf": False,  # this robot has continuous joints
}


def explicit(m):
    """Set m to explicit damping and the smooth law of friction and limits; return it."""
    m.opt.integrator = "euler"
    return smoothly(m)


def forest_in_motion(name):
    m = explicit(rb.build(forests.forest(**CASES[name])))
    d = rb.make_data(m)
    forests.randomise(m, d, 1)
    return m, d


def robot_in_motion(name):
    m = rb.load_urdf(robots.find(name), floating_base=REAL[name], strict=False)
    # the differences are longer than the range of a finger
    m = m.replaced(jnt_limited=0 * m.jnt_limited)
    d = rb.make_data(explicit(m))
    states.randomise(m, d, 2)
    d.qvel = np.where(np.abs(d.qvel) < 0.1, 0.5, d.qvel)  # near rest, dry friction is steep
    return m, d


@pytest.fixture(params=[*CASES, *REAL], ids=lambda name: name, scope="module")
def moving(request):
    name = request.param
    if name in CASES:
        return *forest_in_motion(name), name
    if not robots.FILES:
        pytest.skip("example-robot-data is not installed")
    return *robot_in_motion(name), name


def inverse_of(m, d, qacc):
    d.qacc = qacc
    rb.inverse(m, d)
    return d.qfrc_inverse


def forward_of(m, d):
    rb.forward_dynamics(m, d)
    return d.qacc


def test_inverse_derivatives_equal_differences(moving):
    m, d, where = moving
    d = d.copy()
    qacc = d.qacc.copy()
    dq, dv, M = rb.inverse_derivatives(m, d)
    force = d.qfrc_inverse.copy()
    with Comparison("derivatives", where) as case:
        case.close("qfrc_inverse", force, inverse_of(m, d, qacc), EXACT)
        expected = by_position(m, d, lambda: inverse_of(m, d, qacc))
        case.close("inverse, dq", dq, expected, DIFFERENCE)
        expected = by_entry(d.qvel, lambda: inverse_of(m, d, qacc))
        case.close("inverse, dv", dv, expected, DIFFERENCE)
        case.close("inverse, dqacc = M", M, rb.mass_matrix(m, d), EXACT)


def test_forward_derivatives_equal_differences(moving):
    """Forces on bodies keep their direction in the world while the bodies rotate."""
    m, d, where = moving
    d = d.copy()
    states.apply_reasonable_forces(m, d)
    d.xfrc_applied[1:] += 0.3 * m.body_mass[1:, None]
    dq, dv, dtau = rb.forward_derivatives(m, d)
    qacc = d.qacc.copy()
    M = rb.mass_matrix(m, d).copy()
    tolerance = max(DIFFERENCE, 100.0 * with_inverse(EXACT, M, m.nv))
    with Comparison("derivatives", where) as case:
        case.close("qacc", qacc, forward_of(m, d), with_inverse(EXACT, M, m.nv))
        expected = by_position(m, d, lambda: forward_of(m, d))
        case.close("forward, dq", dq, expected, tolerance)
        expected = by_entry(d.qvel, lambda: forward_of(m, d))
        case.close("forward, dv", dv, expected, tolerance)
        expected = by_entry(d.qfrc_applied, lambda: forward_of(m, d))
        case.close("forward, dqfrc", dtau, expected, tolerance)
        inverse = rb.inverse_mass_matrix(m, d)
        case.close("forward, dqfrc = M^-1", dtau, inverse, with_inverse(EXACT, M, m.nv))


def test_forward_derivatives_come_from_inverse_derivatives(moving):
    """Without forces on bodies, d qacc = -M^-1 d tau at the same acceleration."""
    m, d, where = moving
    d = d.copy()
    d.xfrc_applied = 0.0
    dq, dv, dtau = rb.forward_derivatives(m, d)
    by_q, by_v, M = rb.inverse_derivatives(m, d)  # at the qacc of forward_derivatives
    tolerance = with_inverse(EXACT, M, m.nv)
    with Comparison("derivatives", where) as case:
        case.close("forward, dq", dq, -dtau @ by_q, tolerance)
        case.close("forward, dv", dv, -dtau @ by_v, tolerance)


def test_derivatives_include_dry_friction_at_rest():
    """Friction is steep below STICTION_SPEED, so differences must be small and lose digits."""
    m, d = forest_in_motion("lossy")
    d.qvel = 0.0
    _, dv, _ = rb.inverse_derivatives(m, d)
    qacc = d.qacc.copy()
    expected = by_entry(d.qvel, lambda: inverse_of(m, d, qacc), h=1e-4)
    with Comparison("derivatives", "at rest") as case:
        case.close("inverse, dv", dv, expected, 1e-12 * STEP / 1e-4)
    assert dv.diagonal().max() > 400.0  # friction of 0.5 N m rises within 1e-3 rad/s


@pytest.mark.parametrize("load", [(1.0, 0.2), (30.0, 5.0)], ids=["friction", "limit"])
def test_joints_that_stand_still_have_the_derivatives_of_the_smooth_law(load):
    """Derivatives ignore the forces that held the joints in the last step."""
    rod = rb.shapes.box((0.1, 0.1, 0.4), mass=1.0)
    robot = rb.SystemBuilder("two", base="world").body("a", rod).body("b", rod)
    stops = {"friction": 1.5, "limit": (-1.0, 1.0), "axis": (0, 1, 0)}
    robot.joint("j1", "revolute", "world", "a", **stops)
    robot.joint("j2", "revolute", "a", "b", xyz=(0, 0, 0.4), **stops)
    m = rb.build(robot)
    d = rb.make_data(m)
    d.qfrc_applied = load
    rb.step(m, d, 3000)
    assert np.abs(d.stick_qfrc).min() > 0.01  # a force holds each joint
    smooth = smoothly(m.replaced())
    same = rb.make_data(smooth)
    same.qpos, same.qvel, same.qfrc_applied = d.qpos, d.qvel, load
    found = *rb.forward_derivatives(m, d), d.qacc
    expected = *rb.forward_derivatives(smooth, same), same.qacc
    for value, other in zip(found, expected, strict=True):
        assert np.array_equal(value, other)


def test_derivatives_without_opt_passive_omit_passive_forces():
    m, d = forest_in_motion("lossy")
    with_losses = rb.inverse_derivatives(m, d)
    m.opt.passive = False
    without = rb.inverse_derivatives(m, d)
    qacc = d.qacc.copy()
    expected = by_position(m, d, lambda: inverse_of(m, d, qacc))
    with Comparison("derivatives", "no losses") as case:
        case.close("inverse, dq", without[0], expected, DIFFERENCE)
    assert np.abs(with_losses[0] - without[0]).max() > 1.0
    slope = (with_losses[1] - without[1]).diagonal()
    assert (slope >= m.dof_damping - 1e-9).all()
    # friction and limits add to the damping
    assert np.count_nonzero(slope > m.dof_damping + 1e-3) > 5


def test_derivatives_include_forces_on_bodies():
    m, d = forest_in_motion("forward")
    pushed = rb.forward_derivatives(m, d)[0]
    d.qfrc_applied += pushes(m, d)
    d.xfrc_applied = 0.0
    # these joint forces cause the same acceleration, but not the same derivative
    held = rb.forward_derivatives(m, d)[0]
    assert np.abs(pushed - held).max() > 0.1 * np.abs(held).max()


def pushes(m, d):
    """Return the joint forces J^T xfrc_applied (nv,) of the wrenches on the bodies."""
    qfrc = np.zeros(m.nv)
    rb.kinematics(m, d)
    for i, name in enumerate(m.body_names[1:], start=1):
        force, torque = d.xfrc_applied[i, :3], d.xfrc_applied[i, 3:]
        arm = d.xipos[i] - rb.frame_pose(m, d, name)[0]
        J = rb.frame_jacobian(m, d, name)
        qfrc += J.T @ np.concatenate([torque + np.cross(arm, force), force])
    return qfrc


def test_the_second_derivative_by_speed_is_the_coriolis_matrix():
    """d(C v)/dv v = 2 C v, because C v is quadratic in v."""
    m, d = forest_in_motion("coupled")
    d.qacc = 0.0
    m.opt.passive = False
    _, dv, _ = rb.inverse_derivatives(m, d)
    with Comparison("derivatives", "quadratic") as case:
        case.close("dv qvel", dv @ d.qvel, 2.0 * rb.coriolis_term(m, d), EXACT)
