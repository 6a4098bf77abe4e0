# SPDX-License-Identifier: Apache-2.0
"""The commands of ur_rtde's control script, by their numbers.

The numbers are public in ur_rtde (rtde.h). STREAMED and COMMANDS are also a table of
docs/reference/control_box.md.
"""

from collections.abc import Callable

import numpy as np

from rbdyn_ros.arrays import Array, Bools
from rbdyn_ros.control_box.ur.arm import pose_from, pose_of
from rbdyn_ros.control_box.ur.command_queue import CommandQueue, Step
from rbdyn_ros.control_box.ur.compliance import ClientTorque, ForceMode, Freedrive
from rbdyn_ros.control_box.ur.moves import ServoJoints, SpeedJoints, SpeedLine, UntilContact
from rbdyn_ros.control_box.ur.robot import UrRobot
from rbdyn_ros.control_box.ur.scripts import Call
from rbdyn_ros.control_box.ur.statements import (
    CALLS,
    joint_move,
    joints,
    line_move,
    set_payload,
    set_tool,
)

#: A step of the controller in programs [s].
STEP_TIME = 2e-3
#: Allowed gains and lookahead times [s] of servoj, from the vendor.
GAINS, LOOKAHEADS = (100.0, 2000.0), (0.03, 0.2)
#: Allowed damping and gain of force mode, from the vendor.
DAMPINGS, FORCE_GAINS = (0.0, 1.0), (0.0, 2.0)
#: The robot counts as steady while all joints are slower than this [rad/s].
STEADY = 1e-2


# moves


def _speeds(s: CommandQueue, r: UrRobot) -> tuple[float, float]:
    return s.register(r, 6), s.register(r, 7)


def _move_joints(s: CommandQueue, r: UrRobot, q: Array) -> None:
    v, a = _speeds(s, r)
    s.goal = pose_of(r.arm.tool_pose(q, r.F_T))
    s.move(r, lambda r: joint_move(r, q, v, a))


def _move_line(s: CommandQueue, r: UrRobot, T: Array) -> None:
    v, a = _speeds(s, r)
    s.goal = pose_of(T)
    s.move(r, lambda r: line_move(r, T, v, a))


def _move_path(s: CommandQueue, r: UrRobot) -> None:
    def run(call: Call) -> Step:
        if call.name == "signal_async_progress":
            return lambda r: s.progress(r, int(call.number("value", 0, 0.0)))
        return lambda r: CALLS[call.name](r, call)

    s.do(r, [run(call) for call in s.path], asynchronous=s.number(r, 1) == 1)


def _stop(s: CommandQueue, r: UrRobot, of_tool: bool) -> None:
    s.halt(r, s.register(r, 0), of_tool, asynchronous=s.number(r, 1) == 1)


def _servo(s: CommandQueue, r: UrRobot, q: Array) -> None:
    motion = r.motion if isinstance(r.motion, ServoJoints) else ServoJoints()
    lasts, lookahead, gain = (s.register(r, k) for k in (8, 9, 10))
    motion.take(q, lasts, float(np.clip(lookahead, *LOOKAHEADS)), float(np.clip(gain, *GAINS)))
    s.stream(r, motion)


def _servoc(s: CommandQueue, r: UrRobot) -> None:
    T, (v, a) = pose_from(s.six(r)), _speeds(s, r)
    s.do(r, [lambda r: line_move(r, T, v, a)], asynchronous=True)


def _speedj(s: CommandQueue, r: UrRobot) -> None:
    is_joint = isinstance(r.motion, SpeedJoints) and not isinstance(r.motion, SpeedLine)
    motion = r.motion if is_joint else SpeedJoints()
    assert isinstance(motion, SpeedJoints)
    _speed(s, r, motion)


def _speed(s: CommandQueue, r: UrRobot, motion: SpeedJoints) -> None:
    a, lasts = s.register(r, 6), s.register(r, 7)
    if not a > 0.0:
        raise ValueError(f"an acceleration of {a:g} is not positive")
    motion.take(s.six(r), a, lasts)
    s.stream(r, motion)


def _jog(s: CommandQueue, r: UrRobot) -> None:
    v, feature, a = s.six(r), s.register(r, 6), s.register(r, 7)
    R = np.eye(3)
    if feature == 1.0:
        R = r.sensing.at.T[:3, :3]
    elif feature == 2.0:
        R = pose_from(s.six(r, 8))[:3, :3]
    motion = SpeedLine()
    motion.take(np.concatenate([R @ v[:3], R @ v[3:]]), a if a > 0.0 else 0.5, 0.0)
    s.stream(r, motion)


def _torque(s: CommandQueue, r: UrRobot) -> None:
    motion = r.motion if isinstance(r.motion, ClientTorque) else ClientTorque()
    most = r.arm.effort
    motion.take(np.clip(s.six(r), -most, most), STEP_TIME)
    s.stream(r, motion)


# forces


def start_force(
    r: UrRobot, T: Array, kind: int, selected: Bools, wrench: Array, limits: Array,
    damping: float, gain: float,
) -> None:  # fmt: skip
    """Begin force mode, or change it.

    Args:
        r: the robot.
        T: pose (4, 4) of the task frame.
        kind: 1: y points from the tool to the origin of the frame; 3: x is along the tool's
            velocity in the plane of the frame; otherwise the frame is used as it is.
        selected: (6,) whether each axis is compliant.
        wrench: (6,) wrench of the robot on its surroundings [N, N m].
        limits: (6,) largest speeds of the selected axes [m/s, rad/s].
        damping: see ForceMode.
        gain: see ForceMode.
    """
    R = T[:3, :3]
    if kind == 1:
        R = _with_axis(R, 1, T[:3, 3] - r.sensing.at.T[:3, 3])
    elif kind == 3:
        v = R.T @ r.sensing.twist[:3]
        R = _with_axis(R, 0, R @ np.array([v[0], v[1], 0.0]))
    if r.force is None:
        r.force = ForceMode(R, selected, wrench, np.abs(limits))
    r.force.frame, r.force.selected, r.force.wanted = R, selected, wrench
    r.force.most, r.force.damping, r.force.gain = np.abs(limits), damping, gain


def _force_mode(s: CommandQueue, r: UrRobot) -> None:
    T, selected = pose_from(s.six(r)), s.ints(r, 2) == 1
    kind, wrench, limits = s.number(r, 1), s.six(r, 6), s.six(r, 12)
    start_force(r, T, kind, selected, wrench, limits, s.damping, s.gain)


def _force_stop(s: CommandQueue, r: UrRobot) -> None:
    r.force = None
    s.halt(r, 10.0, of_tool=True)


def _set_damping(s: CommandQueue, r: UrRobot) -> None:
    s.damping = float(np.clip(s.register(r, 0), *DAMPINGS))


def _set_gain(s: CommandQueue, r: UrRobot) -> None:
    s.gain = float(np.clip(s.register(r, 0), *FORCE_GAINS))


def _freedrive(s: CommandQueue, r: UrRobot) -> None:
    free = s.ints(r, 1)
    feature = s.six(r)
    tool = bool((feature != 0.0).any())  # the vendor's constant for the base is zero
    s.stream(r, Freedrive(free, pose_from(feature)[:3, :3] if tool else None))


def _end_freedrive(_: CommandQueue, r: UrRobot) -> None:
    if isinstance(r.motion, Freedrive):
        r.begin(None)


def _until_contact(s: CommandQueue, r: UrRobot) -> None:
    twist, direction, a = s.six(r), s.six(r, 6)[:3], s.register(r, 12)
    motion = UntilContact(lambda: r.past.contact(direction) > 0)
    motion.take(twist, a if a > 0.0 else 0.25, 0.0)

    def back(r: UrRobot) -> None:
        s.follow_with(s.stop_at_contact(r, r.past.contact(direction)))

    s.do(r, [lambda _: motion, back])


def _watch_contact(s: CommandQueue, r: UrRobot) -> None:
    s.watch, s.steps, s.free_first = s.six(r)[:3], 0, True


def _stop_watching(s: CommandQueue, r: UrRobot) -> None:
    s.watch = None
    s.tell_int(r, s.steps)


# settings and queries


def _set_payload(s: CommandQueue, r: UrRobot, inertia: Array | None) -> None:
    com = s.six(r, 1)[:3]
    set_payload(r, s.register(r, 0), com if com.any() else r.arm.load.com, inertia)


def _set_watchdog(s: CommandQueue, r: UrRobot) -> None:
    frequency = s.register(r, 0)
    s.most_silent = 1.0 / frequency if frequency > 0.0 else 0.0


def _has_inverse(s: CommandQueue, r: UrRobot) -> None:
    found = r.arm.solve(pose_from(s.six(r)), r.joints.x, r.F_T)
    s.tell_int(r, int(found is not None))


def _are_joints_safe(s: CommandQueue, r: UrRobot) -> None:
    q = s.six(r)
    s.tell_int(r, int(((q >= r.arm.lower) & (q <= r.arm.upper)).all()))


def _jacobian_dot(s: CommandQueue, r: UrRobot) -> None:
    at = r.sensing.at
    s.tell_matrix(r, r.arm.tool_jacobian_dot(at.q, at.dq, r.F_T))


def _with_axis(R: Array, k: int, axis: Array) -> Array:
    """Return a frame (3, 3) whose axis k points along a vector, turned as little as possible."""
    length = float(np.linalg.norm(axis))
    if length < 1e-6:
        return R
    e = axis / length
    z = np.cross(e, R[:, (k + 1) % 3])
    if np.linalg.norm(z) < 1e-6:
        return R
    z /= np.linalg.norm(z)
    found = np.empty((3, 3))
    found[:, k], found[:, (k + 2) % 3], found[:, (k + 1) % 3] = e, z, np.cross(z, e)
    return found


_Act = Callable[[CommandQueue, UrRobot], None]
#: Commands that the client does not wait for, by their numbers.
STREAMED: dict[int, tuple[str, _Act]] = {
    6: ("force mode", _force_mode),
    9: ("speedj", _speedj),
    10: (
        "speedl",
        lambda s, r: _speed(s, r, r.motion if isinstance(r.motion, SpeedLine) else SpeedLine()),
    ),
    11: ("servoj", lambda s, r: _servo(s, r, s.six(r))),
    24: ("servoj to a pose", lambda s, r: _servo(s, r, joints(r, pose_from(s.six(r))))),
    25: ("tool contact", lambda s, r: s.tell_int(r, r.past.contact(s.six(r)[:3]))),
    26: ("step time", lambda s, r: s.tell(r, np.array([STEP_TIME]))),
    27: ("joints some steps ago", lambda s, r: s.tell(r, r.past.joints(s.number(r, 1)))),
    38: ("joint torques of the surroundings", lambda s, r: s.tell(r, r.sensing.external)),
    58: ("pose of the flange", lambda s, r: s.tell(r, pose_of(r.sensing.flange))),
    66: ("direct torque", _torque),
    67: ("mass matrix", lambda s, r: s.tell_matrix(r, r.sensing.at.M)),
    68: ("Coriolis torques", lambda s, r: s.tell(r, r.sensing.at.coriolis)),
    69: ("desired accelerations", lambda s, r: s.tell(r, r.joints.a)),
    70: ("Jacobian", lambda s, r: s.tell_matrix(r, r.arm.tool_jacobian(r.sensing.at.q, r.F_T))),
    71: ("rate of the Jacobian", _jacobian_dot),
}
#: Commands that the client waits for.
COMMANDS: dict[int, tuple[str, _Act]] = {
    1: ("movej", lambda s, r: _move_joints(s, r, s.six(r))),
    2: ("movej to a pose", lambda s, r: _move_joints(s, r, joints(r, pose_from(s.six(r))))),
    3: ("movel", lambda s, r: _move_line(s, r, pose_from(s.six(r)))),
    4: ("movel to joints", lambda s, r: _move_line(s, r, r.arm.tool_pose(s.six(r), r.F_T))),
    7: ("end of force mode", _force_stop),
    8: ("zero the force", lambda _, r: r.sensing.zero()),
    12: ("servoc: a line without blending", _servoc),
    15: (
        "end of speedj and speedl",
        lambda s, r: s.halt(r, s.register(r, 0), of_tool=isinstance(r.motion, SpeedLine)),
    ),
    16: ("end of servoj", lambda s, r: s.halt(r, s.register(r, 0), of_tool=True)),
    17: ("payload", lambda s, r: _set_payload(s, r, None)),
    18: ("teach mode", lambda s, r: s.stream(r, Freedrive())),
    19: ("end of teach mode", _end_freedrive),
    20: ("damping of force mode", _set_damping),
    21: ("gain of force mode", _set_gain),
    28: ("goal of the last move", lambda s, r: s.tell(r, s.goal)),
    29: ("tool", lambda s, r: set_tool(r, s.six(r))),
    30: (
        "inverse kinematics near joints",
        lambda s, r: s.tell(r, joints(r, pose_from(s.six(r)), s.six(r, 6))),
    ),
    31: ("protective stop", lambda _, r: r.protective_stop("a program asks for it")),
    33: ("stopl", lambda s, r: _stop(s, r, of_tool=True)),
    34: ("stopj", lambda s, r: _stop(s, r, of_tool=False)),
    35: ("watchdog", _set_watchdog),
    36: ("whether a pose is within the limits", _has_inverse),
    37: ("whether joints are within the limits", _are_joints_safe),
    39: (
        "product of poses",
        lambda s, r: s.tell(r, pose_of(pose_from(s.six(r)) @ pose_from(s.six(r, 6)))),
    ),
    40: ("the tool", lambda s, r: s.tell(r, pose_of(r.F_T))),
    41: ("jog", _jog),
    42: ("end of jogging", lambda s, r: s.halt(r, 1.2, of_tool=True)),
    43: ("forward kinematics", lambda s, r: s.tell(r, pose_of(r.sensing.at.T))),
    44: (
        "forward kinematics of joints and a tool",
        lambda s, r: s.tell(r, pose_of(r.arm.tool_pose(s.six(r), pose_from(s.six(r, 6))))),
    ),
    45: ("path, without blending", _move_path),
    46: ("inverse kinematics", lambda s, r: s.tell(r, joints(r, pose_from(s.six(r))))),
    47: (
        "whether the robot is steady",
        lambda s, r: s.tell_int(r, int((np.abs(r.sensing.at.dq) < STEADY).all())),
    ),
    51: ("move until contact", _until_contact),
    52: ("freedrive", _freedrive),
    53: ("end of freedrive", _end_freedrive),
    54: ("status of freedrive: 0", lambda s, r: s.tell_int(r, 0)),
    56: ("force by RTDE: without effect", lambda _, __: None),
    57: ("external force sensor: without effect", lambda _, __: None),
    59: ("gravity", lambda s, r: r.arm.set_gravity(-s.six(r)[:3])),
    60: ("whether there is inverse kinematics", _has_inverse),
    61: ("whether there is inverse kinematics near joints", _has_inverse),
    62: ("begin to look for a contact", _watch_contact),
    63: ("end looking for a contact", _stop_watching),
    64: ("steps since a contact", lambda s, r: s.tell_int(r, s.steps)),
    65: ("payload with inertia", lambda s, r: _set_payload(s, r, s.six(r, 4))),
}
STOP_SCRIPT = 255
