# SPDX-License-Identifier: Apache-2.0
"""Find ROS packages as ROS finds them: by package.xml, wherever a robot is cloned or built.

The places, in this order:

1. the given folders: each is the package, or has it somewhere below;
2. around the robot file: the folders above it, and the packages that one of them has; if a folder
   above is a repository, a workspace or its `src`, deeper folders too;
3. the workspaces of AMENT_PREFIX_PATH, and the folders of ROS_PACKAGE_PATH and
   GZ_SIM_RESOURCE_PATH.

A package may be in a folder of another name.
"""

import importlib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from rbdyn_ros.checks.names import kind_of
from rbdyn_ros.errors import ParameterError, not_allowed, quote
from rbdyn_ros.share import PACKAGE, share_dir

PACKAGE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
MANIFEST = "package.xml"

#: Variables that list folders with many packages; Gazebo models are named like packages.
_PATHS = ("ROS_PACKAGE_PATH", "GZ_SIM_RESOURCE_PATH")
_NAME = re.compile(rb"<name>\s*([A-Za-z0-9_.-]+)\s*</name>")
_MANIFEST_BYTES = 1 << 20
#: colcon does not look for packages below a folder with one of these files.
_IGNORED = ("COLCON_IGNORE", "AMENT_IGNORE", "CATKIN_IGNORE")
#: A folder with one of these entries holds a repository or a workspace.
_ROOTS = (".git", "src", "install")
#: Largest number of folders of a tree that are searched, and their largest depth.
_MOST_FOLDERS, _DEEPEST = 5000, 7


def folders(package_dirs: object) -> tuple[Path, ...]:
    """Return the folders of the argument `package_dirs`: a path, or a list of paths.

    Raises: ParameterError: the argument is anything else.
    """
    if isinstance(package_dirs, str | os.PathLike):
        return (Path(package_dirs),)
    allowed = "a path or a list of paths"
    if isinstance(package_dirs, bytes) or not isinstance(package_dirs, Iterable):
        raise not_allowed("package_dirs", package_dirs, allowed, "package_dirs")
    found = tuple(package_dirs)
    for folder in found:
        if not isinstance(folder, str | os.PathLike):
            raise not_allowed("package_dirs", folder, allowed, "package_dirs")
    return tuple(map(Path, found))


def find_package(
    name: str, package_dirs: Sequence[str | Path] = (), robot: Path | None = None
) -> Path | None:
    """Return the share or source folder of a package, or None.

    The arguments are those of find_packages.
    """
    return next(find_packages(name, package_dirs, robot), None)


def find_packages(
    name: str, package_dirs: Sequence[str | Path] = (), robot: Path | None = None
) -> Iterator[Path]:
    """Yield the folders of a package, the nearest first: source and installation can both exist.

    Args:
        name: name of the package.
        package_dirs: folders to search first.
        robot: folder of the robot file; None: it is given as text.
    """
    if not PACKAGE_NAME.fullmatch(name):
        return
    for folder in folders(package_dirs):
        yield from _at(folder, name)
        yield from _below(folder, name)
    if robot is not None:
        around = _around(robot.resolve(), name)
        yield from (found for found in around if not is_open(found))
    yield from _sourced(name)


def not_found(package: str) -> str:
    """Return the message about a package that is not found."""
    return (
        f"the package {quote(package)} is not found; add the folder that contains it to "
        "package_dirs (--package-dir), or source its ROS workspace"
    )


def is_package(folder: Path, name: str) -> bool:
    """Return whether a folder has the package.xml of a package of this name."""
    try:
        with (folder / MANIFEST).open("rb") as file:
            named = _NAME.search(file.read(_MANIFEST_BYTES))
    except (OSError, ValueError):
        return False
    return named is not None and named[1].decode() == name


def is_of_package(path: Path, name: str) -> bool:
    """Return whether a file is inside a package of this name."""
    folder = own_package(path.parent)
    return folder is not None and is_package(folder, name)


def own_package(folder: Path) -> Path | None:
    """Return the folder or the nearest folder above that has a package.xml, or None."""
    return next((x for x in (folder, *folder.parents) if (x / MANIFEST).is_file()), None)


def _at(folder: Path, name: str) -> Iterator[Path]:
    """Yield this folder if it is the package, and its subfolder with the name of the package."""
    if folder.is_dir() and (folder.resolve().name == name or is_package(folder, name)):
        yield folder.resolve()
    if kind_of(folder / name) == "folder":
        yield (folder / name).resolve()


def _below(top: Path, name: str, *, trusted: bool = True) -> Iterator[Path]:
    """Yield the packages of this name in a tree of folders, the highest first.

    In a tree that the user did not name (not `trusted`), folders that everybody can write to are
    not searched.
    """
    top = top.resolve()
    level, count = [top], 0
    for _ in range(_DEEPEST):
        deeper: list[Path] = []
        for place in level:
            names = _entries(place)
            if place != top and not names.isdisjoint(_IGNORED):
                continue
            if MANIFEST in names and is_package(place, name):
                yield place
            deeper += [place / entry for entry in sorted(names) if entry[0] != "."]
            count += 1
            if count == _MOST_FOLDERS:
                return
        level = [x for x in deeper if x.is_dir() and (trusted or not is_open(x))]


def _around(robot: Path, name: str) -> Iterator[Path]:
    """Yield the packages of this name above a robot, next to it, and in its workspace.

    A folder above the robot is the package if the folder has the package's package.xml or name:
    sets of robots are often shared without package.xml.
    """
    above = [place for place in (robot, *robot.parents) if not is_open(place)]
    for place in above:
        if is_package(place, name) or (place.name == name and not _is_shared(place)):
            yield place
        if is_package(place / name, name):
            yield (place / name).resolve()
    for place in above:
        if _is_home(place) or not _is_top(place):
            yield from _beside(place, name)
        is_root = place.name == "src" or any((place / entry).exists() for entry in _ROOTS)
        if is_root and not _is_shared(place):
            yield from _below(place, name, trusted=False)


def _beside(place: Path, name: str) -> Iterator[Path]:
    """Yield the packages of this name directly below a folder, in folders of other names."""
    yield from (place / entry for entry in _entries(place) if is_package(place / entry, name))


def _sourced(name: str) -> Iterator[Path]:
    """Yield the packages of this name in the sourced environment, and this package itself."""
    with suppress(ImportError, LookupError, ValueError, OSError):
        packages = importlib.import_module("ament_index_python.packages")
        yield Path(packages.get_package_share_directory(name))
    for prefix in listed("AMENT_PREFIX_PATH"):  # this also works if ament is not installed
        if kind_of(prefix / "share" / name) == "folder":
            yield (prefix / "share" / name).resolve()
    for folder in (entry for variable in _PATHS for entry in listed(variable)):
        yield from _at(folder, name)
        yield from _beside(folder, name)
    if name == PACKAGE:
        with suppress(ParameterError):
            yield share_dir()


def listed(variable: str) -> list[Path]:
    """Return the folders in a variable of the environment."""
    return [Path(entry) for entry in os.environ.get(variable, "").split(os.pathsep) if entry]


def _entries(folder: Path) -> set[str]:
    try:
        return {entry.name for entry in folder.iterdir()}
    except OSError:
        return set()


def _is_shared(folder: Path) -> bool:
    """Return whether a folder is the home folder, /, or directly below /: outside any robot."""
    return _is_home(folder) or _is_top(folder)


def _is_home(folder: Path) -> bool:
    return folder == Path(os.environ.get("HOME", folder.anchor)).resolve()


def _is_top(folder: Path) -> bool:
    """Return whether a folder is / or directly below /, as /home, with files of other users."""
    return folder.parent == folder.parent.parent


def is_open(folder: Path) -> bool:
    """Return whether everybody can write to a folder, such as /tmp; True if this is unknown."""
    try:
        return bool(folder.stat().st_mode & stat.S_IWOTH)
    except (OSError, ValueError):
        return True
