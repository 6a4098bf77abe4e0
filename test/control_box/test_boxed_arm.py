# SPDX-License-Identifier: Apache-2.0
"""A control box in a process without ROS."""

import os
import socket
import struct

import numpy as np
import pytest
from support.refusals import refused
from support.robots import find

import rbdyn_ros as rb
from rbdyn_ros.control_box.franka import packets

SCENE = """rbdyn_scene: 1
robots:
  left: {{file: {robot}, xyz: [0, 0.5, 0], box: franka@{left}}}
  right: {{file: {robot}, xyz: [0, -0.5, 0], box: franka@{right}}}
  bystander: {{file: {robot}, xyz: [0, 2, 0]}}
"""


def test_an_error_that_ends_a_box_is_raised_at_the_end():
    def fail(_):
        raise OSError("the network is down")

    arm = rb.BoxedArm(find("panda.urdf"), ["franka@127.9.8.7"])
    box = arm.boxes.all[0]
    box.robot.observe = fail
    arm.__enter__()
    box._thread.join(timeout=60.0)
    assert box.failure is not None
    with pytest.raises(OSError, match="the network is down"):
        arm.close()
    assert not arm.loop.running


def test_each_arm_of_a_scene_file_has_its_box(tmp_path):
    pid = os.getpid()
    left, right = (f"127.{k}.{pid // 255 % 255}.{1 + pid % 254}" for k in (10, 11))
    path = tmp_path / "cell.yaml"
    path.write_text(SCENE.format(robot=find("panda.urdf"), left=left, right=right))
    poses = {f"{name}/panda_joint{j}": q for name, j, q in (("left", 4, -2.0), ("right", 4, -1.5))}
    with rb.BoxedArm(path, start=poses):
        for address, q4 in ((left, -2.0), (right, -1.5)):
            with (
                socket.create_connection((address, packets.ROBOT_PORT), 60.0) as client,
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as states,
            ):
                states.bind(("", 0))
                states.settimeout(20.0)
                client.sendall(struct.pack("<IIIHH", 0, 0, 16, 10, states.getsockname()[1]))
                state = np.frombuffer(states.recv(4096), packets.STATE)[0]
                assert state["q"][3] == pytest.approx(q4, abs=1e-3)


def test_an_arm_has_one_box():
    with refused(rb.RbdynError, "request"):
        rb.BoxedArm(find("panda.urdf"), ["franka@127.9.8.7", "franka@127.9.8.8"])
