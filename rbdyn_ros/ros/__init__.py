# SPDX-License-Identifier: Apache-2.0
"""The ROS 2 nodes and their Python client; only this folder imports rclpy."""

import importlib.metadata
import importlib.util
import os
import sys
from pathlib import Path

#: The middleware of the ROS 2 wheels on PyPI: their librcl is linked to it and loads no other.
_FAST_DDS = "rmw_fastrtps_cpp"


def rclpy_is_a_wheel() -> bool:
    """Return whether `import rclpy` finds the wheel, and not the rclpy of a sourced ROS 2."""
    try:
        wheel = importlib.metadata.distribution("ros-rclpy").locate_file("rclpy")
        found = importlib.util.find_spec("rclpy")
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return False
    return found is not None and Path(str(found.origin)).parent == Path(str(wheel))


def why_no_ros(error: ImportError) -> str:
    """Return why this ImportError of a node occurred, and how to remedy it."""
    cure = 'install ROS 2 from PyPI (pip install "rbdyn_ros[sim]") or source an installed ROS 2'
    found = importlib.util.find_spec("rclpy")
    if found is None or found.origin is None:
        return f"this Python has no ROS 2: {cure}"
    try:
        importlib.import_module("rclpy")
    except ImportError as reason:
        version = "{}.{}".format(*sys.version_info)
        return (
            f"the ROS 2 at '{Path(found.origin).parent}' does not run in Python {version} "
            f"({_first_line(reason)}): use the Python that it was built for, or {cure}"
        )
    return f"{_first_line(error)}: install it for {sys.executable}"


def _first_line(error: ImportError) -> str:
    return str(error).partition("\n")[0]


def _drop_other_middleware() -> None:
    """Drop RMW_IMPLEMENTATION if the ROS 2 of this Python does not have that middleware.

    Otherwise librcl ends the process with status 102 while rclpy is imported.
    """
    name = os.environ.get("RMW_IMPLEMENTATION", "")
    if name in ("", _FAST_DDS) or "rclpy" in sys.modules or not rclpy_is_a_wheel():
        return
    del os.environ["RMW_IMPLEMENTATION"]
    text = f"RMW_IMPLEMENTATION={name} is ignored: ROS 2 from PyPI has {_FAST_DDS} only"
    print(f"rbdyn: {text}", file=sys.stderr)


_drop_other_middleware()
