# SPDX-License-Identifier: Apache-2.0
"""Push one joint of a running simulator for two seconds and watch it move.

In one terminal `make sim`, in another:
    .venv/bin/python examples/push_joint.py [joint] [effort in N m, or N for a slide]
"""

import signal
import sys
import time

import rclpy
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState


def main(joint: str = "", effort: str = "5.0") -> str:
    """Push the joint; return an error message, or an empty string."""
    if joint.startswith("-"):
        return str(__doc__)
    try:
        command = JointState(name=[joint], effort=[float(effort)])
    except ValueError:
        return f"the effort '{effort}' is not a number"
    # Ctrl-C ends the loops of `push`; the handler of rclpy would shut down ROS in another thread
    # while this thread publishes
    signals: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: signals.append(number))
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node("push_joint")
    failure = push(node, joint, command, signals)
    node.destroy_node()
    rclpy.shutdown()
    return failure


def push(node: Node, joint: str, command: JointState, signals: list[int]) -> str:
    """Send the command for two seconds or until a signal comes; return an error message."""
    states: list[JointState] = []
    node.create_subscription(JointState, "joint_states", states.append, 10)
    publisher = node.create_publisher(JointState, "joint_commands", 10)
    give_up = time.monotonic() + 10.0
    while not (states and publisher.get_subscription_count()):
        if signals:
            return ""
        if time.monotonic() > give_up:
            return "no simulator answers: start one with `make sim` in another terminal"
        rclpy.spin_once(node, timeout_sec=0.1)

    names = list(states[-1].name)
    command.name = [joint or names[0]]
    if command.name[0] not in names:
        return f"there is no joint '{joint}'; the robot has {', '.join(names)}"
    k = names.index(command.name[0])
    begin = send = show = time.monotonic()
    while time.monotonic() < begin + 2.0 and not signals:
        if time.monotonic() >= send:  # repeat the command, as it expires
            publisher.publish(command)
            send += 0.01
        rclpy.spin_once(node, timeout_sec=0.01)
        if time.monotonic() >= show:
            now = states[-1]
            numbers = (now.position[k], now.velocity[k], now.effort[k])
            row = "{}: position {:8.4f}  velocity {:8.4f}  effort {:8.4f}"
            print(row.format(names[k], *numbers), flush=True)
            show += 0.25
    return ""


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]) or 0)
