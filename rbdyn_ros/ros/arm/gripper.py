# SPDX-License-Identifier: Apache-2.0
"""The grippers of an arm: send goals to the driver of a gripper, and receive its states."""

import math
import threading
from collections.abc import Callable

from rclpy.node import Node
from sensor_msgs.msg import JointState

from rbdyn_ros.control.controller import Controller
from rbdyn_ros.errors import apart, quote, refusal
from rbdyn_ros.nanoseconds import NANOSECONDS, nanoseconds
from rbdyn_ros.ros.common.graph.qos import of_states, reliable
from rbdyn_ros.ros.common.gripper.gripper_goal import GripperState
from rbdyn_ros.ros.common.gripper.grippers import TOPIC, Gripper, GripperGoal

#: A gripper follows no goals if its newest state arrived longer ago than this [s].
OLD = 0.5


class ArmGripper:
    """Sends goals on gripper_commands while the arm is armed. Any thread may use it.

    A message of joint_states with a finite position of the gripper's joint is a measurement.

    Args:
        node: node that publishes and subscribes.
        gripper: joint of the gripper.
        controller: controller of the arm.
        now: returns the time of the clock for ages of the arm [ns]; any thread may call it.
        reliability: reliability of the subscription to joint_states.
    """

    def __init__(
        self,
        node: Node,
        gripper: Gripper,
        controller: Controller,
        now: Callable[[], int],
        reliability: str = "reliable",
    ) -> None:
        self.gripper, self._controller, self._time = gripper, controller, now
        self._lock = threading.Lock()
        self._number = 0
        self._seen: tuple[JointState, int] | None = None
        self._publisher = node.create_publisher(JointState, TOPIC, reliable(10))
        newest = of_states(reliability)
        node.create_subscription(JointState, "joint_states", self._on_state, newest)

    def _on_state(self, message: JointState) -> None:
        names = list(message.name)
        if self.gripper.joint in names:
            k = names.index(self.gripper.joint)
            if k < len(message.position) and math.isfinite(message.position[k]):
                self._seen = message, self._time()

    def _reason_not(self, arrival: int) -> str:
        """Return the reason why the gripper does not follow goals, or "" if it does."""
        if self._controller.settings.dry_run:
            return "dry_run is true: nothing is sent to the gripper"
        if not self._controller.armed:
            return "the arm is not armed"
        age = (self._time() - arrival) / NANOSECONDS
        if 0.0 <= age <= OLD:  # the age is below 0 if the arm has changed its clock
            return ""
        silence, most = apart(abs(age), OLD, digits=4)
        return (
            f"no message of joint_states has had a position of joint {quote(self.gripper.joint)} "
            f"for {silence} s; allowed is {most} s"
        )

    def move(self, goal: GripperGoal) -> int:
        """Send a goal; return its number. Raises RbdynError if the gripper follows no goals."""
        with self._lock:
            return self._send(goal, self.state())

    def _send(self, goal: GripperGoal, now: GripperState) -> int:
        if now.failed:
            raise refusal(now.failed, "not-armed")
        assert self._seen is not None  # `now` is the time of this state
        self._number += 1
        message = JointState(name=[self.gripper.joint], position=[goal.position])
        message.header.stamp = self._seen[0].header.stamp
        message.velocity, message.effort = [goal.velocity], [goal.effort]
        self._publisher.publish(message)
        return self._number

    def hold(self, number: int) -> None:
        """Hold the present position if this goal is the newest and the gripper follows goals."""
        with self._lock:
            own, now = self.gripper, self.state()
            if number == self._number and not now.failed:
                self._send(own.staying(now.position), now)

    def state(self) -> GripperState:
        """Return the newest measurement. Raises RbdynError before the first state."""
        number, seen, name = self._number, self._seen, self.gripper.joint
        if seen is None:
            text = f"no message of joint_states has had a finite position of joint {quote(name)}"
            raise refusal(f"{text} yet", "unmeasured")
        message, arrival = seen
        k = list(message.name).index(name)
        rows = (message.position, message.velocity, message.effort)
        position, velocity, effort = (float(row[k]) if k < len(row) else 0.0 for row in rows)
        time_ns = nanoseconds(message.header.stamp) or arrival
        failed = self._reason_not(arrival)
        return GripperState(time_ns, position, velocity, effort, number, failed)
