# SPDX-License-Identifier: Apache-2.0
"""Move the tool of an arm by a gamepad or a spacemouse, while a button is pressed.

    rbdyn sim ur5.urdf --ros-args -p servo.frame:=tool0 -p on_timeout:=hold
    ros2 run joy joy_node                                       # or spacenav spacenav_node
    python examples/joy_twist.py                                # or with --spacemouse

The node sends a TwistStamped for every sensor_msgs/Joy. When the button is released, or the device
sends no messages, the node sends nothing more, and the arm stops.
"""

import argparse
import contextlib
import math
from collections.abc import Sequence

import rclpy
from geometry_msgs.msg import TwistStamped
from rclpy.node import Node
from sensor_msgs.msg import Joy

#: Axes for x, y, z, roll, pitch, yaw, first of a gamepad with joy_node, then of spacenav_node.
GAMEPAD, SPACEMOUSE = (1, 0, 4, 6, 7, 3), (0, 1, 2, 3, 4, 5)
#: Deflections below this value count as zero.
DEAD_ZONE = 0.05


class JoyTwist(Node):
    """Sends a twist for each message of a joystick.

    Args:
        frame: frame with the axes of the twist.
        axes: axes of the device for x, y, z, roll, pitch, yaw.
        deadman: button that must be pressed.
        linear: speed of the tool at full deflection [m/s].
        angular: angular velocity of the tool at full deflection [rad/s].
    """

    def __init__(
        self, frame: str, axes: Sequence[int], deadman: int, linear: float, angular: float
    ) -> None:
        super().__init__("joy_twist")
        self.frame, self.axes, self.deadman = frame, axes, deadman
        self.scale = [linear] * 3 + [angular] * 3
        self.pressed = False
        self.publisher = self.create_publisher(TwistStamped, "twist", 10)
        self.create_subscription(Joy, "joy", self.on_joy, 10)

    def on_joy(self, message: Joy) -> None:
        pressed = self.deadman < len(message.buttons) and message.buttons[self.deadman] == 1
        if pressed:
            self.send([self.deflection(message, axis) for axis in self.axes])
        elif self.pressed:
            self.send([0.0] * 6)
        self.pressed = pressed

    @staticmethod
    def deflection(message: Joy, axis: int) -> float:
        """Return the deflection of an axis, from -1 to 1, or 0 if the device lacks the axis."""
        value = float(message.axes[axis]) if axis < len(message.axes) else 0.0
        if not math.isfinite(value) or abs(value) < DEAD_ZONE:
            return 0.0
        return max(-1.0, min(1.0, value))

    def send(self, deflections: Sequence[float]) -> None:
        twist = TwistStamped()
        twist.header.stamp = self.get_clock().now().to_msg()
        twist.header.frame_id = self.frame
        numbers = [a * b for a, b in zip(deflections, self.scale, strict=True)]
        v, w = twist.twist.linear, twist.twist.angular
        v.x, v.y, v.z, w.x, w.y, w.z = numbers
        self.publisher.publish(twist)


def main(args: Sequence[str] | None = None) -> None:
    """Send twists until Ctrl-C."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--topic", default="/simulator/twist", help="or /arm_controller/twist")
    parser.add_argument("--frame", default="tool0", help="link whose axes the twist has")
    parser.add_argument("--spacemouse", action="store_true", help="read spacenav/joy")
    parser.add_argument("--deadman", type=int, default=0, help="number of the button")
    parser.add_argument("--linear", type=float, default=0.1, help="[m/s]")
    parser.add_argument("--angular", type=float, default=0.5, help="[rad/s]")
    options = parser.parse_args(args)
    joy = "/spacenav/joy" if options.spacemouse else "/joy"
    remap = ["--ros-args", "-r", f"twist:={options.topic}", "-r", f"joy:={joy}"]
    rclpy.init(args=remap)
    axes = SPACEMOUSE if options.spacemouse else GAMEPAD
    node = JoyTwist(options.frame, axes, options.deadman, options.linear, options.angular)
    with contextlib.suppress(KeyboardInterrupt):
        rclpy.spin(node)
    rclpy.try_shutdown()


if __name__ == "__main__":
    main()
