"""The life cycle that both nodes share."""

import threading

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

import rclpy

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
