# SPDX-License-Identifier: Apache-2.0
"""Friction matches its closed form, is odd and dissipative, and refuses invalid values."""

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.control.base.friction import Friction
from rbdyn_ros.errors import ParameterError

VALUES = {
    "viscous": [0.5, 0.0, 3.0],
    "coulomb": [1.0, 2.0, 0.0],
    "stribeck": [0.4, 0.0, 5.0],
    "stribeck_velocity": [0.1, 0.2, 0.01],
    "smoothing": [0.01, 0.02, 0.005],
}


def friction():
    return Friction(**{name: np.array(values) for name, values in VALUES.items()})


def closed_form(k, v):
    viscous, coulomb, stribeck, near, smoothing = (values[k] for values in VALUES.values())
    dry = coulomb + stribeck * math.exp(-((v / near) ** 2))
    return viscous * v + dry * math.tanh(v / smoothing)


def test_friction_matches_its_closed_form():
    for v in np.random.default_rng(3).normal(size=(200, 3)) * [1.0, 0.05, 0.01]:
        expected = [closed_form(k, x) for k, x in enumerate(v.tolist())]
        np.testing.assert_allclose(friction().effort(v, np.empty(3)), expected, rtol=1e-13)


def test_friction_at_high_speed_is_viscous_plus_coulomb():
    effort = friction().effort(np.array([-4.0, 4.0, 4.0]), np.empty(3))
    np.testing.assert_allclose(effort, [-0.5 * 4.0 - 1.0, 2.0, 12.0], rtol=1e-14)


def test_stribeck_friction_acts_near_standstill():
    # at four times the smoothing speed nearly all dry friction acts
    v = np.array([0.04, 0.0, 0.0])
    expected = 0.02 + (1.0 + 0.4 * math.exp(-0.16)) * math.tanh(4.0)
    assert friction().effort(v, np.empty(3))[0] == pytest.approx(expected, rel=1e-13)


@given(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3))
def test_friction_is_odd_and_dissipative(v):
    speeds = np.array(v)
    effort = friction().effort(speeds, np.empty(3))
    np.testing.assert_array_equal(friction().effort(-speeds, np.empty(3)), -effort)
    assert (speeds * effort >= 0.0).all()


def test_the_output_may_be_the_array_of_velocities():
    v = np.array([0.3, -0.2, 0.01])
    expected = friction().effort(v, np.empty(3)).copy()
    np.testing.assert_array_equal(friction().effort(v, v), expected)


def test_scaling_a_friction_scales_its_effort_at_each_speed():
    v = np.array([0.3, -0.02, 0.004])
    whole, half = friction(), friction().scaled(0.5)
    np.testing.assert_allclose(
        half.effort(v, np.empty(3)), 0.5 * whole.effort(v, np.empty(3)), rtol=1e-15
    )
    assert not friction().scaled(0.0).effort(v, np.empty(3)).any()


def test_friction_is_read_from_the_robot_description():
    m = rb.load_urdf(
        """<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="j" type="continuous"><parent link="a"/><child link="b"/>
        <axis xyz="0 0 1"/><dynamics damping="0.7" friction="0.3"/></joint></robot>"""
    )
    of_model = Friction.of_model(m)
    assert (of_model.viscous, of_model.coulomb, of_model.stribeck) == ([0.7], [0.3], [0.0])
    assert of_model.effort(np.array([2.0]), np.empty(1))[0] == pytest.approx(1.7, rel=1e-14)


def test_one_number_applies_to_all_joints():
    made = Friction.of(3, viscous=2.0, coulomb=[1, 2, 3])
    np.testing.assert_array_equal(made.viscous, [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(made.coulomb, [1.0, 2.0, 3.0])
    assert made.check_dofs(3) is made


def test_friction_is_immutable():
    given_array = np.ones(2)
    made = Friction.of(2, viscous=given_array)
    given_array[0] = 5.0
    assert made.viscous[0] == 1.0
    for name in VALUES:
        with pytest.raises(ValueError, match="read-only"):
            getattr(made, name)[0] = 3.0
    with pytest.raises(AttributeError):
        made.viscous = np.ones(2)


def test_computing_friction_allocates_nothing():
    made, v, out = friction(), np.array([0.1, -0.1, 0.0]), np.empty(3)
    made.effort(v, out)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(2000):
            made.effort(v, out)
        now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # the interpreter itself keeps a few small objects: less than one array a call
    assert now - before < 4096
    assert peak - before < 4096


@pytest.mark.parametrize(
    "value", [np.nan, np.inf, -1.0, "1", True, None, [1.0, 2.0], [[1.0] * 3], 1j, 10**400, {}]
)
@pytest.mark.parametrize("name", VALUES)
def test_invalid_values_are_refused(name, value):
    with refused(ParameterError, "bad-argument"):
        Friction.of(3, **{name: value})


@pytest.mark.parametrize("name", ["stribeck_velocity", "smoothing"])
def test_speeds_of_zero_are_refused(name):
    with refused(ParameterError, "bad-argument", name):
        Friction.of(2, **{name: [0.1, 0.0]})


def test_different_lengths_are_refused():
    with refused(ParameterError, "bad-argument", "smoothing"):
        Friction(np.ones(3), np.ones(3), np.ones(3), np.ones(3), np.ones(2))
    with refused(ParameterError, "bad-argument", "friction"):
        friction().check_dofs(7)


@pytest.mark.parametrize("share", [-0.1, np.nan, np.inf, "1", None, 1e309])
def test_invalid_shares_are_refused(share):
    with pytest.raises(ParameterError):
        friction().scaled(share)


@pytest.mark.parametrize(
    "v", [np.zeros(2), np.zeros(3, np.float32), [0.0] * 3, np.zeros((3, 1)), np.zeros(6)[::2]]
)
def test_wrong_arrays_are_refused(v):
    with refused(ParameterError, "bad-argument", "qvel"):
        friction().effort(v, np.empty(3))
    with refused(ParameterError, "bad-argument", "qvel"):
        friction().effort(np.zeros(3), v)
