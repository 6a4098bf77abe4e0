# SPDX-License-Identifier: Apache-2.0
"""Write a robot as a mechanism file."""

import json
import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from rbdyn_ros.description.parts import geometries
from rbdyn_ros.description.parts.joint_types import JOINT_SPECS
from rbdyn_ros.description.parts.poses import IN_PLACE, Pose, rpy_from_quat
from rbdyn_ros.description.parts.types import (
    Constraint,
    Gear,
    Inertial,
    Joint,
    Length,
    Limit,
    Link,
    Trajectory,
)
from rbdyn_ros.errors import quote
from rbdyn_ros.writing.left_out import LIMITS, WORDS, LeftOut
from rbdyn_ros.writing.robot import WrittenRobot

FORM = "a mechanism file"
Table = dict[str, Any]


def write(robot: WrittenRobot, left: LeftOut) -> bytes:
    """Return a mechanism file; record in `left` everything that it cannot express."""
    import yaml

    described = robot.description
    owner = f"robot {quote(described.name)}"
    if robot.floats:
        left.add(owner, "its floating base", "give --floating-base where the file is used")
    if robot.visuals:
        left.add(owner, "the appearance of its links")
    if not described.self_collision:
        left.add(owner, "that its links do not push each other")
    left.parts(described, "states", "servos")
    for pair in described.exclusions:
        left.pair(pair)
    for joint in described.joints:
        if joint.start:
            left.add(f"joint {quote(joint.name)}", WORDS["start"])
    tree = [joint for joint in described.joints if not joint.closes_loop]
    loops = [joint for joint in described.joints if joint.closes_loop]
    sections = {
        "rbdyn_mechanism": 1,
        "name": described.name,
        "base": robot.base,
        "links": {link.name: _link(link) for link in described.links},
        "joints": {joint.name: _joint(joint) for joint in tree},
        "loops": {joint.name: _joint(joint, loop=True) for joint in loops},
        "couplings": {j.name: _coupling(j) for j in described.joints if j.mimic is not None},
        "drives": {j.name: _drive(j.motion) for j in described.joints if j.motion is not None},
        "constraints": {part.name: _constraint(part) for part in described.constraints},
        "springs": {
            spring.name: {
                "from": _point(spring.link1, spring.point1),
                "to": _point(spring.link2, spring.point2),
                **_numbers(spring, "stiffness", "damping", "length"),
            }
            for spring in described.springs
        },
        "geometries": {
            part.name: {
                "link": part.link,
                **_shape(part.shape),
                **_at(part.origin),
                **_changed(part.surface, geometries.Surface()),
                **_filter(part.filter),
            }
            for part in described.geometries
        },
        "obstacles": {
            part.name: {
                **_shape(part.shape),
                **_at(part.origin),
                **({"friction": part.friction} if math.isfinite(part.friction) else {}),
                **({"velocity": list(part.velocity)} if any(part.velocity) else {}),
                **_filter(part.filter),
            }
            for part in described.obstacles
            if _can_say(part.name, part.shape, left)
        },
    }
    kept = {name: value for name, value in sections.items() if value not in ({}, None)}
    kept = json.loads(json.dumps(kept))  # PyYAML refuses numbers of NumPy
    text: str = yaml.safe_dump(kept, sort_keys=False, default_flow_style=None, width=100)
    return text.encode()


def _can_say(name: str, shape: geometries.WorldShape, left: LeftOut) -> bool:
    if isinstance(shape, geometries.HeightField):
        left.add(f"obstacle {quote(name)}", "it", "its heights are in a file of their own")
        return False
    if isinstance(shape, geometries.TriangleMesh):
        left.add(f"obstacle {quote(name)}", "it", "its triangles are in a file of their own")
        return False
    return True


def _link(link: Link) -> Table | None:
    inertial = link.inertial
    if inertial is None:
        return None
    table: Table = {"mass": inertial.mass}
    if inertial.inertia != Inertial(0.0).inertia:
        table["inertia"] = list(inertial.inertia)
    return table | _at(inertial.origin)


def _joint(joint: Joint, loop: bool = False) -> Table:
    names = ("predecessor", "successor", "X_P", "X_S") if loop else _ENDS
    ends = dict(zip(_ENDS, names, strict=True))
    table: Table = {"type": joint.type, ends["parent"]: joint.parent, ends["child"]: joint.child}
    for end in ("origin", "child_origin"):
        pose = getattr(joint, end)
        if pose != IN_PLACE:
            table[ends[end]] = _at(pose)
    axes = JOINT_SPECS[joint.type].axes
    if axes:
        table["axis"] = list(joint.axis)
    if axes > 1 and joint.axis2 is not None:
        table["axis2"] = list(joint.axis2)
    table |= _numbers(joint, "damping", "friction", "armature", "stiffness")
    table |= {name: float(value) for name, value in joint.parameters.items()}
    if joint.limit is not None:
        table["limit"] = _limit(joint.limit)
    if joint.limits:
        table["limits"] = [_limit(limit) for limit in joint.limits]
    if joint.rest:
        table["rest"] = list(joint.rest)
    if not joint.actuated:
        table["actuated"] = False
    if joint.transmission:
        table["transmission"] = [list(force) for force in joint.transmission]
    return table


_ENDS = ("parent", "child", "origin", "child_origin")


def _limit(limit: Limit) -> Table:
    return {name: getattr(limit, name) for name in LIMITS if math.isfinite(getattr(limit, name))}


def _coupling(joint: Joint) -> Table:
    assert joint.mimic is not None
    mimic = joint.mimic
    return {"follows": mimic.joint, "ratio": float(mimic.ratio), "offset": float(mimic.offset)}


def _drive(motion: Trajectory | str) -> Table:
    if isinstance(motion, str):
        return {"function": motion}
    rows = [list(row) for row in motion.positions]
    table: Table = {"times": list(motion.times), "positions": rows}
    return table | ({"periodic": True} if motion.periodic else {})


def _constraint(part: Constraint) -> Table:
    if isinstance(part, Length):
        points = [_point(*end) for end in zip(part.links, part.points, strict=True)]
        return {"band": {"points": points, "length": part.length, "closed": part.closed}}
    if isinstance(part, Gear):
        terms = [
            {"joint": term.joint, "factor": float(term.factor)}
            | ({"coordinate": term.coordinate} if term.coordinate else {})
            for term in part.terms
        ]
        return {"gear": {"terms": terms, "offset": float(part.offset)}}
    table: Table = {"link": part.link, "on": part.on, "radius": part.radius}
    table |= {name: list(getattr(part, name)) for name in ("centre", "point", "normal")}
    return {"roll": table | ({"axis": list(part.axis)} if part.axis is not None else {})}


def _point(link: str, point: tuple[float, float, float]) -> Table:
    return {"link": link, "xyz": list(point)}


def _shape(shape: geometries.Shape | geometries.WorldShape) -> Table:
    if isinstance(shape, geometries.Points):
        return {"points": [list(point) for point in shape.points]}
    if isinstance(shape, geometries.Box):
        return {"box": {"size": list(shape.size)}}
    if isinstance(shape, geometries.Sphere):
        return {"sphere": {"radius": shape.radius}}
    if isinstance(shape, geometries.Plane):
        return {"plane": {}}
    assert not isinstance(shape, geometries.HeightField | geometries.TriangleMesh)
    kind = "capsule" if isinstance(shape, geometries.Capsule) else "cylinder"
    return {kind: {"radius": shape.radius, "length": shape.length}}


def _at(pose: Pose) -> Table:
    table: Table = {"xyz": list(pose.pos)} if any(pose.pos) else {}
    turned = pose.quat != IN_PLACE.quat
    return table | ({"rpy": list(rpy_from_quat(pose.quat))} if turned else {})


def _filter(masks: geometries.Filter) -> Mapping[str, Table]:
    changed = _changed(masks, geometries.Filter())
    return {"filter": changed} if changed else {}


def _changed(value: object, plain: object) -> Table:
    """Return the fields of a dataclass whose values differ from the values of another object."""
    names = [each.name for each in fields(plain)]  # type: ignore[arg-type]
    return {x: getattr(value, x) for x in names if getattr(value, x) != getattr(plain, x)}


def _numbers(owner: object, *names: str) -> Table:
    """Return by name the attributes of a part that are not zero."""
    return {name: float(getattr(owner, name)) for name in names if getattr(owner, name)}
