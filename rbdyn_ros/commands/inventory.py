# SPDX-License-Identifier: Apache-2.0
"""Find versions, caches, packages and permissions on this machine; a missing part is no error."""

import contextlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from rbdyn_ros import __version__, machine
from rbdyn_ros.errors import ParameterError
from rbdyn_ros.share import bundled_robots

_PACKAGE = "rbdyn_ros"
_LIBRARIES = ("numpy", "scipy", "numba", "llvmlite")
_DISTRIBUTION = re.compile(r"ros-([a-z]+)-rclpy")
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+).*\bextra\s*==\s*['\"]([\w-]+)['\"]")

#: Message packages that the nodes use; some of them are optional.
MESSAGES = (
    *("sensor_msgs", "std_srvs", "geometry_msgs", "nav_msgs", "tf2_msgs", "trajectory_msgs"),
    *("diagnostic_msgs", "visualization_msgs", "control_msgs", "simulation_interfaces"),
    "rbdyn_interfaces",
)

#: Parts of the compiled code, each with a kernel; a part is cached if its kernel's file exists.
_KERNELS = {
    "engine": "constants.survey-",
    "loop": "cycle.run-",
    "mimic joints and loops": "coupled._accelerate_by_address-",
    "contact": "obstacles._by_address-",
}

# These programs run in child processes, because rclpy may load conflicting libraries, and because
# this process must not keep priorities and locked memory.
_ASK_ROS = """
import json, os, rclpy
print(json.dumps({"rclpy": os.path.dirname(rclpy.__file__), "distro": os.environ.get("ROS_DISTRO"),
    "rmw": rclpy.get_rmw_implementation_identifier()}))
"""
_ASK_SYSTEM = """
import json
from rbdyn_ros.runtime.realtime import obtain
grant = obtain("try")
print(json.dumps({"SCHED_FIFO": grant.fifo, "locked memory": grant.memory,
    "timer slack": grant.timer_slack}))
"""
_PATIENCE = 30.0  # longest wait for such a process [s]


def inventory() -> dict[str, Any]:
    """Return the inventory as a dictionary for JSON.

    A permission is "" if it is granted, else the reason of its refusal. A query that failed has
    the key `error`.
    """
    asked = {"ros": _start(_ASK_ROS), "permissions": _start(_ASK_SYSTEM)}
    found: dict[str, Any] = {
        "version": __version__,
        "python": {"version": platform.python_version(), "path": sys.executable},
        "platform": platform.platform(),
        "processor": machine.processor(),
        "cores": machine.cores(),
        "libraries": {name: _version(name) for name in _LIBRARIES} | {"LLVM": _llvm()},
        "cache": cache(),
        "extras": extras(),
        "robots": _robots(),
        "messages": {name: _is_there(name) for name in MESSAGES},
    }
    found |= {name: _answer(process) for name, process in asked.items()}
    if "error" not in found["ros"] and not found["ros"]["distro"]:
        found["ros"]["distro"] = _distribution_of_wheels(found["extras"])
    return found


def _distribution_of_wheels(extras: dict[str, dict[str, str | None]]) -> str | None:
    """Return the ROS distribution that the names of wheels show; None: there are no such wheels.

    Wheels do not set ROS_DISTRO.
    """
    for needed in extras.values():
        for name, version in needed.items():
            named = _DISTRIBUTION.match(name)
            if named and version is not None:
                return named.group(1)
    return None


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _llvm() -> str | None:
    try:
        from llvmlite.binding import llvm_version_info
    except ImportError:
        return None
    return ".".join(map(str, llvm_version_info))


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _robots() -> list[str]:
    try:
        return list(bundled_robots())
    except ParameterError:
        return []


def extras() -> dict[str, dict[str, str | None]]:
    """Return for each extra the versions of its packages; None: the package is missing."""
    try:
        lines = importlib.metadata.requires(_PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:
        return {}
    found: dict[str, dict[str, str | None]] = {}
    for line in lines:
        if named := _REQUIREMENT.match(line):
            name, extra = named.groups()
            found.setdefault(extra, {})[name] = _version(name)
    return found


def cache() -> dict[str, Any]:
    """Return the folder of compiled kernels, its size and parts, and sizes of other versions."""
    from rbdyn_ros.engine.compiler.jit import CACHE_DIRECTORY, DISABLED
    from rbdyn_ros.runtime import compiled

    if not CACHE_DIRECTORY:
        off, no = "NUMBA_DISABLE_JIT switches compilation off", "no folder for it can be made"
        empty: dict[str, Any] = {"path": None, "bytes": 0, "other_versions_bytes": 0}
        return {**empty, "compiled": {}, "reason": off if DISABLED else no}
    here = Path(CACHE_DIRECTORY)
    # the folder has the cache of this runtime, and perhaps caches of older runtimes
    runtimes = list(here.glob("runtime-*"))
    stale = [path for path in runtimes if path != Path(compiled.CACHE_DIRECTORY)]
    names = [
        path.name
        for path in here.rglob("*.nbi")
        if not any(folder in path.parents for folder in stale)
    ]
    there = {
        what: any(name.startswith(kernel) for name in names) for what, kernel in _KERNELS.items()
    }
    size, everything = _size(here), _size(here.parent)
    return {
        "path": str(here),
        "bytes": size,
        "other_versions_bytes": everything - size,
        "compiled": there,
    }


def _size(folder: Path) -> int:
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):  # another process may have replaced the file
                total += Path(where, name).stat().st_size
    return total


def _start(code: str) -> subprocess.Popen[str]:
    return subprocess.Popen(  # noqa: S603 - our own Python and code
        [sys.executable, "-c", code],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _answer(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Return the JSON in the last line of a process's output; if it fails, {"error": reason}."""
    try:
        printed, wrong = process.communicate(timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return {"error": f"no answer within {_PATIENCE:g} s"}
    try:
        answer: dict[str, Any] = json.loads(printed.strip().splitlines()[-1])
    except (ValueError, IndexError):
        lines = wrong.strip().splitlines()
        return {"error": lines[-1] if lines else f"exit status {process.returncode}"}
    return answer
