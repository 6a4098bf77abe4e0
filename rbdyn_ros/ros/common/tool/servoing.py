# SPDX-License-Identifier: Apache-2.0
"""Messages with twists of a tool, the parameters of its motion, and its status."""

from dataclasses import fields
from types import SimpleNamespace
from typing import Any

import numpy as np
from rclpy.node import Node
from std_msgs.msg import String

from rbdyn_ros.arrays import Array
from rbdyn_ros.control.motion.servoing import PARTS, JointRates, ServoSettings, reason_text
from rbdyn_ros.errors import bad_argument, exactly, refusal
from rbdyn_ros.ros.common.graph.qos import LATCHED
from rbdyn_ros.ros.common.settings.parameters import Parameter, group

TOPIC, STATUS = "~/twist", "~/servo_status"
#: Text on `~/servo_status` while the tool rests.
HOLDING = "holding"
#: The largest number of a twist [m/s, rad/s].
LARGEST = 1e6

_DEFAULT = ServoSettings("")

PARAMETERS = group(
    "servo",
    Parameter("servo.frame", "", "link of the tool that follows the twists on ~/twist; empty: "
        "the simulator refuses twists, and the arm controller moves cartesian_path.frame"),
    Parameter("servo.timeout", _DEFAULT.timeout, "age of a twist at which the tool stops", "s",
        0.01, 1.0),
    Parameter("servo.max_linear", _DEFAULT.max_linear,
        "largest speed of the tool; a faster twist is scaled", "m/s", 1e-3, 10.0),
    Parameter("servo.max_angular", _DEFAULT.max_angular, "largest speed at which the tool turns",
        "rad/s", 1e-3, 30.0),
    Parameter("servo.acceleration", _DEFAULT.acceleration,
        "acceleration of joints without an acceleration limit", "rad/s^2 or m/s^2", 1e-2, 1e3),
    Parameter("servo.lower_singularity_threshold", _DEFAULT.lower_singularity_threshold,
        "condition number of the Jacobian above which the approach to a singular posture is "
        "slower", "", 1.0, 1e6),
    Parameter("servo.hard_stop_singularity_threshold", _DEFAULT.hard_stop_singularity_threshold,
        "condition number at which the approach ends", "", 1.0, 1e7),
    Parameter("servo.joint_limit_margin", _DEFAULT.joint_limit_margin, "distance from the limits "
        "of the joints that is kept, at most a quarter of a range", "rad or m", 0.0, 3.0),
    Parameter("servo.drift_dimensions", (),
        f"parts of a twist that need not be followed: {', '.join(PARTS)}"),
    Parameter("servo.marker", False, "serve an interactive marker of the tool for RViz, which the "
        "tool follows while it is dragged"),
)  # fmt: skip


def servo_settings(values: SimpleNamespace, frame: str) -> ServoSettings | None:
    """Return the settings from the parameters for the tool link `frame`; None if it is empty.

    Raises:
        ParameterError: a value is not allowed, or a marker is requested without a link.
    """
    names = (field.name for field in fields(ServoSettings) if field.name != "frame")
    given = {name: getattr(values, f"servo.{name}") for name in names} | {"frame": frame}
    settings = ServoSettings(**given | {"drift_dimensions": tuple(given["drift_dimensions"])})
    if frame:
        return settings
    if getattr(values, "servo.marker"):
        text = "servo.marker needs servo.frame, the link of the tool that shall follow the marker"
        raise bad_argument("servo.marker", text)
    return None


def servo_twist(message: Any) -> Array:
    """Return the twist of a TwistStamped (6,): angular [rad/s], then linear [m/s].

    Raises: RbdynError: a number is not finite, or larger than LARGEST.
    """
    numbers = []
    for part in ("angular", "linear"):
        for axis in "xyz":
            value = getattr(getattr(message.twist, part), axis)
            if not abs(value) <= LARGEST:  # this also finds NaN
                allowed = f"allowed is a number from {-LARGEST:g} to {LARGEST:g}"
                raise refusal(f"{part}.{axis} is {exactly(value)}; {allowed}")
            numbers.append(value)
    return np.array(numbers)


class ServoStatus:
    """Publishes the status of a tool that follows twists, and logs why it moves slower than asked.

    Args:
        node: node that publishes and logs.
        names: names of the joints.
    """

    def __init__(self, node: Node, names: tuple[str, ...]) -> None:
        self._node, self._names, self._last = node, names, HOLDING
        self._publisher = node.create_publisher(String, STATUS, LATCHED)
        self._publisher.publish(String(data=HOLDING))

    def moves(self, rates: JointRates) -> None:
        """Publish that the tool moves with these joint rates, or why it is slowed."""
        reason = reason_text(rates, self._names)
        text = (
            "moving" if not reason else f"{'slowed' if rates.scale > 0.0 else 'halted'}: {reason}"
        )
        if text != self._last and reason:
            share = f"{rates.scale:.0%} of the twist is left"
            self._node.get_logger().warning(f"{reason}; {share}", throttle_duration_sec=1.0)
        self._say(text)

    def halts(self, why: str) -> None:
        """Publish that the tool stops although twists arrive, and why."""
        self._say(f"halted: {why}")

    def holds(self) -> None:
        """Publish that the tool rests."""
        self._say(HOLDING)

    def _say(self, text: str) -> None:
        if text != self._last:
            self._last = text
            self._publisher.publish(String(data=text))
