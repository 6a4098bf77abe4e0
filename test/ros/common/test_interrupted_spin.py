# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C ends a user's node that waits for messages, even if Numba has compiled before."""

import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

NODE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
import rclpy
from rclpy.executors import ExternalShutdownException
from rbdyn_ros.engine.compiler.interrupts import deferred
{before}
rclpy.init()
{after}
node = rclpy.create_node("waiting")
print("waits", flush=True)
try:
    rclpy.spin(node)
except (KeyboardInterrupt, ExternalShutdownException):
    print("ended")
"""
COMPILED = "with deferred(): pass"


@pytest.mark.parametrize("when", ["before", "after"])
def test_ctrl_c_wakes_a_node_that_waits(when):
    code = NODE.format(**{"before": "", "after": ""} | {when: COMPILED})
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as node:
        assert node.stdout.readline() == "waits\n"
        time.sleep(1.0)  # by now the node waits in rcl_wait
        try:
            node.send_signal(signal.SIGINT)
            said, _ = node.communicate(timeout=60.0)  # [s], limits a hang
        finally:
            node.kill()
    assert said == "ended\n"
