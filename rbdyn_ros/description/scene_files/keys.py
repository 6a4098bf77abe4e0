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
from rbdyn_ros.description.yaml_files import kinds
from rbdyn_ros.description.yaml_files.dialect import Dialect
from rbdyn_ros.description.yaml_files.poses import PLACE
from rbdyn_ros.description.yaml_files.robots import ROBOT_KEYS
from rbdyn_ros.description.yaml_files.tables import ByName, Key, Table, table

_SURFACE = Key("surface", kinds.Name("the name of a surface"), "surface of all geometries")
_DECOMPOSE = Key(
    "decompose", kinds.Flag(), "meshes become several convex parts, not their hull", default=False
)
#: Kinds of mobile bases.
BASES = (*("auto", "differential", "skid_steer", "ackermann", "mecanum", "omni", "planar"),)
_PAIRS = kinds.List(kinds.List(kinds.Name(), "name", 2, 2), "pair")
ROBOT_TABLE = table(
    "robot",
    *ROBOT_KEYS,
    *PLACE,
    Key("floating_base", kinds.Flag(), "the root link moves freely", default=False),
    Key("start", ByName(kinds.Number(), "position", empty=True), "start positions [rad or m]"),
    _SURFACE,
    Key("surfaces", ByName(kinds.Name("the name of a surface"), "surface"), "surfaces by link"),
    Key("exclude", _PAIRS, "pairs of links that may overlap", default=()),
    Key("furniture", kinds.List(kinds.Name(), "name"),
        "links fixed to the base that are not part of the robot, so that its first moving links "
        "touch them",
        default=()),
    Key("self_collision", kinds.Flag(), "links of the robot can push each other", default=True),
    Key("filters", ByName(FILTER.kind, "filter"), "contact filters by link"),
    _DECOMPOSE,
    Key(
        "box",
        kinds.Form(
            "franka or ur, or with an IPv4 address franka@ADDRESS",
            r"(franka|ur)(@[0-9]+(\.[0-9]+){3})?",
        ),
        "control box to which the vendor's clients connect; default: none",
    ),
    Key("base", kinds.OneOf(BASES),
        "how the base follows `cmd_vel`; auto: by its wheels; default: it does not"),
)  # fmt: skip
ROBOT: kinds.Kind = kinds.Either(scalar=kinds.Name("a file"), table=ROBOT_TABLE)
PART = table("part", *SHAPES, *PLACE, one=names(SHAPES), code="bad-shape")
OBJECT = table(
    "object",
    *SHAPES,
    Key("parts", kinds.List(PART, "part"), "several shapes, each with its place"),
    Key("file", kinds.Name("a file"), "a robot file, or a mesh"),
    Key("mass", kinds.Number(unit="kg"), "mass, instead of `density`; not with a robot file"),
    Key("density", kinds.Number(unit="kg/m^3"), "density, instead of `mass`"),
    *PLACE,
    _SURFACE,
    FILTER,
    _DECOMPOSE,
    one=(*names(SHAPES), "parts", "file"),
    code="bad-shape",
)
SURFACES = ByName(Table("surface", SURFACE), "surface", "surface", empty=True)
KEYS = (
    Key("name", kinds.Name(), "default: the name of the file"),
    Key("description", kinds.Name(), "text that helps people choose a world"),
    Key("tags", kinds.List(kinds.Name(), "tag"), "words by which worlds are chosen"),
    Key("robot", kinds.Owned(ROBOT, "the robot"), "one robot: a file, or a table as in `robots`"),
    Key("robots", ByName(ROBOT, "robot", "robot", empty=True),
        "several robots, by name; the names of their parts begin with NAME/"),
    Key(
        "surfaces",
        ByName(Table("surface", SURFACE), "surface", "surface", empty=True),
        "surfaces by name",
    ),
    Key("objects", ByName(OBJECT, "object", "object", empty=True), "free objects, by name"),
    Key("floor", kinds.Owned(kinds.Either(scalar=kinds.Flag(), table=FLOOR_TABLE), "the floor"),
        "a level plane, by default at height 0; false: none"),
    Key("obstacles", OBSTACLES, "shapes fixed in the world, by name"),
    Key("keyframes",
        ByName(ByName(kinds.Number(), "position", empty=True), "keyframe", "keyframe", empty=True),
        "named states: positions by joint [rad or m]; `m.key(name)` has them"),
    Key("exclude", kinds.Owned(_PAIRS, "the scene"),
        "pairs of objects, obstacles, links or geometries that do not push each other",
        default=()),
)  # fmt: skip
DIALECT = Dialect("rbdyn_scene", "a scene file", "not-a-scene", Table("scene", KEYS), apart=True)
