# SPDX-License-Identifier: Apache-2.0
"""A robot as its author described it: names and numbers in SI units, nothing derived.

A Description is plain frozen data. Readers and builders make it, checks/check.py checks it,
model/compile.py turns it into a Model.
"""

import contextlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rbdyn_ros.description.parts.geometries import Exclusion, Geometry, GroupState, Obstacle
from rbdyn_ros.description.parts.poses import IN_PLACE, Pose, Vec3, keep_floats, keep_points
from rbdyn_ros.description.parts.sensors import SensorEntry
from rbdyn_ros.description.parts.servos import Servo
from rbdyn_ros.errors import Finding

#: The name of the fixed world, and of the joint of a floating base.
WORLD, ROOT_JOINT = "world", "root_joint"


@dataclass(frozen=True, slots=True)
class Inertial:
    """Mass distribution of one link.

    Attributes:
        mass: mass of the link [kg].
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
    """Limits of a joint; an infinite value is not a limit.

    Attributes:
        lower, upper: least and greatest position [rad or m].
        effort: largest effort, in both directions [N m or N].
        velocity: largest speed, in both directions [rad/s or m/s].
        acceleration, deceleration: limits of planned motions that speed up and slow down [rad/s^2
            or m/s^2].
        jerk: jerk limit of planned motions [rad/s^3 or m/s^3].
    """

    lower: float = -math.inf
    upper: float = math.inf
    effort: float = math.inf
    velocity: float = math.inf
    acceleration: float = math.inf
    deceleration: float = math.inf
    jerk: float = math.inf


@dataclass(frozen=True, slots=True)
class Mimic:
    """q = ratio * q_joint + offset (URDF calls the ratio multiplier)."""

    joint: str
    ratio: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class Trajectory:
    """A prescribed motion of a joint, given by samples.

    A spline of degree five interpolates the samples. Before the first and after the last sample
    the joint rests, unless the motion repeats.

    Attributes:
        times: times of the samples, ascending [s].
        positions: one row per sample with one number per coordinate [rad or m]; for a joint of one
            coordinate a row may be a number.
        periodic: whether the motion repeats after the last sample, which then equals the first.
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

    URDF has the fields up to `mimic`, and the types joint_types.URDF_TYPES.

    Attributes:
        type: a name in joint_types.JOINT_SPECS.
        parent, child: predecessor and successor link. In the spanning tree the joint may be
            reversed: then it carries its predecessor.
        origin: joint frame (= child link frame at zero position) in the parent link frame; X_P.
        axis: unit axis in the joint frame, for types with an axis; normal of a planar joint.
        limit: limit of a joint with one coordinate; None: no limit.
        damping: viscous coefficient [N m s/rad or N s/m].
        friction: dry friction [N m or N].
        child_origin: joint frame in the child link frame; X_S.
        axis2: second unit axis, perpendicular to the first: the second rotation axis of a
            universal joint, the x axis of a plane, the direction of a rack.
        parameters: parameters of the type by name, for example {"pitch": 0.01} [m/rad] or
            {"radius": 0.1} [m].
        limits: limits of a joint with several coordinates, one for each.
        stiffness: stiffness of a spring in the joint [N m/rad or N/m].
        rest: rest position of the spring, one number per coordinate; empty: the zero position.
        armature: rotor inertia reflected to the joint [kg m^2 or kg].
        closes_loop: whether to keep the joint out of the spanning tree, unless it has a property
            that needs a coordinate; checks/loops.py makes the final choice.
        motion: prescribed motion, which leaves the joint no degree of freedom: a Trajectory, or
            the name of a function registered with register_motion; None: no prescribed motion.
        actuated: whether an actuator acts along its coordinates, so that inverse dynamics of a
            closed loop may use its force.
        transmission: direction of the actuator force, one spatial force [moment; force] per
            coordinate, in the joint frame on the successor; it is scaled to do the work of the
            force along the coordinate. Empty: along the axes of the joint. T_a of RBDA 3.5.
        start: position at qpos0, one number per coordinate; for a floating joint x y z and the
            quaternion w x y z; empty: the zero position.
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
    start: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        keep_floats(self, "axis")
        keep_floats(self, "rest")
        keep_floats(self, "start")
        if self.axis2 is not None:
            keep_floats(self, "axis2")
        with contextlib.suppress(TypeError):
            object.__setattr__(self, "transmission", tuple(map(tuple, self.transmission)))


@dataclass(frozen=True, slots=True)
class Spring:
    """A spring and damper between two points, each fixed to a link; it acts along their line.

    Attributes:
        link1, link2: the links that the spring connects.
        point1, point2: ends of the spring, each in the frame of its link [m].
        stiffness: force per elongation [N/m].
        damping: force per speed of elongation [N s/m].
        length: length of the spring at rest [m].
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
    """A line through points of bodies keeps its total length.

    With two points it is a massless rod. A band around disks of equal radius r is the closed line
    through their centres, shorter than the band by 2 pi r (RBDA fig 3.2c).

    Attributes:
        links, points: a link for each corner of the line, and a point in its frame [m].
        length: length of the whole line [m].
        closed: whether the line returns to its first point.
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
    """A term of a gear: a factor times one coordinate of a joint."""

    joint: str
    factor: float = 1.0
    coordinate: int = 0


@dataclass(frozen=True, slots=True)
class Gear:
    """A linear equation between joint positions: the terms add up to `offset`.

    A gear keeps all degrees of freedom and adds a constraint force; it may connect more than two
    joints. If one joint follows another, a Mimic is simpler: it removes a degree of freedom.
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
    """A sphere or thin disk that rolls on a plane without slipping and never leaves it.

    Attributes:
        link: the link that rolls.
        on: the link that carries the plane.
        radius: radius of the sphere or disk [m].
        centre: centre of the sphere or disk, in `link` [m].
        axis: axis of the disk, a unit vector in `link`; None for a sphere.
        point: any point of the plane, in `on` [m].
        normal: normal of the plane, towards the rolling body, a unit vector in `on`.
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
    """A whole robot as its author described it.

    Attributes:
        source: a path, or ``<text>``.
        findings: warnings and notes of the reader, in the order of the lines.
        base: the link that is fixed to the world (or floats). Empty: the link without a parent;
            links and joints must be one tree. With a base, links and joints can be any connected
            graph: joints can point in either direction, and close loops.
        springs: spring-dampers between points.
        constraints: constraints between bodies in addition to joints.
        geometries: contact shapes of links.
        obstacles: shapes fixed in the world.
        exclusions: pairs of links, geometries or obstacles that may overlap, from an SRDF,
            a Contact or a scene.
        states: named poses, from an SRDF or a scene file: keyframes of the Model. Pairs that
            overlap in one of these poses do not push each other.
        objects: root links of the free objects of a scene.
        self_collision: whether links of one robot push each other.
        robots: root links of the robots of a scene, and of its fixed objects with actuators; a
            robot alone has no entry. Furniture that is fixed to a robot's base has an entry, so
            that it is not a part of that robot.
        servos: drives that follow control signals, from an MJCF.
        sensors: sensors of the robot file.
        gravity: gravity of the world of the file [m/s^2]; None: the default of a Model.
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
    exclusions: tuple[Exclusion, ...] = ()
    states: tuple[GroupState, ...] = ()
    objects: tuple[str, ...] = ()
    self_collision: bool = True
    robots: tuple[str, ...] = ()
    servos: tuple[Servo, ...] = ()
    sensors: tuple[SensorEntry, ...] = ()
    gravity: Vec3 | None = None
