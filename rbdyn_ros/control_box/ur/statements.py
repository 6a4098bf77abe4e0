# SPDX-License-Identifier: Apache-2.0
"""Calls of URScript that the box supports: moves, stops, settings, registers."""

from collections.abc import Callable

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control_box.ur import moves
from rbdyn_ros.control_box.ur.arm import payload, pose_from
from rbdyn_ros.control_box.ur.robot import ArmProgram, UrRobot
from rbdyn_ros.control_box.ur.scripts import CALLS_PER_CYCLE, Call, body_of, read_calls
from rbdyn_ros.errors import ParameterError, exactly, quote

#: Defaults of movej and movel: accelerations and speeds. Source: the URScript manual.
JOINT_A, JOINT_V, LINE_A, LINE_V = 1.4, 1.05, 1.2, 0.25
#: Least and largest speeds and accelerations that are accepted.
LEAST, MOST = 1e-6, 1e3
#: The numbers that an integer register can hold.
INT32 = range(-(2**31), 2**31)
#: The heaviest payload [kg], and the largest distance of payload and tool from the flange [m].
HEAVIEST, FARTHEST = 50.0, 2.0


def joint_move(robot: UrRobot, goal: Array, v: float, a: float, t: float = 0.0) -> moves.Move:
    """Return a movej to positions (6,) with v [rad/s] and a [rad/s^2], or in t [s] if t > 0.

    Raises:
        ValueError: speed or acceleration is out of range, or a joint is beyond its limit.
    """
    if not t > 0.0:
        _check_speed(v, a)
    arm = robot.arm
    outside = ~((goal >= arm.lower) & (goal <= arm.upper))
    if outside.any():
        joint = int(np.argmax(outside))
        raise ValueError(f"movej: joint {joint} would be at {goal[joint]:g} rad, beyond its limit")
    return moves.JointMove(robot.joints.x, goal, min(v, float(arm.velocity.min())), a, t)


def line_move(robot: UrRobot, goal: Array, v: float, a: float, t: float = 0.0) -> moves.Move:
    """Return a movel to a pose (4, 4) with v [m/s] and a [m/s^2], or in t [s] if t > 0.

    Raises:
        ValueError: the speed or acceleration is out of range, or the arm cannot reach the pose.
    """
    if not t > 0.0:
        _check_speed(v, a)
    joints(robot, goal)
    return moves.LineMove(robot.course.tool(), goal, v, a, t)


def arc_move(
    robot: UrRobot, via: Array, goal: Array, v: float, a: float, fixed: bool
) -> moves.Move:
    """Return a movec through a pose (4, 4) to another pose; for `fixed` see ArcMove.

    Raises:
        ValueError: for the reasons of line_move, or the points are on a line.
    """
    _check_speed(v, a)
    joints(robot, via)
    joints(robot, goal)
    return moves.ArcMove(robot.course.tool(), via, goal, v, a, fixed)


def joints(robot: UrRobot, T: Array, near: Array | None = None) -> Array:
    """Return joint positions (6,) at a pose (4, 4), near `near`; None: near the present positions.

    Raises:
        ValueError: the arm cannot reach the pose.
    """
    found = robot.arm.solve(T, robot.joints.x if near is None else near, robot.F_T)
    if found is None:
        x, y, z = T[:3, 3]
        raise ValueError(f"no joint positions reach the pose at {x:.3f} {y:.3f} {z:.3f} m")
    return found


def _check_speed(v: float, a: float) -> None:
    if not (LEAST <= v <= MOST and LEAST <= a <= MOST):
        raise ValueError(
            f"a speed of {exactly(v)} and an acceleration of {exactly(a)}; allowed are {LEAST:g} "
            f"to {MOST:g}"
        )


def set_tool(robot: UrRobot, pose: Array) -> None:
    """Set the tool in the flange: x y z and a rotation vector (6,).

    Raises:
        ValueError: the tool is too far from the flange.
    """
    if not np.linalg.norm(pose[:3]) <= FARTHEST:
        raise ValueError(f"the tool is too far from the flange; allowed is at most {FARTHEST:g} m")
    robot.F_T = pose_from(pose)


def set_payload(robot: UrRobot, mass: float, com: Array, inertia: Array | None = None) -> None:
    """Set the payload: mass [kg], centre (3,) in the flange [m], inertia (6,) [kg m^2].

    Raises:
        ValueError: the payload is not a rigid body.
    """
    if not (0.0 <= mass <= HEAVIEST and np.linalg.norm(com) <= FARTHEST):
        raise ValueError(
            f"a payload of {exactly(mass)} kg; allowed are 0 to {HEAVIEST:g} kg, at most "
            f"{FARTHEST:g} m from the flange"
        )
    given = None if inertia is None or not inertia.any() else inertia
    try:
        robot.arm.carry(payload(mass, com, given))
    except ParameterError as error:
        raise ValueError(f"the payload is refused: {error}") from error


def stop(a: float, of_tool: bool) -> moves.Move:
    """Return stopl if `of_tool` is true, else stopj, with deceleration a [m/s^2 or rad/s^2].

    Raises:
        ValueError: the deceleration is out of range.
    """
    _check_speed(1.0, a)
    return moves.StopMove(a, of_tool)


def _movej(r: UrRobot, c: Call) -> moves.Move:
    a, v = c.number("a", 1, JOINT_A), c.number("v", 2, JOINT_V)
    goal = c.six("q")
    return joint_move(r, joints(r, pose_from(goal)) if c.is_pose else goal, v, a)


def _movel(r: UrRobot, c: Call) -> moves.Move:
    a, v = c.number("a", 1, LINE_A), c.number("v", 2, LINE_V)
    goal = c.six("pose")
    return line_move(r, pose_from(goal) if c.is_pose else r.arm.tool_pose(goal, r.F_T), v, a)


def _set_payload(r: UrRobot, c: Call) -> None:
    com = c.named.get("cog", c.values[1] if len(c.values) > 1 else np.zeros(3))
    if not isinstance(com, np.ndarray) or com.shape != (3,):
        raise ValueError("cog of set_payload is not a list of three numbers")
    set_payload(r, c.number("m", 0, 0.0), com)


def _set_bit(shift: int) -> Callable[[UrRobot, Call], None]:
    def act(r: UrRobot, c: Call) -> None:
        bit = 1 << (int(c.number("n", 0, 0.0)) % 8 + shift)
        on = bool(c.number("b", 1, 0.0))
        r.signals.digital_out = r.signals.digital_out & ~bit | bit * on

    return act


def _write_int(r: UrRobot, c: Call) -> None:
    value = int(c.number("value", 1, 0.0))
    if value not in INT32:
        raise ValueError(f"an integer register does not hold {value:g}; it has 32 bits")
    r.signals.out_int[int(c.number("address", 0, 0.0)) % 48] = value


def _write_double(r: UrRobot, c: Call) -> None:
    r.signals.out_double[int(c.number("address", 0, 0.0)) % 48] = c.number("value", 1, 0.0)


def _say(r: UrRobot, c: Call) -> None:
    r.say(f"a program says: {quote(' '.join(map(str, c.values)))}")


class _Pause(moves.Move):
    """sleep: wait for a time.

    Args:
        time: duration [s].
    """

    def __init__(self, time: float) -> None:
        self._left = time

    def step(self, c: moves.Course) -> bool:
        self._left -= c.dt
        return self._left <= 0.0


#: The known calls; a call that returns a motion lasts until the end of the motion.
CALLS: dict[str, Callable[[UrRobot, Call], moves.Move | None]] = {
    "movej": _movej,
    "movel": _movel,
    "movep": _movel,
    "stopj": lambda _, c: stop(c.number("a", 0, 2.0), of_tool=False),
    "stopl": lambda _, c: stop(c.number("a", 0, 20.0), of_tool=True),
    "sleep": lambda _, c: _Pause(c.number("t", 0, 0.0)),
    "set_tcp": lambda r, c: set_tool(r, c.six("pose")),
    "set_payload": _set_payload,
    "zero_ftsensor": lambda r, _: r.sensing.zero(),
    "set_standard_digital_out": _set_bit(0),
    "set_configurable_digital_out": _set_bit(8),
    "set_tool_digital_out": _set_bit(16),
    "set_digital_out": _set_bit(0),
    "write_output_integer_register": _write_int,
    "write_output_float_register": _write_double,
    "textmsg": _say,
    "popup": _say,
    "sync": lambda _, __: None,
}


class StatementRow(ArmProgram):
    """A program that consists of known calls, one after the other.

    Args:
        name: name of the program.
        calls: the calls, in the order of execution.
    """

    def __init__(self, name: str, calls: list[Call]) -> None:
        self.name, self._calls, self._next = name or "script", calls, 0

    @staticmethod
    def read(program: str) -> "StatementRow":
        """Return the program of a text.

        Raises:
            ValueError: the program has a line that is not a known call.
        """
        name, lines = body_of(program)
        if not lines:
            raise ValueError("it has no lines")
        calls = read_calls([_summed(line) for line in lines])
        for call in calls:
            if call.name not in CALLS:
                raise ValueError(f"the box does not support {call.name}")
        return StatementRow(name, calls)

    def _step(self, r: UrRobot) -> bool:
        for _ in range(CALLS_PER_CYCLE):
            if r.motion is not None:
                return False
            if self._next == len(self._calls):
                return True
            call = self._calls[self._next]
            self._next += 1
            r.motion = CALLS[call.name](r, call)
        return False


def _summed(line: str) -> str:
    """Return a line with the sum of a register's number, as in `(0 +24, 1)`, written out."""
    head, plus, tail = line.partition("(0 +")
    return f"{head}({tail}" if plus else line
