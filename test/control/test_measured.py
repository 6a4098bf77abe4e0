# SPDX-License-Identifier: Apache-2.0
"""State messages may list joints in any order; a message is used completely or not at all."""

from functools import cache

import numpy as np
import pytest
from closed_loop import model
from support.refusals import refused, worded

from rbdyn_ros.control.states.measured import LARGEST, Measured
from rbdyn_ros.errors import ParameterError

ARM = tuple(f"panda_joint{k}" for k in range(1, 8))
FINGER, FOLLOWER = "panda_finger_joint1", "panda_finger_joint2"
NOTHING = np.empty(0)


@cache
def panda():
    return model("panda.urdf")


def measured(required=ARM):
    return Measured(panda(), required)


def rows(n, start=0.0):
    """Return positions, velocities and efforts of n joints; all numbers differ."""
    k = np.arange(n) + start
    return -0.01 * k, 0.001 * k, 0.1 * k


def everything(seen):
    return np.concatenate([seen.qpos, seen.qvel, seen.effort])


def test_names_of_joints_may_come_in_any_order():
    names = [*ARM, FINGER, "other_device"]
    order = np.random.default_rng(0).permutation(len(names))
    straight, mixed = measured(), measured()
    given = rows(len(names))
    assert straight.take(names, *given) is None
    assert mixed.take([names[k] for k in order], *(row[order] for row in given)) is None
    np.testing.assert_array_equal(everything(straight), everything(mixed))
    np.testing.assert_array_equal(straight.effort[:7], given[2][:7])
    # the indices stored for the first message do not fit this order of names
    assert mixed.take(names, *given) is None
    np.testing.assert_array_equal(everything(straight), everything(mixed))


def test_numbers_of_a_mimic_joint_in_a_message_are_ignored():
    seen = measured()
    names = [FOLLOWER, *ARM]
    assert seen.take(names, *(np.append(9.0, row) for row in rows(7))) is None
    np.testing.assert_array_equal(seen.qvel[:7], rows(7)[1])
    assert seen.qpos[7] == 0.0


def test_missing_optional_joints_keep_their_last_position_with_zero_velocity():
    seen = measured()
    assert seen.take([*ARM, FINGER], *(np.append(row, 0.03) for row in rows(7))) is None
    assert (seen.qpos[7], seen.qvel[7]) == (0.03, 0.03)
    assert seen.take(ARM, *rows(7)) is None
    # with its last velocity the joint would seem to move forever
    assert (seen.qpos[7], seen.qvel[7]) == (0.03, 0.0)


def test_measurements_of_a_gripper_are_clipped_to_its_limits():
    """M and C of the arm depend on the gripper; the gate checks controlled joints only."""
    seen = measured()
    wild = np.array([-40.0, 1e8, 5.0])
    assert (
        seen.take(
            [*ARM, FINGER], *(np.append(row, w) for row, w in zip(rows(7), wild, strict=True))
        )
        is None
    )
    assert (seen.qpos[7], seen.qvel[7]) == (0.0, 0.2)  # clipped to its limits


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, LARGEST, -1e300])
@pytest.mark.parametrize("row", [0, 1])
@pytest.mark.parametrize("k", [0, 3, 6])
def test_the_error_about_a_number_that_is_not_finite_names_its_joint(bad, row, k):
    seen = measured()
    given = [r.copy() for r in rows(7)]
    given[row][k] = bad
    why = seen.take(ARM, *given).text
    kind = ("position", "velocity")[row]
    worded("joint states", why)
    assert f"{kind} of joint '{ARM[k]}' is {bad}" in why


def test_an_effort_may_be_unknown_but_not_infinite():
    seen = measured()
    position, velocity, effort = rows(7)
    effort[2] = np.nan
    assert seen.take(ARM, position, velocity, effort) is None
    assert np.isnan(seen.effort[2])
    assert np.isfinite(np.delete(seen.effort[:7], 2)).all()
    effort[4] = -np.inf
    assert "'panda_joint5' is -inf" in seen.take(ARM, position, velocity, effort).text
    assert seen.take(ARM, position, velocity, NOTHING) is None
    assert np.isnan(seen.effort).all()  # the effort of an earlier message does not count


@pytest.mark.parametrize(
    ("names", "lengths", "named"),
    [
        (ARM[:-1], (6, 6, 6), "'panda_joint7'"),
        (("panda_joint_1", *ARM[1:]), (7, 7, 7), "'panda_joint_1'"),
        ((*ARM, ARM[2]), (8, 8, 8), "'panda_joint3'"),
        ((*ARM, "x", "x"), (9, 9, 9), "'x'"),
        ((), (0, 0, 0), "'panda_joint1'"),
        (ARM, (6, 7, 7), "6 positions"),
        (ARM, (7, 8, 7), "8 velocities"),
        (ARM, (7, 0, 7), "0 velocities"),
        (ARM, (0, 0, 0), "0 positions"),
        (ARM, (7, 7, 6), "6 efforts"),
    ],
)
def test_a_wrong_message_is_refused_and_changes_nothing(names, lengths, named):
    seen = measured()
    assert seen.take(ARM, *rows(7, 1.0)) is None
    before = everything(seen)
    why = seen.take(names, *(np.full(n, 0.02) for n in lengths)).text
    worded("joint states", why)
    assert named in why
    np.testing.assert_array_equal(everything(seen), before)
    assert seen.take(ARM, *rows(7)) is None
    np.testing.assert_array_equal(seen.qpos[:7], rows(7)[0])


def test_a_message_with_more_names_than_numbers_is_refused_every_time():
    """The names are stored at the first refusal; the repeated message still lacks numbers."""
    seen = measured()
    assert seen.take(ARM, *rows(7, 1.0)) is None
    before = everything(seen)
    for _ in range(3):
        why = seen.take([FINGER, *ARM], *rows(7, 2.0))
        assert why is not None
        worded("joint states", why.text)
        np.testing.assert_array_equal(everything(seen), before)
    assert seen.take([FINGER, *ARM], *rows(8)) is None
    np.testing.assert_array_equal(seen.qpos[:7], rows(8)[0][1:])


def test_wrong_numbers_are_reported_before_wrong_names_and_wrong_names_before_lengths():
    seen = measured()
    wrong = (*ARM, ARM[2])
    assert "finite" in seen.take(wrong, np.full(3, np.nan), np.zeros(2), NOTHING).text
    assert "twice" in seen.take(wrong, np.zeros(3), np.zeros(2), NOTHING).text
    assert "positions" in seen.take(ARM, np.zeros(3), np.zeros(2), NOTHING).text


KINDS = {
    "strided": lambda row: np.repeat(row, 2)[::2],
    "reversed": lambda row: row[::-1].copy()[::-1],
    "float32": lambda row: row.astype(np.float32),
    "big_endian": lambda row: row.astype(">f8"),
    "list": list,
}


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_may_have_any_type_and_stride(kind):
    """Kernels need contiguous 64-bit numbers and do not check them."""
    seen, same = measured(), measured()
    given = np.arange(21.0).reshape(3, 7) / 256.0
    for _ in range(2):
        assert same.take(ARM, *given) is None
        assert seen.take(ARM, *map(KINDS[kind], given)) is None
        np.testing.assert_array_equal(everything(seen), everything(same))


def test_messages_of_other_devices_are_not_for_the_arm():
    seen = measured()
    assert not seen.concerns(["wheel", "mast"])
    assert not seen.concerns([])
    assert not seen.concerns([FINGER])  # this joint belongs to the robot, but is not required
    assert seen.concerns([ARM[3]])
    assert seen.take(ARM, *rows(7)) is None
    assert seen.concerns(ARM)


class Counted(list):
    """A list of names that counts how many names are copied."""

    copied = 0

    def __getitem__(self, key):
        found = super().__getitem__(key)
        self.copied += len(found) if isinstance(key, slice) else 0
        return found


def test_a_huge_message_is_refused_in_linear_time():
    """Names of another device must not delay the loop, so the time is linear in their number."""
    seen = measured()
    names = Counted(f"n{k}" for k in range(20_000))
    names += [names[-1], *ARM]
    zeros = np.zeros(len(names))
    assert "joint 'n19999' is named twice" in seen.take(names, zeros, zeros, zeros).text
    assert names.copied <= len(names)


def test_joints_are_within_their_limits_before_the_first_message():
    seen = measured()
    assert seen.arrival is None
    assert seen.qpos[3] == pytest.approx(-0.0698)  # the range of panda_joint4 excludes 0


def test_a_string_in_place_of_the_required_names_is_refused():
    with refused(ParameterError, "bad-argument", "required"):
        measured("panda_joint1")
