# SPDX-License-Identifier: Apache-2.0
"""The grippers of an arm: goals go to the driver of a gripper, its states come back."""

from __future__ import annotations

import threading

from rclpy.node import Node
from sensor_msgs.msg import JointState

from rbdyn_ros.control.controller import Controller
from rbdyn_ros.errors import refusal
from rbdyn_ros.nanoseconds import nanoseconds
from rbdyn_ros.ros.common.convert import time_message
from rbdyn_ros.ros.common.gripper_goal import GripperState
from rbdyn_ros.ros.common.grippers import TOPIC, Gripper, GripperGoal
from rbdyn_ros.ros.common.qos import reliable


class ArmGripper:
    """Sends goals on gripper_commands while the arm is armed; for any thread.

    Its joint is measured by any message of joint_states that names it.

    Args:
        node: publishes and subscribes.
        gripper: its joint.
        controller: of the arm.
    """

    def __init__(self, node: Node, gripper: Gripper, controller: Controller) -> None:
        self.gripper, self._controller = gripper, controller
        self._lock = threading.Lock()
        self._number = 0
        self._seen: JointState | None = None
        self._publisher = node.create_publisher(JointState, TOPIC, reliable(10))
        node.create_subscription(JointState, "joint_states", self._on_state, reliable(1))

    def _on_state(self, message: JointState) -> None:
        if self.gripper.joint in message.name:
            self._seen = message

    def _reason_not(self) -> str:
        """Return why the gripper does not follow goals; empty if it does."""
        if self._controller.settings.dry_run:
            return "dry_run is true: nothing is sent to the gripper"
        return "" if self._controller.armed else "the arm is not armed"

    def move(self, goal: GripperGoal) -> int:
        """Send a goal; return its number. Raises RbdynError if nothing may be sent."""
        if why := self._reason_not():
            raise refusal(why, "not-armed")
        with self._lock:
            self._number += 1
            self._send(goal)
            return self._number

    def _send(self, goal: GripperGoal) -> None:
        message = JointState(name=[self.gripper.joint], position=[goal.position])
        message.header.stamp = time_message(self.state().time_ns)
        message.velocity, message.effort = [goal.velocity], [goal.effort]
        self._publisher.publish(message)

    def hold(self) -> None:
        """Stay at the present position, if something may be sent."""
        if not self._reason_not():
            own, now = self.gripper, self.state()
            place = min(max(now.position, own.lower), own.upper)
            self.move(GripperGoal(place, own.most_velocity, own.most_effort))

    def state(self) -> GripperState:
        """Return what was measured last. Raises RbdynError before the first state."""
        seen, name = self._seen, self.gripper.joint
        if seen is None:
            raise refusal(f"no message of joint_states has named joint '{name}' yet", "unmeasured")
        k = list(seen.name).index(name)
        rows = (seen.position, seen.velocity, seen.effort)
        position, velocity, effort = (float(row[k]) if k < len(row) else 0.0 for row in rows)
        time_ns = nanoseconds(seen.header.stamp)
        return GripperState(time_ns, position, velocity, effort, self._number, self._reason_not())
