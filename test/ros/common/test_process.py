"""The life cycle that both nodes share."""

import subprocess
import sys
import threading

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

import rclpy
from support import domains

from rbdyn_ros.errors import RbdynError, refusal
from rbdyn_ros.ros.common.process import ManagedNode


def test_a_failed_load_ends_loading(domain):
    rclpy.init(domain_id=domain)
    node = ManagedNode("loader", threading.Event())

    def fail():
        with node.load():
            assert node.loading
            raise refusal("no robot")

    try:
        with pytest.raises(RbdynError):
            fail()
        assert not node.loading
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


#: A program with a node, which ends with its input.
FORGOTTEN = """
import sys
import rclpy
rclpy.init(domain_id=int(sys.argv[1]))
node = rclpy.create_node("forgotten")
print("up", flush=True)
sys.stdin.read()
"""


def test_the_domain_of_a_running_node_is_not_given_to_a_test(domain):
    """A simulator that a developer left running answers tests of its domain."""
    assert not domains.is_in_use(domain)
    words = [sys.executable, "-c", FORGOTTEN, str(domain)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(words, **pipes, text=True) as other:
        assert other.stdout.readline() == "up\n"
        in_use = domains.is_in_use(domain)
        other.stdin.close()
    assert in_use
