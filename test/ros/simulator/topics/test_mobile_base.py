# SPDX-License-Identifier: Apache-2.0
"""A mobile base gets commands after lost states, and ignores twists from before a reset."""

from types import SimpleNamespace

import numpy as np
import pytest
from support.rovers import TURTLEBOT3

pytest.importorskip("nav_msgs.msg")

from geometry_msgs.msg import Twist
from nav_msgs.msg import Odometry

from rbdyn_ros.ros.common.settings.base_parameters import PARAMETERS
from rbdyn_ros.ros.simulator.topics.mobile_base import MobileBase, base_joints

TICK = 1_000_000  # [ns]


class Stand:
    """A mobile base without a loop: the test passes states, and commands are stored."""

    def __init__(self, node):
        m = TURTLEBOT3.model()
        self.m, self.commands, self.epoch = m, [], 0
        values = {row.name: row.default for row in PARAMETERS} | {
            "base.kind": "auto",
            "floating_base": True,
            "time_mode": "lockstep",
            "frame_prefix": "",
            "publish_tf": False,
        }
        values = SimpleNamespace(**values)
        orders = SimpleNamespace(command=lambda _, tick: self.commands.append(tick))
        self.speeds = lambda command, _: self.commands.append(command.velocity)
        readout = SimpleNamespace(stream=SimpleNamespace(newest=(-1, 0)))
        loop = SimpleNamespace(m=m, period_ns=TICK, orders=orders, readout=readout)
        self.base = MobileBase(node, loop, base_joints(m, values), values)
        subscribe = lambda _node, _kind, _topic, take: setattr(self, "take", take)  # noqa: E731
        self.base.subscribe(SimpleNamespace(subscribe=subscribe))

    def drive(self, forward):
        message = Twist()
        message.linear.x = forward
        self.take(message)

    def state(self, tick, arrives=True):
        measured = np.zeros(self.m.nv)
        self.base.publish(
            tick * TICK,
            SimpleNamespace(
                epoch=self.epoch,
                tick=tick,
                measured_tick=tick if arrives else -1,
                measured_position=measured,
            ),
        )


def test_a_lost_state_still_gets_a_command_but_no_odometry(peer):
    heard = peer.collect(Odometry, "odom")
    stand = Stand(peer.node)
    peer.until(lambda: stand.base._publisher.get_subscription_count() > 0)
    stand.state(0)
    stand.drive(0.1)
    for tick in range(1, 5):
        stand.state(tick, arrives=tick != 3)
    assert stand.commands == [1, 2, 3, 4]
    peer.until(lambda: any(message.header.stamp.nanosec == 4 * TICK for message in heard))
    assert 3 * TICK not in [message.header.stamp.nanosec for message in heard]


def test_a_twist_from_before_a_reset_of_time_is_ignored(peer):
    """The twist arrives during the reset, when the last state is still from before the reset."""
    stand = Stand(peer.node)
    stand.base._loop.orders.command = stand.speeds
    stand.state(5000)
    stand.drive(0.1)
    stand.epoch = 1
    stand.state(0)
    stand.state(1)
    assert np.all(stand.commands[-1] == 0.0)


def test_the_age_of_a_twist_counts_from_the_newest_state_even_if_the_base_skipped_it(peer):
    stand = Stand(peer.node)
    stand.base._loop.orders.command = stand.speeds
    stand.state(0)
    stand.base._loop.readout.stream.newest = 0, 5000 * TICK
    stand.drive(0.1)
    stand.state(5001)
    assert np.all(stand.commands[-1] > 0.0)


def test_the_age_of_a_twist_right_after_a_reset_of_time_counts_from_zero(peer):
    stand = Stand(peer.node)
    stand.base._loop.orders.command = stand.speeds
    stand.state(5000)
    stand.base.forget()
    stand.drive(0.1)
    stand.epoch = 1
    stand.state(0)
    stand.state(1)
    assert np.all(stand.commands[-1] > 0.0)
