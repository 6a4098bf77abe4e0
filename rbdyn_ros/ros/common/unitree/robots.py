# SPDX-License-Identifier: Apache-2.0
"""The motors of Unitree's robots in the order of LowCmd and LowState.

Sources: the joint indices in the examples of unitree_ros2 and unitree_sdk2, and the joint names of
the URDF files in unitree_ros.
"""

import importlib
from collections.abc import Collection
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from rbdyn_ros.errors import Finding, ParameterError, did_you_mean, listing
from rbdyn_ros.ros.common.settings.parameters import Parameter

LOW_CMD, LOW_STATE = "lowcmd", "lowstate"
#: Values of a motor's `mode`. For most motors of B2 and H1, SERVO means on instead of ON.
OFF, ON, SERVO = 0, 1, 10
#: With this `q` or more the motor follows no position, with this `dq` or more no velocity.
NO_POSITION, NO_VELOCITY = 2.146e9, 16000.0


@dataclass(frozen=True, slots=True)
class UnitreeRobot:
    """A robot of Unitree.

    Attributes:
        package: package of its messages.
        motors: name of the joint of each motor; empty: no motor has this number.
        optional: joints that some versions of the robot lack.
        feet: links whose contact forces are in `foot_force`.
        servos: joints whose motors are in mode SERVO when they are on; others are in mode ON.
        waist: joint about the z axis of the root link that carries the IMU; empty: the IMU is on
            the root link.
    """

    package: str
    motors: tuple[str, ...]
    optional: frozenset[str] = frozenset()
    feet: tuple[str, ...] = ()
    servos: frozenset[str] = frozenset()
    waist: str = ""

    def mode(self, joint: str) -> int:
        """Return the mode of the motor of a joint when it is on."""
        return SERVO if joint in self.servos else ON


def _joints(pattern: str, *parts: str) -> tuple[str, ...]:
    return tuple(f"{pattern.format(part)}_joint" for part in parts)


LEGS = ("FR", "FL", "RR", "RL")
QUADRUPED = tuple(
    joint for leg in LEGS for joint in _joints(f"{leg}_{{}}", "hip", "thigh", "calf")
)
FEET = tuple(f"{leg}_foot" for leg in LEGS)
#: Joints of the humanoids' legs from the pelvis outwards, and of their arms from the shoulder.
HIPS = {
    "g1": ("hip_pitch", "hip_roll", "hip_yaw", "knee", "ankle_pitch", "ankle_roll"),
    "h1_2": ("hip_yaw", "hip_pitch", "hip_roll", "knee", "ankle_pitch", "ankle_roll"),
}
SHOULDER = ("shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow")
WRIST = ("wrist_roll", "wrist_pitch", "wrist_yaw")
ARMS = tuple(
    joint for side in ("left", "right") for joint in _joints(f"{side}_{{}}", *SHOULDER, *WRIST)
)


def _legs(robot: str) -> tuple[str, ...]:
    sides = ("left", "right")
    return tuple(joint for side in sides for joint in _joints(f"{side}_{{}}", *HIPS[robot]))


H1 = (
    *_joints("right_{}", "hip_roll", "hip_pitch", "knee"),
    *_joints("left_{}", "hip_roll", "hip_pitch", "knee"),
    *("torso_joint", "left_hip_yaw_joint", "right_hip_yaw_joint", ""),
    *_joints("{}_ankle", "left", "right"),
    *_joints("right_{}", *SHOULDER),
    *_joints("left_{}", *SHOULDER),
)
#: Joints of the H1 with the mode SERVO; its motors at ankles and arms are smaller.
H1_SERVOS = frozenset(H1[:9])
#: Joints of the G1 with 29 joints that the G1 with 23 joints lacks.
G1_OPTIONAL = frozenset(
    (
        *_joints("waist_{}", "roll", "pitch"),
        *_joints("left_wrist_{}", "pitch", "yaw"),
        *_joints("right_wrist_{}", "pitch", "yaw"),
    )
)
ROBOTS = {
    "go2": UnitreeRobot("unitree_go", QUADRUPED, feet=FEET),
    "b2": UnitreeRobot("unitree_go", QUADRUPED, feet=FEET, servos=frozenset(QUADRUPED)),
    "h1": UnitreeRobot("unitree_go", H1, servos=H1_SERVOS, waist="torso_joint"),
    "h1_2": UnitreeRobot(
        "unitree_hg", (*_legs("h1_2"), "torso_joint", *ARMS), waist="torso_joint"
    ),
    "g1": UnitreeRobot(
        "unitree_hg",
        (*_legs("g1"), *_joints("waist_{}", "yaw", "roll", "pitch"), *ARMS),
        G1_OPTIONAL,
    ),
}


def parameter(doc: str) -> Parameter:
    """Return the parameter that names the robot."""
    listed = ", ".join(ROBOTS)
    return Parameter("unitree", "", f"{doc}: {listed}; empty: none", choices=("", *ROBOTS))


def unitree_messages(robot: UnitreeRobot) -> Any:
    """Return the module with LowCmd and LowState of a robot.

    Raises:
        ParameterError: the package is not installed.
    """
    try:
        messages = importlib.import_module(f"{robot.package}.msg")
        return SimpleNamespace(LowCmd=messages.LowCmd, LowState=messages.LowState)
    except (ImportError, AttributeError) as error:
        text = (
            f"parameter 'unitree' needs the message package {robot.package}, which is not "
            "installed; build it from unitree_ros2 and source its workspace"
        )
        raise ParameterError(Finding("no-messages", text, "error", "unitree")) from error


def motor_numbers(robot: UnitreeRobot, joints: Collection[str]) -> dict[str, int]:
    """Return the motor number of each joint that the robot has.

    Args:
        robot: the kind of robot.
        joints: names of the joints that can be commanded.

    Raises:
        ParameterError: a motor has no joint.
    """
    found = {name: k for k, name in enumerate(robot.motors) if name in joints}
    missing = [x for x in robot.motors if x and x not in found and x not in robot.optional]
    if missing:
        text = (
            f"parameter 'unitree': the robot has no joint {listing(missing)} of the "
            f"motors{did_you_mean(missing[0], joints)}"
        )
        raise ParameterError(Finding("no-motor", text, "error", "unitree"))
    return found
