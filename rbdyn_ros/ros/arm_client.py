"""Ask and command the node arm_controller from Python: joints by name, refusals as exceptions."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from geometry_msgs.msg import Inertia
from rclpy.node import Node
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from rbdyn_ros.control.paths import Path
from rbdyn_ros.errors import did_you_mean, quote
from rbdyn_ros.ros.common.caller import Caller, said
from rbdyn_ros.ros.simulator.services import own_services
from rbdyn_ros.runtime.compiled import NANOSECONDS

if TYPE_CHECKING:
    from typing_extensions import Self

#: Number by name of joint.
ByJoint = Mapping[str, float]

#: Durations of messages are shorter [s].
LONGEST = 2**31 - 1

MODES = ("idle", "gravity", "hold", "computed_torque", "impedance")
#: Services by type.
SERVICES = {
    "GetGravityEffort": "get_gravity_effort",
    "GetInverseDynamics": "get_inverse_dynamics",
    "GetComputedTorque": "get_computed_torque",
}


class Efforts(dict[str, float]):
    """Effort by name of joint [N m or N], and what the answer says of itself.

    Attributes:
        model_sha256: of the robot description that the node has.
        stamp_ns: of the measured state that was used; 0: none was.
        saturated: an effort is beyond its limit, or was before it was clamped.
    """

    def __init__(self, response: Any) -> None:
        super().__init__(zip(response.name, response.effort, strict=True))
        self.model_sha256: str = response.model_sha256
        self.stamp_ns = response.stamp.sec * NANOSECONDS + response.stamp.nanosec
        self.saturated: bool = getattr(response, "saturated", False)


class ArmClient:
    """Speaks to an arm_controller; every method waits for the answer and returns it.

    It has a hidden node, which a thread of its own spins, so a method may be called from
    anywhere: a script that spins nothing, or a callback of any node, which it keeps busy
    meanwhile. Several threads may call. Use it in a `with` block, or `close` it.

    Every method raises RbdynError: with the node's own words if it refuses, if it does not
    answer in time, if what is given has no place in a message, or after `close`.

    Args:
        node: beside which it is; need not be spun.
        name: of the controller, in the namespace of the node unless it begins with a slash.
        timeout: for each answer [s].
    """

    def __init__(self, node: Node, name: str = "arm_controller", timeout: float = 5.0) -> None:
        self._caller = Caller(node, name, timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Cancel a goal in progress, whose `follow` raises, and end; once is enough."""
        self._caller.close()

    def arm(self) -> str:
        """Let the controller command the arm; return what it says."""
        return self._trigger("arm")

    def disarm(self) -> str:
        """Let it fall silent at once; the arm's own controller takes over."""
        return self._trigger("disarm")

    def clear_fault(self) -> str:
        """Take back a latched fault whose cause is gone."""
        return self._trigger("clear_fault")

    def set_mode(self, mode: str) -> str:
        """Change to one of MODES."""
        if mode not in MODES:
            hint = did_you_mean(str(mode), MODES)
            raise said(f"there is no mode {quote(str(mode))}{hint}; there are {', '.join(MODES)}")
        return self._trigger(mode)

    def gravity_effort(
        self, position: ByJoint | None = None, *, as_command: bool = False
    ) -> Efforts:
        """Return g, the efforts that hold the arm.

        Args:
            position: of the joints that are answered [rad or m]; others stand as measured. None:
                all joints, as measured.
            as_command: less what the arm's own controller adds to every command.
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
        """Return M qacc + C qvel + g.

        The mappings that are given name the same joints, which are answered.

        Args:
            acceleration: [rad/s^2 or m/s^2]; None: zeros.
            position: [rad or m]; None: the joints stand and move as measured.
            velocity: [rad/s or m/s], only with position; None: zeros.
            include_gravity: g, which as_command needs.
            include_friction: of the joints, as the controller knows it.
            as_command: see gravity_effort.
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
        """Return M (qacc_d + Kd (qvel_d - qvel) + Kp (q_d - q)) + C qvel + g.

        The mappings that are given name the same joints, which are answered.

        Args:
            desired_position: where the joints should be.
            desired_velocity: how they should move; None: zeros.
            desired_acceleration: likewise.
            position: where they are, as for inverse_dynamics.
            velocity: how they move, likewise.
            stiffness: Kp [1/s^2]; None: the controller's.
            damping: Kd [1/s]; None: the controller's.
            include_friction: as for inverse_dynamics.
            as_command: likewise.
            clamp: to the effort limits; `saturated` of the answer tells.
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
        """Tell of a rigid body in the hand; return the SHA-256 of the robot description.

        Args:
            link: that it is fixed to.
            mass: [kg]; 0: there is none any more.
            com: (3,) its centre of mass in the frame of the link [m].
            inertia: Ixx Iyy Izz Ixy Ixz Iyz about its centre of mass [kg m^2].
        """
        body = Inertia(m=_number("the mass", mass))
        body.com.x, body.com.y, body.com.z = _numbers("com", com, 3)
        six = _numbers("inertia", inertia, 6)
        body.ixx, body.iyy, body.izz, body.ixy, body.ixz, body.iyz = six
        kind = _kind("SetPayload")
        request = kind.Request(link=_word("the link", link), inertia=body)
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

        Whatever ends the wait before that cancels the goal, and the arm holds; but not where a
        signal has shut rclpy down already, as Ctrl-C does unless rclpy.init is told otherwise.

        Args:
            trajectory: a message, or a path of control.
            names: of the joints of a path; a message has its own.
            path_tolerance: of positions on the way, by joint [rad or m].
            goal_tolerance: of positions in the end, by joint [rad or m].
        """
        try:
            kind = importlib.import_module("control_msgs.action").FollowJointTrajectory
            tolerance = importlib.import_module("control_msgs.msg").JointTolerance
        except (ImportError, AttributeError):
            raise said("control_msgs is not installed; its action is needed") from None
        if isinstance(trajectory, Path):
            trajectory = path_message(trajectory, names)
        elif not isinstance(trajectory, JointTrajectory):
            raise said(f"a {type(trajectory).__name__} is no trajectory: give a message or a path")
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
        """Ask for efforts; rows: fields of numbers, of the same joints each."""
        kind = _kind(title)
        for flag, value in flags.items():
            if not isinstance(value, (bool, np.bool_)):
                raise said(f"{flag} is {quote(str(value))}; True or False is needed")
        request = kind.Request(**{flag: bool(value) for flag, value in flags.items()})
        names: list[str] = []
        for field, given in rows.items():
            if given is not None:
                values = _by_joint(field, given)
                names = names or list(values)
                setattr(request, field, _ordered(field, values, names))
        request.name = names
        return Efforts(self._caller.call(kind, SERVICES[title], request))


def path_message(path: Path, names: Sequence[str]) -> JointTrajectory:
    """Return a path of control as a message that starts at once.

    Raises:
        RbdynError: there are not as many names as joints, or it is too long for a message.
    """
    names = [_word("the name of a joint", name) for name in names]
    if path.times[-1] >= LONGEST:
        raise said(f"the path takes {path.times[-1]:g} s; a message can say less than {LONGEST} s")
    if len(names) != path.positions.shape[1]:
        raise said(
            f"the path is of {path.positions.shape[1]} joints, and {len(names)} names are given"
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
        raise said(f"rbdyn_interfaces is not installed; its {title} is needed") from None


def _ordered(field: str, given: ByJoint, names: Sequence[str]) -> list[float]:
    """Return the numbers in the order of the names."""
    if set(given) != set(names):
        raise said(
            f"{field} is of the joints {', '.join(given)}; the others are of {', '.join(names)}"
        )
    return [given[name] for name in names]


def _by_joint(field: str, given: ByJoint) -> dict[str, float]:
    """Return a copy that is what it should be."""
    if not isinstance(given, Mapping):
        raise said(f"{field} is a {type(given).__name__}; numbers by name of joint are needed")
    word = f"a name in {field}"
    return {_word(word, k): _number(f"{field} of {k}", v) for k, v in given.items()}


def _numbers(what: str, given: Sequence[float], count: int) -> list[float]:
    try:
        values = list(given)
    except TypeError:
        raise said(f"{what} is {quote(str(given))}; {count} numbers are needed") from None
    if len(values) != count:
        raise said(f"{what} has {len(values)} numbers; {count} are needed")
    return [_number(f"a number of {what}", value) for value in values]


def _number(what: str, given: float) -> float:
    try:
        return float(given)
    except (TypeError, ValueError, OverflowError):
        raise said(f"{what} is {quote(str(given))}; a number is needed") from None


def _word(what: str, given: str) -> str:
    """Return a text that a message can hold."""
    if not isinstance(given, str) or "\0" in given:
        raise said(f"{what} is {quote(str(given))}; a text is needed")
    return given
