# SPDX-License-Identifier: Apache-2.0
"""Read the joint_limits.yaml of MoveIt next to a robot: limits of planned motions.

    joint_limits:
      joint_1: {has_velocity_limits: true, max_velocity: 2.0,
                has_acceleration_limits: true, max_acceleration: 5.0}

or the same as parameters of a ROS node: under `/**`, `ros__parameters` and
`robot_description_planning`.

The file narrows limits of velocity, and sets limits of acceleration, deceleration and jerk that
the robot lacks. The position limits of the robot stay.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from rbdyn_ros.checks.audit import Audit, Subject
from rbdyn_ros.checks.names import kind_of
from rbdyn_ros.description.parts.types import Joint
from rbdyn_ros.description.reading.files import read_bytes
from rbdyn_ros.description.reading.packages import is_open, own_package
from rbdyn_ros.description.yaml_files.text import Scalar, YamlTable, parse
from rbdyn_ros.errors import DescriptionError, counted, listing, quote

_NAME, _KEY = "joint_limits.yaml", "joint_limits"
_PARAMETERS = ("ros__parameters", "robot_description_planning")
_FIELDS = ("velocity", "acceleration", "deceleration", "jerk")
_CODE = "joint-limits"


def with_limits(joints: tuple[Joint, ...], robot: Path | None, audit: Audit) -> tuple[Joint, ...]:
    """Return joints with the limits of a joint_limits.yaml next to the robot, if it exists.

    Args:
        joints: joints of the robot.
        robot: path of its file; None: it is a text.
        audit: receives a note, and warnings about limits that cannot be used.
    """
    folder = Path() if robot is None else robot.absolute().parent
    places = [folder, folder / "config", folder.parent / "config"] if robot else []
    if own_package(folder) is None or own_package(folder) != own_package(folder.parent):
        places = places[:2]
    found_at = (at / _NAME for at in places if kind_of(at / _NAME) == "file" and not is_open(at))
    path = next(found_at, None)
    if path is None:
        return joints
    at = Subject(audit, f"file {quote(path.name)}")
    try:
        own = Audit()
        top = parse(read_bytes(path, "a .yaml file", "its path"), path.name, own, "a file")
    except DescriptionError as error:
        at.warn(_CODE, f"it is not used: {error}")
        return joints
    tables = _table(top).nodes.get(_KEY)
    named = tables.nodes if isinstance(tables, YamlTable) else {}
    for finding in own.findings if named else ():
        at.warn(_CODE, f"line {finding.line}: {finding.message}")
    if named and named.keys().isdisjoint(joint.name for joint in joints):
        at.warn(_CODE, f"it is not used: the robot has none of its joints {listing(named)}")
    changed = []
    for joint in joints:
        table = named.get(joint.name)
        found = dict(_limits(table, joint, audit)) if isinstance(table, YamlTable) else {}
        changed.append(narrowed(joint, found))
    if changed != list(joints):
        count = sum(new != old for new, old in zip(changed, joints, strict=True))
        at.note(_CODE, f"it narrows the limits of {counted(count, 'joint')}")
    return tuple(changed)


def _table(top: YamlTable) -> YamlTable:
    """Return the table of joint_limits: the file, or parameters of a ROS node in it."""
    for node in top.nodes.values():
        inner: object = node
        for key in _PARAMETERS:
            inner = inner.nodes.get(key) if isinstance(inner, YamlTable) else None
        if isinstance(inner, YamlTable) and _KEY in inner.nodes:
            return inner
    inner = top.nodes.get(_PARAMETERS[1])
    return inner if isinstance(inner, YamlTable) else top


def _limits(table: YamlTable, joint: Joint, audit: Audit) -> Iterator[tuple[str, float]]:
    for name in _FIELDS:
        has, most = (
            getattr(table.nodes.get(key), "text", "")
            for key in (f"has_{name}_limits", f"max_{name}")
        )
        if has.lower() not in ("true", "false", ""):
            text = f"has_{name}_limits of {_NAME} is {quote(has)}; allowed are true and false"
            Subject(audit, f"joint {quote(joint.name)}").warn(_CODE, text, found=has)
        if has.lower() != "true":
            continue
        try:
            value = float(most)
        except ValueError:
            value = math.nan
        if value > 0.0:
            yield name, value
        else:
            node = table.nodes.get(f"max_{name}")
            where = f", line {node.line}" if isinstance(node, Scalar) else ""
            text = f"max_{name} of {_NAME}{where} is {quote(most)}; allowed is a number above 0"
            audit.about("joint", joint).warn(_CODE, text, found=most)


def narrowed(joint: Joint, found: Mapping[str, float]) -> Joint:
    """Return a joint whose limits are at most the given numbers, by field of Limit."""
    if joint.limit is None or not found:
        return joint
    narrow = {name: min(getattr(joint.limit, name), value) for name, value in found.items()}
    return replace(joint, limit=replace(joint.limit, **narrow))
