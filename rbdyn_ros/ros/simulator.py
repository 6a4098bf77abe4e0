"""The simulator node: parameters in, robot loaded, loop warmed, topics and services opened."""

from __future__ import annotations

import gc
import importlib
import signal
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import rclpy
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger

from rbdyn_ros.description.types import Description
from rbdyn_ros.engine import jit
from rbdyn_ros.errors import Finding, ParameterError, RbdynError
from rbdyn_ros.load import complete
from rbdyn_ros.model.graph import span
from rbdyn_ros.model.model import Model
from rbdyn_ros.ros import params, robot
from rbdyn_ros.ros.clock import ClockClaim
from rbdyn_ros.ros.commands import Command, Throttle, make_gate
from rbdyn_ros.ros.convert import SingleJoints
from rbdyn_ros.ros.outputs import Outputs, reliable
from rbdyn_ros.ros.start import start_position
from rbdyn_ros.runtime import compiled
from rbdyn_ros.runtime.runtime import Runtime, Settings, warm

#: A busy callback holds the publishing thread up no longer than this [s].
SWITCH_INTERVAL = 1e-4


def _is_compiled(description: Description) -> bool:
    """Whether what the robot needs was compiled before."""
    kept = [(compiled.CACHE_DIRECTORY, "loop.run")]
    mimic = any(joint.mimic is not None for joint in description.joints)
    if mimic or description.constraints or span(description).chords:
        kept.append((jit.CACHE_DIRECTORY, "coupled._accelerate_by_address"))
    if description.geometries:
        kept.append((jit.CACHE_DIRECTORY, "contact._by_address"))
    return all(any(Path(folder).rglob(f"{kernel}-*.nbi")) for folder, kernel in kept)


def make_executor() -> Any:
    """Return the events executor where rclpy has it: it takes 19 % of a core, not 29."""
    try:
        events = importlib.import_module("rclpy.experimental.events_executor")
    except ImportError:
        return SingleThreadedExecutor()
    return events.EventsExecutor()


class Simulator(Node):
    """Simulates one robot behind ROS 2 topics.

    Args:
        stop: set when a signal asks for the end.
        urdf: path of a robot file, stronger than every parameter; None: see the parameters.
    """

    def __init__(self, stop: threading.Event, urdf: Path | None = None) -> None:
        given = [Parameter("urdf", value=str(urdf))] if urdf else []
        super().__init__("simulator", parameter_overrides=given)
        self._stop = stop
        self._claim: ClockClaim | None = None
        self._runtime: Runtime | None = None
        self._outputs: Outputs | None = None
        self._server: threading.Thread | None = None
        self._stopping = threading.Event()
        self._failure: BaseException | None = None
        self._rejected = Throttle()
        self._executor = make_executor()

    def bring_up(self, fallback: Path | None = None) -> None:
        """Load the robot and open everything.

        Args:
            fallback: robot to take if the parameters name none; None: wait for the topic.

        Raises:
            RbdynError: a parameter or the robot is refused.
        """
        values = params.declare(self)
        if values.publish_clock or self.get_parameter("use_sim_time").value:
            self._claim = ClockClaim(self, values.publish_clock)
        source = robot.find(self, values, self._executor, self._stop, fallback)
        m = self._compile(source, values)
        self._open(m, source, values)

    def _compile(self, source: robot.Source, values: SimpleNamespace) -> Model:
        logger = self.get_logger()
        if not _is_compiled(source.description):
            logger.info("compiling the engine, first run only (about half a minute) ...")
        m = complete(source.description, values.floating_base, values.strict)
        warnings = [f"  {finding}" for finding in m.findings if finding.severity == "warning"]
        if warnings:
            logger.warning("\n".join([f"robot '{m.name}':", *warnings]))
        m.opt.timestep = values.timestep
        m.opt.gravity = values.gravity
        m.opt.integrator = values.integrator
        self._joints = SingleJoints.actuated(m)
        given = {k: v for k, v in params.overrides(self).items() if k.startswith(params.INITIAL)}
        self._start = start_position(m, given)
        self._declare_facts(m)
        for sentence in params.unknown(self):
            logger.warning(sentence)
        warm(m)
        return m

    def _declare_facts(self, m: Model) -> None:
        """Parameters that others read: they describe the robot."""
        facts: dict[str, Any] = {
            "effort_command_joints": list(self._joints.names),
            "model_sha256": m.sha256(),
        }
        free = SingleJoints.free(m)
        for name, address in zip(free.names, free.qposadr, strict=True):
            facts[params.INITIAL + name] = float(self._start[address])
        for name, value in facts.items():
            descriptor = ParameterDescriptor(read_only=True, dynamic_typing=True)
            # a user's 1 for 1.0 was taken above, so what is declared is always the value
            self.declare_parameter(name, value, descriptor, ignore_override=True)

    def _open(self, m: Model, source: robot.Source, values: SimpleNamespace) -> None:
        settings = Settings(
            values.command_timeout, values.on_timeout, values.start_paused, values.realtime
        )
        self._runtime = Runtime(m, settings, self._start)
        clock = None
        base = int(self.get_clock().now().nanoseconds)
        if self._claim is not None:
            base = self._claim.settle(self._executor, self._stop)
            clock = self._claim.publisher
        self._outputs = Outputs(self, self._runtime, source, values, base, clock)
        self._gate = make_gate(m, source.description, values.partial_commands)
        queue = reliable(10)
        self.create_subscription(JointState, "joint_commands", self._on_joint_command, queue)
        self.create_subscription(Float64MultiArray, "effort_commands", self._on_efforts, queue)
        self.create_service(SetBool, "~/pause", self._on_pause)
        self.create_service(Trigger, "~/step", self._on_step)
        self.create_service(Trigger, "~/reset", self._on_reset)
        # everything there is lives as long as the node: the collector need not look at it
        gc.collect()
        gc.freeze()
        self._runtime.start()
        self._outputs.start()
        self.get_logger().info(f"simulating '{m.name}': {', '.join(self._joints.names)}")
        self.get_logger().info(f"period {values.timestep:g} s; {self._runtime.grant}")

    def spin(self) -> None:
        """Serve until the context is shut down or a signal raises KeyboardInterrupt.

        The executor spins on a thread of its own: a signal then always finds this one in Python,
        whatever the executor, and the context stays valid until everything has ended.
        """
        self._executor.add_node(self)
        self._server = threading.Thread(target=self._serve, name="rbdyn-serve")
        self._server.start()
        # the interrupt is lost if it comes while C++ calls Python; the event is not
        while self._server.is_alive() and not self._stop.is_set():
            self._server.join(0.2)
            if self._claim is not None:
                self._claim.watch()
            if self._outputs is not None and self._outputs.failure is not None:
                raise self._outputs.failure
        if self._failure is not None:
            raise self._failure

    def _serve(self) -> None:
        try:
            while not self._stopping.is_set():  # spin() of the events executor cannot be ended
                self._executor.spin_once(timeout_sec=0.1)
        except ExternalShutdownException:
            return
        except BaseException as error:  # noqa: BLE001 - spin() raises it in the main thread
            self._failure = error

    def close(self) -> None:
        """Stop the threads, say how punctual the loop was, and leave the graph."""
        self._stopping.set()
        if self._server is not None and self._server.is_alive():
            self._server.join()
        if self._outputs is not None:
            self._outputs.stop()
        if self._runtime is not None:
            self._runtime.stop()
            timing = self._runtime.timing()
            if timing.ticks:
                print(f"rbdyn: {timing}", file=sys.stderr)
        self._executor.shutdown()
        self.destroy_node()

    def _on_joint_command(self, message: JointState) -> None:
        self._take("joint_commands", self._gate.by_name(message.name, message.effort))

    def _on_efforts(self, message: Float64MultiArray) -> None:
        self._take("effort_commands", self._gate.in_order(message.data))

    def _take(self, topic: str, judged: Command | str) -> None:
        if isinstance(judged, Command):
            self._runtime.command(judged.dofs, judged.efforts)  # type: ignore[union-attr]
        elif self._rejected.due(time.monotonic()):
            self.get_logger().warning(
                f"refused a message on {topic}: {judged} (refused so far: {self._rejected.count})"
            )

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        response.success = self._runtime.pause(request.data)  # type: ignore[union-attr]
        response.message = "paused" if request.data else "running"
        return self._unless_silent(response)

    def _on_step(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        runtime = self._runtime
        assert runtime is not None
        if not runtime.paused:
            response.message = "the simulation runs; pause it first"
            return response
        response.success, response.message = runtime.step(), "one timestep"
        self._unless_silent(response)
        if response.success and runtime.faulty:
            response.success, response.message = False, "the state diverged; call reset"
        return response

    def _on_reset(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success = self._runtime.reset()  # type: ignore[union-attr]
        response.message = "at the start position, at rest"
        return self._unless_silent(response)

    def _unless_silent(self, response: Any) -> Any:
        if not response.success:
            response.message = "the loop does not answer"
        return response


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

    def interrupt(_number: int, _frame: object) -> None:
        stop.set()
        raise KeyboardInterrupt

    node = None
    try:
        sys.unraisablehook = _unraisable
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, interrupt)
        _init(args)
        node = Simulator(stop, urdf)
        node.bring_up(fallback)
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
