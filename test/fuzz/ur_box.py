# SPDX-License-Identifier: Apache-2.0
"""Send changed bytes to the servers of a box of Universal Robots, in any order.

An input is a sequence of pieces. A piece is a byte for its kind, two bytes for its length, and its
content. For every input the box answers or ends the connection, and its torques stay finite.
"""

from __future__ import annotations

import functools
import struct

import numpy as np
from support import reverse_client

from fuzz.boxes import GUIDES, LEAVES, MOVES, STOP, act_outside, moved, piece, pieces, refuses
from rbdyn_ros.control_box.ur import primary
from rbdyn_ros.control_box.ur.arm import NAMES, READY, UrArm
from rbdyn_ros.control_box.ur.commands import COMMANDS, STREAMED
from rbdyn_ros.control_box.ur.dashboard import DashboardSession
from rbdyn_ros.control_box.ur.external_control import ExternalControl
from rbdyn_ros.control_box.ur.programs import start_program
from rbdyn_ros.control_box.ur.reverse import IntegerSession
from rbdyn_ros.control_box.ur.robot import UrRobot
from rbdyn_ros.control_box.ur.rtde import Owners, RtdeSession, packet
from rbdyn_ros.control_box.ur.scripts import ScriptSession
from rbdyn_ros.description.source import read
from rbdyn_ros.loading.load import load_urdf

#: Numbers of the kinds of pieces; another number only lets the box run a cycle.
RTDE, SECOND, DASHBOARD, SCRIPT = range(4)
#: Numbers of the kinds for a client of external_control.urscript: points, commands, messages.
LINES = range(10, 13)
LINK = (
    '<link name="{}"><inertial><origin xyz="0 0.02 0.1"/><mass value="2"/><inertia ixx="0.02" '
    'iyy="0.02" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>'
)
JOINT = (
    '<joint name="{}_joint" type="revolute"><parent link="link{}"/><child link="link{}"/>'
    '<axis xyz="0 {} {}"/><origin xyz="0 0.05 {}"/>'
    '<limit lower="-6.28" upper="6.28" effort="150" velocity="3.15"/></joint>'
)
SCRIPT_TEXT = """\
def rtde_control():
    global reg_offset_int = # int register offset
0
    def exec_move_path():
        movej([0, -1.5, -1.5, -1.5, 1.5, 0.1], a=1, v=1, r=0)
    end
    def process_cmd(cmd):
        if cmd == 1 or cmd == 3 or cmd == 9 or cmd == 11 or cmd == 255:
            sync()
        end
    end
end
"""


@functools.cache
def text() -> str:
    """Return the URDF of an arm with the joints of Universal Robots."""
    links = [LINK.format(f"link{k}") for k in range(7)]
    upright, length = (1, 0, 0, 0, 1, 0), (0.1, 0.1, 0.425, 0.39, 0.1, 0.1)
    joints = [
        JOINT.format(name, k, k + 1, 1 - up, up, z)
        for k, (name, up, z) in enumerate(zip(NAMES, upright, length, strict=True))
    ]
    return f'<robot name="arm">{"".join(links + joints)}</robot>'


@functools.cache
def arm() -> UrArm:
    """Return the arm of the box, which all inputs share."""
    return UrArm(load_urdf(text()), read(text()))


def hello(names: bytes) -> bytes:
    """Return a client's first requests, with a recipe of inputs."""
    outputs = struct.pack(">d", 500.0) + b"timestamp,actual_q,target_q,actual_TCP_force"
    return packet(b"V", b"\0\2") + packet(b"O", outputs) + packet(b"I", names) + packet(b"S", b"")


def command(number: int, scale: float = 0.1) -> bytes:
    """Return a package with a command for a control script; numbers are at most `scale`."""
    numbers = scale * np.sin(np.arange(18.0) + number)
    return packet(b"U", struct.pack(">Bii18d", 1, number, number % 2, *numbers))


def seeds() -> list[bytes]:
    """Return valid inputs with each command, with lines of the dashboard and with programs."""
    names = ["input_int_register_0", "input_int_register_1"]
    names += [f"input_double_register_{k}" for k in range(18)]
    greet = piece(RTDE, hello(",".join(names).encode())) + piece(SCRIPT, SCRIPT_TEXT.encode())
    found = [
        greet + piece(9) + piece(RTDE, command(number)) + piece(9) * 3
        for number in (*STREAMED, *COMMANDS, 255)
    ]
    lines = b"power off\npower on\nbrake release\nstop\nplay\npause\nunlock protective stop\n"
    rows = (
        b"movej([0,0,0,0,0,0], a=1, v=1)\nset_payload(2, [0,0,0.1])\nmovel(p[0.3,0.1,0.4,0,3,0])\n"
    )
    found += [greet + piece(DASHBOARD, lines) + piece(9), piece(SCRIPT, rows) + piece(9) * 4]
    found += [
        greet + piece(RTDE, command(9)) + piece(one, b"\1") + piece(9) for one in (STOP, GUIDES)
    ]
    found += [
        greet + piece(9) + piece(RTDE, command(number, 1e200)) + piece(9) * 3
        for number in (*STREAMED, *COMMANDS)
    ]
    found += [piece(SCRIPT, row) + piece(9) * 3 for row in EXTREME]
    found += [piece(RTDE, packet(b"V", b"\0\2") + one) for one in LARGE]
    return [*found, greet + piece(RTDE, command(11)) + piece(MOVES, bytes(range(1, 13)))]


def calls_back() -> list[bytes]:
    """Return inputs with a program that connects to its client; some have extreme numbers."""
    here, later = piece(SCRIPT, reverse_client.program().encode()) + piece(9), piece(9) * 4
    q, wild = [*READY], [2147.0, -2147.0, 0.0, -1e-6, 3.0, 2000.0]
    points, commands, messages = LINES
    found = [
        here + piece(messages, reverse_client.message(mode, numbers)) + later
        for mode in (*reverse_client.MODES, 99)
        for numbers in (q, wild, [0.1] * 6)
    ]
    found += [
        here + piece(commands, reverse_client.command(name, numbers * 4)) + later
        for name in (*reverse_client.COMMANDS, 77)
        for numbers in ([0.0] * 6, [0.1] * 6, wild)
    ]
    begin = {
        name: piece(messages, reverse_client.action(name, 2)) for name in reverse_client.ACTIONS
    }
    for kind in (*reverse_client.KINDS, 33):
        for target, time, form in ((q, 0.01, 1), (wild, 1.0, 2), (q, 0.0, 7)):
            third = (0.5, 0.5, 1.0, *wild[:3])
            data = reverse_client.point(kind, target, wild, third, time, form)
            begun = here + begin["TRAJECTORY_MODE_RECEIVE"] + piece(points, data * 2)
            found += [begun + later, begun + begin["TRAJECTORY_MODE_CANCEL"] + later]
    stream = begin["TRAJECTORY_MODE_STREAM_START"] + later + begin["TRAJECTORY_MODE_STREAM_END"]
    half = piece(messages, reverse_client.message("SPEEDJ", [0.1] * 6)[:17])
    flood = piece(messages, reverse_client.message("SERVOJ", q) * 300)
    return [*found, here + stream + later, here + half * 2 + later, here + flood + later]


#: Recipes for which an answer or a package would exceed the largest packet.
LARGE = (
    packet(b"O", struct.pack(">d", 500.0) + b"a," * 7000),
    packet(b"I", b"a," * 7000),
    packet(b"O", struct.pack(">d", 500.0) + b"target_q," * 1500) + packet(b"S", b""),
)
#: Scripts with extreme numbers that once ended the box by an error.
EXTREME = (
    b"write_output_integer_register(0, 3000000000)\n",
    b"movej([0,-1.5,-1.5,-1.5,1.5,0.1], a=999, v=1e-323)\n",
    b"set_tcp(p[0,0,0,nan,0,0])\nsleep(1)\n",
    b"set_tcp(p[0,0,0,1e200,0,0])\nsleep(1)\n",
    SCRIPT_TEXT.replace("\n0\n", "\n60\n").encode(),
)


def fuzz_ur_box(data: bytes) -> None:
    """Send one input of clients; the torques of every cycle must be finite."""
    arm().carry(arm().tool)
    arm().set_gravity(np.array([0.0, 0.0, -9.81]))
    robot, owners = UrRobot(arm(), 1e-3, lambda _: None), Owners()
    start = functools.partial(start_program, robot)

    def sessions() -> dict[int, RtdeSession | DashboardSession | ScriptSession]:
        rtde = [RtdeSession(robot, owners, 2e-3, lambda _: None, k == 0) for k in (0, 1)]
        dashboard = DashboardSession(robot)
        return dict(zip(range(4), [*rtde, dashboard, ScriptSession(start)], strict=True))

    open_ones, now = sessions(), moved(READY, b"")
    robot.observe(now)
    for kind, body in pieces(data):
        if kind in open_ones:
            if refuses(open_ones[kind], body):
                open_ones[kind] = sessions()[kind]
        elif kind == LEAVES:
            for one in (*open_ones.values(), *called_back(robot)):
                one.close()
            open_ones = sessions()
        elif kind in LINES and (lines := called_back(robot)):
            lines[kind - LINES[0]].request(body)
        elif kind == MOVES:
            now = moved(READY, body)
        act_outside(robot, kind, body)
        robot.observe(now)
        robot.in_turn, robot.told = bool(len(data) % 2), not robot.told
        assert robot.awaits in (True, False)
        assert robot.runs_free in (True, False)
        torques = robot.act()
        assert np.isfinite(torques.at(now.q, now.dq)).all(), "a torque is not finite"
        primary.state(robot)
        for one in open_ones.values():
            if isinstance(one, RtdeSession):
                one.report()
            one.answers()
        for line in called_back(robot):
            assert len(line.said()) % 4 == 0


def called_back(robot: UrRobot) -> list[IntegerSession]:
    """Return the connections of the program to its client; the list can be empty."""
    program = robot.program
    return [line[2] for line in program.lines] if isinstance(program, ExternalControl) else []
