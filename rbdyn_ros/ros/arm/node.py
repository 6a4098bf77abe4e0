"""The node that controls an arm: it reads a robot, answers states with efforts, and can be asked.

This is no safety function: the arm's own safety controller and its emergency stop stay in charge.
"""

from __future__ import annotations

import gc
import math
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from geometry_msgs.msg import PoseStamped
from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.parameter import Parameter
from std_msgs.msg import String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from rbdyn_ros.control.arm import Arm
from rbdyn_ros.control.controller import Controller
from rbdyn_ros.control.gate import SafetyGate
from rbdyn_ros.control.limits import Limits, left_out
from rbdyn_ros.control.settings import MODES
from rbdyn_ros.errors import Finding, ModelError, ParameterError, RbdynError
from rbdyn_ros.loading.load import complete
from rbdyn_ros.ros.arm import parameters as arm_params
from rbdyn_ros.ros.arm.diagnosis import diagnose_arm
from rbdyn_ros.ros.arm.follow_action import FollowAction
from rbdyn_ros.ros.arm.services import ArmServices
from rbdyn_ros.ros.arm.topics import ArmTopics
from rbdyn_ros.ros.arm.trajectories import DrivenArm
from rbdyn_ros.ros.common import parameters, process, source
from rbdyn_ros.ros.common.qos import LATCHED, reliable
from rbdyn_ros.ros.common.statistics import Diagnostics
from rbdyn_ros.ros.simulator.commands import Tally

#: The status is looked at this often [s].
LOOK = 0.05


class ArmController(process.ManagedNode):
    """Controls one arm by the states it publishes and the efforts it takes.

    Args:
        stop: set when a signal asks for the end.
        urdf: path of a robot file, stronger than every parameter; None: see the parameters.
    """

    def __init__(self, stop: threading.Event, urdf: Path | None = None) -> None:
        given = [Parameter("urdf", value=str(urdf))] if urdf else []
        super().__init__("arm_controller", stop, given)
        self._arm: DrivenArm | None = None
        self._topics: ArmTopics | None = None
        self._action: FollowAction | None = None
        self._tally = Tally()
        self._said, self._reported, self._due = "", 0, -math.inf

    def declare(self) -> SimpleNamespace:
        """Declare the parameters and return their values."""
        values = parameters.declare(self, arm_params.PARAMETERS)
        self.add_on_set_parameters_callback(self._on_parameters)
        return values

    def configure(self) -> None:
        """Load the robot, compile what it needs and open the topics."""
        self.loading = True
        controller = self._load()
        self._warm(controller)
        self.loading = False
        self._declare_facts(controller)
        for sentence in parameters.unknown(self, arm_params.PARAMETERS):
            self.get_logger().warning(sentence)
        self._arm = controller
        self._status = self.create_publisher(String, "~/status", LATCHED)
        self._diagnostics = Diagnostics(self)
        self._topics = ArmTopics(
            self,
            controller,
            self.values.output,
            self.values.states_reliability,
            self.values.realtime,
        )
        self._typed = ArmServices(self, controller)
        self._action = FollowAction(self, controller)
        for kind, name, take in (
            (JointTrajectory, "~/joint_trajectory", controller.follow),
            (PoseStamped, "~/target_pose", controller.follow_pose),
        ):
            callback = self._judging(name, take)
            self.create_subscription(kind, name, callback, reliable(10))
        self._open_triggers(controller)

    def _load(self) -> DrivenArm:
        """Return the controller of the robot that the parameters name."""
        values, logger = self.values, self.get_logger()
        wanted = SimpleNamespace(
            urdf=values.urdf,
            robot_description=values.robot_description,
            strict=values.strict,
            contact=False,
        )
        found = source.find(self, wanted, self.stop, None)
        m = complete(found.description, False, values.strict)
        warnings = [f"  {finding}" for finding in m.findings if finding.severity == "warning"]
        if warnings:
            logger.warning("\n".join([f"robot '{m.name}':", *warnings]))
        source.demand_sha256(m, values.required_sha256)
        arm = Arm(
            m,
            values.gravity,
            values.mounting_rpy,
            arm_params.friction_of(values, m),
            values.robot_compensates_gravity,
        )
        if values.specialize:
            arm = self._specialized(arm)
        limits = Limits.of(m, values.joints)
        if not values.joints:
            lines = [f"  {sentence}" for sentence in left_out(m)]
            if lines:
                logger.warning("\n".join(["not controlled:", *lines]))
        scales = [getattr(values, name) for name in arm_params.TIGHTENING]
        simulated = bool(self.get_parameter("use_sim_time").value)
        strict = arm_params.gate_settings(values, simulated)
        gate = SafetyGate(m, limits.tightened(*scales), strict)
        return DrivenArm(m, found.description, arm, gate, arm_params.settings(values))

    def _specialized(self, arm: Arm) -> Arm:
        """Return the arm with laws that are compiled for it."""
        began = time.perf_counter()
        try:
            special = arm.specialized()
        except ModelError as error:
            text = f"parameter 'specialize' is true, but {error}"
            raise ParameterError(Finding("specialize", text, "error", "specialize")) from error
        took = time.perf_counter() - began
        self.get_logger().info(f"laws of '{arm.m.name}' specialised in {took:.2f} s")
        return special

    def _warm(self, controller: DrivenArm) -> None:
        """Compile everything before anything depends on it, with a controller of its own."""
        self.get_logger().info("preparing; compiling takes a while at the first start")
        arm, gate = controller.arm.twin(), controller.gate
        for mode in MODES[1:]:
            twin = Controller(arm, SafetyGate(arm.m, gate.limits), controller.settings)
            twin.rehearse(mode)

    def _declare_facts(self, controller: Controller) -> None:
        """Parameters that others read: they describe the robot."""
        facts: dict[str, Any] = {
            "effort_command_joints": list(controller.names),
            "model_sha256": controller.arm.sha256,
        }
        for name, value in facts.items():
            descriptor = ParameterDescriptor(read_only=True)
            self.declare_parameter(name, value, descriptor, ignore_override=True)

    def _open_triggers(self, controller: DrivenArm) -> None:
        """Offer the services without arguments."""

        def arm() -> str:
            return self._why_rivals() or controller.try_arm(time.monotonic_ns())

        services: dict[str, Callable[[], str]] = {
            "arm": arm,
            "disarm": controller.disarm,
            "clear_fault": controller.clear_fault,
        }
        for mode in MODES:
            services[mode] = partial(controller.set_mode, mode)
        for name, ask in services.items():
            self.create_service(Trigger, f"~/{name}", self._answering(ask))

    def _why_rivals(self) -> str:
        """Return who else commands the arm, or nothing."""
        assert self._topics is not None
        rivals = [] if self.values.dry_run else self._topics.rivals()
        return f"{', '.join(rivals)} publishes efforts for the arm, too" if rivals else ""

    def _answering(self, ask: Callable[[], str]) -> Callable[[Any, Any], Any]:
        def answer(_request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
            assert self._arm is not None
            why = ask()
            response.success, response.message = not why, why or self._arm.status()
            return response

        return answer

    def _judging(self, topic: str, take: Callable[[Any], str]) -> Callable[[Any], None]:
        def on_message(message: Any) -> None:
            why = take(message)
            line = self._tally.refuse(topic, why, time.monotonic()) if why else ""
            if line:
                self.get_logger().warning(line)

        return on_message

    def activate(self) -> None:
        """Answer states; the arm is disarmed."""
        assert self._topics is not None
        assert self._arm is not None
        gc.collect()
        gc.freeze()
        self._topics.start()
        if self._topics.failure is not None:
            raise self._topics.failure
        self._arm.disarm()
        self._arm.active = True
        why = self._arm.set_mode(self.values.mode)
        if why:
            self.get_logger().error(f"the mode stays idle: {why}")
        joints = ", ".join(self._arm.names)
        self.get_logger().info(f"controlling '{self._arm.arm.m.name}': {joints}")
        self.get_logger().info(str(self._topics.grant))
        if not self.values.dry_run:
            self.get_logger().warning(
                "not a dry run: once armed, efforts go to the arm. Its own safety controller and "
                "its emergency stop stay in charge"
            )

    def deactivate(self) -> bool:
        """Disarm, and answer nothing."""
        assert self._topics is not None
        assert self._arm is not None
        self._arm.active = self._topics.active = False
        self._arm.set_mode("idle")
        return True

    def _on_parameters(self, changes: list[Any]) -> SetParametersResult:
        """Take changes of limits, all or none."""
        given = {change.name: change.value for change in changes}
        try:
            new = parameters.live(given, arm_params.PARAMETERS)
            if self._arm is not None and any(name in new for name in arm_params.TIGHTENING):
                wanted = vars(self.values) | new
                why = self._arm.tighten(*(wanted[name] for name in arm_params.TIGHTENING))
                if why:
                    return SetParametersResult(successful=False, reason=why)
        except RbdynError as error:
            return SetParametersResult(successful=False, reason=str(error))
        vars(self.values).update(new)
        return SetParametersResult(successful=True)

    # the process

    @property
    def nap(self) -> float:
        """Time between two looks [s]."""
        return LOOK

    def look(self) -> None:
        """Tell what changed and how it goes."""
        if self._topics is None or self._arm is None:
            return
        if self._topics.failure is not None:
            raise self._topics.failure
        said = self._arm.status()
        if said != self._said:
            self._said = said
            self._status.publish(String(data=said))
            if self._arm.fault is not None:  # a line of code logs at one level only
                self.get_logger().error(said)
            else:
                self.get_logger().info(said)
        now = time.monotonic()
        if now >= self._due:
            self._due = max(self._due, now - LOOK) + 1.0 / self.values.stats_rate
            fresh = self._arm.states - self._reported
            self._reported += fresh
            times = self._topics.times
            rivals = self._why_rivals()
            status = diagnose_arm(self._arm, times, time.monotonic_ns(), fresh, rivals)
            self._diagnostics.publish([(self, self._arm.arm.m.name, status)])

    def end(self) -> None:
        """Fall silent: the arm's own watchdog takes over."""
        if self._action is not None:
            self._action.close()
        if self._topics is not None:
            armed = self._arm is not None and self._arm.armed
            self._topics.stop()
            if armed and not self.values.dry_run:
                print("rbdyn: ended while armed; the arm is left to itself", file=sys.stderr)


def run(args: Sequence[str] | None = None, urdf: Path | None = None) -> int:
    """Run the node until Ctrl-C or SIGTERM; return the exit status.

    Args:
        args: command line with the arguments of ROS; None for that of this process.
        urdf: path of a robot file, stronger than every parameter.
    """
    return process.run(lambda stop: ArmController(stop, urdf), args)


def main(args: Sequence[str] | None = None) -> None:
    """Entry point of `ros2 run rbdyn_ros arm_controller`."""
    sys.exit(run(args))
