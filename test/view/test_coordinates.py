# SPDX-License-Identifier: Apache-2.0
"""Coordinates by which a person moves a robot become numbers and text, and back."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.systems import everything, register
from view_arm import ARM

import rbdyn_ros as rb
from rbdyn_ros.view.scene.coordinates import (
    coordinates_of,
    parse_qpos,
    qpos_text,
    read_numbers,
    write_numbers,
)

FLOATING = [-0.3, 0.2, 0.1, 0.5, 0.5, -0.5, 0.5]


@pytest.fixture(scope="module")
def m():
    register()
    return rb.build(everything(), floating_base=True)


def test_exactly_the_free_positions_have_a_coordinate(m):
    found = coordinates_of(m, 2.0)
    assert sum(c.entry >= 0 for c in found) + 4 * sum(c.word == "yaw" and c.entry < 0
                                                      for c in found) == m.nq  # fmt: skip
    entries = [c.entry for c in found if c.entry >= 0]
    assert len(set(entries)) == len(entries)
    for c in found:
        assert m.jnt_mimic[c.joint] < 0
        assert c.low < c.high
        assert math.isfinite(c.high - c.low)


def test_each_coordinate_has_a_unique_name_and_a_unit(m):
    found = {(m.jnt_names[c.joint], c.word) for c in coordinates_of(m, 2.0)}
    assert len(found) == len(coordinates_of(m, 2.0))
    free = [c for c in coordinates_of(m, 2.0) if m.jnt_names[c.joint] == "root_joint"]
    assert [(c.word, c.unit) for c in free] == [
        ("x", "m"), ("y", "m"), ("z", "m"), ("yaw", "rad"), ("pitch", "rad"), ("roll", "rad")
    ]  # fmt: skip
    assert [c.entry for c in free] == [0, 1, 2, -1, -1, -1]
    assert (free[0].low, free[0].high) == (-2.0, 2.0)


def test_a_coordinate_has_the_limits_of_its_joint():
    turn, slide = coordinates_of(rb.load_urdf(ARM), 1.0)
    assert (turn.low, turn.high, turn.unit, turn.word) == (-0.5, 1.2, "rad", "")
    assert (slide.low, slide.high, slide.unit) == (-0.1, 0.3, "m")
    free = rb.load_urdf(ARM).replaced(jnt_limited=[0, 0])
    turn, slide = coordinates_of(free, 1.0)
    assert (turn.low, turn.high) == (-math.pi, math.pi)
    assert (slide.low, slide.high) == (-1.0, 1.0)


def test_read_numbers_returns_the_numbers_of_write_numbers(m):
    found, rng = coordinates_of(m, 2.0), np.random.default_rng(0)
    numbers = [rng.uniform(0.9 * c.low, 0.9 * c.high) for c in found]
    qpos = write_numbers(m, found, numbers, m.qpos0)
    assert np.allclose(read_numbers(m, found, qpos), numbers, rtol=0.0, atol=1e-12)


def test_the_angles_of_a_floating_base_are_intrinsic_yaw_pitch_roll():
    m = rb.load_urdf(ARM, floating_base=True)
    found = coordinates_of(m, 1.0)
    rng = np.random.default_rng(1)
    for quat in Rotation.random(50, rng).as_quat():
        qpos = np.zeros(m.nq)
        qpos[3:7] = quat[[3, 0, 1, 2]]
        numbers = read_numbers(m, found, qpos)
        assert np.allclose(numbers[3:6], Rotation.from_quat(quat).as_euler("ZYX"), atol=1e-9)


@pytest.mark.parametrize("pitch", [0.5 * math.pi, -0.5 * math.pi])
@pytest.mark.parametrize("yaw", [0.0, 0.7, -2.0])
def test_numbers_of_a_vertical_pitch_give_the_same_orientation(pitch, yaw):
    m = rb.load_urdf(ARM, floating_base=True)
    found, qpos = coordinates_of(m, 1.0), np.zeros(m.nq)
    turn = Rotation.from_euler("ZYX", [yaw, pitch, 0.3])
    qpos[3:7] = turn.as_quat()[[3, 0, 1, 2]]
    yaw2, pitch2, roll2 = read_numbers(m, found, qpos)[3:6]
    again = Rotation.from_euler("ZYX", [yaw2, pitch2, roll2])
    assert (turn.inv() * again).magnitude() < 1e-6


def test_a_changed_joint_does_not_change_the_bits_of_a_quaternion():
    m = rb.load_urdf(ARM, floating_base=True)
    found, qpos = coordinates_of(m, 1.0), np.array([*FLOATING, 0.1, 0.2])
    numbers = read_numbers(m, found, qpos)
    numbers[-1] = 0.25
    new = write_numbers(m, found, numbers, qpos)
    assert new.tolist() == [*FLOATING, 0.1, 0.25]


def test_the_text_of_a_configuration_gives_the_same_configuration():
    m = rb.load_urdf(ARM, floating_base=True)
    qpos = np.array([*FLOATING, 1.0 / 3.0, -1e-7])
    assert np.allclose(parse_qpos(m, qpos_text(qpos)), qpos, rtol=1e-8)
    assert np.allclose(
        parse_qpos(m, " 1, 2,3, 0, 0, 0, 4, 0.5, 0 "), [1, 2, 3, 0, 0, 0, 1, 0.5, 0]
    )


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "[1]", "[1, 2, 3]", "[1, NaN]", "[1, Infinity]", "[1e999, 0]", '["1", 2]',
        "[true, 1]", "[[1], 2]", "[1, null]", "{}", "1 2", "[1, 2", "1;2", "[" * 1000,
        "9" * 5000, "__import__('os')", "[1, 2]]", "[{}, 2]",
    ],
)  # fmt: skip
def test_invalid_text_of_a_configuration_causes_a_message(text):
    found = parse_qpos(rb.load_urdf(ARM), text)
    assert isinstance(found, str)
    assert "allowed are 2 finite numbers" in found


def test_a_zero_quaternion_in_the_text_of_a_configuration_is_refused():
    found = parse_qpos(rb.load_urdf(ARM, floating_base=True), "[0,0,0, 0,0,0,0, 0,0]")
    assert "the quaternion of 'root_joint'" in found
