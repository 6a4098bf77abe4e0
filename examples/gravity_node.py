# SPDX-License-Identifier: Apache-2.0
"""Hold a robot up against gravity: a complete controller on ROS 2 topics.

In one terminal  make sim
in another       .venv/bin/python examples/gravity_node.py [robot.urdf]

Every joint of the robot must have one degree of freedom and must not be a mimic joint.
"""

import signal
import sys

import numpy as np
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState

import rbdyn_ros as rb
from rbdyn_ros.share import bundled_robot

#: Rate at which motion decays [1/s]; without damping a pushed robot keeps drifting. The mass
#: matrix turns it into efforts: one number for all joints would shake the wrist, whose inertia is
#: small, if commands are late by some milliseconds.
DAMPING = 5.0


class GravityNode(Node):
    """Answers every state with the efforts that hold the robot in its position."""

    def __init__(self, urdf: str) -> None:
        super().__init__("gravity_node")
        self.m = rb.load_urdf(urdf)
        self.d = rb.make_data(self.m)
        self.publisher = self.create_publisher(JointState, "joint_commands", 10)
        self.create_subscription(JointState, "joint_states", self.answer, 10)
        self.create_timer(1.0, self.report)

    def answer(self, state: JointState) -> None:
        order = [state.name.index(name) for name in self.m.jnt_names]  # by name, as always in ROS
        self.d.qpos = np.array(state.position)[order]
        self.d.qvel = np.array(state.velocity)[order]
        damping = DAMPING * rb.mass_matrix(self.m, self.d) @ self.d.qvel
        effort = rb.gravity_term(self.m, self.d) - damping
        command = JointState(name=self.m.jnt_names, effort=effort.tolist())
        command.header.stamp = state.header.stamp  # the state that is answered, for lock-step
        self.publisher.publish(command)

    def report(self) -> None:
        self.get_logger().info(f"fastest joint: {np.abs(self.d.qvel).max():.4f} rad/s")


def main(urdf: str = "") -> None:
    # Ctrl-C ends the loop below between two messages. The handler of rclpy would shut down ROS in
    # another thread while this thread publishes.
    signals: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: signals.append(number))
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = GravityNode(urdf or str(bundled_robot("seven_dof_arm")))
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    while not signals:
        executor.spin_once(timeout_sec=0.1)
    executor.shutdown()
    node.destroy_node()
    rclpy.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:2])
