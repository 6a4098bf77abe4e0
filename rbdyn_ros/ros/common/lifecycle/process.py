# SPDX-License-Identifier: Apache-2.0
"""Lifecycle, executor, signals and shutdown of the nodes."""

import functools
import importlib
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.signals import SignalHandlerOptions

from rbdyn_ros.errors import Finding, ParameterError, RbdynError
from rbdyn_ros.ros.common.lifecycle.holders import hold, process_of
from rbdyn_ros.ros.common.lifecycle.stop import Stop
from rbdyn_ros.ros.common.reports.throttle import Throttle
from rbdyn_ros.ros.messages.build import provide
from rbdyn_ros.runtime.realtime import Grant

#: Folder in which Fast DDS has a file for each port, and time in which it fills a new file [s].
MEMORY, FILLED = Path("/dev/shm"), 0.5  # noqa: S108 - where shm_open has its files
#: Switch interval of Python [s]: a busy callback delays another thread by about this time.
SWITCH_INTERVAL = 1e-4


def make_executor() -> Any:
    """Return rclpy's events executor, else the single-threaded executor, which costs 50 % more."""
    try:
        events = importlib.import_module("rclpy.experimental.events_executor")
    except ImportError:
        return SingleThreadedExecutor()
    return events.EventsExecutor()


class ManagedNode(LifecycleNode):
    """A lifecycle node that owns its process; subclasses define the transitions.

    configure loads, activate starts, deactivate pauses, shutdown ends the process. With the
    parameter autostart the node configures and activates itself.

    Args:
        name: name of the node.
        stop: set when a signal stops the process.
        given: rclpy parameters that override all other parameters.

    Attributes:
        spinner: executor of the node and its helper nodes, in a thread of its own.
        stop: the argument.
        values: values of the parameters; `begin` sets them.
        loading: whether a block of `load` runs; a signal then ends the process at once.
        status: exit status after a stop; `end` may set it.
    """

    values: SimpleNamespace

    def __init__(self, name: str, stop: threading.Event, given: Sequence[Any] = ()) -> None:
        super().__init__(name, parameter_overrides=list(given))
        self.stop, self.status = stop, 0
        self.loading = self._tried = False
        self._held: socket.socket | None = None
        self.spinner = make_executor()
        self._server: threading.Thread | None = None
        self._stopping, self._served = threading.Event(), threading.Event()
        self._errors = Throttle()
        self._failure: BaseException | None = None

    # subclasses override these methods

    def declare(self) -> SimpleNamespace:
        """Declare the parameters and return their values; autostart must be among them."""
        raise NotImplementedError

    def configure(self) -> None:
        """Load the robot and open the topics."""
        raise NotImplementedError

    def activate(self) -> None:
        """Start or resume the work of the node."""
        raise NotImplementedError

    def deactivate(self) -> bool:
        """Pause the work of the node; return whether that succeeded."""
        raise NotImplementedError

    def poll(self) -> None:
        """Do periodic work; called in the main thread."""
        raise NotImplementedError

    @property
    def poll_interval(self) -> float:
        """Interval of `poll` [s]."""
        raise NotImplementedError

    def end(self) -> None:
        """Stop all loops and threads; no requests are served afterwards."""
        raise NotImplementedError

    def destroy_helpers(self) -> None:
        """Destroy helper nodes, before the node itself is destroyed."""

    # lifecycle

    def report_grant(self, grant: Grant) -> None:
        """Log a warning if the system refuses real-time privileges."""
        if grant.advice:
            self.get_logger().warning(grant.advice)

    def begin(self) -> None:
        """Read the parameters; with autostart configure and activate.

        Raises:
            RbdynError: a parameter or a robot is refused.
        """
        self._hold_name()
        self.values = self.declare()
        if not self.values.autostart:
            self.get_logger().info("waiting for the lifecycle transition configure")
            return
        self._advance(self.trigger_configure)
        self.connect()
        self._advance(self.trigger_activate)

    def _hold_name(self) -> None:
        """Let others find this process by the node's name; warn if another process has it."""
        name = self.get_fully_qualified_name()
        other = process_of(name)
        if other:
            text = f"{other} of this machine also runs a node {name}; kill -9 ends it if it hangs"
            self.get_logger().warning(text)
        self._held = hold(name)

    def connect(self) -> None:
        """Do further steps between configure and activate if parameter autostart is true."""

    def _advance(self, transition: Callable[[], object]) -> None:
        transition()
        if self._failure is not None:
            raise self._failure

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:  # noqa: ARG002
        """Call `configure` at the transition configure; it may be tried only once."""
        return self._try(self._configure_once)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Call `activate` at the transition activate."""
        outcome = self._try(self.activate)
        return (
            outcome if outcome != TransitionCallbackReturn.SUCCESS else super().on_activate(state)
        )

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Call `deactivate` at the transition deactivate."""
        if not self.deactivate():
            return TransitionCallbackReturn.FAILURE
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:  # noqa: ARG002
        """Refuse the transition cleanup: a robot stays loaded until its process ends."""
        self.get_logger().error("cleanup is not possible: for another robot start another process")
        return TransitionCallbackReturn.FAILURE

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Request the end of the process at the transition shutdown."""
        self.stop.set()
        return super().on_shutdown(state)

    def allow(self, seconds: float) -> None:
        """Let a stopping process end within this time [s] from now on, before it is killed."""
        if isinstance(self.stop, Stop):
            self.stop.allow(seconds)

    @contextmanager
    def load(self) -> Iterator[None]:
        """Let a signal end the process at once in this block, which compiles or reads files."""
        raising = self.stop.raising(False) if isinstance(self.stop, Stop) else nullcontext()
        with raising:
            self.loading = True
            try:
                if self.stop.is_set():
                    raise KeyboardInterrupt
                yield
            finally:
                self.loading = False

    def _configure_once(self) -> None:
        if self._tried:
            text = "configure failed before, and parameters are read once: start another process"
            raise RbdynError(Finding("configured", text))
        self._tried = True
        self.configure()

    def _try(self, action: Callable[[], None]) -> TransitionCallbackReturn:
        try:
            action()
        except Exception as error:  # noqa: BLE001 - rclpy would hide it; begin() raises it
            if self.values.autostart:
                self._failure = error
            else:
                known = isinstance(error, RbdynError)
                self.get_logger().error(str(error) if known else repr(error))
            return TransitionCallbackReturn.FAILURE
        return TransitionCallbackReturn.SUCCESS

    # the process

    def spin(self) -> None:
        """Serve until the process is stopped.

        The executor spins in a thread of its own, so the context stays valid until everything has
        ended. An error that ended the executor is raised here.
        """
        self.serve()
        while not self.stop.wait(self.poll_interval) and not self._served.is_set():
            self.poll()
        if self._failure is not None:
            raise self._failure

    def serve(self) -> None:
        """Start to serve topics and services, in a thread of its own; `close` ends it."""
        self.spinner.add_node(self)
        self._server = threading.Thread(target=self._serve, name="rbdyn-serve")
        self._server.start()

    def _serve(self) -> None:
        try:
            while not self._stopping.is_set():  # spin() of the events executor cannot be stopped
                self._spin_once()
        except ExternalShutdownException:
            return
        except BaseException as error:  # noqa: BLE001 - spin() raises it in the main thread
            self._failure = error
        finally:
            self._served.set()

    def _spin_once(self) -> None:
        try:
            self.spinner.spin_once(timeout_sec=0.1)
        except (ExternalShutdownException, KeyboardInterrupt):
            raise
        except Exception as error:  # noqa: BLE001 - one bad message must not end the node
            if self._errors.due(time.monotonic()):
                self.get_logger().error(f"a callback failed: {error!r}")
            time.sleep(0.01)

    def close(self) -> None:
        """Stop the threads and leave the graph."""
        self.finish()
        self.leave()

    def finish(self) -> None:
        """Stop the loops: afterwards no robot moves, and recordings are complete."""
        self._stopping.set()
        # a callback may wait for a loop, so the loops stop first
        self.end()

    def leave(self) -> None:
        """Stop serving and leave the graph."""
        if self._server is not None:
            self._served.wait()
        self.spinner.shutdown()
        self.destroy_helpers()
        self.destroy_node()
        if self._held is not None:
            self._held.close()


def run(make: Callable[[threading.Event], ManagedNode], args: Sequence[str] | None = None) -> int:
    """Run a node until a signal stops it; return the exit status.

    Args:
        make: returns the node, given the event that ends the process.
        args: command line with arguments of ROS; None: the command line of this process.
    """
    provide()
    sys.setswitchinterval(SWITCH_INTERVAL)
    node: ManagedNode | None = None
    try:
        stop, status = Stop(), 1
    except RbdynError as error:
        print(f"rbdyn: {error}", file=sys.stderr)
        return 2
    sys.unraisablehook = functools.partial(_report, stop)
    stop.take_signals()
    try:
        with stop.raising():
            init(args)
            node = _make(make, stop)
            _leave_while_it_loads(node, stop)
            node.begin()
        node.spin()
        status = 0
    except KeyboardInterrupt:
        status = 0
    except RbdynError as error:
        print(f"rbdyn: {error}", file=sys.stderr)
        status = 2
    except Exception:
        if not stop.is_set():  # C++ that calls Python turns a KeyboardInterrupt into another error
            raise
        status = 0
    finally:
        stop.status = status or (node.status if node is not None else 0)
        stop.set()
        if node is not None:
            node.finish()
            stop.status = status or node.status
            node.leave()
        rclpy.try_shutdown()
        stop.ignore_signals()
    return stop.status


def _leave_while_it_loads(node: ManagedNode, stop: Stop) -> None:
    """Start a thread that ends the process if it is stopped in a block of `ManagedNode.load`.

    A KeyboardInterrupt that is raised while LLVM calls Python crashes the process.
    """

    def leave() -> None:
        stop.wait()
        if node.loading:
            try:
                node.destroy_node()
            finally:
                os._exit(0)

    threading.Thread(target=leave, name="rbdyn-leave", daemon=True).start()


def _make(make: Callable[[threading.Event], ManagedNode], stop: threading.Event) -> ManagedNode:
    _report_empty_ports()
    try:
        return make(stop)
    except RuntimeError as error:  # raised by rclpy if DDS refuses, for example without its keys
        raise RbdynError(Finding("ros", f"ROS 2 does not start: {error}")) from error


def _report_empty_ports() -> None:
    """Print files of a killed process for which Fast DDS may wait forever."""
    if left := _empty_ports():
        time.sleep(FILLED)
        left &= _empty_ports()
    if left:
        files = ", ".join(map(str, sorted(left)))
        text = f"a process that was killed left {files}. If ROS 2 does not start, remove"
        print(f"rbdyn: {text} {'it' if len(left) == 1 else 'them'}", file=sys.stderr, flush=True)


def _empty_ports() -> set[Path]:
    with suppress(OSError):  # the file was removed meanwhile
        return {path for path in MEMORY.glob("fast*_port*[0-9]") if not path.stat().st_size}
    return set()


def init(args: Sequence[str] | None) -> None:
    """Initialise rclpy without its signal handlers.

    Raises:
        ParameterError: the arguments of ROS are refused.
    """
    try:
        # rclpy's own handlers would end the context while threads still publish
        rclpy.init(
            args=None if args is None else list(args),
            signal_handler_options=SignalHandlerOptions.NO,
        )
    except RuntimeError as error:  # raised by rclpy for invalid arguments
        text = str(error)
        if "Sequence should be of same type" in text:
            text += "; write all numbers with a decimal point, as in [0.0, 0.0, -9.81]"
        raise ParameterError(Finding("ros-arguments", text)) from error


def _report(stop: Stop, lost: Any) -> None:
    """Print an exception that Python could not raise, unless a stop by a signal caused it.

    A signal can cause a KeyboardInterrupt in a destructor, or an error in the destructor of an
    object that was only half made.
    """
    half_made = stop.interrupted and getattr(lost.object, "__name__", "") == "__del__"
    if not half_made and not isinstance(lost.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(lost)
