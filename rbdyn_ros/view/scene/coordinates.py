# SPDX-License-Identifier: Apache-2.0
"""The coordinates that sliders set: the numbers of qpos, with three angles for a quaternion."""

import json
import math
from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.parts.joint_types import JOINT_SPECS
from rbdyn_ros.dynamics.configuration import usual_ranges
from rbdyn_ros.errors import counted
from rbdyn_ros.model.declared.joints import JointClass, JointType
from rbdyn_ros.model.model import Model
from rbdyn_ros.report.describe import joint_type

#: Largest length of the text of a configuration, in characters for each number.
LONGEST_NUMBER = 40

_PLACE = (("x", "m"), ("y", "m"), ("z", "m"))
_TURN = (("yaw", "rad"), ("pitch", "rad"), ("roll", "rad"))
_PLANE_LAST = (("angle", "rad"), ("x", "m"), ("y", "m"))
_WORDS = {
    JointType.PLANAR: (("x", "m"), ("y", "m"), ("angle", "rad")),
    JointType.PLANAR_FP: _PLANE_LAST,
    JointType.PLANAR_FS: _PLANE_LAST,
    JointType.CYLINDRICAL: (("angle", "rad"), ("shift", "m")),
    JointType.UNIVERSAL: (("angle 1", "rad"), ("angle 2", "rad")),
    JointType.YPR: _TURN,
}


@dataclass(frozen=True, slots=True)
class Coordinate:
    """One number of a joint.

    Attributes:
        joint: number of the joint.
        entry: index of the number in qpos; -1: it is an angle of a quaternion.
        word: name of the coordinate within the joint; "": the joint has only one.
        unit: "rad" or "m".
        low, high: range of the slider.
    """

    joint: int
    entry: int
    word: str
    unit: str
    low: float
    high: float


def coordinates_of(m: Model, reach: float) -> list[Coordinate]:
    """Return the coordinates of all joints except mimic joints and joints with prescribed motion.

    Args:
        m: the robot.
        reach: sliders move a free joint by up to this distance along each axis [m].
    """
    moving = (m.jnt_mimic < 0) & (m.jnt_class == JointClass.FREE)
    found = (_of_joint(m, j, reach) for j in np.flatnonzero(moving).tolist())
    return [coordinate for some in found for coordinate in some]


def _of_joint(m: Model, j: int, reach: float) -> list[Coordinate]:
    kind, first = m.jnt_kind(j), int(m.jnt_qposadr[j])
    if kind.quat < 0:
        words = _words(m, j, kind.nq)
        return [
            Coordinate(j, first + k, word, unit, float(low), float(high))
            for k, ((word, unit), (low, high)) in enumerate(
                zip(words, usual_ranges(m, j), strict=True)
            )
        ]
    found = []
    if kind.nq > 4:
        at = first + (4 if kind.quat == 0 else 0)
        for k, (word, unit) in enumerate(_PLACE):
            found.append(Coordinate(j, at + k, word, unit, -reach, reach))
    half = 0.5 * math.pi
    for word, unit in _TURN:
        end = half if word == "pitch" else math.pi
        found.append(Coordinate(j, -1, word, unit, -end, end))
    return found


def _words(m: Model, j: int, nq: int) -> tuple[tuple[str, str], ...]:
    units = JOINT_SPECS[joint_type(m, j)].coordinates
    if nq == 1:
        return (("", units[0] if units else "rad"),)
    words = _WORDS.get(JointType(m.jnt_type[j]))
    return words or tuple((str(k + 1), units[k] if units else "rad") for k in range(nq))


def floating_entries(m: Model) -> list[int]:
    """Return the indices in qpos of all numbers of floating joints, which have 7 numbers each."""
    free = [
        j for j in range(m.njnt) if m.jnt_kind(j).nq == 7 and m.jnt_class[j] == JointClass.FREE
    ]
    return [int(m.jnt_qposadr[j]) + k for j in free for k in range(7)]


def read_numbers(m: Model, coordinates: list[Coordinate], qpos: Array) -> list[float]:
    """Return the value of each coordinate at qpos (nq,)."""
    numbers: list[float] = []
    turns: dict[int, dict[str, float]] = {}
    for one in coordinates:
        if one.entry >= 0:
            numbers.append(float(qpos[one.entry]))
            continue
        if one.joint not in turns:
            turns[one.joint] = dict(zip("ypr", _angles(qpos[_quat_at(m, one.joint)]), strict=True))
        numbers.append(turns[one.joint][one.word[0]])
    return numbers


def write_numbers(
    m: Model, coordinates: list[Coordinate], numbers: list[float], qpos: Array
) -> Array:
    """Return a copy of qpos (nq,) with new values of the coordinates.

    A quaternion whose angles do not change is copied exactly, including its sign.
    """
    from scipy.spatial.transform import Rotation  # this import is slow

    new: Array = np.array(qpos, np.float64)
    turns: dict[int, tuple[dict[str, float], bool]] = {}
    before = read_numbers(m, coordinates, qpos)
    for one, number, old in zip(coordinates, numbers, before, strict=True):
        if one.entry >= 0:
            new[one.entry] = number
        else:
            kept, changed = turns.get(one.joint, ({}, False))
            turns[one.joint] = (kept | {one.word: number}, changed or number != old)
    for joint, (angles, changed) in turns.items():
        if changed:
            ypr = [angles[word] for word, _ in _TURN]
            new[_quat_at(m, joint)] = Rotation.from_euler("ZYX", ypr).as_quat()[[3, 0, 1, 2]]
    return new


def _quat_at(m: Model, j: int) -> slice:
    first = int(m.jnt_qposadr[j]) + m.jnt_kind(j).quat
    return slice(first, first + 4)


def _angles(quat: Array) -> list[float]:
    """Return yaw, pitch and roll of a quaternion [rad]; in gimbal lock roll is 0."""
    w, x, y, z = quat / np.linalg.norm(quat)
    pitch = math.asin(min(max(2.0 * (w * y - z * x), -1.0), 1.0))
    if abs(pitch) > 0.5 * math.pi - 1e-6:
        return [math.copysign(2.0, -pitch) * math.atan2(x, w), pitch, 0.0]
    yaw = math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
    roll = math.atan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))
    return [yaw, pitch, roll]


def qpos_text(qpos: Array) -> str:
    """Return a configuration as a Python list, which parse_qpos reads."""
    return "[" + ", ".join(f"{x:.9g}" for x in qpos.tolist()) + "]"


def parse_qpos(m: Model, text: str) -> Array | str:
    """Return the configuration (nq,) in a text, or the reason why it is invalid."""
    wanted = f"allowed are {m.nq} finite numbers, as in [0.1, -0.2]"
    if len(text) > LONGEST_NUMBER * (m.nq + 1):
        return f"the text is too long; {wanted}"
    stripped = text.strip()
    try:
        found = json.loads(stripped if stripped.startswith("[") else f"[{stripped}]")
        qpos = np.array([float(x) for x in found if not isinstance(x, bool | str)])
    except (ValueError, TypeError, OverflowError, RecursionError):
        return f"it is not a list of numbers; {wanted}"
    if qpos.shape != (m.nq,) or len(found) != m.nq or not np.isfinite(qpos).all():
        return f"it has {counted(len(found), 'entry', 'entries')}; {wanted}"
    for j in range(m.njnt):
        if m.jnt_kind(j).quat >= 0 and m.jnt_class[j] == JointClass.FREE:
            at = _quat_at(m, j)
            length = float(np.linalg.norm(qpos[at]))
            if not length > 1e-6:
                return f"the quaternion of '{m.jnt_names[j]}' is zero; {wanted}"
            qpos[at] /= length
    return qpos
