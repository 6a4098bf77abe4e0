# SPDX-License-Identifier: Apache-2.0
"""Convert the resource in a request to an object or an obstacle to spawn.

A resource is the text of a robot, the URI of a robot file or a mesh, or a primitive shape:
``primitive:box?size=0.1,0.1,0.1&mass=0.2``. Primitives and meshes without mass and density are
fixed in the world. A file is named by its path, ``file:///path`` or ``package://name/path``.
"""

import re
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from rbdyn_ros.checks.names import kind_of
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.description.meshes.files import MeshFiles, UnusableMeshError
from rbdyn_ros.description.meshes.meshes import Meshes
from rbdyn_ros.description.parts import geometries
from rbdyn_ros.description.parts.objects import Object
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.description.reading import guard
from rbdyn_ros.description.reading.xacro_files import NOT_FOR_OTHERS
from rbdyn_ros.description.robot_files import root_of_text
from rbdyn_ros.description.scenes.scene_objects import MESHES, ROBOTS
from rbdyn_ros.description.sdf_files.document import without_comments
from rbdyn_ros.description.urdf_files.urdf import is_text
from rbdyn_ros.errors import DescriptionError, RbdynError, did_you_mean, listing, quote
from rbdyn_ros.ros.common.parsing.magnitudes import REQUEST
from rbdyn_ros.ros.simulator.services.results import ResultError
from rbdyn_ros.ros.simulator.services.uris import path_of

#: Result codes of SpawnEntity.
NAME_NOT_UNIQUE, NAME_INVALID, UNSUPPORTED_FORMAT, NO_RESOURCE = 101, 102, 103, 104
NAMESPACE_INVALID, PARSE_ERROR, MISSING_ASSETS, INVALID_POSE = 105, 106, 107, 109

PRIMITIVE = "primitive:"
#: For each primitive: its shape, and the keys of its lengths [m] with their numbers of values.
SHAPES: dict[str, tuple[Callable[..., Any], dict[str, int]]] = {
    "box": (geometries.Box, {"size": 3}),
    "sphere": (geometries.Sphere, {"radius": 1}),
    "cylinder": (geometries.Cylinder, {"radius": 1, "length": 1}),
    "capsule": (geometries.Capsule, {"radius": 1, "length": 1}),
}
#: Keys of primitives: mass [kg], density [kg/m^3], and properties of the surface.
MASSES, SURFACE = ("mass", "density"), ("friction", "restitution")
#: Key for a robot file; the value 0 leaves out the robot's actuators.
ACTUATORS = "actuators"
#: Suffixes of files that can be spawned: not .xacro, which runs code, nor .world, which is not one
#: entity.
SPAWNED = tuple(suffix for suffix in (*ROBOTS, *MESHES) if suffix not in (".xacro", ".world"))
WORLD_FILE = "a .world file is a world, not one entity; spawn its models one by one"
#: Names of these formats for the field spawn_formats of the features.
FORMATS = ("urdf", "sdf", "mjcf", "stl", "obj", "dae")
#: For each root element of a robot's text, the attribute with the robot's name.
_NAMED = {"robot": "name", "mujoco": "model", "sdf": "name"}
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")

#: Examples for GetSpawnables: a URI and a description.
EXAMPLES = (
    ("primitive:box?size=0.1,0.1,0.1&mass=0.2", "a free box; edge lengths [m], mass [kg]"),
    ("primitive:sphere?radius=0.05&density=500", "a free sphere; radius [m], density [kg/m^3]"),
    ("primitive:cylinder?radius=0.05&length=0.2&mass=0.5", "a free cylinder along z"),
    ("primitive:capsule?radius=0.05&length=0.2&mass=0.5", "a free capsule along z"),
    ("primitive:box?size=1,1,0.1", "a box without mass or density is fixed in the world"),
)


def chosen_name(wanted: str, may_rename: bool, uri: str, taken: Collection[str]) -> str:
    """Return the name of a new entity.

    Args:
        wanted: name in the request; empty: use the name of the resource, if may_rename.
        may_rename: whether a number may be added to a name that is taken.
        uri: URI of the resource, or its text.
        taken: names that the entity cannot have.

    Raises:
        ResultError: the name is invalid or taken.
    """
    name = wanted or (_name_of(uri) if may_rename else "")
    if not _NAME.fullmatch(name):
        text = (
            f"the name is {quote(name)}; allowed are 1 to 64 letters, digits, '_', '.' and '-', "
            "or with allow_renaming an empty name"
        )
        raise ResultError(NAME_INVALID, text)
    if name in taken and not may_rename:
        text = f"the name {quote(name)} is taken already; choose another, or set allow_renaming"
        raise ResultError(NAME_NOT_UNIQUE, text)
    number, free = 1, name
    while free in taken:
        number, free = number + 1, f"{name}_{number}"
    return free


def _name_of(uri: str) -> str:
    if is_text(uri):
        stem = _name_in(uri)
    elif _is_primitive(uri):
        stem = uri.removeprefix(PRIMITIVE).partition("?")[0]
    else:
        stem = Path(uri).stem
    return re.sub(r"[^A-Za-z0-9_.-]", "_", stem)[:60] or "object"


def _name_in(text: str) -> str:
    """Return the name of the robot or of the first model in a text; "" if the text has no name."""
    root = root_of_text(text)
    if root not in _NAMED or len(text) > guard.MAX_BYTES:
        return ""
    try:
        top = guard.parse(without_comments(text), "<text>", root, {root: ()})
    except DescriptionError:
        return ""
    named = top.find("model") if root == "sdf" else top
    return "" if named is None else named.get(_NAMED[root], "")


def entity_of(name: str, uri: str, text: str, pose: Pose) -> Object | geometries.Obstacle:
    """Return the object or obstacle of a resource.

    Args:
        name: name of the entity.
        uri: URI of the resource, see the docstring of this module.
        text: text of a URDF, SDF or MJCF, used if the URI is empty.
        pose: pose of the entity in the world.

    Raises:
        ResultError: the resource is refused.
    """
    if not uri and not text.strip():
        raise ResultError(NO_RESOURCE, "the request has neither a URI nor a resource_string")
    if not uri:
        if not text.lstrip().startswith("<"):
            reason = "the resource_string does not begin with '<'; allowed is the text of a URDF"
            raise ResultError(UNSUPPORTED_FORMAT, f"{reason}, SDF or MJCF")
        return Object(name, text, pose=pose)
    if _is_primitive(uri):
        try:
            return _primitive(name, uri.removeprefix(PRIMITIVE), pose)
        except ResultError:
            raise
        except RbdynError as error:
            raise ResultError(PARSE_ERROR, f"{quote(uri, 200)}: {error}") from error
    place, _, query = uri.partition("?")
    path = path_of(place, MISSING_ASSETS)
    suffix = path.suffix.lower()
    if suffix == ".xacro":
        raise ResultError(UNSUPPORTED_FORMAT, NOT_FOR_OTHERS)
    if suffix == ".world":
        raise ResultError(UNSUPPORTED_FORMAT, WORLD_FILE)
    if suffix not in SPAWNED:
        suffixes = ", ".join(SPAWNED)
        allowed = f"'{PRIMITIVE}...' and the suffixes {suffixes}"
        reason = f"the format of {quote(uri, 200)} is unknown; allowed are {allowed}"
        raise ResultError(UNSUPPORTED_FORMAT, reason)
    if kind_of(path) != "file":
        raise ResultError(MISSING_ASSETS, f"there is no file {quote(str(path), 200)}")
    known = (ACTUATORS,) if suffix in ROBOTS else (*MASSES, *SURFACE)
    given = _numbers(query, dict.fromkeys(known, 1))
    if suffix in MESHES and not set(MASSES) & set(given):
        return _fixed(name, _triangles_of(path), pose, given)
    masses: dict[str, Any] = {key: given[key][0] for key in MASSES if key in given}
    return Object(name, path, pose=pose, surface=_surface(given), **masses)


def has_actuators(uri: str) -> bool:
    """Return whether to keep a robot's actuators; `?actuators=0` in the URI leaves them out.

    Args:
        uri: a URI that entity_of accepted.
    """
    return float(dict(parse_qsl(uri.partition("?")[2])).get(ACTUATORS, 1.0)) != 0.0


def _is_primitive(uri: str) -> bool:
    return uri.startswith(PRIMITIVE)


def _primitive(name: str, words: str, pose: Pose) -> Object | geometries.Obstacle:
    kind, _, query = words.partition("?")
    if kind not in SHAPES:
        hint = did_you_mean(kind, SHAPES)
        text = f"there is no primitive {quote(kind)}{hint}; allowed are {listing(SHAPES)}"
        raise ResultError(UNSUPPORTED_FORMAT, text)
    make, lengths = SHAPES[kind]
    given = _numbers(query, {**lengths, **dict.fromkeys((*MASSES, *SURFACE), 1)})
    if missing := [key for key in lengths if key not in given]:
        raise ResultError(PARSE_ERROR, f"the primitive {kind} needs {' and '.join(missing)}")
    shape = make(*(given[key] if n > 1 else given[key][0] for key, n in lengths.items()))
    masses: dict[str, Any] = {key: given[key][0] for key in MASSES if key in given}
    if masses:
        return Object(name, shape, pose=pose, surface=_surface(given), **masses)
    return _fixed(name, shape, pose, given)


def _triangles_of(path: Path) -> geometries.Points | geometries.TriangleMesh:
    """Return the triangles of a mesh, or its corners if it is convex; refuse an invalid mesh."""
    try:
        return Meshes(MeshFiles(path.parent)).concave(path.name, (1.0, 1.0, 1.0))
    except UnusableMeshError as error:
        raise ResultError(PARSE_ERROR, f"the mesh {quote(path.name)} {error}") from error


def _fixed(
    name: str, shape: geometries.WorldShape, pose: Pose, given: dict[str, tuple[float, ...]]
) -> geometries.Obstacle:
    if "restitution" in given:
        text = "a fixed object has no restitution; set it on the moving object"
        raise ResultError(PARSE_ERROR, text)
    friction: dict[str, Any] = {"friction": given["friction"][0]} if "friction" in given else {}
    return geometries.Obstacle(name, shape, pose, **friction)


def _surface(given: dict[str, tuple[float, ...]]) -> geometries.Surface | None:
    values: dict[str, Any] = {key: given[key][0] for key in SURFACE if key in given}
    return geometries.Surface(**values) if values else None


def _numbers(query: str, allowed: dict[str, int]) -> dict[str, tuple[float, ...]]:
    """Return the numbers in a query by key; `allowed` has the count of numbers of each key."""
    found: dict[str, tuple[float, ...]] = {}
    try:
        fields = parse_qsl(query, keep_blank_values=True, max_num_fields=20)
    except ValueError as error:
        raise ResultError(PARSE_ERROR, "the URI has more than 20 numbers") from error
    for key, text in fields:
        if key not in allowed or key in found:
            what = "is given twice" if key in found else f"is unknown{did_you_mean(key, allowed)}"
            known = listing(allowed)
            raise ResultError(PARSE_ERROR, f"{quote(key)} {what}; allowed are {known}")
        found[key] = _parsed(key, text, allowed[key])
    return found


def _parsed(key: str, text: str, count: int) -> tuple[float, ...]:
    try:
        numbers = [float(word) for word in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != count:
        what = f"{count} numbers with commas between them" if count > 1 else "a number"
        raise ResultError(PARSE_ERROR, f"{key} is {quote(text)}; allowed is {what}")
    if key == ACTUATORS:
        if numbers[0] not in (0.0, 1.0):
            raise ResultError(PARSE_ERROR, f"{key} is {quote(text)}; allowed are 0 and 1")
        return tuple(numbers)
    above = None if key in SURFACE else 0.0
    if count == 1:
        return (float(finite(key, numbers[0], above=above, **REQUEST)),)
    return tuple(finite(key, numbers, (count,), above=above, **REQUEST).tolist())
