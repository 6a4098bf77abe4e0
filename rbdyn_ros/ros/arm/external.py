# SPDX-License-Identifier: Apache-2.0
"""External efforts of an arm under control, estimated from its measured states."""

from types import SimpleNamespace

import numpy as np
from rclpy.node import Node

from rbdyn_ros.control.controller import Controller
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.dynamics.toolbox.terms import gravity_term
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.ros.common.tool.external import ExternalTopics, shows


class ArmObserver:
    """Estimates external efforts from each state of an arm and publishes them.

    The estimate includes the arm's payloads, and the friction that the controller compensates.

    Args:
        node: node that publishes.
        controller: controller, which has the measured states.
        values: values of the parameters.
    """

    def __init__(self, node: Node, controller: Controller, values: SimpleNamespace) -> None:
        self._controller, self._arm = controller, controller.arm
        self._dofs = np.array(controller.gate.limits.dofs)
        m = controller.arm.m
        self._topics = ExternalTopics(node, m, values, joints=controller.names)
        self._d = make_data(controller.arm.bare)
        self._adds = values.robot_compensates_gravity and not values.effort_includes_gravity
        self._friction, self._time = np.zeros(m.nv), 0

    def take(self) -> None:
        """Estimate and publish from the newest state, if it is new and has all efforts.

        Only the control thread calls it.
        """
        arm, seen = self._controller.arm, self._controller.gate.measured
        before = self._time
        if seen.time == before or np.isnan(seen.effort[self._dofs]).any():
            return
        self._time = seen.time
        observer = self._topics.observer
        if arm is not self._arm:  # the payload has changed
            observer.change(arm.m)
            self._arm, self._d = arm, make_data(arm.bare)
        if seen.time < before:
            observer.reset()
        effort = np.nan_to_num(seen.effort) - arm.friction.effort(seen.qvel, self._friction)
        if self._adds:
            self._d.qpos[:] = seen.qpos
            effort += gravity_term(arm.bare, self._d)
        observer.update(seen.qpos, seen.qvel, effort, (seen.time - before) / NANOSECONDS)
        self._topics.publish(seen.time)


def open_external(
    node: Node, controller: Controller, values: SimpleNamespace
) -> ArmObserver | None:
    """Return ArmObserver, or None if the parameters do not request external efforts."""
    return ArmObserver(node, controller, values) if shows(values) else None
