# SPDX-License-Identifier: Apache-2.0
"""Constraint equations K qacc = k and position errors of all kinds match finite differences.

The differences of position errors use neither wrenches nor motion subspaces. Each kind of
constraint connects two bodies of one tree, bodies of two trees, or a body and the world. In some
variants joints of these trees are driven over time, mimic other joints, or are reversed.
"""

import functools
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support import mechanisms, trees
from support.compare import Comparison
from support.mechanisms import allowed_velocity, see_constraints
from support.systems import twist

import rbdyn_ros as rb
from rbdyn_ros.textbook import constraints as textbook

LOOPS = (*(kind for kind in trees.LIBRARY if not kind.startswith(("sixdof", "floating"))), "fixed")
USER = "constraint_twist"
KINDS = (*LOOPS, USER, "rod", "band", "gear2", "gear3", "sphere", "disk")
ENDS = ("world", "branch", "trees")
CASES = (
    *((ends, "plain") for ends in ENDS),
    *(("trees", variant) for variant in ("driven", "mimic", "reversed")),
    ("world", "driven"),
    ("branch", "reversed"),
)

#: Step of central differences, which are extrapolated to an error of fourth order in the step.
STEP = 2e-4
TOLERANCE = 2e-8

#: A trajectory whose velocity and acceleration at time 0 are not zero.
SWING = rb.Trajectory((-0.2, 0.1, 0.5, 0.8), ((0.1,), (0.5,), (-0.3,), (0.1,)), True)


@pytest.fixture(scope="module", autouse=True)
def _user_joint():
    rb.register_joint(USER, parameters=("lead",))(twist)


CHAINS = (
    ("A0", "revolute", "base", "a0"),
    ("A1", "spherical", "a0", "a1"),
    ("A2", "universal", "a1", "a2"),
    ("A3", "prismatic", "a2", "a3"),
    ("B1", "universal", "base", "b1"),
    ("B2", "spherical", "b1", "b2"),
    ("B3", "revolute", "b2", "b3"),
    ("C1", "spherical", "a0", "c1"),
    ("C2", "cylindrical", "c1", "c2"),
    ("C3", "revolute", "c2", "c3"),
)


def system(kind, ends, variant, seed):
    """Return two trees, one with two branches, and a constraint of `kind` at the bodies `ends`."""
    rng = np.random.default_rng([seed, KINDS.index(kind), ENDS.index(ends)])
    s = rb.SystemBuilder(kind)
    for name, joint_type, parent, child in CHAINS:
        s.body(child, trees.random_inertial(rng))
        axis = trees.unit(rng.normal(size=3))
        axes = {"axis": axis} if joint_type != "spherical" else {}
        if joint_type == "universal":
            axes["axis2"] = trees.unit(np.cross(axis, rng.normal(size=3)))
        near, far = trees.random_pose(rng, 2.0), trees.random_pose(rng, 2.0)
        if variant == "reversed" and name in ("A1", "A2", "A3", "B2", "C2"):
            s.joint(name, joint_type, child, parent, origin=far, child_origin=near, **axes)
        else:
            s.joint(name, joint_type, parent, child, origin=near, child_origin=far, **axes)
    if variant == "driven":
        s.drive("A0", SWING).drive("B3", SWING)
    if variant == "mimic":
        s.couple("C3", "A0", -0.7, 0.2).couple("B3", "A0", 1.3)
    return _constrain(s, kind, {"world": "base", "branch": "c3", "trees": "b3"}[ends], rng)


def _meeting(s, other, X_P, rng):
    """Return the X_S of a loop joint in `other` that puts the joint at zero in a random state."""
    m = rb.build(s)
    d = rb.make_data(m)
    d.qpos = rb.random_qpos(m, rng)
    rb.kinematics(m, d)
    (p, R_p), (p_s, R_s) = rb.frame_pose(m, d, "a3"), rb.frame_pose(m, d, other)
    R = R_s.T @ R_p @ trees.rotation(X_P.quat).as_matrix()
    at = R_s.T @ (p + R_p @ X_P.pos - p_s)
    return rb.Pose(tuple(at), trees.wxyz(Rotation.from_matrix(R)))


def _constrain(s, kind, other, rng):
    point, place = rng.uniform(-0.3, 0.3, 3), rng.uniform(-0.3, 0.3, 3)
    if kind == "rod":
        return s.rod("it", "a3", other, 0.8, point1=point, point2=place)
    if kind == "band":
        corners = [("a3", tuple(point)), (other, tuple(place)), ("a1", (0.1, 0.2, 0.0))]
        return s.band("it", corners, 3.0, radius=0.1)
    if kind == "gear2":
        return s.gear("it", {"A0": 1.5, "A3": -2.0}, offset=0.3)
    if kind == "gear3":
        return s.gear("it", [("C2", 1, 1.5), ("A2", 0, -2.0), ("B3", 0, 0.5)], offset=0.3)
    if kind in ("sphere", "disk"):
        axis = trees.unit(rng.normal(size=3)) if kind == "disk" else None
        return s.roll("it", "a3", other, 0.2, centre=point, axis=axis, point=place,
                      normal=trees.unit(rng.normal(size=3)))  # fmt: skip
    if kind == USER:
        more = {"lead": 0.2}
    else:
        axis = trees.unit(rng.normal(size=3))
        more = dict(trees.library_joint("it", kind, ("", None), ("", None), axis, rng).parameters)
        if kind not in ("fixed", "spherical", "spherical_ypr"):
            more["axis"] = axis
        if kind in ("universal", "rack_pinion", "planar_fp", "planar_fs"):
            more["axis2"] = trees.unit(np.cross(axis, rng.normal(size=3)))
    X_P = trees.random_pose(rng, 2.0)
    X_S = _meeting(s, other, X_P, rng)
    return s.loop("it", kind, "a3", other, X_P=X_P, X_S=X_S, **more)


def closed(kind, ends, variant, seed=0):
    """Return a Model, and a Data with closed loops, a qvel that the loops allow, and forces."""
    m, d = _closed(kind, ends, variant, seed)
    return m, d.copy()


@functools.cache
def _closed(kind, ends, variant, seed):
    m = rb.build(system(kind, ends, variant, seed))
    d, rng = rb.make_data(m), np.random.default_rng(seed)
    d.qpos = rb.assemble(m, rb.random_qpos(m, rng))
    see_constraints(m, d)
    while (
        np.abs(d.efc_pos).max() > 1e-9
    ):  # a screw joint can have an error of whole turns (test_assembly.py)
        rb.reset_data(m, d)
        d.qpos = rb.assemble(m, rb.random_qpos(m, rng))
        see_constraints(m, d)
    d.qvel = allowed_velocity(m, d, rng.uniform(-1.0, 1.0, m.nv))
    d.qfrc_applied = rng.uniform(-1.0, 1.0, m.nv)
    return m, d


each_kind = pytest.mark.parametrize("kind", KINDS)
each_case = pytest.mark.parametrize(("ends", "variant"), CASES)


def beside(values, scale):
    """Append a scale to numbers: a Comparison divides errors by the largest entry."""
    return np.append(values, scale)


def derivative(function):
    """Return the derivative of function(t) at 0."""
    near, far = ((function(h) - function(-h)) / (2 * h) for h in (STEP, 2 * STEP))
    return (4.0 * near - far) / 3.0


def errors(m, d, qvel, t, qacc=None, rate=False):
    """Return efc_pos (efc_vel if `rate`) after moving for a time t from d with qvel and qacc."""
    twin = d.copy()
    accelerations = np.zeros(m.nv) if qacc is None else qacc
    rb.integrate_pos(m, twin.qpos, np.ascontiguousarray(qvel + 0.5 * t * accelerations), t)
    twin.qvel = qvel + t * accelerations
    twin.time = d.time + t
    see_constraints(m, twin)
    return (twin.efc_vel if rate else twin.efc_pos).copy()


def numeric_K(m, d):
    """Return the derivative of efc_pos with respect to the configuration, at a fixed time."""

    def moved(direction):
        def function(t):
            twin = d.copy()
            rb.integrate_pos(m, twin.qpos, direction, t)
            see_constraints(m, twin)
            return twin.efc_pos.copy()

        return function

    return np.column_stack([derivative(moved(unit)) for unit in np.eye(m.nv)])


def holonomic(m):
    """Return which equations have a position error: for a rolling body only the first one."""
    rows = np.ones(m.nefc, bool)
    if m.nroll:
        rows[1:] = False
    return rows


@each_case
@each_kind
def test_equations_agree_with_finite_differences(kind, ends, variant):
    m, d = closed(kind, ends, variant)
    see_constraints(m, d)
    K, k, rows = d.efc_J.copy(), d.efc_aref.copy(), holonomic(m)
    rng = np.random.default_rng(7)
    with Comparison("constraint equations", f"{kind}, {ends}, {variant}") as compare:
        compare.close("efc_pos", beside(d.efc_pos, 1.0), beside(0.0 * k, 1.0), 1e-12)
        compare.close("efc_vel", beside(d.efc_vel, 1.0), beside(0.0 * k, 1.0), 1e-12)
        compare.close("efc_J", K[rows], numeric_K(m, d)[rows], TOLERANCE)
        qacc, allowed = rng.uniform(-1.0, 1.0, m.nv), d.qvel.copy()
        slope = derivative(lambda t: errors(m, d, allowed, t, qacc, rate=True))
        scale = np.abs(K @ qacc).max() + np.abs(k).max()
        compare.close("efc_aref", beside(K @ qacc - k, scale), beside(slope, scale), TOLERANCE)
        # efc_vel is the rate of efc_pos, also at a velocity that violates the constraints
        d.qvel = rng.uniform(-1.0, 1.0, m.nv)
        see_constraints(m, d)
        rate, found = derivative(lambda t: errors(m, d, d.qvel, t)), d.efc_vel.copy()
        compare.close("efc_vel, any", found[rows], rate[rows], TOLERANCE)
        # K qacc - k is the rate of efc_vel, except at open loop joints, whose axes turn
        if m.nloop == 0:
            K, k, qvel = d.efc_J.copy(), d.efc_aref.copy(), d.qvel.copy()
            slope = derivative(lambda t: errors(m, d, qvel, t, qacc, rate=True))
            scale = np.abs(K @ qacc).max() + np.abs(k).max()
            compare.close(
                "efc_aref, any", beside(K @ qacc - k, scale), beside(slope, scale), TOLERANCE
            )
        driven = found - K @ d.qvel
        if variant == "plain":
            compare.close("driven part", beside(driven, 1.0), beside(0.0 * k, 1.0), 1e-12)


def test_driven_joints_contribute_to_the_constraint_velocity():
    """Otherwise the variant with driven joints would not test this contribution."""
    m, d = closed("fixed", "trees", "driven")
    assert m.ndrive == 2
    see_constraints(m, d)
    assert np.abs(d.efc_J @ d.qvel).max() > 0.1


@each_case
@pytest.mark.parametrize("kind", ["sphere", "disk"])
def test_rolling_bodies_do_not_slip(kind, ends, variant):
    """efc_vel equals the slip of the touching points, computed by differences of poses."""
    m, d = closed(kind, ends, variant)
    d.qvel = np.random.default_rng(3).uniform(-1.0, 1.0, m.nv)
    see_constraints(m, d)
    body, plane = m.roll_bodyid[0]
    R, R_plane = d.xmat[body].reshape(3, 3), d.xmat[plane].reshape(3, 3)
    normal = R_plane @ m.roll_normal[0]
    spoke = normal
    if kind == "disk":
        axis = R @ m.roll_axis[0]
        spoke = normal - (normal @ axis) * axis
        spoke /= np.linalg.norm(spoke)
    contact = d.xpos[body] + R @ m.roll_centre[0] - m.roll_radius[0] * spoke
    on_body, on_plane = R.T @ (contact - d.xpos[body]), R_plane.T @ (contact - d.xpos[plane])

    def apart(t):
        twin = d.copy()
        rb.integrate_pos(m, twin.qpos, d.qvel, t)
        twin.time = d.time + t
        rb.kinematics(m, twin)
        one = twin.xpos[body] + twin.xmat[body].reshape(3, 3) @ on_body
        return one - twin.xpos[plane] - twin.xmat[plane].reshape(3, 3) @ on_plane

    slip = derivative(apart)
    # the engine is free to choose the two directions in the plane, so compare lengths
    assert d.efc_vel[0] == pytest.approx(normal @ slip, abs=1e-9)
    across = np.linalg.norm(slip - normal * (normal @ slip))
    assert np.hypot(*d.efc_vel[1:]) == pytest.approx(across, rel=1e-8)
    assert across > 0.01


@each_case
@each_kind
def test_accelerations_and_forces_solve_the_equations(kind, ends, variant):
    """K qacc = k and M qacc + C = tau + K^T lambda hold; lambda does no work."""
    m, d = closed(kind, ends, variant)
    rb.forward(m, d)
    K, force = d.efc_J, d.qfrc_constraint
    M, C = rb.mass_matrix(m, d).copy(), d.qfrc_bias - d.qfrc_passive
    rb.forward(m, d)
    assert d.efc_rank == np.linalg.matrix_rank(K, tol=1e-6)
    K_found = np.where(holonomic(m)[:, None], numeric_K(m, d), K)
    scale = np.abs(d.efc_aref).max() + np.abs(K).max() * np.abs(d.qacc).max()
    with Comparison("constraint forces", f"{kind}, {ends}, {variant}") as compare:
        compare.close("K qacc = k", beside(K @ d.qacc, scale), beside(d.efc_aref, scale), 1e-11)
        compare.close("K^T lambda", K.T @ d.efc_force, force, 1e-12)
        left = M @ d.qacc + C - d.qfrc_applied
        size = np.abs(C).max() + np.abs(force).max()
        compare.close("equation of motion", beside(left, size), beside(force, size), 1e-10)
        kkt = textbook.implicit(M, C, d.qfrc_applied, K_found, d.efc_aref)
        compare.close("qacc, KKT", d.qacc, kkt.qdd, 1e-5)
        if variant != "driven":
            allowed = np.abs(force) @ np.abs(d.qvel)
            compare.close("power", beside(force @ d.qvel, allowed), beside(0.0, allowed), 1e-12)


@each_kind
def test_constraints_do_not_drift(kind, record_property):
    """The mechanism swings freely at up to 70 rad/s, so the timestep is short."""
    m, d = closed(kind, "trees", "plain", 1)
    d.qfrc_applied = 0.0
    m.opt.integrator, m.opt.timestep = "rk4", 2.5e-4  # the cached Model is used by no other test
    drift = mechanisms.Drift(m, d, 1.0, every=40)
    record_property(f"{kind}, rk4, 1 s", str(drift))
    print(f"{kind}, rk4, 1 s: {drift}")
    assert drift.largest < 1e-8
    assert drift.pos[-1] < 1e-8
    assert drift.share < 1e-5


@pytest.mark.parametrize("copies", [2, 3])
@pytest.mark.parametrize("kind", ["revolute", "fixed", "helical", "universal"])
def test_copies_of_a_loop_joint_share_its_force(kind, copies):
    """With copies of a loop joint the motion is the same, and the copies share lambda equally."""
    twin = system(kind, "trees", "plain", 5)
    m = rb.build(twin)
    description = twin.description()
    again = [j for j in description.joints if j.name == "it"] * (copies - 1)
    many = tuple(replace(joint, name=f"it{number}") for number, joint in enumerate(again))
    more = rb.build(replace(description, joints=(*description.joints, *many)))
    d, e = rb.make_data(m), rb.make_data(more)
    d.qpos = rb.assemble(m, rb.random_qpos(m, np.random.default_rng(5)))
    d.qvel = allowed_velocity(m, d, np.random.default_rng(5).uniform(-1, 1, m.nv))
    e.qpos, e.qvel = d.qpos, d.qvel
    rb.forward(m, d)
    rb.forward(more, e)
    assert (more.nefc, e.efc_rank) == (copies * m.nefc, d.efc_rank)
    with Comparison("redundant constraints", kind) as compare:
        compare.close("qacc", e.qacc, d.qacc, 1e-9)
        compare.close("qfrc_constraint", e.qfrc_constraint, d.qfrc_constraint, 1e-9)
        for part in e.efc_force.reshape(copies, m.nefc):
            compare.close("lambda", part, d.efc_force / copies, 1e-8)


@pytest.mark.parametrize("kind", ["grashof", "crank_slider", "watt", "bricard", "pantograph"])
def test_lambda_has_the_least_norm_if_equations_are_redundant(kind):
    m = rb.build(getattr(mechanisms, kind)())
    d = mechanisms.started(m, seed=2)
    # forces out of the plane load the redundant equations
    d.xfrc_applied[1:] = np.random.default_rng(1).uniform(-5.0, 5.0, (m.nbody - 1, 6))
    rb.forward(m, d)
    K, force = d.efc_J, d.efc_force
    assert d.efc_rank < m.nefc
    least = np.linalg.lstsq(K.T, d.qfrc_constraint, rcond=1e-9)[0]
    np.testing.assert_allclose(force, least, rtol=0.0, atol=1e-11 * np.abs(least).max())
    allowed = 1e-11 * np.abs(force).max()
    np.testing.assert_allclose(K.T @ force, d.qfrc_constraint, rtol=0.0, atol=allowed)
