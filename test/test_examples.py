"""The examples as a user runs them: they end well and print what their docstrings promise."""

import ast
import functools
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rbdyn_ros as rb
from rbdyn_ros.cli import main as rbdyn

EXAMPLES = Path(__file__).parents[1] / "examples"
NUMBER = r"-?\d+(?:\.\d+)?(?:e[-+]\d+)?"


@functools.cache
def output(name, *arguments):
    command = [sys.executable, str(EXAMPLES / name), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def promised(name):
    """Return the output in the docstring of an example: what is indented, but for the command."""
    text = ast.get_docstring(ast.parse((EXAMPLES / name).read_text()))
    lines = [line[4:] for line in text.splitlines() if line.startswith("    ")]
    return [line for line in lines if line != "..." and not line.startswith("python ")]


def numbers(line):
    return [float(number) for number in re.findall(NUMBER, line)]


def is_kept(promise, line):
    """Return whether a line says the same; errors, tiny numbers, may be ten times as large."""
    if re.sub(NUMBER, "", promise).split() != re.sub(NUMBER, "", line).split():
        return False
    return all(
        abs(found) < 10.0 * said
        if 0.0 < said < 1e-5
        else abs(found - said) < 2e-3 * (1 + abs(said))
        for said, found in zip(numbers(promise), numbers(line), strict=True)
    )


@pytest.mark.parametrize(
    "name", ["four_bar.py", "rolling_disk.py", "high_gain.py", "delta_robot.py"]
)
def test_an_example_prints_what_its_docstring_promises(name):
    lines = output(name).splitlines()
    assert len(promised(name)) >= 3
    for promise in promised(name):
        assert any(is_kept(promise, line) for line in lines), f"{promise!r} is not in {lines}"


def test_the_line_is_as_straight_as_the_linkage_says():
    """In cranks: the pivot is at 2, rocker and half the bar are 2.5 long, the tip is at 5."""
    crank = np.linspace(0.5, 1.5, 1001) * np.pi
    pin = np.exp(1j * crank)
    away = 2.0 - pin
    top = pin + away / 2.0 + 1j * away / abs(away) * np.sqrt(2.5**2 - abs(away / 2.0) ** 2)
    tip = 0.04 * (pin + 2.0 * (top - pin))
    length, height = numbers(output("four_bar.py").splitlines()[-1])
    assert length == pytest.approx(np.ptp(tip.real), abs=1e-3)  # its ends fall between samples
    assert height == pytest.approx(np.ptp(tip.imag), abs=2e-5)


def test_rods_of_the_delta_robot_keep_their_length():
    time, *place = numbers(output("delta_robot.py").splitlines()[-2])[:4]
    assert time == 1.0
    for k, motor in enumerate((0.5, 0.2, 0.2)):
        spoke = np.exp(2j * np.pi * k / 3)
        elbow = (0.2 + 0.25 * np.cos(motor)) * spoke
        wrist = complex(*place[:2]) + 0.06 * spoke
        drop = 0.25 * np.sin(motor) - place[2]
        assert np.hypot(abs(elbow - wrist), drop) == pytest.approx(0.5, abs=2e-4)


@pytest.mark.parametrize("name", ["four_bar.py", "rolling_disk.py"])
def test_an_example_saves_its_picture(name, tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    picture = tmp_path / "picture.png"
    output(name, "--save", str(picture))
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("name", "equations", "freedoms"), [("crank_slider.yaml", 5, 1), ("delta_robot.yaml", 18, 3)]
)
def test_a_mechanism_file_is_sound_and_moves_as_it_should(name, equations, freedoms):
    with pytest.raises(SystemExit) as end:
        rbdyn(["check", str(EXAMPLES / name)])
    assert end.value.code == 0
    m = rb.load(EXAMPLES / name)
    d = rb.make_data(m)
    rb.forward(m, d)
    assert m.nefc == equations
    assert np.abs(d.efc_pos).max() < 1e-12
    assert m.nv - d.efc_rank == freedoms
