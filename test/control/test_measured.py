"""States of a robot: named joints in any order, taken as a whole or not at all."""

import numpy as np
import pytest
from closed_loop import model

from rbdyn_ros.control.measured import LARGEST, Measured

M = model("panda.urdf")
ARM = tuple(f"panda_joint{k}" for k in range(1, 8))
FINGER, FOLLOWER = "panda_finger_joint1", "panda_finger_joint2"
NOTHING = np.empty(0)


def measured(demanded=ARM):
    return Measured(M, demanded)


def rows(n, start=0.0):
    """Return position, velocity and effort that tell the joints apart."""
    k = np.arange(n) + start
    return -0.01 * k, 0.001 * k, 0.1 * k


def everything(seen):
    return np.concatenate([seen.qpos, seen.qvel, seen.effort])


def test_names_decide_not_the_order():
    names = [*ARM, FINGER, "other_device"]
    order = np.random.default_rng(0).permutation(len(names))
    straight, mixed = measured(), measured()
    given = rows(len(names))
    assert straight.take(names, *given) == ""
    assert mixed.take([names[k] for k in order], *(row[order] for row in given)) == ""
    np.testing.assert_array_equal(everything(straight), everything(mixed))
    np.testing.assert_array_equal(straight.effort[:7], given[2][:7])
    # and again in another order: what was found out about the first is not used for it
    assert mixed.take(names, *given) == ""
    np.testing.assert_array_equal(everything(straight), everything(mixed))


def test_a_follower_is_no_degree_of_freedom():
    seen = measured()
    names = [FOLLOWER, *ARM]
    assert seen.take(names, *(np.append(9.0, row) for row in rows(7))) == ""
    np.testing.assert_array_equal(seen.qvel[:7], rows(7)[1])
    assert seen.qpos[7] == 0.0


def test_joints_that_are_not_demanded_rest_where_they_were():
    seen = measured()
    assert seen.take([*ARM, FINGER], *(np.append(row, 0.03) for row in rows(7))) == ""
    assert (seen.qpos[7], seen.qvel[7]) == (0.03, 0.03)
    assert seen.take(ARM, *rows(7)) == ""
    assert (seen.qpos[7], seen.qvel[7]) == (0.03, 0.0)  # or it would move for ever


def test_what_a_gripper_measures_cannot_drive_the_arm():
    """M and C of the arm hang on it; the gate judges the joints that are controlled alone."""
    seen = measured()
    wild = np.array([-40.0, 1e8, 5.0])
    assert (
        seen.take(
            [*ARM, FINGER], *(np.append(row, w) for row, w in zip(rows(7), wild, strict=True))
        )
        == ""
    )
    assert (seen.qpos[7], seen.qvel[7]) == (0.0, 0.2)  # its limits


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, LARGEST, -1e300])
@pytest.mark.parametrize("row", [0, 1])
@pytest.mark.parametrize("k", [0, 3, 6])
def test_numbers_that_are_not_finite_are_refused_with_their_joint(bad, row, k):
    seen = measured()
    given = [r.copy() for r in rows(7)]
    given[row][k] = bad
    why = seen.take(ARM, *given)
    kind = ("position", "velocity")[row]
    assert why.startswith(f"the {kind} of joint '{ARM[k]}' is {bad}")


def test_an_effort_may_be_unknown_but_not_infinite():
    seen = measured()
    position, velocity, effort = rows(7)
    effort[2] = np.nan
    assert seen.take(ARM, position, velocity, effort) == ""
    assert np.isnan(seen.effort[2])
    assert np.isfinite(np.delete(seen.effort[:7], 2)).all()
    effort[4] = -np.inf
    assert "the effort of joint 'panda_joint5' is -inf" in seen.take(
        ARM, position, velocity, effort
    )
    assert seen.take(ARM, position, velocity, NOTHING) == ""
    assert np.isnan(seen.effort).all()  # what was measured once is not measured now


@pytest.mark.parametrize(
    ("names", "lengths", "why"),
    [
        (ARM[:-1], (6, 6, 6), "joint 'panda_joint7' is missing"),
        (("panda_joint_1", *ARM[1:]), (7, 7, 7), "did you mean 'panda_joint_1'"),
        ((*ARM, ARM[2]), (8, 8, 8), "joint 'panda_joint3' is named twice"),
        ((*ARM, "x", "x"), (9, 9, 9), "joint 'x' is named twice"),
        ((), (0, 0, 0), "names none"),
        (ARM, (6, 7, 7), "there are 6 positions for 7 names"),
        (ARM, (7, 8, 7), "there are 8 velocities for 7 names"),
        (ARM, (7, 0, 7), "there are 0 velocities for 7 names"),
        (ARM, (0, 0, 0), "there are 0 positions for 7 names"),
        (ARM, (7, 7, 6), "there are 6 efforts for 7 names"),
    ],
)
def test_a_wrong_message_is_refused_and_changes_nothing(names, lengths, why):
    seen = measured()
    assert seen.take(ARM, *rows(7, 1.0)) == ""
    before = everything(seen)
    assert why in seen.take(names, *(np.full(n, 0.02) for n in lengths))
    np.testing.assert_array_equal(everything(seen), before)
    assert seen.take(ARM, *rows(7)) == ""
    np.testing.assert_array_equal(seen.qpos[:7], rows(7)[0])


def test_first_numbers_then_names_then_lengths():
    seen = measured()
    wrong = (*ARM, ARM[2])
    assert "finite" in seen.take(wrong, np.full(3, np.nan), np.zeros(2), NOTHING)
    assert "twice" in seen.take(wrong, np.zeros(3), np.zeros(2), NOTHING)
    assert "positions" in seen.take(ARM, np.zeros(3), np.zeros(2), NOTHING)


def test_messages_of_other_devices_are_told_apart():
    seen = measured()
    assert not seen.concerns(["wheel", "mast"])
    assert not seen.concerns([])
    assert not seen.concerns([FINGER])  # of this robot, but not demanded
    assert seen.concerns([ARM[3]])
    assert seen.take(ARM, *rows(7)) == ""
    assert seen.concerns(ARM)


class Counted(list):
    """Names that count how many of them were copied, as a search in all before each would."""

    copied = 0

    def __getitem__(self, key):
        found = super().__getitem__(key)
        self.copied += len(found) if isinstance(key, slice) else 0
        return found


def test_a_huge_message_is_refused_in_no_time():
    """Names of a stranger must not hold up the loop: what is done with them is linear."""
    seen = measured()
    names = Counted(f"n{k}" for k in range(20_000))
    names += [names[-1], *ARM]
    zeros = np.zeros(len(names))
    assert "joint 'n19999' is named twice" in seen.take(names, zeros, zeros, zeros)
    assert names.copied <= len(names)


def test_before_anything_is_measured_the_joints_are_within_their_limits():
    seen = measured()
    assert seen.arrival is None
    assert seen.qpos[3] == pytest.approx(-0.0698)  # of panda_joint4, which has no 0
