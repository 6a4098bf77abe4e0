# SPDX-License-Identifier: Apache-2.0
"""Invalid Motions are refused, and a Motion finds joints of a robot by name."""

import numpy as np
import pytest
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.identification.data.motion import (
    Motion,
    dof_names,
    dofs_of,
    kept_samples,
    resting,
)

GOOD = {
    "names": ("a", "b"),
    "time": [0.0, 0.1, 0.2],
    "qpos": np.zeros((3, 2)),
    "qvel": np.zeros((3, 2)),
    "qacc": np.zeros((3, 2)),
    "effort": np.ones((3, 2)),
}


def test_columns_are_kept_and_cannot_be_written():
    motion = Motion(**GOOD)
    assert motion.names == ("a", "b")
    assert motion.effort.shape == (3, 2)
    with pytest.raises(ValueError, match="read-only"):
        motion.effort[0, 0] = 2.0


HOLE = np.zeros((3, 2))
HOLE[1, 1] = np.nan


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("names", "ab"),
        ("names", ()),
        ("names", ("a", "a")),
        ("names", ("a", "")),
        ("names", ("a", 3)),
        ("names", ("a", "b", "c")),
        ("time", [0.0, 0.1, 0.1]),
        ("time", [0.0, np.nan, 0.2]),
        ("time", [0.0]),
        ("time", [0.0, 1.0]),
        ("time", 1.0),
        ("qvel", HOLE),
        ("effort", np.full((3, 2), np.inf)),
        ("qacc", [[1.0, 2.0]]),
        ("fast_qvel", np.zeros((9, 2))),
        ("thin", np.asarray),
        ("kept", np.ones((3, 3), bool)),
        ("kept", np.ones((3, 2))),
        ("qpos", "text"),
        ("qpos", [[1.0], [1.0, 2.0], [3.0]]),
    ],
)
def test_invalid_motions_are_refused(field, value):
    with refused(rb.ParameterError, "bad-motion", "motion"):
        Motion(**GOOD | {field: value})


def arm(joint):
    return rb.load_urdf(
        '<robot name="arm"><link name="base"/><link name="link"><inertial><mass value="1"/>'
        '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>'
        f'<joint name="shoulder" type="{joint}"><parent link="base"/><child link="link"/></joint>'
        "</robot>"
    )


def test_names_of_the_robot_are_found_in_any_order():
    m = rb.load_urdf("config/robots/seven_dof_arm.urdf")
    names = dof_names(m)[::-1]
    rows = np.zeros((3, m.nv))
    motion = Motion(names, [0.0, 1.0, 2.0], rows, rows, rows, rows)
    assert dofs_of(m, motion).tolist() == list(range(m.nv))[::-1]


def test_an_unknown_joint_is_refused_with_the_nearest_name():
    motion = Motion(**GOOD | {"names": ("shouldr", "b")})
    with refused(rb.ParameterError, "bad-motion"):
        dofs_of(arm("continuous"), motion)


def test_joints_of_several_coordinates_are_refused():
    with refused(rb.ModelError, "not-an-arm"):
        dofs_of(arm("planar"), Motion(**GOOD))


def test_an_object_that_is_not_a_motion_is_refused():
    with refused(rb.ParameterError, "not-a-motion"):
        dofs_of(arm("continuous"), [1, 2, 3])


def test_a_function_of_velocity_is_evaluated_before_downsampling():
    fast = np.array([[-1.0, 2.0], [3.0, -4.0]] * 3)
    motion = Motion(**GOOD, fast_qvel=fast, thin=lambda rows: rows[::2] + 0.5 * rows[1::2])
    np.testing.assert_array_equal(motion.of_velocity(np.abs), [[2.5, 4.0]] * 3)
    assert not motion.fast_qvel.flags.writeable
    plain = Motion(**GOOD | {"qvel": fast[:3]})
    np.testing.assert_array_equal(plain.of_velocity(np.abs), np.abs(fast[:3]))


@pytest.mark.parametrize("thin", [lambda rows: rows, lambda rows: np.inf * rows[:3]])
def test_a_downsampling_function_with_a_wrong_result_is_refused(thin):
    motion = Motion(**GOOD, fast_qvel=np.ones((9, 2)), thin=thin)
    with refused(rb.ParameterError, "bad-motion"):
        motion.of_velocity(np.abs)


def test_marked_samples_and_samples_at_the_effort_limit_are_left_out():
    m = rb.load_urdf("config/robots/seven_dof_arm.urdf")
    effort, marks = np.zeros((3, m.nv)), np.ones((3, m.nv), bool)
    effort[0, 1], marks[2, 4] = -m.jnt_effort[m.dof_jntid[1]], False
    rows = np.zeros((3, m.nv))
    motion = Motion(dof_names(m), [0.0, 1.0, 2.0], rows, rows, rows, effort, kept=marks)
    lost = np.argwhere(~kept_samples(m, motion, np.arange(m.nv)))
    assert lost.tolist() == [[0, 1], [2, 4]]


@pytest.mark.parametrize("rest", [0.5, [0.0] * 6, [np.nan] * 7, "text", [[0.0] * 7]])
def test_rest_must_have_one_position_per_joint(rest):
    m = rb.load_urdf("config/robots/seven_dof_arm.urdf")
    np.testing.assert_array_equal(resting(m, None), m.qpos0)
    np.testing.assert_array_equal(resting(m, range(7)), range(7))
    with pytest.raises(rb.ParameterError, match="rest"):
        resting(m, rest)
