"""The simulator's process: parameters in, robots loaded, loops started, time under control."""

from __future__ import annotations

import gc
import importlib
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import rclpy
from rcl_interfaces.msg import SetParametersResult
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions

from rbdyn_ros.errors import Finding, ParameterError, RbdynError
from rbdyn_ros.ros import params
from rbdyn_ros.ros.clock import ClockClaim
from rbdyn_ros.ros.commands import Throttle
from rbdyn_ros.ros.publisher import Publisher
from rbdyn_ros.ros.robot import Robot
from rbdyn_ros.ros.simulation import Simulation
from rbdyn_ros.ros.standard import StandardInterfaces, open_standard
from rbdyn_ros.ros.statistics import Statistics
from rbdyn_ros.ros.time_services import TimeServices
from rbdyn_ros.runtime.bell import Bell

#: A busy callback holds the publishing thread up no longer than this [s].
SWITCH_INTERVAL = 1e-4


def make_executor() -> Any:
    """Return the events executor where rclpy has it: it takes 19 % of a core, not 29."""
    try:
        events = importlib.import_module("rclpy.experimental.events_executor")
    except ImportError:
        return SingleThreadedExecutor()
    return events.EventsExecutor()


#: Of several robots in one process these are the same: parameters of time.
COMMON = (
    *("time_mode", "real_time_factor", "start_paused", "realtime", "publish_clock", "clock_rate"),
    *("stats_rate", "autostart"),
)


class Simulator(LifecycleNode):
    """Simulates one robot, or several, behind ROS 2 topics.

    Its life: configure reads the parameters and the robot, activate starts time, deactivate stops
    it, shutdown ends the process. With the parameter autostart the first two happen by
    themselves.

    Args:
        stop: set when a signal asks for the end.
        urdf: path of a robot file, stronger than every parameter; None: see the parameters.
        fallback: robot to take if the parameters name none; None: wait for the topic.

    Attributes:
        loading: robots are being read and compiled.
    """

    def __init__(
        self, stop: threading.Event, urdf: Path | None = None, fallback: Path | None = None
    ) -> None:
        given = [Parameter("urdf", value=str(urdf))] if urdf else []
        super().__init__("simulator", parameter_overrides=given)
        self._stop, self._urdf, self._fallback = stop, urdf, fallback
        self._claim: ClockClaim | None = None
        self._bell = Bell()
        self._robots: list[Robot] = []
        self._publisher: Publisher | None = None
        self._statistics: Statistics | None = None
        self._standard: StandardInterfaces | None = None
        self._server: threading.Thread | None = None
        self._stopping, self._served = threading.Event(), threading.Event()
        self._troubles = Throttle()
        self._tried = self._started = self.loading = False
        self._failure: BaseException | None = None
        self._executor = make_executor()

    # its life

    def begin(self) -> None:
        """Read the parameters; with autostart load the robots and start time.

        Raises:
            RbdynError: a parameter or a robot is refused.
        """
        self._values = params.declare(self)
        self.add_on_set_parameters_callback(self._on_parameters)
        if not self._values.autostart:
            self.get_logger().info("waiting for the lifecycle transition configure")
            return
        for transition in (self.trigger_configure, self.trigger_activate):
            transition()
            if self._failure is not None:
                raise self._failure

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:  # noqa: ARG002
        """Load the robots and open everything."""
        return self._try(self._configure)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start time, or let it go on."""
        outcome = self._try(self._activate)
        return (
            outcome if outcome != TransitionCallbackReturn.SUCCESS else super().on_activate(state)
        )

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Let time stand."""
        self._simulation.active = False
        if not self._simulation.pause(True):
            return TransitionCallbackReturn.FAILURE
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:  # noqa: ARG002
        """Refuse: a robot stays loaded."""
        self.get_logger().error("cleanup is not possible: for another robot start another process")
        return TransitionCallbackReturn.FAILURE

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """End the process."""
        self._stop.set()
        return super().on_shutdown(state)

    def _try(self, action: Any) -> TransitionCallbackReturn:
        try:
            action()
        except Exception as error:  # noqa: BLE001 - rclpy would hide it; begin() raises it
            if self._values.autostart:
                self._failure = error
            else:
                known = isinstance(error, RbdynError)
                self.get_logger().error(str(error) if known else repr(error))
            return TransitionCallbackReturn.FAILURE
        return TransitionCallbackReturn.SUCCESS

    def _configure(self) -> None:
        if self._tried:
            text = "configure failed before, and parameters are read once: start another process"
            raise RbdynError(Finding("configured", text))
        self._tried = True
        values = self._values
        claim = None
        if values.publish_clock or self.get_parameter("use_sim_time").value:
            claim = ClockClaim(self, values.publish_clock)
        robots = self._make_robots()
        self.loading = True
        for robot in robots:
            robot.load(self._stop, self._fallback)
        self.loading = False
        clock = None
        base = int(self.get_clock().now().nanoseconds)
        if claim is not None:
            base = claim.settle(self._stop)
            clock = claim.publisher
        self._claim = claim
        for k, robot in enumerate(robots):
            robot.open(self._bell, base, clock if k == 0 else None)
            if robot.node is not self:
                change = partial(self._change, robot)
                robot.node.add_on_set_parameters_callback(change)
        self._robots = robots
        self._simulation = Simulation(robots, self._stop)
        self._time_services = TimeServices(self, self._simulation)
        self._standard = open_standard(self, self._simulation)
        self._statistics = Statistics(self, robots, values.stats_rate)
        outputs = [(robot.runtime, robot.outputs) for robot in robots]
        self._publisher = Publisher(self._bell, outputs)

    def _make_robots(self) -> list[Robot]:
        names = self._values.robots
        if not names:
            return [Robot(self, "", self._values, "")]
        _demand_names(names)
        if self._values.time_mode != "realtime" and len(names) > 1:
            text = (
                f"time_mode is '{self._values.time_mode}' and there are {len(names)} robots; "
                "several robots in one process run in mode realtime only."
            )
            raise ParameterError(Finding("time-mode", text, "error", "time_mode"))
        return [self._make_robot(name) for name in names]

    def _make_robot(self, name: str) -> Robot:
        """Make a node for a robot, in a namespace of its name."""
        space = f"{self.get_namespace().rstrip('/')}/{name}"
        common = [Parameter(key, value=getattr(self._values, key)) for key in COMMON]
        if self._urdf is not None:
            common.append(Parameter("urdf", value=str(self._urdf)))
        node = Node(
            self.get_name(),
            context=self.context,
            # stronger than what this process was given for all its nodes
            cli_args=["--ros-args", "-r", f"__ns:={space}", "-r", f"__node:={self.get_name()}"],
            parameter_overrides=[*common, Parameter("robots", value=[""])],
        )
        self._executor.add_node(node)
        values = params.declare(node, {"frame_prefix": f"{name}/"})
        return Robot(node, name, values, self.get_fully_qualified_name())

    def _activate(self) -> None:
        assert self._publisher is not None
        if self._started:
            self._simulation.active = True
            self._simulation.pause(False)
            return
        # everything there is lives as long as the node: the collector need not look at it
        gc.collect()
        gc.freeze()
        try:
            for robot in self._robots:
                robot.runtime.start()
        except RbdynError:
            for robot in self._robots:
                robot.runtime.stop()
            raise
        self._publisher.start()
        self._started = self._simulation.active = True
        for robot in self._robots:
            where = f"{robot.name}: " if robot.name else ""
            joints = ", ".join(robot.gate.joints.names)
            self.get_logger().info(f"{where}simulating '{robot.m.name}': {joints}")
        period = self._robots[0].runtime.period_ns * 1e-9
        self.get_logger().info(f"period {period:g} s; {self._robots[0].runtime.grant}")

    def _on_parameters(self, changes: list[Any]) -> SetParametersResult:
        """Take changes of live parameters of this node, all or none."""
        several = bool(self._values.robots)
        for change in changes:
            if several and change.name.startswith(params.FAULTS):
                text = f"each robot has its own '{change.name}': set it on the robot's node"
                return SetParametersResult(successful=False, reason=text)
        return self._change(self._robots[0] if self._robots else None, changes)

    def _change(self, robot: Robot | None, changes: list[Any]) -> SetParametersResult:
        """Take changes of live parameters of a robot; None: there is none yet."""
        try:
            new = params.live({change.name: change.value for change in changes})
            if robot is not None and any(name.startswith(params.FAULTS) for name in new):
                robot.set_faults(vars(robot.values) | new)
            if "real_time_factor" in new:
                for each in self._robots:
                    each.runtime.set_real_time_factor(new["real_time_factor"])
        except RbdynError as error:
            return SetParametersResult(successful=False, reason=str(error))
        vars(robot.values if robot is not None else self._values).update(new)
        return SetParametersResult(successful=True)

    # the process

    def spin(self) -> None:
        """Serve until the context is shut down or a signal raises KeyboardInterrupt.

        The executor spins on a thread of its own: a signal then always finds this one in Python,
        whatever the executor, and the context stays valid until everything has ended.
        """
        self._executor.add_node(self)
        self._server = threading.Thread(target=self._serve, name="rbdyn-serve")
        self._server.start()
        nap = min(0.2, 1.0 / self._values.stats_rate)
        # the interrupt is lost if it comes while C++ calls Python; the event is not. And not
        # join: one that is interrupted takes the thread for ended
        while not self._stop.is_set() and not self._served.wait(nap):
            if self._claim is not None:
                self._claim.watch()
            if self._started and self._statistics is not None:
                self._statistics.publish_if_due(time.monotonic())
            if self._publisher is not None and self._publisher.failure is not None:
                raise self._publisher.failure
        if self._failure is not None:
            raise self._failure

    def _serve(self) -> None:
        try:
            while not self._stopping.is_set():  # spin() of the events executor cannot be ended
                self._spin_once()
        except ExternalShutdownException:
            return
        except BaseException as error:  # noqa: BLE001 - spin() raises it in the main thread
            self._failure = error
        finally:
            self._served.set()

    def _spin_once(self) -> None:
        try:
            self._executor.spin_once(timeout_sec=0.1)
        except (ExternalShutdownException, KeyboardInterrupt):
            raise
        except Exception as error:  # noqa: BLE001 - one bad message must not end the simulator
            if self._troubles.due(time.monotonic()):
                self.get_logger().error(f"a message or request could not be served: {error!r}")
            time.sleep(0.01)

    def leave(self) -> None:
        """Leave the graph and end the process at once: while it loads there is nothing to stop.

        An interrupt that is raised while LLVM calls Python has crashed it.
        """
        self.destroy_node()
        os._exit(0)

    def close(self) -> None:
        """Stop the threads, say how punctual the loops were, and leave the graph."""
        self._stopping.set()
        if self._standard is not None:
            self._standard.close()
        # what is being served may wait for a loop: they stop first, and answer no more
        for robot in self._robots:
            robot.runtime.stop()
        if self._server is not None:
            self._served.wait()
        if self._publisher is not None:
            self._publisher.stop()
        for robot in self._robots:
            timing = robot.runtime.timing()
            if timing.ticks:
                where = f"{robot.name}: " if robot.name else ""
                print(f"rbdyn: {where}{timing}", file=sys.stderr)
        self._executor.shutdown()
        for robot in self._robots:
            if robot.node is not self:
                robot.node.destroy_node()
        self.destroy_node()


def _demand_names(names: Sequence[str]) -> None:
    """Raise ParameterError if these cannot be names of robots."""
    findings = [
        Finding(
            "robots",
            f"parameter 'robots' names '{name}'; allowed are letters, digits and underscores, "
            "not a digit first, each name once.",
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
    args: Sequence[str] | None = None, urdf: Path | None = None, fallback: Path | None = None
) -> int:
    """Run the node until Ctrl-C or SIGTERM; return the exit status.

    Args:
        args: command line with the arguments of ROS; None for that of this process.
        urdf: path of a robot file, stronger than every parameter.
        fallback: robot to take if the parameters name none; None: wait for the topic.
    """
    sys.setswitchinterval(SWITCH_INTERVAL)
    stop = threading.Event()
    node: Simulator | None = None

    def interrupt(_number: int, _frame: object) -> None:
        stop.set()
        if node is not None and node.loading:
            node.leave()
        raise KeyboardInterrupt

    try:
        sys.unraisablehook = _unraisable
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, interrupt)
        _init(args)
        node = _make_node(stop, urdf, fallback)
        node.begin()
        node.spin()
    except KeyboardInterrupt:
        return 0
    except RbdynError as error:
        print(f"rbdyn: {error}", file=sys.stderr)
        return 2
    except Exception:
        if not stop.is_set():  # C++ that calls Python turns an interrupt into some other error
            raise
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)  # a second one must not cut this short
        if node is not None:
            node.close()
        rclpy.try_shutdown()
    return 0


def _make_node(stop: threading.Event, urdf: Path | None, fallback: Path | None) -> Simulator:
    try:
        return Simulator(stop, urdf, fallback)
    except RuntimeError as error:  # what rclpy raises if DDS refuses, for want of security say
        raise RbdynError(Finding("ros", f"ROS 2 does not start: {error}")) from error


def _init(args: Sequence[str] | None) -> None:
    try:
        # rclpy's own handlers would end the context while threads still publish
        rclpy.init(
            args=None if args is None else list(args),
            signal_handler_options=SignalHandlerOptions.NO,
        )
    except RuntimeError as error:  # what rclpy raises for arguments it does not understand
        text = str(error)
        if "Sequence should be of same type" in text:
            text += "; write every number with a point, as in [0.0, 0.0, -9.81]"
        raise ParameterError(Finding("ros-arguments", text)) from error


def _unraisable(lost: Any) -> None:
    """Say what was raised where nothing can catch it, but not the interrupt: `stop` has it."""
    if not isinstance(lost.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(lost)


def main(args: Sequence[str] | None = None) -> None:
    """Entry point of `ros2 run rbdyn_ros simulator`."""
    sys.exit(run(args))
