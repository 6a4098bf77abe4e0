# SPDX-License-Identifier: Apache-2.0
"""Read scenes of objects and obstacles from a URI or a text, and find them in folders."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.checks.names import kind_of
from rbdyn_ros.description.scene_files.scene import is_scene, parts_of, read_parts, read_title
from rbdyn_ros.description.scenes.scene import SceneParts
from rbdyn_ros.errors import DescriptionError, RbdynError, listing, quote
from rbdyn_ros.ros.simulator.services.results import (
    NOT_FOUND,
    OPERATION_FAILED,
    ResultError,
    first_finding,
    of_files,
)
from rbdyn_ros.ros.simulator.services.uris import path_of
from rbdyn_ros.ros.simulator.world.world import TEXT, WorldFile, world_file

#: Result codes of LoadWorld.
UNSUPPORTED_FORMAT, NO_RESOURCE, PARSE_ERROR = 101, 102, 103
MISSING_ASSETS, UNSUPPORTED_ASSETS, UNSUPPORTED_ELEMENTS = 104, 105, 106
#: Result code for the code of a finding; PARSE_ERROR for all other codes.
CODES = {
    **dict.fromkeys(("mesh-missing", "package-not-found", "no-such-file"), MISSING_ASSETS),
    **dict.fromkeys(("mesh-format", "mesh-address", "mesh-outside"), UNSUPPORTED_ASSETS),
    **dict.fromkeys(("mesh-too-large", "bad-mesh"), UNSUPPORTED_ASSETS),
    "not-a-scene": UNSUPPORTED_FORMAT,
    "unknown-key": UNSUPPORTED_ELEMENTS,
    "object-overlaps": OPERATION_FAILED,
}
SUFFIXES = (".yaml", ".yml")
#: Largest number of files in a folder that is searched.
MOST_FILES = 1000


def read_world(
    uri: str,
    text: str,
    start: Path | None,
    strict: bool = True,
    package_dirs: Sequence[str | Path] = (),
) -> tuple[WorldFile, SceneParts]:
    """Return a world and its parts.

    Args:
        uri: URI of a scene file.
        text: text of a scene file, used if the URI is empty.
        start: scene that the simulator was started with; only this scene may have robots. None: no
            scene.
        strict: as for load_urdf.
        package_dirs: as for load_urdf.

    Raises:
        ResultError: the resource is refused.
        DescriptionError: the content of the scene is refused.
    """
    if not uri and not text.strip():
        raise ResultError(NO_RESOURCE, "the request has neither a URI nor a resource_string")
    path, audit = _file(uri) if uri else TEXT, Audit(strict=strict)
    how = path, audit, package_dirs
    parts = read_parts(*how) if uri else parts_of(text, *how)
    audit.raise_errors(str(path))
    if parts.robots and not (uri and is_same(path, start)):
        named = [name for name in parts.robots if name]
        what = f"the robots {listing(named)}" if named else "a robot"
        text = f"the world {quote(parts.name)} has {what}; a world has objects and obstacles only"
        raise ResultError(UNSUPPORTED_ELEMENTS, f"{text}: spawn its robots after it is loaded")
    return world_file(parts, uri, "" if uri else text), parts


def refused_world(error: DescriptionError, opened: Sequence[Path], logger: Any) -> ResultError:
    """Return the refusal of a world with errors; it has the first error, or only its code.

    Args:
        error: error of the world.
        opened: files that were opened for the world; if there are any, only the code is shown,
            except for overlapping objects.
        logger: logs an error that the answer leaves out.
    """
    source, code = f"{error.source}: " if error.source else "", error.findings[0].code
    shown = not opened or code == "object-overlaps"
    reason = first_finding(error) if shown else of_files(error, logger)
    return ResultError(CODES.get(code, PARSE_ERROR), f"{source}{reason}")


def worlds_at(uri: str, start: Path | None) -> Iterator[WorldFile]:
    """Yield the worlds in a folder, or the world in one file.

    Files that are not scenes, that have robots, or whose title cannot be read are left out. Only
    the file `start`, with which the simulator was started, may have robots.

    Raises:
        ResultError: there is no such folder or file, or the folder has too many files.
    """
    path = path_of(uri)
    if not (kind := kind_of(path)):
        raise ResultError(NOT_FOUND, f"there is no folder or file {quote(str(path), 200)}")
    try:
        listed = list(islice(path.iterdir(), MOST_FILES + 1)) if kind == "folder" else [path]
    except OSError as error:
        text = f"the folder {quote(str(path), 200)} cannot be read: {error.strerror}"
        raise ResultError(OPERATION_FAILED, text) from error
    if len(listed) > MOST_FILES:
        text = f"the folder {quote(str(path), 200)} has more than {MOST_FILES} files"
        raise ResultError(OPERATION_FAILED, f"{text}; name a smaller folder or a file")
    for file in sorted(listed):
        audit = Audit()
        try:
            if not is_scene(file):
                continue
            title = read_title(file, audit)
        except RbdynError:
            continue
        if not audit.errors and (not title.has_robots or is_same(file, start)):
            yield WorldFile(title.name, str(file.absolute()), "", title.about, title.tags)


def _file(uri: str) -> Path:
    path = path_of(uri)
    if path.suffix.lower() not in SUFFIXES:
        reason = f"the format of {quote(uri, 200)} is unknown; a world is a scene file"
        raise ResultError(UNSUPPORTED_FORMAT, f"{reason} {' or '.join(SUFFIXES)}")
    if kind_of(path) != "file":
        raise ResultError(NOT_FOUND, f"there is no file {quote(str(path), 200)}")
    return path


def is_same(path: Path, other: Path | None) -> bool:
    try:
        return other is not None and path.samefile(other)
    except (OSError, ValueError):  # one of the files is gone
        return False
