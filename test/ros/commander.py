# SPDX-License-Identifier: Apache-2.0
"""A controller in its own process, which answers states with efforts.

python commander.py JOINTS END [--jitter SEED] [--flood COPIES] answers END ticks with commands for
JOINTS (names separated by commas), then ends. With END 0 it answers until it is killed.
"""

import argparse
import random
import time

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState


def law(position, velocity):
    """Return the effort of each joint [N m or N]; equal states get bitwise equal efforts."""
    return 3.0 * (0.8 - position) - 0.25 * velocity


class Commander:
    """A node that answers every state once.

    Args:
        node: node that publishes and subscribes.
        joints: names of the joints, in any order.
        end: number of ticks to answer, counted from the first state's tick; 0: no end.
        period: duration of a tick [ns].
        pause: function that is called before each command, e.g. to wait.
        copies: number of times that each command is sent.
    """

    def __init__(self, node, joints, end=0, period=1_000_000, pause=lambda: None, copies=1):
        self.joints, self.end, self.period = joints, end, period
        self.pause, self.copies = pause, copies
        self.answered = 0
        self.done = False
        self.begin = self.last = None
        self.publisher = node.create_publisher(JointState, "joint_commands", 10)
        node.create_subscription(JointState, "joint_states", self.answer, QoSProfile(depth=10))

    def answer(self, state):
        stamp = state.header.stamp.sec * 10**9 + state.header.stamp.nanosec
        self.begin = stamp if self.begin is None else self.begin
        if self.end and stamp - self.begin >= self.end * self.period:
            self.done = True
            return
        self.pause()
        command = JointState(name=self.joints)
        command.header.stamp = state.header.stamp
        command.effort = [self._effort(state, name) for name in self.joints]
        for _ in range(self.copies):
            self.publisher.publish(command)
        self.answered += stamp != self.last
        self.last = stamp

    @staticmethod
    def _effort(state, name):
        k = state.name.index(name)
        return law(state.position[k], state.velocity[k])


def jitter(seed):
    """Return a function that sometimes sleeps for up to 4 ms, at random."""
    chance = random.Random(seed)

    def pause():
        if chance.random() < 0.03:
            time.sleep(chance.random() * 0.004)

    return pause


def executor(context):
    """Return the fastest executor that this rclpy offers."""
    try:
        from rclpy.experimental.events_executor import EventsExecutor
    except ImportError:
        return SingleThreadedExecutor(context=context)
    return EventsExecutor(context=context)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("joints")
    parser.add_argument("end", type=int)
    parser.add_argument("--jitter", type=int)
    parser.add_argument("--flood", type=int, default=1)
    given = parser.parse_args()
    rclpy.init()
    node = rclpy.create_node("commander")
    pause = (lambda: None) if given.jitter is None else jitter(given.jitter)
    joints = given.joints.split(",")
    commander = Commander(node, joints, given.end, pause=pause, copies=given.flood)
    spinner = executor(node.context)
    spinner.add_node(node)
    print("ready", flush=True)
    while not commander.done:
        spinner.spin_once(timeout_sec=0.1)
    print(f"answered {commander.answered}", flush=True)


if __name__ == "__main__":
    main()
