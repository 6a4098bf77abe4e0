# SPDX-License-Identifier: Apache-2.0
"""K, k and the error of loop joints agree with differences along a motion.

Derivatives are central differences with steps h and h/2, extrapolated by Richardson's method. With
h = 2e-3 their errors, of order h^4 and eps / h, are below 1e-9 for motions of about 1.
"""

import itertools

import numpy as np
import pytest
from closed import LOOP_TYPES, loop_state, mechanism
from support import states, trees
from support.systems import everything, register

import rbdyn_ros as rb
from rbdyn_ros.description.parts.types import Description, Joint, Link
from rbdyn_ros.model.declared.joints import TYPE_OF_NAME, JointType
from rbdyn_ros.textbook.jcalc import JointDescriptor
from rbdyn_ros.textbook.loops import loop_constraints, loop_motions, loop_position, motion_at
from rbdyn_ros.textbook.subspaces import complement, same
from rbdyn_ros.textbook.system import System

STEP = 2e-3
DERIVATIVE = 1e-8
ROUNDING = 1e-12

each_loop = pytest.mark.parametrize("kind", LOOP_TYPES)


def one_loop(kind):
    """Return a mechanism with a loop joint of this kind whose k is not zero."""
    for seed in itertools.count(LOOP_TYPES.index(kind)):
        x = mechanism(7, [kind], seed, branching=1.5, reversals=0.4, offsets=0.5)
        if np.abs(loop_constraints(x.s, x.q, x.qd).k).max() > 0.1:
            return x
    return None


def two_links(*joints):
    brick = trees.random_inertial(np.random.default_rng(1))
    links = (Link("base"), Link("a", brick), Link("b", brick))
    return Description("two", links, joints, base="base")


def moved(x, direction, h):
    """Return q after a motion in a direction (velocity) for a time h."""
    d = rb.make_data(x.m)
    d.qpos = x.q
    states.move(x.m, d, h, direction)
    return d.qpos.copy()


def derivative(function):
    coarse, fine = ((function(h) - function(-h)) / (2.0 * h) for h in (STEP, 0.5 * STEP))
    return (4.0 * fine - coarse) / 3.0


def close(ours, theirs, tolerance):
    np.testing.assert_allclose(ours, theirs, atol=tolerance * (1.0 + np.abs(theirs).max()))


@each_loop
def test_a_closed_loop_has_no_error(kind):
    x = one_loop(kind)
    error = loop_constraints(x.s, x.q, x.qd).error
    close(error, np.zeros_like(error), ROUNDING)
    assert len(error) == {"fixed": 6, "universal": 4, "cylindrical": 4}.get(
        kind, 3 if kind.startswith(("planar", "spherical")) else 5
    )


@each_loop
def test_the_position_of_a_loop_joint_follows_from_its_pose(kind):
    x = one_loop(kind)
    loop = loop_motions(x.s, x.q, x.qd)[0]
    jtype = x.s.loops[0].jtype
    pose = motion_at(jtype, x.q_L[0]).X_J
    close(motion_at(jtype, loop.q).X_J, pose, ROUNDING)
    S = motion_at(jtype, loop.q).S
    assert same(complement(S), loop.T)
    close(complement(loop.T) @ complement(loop.T).T @ loop.v_J, loop.v_J, 1e-11)  # v_J is within S


@pytest.mark.parametrize(
    "kind", [k for k in JointType if k not in (JointType.USER, JointType.YPR)]
)
def test_loop_position_finds_the_position_of_every_type_of_joint(kind):
    """Positions may be far from zero: several turns of a coordinate, or half a turn."""
    rng = np.random.default_rng(int(kind))
    for _ in range(20):
        jtype = JointDescriptor(kind, np.linalg.qr(rng.normal(size=(3, 3)))[0], 0.2)
        jtype.basis[2] *= np.linalg.det(jtype.basis)
        q = loop_state(kind, rng)
        q *= 5.0 if len(q) == 1 else 2.0 if len(q) == 2 else 1.0
        X = motion_at(jtype, q).X_J
        found, error = loop_position(jtype, X)
        close(motion_at(jtype, found).X_J, X, 1e-11)
        close(error, np.zeros(6), 1e-11)


@each_loop
def test_K_is_the_derivative_of_the_error(kind):
    x = one_loop(kind)
    K = loop_constraints(x.s, x.q, x.qd).K
    zero = np.zeros(x.s.nv)
    rng = np.random.default_rng(5)
    for _ in range(3):
        v = rng.uniform(-1.0, 1.0, x.s.nv)
        rate = derivative(lambda h, v=v: loop_constraints(x.s, moved(x, v, h), zero).error)
        close(K @ v, rate, DERIVATIVE)


@each_loop
def test_k_is_minus_the_rate_of_K_times_qd(kind):
    x = one_loop(kind)
    zero = np.zeros(x.s.nv)
    here = loop_constraints(x.s, x.q, x.qd)
    close(here.K @ x.qd, np.zeros_like(here.k), ROUNDING)
    rate = derivative(lambda h: loop_constraints(x.s, moved(x, x.qd, h), zero).K @ x.qd)
    close(here.k, -rate, DERIVATIVE)


def test_a_yaw_pitch_roll_loop_joint_constrains_like_a_spherical_joint():
    x = one_loop("spherical_ypr")
    assert x.s.loops[0].jtype.kind == JointType.BALL


def test_a_free_loop_joint_adds_no_rows_to_the_constraints():
    joints = (
        Joint("one", "revolute", "base", "a"),
        Joint("two", "revolute", "base", "b"),
        Joint("loop", "sixdof_fs", "a", "b", closes_loop=True),
    )
    s = System.of(rb.build(two_links(*joints)))
    found = loop_constraints(s, np.array([0.1, 0.2]), np.zeros(2))
    assert (found.K.shape, found.k.shape) == ((0, 2), (0,))


def test_a_tree_has_no_constraints():
    s = System.of(rb.build(trees.auto_tree(3)))
    found = loop_constraints(s, np.zeros(3), np.zeros(3))
    assert (found.K.shape, found.k.shape, found.error.shape) == ((0, 3), (0,), (0,))


def test_the_error_of_an_open_loop_is_its_gap():
    joints = (
        Joint("one", "prismatic", "base", "a", axis=(0.0, 0.0, 1.0)),
        Joint("two", "prismatic", "base", "b", axis=(0.0, 0.0, 1.0)),
        Joint("loop", "revolute", "a", "b", axis=(0.0, 0.0, 1.0), closes_loop=True),
    )
    s = System.of(rb.build(two_links(*joints)))
    found = loop_constraints(s, np.array([0.1, 0.25]), np.zeros(2))
    np.testing.assert_allclose(np.abs(found.error), [0.0, 0.0, 0.0, 0.0, 0.15], atol=1e-15)
    np.testing.assert_allclose(found.K @ [0.1, 0.25], found.error, atol=1e-15)


def test_user_defined_joints_are_refused():
    register()
    with pytest.raises(NotImplementedError):
        System.of(rb.build(everything()))
    joints = (
        Joint("one", "revolute", "base", "a"),
        Joint("two", "revolute", "base", "b"),
        Joint("nut", "storage_twist", "a", "b", parameters={"lead": 0.1}, closes_loop=True),
    )
    with pytest.raises(NotImplementedError, match="joint 'nut'"):
        System.of(rb.build(two_links(*joints)))


def test_all_joint_types_are_covered():
    assert {TYPE_OF_NAME[kind] for kind in LOOP_TYPES} == {
        kind
        for kind in JointType
        if kind not in (JointType.USER, JointType.FREE, JointType.SIXDOF_FP, JointType.SIXDOF_FS)
    }
