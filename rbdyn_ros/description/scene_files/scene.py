# SPDX-License-Identifier: Apache-2.0
"""Read scene files: robots, free objects and obstacles in YAML, whose keys are in keys.py."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.mechanism_files.geometries import read_floor, read_obstacles
from rbdyn_ros.description.meshes.files import MeshFiles
from rbdyn_ros.description.meshes.meshes import Meshes
from rbdyn_ros.description.parts.geometries import Contact, Exclusion, GroupState
from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.description.reading.files import read_bytes
from rbdyn_ros.description.robot_files import MECHANISM_SUFFIXES, SDF_SUFFIXES, read_with_text
from rbdyn_ros.description.scene_files.keys import DIALECT
from rbdyn_ros.description.scene_files.parts import ObjectReader, Surfaces, read_robots
from rbdyn_ros.description.scene_files.worlds import read_world
from rbdyn_ros.description.scenes.scene import SceneParts, scene_description
from rbdyn_ros.description.yaml_files.tables import Given, section
from rbdyn_ros.errors import Finding, ParameterError

SECTIONS = ("robots", "surfaces", "objects", "obstacles")
#: The beginning of an SDF world, without comments and other text.
_WORLD = re.compile(rb"<sdf\b[^>]*>\s*<world[\s>]")
_COMMENT = re.compile(rb"<!--.*?-->|<!\[CDATA\[.*?\]\]>", re.DOTALL)
#: The key stands at the beginning of a line (block style) or behind a brace (flow style).
_HEAD = re.compile(
    rb"^(?:\xef\xbb\xbf)?[ \t]*(?:\{(?:[^#\n]*,)?[ \t]*)?['\"]?rbdyn_scene['\"]?[ \t]*:",
    re.MULTILINE,
)
_HEAD_BYTES = 1 << 20


def is_scene(path: str | Path) -> bool:
    """Return whether a file is a scene: a YAML file with the key rbdyn_scene, or an SDF world."""
    try:
        suffix = Path(path).suffix.lower()
        if suffix not in (*MECHANISM_SUFFIXES, *SDF_SUFFIXES):
            return False
        with Path(path).open("rb") as file:
            head = file.read(_HEAD_BYTES)
        if suffix in SDF_SUFFIXES:
            return _WORLD.search(_COMMENT.sub(b"", head)) is not None
        return _HEAD.search(head) is not None
    except (OSError, ValueError):
        return False  # the reader reports the error


def check_scene_options(contact: bool | Contact, xacro_args: Mapping[str, object] | None) -> None:
    """Raise ParameterError for options that a scene does not take."""
    if isinstance(contact, Contact):
        text = "a scene names its own surfaces and obstacles; contact must be True or False"
        raise ParameterError(Finding("scene-contact", text, "error", "contact"))
    if xacro_args:
        text = "a scene takes no xacro arguments; expand the xacro file of its robot first"
        raise ParameterError(Finding("xacro-args", text, "error", "xacro_args"))


def no_floating_scene() -> ParameterError:
    """Return the error for a request that the base of a scene floats."""
    text = "floating_base is True; in a scene each robot has the key floating_base"
    return ParameterError(Finding("scene-base", text, "error", "floating_base"))


def read_scene(
    path: str | Path, strict: bool = True, package_dirs: Sequence[str | Path] = ()
) -> tuple[Description, str, SceneParts]:
    """Read a scene file; return the scene, the URDF of its only robot (or ""), and its parts.

    Args:
        path: path of the file.
        strict: whether to refuse errors that can be repaired; otherwise they are repaired, each
            with a warning.
        package_dirs: folders to search for packages, of meshes and robots.

    Raises:
        DescriptionError: with all errors of the document, each with its line.
    """
    audit = Audit(strict=strict)
    parts = read_parts(path, audit, package_dirs)
    described = scene_description(parts, audit, str(path), package_dirs)
    audit.raise_errors(str(path))
    robots, text = parts.robots, ""
    described = replace(described, findings=(*described.findings, *audit.sorted()))
    if list(robots) == [""]:
        text = read_with_text(robots[""].source, strict=strict, package_dirs=package_dirs)[1]
    return described, text, parts


def read_parts(
    path: str | Path, audit: Audit, package_dirs: Sequence[str | Path] = ()
) -> SceneParts:
    """Return the parts of a scene file, without parts that have errors.

    Args:
        path: path of the file.
        audit: receives the errors.
        package_dirs: as for read_scene.

    Raises:
        DescriptionError: the document is not a scene file, or cannot be read at all.
    """
    path = Path(path)
    if path.suffix.lower() in SDF_SUFFIXES:
        return read_world(path, audit, package_dirs)
    data = read_bytes(path, "a .yaml file", "the path of a scene file")
    return parts_of(data, path, audit, package_dirs)


def parts_of(
    data: bytes | str, path: Path, audit: Audit, package_dirs: Sequence[str | Path] = ()
) -> SceneParts:
    """Read the parts of a scene from the content of its file; arguments as for read_parts.

    The path gives the scene its default name, and the folder from which files are found.
    """
    top = DIALECT.read(DIALECT.parse(data, str(path), audit), audit)
    title, folder = _title(top, path), path.parent
    surfaces = Surfaces(section(top, "surfaces"))
    top.audit.partial |= any(name in top.lines and name not in top for name in SECTIONS)
    floor = top.get("floor", True)
    obstacles = [] if isinstance(floor, bool) else read_floor(floor)
    meshes = Meshes(MeshFiles(folder, package_dirs))
    obstacles += read_obstacles(section(top, "obstacles"), folder, meshes)
    robots = read_robots(top, folder, surfaces)
    objects = ObjectReader(folder, package_dirs, surfaces).objects(section(top, "objects"))
    excluded = [
        Exclusion(first, second, top.lines["exclude"]) for first, second in top.get("exclude", ())
    ]
    keyframes = section(top, "keyframes")
    states = [GroupState(key, given, keyframes.lines[key]) for key, given in keyframes.items()]
    return SceneParts(
        title.name,
        robots,
        objects,
        obstacles,
        floor is True,
        excluded,
        title.about,
        title.tags,
        states,
    )


@dataclass(frozen=True, slots=True)
class Title:
    """Properties of the scene as a whole.

    Attributes:
        name: name of the scene.
        about: a description for people.
        tags: words by which scenes are chosen.
        has_robots: whether it names robots.
    """

    name: str
    about: str
    tags: tuple[str, ...]
    has_robots: bool


def read_title(path: Path, audit: Audit) -> Title:
    """Read the title of a scene file, and neither its parts nor other files.

    Raises:
        DescriptionError: the document is not a scene file, or cannot be read at all.
    """
    data = read_bytes(path, "a .yaml file", "the path of a scene file")
    return _title(DIALECT.read(DIALECT.parse(data, str(path), audit), audit), path)


def _title(top: Given, path: Path) -> Title:
    has_robots = not {"robot", "robots"}.isdisjoint(top.lines)
    name = top.get("name", path.stem or "scene")
    return Title(name, top.get("description", ""), top.get("tags", ()), has_robots)
