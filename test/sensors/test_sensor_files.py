# SPDX-License-Identifier: Apache-2.0
"""Sensor files are read, and errors in them are reported with their lines."""

from pathlib import Path

import pytest
from support.refusals import refused

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


def test_the_example_file_is_read(robot):
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


def test_optional_keys_have_defaults(robot):
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


def test_all_errors_are_reported_with_their_lines(robot):
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
    codes = ["unknown-link", "unknown-joint", "unknown-key", "bad-value"]
    with refused(DescriptionError, codes, "sensor 'imu'") as caught:
        read_sensors_text(text, *robot, source="s.yaml")
    assert [finding.line for finding in caught.value.findings] == [3, 6, 7, 11]
    assert str(caught.value).startswith("s.yaml: 4 errors\n  line 3: sensor 'imu': ")


def one(line):
    return f"rbdyn_sensors: 1\nsensors:\n  a: {line}\n"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("{link: hand}", "missing-key"),
        ("{type: altimeter, link: hand}", "bad-value"),
        ("{type: inu, link: hand}", "bad-value"),
        ("{type: imu}", "missing-key"),
        ("{type: imu, link: [1]}", "bad-value"),
        ("[1, 2]", "bad-value"),
        ("{type: imu, link: hand, orientation: yes}", "bad-value"),
        ("{type: imu, link: hand, rate: .inf}", "bad-value"),
        ("{type: imu, link: hand, noise: {force: {stddev: 1}}}", "unknown-key"),
        ("{type: imu, link: hand, noise: {orientation: {resolution: 1}}}", "unknown-key"),
        ("{type: imu, link: hand, noise: {angular_velocity: {stddev: -1}}}", "bad-value"),
        ("{type: imu, link: hand, noise: {angular_velocity: {bias: [1, 2]}}}", "bad-value"),
        ("{type: force_torque, joint: flang}", "unknown-joint"),
        ("{type: force_torque, joint: flange, frame: forearm}", "moving-frame"),
        ("{type: force_torque, joint: elbow_pitch, pushes: child}", "pushes-at-moving-joint"),
        ("{type: force_torque, joint: flange, measured: child}", "bad-value"),
        ("{type: contact, link: base_link}", "fixed-link"),
        ("{type: contact, link: hand, threshold: -1}", "bad-value"),
    ],
)
def test_invalid_sensors_are_refused(robot, line, code):
    with refused(DescriptionError, code, "sensor 'a'", line=3):
        read_sensors_text(one(line), *robot)


@pytest.mark.parametrize("name", ["1st", "my imu", "a__b", "a/b", "~a", "/a", "été", "_a"])
def test_names_must_be_valid_in_topics(robot, name):
    text = f"rbdyn_sensors: 1\nsensors:\n  '{name}': {{type: imu, link: hand}}\n"
    with refused(DescriptionError, "bad-name", f"sensor '{name}'"):
        read_sensors_text(text, *robot)


@pytest.mark.parametrize("text", ["sensors: {}", "rbdyn_sensors: 2\nsensors: {}", "a: 1"])
def test_a_file_without_version_is_refused(robot, text):
    with refused(DescriptionError, "not-a-sensors-file"):
        read_sensors_text(text, *robot)


def test_two_sensors_with_one_name_are_refused(robot):
    text = one("{type: imu, link: hand}") + "  a: {type: imu, link: hand}\n"
    with refused(DescriptionError, "duplicate-key", line=4):
        read_sensors_text(text, *robot)


def test_a_missing_file_is_refused(robot, tmp_path):
    with refused(DescriptionError, "no-such-file"):
        read_sensors(tmp_path / "none.yaml", *robot)


def test_damaged_text_is_refused(robot):
    good = Path("config/sensors.yaml").read_text()
    for cut in range(0, len(good), 37):
        text = good[:cut] + "\x00{[" + good[cut + 5 :]
        with pytest.raises(DescriptionError):
            read_sensors_text(text, *robot)
