"""What the author of a robot wrote: names, floats and SI units, nothing derived.

A Description is plain frozen data. Readers (urdf.py) and builders make it,
check.py judges it, model/compile.py turns it into a Model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from rbdyn_ros.errors import Finding

Vec3 = tuple[float, float, float]
Quat = tuple[float, float, float, float]

JOINT_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
AXIS_TYPES = ("revolute", "continuous", "prismatic", "planar")


def _make_tuple(owner: object, name: str) -> None:
    """Take lists and arrays too; what is kept is a tuple of floats."""
    value = getattr(owner, name)
    if type(value) is not tuple:
        object.__setattr__(owner, name, tuple(float(number) for number in value))


@dataclass(frozen=True, slots=True)
class Pose:
    """A frame in its parent frame.

    Attributes:
        pos: origin [m].
        quat: rotation as unit quaternion (w, x, y, z).
    """

    pos: Vec3 = (0.0, 0.0, 0.0)
    quat: Quat = (1.0, 0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        _make_tuple(self, "pos")
        _make_tuple(self, "quat")


@dataclass(frozen=True, slots=True)
class Inertial:
    """Mass distribution of one link.

    Attributes:
        mass: [kg].
        origin: inertial frame in the link frame; its origin is the centre of mass.
        inertia: (ixx, iyy, izz, ixy, ixz, iyz) about the centre of mass, in the axes of the
            inertial frame [kg m^2].
    """

    mass: float
    origin: Pose = Pose()
    inertia: tuple[float, float, float, float, float, float] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        _make_tuple(self, "inertia")


@dataclass(frozen=True, slots=True)
class Link:
    name: str
    inertial: Inertial | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Limit:
    """Limits of a joint; an infinite value means none.

    Attributes:
        lower, upper: position [rad or m].
        effort: [N m or N].
        velocity: [rad/s or m/s].
    """

    lower: float = -math.inf
    upper: float = math.inf
    effort: float = math.inf
    velocity: float = math.inf


@dataclass(frozen=True, slots=True)
class Mimic:
    """q = ratio * q_joint + offset (URDF calls the ratio multiplier)."""

    joint: str
    ratio: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class Joint:
    """A joint between two links.

    Attributes:
        type: one of JOINT_TYPES.
        origin: joint frame (= child link frame at zero position) in the parent link frame.
        axis: unit axis in the joint frame, for AXIS_TYPES; normal of a planar joint's plane.
        damping: viscous coefficient [N m s/rad or N s/m].
        friction: dry friction [N m or N].
    """

    name: str
    type: str
    parent: str
    child: str
    origin: Pose = Pose()
    axis: Vec3 = (1.0, 0.0, 0.0)
    limit: Limit | None = None
    damping: float = 0.0
    friction: float = 0.0
    mimic: Mimic | None = None
    line: int | None = None

    def __post_init__(self) -> None:
        _make_tuple(self, "axis")


@dataclass(frozen=True, slots=True)
class Description:
    """A whole robot as its author wrote it.

    Attributes:
        source: where it came from: a path, or ``<text>``.
        findings: warnings and notes of the reader, in the order of the text.
    """

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    source: str = "<text>"
    findings: tuple[Finding, ...] = field(default=())
