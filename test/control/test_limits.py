# SPDX-License-Identifier: Apache-2.0
"""The limits of a real arm select the controlled joints, and they can only be tightened."""

import re
from dataclasses import replace

import numpy as np
import pytest
from closed_loop import model
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.control.base.limits import Limits, left_out
from rbdyn_ros.errors import ParameterError

MIMIC = '<mimic joint="turn"/>'
#: Each joint's name, type, limit and other elements.
JOINTS = (
    ("turn", "revolute", 'lower="-1" upper="2" effort="10" velocity="3"', ""),
    ("slide", "prismatic", 'lower="0" upper="0.5" effort="200" velocity="1"', ""),
    ("free", "continuous", 'effort="5" velocity="7"', ""),
    ("weak", "revolute", 'lower="-1" upper="1" effort="0" velocity="3"', ""),
    ("stuck", "revolute", 'lower="-1" upper="1" effort="4" velocity="0"', ""),
    (
        "follower",
        "revolute",
        'lower="-9" upper="9" effort="4" velocity="1"',
        MIMIC,
    ),
    ("endless", "continuous", "", ""),
)


def robot():
    links, joints = ['<link name="l0"/>'], []
    for k, (name, kind, limit, more) in enumerate(JOINTS):
        links.append(
            f'<link name="l{k + 1}"><inertial><origin xyz="0.1 0 0.3"/><mass value="1"/><inertia '
            'ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        )
        joints.append(
            f'<joint name="{name}" type="{kind}"><parent link="l{k}"/><child link="l{k + 1}"/>'
            f'<axis xyz="0 1 0"/>{f"<limit {limit}/>" if limit else ""}{more}</joint>'
        )
    return rb.load_urdf(f'<robot name="odd">{"".join(links + joints)}</robot>')


def test_only_joints_with_limits_are_controlled():
    m = robot()
    limits = Limits.of(m)
    assert limits.names == ("turn", "slide", "free")
    np.testing.assert_array_equal(limits.dofs, [0, 1, 2])
    np.testing.assert_array_equal(limits.lower, [-1.0, 0.0, -np.inf])
    np.testing.assert_array_equal(limits.upper, [2.0, 0.5, np.inf])
    np.testing.assert_array_equal(limits.velocity, [3.0, 1.0, 7.0])
    np.testing.assert_array_equal(limits.effort, [10.0, 200.0, 5.0])
    messages = left_out(m)
    assert [re.search("'(.*?)'", sentence)[1] for sentence in messages] == [
        "weak",
        "stuck",
        "endless",
    ]
    assert "an effort limit of 0" in messages[0]
    assert "velocity limit of 0" in messages[1]
    assert "no limit" in messages[2]


def test_names_select_and_order_joints():
    limits = Limits.of(robot(), ["free", "turn"])
    assert limits.names == ("free", "turn")
    np.testing.assert_array_equal(limits.dofs, [2, 0])
    np.testing.assert_array_equal(limits.effort, [5.0, 10.0])


@pytest.mark.parametrize("name", ["trun", "weak", "stuck", "endless", "follower", "slide"])
def test_the_error_lists_all_joints_that_cannot_be_controlled(name):
    with refused(ParameterError, ["joints", "joints"], name):
        Limits.of(robot(), ["slide", name, "nobody"])


def test_a_robot_without_limits_cannot_be_controlled():
    m = rb.load_urdf(
        '<robot name="x"><link name="a"/><link name="b"><inertial><mass value="1"/><inertia '
        'ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j" '
        'type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint></robot>'
    )
    with refused(ParameterError, "joints", "joints"):
        Limits.of(m)


def test_limits_are_fractions_of_the_robots_limits():
    limits = Limits.of(model())
    tight = limits.tightened(0.5, 0.8, 0.1).tightened(0.25, 0.8, 0.3)
    np.testing.assert_allclose(tight.effort, 0.25 * limits.effort, rtol=1e-15)
    np.testing.assert_allclose(tight.velocity, 0.8 * limits.velocity, rtol=1e-15)
    np.testing.assert_allclose(tight.lower, limits.lower + 0.3, rtol=1e-15)
    np.testing.assert_allclose(tight.upper, limits.upper - 0.3, rtol=1e-15)


def test_equal_limits_can_be_set_repeatedly():
    limits = Limits.of(model()).tightened(0.3, 0.7, 0.1)
    again = limits
    for _ in range(100):
        again = again.tightened(0.3, 0.7, 0.1)
    for name in ("lower", "upper", "velocity", "effort"):
        np.testing.assert_array_equal(getattr(again, name), getattr(limits, name))


@pytest.mark.parametrize(
    "wider",
    [
        (0.51, 0.8, 0.1),
        (0.5, 0.81, 0.1),
        (0.5, 0.8, 0.09),
        (0.0, 0.8, 0.1),
        (-0.1, 0.8, 0.1),
        (0.5, 0.0, 0.1),
        (np.nan, 0.8, 0.1),
        (0.5, np.nan, 0.1),
        (0.5, 0.8, np.nan),
        (0.5, 0.8, np.inf),
        (0.5, 0.8, -1.0),
        (1.0, 1.0, 0.0),
        (np.inf, 0.8, 0.1),
    ],
)
def test_limits_never_become_wider(wider):
    limits = Limits.of(model()).tightened(0.5, 0.8, 0.1)
    with refused(ParameterError, "limits"):
        limits.tightened(*wider)


#: Argument, field, its present value, and a value that would widen the limit.
TIGHTENED = {
    "acceleration_limit": ("acceleration", "acceleration", 40.0, 40.1),
    "latency_limit": ("latency", "latency", 0.01, 0.0101),
    "power_limit": ("power_limit", "power_limit", 50.0, 50.1),
    "contact_effort": ("contact", "contact", 0.2, 0.21),
}


@pytest.mark.parametrize("name", TIGHTENED)
@pytest.mark.parametrize("wrong", ["wider", -1.0, np.nan, np.inf, -np.inf, 0.0])
def test_a_limit_never_becomes_wider(name, wrong):
    argument, field, now, wider = TIGHTENED[name]
    loose = replace(Limits.of(model()), contact=0.5)
    limits = loose.tightened(1.0, 1.0, 0.0, **{argument: now})
    wanted = wider if wrong == "wider" else wrong
    if name == "contact_effort" and wanted == 0.0:  # a contact limit of zero is the tightest
        assert limits.tightened(1.0, 1.0, 0.0, contact=0.0).contact == 0.0
        return
    with refused(ParameterError, "limits", name) as caught:
        limits.tightened(1.0, 1.0, 0.0, **{argument: wanted})
    assert f"at most {now:g}" in caught.value.allowed
    assert getattr(limits.tightened(1.0, 1.0, 0.0), field) == now
    assert getattr(limits.tightened(1.0, 1.0, 0.0, **{argument: 0.9 * now}), field) == 0.9 * now


@pytest.mark.parametrize("wrong", [1e9, np.inf, np.nan, -1.0])
def test_a_power_limit_does_not_exceed_the_robot_file(wrong):
    limits = Limits.of(model())
    most = float((limits.effort * limits.velocity).max())
    with refused(ParameterError, "limits", "power_limit") as caught:
        limits.tightened(1.0, 1.0, 0.0, power_limit=wrong)
    assert f"{most:g}" in caught.value.allowed


def test_an_inset_must_leave_a_range():
    with refused(ParameterError, "limits", "position_inset"):
        Limits.of(robot()).tightened(1.0, 1.0, 0.25)
    Limits.of(robot()).tightened(1.0, 1.0, 0.24)


def test_a_string_in_place_of_a_list_of_names_is_refused():
    with refused(ParameterError, "bad-argument", "names"):
        Limits.of(robot(), "turn")
