"""Read scene files: robots, free objects and obstacles in YAML.

    rbdyn_scene: 1                  # version of this format
    name: table                     # default: the name of the file
    description: two tables         # for people who choose a world
    tags: [indoor, table]           # by which worlds are chosen
    robot: panda.urdf               # one robot: a .urdf, .xacro or mechanism .yaml file

    robots:                         # or several; the names of their parts begin with `left/`
      left: {file: panda.urdf, xyz: [0, 0.5, 0], rpy: [0, 0, 0], floating_base: false,
             start: {panda_joint4: -1.5}, surface: rubber, surfaces: {panda_hand: steel},
             exclude: [[panda_link7, panda_hand]], self_collision: false, decompose: false,
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
from typing import Any

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.build.scene import SceneParts, scene_description
from rbdyn_ros.description.checks.geometries import audit_surface
from rbdyn_ros.description.files import read_bytes
from rbdyn_ros.description.geometries import (
    Contact,
    Exclusion,
    Filter,
    Obstacle,
    Shape,
    Surface,
)
from rbdyn_ros.description.mechanism_files.forms import AT, Form, is_nothing
from rbdyn_ros.description.mechanism_files.geometries import (
    SHAPES,
    SURFACE,
    filter_of,
    read_convex_mesh,
    read_filter,
    read_floor,
    read_obstacles,
    read_shape,
    read_surface,
)
from rbdyn_ros.description.mechanism_files.yaml_text import (
    Items,
    Node,
    Scalar,
    YamlTable,
    parse,
)
from rbdyn_ros.description.meshes.files import MeshFiles
from rbdyn_ros.description.meshes.meshes import Meshes
from rbdyn_ros.description.objects import Object, Placed
from rbdyn_ros.description.poses import Pose
from rbdyn_ros.description.types import Description
from rbdyn_ros.description.urdf_files.guard import refuse
from rbdyn_ros.errors import Finding, ParameterError, quote

VERSION = "rbdyn_scene"
SECTIONS = ("robots", "surfaces", "objects", "obstacles")
KEYS = (VERSION, "name", "description", "tags", "robot", "floor", "exclude", *SECTIONS)
PLACE = (*AT, "quat")
ROBOT_KEYS = (
    "file",
    *PLACE,
    "floating_base",
    "start",
    "surface",
    "surfaces",
    "exclude",
    "self_collision",
    "filters",
    "decompose",
)
OBJECT_KEYS = (
    *(*SHAPES, "parts", "file", "mass", "density", *PLACE),
    *("surface", "filter", "decompose"),
)

_SUFFIXES = (".yaml", ".yml")
_HEAD = re.compile(rb"^[ \t]*['\"]?rbdyn_scene['\"]?[ \t]*:", re.MULTILINE)
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


def check_scene_options(contact: bool | Contact, xacro_args: Mapping[str, str] | None) -> None:
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
    """What a scene file says of the scene as a whole.

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
        self._form = Form(audit)
        files = MeshFiles(path.parent, package_dirs)
        self._meshes, self._convex = Meshes(files), Meshes(files, decompose=True)
        self._surfaces: dict[str, Surface | None] = {}

    def parts(self) -> SceneParts:
        """Return everything that could be read."""
        title, top, form = self.title(), self._top, self._form
        form.table(top, "scene", "", KEYS)
        section = self._section("surfaces")
        for name, node in section.nodes.items():
            owner = f"surface {quote(name)}"
            table = form.table(node, "surface", owner, SURFACE)
            self._surfaces[name] = read_surface(table, owner, form) if table else None
            if (surface := self._surfaces[name]) is not None:  # whether anything has it or not
                audit_surface(surface, owner, section.lines[name], self._audit)
        floor, obstacles = self._floor()
        obstacles += read_obstacles(self._section("obstacles"), self._path.parent, form)
        robots, objects = self._robots(), self._objects()
        excluded = [
            Exclusion(first, second, top.lines["exclude"])
            for first, second in self._exclude(top.nodes.get("exclude"), "the scene")
        ]
        return SceneParts(
            title.name, robots, objects, obstacles, floor, excluded, title.about, title.tags
        )

    def title(self) -> Title:
        """Return name, description and tags."""
        self._check_version()
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

    def _check_version(self) -> None:
        version, allowed, source = self._top.nodes.get(VERSION), f"{VERSION}: 1", str(self._path)
        if version is None:
            message = f"this is not a scene file: it does not have '{allowed}' at the top"
            refuse("not-a-scene", message, source, self._top.line, allowed=allowed)
        if getattr(version, "text", None) != "1":
            message = f"the version of the scene file is unknown; allowed is '{allowed}'"
            refuse("bad-version", message, source, self._top.lines[VERSION], allowed=allowed)

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

    # robots

    def _robots(self) -> dict[str, Placed]:
        found: dict[str, Placed | None] = {}
        if "robot" in self._top.nodes:
            if "robots" in self._top.nodes:
                line = self._top.lines["robots"]
                message = "the scene has both 'robot' and 'robots'; list all of them in 'robots'"
                self._audit.error("duplicate-key", "", line, message, found="robots")
            found[""] = self._robot(self._top.nodes["robot"], "the robot")
        section = self._section("robots")
        for name, node in section.nodes.items():
            owner, line = f"robot {quote(name)}", section.lines[name]
            if not name.strip():
                self._audit.error("missing-name", owner, line, "the name is empty", found=name)
            found[name] = self._robot(node, owner)
        self._audit.partial |= None in found.values()
        return {name: robot for name, robot in found.items() if robot is not None}

    def _robot(self, node: Node, owner: str) -> Placed | None:
        form, line = self._form, node.line
        if not isinstance(node, YamlTable):
            file = form.name(node, "robot", owner)
            return None if file is None else Placed(self._file(file), line=line)
        table = form.table(node, "robot", owner, ROBOT_KEYS, ("file",))
        if table is None:
            return None
        nodes = table.nodes
        file, at = form.name(nodes["file"], "file", owner), form.placement(table, owner)
        floats: bool | None = False
        if "floating_base" in nodes:
            floats = form.flag(nodes["floating_base"], "floating base", owner)
        start, contact = self._start(nodes.get("start"), owner), self._contact(table, owner)
        if file is None or at is None or floats is None or start is None or contact is None:
            return None
        return Placed(self._file(file), at, floats, contact, start, line)

    def _file(self, name: str) -> Path:
        return self._path.parent / name

    def _start(self, node: Node | None, owner: str) -> dict[str, float] | None:
        """Return positions by joint; None after an error."""
        if node is None or is_nothing(node):
            return {}
        if not isinstance(node, YamlTable):
            self._form.wrong(node, "start", owner, "a table of joints and positions")
            return None
        given = {
            joint: self._form.number(below, f"start of {quote(joint)}", owner)
            for joint, below in node.nodes.items()
        }
        known = {joint: value for joint, value in given.items() if value is not None}
        return known if len(known) == len(given) else None

    def _contact(self, table: YamlTable, owner: str) -> Contact | None:
        """Return the surfaces of a robot, and its pairs that may overlap; None after an error."""
        before = len(self._audit.errors)
        surface = self._surface(table, owner) or Surface()
        by_name: dict[str, Surface] = {}
        named = table.nodes.get("surfaces")
        if isinstance(named, YamlTable):
            for part, node in named.nodes.items():
                found = self._named_surface(node, owner)
                if found is not None:
                    by_name[part] = found
        elif named is not None:
            self._form.wrong(named, "surfaces", owner, "a table of links and names of surfaces")
        exclude = self._exclude(table.nodes.get("exclude"), owner)
        filters = self._filters(table.nodes.get("filters"), owner)
        pushes = self._flag(table, "self_collision", owner)
        divides = self._flag(table, "decompose", owner)
        if len(self._audit.errors) > before:
            return None
        return Contact((), surface, by_name, exclude, pushes, filters, divides)

    def _flag(self, table: YamlTable, key: str, owner: str) -> bool:
        """Return whether a table has a key that is true."""
        node = table.nodes.get(key)
        return node is not None and bool(self._form.flag(node, key, owner))

    def _filters(self, node: Node | None, owner: str) -> dict[str, Filter]:
        if node is None:
            return {}
        if not isinstance(node, YamlTable):
            self._form.wrong(node, "filters", owner, "a table of links and filters")
            return {}
        given = {name: filter_of(below, owner, self._form) for name, below in node.nodes.items()}
        return {name: masks for name, masks in given.items() if masks is not None}

    def _exclude(self, node: Node | None, owner: str) -> tuple[tuple[str, str], ...]:
        if node is None:
            return ()
        pairs = []
        for item in node.nodes if isinstance(node, Items) else [node]:
            names = item.nodes if isinstance(item, Items) else []
            if len(names) != 2:
                self._form.wrong(item, "exclude", owner, "a list of pairs of names", verb="holds")
                continue
            first, second = (self._form.name(one, "excluded name", owner) for one in names)
            if first is not None and second is not None:
                pairs.append((first, second))
        return tuple(pairs)

    # objects

    def _objects(self) -> list[Object]:
        section, found = self._section("objects"), []
        for name, node in section.nodes.items():
            item = self._object(name, node, section.lines[name])
            if item is not None:
                found.append(item)
        return found

    def _object(self, name: str, node: Node, line: int) -> Object | None:
        owner, form = f"object {quote(name)}", self._form
        table = form.table(node, "object", owner, OBJECT_KEYS)
        if table is None:
            return None
        before = len(self._audit.errors)
        shape, at = self._object_shape(table, owner), form.placement(table, owner)
        numbers: dict[str, Any] = {
            what: form.number(table.nodes[what], what, owner)
            for what in ("mass", "density")
            if what in table.nodes
        }
        surface = self._surface(table, owner)
        masks = read_filter(table, owner, form) if "filter" in table.nodes else None
        divides = isinstance(shape, Path) and self._flag(table, "decompose", owner)
        if len(self._audit.errors) > before or shape is None or at is None:
            return None
        more: dict[str, Any] = {"line": line, "filter": masks, "decompose": divides}
        return Object(name, shape, **numbers, pose=at, surface=surface, **more)

    def _object_shape(
        self, table: YamlTable, owner: str
    ) -> Shape | list[tuple[Shape, Pose]] | Path | None:
        kinds = (*SHAPES, "parts", "file")
        given = [key for key in table.nodes if key in kinds]
        if len(given) != 1:
            found, allowed = " and ".join(given) or "none", ", ".join(kinds)
            message = f"has {found} of {allowed}; it must have exactly one"
            self._audit.error(
                "bad-shape", owner, table.line, message, found=found, allowed=allowed
            )
            return None
        if given[0] == "file":
            file = self._form.name(table.nodes["file"], "file", owner)
            return None if file is None else self._file(file)
        if self._flag(table, "decompose", owner):
            if given[0] == "mesh":
                convex = read_convex_mesh(table.nodes["mesh"], owner, self._convex, self._form)
                return None if convex is None else [(part, Pose()) for part in convex]
            message = f"decompose divides a mesh or the meshes of a file; this is {given[0]}"
            line = table.lines["decompose"]
            self._audit.error("bad-value", owner, line, message, found=given[0])
            return None
        if given[0] == "parts":
            listed = self._form.items(table.nodes["parts"], "parts", "part", owner, self._part)
            return None if listed is None else list(listed)
        return read_shape(table, owner, self._meshes, self._form)

    def _part(self, node: Node, what: str, owner: str) -> tuple[Shape, Pose] | None:
        table = self._form.table(node, what, owner, (*SHAPES, *PLACE))
        if table is None:
            return None
        shape = read_shape(table, owner, self._meshes, self._form)
        at = self._form.placement(table, owner)
        return None if shape is None or at is None else (shape, at)

    # surfaces

    def _surface(self, table: YamlTable, owner: str) -> Surface | None:
        """Return the surface that a table names; None without one, or after an error."""
        node = table.nodes.get("surface")
        return None if node is None else self._named_surface(node, owner)

    def _named_surface(self, node: Node, owner: str) -> Surface | None:
        name = self._form.name(node, "surface", owner)
        if name is None:
            return None
        if name not in self._surfaces:
            hint = self._audit.hint(name, self._surfaces)
            allowed = ", ".join(self._surfaces) or "none: the scene has no surfaces"
            message = f"the surface {quote(name)} is unknown{hint}; known are {allowed}"
            self._audit.error(
                "unknown-surface", owner, node.line, message, found=name, allowed=allowed
            )
            return None
        return self._surfaces[name]
