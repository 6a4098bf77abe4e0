# SPDX-License-Identifier: Apache-2.0
"""Audit joints with a prescribed motion."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rbdyn_ros.checks.audit import Subject
from rbdyn_ros.description.parts.bounds import audit_range
from rbdyn_ros.description.parts.joint_types import JointSpec
from rbdyn_ros.description.parts.types import Joint, Trajectory
from rbdyn_ros.errors import apart, counted, quote, shown

#: Fields of Joint that have no effect on a prescribed motion, and their default values. The
#: transmission is kept because the motion needs a force.
_WITHOUT_EFFECT: dict[str, Any] = {
    "limit": None,
    "limits": (),
    "damping": 0.0,
    "friction": 0.0,
    "stiffness": 0.0,
    "rest": (),
    "armature": 0.0,
    "actuated": True,
}

CLOSURE = 1e-9  # tolerance at the end of a period, relative to the largest position


def audit_motion(joint: Joint, spec: JointSpec, at: Subject) -> Joint:
    """Return a joint with a prescribed motion, without the properties that have no effect."""
    if not spec.coordinates:
        message = f"a {joint.type} joint cannot have a prescribed motion"
        if joint.type != "fixed":
            message += ": it has no coordinates that could be prescribed one by one"
        at.error("motion-type", message, found=joint.type)
        return replace(joint, motion=None)
    motion = joint.motion
    if isinstance(motion, Trajectory):
        motion = _audit_trajectory(motion, len(spec.coordinates), at)
    elif not isinstance(motion, str):
        message = (
            f"the motion is {shown(motion)}; allowed is a Trajectory or the name of a function"
        )
        at.error("bad-motion", message)
    elif not motion.strip():
        message = "the name of its motion function is empty"
        at.error("bad-motion", message, allowed="a name")
    if joint.mimic is not None:
        leader = quote(joint.mimic.joint)
        message = f"the joint has a prescribed motion, so it cannot mimic {leader}"
        at.error("motion-mimic", message, found=joint.mimic.joint)
    joint = replace(joint, motion=motion, mimic=None)
    ignored = [
        name
        for name, default in _WITHOUT_EFFECT.items()
        if bool(getattr(joint, name)) != bool(default)
    ]
    if ignored:
        found = ", ".join(ignored)
        message = f"the joint has a prescribed motion, so these have no effect: {found}"
        at.note("driven", message, found=found)
    return replace(joint, **{name: _WITHOUT_EFFECT[name] for name in ignored})


def _audit_trajectory(motion: Trajectory, count: int, at: Subject) -> Trajectory:
    """Return the Trajectory; if it is periodic, make its end equal to its start."""

    def wrong(message: str, allowed: str) -> Trajectory:
        at.error("bad-trajectory", f"its trajectory {message}", allowed=allowed)
        return motion

    try:
        times = [float(time) for time in motion.times]
        rows = [tuple(float(number) for number in row) for row in motion.positions]
    except (TypeError, ValueError, OverflowError):
        return wrong("must hold numbers only", "numbers, one row of positions per time")
    if len(times) < 2:
        return wrong(f"needs two samples at least, got {len(times)}", "two samples or more")
    if len(rows) != len(times):
        return wrong(
            f"has {counted(len(times), 'time')} but {counted(len(rows), 'position')}",
            "one row per time",
        )
    for number, row in enumerate(rows, start=1):
        if len(row) != count:
            numbers = counted(len(row), "number")
            return wrong(f"has {numbers} in sample {number}, not {count}", f"{count} per sample")
        if not all(map(math.isfinite, (times[number - 1], *row))):
            return wrong(f"is not finite in sample {number}", "finite numbers")
    late = next((i for i in range(1, len(times)) if times[i] <= times[i - 1]), None)
    if late is not None:
        before, after = apart(times[late - 1], times[late])
        return wrong(f"has time {after} after time {before}; times must ascend", "ascending times")
    steps = [after - before for before, after in itertools.pairwise(times)]
    ranges = {
        "times of its trajectory": (times, "time"),
        "steps between the times of its trajectory": (steps, "time step"),
        "positions of its trajectory": ([number for row in rows for number in row], "coordinate"),
    }
    for what, (values, quantity) in ranges.items():
        if not audit_range(what, values, quantity, at):
            return motion
    if motion.periodic:
        scale = max(abs(number) for row in rows for number in row)
        if not _close(rows[0], rows[-1], CLOSURE * scale):
            return wrong("is periodic, but does not end where it starts", "the first row last")
        rows[-1] = rows[0]
    return Trajectory(tuple(times), tuple(rows), bool(motion.periodic))


def _close(one: Sequence[float], other: Sequence[float], slack: float) -> bool:
    return all(abs(a - b) <= slack for a, b in zip(one, other, strict=True))
