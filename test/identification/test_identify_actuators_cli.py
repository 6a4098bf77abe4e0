# SPDX-License-Identifier: Apache-2.0
"""The commands `rbdyn excite --sweeps` and `rbdyn identify --actuators`."""

import json

import numpy as np
import pytest
from identification.driven_arm import ACTUATORS, URDF, arm, driven, noisy
from support.commands import run

import rbdyn_ros as rb
from rbdyn_ros.identification.data.csv_files import read_table, write_csv
from rbdyn_ros.identification.excitation.sweeps import Sweeps


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return files: the robot, a recording of sweeps, and known parameters of the elbow."""
    folder = tmp_path_factory.mktemp("actuators")
    urdf, motion, known = folder / "arm.urdf", folder / "sweeps.csv", folder / "known.yaml"
    urdf.write_text(URDF)
    known.write_text(
        "rbdyn_actuators: 1\nactuators:\n  elbow: {gear: -80, armature: 2e-5, "
        "saturation: {torque: 9}, elastic: {stiffness: 3000, damping: 5}}\n"
    )
    words = ("--reach", 0.8, "--centre", 0, 0.2, 0.3, "--duration", 60)
    made = run("excite", urdf, "-o", motion, "--sweeps", 8, *words)
    assert made.returncode == 0, made.stderr
    assert "8 speeds, the slowest 0.01 0.01 0.01 per second" in made.stdout
    names, time, rows = read_table(motion, ("position", "velocity", "acceleration"))
    m, specs = arm()
    path = Sweeps(names, time, *rows, {}, np.zeros((8, 3)), {}, np.zeros((2, 3)))
    recording = folder / "recording.csv"
    write_csv(recording, noisy(driven(m, specs, path)))
    return urdf, recording, known


def test_the_written_actuators_file_can_be_loaded_and_has_the_true_values(files, tmp_path):
    urdf, recording, known = files
    out = tmp_path / "found.yaml"
    words = ("identify", urdf, recording, "--current", "--known", known, "--actuators", out)
    result = run(*words)
    assert result.returncode == 0, result.stderr
    assert "motors and gears" in result.stdout
    assert "joint 'yaw': backlash is not identifiable" in result.stdout
    text = out.read_text()
    assert text.startswith("# Identified by rbdyn identify from 'recording.csv'.\n")
    assert "saturation: {torque: 9}" in text or "saturation: {current: 9}" in text
    m = rb.load_urdf(urdf)
    found, true = rb.with_actuators(m, out), rb.with_actuators(m, _written(tmp_path))
    for name in ("gear", "armature", "lugre", "damping", "backlash"):
        values, truth = (getattr(x, f"actuator_{name}") for x in (found, true))
        if name == "lugre":  # the stiffness and damping of the bristles are not identified
            values, truth = values[:, 2:], truth[:, 2:]
        assert values == pytest.approx(truth, rel=0.08), name
    constants = (x.actuator_motorconst[:, 0] * (1.0 + x.actuator_error) for x in (found, true))
    assert next(constants) == pytest.approx(next(constants), rel=0.05)
    numbers = json.loads(run(*words, "--json").stdout)["joints"]
    assert numbers[0]["joint"] == "yaw"
    assert numbers[0]["found"]["motorconst"]["value"] == pytest.approx(0.05, rel=0.05)


def _written(folder):
    path = folder / "true.yaml"
    path.write_text(ACTUATORS)
    return path


def test_refused_recordings_leave_no_file(files, tmp_path):
    urdf, recording, _ = files
    out = tmp_path / "found.yaml"
    bad = tmp_path / "bad.yaml"
    bad.write_text("rbdyn_actuators: 1\nactuators: {elbo: {}}\n")
    still = tmp_path / "still.csv"
    time = 0.01 * np.arange(3000)
    header = "time,yaw.position,yaw.effort"
    np.savetxt(
        still, np.stack([time, 0 * time, 1.0 + time], 1), "%g", ",", header=header, comments=""
    )
    for words, named in (
        ((urdf, recording, "--known", bad), "did you mean 'elbow'?"),
        ((urdf, recording, "--motor-topic", "motors"), "motor_topic"),
        ((urdf, still, "--joints", "yaw"), "no file is written"),
    ):
        result = run("identify", *words, "--actuators", out)
        assert result.returncode == 1, words
        assert named in result.stderr
        assert not out.exists()


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--known", "a.yaml"), "--known needs --actuators"),
        (("--motor-topic", "motors"), "--motor-topic needs --actuators"),
        (("--actuators", "a.yaml", "--payload", "tool0"), "--payload"),
        (("--actuators", "a.yaml", "--no-friction"), "--no-friction"),
        (("--actuators", "a.yaml", "--no-offset"), "--offset"),
        (("--actuators", "a.urdf"), "'a.urdf'"),
    ],
)
def test_wrong_options_are_refused_before_any_file_is_read(words, named):
    result = run("identify", "no_such_robot.urdf", "no_such.csv", *words)
    assert result.returncode == 2
    assert named in result.stderr
    assert result.stderr.count("\n") == 1


def test_harmonics_are_refused_for_sweeps(tmp_path):
    for words in (("--harmonics", 3), ("--seed", 1)):
        result = run("excite", "no.urdf", "-o", tmp_path / "m.csv", "--sweeps", 5, *words)
        assert result.returncode == 2
