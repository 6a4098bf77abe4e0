# SPDX-License-Identifier: Apache-2.0
"""Modes of the robot, its safety and its programs, and the signals that they share.

Modes are numbers of RTDE and words of the dashboard.

Source: Universal Robots, RTDE guide and dashboard server, e-Series.
"""

from enum import IntEnum

import numpy as np

#: General purpose registers of each kind.
NUMBER = 48


class RobotMode(IntEnum):
    """Values of robot_mode."""

    POWER_OFF, POWER_ON, IDLE, BACKDRIVE, RUNNING = range(3, 8)


class SafetyMode(IntEnum):
    """Values of safety_mode."""

    (
        NORMAL, REDUCED, PROTECTIVE_STOP, RECOVERY, SAFEGUARD_STOP, SYSTEM_EMERGENCY_STOP,
        ROBOT_EMERGENCY_STOP, VIOLATION, FAULT,
    ) = range(1, 10)  # fmt: skip


class RuntimeState(IntEnum):
    """Values of runtime_state."""

    STOPPING, STOPPED, PLAYING, PAUSING, PAUSED, RESUMING = range(6)


#: joint_mode of all joints: RUNNING, IDLE, POWER_OFF.
JOINT_RUNNING, JOINT_IDLE, JOINT_OFF = 253, 255, 239
#: Bits of robot_status_bits.
POWERED, PROGRAM_RUNS, TEACH_PRESSED, POWER_PRESSED = (1 << k for k in range(4))
#: Bits of safety_status_bits.
IS_NORMAL, IS_PROTECTIVE, IS_EMERGENCY, IS_STOPPED = 1 << 0, 1 << 2, 1 << 7, 1 << 10
#: The version of PolyScope whose interfaces the box implements.
VERSION = (5, 26, 0, 0)
#: Largest force of the surroundings on the tool [N] and deviation of a joint [rad] before a
#: protective stop. The force is the most restricted preset of the vendor's safety limits.
MOST_FORCE, MOST_DEVIATION = 150.0, 0.1
#: Time before a protective stop may be unlocked [s].
LOCKED = 5.0


class Signals:
    """Inputs and outputs of the controller.

    Attributes:
        in_int, in_double: (48,) registers that clients write.
        out_int, out_double: (48,) registers that programs write.
        in_bits, out_bits: input and output registers of 128 bits each.
        digital_in, digital_out: bits 0 to 7 are standard, 8 to 15 configurable, 16 and 17 of the
            tool.
        analog_in, analog_out: (2,) analog inputs and outputs [V or A].
        analog_types: bits of analog outputs: 1 for voltage.
        slider: slider of the speed, 0 to 1.
        tool_voltage: 0, 12 or 24 [V].
        wrench: (6,) external_force_torque that a client has sent.
        written: number of times that clients wrote each in_int.
    """

    def __init__(self) -> None:
        self.in_int, self.out_int = np.zeros(NUMBER, np.int32), np.zeros(NUMBER, np.int32)
        self.in_double, self.out_double = np.zeros(NUMBER), np.zeros(NUMBER)
        self.in_bits = self.out_bits = 0
        self.digital_in = self.digital_out = 0
        self.analog_in, self.analog_out = np.zeros(2), np.zeros(2)
        self.analog_types = 0
        self.slider, self.tool_voltage = 1.0, 0
        self.wrench = np.zeros(6)
        self.written = np.zeros(NUMBER, np.int64)
