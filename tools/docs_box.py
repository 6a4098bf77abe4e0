# SPDX-License-Identifier: Apache-2.0
"""The page of what a control box simulates, from the tables of its packets."""

# ruff: noqa: E501 - a paragraph of a page is one line

from __future__ import annotations

from rbdyn_ros.control_box.franka.limits import FR3, PANDA, InterfaceLimits
from rbdyn_ros.control_box.franka.packets import ENTRIES, ERRORS

HEAD = """\
# Control box of Franka's arms

What `rbdyn sim --box franka` and `rb.BoxedArm` simulate of the Franka Control Interface, and what they do not. [Test your libfranka program](../guides/control_box.md) shows how to use them. Written by `python tools/docs.py`.

| part | |
|---|---|
| robot | TCP 1337, protocol version 10 (libfranka 0.18 and later); another version gets the status of an incompatible library |
| gripper | TCP 1338, version 3: homing, grasp, move, stop, states every 10 ms |
| arms | Panda and FR3, told apart by the limit of joint 4; joints `...joint1` to `...joint7` in one chain on a fixed base |
| requests | all twelve of version 10 |
| motions | torques; joint positions and velocities, poses and twists of the end effector with elbow, each with both internal controllers or external torques; asynchronous joint goals with the internal controllers |
| a Move while the arm brakes | begins when it rests |
| deviations of a Move | from the path: end effector and elbow, with the internal controllers; goal deviations have no effect |
| measured speeds | joints and the translation of the end effector are limited; rotations are limited as commanded |
| loads, frames | at most 50 kg and 2 m from the flange |
| bodies beside links 1 to 6 | count as parts of their link, in their pose of the robot file |
| lost commands | torques stay, motions keep their acceleration; after 20 cycles the motion ends |
| a late command | counts in the cycle in which it comes |
| rotors | joints without a rotor inertia in the robot file get 0.1 kg m^2 (MuJoCo Menagerie) |
| absent | vacuum gripper, virtual walls, safety functions, Desk, self-collision avoidance; friction and elasticity of the joints, unless the robot file has friction |

The momentum observer has a time constant of 10 ms. Damping ratio of the internal controllers: 0.7. Both are not public for the real arm.
"""


def _limits(limits: InterfaceLimits) -> str:
    rows = {
        "velocity of joints [rad/s]": limits.velocity,
        "acceleration of joints [rad/s^2]": limits.acceleration,
        "jerk of joints [rad/s^3]": limits.jerk,
        "rate of torques [N m/s]": limits.torque_rate,
        "translation: speed, acceleration, jerk [m]": limits.translation,
        "rotation: speed, acceleration, jerk [rad]": limits.rotation,
        "elbow: speed, acceleration, jerk [rad]": limits.elbow,
    }
    lines = [
        f"| {name} | {' '.join(f'{x:g}' for x in numbers)} |" for name, numbers in rows.items()
    ]
    return "\n".join([f"| {limits.name} | limits |", "|---|---|", *lines])


def box_page() -> str:
    """Return the page."""
    fields = [f"| `{e.name}` | {e.fidelity} | {e.meaning} |" for e in ENTRIES]
    errors = [f"| `{name}` | {'yes' if on else 'no'} |" for name, on in ERRORS.items()]
    parts = [
        HEAD,
        "## RobotState",
        "\n".join(["| field | | meaning |", "|---|---|---|", *fields]),
        "## Errors",
        "\n".join(["| error | raised |", "|---|---|", *errors]),
        "## InterfaceLimits",
        "From the vendor's [specifications](https://frankarobotics.github.io/docs/control_parameters.html). Positions, and efforts, are limited by the robot file.",
        _limits(PANDA),
        _limits(FR3),
    ]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"
