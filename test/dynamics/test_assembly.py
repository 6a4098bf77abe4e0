# SPDX-License-Identifier: Apache-2.0
"""`rb.assemble` closes all loops from a start nearby."""

import numpy as np
import pytest
from support import mechanisms
from support.mechanisms import see_constraints
from support.refusals import refused

import rbdyn_ros as rb

NAMES = (
    "grashof", "parallelogram", "change_point", "crank_slider", "watt", "five_bar",
    "spatial_slider_crank", "bricard", "gripper", "pantograph", "wedge", "screw_jack", "rack",
    "ball", "disk",
)  # fmt: skip


def gap(m, qpos):
    """Return the largest position error of the constraints at qpos."""
    d = rb.make_data(m)
    d.qpos = qpos
    see_constraints(m, d)
    return np.abs(d.efc_pos).max()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(3))
def test_assemble_closes_a_mechanism_from_a_start_nearby(name, seed):
    m = rb.build(getattr(mechanisms, name)())
    start = m.qpos0.copy()
    rng = np.random.default_rng(seed)
    rb.integrate_pos(m, start, rng.uniform(-0.3, 0.3, m.nv), 1.0)
    qpos = rb.assemble(m, start)
    assert gap(m, qpos) <= 1e-12
    assert np.abs(qpos - start).max() < 3.0


@pytest.mark.parametrize("seed", range(3))
def test_a_delta_robot_closes_from_a_start_near_its_closed_pose(seed):
    m = rb.build(mechanisms.delta())
    right = mechanisms.delta_at(m, np.array([0.02, 0.05, -0.48]))
    start = right.copy()
    rb.integrate_pos(m, start, np.random.default_rng(seed).uniform(-0.05, 0.05, m.nv), 1.0)
    motors = [f"motor_{i}" for i in range(3)]
    for name in motors:
        at = m.jnt_qposadr[m.jnt_id(name)]
        start[at] = right[at]
    qpos = rb.assemble(m, start, fixed=motors)
    assert gap(m, qpos) <= 1e-12
    # with fixed motors, only the configuration of the closed form closes the loops nearby
    np.testing.assert_allclose(qpos, right, atol=1e-10)


def test_loading_assembles_a_loop_that_is_open_at_zero():
    m = rb.build(mechanisms.grashof())
    assert gap(m, np.zeros(3)) > 0.01
    assert gap(m, m.qpos0) <= 1e-12
    found = [(f.code, f.severity) for f in m.findings]
    assert found == [("assembled", "note")]
    d = rb.make_data(m)
    assert np.array_equal(d.qpos, m.qpos0)
    closed = rb.build(mechanisms.parallelogram())
    assert not closed.findings
    assert not closed.qpos0.any()


@pytest.mark.parametrize("angle", [0.3, 1.0, 2.5, -2.0])
def test_fixed_joints_keep_their_positions_in_assembly(angle):
    m = rb.build(mechanisms.grashof())
    start = m.qpos0.copy()
    start[0] = angle
    qpos = rb.assemble(m, start, fixed=["A"])
    assert qpos[0] == angle
    assert gap(m, qpos) <= 1e-12


def test_fixing_a_mimic_joint_fixes_its_leader():
    s = mechanisms.five_bar().couple("shoulder_2", "shoulder_1", -1.0, np.pi)
    m = rb.build(s)
    start = m.qpos0.copy()
    at = m.jnt_qposadr[m.jnt_id("shoulder_1")]
    start[at] = 1.9
    qpos = rb.assemble(m, start, fixed=["shoulder_2"])
    assert qpos[at] == 1.9
    assert gap(m, qpos) <= 1e-12


def test_an_open_loop_whose_joints_are_all_fixed_is_refused():
    m = rb.build(mechanisms.grashof())
    with refused(rb.ModelError, "cannot-close", "loop joint 'C'") as caught:
        rb.assemble(m, np.zeros(3), fixed=["A", "B", "D"])
    # the coupler ends at 0.1 m + 0.25 m, and the rocker at 0.3 m + 0.2 m: the gap is 0.15 m
    assert " 0.15 m " in str(caught.value)


def test_bars_that_are_too_short_give_a_warning():
    m = rb.build(mechanisms.four_bar(0.1, 0.1, 0.1, 0.5))
    assert [(f.code, f.severity) for f in m.findings] == [("not-assembled", "warning")]
    assert "loop joint 'C'" in m.findings[0].message
    assert not m.qpos0.any()


def test_the_error_names_the_constraint_that_stays_open_and_its_gap():
    s = mechanisms.grashof().gear("far", {"A": 1.0, "D": 1.0}, 2.0)
    s.rod("strut", "ground", "crank", 5.0, point2=(0.1, 0, 0))
    m = rb.build(s)
    with pytest.raises(rb.ModelError) as error:
        rb.assemble(m)
    named = [f.element for f in error.value.findings]
    assert "length 'strut'" in named
    strut = error.value.findings[named.index("length 'strut'")]
    assert " 4.9 m " in strut.message


def elbow(low, high):
    """Return two bars between two points of a wall, whose elbow could bend to either side."""
    return (
        rb.SystemBuilder("elbow", base="wall")
        .body("upper", mechanisms.bar(0.3))
        .body("lower", mechanisms.bar(0.3))
        .joint("shoulder", "revolute", "wall", "upper", **mechanisms.HINGE)
        .joint("elbow", "revolute", "upper", "lower", xyz=(0.3, 0, 0), limit=(low, high),
               **mechanisms.HINGE)
        .point("hand", "lower", "wall", X_P=mechanisms.end(0.3), X_S=mechanisms.end(0.4))
    )  # fmt: skip


def test_a_solution_within_the_limits_is_preferred():
    ends = []
    for low, high in ((0.1, 3.0), (-3.0, -0.1)):
        m = rb.build(elbow(low, high))
        qpos = rb.assemble(m, (0.0, 0.0))
        assert gap(m, qpos) <= 1e-12
        assert low <= qpos[1] <= high
        ends.append(qpos)
    np.testing.assert_allclose(ends[0], -ends[1], atol=1e-10)


def test_assemble_violates_limits_if_the_loop_cannot_close_otherwise():
    m = rb.build(elbow(2.5, 3.0))
    qpos = rb.assemble(m, (0.0, 2.6))
    assert gap(m, qpos) <= 1e-12
    # by the law of cosines for two bars of 0.3 m between points 0.4 m apart
    assert np.cos(qpos[1]) == pytest.approx((0.4**2 - 2 * 0.3**2) / (2 * 0.3**2), abs=1e-10)


@pytest.mark.parametrize("pitch", [0.005, -0.02, 0.2])
def test_a_screw_keeps_its_number_of_turns(pitch):
    m = rb.build(mechanisms.screw_jack(pitch))
    start = np.array([-pitch * 2 * np.pi * 7.3, 0.0])
    qpos = rb.assemble(m, start, fixed=["guide"])
    assert qpos[0] == start[0]
    assert gap(m, qpos) <= 1e-12
    # the pose determines the nut's angle up to whole turns
    assert np.exp(1j * qpos[1]) == pytest.approx(np.exp(2j * np.pi * 7.3), abs=1e-9)


@pytest.mark.parametrize("turns", [0.4, 3.0, -11.25])
@pytest.mark.parametrize("name", ["screw_jack", "rack"])
def test_a_closed_configuration_is_closed_for_any_number_of_turns(name, turns):
    """The position error depends only on qpos, not on earlier calls, after any number of turns."""
    m = rb.build(getattr(mechanisms, name)())
    angle = 2.0 * np.pi * turns
    qpos = np.array([-0.005 * angle, angle] if name == "screw_jack" else [angle, -0.05 * angle])
    assert gap(m, qpos) < 1e-12


def test_a_screw_continues_in_another_data_from_qpos_and_qvel_alone():
    """After ten turns, time, qpos and qvel still are the complete state."""
    m = rb.build(mechanisms.screw_jack())
    m.opt.integrator = "rk4"
    d, other = rb.make_data(m), rb.make_data(m)
    rb.step(m, d, 5000)
    assert d.qpos[1] > 10 * 2 * np.pi
    other.qpos, other.qvel, other.time = d.qpos, d.qvel, d.time
    rb.step(m, d, 100)
    rb.step(m, other, 100)
    np.testing.assert_allclose(other.qpos, d.qpos, atol=1e-12)


def test_assemble_returns_the_same_positions_every_time():
    m = rb.build(mechanisms.delta())
    start = np.full(m.nq, 0.3)
    assert np.array_equal(rb.assemble(m, start), rb.assemble(m, start))


def test_assemble_without_constraints_returns_the_start():
    m = rb.build(rb.SystemBuilder("arm").body("a", mechanisms.bar(0.1)).joint(
        "A", "revolute", "base", "a", **mechanisms.HINGE))  # fmt: skip
    assert rb.assemble(m, [0.7]).tolist() == [0.7]


def test_assemble_returns_a_closed_configuration_bit_for_bit():
    m = rb.build(mechanisms.grashof())
    assert np.array_equal(rb.assemble(m, m.qpos0), m.qpos0)


@pytest.mark.parametrize("qpos", ["far", [0.0], [np.nan, 0, 0], [[0.0, 0.0, 0.0]], [0, np.inf, 0]])
def test_wrong_positions_are_refused(qpos):
    m = rb.build(mechanisms.grashof())
    with refused(rb.ParameterError, "qpos", "qpos"):
        rb.assemble(m, qpos)


@pytest.mark.parametrize("tolerance", [0.0, -1.0, np.nan, "small", None, 1 + 2j, [1e-9]])
def test_wrong_tolerances_are_refused(tolerance):
    m = rb.build(mechanisms.grashof())
    with refused(rb.ParameterError, "tolerance", "tolerance"):
        rb.assemble(m, tolerance=tolerance)


@pytest.mark.parametrize(
    ("fixed", "unknown"), [(["a"], "a"), ([3], "3"), (["A", None], "None")], ids=str
)
def test_unknown_fixed_joints_are_refused(fixed, unknown):
    m = rb.build(mechanisms.grashof())
    with refused(rb.ModelError, "unknown-joint", unknown):
        rb.assemble(m, fixed=fixed)


def test_the_argument_fixed_must_be_a_list():
    m = rb.build(mechanisms.grashof())
    with refused(rb.ParameterError, "fixed", "fixed"):
        rb.assemble(m, fixed=5)


def test_assemble_needs_a_model():
    with refused(rb.ModelError, "not-a-model"):
        rb.assemble("robot.urdf")
