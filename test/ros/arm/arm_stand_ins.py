# SPDX-License-Identifier: Apache-2.0
"""Replacements for a controlled arm: an arm at rest, and an arm that follows trajectories."""

import threading

import numpy as np
from support.robots import find

import rbdyn_ros as rb
from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.control.base.friction import Friction
from rbdyn_ros.control.controller import Progress
from rbdyn_ros.errors import refusal
from rbdyn_ros.ros.common.reports.answer import MessageLog

SECOND = 1_000_000_000
STAMP = 5 * SECOND + 7
START = 100 * SECOND
NAMES = ("lift", "turn")


class Held:
    """A Panda at rest: seven joints, and a finger with a mimic joint."""

    def __init__(self):
        m = rb.load_urdf(find("panda.urdf"))
        n = m.nv
        friction = Friction.of(n, viscous=np.arange(1.0, n + 1.0), coulomb=0.5)
        self.arm = Arm(m, friction=friction, robot_compensates_gravity=True)
        rng = np.random.default_rng(5)
        self.qpos, self.qvel = rng.uniform(-1.0, 1.0, (2, n))
        self.known, self.collisions, self.base = True, None, "panda_link0"
        self.gains = np.full(n, 400.0), np.full(n, 40.0)
        self.effort_limits = np.full(n, 20.0)

    def measured(self):
        return (self.qpos.copy(), self.qvel.copy(), STAMP) if self.known else None

    def set_payload(self, link, mass, com, inertia):
        self.arm = self.arm.with_payload(link, mass, com, inertia)


class Following:
    """An arm that stores its trajectories and is at a position that the test sets."""

    names = NAMES

    def __init__(self):
        self.lock = threading.Lock()
        self.now = Progress(START, np.zeros((3, 2)), np.zeros((2, 2)), 4, True, "")
        self.taken, self.stops, self.why, self.at_the_same_time = [], 0, "", 0

    def follow(self, message):
        if self.why:
            raise refusal(self.why)
        with self.lock:
            self.taken.append(message)
            self.change(number=self.now.number + 1 + self.at_the_same_time, done=False)

    def change(self, **fields):
        values = {name: getattr(self.now, name) for name in Progress.__slots__}
        self.now = Progress(**(values | fields))

    def arrive(self, seconds=0.0, off=(0.0, 0.0), speed=0.0):
        """End the trajectory after `seconds`, with position errors `off` and a joint `speed`."""
        desired = np.zeros((3, 2))
        desired[0] = self.taken[-1].points[-1].positions
        actual = np.stack([desired[0] - off, np.full(2, speed)])
        time = self.now.time + int(seconds * SECOND)
        self.change(desired=desired, actual=actual, done=True, time=time)

    def progress(self):
        return self.now

    def stop_following(self):
        self.stops += 1
        self.change(done=True)


def message_log(node):
    """Return the log in which a node counts the messages that it refuses."""
    return MessageLog(node.get_logger().warning)
