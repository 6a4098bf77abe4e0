# SPDX-License-Identifier: Apache-2.0
"""The keys of a scene file. Units are SI; files are found from the folder of the scene."""

from rbdyn_ros.description.mechanism_files.geometries import (
    FILTER,
    FLOOR_TABLE,
    OBSTACLES,
    SHAPES,
    SURFACE,
    names,
)
from rbdyn_ros.description.yaml_files.dialect import Dialect
from rbdyn_ros.description.yaml_files.kinds import (
    Either,
    Flag,
    Form,
    Kind,
    List,
    Name,
    Number,
    OneOf,
    Owned,
)
from rbdyn_ros.description.yaml_files.poses import PLACE
from rbdyn_ros.description.yaml_files.robots import ROBOT_KEYS
from rbdyn_ros.description.yaml_files.tables import ByName, Key, Table, table

_SURFACE = Key("surface", Name("the name of a surface"), "of all its geometries")
_DECOMPOSE = Key(
    "decompose", Flag(), "meshes become several convex parts, not their hull", default=False
)
#: Kinds of mobile bases.
BASES = (*("auto", "differential", "skid_steer", "ackermann", "mecanum", "omni", "planar"),)
_PAIRS = List(List(Name(), "name", 2, 2), "pair")
ROBOT_TABLE = table(
    "robot",
    *ROBOT_KEYS,
    *PLACE,
    Key("floating_base", Flag(), "the root link moves freely", default=False),
    Key("start", ByName(Number(), "position", empty=True), "by joint [rad or m]"),
    _SURFACE,
    Key("surfaces", ByName(Name("the name of a surface"), "surface"), "by link"),
    Key("exclude", _PAIRS, "pairs of links that may overlap", default=()),
    Key(
        "furniture",
        List(Name(), "name"),
        "links fixed to its base that are not part of it: the first moving links touch them",
        default=(),
    ),
    Key("self_collision", Flag(), "its links push each other", default=True),
    Key("filters", ByName(FILTER.kind, "filter"), "by link"),
    _DECOMPOSE,
    Key(
        "box",
        Form(
            "franka or ur, or with an IPv4 address franka@ADDRESS",
            r"(franka|ur)(@[0-9]+(\.[0-9]+){3})?",
        ),
        "its control box, to which clients of its vendor connect; default: none",
    ),
    Key(
        "base",
        OneOf(BASES),
        "how it follows `cmd_vel` in the simulator; auto: by its wheels; default: not at all",
    ),
)
ROBOT: Kind = Either(scalar=Name("a file"), table=ROBOT_TABLE)
PART = table("part", *SHAPES, *PLACE, one=names(SHAPES), code="bad-shape")
OBJECT = table(
    "object",
    *SHAPES,
    Key("parts", List(PART, "part"), "several shapes, each in its place"),
    Key("file", Name("a file"), "a robot file, or a mesh"),
    Key("mass", Number(unit="kg"), "either this or `density`, except for a robot file"),
    Key("density", Number(unit="kg/m^3"), "either this or `mass`"),
    *PLACE,
    _SURFACE,
    FILTER,
    _DECOMPOSE,
    one=(*names(SHAPES), "parts", "file"),
    code="bad-shape",
)
SURFACES = ByName(Table("surface", SURFACE), "surface", "surface", empty=True)
KEYS = (
    Key("name", Name(), "default: the name of the file"),
    Key("description", Name(), "for people who choose a world"),
    Key("tags", List(Name(), "tag"), "words by which worlds are chosen"),
    Key("robot", Owned(ROBOT, "the robot"), "one robot: a file, or a table as in `robots`"),
    Key(
        "robots",
        ByName(ROBOT, "robot", "robot", empty=True),
        "or several, by name; the names of their parts begin with NAME/",
    ),
    Key(
        "surfaces", ByName(Table("surface", SURFACE), "surface", "surface", empty=True), "by name"
    ),
    Key("objects", ByName(OBJECT, "object", "object", empty=True), "free objects, by name"),
    Key(
        "floor",
        Owned(Either(scalar=Flag(), table=FLOOR_TABLE), "the floor"),
        "a level plane, by default at height 0; false: none",
    ),
    Key("obstacles", OBSTACLES, "shapes fixed in the world, by name"),
    Key(
        "keyframes",
        ByName(ByName(Number(), "position", empty=True), "keyframe", "keyframe", empty=True),
        "named states: positions by joint [rad or m]; `m.key(name)` has them",
    ),
    Key(
        "exclude",
        Owned(_PAIRS, "the scene"),
        "pairs of objects, obstacles, links or geometries that do not push each other",
        default=(),
    ),
)
DIALECT = Dialect("rbdyn_scene", "a scene file", "not-a-scene", Table("scene", KEYS), apart=True)
