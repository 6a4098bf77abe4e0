# SPDX-License-Identifier: Apache-2.0
"""The simulator node: read parameters, load robots, run their loops, control their time."""

import gc
import re
import sys
import threading
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock

from rbdyn_ros.errors import Finding, ParameterError, RbdynError, quote
from rbdyn_ros.recording import writer
from rbdyn_ros.recording.writer import check_recordable
from rbdyn_ros.ros.common.graph.qos import reliable
from rbdyn_ros.ros.common.lifecycle import process
from rbdyn_ros.ros.common.reports.answer import attempt, parameters_result
from rbdyn_ros.ros.common.settings import parameters
from rbdyn_ros.ros.simulator import parameters as params
from rbdyn_ros.ros.simulator.graph.claims import CLOCK, Claims
from rbdyn_ros.ros.simulator.graph.clock import ClockClaim
from rbdyn_ros.ros.simulator.robot.robot import Robot
from rbdyn_ros.ros.simulator.robot.simulation import Simulation
from rbdyn_ros.ros.simulator.services.services import open_services
from rbdyn_ros.ros.simulator.services.simulation_services import open_simulation_services
from rbdyn_ros.ros.simulator.services.standard import StandardServices, open_standard
from rbdyn_ros.ros.simulator.services.view import ViewedSimulation, open_view
from rbdyn_ros.ros.simulator.setup import Setup
from rbdyn_ros.ros.simulator.statistics import Statistics
from rbdyn_ros.ros.simulator.topics.publisher import Publisher
from rbdyn_ros.ros.simulator.topics.record import (
    NodeRecorder,
    NodeRecording,
    RecordedTopics,
    RobotNode,
)
from rbdyn_ros.runtime.wakeup import Wakeup
from rbdyn_ros.view.live.process import ViewProcess
from rbdyn_ros.view.live.spawned import Spawned

#: Parameters about time and the process, which all robots in one process share.
COMMON = (
    *("time_mode", "real_time_factor", "start_paused", "realtime", "publish_clock", "clock_rate"),
    *("stats_rate", "autostart"),
)

#: Time for leaving the graph after the recording is complete [s].
LEAVING = 1.5


class Simulator(RecordedTopics, process.ManagedNode):
    """Simulates one robot, or several, behind ROS 2 topics.

    Args:
        stop: set when a signal ends the process.
        urdf: path of a robot file that overrides the parameters; None: use the parameters.
        fallback: robot file if the parameters name no robot; None: wait for the topic.
        imports: Python files of the user that have already run here; the view runs them too.
        setup: settings of a simulator inside another program; None: it has its own process.
        spawned: the process of the view, if it runs already; None: the node starts it if needed.
    """

    def __init__(
        self,
        stop: threading.Event,
        urdf: Path | None = None,
        fallback: Path | None = None,
        imports: Sequence[Path] = (),
        setup: Setup | None = None,
        spawned: Spawned | None = None,
    ) -> None:
        given = dict(setup.parameters) if setup is not None else {}
        if urdf:
            given["urdf"] = str(urdf)
        super().__init__("simulator", stop, [Parameter(k, value=x) for k, x in given.items()])
        self._setup = setup
        self._urdf, self._fallback, self._imports = urdf, fallback, imports
        self._spawned = spawned
        self._claims: Claims | None = None
        self._clock_claim: ClockClaim | None = None
        self._wakeup = Wakeup()
        self._robots: list[Robot] = []
        self._publisher: Publisher | None = None
        self._statistics: Statistics | None = None
        self._standard: StandardServices | None = None
        self._view: ViewProcess | None = None
        self._recording: NodeRecording | None = None
        self._started = False

    def declare(self) -> SimpleNamespace:
        values = parameters.declare(self, params.PARAMETERS)
        self.values = values
        self.add_on_set_parameters_callback(self._on_parameters)
        return values

    def configure(self) -> None:
        """Load the robots and open all topics and services."""
        values = self.values
        if values.record:  # the recorder must exist before the topics that it records
            check_recordable(values.record)
            self._recording = NodeRecording(Path(values.record))
            self.recorder = NodeRecorder(self._recording)
        self._claims = claims = Claims(self)
        if self._setup is None and (
            values.publish_clock or self.get_parameter("use_sim_time").value
        ):
            self._clock_claim = ClockClaim(self, claims, values.publish_clock)
        robots = self._make_robots()
        states = [robot.node.resolve_topic_name("joint_states") for robot in robots]
        claims.announce(states + [claims.clock] * values.publish_clock)
        with self.load():
            for robot in robots:
                robot.load(self.stop, self._fallback)
        viewed = ViewedSimulation(self, robots)
        self._view = open_view(viewed, values, self._imports, self._spawned)
        clock = None
        base = int(self.get_clock().now().nanoseconds)
        if self._clock_claim is not None:
            base = self._clock_claim.settle(self.stop)
            clock = self._clock_claim.publisher
        if self._setup is not None:
            base, clock = 0, self.create_publisher(Clock, CLOCK, reliable(1))
        claims.announce(states + [claims.clock] * (clock is not None))
        claims.poll()
        claims.check()
        if self._recording is not None:
            self._recording.open(self)
            self.status = 1  # exit status until the recording is complete
        for k, robot in enumerate(robots):
            robot.open(self._wakeup, base, clock if k == 0 else None)
            open_services(robot)
            if robot.node is not self:
                change = partial(self._change, robot)
                robot.node.add_on_set_parameters_callback(change)
        claims.announce(frames=[name for robot in robots for name in robot.outputs.frames])
        self._robots = robots
        self._simulation = Simulation(robots, self.stop)
        open_simulation_services(self, self._simulation)
        self._standard = open_standard(self, self._simulation, values.world_sources)
        self._statistics = Statistics(self, robots, values.stats_rate)
        self._publisher = Publisher(self._wakeup, [robot.outputs for robot in robots])
        viewed.begin(self._simulation)
        if not values.autostart:
            self._serve_steps()

    def _serve_steps(self) -> None:
        """Serve requests to step; with autostart, early requests wait until the loops run."""
        if self._standard is not None:
            self._standard.start()

    def _make_robots(self) -> list[Robot]:
        names = self.values.robots
        if not names:
            return [Robot(self, "", self.values, "", self.recorder, self._setup)]
        _check_names(names)
        if self.values.time_mode != "realtime" and len(names) > 1:
            text = (
                f"time_mode is '{self.values.time_mode}' with {len(names)} robots; several robots "
                "in one process run in mode realtime only."
            )
            raise ParameterError(Finding("time-mode", text, "error", "time_mode"))
        return [self._make_robot(name) for name in names]

    def _make_robot(self, name: str) -> Robot:
        """Make a robot with a node of its own, whose namespace is the robot's name."""
        space = f"{self.get_namespace().rstrip('/')}/{name}"
        common = [Parameter(key, value=getattr(self.values, key)) for key in COMMON]
        if self._urdf is not None:
            common.append(Parameter("urdf", value=str(self._urdf)))
        recorder = NodeRecorder(self._recording) if self._recording else None
        node = RobotNode(
            recorder,
            self.get_name(),
            context=self.context,
            # these override the command line of the process, which applies to all its nodes
            cli_args=["--ros-args", "-r", f"__ns:={space}", "-r", f"__node:={self.get_name()}"],
            parameter_overrides=[*common, Parameter("robots", value=[""])],
        )
        self.spinner.add_node(node)
        values = parameters.declare(node, params.PARAMETERS, {"frame_prefix": f"{name}/"})
        return Robot(node, name, values, self.get_fully_qualified_name(), recorder)

    def connect(self) -> None:
        """Call setup.connect, in which the surrounding program connects its nodes."""
        if self._setup is not None:
            self._setup.connect(self)

    def activate(self) -> None:
        assert self._publisher is not None
        if self._started:
            self._simulation.active = True
            if self._simulation.entities.has_world:
                self._simulation.pause(False)
            return
        if self._setup is None:
            # the collector may skip all objects of this process: they exist until the node ends
            gc.collect()
            gc.freeze()
        try:
            for robot in self._robots:
                robot.loop.start()
        except RbdynError:
            for robot in self._robots:
                robot.loop.stop()
            raise
        self._publisher.start()
        self._started = self._simulation.active = True
        if self.values.autostart:
            self._serve_steps()
        for robot in self._robots:
            where = f"{robot.name}: " if robot.name else ""
            joints = ", ".join(robot.commands.joints.names)
            self.get_logger().info(f"{where}simulating '{robot.m.name}': {joints}")
            self.get_logger().info(f"{where}{robot.topics_to_try()}")
            own = robot.m.name
            entity = robot.world.first_robots.get("", own)
            if not robot.name and entity != own:
                text = f"{quote(own)} is the name of an object or an obstacle"
                self.get_logger().info(f"as an entity the robot is named {quote(entity)}: {text}")
        self.report_grant(self._robots[0].loop.grant)

    def _on_parameters(self, changes: list[Any]) -> SetParametersResult:
        """Apply all changes of this node's live parameters, or refuse all of them."""
        several = bool(self.values.robots)
        for change in changes:
            if several and change.name.startswith(params.FAULTS):
                text = f"each robot has its own '{change.name}': set it on the robot's node"
                return SetParametersResult(successful=False, reason=text)
        return self._change(self._robots[0] if self._robots else None, changes)

    def _change(self, robot: Robot | None, changes: list[Any]) -> SetParametersResult:
        """Apply or refuse changes of the live parameters of a robot's node; None: of this node."""

        def act() -> None:
            given = {change.name: change.value for change in changes}
            new = parameters.live(given, params.PARAMETERS)
            if robot is not None and any(name.startswith(params.FAULTS) for name in new):
                robot.set_faults(vars(robot.values) | new)
            if "real_time_factor" in new:
                for each in self._robots:
                    each.loop.time.set_real_time_factor(new["real_time_factor"])
            vars(robot.values if robot is not None else self.values).update(new)

        return parameters_result(act)

    def deactivate(self) -> bool:
        self._simulation.active = False
        return attempt(lambda: self._simulation.pause(True))[0]

    @property
    def unanswered(self) -> tuple[str, ...]:
        """Joints of the first robot for whose commands time waits in lock-step."""
        return self._robots[0].loop.unanswered

    # end and periodic work of the process

    @property
    def poll_interval(self) -> float:
        return min(0.2, 1.0 / float(self.values.stats_rate))

    def poll(self) -> None:
        """Check for other simulators and for senders of commands that stopped; report statistics.

        Raises an error if publishing or a control box has failed, and RbdynError if another
        simulator on the same topics started first.
        """
        if self._claims is not None and self._robots:  # `configure` has opened everything
            self._claims.poll()
            self._claims.check()
            if self._clock_claim is not None:
                self._clock_claim.watch()
        if self._started:
            now = time.monotonic()
            for robot in self._robots:
                robot.boxes.check()
                robot.wait_alarm.poll(now)
                if self._claims is not None and self._setup is None:
                    robot.foreign.poll(now, self._claims.nodes())
                if robot.shared_memory is not None:
                    robot.shared_memory.poll()  # count its commands before the watch checks them
                for reception in robot.receptions:
                    reception.watch.poll(now)
        if self._started and self._statistics is not None:
            self._statistics.publish_if_due(time.monotonic())
        if self._publisher is not None and self._publisher.failure is not None:
            raise self._publisher.failure

    def end(self) -> None:
        """Stop the loops, complete the recording, close everything, and print timings."""
        if self._standard is not None:
            self._standard.close()
        for robot in self._robots:
            robot.close_actions()
        for robot in self._robots:
            robot.loop.stop()
        if self._publisher is not None:
            self._publisher.stop()
        # close the recording first, so that it is complete even if a later step hangs
        if self._recording is not None:
            self.allow(writer.PATIENCE + LEAVING)  # a slow disk needs time for the backlog
            summary, complete = self._recording.close()
            self.allow(LEAVING)
            if summary:
                print(f"rbdyn: {summary}", file=sys.stderr)
            self.status = int(not complete)
        for robot in self._robots:
            timing = robot.loop.readout.timing()
            if timing.ticks:
                where = f"{robot.name}: " if robot.name else ""
                print(f"rbdyn: {where}{timing}", file=sys.stderr)
        for robot in self._robots:
            robot.close()
        if self._view is not None:
            self._view.close()

    def destroy_helpers(self) -> None:
        if self._claims is not None:
            self._claims.close()
        for robot in self._robots:
            robot.spawned.close()
            if robot.node is not self:
                robot.node.destroy_node()


def _check_names(names: Sequence[str]) -> None:
    """Raise ParameterError if a name is not allowed for a robot; the message has all of them."""
    findings = [
        Finding(
            "robots",
            f"parameter 'robots' has '{name}'; allowed are letters, digits and underscores, "
            "not a digit first, and each name once.",
            "error",
            "robots",
            None,
            name,
        )
        for k, name in enumerate(names)
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or name in names[:k]
    ]
    if findings:
        raise ParameterError(findings)


def run(
    args: Sequence[str] | None = None,
    urdf: Path | None = None,
    fallback: Path | None = None,
    imports: Sequence[Path] = (),
    spawned: Spawned | None = None,
) -> int:
    """Run the node until a signal stops it; return the exit status.

    Args:
        args: command line with arguments of ROS; None: the command line of this process.
        urdf: path of a robot file that overrides the parameters; None: the parameters name the
            robot.
        fallback: robot file if the parameters name no robot; None: wait for the topic.
        imports: Python files of the user that have already run here.
        spawned: as for Simulator.
    """
    return process.run(
        lambda stop: Simulator(stop, urdf, fallback, imports, spawned=spawned), args
    )


def main(args: Sequence[str] | None = None) -> None:
    """Entry point of `ros2 run rbdyn_ros simulator`."""
    sys.exit(run(args))
