# SPDX-License-Identifier: Apache-2.0
"""The packets of Franka's control interface, field by field: packed, little endian.

The facts are in the public headers of libfranka-common (version 10 of the protocol of the robot,
version 3 of the gripper). ENTRIES is also the table of docs/reference/control_box.md.
"""

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

ROBOT_PORT, ROBOT_VERSION = 1337, 10
GRIPPER_PORT, GRIPPER_VERSION = 1338, 3
#: Numbers of a matrix 4 x 4, column by column.
_MATRIX = (16,)
Fidelity = Literal["simulated", "approximated", "absent"]


@dataclass(frozen=True, slots=True)
class StateField:
    """A field of RobotState.

    Attributes:
        name: name in libfranka's header.
        type: type in NumPy, little endian.
        shape: shape of its numbers.
        fidelity: whether the box computes it from the simulated arm.
        meaning: meaning of the written value.
    """

    name: str
    type: str
    shape: tuple[int, ...]
    fidelity: Fidelity
    meaning: str


def _f(name: str, n: int, meaning: str, fidelity: Fidelity = "simulated") -> StateField:
    return StateField(name, "<f4", () if n == 1 else (n,), fidelity, meaning)


ENTRIES = (
    StateField("message_id", "<u8", (), "simulated", "number of the state, one more each cycle"),
    _f("O_T_EE", 16, "measured pose of the end effector"),
    _f("O_T_EE_d", 16, "desired pose of the end effector, from q_d"),
    _f("F_T_EE", 16, "end effector in the flange, F_T_NE times NE_T_EE"),
    _f("EE_T_K", 16, "stiffness frame, as set by the client"),
    _f("F_T_NE", 16, "nominal end effector: of the hand, or the flange without a hand"),
    _f("NE_T_EE", 16, "end effector, as set by the client"),
    _f("m_ee", 1, "mass of all links beyond the flange"),
    _f("I_ee", 9, "inertia of these links about their centre, fingers closed"),
    _f("F_x_Cee", 3, "centre of mass of these links in the flange"),
    _f("m_load", 1, "mass of the load, as set by the client"),
    _f("I_load", 9, "inertia of the load, as set by the client"),
    _f("F_x_Cload", 3, "centre of mass of the load, as set by the client"),
    _f("elbow", 2, "position of joint 3, and the sign of joint 4's side"),
    _f("elbow_d", 2, "desired elbow, from q_d"),
    _f("tau_J", 7, "torque between gear and link: with gravity, without friction and rotor"),
    _f("tau_J_d", 7, "desired torque without gravity"),
    _f("dtau_J", 7, "change of tau_J in a cycle"),
    _f("q", 7, "measured positions, with the errors of the encoders"),
    _f("q_d", 7, "desired positions"),
    _f("dq", 7, "measured velocities"),
    _f("dq_d", 7, "desired velocities"),
    _f("ddq_d", 7, "desired accelerations"),
    _f("joint_contact", 7, "1 while a torque is above the lower threshold"),
    _f("cartesian_contact", 6, "1 while a force is above the lower threshold"),
    _f("joint_collision", 7, "1 once above the upper threshold, until recovery or a motion"),
    _f("cartesian_collision", 6, "1 once above the upper threshold, until recovery or a motion"),
    _f("tau_ext_hat_filtered", 7, "by a momentum observer; the vendor's filter is not public",
       "approximated"),
    _f("O_F_ext_hat_K", 6, "wrench of the robot on its surroundings, by least squares",
       "approximated"),
    _f("K_F_ext_hat_K", 6, "this wrench in the axes of the stiffness frame", "approximated"),
    _f("O_dP_EE_d", 6, "desired twist of the end effector"),
    _f("O_ddP_O", 3, "gravity in the axes of the base"),
    _f("elbow_c", 2, "commanded elbow"),
    _f("delbow_c", 2, "rate of elbow_c"),
    _f("ddelbow_c", 2, "rate of delbow_c"),
    _f("O_T_EE_c", 16, "commanded pose of a Cartesian motion, otherwise the desired pose"),
    _f("O_dP_EE_c", 6, "commanded twist"),
    _f("O_ddP_EE_c", 6, "commanded acceleration"),
    _f("theta", 7, "motor positions, equal to q because the joints are rigid", "approximated"),
    _f("dtheta", 7, "motor velocities, equal to dq", "approximated"),
    StateField("accelerometer_top", "<f4", (6, 3), "absent", "zero"),
    StateField("accelerometer_bottom", "<f4", (6, 3), "absent", "zero"),
    StateField("motion_generator_mode", "u1", (), "simulated", "0 idle, 1 to 4 motions, 5 none"),
    StateField("controller_mode", "u1", (), "simulated", "0, 1 impedances, 2 external, 3 other"),
    StateField("errors", "u1", (41,), "simulated", "the present errors, in the order below"),
    StateField("reflex_reason", "u1", (41,), "simulated", "the errors that ended the last motion"),
    StateField("robot_mode", "u1", (), "simulated", "1 idle, 2 move, 4 reflex, 5 user stop"),
    _f("control_command_success_rate", 1, "share of the last 100 cycles with a command"),
)  # fmt: skip
STATE = np.dtype([(entry.name, entry.type, entry.shape) for entry in ENTRIES])

#: A command of the client in each cycle.
COMMAND = np.dtype(
    [
        ("message_id", "<u8"),
        ("q_c", "<f8", (7,)),
        ("dq_c", "<f8", (7,)),
        ("O_T_EE_c", "<f8", _MATRIX),
        ("O_dP_EE_c", "<f8", (6,)),
        ("elbow_c", "<f8", (2,)),
        ("valid_elbow", "u1"),
        ("motion_generation_finished", "u1"),
        ("tau_J_d", "<f8", (7,)),
        ("torque_command_finished", "u1"),
    ]
)


class Mode(IntEnum):
    """The mode of the arm."""

    OTHER, IDLE, MOVE, GUIDING, REFLEX, USER_STOPPED, RECOVERY = range(7)


class Generator(IntEnum):
    """The source of a motion: motion_generator_mode of a state; in a Move the number is 1 less."""

    IDLE, JOINT_POSITION, JOINT_VELOCITY, CARTESIAN_POSITION, CARTESIAN_VELOCITY, NONE = range(6)


class ControllerMode(IntEnum):
    """The source of the torques."""

    JOINT_IMPEDANCE, CARTESIAN_IMPEDANCE, EXTERNAL, OTHER = range(4)


#: The errors of the interface in their order; True: the box raises this error.
ERRORS = {
    "joint_position_limits_violation": True,
    "cartesian_position_limits_violation": False,
    "self_collision_avoidance_violation": False,
    "joint_velocity_violation": True,
    "cartesian_velocity_violation": True,
    "force_control_safety_violation": False,
    "joint_reflex": True,
    "cartesian_reflex": True,
    "max_goal_pose_deviation_violation": False,
    "max_path_pose_deviation_violation": True,
    "cartesian_velocity_profile_safety_violation": False,
    "joint_position_motion_generator_start_pose_invalid": True,
    "joint_motion_generator_position_limits_violation": True,
    "joint_motion_generator_velocity_limits_violation": True,
    "joint_motion_generator_velocity_discontinuity": True,
    "joint_motion_generator_acceleration_discontinuity": True,
    "cartesian_position_motion_generator_start_pose_invalid": True,
    "cartesian_motion_generator_elbow_limit_violation": True,
    "cartesian_motion_generator_velocity_limits_violation": True,
    "cartesian_motion_generator_velocity_discontinuity": True,
    "cartesian_motion_generator_acceleration_discontinuity": True,
    "cartesian_motion_generator_elbow_sign_inconsistent": True,
    "cartesian_motion_generator_start_elbow_invalid": True,
    "force_controller_desired_force_tolerance_violation": False,
    "start_elbow_sign_inconsistent": False,
    "communication_constraints_violation": True,
    "power_limit_violation": False,
    "cartesian_motion_generator_joint_position_limits_violation": True,
    "cartesian_motion_generator_joint_velocity_limits_violation": True,
    "cartesian_motion_generator_joint_velocity_discontinuity": True,
    "cartesian_motion_generator_joint_acceleration_discontinuity": True,
    "cartesian_position_motion_generator_invalid_frame_flag": True,
    "controller_torque_discontinuity": True,
    "joint_p2p_insufficient_torque_for_planning": False,
    "tau_J_range_violation": False,
    "instability_detected": False,
    "joint_move_in_wrong_direction": False,
    "cartesian_spline_motion_generator_violation": False,
    "joint_via_motion_generator_planning_joint_limit_violation": False,
    "base_acceleration_initialization_timeout": False,
    "base_acceleration_invalid_reading": False,
}
ERROR_NUMBERS = {name: number for number, name in enumerate(ERRORS)}


class Request(IntEnum):
    """Requests to the robot, by TCP."""

    (
        CONNECT, MOVE, STOP_MOVE, SET_COLLISION_BEHAVIOR, SET_JOINT_IMPEDANCE,
        SET_CARTESIAN_IMPEDANCE, SET_GUIDING_MODE, SET_EE_TO_K, SET_NE_TO_EE, SET_LOAD,
        AUTOMATIC_ERROR_RECOVERY, GET_ROBOT_MODEL,
    ) = range(12)  # fmt: skip


class GripperRequest(IntEnum):
    """Requests to the gripper, by TCP."""

    CONNECT, HOMING, GRASP, MOVE, STOP = range(5)


CONNECT = np.dtype([("version", "<u2"), ("udp_port", "<u2")])
_NOTHING = np.dtype([])
#: Body of each request after its header.
PAYLOADS: dict[int, np.dtype[Any]] = {
    Request.CONNECT: CONNECT,
    Request.MOVE: np.dtype(
        [
            ("controller", "<u4"),
            ("generator", "<u4"),
            ("path_deviation", "<f8", (3,)),
            ("goal_deviation", "<f8", (3,)),
            ("asynchronous", "u1"),
            ("maximum_velocity", "<f8", (7,)),
        ]
    ),
    Request.STOP_MOVE: _NOTHING,
    Request.SET_COLLISION_BEHAVIOR: np.dtype(
        [("torques", "<f8", (4, 7)), ("forces", "<f8", (4, 6))]
    ),
    Request.SET_JOINT_IMPEDANCE: np.dtype([("K", "<f8", (7,))]),
    Request.SET_CARTESIAN_IMPEDANCE: np.dtype([("K", "<f8", (6,))]),
    Request.SET_GUIDING_MODE: np.dtype([("axes", "u1", (6,)), ("elbow", "u1")]),
    Request.SET_EE_TO_K: np.dtype([("T", "<f8", _MATRIX)]),
    Request.SET_NE_TO_EE: np.dtype([("T", "<f8", _MATRIX)]),
    Request.SET_LOAD: np.dtype([("mass", "<f8"), ("com", "<f8", (3,)), ("inertia", "<f8", (9,))]),
    Request.AUTOMATIC_ERROR_RECOVERY: _NOTHING,
    Request.GET_ROBOT_MODEL: _NOTHING,
}
GRIPPER_PAYLOADS: dict[int, np.dtype[Any]] = {
    GripperRequest.CONNECT: CONNECT,
    GripperRequest.HOMING: _NOTHING,
    GripperRequest.GRASP: np.dtype(
        [("width", "<f8"), ("inner", "<f8"), ("outer", "<f8"), ("speed", "<f8"), ("force", "<f8")]
    ),
    GripperRequest.MOVE: np.dtype([("width", "<f8"), ("speed", "<f8")]),
    GripperRequest.STOP: _NOTHING,
}
GRIPPER_STATE = np.dtype(
    [
        ("message_id", "<u4"),
        ("width", "<f8"),
        ("max_width", "<f8"),
        ("is_grasped", "u1"),
        ("temperature", "<u2"),
    ]
)


class RequestStatus(IntEnum):
    """Answers to requests; for answers to a Move see MoveStatus."""

    SUCCESS, NOT_POSSIBLE, INVALID_ARGUMENT = range(3)


#: The answer to Connect if the client has another version.
INCOMPATIBLE = 1


class MoveStatus(IntEnum):
    """Answers to a Move: the first at its start, the second at its end."""

    (
        SUCCESS, STARTED, PREEMPTED, PREEMPTED_BY_SAFETY, REJECTED_BY_SAFETY, NOT_POSSIBLE,
        SINGULAR, INVALID_ARGUMENT, REFLEX, USER_STOP, INPUT_ERROR, ABORTED,
    ) = range(12)  # fmt: skip


class GripperStatus(IntEnum):
    """Answers of the gripper."""

    SUCCESS, FAIL, UNSUCCESSFUL, ABORTED = range(4)


@dataclass(frozen=True, slots=True)
class Interface:
    """The interface of the arm or of the hand.

    Attributes:
        name: name in messages.
        version: version of its protocol.
        clients: clients that use this version, for messages.
        command: type of a command in the header of a request.
        status: bytes of the status in an answer.
        payloads: payloads of the requests, by command; 0 is Connect.
    """

    name: str
    version: int
    clients: str
    command: str
    status: int
    payloads: dict[int, np.dtype[Any]]


ROBOT = Interface("robot", ROBOT_VERSION, " (libfranka 0.18 and later)", "I", 1, PAYLOADS)
GRIPPER = Interface("gripper", GRIPPER_VERSION, "", "H", 2, GRIPPER_PAYLOADS)


class Framing:
    """Cuts a stream of bytes into requests: a header with command, number and size, then numbers.

    Args:
        interface: interface of the requests.
    """

    def __init__(self, interface: Interface) -> None:
        self._header = struct.Struct(f"<{interface.command}II")
        self._payloads, self._pending = interface.payloads, b""

    def take(self, data: bytes) -> list[tuple[int, int, NDArray[Any]]]:
        """Return the complete requests so far, each with command, number and payload.

        Raises:
            ValueError: the bytes are not a request of the protocol; the connection should end.
        """
        self._pending += data
        found = []
        while len(self._pending) >= self._header.size:
            command, number, size = self._header.unpack_from(self._pending)
            payload = self._payloads.get(command)
            if payload is None:
                raise ValueError(f"there is no command {command}")
            if size != self._header.size + payload.itemsize:
                wanted = self._header.size + payload.itemsize
                raise ValueError(f"command {command} has {size} bytes; expected {wanted}")
            if len(self._pending) < size:
                break
            body, self._pending = self._pending[self._header.size : size], self._pending[size:]
            given = np.frombuffer(body, payload)[0] if payload.itemsize else np.zeros(())
            found.append((command, number, given))
        return found

    def answer(self, command: int, number: int, body: bytes) -> bytes:
        """Return the answer to a command's request `number`: a header and the body."""
        return self._header.pack(command, number, self._header.size + len(body)) + body
