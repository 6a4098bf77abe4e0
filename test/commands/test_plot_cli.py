# SPDX-License-Identifier: Apache-2.0
"""`rbdyn plot` and `rbdyn replay --film`, called as a user calls them."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("mcap", reason="mcap is not installed")
pytest.importorskip("rosbags", reason="rosbags is not installed")
pytest.importorskip("matplotlib", reason="matplotlib is not installed")

from support.refusals import worded

import rbdyn_ros as rb
from rbdyn_ros.commands.line.common import DONE, REFUSED, USAGE
from rbdyn_ros.commands.line.parser import Parser
from rbdyn_ros.commands.plot import _beside, add_plot
from rbdyn_ros.commands.replay import add_replay
from rbdyn_ros.recording.recorder import Recorder
from rbdyn_ros.view.notebook import Film
from rbdyn_ros.view.pictures.run_film import film_run

PENDULUM = """<robot name="pendulum"><link name="base"/>
<link name="rod"><inertial><mass value="1"/><origin xyz="0 0 -0.5"/>
<inertia ixx="0.1" iyy="0.1" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="swing" type="continuous"><parent link="base"/><child link="rod"/>
<axis xyz="0 1 0"/></joint></robot>"""


LIMIT = '<limit lower="-9" upper="9" effort="5" velocity="9"/>'


@pytest.fixture(scope="module")
def run_file(tmp_path_factory):
    m = rb.load_urdf(PENDULUM)
    d = rb.make_data(m)
    d.qpos[0] = 1.0
    path = tmp_path_factory.mktemp("runs") / "run.mcap"
    with Recorder(m, path, urdf=PENDULUM) as recorder:
        for _ in range(500):
            rb.step(m, d)
            recorder.write(d)
    return path


def rbdyn(*words):
    parser = Parser(prog="rbdyn")
    commands = parser.add_subparsers(parser_class=Parser)
    add_plot(commands)
    add_replay(commands)
    options = parser.parse_args([str(word) for word in words])
    try:
        return options.run(options)
    except SystemExit as end:  # cli.main does the same for a refused command
        return end.code


def test_plot_writes_a_png_and_prints_its_path(run_file, capsys):
    assert rbdyn("plot", run_file) == DONE
    assert run_file.with_suffix(".png").read_bytes()[1:4] == b"PNG"
    assert capsys.readouterr() == (f"{run_file.with_suffix('.png')}\n", "")


def test_the_figure_is_written_beside_the_recording(run_file, tmp_path, monkeypatch, capsys):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "run.v1.MCAP").write_bytes(run_file.read_bytes())
    monkeypatch.chdir(tmp_path)
    assert rbdyn("plot", "runs/run.v1.MCAP") == DONE
    assert capsys.readouterr().out == "runs/run.v1.png\n"
    assert (tmp_path / "runs" / "run.v1.png").exists()


@pytest.mark.parametrize(
    ("recording", "figure"),
    [
        ("run.mcap", "run.png"),
        ("a/run.b.db3", "a/run.b.png"),
        ("bag.v1/", "bag.v1.png"),
        ("a/bag.mcap/", "a/bag.mcap.png"),
        ("../bag", "../bag.png"),
        (".", "here.png"),
        ("..", "there.png"),
    ],
)
def test_the_figure_is_named_after_the_recording(recording, figure, tmp_path, monkeypatch):
    here = tmp_path / "there" / "here"
    (here / "a" / "bag.mcap").mkdir(parents=True)
    monkeypatch.chdir(here)
    found = _beside(Path(recording))
    assert found.name == Path(figure).name
    if Path(recording).name not in ("", ".."):
        assert found == Path(figure)


def test_options_choose_joints_quantities_and_times(run_file, tmp_path, capsys):
    path = tmp_path / "part.svg"
    words = ("-o", path, "--joints", "sw*", "--quantities", "position", "energy")
    assert rbdyn("plot", run_file, *words, "--from", 0.1, "--to", 0.3, "--size", 6, 4) == DONE
    assert b"<svg" in path.read_bytes()
    assert capsys.readouterr().out == f"{path}\n"


def test_refused_arguments_end_with_the_right_status(run_file, tmp_path, capsys):
    for words, status, named in (
        (("plot", tmp_path / "no.mcap"), REFUSED, "no.mcap"),
        (("plot", run_file.with_name("rum.mcap")), REFUSED, "'run.mcap'"),
        (("plot", run_file, "-o", tmp_path / "x.bmp"), USAGE, "x.bmp"),
        (("plot", run_file, "-o", tmp_path / "no" / "x.png"), USAGE, "x.png"),
        (("plot", run_file, "--joints", "swin"), USAGE, "'swing'"),
        (("plot", run_file, "--quantities", "speed"), USAGE, "'speed'"),
        (("plot", run_file, "--from", 9), REFUSED, "run.mcap"),
        (("plot", run_file, "--from", 1, "--to", 0.5), USAGE, "0.5"),
        (("plot", run_file, "--name", "other"), USAGE, "'other'"),
        (("replay", run_file, "--name", "o"), USAGE, "'o'"),
        (("replay", tmp_path / "no.mcap"), REFUSED, "no.mcap"),
        (("replay", run_file, "--film", tmp_path / "x.avi"), USAGE, "x.avi"),
        (("replay", run_file, "--film", tmp_path / "x.gif", "--fps", 0), USAGE, "fps"),
        (("replay", run_file, "--film", tmp_path / "x.gif", "--fps", "nan"), USAGE, "nan"),
        (("replay", run_file, "--address", "no address"), USAGE, "address"),
    ):
        assert rbdyn(*words) == status, words
        error = capsys.readouterr().err
        worded("rbdyn", error.removesuffix("\n"))
        assert named in error, words
        assert error.startswith(f"rbdyn {words[0]}: ")
        assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_film_has_a_frame_for_each_moment(run_file, tmp_path, monkeypatch, capsys):
    from PIL import Image

    path = tmp_path / "run.gif"
    words = ("--fps", 20, "--from", 0.1, "--to", 0.4)
    assert rbdyn("replay", run_file, "--film", path, *words) == DONE
    assert capsys.readouterr().out == f"{path}\n"
    with Image.open(path) as film:
        assert film.n_frames == 7  # 0.3 s at 20 frames per second, with both ends
        assert film.info["duration"] == 50
    shown = []
    monkeypatch.setattr(
        "rbdyn_ros.view.pictures.run_film.animate",
        lambda _m, qpos, path, looks, fps, **_: shown.append((qpos, looks, fps)) or Film(path, ()),
    )
    from rbdyn_ros.recording.reader import read_run

    run = read_run(run_file)
    film_run(run, tmp_path / "x.mp4", 30.0)
    qpos, looks, fps = shown[0]
    assert fps == 30.0
    assert looks == (run.urdf or None)
    places = [int(np.flatnonzero((run.qpos == row).all(axis=1))[0]) for row in qpos]
    assert np.allclose(run.time[places], np.arange(len(qpos)) / 30.0, atol=1.01e-3)


def test_a_film_reports_visuals_of_another_robot(run_file, tmp_path):
    from rbdyn_ros.recording.reader import read_run

    other = (
        '<robot name="other"><link name="stranger"><visual><geometry><sphere radius="1"/>'
        "</geometry></visual></link></robot>"
    )
    path = tmp_path / "run.gif"
    (finding,) = film_run(read_run(run_file), path, 2.0, looks=other)
    assert "stranger" in finding.message
    assert path.is_file()


def test_a_recording_is_compared_with_another_robot(run_file, tmp_path, capsys):
    heavy, picture = tmp_path / "heavy.urdf", tmp_path / "free.png"
    heavy.write_text(PENDULUM.replace('mass value="1"', 'mass value="2"'))
    assert rbdyn("replay", run_file, "--against", heavy, "--figure", picture) == DONE
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert rows[-1][0] == "swing"
    assert float(rows[-1][1]) < 1e-9 < float(rows[-1][2])
    assert picture.read_bytes()[1:4] == b"PNG"
    assert rbdyn("replay", run_file, "--figure", picture) == USAGE
    heavy.write_text(PENDULUM.replace("swing", "other"))
    assert rbdyn("replay", run_file, "--against", heavy) == REFUSED
    assert "other" in capsys.readouterr().err


@pytest.fixture
def tables(tmp_path):
    """Return a motion as a CSV file, as a table in deg and mN m, and the table's columns file."""
    return write_tables(tmp_path, PENDULUM, 180.0 / np.pi)


def write_tables(tmp_path, urdf, unit):
    m = rb.load_urdf(urdf.replace("<axis", f"{LIMIT}<axis"))
    d, rows = rb.make_data(m), []
    for k in range(1200):
        d.qfrc_applied[:] = np.sin(0.003 * k)
        rows.append([k * m.opt.timestep, d.qpos[0], d.qvel[0], d.qfrc_applied[0]])
        rb.step(m, d)
    named, plain, columns = (tmp_path / name for name in ("run.csv", "log.txt", "columns.yaml"))
    head = "time,swing.position,swing.velocity,swing.effort"
    np.savetxt(named, rows, delimiter=",", header=head, comments="", fmt="%.12g")
    factors = [1.0, unit, unit, 1000.0]
    np.savetxt(plain, np.array(rows) * factors, fmt="%.12g")
    columns.write_text(
        "rbdyn_columns: 1\njoints: [swing]\ntime: 0\npositions: 1\nvelocities: 2\nefforts: 3\n"
        "angle_unit: deg\neffort_unit: mNm\n"
    )
    return named, plain, columns


def test_a_table_is_compared_with_another_robot(tables, tmp_path, capsys):
    named, plain, columns = tables
    robot, heavy = tmp_path / "robot.urdf", tmp_path / "heavy.urdf"
    robot.write_text(PENDULUM)
    heavy.write_text(PENDULUM.replace('mass value="1"', 'mass value="2"'))
    found = []
    for words in ((named,), (plain, "--columns", columns)):
        assert rbdyn("replay", *words, "--robot", robot, "--against", heavy) == DONE
        found.append(capsys.readouterr().out)
        row = found[-1].splitlines()[-1].split()
        # interpolated efforts are up to h / 2 early or late
        assert float(row[1]) < 1e-4
        assert float(row[2]) > 20.0 * float(row[1])
    assert found[0] == found[1]
    # draw a part of the recording
    span = ("--from", 0.2, "--to", 0.4, "-o", tmp_path / "run.svg")
    assert rbdyn("plot", named, "--robot", robot, "--joints", "sw*", *span) == DONE
    assert b"<svg" in (tmp_path / "run.svg").read_bytes()


def test_positions_of_prismatic_joints_are_in_metres(tmp_path, capsys):
    """`angle_unit: deg` does not apply to positions of prismatic joints."""
    robot = tmp_path / "robot.urdf"
    urdf = PENDULUM.replace("continuous", "prismatic")
    robot.write_text(urdf.replace("<axis", f"{LIMIT}<axis"))
    named, plain, columns = write_tables(tmp_path, urdf, 1.0)
    found = []
    for words in ((named,), (plain, "--columns", columns)):
        assert rbdyn("replay", *words, "--robot", robot, "--against", robot) == DONE
        found.append(capsys.readouterr().out)
    assert found[0] == found[1]


def test_a_table_of_a_robot_with_springs_is_drawn(tables, tmp_path):
    robot = tmp_path / "robot.xml"
    robot.write_text(
        '<mujoco><worldbody><body name="rod"><joint name="swing" axis="0 1 0" stiffness="5"/>'
        '<geom type="sphere" size="0.1" mass="1"/></body></worldbody></mujoco>'
    )
    assert rbdyn("plot", tables[0], "--robot", robot, "-o", tmp_path / "run.svg") == DONE


@pytest.mark.parametrize("words", [("--map", "sw:wr"), ("--drive-gains", 2)])
def test_options_of_tables_are_refused_for_bags(run_file, words, capsys):
    assert rbdyn("plot", run_file, *words) == USAGE
    assert f"{words[0]} is for tables" in capsys.readouterr().err


def test_options_of_tables_are_refused_for_the_folder_of_a_bag(run_file, tables, capsys):
    assert rbdyn("plot", run_file.parent, "--columns", tables[2]) == USAGE
    assert "--columns is for tables" in capsys.readouterr().err


def test_tables_that_cannot_be_replayed_are_refused(tables, tmp_path, capsys):
    named, plain, _ = tables
    robot = tmp_path / "robot.urdf"
    robot.write_text(PENDULUM)
    for words, status, reason in (
        ((named,), USAGE, "give it with --robot"),
        ((named, "--robot", robot, "--name", "left"), USAGE, "without --name"),
        ((named, "--robot", robot, "--from", 3, "--to", 2), USAGE, "from 3.0 to 2.0"),
        ((named, "--robot", robot, "--from", 99), REFUSED, "no states in the requested span"),
        ((plain, "--robot", robot), REFUSED, "expected a rosbag2 folder"),
        ((tmp_path / "rum.csv", "--robot", robot), REFUSED, "'run.csv'"),
        ((named, "--robot", robot, "--map", "sw:wr"), REFUSED, "wring"),
        ((plain, "--robot", robot, "--columns", robot), REFUSED, "robot.urdf"),
    ):
        assert rbdyn("replay", *words, "--against", robot) == status, words
        error = capsys.readouterr().err
        worded("rbdyn", error.removesuffix("\n"))
        assert reason in error, words
        assert error.startswith("rbdyn replay: ")
        assert error.count("\n") == 1
