"""Command a simulator in lock-step: it waits for the answer to each of its states.

In one terminal  .venv/bin/rbdyn sim --ros-args -p time_mode:=lockstep -p start_paused:=true
in another       .venv/bin/python examples/lockstep_controller.py [seconds of simulated time]

The joints swing by 0.2 rad (m). At the end the simulator is paused, and a hash of its state is
printed. The hash is the same in every run, however busy the machine is.
"""

import math
import sys

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.parameter_client import AsyncParameterClient
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger


def law(time: float, start: float) -> float:
    """Return the desired position of a joint at a time [s]; replace it by your own law."""
    return start + 0.1 * (1.0 - math.cos(math.pi * time))


class Controller(Node):
    """Answers every state with a command that carries the state's stamp."""

    def __init__(self, end: float) -> None:
        super().__init__("lockstep_controller")
        self.end, self.time = end, -1.0
        self.joints: list[str] = []
        self.start: dict[str, float] = {}
        self.begin = 0  # stamp of the first state [ns]
        self.publisher = self.create_publisher(JointState, "joint_commands", 10)
        self.pause = self.create_client(SetBool, "simulator/pause")
        self.hash = self.create_client(Trigger, "simulator/state_hash")

    def begin_to_answer(self, joints: list[str]) -> None:
        self.joints = joints
        self.create_subscription(JointState, "joint_states", self.answer, 10)

    def answer(self, state: JointState) -> None:
        if self.publisher.get_subscription_count() == 0:
            return  # no subscriber yet; a waiting simulator repeats its state
        now = state.header.stamp.sec * 10**9 + state.header.stamp.nanosec
        if not self.start:
            self.start = dict(zip(state.name, state.position, strict=True))
            self.begin = now
        before, self.time = self.time, 1e-9 * (now - self.begin)
        if self.time >= self.end:
            return  # no answer: the simulator waits until it is paused
        command = JointState(name=self.joints)
        command.header.stamp = state.header.stamp  # names the answered tick
        command.position = [law(self.time, self.start[name]) for name in self.joints]
        self.publisher.publish(command)
        if self.time == before:  # a repeated state: the simulator is still paused
            self.pause.call_async(SetBool.Request(data=False))


def main(seconds: str = "2.0") -> str:
    """Control the joints; return an error message, or an empty string."""
    try:
        end = float(seconds)
    except ValueError:
        return f"the duration '{seconds}' is not a number"
    rclpy.init()
    node = Controller(end)
    if not (node.pause.wait_for_service(10.0) and node.hash.wait_for_service(10.0)):
        return "no simulator answers: start one with time_mode:=lockstep in another terminal"
    parameters = AsyncParameterClient(node, "simulator")
    asked = parameters.get_parameters(["effort_command_joints", "time_mode"])
    rclpy.spin_until_future_complete(node, asked)
    joints, mode = asked.result().values
    if mode.string_value != "lockstep":
        return "the simulator does not wait for commands: start it with time_mode:=lockstep"
    node.begin_to_answer(list(joints.string_array_value))
    while node.time < node.end:
        rclpy.spin_once(node)
    rclpy.spin_until_future_complete(node, node.pause.call_async(SetBool.Request(data=True)))
    found = node.hash.call_async(Trigger.Request())
    rclpy.spin_until_future_complete(node, found)
    print(f"after {node.time:.3f} s: {found.result().message}")
    return ""


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:2]) or 0)
    except (KeyboardInterrupt, ExternalShutdownException):
        sys.exit(0)
