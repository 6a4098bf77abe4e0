# SPDX-License-Identifier: Apache-2.0
"""The folder of the data files of this package."""

from __future__ import annotations

from pathlib import Path

from rbdyn_ros.errors import Finding, ParameterError

PACKAGE = "rbdyn_ros"
ROBOTS = Path("config", "robots")


def share_dir() -> Path:
    """Return the folder with ``config/`` and ``launch/``.

    It is the repository for a checkout, an editable install and ``colcon build
    --symlink-install``, and ``<prefix>/share/rbdyn_ros`` for every other install.

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
