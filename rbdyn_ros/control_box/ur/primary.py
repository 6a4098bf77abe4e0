# SPDX-License-Identifier: Apache-2.0
"""Packages of the primary and the secondary interface: the version, then ten states a second.

Source: Universal Robots, Remote Control via TCP/IP, client interfaces of e-Series.
"""

import struct

import numpy as np

from rbdyn_ros.control_box.ur.modes import VERSION, RobotMode, RuntimeState, SafetyMode
from rbdyn_ros.control_box.ur.robot import UrRobot
from rbdyn_ros.control_box.ur.statements import JOINT_A, JOINT_V, LINE_A, LINE_V
from rbdyn_ros.control_box.ur.variables import OUTPUTS

#: Time from one state to the next [s].
STATES_EVERY = 0.1
#: Kinds of packages, and of the parts of a state.
STATE, MESSAGE = 16, 20
MODE, JOINTS, TOOL, KINEMATICS, CONFIGURATION = 0, 1, 4, 5, 6
#: Numbers of the models in robotType; the box belongs to the e-Series, which has subtype 1.
ROBOT_TYPES = {"UR5": 1, "UR10": 2, "UR3": 3, "UR16": 4, "UR20": 7, "UR30": 8}
#: Largest acceleration of a joint that the configuration names [rad/s^2].
MOST_ACCELERATION = 40.0
UNCALIBRATED = 1
_SOURCE, _VERSION, _NAME = 254, 3, b"URControl"


def _package(kind: int, body: bytes) -> bytes:
    return struct.pack(">iB", 5 + len(body), kind) + body


def version() -> bytes:
    """Return the first package of a connection."""
    major, minor, bugfix, build = VERSION
    head = struct.pack(">QBBB", 2**64 - 1, _SOURCE, _VERSION, len(_NAME)) + _NAME
    numbers = struct.pack(">BBii", major, minor, bugfix, build)
    return _package(MESSAGE, head + numbers + b"01-01-2026, 00:00:00")


def state(r: UrRobot) -> bytes:
    """Return the package of the state that clients get."""
    parts = (
        (MODE, _mode), (JOINTS, _joints), (TOOL, _tool), (KINEMATICS, _kinematics),
        (CONFIGURATION, _configuration),
    )  # fmt: skip
    return _package(STATE, b"".join(_package(kind, make(r)) for kind, make in parts))


def _mode(r: UrRobot) -> bytes:
    flags = (
        True,  # a robot is connected, and enabled
        True,
        r.mode > RobotMode.POWER_OFF,
        r.safety == SafetyMode.ROBOT_EMERGENCY_STOP,
        r.safety == SafetyMode.PROTECTIVE_STOP,
        r.runtime == RuntimeState.PLAYING,
        r.runtime == RuntimeState.PAUSED,
    )
    speeds = r.signals.slider, r.scale, 1.0
    return struct.pack(">Q7?BB3dB", round(r.clock * 1e6), *flags, r.mode, 0, *speeds, 0)


def _joints(r: UrRobot) -> bytes:
    names = "actual_q", "target_q", "actual_qd", "actual_current", "actual_joint_voltage"
    columns = [OUTPUTS[name].read(r) for name in (*names, "joint_temperatures", "joint_mode")]
    rows = zip(*(np.asarray(column).tolist() for column in columns), strict=True)
    return b"".join(struct.pack(">3d4fB", *row[:5], row[5], row[5], round(row[6])) for row in rows)


def _tool(r: UrRobot) -> bytes:
    both = [np.asarray(OUTPUTS[name].read(r)) for name in ("actual_TCP_pose", "tcp_offset")]
    return struct.pack(">12d", *np.concatenate(both))


def _kinematics(_: UrRobot) -> bytes:
    """Return checksums and DH parameters, which are all zero because the arm is not calibrated."""
    return struct.pack(">6I24dI", *[0] * 6, *np.zeros(24), UNCALIBRATED)


def _configuration(r: UrRobot) -> bytes:
    """Return limits and defaults; the DH parameters are zero."""
    arm = r.arm
    ranges = np.stack([arm.lower, arm.upper], axis=1).ravel()
    speeds = np.stack([arm.velocity, np.full(6, MOST_ACCELERATION)], axis=1).ravel()
    numbers = [*ranges, *speeds, JOINT_V, JOINT_A, LINE_V, LINE_A, 0.0, *np.zeros(24)]
    return struct.pack(">53d4i", *numbers, 0, 0, ROBOT_TYPES[arm.model], 1)
