"""Files of requests: a path, ``file:///path`` or ``package://name/path``."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

from rbdyn_ros.description.urdf_files.xacro_files import find_package
from rbdyn_ros.errors import quote, refusal


def path_of(uri: str) -> Path:
    """Return the path that a URI names.

    Raises:
        RbdynError: there is no such package.
    """
    if not uri.startswith("package://"):
        return Path(unquote(uri.removeprefix("file://")))
    package, _, rest = uri.removeprefix("package://").partition("/")
    folder = find_package(package)
    if folder is None:
        raise refusal(f"the package {quote(package)} is not found; source its ROS workspace")
    return folder / unquote(rest)


def kind_of(path: Path) -> str:
    """Return "file", "folder", or "" if the path is neither or cannot be looked at."""
    try:
        return "file" if path.is_file() else "folder" if path.is_dir() else ""
    except (OSError, ValueError):  # the name is too long, has a null character, or is private
        return ""
