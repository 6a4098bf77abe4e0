# SPDX-License-Identifier: Apache-2.0
"""Services of rbdyn_interfaces, and topics, that change a robot at run time."""

from dataclasses import fields
from typing import Any

from geometry_msgs.msg import InertiaStamped, Vector3Stamped, WrenchStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from rbdyn_ros.errors import quote, refusal
from rbdyn_ros.ros.common.graph.interfaces import own_services
from rbdyn_ros.ros.common.parsing.convert import inertia_numbers, time_message, vector_numbers
from rbdyn_ros.ros.common.queries.dynamics_query import Answer, Dynamics, Query
from rbdyn_ros.ros.common.queries.ik_query import IkQueries, fill_ik
from rbdyn_ros.ros.common.reports.answer import serve
from rbdyn_ros.ros.simulator.robot.robot import Robot
from rbdyn_ros.ros.simulator.services import boxes, wrenches


class ChangeTopics:
    """Topics under `~/` that change a robot: set_joint_state, wrench, payload, gravity.

    Args:
        node: node that subscribes.
        robot: the robot to change.
        wrench_duration: time for which the wrench of a message acts [s], at most MAX_DURATION.
        world_frame: name of the world frame in messages.
        frame_prefix: prefix of the names of links in TF.
    """

    def __init__(
        self,
        node: Node,
        robot: Robot,
        wrench_duration: float,
        world_frame: str,
        frame_prefix: str = "",
    ) -> None:
        self._robot, self._duration = robot, min(wrench_duration, wrenches.MAX_DURATION)
        self._world, self._prefix = world_frame, frame_prefix
        log = robot.reception.log
        for kind, name, take in (
            (JointState, "~/set_joint_state", self._set_joint_state),
            (WrenchStamped, "~/wrench", self._push),
            (InertiaStamped, "~/payload", self._set_payload),
            (Vector3Stamped, "~/gravity", self._set_gravity),
        ):
            log.subscribe(node, kind, name, take)

    def _set_joint_state(self, message: JointState) -> None:
        if len(message.effort):
            raise refusal("efforts cannot be set; allowed are positions and velocities")
        self._robot.set_joint_state(message.name, message.position, message.velocity)

    def _push(self, message: WrenchStamped) -> None:
        wrench = wrenches.wrench_of_message(self._robot.m, message, self._duration, self._prefix)
        # messages for one frame are a stream: each wrench replaces the last
        self._robot.loop.orders.push(wrench, message.header.frame_id)

    def _set_payload(self, message: InertiaStamped) -> None:
        link = wrenches.link_of(message.header.frame_id, self._prefix)
        self._robot.payloads.set_payload(link, *inertia_numbers(message.inertia))

    def _set_gravity(self, message: Vector3Stamped) -> None:
        frame = message.header.frame_id
        if frame not in ("", self._world):
            raise refusal(
                f"gravity is in frame {quote(frame)}; allowed is '{self._world}' or an empty "
                "frame_id"
            )
        self._robot.payloads.set_gravity(vector_numbers(message.vector))


class TypedServices:
    """Serves changes of the robot and of its world, reset_with, and queries, all under `~/`.

    Args:
        node: node that offers them.
        robot: the robot to change and to query.
        world: name of the world's frame.
        prefix: prefix of the robot's frames in TF.

    Raises:
        ImportError: rbdyn_interfaces is not installed.
    """

    def __init__(self, node: Node, robot: Robot, world: str, prefix: str) -> None:
        srv = own_services()
        self._robot, self._dynamics, self._ik = robot, Dynamics(), IkQueries()
        self._sha256, self._world, self._prefix = robot.m.sha256(), world, prefix
        for kind, name, act in (
            (srv.SetJointState, "~/set_joint_state", self._set_joint_state),
            (srv.ApplyWrench, "~/apply_wrench", self._push),
            (srv.SetGravity, "~/set_gravity", self._set_gravity),
            (srv.SetPayload, "~/set_payload", self._set_payload),
            (srv.Attach, "~/attach", self._attach),
            (srv.Attach, "~/detach", self._detach),
            (srv.SetSurfaceVelocity, "~/set_surface_velocity", self._set_surface_velocity),
            (srv.Reset, "~/reset_with", self._reset),
            (srv.GetDynamics, "~/get_dynamics", self._get_dynamics),
            (srv.GetIk, "~/get_ik", self._get_ik),
        ):
            serve(node, kind, name, act)

    def _set_joint_state(self, request: Any, _: Any) -> None:
        self._robot.set_joint_state(request.name, request.position, request.velocity)

    def _push(self, request: Any, _: Any) -> None:
        self._robot.loop.orders.push(wrenches.wrench_of_request(self._robot.m, request))

    def _set_payload(self, request: Any, response: Any) -> None:
        response.model_sha256 = self._sha256
        self._robot.payloads.set_payload(request.link, *inertia_numbers(request.inertia))

    def _set_gravity(self, request: Any, _: Any) -> None:
        self._robot.payloads.set_gravity(vector_numbers(request.gravity))

    def _attach(self, request: Any, _: Any) -> str:
        return self._robot.attach(request.link, request.to)

    def _detach(self, request: Any, _: Any) -> str:
        return self._robot.detach(request.link, request.to)

    def _set_surface_velocity(self, request: Any, _: Any) -> None:
        velocity = vector_numbers(request.velocity)
        self._robot.set_surface_velocity(request.obstacle, velocity)

    def _reset(self, request: Any, response: Any) -> None:
        try:
            self._check_reset(request)
            seed = request.seed if request.reseed else None
            self._robot.reset(request.time, request.state, request.robot, seed)
        finally:
            response.state_hash = self._robot.state_hash()

    def _check_reset(self, request: Any) -> None:
        if not (request.time or request.state or request.robot or request.reseed):
            reason = "none of time, state, robot and reseed is true: there is nothing to reset"
            raise refusal(reason)
        if request.time and self._robot.time_node:
            service = f"{self._robot.time_node}/reset_simulation"
            raise refusal(f"the robots share one time; reset it by {service}")
        if request.reseed and request.seed < 0:
            raise refusal(f"the seed is {request.seed}; allowed is 0 or more")

    def _get_dynamics(self, request: Any, response: Any) -> None:
        now, stamp = self._robot.snapshot()
        query = Query(**{field.name: getattr(request, field.name) for field in fields(Query)})
        response.model_sha256, response.stamp = self._sha256, time_message(stamp)
        _fill(response, self._dynamics.answer(now, query))

    def _get_ik(self, request: Any, response: Any) -> None:
        now, stamp = self._robot.snapshot()
        response.model_sha256, response.stamp = self._sha256, time_message(stamp)
        found = self._ik.answer(now.plant, now.qpos, request, self._world, self._prefix)
        fill_ik(response, found)


def open_services(robot: Robot) -> None:
    """Open the services of a robot, and topics for the same changes, on the robot's node.

    If rbdyn_interfaces is not installed, log a warning and open only the topics.
    """
    node, values = robot.node, robot.values
    ChangeTopics(node, robot, values.command_timeout, values.world_frame, values.frame_prefix)

    def clear_wrenches(_request: Any, _response: Any) -> str:
        robot.loop.orders.clear_wrenches()
        return "all wrenches ended"

    serve(node, Trigger, "~/state_hash", lambda _request, _response: robot.state_hash())
    serve(node, Trigger, "~/clear_wrenches", clear_wrenches)
    boxes.offer(node, robot.boxes)
    try:
        TypedServices(node, robot, values.world_frame, values.frame_prefix)
    except ImportError:
        node.get_logger().warning(
            "rbdyn_interfaces is not installed: the services set_joint_state, apply_wrench, "
            "set_payload, set_gravity, get_dynamics, get_ik, reset_with, attach, detach and "
            "set_surface_velocity are off; the topics ~/set_joint_state, ~/wrench, ~/payload and "
            "~/gravity replace the first four"
        )


def _fill(response: Any, found: Answer) -> None:
    """Copy an answer to the response, matrices row by row."""
    response.name = list(found.name)
    response.potential_energy = found.potential_energy
    response.kinetic_energy = found.kinetic_energy
    for quantity in (
        "mass_matrix",
        "coriolis_matrix",
        "gravity_effort",
        "bias_effort",
        "jacobian",
        "inverse_dynamics",
        "forward_dynamics",
    ):
        setattr(response, quantity, getattr(found, quantity).reshape(-1).tolist())
