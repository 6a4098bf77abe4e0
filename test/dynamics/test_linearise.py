# SPDX-License-Identifier: Apache-2.0
"""rb.linearise agrees with differences of the nonlinear motion and with closed forms.

Changes of position are along the axes of qvel, which rotate with the body.
"""

import numpy as np
import pytest
from support import forests, states, trees
from support.compare import Comparison
from support.differences import derivative
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.description.parts.types import Description, Inertial, Joint, Link

CURVED = ("floating", "spherical", "planar_fp", "planar_fs", "sixdof_fp", "sixdof_fs")
MOMENTS = np.array([0.1, 0.2, 0.25])
BRICK = Inertial(2.0, Pose(), (*MOMENTS, 0.0, 0.0, 0.0))
KINDS = tuple(kind for kind in trees.LIBRARY if kind != "rack_pinion")


def one_body(kind, inertial=BRICK, **fields):
    joint = Joint("joint", kind, "base", "body", axis=(0.0, 0.0, 1.0), **fields)
    return rb.build(Description("one", (Link("base"), Link("body", inertial)), (joint,)))


class Flow:
    """The change of the state after a time due to a change of the start x or the forces u."""

    def __init__(self, m, d, time, steps):
        self.m, self.d, self.time, self.steps = m, d, time, steps
        self.end = self.moved(np.zeros(2 * m.nv), np.zeros(m.nv))

    def moved(self, x, u):
        m, d = self.m, self.d.copy()
        states.move(m, d, 1.0, x[: m.nv])
        d.qvel = self.d.qvel + x[m.nv :]
        d.qfrc_applied = self.d.qfrc_applied + u
        m.opt.timestep = self.time / self.steps
        rb.step(m, d, self.steps)
        return d

    def change(self, x, u):
        moved, shift = self.moved(x, u), np.zeros(self.m.nv)
        rb.differentiate_pos(self.m, shift, 1.0, self.end.qpos, moved.qpos)
        return np.concatenate([shift, moved.qvel - self.end.qvel])

    def slopes(self):
        """Return the derivatives of the change with respect to x and u."""
        m, none = self.m, np.zeros(self.m.nv)
        rest = np.zeros(2 * m.nv)
        by_x = [derivative(lambda s, e=e: self.change(s * e, none)) for e in np.eye(2 * m.nv)]
        by_u = [derivative(lambda s, e=e: self.change(rest, s * e)) for e in np.eye(m.nv)]
        return np.stack(by_x, -1), np.stack(by_u, -1)


def compare_with_flow(m, d, time, steps, where, tolerance):
    m.opt.integrator = "rk4"
    A, B = rb.linearise(m, d, time)
    by_x, by_u = Flow(m, d, time, steps).slopes()
    with Comparison("linearise", where) as case:
        case.close("A", A, by_x, tolerance)
        case.close("B", B, by_u, tolerance)


@pytest.mark.parametrize("kind", CURVED)
def test_the_discrete_system_is_exact_in_a_steady_rotation(kind):
    """In a rotation about a principal axis, without gravity, A is constant in rotating axes.

    So the error is only that of the Runge-Kutta method, (w h)^4 / 120 = 1e-13.
    """
    m = one_body(kind)
    m.opt.gravity = (0.0, 0.0, 0.0)
    d = rb.make_data(m)
    states.randomise(m, d, 1)
    d.qvel = d.qfrc_applied = d.xfrc_applied = 0.0
    turn = {"floating": 5, "spherical": 2, "planar_fp": 0, "planar_fs": 0}.get(kind, 2)
    d.qvel[turn] = 2.0
    if kind == "floating":
        # the body also moves straight on, with a constant velocity in world axes
        d.qvel[:3] = 0.3, -0.5, 0.2
    compare_with_flow(m, d, 0.2, 100, f"{kind}, turning", 1e-11)


@pytest.mark.parametrize("kind", ["planar_fp", "planar_fs", "sixdof_fp", "sixdof_fs"])
def test_the_discrete_system_is_exact_in_a_straight_motion(kind):
    m = one_body(kind)
    m.opt.gravity = (0.0, 0.0, 0.0)
    d = rb.make_data(m)
    states.randomise(m, d, 1)
    d.qvel = d.qfrc_applied = d.xfrc_applied = 0.0
    d.qvel[-2:] = 1.5, -0.7
    compare_with_flow(m, d, 0.2, 100, f"{kind}, straight", 1e-11)


@pytest.mark.parametrize("case", [{"seed": 21}, {"seed": 22, "coupled": True, "count": 3}])
def test_the_discrete_system_is_exact_at_an_equilibrium(case):
    """Forces hold all trees at rest against gravity, so A and B are constant in time."""
    m = rb.build(forests.forest(KINDS, offsets=0.5, **case))
    d = rb.make_data(m)
    forests.randomise(m, d, 1)
    d.qvel = d.xfrc_applied = 0.0
    d.qfrc_applied = rb.gravity_term(m, d)
    rb.forward_dynamics(m, d)
    assert np.abs(d.qacc).max() < 1e-9
    # the fastest mode determines the fourth-order error of the Runge-Kutta method
    compare_with_flow(m, d, 0.02, 40, f"forest {case['seed']}", 1e-8)


def test_the_continuous_system_gives_the_growth_of_small_changes():
    """A is the mixed derivative of the position with respect to start and time, in any motion.

    To first order in time, qpos moves along qvel.
    """
    m = rb.build(forests.forest(KINDS, 23, offsets=0.5))
    d = rb.make_data(m)
    forests.randomise(m, d, 1)
    A, B = rb.linearise(m, d)
    dq, dv, dtau = rb.forward_derivatives(m, d)
    nv = m.nv
    for field, found, expected in (
        ("qacc by qpos", A[nv:, :nv], dq),
        ("qacc by qvel", A[nv:, nv:], dv),
        ("qacc by force", B[nv:], dtau),
        ("shift by force", B[:nv], 0.0 * dtau),
    ):
        assert np.array_equal(found, expected), field
    start = d.qpos.copy()

    def ahead(time, shift, faster):
        d.qpos = start
        states.move(m, d, 1.0, shift)
        states.move(m, d, time, d.qvel + faster)
        return d.qpos.copy()

    def growth(x):
        def apart(time, s):
            shift = np.zeros(nv)
            there = ahead(time, np.zeros(nv), np.zeros(nv))
            rb.differentiate_pos(m, shift, 1.0, there, ahead(time, s * x[:nv], s * x[nv:]))
            return shift

        return derivative(lambda time: derivative(lambda s: apart(time, s)))

    # random directions test all columns of A
    rng = np.random.default_rng(1)
    with Comparison("linearise", "in motion") as case:
        for x in rng.normal(size=(4, 2 * nv)):
            case.close("A of positions", A[:nv] @ x, growth(x), 1e-10)


def test_the_error_of_the_discrete_system_falls_with_the_square_of_the_timestep():
    """The discrete system takes A as constant during a timestep.

    With a wrong A its error would fall only with the timestep itself.
    """
    m = rb.build(trees.auto_tree(4, kinds=("universal", "spherical", "floating"), seed=5))
    m.opt.integrator = "rk4"
    d = rb.make_data(m)
    states.randomise(m, d, 1)
    states.apply_reasonable_forces(m, d)
    errors = []
    for time in (2e-3, 1e-3):
        A, _ = rb.linearise(m, d, time)
        by_x, _ = Flow(m, d, time, 2).slopes()
        errors.append(np.abs(A - by_x).max())
    assert 3.5 < errors[0] / errors[1] < 4.5


def test_discrete_and_continuous_linearisations_agree():
    m = rb.build(forests.forest(KINDS, 24))
    d = rb.make_data(m)
    forests.randomise(m, d, 2)
    A, B = rb.linearise(m, d)
    h = 1e-6
    A_h, B_h = rb.linearise(m, d, h)
    one = np.eye(2 * m.nv)
    with Comparison("linearise", "short step") as case:
        # the first terms of exp(A h) = 1 + A h + (A h)^2 / 2 + ...
        second = one + A * h + A @ A * (0.5 * h * h)
        case.close("A", A_h, second, (np.linalg.norm(A, 2) * h) ** 3)
        first = B * h + A @ B * (0.5 * h * h)
        case.close("B", B_h, first, (np.linalg.norm(A, 2) * h) ** 2)


def test_a_linearised_pendulum_has_the_eigenvalues_of_theory():
    """The pendulum x'' = -(m g l sin x + b x') / I hangs, and then stands upright."""
    length, damping = 0.4, 0.3
    arm = Inertial(2.0, Pose((0.0, 0.0, -length)), (0.1, 0.2, 0.25, 0.0, 0.0, 0.0))
    joint = Joint("pivot", "continuous", "base", "arm", axis=(1.0, 0.0, 0.0), damping=damping)
    m = rb.build(Description("pendulum", (Link("base"), Link("arm", arm)), (joint,)))
    d = rb.make_data(m)
    I = 0.1 + 2.0 * length**2
    for angle, sign in ((0.0, -1.0), (np.pi, 1.0)):
        d.qpos = angle
        A, B = rb.linearise(m, d)
        found = np.sort_complex(np.linalg.eigvals(A))
        expected = np.sort_complex(np.roots([1.0, damping / I, -sign * 2.0 * 9.81 * length / I]))
        with Comparison("linearise", f"pendulum at {angle:.2f}") as case:
            case.close("real", found.real, expected.real, 1e-13)
            case.close("imaginary", found.imag, expected.imag, 1e-13)
            case.close("B", B, [[0.0], [1.0 / I]], 1e-14)


@pytest.mark.parametrize("kind", ["floating", "spherical", "sixdof_fp", "sixdof_fs"])
def test_a_rotation_about_the_middle_axis_is_unstable(kind):
    """A disturbance of a rotation w grows at w sqrt((I2 - I1) (I3 - I2) / (I1 I3))."""
    m = one_body(kind)
    m.opt.gravity = (0.0, 0.0, 0.0)
    d = rb.make_data(m)
    d.qvel[{"floating": 4}.get(kind, 1)] = 3.0
    A, _ = rb.linearise(m, d)
    I1, I2, I3 = MOMENTS
    expected = 3.0 * np.sqrt((I2 - I1) * (I3 - I2) / (I1 * I3))
    assert np.linalg.eigvals(A).real.max() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("value", [0, -0.1, float("nan"), float("inf"), "1", True, 1j, [0.1]])
def test_a_bad_timestep_is_refused(value):
    m = one_body("continuous")
    d = rb.make_data(m)
    with refused(rb.ParameterError, "bad-argument", ""):
        rb.linearise(m, d, value)
