# SPDX-License-Identifier: Apache-2.0
"""The node that controls an arm: it answers each state with efforts or positions.

It is not a safety function: the arm's own safety controller and emergency stop stay in charge.
"""

import gc
import math
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from geometry_msgs.msg import PoseArray, PoseStamped, TwistStamped
from rcl_interfaces.msg import SetParametersResult
from rclpy.parameter import Parameter
from std_msgs.msg import String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from rbdyn_ros.arrays import Array
from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.control.base.faults import Fault
from rbdyn_ros.control.base.limits import Limits, left_out
from rbdyn_ros.control.controller import Controller
from rbdyn_ros.control.position_controller import PositionController
from rbdyn_ros.control.states.gate import SafetyGate
from rbdyn_ros.description.reading.xacro_files import xacro_arguments
from rbdyn_ros.description.scene_files.arm_scene import ArmScene, read_arm_scene
from rbdyn_ros.errors import Finding, ParameterError, RbdynError, quote
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.ros.arm import parameters as arm_params
from rbdyn_ros.ros.arm.command_topics import EFFORT_OUTPUTS, POSITION_OUTPUTS
from rbdyn_ros.ros.arm.diagnosis import diagnose_arm
from rbdyn_ros.ros.arm.estimate import ArmEstimate, open_estimate
from rbdyn_ros.ros.arm.external import open_external
from rbdyn_ros.ros.arm.follow_action import FollowAction
from rbdyn_ros.ros.arm.gripper import ArmGripper
from rbdyn_ros.ros.arm.presets import ArmPreset, applied_text, preset_of
from rbdyn_ros.ros.arm.safety_parameters import TIGHTENING
from rbdyn_ros.ros.arm.self_collision import collision_check
from rbdyn_ros.ros.arm.services import ArmServices
from rbdyn_ros.ros.arm.topics import ArmTopics, explicit_topics
from rbdyn_ros.ros.arm.trajectories import PositionTrajectoryController, TrajectoryController
from rbdyn_ros.ros.common.graph.action_thread import ActionThread
from rbdyn_ros.ros.common.graph.qos import LATCHED
from rbdyn_ros.ros.common.graph.source import load_robot
from rbdyn_ros.ros.common.gripper.gripper_actions import GripperActions, open_grippers
from rbdyn_ros.ros.common.gripper.grippers import grippers_of
from rbdyn_ros.ros.common.lifecycle import process
from rbdyn_ros.ros.common.parsing.stamps import check_age
from rbdyn_ros.ros.common.reports.answer import MessageLog, answered, parameters_result, serve
from rbdyn_ros.ros.common.reports.diagnostics import Diagnostics
from rbdyn_ros.ros.common.settings import parameters
from rbdyn_ros.ros.common.settings.specialize import specialized
from rbdyn_ros.ros.common.tool.servoing import TOPIC, ServoStatus, servo_settings, servo_twist
from rbdyn_ros.ros.common.tool.tool_marker import TOPIC as MARKER
from rbdyn_ros.ros.common.tool.tool_marker import ToolMarker, open_marker

#: Interval of the checks for other nodes that command the arm, and for a changed status [s].
POLL = 0.05
#: Interval at which a request to arm checks whether the start-up test has ended [s].
TESTING = 0.01


class ArmController(process.ManagedNode):
    """Controls one arm: it subscribes to the arm's states and publishes commands.

    Args:
        stop: set when a signal ends the process.
        urdf: path of a robot file that overrides the parameters; None: use the parameters.
    """

    def __init__(self, stop: threading.Event, urdf: Path | None = None) -> None:
        given = [Parameter("urdf", value=str(urdf))] if urdf else []
        self._preset: ArmPreset | None = None
        super().__init__("arm_controller", stop, given)
        self._arm: TrajectoryController | None = None
        self._topics: ArmTopics | None = None
        self._arming: ActionThread | None = None
        self._action: FollowAction | None = None
        self._estimate: ArmEstimate | None = None
        self._grippers: list[GripperActions] = []
        self._servo: ServoStatus | None = None
        self._marker: ToolMarker | None = None
        self._messages = MessageLog(self.get_logger().warning)
        self._last_status, self._reported, self._due = "", 0, -math.inf
        self._last_rivals = self._assumed = ""

    def declare(self) -> SimpleNamespace:
        """Declare the parameters and return their values; a preset sets the defaults."""
        given = parameters.overrides(self)
        name = given.get("arm", "")
        self._preset = preset_of(name) if name and isinstance(name, str) else None
        defaults = {} if self._preset is None else self._preset.defaults
        values = parameters.declare(self, arm_params.PARAMETERS, defaults)
        if self._preset is not None:
            efforts = values.output in EFFORT_OUTPUTS
            self._preset.check_sending(values.dry_run or not efforts)
            explicit = explicit_topics(self, self._preset)
            self.get_logger().info(applied_text(self._preset, given, explicit))
        self.add_on_set_parameters_callback(self._on_parameters)
        return values

    def configure(self) -> None:
        """Load the robot, compile its code and open the topics."""
        with self.load():
            controller = self._controller()
            self._warm(controller)
        facts = {"effort_command_joints": list(controller.names)}
        parameters.declare_facts(self, facts | {"model_sha256": controller.arm.sha256})
        for warning in parameters.unknown(self, arm_params.PARAMETERS):
            self.get_logger().warning(warning)
        self._arm = controller
        self._status = self.create_publisher(String, "~/status", LATCHED)
        self._diagnostics = Diagnostics(self)
        self._estimate = open_estimate(self, controller, self.values)
        observers = open_external(self, controller, self.values), self._estimate
        self._topics = ArmTopics(
            self,
            controller,
            self.values.output,
            self.values.states_reliability,
            self.values.realtime,
            self._messages,
            self.stop,
            self._preset,
            controller.gate.settings.simulated,
            [one.take for one in observers if one is not None],
        )
        ArmServices(self, controller, self._messages)
        self._action = FollowAction(self, controller)
        self._open_grippers(controller, self._topics.time.now)
        follow, follow_pose = controller.follow, controller.follow_pose
        self._messages.subscribe(self, JointTrajectory, "~/joint_trajectory", follow)
        self._messages.subscribe(self, PoseArray, "~/cartesian_path", controller.follow_poses)
        # only the newest pose counts if the stream is faster than the check
        self._messages.subscribe(self, PoseStamped, "~/target_pose", follow_pose, depth=1)
        self._open_servo(controller)
        self._open_triggers(controller)

    def _open_servo(self, controller: TrajectoryController) -> None:
        """Accept twists of the tool, if the parameters name its link."""
        frame = getattr(self.values, "servo.frame") or getattr(self.values, "cartesian_path.frame")
        settings = servo_settings(self.values, frame)
        if settings is None:
            return
        controller.serve(settings)
        assert controller.servo is not None
        self._servo = ServoStatus(self, controller.servo.names)

        timeout = round(settings.timeout * NANOSECONDS)

        def take(message: TwistStamped) -> None:
            now = self.get_clock().now().nanoseconds
            check_age(message.header, now, timeout, "servo.timeout")
            self._move(controller, message.header.frame_id, servo_twist(message))

        self._marker = open_marker(self, self.values, controller.base, self._messages)
        # only the newest twist counts
        self._messages.subscribe(self, TwistStamped, TOPIC, take, depth=1)

    def _open_grippers(self, controller: TrajectoryController, now: Callable[[], int]) -> None:
        """Offer the actions of the grippers that the parameters name, or raise ParameterError."""
        found = grippers_of(controller.arm.m, self.values)
        for gripper in found:
            if gripper.joint in controller.names:
                text = (
                    f"parameter 'grippers': joint {quote(gripper.joint)} is a controlled joint of "
                    "the arm; leave this joint out of the parameter joints."
                )
                raise ParameterError(Finding("grippers", text, "error", "grippers"))
        how = controller, now, self.values.states_reliability
        ports = [ArmGripper(self, gripper, *how) for gripper in found]
        self._grippers = open_grippers(self, [*ports], self.values)

    def _controller(self) -> TrajectoryController:
        """Return the controller of the robot that the parameters name."""
        values = self.values
        scene = read_arm_scene(values.scene, values.package_dirs) if values.scene else None
        m, source = load_robot(self, _without_scene(values, scene), self.stop)
        if self._preset is not None:
            self._preset.check_joints(m.jnt_names)
        arm = Arm(
            m,
            values.gravity,
            values.mounting_rpy,
            arm_params.friction_of(values, m),
            values.robot_compensates_gravity,
            values.robot_compensates_coriolis,
        )
        if values.specialize:
            what = f"compiled the laws of '{m.name}'"
            arm = specialized(self, what, arm.specialized)
        limits = replace(
            Limits.of(m, values.joints),
            acceleration=values.acceleration_limit,
            latency=values.latency_limit,
            contact=values.contact_effort,
        )
        if values.simulated_clock and not values.dry_run:
            text = "simulated_clock is true: time comes from /clock; the lag of states is ignored"
            self.get_logger().warning(text)
        excluded = [] if values.joints else [f"  {reason}" for reason in left_out(m)]
        if excluded:
            self.get_logger().warning("\n".join(["not controlled:", *excluded]))
        scales = [getattr(values, name) for name in TIGHTENING]
        simulated = bool(self.get_parameter("use_sim_time").value)
        gate = SafetyGate(
            m, limits.tightened(*scales), arm_params.gate_settings(values, simulated)
        )
        collisions = collision_check(self, values, source, gate.limits.dofs, scene)
        positions = values.output in POSITION_OUTPUTS
        kind = PositionTrajectoryController if positions else TrajectoryController
        return kind(m, source.description, collisions, arm, gate, arm_params.settings(values))

    def _warm(self, controller: TrajectoryController) -> None:
        """Compile the laws of all modes before states arrive, with a temporary controller."""
        self.get_logger().info("preparing; the first start compiles for a while")
        arm, gate = controller.arm.twin(), controller.gate
        kind = PositionController if isinstance(controller, PositionController) else Controller
        for mode in controller.modes[1:]:
            twin = kind(arm, SafetyGate(arm.m, gate.limits), controller.settings)
            twin.rehearse(mode)

    def _open_triggers(self, controller: TrajectoryController) -> None:
        """Offer the Trigger services: their answer is the status or a reason for refusal."""
        self._arming = ActionThread(self, "arming", "a request to arm")

        def arm() -> None:
            assert self._topics is not None
            self._topics.check_claim()
            controller.try_arm(self._topics.time.now())
            while controller.testing:
                time.sleep(TESTING)
            controller.check_tested()

        services: dict[str, Callable[[], None]] = {
            "disarm": controller.disarm,
            "clear_fault": controller.clear_fault,
        }
        for mode in controller.modes:
            services[mode] = partial(controller.set_mode, mode)

        def on_request(act: Callable[[], None], _request: Any, _response: Any) -> str:
            act()
            return controller.status()

        for name, act in services.items():
            serve(self, Trigger, f"~/{name}", partial(on_request, act))
        # arming has a separate thread, because the arm can be disarmed during the start-up test
        self._arming.service(Trigger, "arm", answered(partial(on_request, arm)))
        self._arming.start()

    def activate(self) -> None:
        """Begin to answer states in the mode of parameter `mode`; the arm stays disarmed."""
        assert self._topics is not None
        assert self._arm is not None
        gc.collect()
        gc.freeze()
        self._topics.start()
        if self._topics.failure is not None:
            raise self._topics.failure
        self._arm.disarm()
        self._arm.active = True
        try:
            self._arm.set_mode(self.values.mode)
        except RbdynError as error:
            self.get_logger().error(f"the mode stays idle: {error}")
        joints = ", ".join(self._arm.names)
        self.get_logger().info(f"controlling '{self._arm.arm.m.name}': {joints}")
        self.report_grant(self._topics.grant)
        if not self.values.dry_run:
            self.get_logger().warning(
                f"not a dry run: once armed, {self._arm.takes} go to the arm. Its own safety "
                "controller and emergency stop stay in charge"
            )

    def deactivate(self) -> bool:
        """Disarm the arm and stop answering states; return True, because this cannot fail."""
        assert self._topics is not None
        assert self._arm is not None
        self._arm.active = self._topics.active = False
        self._arm.set_mode("idle")
        return True

    def _on_parameters(self, changes: list[Any]) -> SetParametersResult:
        """Apply new values of parameters, such as tightened limits: all of them, or none."""
        given = {change.name: change.value for change in changes}
        return parameters_result(lambda: self._change(given))

    def _change(self, given: dict[str, Any]) -> None:
        new = parameters.live(given, arm_params.PARAMETERS)
        if self._arm is not None and any(name in new for name in TIGHTENING):
            wanted = vars(self.values) | new
            self._arm.tighten(*(wanted[name] for name in TIGHTENING))
        vars(self.values).update(new)

    # life cycle of the process

    @property
    def poll_interval(self) -> float:
        return POLL

    def poll(self) -> None:
        """Check for rivals, follow the marker, and publish a changed status or due diagnostics."""
        if self._topics is None or self._arm is None:
            return
        if self._topics.failure is not None:
            raise self._topics.failure
        self._topics.check_claim()
        self._log_rivals(self._arm.rivals)
        self._log_devices(self._arm)
        if self._marker is not None:
            self._follow(self._marker, self._arm)
        progress = self._arm.progress()
        if self._servo is not None and (progress.done or progress.failed):
            self._servo.holds()
        status = self._arm.status()
        if status != self._last_status:
            self._last_status = status
            self._status.publish(String(data=status))
            # each level has its own line: rclpy refuses a line of code that logs at two levels
            if self._arm.fault is not None:
                self.get_logger().error(status)
            elif self._arm.failed_test:
                self.get_logger().warning(status)
            else:
                self.get_logger().info(status)
        now = time.monotonic()
        if now >= self._due:
            self._due = max(self._due, now - POLL) + 1.0 / self.values.stats_rate
            fresh = self._arm.states - self._reported
            self._reported += fresh
            times, arm_now = self._topics.times, self._topics.time.now()
            report = diagnose_arm(self._arm, times, arm_now, fresh)
            reports = [report, None if self._estimate is None else self._estimate.status()]
            name = self._arm.arm.m.name
            self._diagnostics.publish([(self, name, one) for one in reports if one is not None])

    def _follow(self, marker: ToolMarker, arm: TrajectoryController) -> None:
        """Show the marker at the tool; while the marker is dragged, move the tool to it."""
        seen = arm.measured()
        if seen is None:
            return
        place, R = arm.tool_pose(seen[0])
        if arm.progress().failed:  # for example, the arm is not armed: end the drag
            marker.drop()
        twist = marker.twist(place, R)
        move = partial(self._move, arm, "")
        if twist is not None and not self._messages.passed(MARKER, move, twist):
            marker.drop()
        marker.show(place, R)

    def _move(self, arm: TrajectoryController, frame: str, twist: Array) -> None:
        """Move the tool by a twist (6,) in the axes of a frame; "": axes of the base link."""
        assert self._servo is not None
        rates = arm.move_tool(frame, twist)
        if rates is not None:
            self._servo.moves(rates)

    def _log_devices(self, arm: TrajectoryController) -> None:
        """Log the faults of joints that are not controlled."""
        ignored, arm.ignored = arm.ignored, ""
        if ignored:
            text = f"a message of another device was not used: {ignored}"
            self.get_logger().warning(text, throttle_duration_sec=10.0)
        if arm.armed and not self._assumed:
            self._assumed = arm.assumed()
            if self._assumed:
                self.get_logger().warning(self._assumed)

    def _log_rivals(self, rivals: Fault | None) -> None:
        """Log once that there are rivals, and once that they are gone."""
        text = rivals.advice if rivals is not None else ""
        if text and text != self._last_rivals:
            self.get_logger().warning(text)
        elif self._last_rivals and not text:
            self.get_logger().info("no other node commands the arm or sends its states any more")
        self._last_rivals = text

    def end(self) -> None:
        """Stop the threads. No commands are sent after that: the arm's own watchdog takes over."""
        armed = self._arm is not None and self._arm.armed
        if self._arm is not None and self._arm.testing:
            self._arm.disarm()
        for actions in (self._action, *self._grippers, self._arming, self._estimate):
            if actions is not None:
                actions.close()
        if self._topics is not None:  # last: a request in progress uses the node of the topics
            self._topics.stop()
        if self._topics is not None and armed and not self.values.dry_run:
            print("rbdyn: shut down while armed; the arm is on its own now", file=sys.stderr)


def _without_scene(values: SimpleNamespace, scene: ArmScene | None) -> SimpleNamespace:
    """Return the values without the scene; if they name no robot, with the scene's robot."""
    own: dict[str, object] = {"scene": ""}
    if scene and scene.robot and not (values.urdf or values.robot_description):
        file = scene.robot.with_more(values.package_dirs, xacro_arguments(values.xacro_args))
        own["urdf"], own["package_dirs"] = str(file.path), file.package_dirs
        own["xacro_args"] = [f"{name}:={value}" for name, value in file.xacro_args.items()]
    return SimpleNamespace(**vars(values) | own)


def run(args: Sequence[str] | None = None, urdf: Path | None = None) -> int:
    """Run the node until a signal stops it; return the exit status.

    Args:
        args: command line with arguments of ROS; None: the command line of this process.
        urdf: path of a robot file that overrides the parameters; None: the parameters name the
            robot.
    """
    return process.run(lambda stop: ArmController(stop, urdf), args)


def main(args: Sequence[str] | None = None) -> None:
    """Entry point of `ros2 run rbdyn_ros arm_controller`."""
    sys.exit(run(args))
