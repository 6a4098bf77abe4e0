# SPDX-License-Identifier: Apache-2.0
"""Find meshes and textures of a robot, only inside its own folder and ROS packages."""

import importlib
import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from types import ModuleType
from urllib.parse import unquote

from rbdyn_ros.checks.names import kind_of
from rbdyn_ros.description.reading import packages
from rbdyn_ros.description.reading.requests import note_opened
from rbdyn_ros.errors import quote

SUFFIXES = (".stl", ".dae", ".obj")

#: A file of a package, as robots, Gazebo and launch files name it.
_IN_PACKAGE = re.compile(r"(?:(?:package|model)://|\$\(find(?:-pkg-share)? )/*([^/)]*)\)?/*(.*)")
_FILE = "file://"
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


class UnusableMeshError(Exception):
    """A mesh cannot be used.

    The message is a predicate without a subject, such as "has no convex hull"; callers write the
    name of the file before it.

    Attributes:
        code: code of the finding.
        allowed: what is accepted instead; empty: nothing else is accepted.
    """

    def __init__(self, code: str, message: str, allowed: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.allowed = allowed


class MeshFiles:
    """Finds the mesh files of one robot, or the files that a mesh names."""

    def __init__(
        self,
        folder: Path | None,
        package_dirs: Sequence[str | Path] = (),
        *,
        suffixes: Sequence[str] = SUFFIXES,
    ) -> None:
        """Set the folders to search.

        Args:
            folder: folder of the file that names other files; None for a robot given as text,
                which can name only files of packages.
            package_dirs: folders that contain a package or are a package.
            suffixes: suffixes of the files to find, in small letters.
        """
        self._suffixes = suffixes
        self._folder = folder.resolve() if folder is not None else None
        self._package_dirs = packages.folders(package_dirs)
        self._packages: dict[str, list[Path]] = {}

    def of(self, suffixes: Sequence[str]) -> "MeshFiles":
        """Return a finder of files with other suffixes in the same folders."""
        return MeshFiles(self._folder, self._package_dirs, suffixes=suffixes)

    def find(self, name: str) -> Path:
        """Return the path of an existing file.

        A symbolic link out of the folder is followed only to a file of the same package, as in
        the install space of `colcon build --symlink-install`.

        Args:
            name: ``package://name/path``, ``model://name/path``, ``$(find name)/path``,
                ``file:///path``, or a path relative to the folder.

        Raises:
            UnusableMeshError: there is no such file, or it is outside the allowed folders.
        """
        suffix = PurePosixPath(name).suffix.lower()
        if suffix not in self._suffixes:
            allowed = ", ".join(self._suffixes)
            kind = f"has the suffix {quote(suffix)}" if suffix else "has no suffix"
            raise UnusableMeshError("mesh-format", f"{kind}; allowed are {allowed}", allowed)
        try:
            if (in_package := _IN_PACKAGE.fullmatch(name)) is not None:
                return self._in_package(in_package[1], in_package[2])
            return self._beside_robot(_plain_path(name))
        # the path is a loop of links, has a NUL or is too long
        except (OSError, RuntimeError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise UnusableMeshError("mesh-missing", f"cannot be found: {reason}") from error

    def _in_package(self, package: str, path: str) -> Path:
        if not path or ".." in PurePosixPath(path).parts:
            message = "is outside its package"
            raise UnusableMeshError("mesh-outside", message, "package://name/path, without '..'")
        if package not in self._packages:
            places = packages.find_packages(package, self._package_dirs, self._folder)
            self._packages[package] = list(dict.fromkeys(places))
        roots = self._packages[package]
        if not roots:
            message = f"cannot be found: {packages.not_found(package)}"
            raise UnusableMeshError("package-not-found", message, "a package that is found")
        for root in roots:
            found = (root / path).resolve()
            if kind_of(found) == "file":
                if not (found.is_relative_to(root) or packages.is_of_package(found, package)):
                    message = f"is a link out of the package {quote(package)}"
                    raise UnusableMeshError("mesh-outside", message, "a file of the package")
                return found
        raise _missing([root / path for root in roots])

    def _beside_robot(self, path: str) -> Path:
        if self._folder is None:
            message = "is a path; a robot given as text can name only files of packages"
            raise UnusableMeshError("mesh-outside", message, "package://name/path")
        named = self._folder / path
        found = named.resolve()
        own = packages.own_package(self._folder)
        if not (
            found.is_relative_to(self._folder)
            or (own and (found.is_relative_to(own) or packages.is_of_package(found, own.name)))
        ):
            message = "is outside the folder and the package of the file that names it"
            raise UnusableMeshError("mesh-outside", message, "a path inside this folder")
        if kind_of(found) != "file":
            raise _missing([named])
        return found


def _plain_path(name: str) -> str:
    """Return the path of a ``file://`` address or a path, or raise UnusableMeshError."""
    if name.startswith(_FILE):
        host, slash, path = name[len(_FILE) :].partition("/")
        if host in ("", "localhost") and slash:
            return "/" + unquote(path)
    address = _ADDRESS.match(name)
    if address is None:
        return name
    message = f"is an address of type {quote(address.group(1))}"
    allowed = "package://name/path, file:///path or a path"
    raise UnusableMeshError("mesh-address", f"{message}; allowed are {allowed}", allowed)


def _missing(paths: Sequence[Path]) -> UnusableMeshError:
    looked = ", ".join(quote(str(path), 200) for path in paths)
    return UnusableMeshError("mesh-missing", f"does not exist; searched for {looked}", "a file")


def read_bytes(path: Path, largest: int, kind: str, advice: str = "") -> bytes:
    """Return the content of a file.

    Args:
        path: path of the file.
        largest: number of bytes that are allowed.
        kind: mesh or texture, for the codes of the errors.
        advice: text that follows the message about a file that is too large.

    Raises:
        UnusableMeshError: it cannot be read, or is too large.
    """
    note_opened(path)
    try:
        with path.open("rb") as file:
            data = file.read(largest + 1)
    except OSError as error:
        raise UnusableMeshError(f"bad-{kind}", f"cannot be read: {error.strerror}") from error
    if len(data) > largest:
        size = f"{largest >> 20} MiB"
        raise UnusableMeshError(
            f"{kind}-too-large", f"is larger than {size}{advice}", f"up to {size}"
        )
    return data


def package_for(module: str, name: str) -> ModuleType:
    """Return a module that reads a kind of file.

    Raises:
        UnusableMeshError: the package with this name is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise lacks(name) from error


def lacks(package: str) -> UnusableMeshError:
    """Return the error of a package that is not installed."""
    message = f"needs the package {package} to be read: pip install {package}"
    return UnusableMeshError(f"{package}-missing", message, f"the package {package}")
