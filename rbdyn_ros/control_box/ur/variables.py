# SPDX-License-Identifier: Apache-2.0
"""The variables of real-time data exchange (RTDE): their names, types and sources.

OUTPUTS and INPUTS are also tables of docs/reference/control_box.md.

Source: Universal Robots, Real-Time Data Exchange (RTDE) guide, PolyScope 5.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rbdyn_ros.control_box.ur import modes
from rbdyn_ros.control_box.ur.arm import pose_of
from rbdyn_ros.control_box.ur.robot import UrRobot

#: Types of RTDE: letters of the module struct, and how many numbers a value has.
TYPES = {
    "BOOL": ("?", 1), "UINT8": ("B", 1), "UINT32": ("I", 1), "UINT64": ("Q", 1),
    "INT32": ("i", 1), "DOUBLE": ("d", 1), "VECTOR3D": ("ddd", 3), "VECTOR6D": ("dddddd", 6),
    "VECTOR6INT32": ("iiiiii", 6), "VECTOR6UINT32": ("IIIIII", 6),
}  # fmt: skip
Fidelity = Literal["simulated", "approximated", "absent"]
#: Torque per current of the two sizes of joints, behind the gear [N m/A].
TORQUE_CONSTANT = np.array([13.6, 13.6, 13.6, 9.3, 9.3, 9.3])


@dataclass(frozen=True, slots=True)
class OutputVariable:
    """A variable that clients may read.

    Attributes:
        name, type: name and type in the vendor's guide.
        fidelity: whether the box computes it from the simulated arm.
        meaning: meaning of the written value.
        read: function that reads the value from the robot.
    """

    name: str
    type: str
    fidelity: Fidelity
    meaning: str
    read: Callable[[UrRobot], Any]


@dataclass(frozen=True, slots=True)
class InputVariable:
    """A variable that clients may write.

    Attributes:
        name, type: name and type in the vendor's guide.
        meaning: how the box uses the variable.
        write: function that writes the value to the robot.
    """

    name: str
    type: str
    meaning: str
    write: Callable[[UrRobot, Any], None]


def _target_moment(r: UrRobot) -> Any:
    s = r.sensing.at
    return s.M @ r.joints.a + s.coriolis + r.sensing.gravity


def _joint_mode(r: UrRobot) -> Any:
    of_modes = {
        modes.RobotMode.RUNNING: modes.JOINT_RUNNING,
        modes.RobotMode.POWER_OFF: modes.JOINT_OFF,
    }
    return np.full(6, of_modes.get(r.mode, modes.JOINT_IDLE))


def _status(r: UrRobot) -> int:
    on = modes.POWERED if r.mode >= modes.RobotMode.POWER_ON else 0
    runs = modes.PROGRAM_RUNS if r.program is not None and not r.paused else 0
    return on | runs | (modes.TEACH_PRESSED if r.teaches else 0)


def _safety_bits(r: UrRobot) -> int:
    return {
        modes.SafetyMode.NORMAL: modes.IS_NORMAL,
        modes.SafetyMode.PROTECTIVE_STOP: modes.IS_PROTECTIVE | modes.IS_STOPPED,
        modes.SafetyMode.ROBOT_EMERGENCY_STOP: modes.IS_EMERGENCY | modes.IS_STOPPED,
    }.get(r.safety, modes.IS_STOPPED)


def _out(
    name: str, kind: str, meaning: str, read: Callable[[UrRobot], Any],
    fidelity: Fidelity = "simulated",
) -> OutputVariable:  # fmt: skip
    return OutputVariable(name, kind, fidelity, meaning, read)


def _constant(name: str, kind: str, value: float, meaning: str = "") -> OutputVariable:
    count = TYPES[kind][1]
    one = value if kind in ("DOUBLE", "VECTOR3D", "VECTOR6D") else int(value)
    found = one if count == 1 else np.full(count, one)
    return OutputVariable(name, kind, "absent", meaning or f"{value:g}", lambda _: found)


def _entry(name: str, k: int) -> Callable[[UrRobot], Any]:
    """Return a function that reads entry k of the array `name` of the signals."""
    return lambda r: getattr(r.signals, name)[k]


def _bits(name: str, low: int, count: int) -> Callable[[UrRobot], int]:
    """Return a function that reads `count` bits of the signal `name`, from the bit `low` on."""
    return lambda r: getattr(r.signals, name) >> low & ((1 << count) - 1)


_V6, _D = "VECTOR6D", "DOUBLE"
_ARM = (
    _out("timestamp", _D, "time of the box; in lock-step it continues in a pause [s]",
         lambda r: r.clock),
    _out("target_q", _V6, "desired positions [rad]", lambda r: r.joints.x),
    _out("target_qd", _V6, "desired velocities [rad/s]", lambda r: r.joints.v),
    _out("target_qdd", _V6, "desired accelerations [rad/s^2]", lambda r: r.joints.a),
    _out("target_current", _V6, "target_moment divided by a torque constant [A]",
         lambda r: _target_moment(r) / TORQUE_CONSTANT, "approximated"),
    _out("target_moment", _V6, "torques of the desired motion with gravity [N m]", _target_moment),
    _out("actual_q", _V6, "measured positions, with the errors of the encoders",
         lambda r: r.sensing.at.q),
    _out("actual_qd", _V6, "measured velocities [rad/s]", lambda r: r.sensing.at.dq),
    _out("actual_qdd", _V6, "accelerations of the last tick", lambda r: r.sensing.qdd),
    _out("actual_current", _V6, "torques of the motors divided by a torque constant [A]",
         lambda r: r.sensing.effort / TORQUE_CONSTANT, "approximated"),
    _out("actual_current_as_torque", _V6, "torques of the motors [N m]",
         lambda r: r.sensing.effort),
    _out("actual_moment", _V6, "torques of the motors [N m]", lambda r: r.sensing.effort),
    _constant("actual_current_window", _V6, 0.0),
    _out("joint_control_output", _V6, "commanded torques divided by a torque constant [A]",
         lambda r: r.tau / TORQUE_CONSTANT, "approximated"),
    _out("actual_TCP_pose", _V6, "pose of the tool in the base: x y z, rotation vector",
         lambda r: pose_of(r.sensing.at.T)),
    _out("actual_TCP_speed", _V6, "velocity of the tool in base axes", lambda r: r.sensing.twist),
    _out("actual_TCP_force", _V6, "wrench of the surroundings on the tool, by a momentum observer",
         lambda r: r.sensing.wrench, "approximated"),
    _out("target_TCP_pose", _V6, "pose of the tool at target_q",
         lambda r: pose_of(r.arm.tool_pose(r.joints.x, r.F_T))),
    _out("target_TCP_speed", _V6, "velocity of the tool at target_q",
         lambda r: r.arm.tool_jacobian(r.joints.x, r.F_T) @ r.joints.v),
    _out("tcp_offset", _V6, "the tool in the flange", lambda r: pose_of(r.F_T)),
    _out("ft_raw_wrench", _V6, "wrench on the tool since zero_ftsensor, in flange axes",
         lambda r: np.concatenate([r.sensing.flange[:3, :3].T @ r.sensing.wrench[:3],
                                   r.sensing.flange[:3, :3].T @ r.sensing.wrench[3:]]),
         "approximated"),
    _out("tcp_force_scalar", _D, "size of the force on the tool [N]",
         lambda r: float(np.linalg.norm(r.sensing.wrench[:3])), "approximated"),
    _out("actual_momentum", _D, "norm of the joints' momentum",
         lambda r: float(np.linalg.norm(r.sensing.at.M @ r.sensing.at.dq)), "approximated"),
    _out("payload", _D, "mass of the payload [kg]", lambda r: r.arm.load.mass),
    _out("payload_cog", "VECTOR3D", "centre of mass of the payload in the flange [m]",
         lambda r: r.arm.load.com),
    _out("payload_inertia", _V6, "payload inertia: xx yy zz xy xz yz", lambda r: r.arm.load.six),
    _out("target_gravity", "VECTOR3D", "gravity in the base, as set_gravity takes it [m/s^2]",
         lambda r: -r.arm.gravity),
)  # fmt: skip
_STATES = (
    _out("robot_mode", "INT32", "3 power off, 4 power on, 5 idle, 7 running", lambda r: r.mode),
    _out("joint_mode", "VECTOR6INT32", "253 running, 255 idle, 239 power off", _joint_mode),
    _out("safety_mode", "INT32", "1 normal, 3 protective stop, 7 emergency stop",
         lambda r: r.safety),
    _out("safety_status", "INT32", "equal to safety_mode", lambda r: r.safety),
    _out("runtime_state", "UINT32", "1 stopped, 2 playing, 4 paused", lambda r: r.runtime),
    _out("robot_status_bits", "UINT32", "bits: power on, program runs, teach button", _status),
    _out("safety_status_bits", "UINT32", "normal, protective stop, emergency stop", _safety_bits),
    _out("speed_scaling", _D, "speed factor of motions; follows the slider in 0.5 s",
         lambda r: r.scale),
    _out("target_speed_fraction", _D, "position of the speed slider", lambda r: r.signals.slider),
    _out("actual_digital_input_bits", "UINT64", "set by `robot.signals`",
         lambda r: r.signals.digital_in),
    _out("actual_digital_output_bits", "UINT64", "set by clients and programs",
         lambda r: r.signals.digital_out),
    _out("analog_io_types", "UINT32", "bits 2 and 3: an analog output is a voltage",
         lambda r: r.signals.analog_types << 2),
    *(_out(f"standard_analog_input{k}", _D, "set by `robot.signals`", _entry("analog_in", k))
      for k in range(2)),
    *(_out(f"standard_analog_output{k}", _D, "set by clients [V or A]", _entry("analog_out", k))
      for k in range(2)),
    _constant("actual_execution_time", _D, 0.0),
    _constant("target_execution_time", _D, 0.0),
    _constant("joint_temperatures", _V6, 30.0),
    _constant("actual_tool_accelerometer", "VECTOR3D", 0.0),
    _constant("actual_main_voltage", _D, 48.0),
    _constant("actual_robot_voltage", _D, 48.0),
    _constant("actual_robot_current", _D, 0.0),
    _constant("actual_joint_voltage", _V6, 48.0),
    _constant("io_current", _D, 0.0),
    _constant("tool_mode", "UINT32", 253.0, "253"),
    *(_constant(f"tool_analog_input{k}", _D, 0.0) for k in range(2)),
    _out("tool_output_voltage", "INT32", "set by programs [V]", lambda r: r.signals.tool_voltage),
    _constant("tool_output_current", _D, 0.0),
    _constant("tool_temperature", _D, 30.0),
    _constant("tool_analog_input_types", "UINT32", 0.0),
    _constant("elbow_position", "VECTOR3D", 0.0),
    _constant("elbow_velocity", "VECTOR3D", 0.0),
    _constant("script_control_line", "UINT32", 0.0),
)  # fmt: skip


def _bit_registers(side: str) -> list[tuple[str, str, int, int]]:
    """Return name, type, lowest bit and number of bits of each bit register of `in` or `out`."""
    words = [(f"{side}put_bit_registers{k}_to_{k + 31}", "UINT32", k, 32) for k in (0, 32)]
    return words + [(f"{side}put_bit_register_{k}", "BOOL", k, 1) for k in range(64, 128)]


def _registers() -> list[OutputVariable]:
    found = [
        _out(f"{side}put_{kind}_register_{k}", letters, "register", _entry(f"{side}_{kind}", k))
        for side in ("out", "in")
        for kind, letters in (("int", "INT32"), ("double", _D))
        for k in range(modes.NUMBER)
    ]
    return found + [
        _out(name, kind, "register", _bits(f"{side}_bits", low, count))
        for side in ("out", "in")
        for name, kind, low, count in _bit_registers(side)
    ]


#: Variables that the docs list one by one.
LISTED = (*_ARM, *_STATES)
OUTPUTS = {variable.name: variable for variable in (*LISTED, *_registers())}


def _set_int(k: int) -> Callable[[UrRobot, Any], None]:
    def write(r: UrRobot, value: Any) -> None:
        r.signals.in_int[k] = value
        r.signals.written[k] += 1

    return write


def _set_double(k: int) -> Callable[[UrRobot, Any], None]:
    def write(r: UrRobot, value: Any) -> None:
        r.signals.in_double[k] = value

    return write


def _set_bits(low: int, count: int) -> Callable[[UrRobot, Any], None]:
    mask = ((1 << count) - 1) << low

    def write(r: UrRobot, value: Any) -> None:
        r.signals.in_bits = r.signals.in_bits & ~mask | int(value) << low

    return write


#: Lowest bits of digital outputs, which are set where their mask has ones.
MASKED = {
    "standard_digital_output": 0,
    "configurable_digital_output": 8,
    "tool_digital_output": 16,
}


def set_slider(r: UrRobot, mask: int, value: float) -> None:
    """Set the slider of the speed if the mask is 1; ignore a value outside of 0 to 1."""
    if mask == 1 and 0.0 <= value <= 1.0:
        r.signals.slider = value


def set_analog(r: UrRobot, mask: int, types: int, values: tuple[float, float]) -> None:
    """Set the analog outputs of a mask, given as shares of 0 to 10 V or of 4 to 20 mA.

    Bit k of `types` is 1 if output k is a voltage.
    """
    for k in range(2):
        if mask >> k & 1 and 0.0 <= values[k] <= 1.0:
            volts = bool(types >> k & 1)
            r.signals.analog_types = r.signals.analog_types & ~(1 << k) | volts << k
            r.signals.analog_out[k] = 10.0 * values[k] if volts else 4e-3 + 16e-3 * values[k]


def _together(_: UrRobot, __: Any) -> None:
    """Do nothing: apply_inputs writes the value together with its mask."""


def _in(
    name: str, kind: str, meaning: str, write: Callable[[UrRobot, Any], None] = _together
) -> InputVariable:
    return InputVariable(name, kind, meaning, write)


#: Variables that the docs list one by one.
LISTED_INPUTS = (
    _in("speed_slider_mask", "UINT32", "1: speed_slider_fraction is used"),
    _in("speed_slider_fraction", _D, "position of the speed slider, 0 to 1"),
    *(
        _in(f"{name}{end}", "UINT8", meaning)
        for name in MASKED
        for end, meaning in (("_mask", "which outputs are set"), ("", "values of the outputs"))
    ),
    _in("standard_analog_output_mask", "UINT8", "which outputs are set"),
    _in("standard_analog_output_type", "UINT8", "bits that are 1 for a voltage"),
    _in("standard_analog_output_0", _D, "share of the output's range, 0 to 1"),
    _in("standard_analog_output_1", _D, "share of the output's range, 0 to 1"),
    _in(
        "external_force_torque",
        _V6,
        "accepted, but not used",
        lambda r, value: np.copyto(r.signals.wrench, value),
    ),
)


def _input_registers() -> list[InputVariable]:
    numbers = [
        _in(f"input_{name}_register_{k}", kind, "register", write(k))
        for name, kind, write in (("int", "INT32", _set_int), ("double", _D, _set_double))
        for k in range(modes.NUMBER)
    ]
    return numbers + [
        _in(name, kind, "register", _set_bits(low, count))
        for name, kind, low, count in _bit_registers("in")
    ]


INPUTS = {variable.name: variable for variable in (*LISTED_INPUTS, *_input_registers())}


def apply_inputs(r: UrRobot, given: dict[str, Any]) -> None:
    """Write the variables of a package to the robot."""
    for name, value in given.items():
        INPUTS[name].write(r, value)
    if "speed_slider_fraction" in given:
        set_slider(r, given.get("speed_slider_mask", 0), given["speed_slider_fraction"])
    for name, low in MASKED.items():
        if name in given:
            mask, value = given.get(f"{name}_mask", 0) << low, given[name] << low
            r.signals.digital_out = r.signals.digital_out & ~mask | value & mask
    mask = given.get("standard_analog_output_mask", 0)
    types = given.get("standard_analog_output_type", 0)
    values = tuple(given.get(f"standard_analog_output_{k}", -1.0) for k in range(2))
    set_analog(r, mask, types, values)
