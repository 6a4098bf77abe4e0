# SPDX-License-Identifier: Apache-2.0
"""The commands `rbdyn excite` and `rbdyn identify`."""

import argparse
import io
import json
import subprocess
import sys

import numpy as np
import pytest
from support.commands import run
from support.robots import find

import rbdyn_ros as rb
from rbdyn_ros.commands.line import recorded
from rbdyn_ros.control.base.friction import Friction
from rbdyn_ros.control.motion.paths import Path
from rbdyn_ros.identification.data.csv_files import read_table, write_csv
from rbdyn_ros.identification.data.motion import dof_names
from rbdyn_ros.identification.data.samples import Samples
from rbdyn_ros.identification.excitation.search import rest_shapes, tables

CENTRE = np.array([0.2, -1.1, 1.0, -0.6, 0.8, 0.1])


def smooth_motion(seed, n=6, reach=0.9):
    """Return a function of times (p,) that returns a motion (3, p, n) not planned by excite."""
    rng, shapes = np.random.default_rng(seed), rest_shapes(10)
    coefficients = shapes @ rng.normal(size=(shapes.shape[1], n))
    size = np.abs(tables(10, 20.0, np.linspace(0.0, 20.0, 500))[0] @ coefficients).max(axis=0)
    offset = np.zeros((3, 1, n))
    offset[0] = CENTRE[:n]
    return lambda t: tables(10, 20.0, t) @ (reach / size * coefficients) + offset


def efforts_of(m, friction, rows):
    m = m.replaced()
    m.opt.passive = False
    d, out = rb.make_data(m), np.empty(rows.shape[1:])
    for tau, q, v, a in zip(out, *rows, strict=True):
        d.qpos[:], d.qvel[:], d.qacc[:] = q, v, a
        rb.inverse(m, d)
        tau[:] = d.qfrc_inverse + friction.effort(v, np.empty(m.nv))
    return out


def write_recording(path, m, friction, sample, seed, noise=(2e-5, 1e-3, 0.005)):
    """Write a CSV recording at 250 Hz; `noise`: rad, rad/s, and share of the effort limits."""
    time = 0.004 * np.arange(5001)
    rows, rng = sample(time), np.random.default_rng(seed)
    scale = noise[2] * m.jnt_effort[m.dof_jntid]
    q, v = (x + s * rng.normal(size=x.shape) for x, s in zip(rows[:2], noise[:2], strict=True))
    tau = efforts_of(m, friction, rows) + scale * rng.normal(size=rows[0].shape)
    write_csv(path, Samples(dof_names(m), time, q, v, tau))
    return path


@pytest.fixture(scope="module")
def urdf():
    return find("ur5_robot.urdf")


@pytest.fixture(scope="module")
def true_arm(urdf):
    """Return the Model of the real arm, with cables and cameras, and its Friction."""
    m = rb.load_urdf(urdf)
    for link, mass, com in (
        ("upper_arm_link", 1.5, (0.05, 0.02, 0.1)),
        ("forearm_link", 0.8, (0.03, 0.05, 0.3)),
        ("wrist_2_link", 0.4, (0.02, 0.0, 0.05)),
    ):
        m = rb.with_payload(m, link, mass, com)
    return m, Friction.of(6, [8, 8, 6, 2, 2, 2], [6, 7, 5, 1.5, 1.2, 1.0], smoothing=0.01)


@pytest.fixture(scope="module")
def files(tmp_path_factory, urdf, true_arm):
    """Return folder, output of excite, recording of its motion, and another recording."""
    folder = tmp_path_factory.mktemp("identify")
    motion = folder / "motion.csv"
    centre = [f"{x:g}" for x in CENTRE]
    result = run("excite", urdf, "-o", motion, "--reach", 1.0, "--centre", *centre)
    assert result.returncode == 0, result.stderr
    names, time, columns = read_table(motion, ("position", "velocity", "acceleration"))
    assert names == dof_names(true_arm[0])
    path, row = Path(time, *columns), np.empty((3, 6))

    def sample(t):
        return np.stack([path.sample(moment, row).copy() for moment in t], axis=1)

    recording = write_recording(folder / "recording.csv", *true_arm, sample, 1)
    other = write_recording(folder / "other.csv", *true_arm, smooth_motion(2), 3)
    return folder, result.stdout, recording, other


def test_excite_reports_the_motion(files, urdf):
    _, result, _, _ = files
    assert "condition number" in result
    assert "starts and ends at rest at 0.2 -1.1 1 -0.6 0.8 0.1" in result
    assert "collisions are not checked" in result
    row = next(line for line in result.splitlines() if line.startswith("elbow_joint")).split()
    assert 0.0 <= float(row[1]) < 1.0 < float(row[2]) <= 2.0
    assert float(row[3]) <= 0.5 * 3.15


def test_a_patched_urdf_predicts_gravity_better(files, urdf, true_arm):
    folder, _, recording, other = files
    patch = folder / "identified.urdf"
    result = run("identify", urdf, recording, "--validate", other, "--patch", patch, "--json")
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""  # there is no progress bar without a terminal
    found = json.loads(result.stdout)
    shares = {row["joint"]: row["share_after"] for row in found["validation"]}
    print("RMS of the validation motion, of full scale:", shares)
    # efforts have noise of 0.5 % of full scale before the filter
    assert max(shares.values()) < 0.01
    friction = {row["name"]: row for row in found["joints"]}
    assert friction["elbow_joint"]["viscous"] == pytest.approx(6.0, rel=0.1)

    real, identified, wrong = true_arm[0], rb.load_urdf(patch), rb.load_urdf(urdf)
    rest = np.zeros((3, 200, 6))
    rest[0] = np.random.default_rng(5).uniform(-2.0, 2.0, (200, 6))
    nothing = Friction.of(6)
    truth, before, after = (efforts_of(m, nothing, rest) for m in (real, wrong, identified))
    errors = [np.abs(tau - truth).max(axis=0)[1:] for tau in (before, after)]
    print("gravity, largest error [N m]: before", errors[0], "after", errors[1])
    # these poses are far beyond the motion; the first joint has a vertical axis, and the wrists
    # carried little load before
    assert (errors[1][:2] < 0.05 * errors[0][:2]).all()
    assert (errors[1] < 0.3 * errors[0] + 1e-3 * real.jnt_effort[1:]).all()
    assert identified.dof_damping == pytest.approx(true_arm[1].viscous, rel=0.15)


def test_the_command_writes_report_and_figure(files, urdf):
    pytest.importorskip("matplotlib")
    folder, _, recording, _ = files
    picture = folder / "efforts.svg"
    result = run("identify", urdf, recording, "--figure", picture, "--no-friction")
    assert result.returncode == 0, result.stderr
    assert "efforts of the motion" in result.stdout
    assert "base inertial parameters, condition number" in result.stdout
    assert picture.read_bytes().startswith(b"<?xml")


def test_a_payload_is_reported(files, urdf, true_arm):
    folder, _, _, _ = files
    _, friction = true_arm
    text = find("ur5_robot.urdf").read_text()
    plain = rb.load_urdf(text)
    held = rb.with_payload(plain, "tool0", 2.0, (0.0, 0.0, 0.1))
    recording = write_recording(folder / "tool.csv", held, friction, smooth_motion(4), 6)
    result = run("identify", urdf, recording, "--payload", "tool0", "--json")
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["mass"] == pytest.approx(2.0, abs=0.05)
    assert found["com"] == pytest.approx([0.0, 0.0, 0.1], abs=0.01)
    result = run("identify", urdf, recording, "--payload", "tool0")
    assert "payload at link 'tool0'" in result.stdout
    without = write_recording(folder / "bare.csv", plain, friction, smooth_motion(8), 7)
    pair = "--payload", "tool0", "--payload-run", recording
    result = run("identify", urdf, without, *pair, "--no-delay", "--json")
    assert result.returncode == 0, result.stderr
    both = json.loads(result.stdout)
    assert both["mass"] == pytest.approx(2.0, abs=0.05)
    assert both["mass_by_joint"]["shoulder_lift_joint"] is not None
    assert "mass by the efforts of each joint" in run("identify", urdf, without, *pair).stdout
    result = run("identify", urdf, recording, "--payload-run", recording)
    assert (result.returncode, "needs --payload" in result.stderr) == (2, True)
    result = run("identify", urdf, recording, "--payload", "tool")
    assert result.returncode == 1
    assert "did you mean 'tool0'?" in result.stderr


def test_the_mounting_rotates_gravity(files, urdf, true_arm):
    # the arm hangs on a wall, so the recording fits only with gravity along x
    folder, _, _, _ = files
    wall = rb.load_urdf(urdf)
    wall.opt.gravity = (9.81, 0.0, 0.0)
    recording = write_recording(folder / "wall.csv", wall, Friction.of(6), smooth_motion(7), 8)
    shares = []
    for mounting in ((), ("--mounting", 0, 1.5707963267948966, 0)):
        result = run("identify", urdf, recording, "--json", *mounting)
        assert result.returncode == 0, result.stderr
        rows = json.loads(result.stdout)["residuals"]
        shares.append(max(row["share_before"] for row in rows))
    assert shares[0] > 0.1
    assert shares[1] < 0.01


def test_no_urdf_is_patched_after_a_motion_of_one_joint(files, urdf, true_arm):
    folder, _, _, _ = files
    patch = folder / "poor.urdf"

    def one_joint(t):
        rows = smooth_motion(2)(t)
        rows[1:, :, 1:] = 0.0
        rows[0, :, 1:] = CENTRE[1:]
        return rows

    recording = write_recording(folder / "poor.csv", *true_arm, one_joint, 1)
    result = run("identify", urdf, recording, "--patch", patch)
    assert result.returncode == 1
    assert "too poor" in result.stderr
    assert not patch.exists()


def test_the_error_about_refused_input_is_one_sentence(files, urdf, tmp_path):
    _, _, recording, _ = files
    for words, named in (
        ((urdf, tmp_path / "none.mcap"), "none.mcap"),
        ((tmp_path / "none.urdf", recording), "none.urdf"),
        ((urdf, recording, "--joints", "elbow"), "'elbow_joint'"),
        ((urdf, recording, "--cutoff", "-3"), "cutoff is -3.0"),
        ((urdf, recording, "--mounting", "nan", 0, 0), "the mounting"),
        ((urdf, recording, "--effort-topic", "efforts"), "effort_topic"),
    ):
        result = run("identify", *words)
        assert result.returncode == 1, words
        assert named in result.stderr
        assert result.stderr.startswith("rbdyn identify: ")
        assert result.stderr.count("\n") == 1
        assert result.stdout == ""


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--patch", "out.txt"), "'out.txt'"),
        (("--patch", "/no/such/out.urdf"), "/no/such"),
        (("--figure", "out.gif"), "'out.gif'"),
        (("--payload", "tool0", "--patch", "out.urdf"), "--payload"),
        (("--payload", "tool0", "--validate", "x.csv"), "--payload"),
    ],
)
def test_wrong_options_are_refused_before_any_file_is_read(words, named):
    result = run("identify", "no_such_robot.urdf", "no_such.csv", *words)
    assert result.returncode == 2
    assert named in result.stderr
    assert result.stderr.count("\n") == 1


def test_invalid_options_of_excite_are_refused(urdf, tmp_path):
    for words, status, named in (
        (("-o", tmp_path / "motion.txt"), 2, "motion.txt'"),
        (("-o", "/no/such/motion.csv"), 2, "/no/such"),
        (("-o", tmp_path / "m.csv", "--joints", "elbo_joint"), 1, "'elbow_joint'"),
        (("-o", tmp_path / "m.csv", "--centre", 1, 2), 1, "centre"),
        (("-o", tmp_path / "m.csv", "--rate", 0, "--harmonics", 2), 1, "rate is 0.0"),
    ):
        result = run("excite", urdf, *words)
        assert result.returncode == status, result.stderr
        assert named in result.stderr
        assert result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
    assert run("excite", urdf).returncode == 2


def test_excite_as_a_process_writes_only_its_file(urdf, tmp_path):
    code = "from rbdyn_ros.cli import main; main()"
    words = ["excite", urdf, "-o", tmp_path / "m.csv", "--harmonics", "2", "--reach", "0.3"]
    command = [sys.executable, "-c", code, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0
    assert done.stderr == ""
    assert [file.name for file in tmp_path.iterdir()] == ["m.csv"]


def test_progress_is_shown_only_on_terminals(urdf, tmp_path, monkeypatch):
    class Screen(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(io, "StringIO", Screen)
    result = run("excite", urdf, "-o", tmp_path / "m.csv", "--harmonics", 2)
    assert result.stderr.startswith("\rsearching for a motion: ")
    assert " 0/21 [" in result.stderr
    assert "best of 60 random motions: condition number" in result.stderr
    assert "searching for" not in result.stdout
    assert result.stderr.endswith("\r")  # the progress bar is removed at the end


def test_help_contains_examples():
    assert "rbdyn excite arm.urdf -o motion.csv" in run("excite", "--help").stdout
    assert "--patch identified.urdf" in run("identify", "--help").stdout


HELD = {"shoulder_lift_joint": -1.57, "wrist_2_joint": 0.9}


def held_still(seed):
    """Return a function as smooth_motion does, but the joints in HELD rest."""

    def sample(t):
        rows = smooth_motion(seed)(t)
        for k, place in ((1, -1.57), (4, 0.9)):
            rows[:, :, k] = 0.0
            rows[0, :, k] = place
        return rows

    return sample


def test_positions_of_resting_joints_come_from_the_recording(files, urdf):
    folder = files[0]
    m = rb.load_urdf(urdf)
    recording = write_recording(folder / "held.csv", m, Friction.of(6), held_still(11), 12)
    other = write_recording(folder / "held2.csv", m, Friction.of(6), held_still(13), 14)
    moved = [name for name in dof_names(m) if name not in HELD]
    result = run("identify", urdf, recording, "--validate", other, "--json", "--joints", *moved)
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    # the URDF has no errors; if the shoulder were at 0, efforts of the elbow would be off by 10 %
    for rows in (found["residuals"], found["validation"]):
        assert len(rows) == 4
        assert max(row["share_before"] for row in rows) < 0.01
    moving = write_recording(folder / "moving.csv", m, Friction.of(6), smooth_motion(11), 12)
    result = run("identify", urdf, moving, "--joints", *moved)
    assert result.returncode == 1
    assert "'shoulder_lift_joint'" in result.stderr


def test_joints_that_are_not_recorded_cause_a_warning(files, urdf):
    folder, _, recording, _ = files
    names, time, (qpos, effort) = read_table(recording, ("position", "effort"))
    alone = folder / "alone.csv"
    write_csv(alone, Samples(names[3:], time, qpos[:, 3:], None, effort[:, 3:]))
    result = run("identify", urdf, alone, "--joints", *names[3:])
    assert "shoulder_pan" in result.stderr


def test_a_joint_with_a_misspelt_column_is_refused(files, urdf):
    folder, _, recording, _ = files
    table = folder / "lost.csv"
    text = recording.read_text()
    table.write_text(text.replace("elbow_joint.position", "elbow_joint.positon", 1))
    result = run("identify", urdf, table)
    assert result.returncode == 1
    assert "'elbow_joint.position' (did you mean 'elbow_joint.positon'?)" in result.stderr


def test_joints_cannot_share_a_name_of_the_recording(files, urdf):
    words = ("--map", "wrist_1:wrist_3")
    result = run("identify", urdf, files[2], *words)
    assert result.returncode == 1
    assert "'wrist_1_joint' and 'wrist_3_joint' have the same name" in result.stderr
    assert result.stderr.count("\n") == 1


def test_names_of_a_yaml_file_replace_only_whole_names(tmp_path):
    names = tmp_path / "names.yaml"
    names.write_text("j1: a\nj10: b\n")
    parser = argparse.ArgumentParser(prog="rbdyn identify")
    recorded.add_table_options(parser)
    pairs = parser.parse_args(["--map", str(names), "--map", "k:l"]).map
    found = [recorded._mapped(name, pairs) for name in ("j1", "j10", "k3", "x")]
    assert found == ["a", "b", "l3", "x"]


@pytest.mark.parametrize(
    ("text", "part"), [("j1: [a]", ":1: 'j1' has no value"), ("- a", "joint names"), ("a: [", "")]
)
def test_a_yaml_file_without_names_is_refused(tmp_path, urdf, files, text, part):
    names = tmp_path / "names.yaml"
    names.write_text(text)
    result = run("identify", urdf, files[2], "--map", names)
    assert result.returncode == 2
    assert part in result.stderr
    assert "Traceback" not in result.stderr


def test_implausible_recordings_are_refused(files, urdf, tmp_path):
    _, _, recording, _ = files
    names, time, (qpos, effort) = read_table(recording, ("position", "effort"))
    jumping = qpos.copy()
    jumping[2000:, 2] += 1.5
    for changed, named in (
        ({"effort": 0.0 * effort}, "all efforts are 0"),
        ({"qpos": np.rad2deg(qpos)}, "Are positions in rad"),
        ({"qpos": jumping}, "'elbow_joint' jumps by 1.5"),
        ({"time": 1e9 * time}, "Is the time in seconds?"),
        ({"time": 1e3 * time}, "Is the time in seconds?"),
        ({"effort": 1e300 * effort}, "at most 1e+09"),
    ):
        parts = {"time": time, "qpos": qpos, "effort": effort} | changed
        odd, patch = tmp_path / "odd.csv", tmp_path / "odd.urdf"
        write_csv(odd, Samples(names, parts["time"], parts["qpos"], None, parts["effort"]))
        result = run("identify", urdf, odd, "--patch", patch)
        assert result.returncode == 1, named
        assert named in result.stderr
        assert result.stderr.count("\n") == 1
        assert not patch.exists()


def test_the_command_finds_friction_without_a_bias_of_the_filter(urdf, tmp_path):
    m, friction = rb.load_urdf(urdf), Friction.of(6, 2.0, 3.0, smoothing=0.01)
    recording = write_recording(
        tmp_path / "clean.csv", m, friction, smooth_motion(2), 1, (0.0, 0.0, 0.0)
    )
    result = run("identify", urdf, recording, "--json", "--cutoff", 5)
    rows = json.loads(result.stdout)["joints"]
    print([(row["viscous"], row["coulomb"]) for row in rows])
    # the recording has no noise; without the same filter in the regressor the errors would be 3 to
    # 7 % and 10 to 24 %
    assert [row["coulomb"] for row in rows] == pytest.approx([3.0] * 6, rel=0.01)
    assert [row["viscous"] for row in rows] == pytest.approx([2.0] * 6, rel=0.02)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--mounting", 1e308, 0, 0), "the mounting is [1e+308, 0.0, 0.0]"),
        (("--mounting", 90, 0, 0), "the mounting is [90.0, 0.0, 0.0]"),
        (("--gravity", 1e300, 0, 0), "gravity is [1e+300, 0.0, 0.0]"),
        (("--gravity", "nan", 0, 0), "gravity is [nan, 0.0, 0.0]"),
        (("--package-dir", "/no/such/folder"), "--package-dir is '/no/such/folder'"),
        (("--topic", "states"), "no topic"),
    ],
)
def test_bad_mountings_and_gravities_are_refused(files, urdf, words, named):
    result = run("identify", urdf, files[2], *words)
    assert result.returncode == 1
    assert named in result.stderr
    assert result.stderr.count("\n") == 1


def test_gravity_may_be_as_large_as_for_nodes():
    from rbdyn_ros.commands.line import common
    from rbdyn_ros.ros.common.parsing import magnitudes

    assert common.LARGEST_GRAVITY == magnitudes.LARGEST_GRAVITY


def test_files_that_cannot_be_written_are_refused_at_the_start(tmp_path):
    folder = tmp_path / "folder.urdf"
    folder.mkdir()
    for command, words in (
        ("identify", ("no.urdf", "no.csv", "--patch", folder)),
        ("identify", ("no.urdf", "no.csv", "--patch", "/proc/x.urdf")),
        ("identify", ("no.urdf", "no.csv", "--figure", "/proc/x.svg")),
        ("excite", ("no.urdf", "-o", "/proc/m.csv")),
    ):
        result = run(command, *words)
        assert result.returncode == 2, words
        assert "cannot be written" in result.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["folder.urdf"]
    for words in (("identify", "a.urdf", ""), ("excite", "", "-o", "m.csv")):
        result = run(*words)
        assert result.returncode == 2
        assert "path is empty" in result.stderr


@pytest.mark.parametrize("option", ["--offset", "--no-armature"])
def test_identification_of_a_payload_alone_refuses_other_options(option):
    result = run("identify", "no.urdf", "no.csv", "--payload", "tool0", option)
    assert result.returncode == 2
    assert "--patch, --validate, --offset, --armature" in result.stderr


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--rate", 0.01, "--duration", 5), "rate is 0.01"),
        (("--rate", 1e9, "--duration", 3600), "rate is 1000000000.0"),
        (("--rate", "nan"), "rate is nan"),
        (("--reach", 1e-300), "reach is 1e-300"),
        (("--acceleration-limits", 1e-300), "acceleration_limits is 1e-300"),
        (("--duration", 0), "duration is 0.0"),
        (("--duration", 1e-9), "duration is 1e-09"),
        (("--reach", 0.002, "--harmonics", 2), "too poor"),
    ],
)
def test_options_of_excite_without_a_usable_motion_are_refused(urdf, tmp_path, words, named):
    result = run("excite", urdf, "-o", tmp_path / "m.csv", *words)
    assert result.returncode == 1, result.stdout
    assert named in result.stderr
    assert result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["excite", "identify"])
def test_ctrl_c_exits_with_130(command, monkeypatch):
    def interrupted(*_args):
        raise KeyboardInterrupt

    monkeypatch.setattr("rbdyn_ros.commands.line.common.check_writable", interrupted)
    words = ("-o", "m.csv") if command == "excite" else ("r.csv", "--patch", "p.urdf")
    result = run(command, "robot.urdf", *words)
    assert result.returncode == 130
    assert result.stderr == ""


def test_excite_proposes_a_motion_after_a_recording(files, urdf):
    folder, _, recording, _ = files
    centre = [f"{x:g}" for x in CENTRE]
    path = folder / "next.csv"
    result = run("excite", urdf, "-o", path, "--after", recording, "--centre", *centre)
    assert result.returncode == 0, result.stderr
    assert f"together with {recording}" in result.stdout
    assert read_table(path, ("position",))[0] == dof_names(rb.load_urdf(urdf))
    result = run("excite", urdf, "-o", path, "--after", recording, "--sweeps", 3)
    assert (result.returncode, "with --after" in result.stderr) == (2, True)


SWINGER = """<robot name="swinger"><link name="base"/>
<link name="arm"><inertial><mass value="1"/><origin xyz="0.3 0 0"/>
<inertia ixx="0.1" iyy="0.2" izz="0.2" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="hand"><inertial><mass value="1"/><origin xyz="0.5 0 0.1"/>
<inertia ixx="0.1" iyy="0.2" izz="0.2" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><origin xyz="0.8 0 0"/><geometry><sphere radius="0.05"/></geometry></collision></link>
<joint name="lift" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" velocity="2" effort="50"/></joint>
<joint name="roll" type="revolute"><parent link="arm"/><child link="hand"/><axis xyz="1 0 0"/>
<limit lower="-2" upper="2" velocity="2" effort="50"/></joint></robot>"""
# the arm is mounted at a height of 0.8 m and points along y; the table is below its hand
CELL = """rbdyn_scene: 1
robot: {file: swinger.urdf, xyz: [0.2, 0, 0.8], rpy: [0, 0, 1.5707963267948966]}
floor: false
obstacles:
  table: {box: {size: [1.0, 0.6, 0.4]}, xyz: [0.2, 0.8, 0.2]}
"""


def over_the_table(path):
    """Return the smallest distance of hand and table [m], in closed form, at samples of 2 ms."""
    _, time, columns = read_table(path, ("position", "velocity", "acceleration"))
    motion, row = Path(time, *columns), np.empty((3, 2))
    angle = np.array([motion.sample(t, row)[0, 0] for t in np.arange(0.0, time[-1], 0.002)])
    hand = np.stack([0.2 + 0.0 * angle, 0.8 * np.cos(angle), 0.8 - 0.8 * np.sin(angle)], axis=1)
    beyond = np.abs(hand - [0.2, 0.8, 0.2]) - [0.5, 0.3, 0.2]
    outside = np.linalg.norm(beyond.clip(0.0), axis=1)
    return float((outside + beyond.max(axis=1).clip(max=0.0) - 0.05).min())


def test_excite_keeps_clear_of_a_scene(tmp_path):
    arm, scene, path = (tmp_path / name for name in ("swinger.urdf", "cell.yaml", "m.csv"))
    arm.write_text(SWINGER)
    scene.write_text(CELL)
    words = ("excite", arm, "-o", path, "--harmonics", 3, "--centre", 0, 0, "--reach", 1.2)
    result = run(*words)
    assert (result.returncode, result.stderr) == (0, "")
    assert over_the_table(path) < -0.01  # without the scene the hand hits the table
    result = run(*words, "--scene", scene)
    assert (result.returncode, result.stderr) == (0, "")
    assert "links and obstacles stay 10 mm apart" in result.stdout
    # the path is checked in steps of 1 mm, and comes near the table because the motion is as large
    # as possible
    assert 0.009 <= over_the_table(path) < 0.15


def test_scenes_that_excite_cannot_use_are_refused(tmp_path):
    arm, scene, path = (tmp_path / name for name in ("swinger.urdf", "cell.yaml", "m.csv"))
    arm.write_text(SWINGER)
    scene.write_text(CELL)
    bare = tmp_path / "bare.urdf"
    bare.write_text(SWINGER[: SWINGER.index("<collision>")] + SWINGER.split("</collision>")[1])
    for words, status, named in (
        ((arm, "--scene", tmp_path / "none.yaml"), 1, "none.yaml"),
        ((arm, "--scene", arm), 1, "swinger.urdf"),
        ((bare, "--scene", scene), 1, "no <collision> elements"),
        ((scene, "--scene", scene), 1, "the robot file is a scene file"),
        ((arm, "--scene", scene, "--sweeps", 3), 2, "--after, --scene"),
        ((arm, "--scene", scene, "--floating-base"), 2, "leave --floating-base out"),
        ((arm, "--scene", scene, "--mounting", 1, 0, 0), 1, "but --mounting differs"),
    ):
        result = run("excite", *words, "-o", path)
        assert result.returncode == status, result.stderr
        assert named in result.stderr
        assert not path.exists()


def test_the_base_of_a_scene_is_the_mounting(tmp_path):
    arm, scene, path = (tmp_path / name for name in ("swinger.urdf", "cell.yaml", "m.csv"))
    arm.write_text(SWINGER)
    words = ("excite", arm, "-o", path, "--harmonics", 3, "--centre", 0, 0, "--scene", scene)
    efforts = []
    for rpy in ("[0, 0, 0]", "[-1.5707963267948966, 0, 0]"):
        turned = CELL.replace("[0, 0, 1.5707963267948966]", rpy)
        scene.write_text(turned.replace("0.8, 0.2", "9, 9"))  # now the table is far away
        result = run(*words)
        row = next(line for line in result.stdout.splitlines() if line.startswith("lift"))
        efforts.append(float(row.split()[-1].rstrip("%")))
    # on a wall gravity is along the axis of the first joint, whose effort only accelerates inertia
    assert efforts[1] < 0.5 * efforts[0]
