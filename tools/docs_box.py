# SPDX-License-Identifier: Apache-2.0
"""The page of the simulated parts of a control box, from the tables of its packets."""

# ruff: noqa: E501 - a paragraph of a page is one line

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rbdyn_ros.control_box.franka.limits import FR3, PANDA, InterfaceLimits
from rbdyn_ros.control_box.franka.packets import ENTRIES, ERRORS
from rbdyn_ros.control_box.ur.commands import COMMANDS, STREAMED
from rbdyn_ros.control_box.ur.points import KINDS
from rbdyn_ros.control_box.ur.script_commands import COMMANDS as SETTINGS
from rbdyn_ros.control_box.ur.statements import CALLS
from rbdyn_ros.control_box.ur.variables import LISTED, LISTED_INPUTS

HEAD = """\
# Control boxes

What `rbdyn sim --box` and `rb.BoxedArm` simulate of the control boxes of real arms, and what they do not. Guides: [Franka](../guides/control_box.md), [Universal Robots](../guides/ur_box.md). Written by `python tools/docs.py`.

## Franka

The Franka Control Interface, `--box franka`:

| part | |
|---|---|
| robot | TCP 1337, protocol version 10 (libfranka 0.18 and later); another version gets the status of an incompatible library |
| gripper | TCP 1338, version 3: homing, grasp, move, stop, states every 10 ms |
| arms | Panda and FR3, told apart by the limit of joint 4; joints `...joint1` to `...joint7` in one chain on a fixed base |
| real time | measured with a node at real-time priority on two busy cores: states reach a client 0.1 ms late (median), 0.5 to 1.7 ms (99 %); success rate 0.98 over a minute; wake-up lateness of the node 138 to 177 us (99 %), without a box 44 us |
| unmodified clients in the tests | `pylibfranka` 0.21, `franky` 2.0: joint and Cartesian motions, both impedances, stop, gripper |
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


UR = """\
## Universal Robots

The interfaces of an e-Series controller with PolyScope 5.26, `--box ur`:

| part | |
|---|---|
| arms | joints `...shoulder_pan_joint`, `...shoulder_lift_joint`, `...elbow_joint`, `...wrist_1_joint` to `...wrist_3_joint` in one chain on a fixed base; `base` and `tool0` beside them are the frames of the controller |
| RTDE | TCP 30004, versions 1 and 2, at most 500 Hz, 8 clients; each input has one client |
| dashboard | TCP 29999: power, brakes, stop, pause, play of a paused program, protective stop, modes, versions, popup, log; `play` of a program file asks a client at 127.0.0.1 port 50002 for its program, as the URCap External Control does; other files of the controller are not played |
| programs | TCP 30001, 30002, 30003: the control script of ur_rtde, `external_control.urscript`, and rows of the calls below. Another program is refused: its first line is in the log and in a text message of RTDE. A program has at most 1 MiB and 10,000 calls; of calls without a motion 20 act in a cycle |
| limits of numbers | speeds and accelerations of moves 1e-6 to 1000; turns of a pose 1000 rad; gravity 30 m/s^2 an axis; tools 2 m, payloads 50 kg; a packet 65535 bytes |
| pause | speeds fall to zero; in direct torque and freedrive springs hold the arm where the pause began; axes of force mode come to rest |
| states at 30001 and 30002 | the version, then ten a second: robot mode, joints, tool, kinematics and configuration, whose checksums and parameters of Denavit and Hartenberg are zero; the other parts, and states at 30003, are absent. Faults of the wire, but for `link_loss`, do not act on them |
| words at 30001 to 30003 | `power on`, `power off`, `set robotmode run`, `set unlock protective stop`, `stop program` |
| `external_control.urscript` of ur_client_library, ur_robot_driver | of 1.3.4 (2023) to 2.14; see [below](#external_controlurscript) |
| movej, movel | trapezoids of the speed of the leading joint or the tool; blends end in a stop; a joint moves at most as fast as the slowest limit |
| servoj | the desired joints follow q'' = gain (command - (q + lookahead_time q')), the vendor's words as a law |
| speedj, speedl, stopj, stopl | the speed changes by the acceleration |
| force mode | the speed of a compliant axis is proportional to the missing force, with a time constant of 30 ms; types 1 to 3; limits of other axes have no effect |
| direct torque | the box adds gravity; friction is not compensated |
| freedrive | gravity is compensated, with a small drag; springs hold locked axes |
| joints | springs of 100 rad/s with the dynamics fed forward; the payload of the client counts |
| payload | at the start, what hangs behind `tool0` in the robot file; `setPayload` replaces it |
| protective stop | a joint that could not brake at 8 rad/s^2 before its limit, or exceeds its speed; 150 N at the tool; 0.1 rad between a joint and where it should be; a torque that is not finite, with the torque of gravity instead. The program ends; it is unlocked after 5 s |
| emergency stop | service `~/user_stop`: the power is off after it |
| a client that leaves | its program goes on, as the vendor's does, unless its watchdog stops it |
| rotors | joints without a rotor inertia in the robot file get 0.1 kg m^2 (MuJoCo Menagerie) |
| absent | safety planes, reduced mode, tool communication, Modbus, PROFINET, EtherNet/IP, PolyScope X, interpolated URScript |

xArm is not simulated.
"""


EXTERNAL = """\
## external_control.urscript

The program of `ur_client_library` and `ur_robot_driver`. The box recognises it by its sockets and
names, and reads ports, numbers, message lengths and the gains of servoj from its text, so they can
differ between versions. From a loopback address it calls only loopback addresses back; from
another one it calls any address that the program names, so let only machines that you trust reach
it.

| part | |
|---|---|
| connections | to the trajectory, script command and reverse interface, in this order; refused ones are tried for 2 s, then the program ends |
| trust | modes that the program has and the box does not support end the program by name; numbers that no mode has let the arm rest |
| timeout of a message | ends the program, and the arm brakes at 4 rad/s^2; so does a closed reverse interface |
| change of the mode | the arm brakes at 4 rad/s^2 first |
| SERVOJ, POSE | simulated: servoj with the gain and lookahead of the program; in a step without a command the goal goes on with the desired speed; a command that needs more than 20 rad/s is ignored |
| SPEEDJ, SPEEDL | simulated, 40 rad/s^2 and m/s^2 |
| TORQUE | simulated, clipped at the efforts of the robot file; friction is not compensated |
| FREEDRIVE | approximated: the law is not public |
| FORWARD | simulated: trajectories with a number of points, endless ones, cancel, results; a point must come within 0.5 s at rest, and 4 ms in a motion; points that a cancelled or failed trajectory leaves are dropped before the next one |
| splines of third and fifth degree | simulated on the polynomial; a fast end slows down at 15 rad/s^2 |
| times of points | a third of the time for each ramp; the vendor's share is not public |
| tool contact | approximated: 10 N against the motion; the tool stops, goes back to where the contact began, and the client gets the result |
| a program of the dashboard's `play` | simulated: `request_program` at port 50002 |
| tool communication | absent |
"""


def _external() -> list[str]:
    points = [(f"`{name}`", how) for name, (how, _) in KINDS.items()]
    settings = [(f"`{name}`", how) for name, (how, _) in SETTINGS.items()]
    return [
        EXTERNAL,
        _table("| point of a trajectory | |", points),
        _table("| script command | |", settings),
    ]


def _table(head: str, rows: Iterable[Sequence[str]]) -> str:
    columns = head.count("|") - 1
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([head, "|" + "---|" * columns, *lines])


def _ur() -> list[str]:
    outputs = [(f"`{v.name}`", v.type, v.fidelity, v.meaning) for v in LISTED]
    inputs = [(f"`{v.name}`", v.type, v.meaning) for v in LISTED_INPUTS]
    commands = {k: (name, "no") for k, (name, _) in STREAMED.items()}
    commands |= {k: (name, "yes") for k, (name, _) in COMMANDS.items()}
    numbers = [(str(k), *commands[k]) for k in sorted(commands)]
    return [
        UR,
        "## RTDE outputs",
        (
            "All registers can be read as well, those of inputs too. Other names are answered by "
            "NOT_FOUND."
        ),
        _table("| variable | type | | meaning |", outputs),
        "## RTDE inputs",
        (
            "The registers 0 to 47 of integers and doubles, and 128 bits, can be written as well. A "
            "package with a number that is not finite is ignored."
        ),
        _table("| variable | type | meaning |", inputs),
        "## Commands of ur_rtde",
        _table("| number | command | the client waits |", numbers),
        *_external(),
        "## Calls of URScript",
        "In a program of one line, or in a row of lines between `def name():` and `end`, with numbers as arguments: "
        + ", ".join(f"`{name}`" for name in CALLS)
        + ".",
    ]


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
        *_ur(),
    ]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"
