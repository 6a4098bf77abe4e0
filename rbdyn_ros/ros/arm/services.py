"""Services of a controlled arm: efforts by joint name, and the load in the hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from geometry_msgs.msg import InertiaStamped
from rclpy.node import Node

from rbdyn_ros.control.arm import Arm
from rbdyn_ros.errors import RbdynError
from rbdyn_ros.ros.arm.controlled_arm import LoadedArm
from rbdyn_ros.ros.arm.queries import ArmQueries, Efforts
from rbdyn_ros.ros.common.convert import time_message
from rbdyn_ros.ros.common.qos import reliable
from rbdyn_ros.ros.simulator.services import inertia_numbers, own_services

#: A refused message of a topic is told of in the log this often at most [s].
LOG_PAUSE = 1.0


class ArmServices:
    """Topic `~/payload`, and services `~/get_gravity_effort` and so on.

    Without rbdyn_interfaces there is the topic alone, and a warning. All are called one after
    another, in whatever thread spins the node: they are in its default callback group.

    Args:
        node: has them.
        robot: is changed and asked.
    """

    def __init__(self, node: Node, robot: LoadedArm) -> None:
        self._node, self._robot = node, robot
        node.create_subscription(InertiaStamped, "~/payload", self._take_payload, reliable(10))
        try:
            self._open(own_services())
        except ImportError:
            node.get_logger().warning(
                "rbdyn_interfaces is not installed: the services get_gravity_effort, "
                "get_inverse_dynamics, get_computed_torque and set_payload are off; the topic "
                "~/payload does the same as the last"
            )

    def _open(self, srv: Any) -> None:
        queries = ArmQueries(self._robot)
        warm(self._robot.arm)
        for kind, name, ask in (
            (srv.GetGravityEffort, "~/get_gravity_effort", queries.gravity_effort),
            (srv.GetInverseDynamics, "~/get_inverse_dynamics", queries.inverse_dynamics),
            (srv.GetComputedTorque, "~/get_computed_torque", queries.computed_torque),
        ):
            self._node.create_service(kind, name, self._answering(ask))
        self._node.create_service(srv.SetPayload, "~/set_payload", self._set_payload)

    def _answering(self, ask: Callable[[Any], Efforts]) -> Callable[[Any, Any], Any]:
        def answer(request: Any, response: Any) -> Any:
            response.model_sha256 = self._robot.arm.sha256
            try:
                found = ask(request)
            except RbdynError as error:
                response.message = str(error)
                return response
            response.success = True
            response.stamp = time_message(found.stamp_ns)
            response.name, response.effort = list(found.names), found.effort.tolist()
            if hasattr(response, "saturated"):
                response.saturated = found.saturated
            return response

        return answer

    def _set_payload(self, request: Any, response: Any) -> Any:
        response.message = self._robot.set_payload(request.link, *inertia_numbers(request.inertia))
        response.success = not response.message
        response.model_sha256 = self._robot.arm.sha256
        return response

    def _take_payload(self, message: InertiaStamped) -> None:
        link = message.header.frame_id
        why = self._robot.set_payload(link, *inertia_numbers(message.inertia))
        if why:
            self._node.get_logger().warning(
                f"a message of ~/payload was refused: {why}", throttle_duration_sec=LOG_PAUSE
            )


def warm(arm: Arm) -> None:
    """Compile all that a question may need, so that none has to wait for it."""
    twin, rest = arm.twin(), np.zeros(arm.m.nv)
    effort = twin.gravity_effort(rest, np.zeros(arm.m.nv))
    twin.command(twin.inverse_dynamics(rest, rest, rest, effort), rest, rest)
