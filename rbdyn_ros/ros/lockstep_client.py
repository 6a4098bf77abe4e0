# SPDX-License-Identifier: Apache-2.0
"""A client of a simulator in lock-step: it resets the robot, sends commands and gets states."""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import rclpy
from rclpy.executors import SingleThreadedExecutor
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool

from rbdyn_ros.errors import refusal
from rbdyn_ros.nanoseconds import nanoseconds
from rbdyn_ros.ros.common.graph.interfaces import own_services
from rbdyn_ros.ros.common.graph.qos import reliable
from rbdyn_ros.ros.messages.build import provide

#: Length of the queue of states.
DEPTH = 100
#: A busy machine may lose a message. A waiting simulator repeats its state each second. If the
#: client has answered a state more than this time [s] before its repetition, the answer was lost.
LOST = 0.5
#: A request is repeated if it is not answered in this time [s].
UNANSWERED = 10.0


class LockstepClient:
    """A node that commands the simulator `/simulator`, with a context of its own.

    Args:
        environment: variables that choose the ROS domain.
        check: called while the client waits; it may raise RbdynError to end the wait.

    Attributes:
        node: the node, also for topics of the caller; its callbacks run while the client waits.
        state: the newest message of joint_states.
    """

    state: JointState

    def __init__(self, environment: Mapping[str, str], check: Callable[[], object]) -> None:
        provide()
        srv, self._check = own_services(), check
        self._context = rclpy.Context()
        with _variables(environment):
            number = int(environment["ROS_DOMAIN_ID"])
            rclpy.init(args=[], context=self._context, domain_id=number)
            self.node = rclpy.create_node("lockstep_client", context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self._commands = self.node.create_publisher(JointState, "joint_commands", reliable(10))
        self.node.create_subscription(JointState, "joint_states", self._take, reliable(DEPTH))
        kinds = {"pause": SetBool, "reset_with": srv.Reset, "set_joint_state": srv.SetJointState}
        self._srv, self._services = srv, dict[str, Any]()
        for name, kind in kinds.items():
            self._services[name] = self.node.create_client(kind, f"/simulator/{name}")
        self._stamp = -1
        self._command: JointState | None = None
        self._commanded = 0.0  # wall time of the latest command [s]

    def connect(self) -> None:
        """Wait until the simulator and this node are connected."""
        topics = self._commands.topic_name, "joint_states"
        while not (
            all(service.service_is_ready() for service in self._services.values())
            and self._commands.get_subscription_count() > 0
            and self.node.count_publishers(topics[1]) > 0
        ):
            self._spin()

    def reset(
        self, seed: int, position: Mapping[str, float], velocity: Mapping[str, float]
    ) -> JointState:
        """Reset the simulation, set positions and velocities, and return the first state.

        Args:
            seed: seed of all noise.
            position: initial positions by joint [rad or m]; all other joints start where the
                simulator's parameters say.
            velocity: initial velocities by joint [rad/s or m/s]; all other joints start at rest.

        Raises:
            RbdynError: the simulator refuses the state, or `check` ends the wait.
        """
        self._call("pause", SetBool.Request(data=True))
        self._stamp, self._command = -1, None
        everything = {"time": True, "state": True, "robot": False, "reseed": True, "seed": seed}
        self._call("reset_with", self._srv.Reset.Request(**everything))
        self._wait(lambda: self._stamp == 0)
        if names := sorted({*position, *velocity}):
            request = self._srv.SetJointState.Request(name=names)
            here = dict(zip(self.state.name, self.state.position, strict=True)) | dict(position)
            request.position = [float(here.get(name, 0.0)) for name in names]
            request.velocity = [float(velocity.get(name, 0.0)) for name in names]
            self._call("set_joint_state", request)
            self._wait(lambda: self._stamp > 0)
        self._call("pause", SetBool.Request(data=False))
        return self.state

    def command(self, names: Sequence[str], efforts: Sequence[float]) -> None:
        """Answer the newest state with efforts of the named joints [N m or N]."""
        self._command = JointState(name=names, effort=efforts)
        self._command.header.stamp = self.state.header.stamp
        self._publish(self._command)

    def next_state(self) -> JointState:
        """Wait for a new state and return it.

        Raises:
            RbdynError: raised by `check` to end the wait.
        """
        before = self._stamp
        self._wait(lambda: self._stamp > before)
        return self.state

    def close(self) -> None:
        """Leave the graph."""
        self._executor.shutdown()
        self.node.destroy_node()
        self._context.try_shutdown()

    def _take(self, state: JointState) -> None:
        self.state, self._stamp = state, nanoseconds(state.header.stamp)
        last = self._command
        if last is None or last.header.stamp != state.header.stamp:
            return
        if time.monotonic() > self._commanded + LOST:
            self._publish(last)

    def _publish(self, command: JointState) -> None:
        self._commands.publish(command)
        self._commanded = time.monotonic()

    def _call(self, name: str, request: Any) -> None:
        answers: list[Any] = []
        due = 0.0

        def answered() -> bool:
            nonlocal due
            if time.monotonic() >= due:
                future = self._services[name].call_async(request)
                future.add_done_callback(lambda done: answers.append(done.result()))
                due = time.monotonic() + UNANSWERED
            return bool(answers)

        self._wait(answered)
        result = answers[0]
        if not result.success:
            raise refusal(f"the simulator refuses {name}: {result.message}")

    def _wait(self, ready: Callable[[], bool]) -> None:
        while not ready():
            self._spin()

    def _spin(self) -> None:
        begun = time.monotonic()
        self._executor.spin_once(timeout_sec=0.05)
        if time.monotonic() - begun > 0.04:  # no state has arrived
            self._check()


@contextmanager
def _variables(given: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables during a block."""
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value
