# SPDX-License-Identifier: Apache-2.0
"""The joints, loops, couplings and drives of a mechanism file."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.parts.joint_types import JOINT_SPECS
from rbdyn_ros.description.parts.types import Joint, Limit, Mimic, Trajectory
from rbdyn_ros.description.yaml_files.kinds import (
    VECTOR,
    Either,
    Flag,
    List,
    Name,
    Number,
    NumberList,
)
from rbdyn_ros.description.yaml_files.poses import AT, pose_of
from rbdyn_ros.description.yaml_files.tables import ByName, Given, Key, Table, WithKey, table
from rbdyn_ros.errors import listing, quote

_LIMIT = Table(
    "limit",
    tuple(
        Key(name, Number(infinite=True, unit=unit), doc)
        for name, unit, doc in (
            ("lower", "rad or m", "smallest position"),
            ("upper", "rad or m", "largest position"),
            ("effort", "N m or N", "largest effort"),
            ("velocity", "rad/s or m/s", "largest speed"),
            ("acceleration", "rad/s^2 or m/s^2", "largest acceleration of planned motions"),
            ("deceleration", "rad/s^2 or m/s^2", "largest deceleration of planned motions"),
            ("jerk", "rad/s^3 or m/s^3", "largest jerk of planned motions"),
        )
    ),
)
LIMIT = Either(items=NumberList(2), table=_LIMIT)
_PASSIVE = (
    ("damping", "viscous friction [N m s/rad or N s/m]"),
    ("friction", "dry friction [N m or N]"),
    ("armature", "inertia of the rotor at the joint [kg m^2 or kg]"),
    ("stiffness", "stiffness of a spring in the joint [N m/rad or N/m]"),
)
_OTHERS = (
    *AT,
    Key("axis", VECTOR, "axis in the joint frame; default [1, 0, 0]"),
    Key("axis2", VECTOR, "second axis, perpendicular to the first"),
    Key("limit", LIMIT, "limit of a joint with one coordinate: [lower, upper], or a table"),
    Key("limits", List(LIMIT, "limit"), "one limit for each of several coordinates"),
    *(Key(name, Number(), doc) for name, doc in _PASSIVE),
    Key("rest", Either(scalar=Number(), items=NumberList()), "rest position of the joint spring"),
    Key("actuated", Flag(), "false: the joint has no actuator"),
    Key("transmission", List(NumberList(6), "force"),
        "spatial force of the actuator for each degree of freedom"),
)  # fmt: skip
_FRAME = Table("", AT)


def joint_table(*, loop: bool = False) -> Table:
    """Return the table of a joint, or of a loop; register_joint may have added parameters."""
    names = ("parent", "child", "origin", "child_origin")
    ends = ("predecessor", "successor", "X_P", "X_S") if loop else names
    parent, child, origin, child_origin = ends
    parameters = sorted({name for spec in JOINT_SPECS.values() for name in spec.parameters})
    rows = (
        Key("type", Name("the name of a type"), "type of the joint", needed=loop),
        Key(parent, Name(), "first link; needed for a new joint", needed=loop, field=names[0]),
        Key(child, Name(), "second link; needed for a new joint", needed=loop, field=names[1]),
        Key(origin, _FRAME, "joint frame in the first link, as `xyz` and `rpy`", field=names[2]),
        Key(child_origin, _FRAME, "joint frame in the second link", field=names[3]),
        *_OTHERS,
        *(Key(name, Number(), "parameter of some joint types") for name in parameters),
    )
    return Table("joint", rows)


COUPLINGS = ByName(
    table(
        "coupling",
        Key("follows", Name("the name of a joint"), "the leader of the joint", needed=True),
        Key("ratio", Number(), "factor of the leader's position; default 1"),
        Key("offset", Number(unit="rad or m"), "joint position with the leader at 0; default 0"),
    ),
    "joint",
    "coupling",
    empty=True,
)
DRIVES = ByName(
    WithKey(
        ("function",),
        table(
            "drive by a function",
            Key("function", Name(), "name given to `rb.register_motion`", needed=True),
        ),
        table(
            "drive",
            Key("times", NumberList(), "times of the samples, rising [s]", needed=True),
            Key("positions", List(Either(scalar=Number(), items=NumberList()), "position"),
                "for each time a position, or a list by coordinate [rad or m]", needed=True),
            Key("periodic", Flag(), "the motion repeats", default=False),
        ),
    ),
    "joint",
    "drive",
    empty=True,
)  # fmt: skip


def read_joints(section: Given, known: Sequence[Joint]) -> list[Joint]:
    """Return the known joints, changed by the section, then the new joints."""
    joints = {joint.name: joint for joint in known}
    for name, line in section.lines.items():
        before, given = joints.get(name), section.get(name)
        joint = _joint(name, given, line, section.audit, before, new=before is None)
        if joint is not None:
            joints[name] = joint
    return list(joints.values())


def read_loops(section: Given) -> list[Joint]:
    """Return the loop joints of the section."""
    found = (
        _joint(name, section.get(name), line, section.audit, None, new=False)
        for name, line in section.lines.items()
    )
    return [replace(joint, closes_loop=True) for joint in found if joint is not None]


def _joint(
    name: str, given: Given | None, line: int, audit: Audit, before: Joint | None, *, new: bool
) -> Joint | None:
    """Return the new joint of a table, or the joint `before` with the changes of the table.

    After an error return `before`, which is None for a new joint.
    """
    if given is not None:
        _check_keys(given, new=new)
    if given is None or not given.sound:
        audit.partial = True
        return before
    if before is not None:
        before = _fitting(before, given, line)
    parameters = {name for spec in JOINT_SPECS.values() for name in spec.parameters}
    changes: dict[str, Any] = {"line": line}
    own = {key: value for key, value in given.items() if key in parameters}
    at = Joint("", "", "", "") if before is None else before
    for key, value in given.items():
        if key in ("origin", "child_origin"):
            changes[key] = pose_of(value, getattr(at, key))
        elif key == "limit":
            changes[key] = _limit(value, at.limit or Limit())
        elif key == "limits":
            changes[key] = tuple(_limit(each, Limit()) for each in value)
        elif key == "rest" and isinstance(value, float):
            changes[key] = (value,)
        elif key not in parameters and key not in ("xyz", "rpy"):
            changes[key] = value
    if "xyz" in given or "rpy" in given:
        changes["origin"] = pose_of(given, at.origin)
    if before is None:
        return Joint(name=name, parameters=own, **changes)
    return replace(before, parameters={**before.parameters, **own}, **changes)


def _check_keys(given: Given, *, new: bool) -> None:
    """Check that a new joint names its links, and that only one key sets its pose."""
    for key in ("type", "parent", "child") if new else ():
        if key not in given.lines:
            message = f"the joint has no key {quote(key)}"
            given.error("missing-key", "", message, allowed=key)
    own = [key for key in ("xyz", "rpy") if key in given.lines]
    origin = next((key for key in ("origin", "X_P") if key in given.lines), None)
    if own and origin is not None:
        message = (
            f"it has both {quote(own[0])} and {quote(origin)}, which set the same pose; delete one"
        )
        given.error("duplicate-key", origin, message, found=origin)


def _limit(value: Given | tuple[float, float], before: Limit) -> Limit:
    if isinstance(value, tuple):
        return replace(before, lower=value[0], upper=value[1])
    return replace(before, **value)


def _fitting(before: Joint, given: Given, line: int) -> Joint:
    """Return the joint; drop its limits, with a note, if its new type has other coordinates."""
    new_type = given.get("type", before.type)
    old, new = JOINT_SPECS[before.type], JOINT_SPECS.get(new_type)
    if new is None or (before.limit is None and not before.limits):
        return before
    if old.coordinates == new.coordinates:
        return before
    if "limit" not in given and "limits" not in given:
        message = (
            f"the limits of the former {before.type} joint are left out: "
            f"a {new_type} joint has other coordinates"
        )
        given.audit.add("note", "limit-left-out", given.owner, line, message)
    return replace(before, limit=None, limits=())


def couple(section: Given, joints: Sequence[Joint]) -> list[Joint]:
    """Return the joints with the mimics of the section."""
    mimics = {}
    names = {joint.name for joint in joints}
    for name, line in section.lines.items():
        given, owner = section.get(name), f"coupling {quote(name)}"
        if not _exists(name, names, owner, line, section.audit) or given is None:
            continue
        numbers = {**given}
        follows = numbers.pop("follows", None)
        if follows is not None and _exists(
            follows, names, owner, given.lines["follows"], section.audit
        ):
            mimics[name] = Mimic(follows, **numbers)
    return [replace(j, mimic=mimics[j.name]) if j.name in mimics else j for j in joints]


def drive(section: Given, joints: Sequence[Joint]) -> list[Joint]:
    """Return the joints with the prescribed motions of the section."""
    motions: dict[str, Trajectory | str | None] = {}
    names = {joint.name for joint in joints}
    for name, line in section.lines.items():
        given = section.get(name)
        known = _exists(name, names, f"drive {quote(name)}", line, section.audit)
        if known and given is not None and given.sound:
            motions[name] = given["function"] if "function" in given else _trajectory(given)
    return [replace(j, motion=motions[j.name]) if j.name in motions else j for j in joints]


def _trajectory(given: Given) -> Trajectory | None:
    positions = given["positions"]
    if len({isinstance(row, tuple) for row in positions}) > 1:
        message = "the positions are numbers and lists; allowed are numbers, or lists of them"
        given.error("bad-value", "positions", message)
        return None
    rows = tuple(row if isinstance(row, tuple) else (row,) for row in positions)
    return Trajectory(given["times"], rows, given["periodic"])


def _exists(name: str, names: set[str], owner: str, line: int, audit: Audit) -> bool:
    if name in names:
        return True
    if not audit.partial:  # a missing name may belong to a joint that could not be read
        known = sorted(names)
        message = f"there is no joint {quote(name)}{audit.hint(name, known)}"
        audit.error("unknown-joint", owner, line, message, found=name, allowed=listing(known))
    return False
