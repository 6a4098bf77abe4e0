# SPDX-License-Identifier: Apache-2.0
"""The engine and the textbook code are right for each joint type, forward and reversed.

Derivatives are central differences with steps h and h/2, which are extrapolated (Richardson). For
h = 2e-3 and positions of about 1 the truncation error, of order h^4, is 2e-13, and the rounding
error eps / h is 1e-13.
"""

import itertools
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support import states, trees

import rbdyn_ros as rb
from rbdyn_ros.description.parts.types import Description, Limit, Link
from rbdyn_ros.engine.joints.ypr import SINGULAR
from rbdyn_ros.model.declared.joints import JOINT_KINDS, TYPE_OF_NAME, JointType
from rbdyn_ros.textbook import jcalc as textbook
from rbdyn_ros.textbook.qdfn import qdfn
from rbdyn_ros.textbook.spatial import motion_transform
from rbdyn_ros.textbook.system import System

STEP = 2e-3
DERIVATIVE = 2e-11
ROUNDING = 2e-14

ANGLES = {
    JointType.HINGE: (0,),
    JointType.HELICAL: (0,),
    JointType.CYLINDRICAL: (0,),
    JointType.UNIVERSAL: (0, 1),
    JointType.YPR: (0, 1, 2),
    JointType.RACK_PINION: (0,),
    JointType.PLANAR: (2,),
    JointType.PLANAR_FP: (0,),
    JointType.PLANAR_FS: (0,),
}
SPECIAL_ANGLES = (0.0, 1e-9, -1e-9, 1e-5, np.pi, np.pi - 1e-9, -np.pi)
#: Distance of yaw-pitch-roll joints from their singularity [rad], so that differences stay outside
#: of SINGULAR, within which the engine changes the axes (test_ypr_singularity.py).
NEAR_PITCH = SINGULAR + 1.5 * STEP
#: Angles of rotations [rad], for which the sine or cosine of the half angle is near 0.
SPECIAL_TURNS = (0.0, 1e-9, 1e-5, np.pi - 1e-9, np.pi, 2.0 * np.pi - 1e-9)

each_type = pytest.mark.parametrize("name", trees.LIBRARY)
each_polarity = pytest.mark.parametrize("polarity", ["forward", "reversed"])
each_library = pytest.mark.parametrize("library", ["engine", "textbook"])


def one_joint(name, polarity, seed=0, **more):
    """Return a Model of two links and a joint, whose frames have random poses in the links."""
    rng = np.random.default_rng([seed, TYPE_OF_NAME[name]])
    base, link = Link("base"), Link("link", trees.random_inertial(rng))
    near = ("base", trees.random_pose(rng, 2.0))
    far = ("link", trees.random_pose(rng, 2.0))
    ends = (near, far) if polarity == "forward" else (far, near)
    axis = trees.unit(rng.normal(size=3))
    joint = trees.library_joint("joint", name, *ends, axis, rng, **more)
    return rb.build(Description("one-joint", (base, link), (joint,), base="base"))


def configurations(kind):
    """Yield neutral and random positions, and positions at which a formula may divide by zero."""
    rng = np.random.default_rng(kind)
    yield np.array(JOINT_KINDS[kind].qpos0)
    for _ in range(3):
        yield random_position(kind, rng)
    for angle, value in itertools.product(ANGLES.get(kind, ()), SPECIAL_ANGLES):
        q = random_position(kind, rng)
        q[angle] = value
        yield q
    first = states.quaternion(kind)
    for angle in () if first is None else SPECIAL_TURNS:
        q = random_position(kind, rng)
        half = 0.5 * angle
        q[first] = np.cos(half)
        q[first + 1 : first + 4] = np.sin(half) * np.array(trees.unit(rng.normal(size=3)))
        yield q
    if kind == JointType.YPR:
        for pitch in (np.pi / 2 - NEAR_PITCH, NEAR_PITCH - np.pi / 2, np.pi / 2 + NEAR_PITCH):
            yield np.array([rng.uniform(-3.0, 3.0), pitch, rng.uniform(-3.0, 3.0)])


def random_position(kind, rng):
    q = rng.uniform(-1.5, 1.5, JOINT_KINDS[kind].nq)
    first = states.quaternion(kind)
    if first is not None:
        q[first : first + 4] /= np.linalg.norm(q[first : first + 4])
    return q


def cases(name, polarity):
    """Yield (m, q, qd, label) of a joint for each of `configurations`."""
    m = one_joint(name, polarity)
    rng = np.random.default_rng(7)
    for q in configurations(TYPE_OF_NAME[name]):
        qd = rng.uniform(-1.0, 1.0, m.nv)
        yield m, q, qd, f"{name}, {polarity}, q = {q.tolist()}"


def calculate(library, m, q, qd):
    """Return the result of jcalc of the engine or the textbook, with the engine's names."""
    if library == "engine":
        return rb.jcalc(m, "joint", q, qd)
    joint = textbook.jcalc(System.of(m).jtype[1], q, qd)
    E, lower = joint.X_J[:3, :3], joint.X_J[3:, :3]
    rx = -E.T @ lower
    return SimpleNamespace(
        E=E, r=np.array([rx[2, 1], rx[0, 2], rx[1, 0]]), S=joint.S, T=joint.T,
        S_dot=joint.S_ring, v_J=joint.v_J, c_J=joint.c_J,
    )  # fmt: skip


def derivative(function):
    """Return the derivative of function(t) at t = 0."""
    coarse, fine = ((function(h) - function(-h)) / (2.0 * h) for h in (STEP, 0.5 * STEP))
    return (4.0 * fine - coarse) / 3.0


def rate_along(value, kind, q, qd):
    """Return the rate of value(position) when the position q moves with qd."""
    return derivative(lambda t: value(states.moved(kind, q, t * qd)))


def pose(library, m, q):
    """Return rotation matrix and position of the child body in its parent, as (3, 4)."""
    joint = calculate(library, m, q, np.zeros(m.nv))
    return np.column_stack([joint.E.T, joint.r])


def subspace(library, m, q):
    return calculate(library, m, q, np.zeros(m.nv)).S


def close(ours, theirs, tolerance, where):
    error = np.abs(np.asarray(ours) - theirs).max(initial=0.0)
    assert error <= tolerance * (1.0 + np.abs(theirs).max(initial=0.0)), f"{where}: {error:.1e}"


@each_library
@each_polarity
@each_type
def test_the_motion_subspace_is_the_derivative_of_the_pose(name, polarity, library):
    kind = TYPE_OF_NAME[name]
    for m, q, qd, where in cases(name, polarity):
        joint = calculate(library, m, q, qd)
        for k, direction in enumerate(np.eye(m.nv)):
            rate = joint.E @ rate_along(partial(pose, library, m), kind, q, direction)
            twist = [rate[2, 1], rate[0, 2], rate[1, 0], *rate[:, 3]]
            close(joint.S[:, k], twist, DERIVATIVE, f"{where}, dof {k}")
            close(rate[:, :3] + rate[:, :3].T, np.zeros((3, 3)), DERIVATIVE, where)


@each_library
@each_polarity
@each_type
def test_the_derivative_of_the_subspace_is_exact(name, polarity, library):
    kind = TYPE_OF_NAME[name]
    for m, q, qd, where in cases(name, polarity):
        joint = calculate(library, m, q, qd)
        rate = rate_along(partial(subspace, library, m), kind, q, qd)
        close(joint.S_dot, rate, DERIVATIVE, where)
        close(joint.v_J, joint.S @ qd, ROUNDING, where)
        close(joint.c_J, joint.S_dot @ qd, ROUNDING, where)


@each_library
@each_polarity
@each_type
def test_constraint_forces_of_a_joint_do_no_work(name, polarity, library):
    for m, q, qd, where in cases(name, polarity):
        joint = calculate(library, m, q, qd)
        assert joint.S.shape == (6, m.nv)
        assert joint.T.shape == (6, 6 - m.nv)
        close(joint.T.T @ joint.S, np.zeros((6 - m.nv, m.nv)), ROUNDING, where)
        assert np.linalg.matrix_rank(np.hstack([joint.S, joint.T])) == 6, where


@each_polarity
@each_type
def test_the_engine_agrees_with_the_textbook(name, polarity):
    for m, q, qd, where in cases(name, polarity):
        ours, theirs = (calculate(library, m, q, qd) for library in ("engine", "textbook"))
        for key in ("E", "r", "S", "S_dot", "v_J", "c_J"):
            close(getattr(ours, key), getattr(theirs, key), ROUNDING, f"{where}, {key}")


@each_type
def test_a_reversed_joint_has_the_inverse_motion(name):
    """At equal q and qd the transforms of a joint and its reverse are inverse to each other."""
    m, other = one_joint(name, "forward"), one_joint(name, "reversed")
    rng = np.random.default_rng(3)
    for q in configurations(TYPE_OF_NAME[name]):
        qd = rng.uniform(-1.0, 1.0, m.nv)
        forward, back = rb.jcalc(m, "joint", q, qd), rb.jcalc(other, "joint", q, qd)
        X, X_back = (motion_transform(joint.E, joint.r) for joint in (forward, back))
        close(X_back @ X, np.eye(6), ROUNDING, name)
        close(X @ back.v_J, -forward.v_J, ROUNDING, name)


@each_type
def test_the_neutral_position_has_no_displacement(name):
    for polarity in ("forward", "reversed"):
        m = one_joint(name, polarity)
        joint = rb.jcalc(m, "joint", m.qpos0)
        close(joint.E, np.eye(3), 1e-15, name)
        close(joint.r, np.zeros(3), 1e-15, name)


@each_polarity
@each_type
def test_the_derivative_of_the_position_is_exact(name, polarity):
    kind = TYPE_OF_NAME[name]
    for m, q, qd, where in cases(name, polarity):
        rate = rb.qpos_dot(m, q, qd)
        close(rate, derivative(partial(integrated, m, q, qd)), DERIVATIVE, where)
        close(rate, qdfn(kind, q, qd), ROUNDING, where)


def integrated(m, q, qd, dt):
    q = q.copy()
    rb.integrate_pos(m, q, qd, dt)
    return q


@each_polarity
@each_type
def test_positions_are_integrated_as_by_plain_numpy(name, polarity):
    """This holds for tiny steps, with a series of sin(x) / x, and for long steps."""
    kind = TYPE_OF_NAME[name]
    for m, q, qd, where in cases(name, polarity):
        for dt in (1e-12, 1e-9, 1e-4, 0.1, 1.0, -1.0, 5.0):
            moved = integrated(m, q, qd, dt)
            expected = states.moved(kind, q, dt * qd)
            close(same_name(kind, moved, expected), expected, ROUNDING, f"{where}, dt = {dt}")


def same_name(kind, q, like):
    """Return q with the quaternion sign and the whole turns of `like`.

    Quaternions q and -q are the same rotation. Whole turns matter for planar joints with a
    velocity in F_s, because differences go the shorter way round.
    """
    q = q.copy()
    first = states.quaternion(kind)
    if first is not None:
        quat = slice(first, first + 4)
        q[quat] *= np.sign(q[quat] @ like[quat])
    if kind in states.PLANAR:
        q[0] += 2.0 * np.pi * np.round((like[0] - q[0]) / (2.0 * np.pi))
    return q


@each_polarity
@each_type
def test_a_difference_of_positions_undoes_integration(name, polarity):
    """The tolerance allows for half turns, where the logarithm divides by a small sine."""
    kind = TYPE_OF_NAME[name]
    for m, q, qd, where in cases(name, polarity):
        for dt in (1e-9, 0.1, 1.0, -1.0):
            moved, back = integrated(m, q, qd, dt), np.empty(m.nv)
            rb.differentiate_pos(m, back, dt, q, moved)
            close(dt * back, dt * qd, 5.0 * ROUNDING, f"{where}, dt = {dt}")
            again = integrated(m, q, back, dt)
            close(same_name(kind, again, moved), moved, ROUNDING, f"{where}, dt = {dt}")


@each_type
def test_differences_of_any_two_positions_are_exact(name):
    """Positions may be half a turn or more apart, or have opposite quaternions."""
    m = one_joint(name, "forward")
    kind = TYPE_OF_NAME[name]
    rng = np.random.default_rng(5)
    ends = list(configurations(kind))
    for q1, q2 in itertools.product([random_position(kind, rng), ends[0], *ends[-3:]], ends):
        way = np.full(m.nv, np.nan)
        rb.differentiate_pos(m, way, 0.5, q1, q2)
        reached = integrated(m, q1, way, 0.5)
        where = f"{name}: from {q1.tolist()} to {q2.tolist()}"
        close(same_name(kind, reached, q2), q2, 5.0 * ROUNDING, where)


@pytest.mark.parametrize("name", ["floating", "spherical", "sixdof_fp", "sixdof_fs"])
def test_quaternions_keep_unit_length(name):
    m = one_joint(name, "forward")
    rng = np.random.default_rng(2)
    q = m.qpos0.copy()
    first = states.quaternion(TYPE_OF_NAME[name])
    for _ in range(1000):
        rb.integrate_pos(m, q, rng.uniform(-5.0, 5.0, m.nv), 0.1)
        assert np.linalg.norm(q[first : first + 4]) == pytest.approx(1.0, abs=1e-15)


@each_type
def test_random_positions_are_valid_and_their_rotations_are_uniform(name):
    """All positions differ, and their rotations cover the whole sphere."""
    m = one_joint(name, "forward")
    kind = TYPE_OF_NAME[name]
    first = states.quaternion(kind)
    rng = np.random.default_rng(4)
    drawn = np.array([rb.random_qpos(m, rng) for _ in range(200)])
    assert drawn.shape == (200, m.nq)
    assert np.isfinite(drawn).all()
    assert drawn.std(axis=0).min() > 0.2
    if first is not None:
        assert np.abs(np.linalg.norm(drawn[:, first : first + 4], axis=1) - 1.0).max() < 1e-15
        turns = Rotation.from_quat(drawn[:, [first + 1, first + 2, first + 3, first]])
        assert turns.magnitude().max() > 3.0


LIMITS = (Limit(-0.2, 0.1), Limit(0.3, 0.4), Limit(lower=2.0))


@pytest.mark.parametrize(
    ("name", "count"),
    [("revolute", 1), ("prismatic", 1), ("helical", 1), ("universal", 2), ("spherical_ypr", 3)],
)
def test_random_positions_are_within_limits(name, count):
    limits = {"limit": LIMITS[0]} if count == 1 else {"limits": LIMITS[:count]}
    m = one_joint(name, "forward", **limits)
    rng = np.random.default_rng(4)
    drawn = np.array([rb.random_qpos(m, rng) for _ in range(100)])
    for coordinate, limit in zip(drawn.T, LIMITS, strict=False):
        assert coordinate.min() >= limit.lower
        assert coordinate.max() <= limit.upper
        assert coordinate.std() > 0.01
