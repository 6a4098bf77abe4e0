# SPDX-License-Identifier: Apache-2.0
"""Find the data files of the package: bundled robots, launch and config files."""

from __future__ import annotations

from pathlib import Path

from rbdyn_ros.errors import Finding, ParameterError, did_you_mean
from rbdyn_ros.share import ROBOTS, share_dir

__all__ = ["bundled_robot", "bundled_robots", "share_dir"]


def bundled_robots() -> tuple[str, ...]:
    """Return the names of the robots that ship with the package, sorted."""
    return tuple(sorted(path.stem for path in (share_dir() / ROBOTS).glob("*.urdf")))


def bundled_robot(name: str) -> Path:
    """Return the URDF file of a bundled robot.

    Args:
        name: file name without ``.urdf``, for example ``seven_dof_arm``.

    Raises:
        ParameterError: no robot of that name is bundled.
    """
    known = bundled_robots()
    if name in known:
        return share_dir() / ROBOTS / f"{name}.urdf"
    allowed = ", ".join(known)
    hint = did_you_mean(name, known)
    message = f"No bundled robot is called '{name}'{hint}; there are: {allowed}."
    raise ParameterError(Finding("unknown-robot", message, found=name, allowed=allowed))
