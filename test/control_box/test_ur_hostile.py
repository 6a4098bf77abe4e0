# SPDX-License-Identifier: Apache-2.0
"""Whatever a client sends, a box of Universal Robots goes on, with finite torques."""

import functools
import select
import socket
import struct

import numpy as np
import pytest
from test_ur_servers import CONTROL, DT, Bench, ask, measured, outputs, packet

from rbdyn_ros.control_box.paths import Stream
from rbdyn_ros.control_box.sockets import Hub
from rbdyn_ros.control_box.ur.arm import READY
from rbdyn_ros.control_box.ur.commands import COMMANDS
from rbdyn_ros.control_box.ur.compliance import ClientTorque, ForceMode, Freedrive
from rbdyn_ros.control_box.ur.dashboard import DashboardSession
from rbdyn_ros.control_box.ur.modes import RobotMode, SafetyMode
from rbdyn_ros.control_box.ur.moves import JointMove, Profile, SpeedJoints
from rbdyn_ros.control_box.ur.programs import start_program
from rbdyn_ros.control_box.ur.robot import MOST_MESSAGES, SENTENCES, STIFF
from rbdyn_ros.control_box.ur.scripts import LARGEST_PROGRAM, ProgramCutter
from rbdyn_ros.control_box.ur.statements import CALLS


@pytest.fixture
def bench(text):
    return Bench(text)


# RTDE


@pytest.mark.parametrize("letter", ["O", "I"])
def test_an_answer_larger_than_a_packet_ends_the_connection(bench, letter):
    client = bench.client()
    # the answer NOT_FOUND has more letters than the name of the variable
    body = struct.pack(">d", 500.0) + b"a," * 7000
    with pytest.raises(ValueError, match="does not fit in a packet of 65535"):
        client.request(packet("V", b"\0\2") + packet(letter, body))


@pytest.mark.parametrize(("count", "right"), [(1365, True), (1366, False)])
def test_a_recipe_larger_than_a_packet_is_refused(bench, count, right):
    client = bench.client()
    ask(client, "V", b"\0\2")
    asked = packet("O", outputs(*["target_q"] * count))
    if not right:
        with pytest.raises(ValueError, match="a package of 65568 bytes does not fit"):
            client.request(asked)
        return
    client.request(asked + packet("S"))
    client.answers()
    assert len(client.report()) == 4 + 48 * count  # at most 65535 bytes


FAILURES = {"request": ZeroDivisionError("a request"), "report": struct.error("a report")}


class Failing:
    """A session whose methods raise exceptions that no code expects."""

    is_full = False

    def request(self, _data):
        raise FAILURES["request"]

    def report(self):
        raise FAILURES["report"]

    def close(self):
        self.closed = True


@pytest.mark.parametrize("fails", ["request", "report"])
def test_any_exception_in_a_session_ends_only_its_connection(fails):
    said = []
    hub = Hub(Failing, "RTDE", "127.0.0.1", 0, said.append)
    client = socket.create_connection(hub.sockets[0].getsockname())
    try:
        select.select(hub.sockets, [], [], 10.0)
        hub.receive()
        (peer,) = hub.peers
        if fails == "request":
            hub.pass_on(peer, b"x")
        else:
            assert hub.told(peer, Failing.report) == b""
        assert not hub.connected
        assert peer.session.closed
        assert f"its session failed: {FAILURES[fails]!r}" in said[-1]
    finally:
        client.close()
        hub.close()


# programs


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("write_output_integer_register(0, 3000000000)", "does not hold 3e+09"),
        ("movej([0,-1.5,-1.5,-1.5,1.5,0.1], a=999, v=1e-323)", "allowed are 1e-06 to 1000"),
        ("movel(p[0.4,0.1,0.4,0,3,0], a=1e-323)", "allowed are 1e-06 to 1000"),
    ],
)
def test_a_number_out_of_range_ends_only_the_program(bench, line, reason):
    start_program(bench.robot, line)
    bench.until_rest()
    assert bench.robot.program is None
    assert reason in bench.said[-1]


@pytest.mark.parametrize(
    "pose",
    ["nan,0,0,0,0,0", "0,0,0,nan,0,0", "0,0,0,1e200,0,0", "0,0,0,0,0,inf", "0,0,0,0,1001,0"],
)
@pytest.mark.parametrize("call", ["set_tcp", "movel", "movej"])
def test_an_invalid_pose_is_refused(bench, call, pose):
    start_program(bench.robot, f"{call}(p[{pose}])")
    bench.until_rest()
    assert bench.robot.F_T.tolist() == np.eye(4).tolist()
    assert bench.robot.safety == SafetyMode.NORMAL
    assert "finite" in bench.said[-1] or "is not a pose" in bench.said[-1]


def commanded(bench, number, *numbers, integer=0):
    """Start a control script, and let it execute command `number` with arguments `numbers`."""
    start_program(bench.robot, CONTROL.format(offset=0, path=""))
    bench.cycle()
    commands(bench, number, *numbers, integer=integer)


def commands(bench, number, *numbers, integer=0):
    """Let the running control script execute command `number` with arguments `numbers`."""
    signals = bench.robot.signals
    signals.in_double[: len(numbers)], signals.in_int[:2] = numbers, (number, integer)
    signals.written[0] += 1
    bench.cycle()


@pytest.mark.parametrize("gravity", [(1e308, 1e308, 1e308), (1e5, 0.0, 0.0), (0.0, 0.0, 30.1)])
def test_a_gravity_above_the_bound_is_refused(bench, gravity):
    before = bench.robot.arm.gravity
    commanded(bench, 59, *gravity)
    assert bench.robot.program is None
    assert "allowed are 30 per axis" in bench.said[-1]
    assert (bench.robot.arm.gravity == before).all()


@pytest.mark.parametrize("number", [29, 52, 6, 2, 3])  # numbers of commands with a pose
def test_an_extremely_large_rotation_is_refused(bench, number):
    commanded(bench, number, 0.0, 0.0, 0.0, 1e200, 0.0, 0.0, 0.5, 0.5)
    assert "is not a pose" in bench.said[-1]
    bench.until_rest()
    assert np.isfinite(bench.robot.tau).all()
    assert bench.robot.safety == SafetyMode.NORMAL


def test_a_torque_that_is_not_finite_causes_a_protective_stop(bench):
    robot, motion = bench.robot, ClientTorque()
    motion.take(np.full(6, np.nan), 2e-3)
    robot.begin(motion)
    torques = robot.act()
    assert robot.safety == SafetyMode.PROTECTIVE_STOP
    assert "a torque is not finite" in bench.said[-1]
    q, dq = robot.sensing.at.q, robot.sensing.at.dq
    assert (torques.at(q, dq) == robot.sensing.gravity).all()
    assert (robot.tau == robot.sensing.gravity).all()
    bench.until_rest()
    assert robot.joints.x == pytest.approx(READY)


@pytest.mark.parametrize("offset", [1, 23, 25, 60, 10**30])
def test_a_register_offset_other_than_0_and_24_is_refused(bench, offset):
    start_program(bench.robot, CONTROL.format(offset=f"{offset}\n", path=""))
    assert bench.robot.program is None
    assert f"its registers begin at {offset}; allowed are 0 and 24" in bench.said[-1]


@pytest.mark.parametrize("program", ["sync()", CONTROL.format(offset=0, path="")])
def test_any_exception_in_a_program_ends_the_program(bench, program, monkeypatch):
    def fail(*_):
        raise ZeroDivisionError("of the program")

    monkeypatch.setitem(CALLS, "sync", fail)
    monkeypatch.setitem(COMMANDS, 1, ("movej", fail))
    start_program(bench.robot, program)
    bench.robot.signals.in_int[0] = 1
    bench.cycle(2)
    assert bench.robot.program is None
    assert "ends: ZeroDivisionError('of the program')" in bench.said[-1]


def test_a_motion_of_the_smallest_length_takes_no_time():
    assert Profile(5e-324, 1.0, 999.0).duration == 0.0


def test_a_program_of_blank_lines_is_limited_in_size():
    cutter = ProgramCutter()
    assert cutter.take(b"def endless():\n") == []
    assert cutter.take(b"\n" * (LARGEST_PROGRAM - 15)) == []
    with pytest.raises(ValueError, match="more than 1048576 bytes"):
        cutter.take(b"\n")
    cutter = ProgramCutter()
    for _ in range(3):  # blank lines outside of programs are ignored, and those inside are removed
        assert cutter.take(b"\n" * LARGEST_PROGRAM) == []
        assert cutter.take(b"def short():\n\n  \n  sync()\nend\n") == [
            "def short():\n  sync()\nend"
        ]


def test_at_most_20_calls_without_a_motion_run_in_a_tick(bench):
    lines = [f"write_output_integer_register({k}, {k})" for k in range(45)]
    start_program(bench.robot, "\n".join(["def row():", *lines, "end"]))
    seen = []
    for _ in range(3):
        bench.robot.act()
        seen.append(int(bench.robot.signals.out_int.max()))
    assert seen == [19, 39, 44]
    assert bench.robot.program is None


def test_at_most_20_calls_of_a_path_run_in_a_tick(bench):
    path = "".join(f"        write_output_integer_register({k}, {k})\n" for k in range(3, 48))
    start_program(bench.robot, CONTROL.format(offset=0, path=path))
    bench.cycle()
    bench.robot.signals.in_int[0] = 45
    bench.robot.signals.written[0] += 1
    seen = []
    for _ in range(4):
        bench.robot.act()
        out = bench.robot.signals.out_int
        seen.append((int(out[3:].max()), int(out[0])))
    assert seen[:2] == [(22, 1), (42, 1)]
    assert seen[2] == (47, 2)  # the script reports that the command is done


@pytest.mark.parametrize("form", ["row", "path"])
def test_a_program_with_too_many_calls_is_refused(bench, form):
    lines = "    sync()\n" * 10_001
    row = f"def long():\n{lines}end" if form == "row" else CONTROL.format(offset=0, path=lines)
    start_program(bench.robot, row)
    assert bench.robot.program is None
    assert "lines; allowed are 10000 at most" in bench.said[-1]


# motions


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_no_joint_passes_its_limit_when_a_faster_joint_brakes(bench, side):
    robot = bench.robot
    q, v = np.array(READY), side * np.array([3.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    limit = (robot.arm.upper if side > 0.0 else robot.arm.lower)[3]
    q[3] = limit - 0.5 * side
    robot.joints, robot.motion = Stream(q, v, DT), SpeedJoints()
    robot.motion.take(v, 100.0, 0.0)
    most = -np.inf
    for _ in range(1000):
        robot.act()
        most = max(most, side * (robot.joints.x[3] - limit))
    assert "joint 3 is beyond its limit" in bench.said[0]
    # the joint stops at most the distance of one cycle before its limit
    assert -2.0 * DT < most <= 1e-9


@pytest.mark.parametrize("ends", ["power off", "protective stop"])
def test_switching_the_power_off_ends_guiding(bench, ends):
    robot = bench.robot
    assert robot.guide(True)
    if ends == "power off":
        robot.power(RobotMode.POWER_OFF)
    else:
        robot.protective_stop("a test")
    assert not robot.teaches
    assert not isinstance(robot.motion, Freedrive)
    bench.until_rest()
    assert robot.motion is None
    robot.clock += 5.1
    robot.unlock()
    robot.power(RobotMode.IDLE)
    robot.power(RobotMode.RUNNING)
    assert robot.guide(True)
    assert isinstance(robot.motion, Freedrive)


def test_no_program_starts_while_somebody_guides_the_arm(bench):
    assert bench.robot.guide(True)
    start_program(bench.robot, f"movej({list(READY)})")
    assert bench.robot.program is None
    assert "somebody guides the arm" in bench.said[-1]
    assert bench.robot.guide(False)
    start_program(bench.robot, f"movej({list(READY)})")
    assert bench.robot.program is not None


def test_the_arm_is_held_in_a_pause_of_direct_torque(bench):
    commanded(bench, 66, 40.0)
    gravity = bench.robot.sensing.gravity
    assert bench.robot.tau - gravity == pytest.approx([40.0, 0, 0, 0, 0, 0], abs=1e-9)
    bench.cycle()
    assert bench.robot.awaits
    bench.robot.paused = True
    assert not bench.robot.awaits  # a paused box in lock-step waits for no command
    moved = np.add(READY, [2e-3, 0, 0, 0, 0, 0])
    bench.robot.observe(measured(moved))
    torques = bench.robot.act()
    s = bench.robot.sensing.at
    spring = -(STIFF**2) * s.M[0, 0] * 2e-3  # the arm is held where the pause began
    found = torques.at(s.q, s.dq) - bench.robot.sensing.gravity
    assert found == pytest.approx([spring, 0, 0, 0, 0, 0], rel=1e-9, abs=1e-9)
    bench.robot.observe(measured(np.add(READY, [0.11, 0, 0, 0, 0, 0])))
    assert "joint 0 is 0.11 rad from its desired position" in bench.said[-1]


def test_the_arm_rests_in_a_pause_of_force_mode(bench):
    robot = bench.robot
    wanted = np.array([0.0, 0.0, -50.0, 0.0, 0.0, 0.0])
    start_program(robot, CONTROL.format(offset=0, path=""))
    robot.force = ForceMode(np.eye(3), wanted != 0.0, wanted, np.full(6, 0.2))
    bench.cycle(200)
    assert np.abs(robot.joints.v).max() > 1e-2
    robot.paused = True
    bench.cycle(600)  # 20 time constants have passed
    x = robot.joints.x.copy()
    bench.cycle(100)
    assert robot.joints.x == pytest.approx(x, abs=1e-8)
    assert robot.rests
    robot.paused = False
    bench.cycle(200)
    assert np.abs(robot.joints.v).max() > 1e-2


def test_the_pause_of_a_program_that_ended_does_not_hold_the_arm(bench):
    commanded(bench, 66, 40.0)
    bench.robot.paused = True
    bench.cycle(2)
    bench.robot.stop_program()
    bench.until_rest()
    assert bench.robot.guide(True)
    bench.robot.act()
    s = bench.robot.sensing
    assert bench.robot.tau == pytest.approx(s.gravity, abs=1e-9)  # no spring acts
    bench.robot.observe(measured(np.add(READY, [0.2, 0, 0, 0, 0, 0])))
    assert bench.robot.safety == SafetyMode.NORMAL
    bench.robot.act()
    assert bench.robot.tau == pytest.approx(s.gravity, abs=1e-9)


# registers that a client leaves behind


def test_a_reboot_restores_gravity_and_payload(bench):
    robot = bench.robot
    gravity, load = robot.arm.gravity, robot.arm.load
    effort = robot.sensing.gravity
    commanded(bench, 59, 0.0, 0.0, 1.62)
    commanded(bench, 17, 2.0, 0.0, 0.0, 0.1)
    assert robot.arm.gravity.tolist() == [0.0, 0.0, -1.62]
    robot.reboot()
    assert robot.arm.gravity.tolist() == gravity.tolist()
    assert robot.arm.load is load
    robot.observe(measured())
    assert robot.sensing.gravity == pytest.approx(effort, rel=1e-12)
    commanded(bench, 59, 0.0, 0.0, 1.62)
    robot.restart()  # the simulated arm was reset
    assert robot.arm.gravity.tolist() == gravity.tolist()


def test_a_refused_input_recipe_reserves_no_variable(bench):
    one, two = bench.client(), bench.client()
    for client in (one, two):
        ask(client, "V", b"\0\2")
    assert ask(one, "I", b"input_int_register_0,nothing") == b"\0INT32,NOT_FOUND"
    assert ask(two, "I", b"input_int_register_0") == b"\1INT32"
    assert ask(one, "I", b"input_int_register_1,input_int_register_0") == b"\0INT32,IN_USE"
    assert ask(two, "I", b"input_int_register_1") == b"\2INT32"


def test_the_log_leaves_out_most_of_a_flood_of_messages(bench):
    for _ in range(1000):
        start_program(bench.robot, "x")
    assert len(bench.said) == SENTENCES + 1
    assert "the log leaves out the others" in bench.said[-1]
    assert len(bench.robot.messages) == MOST_MESSAGES
    bench.robot.protective_stop("a test")
    # there may be earlier messages about other commands
    assert "protective stop: a test" in bench.said[-1]
    bench.robot.clock += 1.0
    start_program(bench.robot, "x")
    assert len(bench.said) == SENTENCES + 3


@pytest.mark.parametrize("word", ["popup", "addToLog"])
def test_the_log_leaves_out_most_of_a_flood_of_dashboard_lines(bench, word):
    session = DashboardSession(bench.robot)
    session.request(f"{word} x\n".encode() * 1000)
    assert len(bench.said) == SENTENCES + 1
    assert session.answers().count(b"\n") == 1001  # each line has an answer


def test_a_long_line_is_cut_in_the_log(bench):
    start_program(bench.robot, "x" * 100_000)
    assert len(bench.said[-1]) < 600


@pytest.mark.parametrize("way", ["popup", "addToLog", "message", "textmsg"])
def test_control_characters_from_a_client_start_no_new_line_in_the_log(bench, way):
    words = "a\x1b[2J\rERROR all is lost"
    if way == "message":
        bench.client().request(packet("M", b"\0" + words.encode()))
    elif way == "textmsg":
        start_program(bench.robot, f'textmsg("{words.replace(chr(13), "")}")')
        bench.cycle()
    else:
        DashboardSession(bench.robot).request(f"{way} {words}\n".encode())
    assert bench.said[-1].isprintable()
    assert "\\x1b[2J" in bench.said[-1]


# numbers of speedj, servoj, torque, jog, teach
@pytest.mark.parametrize("number", [9, 11, 66, 41, 18])
def test_a_stream_replaces_an_asynchronous_path(bench, number):
    goals = [[x, *READY[1:]] for x in (0.5, 1.0)]
    path = "".join(f"        movej({goal}, a=1, v=1)\n" for goal in goals)
    start_program(bench.robot, CONTROL.format(offset=0, path=path))
    bench.cycle()
    commands(bench, 45, integer=1)
    bench.cycle(100)
    assert isinstance(bench.robot.motion, JointMove)
    commands(bench, 0)
    commands(bench, number, *bench.robot.joints.x, 0.5, 0.0)
    streamed = bench.robot.motion
    assert not isinstance(streamed, JointMove)
    bench.cycle(20)
    assert bench.robot.motion is streamed
    assert bench.robot.signals.out_int[2] & 0xFFFF == 0  # the operation is over


def test_quit_closes_the_dashboard_after_its_answer(bench):
    said = []
    make = functools.partial(DashboardSession, bench.robot)
    hub = Hub(make, "dashboard", "127.0.0.1", 0, said.append)
    client = socket.create_connection(hub.sockets[0].getsockname(), 10.0)
    try:
        select.select(hub.sockets, [], [], 10.0)
        hub.receive()
        hub.pass_on(hub.peers[0], b"quit\nrobotmode\n")
        with client.makefile("rb") as answers:  # read to the end of the connection
            assert answers.read().splitlines()[1:] == [b"Disconnected"]
        assert not hub.connected
        assert said[-1] == "dashboard: the client quits"
    finally:
        client.close()
        hub.close()
