# SPDX-License-Identifier: Apache-2.0
"""A control box in a process without ROS."""

import pytest
from support.robots import find

import rbdyn_ros as rb


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
