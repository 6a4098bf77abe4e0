# SPDX-License-Identifier: Apache-2.0
"""The grippers of a simulated robot, which follow goals from actions and from gripper_commands."""

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState

from rbdyn_ros.errors import listing, refusal
from rbdyn_ros.model.model import Model
from rbdyn_ros.ros.common.gripper.gripper_goal import GripperState
from rbdyn_ros.ros.common.gripper.grippers import TOPIC, Gripper, GripperGoal
from rbdyn_ros.ros.common.parsing.stamps import TickStamps
from rbdyn_ros.ros.common.reports.answer import MessageLog
from rbdyn_ros.runtime.loop import Loop
from rbdyn_ros.runtime.types import GRIP, Command


class SimulatedGripper:
    """Moves a gripper in the loop of a robot. Any thread may use it.

    Args:
        gripper: joint of the gripper.
        loop: loop of the robot.
        stamps: stamps of the ticks of the loop.
    """

    def __init__(self, gripper: Gripper, loop: Loop, stamps: TickStamps) -> None:
        self.gripper, self._loop, self._stamps = gripper, loop, stamps
        self._lock = threading.Lock()
        self._number, self._forgotten = 0, 0
        self._place: tuple[Model | None, int] = None, 0

    @property
    def _dof(self) -> int:
        """Present dof of the gripper; it changes when objects are added or deleted."""
        m = self._loop.m
        if self._place[0] is not m:
            self._place = m, int(m.jnt_dofadr[m.jnt_names.index(self.gripper.joint)])
        return self._place[1]

    def move(self, goal: GripperGoal) -> int:
        """Start to move to a goal, which the next command replaces; return the goal's number."""
        with self._lock:
            return self._order(goal)

    def _order(self, goal: GripperGoal) -> int:
        numbers = (goal.position, goal.velocity, goal.effort, 0.0, 0.0)
        command = Command(
            np.array([self._dof]), np.array([GRIP]), *(np.array([number]) for number in numbers)
        )
        self._number += 1
        self._loop.orders.command(command)
        return self._number

    def hold(self, number: int) -> None:
        """Stay at the present position if the goal with this number is still the newest."""
        with self._lock:
            if number == self._number:
                self._order(self.gripper.staying(self.state().position))

    def forget(self) -> None:
        """End the present goal, because a reset has cleared the commands of the loop."""
        self._forgotten = self._number

    def state(self) -> GripperState:
        """Return the newest measured state of the gripper."""
        number, state, k = self._number, self._loop.readout.latest(), self._dof
        return GripperState(
            self._stamps.of(state.tick),
            float(state.measured_position[k]),
            float(state.measured_velocity[k]),
            float(state.measured_effort[k]),
            number,
            "the simulation was reset" if 0 < number == self._forgotten else "",
        )


def subscribe(node: Node, ports: Sequence[SimulatedGripper], log: MessageLog) -> None:
    """Subscribe to gripper_commands, whose messages are goals of one or more grippers."""
    by_joint = {port.gripper.joint: port for port in ports}

    def take(message: Any) -> None:
        names = list(message.name)
        if len(names) != 1 or names[0] not in by_joint:
            found = listing(names) if names else "no joint"
            raise refusal(f"it names {found}; it must name one of {listing(by_joint)}")
        port = by_joint[names[0]]
        port.move(port.gripper.goal_of(names, message.position, message.velocity, message.effort))

    if ports:
        log.subscribe(node, JointState, TOPIC, take)
