# SPDX-License-Identifier: Apache-2.0
"""Modes of the robot, its safety and its programs, as numbers of RTDE and words of the dashboard.

Source: Universal Robots, RTDE guide and dashboard server, e-Series.
"""

from __future__ import annotations

from enum import IntEnum


class RobotMode(IntEnum):
    """robot_mode."""

    POWER_OFF, POWER_ON, IDLE, BACKDRIVE, RUNNING = range(3, 8)


class SafetyMode(IntEnum):
    """safety_mode."""

    (
        NORMAL, REDUCED, PROTECTIVE_STOP, RECOVERY, SAFEGUARD_STOP, SYSTEM_EMERGENCY_STOP,
        ROBOT_EMERGENCY_STOP, VIOLATION, FAULT,
    ) = range(1, 10)  # fmt: skip


class RuntimeState(IntEnum):
    """runtime_state."""

    STOPPING, STOPPED, PLAYING, PAUSING, PAUSED, RESUMING = range(6)


#: joint_mode of all joints: RUNNING, IDLE, POWER_OFF.
JOINT_RUNNING, JOINT_IDLE, JOINT_OFF = 253, 255, 239
#: Bits of robot_status_bits.
POWERED, PROGRAM_RUNS, TEACH_PRESSED, POWER_PRESSED = (1 << k for k in range(4))
#: Bits of safety_status_bits.
IS_NORMAL, IS_PROTECTIVE, IS_EMERGENCY, IS_STOPPED = 1 << 0, 1 << 2, 1 << 7, 1 << 10
#: The version of PolyScope whose interfaces the box has.
VERSION = (5, 26, 0, 0)
#: Largest force of the surroundings on the tool [N] and deviation of a joint [rad] before a
#: protective stop. The force is the most restricted preset of the vendor's safety limits.
MOST_FORCE, MOST_DEVIATION = 150.0, 0.1
#: Time before a protective stop may be unlocked [s].
LOCKED = 5.0
