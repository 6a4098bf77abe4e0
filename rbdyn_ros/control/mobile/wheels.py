# SPDX-License-Identifier: Apache-2.0
"""The wheels of a robot, found by the axes of joints and the geometries on them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.dynamics.commanded import commanded_joints
from rbdyn_ros.dynamics.stages import kinematics, make_data
from rbdyn_ros.errors import Finding, ParameterError, did_you_mean, listing, quote
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.declared.joints import JointType
from rbdyn_ros.model.geometry.geoms import GeomType
from rbdyn_ros.model.model import Model

#: Kinds of mobile bases.
KINDS = ("differential", "skid_steer", "ackermann", "mecanum", "omni")
#: Tolerance of directions, as a sine, and of positions [m].
PARALLEL, NEAR = 1e-3, 1e-3


@dataclass(frozen=True, slots=True)
class Wheel:
    """A driven wheel; position and axis are in the base, with all joints at zero.

    Attributes:
        name: name of its joint.
        dof, qposadr: numbers of the joint in qvel and qpos.
        at: (2,) point where it touches the floor [m].
        heading: direction in which it rolls forward [rad].
        radius: radius of the wheel [m].
        grip: direction in which it holds the floor: `heading`, or the axis of the roller that
            touches the floor [rad].
        steering: number of its steering joint among the steering joints of the base; -1: not
            steered.
    """

    name: str
    dof: int
    qposadr: int
    at: tuple[float, float]
    heading: float
    radius: float
    grip: float
    steering: int = -1

    @property
    def has_rollers(self) -> bool:
        """True if the wheel also rolls sideways."""
        return abs(math.sin(self.grip - self.heading)) > PARALLEL


@dataclass(frozen=True, slots=True)
class Steering:
    """A joint that turns a wheel about the vertical.

    Attributes:
        name: name of the joint.
        dof, qposadr: numbers of the joint in qvel and qpos.
        at: (2,) its axis in the base [m].
        sign: sign of the steering angle to the left for a positive position of the joint.
        low, high: limits of the angle to the left [rad]; infinite: no limit.
    """

    name: str
    dof: int
    qposadr: int
    at: tuple[float, float]
    sign: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class WheelBase:
    """A base on wheels.

    Attributes:
        kind: one of KINDS.
        wheels, steerings: its wheels and its steering joints.
    """

    kind: str
    wheels: tuple[Wheel, ...]
    steerings: tuple[Steering, ...]


def wheel_base(
    m: Model, kind: str = "", names: Sequence[str] = (), radius: float = 0.0
) -> WheelBase:
    """Return the wheels of a robot whose root link is the base; x is forward, z up.

    Args:
        m: the robot with its contact geometries, from which radii follow.
        kind: one of KINDS; empty: found from the wheels.
        names: joints of the wheels; empty: joints whose names contain `wheel`, else all joints
            that carry a round geometry on their axis.
        radius: radius of the wheels [m]; 0: computed from their geometries.

    Raises:
        ParameterError: there are no wheels, one of them cannot be used, or their kind is
            ambiguous; the message names the parameter to set.
    """
    d = make_data(m)
    kinematics(m, d)
    joints = _named(m, names) if names else _found(m, d)
    if not joints:
        raise _error("the robot has no wheels that can be commanded; name them in base.wheels")
    turning = {j: _steering_of(m, d, j) for j in joints}
    order = list(dict.fromkeys(j for j in turning.values() if j >= 0))
    rolls = _rolls_on(m, d)
    wheels = tuple(
        _wheel(m, d, j, radius, order.index(turning[j]) if turning[j] >= 0 else -1, rolls)
        for j in joints
    )
    steerings = tuple(_steering(m, d, j) for j in order)
    kind = _kind(kind, wheels, steerings)
    if kind == "differential":  # a steered wheel is a caster
        wheels, steerings = tuple(wheel for wheel in wheels if wheel.steering < 0), ()
    return WheelBase(kind, wheels, steerings)


def _error(text: str) -> ParameterError:
    return ParameterError(Finding("mobile-base", text, "error", "base"))


def _named(m: Model, names: Sequence[str]) -> list[int]:
    able = commanded_joints(m).tolist()
    known = [str(m.jnt_names[j]) for j in able]
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known) or f"; there are {listing(known)}"
            raise _error(
                f"base.wheels has {quote(name)}, which is not a joint that can be commanded{hint}"
            )
        if list(names).count(name) > 1:
            raise _error(f"base.wheels names {quote(name)} twice")
    return [able[known.index(name)] for name in names]


def _found(m: Model, d: Data) -> list[int]:
    """Return the joints of wheels: by `wheel` in their names, else by round geometries."""
    level = [
        j
        for j in commanded_joints(m).tolist()
        if m.jnt_type[j] == JointType.HINGE
        and abs(_axis(m, d, j)[2]) < PARALLEL
        and not m.jnt_limited[j]
    ]
    called = [j for j in level if "wheel" in m.jnt_names[j].lower()]
    return called or [j for j in level if _radius(m, d, j) > 0.0]


def _axis(m: Model, d: Data, j: int) -> Array:
    """Return the axis of a joint in the base."""
    turn = d.xmat[m.jnt_bodyid[j]].reshape(3, 3)
    found: Array = _base(m, d).T @ turn @ m.jnt_axis[j]
    return found


def _base(m: Model, d: Data) -> Array:
    turn: Array = d.xmat[_root(m)].reshape(3, 3)
    return turn


def _root(m: Model) -> int:
    return 1 if m.nbody > 1 and m.jnt_type[0] == JointType.FREE else 0


def _place(m: Model, d: Data, body: int) -> Array:
    """Return the origin of a body in the base [m]."""
    place: Array = _base(m, d).T @ (d.xpos[body] - d.xpos[_root(m)])
    return place


def _radius(m: Model, d: Data, j: int) -> float:
    """Return the radius of a wheel: how far its geometries reach from its axis [m]."""
    axis, hub = _axis(m, d, j), _place(m, d, m.jnt_bodyid[j])
    return max((_reach(m, d, g, hub, axis) for g in _geoms(m, m.jnt_bodyid[j])), default=0.0)


def _geoms(m: Model, body: int) -> list[int]:
    """Return the geometries on a body and on the bodies that it carries."""
    below = {body}
    for child in range(body + 1, m.nbody):
        if m.body_parentid[child] in below:
            below.add(child)
    return [g for g in range(m.ngeom) if m.geom_bodyid[g] in below]


def _reach(m: Model, d: Data, g: int, hub: Array, axis: Array) -> float:
    """Return how far a geometry reaches from an axis [m]; 0 for a geometry without corners."""
    body = m.geom_bodyid[g]
    turn = _base(m, d).T @ d.xmat[body].reshape(3, 3)
    middle = _place(m, d, body) + turn @ m.geom_pos[g] - hub
    own = turn @ m.geom_mat[g].reshape(3, 3)
    kind = m.geom_type[g]
    if kind == GeomType.CYLINDER and np.linalg.norm(np.cross(own[:, 2], axis)) < PARALLEL:
        return float(np.linalg.norm(np.cross(middle, axis)) + m.geom_size[g, 0])
    if kind in (GeomType.SPHERE, GeomType.CAPSULE):
        ends = middle + np.outer([-1.0, 1.0], own[:, 2]) * m.geom_size[g, 1] * (
            kind == GeomType.CAPSULE
        )
        far = np.linalg.norm(np.cross(ends, axis), axis=1).max()
        return float(far + m.geom_size[g, 0])
    first, count = int(m.geom_vertadr[g]), int(m.geom_vertnum[g])
    corners = middle + m.vert_pos[first : first + count] @ own.T
    if not count:
        return 0.0
    return float(np.linalg.norm(np.cross(corners, axis), axis=1).max())


def _steering_of(m: Model, d: Data, j: int) -> int:
    """Return the commanded joint with a vertical axis between a wheel and the base, or -1."""
    able, body = set(commanded_joints(m).tolist()), int(m.body_parentid[m.jnt_bodyid[j]])
    while body > _root(m):
        for k in np.flatnonzero(m.jnt_bodyid == body).tolist():
            upright = abs(abs(_axis(m, d, k)[2]) - 1.0) < PARALLEL
            if k in able and m.jnt_type[k] == JointType.HINGE and upright:
                return int(k)
        body = int(m.body_parentid[body])
    return -1


def _steering(m: Model, d: Data, j: int) -> Steering:
    at = _place(m, d, m.jnt_bodyid[j])
    sign = math.copysign(1.0, _axis(m, d, j)[2])
    low, high = sorted(sign * float(limit) for limit in m.jnt_range[j])
    return Steering(
        str(m.jnt_names[j]),
        int(m.jnt_dofadr[j]),
        int(m.jnt_qposadr[j]),
        (float(at[0]), float(at[1])),
        sign,
        low,
        high,
    )


def _rolls_on(m: Model, d: Data) -> dict[int, int]:
    """Return the lowest roller on each body; a roller is a joint without an actuator."""
    able, lowest = set(commanded_joints(m).tolist()), dict[int, int]()
    for j in np.flatnonzero(m.jnt_type == JointType.HINGE).tolist():
        parent = int(m.body_parentid[m.jnt_bodyid[j]])
        if j in able or not _geoms(m, m.jnt_bodyid[j]):
            continue
        known = lowest.get(parent)
        height = _place(m, d, m.jnt_bodyid[j])[2]
        if known is None or height < _place(m, d, m.jnt_bodyid[known])[2]:
            lowest[parent] = j
    return lowest


def _wheel(
    m: Model, d: Data, j: int, radius: float, steering: int, rolls: dict[int, int]
) -> Wheel:
    name, axis = str(m.jnt_names[j]), _axis(m, d, j)
    if abs(axis[2]) > PARALLEL:
        raise _error(f"joint {quote(name)} is not a wheel: its axis is not level")
    radius = radius or _radius(m, d, j)
    if radius <= 0.0:
        raise _error(
            f"the radius of wheel {quote(name)} is not known: it has no <collision> geometry with "
            "contact:=true; set base.wheel_radius"
        )
    at, heading = _place(m, d, m.jnt_bodyid[j]), math.atan2(-axis[0], axis[1])
    roller, grip = rolls.get(int(m.jnt_bodyid[j])), heading
    if roller is not None:
        along = _axis(m, d, roller)
        grip = math.atan2(along[1], along[0])
        if abs(math.cos(grip - heading)) < PARALLEL:
            raise _error(f"the rollers of wheel {quote(name)} turn about its axis")
    return Wheel(
        name,
        int(m.jnt_dofadr[j]),
        int(m.jnt_qposadr[j]),
        (float(at[0]), float(at[1])),
        heading,
        float(radius),
        grip,
        steering,
    )


def _kind(kind: str, wheels: Sequence[Wheel], steerings: Sequence[Steering]) -> str:
    """Return the kind of the wheels, or raise ParameterError if a given kind does not fit."""
    able = _kinds_of(wheels, steerings)
    names = listing([wheel.name for wheel in wheels])
    if kind and kind not in able:
        allowed = f"can be {' or '.join(able)}" if able else "is of no kind that is known here"
        raise _error(f"base.kind is {quote(kind)}, but a base with the wheels {names} {allowed}")
    if kind:
        return kind
    if len(able) == 1:
        return able[0]
    if not able:
        raise _error(
            f"no kind of base has the wheels {names}; name the wheels of the base in base.wheels"
        )
    raise _error(f"a base with the wheels {names} can be {' or '.join(able)}; set base.kind")


def _kinds_of(wheels: Sequence[Wheel], steerings: Sequence[Steering]) -> list[str]:
    """Return the kinds that bases with these wheels can be."""
    fixed = [wheel for wheel in wheels if wheel.steering < 0]
    level = all(abs(math.sin(wheel.heading)) < PARALLEL for wheel in wheels)
    sides = {wheel.at[1] > 0.0 for wheel in fixed}
    one_axle = len(fixed) > 0 and np.ptp([wheel.at[0] for wheel in fixed]) < NEAR
    if steerings:
        # a single wheel, or wheels that swivel without limits, can be casters
        free = len(steerings) == 1 or any(math.isinf(joint.high) for joint in steerings)
        casters = free and len(sides) == 2 and all(abs(wheel.at[1]) >= NEAR for wheel in fixed)
        return ["ackermann", *["differential"] * casters] if level and one_axle else []
    if not level:
        return ["omni"] if len(wheels) >= 3 else []
    if any(wheel.has_rollers for wheel in wheels):
        return ["mecanum"] if len(wheels) >= 4 else []
    if len(sides) < 2 or any(abs(wheel.at[1]) < NEAR for wheel in wheels):
        return []
    if one_axle:
        return ["differential"]
    return ["skid_steer", "mecanum"] if len(wheels) == 4 else ["skid_steer"]
