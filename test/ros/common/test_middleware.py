# SPDX-License-Identifier: Apache-2.0
"""A node reports in one line that its middleware or ROS 2 itself is missing."""

import os
import subprocess
import sys

import pytest
from test_interfaces import tool

pytest.importorskip("rclpy", reason="rclpy is not installed")

from rbdyn_ros import ros

WHEEL = pytest.mark.skipif(not ros.rclpy_is_a_wheel(), reason="rclpy is not from PyPI")


def start(code, middleware):
    env = dict(os.environ, RMW_IMPLEMENTATION=middleware)
    command = [sys.executable, "-c", f"{code}; import rclpy; rclpy.create_node"]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


@WHEEL
@pytest.mark.parametrize("code", ["import rbdyn_ros.ros", tool("setup_env").START.strip()])
def test_the_wheel_of_ros_ignores_another_middleware_with_a_warning(code):
    done = start(code, "rmw_cyclonedds_cpp")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("rbdyn: RMW_IMPLEMENTATION=rmw_cyclonedds_cpp is ignored")
    assert done.stderr.count("\n") == 1


@WHEEL
@pytest.mark.parametrize("middleware", ["", "rmw_fastrtps_cpp"])
def test_the_middleware_of_the_wheel_is_kept(middleware):
    done = start("import rbdyn_ros.ros", middleware)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_middleware_of_an_installed_ros_is_kept(monkeypatch, capsys):
    monkeypatch.setenv("RMW_IMPLEMENTATION", "rmw_cyclonedds_cpp")
    monkeypatch.delitem(sys.modules, "rclpy")
    monkeypatch.setattr(ros, "rclpy_is_a_wheel", lambda: False)
    ros._drop_other_middleware()
    assert os.environ["RMW_IMPLEMENTATION"] == "rmw_cyclonedds_cpp"
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("start", ["cli.main(['sim'])", "__main__.arm_controller()"])
@pytest.mark.parametrize(
    ("rclpy", "words"),
    [
        (None, "this Python has no ROS 2"),
        ("raise ImportError('no _rclpy_pybind11')", "does not run in Python"),
    ],
)
def test_a_missing_or_broken_ros_is_reported_in_one_line(tmp_path, start, rclpy, words):
    """ROS 2 is missing, or was installed for another Python."""
    code = f"from rbdyn_ros import cli, __main__; {start}"
    if rclpy is None:
        code = f"import sys; sys.modules['rclpy'] = sys.modules['rcl_interfaces'] = None; {code}"
    else:
        for name in ("rclpy", "rcl_interfaces"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "__init__.py").write_text(rclpy)
    env = dict(os.environ, PYTHONPATH=f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
    assert words in done.stderr
    assert 'pip install "rbdyn_ros[sim]"' in done.stderr


@pytest.mark.parametrize("start", ["cli.main(['sim'])", "__main__.arm_controller()"])
def test_a_missing_package_of_a_node_is_reported(start):
    """The message names this package, and does not say that ROS 2 is missing."""
    hidden = "import sys; sys.modules['sensor_msgs'] = None"
    command = [sys.executable, "-c", f"{hidden}; from rbdyn_ros import cli, __main__; {start}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
    assert "sensor_msgs" in done.stderr
    assert sys.executable in done.stderr
