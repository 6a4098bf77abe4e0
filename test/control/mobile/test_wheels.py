# SPDX-License-Identifier: Apache-2.0
"""Wheels are found in robots with their positions, radii and kinds; errors name the wheel."""

import math

import numpy as np
import pytest
from support.mobile import RADIUS, TRACK, WHEELBASE, car, mecanum, omni
from support.robots import find, needs_robots
from support.rovers import SKID_STEER, TURTLEBOT3

import rbdyn_ros as rb
from rbdyn_ros.control.mobile.wheels import wheel_base
from rbdyn_ros.errors import ParameterError


def load(text):
    return rb.load_urdf(text, floating_base=True, contact=True)


def test_a_differential_base_has_the_published_dimensions():
    base = wheel_base(TURTLEBOT3.model())
    assert base.kind == "differential"
    assert [wheel.radius for wheel in base.wheels] == pytest.approx([TURTLEBOT3.radius] * 2)
    places = np.array([wheel.at for wheel in base.wheels])
    half = TURTLEBOT3.track / 2
    assert places == pytest.approx(np.array([[0.0, half], [0.0, -half]]))
    assert [wheel.heading for wheel in base.wheels] == pytest.approx([0.0, 0.0])


@needs_robots
def test_the_wheels_of_a_public_robot_are_found_by_name():
    base = wheel_base(load(find("tiago.urdf")))
    assert base.kind == "differential"
    assert {wheel.name for wheel in base.wheels} == {"wheel_left_joint", "wheel_right_joint"}
    assert [wheel.radius for wheel in base.wheels] == pytest.approx([0.0985] * 2)
    assert abs(base.wheels[0].at[1] - base.wheels[1].at[1]) == pytest.approx(0.4044)
    assert [wheel.heading for wheel in base.wheels] == pytest.approx([0.0, 0.0], abs=1e-6)


@pytest.mark.parametrize("axis", [1, -1])
def test_the_steering_joints_of_a_car_are_found(axis):
    base = wheel_base(load(car(axis)))
    assert base.kind == "ackermann"
    assert len(base.wheels) == 4
    assert [joint.at[0] for joint in base.steerings] == pytest.approx([WHEELBASE] * 2)
    assert [joint.sign for joint in base.steerings] == [axis, axis]
    assert [(joint.low, joint.high) for joint in base.steerings] == [(-0.7, 0.7)] * 2
    fixed = [wheel for wheel in base.wheels if wheel.steering < 0]
    assert sorted(wheel.at[1] for wheel in fixed) == pytest.approx([-TRACK / 2, TRACK / 2])


CASTER = """<link name="fork"><inertial><mass value="0.01"/>{inertia}</inertial></link>
  <link name="ball"><inertial><mass value="0.01"/>{inertia}</inertial>
    <collision><geometry><sphere radius="0.02"/></geometry></collision></link>
  <joint name="caster_swivel_joint" type="{kind}"><parent link="base"/><child link="fork"/>
    <origin xyz="-0.1 0 0.02"/><axis xyz="0 0 1"/>
    <limit lower="-0.7" upper="0.7" effort="1" velocity="1"/></joint>
  <joint name="caster_wheel_joint" type="continuous"><parent link="fork"/><child link="ball"/>
    <axis xyz="0 1 0"/></joint></robot>"""


@pytest.mark.parametrize("kind", ["continuous", "revolute"])
def test_a_base_with_a_swivel_caster_needs_an_explicit_kind(kind):
    inertia = '<inertia ixx="1e-5" iyy="1e-5" izz="1e-5" ixy="0" ixz="0" iyz="0"/>'
    text = TURTLEBOT3.urdf.replace("left0_joint", "left_wheel").replace(
        "right0_joint", "right_wheel"
    )
    m = load(text.replace("</robot>", CASTER.format(kind=kind, inertia=inertia)))
    with pytest.raises(ParameterError, match="ackermann or differential; set base"):
        wheel_base(m)
    base = wheel_base(m, "differential")
    assert {wheel.name for wheel in base.wheels} == {"left_wheel", "right_wheel"}
    assert base.steerings == ()
    assert len(wheel_base(m, "ackermann").steerings) == 1


def test_rollers_determine_the_kind_of_the_base():
    base = wheel_base(load(mecanum()))
    assert base.kind == "mecanum"
    assert [wheel.radius for wheel in base.wheels] == pytest.approx([RADIUS] * 4)
    angles = {(wheel.at[0] > 0, wheel.at[1] > 0): wheel.grip for wheel in base.wheels}
    quarter = math.pi / 4
    assert angles[True, True] == pytest.approx(-quarter)
    assert angles[True, False] == pytest.approx(quarter)
    assert wheel_base(load(omni())).kind == "omni"


BAD = [
    (
        SKID_STEER.urdf,
        {},
        "can be skid_steer or mecanum; set base.kind",
    ),
    (car(), {"kind": "differential"}, "base.kind is 'differential'"),
    (car(), {"names": ["rear_left"]}, "'rear_left', which is not a joint that can be commanded"),
    (car(), {"names": ["left_steering_joint"]}, "is not a wheel: its axis is not level"),
    (
        car(),
        {"names": ["rear_left_wheel_joint"] * 2},
        "base.wheels names 'rear_left_wheel_joint' twice",
    ),
    (car(), {"names": ["rear_left_wheel_joint"]}, "no kind of base has the wheels"),
]


@pytest.mark.parametrize(("text", "how", "words"), BAD, ids=[row[2] for row in BAD])
def test_the_error_about_unusable_wheels_names_them(text, how, words):
    with pytest.raises(ParameterError) as caught:
        wheel_base(load(text), **how)
    assert words in str(caught.value)


def test_a_robot_without_wheels_and_a_wheel_without_radius_are_refused():
    with pytest.raises(ParameterError, match="the robot has no wheels"):
        wheel_base(rb.load_urdf("<robot name='box'><link name='base'/></robot>"))
    m = rb.load_urdf(TURTLEBOT3.urdf.replace("left0", "left_wheel"), floating_base=True)
    with pytest.raises(ParameterError, match="the radius of wheel 'left_wheel_joint'"):
        wheel_base(m)
    base = wheel_base(m, names=["left_wheel_joint", "right0_joint"], radius=0.04)
    assert [wheel.radius for wheel in base.wheels] == [0.04, 0.04]
