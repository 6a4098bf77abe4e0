# SPDX-License-Identifier: Apache-2.0
"""The examples run, and print the lines in their docstrings."""

import ast
import atexit
import functools
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from support import robots

import rbdyn_ros as rb
from rbdyn_ros.cli import main as rbdyn

EXAMPLES = Path(__file__).parents[2] / "examples"
NUMBER = r"-?\d+(?:\.\d+)?(?:e[-+]\d+)?"


@functools.cache
def run(name, *arguments):
    """Run an example with arguments, once; return its output and the folder of its pictures."""
    folder = Path(tempfile.mkdtemp(prefix="rbdyn_ros_"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    command = [sys.executable, str(EXAMPLES / name), *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, folder


def drawn(name):
    """Run an example, with a film if it makes one; return its output and its folder."""
    return run(name, *FILMS.get(name, ()))


def output(name):
    return drawn(name)[0]


def expected_lines(name):
    """Return the indented lines of an example's docstring, without its commands."""
    text = ast.get_docstring(ast.parse((EXAMPLES / name).read_text()))
    lines = [line[4:] for line in text.splitlines() if line.startswith("    ")]
    return [line for line in lines if line != "..." and not line.startswith("python ")]


def numbers(line):
    return [float(number) for number in re.findall(NUMBER, line)]


def matches(expected, line):
    """Return whether a line has the expected words and numbers, within tolerances."""
    if re.sub(NUMBER, "", expected).split() != re.sub(NUMBER, "", line).split():
        return False
    return all(
        abs(found) < 10.0 * wanted
        if 0.0 < wanted < 1e-5
        else abs(found - wanted) < 2e-3 * (1 + abs(wanted))
        for wanted, found in zip(numbers(expected), numbers(line), strict=True)
    )


COSTS = expected_lines("cost_of_dynamics.py")
PICTURES = [
    "four_bar.py", "rolling_disk.py", "high_gain.py", "rotating_box.py", "spinning_top.py",
    "dzhanibekov.py", "double_pendulum.py", "integrators.py", "computed_torque.py",
]  # fmt: skip
#: Options of examples that make a film; the same run tests film and output.
FILMS = {"spinning_top.py": ("--film",)}
# after many impacts the fall depends on how the processor rounds
HUMANOID = pytest.param("falling_humanoid.py", marks=[robots.needs_robots, pytest.mark.nightly])


@pytest.mark.parametrize("name", [*PICTURES, "delta_robot.py", "lidar_stop.py"])
def test_an_example_prints_the_lines_in_its_docstring(name):
    lines = output(name).splitlines()
    assert len(expected_lines(name)) >= 2
    for expected in expected_lines(name):
        assert any(matches(expected, line) for line in lines), f"{expected!r} is not in {lines}"


def test_the_gravity_node_finds_its_robot_from_any_folder(monkeypatch, tmp_path):
    """Like an entry point, the test calls main() without arguments."""
    pytest.importorskip("rclpy", reason="rclpy is not installed")
    node = runpy.run_path(str(EXAMPLES / "gravity_node.py"))
    loaded = []

    def note(urdf):
        loaded.append(urdf)
        raise LookupError  # end main() here

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(node["rclpy"], "init", lambda **_: None)
    # the node must not replace the signal handlers of this process
    monkeypatch.setattr(node["signal"], "signal", lambda *_: None)
    monkeypatch.setitem(node["main"].__globals__, "GravityNode", note)
    with pytest.raises(LookupError):
        node["main"]()
    assert rb.load_urdf(loaded[0]).name == "seven_dof_arm"


def test_hoekens_linkage_draws_the_computed_line():
    """In units of the crank's length, the pivot is at 2, the rocker is 2.5 long, and the bar 5."""
    crank = np.linspace(0.5, 1.5, 1001) * np.pi
    pin = np.exp(1j * crank)
    away = 2.0 - pin
    top = pin + away / 2.0 + 1j * away / abs(away) * np.sqrt(2.5**2 - abs(away / 2.0) ** 2)
    tip = 0.04 * (pin + 2.0 * (top - pin))
    length, height = numbers(output("four_bar.py").splitlines()[-1])
    # the tip turns round between two samples
    assert length == pytest.approx(np.ptp(tip.real), abs=1e-3)
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


@pytest.mark.parametrize("name", [*PICTURES, HUMANOID])
def test_an_example_draws_its_picture(name):
    """A picture is not empty, and small enough for docs/pictures."""
    picture = (drawn(name)[1] / name).with_suffix(".png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert 10_000 < len(picture) < 90_000


def test_an_example_writes_its_film():
    assert (drawn("spinning_top.py")[1] / "spinning_top.gif").read_bytes()[:3] == b"GIF"


def line_of(name, start):
    """Return the numbers in the line of an example's output that begins with `start`."""
    (line,) = (line for line in output(name).splitlines() if line.startswith(start))
    return numbers(line[len(start) :])


def test_the_box_satisfies_eulers_equation():
    """SciPy integrates Euler's equation in body axes, with dR/dt = R [w x]."""
    I = 3.0 * np.array([0.4**2 + 0.9**2, 0.1**2 + 0.9**2, 0.1**2 + 0.4**2])

    def rate(_t, x):
        w, R = x[:3], x[3:].reshape(3, 3)
        return np.concatenate([np.cross(I * w, w) / I, np.cross(R, w).ravel()])

    start = np.concatenate([np.ones(3), np.eye(3).ravel()])
    end = solve_ivp(rate, (0.0, 5.0), start, rtol=1e-10, atol=1e-12).y[:, -1]
    w = end[3:].reshape(3, 3) @ end[:3]
    assert line_of("rotating_box.py", "angular velocity")[:3] == pytest.approx(w, abs=1e-4)


def test_the_box_conserves_momentum_and_energy():
    momentum, momentum_of_euler = line_of("rotating_box.py", "angular momentum")
    energy, energy_of_euler = line_of("rotating_box.py", "energy of turning")
    (fall,) = line_of("rotating_box.py", "energy of the whole fall")
    assert max(momentum, energy, fall) < 1e-9
    assert min(momentum_of_euler, energy_of_euler) > 0.01  # Euler's method conserves neither


def test_the_top_has_the_rates_of_steady_precession():
    """The rates solve A W^2 cos(tilt) - C spin W + m g l = 0 about the foot."""
    mass = 2700.0 * np.pi * 0.2**2 * 0.05
    A, C = mass * ((3 * 0.2**2 + 0.05**2) / 12 + 0.2**2), mass * 0.2**2 / 2
    _, spin = line_of("spinning_top.py", "it landed after")
    slow, fast = sorted(np.roots([A * 0.99, -C * spin, mass * 9.8 * 0.2]).real)
    lines = [numbers(line) for line in output("spinning_top.py").splitlines()[1:7]]
    for (_, coarse, nods), tolerance in ((lines[2], 0.02), (lines[5], 0.001)):
        assert coarse == pytest.approx(slow, rel=tolerance)
        # friction of the sliding foot damps the nutation
        assert nods == pytest.approx(fast, rel=0.1)
    for sliding, (_, _, nods) in ((lines[1], lines[2]), (lines[4], lines[5])):
        assert nods == pytest.approx(sliding[1], rel=0.01)


def test_the_wing_nut_flips_with_the_exact_period():
    measured, exact, off = line_of("dzhanibekov.py", "a flip every")
    assert measured == pytest.approx(exact, abs=1e-4)
    assert off < 1e-8


def test_integrators_converge_with_their_orders():
    for name in ("euler", "implicit_damping", "euler, floating", "euler, sixdof_fp"):
        assert line_of("integrators.py", f"order of {name:21}")[0] == pytest.approx(1.0, abs=0.06)
    for name in ("rk4", "rk4, floating", "rk4, sixdof_fp"):
        assert line_of("integrators.py", f"order of {name:21}")[0] == pytest.approx(4.0, abs=0.05)


def test_double_pendulums_diverge_while_energy_is_conserved():
    rk4, default = line_of("double_pendulum.py", "energy is off")[0::2]
    assert rk4 < 1e-6 < default
    _, seconds = line_of("double_pendulum.py", "1e-09 rad apart at first;")
    assert 5.0 < seconds < 20.0


@robots.needs_robots
@pytest.mark.nightly  # test_contact_robots.py has a humanoid that comes to rest
def test_the_humanoid_is_at_rest_from_10_s_to_40_s():
    fastest, begin, end, quiet = line_of("falling_humanoid.py", "fastest joint")
    assert fastest > 5.0  # the robot has fallen
    assert (begin, end) == (10.0, 40.0)
    assert quiet < 1e-3
    force, weight = line_of("falling_humanoid.py", "the floor carries it")
    assert force == pytest.approx(weight, rel=1e-3)


def test_computed_torque_tracks_better_than_pd():
    (pd,), (gravity,), (exact,), (_, wrong) = (
        line_of("computed_torque.py", start)
        for start in ("PD   ", "PD with gravity term", "computed torque  ", "computed torque,")
    )
    assert 50.0 * exact < gravity < pd
    assert 10.0 * wrong < gravity


@pytest.mark.nightly
def test_costs_are_printed_for_every_algorithm():
    """The exponents are not compared, because they come from measured times."""
    lines = output("cost_of_dynamics.py").splitlines()
    assert [line[:29].strip() for line in lines] == [line[:29].strip() for line in COSTS]
    assert all(np.isfinite(numbers(line[29:])).all() for line in lines)


@pytest.mark.parametrize(
    ("name", "equations", "freedoms"), [("crank_slider.yaml", 5, 1), ("delta_robot.yaml", 18, 3)]
)
def test_a_mechanism_file_is_valid_and_has_its_degrees_of_freedom(name, equations, freedoms):
    with pytest.raises(SystemExit) as end:
        rbdyn(["check", str(EXAMPLES / name)])
    assert end.value.code == 0
    m = rb.load(EXAMPLES / name)
    d = rb.make_data(m)
    rb.forward(m, d)
    assert m.nefc == equations
    assert np.abs(d.efc_pos).max() < 1e-12
    assert m.nv - d.efc_rank == freedoms
