# SPDX-License-Identifier: Apache-2.0
"""Read the joints of an SDF."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rbdyn_ros.description.parts.poses import IN_PLACE, Vec3, compose, inverse, rotate
from rbdyn_ros.description.parts.types import Gear, GearTerm, Joint, Limit, Mimic
from rbdyn_ros.description.sdf_files.frames import MODEL_FRAME, Frame, FramePlaces
from rbdyn_ros.description.xml_files.sdf_elements import UNLIMITED, SdfElement
from rbdyn_ros.errors import listing, quote

#: Names of SDF's joint types in this library.
TYPES = {
    "revolute": "revolute",
    "continuous": "continuous",
    "prismatic": "prismatic",
    "fixed": "fixed",
    "ball": "spherical",
    "universal": "universal",
    "revolute2": "universal",
    "screw": "helical",
}
_AXES = {"fixed": 0, "spherical": 0, "universal": 2}
_SQUARE = 1e-6


def read_joint(frame: Frame, places: FramePlaces, top: Frame) -> Joint | None:
    """Return a joint; its ends are full names of links, or `world`.

    A link of a static model is treated as the world. Return None after an error, or if both ends
    are the world.

    Args:
        frame: frame of the joint.
        places: places of all frames.
        top: the frame of the world.
    """
    part = frame.part
    assert part is not None
    given = part.attribute("type")
    kind = TYPES.get(given)
    if kind is None:
        known = listing((*TYPES, "gearbox"), most=10)
        text = f"the type {quote(given)} is not simulated; known are {known}"
        hint = part.audit.hint(given, TYPES)
        part.error("unknown-joint-type", f"{text}{hint}", found=given, allowed=known)
        return None
    ends = []
    for role in ("parent", "child"):
        name = part.word(role)
        if not name:
            part.error("missing-element", f"it has no <{role}>", allowed=f"<{role}>")
            return None
        named = frame.scope.known(name, frame, role)
        link = None if named is None else places.link(named)
        if link is None:
            return None
        ends.append(top if link.scope.is_static else link)
    parent, child = ends
    if parent is child is top:
        return None
    at = places.pose(frame, top)
    origin = compose(inverse(places.pose(parent, top)), at)
    child_origin = compose(inverse(places.pose(child, top)), at)
    if frame.scope.find(part.word("child")) is child and _coincides(frame):
        child_origin = IN_PLACE
    joint = Joint(
        name=frame.full,
        type=kind,
        parent=parent.full,
        child=child.full,
        origin=origin,
        child_origin=child_origin,
        line=part.line,
    )
    return _with_axes(joint, frame, places, top)


def read_gearbox(
    frame: Frame, joints: Sequence[Joint], places: FramePlaces, top: Frame
) -> Gear | None:
    """Return the gear of a gearbox, or None after an error.

    theta_2 = -ratio theta_1, where theta_1 is the angle from the reference body to the parent
    about the first axis, and theta_2 the angle to the child about the second axis (sdformat.org,
    joint).

    Args:
        frame: frame of the gearbox.
        joints: all joints, of which two connect its ends to its reference body.
        places: places of all frames.
        top: the frame of the world.
    """
    part = frame.part
    assert part is not None
    ratio = part.number("gearbox_ratio", default=1.0)
    body = frame.scope.known(part.word("gearbox_reference_body"), frame, "reference body")
    base = None if body is None else places.link(body)
    terms = []
    for role, tag, factor in (("parent", "axis", ratio), ("child", "axis2", 1.0)):
        end = frame.scope.known(part.word(role), frame, role)
        link = None if end is None else places.link(end)
        if link is None or base is None:
            return None
        turning = [
            joint
            for joint in joints
            if {joint.parent, joint.child} == {base.full, link.full}
            and joint.type in ("revolute", "continuous")
        ]
        if len(turning) != 1:
            text = (
                f"no revolute joint connects its {role} {quote(link.full)} to {quote(base.full)}"
            )
            part.error("bad-gearbox", text, found=link.full)
            return None
        joint = turning[0]
        axis = rotate(
            places.pose(frame, top).quat, _direction(part.child(tag), frame, places, top)
        )
        at = compose(places.pose(base if joint.parent == base.full else link, top), joint.origin)
        along = sum(a * b for a, b in zip(axis, rotate(at.quat, joint.axis), strict=True))
        sign = math.copysign(1.0, along) * (1.0 if joint.parent == base.full else -1.0)
        terms.append(GearTerm(joint.name, sign * factor))
    return Gear(frame.full, tuple(terms), line=part.line)


def is_gearbox(frame: Frame) -> bool:
    """Return whether a joint is a gearbox."""
    return frame.part is not None and frame.part.attribute("type") == "gearbox"


def _coincides(frame: Frame) -> bool:
    """Return whether a joint and its child share one frame."""
    relative = frame.relative_to in ("", frame.attached_to)
    return relative and frame.pose == IN_PLACE


def _with_axes(joint: Joint, frame: Frame, places: FramePlaces, top: Frame) -> Joint | None:
    part = frame.part
    assert part is not None
    wanted = _AXES.get(joint.type, 1)
    axes = [part.child(tag) for tag in ("axis", "axis2")[:wanted]]
    if not axes:
        return joint
    vectors = [_direction(axis, frame, places, top) for axis in axes]
    changes: dict[str, Any] = _passive(axes)
    changes["axis"] = vectors[0]
    limits = [_limit(axis) for axis in axes]
    if wanted == 2:
        cosine = sum(a * b for a, b in zip(*vectors, strict=True))
        if abs(cosine) > _SQUARE:
            text = "its two axes are not perpendicular; write two revolute joints with a link"
            part.error("skew-axes", text, found=f"a cosine of {cosine:.3g}")
            return None
        changes["axis2"] = vectors[1]
        changes["limits"] = () if limits == [Limit(), Limit()] else tuple(limits)
    else:
        changes["limit"] = None if limits[0] == Limit() else limits[0]
    if joint.type == "helical":
        changes["parameters"] = {"pitch": _pitch(part)}
    if joint.type in ("revolute", "continuous"):
        free = math.isinf(limits[0].lower) and math.isinf(limits[0].upper)
        changes["type"] = "continuous" if free or joint.type == "continuous" else "revolute"
        if changes["type"] == "continuous":
            limit = replace(limits[0], lower=-math.inf, upper=math.inf)
            changes["limit"] = None if limit == Limit() else limit
    changes["mimic"] = _mimic(axes[0], frame) if wanted == 1 else None
    return replace(joint, **changes)


def _direction(axis: SdfElement | None, frame: Frame, places: FramePlaces, top: Frame) -> Vec3:
    """Return the unit vector of an axis in the joint's frame, or z if the file gives no axis."""
    if axis is None:
        return (0.0, 0.0, 1.0)
    given = axis.child("xyz")
    vector = axis.vector("xyz", default=(0.0, 0.0, 1.0))
    named = "" if given is None else given.attribute("expressed_in")
    version = axis.document.version
    if version < (1, 5) or (version < (1, 7) and axis.flag("use_parent_model_frame")):
        named = MODEL_FRAME
    length = math.hypot(*vector)
    if length == 0.0 or not math.isfinite(length):
        axis.error("zero-axis", "its axis is zero", found=str(vector), allowed="a direction")
        return (0.0, 0.0, 1.0)
    if abs(length - 1.0) > 1e-15:
        vector = (vector[0] / length, vector[1] / length, vector[2] / length)
    base = frame.scope.known(named, frame, "expressed_in") if named else None
    if base is None or base is frame:
        return vector
    return rotate(places.between(base, frame, top).quat, vector)


def _limit(axis: SdfElement | None) -> Limit:
    limit = None if axis is None else axis.child("limit")
    if limit is None:
        return Limit()
    lower = _bounded(limit.number("lower", default=-math.inf))
    upper = _bounded(limit.number("upper", default=math.inf))
    sizes = (_bounded(limit.number(tag, default=math.inf)) for tag in ("effort", "velocity"))
    # a negative value means no limit
    effort, velocity = (math.inf if size < 0.0 else size for size in sizes)
    return Limit(lower, upper, effort, velocity)


def _bounded(value: float) -> float:
    return math.copysign(math.inf, value) if abs(value) >= UNLIMITED else value


def _passive(axes: list[SdfElement | None]) -> dict[str, Any]:
    """Return damping, friction, spring and start of a joint, given its axes.

    The first axis gives damping, friction and stiffness. Each axis has its own rest and start.
    """
    dynamics = [_dynamics(axis) for axis in axes]
    first, *others = (each[:3] for each in dynamics)
    for other, axis in zip(others, axes[1:], strict=True):
        if other != first and axis is not None:
            text = "its second axis has other <dynamics>; the first axis counts for both"
            axis.note("joint-dynamics", text, "warning")
    damping, friction, stiffness = first
    found: dict[str, Any] = {"damping": damping, "friction": friction}
    if stiffness:
        found |= {"stiffness": stiffness, "rest": tuple(each[3] for each in dynamics)}
    start = tuple(0.0 if axis is None else axis.number("initial_position") for axis in axes)
    if any(start):
        found["start"] = start
    return found


def _dynamics(axis: SdfElement | None) -> tuple[float, float, float, float]:
    part = None if axis is None else axis.child("dynamics")
    if part is None:
        return (0.0, 0.0, 0.0, 0.0)
    damping, friction = part.number("damping"), part.number("friction")
    return damping, friction, part.number("spring_stiffness"), part.number("spring_reference")


def _pitch(part: SdfElement) -> float:
    """Return the pitch of a screw [m/rad]; `thread_pitch` is -2 pi over the metres per turn."""
    if part.child("screw_thread_pitch") is not None or part.child("thread_pitch") is None:
        return part.number("screw_thread_pitch", default=1.0) / math.tau
    turns = part.number("thread_pitch", default=1.0)
    return -1.0 / turns if turns else 0.0


def _mimic(axis: SdfElement | None, frame: Frame) -> Mimic | None:
    """Return the law of a mimic joint, multiplier * (q - reference) + offset, or None."""
    mimic = None if axis is None else axis.child("mimic")
    if mimic is None:
        return None
    leader = frame.scope.known(mimic.attribute("joint"), frame, "mimic")
    if leader is None:
        return None
    if mimic.attribute("axis", "axis") != "axis":
        text = "it follows the second axis of a joint; only the first one can be followed"
        mimic.error("mimic-axis", text, found=mimic.attribute("axis"), allowed="axis")
        return None
    ratio = mimic.number("multiplier", default=1.0)
    offset = mimic.number("offset") - ratio * mimic.number("reference")
    return Mimic(leader.full, ratio, offset)
