# SPDX-License-Identifier: Apache-2.0
"""Command a simulator in lock-step: it waits for the answer to each of its states.

In one terminal  .venv/bin/rbdyn sim --ros-args -p time_mode:=lockstep -p start_paused:=true
in another       .venv/bin/python examples/lockstep_controller.py [seconds of simulated time]

The joints swing by 0.2 rad (m). At the end the simulator is paused, and a hash of its state is
printed. The hash is the same in every run, however busy the machine is.
"""

import math
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

import rclpy
from rclpy.node import Node
from rclpy.parameter_client import AsyncParameterClient
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger


def law(time: float, start: float) -> float:
    """Return the desired position of a joint at a time [s], given its start; use your own law."""
    return start + 0.1 * (1.0 - math.cos(math.pi * time))


class Controller(Node):
    """Answers every state with a command that carries the state's stamp."""

    def __init__(self, end: float, signals: list[int]) -> None:
        super().__init__("lockstep_controller")
        self.end, self.time, self.signals = end, -1.0, signals
        self.joints: list[str] = []
        self.start: dict[str, float] = {}
        self.begin = 0  # stamp of the first state [ns]
        self.publisher = self.create_publisher(JointState, "joint_commands", 10)
        self.pause = self.create_client(SetBool, "simulator/pause")
        self.hash = self.create_client(Trigger, "simulator/state_hash")
        self.parameters = AsyncParameterClient(self, "simulator")

    def is_ready(self) -> bool:
        """Return whether the services of the simulator are available."""
        clients = self.pause, self.hash
        known = all(client.service_is_ready() for client in clients)
        return known and self.parameters.services_are_ready()

    def spin_while(self, condition: Callable[[], bool]) -> None:
        """Handle messages while the condition holds; Ctrl-C ends this between two messages."""
        while condition():
            if self.signals:
                raise KeyboardInterrupt
            rclpy.spin_once(self, timeout_sec=0.1)

    def ask(self, send: Callable[[], Future]) -> Any:
        """Send a request each second until it is answered (DDS may lose it); return the answer."""
        sent: list[Future] = []
        begun = time.monotonic()

        def waiting() -> bool:
            if time.monotonic() >= begun + len(sent):
                sent.append(send())
            return not any(future.done() for future in sent)

        self.spin_while(waiting)
        return next(future.result() for future in sent if future.done())

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
            return  # send no answer: the simulator waits until it is paused
        command = JointState(name=self.joints)
        command.header.stamp = state.header.stamp  # the tick that is answered
        command.position = [law(self.time, self.start[name]) for name in self.joints]
        self.publisher.publish(command)
        if self.time == before:  # a repeated state: the simulator is still paused
            self.pause.call_async(SetBool.Request(data=False))


def main(seconds: str = "2.0") -> str:
    """Read the arguments and start ROS; return an error message, or an empty string."""
    try:
        end = float(seconds)
    except ValueError:
        return f"the duration '{seconds}' is not a number"
    # the handler of rclpy would shut down ROS in another thread while this thread publishes
    signals: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: signals.append(number))
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = Controller(end, signals)
    try:
        return control(node)
    except KeyboardInterrupt:
        return ""
    finally:
        node.destroy_node()
        rclpy.shutdown()


def control(node: Controller) -> str:
    """Control the joints until the end; return an error message, or an empty string."""
    give_up = time.monotonic() + 10.0
    node.spin_while(lambda: not node.is_ready() and time.monotonic() < give_up)
    if not node.is_ready():
        return "no simulator answers: start one with time_mode:=lockstep in another terminal"
    names = ["effort_command_joints", "time_mode"]
    joints, mode = node.ask(lambda: node.parameters.get_parameters(names)).values
    if mode.string_value != "lockstep":
        return "the simulator does not wait for commands: start it with time_mode:=lockstep"
    node.begin_to_answer(list(joints.string_array_value))
    node.spin_while(lambda: node.time < node.end)
    node.ask(lambda: node.pause.call_async(SetBool.Request(data=True)))
    found = node.ask(lambda: node.hash.call_async(Trigger.Request()))
    print(f"after {node.time:.3f} s: {found.message}")
    return ""


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]) or 0)
