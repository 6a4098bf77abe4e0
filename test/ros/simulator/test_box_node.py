# SPDX-License-Identifier: Apache-2.0
"""A node with a control box: a client of raw sockets connects, and a wrong box is refused."""

import os
import socket
import struct

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from support.robots import find

from rbdyn_ros.control_box.franka import packets

ADDRESS = f"127.8.{os.getpid() // 255 % 255}.{1 + os.getpid() % 254}"


@pytest.mark.parametrize("where", ["parameter", "scene"])
def test_a_node_with_a_box(simulate, tmp_path, where):
    robot, box = find("panda.urdf"), f"franka@{ADDRESS}"
    scene = tmp_path / "scene.yaml"
    scene.write_text(f"rbdyn_scene: 1\nrobot: {{file: {robot}, box: {box}}}\n")
    source = ("--scene", scene) if where == "scene" else (robot, "--box", box)
    simulate(*source, "--ros-args", "-p", "time_mode:=lockstep")
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
