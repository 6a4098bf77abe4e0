"""Services of a controlled arm: efforts by joint name, and payloads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from geometry_msgs.msg import InertiaStamped
from rclpy.node import Node

from rbdyn_ros.control.arm import Arm
from rbdyn_ros.control.controller import Controller
from rbdyn_ros.ros.arm.queries import ArmQueries, JointEfforts
from rbdyn_ros.ros.common.answer import MessageLog, answer
from rbdyn_ros.ros.common.convert import time_message
from rbdyn_ros.ros.common.qos import reliable
from rbdyn_ros.ros.simulator.services import inertia_numbers, own_services


class ArmServices:
    """Topic `~/payload`, and services `~/get_gravity_effort` and so on.

    Without rbdyn_interfaces there is only the topic, and a warning. All callbacks run one after
    another in the thread that spins the node: they are in its default callback group.

    Args:
        node: offers them.
        robot: the controlled arm.
        log: of refused messages.
    """

    def __init__(self, node: Node, robot: Controller, log: MessageLog) -> None:
        self._node, self._robot = node, robot
        receive = log.receiver("~/payload", self._take_payload)
        node.create_subscription(InertiaStamped, "~/payload", receive, reliable(10))
        try:
            self._open(own_services())
        except ImportError:
            node.get_logger().warning(
                "rbdyn_interfaces is not installed: the services get_gravity_effort, "
                "get_inverse_dynamics, get_computed_torque and set_payload are off; the topic "
                "~/payload replaces set_payload"
            )

    def _open(self, srv: Any) -> None:
        queries = ArmQueries(self._robot)
        warm(self._robot.arm)
        for kind, name, query in (
            (srv.GetGravityEffort, "~/get_gravity_effort", queries.gravity_effort),
            (srv.GetInverseDynamics, "~/get_inverse_dynamics", queries.inverse_dynamics),
            (srv.GetComputedTorque, "~/get_computed_torque", queries.computed_torque),
        ):
            self._node.create_service(kind, name, self._callback(query))
        self._node.create_service(srv.SetPayload, "~/set_payload", self._set_payload)

    def _callback(self, query: Callable[[Any], JointEfforts]) -> Callable[[Any, Any], Any]:
        def on_request(request: Any, response: Any) -> Any:
            response.model_sha256 = self._robot.arm.sha256
            return answer(response, lambda: _fill(response, query(request)))

        return on_request

    def _set_payload(self, request: Any, response: Any) -> Any:
        answer(response, lambda: self._load(request.link, request.inertia))
        response.model_sha256 = self._robot.arm.sha256
        return response

    def _take_payload(self, message: InertiaStamped) -> None:
        self._load(message.header.frame_id, message.inertia)

    def _load(self, link: str, inertia: Any) -> None:
        self._robot.set_payload(link, *inertia_numbers(inertia))


def _fill(response: Any, found: JointEfforts) -> None:
    response.stamp = time_message(found.stamp_ns)
    response.name, response.effort = list(found.names), found.effort.tolist()
    if hasattr(response, "saturated"):
        response.saturated = found.saturated


def warm(arm: Arm) -> None:
    """Compile all that a query needs, so that none waits for the compiler."""
    twin, rest = arm.twin(), np.zeros(arm.m.nv)
    effort = twin.gravity_effort(rest, np.zeros(arm.m.nv))
    twin.command(twin.inverse_dynamics(rest, rest, rest, effort), rest, rest)
