# SPDX-License-Identifier: Apache-2.0
"""Lidars and range sensors are read from sensor files, and errors there are refused."""

import math

import pytest
from support.refusals import refused

from rbdyn_ros.errors import DescriptionError
from rbdyn_ros.sensors import (
    Fan,
    LidarSpec,
    RangeNoise,
    RangeSpec,
    read_sensors,
    read_sensors_text,
)

ALL = """rbdyn_sensors: 1
sensors:
  front:
    type: lidar
    link: hand
    rate: 10
    near: 0.1
    far: 30
    horizontal: {from: -1.5, to: 1.5, rays: 900}
    vertical: {from: -0.26, to: 0.26, rays: 16}
    sweep: 0.1
    noise: {range: {stddev: 0.01, bias: -0.02, resolution: 0.001}}
    dropout: 0.001
    latency: 0.02
    sees: visual
    exclude: [hand, base_link]
  bumper:
    type: range
    link: forearm
    rate: 50
    near: 0.02
    far: 4
    field_of_view: 0.4
    radiation: ultrasound
    rays: 64
"""


def one(kind, **changes):
    """Return the text of a file with one sensor and a key in each line, and a list of the keys."""
    keys = {"type": kind, "link": "hand", "rate": "10", "near": "0.1", "far": "30"}
    if kind == "lidar":
        keys["horizontal"] = "{from: -1, to: 1, rays: 11}"
    keys |= changes
    lines = [f"    {key}: {value}" for key, value in keys.items() if value]
    return "rbdyn_sensors: 1\nsensors:\n  a:\n" + "\n".join(lines) + "\n", [
        *filter(keys.get, keys)
    ]


def test_all_keys_are_read(robot):
    front, bumper = read_sensors_text(ALL, *robot, period_ns=1_000_000)
    assert front == LidarSpec(
        "front",
        "hand",
        rate=10.0,
        near=0.1,
        far=30.0,
        noise=RangeNoise(0.01, -0.02, 0.001),
        dropout=0.001,
        latency=0.02,
        sees="visual",
        exclude=("hand", "base_link"),
        horizontal=Fan(-1.5, 1.5, 900),
        vertical=Fan(-0.26, 0.26, 16),
        sweep=0.1,
    )
    assert bumper == RangeSpec(
        "bumper",
        "forearm",
        rate=50.0,
        near=0.02,
        far=4.0,
        field_of_view=0.4,
        radiation="ultrasound",
        rays=64,
    )


def test_angles_are_read_from_a_file_next_to_the_sensor_file(robot, tmp_path):
    (tmp_path / "rose.csv").write_text("azimuth,elevation\n# petals\n0.5, 0.1\n\n-0.5,-1e-1\n")
    text, _ = one("lidar", horizontal="", angles="rose.csv")
    (tmp_path / "sensors.yaml").write_text(text)
    (rose,) = read_sensors(tmp_path / "sensors.yaml", *robot)
    assert rose.angles == ((0.5, 0.1), (-0.5, -0.1))
    assert (rose.rows, rose.columns) == (1, 2)


@pytest.mark.parametrize(
    ("kind", "key", "value", "code"),
    [
        ("lidar", "link", "hnad", "unknown-link"),
        ("lidar", "link", "", "missing-key"),
        ("lidar", "rate", "0", "bad-value"),
        ("lidar", "rate", "-3", "bad-value"),
        ("lidar", "rate", "1001", "bad-value"),
        ("lidar", "rate", ".nan", "bad-value"),
        ("lidar", "rate", "", "missing-key"),
        ("lidar", "far", "0.1", "bad-value"),
        ("lidar", "near", "-1", "bad-value"),
        ("lidar", "far", ".inf", "bad-value"),
        ("lidar", "horizontal", "", "missing-key"),
        ("lidar", "horizontal", "3", "bad-value"),
        ("lidar", "horizontal", "{from: -1, to: 1}", "missing-key"),
        ("lidar", "horizontal", "{from: -1, to: 1, rays: 0}", "bad-value"),
        ("lidar", "horizontal", "{from: -1, to: 1, rays: 2.5}", "bad-value"),
        ("lidar", "horizontal", "{from: -4, to: 4, rays: 9}", "bad-value"),
        ("lidar", "vertical", "{from: -2, to: 1, rays: 9}", "bad-value"),
        ("lidar", "vertical", "{from: -1, to: 1, rays: 99999999}", "bad-value"),
        ("lidar", "sweep", "0.2", "bad-value"),
        ("lidar", "dropout", "2", "bad-value"),
        ("lidar", "latency", "fast", "bad-value"),
        ("lidar", "sees", "everything", "bad-value"),
        ("lidar", "exclude", "[hand, foot]", "unknown-link"),
        ("lidar", "exclude", "hand", "bad-value"),
        ("lidar", "noise", "{stddev: 1}", "unknown-key"),
        ("lidar", "noise", "{range: {stddev: -1}}", "bad-value"),
        ("lidar", "noise", "{range: {bias_walk: 1}}", "unknown-key"),
        ("lidar", "noise", "{range: {stddev: [1, 2, 3]}}", "bad-value"),
        ("lidar", "angles", "rose.csv", "missing-key"),
        ("lidar", "field_of_view", "1", "unknown-key"),
        ("range", "horizontal", "{from: -1, to: 1, rays: 3}", "unknown-key"),
        ("range", "field_of_view", str(math.pi), "bad-value"),
        ("range", "radiation", "light", "bad-value"),
        ("range", "rays", "0", "bad-value"),
    ],
)
def test_the_error_of_a_bad_value_names_its_line(robot, kind, key, value, code):
    text, keys = one(kind, **{key: value})
    with refused(DescriptionError, code, "sensor 'a'") as caught:
        read_sensors_text(text, *robot, period_ns=1_000_000)
    expected = 4 + keys.index(key) if key in keys and code != "missing-key" else None
    assert expected in (None, caught.value.line)
    assert caught.value.line is not None


def test_the_angle_of_a_full_turn_may_be_rounded_to_six_digits(robot):
    """Users may write 2 pi with six digits.

    A refused number is printed with all its digits, so that it differs from the printed limit.
    """
    turn = {"horizontal": "{from: 0, to: 6.28319, rays: 360}"}
    (spec,) = read_sensors_text(one("lidar", **turn)[0], *robot)
    assert spec.horizontal.step == 2 * math.pi / 360  # both ends of a full turn share one ray
    rows = {"vertical": "{from: -1.5708, to: 1.5708, rays: 3}"}
    assert read_sensors_text(one("lidar", **rows)[0], *robot)
    for to in ("6.2832", "6.283190000001", "6.29"):
        text, _ = one("lidar", horizontal=f"{{from: 0, to: {to}, rays: 360}}")
        with refused(DescriptionError, "bad-value", "sensor 'a'") as caught:
            read_sensors_text(text, *robot)
        assert f"is '{to}', not a number from -6.28319 to 6.28319" in str(caught.value)


@pytest.mark.parametrize(
    "content",
    ["0.1,nan\n", "0.1\n", "0.1,0.2,0.3\n", "0.1,0.2\nx,y\n", "", "0,2.0\n", "azimuth\n", "7,0\n"],
)
def test_bad_angles_are_refused(robot, tmp_path, content):
    (tmp_path / "rose.csv").write_text(content)
    text, _ = one("lidar", horizontal="", angles="rose.csv")
    with pytest.raises(DescriptionError) as caught:
        read_sensors_text(text, *robot, folder=tmp_path)
    assert caught.value.line == 9
    assert caught.value.code in ("bad-angles", "bad-value")


def test_a_missing_file_of_angles_is_refused(robot, tmp_path):
    text, _ = one("lidar", horizontal="", angles="rose.csv")
    with refused(DescriptionError, "no-such-file", "sensor 'a'", line=9):
        read_sensors_text(text, *robot, folder=tmp_path)


def test_rows_and_angles_in_one_sensor_are_refused(robot, tmp_path):
    vertical = "{from: 0, to: 1, rays: 2}"
    text, _ = one("lidar", horizontal="", angles="rose.csv", vertical=vertical)
    with refused(DescriptionError, "unknown-key", "sensor 'a'", line=10):
        read_sensors_text(text, *robot, folder=tmp_path)


def test_all_errors_of_a_sensor_are_reported_together(robot):
    text, _ = one("lidar", rate="0", near="-1", dropout="3")
    with refused(DescriptionError, ["bad-value"] * 3, "sensor 'a'") as caught:
        read_sensors_text(text, *robot)
    assert [finding.line for finding in caught.value.findings] == [6, 7, 10]
