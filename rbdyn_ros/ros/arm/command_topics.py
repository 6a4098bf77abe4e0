# SPDX-License-Identifier: Apache-2.0
"""The topics on which commands are sent to the arm: efforts or positions."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from rbdyn_ros.arrays import Array
from rbdyn_ros.control.controller import Controller
from rbdyn_ros.control.position_controller import PositionController
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.ros.common.parsing import convert
from rbdyn_ros.ros.common.parsing.convert import Prepared, time_message

#: Topics that command the arm.
TOPICS = {
    "joint_commands": JointState,
    "effort_commands": Float64MultiArray,
    "position_commands": Float64MultiArray,
    "trajectory_commands": JointTrajectory,
}
#: The topics of each value of parameter `output`, for arms that take efforts or positions.
EFFORT_OUTPUTS = {
    "joint_commands": ("joint_commands",),
    "effort_commands": ("effort_commands",),
    "both": ("joint_commands", "effort_commands"),
}
POSITION_OUTPUTS = {
    "joint_positions": ("joint_commands",),
    "position_commands": ("position_commands",),
    "trajectory_commands": ("trajectory_commands",),
}
OUTPUTS = EFFORT_OUTPUTS | POSITION_OUTPUTS
#: The only point of a trajectory is due AHEAD periods of the states after its arrival, but not
#: before SOONEST [s].
AHEAD, SOONEST = 2.0, 0.004


class CommandTopics:
    """Publishes the commands of a controller.

    Args:
        controller: computes the commands.
        output: one of OUTPUTS.
        publisher: opens a publisher for a message type and a topic name.
        stop: once it is set, nothing is sent.

    Attributes:
        names: names of the topics on which commands are sent; empty in a dry run, so that other
            nodes find no publisher.
        shown: name of the topic that shows the commands even if they are not sent to the arm.
    """

    def __init__(
        self,
        controller: Controller,
        output: str,
        publisher: Callable[[Any, str], Any],
        stop: threading.Event,
    ) -> None:
        self._controller, self._stop = controller, stop
        self._moves = isinstance(controller, PositionController)
        self.names = () if controller.settings.dry_run else OUTPUTS[output]
        self._publishers = {name: publisher(TOPICS[name], name) for name in self.names}
        self._shown = publisher(JointState, "~/positions" if self._moves else "~/efforts")
        self.shown: str = self._shown.topic_name
        self._message = _prepared(controller.names, self._moves)

    def publish(self, commands: Array, stamp: int) -> None:
        """Send commands (n,) to the arm if it is armed or being tested; show them in any case.

        They answer the state with this stamp [ns], and appear on the topic `shown`.
        """
        controller, numbers = self._controller, commands
        if isinstance(controller, PositionController):
            numbers = np.concatenate([commands, controller.velocity])
        message = self._message.filled(stamp, numbers)
        # check again: another thread may have disarmed the arm, or a signal may end the process
        commanding = controller.sending and (controller.armed or controller.testing)
        if commanding and not self._stop.is_set():
            for name, publisher in self._publishers.items():
                if name == "joint_commands":
                    publisher.publish(message)
                elif name == "trajectory_commands":
                    publisher.publish(self._trajectory(commands))
                else:
                    publisher.publish(Float64MultiArray(data=commands.tolist()))
        if self._shown.get_subscription_count():
            self._shown.publish(message)

    def _trajectory(self, places: Array) -> JointTrajectory:
        """Return a trajectory to these positions: one point, counted from the time of arrival.

        It has no velocity, because joint_trajectory_controller accepts no velocity at the last
        point.
        """
        point = JointTrajectoryPoint(positions=places.tolist())
        ahead = max(AHEAD * np.nan_to_num(self._controller.period), SOONEST)
        at = time_message(round(ahead * NANOSECONDS))
        point.time_from_start.sec, point.time_from_start.nanosec = at.sec, at.nanosec
        return JointTrajectory(joint_names=list(self._controller.names), points=[point])


def _prepared(names: tuple[str, ...], moves: bool) -> Prepared:
    """Return a JointState to fill: positions and velocities if the arm `moves`, else efforts."""
    n = len(names)
    message = convert.marked(JointState(name=list(names)))
    if moves:
        message.position, message.velocity = convert.marks(0, n), convert.marks(n, n)
    else:
        message.effort = convert.marks(0, n)
    return Prepared(message, 2 * n if moves else n)
