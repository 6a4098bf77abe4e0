# SPDX-License-Identifier: Apache-2.0
"""A node with a control box: a client of raw sockets connects, and a wrong box is refused."""

import socket
import struct

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from std_srvs.srv import SetBool
from support.raw_client import address
from support.robots import find

from rbdyn_ros.control_box.franka import packets
from rbdyn_ros.control_box.franka.packets import Mode

ADDRESS = address()


@pytest.mark.parametrize("where", ["parameter", "scene"])
def test_a_node_with_a_box(simulate, peer, tmp_path, where):
    robot, box = find("panda.urdf"), f"franka@{ADDRESS}"
    scene = tmp_path / "scene.yaml"
    scene.write_text(f"rbdyn_scene: 1\nrobot: {{file: {robot}, box: {box}}}\n")
    source = ("--scene", scene) if where == "scene" else (robot, "--box", box)
    forever = ("-p", "time_mode:=lockstep", "-p", "lockstep_timeout:=0.0")
    simulate(*source, "--ros-args", *forever)
    with (
        socket.create_connection((ADDRESS, packets.ROBOT_PORT), 60.0) as client,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as states,
    ):
        states.bind(("", 0))
        states.settimeout(60.0)
        client.sendall(struct.pack("<IIIHH", 0, 0, 16, 10, states.getsockname()[1]))
        assert client.recv(15) == struct.pack("<IIIBH", 0, 0, 15, 0, 10)
        state = np.frombuffer(states.recv(4096), packets.STATE)[0]
        later = np.frombuffer(states.recv(4096), packets.STATE)[0]
        assert state["m_ee"] == pytest.approx(0.76)
        assert later["message_id"] == state["message_id"] + 1
        with socket.create_connection((ADDRESS, packets.ROBOT_PORT), 60.0) as second:
            assert second.recv(1) == b""  # one client at a time

        def asked(button, on):
            return peer.call(SetBool, f"simulator/{button}", SetBool.Request(data=on))

        def until(mode):
            while np.frombuffer(states.recv(4096), packets.STATE)[0]["robot_mode"] != mode:
                pass

        until(Mode.IDLE)
        for button, mode in (("user_stop", Mode.USER_STOPPED), ("guiding", Mode.GUIDING)):
            assert asked(button, True).success
            until(mode)
            if button == "user_stop":
                assert "only an idle arm" in asked("guiding", True).message
            assert asked(button, False).success
            until(Mode.IDLE)
        assert peer.trigger("simulator/reboot")
        assert client.recv(1) == b""


def test_a_boxed_robot_needs_a_name_for_services(simulate, tmp_path):
    scene, box = tmp_path / "scene.yaml", f"franka@{ADDRESS}"
    robots = f"{{left arm: {{file: {find('panda.urdf')}, box: {box}}}}}"
    scene.write_text(f"rbdyn_scene: 1\nrobots: {robots}\n")
    simulator = simulate("--scene", scene, wait=False)
    assert simulator.process.wait(600.0) != 0
    assert "robot 'left arm' has a control box with ROS services" in simulator.text()
