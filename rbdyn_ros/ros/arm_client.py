# SPDX-License-Identifier: Apache-2.0
"""Python client of the node arm_controller; it names joints and raises exceptions on refusal."""

import importlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from geometry_msgs.msg import Inertia
from rclpy.node import Node
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from rbdyn_ros.checks.names import one_of
from rbdyn_ros.checks.numbers import finite, flag
from rbdyn_ros.control.arm.settings import MODES
from rbdyn_ros.control.motion.paths import Path
from rbdyn_ros.errors import RbdynError, counted, shown
from rbdyn_ros.nanoseconds import NANOSECONDS, nanoseconds
from rbdyn_ros.ros.common.graph.caller import CODE, Caller, client_error
from rbdyn_ros.ros.common.graph.interfaces import own_services

if TYPE_CHECKING:
    from typing_extensions import Self

#: A number for each joint, by name.
ByJoint = Mapping[str, float]

#: Durations in messages are shorter than this [s].
LONGEST = 2**31 - 1

#: The name of each service, by its type.
SERVICES = {
    "GetGravityEffort": "get_gravity_effort",
    "GetInverseDynamics": "get_inverse_dynamics",
    "GetComputedTorque": "get_computed_torque",
}


class Efforts(dict[str, float]):
    """Efforts by joint name [N m or N], with the other fields of the answer.

    Attributes:
        model_sha256: hash of the node's robot.
        stamp_ns: stamp of the measured state that was used [ns]; 0: no state was used.
        saturated: whether an effort exceeds its limit, or did so before it was clamped.
    """

    def __init__(self, response: Any) -> None:
        super().__init__(zip(response.name, response.effort, strict=True))
        self.model_sha256: str = response.model_sha256
        self.stamp_ns = nanoseconds(response.stamp)
        self.saturated: bool = getattr(response, "saturated", False)


class ArmClient:
    """Client of an arm_controller; every method waits for the answer and returns it.

    A thread of its own spins a hidden node. So methods may be called from any thread: from a
    script that does not spin, or from a callback. Use the client in a `with` block, or call
    `close`.

    Every method raises RbdynError if the node refuses (with its message) or does not answer in
    time, if an argument does not fit into a message, and after `close`.

    Args:
        node: node whose context and namespace the client uses; it need not spin.
        name: name of the controller, in the namespace of the node unless it begins with a slash.
        timeout: longest wait for an answer [s].
    """

    def __init__(self, node: Node, name: str = "arm_controller", timeout: float = 10.0) -> None:
        self._caller = Caller(node, name, timeout)

    def __enter__(self) -> "Self":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Cancel a goal in progress, so that its `follow` raises, and end; may be called twice."""
        self._caller.close()

    def arm(self) -> str:
        """Let the controller command the arm, after its start-up test; return the status.

        The test takes 1 to 6 s, longer in a slow simulation; `timeout` must be longer.
        """
        return self._trigger("arm")

    def disarm(self) -> str:
        """Stop sending efforts at once; the arm's own controller takes over. Return the status."""
        return self._trigger("disarm")

    def clear_fault(self) -> str:
        """Clear a latched fault and disarm, if there is one; return the status."""
        return self._trigger("clear_fault")

    def set_mode(self, mode: str) -> str:
        """Change the mode to one of MODES; return the status."""
        return self._trigger(one_of("mode", mode, MODES, RbdynError, CODE, element=""))

    def gravity_effort(
        self, position: ByJoint | None = None, *, as_command: bool = False
    ) -> Efforts:
        """Return g, the efforts that hold the arm against gravity.

        Args:
            position: positions of the joints in the answer [rad or m]; all other joints are at
                their measured positions. None: answer for all joints, as measured.
            as_command: whether to subtract the gravity compensation of the arm's own controller.
        """
        return self._ask(
            "GetGravityEffort",
            {"position": position},
            use_current_state=position is None,
            as_command=as_command,
        )

    def inverse_dynamics(
        self,
        acceleration: ByJoint | None = None,
        position: ByJoint | None = None,
        velocity: ByJoint | None = None,
        *,
        include_gravity: bool = True,
        include_friction: bool = False,
        as_command: bool = False,
    ) -> Efforts:
        """Return the efforts M qacc + C qvel + g, with friction if include_friction.

        All given mappings must name the same joints; the answer has these joints.

        Args:
            acceleration: accelerations by joint [rad/s^2 or m/s^2]; None: zeros.
            position: positions by joint [rad or m]; None: positions and velocities as measured.
            velocity: velocities by joint [rad/s or m/s], only with position; None: zeros.
            include_gravity: whether to add g; as_command needs it.
            include_friction: whether to add the controller's model of joint friction.
            as_command: as for gravity_effort.
        """
        return self._ask(
            "GetInverseDynamics",
            {"position": position, "velocity": velocity, "acceleration": acceleration},
            use_current_state=position is None,
            include_gravity=include_gravity,
            include_friction=include_friction,
            as_command=as_command,
        )

    def computed_torque(
        self,
        desired_position: ByJoint,
        desired_velocity: ByJoint | None = None,
        desired_acceleration: ByJoint | None = None,
        *,
        position: ByJoint | None = None,
        velocity: ByJoint | None = None,
        stiffness: ByJoint | None = None,
        damping: ByJoint | None = None,
        include_friction: bool = False,
        as_command: bool = False,
        clamp: bool = False,
    ) -> Efforts:
        """Return the efforts M (qacc_d + Kd (qvel_d - qvel) + Kp (q_d - q)) + C qvel + g.

        All given mappings must name the same joints; the answer has these joints.

        Args:
            desired_position: positions by joint [rad or m].
            desired_velocity: velocities by joint [rad/s or m/s]; None: zeros.
            desired_acceleration: accelerations by joint [rad/s^2 or m/s^2]; None: zeros.
            position: as for inverse_dynamics.
            velocity: as for inverse_dynamics.
            stiffness: Kp [1/s^2]; None: the stiffness of the controller.
            damping: Kd [1/s]; None: the damping of the controller.
            include_friction: as for inverse_dynamics.
            as_command: as for gravity_effort.
            clamp: whether to clamp efforts to their limits; `saturated` is then true if an effort
                was clamped.
        """
        return self._ask(
            "GetComputedTorque",
            {
                "desired_position": desired_position,
                "desired_velocity": desired_velocity,
                "desired_acceleration": desired_acceleration,
                "position": position,
                "velocity": velocity,
                "stiffness": stiffness,
                "damping": damping,
            },
            use_current_state=position is None,
            include_friction=include_friction,
            as_command=as_command,
            clamp=clamp,
        )

    def set_payload(
        self,
        link: str,
        mass: float,
        com: Sequence[float] = (0.0, 0.0, 0.0),
        inertia: Sequence[float] = (0.0,) * 6,
    ) -> str:
        """Attach a payload to a link, in place of its last payload; return the new model_sha256.

        Args:
            link: name of the link.
            mass: mass of the payload [kg]; 0 removes it.
            com: (3,) centre of mass in the frame of the link [m].
            inertia: (6,) Ixx Iyy Izz Ixy Ixz Iyz about the centre of mass [kg m^2].
        """
        body = Inertia(m=_number("mass", mass))
        body.com.x, body.com.y, body.com.z = _vector("com", com, 3)
        six = _vector("inertia", inertia, 6)
        body.ixx, body.iyy, body.izz, body.ixy, body.ixz, body.iyz = six
        kind = _kind("SetPayload")
        request = kind.Request(link=_string("link", link), inertia=body)
        sha256: str = self._caller.call(kind, "set_payload", request).model_sha256
        return sha256

    def follow(
        self,
        trajectory: Path | JointTrajectory,
        names: Sequence[str] = (),
        path_tolerance: ByJoint | None = None,
        goal_tolerance: ByJoint | None = None,
    ) -> None:
        """Follow a trajectory to its end.

        Any exception before the end, such as KeyboardInterrupt, cancels the goal, and the arm
        holds. To cancel, rclpy must still run; by default its handler of Ctrl-C shuts it down.

        Args:
            trajectory: a message, or a path of rbdyn_ros.control.
            names: joints of a path; a message contains the names.
            path_tolerance: largest position error during the motion, by joint [rad or m]; None:
                the tolerances of the controller.
            goal_tolerance: largest position error at the end, by joint [rad or m]; None: the
                tolerances of the controller.
        """
        try:
            kind = importlib.import_module("control_msgs.action").FollowJointTrajectory
            tolerance = importlib.import_module("control_msgs.msg").JointTolerance
        except (ImportError, AttributeError):
            raise client_error("follow needs control_msgs, which is not installed") from None
        if isinstance(trajectory, Path):
            trajectory = path_message(trajectory, names)
        elif not isinstance(trajectory, JointTrajectory):
            raise client_error(
                f"the trajectory must be a JointTrajectory or a Path, got {shown(trajectory)}"
            )
        goal = kind.Goal(trajectory=trajectory)
        tolerances = {"path_tolerance": path_tolerance, "goal_tolerance": goal_tolerance}
        for field, given in tolerances.items():
            allowed = {} if given is None else _by_joint(field, given)
            entries = [tolerance(name=name, position=value) for name, value in allowed.items()]
            setattr(goal, field, entries)
        self._caller.pursue(kind, "follow_joint_trajectory", goal)

    def _trigger(self, name: str) -> str:
        message: str = self._caller.call(Trigger, name, Trigger.Request()).message
        return message

    def _ask(self, title: str, rows: Mapping[str, ByJoint | None], **flags: bool) -> Efforts:
        """Call the service `title` with fields of numbers by joint, and with flags.

        All rows must name the same joints; None leaves a field empty.
        """
        kind = _kind(title)
        checked = {k: flag(k, v, RbdynError, CODE, element="") for k, v in flags.items()}
        request = kind.Request(**checked)
        names: list[str] = []
        for field, given in rows.items():
            if given is not None:
                values = _by_joint(field, given)
                names = names or list(values)
                setattr(request, field, _ordered(field, values, names))
        request.name = names
        return Efforts(self._caller.call(kind, SERVICES[title], request))


def path_message(path: Path, names: Sequence[str]) -> JointTrajectory:
    """Convert a path of rbdyn_ros.control to a message with a trajectory that starts at once.

    Raises:
        RbdynError: the path does not have as many joints as names, or takes too long.
    """
    names = [_string("a joint name", name) for name in names]
    if path.times[-1] >= LONGEST:
        raise client_error(
            f"the path takes {path.times[-1]:g} s; a message is limited to less than {LONGEST} s"
        )
    if len(names) != path.positions.shape[1]:
        raise client_error(
            f"the path has {counted(path.positions.shape[1], 'joint')}, "
            f"but the number of names is {len(names)}"
        )
    message = JointTrajectory(joint_names=names)
    for k, time in enumerate(path.times.tolist()):
        point = JointTrajectoryPoint(positions=path.positions[k].tolist())
        if path.order >= 3:
            point.velocities = path.velocities[k].tolist()
        if path.order >= 5:
            point.accelerations = path.accelerations[k].tolist()
        seconds, rest = divmod(round(time * NANOSECONDS), NANOSECONDS)
        point.time_from_start.sec, point.time_from_start.nanosec = seconds, rest
        message.points.append(point)
    return message


def _kind(title: str) -> Any:
    try:
        return getattr(own_services(), title)
    except ImportError:
        raise client_error(f"{title} needs rbdyn_interfaces, which is not installed") from None


def _ordered(field: str, given: ByJoint, names: Sequence[str]) -> list[float]:
    """Return numbers by joint in the order of the names; refuse a mapping with other joints."""
    if set(given) != set(names):
        raise client_error(
            f"{field} names {', '.join(given)}, but other arguments name {', '.join(names)}"
        )
    return [given[name] for name in names]


def _by_joint(field: str, given: ByJoint) -> dict[str, float]:
    """Return a copy of a mapping from joints to numbers; raise RbdynError for another type."""
    if not isinstance(given, Mapping):
        raise client_error(
            f"{field} must be a mapping from joint names to numbers, got {shown(given)}"
        )
    return {
        _string(f"a joint name in {field}", k): _number(f"{field} of {k}", v)
        for k, v in given.items()
    }


def _vector(name: str, given: Sequence[float], count: int) -> list[float]:
    numbers: list[float] = finite(
        name, given, (count,), None, None, RbdynError, CODE, element=""
    ).tolist()
    return numbers


def _number(name: str, given: float) -> float:
    return finite(name, given, (), None, None, RbdynError, CODE, element="")


def _string(name: str, given: str) -> str:
    """Return `given` if a message can contain it as a string; otherwise raise RbdynError."""
    if not isinstance(given, str) or "\0" in given:
        raise client_error(f"{name} must be a string without NUL, got {shown(given)}")
    return given
