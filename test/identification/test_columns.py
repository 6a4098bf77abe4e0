# SPDX-License-Identifier: Apache-2.0
"""Recordings of other programs are read with a columns file."""

from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat
from support.refusals import refused, worded

import rbdyn_ros as rb
from rbdyn_ros.commands.line.recorded import read_samples
from rbdyn_ros.errors import DescriptionError, ParameterError, RbdynError
from rbdyn_ros.identification.data.columns import read_by_columns

NAMES = ["arm", "wrist"]
HEAD = "rbdyn_columns: 1\njoints: [arm, wrist]\n"


@pytest.fixture
def rows():
    """Return time (50,), and positions, velocities and efforts (50, 2)."""
    rng = np.random.default_rng(0)
    return 0.01 * np.arange(50), *rng.normal(size=(3, 50, 2))


def read(tmp_path, text, file, *, raw=False, names=NAMES):
    columns = tmp_path / "columns.yaml"
    columns.write_text(HEAD + text)
    return read_by_columns(file, columns, names, raw=raw)


def table(tmp_path, rows, delimiter=","):
    file = tmp_path / "log.txt"
    np.savetxt(file, np.column_stack(rows), delimiter=delimiter)
    return file


def same(found, rows, effort=1.0):
    time, q, v, tau = rows
    np.testing.assert_allclose(found.time, time, atol=1e-12)
    np.testing.assert_allclose(found.qpos, q)
    np.testing.assert_allclose(found.qvel, v)
    np.testing.assert_allclose(found.effort, effort * tau)


@pytest.mark.parametrize("delimiter", [",", " ", ";", "\t"])
def test_a_table_without_header_is_read(tmp_path, rows, delimiter):
    text = "time: 0\npositions: 1\nvelocities: [3, 4]\nefforts: 5\n"
    same(read(tmp_path, text, table(tmp_path, rows, delimiter)), rows)


@pytest.mark.parametrize("suffix", [".npz", ".mat"])
@pytest.mark.parametrize("turned", [False, True])
def test_arrays_are_found_by_name(tmp_path, rows, suffix, turned):
    file = tmp_path / f"log{suffix}"
    q, v, tau = (row.T if turned else row for row in rows[1:])
    arrays = {"t": rows[0], "q": q, "dq": v, "tau": tau}
    if suffix == ".npz":
        np.savez(file, **arrays)
    else:
        savemat(file, arrays)
    text = "time: t\npositions: q\nvelocities: dq\nefforts: tau\n"
    same(read(tmp_path, text, file), rows)


def test_units_signs_and_gains_are_applied(tmp_path, rows):
    time, q, v, tau = rows
    turned = np.array([1.0, -1.0]) * np.degrees(1.0)
    file = table(tmp_path, (1e3 * time + 7e3, turned * q, turned * v, tau))
    text = (
        "time: 0\npositions: 1\nvelocities: 3\ncurrents: 5\ntime_unit: ms\nangle_unit: deg\n"
        "position_signs: [1, -1]\neffort_signs: [-1, 1]\ndrive_gains: [10, 20]\n"
    )
    same(read(tmp_path, text, file), rows, np.array([-10.0, 20.0]))
    same(read(tmp_path, text, file, raw=True), rows, np.array([-1.0, 1.0]))


def test_positions_of_other_joints_are_read(tmp_path, rows):
    """Joints that are not identified have positions in the units and signs of the file, too."""
    file = table(tmp_path, (rows[0], np.degrees(rows[1]), rows[3]))
    columns = tmp_path / "columns.yaml"
    text = "time: 0\npositions: 1\nefforts: 3\nangle_unit: deg\nposition_signs: [-1, 1]\n"
    columns.write_text(HEAD + text)
    found = read_by_columns(file, columns, ["wrist"], ["arm", "finger"], raw=False)
    assert found.names == ("wrist",)
    assert list(found.others) == ["arm"]
    np.testing.assert_allclose(found.others["arm"], -rows[1][:, 0])


def test_joints_that_are_not_named_rest_at_their_position_in_the_table(tmp_path):
    system = rb.SystemBuilder("two", base="base")
    for name, parent in (("arm", "base"), ("wrist", "b_arm")):
        system.body(f"b_{name}", rb.shapes.sphere(0.1, mass=1.0))
        system.joint(name, "revolute", parent, f"b_{name}", axis=(0, 1, 0), xyz=(0.3, 0, 0))
    t = 0.01 * np.arange(400)
    q = np.column_stack([np.full(400, 0.7), np.sin(3.0 * t)])
    file, columns = table(tmp_path, (t, q, np.cos(3.0 * q))), tmp_path / "columns.yaml"
    columns.write_text(HEAD + "time: 0\npositions: 1\nefforts: 3\n")
    options = Namespace(columns=columns, joints=["wrist"], map=None, current=False, reader="x")
    rest, samples = read_samples(rb.build(system), options, file)
    assert samples.names == ("wrist",)
    np.testing.assert_allclose(rest, [0.7, 0.0])


def test_a_table_may_have_a_rate_and_fewer_joints(tmp_path, rows):
    text = "rate: 100\npositions: 1\nefforts: 5\neffort_unit: mNm\n"
    found = read(tmp_path, text, table(tmp_path, rows), names=["finger", "wrist"])
    assert found.names == ("wrist",)
    assert found.qvel is None
    np.testing.assert_allclose(found.effort[:, 0], 1e-3 * rows[3][:, 1])
    np.testing.assert_allclose(found.time, rows[0], atol=1e-12)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("time: 0\npositions: 1\n", "bad-value"),
        ("time: 0\npositions: 1\ncurrents: 5\n", "no-drive-gains"),
        ("time: 0\npositions: 1\nefforts: 6\n", "no-column"),
        ("time: 0\npositions: q\nefforts: 5\n", "no-column"),
        ("positions: 1\nefforts: 5\n", "no-time"),
        ("time: 0\npositions: 1\nefforts: [5]\n", "wrong-shape"),
        ("time: 0\npositions: 1\nefforts: 5\neffort_signs: [1]\n", "wrong-count"),
        ("time: 0\npositions: 1\nefforts: 5\neffort_unit: lbf\n", "bad-value"),
        ("time: ²\npositions: 1\nefforts: 5\n", "no-column"),
        pytest.param(
            f"time: {5000 * '9'}\npositions: 1\nefforts: 5\n", "no-column", id="a huge column"
        ),
        ("time: -1\npositions: 1\nefforts: 5\n", "no-column"),
        ("time: []\npositions: 1\nefforts: 5\n", "bad-value"),
        ("time: 0\npositions: []\nefforts: 5\n", "bad-value"),
        ("time: 0\npositions: [1, 1]\nefforts: 5\n", "bad-value"),
        ("time: 0\nrate: 100\npositions: 1\nefforts: 5\n", "bad-value"),
        ("rate: 100\ntime_unit: ms\npositions: 1\nefforts: 5\n", "bad-value"),
        ("time: 0\npositions: 1\nefforts: 5\neffort_signs: [100, 1]\n", "bad-value"),
        ("time: 0\npositions: 1\nefforts: 5\nposition_signs: [1, 0]\n", "bad-value"),
        ("time: 0\npositions: 1\nefforts: 5\ndrive_gains: [9, 9]\n", "bad-value"),
        (
            "time: 0\npositions: 1\ncurrents: 5\ndrive_gains: [9, 9]\neffort_unit: mNm\n",
            "bad-value",
        ),
    ],
)
def test_wrong_columns_files_are_refused(tmp_path, rows, text, code):
    file = table(tmp_path, rows)
    with pytest.raises(RbdynError) as caught:
        read(tmp_path, text, file)
    for finding in caught.value.findings:
        worded(finding.code, finding.message)
    assert caught.value.code == code


def test_damaged_tables_and_tables_of_another_robot_are_refused(tmp_path, rows):
    text = "time: 0\npositions: 1\nefforts: 5\n"
    with refused(ParameterError, "other-joints"):
        read(tmp_path, text, table(tmp_path, rows), names=["armm"])
    broken = Path(tmp_path, "log.npz")
    broken.write_bytes(b"PK nothing")
    with refused(ParameterError, "no-table"):
        read(tmp_path, text, broken)
    np.savez(broken, q=rows[1])
    with refused(ParameterError, "no-column"):
        read(tmp_path, text, broken)


def test_a_joint_can_be_named_only_once_in_the_file(tmp_path, rows):
    columns = tmp_path / "columns.yaml"
    columns.write_text("rbdyn_columns: 1\njoints: [arm, arm]\ntime: 0\npositions: 1\nefforts: 5\n")
    with refused(DescriptionError, "bad-value"):
        read_by_columns(table(tmp_path, rows), columns, NAMES, raw=False)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("text", "named"),
    [("t,q\n0.0,1.0\n", "delete a header"), ("", "no row"), ("# nothing\n", "no row")],
)
def test_tables_without_numbers_are_refused(tmp_path, text, named):
    file = tmp_path / "log.txt"
    file.write_text(text)
    with refused(ParameterError, "no-table") as caught:
        read(tmp_path, "time: 0\npositions: 1\nefforts: 5\n", file)
    assert named in str(caught.value)


@pytest.mark.parametrize("delimiter", [",", " "])
def test_comments_of_a_table_are_skipped(tmp_path, rows, delimiter):
    file = table(tmp_path, rows, delimiter)
    file.write_text("# time; position, velocity\n\n" + file.read_text())
    same(read(tmp_path, "time: 0\npositions: 1\nvelocities: 3\nefforts: 5\n", file), rows)


ARRAYS = "positions: q\nefforts: tau\n"


def test_arrays_that_the_columns_file_does_not_name_are_ignored(tmp_path, rows):
    file = tmp_path / "log.npz"
    names = {"names": np.array(NAMES), "objects": np.array([{}, None], object)}
    np.savez(file, q=rows[1], tau=rows[3], **names)
    found = read(tmp_path, "rate: 100\n" + ARRAYS, file)
    np.testing.assert_allclose(found.qpos, rows[1])


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"q": 1j * np.ones((50, 2))}, "no-column"),
        ({"q": np.zeros(100)}, "wrong-shape"),
        ({"q": np.float64(1.0)}, "wrong-shape"),
        ({"q": np.zeros((0, 2)), "t": np.zeros(0)}, "wrong-shape"),
        ({"q": np.zeros((50, 2, 1))}, "wrong-shape"),
    ],
)
@pytest.mark.parametrize("time", ["rate: 100\n", "time: t\n"])
def test_arrays_of_a_wrong_type_or_shape_are_refused(tmp_path, rows, change, code, time):
    file = tmp_path / "log.npz"
    np.savez(file, **{"t": rows[0], "q": rows[1], "tau": rows[3]} | change)
    with refused(ParameterError, code):
        read(tmp_path, time + ARRAYS, file)


def test_the_array_of_a_single_joint_may_have_one_dimension(tmp_path, rows):
    columns, file = tmp_path / "columns.yaml", tmp_path / "log.npz"
    columns.write_text("rbdyn_columns: 1\njoints: [arm]\nrate: 100\n" + ARRAYS)
    np.savez(file, q=rows[1][:, 0], tau=rows[3][:, 0])
    found = read_by_columns(file, columns, ["arm"], raw=False)
    np.testing.assert_allclose(found.qpos[:, 0], rows[1][:, 0])
