"""What the author of a robot wrote: names, floats and SI units, nothing derived.

A Description is plain frozen data. Readers (urdf.py) and builders make it,
check.py judges it, model/compile.py turns it into a Model.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rbdyn_ros.description.geometries import Geometry, Obstacle
from rbdyn_ros.description.poses import IN_PLACE, Pose, Vec3, keep_floats, keep_points
from rbdyn_ros.errors import Finding


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
    origin: Pose = IN_PLACE
    inertia: tuple[float, float, float, float, float, float] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        keep_floats(self, "inertia")


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
class Trajectory:
    """A motion given by samples, for a joint that is driven over time.

    Between the samples a spline of degree five runs through them; before the first and after
    the last the joint stands still, unless the motion repeats.

    Attributes:
        times: of the samples, ascending [s].
        positions: one row a sample, one number a coordinate of the joint [rad or m]; for a joint
            of one coordinate a number will do for a row.
        periodic: the motion repeats after the last sample, which equals the first.
    """

    times: tuple[float, ...]
    positions: tuple[tuple[float, ...], ...]
    periodic: bool = False

    def __post_init__(self) -> None:
        keep_floats(self, "times")
        with contextlib.suppress(TypeError):
            rows = (row if isinstance(row, Iterable) else (row,) for row in self.positions)
            object.__setattr__(self, "positions", tuple(map(tuple, rows)))


@dataclass(frozen=True, slots=True)
class Joint:
    """A joint from a parent (its predecessor) to a child (its successor).

    URDF knows the fields up to `mimic`; the types it knows are joint_types.URDF_TYPES.

    Attributes:
        type: a name in joint_types.JOINT_SPECS.
        parent, child: predecessor and successor link. In a spanning tree the joint may turn out
            to be reversed: to carry its predecessor.
        origin: joint frame (= child link frame at zero position) in the parent link frame; X_P.
        axis: unit axis in the joint frame, for types that have one; a planar joint's normal.
        limit: of a joint of one coordinate.
        damping: viscous coefficient [N m s/rad or N s/m].
        friction: dry friction [N m or N].
        child_origin: joint frame in the child link frame; X_S.
        axis2: second unit axis, perpendicular to the first: the axis of the second turn of a
            universal joint, the x axis of a plane, the direction of a rack.
        parameters: by name, for example {"pitch": 0.01} [m/rad] or {"radius": 0.1} [m].
        limits: of a joint of several coordinates, one for each.
        stiffness: of a spring in the joint [N m/rad or N/m].
        rest: where that spring is at rest, one number a coordinate; empty: at zero position.
        armature: rotor inertia seen at the joint [kg m^2 or kg].
        closes_loop: never a joint of the spanning tree.
        motion: a joint driven over time has no freedom: a Trajectory, or the name of a function
            registered with register_motion.
        actuated: an actuator acts along its coordinates: inverse dynamics of a closed loop may
            ask forces of it.
        transmission: where that force acts, one spatial force [moment; force] a coordinate, in
            the joint's frame on the successor; only its direction counts, it is scaled to do the
            work of the coordinate's force. Empty: along the joint's own axes. T_a of RBDA 3.5.
    """

    name: str
    type: str
    parent: str
    child: str
    origin: Pose = IN_PLACE
    axis: Vec3 = (1.0, 0.0, 0.0)
    limit: Limit | None = None
    damping: float = 0.0
    friction: float = 0.0
    mimic: Mimic | None = None
    line: int | None = None
    child_origin: Pose = IN_PLACE
    axis2: Vec3 | None = None
    parameters: Mapping[str, float] = field(default_factory=dict)
    limits: tuple[Limit, ...] = ()
    stiffness: float = 0.0
    rest: tuple[float, ...] = ()
    armature: float = 0.0
    closes_loop: bool = False
    motion: Trajectory | str | None = None
    actuated: bool = True
    transmission: tuple[tuple[float, ...], ...] = ()

    def __post_init__(self) -> None:
        keep_floats(self, "axis")
        keep_floats(self, "rest")
        if self.axis2 is not None:
            keep_floats(self, "axis2")
        with contextlib.suppress(TypeError):
            object.__setattr__(self, "transmission", tuple(map(tuple, self.transmission)))


@dataclass(frozen=True, slots=True)
class Spring:
    """A spring and damper between two points, each fixed to a link; it pulls along their line.

    Attributes:
        link1, link2: the links it connects.
        point1, point2: its ends, each in the frame of its link [m].
        stiffness: [N/m].
        damping: [N s/m].
        length: at rest [m].
    """

    name: str
    link1: str
    link2: str
    point1: Vec3 = (0.0, 0.0, 0.0)
    point2: Vec3 = (0.0, 0.0, 0.0)
    stiffness: float = 0.0
    damping: float = 0.0
    length: float = 0.0
    line: int | None = None

    def __post_init__(self) -> None:
        keep_floats(self, "point1")
        keep_floats(self, "point2")


@dataclass(frozen=True, slots=True)
class Length:
    """The distances along a line through points of bodies add up to a constant.

    With two points it is a rod without mass. A band round disks of one radius r is the closed line
    through their centres, of the band's length less 2 pi r (RBDA fig 3.2c).

    Attributes:
        links, points: a link, and a point in its frame [m], for each corner of the line.
        length: of the whole line [m].
        closed: the line goes back to its first point.
    """

    name: str
    links: tuple[str, ...]
    points: tuple[Vec3, ...]
    length: float
    closed: bool = False
    line: int | None = None

    def __post_init__(self) -> None:
        for name in ("links", "points"):
            with contextlib.suppress(TypeError):
                object.__setattr__(self, name, tuple(getattr(self, name)))
        keep_points(self)


@dataclass(frozen=True, slots=True)
class GearTerm:
    """A share of a gear: factor times one coordinate of a joint."""

    joint: str
    factor: float = 1.0
    coordinate: int = 0


@dataclass(frozen=True, slots=True)
class Gear:
    """A linear equation between joint positions: the terms add up to `offset`.

    A joint that only follows another is better a Mimic, which takes its freedom away; a gear
    keeps all freedoms and adds a constraint force. It can hold between more than two joints.
    """

    name: str
    terms: tuple[GearTerm, ...]
    offset: float = 0.0
    line: int | None = None

    def __post_init__(self) -> None:
        with contextlib.suppress(TypeError):
            object.__setattr__(self, "terms", tuple(self.terms))


@dataclass(frozen=True, slots=True)
class Roll:
    """A sphere or a thin disk rolls on a plane without slipping; it never leaves the plane.

    Attributes:
        link: the link that rolls.
        on: the link that carries the plane.
        radius: [m].
        centre: of the sphere or disk, in `link` [m].
        axis: of the disk, a unit vector in `link`; None for a sphere.
        point: some point of the plane, in `on` [m].
        normal: of the plane, towards the rolling body, a unit vector in `on`.
    """

    name: str
    link: str
    on: str
    radius: float
    centre: Vec3 = (0.0, 0.0, 0.0)
    axis: Vec3 | None = None
    point: Vec3 = (0.0, 0.0, 0.0)
    normal: Vec3 = (0.0, 0.0, 1.0)
    line: int | None = None

    def __post_init__(self) -> None:
        for name in ("centre", "point", "normal", *(("axis",) if self.axis is not None else ())):
            keep_floats(self, name)


Constraint = Length | Gear | Roll


@dataclass(frozen=True, slots=True)
class Description:
    """A whole robot as its author wrote it.

    Attributes:
        source: where it came from: a path, or ``<text>``.
        findings: warnings and notes of the reader, in the order of the text.
        base: the link that is fixed to the world (or floats). Empty: links and joints must be
            one tree, and it is the link without a parent. With a name they may be any connected
            graph: joints may run either way, and close loops.
        springs: spring-dampers between points.
        constraints: what holds between bodies beside their joints.
        geometries: shapes of links that touch the obstacles.
        obstacles: shapes fixed in the world.
    """

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    source: str = "<text>"
    findings: tuple[Finding, ...] = field(default=())
    base: str = ""
    springs: tuple[Spring, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    geometries: tuple[Geometry, ...] = ()
    obstacles: tuple[Obstacle, ...] = ()
