# SPDX-License-Identifier: Apache-2.0
"""Control boxes run in real time, in a process without ROS; the client uses raw sockets."""

import contextlib
import math
import socket
import struct
import threading
import time

import numpy as np
import pytest
from support.raw_client import PATIENT, RawClient, address, settled, until
from support.refusals import refused
from support.robots import find

import rbdyn_ros as rb
from rbdyn_ros.control_box.franka import packets
from rbdyn_ros.control_box.franka.arm import READY
from rbdyn_ros.control_box.franka.packets import Request
from rbdyn_ros.control_box.wire import LineFaults, WireLine
from rbdyn_ros.share import bundled_robot

SCENE = """\
rbdyn_scene: 1
robots:
  left: {{file: {panda}, xyz: [0, 0.6, 0]}}
  right: {{file: {other}, xyz: [0, -0.6, 0]}}
"""
CELL = """\
rbdyn_scene: 1
robots:
  left: {{file: {robot}, xyz: [0, 0.5, 0], box: franka@{left}}}
  right: {{file: {robot}, xyz: [0, -0.5, 0], box: franka@{right}}}
  bystander: {{file: {robot}, xyz: [0, 2, 0]}}
"""
LEFT, RIGHT = f"left/franka@{address()}", f"right/franka@{address(1)}"


@contextlib.contextmanager
def boxed_panda(said, **more):
    box = [f"franka@{address()}"]
    more = {"patience": PATIENT, "log": said.append} | more
    with rb.BoxedArm(find("panda.urdf"), box, **more) as arm:
        yield arm


def scene(tmp_path, other):
    path = tmp_path / "two.yaml"
    path.write_text(SCENE.format(panda=find("panda.urdf"), other=other))
    return path


def test_an_error_that_ends_a_box_is_raised_at_the_end(said):
    def fail(*_):
        raise OSError("the network is down")

    with (  # noqa: PT012 - the end of the block raises
        pytest.raises(OSError, match="the network is down"),
        boxed_panda(said) as arm,
    ):
        box = arm.boxes.all[0]
        box.robot.observe = fail
        box._thread.join(timeout=PATIENT)
        assert box.failure is not None
    assert not arm.loop.running


def test_an_action_that_fails_does_not_end_the_box(said):
    with boxed_panda(said) as arm:
        found = arm.boxes.all[0].do(lambda: 1 / 0)
        assert isinstance(found.exception(PATIENT), ZeroDivisionError)
        until(lambda: any("ZeroDivisionError" in text for text in said))
        with RawClient(address()) as client:
            client.turn()


def test_two_arms_move_one_after_the_other(tmp_path, said):
    path = scene(tmp_path, find("panda.urdf"))
    with rb.BoxedArm(path, [LEFT, RIGHT], patience=PATIENT, log=said.append) as arm:
        with RawClient(address()) as left, RawClient(address(1)) as right:
            before = settled(arm).tick
            assert left.turn(100) == [1] * 99
            assert settled(arm).tick > before + 100
            assert right.turn(100) == [1] * 99
            assert left.turn(100) == [1] * 99
        assert settled(arm).tick > before + 300


def test_two_arms_move_at_the_same_time(tmp_path, said):
    path = scene(tmp_path, find("panda.urdf"))
    with (
        rb.BoxedArm(path, [LEFT, RIGHT], patience=PATIENT, log=said.append),
        RawClient(address()) as left,
        RawClient(address(1)) as right,
    ):
        threads = [threading.Thread(target=one.turn, daemon=True) for one in (left, right)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENT)
            assert not thread.is_alive()


def test_joints_without_a_box_do_not_stop_time(tmp_path, said):
    path = scene(tmp_path, bundled_robot("pendulum"))
    with rb.BoxedArm(path, [LEFT], patience=PATIENT, log=said.append) as arm:
        until(lambda: arm.loop.readout.latest().tick > 10)


@pytest.mark.parametrize("patience", [1e4, math.inf])
def test_a_box_that_waits_for_a_command_can_be_closed(said, patience):
    with boxed_panda(said, patience=patience) as arm, RawClient(address()) as client:
        client.command(client.move())
        box = arm.boxes.all[0]
        until(lambda: box.robot.awaits)
        settled(arm)
        ending = threading.Thread(target=arm.close, daemon=True)
        ending.start()
        ending.join(PATIENT)
        assert not ending.is_alive()
        arm.boxes.check()


@pytest.mark.parametrize("reset", [False, True])
def test_a_stop_or_a_reset_ends_the_wait_for_a_command(said, reset):
    with boxed_panda(said, patience=math.inf) as arm, RawClient(address()) as client:
        client.ask(Request.SET_COLLISION_BEHAVIOR, np.full(52, 1e5).tobytes())
        client.turn(600, speed=0.6)  # the arm moves far, so that a reset is a jump
        client.command(client.move())
        robot = arm.boxes.all[0].robot
        until(lambda: robot.awaits)
        settled(arm)
        if reset:
            arm.loop.plant.reset()
        else:
            client.ask(Request.STOP_MOVE)
        until(lambda: robot.rests)
        client.answer()  # this is the answer to the Move, or to the StopMove after it
        client.turn()


def test_a_reset_while_time_is_stopped_moves_the_held_position(said):
    with boxed_panda(said) as arm, RawClient(address()) as client:
        wide = np.full(52, 1e5)
        client.ask(Request.SET_COLLISION_BEHAVIOR, wide.tobytes())
        client.turn(600, speed=0.6)
        moved = settled(arm).qpos[6]
        assert moved > READY[6] + 0.1
        arm.loop.plant.reset()
        # the arm is reset although time is stopped
        until(lambda: abs(client.state()["q"][6] - READY[6]) < 1e-3)
        client.turn(100, speed=1e-9)
        assert settled(arm).qpos[6] == pytest.approx(READY[6], abs=1e-3)


def test_a_slow_first_command_does_not_change_the_motion(said):
    with boxed_panda(said), RawClient(address()) as client:
        assert client.turn(slow=0.6) == [1] * 99


def test_a_pause_between_two_motions_does_not_change_them(said):
    ends = []
    for pause in (0.0, 0.3):
        with boxed_panda(said) as arm, RawClient(address()) as client:
            client.turn()
            time.sleep(pause)
            client.turn()
            ends.append(settled(arm))
    assert ends[0].tick == ends[1].tick
    assert ends[0].hash() == ends[1].hash()


def test_foreign_and_broken_datagrams_do_not_count_as_commands(said):
    with boxed_panda(said) as arm, RawClient(address()) as client:
        state = client.move()
        client.command(state)
        state = client.state(after=int(state["message_id"]))
        tick = arm.loop.readout.latest().tick
        future = np.zeros((), packets.COMMAND)
        future["message_id"] = 2**64 - 1
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as foreign:
            for _ in range(40):
                client.udp.sendto(b"\xff" * 8, client.box)
                client.udp.sendto(future.tobytes(), client.box)
                foreign.sendto(future.tobytes(), client.box)
        time.sleep(0.2)  # the box logs nothing to wait for
        assert arm.loop.readout.latest().tick == tick
        client.command(state, torque_command_finished=True)
        assert client.answer() == b"\x00"


def test_the_box_processes_every_tick_in_real_time(said):
    with boxed_panda(said, time_mode="realtime") as arm, RawClient(address()) as client:
        until(lambda: arm.loop.readout.latest().tick > 100)
        box, gaps = arm.boxes.all[0], []
        for _ in range(200):
            box.do(lambda: gaps.append(box._tick - int(box.robot._number)))
            client.state()
        until(lambda: len(gaps) >= 200)
        assert len(set(gaps)) == 1
        assert settled_pose(arm) == pytest.approx(READY, abs=1e-3)
        assert not box.robot.sensing.joint_collision.any()


def settled_pose(arm):
    return arm.loop.readout.latest().qpos[:7]


def test_a_client_that_reads_no_answers_is_disconnected(said):
    with boxed_panda(said), RawClient(address()) as client:
        many = struct.pack("<III", Request.GET_ROBOT_MODEL, 1, 12) * 500
        with contextlib.suppress(ConnectionError):
            client.tcp.sendall(many * 10)
        until(lambda: any("reads no answers" in text for text in said))


@pytest.mark.parametrize(
    ("given", "code", "text"),
    [
        ({"start": {"nojoint": 0.0}}, "bad-argument", "nojoint"),
        ({"start": {"panda_joint1": math.nan}}, "bad-argument", "start: panda_joint1 is nan"),
        ({"seed": 2**70}, "bad-argument", "seed is"),
        ({"patience": "x"}, "request", "patience is 'x'"),
        ({"patience": -1}, "request", "patience is -1"),
        ({"patience": math.nan}, "request", "patience is nan"),
        ({"time_mode": "fast"}, "bad-argument", "time_mode is 'fast'"),
    ],
)
def test_the_error_about_a_wrong_argument_names_it(given, code, text):
    with refused(rb.RbdynError, code) as caught:
        rb.BoxedArm(find("panda.urdf"), [f"franka@{address()}"], **given)
    assert text in str(caught.value)


def test_an_arm_without_boxes_is_refused():
    with refused(rb.RbdynError, "request"):
        rb.BoxedArm(find("panda.urdf"), [])


def test_lost_packets_are_drawn_independently_for_each_box_and_packet():
    def lost(line):
        line.faults = LineFaults(drop=0.5)
        for tick in range(64):
            for k in range(2):
                line.send(tick, bytes([tick, k]))
        return {tuple(packet) for packet in line.arrived(64)}

    one = lost(WireLine(0, 1, 0))
    assert one != lost(WireLine(0, 1, 1))
    assert one == lost(WireLine(0, 1, 0))
    assert {tick for tick, k in one if k == 0} != {tick for tick, k in one if k == 1}


def test_each_arm_of_a_scene_file_has_its_box(tmp_path, said):
    path = tmp_path / "cell.yaml"
    path.write_text(CELL.format(robot=find("panda.urdf"), left=address(2), right=address(3)))
    poses = {"left/panda_joint4": -2.0, "right/panda_joint4": -1.5}
    with rb.BoxedArm(path, start=poses, log=said.append):
        for where, q4 in ((address(2), -2.0), (address(3), -1.5)):
            with RawClient(where) as client:
                assert client.state()["q"][3] == pytest.approx(q4, abs=1e-3)


def test_two_boxes_for_one_arm_are_refused():
    with refused(rb.RbdynError, "request"):
        rb.BoxedArm(find("panda.urdf"), [f"franka@{address(k)}" for k in (0, 1)])
