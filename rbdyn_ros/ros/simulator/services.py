"""What can be done to a robot at run time: services of rbdyn_interfaces, and topics like them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, Protocol

from geometry_msgs.msg import InertiaStamped, Vector3Stamped, WrenchStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState

from rbdyn_ros.errors import quote
from rbdyn_ros.model.model import Model
from rbdyn_ros.ros.common.answer import answer
from rbdyn_ros.ros.common.convert import time_message
from rbdyn_ros.ros.common.dynamics_query import Answer, Dynamics, Query, Snapshot
from rbdyn_ros.ros.common.qos import reliable
from rbdyn_ros.ros.simulator.wrenches import MAX_DURATION, wrench_of_message, wrench_of_request
from rbdyn_ros.runtime.orders import Wrench
from rbdyn_ros.runtime.runtime import SILENT

Numbers = Sequence[float]


class ChangeableRobot(Protocol):
    """What a robot must be able to do. Each change returns why it is refused, or nothing."""

    @property
    def m(self) -> Model:
        """The robot as it was loaded."""

    @property
    def time_node(self) -> str:
        """Name of the node that has the time of this robot and others; empty: its own."""

    def set_joint_state(
        self, names: Sequence[str], positions: Numbers, velocities: Numbers
    ) -> str:
        """Put joints elsewhere, all at the same time."""

    def push(self, wrench: Wrench | str, stream: str = "") -> str:
        """Let a wrench act, in the place of the last one of its stream, if it was not refused."""

    def set_payload(self, link: str, mass: float, com: Numbers, inertia: Numbers) -> str:
        """Fix a body to a link; inertia Ixx Iyy Izz Ixy Ixz Iyz about its centre of mass."""

    def set_gravity(self, gravity: Numbers) -> str:
        """Change gravity, in the world [m/s^2]."""

    def reset(self, time: bool, state: bool, seed: int | None) -> bool:
        """Begin again with time, state, chance; whether it did."""

    def state_hash(self) -> str:
        """SHA-256 of the newest state."""

    def snapshot(self) -> tuple[Snapshot, int]:
        """Return the robot as it is simulated now, and the stamp of that state [ns]."""

    def refuse(self, topic: str, why: str) -> None:
        """Count and report a message that was refused."""


class ChangeTopics:
    """Topics under `~/` that change a robot: set_joint_state, wrench, payload, gravity.

    Args:
        node: subscribes.
        robot: is changed.
        wrench_duration: how long the wrench of a message acts, MAX_DURATION at most [s].
        world_frame: name of the world in messages.
        frame_prefix: what stands before the names of links in TF.
    """

    def __init__(
        self,
        node: Node,
        robot: ChangeableRobot,
        wrench_duration: float,
        world_frame: str,
        frame_prefix: str = "",
    ) -> None:
        self._robot, self._duration = robot, min(wrench_duration, MAX_DURATION)
        self._world, self._prefix = world_frame, frame_prefix
        for kind, name, take in (
            (JointState, "~/set_joint_state", self._set_joint_state),
            (WrenchStamped, "~/wrench", self._push),
            (InertiaStamped, "~/payload", self._set_payload),
            (Vector3Stamped, "~/gravity", self._set_gravity),
        ):
            node.create_subscription(kind, name, self._reporting(name, take), reliable(10))

    def _reporting(self, topic: str, take: Callable[[Any], str]) -> Callable[[Any], None]:
        def on_message(message: Any) -> None:
            why = take(message)
            if why:
                self._robot.refuse(topic, why)

        return on_message

    def _set_joint_state(self, message: JointState) -> str:
        if len(message.effort):
            return "efforts are given; only positions and velocities can be set"
        return self._robot.set_joint_state(message.name, message.position, message.velocity)

    def _push(self, message: WrenchStamped) -> str:
        robot = self._robot
        wrench = wrench_of_message(robot.m, message, self._duration, self._prefix)
        # the next of a stream takes its place; another link is another stream
        return robot.push(wrench, message.header.frame_id)

    def _set_payload(self, message: InertiaStamped) -> str:
        frame = message.header.frame_id
        if not frame.startswith(self._prefix):
            return (
                f"the frame {quote(frame)} is not of this robot, whose frames begin with "
                f"'{self._prefix}'"
            )
        return self._robot.set_payload(
            frame[len(self._prefix) :], *inertia_numbers(message.inertia)
        )

    def _set_gravity(self, message: Vector3Stamped) -> str:
        frame = message.header.frame_id
        if frame not in ("", self._world):
            return (
                f"gravity is given in frame {quote(frame)}; only '{self._world}' or an empty "
                "frame_id is taken"
            )
        return self._robot.set_gravity(_vector(message.vector))


def own_services() -> Any:
    """Return the module of the services of rbdyn_interfaces.

    Raises:
        ImportError: it is not installed.
    """
    srv = importlib.import_module("rbdyn_interfaces.srv")
    if not hasattr(srv, "GetComputedTorque"):
        # Python takes a folder of the name, that of the repository, for a package
        raise ImportError("rbdyn_interfaces is not built, or is older than rbdyn_ros")
    return srv


class TypedServices:
    """Services under `~/`: four changes, reset_with and get_dynamics.

    Args:
        node: has them.
        robot: is changed and asked.

    Raises:
        ImportError: rbdyn_interfaces is not installed.
    """

    def __init__(self, node: Node, robot: ChangeableRobot) -> None:
        srv = own_services()
        self._robot, self._dynamics = robot, Dynamics()
        self._sha256 = robot.m.sha256()
        for kind, name, change in (
            (srv.SetJointState, "~/set_joint_state", self._set_joint_state),
            (srv.ApplyWrench, "~/apply_wrench", self._push),
            (srv.SetGravity, "~/set_gravity", self._set_gravity),
        ):
            node.create_service(kind, name, _answering(change))
        node.create_service(srv.SetPayload, "~/set_payload", self._set_payload)
        node.create_service(srv.Reset, "~/reset_with", self._reset)
        node.create_service(srv.GetDynamics, "~/get_dynamics", self._get_dynamics)

    def _set_joint_state(self, request: Any) -> str:
        return self._robot.set_joint_state(request.name, request.position, request.velocity)

    def _push(self, request: Any) -> str:
        return self._robot.push(wrench_of_request(self._robot.m, request))

    def _set_payload(self, request: Any, response: Any) -> Any:
        response.message = self._robot.set_payload(request.link, *inertia_numbers(request.inertia))
        response.success, response.model_sha256 = not response.message, self._sha256
        return response

    def _set_gravity(self, request: Any) -> str:
        return self._robot.set_gravity(_vector(request.gravity))

    def _reset(self, request: Any, response: Any) -> Any:
        response.message = self._why_no_reset(request)
        response.success = not response.message
        response.state_hash = self._robot.state_hash()
        return response

    def _why_no_reset(self, request: Any) -> str:
        if not (request.time or request.state or request.reseed):
            return "none of time, state and reseed is true: there is nothing to reset"
        if request.time and self._robot.time_node:
            node = self._robot.time_node
            return f"several robots have one time: it is reset by {node}/reset_simulation"
        if request.reseed and request.seed < 0:
            return f"the seed is {request.seed}; it must not be negative"
        seed = request.seed if request.reseed else None
        done = self._robot.reset(request.time, request.state, seed)
        return "" if done else SILENT

    def _get_dynamics(self, request: Any, response: Any) -> Any:
        now, stamp = self._robot.snapshot()
        query = Query(**{field.name: getattr(request, field.name) for field in fields(Query)})
        response.model_sha256, response.stamp = self._sha256, time_message(stamp)
        return answer(response, lambda: _fill(response, self._dynamics.answer(now, query)))


def open_services(node: Node, robot: ChangeableRobot) -> TypedServices | None:
    """Offer the services, or warn that rbdyn_interfaces is missing; topics do without it."""
    try:
        return TypedServices(node, robot)
    except ImportError:
        node.get_logger().warning(
            "rbdyn_interfaces is not installed: the services set_joint_state, apply_wrench, "
            "set_payload, set_gravity, get_dynamics and reset_with are off; the topics "
            "~/set_joint_state, ~/wrench, ~/payload and ~/gravity do the same as the first four"
        )
        return None


def _answering(change: Callable[[Any], str]) -> Callable[[Any, Any], Any]:
    """Return the callback of a service whose answer is success and message."""

    def on_request(request: Any, response: Any) -> Any:
        response.message = change(request)
        response.success = not response.message
        return response

    return on_request


def _fill(response: Any, answer: Answer) -> None:
    """Put an answer into the response; matrices row by row."""
    response.name = list(answer.name)
    response.potential_energy = answer.potential_energy
    response.kinetic_energy = answer.kinetic_energy
    for quantity in (
        "mass_matrix",
        "coriolis_matrix",
        "gravity_effort",
        "bias_effort",
        "jacobian",
        "inverse_dynamics",
        "forward_dynamics",
    ):
        setattr(response, quantity, getattr(answer, quantity).reshape(-1).tolist())


def _vector(message: Any) -> tuple[float, float, float]:
    return message.x, message.y, message.z


def inertia_numbers(message: Any) -> tuple[float, tuple[float, ...], tuple[float, ...]]:
    """Return mass, centre of mass, and Ixx Iyy Izz Ixy Ixz Iyz of a geometry_msgs/Inertia."""
    moments = (message.ixx, message.iyy, message.izz, message.ixy, message.ixz, message.iyz)
    return message.m, _vector(message.com), moments
