# SPDX-License-Identifier: Apache-2.0
"""The elements and attributes of URDF that dynamics needs."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from rbdyn_ros.description.reading.guard import WHOLE
from rbdyn_ros.description.urdf_files.versions import WITH_JERK, WITH_QUATERNIONS, Version

#: Attribute of an orientation (x, y, z, w); prune.py converts it to roll, pitch and yaw.
QUATERNION = "quat_xyzw"


@dataclass(frozen=True)
class Tag:
    """The attributes and children that a tag may have.

    Attributes:
        numbers: attributes with one number.
        vectors: attributes with three numbers.
        quaternions: attributes with four numbers.
        names: attributes that are names; always required.
        required: required attributes.
        assumed: values of required attributes that may be missing with ``strict=False``.
        optional_since: the version that makes these attributes optional; None: they stay required.
        since: the version that adds an attribute, if it is not the first.
        one, many, needed: children that may occur once or any number of times, or must occur once.
        ignored: known children and attributes that other programs read, or that have no meaning.
        unused: known children and attributes that are not read; a note mentions them.
        kinds: number of numbers of every attribute; 0 for a name.
        children: all allowed child tags.
        needs: all required attributes.
    """

    numbers: tuple[str, ...] = ()
    vectors: tuple[str, ...] = ()
    quaternions: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    assumed: dict[str, str] = field(default_factory=dict)
    optional_since: Version | None = None
    since: dict[str, Version] = field(default_factory=dict)
    one: tuple[str, ...] = ()
    many: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    kinds: dict[str, int] = field(init=False)
    children: frozenset[str] = field(init=False)
    needs: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        kinds = dict.fromkeys(self.names, 0) | dict.fromkeys(self.numbers, 1)
        kinds |= dict.fromkeys(self.vectors, 3) | dict.fromkeys(self.quaternions, 4)
        object.__setattr__(self, "kinds", kinds)
        object.__setattr__(self, "children", frozenset(self.needed + self.one + self.many))
        object.__setattr__(self, "needs", frozenset(self.names + self.required))

    def optional(self, attribute: str, version: Version) -> bool:
        """Return whether a version of URDF lets a required attribute be missing."""
        since = self.optional_since
        return since is not None and version >= since and attribute in self.assumed


_INERTIA = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
#: The attributes of a limit that limits nothing.
UNLIMITED = {"effort": "inf", "velocity": "inf"}
#: The limits that version 1.2 adds.
NEW_LIMITS = ("acceleration", "deceleration", "jerk")

#: Elements of joints that close loops, and the children that hold their two ends.
LOOPS = {
    "loop_joint": ("link1", "link2"),
    "loop": ("predecessor", "successor"),
    "constraint": ("parent", "child"),
}
_OF_LOOPS = ("limit", "dynamics", "mimic")
_PLACED: dict[str, Any] = {
    "vectors": ("xyz", "rpy"),
    "quaternions": (QUATERNION,),
    "since": {QUATERNION: WITH_QUATERNIONS},
}

SCHEMA = {
    "robot": Tag(
        names=("name",),
        many=("link", "joint", *LOOPS),
        ignored=("version", "material"),
        unused=("sensor", "coupling"),
    ),
    "link": Tag(
        names=("name",), one=("inertial",), ignored=("visual", "collision"), unused=("type",)
    ),
    "inertial": Tag(needed=("mass", "inertia"), one=("origin",)),
    "mass": Tag(numbers=("value",), required=("value",)),
    "inertia": Tag(numbers=_INERTIA, required=_INERTIA),
    "origin": Tag(**_PLACED),
    "joint": Tag(
        names=("name", "type"),
        needed=("parent", "child"),
        one=("origin", "axis", "limit", "dynamics", "mimic"),
        unused=("safety_controller", "calibration"),
    ),
    "parent": Tag(names=("link",)),
    "child": Tag(names=("link",)),
    "axis": Tag(vectors=("xyz",), required=("xyz",)),
    "limit": Tag(
        numbers=("lower", "upper", "effort", "velocity", *NEW_LIMITS),
        required=("effort", "velocity"),
        assumed=UNLIMITED,
        optional_since=WITH_JERK,
        since=dict.fromkeys(NEW_LIMITS, WITH_JERK),
    ),
    "dynamics": Tag(numbers=("damping", "friction")),
    "mimic": Tag(names=("joint",), numbers=("multiplier", "offset")),
    **{
        tag: Tag(names=("name", "type"), needed=ends, one=("axis", *_OF_LOOPS))
        for tag, ends in LOOPS.items()
    },
    "constraint": Tag(
        names=("name", "type"),
        needed=LOOPS["constraint"],
        one=(*_OF_LOOPS, "parent_origin", "parent_axis", "child_origin", "child_axis"),
    ),
    **dict.fromkeys(("parent_origin", "child_origin"), Tag(**_PLACED)),
    **dict.fromkeys(("parent_axis", "child_axis"), Tag(vectors=("xyz",), required=("xyz",))),
    **{end: Tag(names=("link",), **_PLACED) for end in LOOPS["loop_joint"]},
    **{end: Tag(names=("link",), one=("origin",)) for end in LOOPS["loop"]},
}
#: Elements of vendors, see vendors.py.
VENDORS = ("ros2_control", "transmission", "gazebo")
WANTED: dict[str, Collection[str]] = {
    **{tag: spec.children for tag, spec in SCHEMA.items()},
    **dict.fromkeys(VENDORS, WHOLE),
}
WANTED["robot"] = SCHEMA["robot"].children | {*VENDORS}
