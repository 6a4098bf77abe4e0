# SPDX-License-Identifier: Apache-2.0
"""RTDE, dashboard and programs of a box of Universal Robots are tested without sockets."""

import struct

import numpy as np
import pytest
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.control_box.arm import ROTOR
from rbdyn_ros.control_box.boxes import equipped
from rbdyn_ros.control_box.sensing import MeasuredArm
from rbdyn_ros.control_box.ur.arm import READY, UrArm, pose_from, pose_of
from rbdyn_ros.control_box.ur.dashboard import DashboardSession
from rbdyn_ros.control_box.ur.modes import RobotMode, RuntimeState, SafetyMode
from rbdyn_ros.control_box.ur.programs import start_program
from rbdyn_ros.control_box.ur.robot import UrRobot
from rbdyn_ros.control_box.ur.rtde import Owners, RtdeSession
from rbdyn_ros.control_box.ur.scripts import ProgramCutter, read_call
from rbdyn_ros.control_box.ur.variables import INPUTS, OUTPUTS, TYPES
from rbdyn_ros.description.source import read
from rbdyn_ros.share import bundled_robot

DT = 1e-3
CONTROL = """\
def rtde_control():
    global reg_offset_int = # int register offset
{offset}    global force_mode_type = 2
    def exec_move_path():
        textmsg("exec_move_path")
        # inject move path
{path}    end
    def process_cmd(cmd):
        if cmd == 1:
            movej(q)
        elif cmd == 3 or cmd == 9 or cmd == 11 or cmd == 255:
            stopj(1)
        end
        return cmd != 255
    end
end
"""


def measured(q=READY, dq=None, **more):
    z = np.zeros(6)
    parts = {
        "q": np.array(q),
        "dq": z if dq is None else dq,
        "effort": z,
        "qacc": z,
        "friction": z,
    }
    return MeasuredArm(**{**parts, **more})


class Bench:
    """A UrRobot whose joints are where it commanded them in the last cycle."""

    def __init__(self, text):
        m = equipped(rb.load_urdf(text), ["ur"])
        self.said = []
        self.robot = UrRobot(UrArm(m, read(text)), DT, self.said.append)
        self.robot.observe(measured())
        self.owners = Owners()

    def client(self, in_turn=False):
        return RtdeSession(self.robot, self.owners, 2e-3, self.said.append, in_turn)

    def cycle(self, count=1):
        for _ in range(count):
            self.robot.act()
            effort = self.robot.sensing.gravity
            now = measured(self.robot.joints.x, self.robot.joints.v, effort=effort)
            self.robot.observe(now)

    def until_rest(self):
        for _ in range(20000):
            self.cycle()
            if self.robot.rests:
                return
        raise AssertionError("the arm does not come to rest")


@pytest.fixture
def bench(text):
    return Bench(text)


def packet(command, body=b""):
    return struct.pack(">HB", 3 + len(body), ord(command)) + body


def ask(session, command, body=b""):
    """Send an RTDE packet to a session; return the body of the answer."""
    session.request(packet(command, body))
    answer = session.answers()
    assert answer[2] == ord(command)
    assert int.from_bytes(answer[:2], "big") == len(answer)
    return answer[3:]


def outputs(*names, often=500.0):
    return struct.pack(">d", often) + ",".join(names).encode()


# RTDE


@pytest.mark.parametrize(("version", "right"), [(1, 1), (2, 1), (0, 0), (3, 0), (65535, 0)])
def test_versions_are_negotiated(bench, version, right):
    assert ask(bench.client(), "V", struct.pack(">H", version)) == bytes([right])
    assert any(f"version {version}" in text for text in bench.said) == (not right)


def test_a_recipe_has_the_types_of_its_variables(bench):
    client = bench.client()
    ask(client, "V", b"\0\2")
    answer = ask(client, "O", outputs("timestamp", "actual_q", "nothing", "robot_mode"))
    assert answer == b"\0DOUBLE,VECTOR6D,NOT_FOUND,INT32"
    assert ask(client, "S") == b"\0"
    assert ask(client, "O", outputs("timestamp", "actual_q,")) == b"\1DOUBLE,VECTOR6D"
    assert ask(client, "S") == b"\1"
    found = client.report()
    assert found[2:4] == b"U\1"
    assert struct.unpack(">7d", found[4:]) == pytest.approx([bench.robot.clock, *READY])
    assert ask(client, "P") == b"\1"
    assert client.report() == b""


@pytest.mark.parametrize("often", [0.0, 500.1, -1.0, np.nan, np.inf])
def test_frequencies_outside_the_vendors_range_are_refused(bench, often):
    client = bench.client()
    ask(client, "V", b"\0\2")
    assert ask(client, "O", outputs("timestamp", often=often))[0] == 0


def test_packets_arrive_at_their_frequency(bench):
    client = bench.client()
    ask(client, "V", b"\0\2")
    ask(client, "O", outputs("timestamp", often=125.0))
    ask(client, "S")
    assert [bool(client.report()) for _ in range(9)] == [True, *[False] * 3] * 2 + [True]


def test_version_1_of_rtde_has_no_frequency_and_no_recipe_number(bench):
    client = bench.client()
    assert ask(client, "O", b"timestamp") == b"DOUBLE"
    ask(client, "S")
    assert len(client.report()) == 3 + 8


def test_the_value_of_every_output_can_be_packed_as_its_type(bench):
    for variable in OUTPUTS.values():
        value = variable.read(bench.robot)
        letters, count = TYPES[variable.type]
        numbers = [value] if count == 1 else list(value)
        assert struct.pack(f">{letters}", *numbers), variable.name
        assert np.isfinite(np.asarray(numbers, float)).all(), variable.name


def test_an_input_can_be_written_by_one_client_only(bench):
    one, two = bench.client(), bench.client()
    for client in (one, two):
        ask(client, "V", b"\0\2")
    assert ask(one, "I", b"input_int_register_0") == b"\1INT32"
    assert ask(one, "I", b"input_int_register_0,nothing") == b"\0INT32,NOT_FOUND"
    assert ask(two, "I", b"input_int_register_0,input_int_register_1") == b"\0IN_USE,INT32"
    one.close()
    assert ask(two, "I", b"input_int_register_0") == b"\1INT32"


def test_inputs_of_rtde_reach_the_robot(bench):
    client = bench.client()
    ask(client, "V", b"\0\2")
    names = "speed_slider_mask,speed_slider_fraction,input_double_register_5,input_bit_register_70"
    ask(client, "I", names.encode())
    client.request(packet("U", struct.pack(">BIdd?", 1, 1, 0.25, 7.5, True)))
    signals = bench.robot.signals
    assert (signals.slider, signals.in_double[5], signals.in_bits) == (0.25, 7.5, 1 << 70)
    ask(client, "I", b"standard_digital_output_mask,standard_digital_output")
    client.request(packet("U", bytes([2, 0b0110, 0b1111])))
    assert signals.digital_out == 0b0110
    client.request(packet("U", struct.pack(">BIdd?", 1, 1, np.nan, 8.5, False)))
    assert (signals.slider, signals.in_double[5]) == (0.25, 7.5)  # the inputs keep their values
    assert any("not finite" in text for text in bench.said)


@pytest.mark.parametrize(
    "data",
    [
        b"\0\2V", b"\0\4X\0", packet("V", b"\0"), packet("O", b"\0" * 7), packet("U"),
        packet("U", b"\1"), b"GET / HTTP/1.1\r\n\r\n",
    ],
)  # fmt: skip
def test_data_of_another_protocol_ends_the_connection(bench, data):
    client = bench.client()
    ask(client, "V", b"\0\2")
    with pytest.raises(ValueError, match=r"."):
        client.request(data + b"\0" * 70000)


def test_a_package_that_arrives_in_pieces_is_processed(bench):
    client = bench.client()
    for byte in packet("V", b"\0\2"):
        client.request(bytes([byte]))
    assert client.answers() == packet("V", b"\1")


def test_each_command_of_a_stream_lasts_its_time_in_lock_step(bench):
    start_program(bench.robot, CONTROL.format(offset=0, path=""))
    bench.cycle()
    client = bench.client(in_turn=True)
    ask(client, "V", b"\0\2")
    names = ["input_int_register_0", *(f"input_double_register_{k}" for k in range(8))]
    ask(client, "I", ",".join(names).encode())
    for speed in (0.1, 0.2):  # each command lasts 4 ms
        body = struct.pack(">Bi8d", 1, 9, *[speed] * 6, 40.0, 4e-3)
        client.request(packet("U", body))
    seen = []
    for _ in range(6):
        bench.cycle()
        seen.append(bench.robot.signals.in_double[0])
        client.request(b"")
    assert seen == [0.1] * 4 + [0.2] * 2


def test_the_type_of_every_input_is_known():
    assert all(variable.type in TYPES for variable in INPUTS.values())


# programs


def test_a_stream_of_bytes_is_split_into_programs():
    cutter = ProgramCutter()
    program = "def a():\n  if True: # comment\n    sync()\n  end\nend"
    data = f"\n{program}\nmovej([0,0,0,0,0,0])\ndef b():\nend\n".encode()
    found = [one for byte in data for one in cutter.take(bytes([byte]))]
    assert found == [program, "movej([0,0,0,0,0,0])", "def b():\nend"]
    with pytest.raises(ValueError, match="more than 1048576 bytes"):
        cutter.take(b"x" * 2**21)


def test_calls_of_a_program_are_read():
    call = read_call("  movej(p[0, -1.5e-1,2,3, 4,5], a=1.2, v = 2) # there")
    assert call.is_pose
    assert call.six("q").tolist() == [0, -0.15, 2, 3, 4, 5]
    assert (call.number("a", 1, 0.0), call.number("v", 2, 0.0)) == (1.2, 2.0)
    assert read_call('textmsg("a, b", 1)').values == ("a, b", 1.0)
    for line in ("x = movej(1)", "movej([0, 1", "movej([[1]])", "while True:", "movej(q)"):
        with pytest.raises(ValueError, match=r"."):
            read_call(line)


def test_the_calls_of_a_program_are_executed_one_after_another(bench):
    goal = [0.2, *READY[1:]]
    row = f"""\
def go():
  movej({goal}, a=2, v=1)
  set_tcp(p[0, 0, 0.1, 0, 0, 0])
  sleep(0.1)
  write_output_integer_register(3, 7)
end"""
    start_program(bench.robot, row)
    assert bench.robot.runtime == RuntimeState.PLAYING
    bench.until_rest()
    assert bench.robot.runtime == RuntimeState.STOPPED
    assert bench.robot.joints.x == pytest.approx(goal)
    assert bench.robot.F_T[2, 3] == 0.1
    assert bench.robot.signals.out_int[3] == 7


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("def mine():\n  x = 1\nend", "is not a call"),
        ("def mine():\n  rq_open()\nend", "does not support rq_open"),
        ("while True:\n  sync()\nend", "is not a call"),
        (
            CONTROL.format(offset=0, path="  movec(p[1])\n"),
            "could not convert|does not support movec",
        ),
    ],
)
def test_the_error_about_an_unknown_program_quotes_its_first_line(bench, program, reason):
    start_program(bench.robot, program)
    assert bench.robot.program is None
    assert program.splitlines()[0] in bench.said[-1]
    assert any(part in bench.said[-1] for part in reason.split("|"))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("movej([9, 0, 0, 0, 0, 0])", "joint 0 would be at 9 rad"),
        ("movel(p[9, 0, 0, 0, 0, 0])", "no joint positions reach the pose"),
        ("movej([0, 0, 0, 0, 0, 0], a=0)", "an acceleration of 0; allowed are 1e-06 to 1000"),
        ("movej([0, 0, 0, 0, 0])", "not a list of six numbers"),
        ("set_payload(99)", "a payload of 99 kg"),
        ("set_tcp(p[0,0,9,0,0,0])", "at most 2 m"),
    ],
)
def test_a_wrong_call_ends_the_program(bench, line, reason):
    start_program(bench.robot, line)
    bench.until_rest()
    assert bench.robot.program is None
    assert any(reason in text for text in bench.said)
    assert bench.robot.joints.x == pytest.approx(READY)


def test_registers_of_a_control_script_have_an_offset(bench):
    start_program(bench.robot, CONTROL.format(offset=24, path=""))
    bench.cycle(2)
    assert bench.robot.signals.out_int[24] == 1
    assert bench.robot.program.command == "input_int_register_24"


# power and safety


def lines(bench, *asked):
    session = DashboardSession(bench.robot)
    session.answers()
    session.request("".join(f"{line}\n" for line in asked).encode())
    return session.answers().decode().splitlines()


def test_the_dashboard_answers_like_the_dashboard_of_the_vendor(bench):
    session = DashboardSession(bench.robot)
    assert session.answers() == b"Connected: Universal Robots Dashboard Server\n"
    assert lines(bench, "robotmode", "safetymode", "running", "play", "stop", "pause") == [
        "Robotmode: RUNNING",
        "Safetymode: NORMAL",
        "Program running: false",
        "Failed to execute: play",
        "Failed to execute: stop",
        "Failed to execute: pause",
    ]
    assert lines(bench, "dance", "load x.urp", "load x", "get loaded program", "programState") == [
        'could not understand: "dance"',
        "Loading program: x.urp",
        "File not found: x",
        "Loaded program: x.urp",
        "STOPPED x.urp",
    ]


def test_a_paused_program_stops_and_continues(bench):
    start_program(bench.robot, f"movej({[1.0, *READY[1:]]}, a=1, v=0.5)")
    bench.cycle(1000)
    assert lines(bench, "pause") == ["Pausing program"]
    bench.until_rest()
    x = bench.robot.joints.x[0]
    assert 0.1 < x < 0.9
    assert bench.robot.runtime == RuntimeState.PAUSED
    assert lines(bench, "play") == ["Starting program"]
    bench.until_rest()
    assert bench.robot.joints.x[0] == pytest.approx(1.0)


def test_no_program_starts_without_power(bench):
    assert lines(bench, "power off") == ["Powering off"]
    start_program(bench.robot, "movej([0, 0, 0, 0, 0, 0])")
    assert bench.robot.program is None
    assert "POWER_OFF" in bench.said[-1]
    assert lines(bench, "brake release", "robotmode")[1] == "Robotmode: RUNNING"


def test_the_user_stop_switches_the_power_off(bench):
    start_program(bench.robot, f"movej({[1.0, *READY[1:]]})")
    bench.cycle(500)
    bench.robot.press_user_stop(True)
    bench.until_rest()
    assert bench.robot.safety == SafetyMode.ROBOT_EMERGENCY_STOP
    assert bench.robot.joints.x[0] < 0.9
    bench.robot.power(RobotMode.RUNNING)
    assert bench.robot.mode == RobotMode.POWER_OFF
    bench.robot.press_user_stop(False)
    assert bench.robot.safety == SafetyMode.NORMAL
    lines(bench, "power on", "brake release")
    assert bench.robot.mode == RobotMode.RUNNING


def test_a_large_force_on_the_tool_causes_a_protective_stop(bench):
    wrench = np.array([0.0, 0.0, 200.0, 0.0, 0.0, 0.0])
    for _ in range(200):  # the observer of the force has a time constant of 10 ms
        bench.robot.act()
        s = bench.robot.sensing
        bench.robot.observe(measured(effort=s.gravity - s.at.J.T @ wrench))
    assert bench.robot.safety == SafetyMode.PROTECTIVE_STOP
    assert any("N acts on the tool" in text for text in bench.said)
    assert lines(bench, "unlock protective stop")[0].startswith("Cannot unlock")
    bench.robot.clock += 5.1
    assert lines(bench, "unlock protective stop") == ["Protective stop releasing"]
    assert bench.robot.safety == SafetyMode.NORMAL


def test_the_wrench_on_the_tool_is_measured(bench):
    wrench = np.array([3.0, -2.0, 20.0, 0.4, 0.2, -0.1])
    for _ in range(300):
        s = bench.robot.sensing
        bench.robot.observe(measured(effort=s.gravity - s.at.J.T @ wrench))
    assert bench.robot.sensing.wrench == pytest.approx(wrench, rel=1e-6)
    bench.robot.sensing.zero()
    bench.robot.observe(measured(effort=s.gravity - s.at.J.T @ wrench))
    assert bench.robot.sensing.wrench == pytest.approx(np.zeros(6), abs=1e-6)


def test_the_arm_cannot_be_guided_while_a_program_runs(bench):
    assert bench.robot.guide(True)
    assert bench.robot.teaches
    assert bench.robot.guide(False)
    start_program(bench.robot, CONTROL.format(offset=0, path=""))
    assert not bench.robot.guide(True)


# the arm


def test_the_error_about_another_robot_names_the_joints_that_it_lacks():
    with refused(rb.RbdynError, "request") as caught:
        path = bundled_robot("seven_dof_arm")
        UrArm(rb.load_urdf(path), read(path))
    assert "lacks ...shoulder_pan_joint" in str(caught.value)


def test_rotor_inertias_are_added_if_the_file_has_none(text):
    m = rb.load_urdf(text)
    assert (m.dof_armature == 0.0).all()
    assert (equipped(m, ["ur"]).dof_armature == ROTOR).all()


@pytest.mark.parametrize(
    "pose", [[0.1, 0.2, 0.3, 0.0, np.pi, 0.0], [0, 0, 0, 1.0, -2.0, 0.5], [0, 0, 0, 2.2, 2.2, 0.0]]
)
def test_poses_are_written_as_rotation_vectors(pose):
    T = pose_from(np.array(pose))
    assert pose_from(pose_of(T)) == pytest.approx(T, abs=1e-12)
    assert np.linalg.norm(pose_of(T)[3:]) <= np.pi + 1e-9
