# SPDX-License-Identifier: Apache-2.0
"""Clients connect to a control box that a node simulates, and a wrong box is refused."""

import importlib.util
import json
import socket
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool
from support.raw_client import address
from support.robots import find

from rbdyn_ros.control_box.franka import packets
from rbdyn_ros.control_box.franka.packets import Mode

ADDRESS = address()
UR_CLIENT = Path(__file__).parents[2] / "control_box" / "ur_client.py"


@pytest.mark.parametrize("where", ["parameter", "scene"])
def test_a_node_simulates_a_box(simulate, peer, tmp_path, where):
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
            assert second.recv(1) == b""  # the box accepts one client at a time

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


@pytest.mark.skipif(
    importlib.util.find_spec("rtde_control") is None,
    reason='ur-rtde is not installed (pip install "rbdyn_ros[box-test]")',
)
def test_joint_states_on_the_topic_and_in_rtde_agree_while_the_view_runs(simulate, peer):
    box = ("--box", f"ur@{ADDRESS}")
    view = ("-p", "view:=true", "-p", "view_port:=0")
    mode = ("-p", "time_mode:=lockstep", "-p", "lockstep_timeout:=0.0")
    simulator = simulate(find("ur5_robot.urdf"), *box, "--ros-args", *mode, *view)
    simulator.wait_for("view: http://")
    states = peer.collect(JointState, "joint_states")
    words = [sys.executable, str(UR_CLIENT), ADDRESS, "joints"]
    client = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    peer.until(lambda: client.poll() is not None)
    found = json.loads(client.stdout.read())
    assert found["done"]

    def gap():
        """Return the largest difference between positions in joint_states and in RTDE [rad]."""
        return np.abs(np.array(states[-1].position) - found["q"]).max()

    # simulated time stops when the client ends; the arm is slower than 1e-3 rad/s by then
    peer.until(lambda: gap() < 1e-5)
    assert abs(states[-1].position[0] - states[0].position[0]) > 0.2
    assert "shoulder_pan_joint" in states[-1].name[0]


def test_a_robot_with_a_box_needs_a_name_that_is_valid_in_ros(simulate, tmp_path):
    scene, box = tmp_path / "scene.yaml", f"franka@{ADDRESS}"
    robots = f"{{left arm: {{file: {find('panda.urdf')}, box: {box}}}}}"
    scene.write_text(f"rbdyn_scene: 1\nrobots: {robots}\n")
    simulator = simulate("--scene", scene, wait=False)
    assert simulator.process.wait(600.0) != 0
    assert "robot 'left arm' has a control box with ROS services" in simulator.text()
