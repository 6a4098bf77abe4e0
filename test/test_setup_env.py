# SPDX-License-Identifier: Apache-2.0
"""tools/setup_env.py chooses ROS 2 and Python, runs steps, and reports missing parts."""

import importlib.util
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def setup_env():
    spec = importlib.util.spec_from_file_location("setup_env", ROOT / "tools" / "setup_env.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def message(call, *arguments):
    """Return the message with which a call ends the program."""
    with pytest.raises(SystemExit) as ended:
        call(*arguments)
    return str(ended.value)


def test_each_ros_release_has_an_environment_and_an_extra(setup_env):
    names = [setup_env.choose_ros(name).folder.name for name in setup_env.ROS]
    assert names == [".venv", ".venv-jazzy"]
    extras = re.findall(r'"(ros[a-z-]*)": ', (ROOT / "setup.py").read_text())
    assert extras == list(setup_env.ROS.values())


@pytest.mark.parametrize("name", ["humble", "lyrical", "", "Jazzy"])
def test_a_ros_release_without_wheels_is_refused(setup_env, name):
    said = message(setup_env.choose_ros, name)
    assert f"ROS is '{name}'" in said
    assert "ROS=kilted, ROS=jazzy" in said
    assert "workspace" in said


def test_another_ros_release_repeats_every_step_of_the_setup(setup_env):
    info = {"version": [3, 12], "base": "/usr"}
    one, other = (setup_env.wanted_stamps(info, name) for name in setup_env.ROS)
    assert all(one[step] != other[step] for step in one)


def test_other_extras_for_tests_repeat_only_the_step_of_the_tests(setup_env):
    info, extras = {"version": [3, 12], "base": "/usr"}, (setup_env.TESTS, "test-nodes")
    usual, few = (setup_env.wanted_stamps(info, "jazzy", each) for each in extras)
    assert [step for step in usual if usual[step] != few[step]] == ["tests"]


@pytest.mark.parametrize("version", [[3, 9], [3, 15]])
def test_a_too_old_or_too_new_python_is_refused(setup_env, monkeypatch, version):
    info = {"version": version, "executable": "python3"}
    monkeypatch.setattr(setup_env, "probe", lambda _: info)
    said = message(setup_env.choose_python, None, None)
    assert "Python 3.10 to 3.14 is needed" in said
    assert f"python3 is Python 3.{version[1]}" in said
    assert "PYTHON=/path/to/python3.12" in said


def test_a_missing_compiler_is_reported(setup_env, monkeypatch):
    for name in ("CC", "CXX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(setup_env.shutil, "which", lambda _: None)
    monkeypatch.setattr(setup_env.platform, "machine", lambda: "x86_64")
    info = {"version": [3, 12], "executable": "python3", "venv": True, "headers": True}
    said = message(setup_env.check_prerequisites, info)
    assert "a C compiler" in said
    assert "sudo apt install build-essential" in said


def test_a_missing_network_is_reported(setup_env, monkeypatch, tmp_path, capsys):
    """The address of the package index is a local port without a server."""
    monkeypatch.setattr(setup_env, "ROOT", tmp_path)
    env = setup_env.Environment("kilted")
    env.folder.mkdir()
    pip = [sys.executable, "-m", "pip", "--isolated", "download", "--no-cache-dir"]
    pip += [
        "--retries",
        "1",
        "--index-url",
        "http://127.0.0.1:9/",
        "--dest",
        str(tmp_path),
        "no-such-package",
    ]
    said = message(setup_env.run_logged, env, *pip)
    assert "the package index of pip cannot be reached" in said
    assert str(env.log) in said
    assert "no-such-package" in capsys.readouterr().out


def test_a_failure_of_another_kind_is_reported_by_its_exit_status(
    setup_env, monkeypatch, tmp_path
):
    monkeypatch.setattr(setup_env, "ROOT", tmp_path)
    env = setup_env.Environment("kilted")
    env.folder.mkdir()
    said = message(setup_env.run_logged, env, sys.executable, "-c", "raise SystemExit(3)")
    assert "exit status 3" in said


def test_a_program_in_the_folder_of_the_clone_imports_the_package(
    setup_env, monkeypatch, tmp_path
):
    """Clone and package have the same name, so Python could import the clone's folder instead."""
    clone, env = tmp_path / "rbdyn_ros", setup_env.Environment("kilted")
    monkeypatch.setattr(setup_env, "ROOT", clone)
    monkeypatch.setattr(setup_env, "run_logged", lambda *_: None)
    packages = env.folder / "lib" / "python3.11" / "site-packages"
    for folder in (clone / "rbdyn_ros", packages):
        folder.mkdir(parents=True)
    (clone / "rbdyn_ros" / "__init__.py").touch()
    setup_env.install_ros(env, {})
    code = f"import site; site.addsitedir({str(packages)!r}); import rbdyn_ros as it; print(it)"
    command = [sys.executable, "-S", "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert str(clone / "rbdyn_ros" / "__init__.py") in done.stdout


def test_make_uses_the_environment_of_the_chosen_ros_release():
    command = ["make", "-n", "sim", "ROS=jazzy"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert ".venv-jazzy/bin/rbdyn sim" in done.stdout
    assert "--ros 'jazzy' --users" in " ".join(done.stdout.split())


def test_setup_py_refuses_an_old_python():
    """colcon runs setup.py, but does not check python_requires."""
    code = "import sys; sys.version_info = (3, 8, 10); exec(open('setup.py').read())"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "rbdyn_ros needs Python 3.10 or later, as in ROS 2 Humble; this is Python 3.8."
    ]


def fake_steps(setup_env, monkeypatch, tmp_path, **actions):
    """Replace the steps of set_up by `actions` in an empty folder; return the Environment."""
    info = {"version": [3, 12], "executable": sys.executable, "base": "/usr"}
    monkeypatch.setattr(setup_env, "ROOT", tmp_path)
    monkeypatch.setattr(setup_env, "choose_python", lambda *_: info)
    monkeypatch.setattr(setup_env, "check_prerequisites", lambda _: None)
    monkeypatch.setattr(setup_env, "wanted_stamps", lambda *_: dict.fromkeys(actions, "new"))
    steps = {name: (name, lambda _env, _info, act=act: act()) for name, act in actions.items()}
    monkeypatch.setattr(setup_env, "STEPS", steps)
    env = setup_env.Environment("kilted")
    env.folder.mkdir()
    env.python.parent.mkdir()
    env.python.touch()
    return env


def test_set_up_compiles_the_engine_while_it_installs_packages(setup_env, monkeypatch, tmp_path):
    order = []
    first = {name: lambda name=name: order.append(name) for name in ("environment", "packages")}
    second = dict.fromkeys(("ros", "engine"), threading.Barrier(2, timeout=60.0).wait)
    third = ("interfaces", "tests")
    third = dict.fromkeys(third, threading.Barrier(2, timeout=60.0).wait)
    steps = first | second | third
    env = fake_steps(setup_env, monkeypatch, tmp_path, **steps)
    setup_env.set_up(env, None, tuple(setup_env.STEPS))
    assert order == ["environment", "packages"]
    assert setup_env.read_stamps(env).keys() == {"python", *steps}
    setup_env.set_up(env, None, tuple(steps))
    assert len(order) == 2  # no step runs twice


def test_set_up_runs_only_missing_steps_again_after_a_failed_step(
    setup_env, monkeypatch, tmp_path
):
    ran = []
    act = {name: lambda name=name: ran.append(name) for name in ("environment", "packages")}
    act["tests"] = lambda: setup_env.fail("the step failed")
    env = fake_steps(setup_env, monkeypatch, tmp_path, **act)
    for _ in range(2):
        assert "the step failed" in message(setup_env.set_up, env, None, tuple(act))
    assert ran == ["environment", "packages"]
