"""Read scene files: robots, free objects and obstacles in YAML.

    rbdyn_scene: 1                  # version of this format
    name: table                     # default: the name of the file
    description: two tables         # for people who choose a world
    tags: [indoor, table]           # by which worlds are chosen
    robot: panda.urdf               # one robot: a .urdf, .xacro or mechanism .yaml file

    robots:                         # or several; the names of their parts begin with `left/`
      left: {file: panda.urdf, xyz: [0, 0.5, 0], rpy: [0, 0, 0], floating_base: false,
             start: {panda_joint4: -1.5}, surface: rubber, surfaces: {panda_hand: steel},
             exclude: [[panda_link7, panda_hand]], self_collision: true, decompose: false,
             filters: {panda_hand: {contype: 2, conaffinity: 1}}}

    surfaces:                       # by a name, the fields of rb.Surface
      rubber: {friction: 1.2, restitution: 0.3}

    objects:                        # free objects
      cube: {box: {size: [0.05, 0.05, 0.05]}, mass: 0.1, xyz: [0.5, 0, 0.5], surface: rubber}
      ball: {sphere: {radius: 0.03}, density: 500, xyz: [0.5, 0.1, 0.5], quat: [1, 0, 0, 0]}
      stone: {mesh: {file: stone.stl, scale: [0.001, 0.001, 0.001]}, density: 2500}
      cup: {mesh: {file: cup.stl}, mass: 0.2, decompose: true}   # hollow: convex parts
      hammer: {parts: [{cylinder: {radius: 0.01, length: 0.2}},
                       {box: {size: [0.1, 0.03, 0.03]}, xyz: [0, 0, 0.1]}], mass: 0.8}
      drawer: {file: drawer.urdf, xyz: [1, 0, 0.2], filter: {contype: 1, conaffinity: 3}}

    floor: {height: 0, friction: .inf}              # as in a mechanism file; `false`: none
    obstacles:                      # fixed in the world, as in a mechanism file
      table: {box: {size: [0.8, 1.2, 0.4]}, xyz: [0.6, 0, 0.2], friction: 0.6}
      belt: {box: {size: [2, 0.4, 0.1]}, xyz: [0, 1, 0.3], velocity: [0.5, 0, 0]}  # conveyor
      hills: {height_field: {file: hills.csv, size: [10, 8]}}        # or a .png, with `height`

    exclude: [[cube, table], [left/panda_hand, ball]]   # pairs that do not push each other

`robot` is a file or a table with the keys of a robot in `robots`. Files are found from the folder
of this file. An object has one of `box`, `sphere`, `cylinder`, `capsule`, `mesh`, `points`,
`parts` and `file`; all but a file need a `mass` or a `density`. Units are SI; `quat` is w, x, y
and z.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.mechanism_files.forms import Form, is_nothing
from rbdyn_ros.description.mechanism_files.geometries import read_floor, read_obstacles
from rbdyn_ros.description.mechanism_files.yaml_text import (
    Scalar,
    YamlTable,
    check_version,
    parse,
)
from rbdyn_ros.description.parts.geometries import Contact, Exclusion, Obstacle
from rbdyn_ros.description.parts.objects import Placed
from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.description.reading.files import read_bytes
from rbdyn_ros.description.scene_files.objects import ObjectReader
from rbdyn_ros.description.scene_files.robots import RobotReader, read_pairs
from rbdyn_ros.description.scene_files.surfaces import Surfaces
from rbdyn_ros.description.scenes.scene import SceneParts, scene_description
from rbdyn_ros.errors import Finding, ParameterError, quote

VERSION = "rbdyn_scene"
SECTIONS = ("robots", "surfaces", "objects", "obstacles")
KEYS = (VERSION, "name", "description", "tags", "robot", "floor", "exclude", *SECTIONS)

_SUFFIXES = (".yaml", ".yml")
#: In block style at the beginning of a line, or in flow style behind a brace.
_HEAD = re.compile(
    rb"^(?:\xef\xbb\xbf)?[ \t]*(?:\{(?:[^#\n]*,)?[ \t]*)?['\"]?rbdyn_scene['\"]?[ \t]*:",
    re.MULTILINE,
)
_HEAD_BYTES = 1 << 20


def is_scene(path: str | Path) -> bool:
    """Return whether a file is a scene: a YAML file with the key rbdyn_scene."""
    try:
        if Path(path).suffix.lower() not in _SUFFIXES:
            return False
        with Path(path).open("rb") as file:
            return _HEAD.search(file.read(_HEAD_BYTES)) is not None
    except (OSError, ValueError):
        return False  # the reader reports it


def check_scene_options(contact: bool | Contact, xacro_args: Mapping[str, object] | None) -> None:
    """Raise ParameterError for options that a scene does not take."""
    if isinstance(contact, Contact):
        text = "a scene names its own surfaces and obstacles; contact must be True or False"
        raise ParameterError(Finding("scene-contact", text, "error", "contact"))
    if xacro_args:
        text = "a scene takes no xacro arguments; expand the xacro file of its robot first"
        raise ParameterError(Finding("xacro-args", text, "error", "xacro_args"))


def no_floating_scene() -> ParameterError:
    """Return the error about a scene whose base shall float."""
    text = "floating_base is True; in a scene each robot has the key floating_base"
    return ParameterError(Finding("scene-base", text, "error", "floating_base"))


def read_scene(
    path: str | Path, *, strict: bool = True, package_dirs: Sequence[str | Path] = ()
) -> Description:
    """Read a scene file.

    Args:
        path: of the file.
        strict: refuse errors that can be repaired; otherwise repair them, each with a warning.
        package_dirs: folders to search for packages, of meshes and robots.

    Raises:
        DescriptionError: with all errors of the document, each with its line.
    """
    audit = Audit(strict=strict)
    parts = read_parts(path, audit, package_dirs)
    described = scene_description(parts, audit, str(path), package_dirs)
    audit.raise_errors(str(path))
    return described


def read_parts(
    path: str | Path, audit: Audit, package_dirs: Sequence[str | Path] = ()
) -> SceneParts:
    """Return the parts of a scene file; those with errors are left out.

    Args:
        path: of the file.
        audit: receives the errors.
        package_dirs: as for read_scene.

    Raises:
        DescriptionError: the document is not a scene file, or cannot be read at all.
    """
    path = Path(path)
    data = read_bytes(path, "a .yaml file", "the path of a scene file")
    return parts_of(data, path, audit, package_dirs)


def parts_of(
    data: bytes | str, path: Path, audit: Audit, package_dirs: Sequence[str | Path] = ()
) -> SceneParts:
    """Read the parts of a scene from the content of its file; arguments as for read_parts.

    The path gives the scene its default name, and the folder from which files are found.
    """
    return _Reader(parse(data, str(path), audit, "a scene"), path, audit, package_dirs).parts()


@dataclass(frozen=True, slots=True)
class Title:
    """Properties of the scene as a whole.

    Attributes:
        name: its name.
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
    return _Reader(parse(data, str(path), audit, "a scene"), path, audit, ()).title()


class _Reader:
    """Reads one document."""

    def __init__(
        self, top: YamlTable, path: Path, audit: Audit, package_dirs: Sequence[str | Path]
    ) -> None:
        self._top, self._path, self._audit = top, path, audit
        self._package_dirs, self._form = package_dirs, Form(audit)

    def parts(self) -> SceneParts:
        """Return everything that could be read."""
        title, top, form, folder = self.title(), self._top, self._form, self._path.parent
        form.table(top, "scene", "", KEYS)
        surfaces = Surfaces(self._section("surfaces"), form)
        floor, obstacles = self._floor()
        obstacles += read_obstacles(self._section("obstacles"), folder, form)
        robots = self._robots(RobotReader(folder, surfaces, form))
        reader = ObjectReader(folder, self._package_dirs, surfaces, form)
        objects = reader.objects(self._section("objects"))
        excluded = [
            Exclusion(first, second, top.lines["exclude"])
            for first, second in read_pairs(top.nodes.get("exclude"), "the scene", form)
        ]
        return SceneParts(
            title.name, robots, objects, obstacles, floor, excluded, title.about, title.tags
        )

    def title(self) -> Title:
        """Return name, description and tags."""
        source = str(self._path)
        check_version(self._top, VERSION, source, "a scene file", "not-a-scene", apart=True)
        nodes, form = self._top.nodes, self._form
        name, about = self._path.stem or "scene", ""
        tags: tuple[str, ...] = ()
        if "name" in nodes:
            name = form.name(nodes["name"], "name", "") or name
        if "description" in nodes:
            about = form.name(nodes["description"], "description", "") or ""
        if "tags" in nodes:
            tags = form.items(nodes["tags"], "tags", "tag", "", form.name) or ()
        return Title(name, about, tags, not {"robot", "robots"}.isdisjoint(nodes))

    def _section(self, name: str) -> YamlTable:
        node = self._top.nodes.get(name)
        if isinstance(node, YamlTable):
            return node
        if node is not None and not is_nothing(node):
            self._audit.partial = True
            self._form.wrong(node, f"section {quote(name)}", "", "a table of names")
        return YamlTable(self._top.line)

    def _floor(self) -> tuple[bool, list[Obstacle]]:
        """Return whether there is a default floor, and the floor of the file."""
        node = self._top.nodes.get("floor")
        if node is None:
            return True, []
        if isinstance(node, Scalar) and node.text in ("true", "false") and not node.quoted:
            return node.text == "true", []
        return False, read_floor(node, self._form)

    def _robots(self, reader: RobotReader) -> dict[str, Placed]:
        """Return the robots of `robot` and `robots`; those with errors are left out."""
        found: dict[str, Placed | None] = {}
        if "robot" in self._top.nodes:
            if "robots" in self._top.nodes:
                line = self._top.lines["robots"]
                message = "the scene has both 'robot' and 'robots'; list all of them in 'robots'"
                self._audit.error("duplicate-key", "", line, message, found="robots")
            found[""] = reader.robot(self._top.nodes["robot"], "the robot")
        found.update(reader.robots(self._section("robots")))
        self._audit.partial |= None in found.values()
        return {name: robot for name, robot in found.items() if robot is not None}
