# SPDX-License-Identifier: Apache-2.0
"""A control box in a process without ROS."""

import pytest
from support.robots import find

import rbdyn_ros as rb


def test_an_error_that_ends_a_box_is_raised_at_the_end():
    def fail(_):
        raise OSError("the network is down")

    with (
        pytest.raises(OSError, match="the network is down"),
        rb.BoxedArm(find("panda.urdf"), ["franka@127.9.8.7"]) as arm,
    ):
        box = arm.boxes.all[0]
        box.robot.observe = fail
        box._thread.join(timeout=60.0)
        assert box.failure is not None
    assert not arm.loop.running
