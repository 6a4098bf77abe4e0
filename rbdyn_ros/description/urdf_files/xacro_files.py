"""Expand xacro files.

xacro evaluates Python, so it runs on files that a user names, never on text.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import NoReturn

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.urdf_files.guard import refuse
from rbdyn_ros.errors import quote

PACKAGE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_XACRO_FIND = "_eval_find"  # xacro calls it for $(find ...); there is no public hook
_expanding = threading.Lock()  # xacro keeps its state in module globals


class _PackageNotFoundError(Exception):
    """A package was not found; the message is its name."""


def find_package(name: str, package_dirs: Sequence[str | Path] = ()) -> Path | None:
    """Return the share folder of a ROS package, or None.

    Args:
        name: name of the package.
        package_dirs: folders to search first; each may contain the package or be it. Then the
            sourced ROS workspaces are searched.
    """
    if not PACKAGE_NAME.fullmatch(name):
        return None
    for folder in map(Path, package_dirs):
        if folder.resolve().name == name and folder.is_dir():
            return folder.resolve()
        if (folder / name).is_dir():
            return (folder / name).resolve()
    try:
        packages = importlib.import_module("ament_index_python.packages")
        return Path(packages.get_package_share_directory(name))
    except (ImportError, LookupError, ValueError, OSError):
        return None  # no ROS here, no workspace sourced, or no such package


def expand(
    path: Path,
    audit: Audit,
    package_dirs: Sequence[str | Path] = (),
    xacro_args: Mapping[str, str] | None = None,
) -> str:
    """Expand a xacro file to URDF text, the same lines as the command ``xacro`` prints.

    Args:
        path: the file.
        audit: receives the warnings of xacro.
        package_dirs: folders to search for packages of ``$(find ...)``, before ROS.
        xacro_args: values for ``$(arg ...)``.

    Raises:
        DescriptionError: xacro is not installed or cannot expand the file.
    """
    try:
        xacro = importlib.import_module("xacro")
        substitution = importlib.import_module("xacro.substitution_args")
    except ImportError:
        message = "reading a xacro file needs the package xacro: pip install xacro"
        refuse("xacro-missing", message, str(path))
    printed = io.StringIO()
    with _expanding, _packages_from(substitution, package_dirs):
        try:
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                document = xacro.process_file(str(path), mappings=dict(xacro_args or {}))
            text: str = document.toprettyxml(indent="  ")
        except Exception as error:  # noqa: BLE001 - a file's own expressions may raise all
            _refuse(error, xacro, path)
    for line in dict.fromkeys(printed.getvalue().splitlines()):
        if line.strip():
            audit.add("warning", "xacro", "", None, f"xacro: {line.strip()}")
    return text


@contextlib.contextmanager
def _packages_from(substitution: ModuleType, package_dirs: Sequence[str | Path]) -> Iterator[None]:
    def find(name: str) -> str:
        folder = find_package(name, package_dirs)
        if folder is None:
            raise _PackageNotFoundError(name)
        return str(folder)

    original = getattr(substitution, _XACRO_FIND)
    setattr(substitution, _XACRO_FIND, find)
    try:
        yield
    finally:
        setattr(substitution, _XACRO_FIND, original)


def _refuse(error: Exception, xacro: ModuleType, path: Path) -> NoReturn:
    stack = [str(name) for name in getattr(xacro, "filestack", None) or [] if name]
    inside = f" (in {stack[-1]})" if stack and Path(stack[-1]) != path else ""
    missing = _package_not_found(error)
    if missing is not None:
        refuse(
            "package-not-found",
            f"the package of $(find {missing}) is not found{inside}; pass its folder in "
            "package_dirs, or source its ROS workspace",
            str(path),
            found=missing,
            allowed="a folder in package_dirs or an installed ROS package",
        )
    reason = " ".join(str(error).split()) or type(error).__name__
    line = getattr(error, "lineno", None)
    refuse(
        "xacro",
        f"xacro cannot expand this file{inside}: {quote(reason, 300)[1:-1]}",
        str(path),
        line if not inside else None,
        found=reason[:300],
    )


def _package_not_found(error: BaseException | None) -> str | None:
    for _ in range(20):  # bounded, for a chain of causes may be a loop
        if error is None:
            return None
        if isinstance(error, _PackageNotFoundError):
            return str(error)
        error = getattr(error, "exc", None) or error.__cause__ or error.__context__
    return None
