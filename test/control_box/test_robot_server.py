# SPDX-License-Identifier: Apache-2.0
"""The server of a Franka arm without sockets: bytes in, bytes and torques out."""

import struct

import numpy as np
import pytest
from support.refusals import refused
from support.robots import find

import rbdyn_ros as rb
from rbdyn_ros.control_box.boxes import READY, BoxName, equipped
from rbdyn_ros.control_box.franka import packets
from rbdyn_ros.control_box.franka.arm import FrankaArm
from rbdyn_ros.control_box.franka.packets import Mode, MoveStatus, Request
from rbdyn_ros.control_box.franka.robot import RobotServer
from rbdyn_ros.control_box.franka.sensing import MeasuredArm
from rbdyn_ros.control_box.sockets import check_address
from rbdyn_ros.description.source import read
from rbdyn_ros.share import bundled_robot

EXTERNAL, ALONE = 2, 4
WIDE = np.array([10.0, 3.12, 6.28] * 2)


class Rig:
    """A simulated Panda, its server, and a client that speaks bytes."""

    def __init__(self, connect=True):
        source = find("panda.urdf")
        self.m = equipped(rb.load(source), ["franka"])
        self.m.opt.timestep = 1e-3
        self.arm = FrankaArm(self.m, read(source))
        self.said = []
        self.server = RobotServer(self.arm, self.said.append)
        self.d = rb.make_data(self.m)
        self.d.qpos[self.arm.qposadr] = READY
        self.now = np.zeros(7)
        self.answers = {}
        self.number = 0
        if connect:
            port = np.array((10, 4242), packets.CONNECT).tobytes()
            assert self.ask(Request.CONNECT, port)[0] == 0
        self.cycle()

    def ask(self, command, payload=b""):
        """Send a request; return the body of the answer to it, or None."""
        self.number += 1
        head = struct.pack("<III", command, self.number, 12 + len(payload))
        self.server.request(head + payload)
        return self.answer()

    def answer(self):
        """Return the body of the newest answer."""
        data, body = self.server.answers(), None
        while data:
            size = struct.unpack_from("<III", data)[2]
            body, data = data[12:size], data[size:]
        return body

    def move(self, controller=EXTERNAL, generator=ALONE, deviation=WIDE, asynchronous=0):
        given = np.zeros((), packets.PAYLOADS[Request.MOVE])
        given["controller"], given["generator"] = controller, generator
        given["path_deviation"], given["goal_deviation"] = deviation[:3], deviation[3:]
        given["asynchronous"], given["maximum_velocity"] = asynchronous, 1.0
        return self.ask(Request.MOVE, given.tobytes())[0]

    def cycle(self, ticks=1, **command):
        """Advance by a tick, with a command if it has numbers; return the state."""
        q, dq = self.d.qpos[self.arm.qposadr], self.d.qvel[self.arm.dofs]
        qacc = self.d.qacc[self.arm.dofs]
        measured = MeasuredArm(q.copy(), dq.copy(), self.now, qacc.copy(), np.zeros(7))
        state = np.frombuffer(self.server.observe(measured, ticks), packets.STATE)[0]
        if command:
            given = np.zeros((), packets.COMMAND)
            given["message_id"] = command.pop("id", state["message_id"])
            for name, numbers in command.items():
                given[name] = numbers
            self.server.command(given.tobytes())
        torques = self.server.act()
        self.now = torques.at(q, dq)
        assert np.isfinite(self.now).all()
        self.d.qfrc_applied[self.arm.dofs] = self.now
        rb.step(self.m, self.d)
        return state

    def errors(self, field="errors"):
        state = self.cycle()
        return [name for name, on in zip(packets.ERRORS, state[field], strict=True) if on]


@pytest.fixture
def rig():
    return Rig()


def test_packets_have_the_sizes_of_the_protocol():
    assert packets.STATE.itemsize == 1377
    assert packets.COMMAND.itemsize == 371
    assert len(packets.ERRORS) == 41


def test_ticks_that_the_box_missed_count(rig):
    first, second = rig.cycle(), rig.cycle(ticks=3)
    assert second["message_id"] == first["message_id"] + 3
    rig.move()
    rig.cycle()
    rig.cycle(tau_J_d=np.zeros(7))
    rig.cycle(ticks=21)
    assert rig.answer() == bytes([MoveStatus.REFLEX])
    assert rig.errors("reflex_reason") == ["communication_constraints_violation"]


def test_a_command_to_a_state_of_the_future_is_ignored(rig):
    rig.move()
    rig.cycle(id=2**64 - 1, tau_J_d=np.zeros(7))
    assert rig.server.waits_to_begin
    rig.cycle(tau_J_d=np.zeros(7))
    assert not rig.server.waits_to_begin


def test_the_rate_of_torques_is_over_the_ticks_that_passed(rig):
    for ticks in (1, 4):
        before = rig.server.sensing.tau.copy()
        rig.cycle(ticks=ticks)
        gap = rig.server.sensing.tau - before
        assert rig.server.sensing.dtau == pytest.approx(gap / (ticks * 1e-3))


def test_it_holds_its_pose(rig):
    for _ in range(300):
        state = rig.cycle()
    assert state["robot_mode"] == Mode.IDLE
    assert rig.d.qpos[:7] == pytest.approx(READY, abs=1e-6)
    assert rig.server.rests


@pytest.mark.parametrize("version", [5, 9, 11])
def test_another_version_is_refused_by_its_status(version):
    rig = Rig(connect=False)
    body = rig.ask(Request.CONNECT, np.array((version, 4242), packets.CONNECT).tobytes())
    assert body == b"\x01\x0a\x00"
    assert f"version {version}" in rig.said[0]
    assert rig.server.udp_port == 0


def test_a_client_connects_first_and_once():
    rig = Rig(connect=False)
    with pytest.raises(ValueError, match="Connect first"):
        rig.ask(Request.STOP_MOVE)
    rig = Rig()
    with pytest.raises(ValueError, match="and once"):
        rig.ask(Request.CONNECT, np.array((10, 4242), packets.CONNECT).tobytes())


@pytest.mark.parametrize(
    "head",
    [
        struct.pack("<III", 99, 0, 12),
        struct.pack("<III", Request.STOP_MOVE, 0, 11),
        struct.pack("<III", Request.MOVE, 0, 2**32 - 1),
    ],
)
def test_a_malformed_request_ends_the_connection(rig, head):
    with pytest.raises(ValueError, match="command"):
        rig.server.request(head)


def test_half_a_request_waits_for_the_rest(rig):
    head = struct.pack("<III", Request.STOP_MOVE, 7, 12)
    rig.server.request(head[:5])
    assert rig.server.answers() == b""
    rig.server.request(head[5:])
    assert rig.answer() == b"\x00"


def test_torques_come_with_gravity_one_cycle_later(rig):
    assert rig.move() == MoveStatus.STARTED
    assert rig.cycle()["robot_mode"] == Mode.MOVE
    tau = np.array([0.1, -0.2, 0.3, 0.0, 0.1, 0.0, 0.05])
    rig.cycle(tau_J_d=tau)
    assert rig.now == pytest.approx(tau + rig.server.sensing.gravity)
    state = rig.cycle(tau_J_d=0 * tau, torque_command_finished=1)
    assert state["tau_J_d"] == pytest.approx(tau, abs=1e-6)
    assert rig.answer() == bytes([MoveStatus.SUCCESS])
    assert rig.cycle()["robot_mode"] == Mode.IDLE


@pytest.mark.parametrize(
    ("move", "first", "second", "error"),
    [
        ({}, {"tau_J_d": np.zeros(7)}, {"tau_J_d": np.full(7, 2.0)},
         "controller_torque_discontinuity"),
        ({}, {"tau_J_d": np.zeros(7)}, {"tau_J_d": np.full(7, np.nan)},
         "controller_torque_discontinuity"),
        ({"controller": 0, "generator": 0}, {"q_c": np.add(READY, 0.1)}, {},
         "joint_position_motion_generator_start_pose_invalid"),
        ({"controller": 0, "generator": 0}, {"q_c": READY}, {"q_c": np.add(READY, 1e-3)},
         "joint_motion_generator_velocity_discontinuity"),
        ({"controller": 0, "generator": 0}, {"q_c": READY}, {"q_c": np.add(READY, 6e-6)},
         "joint_motion_generator_acceleration_discontinuity"),
        ({"controller": 0, "generator": 1}, {"dq_c": np.zeros(7)}, {"dq_c": np.full(7, 3.0)},
         "joint_motion_generator_velocity_limits_violation"),
        ({"controller": 0, "generator": 1}, {"dq_c": np.zeros(7)}, {"dq_c": np.full(7, np.nan)},
         "joint_motion_generator_velocity_discontinuity"),
        ({"controller": 0, "generator": 2}, {"O_T_EE_c": np.eye(4).ravel()}, {},
         "cartesian_position_motion_generator_start_pose_invalid"),
        ({"controller": 0, "generator": 2}, {"O_T_EE_c": np.zeros(16)}, {},
         "cartesian_position_motion_generator_invalid_frame_flag"),
        ({"controller": 0, "generator": 3}, {"O_dP_EE_c": np.zeros(6)},
         {"O_dP_EE_c": np.full(6, 2.0)},
         "cartesian_motion_generator_velocity_limits_violation"),
        ({"controller": 0, "generator": 3}, {"O_dP_EE_c": np.zeros(6)},
         {"O_dP_EE_c": np.full(6, 0.1)},
         "cartesian_motion_generator_velocity_discontinuity"),
        ({"controller": 0, "generator": 3}, {"valid_elbow": 1, "elbow_c": [0.0, 1.0]}, {},
         "cartesian_motion_generator_elbow_sign_inconsistent"),
        ({"controller": 0, "generator": 3}, {"valid_elbow": 1, "elbow_c": [0.5, -1.0]}, {},
         "cartesian_motion_generator_start_elbow_invalid"),
    ],
)  # fmt: skip
def test_a_wrong_command_is_an_error_by_name(rig, move, first, second, error):
    assert rig.move(**move) == MoveStatus.STARTED
    rig.cycle(**first)
    if second:
        rig.cycle(**second)
    finite = all(np.isfinite(x).all() for x in (second or first).values())
    assert rig.answer() == bytes([MoveStatus.REFLEX if finite else MoveStatus.INPUT_ERROR])
    assert rig.errors() == [error]
    assert rig.errors("reflex_reason") == [error]
    assert rig.move() == MoveStatus.NOT_POSSIBLE
    rig.ask(Request.AUTOMATIC_ERROR_RECOVERY)
    for _ in range(300):
        state = rig.cycle()
    assert state["robot_mode"] == Mode.IDLE
    assert rig.answer() == b"\x00"
    assert rig.errors() == []
    assert rig.move() == MoveStatus.STARTED


def test_the_last_torque_holds_for_some_lost_commands_and_not_longer(rig):
    rig.move()
    rig.cycle(tau_J_d=np.full(7, 0.2))
    for _ in range(19):
        state = rig.cycle()
        assert state["tau_J_d"] == pytest.approx(0.2)
    assert 0.0 < state["control_command_success_rate"] < 0.1
    rig.cycle()
    assert rig.errors() == ["communication_constraints_violation"]


def test_a_motion_goes_on_with_its_acceleration_without_commands(rig):
    rig.move(0, 1)
    rig.cycle(dq_c=np.zeros(7))
    rig.cycle(dq_c=np.full(7, 1e-3))
    rig.cycle()
    rig.cycle()
    assert rig.cycle()["dq_d"] == pytest.approx(3e-3)


def test_doubled_and_overtaken_commands_are_ignored(rig):
    rig.move()
    state = rig.cycle(tau_J_d=np.full(7, 0.1))
    rig.cycle(id=state["message_id"], tau_J_d=np.full(7, 0.9))
    assert rig.cycle()["tau_J_d"] == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("move", "status"),
    [
        ({"controller": 3}, MoveStatus.INVALID_ARGUMENT),
        ({"controller": 0, "generator": 5}, MoveStatus.INVALID_ARGUMENT),
        ({"controller": 0, "generator": ALONE}, MoveStatus.INVALID_ARGUMENT),
        ({"deviation": -WIDE}, MoveStatus.INVALID_ARGUMENT),
        ({"controller": 0, "generator": 1, "asynchronous": 1}, MoveStatus.INVALID_ARGUMENT),
    ],
)
def test_a_wrong_move_is_refused(rig, move, status):
    assert rig.move(**move) == status


def test_a_second_move_is_refused_and_the_first_stopped(rig):
    rig.move()
    assert rig.move() == MoveStatus.NOT_POSSIBLE
    assert rig.ask(Request.SET_JOINT_IMPEDANCE, np.full(7, 100.0).tobytes()) == b"\x01"
    rig.server.request(struct.pack("<III", Request.STOP_MOVE, 9, 12))
    answers = rig.server.answers()
    assert bytes([MoveStatus.PREEMPTED]) in answers
    assert rig.cycle()["robot_mode"] == Mode.IDLE


def test_a_cartesian_motion_does_not_begin_at_a_singular_pose(rig):
    rig.d.qpos[rig.arm.qposadr] = [0.0, 1.262, 0.0, -0.601, 0.0, 1.913, 0.785]
    rig.server.restart()
    rig.cycle()
    assert rig.move(0, 2) == MoveStatus.SINGULAR


@pytest.mark.parametrize(
    ("request_", "good", "bad"),
    [
        (Request.SET_JOINT_IMPEDANCE, np.full(7, 500.0), np.full(7, 1e6)),
        (Request.SET_CARTESIAN_IMPEDANCE, np.full(6, 100.0), np.full(6, np.nan)),
        (Request.SET_COLLISION_BEHAVIOR, np.full(52, 30.0), np.full(52, -1.0)),
        (Request.SET_EE_TO_K, np.eye(4).ravel(), 2.0 * np.eye(4).ravel()),
        (Request.SET_NE_TO_EE, np.eye(4).ravel(), np.zeros(16)),
        (Request.SET_LOAD, np.array([0.5, *np.zeros(12)]), np.array([-1.0, *np.zeros(12)])),
    ],
)
def test_settings_are_taken_or_refused(rig, request_, good, bad):
    assert rig.ask(request_, good.tobytes()) == b"\x00"
    assert rig.ask(request_, bad.tobytes()) == b"\x02"


def test_a_declared_load_is_no_external_torque(rig):
    rig.m = rb.with_payload(rig.m, "panda_hand", 1.0, (0.0, 0.0, 0.1))
    rig.d = rb.make_data(rig.m)
    rig.d.qpos[rig.arm.qposadr] = READY
    for _ in range(400):
        state = rig.cycle()
    assert abs(state["K_F_ext_hat_K"][2]) == pytest.approx(9.81, rel=0.02)
    # the hand is turned in the flange about z, so the load's place is the same
    load = np.array([1.0, 0.0, 0.0, 0.1, *np.zeros(9)])
    rig.ask(Request.SET_LOAD, load.tobytes())
    for _ in range(400):
        state = rig.cycle()
    assert state["tau_ext_hat_filtered"] == pytest.approx(np.zeros(7), abs=0.02)


def test_the_user_stop_ends_a_motion(rig):
    rig.move()
    rig.cycle(tau_J_d=np.zeros(7))
    rig.server.press_user_stop(True)
    assert rig.answer() == bytes([MoveStatus.USER_STOP])
    assert rig.cycle()["robot_mode"] == Mode.USER_STOPPED
    assert rig.move() == MoveStatus.NOT_POSSIBLE
    rig.server.press_user_stop(False)
    assert rig.move() == MoveStatus.STARTED
    rig.server.press_user_stop(False)  # it is released already
    assert rig.cycle()["robot_mode"] == Mode.MOVE


def test_a_reboot_ends_a_motion_and_forgets_load_and_errors(rig):
    load = np.concatenate([[0.5], np.zeros(3), 1e-3 * np.eye(3).ravel()])
    rig.ask(Request.SET_LOAD, load.tobytes())
    assert rig.cycle()["m_load"] == 0.5
    rig.move()
    rig.cycle(tau_J_d=np.full(7, np.nan))
    assert rig.cycle()["robot_mode"] == Mode.REFLEX
    rig.server.reboot()
    state = rig.cycle()
    assert (state["robot_mode"], state["m_load"]) == (Mode.IDLE, 0.0)
    assert not state["errors"].any()
    assert not state["reflex_reason"].any()
    assert rig.move() == MoveStatus.STARTED
    rig.cycle(tau_J_d=np.zeros(7))
    rig.server.reboot()
    assert rig.cycle()["robot_mode"] == Mode.IDLE


def test_a_guided_arm_moves_only_along_free_axes(rig):
    rig.ask(Request.SET_GUIDING_MODE, bytes([1, 0, 0, 0, 0, 0, 0]))
    assert rig.server.guide(True)
    T = rig.server.sensing.at.T.copy()
    hand = rig.m.body_names.index("panda_link7")
    for _ in range(500):
        rig.d.xfrc_applied[hand, :3] = [8.0, 8.0, 0.0]
        state = rig.cycle()
    moved = rig.server.sensing.at.T[:3, 3] - T[:3, 3]
    assert state["robot_mode"] == Mode.GUIDING
    assert moved[0] > 0.02
    assert abs(moved[1]) < 0.01
    assert rig.server.guide(False)


def test_an_asynchronous_motion_reaches_its_goal(rig):
    assert rig.move(0, 0, asynchronous=1) == MoveStatus.STARTED
    goal = np.add(READY, 0.1)
    rig.cycle(q_c=goal)
    for _ in range(700):
        state = rig.cycle()
    assert state["q_d"] == pytest.approx(goal, abs=1e-5)
    assert state["q"] == pytest.approx(goal, abs=1e-3)


def test_a_joint_beyond_its_limit_is_moved_back_by_the_recovery(rig):
    rig.move()
    rig.cycle(tau_J_d=np.zeros(7))
    rig.d.qpos[rig.arm.qposadr[0]] = rig.arm.upper[0] + 0.02
    rig.d.qvel[:] = 0.0
    rig.cycle(tau_J_d=np.zeros(7))
    assert rig.errors() == ["joint_position_limits_violation"]
    rig.ask(Request.AUTOMATIC_ERROR_RECOVERY)
    for _ in range(1500):
        state = rig.cycle()
        if state["robot_mode"] == Mode.IDLE:
            break
    assert state["robot_mode"] == Mode.IDLE
    assert state["q"][0] < rig.arm.upper[0]


def test_another_robot_is_refused():
    m, description = (f(bundled_robot("pendulum")) for f in (rb.load, read))
    with refused(rb.RbdynError, "request"):
        FrankaArm(m, description)


@pytest.mark.parametrize("text", ["panda", "franka@", "franka@localhost", "left/franka@1.2.3.4x"])
def test_a_wrong_name_of_a_box_is_refused(text):
    with refused(rb.RbdynError, "request"):
        BoxName.parsed(text)


def test_an_address_beside_the_loopback_range_needs_permission():
    with refused(rb.RbdynError, "request"):
        check_address("192.168.1.2", anywhere=False)
    with refused(rb.RbdynError, "request"):
        check_address("1.2.3", anywhere=True)
    assert "without a password" in check_address("192.168.1.2", anywhere=True)
    assert check_address("127.9.9.9", anywhere=False) == ""
