"""The action follow_joint_trajectory of a controlled arm, with which MoveIt and others move it."""

from __future__ import annotations

import importlib
import threading
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.action.server import GoalResponse
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectoryPoint

from rbdyn_ros.control.controller import Progress
from rbdyn_ros.ros.arm.controlled_arm import FollowingArm
from rbdyn_ros.ros.arm.pursuit import Ending, Pursuit, Tolerances, why_no_goal
from rbdyn_ros.ros.common.action_thread import ActionThread
from rbdyn_ros.ros.common.convert import time_message

Array = NDArray[np.float64]

#: Between two looks at the arm, and between two messages of feedback [s].
LOOK = 0.01
FEEDBACK = 0.05


class FollowAction:
    """Serves `~/follow_joint_trajectory` where control_msgs is installed, else says it is off.

    As joint_trajectory_controller: one goal at a time; a new trajectory, from wherever, takes the
    place of the one in progress and aborts its goal; a goal that is cancelled or leaves its
    tolerances stops the arm. Other than there, tolerances that make no sense spoil the goal.
    The answer to a goal has no place for words, its result has: a goal that the arm does not
    follow is taken and aborted at once with INVALID_GOAL and the reason, and what is in progress
    goes on. Only while the controller ends is a goal rejected.

    Args:
        node: under whose name it is.
        robot: follows.
    """

    def __init__(self, node: Node, robot: FollowingArm) -> None:
        self._node, self._robot = node, robot
        self._thread: ActionThread | None = None
        self._taking = threading.Lock()
        # by the identity of the request, which the handle of an accepted goal refers to
        self._pursuits: dict[int, Pursuit | Ending] = {}
        try:
            self._type: Any = importlib.import_module("control_msgs.action").FollowJointTrajectory
        except (ImportError, AttributeError):
            node.get_logger().info(
                "control_msgs is not installed: the action follow_joint_trajectory is off; the "
                "topic ~/joint_trajectory does without it"
            )
            return
        self._thread = ActionThread(node, "follow", "a goal of follow_joint_trajectory")
        self._closing = self._thread.closing
        self._thread.action(self._type, "follow_joint_trajectory", self._pursue, self._accept)
        self._thread.start()

    def close(self) -> None:
        """Abort the goal in progress, and serve no more."""
        if self._thread is not None:
            self._thread.close()

    def _accept(self, request: Any) -> GoalResponse:
        if self._closing.is_set():
            return GoalResponse.REJECT
        why = why_no_goal(request) or self._begin(request)
        if why:
            self._node.get_logger().warning(
                f"a goal of follow_joint_trajectory was refused: {why}", throttle_duration_sec=0.1
            )
            self._pursuits[id(request)] = Ending("abort", "INVALID_GOAL", why)
        return GoalResponse.ACCEPT

    def _begin(self, request: Any) -> str:
        """Let the arm follow; return why it does not, or nothing."""
        robot, names = self._robot, tuple(self._robot.names)
        tolerances = Tolerances.of(request, names)
        if isinstance(tolerances, str):
            return tolerances
        with self._taking:
            before = robot.progress().number
            why = robot.follow(request.trajectory)
            if why:
                return why
            now = robot.progress()
        if now.number != before + 1:
            robot.stop_following()
            return "another trajectory came at the same time; the arm holds"
        self._pursuits[id(request)] = Pursuit(
            now.number, names, tolerances, request.trajectory, now.time
        )
        return ""

    def _pursue(self, goal: Any) -> Any:
        """Watch the arm, tell of it, end when the goal does."""
        pursuit, due = self._pursuits.pop(id(goal.request)), 0.0
        if isinstance(pursuit, Ending):
            return self._result(goal, pursuit)
        while True:
            now = self._robot.progress()
            ending = pursuit.ending(now, lambda: bool(goal.is_cancel_requested))
            if ending is None and self._closing.is_set():
                ending = Ending("abort", "INVALID_GOAL", "the controller ends")
            if ending is not None:
                return self._end(goal, ending, pursuit.number)
            if time.monotonic() >= due:
                due = time.monotonic() + FEEDBACK
                goal.publish_feedback(self._feedback(pursuit, now))
            self._closing.wait(LOOK)

    def _end(self, goal: Any, ending: Ending, number: int) -> Any:
        if ending.stop:
            with self._taking:  # a goal that is taken meanwhile goes on
                if self._robot.progress().number == number:
                    self._robot.stop_following()
        return self._result(goal, ending)

    def _result(self, goal: Any, ending: Ending) -> Any:
        getattr(goal, ending.how)()
        result = self._type.Result
        return result(error_code=getattr(result, ending.code), error_string=ending.why)

    def _feedback(self, pursuit: Pursuit, now: Progress) -> Any:
        feedback = self._type.Feedback(joint_names=list(self._robot.names))
        feedback.header.stamp = time_message(now.time)
        for place, rows in (
            ("desired", now.desired),
            ("actual", now.actual),
            ("error", now.desired[:2] - now.actual),
        ):
            setattr(feedback, place, _point(rows, pursuit.time_ns(now)))
        if hasattr(feedback, "index"):  # not on Humble and Jazzy
            feedback.index = pursuit.index(now)
        return feedback


def _point(rows: Array, time_ns: int) -> JointTrajectoryPoint:
    """Return position, velocity and, where it is known, acceleration as a point."""
    point = JointTrajectoryPoint(positions=rows[0].tolist(), velocities=rows[1].tolist())
    if len(rows) > 2:
        point.accelerations = rows[2].tolist()
    at = time_message(time_ns)
    point.time_from_start.sec, point.time_from_start.nanosec = at.sec, at.nanosec
    return point
