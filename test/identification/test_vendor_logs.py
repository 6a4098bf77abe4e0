# SPDX-License-Identifier: Apache-2.0
"""Logs of libfranka and RTDE are read in their original formats."""

import numpy as np
import pytest
from support.refusals import refused

from rbdyn_ros.errors import ParameterError
from rbdyn_ros.identification.data.recordings import read_recording
from rbdyn_ros.identification.data.vendor_logs import UR_JOINTS

PANDA = [f"panda_joint{k}" for k in range(1, 8)]
ROWS = 50


@pytest.fixture
def numbers():
    rng = np.random.default_rng(0)
    return {kind: rng.normal(size=(ROWS, 7)) for kind in ("q", "dq", "tau")}


def franka_log(path, numbers):
    """Write a log as franka::logToCSV does, with spaces in the header and times in ms."""
    places = [f"state.{kind}[{{}}]" for kind in ("q", "q_d", "dq", "dq_d", "tau_J", "tau_ext")]
    places += ["cmd.q_d[{}]"]
    header = "time, success_rate, " + ",".join(
        ", ".join(place.format(k) for k in range(7)) for place in places
    )
    other = np.full((ROWS, 7), 9.0)
    q, dq, tau = (numbers[kind] for kind in ("q", "dq", "tau"))
    blocks = [5000 + 2 * np.arange(ROWS)[:, None], np.ones((ROWS, 1)), q, other, dq, other, tau]
    lines = [",".join(f"{x:.9g}" for x in row) for row in np.hstack([*blocks, other, other])]
    path.write_text("\n".join([header, *lines]) + "\n")
    return path


def rtde_log(path, numbers, effort="actual_current"):
    """Write a log as record.py of the RTDE client does, with columns separated by spaces."""
    kinds = "actual_q", "actual_qd", effort
    header = ["timestamp", "speed_scaling", *(f"{kind}_{k}" for kind in kinds for k in range(6))]
    blocks = [3.0 + 0.002 * np.arange(ROWS)[:, None], np.ones((ROWS, 1))]
    blocks += [numbers[kind][:, :6] for kind in ("q", "dq", "tau")]
    lines = [" ".join(f"{x:.9g}" for x in row) for row in np.hstack(blocks)]
    path.write_text("\n".join([" ".join(header), *lines]) + "\n")
    return path


def test_a_log_of_libfranka_is_read(tmp_path, numbers):
    found = read_recording(franka_log(tmp_path / "log.csv", numbers), PANDA)
    np.testing.assert_allclose(found.time, 0.002 * np.arange(ROWS), atol=1e-12)
    for rows, kind in ((found.qpos, "q"), (found.qvel, "dq"), (found.effort, "tau")):
        np.testing.assert_allclose(rows, numbers[kind], rtol=1e-8)
    some = read_recording(tmp_path / "log.csv", [PANDA[4], "finger", PANDA[1]])
    assert list(some.names) == [PANDA[4], PANDA[1]]
    np.testing.assert_allclose(some.qpos, numbers["q"][:, [4, 1]], rtol=1e-8)


def test_fingers_are_not_joints_of_a_log(tmp_path, numbers):
    """panda_finger_joint1 must not be read as joint 1, although its name ends with joint1."""
    fingers = ["panda_finger_joint1", "panda_finger_joint2"]
    path = franka_log(tmp_path / "log.csv", numbers)
    found = read_recording(path, [*PANDA, *fingers], partly=True)
    assert list(found.names) == PANDA
    assert not read_recording(path, PANDA, others=fingers).others


def test_other_joints_of_a_log_are_read(tmp_path, numbers):
    path = franka_log(tmp_path / "log.csv", numbers)
    found = read_recording(path, PANDA[4:], others=PANDA[:4])
    np.testing.assert_allclose(found.qpos, numbers["q"][:, 4:], rtol=1e-8)
    assert list(found.others) == PANDA[:4]
    np.testing.assert_allclose(np.column_stack([*found.others.values()]), numbers["q"][:, :4])


def test_joints_of_two_arms_cannot_be_read_from_one_log(tmp_path, numbers):
    path = franka_log(tmp_path / "log.csv", numbers)
    left, right = ([f"{side}_joint{k}" for k in range(1, 8)] for side in ("left", "right"))
    with refused(ParameterError, "two-joints"):
        read_recording(path, [*left, *right])
    assert list(read_recording(path, left, others=right).names) == left
    assert not read_recording(path, left, others=right).others


def test_a_log_of_rtde_needs_drive_gains(tmp_path, numbers):
    path, gains = rtde_log(tmp_path / "run.csv", numbers), [14.0, 13.0, 11.0, 10.0, 9.0, 8.0]
    found = read_recording(path, UR_JOINTS, gains=gains)
    np.testing.assert_allclose(found.time, 0.002 * np.arange(ROWS), atol=1e-12)
    np.testing.assert_allclose(found.effort, gains * numbers["tau"][:, :6], rtol=1e-8)
    raw = read_recording(path, UR_JOINTS, raw=True)
    np.testing.assert_allclose(raw.effort, numbers["tau"][:, :6], rtol=1e-8)
    with refused(ParameterError, "no-drive-gains"):
        read_recording(path, UR_JOINTS)
    with refused(ParameterError, "wrong-count"):
        read_recording(path, UR_JOINTS, gains=gains[:2])


def test_torques_of_rtde_need_no_gains(tmp_path, numbers):
    path = rtde_log(tmp_path / "run.csv", numbers, "actual_current_as_torque")
    found = read_recording(path, UR_JOINTS)
    np.testing.assert_allclose(found.effort, numbers["tau"][:, :6], rtol=1e-8)


def test_logs_of_other_robots_and_broken_logs_are_refused(tmp_path, numbers):
    path = franka_log(tmp_path / "log.csv", numbers)
    with refused(ParameterError, "other-joints"):
        read_recording(path, UR_JOINTS)
    text = path.read_text()
    path.write_text(text.replace("state.tau_J[3]", "tau"))
    with refused(ParameterError, "no-column"):
        read_recording(path, PANDA)
    path.write_text(text.splitlines()[0] + "\n")
    with refused(ParameterError, "no-table"):
        read_recording(path, PANDA)
    path.write_text(text + "a,b\n")
    with refused(ParameterError, "no-table"):
        read_recording(path, PANDA)
