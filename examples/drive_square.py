# SPDX-License-Identifier: Apache-2.0
"""Drive a square of 1 m by cmd_vel and odom, and print how far from its start the base ends.

    rbdyn sim tiago --contact --floating-base --ros-args -p base.kind:=auto
    python examples/drive_square.py

A base that cannot turn in place drives quarters of a circle with --radius. A base that can move
sideways keeps its heading with --sideways.
"""

import argparse
import math
from collections.abc import Sequence

import rclpy
from geometry_msgs.msg import Twist
from nav_msgs.msg import Odometry
from rclpy.executors import Executor, SingleThreadedExecutor
from rclpy.node import Node

#: Time constant of the braking at the end of a line or rotation [s], and least speed [m/s].
SOON, LEAST = 0.4, 0.02


class Driver:
    """Drives distances that odom measures.

    Args:
        node: publishes and subscribes.
        executor: executor of the node.
        speed: largest speed [m/s].
        turning: largest turning speed [rad/s].
    """

    def __init__(
        self, node: Node, executor: Executor, speed: float = 0.3, turning: float = 0.6
    ) -> None:
        self.speed, self.turning = speed, turning
        self.pose: tuple[float, float, float] | None = None
        self._publisher = node.create_publisher(Twist, "cmd_vel", 10)
        node.create_subscription(Odometry, "odom", self._on_odometry, 10)
        self._executor = executor

    def _on_odometry(self, message: Odometry) -> None:
        at, turn = message.pose.pose.position, message.pose.pose.orientation
        self.pose = (at.x, at.y, 2.0 * math.atan2(turn.z, turn.w))

    def wait(self) -> tuple[float, float, float]:
        """Wait for odom; return x [m], y [m] and yaw [rad]."""
        self.pose = None
        while self.pose is None:
            self._executor.spin_once(timeout_sec=0.1)
        return self.pose

    def send(self, forward: float, left: float, turn: float) -> None:
        """Send a twist [m/s, rad/s]."""
        message = Twist()
        message.linear.x, message.linear.y, message.angular.z = forward, left, turn
        self._publisher.publish(message)

    def straight(self, way: float, heading: float, sideways: bool = False) -> None:
        """Drive a distance [m] along a heading [rad] of odom; `sideways` keeps the yaw at zero."""
        x, y, _ = self.wait()
        while True:
            px, py, angle = self.wait()
            dx, dy = px - x, py - y
            rest = way - dx * math.cos(heading) - dy * math.sin(heading)
            if rest <= 1e-4:
                break
            aside = dy * math.cos(heading) - dx * math.sin(heading)
            speed = min(self.speed, max(rest / SOON, LEAST))
            if sideways:
                course = heading - angle
                c, s = math.cos(course), math.sin(course)
                self.send(speed * c + aside * s, speed * s - aside * c, -2.0 * wrapped(angle))
            else:
                self.send(speed, 0.0, 2.0 * wrapped(heading - angle) - 2.0 * aside)
        self.stop()

    def turn(self, heading: float, radius: float = 0.0) -> None:
        """Turn to a heading [rad], in place or on an arc of a radius [m]."""
        while True:
            rest = wrapped(heading - self.wait()[2])
            if abs(rest) < 1e-3 or (radius and rest < 0.0):
                break
            speed = min(self.turning, max(abs(rest) / SOON, 0.05))
            if radius:
                speed = min(speed, self.speed / radius)
            self.send(speed * radius, 0.0, math.copysign(speed, rest))
        self.stop()

    def stop(self) -> None:
        """Stop, and wait until the base rests."""
        last, still = self.wait(), 0
        while still < 20:
            self.send(0.0, 0.0, 0.0)
            now = self.wait()
            moved = max(abs(a - b) for a, b in zip(now, last, strict=True))
            still, last = (still + 1 if moved < 1e-5 else 0), now

    def square(self, side: float, radius: float = 0.0, sideways: bool = False) -> None:
        """Drive a square, with round corners or without turning.

        Args:
            side: length of the straight lines [m].
            radius: radius of the corners [m].
            sideways: whether the base keeps its heading.
        """
        first = self.wait()[2]
        for k in range(4):
            heading = first + k * math.pi / 2
            self.straight(side, heading, sideways)
            if not sideways:
                self.turn(heading + math.pi / 2, radius)


def wrapped(angle: float) -> float:
    """Return an angle from -pi to pi [rad]."""
    return math.remainder(angle, 2.0 * math.pi)


def main(args: Sequence[str] | None = None) -> None:
    """Drive the square."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--side", type=float, default=1.0, help="[m]")
    parser.add_argument("--radius", type=float, default=0.0, help="of the corners [m]")
    parser.add_argument("--sideways", action="store_true")
    options = parser.parse_args(args)
    rclpy.init()
    node = rclpy.create_node("drive_square")
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    driver = Driver(node, executor)
    x, y, angle = driver.wait()
    driver.square(options.side, options.radius, options.sideways)
    px, py, end = driver.wait()
    off = math.hypot(px - x, py - y)
    print(f"closed within {1e3 * off:.1f} mm and {wrapped(end - angle):.4f} rad by odom")
    rclpy.try_shutdown()


if __name__ == "__main__":
    main()
