# SPDX-License-Identifier: Apache-2.0
"""Services of a controlled arm: efforts by joint name, and payloads."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import InertiaStamped
from rclpy.node import Node

from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.errors import refusal
from rbdyn_ros.ros.arm.queries import ArmQueries, JointEfforts
from rbdyn_ros.ros.arm.trajectories import TrajectoryController
from rbdyn_ros.ros.common.graph.interfaces import own_services
from rbdyn_ros.ros.common.parsing.convert import inertia_numbers, time_message
from rbdyn_ros.ros.common.queries import ik_query
from rbdyn_ros.ros.common.reports.answer import MessageLog, serve


class ArmServices:
    """Serves the topic `~/payload`, and services such as `~/get_gravity_effort`.

    Without rbdyn_interfaces there is only the topic, and a warning is logged. All callbacks run
    one after another in the thread that spins the node: they are in its default callback group.

    Args:
        node: node that offers the topic and the services.
        robot: the controlled arm.
        log: counts and logs refused messages.
    """

    def __init__(self, node: Node, robot: TrajectoryController, log: MessageLog) -> None:
        self._node, self._robot, self._ik = node, robot, ik_query.IkQueries()
        log.subscribe(node, InertiaStamped, "~/payload", self._take_payload)
        try:
            self._open(own_services())
        except ImportError:
            node.get_logger().warning(
                "rbdyn_interfaces is not installed: the services get_gravity_effort, "
                "get_inverse_dynamics, get_computed_torque, get_ik and set_payload are off; the "
                "topic ~/payload replaces set_payload"
            )

    def _open(self, srv: Any) -> None:
        queries = ArmQueries(self._robot)
        warm(self._robot.arm)
        for kind, name, query in (
            (srv.GetGravityEffort, "~/get_gravity_effort", queries.gravity_effort),
            (srv.GetInverseDynamics, "~/get_inverse_dynamics", queries.inverse_dynamics),
            (srv.GetComputedTorque, "~/get_computed_torque", queries.computed_torque),
        ):
            serve(self._node, kind, name, partial(self._answer, query))
        serve(self._node, srv.GetIk, "~/get_ik", self._get_ik)
        serve(self._node, srv.SetPayload, "~/set_payload", self._set_payload)

    def _answer(self, query: Callable[[Any], JointEfforts], request: Any, response: Any) -> None:
        response.model_sha256 = self._robot.arm.sha256
        _fill(response, query(request))

    def _get_ik(self, request: Any, response: Any) -> None:
        robot = self._robot
        response.model_sha256 = robot.arm.sha256
        m = robot.arm.m
        if request.avoid_collisions and robot.collisions is not None:
            m = robot.collisions.model
        seen = robot.measured()
        if seen is None:
            raise refusal("no state of the arm has arrived yet", "arm-query")
        response.stamp = time_message(seen[-1])
        ik_query.fill_ik(response, self._ik.answer(m, seen[0], request, robot.base))

    def _set_payload(self, request: Any, response: Any) -> None:
        try:
            self._load(request.link, request.inertia)
        finally:
            response.model_sha256 = self._robot.arm.sha256

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
    """Compile all that a query needs, so that no query waits for the compiler."""
    twin, rest = arm.twin(), np.zeros(arm.m.nv)
    effort = twin.gravity_effort(rest, np.zeros(arm.m.nv))
    twin.command(twin.inverse_dynamics(rest, rest, rest, effort), rest, rest)
    ik_query.warm(arm.m)
