# SPDX-License-Identifier: Apache-2.0
"""The actions gripper_cmd and parallel_gripper_cmd, with which MoveIt moves a gripper."""

import importlib
import threading
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any, Protocol

from rclpy.action.server import GoalResponse
from rclpy.node import Node

from rbdyn_ros.errors import quote
from rbdyn_ros.ros.common.graph.action_thread import ActionThread, watched
from rbdyn_ros.ros.common.gripper.gripper_goal import GripperEnding, GripperMonitor, GripperState
from rbdyn_ros.ros.common.gripper.grippers import Gripper, GripperGoal
from rbdyn_ros.ros.common.parsing.convert import time_message
from rbdyn_ros.ros.common.reports.answer import attempt

#: Interval at which feedback is published, as in gripper_controllers [s].
FEEDBACK = 0.05


class GripperPort(Protocol):
    """Interface that moves a gripper and returns its measured state; for any thread."""

    gripper: Gripper

    def move(self, goal: GripperGoal) -> int:
        """Start to move to a goal, which replaces the last goal; return the number of this goal.

        Raises:
            RbdynError: the goal is refused.
        """

    def hold(self, number: int) -> None:
        """Stay at the present position if the goal with this number is still the newest."""

    def state(self) -> GripperState:
        """Return the newest measured state; raise RbdynError if there is none yet."""


class GripperActions:
    """Serves the actions of one gripper, if control_msgs is installed.

    The actions behave like the controllers of ros2_controllers: a goal ends when the gripper
    reaches it or stalls, and the gripper then keeps this goal. A goal that the gripper cannot
    reach is rejected, with the reason in the log, and the last goal continues. A new goal aborts
    the present goal.

    Args:
        node: node that offers the actions.
        port: moves the gripper.
        values: values of the parameters `gripper.*`.
        space: namespace of the actions below the node; empty: no namespace.
        number: number of the gripper among the node's grippers, for the name of its thread.
    """

    def __init__(
        self, node: Node, port: GripperPort, values: SimpleNamespace, space: str, number: int
    ) -> None:
        self._node, self._port, self._values = node, port, values
        self._accepting = threading.Lock()
        # the key is the id() of the request, which the handle of an accepted goal refers to
        self._monitors: dict[int, GripperMonitor] = {}
        self._thread = ActionThread(node, f"gripper{number}", "a goal of a gripper")
        prefix = f"{space}/" if space else ""
        for name, kind, goal_of, fill in (
            ("GripperCommand", "gripper_cmd", self._plain_goal, _fill_plain),
            ("ParallelGripperCommand", "parallel_gripper_cmd", self._parallel_goal, self._fill),
        ):
            action = _action_class(node, name, prefix + kind)
            if action is not None:
                execute = partial(self._execute, action, fill)
                accept = partial(self._accept, prefix + kind, goal_of)
                self._thread.action(action, prefix + kind, execute, accept)
        self._thread.start()

    def close(self) -> None:
        """Abort the goal in progress and stop serving."""
        self._thread.close()

    def _plain_goal(self, request: Any) -> GripperGoal:
        return self._port.gripper.goal(request.command.position, None, request.command.max_effort)

    def _parallel_goal(self, request: Any) -> GripperGoal:
        wanted = request.command
        return self._port.gripper.goal_of(
            wanted.name, wanted.position, wanted.velocity, wanted.effort
        )

    def _accept(
        self, action: str, goal_of: Callable[[Any], GripperGoal], request: Any
    ) -> GoalResponse:
        if self._thread.closing.is_set():
            return GoalResponse.REJECT

        def begin() -> None:
            goal = goal_of(request)
            with self._accepting:
                now = self._port.state()
                number = self._port.move(goal)
                monitor = GripperMonitor(goal.position, number, self._values, now)
                self._monitors[id(request)] = monitor

        done, why = attempt(begin)
        if not done:
            text = f"refused a goal of {action}: {why}"
            self._node.get_logger().warning(text, throttle_duration_sec=0.1)
        return GoalResponse.ACCEPT if done else GoalResponse.REJECT

    def _execute(self, action: Any, fill: Callable[..., Any], goal: Any) -> Any:
        """Watch the gripper, publish feedback until the goal ends, and return the result."""
        monitor = self._monitors.pop(id(goal.request))

        def ending() -> GripperEnding | None:
            found = monitor.ending(self._port.state(), bool(goal.is_cancel_requested))
            if found is None and self._thread.closing.is_set():
                found = GripperEnding("abort", why="the node is shutting down")
            return found

        def feedback() -> Any:
            return fill(action.Feedback(), self._port.state(), GripperEnding(""))

        end = watched(goal, self._thread.closing, ending, feedback, FEEDBACK)
        if end.hold:
            self._port.hold(monitor.number)
        if end.how == "abort":
            joint = quote(self._port.gripper.joint)
            self._node.get_logger().warning(f"a goal of gripper {joint} was aborted: {end.why}")
        getattr(goal, end.how)()
        return fill(action.Result(), self._port.state(), end)

    def _fill(self, message: Any, now: GripperState, end: GripperEnding) -> Any:
        """Fill and return a result or feedback of ParallelGripperCommand from the state."""
        message.state.header.stamp = time_message(now.time_ns)
        message.state.name = [self._port.gripper.joint]
        message.state.position, message.state.velocity = [now.position], [now.velocity]
        message.state.effort = [now.effort]
        if hasattr(message, "stalled"):
            message.stalled, message.reached_goal = end.stalled, end.reached
        return message


def _fill_plain(message: Any, now: GripperState, end: GripperEnding) -> Any:
    """Fill and return a result or feedback of GripperCommand from the state."""
    message.position, message.effort = now.position, now.effort
    message.stalled, message.reached_goal = end.stalled, end.reached
    return message


def _action_class(node: Node, name: str, action: str) -> Any:
    """Return the type `name` of control_msgs; if it is missing, log that `action` is off."""
    try:
        return getattr(importlib.import_module("control_msgs.action"), name)
    except (ImportError, AttributeError):  # ParallelGripperCommand is not in Humble
        node.get_logger().info(f"control_msgs has no {name}: the action {action} is off")
        return None


def open_grippers(
    node: Node, ports: list[GripperPort], values: SimpleNamespace
) -> list[GripperActions]:
    """Offer and return the actions of grippers; several use their joints' names as namespaces."""
    return [
        GripperActions(node, port, values, port.gripper.joint if len(ports) > 1 else "", k)
        for k, port in enumerate(ports)
    ]
