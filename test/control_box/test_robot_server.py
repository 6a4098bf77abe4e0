# SPDX-License-Identifier: Apache-2.0
"""The server of a Franka arm needs no sockets: it takes bytes and returns bytes and torques."""

import select
import socket
import struct

import numpy as np
import pytest
from support.refusals import refused
from support.robots import find

import rbdyn_ros as rb
from rbdyn_ros.control_box.boxes import BoxName, equipped
from rbdyn_ros.control_box.franka import packets
from rbdyn_ros.control_box.franka.arm import READY, FrankaArm
from rbdyn_ros.control_box.franka.gripper import GripperServer
from rbdyn_ros.control_box.franka.packets import (
    GripperRequest,
    GripperStatus,
    Mode,
    MoveStatus,
    Request,
)
from rbdyn_ros.control_box.franka.paths import joint_error
from rbdyn_ros.control_box.franka.robot import RobotServer
from rbdyn_ros.control_box.paths import Stream
from rbdyn_ros.control_box.sensing import MeasuredArm
from rbdyn_ros.control_box.sockets import Endpoint, check_address
from rbdyn_ros.description.source import read
from rbdyn_ros.share import bundled_robot

EXTERNAL, ALONE = 2, 4
WIDE = np.array([10.0, 3.12, 6.28] * 2)


class Rig:
    """A simulated Panda, its server, and a client that writes the bytes of the protocol."""

    def __init__(self, connect=True, source=None):
        source = source or find("panda.urdf")
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
        """Send a request; return the body of the newest answer, or None without an answer."""
        self.number += 1
        head = struct.pack("<III", command, self.number, 12 + len(payload))
        self.server.request(head + payload)
        return self.answer()

    def answer(self):
        """Return the body of the newest answer, or None without an answer."""
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
        """Run one cycle of `ticks` ticks, with a command if one is given; return the state."""
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


def test_ticks_that_the_box_missed_are_counted(rig):
    first, second = rig.cycle(), rig.cycle(ticks=3)
    assert second["message_id"] == first["message_id"] + 3
    rig.move()
    rig.cycle()
    rig.cycle(tau_J_d=np.zeros(7))
    rig.cycle(ticks=21)
    assert rig.answer() == bytes([MoveStatus.REFLEX])
    assert rig.errors("reflex_reason") == ["communication_constraints_violation"]


def test_a_command_that_answers_a_future_state_is_ignored(rig):
    rig.move()
    rig.cycle(id=2**64 - 1, tau_J_d=np.zeros(7))
    assert rig.server.waits_to_begin
    rig.cycle(tau_J_d=np.zeros(7))
    assert not rig.server.waits_to_begin


def test_the_rate_of_torques_is_computed_over_the_passed_ticks(rig):
    for ticks in (1, 4):
        before = rig.server.sensing.tau.copy()
        rig.cycle(ticks=ticks)
        gap = rig.server.sensing.tau - before
        assert rig.server.sensing.dtau == pytest.approx(gap / (ticks * 1e-3))


def test_the_arm_holds_its_pose(rig):
    for _ in range(300):
        state = rig.cycle()
    assert state["robot_mode"] == Mode.IDLE
    assert rig.d.qpos[:7] == pytest.approx(READY, abs=1e-6)
    assert rig.server.rests


@pytest.mark.parametrize("version", [5, 9, 11])
def test_another_version_of_the_protocol_is_refused_with_a_status(version):
    rig = Rig(connect=False)
    body = rig.ask(Request.CONNECT, np.array((version, 4242), packets.CONNECT).tobytes())
    assert body == b"\x01\x0a\x00"
    assert f"version {version}" in rig.said[0]
    assert rig.server.udp_port == 0


def test_a_client_must_connect_first_and_only_once():
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


def test_a_request_that_arrives_in_two_parts_is_answered(rig):
    head = struct.pack("<III", Request.STOP_MOVE, 7, 12)
    rig.server.request(head[:5])
    assert rig.server.answers() == b""
    rig.server.request(head[5:])
    assert rig.answer() == b"\x00"


def test_torques_act_with_gravity_one_cycle_later(rig):
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
def test_a_wrong_command_raises_the_error_of_its_kind(rig, move, first, second, error):
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


def test_the_last_torque_acts_only_for_a_few_lost_commands(rig):
    rig.move()
    rig.cycle(tau_J_d=np.full(7, 0.2))
    for _ in range(19):
        state = rig.cycle()
        assert state["tau_J_d"] == pytest.approx(0.2)
    assert 0.0 < state["control_command_success_rate"] < 0.1
    rig.cycle()
    assert rig.errors() == ["communication_constraints_violation"]


def test_a_motion_without_commands_continues_with_its_acceleration(rig):
    rig.move(0, 1)
    rig.cycle(dq_c=np.zeros(7))
    rig.cycle(dq_c=np.full(7, 1e-3))
    rig.cycle()
    rig.cycle()
    assert rig.cycle()["dq_d"] == pytest.approx(3e-3)


def test_repeated_commands_and_commands_out_of_order_are_ignored(rig):
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
        ({"generator": 0, "asynchronous": 1}, MoveStatus.INVALID_ARGUMENT),
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
def test_settings_are_applied_or_refused(rig, request_, good, bad):
    assert rig.ask(request_, good.tobytes()) == b"\x00"
    assert rig.ask(request_, bad.tobytes()) == b"\x02"


def test_a_declared_load_is_not_an_external_torque(rig):
    rig.m = rb.with_payload(rig.m, "panda_hand", 1.0, (0.0, 0.0, 0.1))
    rig.d = rb.make_data(rig.m)
    rig.d.qpos[rig.arm.qposadr] = READY
    for _ in range(400):
        state = rig.cycle()
    assert abs(state["K_F_ext_hat_K"][2]) == pytest.approx(9.81, rel=0.02)
    # the hand is rotated about z of the flange, so the position of the load is the same
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
    rig.server.press_user_stop(False)  # the user stop is already released
    assert rig.cycle()["robot_mode"] == Mode.MOVE


def test_a_reboot_ends_a_motion_and_clears_load_and_errors(rig):
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


def hand_of(rig):
    return rig.m.body_names.index("panda_link7")


def speed_up(rig, name, goal, cycles):
    """Increase the command `name` linearly from 0 to a goal (n,); return the last state."""
    for k in range(cycles + 1):
        state = rig.cycle(**{name: goal * k / cycles})
    return state


def jump(rig):
    """Run a cycle; return the largest change of a torque [N m]."""
    before = rig.now.copy()
    rig.cycle()
    return np.abs(rig.now - before).max()


def test_the_end_of_external_torques_does_not_pull_the_arm_to_its_desired_joints(rig):
    rig.move(EXTERNAL, 1)
    speed_up(rig, "dq_c", 0.5 * np.eye(7)[0], 200)
    for k in range(200):
        state = rig.cycle(dq_c=0.5 * np.eye(7)[0] * (1.0 - (k + 1) / 200))
    assert abs(state["q_d"][0] - state["q"][0]) > 0.05
    rig.cycle(dq_c=np.zeros(7), motion_generation_finished=1)
    assert rig.answer() == bytes([MoveStatus.SUCCESS])
    assert jump(rig) < 5.0
    for _ in range(100):
        rig.cycle()
        assert np.abs(rig.d.qvel[:7]).max() < 0.1


def test_a_pushed_arm_is_held_where_it_is_when_cartesian_impedance_ends(rig):
    rig.ask(Request.SET_COLLISION_BEHAVIOR, np.full(52, 1e5).tobytes())
    rig.ask(Request.SET_CARTESIAN_IMPEDANCE, np.array([100.0] * 3 + [50.0] * 3).tobytes())
    rig.move(1, 1)
    for _ in range(1500):
        rig.d.xfrc_applied[hand_of(rig), :3] = [0.0, 20.0, 0.0]
        state = rig.cycle(dq_c=np.zeros(7))
    assert np.abs(state["q_d"] - state["q"]).max() > 0.1
    rig.cycle(dq_c=np.zeros(7), motion_generation_finished=1)
    assert jump(rig) < 30.0  # the push itself is a force of 20 N with a lever of less than a metre


def test_a_move_waits_until_the_arm_has_braked(rig):
    rig.move(0, 1)
    state = speed_up(rig, "dq_c", np.eye(7)[0], 200)
    rig.ask(Request.STOP_MOVE)
    given = np.zeros((), packets.PAYLOADS[Request.MOVE])
    given["generator"], given["path_deviation"] = 1, WIDE[:3]
    assert rig.ask(Request.MOVE, given.tobytes()) is None
    before, started = state["dq_d"], None
    while started is None:
        state = rig.cycle()
        assert np.abs(state["dq_d"] - before).max() < 0.0151
        before, started = state["dq_d"], rig.answer()
    assert started == bytes([MoveStatus.STARTED])
    assert state["robot_mode"] == Mode.MOVE


def test_stop_move_ends_a_move_that_waits(rig):
    rig.move(0, 1)
    speed_up(rig, "dq_c", np.eye(7)[0], 200)
    rig.ask(Request.STOP_MOVE)
    given = np.zeros((), packets.PAYLOADS[Request.MOVE])
    rig.ask(Request.MOVE, given.tobytes())
    rig.server.request(struct.pack("<III", Request.STOP_MOVE, 99, 12))
    assert bytes([MoveStatus.PREEMPTED]) in rig.server.answers()
    for _ in range(200):
        assert rig.cycle()["robot_mode"] == Mode.IDLE


def test_a_push_without_a_motion_does_not_end_the_next_motion(rig):
    for _ in range(200):
        rig.d.xfrc_applied[hand_of(rig), :3] = [0.0, 60.0, 0.0]
        state = rig.cycle()
    assert state["cartesian_collision"].any()
    rig.d.xfrc_applied[:] = 0.0
    for _ in range(500):
        rig.cycle()
    rig.ask(Request.AUTOMATIC_ERROR_RECOVERY)
    assert not rig.cycle()["cartesian_collision"].any()
    rig.server.sensing.collision[:] = 1.0
    assert rig.move() == MoveStatus.STARTED
    assert rig.cycle()["robot_mode"] == Mode.MOVE


def guided_away(rig):
    rig.server.guide(True)
    for _ in range(300):
        rig.d.xfrc_applied[hand_of(rig), :3] = [10.0, 10.0, 0.0]
        rig.cycle()
    rig.d.xfrc_applied[:] = 0.0
    assert np.abs(rig.d.qpos[:7] - READY).max() > 0.05


def test_a_user_stop_holds_a_guided_arm_where_it_is(rig):
    guided_away(rig)
    rig.server.press_user_stop(True)
    assert jump(rig) < 30.0


def test_a_reset_ends_guiding_and_errors(rig):
    rig.ask(Request.SET_GUIDING_MODE, bytes(7))
    rig.server.guide(True)
    rig.cycle()
    rig.d.qpos[:7] += 0.3
    rig.server.restart()
    assert rig.cycle()["robot_mode"] == Mode.IDLE
    rig.cycle()
    assert rig.now == pytest.approx(rig.server.sensing.gravity, abs=1.0)
    rig.move()
    rig.cycle(tau_J_d=np.full(7, 5.0))
    assert rig.cycle()["robot_mode"] == Mode.REFLEX
    rig.server.restart()
    assert rig.cycle()["robot_mode"] == Mode.IDLE
    assert rig.errors() == []


def test_settings_do_not_jerk_a_guided_arm(rig):
    frame = np.eye(4)
    frame[0, 3] = 0.3
    guided_away(rig)
    assert rig.ask(Request.SET_EE_TO_K, frame.T.ravel().tobytes()) == b"\x01"
    assert rig.ask(Request.SET_NE_TO_EE, frame.T.ravel().tobytes()) == b"\x01"
    assert rig.ask(Request.SET_GUIDING_MODE, bytes(7)) == b"\x00"
    rig.d.qvel[:] = 0.0
    rig.cycle()
    assert jump(rig) < 5.0


def test_the_user_stop_keeps_errors_and_releasing_it_again_ends_no_motion(rig):
    rig.move()
    rig.cycle(tau_J_d=np.zeros(7))
    rig.server.press_user_stop(False)
    assert rig.cycle(tau_J_d=np.zeros(7))["robot_mode"] == Mode.MOVE
    rig.cycle(tau_J_d=np.full(7, 5.0))
    rig.server.press_user_stop(True)
    assert rig.cycle()["robot_mode"] == Mode.USER_STOPPED
    rig.server.press_user_stop(False)
    assert rig.cycle()["robot_mode"] == Mode.REFLEX
    assert rig.errors() == ["controller_torque_discontinuity"]


def test_a_client_gets_no_answer_to_a_recovery_that_the_last_client_requested(rig):
    rig.move()
    rig.cycle(tau_J_d=np.zeros(7))
    rig.cycle(tau_J_d=np.full(7, 5.0))
    rig.ask(Request.AUTOMATIC_ERROR_RECOVERY)
    rig.server.close()
    for _ in range(300):
        state = rig.cycle()
    assert state["robot_mode"] == Mode.IDLE
    assert rig.server.answers() == b""


def test_a_torque_may_change_by_more_than_the_limit_of_a_cycle_after_lost_cycles(rig):
    rig.move()
    rig.cycle(tau_J_d=np.zeros(7))
    rig.cycle()
    rig.cycle(tau_J_d=np.full(7, 1.8))
    assert rig.errors() == []
    rig.cycle(tau_J_d=np.full(7, 4.0))
    assert rig.errors() == ["controller_torque_discontinuity"]


def test_the_first_commanded_elbow_may_be_the_measured_elbow(rig):
    rig.move(0, 3)
    for _ in range(3):
        rig.cycle(valid_elbow=1, elbow_c=[1e-3, -1.0])
    assert rig.errors() == []
    assert rig.cycle()["q_d"][2] == pytest.approx(1e-3, abs=1e-4)


def test_the_elbow_must_stay_within_the_path_deviation(rig):
    rig.move(0, 1, deviation=np.array([10.0, 3.0, 1e-4] * 2))
    rig.cycle(dq_c=np.zeros(7))
    rig.d.qpos[rig.arm.qposadr[2]] += 1e-3
    rig.cycle(dq_c=np.zeros(7))
    assert rig.errors() == ["max_path_pose_deviation_violation"]


def test_the_speed_limit_holds_for_the_end_effector(rig):
    frame = np.eye(4)
    frame[0, 3] = 2.0
    rig.ask(Request.SET_EE_TO_K, frame.T.ravel().tobytes())
    rig.ask(Request.SET_COLLISION_BEHAVIOR, np.full(52, 1e5).tobytes())
    rig.move(0, 1)
    speed_up(rig, "dq_c", 0.9 * np.eye(7)[0], 400)
    twist = rig.server.sensing.at.J @ rig.server.sensing.at.dq
    assert np.linalg.norm(twist[:3]) > rig.arm.limits.translation[0] * 1.01
    assert rig.errors() == []
    rig = Rig()
    rig.ask(Request.SET_NE_TO_EE, frame.T.ravel().tobytes())
    rig.ask(Request.SET_COLLISION_BEHAVIOR, np.full(52, 1e5).tobytes())
    rig.move(0, 1)
    speed_up(rig, "dq_c", 0.9 * np.eye(7)[0], 400)
    assert rig.errors() == ["cartesian_velocity_violation"]


def test_a_panda_may_move_fast_near_a_limit(rig):
    stream = Stream(rig.arm.upper - 4e-3, np.full(7, 1.0))
    assert joint_error("", stream, np.zeros(7), rig.arm) == ""


@pytest.mark.parametrize(
    ("mass", "com", "inertia"),
    [
        (1e5, [0.0] * 3, np.zeros(9)),
        (1.0, [9e5, 0.0, 0.0], np.zeros(9)),
        (1.0, [0.0] * 3, np.array([0.5, 0.1, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.5])),
        (1.0, [0.0] * 3, 1e5 * np.eye(3).ravel()),
    ],
)
def test_an_impossible_load_is_refused(rig, mass, com, inertia):
    assert rig.ask(Request.SET_LOAD, np.array([mass, *com, *inertia]).tobytes()) == b"\x02"


def test_a_frame_far_from_the_flange_is_refused(rig):
    frame = np.eye(4)
    frame[0, 3] = 9.0
    assert rig.ask(Request.SET_NE_TO_EE, frame.T.ravel().tobytes()) == b"\x02"


@pytest.mark.parametrize(
    ("generator", "command"),
    [
        (0, {"q_c": np.full(7, 1e305)}),
        (1, {"dq_c": np.full(7, -1e305)}),
        (2, {"O_T_EE_c": np.full(16, 1e200)}),
        (3, {"O_dP_EE_c": np.full(6, 1e305)}),
        (3, {"valid_elbow": 1, "elbow_c": [1e305, -1.0]}),
    ],
)
def test_huge_numbers_are_refused(rig, generator, command):
    rig.move(0, generator)
    with np.errstate(all="raise"):
        rig.cycle(**command)
    assert rig.answer() == bytes([MoveStatus.INPUT_ERROR])


def test_a_body_fixed_to_a_link_belongs_to_the_link(tmp_path):
    camera = """<link name="camera"><inertial><origin xyz="0.1 0 0"/><mass value="2"/>
      <inertia ixx="0.01" iyy="0.02" izz="0.03" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="bracket" type="fixed"><origin xyz="0 0.1 0.2" rpy="0.3 0.2 0.1"/>
      <parent link="panda_link4"/><child link="camera"/></joint></robot>"""
    text = find("panda.urdf").read_text().replace("</robot>", camera)
    source = tmp_path / "panda.urdf"
    source.write_text(text)
    rig = Rig(source=source)
    q, dq = np.add(READY, 0.2), np.linspace(-0.5, 0.5, 7)
    rig.d.qpos[:7], rig.d.qvel[:7] = q, dq
    rig.arm.at(q, dq)
    exact = rb.mass_matrix(rig.m, rig.d)[:7, :7]
    assert rig.arm.inertia() == pytest.approx(exact, abs=1e-9)
    assert rig.arm.gravity_torque() == pytest.approx(rb.gravity_term(rig.m, rig.d)[:7], abs=1e-9)


class Hand:
    """The server of the hand, with simulated fingers that stop at a width [m]."""

    def __init__(self, rig, width):
        self.server = GripperServer(rig.arm, print)
        self.server.udp_port = 1
        self.fingers, self.number = len(rig.arm.fingers), 0
        self.stop(width)

    def stop(self, width, cycles=1):
        """Run with fingers at a width [m]; return how much farther each finger is to open [m]."""
        for _ in range(cycles):
            self.server.observe(np.full(self.fingers, width / 2.0), np.zeros(self.fingers))
            torques = self.server.act()
        return torques.position[0] - width / 2.0

    def grasp(self, width, stops, tolerance=0.005):
        self.number += 1
        body = struct.pack("<5d", width, tolerance, tolerance, 0.05, 30.0)
        head = struct.pack("<HII", GripperRequest.GRASP, self.number, 10 + len(body))
        self.server.request(head + body)
        wants = self.stop(stops, 500)
        return wants, self.server.answers()[10:]

    @property
    def holds(self):
        return bool(np.frombuffer(self.server.packet(), packets.GRIPPER_STATE)[0]["is_grasped"])


@pytest.mark.parametrize(("begins", "side"), [(0.06, -1.0), (0.02, 1.0)])
def test_a_second_grasp_holds_the_object_of_the_first(rig, begins, side):
    hand = Hand(rig, begins)
    for _ in range(2):
        wants, answer = hand.grasp(0.04, 0.04 + side * 2e-4)
        assert answer == bytes(2)
        assert side * wants > 1e-3
        assert hand.holds
    hand.stop(0.04 + side * 0.01)
    assert not hand.holds


def test_a_grasp_presses_an_object_that_the_fingers_already_touch(rig):
    hand = Hand(rig, 0.0398)
    wants, answer = hand.grasp(0.04, 0.0398)
    assert answer == bytes(2)
    assert wants < -1e-3


def test_closed_fingers_do_not_grasp(rig):
    _, answer = Hand(rig, 0.0).grasp(0.0, 0.0)
    assert answer == bytes([GripperStatus.UNSUCCESSFUL, 0])


def test_a_robot_without_the_joints_of_the_arm_is_refused():
    m, description = (f(bundled_robot("pendulum")) for f in (rb.load, read))
    with refused(rb.RbdynError, "request"):
        FrankaArm(m, description)


@pytest.mark.parametrize("text", ["panda", "franka@", "franka@localhost", "left/franka@1.2.3.4x"])
def test_a_wrong_name_of_a_box_is_refused(text):
    with refused(rb.RbdynError, "request"):
        BoxName.parsed(text)


def test_an_address_outside_the_loopback_range_needs_permission():
    with refused(rb.RbdynError, "request"):
        check_address("192.168.1.2", anywhere=False)
    with refused(rb.RbdynError, "request"):
        check_address("1.2.3", anywhere=True)
    assert "without a password" in check_address("192.168.1.2", anywhere=True)
    assert check_address("127.9.9.9", anywhere=False) == ""


def test_a_second_client_is_refused_while_the_first_is_connected():
    said = []
    end = Endpoint(Rig(connect=False).server, "robot", "127.0.0.1", 0, said.append)
    _, listener = end.sockets
    clients = []
    try:
        for _ in range(2):
            clients.append(socket.create_connection(listener.getsockname(), 10.0))
            select.select([listener], [], [], 10.0)
            end.serve()
        _, refused_one = said
        assert refused_one.endswith("this box serves 127.0.0.1 and has one client at a time")
        assert clients[1].recv(1) == b""
        clients[0].close()
        select.select(end.sockets[2:], [], [], 10.0)
        end.serve()
        assert said[2:] == ["robot: the client left"]
        assert not end.connected
    finally:
        for one in (*clients, end):
            one.close()
