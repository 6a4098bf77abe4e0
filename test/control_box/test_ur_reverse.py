# SPDX-License-Identifier: Apache-2.0
"""A box of Universal Robots in lock-step connects to the servers of its client over sockets."""

import contextlib
import socket
import struct
import time

import numpy as np
import pytest
from support.raw_client import PATIENT, address
from support.refusals import refused
from support.reverse_client import (
    CANCELED,
    CUBIC,
    SUCCESS,
    Driver,
    action,
    command,
    message,
    point,
    program,
)
from support.robots import find
from test_ur_abandoned import until
from test_ur_servers import packet

import rbdyn_ros as rb
from rbdyn_ros.control_box.box import WireFaults
from rbdyn_ros.control_box.sockets import Dialled
from rbdyn_ros.control_box.ur import reverse
from rbdyn_ros.control_box.ur.arm import READY
from rbdyn_ros.control_box.ur.external_control import ExternalControl
from rbdyn_ros.control_box.ur.reverse import IntegerSession, ReverseLinks, SenderSession
from rbdyn_ros.control_box.ur.rtde import RTDE_PORT
from rbdyn_ros.control_box.wire import LineFaults
from rbdyn_ros.errors import ParameterError

HOME = np.array(READY)


class Rtde:
    """A client of RTDE that reads states at 500 Hz."""

    def __init__(self):
        self.socket = socket.create_connection((address(), RTDE_PORT), PATIENT)
        self._file = self.socket.makefile("rb")
        recipe = struct.pack(">d", 500.0) + b"timestamp,actual_q,runtime_state"
        self.socket.sendall(packet("V", b"\0\2") + packet("O", recipe) + packet("S"))
        for _ in range(3):
            self._packet()

    def _packet(self):
        size, kind = struct.unpack(">HB", self._file.read(3))
        return kind, self._file.read(size - 3)

    def state(self):
        """Return the time, the joint positions and the state of the program in the next state."""
        kind, body = self._packet()
        while kind != ord("U"):
            kind, body = self._packet()
        t, *q, runtime = struct.unpack(">7dI", body[1:])
        return t, np.array(q), runtime

    def close(self):
        self._file.close()
        self.socket.close()


@contextlib.contextmanager
def boxed(said, **more):
    more = {"patience": 30.0, "log": said.append} | more
    with rb.BoxedArm(find("ur5_robot.urdf"), [f"ur@{address()}"], **more) as arm:
        yield arm.boxes.all[0]


def upload(text):
    with socket.create_connection((address(), 30001), PATIENT) as link:
        link.sendall(b"stop program\n" + text.encode())


@contextlib.contextmanager
def driven(said, **more):
    """Yield a box, and a Driver whose program the box runs; `more` goes to BoxedArm."""
    with boxed(said, **more) as box, Driver(address()) as driver:
        upload(driver.program)
        driver.accept()
        yield box, driver


def swung(driver, rtde, steps=300):
    """Swing the last joint: answer each of `steps` states with a servoj."""
    start = rtde.state()[1]
    for k in range(steps):
        goal = start.copy()
        goal[5] += 0.2 * np.sin(np.pi * k / steps) ** 2
        driver.reverse.sendall(message("SERVOJ", goal, timeout=0.02))
        rtde.state()


def test_a_stream_of_commands_gives_the_same_motion_twice(said):
    found = []
    for _ in range(2):
        with driven(said) as (box, driver):
            driver.reverse.sendall(message("IDLE", timeout=0.0))
            rtde = Rtde()
            path = []
            box.watch = lambda state, path=path: path.append(state.qpos[:6].copy())
            swung(driver, rtde)
            found.append(np.array(path))
            driver.reverse.sendall(message("STOPPED"))
            until(lambda box=box: box.robot.program is None)
            assert driver.reverse.recv(1) == b""  # the box has closed the client's connection
            rtde.close()
    first, second = (path[np.argmax(path[:, 5] > 1e-3) :] for path in found)
    same = min(len(first), len(second), 590)  # most of the 600 ticks are compared
    assert same > 500
    assert first[:same, 5].max() > 0.15
    # the arm is still settling when the stream begins, and the number of ticks until then varies
    np.testing.assert_allclose(first[:same], second[:same], rtol=0.0, atol=1e-15)


def test_a_trajectory_reports_its_result(said):
    with driven(said) as (box, driver):
        goal = HOME + 0.1
        driver.reverse.sendall(action("TRAJECTORY_MODE_RECEIVE", 2, timeout=0.0))
        driver.points.sendall(
            point("MOVEJ", HOME + 0.05, third=(1.0, 2.0))
            + point("SPLINE", goal, time=0.4, form=CUBIC)
        )
        assert driver.result() == SUCCESS
        assert box.robot.joints.x == pytest.approx(goal, abs=1e-6)
        driver.commands.sendall(command("SET_PAYLOAD", [1.2, 0.0, 0.0, 0.05]))
        until(lambda: box.robot.arm.load.mass == pytest.approx(1.2))
        driver.commands.sendall(command("START_TOOL_CONTACT") + command("END_TOOL_CONTACT"))
        assert driver.result(driver.commands) == CANCELED  # there was no contact


def test_a_client_that_dies_ends_its_program_and_the_next_one_works(said):
    with boxed(said) as box:
        with Driver(address()) as first:
            upload(first.program)
            first.accept()
            first.reverse.sendall(message("SPEEDJ", [0.2] * 6, timeout=0.0))
            until(lambda: box.robot.joints.v[0] > 0.19)
        until(lambda: box.robot.program is None)
        assert any("the client has closed the reverse interface" in text for text in said)
        until(lambda: not box.robot.joints.v.any())
        with Driver(address()) as second:
            upload(second.program)
            second.accept()
            second.reverse.sendall(message("SPEEDJ", [0.1] * 6, timeout=0.0))
            until(lambda: box.robot.joints.v[0] > 0.09)
    assert box.failure is None


def test_a_box_does_not_wait_for_a_client_that_died(said):
    with driven(said, patience=1e6) as (box, driver):
        driver.reverse.sendall(message("IDLE", timeout=0.0))
        rtde = Rtde()
        for _ in range(20):
            driver.reverse.sendall(message("SPEEDJ", [0.1] * 6, timeout=0.0))
            rtde.state()
        until(lambda: box.robot.awaits)
        driver.hang_up()
        until(lambda: box.robot.program is None)
        rtde.close()


def test_a_client_that_dies_while_time_is_stopped_ends_its_program(said):
    with driven(said) as (box, driver):
        driver.reverse.sendall(message("IDLE", timeout=0.0))
        until(lambda: box.robot.program.mode == "IDLE" and box.robot.rests)
        driver.hang_up()
        until(lambda: box.robot.program is None)


def test_a_second_program_replaces_the_first(said):
    with driven(said) as (box, first), Driver(address()) as second:
        one = box.robot.program
        upload(second.program)
        second.accept()
        assert box.robot.program is not one
        assert first.reverse.recv(1) == b""
        second.reverse.sendall(message("IDLE", timeout=0.0))


def test_a_reboot_disconnects_the_client_and_stops_the_arm(said):
    with driven(said) as (box, driver):
        driver.reverse.sendall(message("SPEEDJ", [0.2] * 6, timeout=0.0))
        until(lambda: box.robot.joints.v[0] > 0.19)
        box.do(box.reboot).result(PATIENT)
        assert driver.reverse.recv(1) == b""
        until(lambda: box.robot.program is None and not box.robot.joints.v.any())
        with Driver(address()) as second:
            upload(second.program)
            second.accept()


def test_an_unreachable_server_of_a_client_is_reported(said, monkeypatch):
    monkeypatch.setattr("rbdyn_ros.control_box.sockets.DIAL", 0.3)
    with boxed(said) as box, socket.create_server((address(), 0)) as server:
        port = server.getsockname()[1]
        server.close()
        upload(program(address(), (port, port, port)))
        until(lambda: any("there is no" in text for text in said))
        assert f"there is no trajectory interface at {address()} port {port}" in said[-1]
        until(lambda: box.robot.program is None)


@pytest.mark.parametrize("host", ["192.0.2.1", "example.org", "", "1.2.3"])
def test_a_box_on_the_loopback_connects_to_no_other_machine(host):
    links, called = ReverseLinks("127.0.0.1", print), ExternalControl.read(program(host))
    links.follow(called)
    assert "is not an address that this box may call" in called.unreachable
    assert not links.ends


def test_a_box_on_another_address_connects_to_other_machines():
    links, called = ReverseLinks("192.0.2.7", print), ExternalControl.read(program("192.0.2.1"))
    links.follow(called)
    assert not called.unreachable
    assert len(links.ends) == 1


def test_delays_of_the_connection_apply_to_commands_and_results(said):
    with driven(said) as (box, driver):
        driver.reverse.sendall(message("IDLE", timeout=0.0))
        until(lambda: box.robot.program.mode == "IDLE")
        ticks, moving, box.runs_on = [0], [], True

        def watch(state):
            ticks.append(state.tick)
            if box.robot.motion is not None:
                moving.append(state.tick)

        box.do(lambda: setattr(box, "wire", WireFaults(LineFaults(400), LineFaults(300))))
        box.watch = watch
        until(lambda: len(ticks) > 10)
        sent = ticks[-1]
        driver.reverse.sendall(action("TRAJECTORY_MODE_RECEIVE", 1, timeout=0.0))
        driver.points.sendall(point("MOVEJ", HOME, time=0.2))
        assert driver.result() == SUCCESS
        assert moving[0] - sent >= 300
        assert moving[-1] - moving[0] == pytest.approx(200, abs=5)
        assert ticks[-1] - moving[-1] >= 395


def test_a_dead_connection_ends_the_program_after_its_timeout(said):
    with driven(said) as (box, driver):
        driver.reverse.sendall(message("SPEEDJ", [0.1] * 6, timeout=0.1))
        until(lambda: box.robot.joints.v[0] > 0.09 or box.robot.program is None)
        box.do(lambda: setattr(box, "wire", WireFaults(commands=LineFaults(dead=True))))
        for _ in range(200):
            with contextlib.suppress(OSError):
                driver.reverse.sendall(message("SPEEDJ", [0.1] * 6, timeout=0.1))
            time.sleep(1e-3)
        until(lambda: box.robot.program is None)
        assert any("no message has come by the reverse interface for 0.1 s" in one for one in said)


def test_a_box_fetches_the_program_from_its_client_when_the_user_presses_play(said, monkeypatch):
    sender = socket.create_server((address(), 0))
    with boxed(said) as box, Driver(address()) as driver, sender:
        sender.settimeout(PATIENT)
        monkeypatch.setattr(reverse, "SENDER", sender.getsockname())
        with socket.create_connection((address(), 29999), PATIENT) as dashboard:
            dashboard.sendall(b"load external_control.urp\nplay\n")
            link, _ = sender.accept()
            assert link.recv(100) == b"request_program\n"
            body = "\n".join(driver.program.splitlines()[1:-1])
            link.sendall(f"{body}\n# NODE_CONTROL_LOOP_ENDS\n".encode())
            driver.accept()
            assert link.recv(1) == b""
            link.close()
            until(lambda: isinstance(box.robot.program, ExternalControl))
            dashboard.sendall(b"programState\n")
            answers = b""
            while b"PLAYING" not in answers:
                answers += dashboard.recv(1000)
            assert b"Starting program\n" in answers


def test_a_missing_program_server_is_reported(said, monkeypatch):
    monkeypatch.setattr("rbdyn_ros.control_box.sockets.DIAL", 0.3)
    with socket.create_server((address(), 0)) as closed:
        monkeypatch.setattr(reverse, "SENDER", closed.getsockname())
    with boxed(said) as box:
        box.do(lambda: setattr(box.robot, "plays", True)).result(PATIENT)
        until(lambda: any("there is no program at" in text for text in said))
        assert box.robot.program is None


def test_an_endless_program_is_refused():
    session = SenderSession(print)
    with pytest.raises(ValueError, match="a program has more than"):
        session.request(b"x" * (2**20 + 1))


def test_a_refused_connection_is_tried_again(monkeypatch):
    with socket.create_server((address(), 0)) as server:
        where = server.getsockname()
    session = IntegerSession(2)
    end = Dialled(session, "a server", *where, print)
    monkeypatch.setattr("rbdyn_ros.control_box.sockets.DIAL_AGAIN", 0.0)
    assert not end.receive()
    assert not end.connected
    with socket.create_server(where) as server:
        until(lambda: not end.receive() and end.connected)
        link, _ = server.accept()
        link.sendall(struct.pack(">3i", 1, -2, 3))
        until(lambda: [end.pass_on(*found) for found in end.receive()])
        assert list(session.rows) == [(1, -2)]
        link.close()
        until(lambda: not end.receive() and not end.connected)
        assert not session.open
    end.close()


def test_a_box_connects_to_no_client_after_a_reboot(monkeypatch):
    monkeypatch.setattr("rbdyn_ros.control_box.sockets.DIAL_AGAIN", 0.0)
    with socket.create_server((address(), 0)) as server:
        where = server.getsockname()
    end = Dialled(IntegerSession(2), "a server", *where, print)
    assert not end.receive()
    end.hang_up("the box reboots")
    with socket.create_server(where):
        for _ in range(3):
            assert not end.receive()
        assert not end.connected
    end.close()


def test_the_socket_of_a_full_session_is_not_polled():
    session = IntegerSession(2)
    with socket.create_server((address(), 0)) as server:
        end = Dialled(session, "a server", *server.getsockname(), print)
        until(lambda: not end.receive() and end.connected)
        assert len(end.sockets) == 1
        session.request(bytes(8 * reverse.MOST_ROWS))
        assert not end.sockets
        end.close()
        link, _ = server.accept()
        assert link.recv(1) == b""
        link.close()


def test_an_unknown_mode_of_realtime_privileges_is_refused():
    with refused(ParameterError, "bad-argument"):
        rb.BoxedArm(find("ur5_robot.urdf"), ["ur"], realtime="perhaps")
