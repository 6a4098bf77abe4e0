# SPDX-License-Identifier: Apache-2.0
"""Fixtures for launch files, which run with the real launch and launch_ros if installed.

The launch files start our nodes, or stand-ins that print their parameters and wait.
"""

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support import domains

LAUNCH = Path(__file__).parents[2] / "launch"

SERVICE = """
import sys
from launch import LaunchService, LaunchDescription
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
service = LaunchService()
try:
    from ros2launch.api.api import parse_launch_arguments as parse  # as the command does
except ImportError:
    parse = lambda words: [word.split(":=", 1) for word in words]
arguments = list(parse(sys.argv[2:]))
source = PythonLaunchDescriptionSource(sys.argv[1])
service.include_launch_description(LaunchDescription([
    IncludeLaunchDescription(source, launch_arguments=arguments)]))
sys.exit(service.run())
"""

REAL = "from rbdyn_ros.ros.{}.node import main\nmain()\n"
#: The folder of each node in rbdyn_ros/ros.
OURS = {"simulator": "simulator", "arm_controller": "arm"}

STAND_IN = """
import json, signal, sys
import rclpy
rclpy.init()
name = sys.argv[0].split("/")[-1]
node = rclpy.create_node(name, automatically_declare_parameters_from_overrides=True)
values = {k: p.value for k, p in node.get_parameters_by_prefix("").items()}
values = {k: list(v) if hasattr(v, "typecode") else v for k, v in values.items()}
values.pop("start_type_description_service", None)  # every node declares it, from Jazzy on
told = {"node": node.get_fully_qualified_name(), "argv": sys.argv[1:], "parameters": values}
print("TOLD", json.dumps(told), flush=True)
signal.pause()
"""

_count = itertools.count()
domain = domains.domain


class Launched:
    """A process of `ros2 launch`, whose output goes to a file."""

    def __init__(self, folder, domain, file, arguments, executables):
        self.log = folder / f"launch{next(_count)}.txt"
        env = dict(os.environ, ROS_DOMAIN_ID=str(domain), ROS_LOG_DIR=str(folder))
        env["AMENT_PREFIX_PATH"] = _install(folder / self.log.stem, executables)
        for name in ("ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_LOCALHOST_ONLY"):
            env.pop(name, None)
        with self.log.open("w") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-c", SERVICE, str(LAUNCH / file), *arguments],
                env=env,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    def text(self):
        return self.log.read_text()

    def wait_for(self, words, times=1, timeout=600.0):
        end = time.monotonic() + timeout
        while self.text().count(words) < times and self.process.poll() is None:
            assert time.monotonic() < end, f"'{words}' is not in the output:\n{self.text()}"
            time.sleep(0.1)
        assert self.text().count(words) >= times, f"'{words}' is not in the output:\n{self.text()}"

    def told(self, count=1):
        """Wait for `count` stand-ins; return what each prints (its parameters), by node name."""
        self.wait_for("TOLD", count)
        rows = re.findall(r"TOLD (\{.*\})", self.text())
        return {row["node"]: row for row in map(json.loads, rows)}

    def fails(self):
        """Wait until the launch fails; check that all processes have ended; return the output."""
        assert self.process.wait(120.0) == 1, self.text()
        end = time.monotonic() + 10.0
        while _is_alive(self.process.pid):
            assert time.monotonic() < end, f"a process was left behind:\n{self.text()}"
            time.sleep(0.1)
        return self.text()

    def end(self):
        """End the launch as Ctrl-C does; return its exit status."""
        os.killpg(self.process.pid, signal.SIGINT)
        return self.process.wait(120.0)


def _is_alive(group):
    """Return whether a process of the group still runs."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def _install(prefix, executables):
    """Make an install prefix in which `ros2 launch` finds packages and their executables."""
    for (package, name), code in executables.items():
        index = prefix / "share" / "ament_index" / "resource_index" / "packages"
        script = prefix / "lib" / package / name
        for folder in (index, script.parent):
            folder.mkdir(parents=True, exist_ok=True)
        (index / package).touch()
        script.write_text(f"#!{sys.executable}\n{code}")
        script.chmod(0o755)
    return os.pathsep.join([str(prefix), os.environ.get("AMENT_PREFIX_PATH", "")])


@pytest.fixture
def launch_file(tmp_path, domain):
    """Yield a function launch_file(name, *arguments, real, without) that returns a Launched.

    `real` starts our nodes and not stand-ins; packages in `without` are not found. All processes
    end with the test.
    """
    started = []

    def start(file, *arguments, real=False, without=()):
        executables = {
            **{
                ("rbdyn_ros", name): REAL.format(folder) if real else STAND_IN
                for name, folder in OURS.items()
            },
            ("rviz2", "rviz2"): STAND_IN,
            ("my_controllers", "balance"): STAND_IN,
        }
        executables = {key: code for key, code in executables.items() if key[0] not in without}
        launched = Launched(tmp_path, domain, file, arguments, executables)
        started.append(launched)
        return launched

    yield start
    for launched in started:
        if _is_alive(launched.process.pid):  # a failed launch may leave processes
            os.killpg(launched.process.pid, signal.SIGKILL)
        launched.process.wait()
