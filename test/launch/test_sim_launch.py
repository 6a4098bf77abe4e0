"""launch/sim.launch.py with the real launch and launch_ros, where they are installed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("launch_ros", reason="launch and launch_ros are in no package registry")

from launch.launch_description_sources import PythonLaunchDescriptionSource

import launch

FILE = Path(__file__).parents[2] / "launch" / "sim.launch.py"

RUN = """
import sys
from launch import LaunchService, LaunchDescription
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
service = LaunchService()
arguments = [word.split(":=") for word in sys.argv[2:]]
source = PythonLaunchDescriptionSource(sys.argv[1])
service.include_launch_description(LaunchDescription([
    IncludeLaunchDescription(source, launch_arguments=arguments)]))
sys.exit(service.run())
"""


def install(prefix):
    """Make the folders in which `ros2 launch` finds this package and its executable."""
    index = prefix / "share" / "ament_index" / "resource_index" / "packages"
    script = prefix / "lib" / "rbdyn_ros" / "simulator"
    for folder in (index, script.parent):
        folder.mkdir(parents=True)
    (index / "rbdyn_ros").touch()
    script.write_text(f"#!{sys.executable}\nfrom rbdyn_ros.ros.simulator import main\nmain()\n")
    script.chmod(0o755)
    return os.pathsep.join([str(prefix), os.environ.get("AMENT_PREFIX_PATH", "")])


def run(tmp_path, *arguments):
    log = tmp_path / "log.txt"
    env = dict(os.environ, ROS_DOMAIN_ID="101", ROS_LOG_DIR=str(tmp_path))
    env["AMENT_PREFIX_PATH"] = install(tmp_path / "install")
    with log.open("w") as out:
        command = [sys.executable, "-c", RUN, str(FILE), *arguments]
        return subprocess.Popen(command, env=env, stdout=out, stderr=out), log


def until(condition, timeout):
    end = time.monotonic() + timeout
    while not condition() and time.monotonic() < end:
        time.sleep(0.1)


def test_arguments_have_descriptions_and_choices():
    description = PythonLaunchDescriptionSource(str(FILE)).get_launch_description(
        launch.LaunchContext()
    )
    arguments = {argument.name: argument for argument in description.get_launch_arguments()}
    assert set(arguments) >= {"urdf", "namespace", "start_paused", "use_sim_time", "rviz"}
    assert all(argument.description for argument in arguments.values())
    assert arguments["rviz"].choices == ["true", "false"]


def test_it_starts_in_its_namespace_and_ends_with_ctrl_c(tmp_path):
    process, log = run(tmp_path, "namespace:=left", "start_paused:=true")
    until(lambda: "simulating 'seven_dof_arm'" in log.read_text(), 60.0)
    assert "[left.simulator]" in log.read_text(), log.read_text()
    process.send_signal(signal.SIGINT)
    assert process.wait(15.0) == 0, log.read_text()
    assert "process has finished cleanly" in log.read_text()
    assert "Traceback" not in log.read_text()


def test_the_end_of_the_simulator_ends_the_launch(tmp_path):
    process, log = run(tmp_path, "urdf:=/no/such/file.urdf")
    assert process.wait(30.0) is not None
    assert "exit code 2" in log.read_text(), log.read_text()
