"""Every parameter of the simulator: one table, and how it becomes checked values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from rcl_interfaces.msg import ParameterDescriptor
from rclpy.node import Node

from rbdyn_ros.errors import Finding, ParameterError, did_you_mean
from rbdyn_ros.model.options import INTEGRATORS
from rbdyn_ros.runtime.loop import ON_TIMEOUT
from rbdyn_ros.runtime.realtime import MODES

PARTIAL = ("keep", "zero", "reject")
#: Prefix of the parameters that hold an initial position each.
INITIAL = "initial_positions."


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter; all are read when the node starts and read-only from then on.

    Attributes:
        default: also gives the type.
        doc: one sentence.
        unit: of a number.
        low, high: range of a number.
        choices: of a text.
    """

    name: str
    default: Any
    doc: str
    unit: str = ""
    low: float = -math.inf
    high: float = math.inf
    choices: tuple[str, ...] = ()

    @property
    def allowed(self) -> str:
        """What a value may be, in words."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        if isinstance(self.default, bool):
            return "true or false"
        if isinstance(self.default, list):
            return f"{len(self.default)} finite numbers"
        if isinstance(self.default, float):
            return f"a number from {self.low:g} to {self.high:g}"
        return "a text"

    def checked(self, value: object) -> Any:
        """Return the value in the type of the default.

        Raises:
            ParameterError: it is of another type or out of range.
        """
        accepted = self._converted(value)
        if accepted is None:
            unit = f" [{self.unit}]" if self.unit else ""
            text = f"parameter '{self.name}' is {value!r}; allowed is {self.allowed}{unit}."
            finding = Finding(
                "parameter", text, "error", self.name, None, repr(value), self.allowed
            )
            raise ParameterError(finding)
        return accepted

    def _converted(self, value: object) -> Any:
        if isinstance(self.default, bool):
            return value if isinstance(value, bool) else None
        if isinstance(self.default, str):
            fits = isinstance(value, str) and (not self.choices or value in self.choices)
            return value if fits else None
        if isinstance(self.default, list):
            try:
                numbers = [float(number) for number in value]  # type: ignore[attr-defined]
            except (TypeError, ValueError):
                return None
            fits = len(numbers) == len(self.default) and all(map(math.isfinite, numbers))
            return numbers if fits else None
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return float(value) if self.low <= value <= self.high else None


PARAMETERS = (
    Parameter("urdf", "", "path of a .urdf, .xacro or mechanism .yaml file"),
    Parameter("robot_description", "", "text of a URDF; used if urdf is empty"),
    Parameter("strict", True, "refuse a robot with flaws that could be repaired, see rbdyn check"),
    Parameter("floating_base", False, "let the root link move freely"),
    Parameter("contact", False, "let links touch a floor at z = 0, by their <collision>"),
    Parameter("world_frame", "world", "frame the root link stands in; empty: none in TF"),
    Parameter("frame_prefix", "", "put before the name of every link in TF"),
    Parameter("timestep", 0.001, "of the simulation, and period of the loop", "s", 1e-4, 0.1),
    Parameter("gravity", [0.0, 0.0, -9.81], "gravitational acceleration in the world", "m/s^2"),
    Parameter("integrator", "implicit_damping", "how time advances", choices=INTEGRATORS),
    Parameter("start_paused", False, "begin paused; the service ~/pause starts time"),
    Parameter("command_timeout", 0.1, "age at which a command is given up", "s", 1e-3, 1e6),
    Parameter("on_timeout", "zero", "what drives a joint then, see Commands", choices=ON_TIMEOUT),
    Parameter(
        "partial_commands",
        "keep",
        "joints that a command in joint_commands does not name: keep their last command, "
        "get zero, or reject the message",
        choices=PARTIAL,
    ),
    Parameter("publish_rate", 1000.0, "of joint_states, at most one a timestep", "Hz", 0.1, 1e4),
    Parameter("tf_rate", 50.0, "of /tf, at most one a timestep", "Hz", 0.1, 1e4),
    Parameter("clock_rate", 100.0, "of /clock, at most one a timestep", "Hz", 0.1, 1e4),
    Parameter("publish_tf", True, "publish /tf and /tf_static"),
    Parameter(
        "publish_clock",
        True,
        "publish /clock; otherwise stamps count from the ROS time at the start",
    ),
    Parameter(
        "realtime",
        "try",
        "SCHED_FIFO and locked memory: demand them, try to get them, or do not ask",
        choices=MODES,
    ),
)


def declare(node: Node) -> SimpleNamespace:
    """Declare every parameter and return the checked values by name.

    Raises:
        ParameterError: with every value that is not allowed.
    """
    values: dict[str, Any] = {}
    findings: list[Finding] = []
    for parameter in PARAMETERS:
        found = _declare_one(node, parameter)
        try:
            values[parameter.name] = parameter.checked(found)
        except ParameterError as error:
            findings += error.findings
    if findings:
        raise ParameterError(findings)
    return SimpleNamespace(**values)


def _declare_one(node: Node, parameter: Parameter) -> Any:
    unit = f" [{parameter.unit}]" if parameter.unit else ""
    descriptor = ParameterDescriptor(
        description=f"{parameter.doc}{unit}",
        additional_constraints=parameter.allowed,
        read_only=True,
        dynamic_typing=True,  # so that 1 is taken for 1.0, and a wrong type gets our sentence
    )
    return node.declare_parameter(parameter.name, parameter.default, descriptor).value


def overrides(node: Node) -> Mapping[str, Any]:
    """Return what the command line, files and the caller set, by name.

    rclpy tells nobody what was set but not declared, so this looks into the node.
    """
    given = getattr(node, "_parameter_overrides", {})
    return {name: parameter.value for name, parameter in given.items()}


def unknown(node: Node) -> list[str]:
    """Return a sentence for each parameter that was set and that nothing declared."""
    known = [parameter.name for parameter in PARAMETERS]
    return [
        f"there is no parameter '{name}'{did_you_mean(name, known)}; it is ignored"
        for name in overrides(node)
        if not node.has_parameter(name) and not name.startswith(("qos_overrides.", INITIAL))
    ]
