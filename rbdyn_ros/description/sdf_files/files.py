# SPDX-License-Identifier: Apache-2.0
"""Find the files that an SDF includes: models by their folders, as Gazebo finds them."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from rbdyn_ros.checks.names import kind_of
from rbdyn_ros.description.reading.packages import (
    find_packages,
    folders,
    is_of_package,
    listed,
    own_package,
)
from rbdyn_ros.errors import quote

_CURE = "; add the folder that contains it to package_dirs (--package-dir) or GZ_SIM_RESOURCE_PATH"
#: Folder of the models of gz-fuel-tools.
_CACHE = "~/.gz/fuel"
_OUTSIDE = "is outside the folder of the model"
_OF_TEXT = "is a path, but a text has no folder; allowed are model://NAME and package://NAME/PATH"
_CONFIG = "model.config"
_CONFIG_BYTES = 1 << 16
#: The files of a model in its model.config, with their versions of SDF.
_LISTED = re.compile(r"<sdf(?:\s+version\s*=\s*[\"']([0-9.]+)[\"'])?\s*>\s*([^<]*?)\s*</sdf>")
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)")


class MissingModelError(Exception):
    """A file that is included cannot be found. Callers write its name before the message.

    Attributes:
        code: code of the finding.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class ModelFiles:
    """Finds the models that files include.

    Args:
        package_dirs: folders that have models or packages.
    """

    def __init__(self, package_dirs: Sequence[str | Path] = ()) -> None:
        self._dirs = folders(package_dirs)

    def find(self, uri: str, folder: Path | None) -> Path:
        """Return the path of an SDF file.

        Args:
            uri: `model://name`, `package://name/path`, a path from the folder, or the address of
                a model, whose last part is its name.
            folder: folder of the file that includes it; None: it is included by a text.

        Raises:
            MissingModelError: there is no such file, or it is outside the allowed folders.
        """
        address = _ADDRESS.fullmatch(uri)
        if address is None or address[1] == "file":
            return self._beside(folder, uri if address is None else unquote(address[2]))
        name, _, rest = address[2].lstrip("/").partition("/")
        is_remote = address[1] in ("http", "https", "fuel")
        if is_remote:
            name, rest = _of_address(address[2]), ""
        inner = PurePosixPath(rest)
        outside = name in ("", ".", "..") or "/" in name
        if outside or inner.is_absolute() or ".." in inner.parts:
            raise MissingModelError("include-outside", _OUTSIDE)
        cached = _cached(address[2]) if is_remote else ()
        for place in (*cached, *self._models(name, folder)):
            if (found := model_file(place / rest)) is not None:
                if not _is_inside(found, (place.resolve(),), own_package(place)):
                    raise MissingModelError("include-outside", _OUTSIDE)
                return found
        if is_remote:
            text = f"is an address, and its model is not in {_CACHE} or GZ_FUEL_CACHE_PATH; "
            cure = f"`gz fuel download -u {uri[:200]}` gets it, or add the folder that "
            where = f"contains {quote(name)} to package_dirs (--package-dir)"
            raise MissingModelError("include-address", f"{text}{cure}{where}")
        raise MissingModelError("include-missing", f"is not found{_CURE}")

    def _models(self, name: str, folder: Path | None) -> Iterator[Path]:
        """Yield the folders of a model: in the given folders, near the file, in the sources."""
        for place in self._dirs:
            yield from (place / name, place / "models" / name)
        for place in () if folder is None else _around(folder):
            if not place.stat().st_mode & 0o002:  # skip a folder that everybody can write to
                yield from (place / name, place / "models" / name)
        yield from find_packages(name, self._dirs, folder)

    def _beside(self, folder: Path | None, name: str) -> Path:
        """Return a file by its path from this or a model folder, or raise MissingModelError."""
        if folder is None:
            raise MissingModelError("include-outside", _OF_TEXT)
        own = own_package(folder)
        given = [place.resolve() for place in (*self._dirs, *listed("GZ_SIM_RESOURCE_PATH"))]
        allowed = (folder.resolve(), own or folder.resolve(), *given)
        outside = True
        for place in (folder.resolve(), *given):
            found = (place / name).resolve()
            if _is_inside(found, allowed):
                at = model_file(found)
                if at is not None and _is_inside(at, allowed, own):
                    return at
                outside &= at is not None
        if outside:
            text = "is outside the folder of the file that includes it; add its folder to "
            raise MissingModelError("include-outside", f"{text}package_dirs (--package-dir)")
        raise MissingModelError("include-missing", f"is neither a file nor a model{_CURE}")


def _around(folder: Path) -> tuple[Path, ...]:
    """Return the folders around a file in which models are searched."""
    own = own_package(folder)
    return (folder, *folder.parents[:2]) if own is None else (folder, folder.parent, own)


def _is_inside(path: Path, places: Sequence[Path], own: Path | None = None) -> bool:
    """Return whether a file is in one of the folders, or links to a file of its package `own`."""
    file = path.resolve()
    inside = any(file.is_relative_to(place) for place in places)
    return inside or (own is not None and is_of_package(file, own.name))


def _of_address(path: str) -> str:
    """Return the name of a model in its address, which ends in models/NAME or models/NAME/3."""
    parts = PurePosixPath(unquote(path)).parts
    at = parts.index("models") + 1 if "models" in parts[:-1] else len(parts) - 1
    return parts[at] if parts else ""


def _cached(address: str) -> Iterator[Path]:
    """Yield the folders of a model in the cache of Fuel: its version, or all, the newest first.

    gz-fuel-tools keeps HOST/OWNER/models/NAME/VERSION there, in small letters.
    """
    host, *parts = PurePosixPath(unquote(address)).parts
    at = parts.index("models") if "models" in parts[:-1] else 0
    # some addresses are app.gazebosim.org/OWNER/fuel/models/NAME
    owners = [part for part in parts[:at] if part != "fuel"]
    if not owners or ".." in parts:
        return
    server = host.replace("app.", "fuel.")
    top = Path(os.environ.get("GZ_FUEL_CACHE_PATH") or Path(_CACHE).expanduser())
    place = top / server / owners[-1].lower() / "models" / parts[at + 1].lower()
    wanted = parts[at + 2 : at + 3]
    with suppress(OSError, ValueError):
        versions = [folder.name for folder in place.iterdir() if folder.name.isdecimal()]
        for version in sorted(versions, key=int, reverse=True):
            if not wanted or wanted[0] in (version, "tip"):
                yield place / version


def model_file(place: Path) -> Path | None:
    """Return an SDF file, or the file of the newest version in the folder of a model; or None."""
    try:
        if kind_of(place) == "file":
            return place
        if kind_of(place / _CONFIG) == "file":
            with (place / _CONFIG).open("rb") as file:
                text = file.read(_CONFIG_BYTES).decode("utf-8", "replace")
            listed = sorted((_version(found[1]), found[2]) for found in _LISTED.finditer(text))
            inside = [place / name for _, name in listed if os.sep not in name]
            for file_path in reversed(inside):
                if kind_of(file_path) == "file":
                    return file_path
        return place / "model.sdf" if kind_of(place / "model.sdf") == "file" else None
    except (OSError, ValueError):
        return None


def _version(text: str | None) -> tuple[int, ...]:
    return tuple(int(word) for word in (text or "0").split(".") if word)
