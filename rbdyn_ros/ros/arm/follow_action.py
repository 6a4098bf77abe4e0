# SPDX-License-Identifier: Apache-2.0
"""The action follow_joint_trajectory, with which MoveIt moves a controlled arm."""

import importlib
import threading
from typing import Any

from rclpy.action.server import GoalResponse
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectoryPoint

from rbdyn_ros.arrays import Array
from rbdyn_ros.control.controller import Progress
from rbdyn_ros.errors import refusal
from rbdyn_ros.ros.arm.goal_monitor import GoalEnding, GoalMonitor, Tolerances, check_goal
from rbdyn_ros.ros.arm.trajectories import TrajectoryController
from rbdyn_ros.ros.common.graph.action_thread import ActionThread, watched
from rbdyn_ros.ros.common.parsing.convert import time_message
from rbdyn_ros.ros.common.reports.answer import attempt

#: Interval at which feedback is published [s].
FEEDBACK = 0.05


class FollowAction:
    """Serves `~/follow_joint_trajectory` if control_msgs is installed.

    It behaves like joint_trajectory_controller: there is one goal at a time. A new trajectory,
    from a goal or from the topic, replaces the present trajectory and aborts its goal. The arm
    stops if a goal is cancelled or violates its tolerances. Unlike joint_trajectory_controller,
    it refuses a goal with invalid tolerances.

    The response to a goal has no text, but the result has. So a goal that the arm does not follow
    is accepted and aborted at once with INVALID_GOAL and the reason; the present trajectory
    continues. A goal is rejected only while the controller shuts down.

    Args:
        node: node that offers the action.
        robot: follows the trajectories.
    """

    def __init__(self, node: Node, robot: TrajectoryController) -> None:
        self._node, self._robot = node, robot
        self._thread: ActionThread | None = None
        self._accepting = threading.Lock()
        # the key is the id() of the request, which the handle of an accepted goal refers to
        self._goals: dict[int, GoalMonitor | GoalEnding] = {}
        try:
            self._type: Any = importlib.import_module("control_msgs.action").FollowJointTrajectory
        except (ImportError, AttributeError):
            node.get_logger().info(
                "control_msgs is not installed: the action follow_joint_trajectory is off; use "
                "the topic ~/joint_trajectory"
            )
            return
        self._thread = ActionThread(node, "follow", "a goal of follow_joint_trajectory")
        self._closing = self._thread.closing
        self._thread.action(self._type, "follow_joint_trajectory", self._execute, self._accept)
        self._thread.start()

    def close(self) -> None:
        """Abort the goal in progress and stop serving."""
        if self._thread is not None:
            self._thread.close()

    def _accept(self, request: Any) -> GoalResponse:
        if self._closing.is_set():
            return GoalResponse.REJECT
        done, why = attempt(lambda: self._begin(request))
        if not done:
            self._node.get_logger().warning(
                f"refused a goal of follow_joint_trajectory: {why}", throttle_duration_sec=0.1
            )
            self._goals[id(request)] = GoalEnding("abort", "INVALID_GOAL", why)
        return GoalResponse.ACCEPT

    def _begin(self, request: Any) -> None:
        """Let the arm follow the requested trajectory; raise RbdynError if the arm refuses it."""
        check_goal(request)
        robot, names = self._robot, tuple(self._robot.names)
        tolerances = Tolerances.of(request, names)
        with self._accepting:
            before = robot.progress().number
            robot.follow(request.trajectory)
            now = robot.progress()
        if now.number != before + 1:
            robot.stop_following()
            raise refusal("another trajectory arrived at the same time; the arm holds")
        self._goals[id(request)] = GoalMonitor(
            now.number, names, tolerances, request.trajectory, now.time
        )

    def _execute(self, goal: Any) -> Any:
        """Watch the arm, publish feedback until the goal ends, and return the result."""
        monitor = self._goals.pop(id(goal.request))
        if isinstance(monitor, GoalEnding):
            return self._result(goal, monitor)

        def ending() -> GoalEnding | None:
            found = monitor.ending(self._robot.progress(), lambda: bool(goal.is_cancel_requested))
            if found is None and self._closing.is_set():
                found = GoalEnding("abort", "INVALID_GOAL", "the controller is shutting down")
            return found

        def feedback() -> Any:
            return self._feedback(monitor, self._robot.progress())

        end = watched(goal, self._closing, ending, feedback, FEEDBACK)
        return self._end(goal, end, monitor.number)

    def _end(self, goal: Any, ending: GoalEnding, number: int) -> Any:
        if ending.stop:
            with self._accepting:  # do not stop a goal that was accepted meanwhile
                if self._robot.progress().number == number:
                    self._robot.stop_following()
        return self._result(goal, ending)

    def _result(self, goal: Any, ending: GoalEnding) -> Any:
        getattr(goal, ending.how)()
        result = self._type.Result
        return result(error_code=getattr(result, ending.code), error_string=ending.why)

    def _feedback(self, monitor: GoalMonitor, now: Progress) -> Any:
        feedback = self._type.Feedback(joint_names=list(self._robot.names))
        feedback.header.stamp = time_message(now.time)
        for field, rows in (
            ("desired", now.desired),
            ("actual", now.actual),
            ("error", now.desired[:2] - now.actual),
        ):
            setattr(feedback, field, _point(rows, monitor.time_ns(now)))
        if hasattr(feedback, "index"):  # Humble and Jazzy lack this field
            feedback.index = monitor.index(now)
        return feedback


def _point(rows: Array, time_ns: int) -> JointTrajectoryPoint:
    """Return a point at a time: rows of positions, velocities and, if given, accelerations."""
    point = JointTrajectoryPoint(positions=rows[0].tolist(), velocities=rows[1].tolist())
    if len(rows) > 2:
        point.accelerations = rows[2].tolist()
    at = time_message(time_ns)
    point.time_from_start.sec, point.time_from_start.nanosec = at.sec, at.nanosec
    return point
