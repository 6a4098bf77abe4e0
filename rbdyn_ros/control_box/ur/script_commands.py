# SPDX-License-Identifier: Apache-2.0
"""Settings and force mode that a client of external_control.urscript commands besides motions.

COMMANDS is also a table of docs/reference/control_box.md.
"""

from collections.abc import Callable

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control_box.ur.arm import pose_from
from rbdyn_ros.control_box.ur.commands import DAMPINGS, FORCE_GAINS, start_force
from rbdyn_ros.control_box.ur.robot import UrRobot
from rbdyn_ros.control_box.ur.statements import set_payload, set_tool, stop
from rbdyn_ros.errors import exactly

#: Damping and gain of force mode in programs that do not set them; voltages of the tool [V].
DAMPING, GAIN, VOLTAGES = 0.025, 0.5, (0, 12, 24)


def _voltage(r: UrRobot, n: Array) -> None:
    if round(n[0]) not in VOLTAGES:
        raise ValueError(f"a tool voltage of {exactly(n[0])} V; allowed are 0, 12 and 24 V")
    r.signals.tool_voltage = round(n[0])


def _start_force(r: UrRobot, n: Array) -> None:
    damping, gain = (n[25], n[26]) if len(n) > 26 else (DAMPING, GAIN)
    start_force(
        r, pose_from(n[:6]), round(n[18]), n[6:12] == 1.0, n[12:18].copy(), n[19:25],
        float(np.clip(damping, *DAMPINGS)), float(np.clip(gain, *FORCE_GAINS)),
    )  # fmt: skip


def _end_force(r: UrRobot, _: Array) -> None:
    if r.force is not None:
        r.force = None
        if r.motion is None:
            r.begin(stop(10.0, of_tool=True))


def _nothing(_: UrRobot, __: Array) -> None:
    pass


#: For each command: how it is simulated, and the function that is called with its numbers.
COMMANDS: dict[str, tuple[str, Callable[[UrRobot, Array], None]]] = {
    "ZERO_FTSENSOR": ("simulated", lambda r, _: r.sensing.zero()),
    "SET_PAYLOAD": ("simulated", lambda r, n: set_payload(r, n[0], n[1:4])),
    "SET_TARGET_PAYLOAD": (
        "simulated, without a transition time",
        lambda r, n: set_payload(r, n[0], n[1:4], n[4:10]),
    ),
    "SET_TOOL_VOLTAGE": ("simulated: tool_output_voltage", _voltage),
    "SET_GRAVITY": ("simulated", lambda r, n: r.arm.set_gravity(-n[:3])),
    "SET_TCP_OFFSET": ("simulated", lambda r, n: set_tool(r, n[:6])),
    "START_FORCE_MODE": ("approximated: the law is not public", _start_force),
    "END_FORCE_MODE": ("simulated", _end_force),
    "SET_FRICTION_COMPENSATION": ("without effect", _nothing),
    "SET_FRICTION_SCALES": ("without effect", _nothing),
    "FT_RTDE_INPUT_ENABLE": ("without effect", _nothing),
}
