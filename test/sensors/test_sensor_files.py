"""Sensors files: what they say, and every way to be refused."""

import re
from pathlib import Path

import pytest

import rbdyn_ros as rb
from rbdyn_ros.description.source import read
from rbdyn_ros.errors import DescriptionError
from rbdyn_ros.sensors import (
    ContactSpec,
    ForceTorqueSpec,
    ImuSpec,
    NoiseSpec,
    read_sensors,
    read_sensors_text,
)

ARM = "config/robots/seven_dof_arm.urdf"


@pytest.fixture(scope="module")
def robot():
    return rb.load_urdf(ARM), read(ARM)


def test_the_example_of_the_bundled_arm(robot):
    imu, wrist, elbow, bumper = read_sensors("config/sensors.yaml", *robot)
    assert imu == ImuSpec(
        "tool_imu",
        "tool_flange",
        200.0,
        True,
        {
            "angular_velocity": NoiseSpec(
                (0.002, 0.002, 0.002), (0.001, 0.0, 0.0), (1e-5, 1e-5, 1e-5), (1e-4, 1e-4, 1e-4)
            ),
            "linear_acceleration": NoiseSpec((0.02, 0.02, 0.02)),
            "orientation": NoiseSpec((0.001, 0.001, 0.001)),
        },
    )
    noise = {"force": NoiseSpec((0.1,) * 3), "torque": NoiseSpec((0.01, 0.01, 0.005))}
    assert wrist == ForceTorqueSpec("wrist", "flange", "tool_flange", noise=noise)
    assert elbow == ForceTorqueSpec("elbow", "elbow_pitch", "forearm", rate=500.0)
    assert bumper == ContactSpec("bumper", "hand", 5.0, 100.0)


def test_all_the_rest_can_be_left_out(robot):
    text = """
rbdyn_sensors: 1
sensors:
  a: {type: imu, link: hand}
  b: {type: force_torque, joint: flange}
  c: {type: contact, link: hand}
"""
    a, b, c = read_sensors_text(text, *robot)
    assert a == ImuSpec("a", "hand")
    assert b == ForceTorqueSpec("b", "flange", "tool_flange")
    assert c == ContactSpec("c", "hand")


def test_every_error_at_once_with_its_line(robot):
    text = """rbdyn_sensors: 1
sensors:
  imu: {type: imu, link: tool_flnge}
  wrist:
    type: force_torque
    joint: flang
    mesured: child_to_parent
  other:
    type: force_torque
    joint: flange
    rate: 0
"""
    with pytest.raises(DescriptionError) as caught:
        read_sensors_text(text, *robot, source="s.yaml")
    assert str(caught.value) == (
        "s.yaml: 4 errors\n"
        "  line 3: sensor 'imu': the robot has no link 'tool_flnge' "
        "(did you mean 'tool_flange'?)\n"
        "  line 6: sensor 'wrist': the robot has no joint 'flang' (did you mean 'flange'?)\n"
        "  line 7: sensor 'wrist': the key 'mesured' of the force_torque sensor is unknown "
        "(did you mean 'measured'?)\n"
        "  line 11: sensor 'other': the rate is '0', not above 0, at most 1000000 Hz"
    )


def one(line):
    return f"rbdyn_sensors: 1\nsensors:\n  a: {line}\n"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{link: hand}", "it has no key 'type'; allowed is one of imu, force_torque, contact"),
        (
            "{type: gps, link: hand}",
            "the type is 'gps'; allowed is one of imu, force_torque, contact",
        ),
        (
            "{type: inu, link: hand}",
            "the type is 'inu' (did you mean 'imu'?); allowed is one of imu, force_torque, ",
        ),
        ("{type: imu}", "the imu has no key 'link'"),
        ("{type: imu, link: [1]}", "the link is a list, not a name"),
        ("[1, 2]", "the sensor is a list, not a table of keys"),
        ("{type: imu, link: hand, orientation: yes}", "orientation is 'yes', not true or false"),
        (
            "{type: imu, link: hand, rate: .inf}",
            "the rate is '.inf', not a finite number",
        ),
        (
            "{type: imu, link: hand, noise: {force: {stddev: 1}}}",
            (
                "the key 'force' of the noise is unknown; allowed are 'angular_velocity', "
                "'linear_acceleration', 'orientation'"
            ),
        ),
        (
            "{type: imu, link: hand, noise: {orientation: {resolution: 1}}}",
            (
                "the key 'resolution' of the noise of orientation is unknown; allowed are "
                "'stddev', 'bias', 'bias_walk'"
            ),
        ),
        (
            "{type: imu, link: hand, noise: {angular_velocity: {stddev: -1}}}",
            "the stddev of angular_velocity is '-1', not 0 or more",
        ),
        (
            "{type: imu, link: hand, noise: {angular_velocity: {bias: [1, 2]}}}",
            "the bias of angular_velocity has 2 numbers, not 3",
        ),
        ("{type: force_torque, joint: flang}", "has no joint 'flang' (did you mean 'flange'?)"),
        (
            "{type: force_torque, joint: flange, frame: forearm}",
            ("the frame 'forearm'"),
        ),
        (
            "{type: force_torque, joint: elbow_pitch, pushes: child}",
            ("joint 'elbow_pitch' is revolute"),
        ),
        (
            "{type: force_torque, joint: flange, measured: child}",
            "the measured is 'child'; allowed is one of child_to_parent, parent_to_child",
        ),
        (
            "{type: contact, link: base_link}",
            "link 'base_link'",
        ),
        (
            "{type: contact, link: hand, threshold: -1}",
            "the threshold is '-1', not 0 or more",
        ),
    ],
)
def test_what_is_refused(robot, line, said):
    with pytest.raises(DescriptionError, match=re.escape(said)) as caught:
        read_sensors_text(one(line), *robot)
    assert caught.value.line == 3


@pytest.mark.parametrize("name", ["1st", "my imu", "a__b", "a/b", "~a", "/a", "été", "_a"])
def test_names_that_no_topic_can_have(robot, name):
    text = f"rbdyn_sensors: 1\nsensors:\n  '{name}': {{type: imu, link: hand}}\n"
    with pytest.raises(DescriptionError) as caught:
        read_sensors_text(text, *robot)
    assert f"sensor '{name}'" in str(caught.value)


@pytest.mark.parametrize("text", ["sensors: {}", "rbdyn_sensors: 2\nsensors: {}", "a: 1"])
def test_what_is_no_sensors_file(robot, text):
    with pytest.raises(DescriptionError, match="this is not a sensors file"):
        read_sensors_text(text, *robot)


def test_two_sensors_of_one_name(robot):
    text = one("{type: imu, link: hand}") + "  a: {type: imu, link: hand}\n"
    with pytest.raises(DescriptionError, match="the key 'a' is repeated, on lines 3 and 4"):
        read_sensors_text(text, *robot)


def test_a_file_that_is_not_there(robot, tmp_path):
    with pytest.raises(DescriptionError, match=r"there is no file .*; give the path of a sensors"):
        read_sensors(tmp_path / "none.yaml", *robot)


def test_hostile_text_is_refused_in_sentences(robot):
    good = Path("config/sensors.yaml").read_text()
    for cut in range(0, len(good), 37):
        text = good[:cut] + "\x00{[" + good[cut + 5 :]
        with pytest.raises(DescriptionError):
            read_sensors_text(text, *robot)
