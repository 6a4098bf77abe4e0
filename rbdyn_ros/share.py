# SPDX-License-Identifier: Apache-2.0
"""Find the data files of this package: bundled robots, launch and config files."""

from pathlib import Path

from rbdyn_ros.errors import Finding, ParameterError, did_you_mean

PACKAGE = "rbdyn_ros"
ROBOTS = Path("config", "robots")


def share_dir() -> Path:
    """Return the folder with ``config/`` and ``launch/``.

    For a checkout, an editable install and ``colcon build --symlink-install`` it is the
    repository. For every other install it is ``<prefix>/share/rbdyn_ros``.

    Raises:
        ParameterError: the package was installed without its data files.
    """
    here = Path(__file__).resolve()
    checkout = here.parents[1]
    installed = (folder / "share" / PACKAGE for folder in here.parents)
    for folder in (checkout, *installed):
        if (folder / ROBOTS).is_dir():
            return folder
    message = (
        f"The data files of {PACKAGE} were not found: there is no 'share/{PACKAGE}/{ROBOTS}' "
        f"beside or above '{here.parent}'. Install the package again with pip or colcon."
    )
    raise ParameterError(Finding("no-share-dir", message, found=str(here.parent)))


def bundled_robots() -> tuple[str, ...]:
    """Return the sorted names of the robots that are bundled with the package."""
    return tuple(sorted(path.stem for path in (share_dir() / ROBOTS).glob("*.urdf")))


def bundled_robot(name: str) -> Path:
    """Return the URDF file of a bundled robot.

    Args:
        name: file name without ``.urdf``, for example ``seven_dof_arm``.

    Raises:
        ParameterError: there is no bundled robot with this name.
    """
    known = bundled_robots()
    if name in known:
        return share_dir() / ROBOTS / f"{name}.urdf"
    allowed = ", ".join(known)
    hint = did_you_mean(name, known)
    message = f"No bundled robot is called '{name}'{hint}; there are: {allowed}."
    raise ParameterError(Finding("unknown-robot", message, found=name, allowed=allowed))
