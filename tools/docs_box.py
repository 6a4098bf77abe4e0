# SPDX-License-Identifier: Apache-2.0
"""Generate the page of the simulated parts of control boxes from the tables of their packets."""

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

This page lists which parts of real arms' control boxes `rbdyn sim --box` and `rb.BoxedArm` simulate, and which parts are missing. There are guides for [Franka](../guides/control_box.md) and [Universal Robots](../guides/ur_box.md). `python tools/docs.py` writes this page.

## Franka

`--box franka` simulates the Franka Control Interface:

| part | how it is simulated |
|---|---|
| robot | TCP 1337, protocol version 10 (libfranka 0.18 and later); a client with another version gets the status of an incompatible library |
| gripper | TCP 1338, version 3: homing, grasp, move, stop, and states every 10 ms |
| arms | Panda and FR3, distinguished by the limit of joint 4; joints `...joint1` to `...joint7` in one chain on a fixed base |
| accuracy in real time | measured with a node at real-time priority on two busy cores: states reach a client 0.1 ms late (median), 0.5 to 1.7 ms (99 %); success rate 0.98 over a minute; the node wakes up 138 to 177 us late (99 %), without a box 44 us |
| unmodified clients in the tests | `pylibfranka` 0.21, `franky` 2.0: joint and Cartesian motions, both impedances, stop, gripper |
| requests | all twelve requests of version 10 |
| motions | torques; joint positions and velocities, poses and twists of the end effector with elbow, each with either internal controller or with torques of the client; asynchronous joint goals with the internal controllers |
| a Move while the arm brakes | begins when the arm rests |
| allowed deviations of a Move | path deviations limit end effector and elbow under the internal controllers; goal deviations have no effect |
| measured speeds | speeds of joints and of the end effector's translation are limited; for rotations only the commanded speed is limited |
| loads, frames | at most 50 kg and 2 m from the flange |
| bodies attached to links 1 to 6 | count as parts of the link, in the pose that the robot file gives them |
| lost commands | torques stay and motions keep their acceleration; after 20 lost cycles the motion ends |
| a late command | acts in the cycle in which it arrives |
| rotors | joints without a rotor inertia in the robot file get 0.1 kg m^2 (MuJoCo Menagerie) |
| absent | vacuum gripper, virtual walls, safety functions, Desk, self-collision avoidance; elasticity of the joints, and their friction unless the robot file gives it |

The momentum observer has a time constant of 10 ms, and the internal controllers have a damping ratio of 0.7; the real values are not public.
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

`--box ur` simulates the interfaces of an e-Series controller with PolyScope 5.26:

| part | how it is simulated |
|---|---|
| arms | joints `...shoulder_pan_joint`, `...shoulder_lift_joint`, `...elbow_joint`, `...wrist_1_joint` to `...wrist_3_joint` in one chain on a fixed base; the links `base` and `tool0` are the controller's frames |
| RTDE | TCP 30004, versions 1 and 2, at most 500 Hz, 8 clients; only one client may set an input |
| dashboard | TCP 29999: power, brakes, stop, pause, play of a paused program, protective stop, modes, versions, popup, log. `play` of a program file asks a client at 127.0.0.1 port 50002 for its program, as the URCap External Control does; program files themselves are not run |
| programs | TCP 30001, 30002, 30003: the control script of ur_rtde, `external_control.urscript`, and sequences of the calls below. Any other program is refused: the log and a text message of RTDE show its first line. A program has at most 1 MiB and 10,000 calls; in each cycle, at most 20 calls without a motion are executed |
| limits of numbers | speeds and accelerations of moves 1e-6 to 1000; rotation of a pose 1000 rad; gravity 30 m/s^2 in each axis; tools 2 m; payloads 50 kg; packets 65535 bytes |
| pause | speeds fall to zero; in direct torque and freedrive springs hold the arm where the pause began; the compliant axes of force mode come to rest |
| states at 30001 and 30002 | the version, then ten states a second: robot mode, joints, tool, kinematics and configuration, with checksums and Denavit-Hartenberg parameters of zero; other parts, and states at 30003, are absent. Of the faults of the connection only `link_loss` acts on them |
| words at 30001 to 30003 | `power on`, `power off`, `set robotmode run`, `set unlock protective stop`, `stop program` |
| `external_control.urscript` of ur_client_library, ur_robot_driver | versions 1.3.4 (2023) to 2.14; see [below](#external_controlurscript) |
| movej, movel | the speed of the leading joint or the tool has a trapezoidal profile; blends end in a stop; a joint moves at most as fast as the slowest limit |
| servoj | the desired joints follow q'' = gain (command - (q + lookahead_time q')), our reading of the vendor's description |
| speedj, speedl, stopj, stopl | the speed changes at the given acceleration |
| force mode | the speed of a compliant axis is proportional to the missing force, with a time constant of 30 ms; types 1 to 3; limits of other axes have no effect |
| direct torque | the box adds gravity; friction is not compensated |
| freedrive | gravity is compensated, with a small drag; springs hold locked axes |
| control of the joints | springs of 100 rad/s with feedforward of the dynamics, including the client's payload |
| payload | at the start, all links beyond `tool0` in the robot file; `setPayload` replaces it |
| protective stop | if a joint could not brake at 8 rad/s^2 before its limit, exceeds its speed or is 0.1 rad off its desired position; if the force on the tool exceeds 150 N; if a torque is not finite (gravity's torque replaces it). The program ends; the stop can be unlocked after 5 s |
| emergency stop | by the service `~/user_stop`; it switches the power off |
| a client that disconnects | its program goes on, as on the real controller, unless its watchdog stops it |
| rotors | joints without a rotor inertia in the robot file get 0.1 kg m^2 (MuJoCo Menagerie) |
| absent | safety planes, reduced mode, tool communication, Modbus, PROFINET, EtherNet/IP, PolyScope X, interpolated URScript |

xArm is not simulated.
"""


EXTERNAL = """\
## external_control.urscript

This is the program of `ur_client_library` and `ur_robot_driver`. The box recognises it by its
sockets and names, and reads ports, numbers, message lengths and the gains of servoj from its text,
so they can differ between versions. If the client is at a loopback address, the box connects back
only to loopback addresses; otherwise it connects to any address that the program names, so let
only machines that you trust reach the box.

| part | how it is simulated |
|---|---|
| connections | to the trajectory, script command and reverse interface, in this order; a refused connection is tried again for 2 s, then the program ends |
| unknown modes | a mode of the program that the box does not support ends the program with a message; if a number is not a mode, the arm rests |
| timeout of a message, or a closed reverse interface | ends the program, and the arm brakes at 4 rad/s^2 |
| change of the mode | the arm brakes at 4 rad/s^2 first |
| SERVOJ, POSE | simulated: servoj with the gain and lookahead of the program; in a step without a command the goal moves on at the desired speed; a command that needs more than 20 rad/s is ignored |
| SPEEDJ, SPEEDL | simulated, with 40 rad/s^2 or m/s^2 |
| TORQUE | simulated, clipped at the efforts of the robot file; friction is not compensated |
| FREEDRIVE | approximated: the law is not public |
| FORWARD | simulated: trajectories of given or unlimited length, cancel, results; the next point must arrive within 0.5 s while the arm rests, and within 4 ms while it moves; the remaining points of a cancelled or failed trajectory are dropped before the next trajectory |
| splines of third and fifth degree | simulated: the arm follows the polynomial; a fast end slows down at 15 rad/s^2 |
| points with times | each ramp takes a third of the time; the vendor's share is not public |
| tool contact | approximated: 10 N against the motion; the tool stops, returns to where the contact began, and the client gets the result |
| a program of the dashboard's `play` | simulated: `request_program` at port 50002 |
| tool communication | absent |
"""


def _external() -> list[str]:
    points = [(f"`{name}`", how) for name, (how, _) in KINDS.items()]
    settings = [(f"`{name}`", how) for name, (how, _) in SETTINGS.items()]
    return [
        EXTERNAL,
        _table("| point of a trajectory | how it is simulated |", points),
        _table("| script command | how it is simulated |", settings),
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
            "Clients can also read all registers, including input registers. The answer to any "
            "other name is NOT_FOUND."
        ),
        _table("| variable | type | fidelity | meaning |", outputs),
        "## RTDE inputs",
        (
            "Clients can also write the integer and double registers 0 to 47, and 128 bits. The box "
            "ignores a package with a number that is not finite."
        ),
        _table("| variable | type | meaning |", inputs),
        "## Commands of ur_rtde",
        _table("| number | command | the client waits |", numbers),
        *_external(),
        "## Calls of URScript",
        "A program of one line, or of lines between `def name():` and `end`, can call these "
        "functions, with numbers as arguments: " + ", ".join(f"`{name}`" for name in CALLS) + ".",
    ]


def box_page() -> str:
    """Return the page of control boxes as Markdown."""
    fields = [f"| `{e.name}` | {e.fidelity} | {e.meaning} |" for e in ENTRIES]
    errors = [f"| `{name}` | {'yes' if on else 'no'} |" for name, on in ERRORS.items()]
    parts = [
        HEAD,
        "## RobotState",
        "\n".join(["| field | fidelity | meaning |", "|---|---|---|", *fields]),
        "## Errors",
        "\n".join(["| error | raised |", "|---|---|", *errors]),
        "## InterfaceLimits",
        "These are the vendor's [specifications](https://frankarobotics.github.io/docs/control_parameters.html). The robot file limits positions and efforts.",
        _limits(PANDA),
        _limits(FR3),
        *_ur(),
    ]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"
