# SPDX-License-Identifier: Apache-2.0
"""Run the simulator node inside another program, which drives it."""

import gc
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import rclpy
from rclpy.node import Node

from rbdyn_ros.ros.common.lifecycle import process
from rbdyn_ros.ros.messages.build import provide
from rbdyn_ros.ros.simulator.node import Simulator
from rbdyn_ros.ros.simulator.setup import Setup

#: Topics for commands in lock-step.
COMMANDS = ("joint_commands", "joint_commands_by_mode")
#: Time [s] that the other side may need to discover this node, after this node has discovered it.
SETTLING = 0.2


@contextmanager
def embedded(setup: Setup) -> Iterator[Simulator]:
    """Run a simulator in this process until the end of the block, and yield its node.

    Time already runs when the block begins. The simulator uses the ROS domain of the
    environment, which no other simulator may use.

    Raises:
        RbdynError: a parameter or the robot is refused.
        BaseException: setup.connect raises it.
    """
    provide()
    sys.setswitchinterval(process.SWITCH_INTERVAL)
    process.init([])
    node: Simulator | None = None
    try:
        node = Simulator(threading.Event(), setup=setup)
        node.begin()
        node.serve()
        yield node
    finally:
        if node is not None:
            node.close()
        rclpy.try_shutdown()
        node = None
        gc.collect()  # frees threads and sockets of the node


def has_commander(node: Node) -> bool:
    """Return whether another node receives the states and sends commands."""
    listening = node.count_subscribers("joint_states") > 0
    return listening and any(node.count_publishers(topic) > 0 for topic in COMMANDS)


def wait_for_commander(node: Node, check: Callable[[], object]) -> None:
    """Wait until a node receives states and sends commands; call `check`, which may raise."""
    while not has_commander(node):
        check()
        time.sleep(0.005)
    time.sleep(SETTLING)
