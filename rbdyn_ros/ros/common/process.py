"""Lifecycle, executor, signals and shutdown of the nodes."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.signals import SignalHandlerOptions

from rbdyn_ros.errors import Finding, ParameterError, RbdynError
from rbdyn_ros.ros.common.throttle import Throttle
from rbdyn_ros.ros.messages.build import provide
from rbdyn_ros.runtime.realtime import Grant

#: A busy callback delays other threads by at most this time [s].
SWITCH_INTERVAL = 1e-4
#: Time for a clean shutdown; then the process exits [s].
PATIENCE = 15.0


def make_executor() -> Any:
    """Return the events executor if rclpy has it: it uses 19 % of a core instead of 29 %."""
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
        stop: set when a signal ends the process.
        given: rclpy parameters that override all others.

    Attributes:
        spinner: executor of the node and its helper nodes, in a thread of its own.
        stop: as the argument.
        values: values of the parameters, from `begin` on.
        loading: the node compiles or reads, see `load`; a signal ends the process at once.
        status: exit status of the process after Ctrl-C or SIGTERM; `end` may set it.
    """

    values: SimpleNamespace

    def __init__(self, name: str, stop: threading.Event, given: Sequence[Any] = ()) -> None:
        super().__init__(name, parameter_overrides=list(given))
        self.stop, self.status = stop, 0
        self.loading = self._tried = False
        self.spinner = make_executor()
        self._server: threading.Thread | None = None
        self._stopping, self._served = threading.Event(), threading.Event()
        self._errors = Throttle()
        self._failure: BaseException | None = None

    # for subclasses

    def declare(self) -> SimpleNamespace:
        """Declare the parameters and return their values; autostart must be among them."""
        raise NotImplementedError

    def configure(self) -> None:
        """Load everything and open the topics."""
        raise NotImplementedError

    def activate(self) -> None:
        """Start or resume."""
        raise NotImplementedError

    def deactivate(self) -> bool:
        """Pause; return whether that succeeded."""
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
        self.values = self.declare()
        if not self.values.autostart:
            self.get_logger().info("waiting for the lifecycle transition configure")
            return
        self._advance(self.trigger_configure)
        self.connect()
        self._advance(self.trigger_activate)

    def connect(self) -> None:
        """Act between configure and activate if the node starts by itself."""

    def _advance(self, transition: Callable[[], object]) -> None:
        transition()
        if self._failure is not None:
            raise self._failure

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:  # noqa: ARG002
        """Load and open everything."""
        return self._try(self._configure_once)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start or resume."""
        outcome = self._try(self.activate)
        return (
            outcome if outcome != TransitionCallbackReturn.SUCCESS else super().on_activate(state)
        )

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Pause."""
        if not self.deactivate():
            return TransitionCallbackReturn.FAILURE
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:  # noqa: ARG002
        """Refuse: a robot stays loaded."""
        self.get_logger().error("cleanup is not possible: for another robot start another process")
        return TransitionCallbackReturn.FAILURE

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """End the process."""
        self.stop.set()
        return super().on_shutdown(state)

    @contextmanager
    def load(self) -> Iterator[None]:
        """In this block, which compiles or reads, a signal ends the process at once."""
        self.loading = True
        try:
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
        """Serve until the context is shut down or a signal raises KeyboardInterrupt.

        The executor spins in a thread of its own. So signals always interrupt Python code here,
        and the context stays valid until everything has ended.
        """
        self.serve()
        # an interrupt is lost while C++ calls Python, the event is not; do not join: an
        # interrupted join takes the thread for ended
        while not self.stop.is_set() and not self._served.wait(self.poll_interval):
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

    def exit_now(self) -> None:
        """Leave the graph and end the process at once, for the time while the node loads.

        A KeyboardInterrupt that is raised while LLVM calls Python crashes the process.
        """
        self.destroy_node()
        os._exit(0)

    def close(self) -> None:
        """Stop the threads and leave the graph."""
        self._stopping.set()
        # a callback may wait for a loop, so the loops stop first
        self.end()
        if self._server is not None:
            self._served.wait()
        self.spinner.shutdown()
        self.destroy_helpers()
        self.destroy_node()


def run(make: Callable[[threading.Event], ManagedNode], args: Sequence[str] | None = None) -> int:
    """Run a node until Ctrl-C or SIGTERM; return the exit status.

    Args:
        make: returns the node, given the event that ends the process.
        args: command line with arguments of ROS; None: the command line of this process.
    """
    provide()
    sys.setswitchinterval(SWITCH_INTERVAL)
    stop = threading.Event()
    node: ManagedNode | None = None
    status = 0

    def interrupt(_number: int, _frame: object) -> None:
        again = stop.is_set()
        stop.set()
        if node is not None and node.loading:
            node.exit_now()
        if not again:  # a second one must not cut the end short
            raise KeyboardInterrupt

    try:
        sys.unraisablehook = _unraisable
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, interrupt)
        init(args)
        node = _make(make, stop)
        node.begin()
        node.spin()
    except KeyboardInterrupt:
        pass
    except RbdynError as error:
        print(f"rbdyn: {error}", file=sys.stderr)
        status = 2
    except Exception:
        if not stop.is_set():  # C++ that calls Python turns an interrupt into another error
            raise
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        patience = _end_within(PATIENCE, stop, node)
        if node is not None:
            node.close()
        rclpy.try_shutdown()
        patience.cancel()
    return status or (node.status if node is not None else 0)


def _end_within(
    seconds: float, stop: threading.Event, node: ManagedNode | None
) -> threading.Timer:
    """End the process unless the timer is cancelled in time: ROS 2 may hang at shutdown."""

    def give_up() -> None:
        print(f"rbdyn: ROS 2 did not shut down within {seconds:g} s", file=sys.stderr, flush=True)
        os._exit(node.status if node is not None and stop.is_set() else 1)

    timer = threading.Timer(seconds, give_up)
    timer.daemon = True
    timer.start()
    return timer


def _make(make: Callable[[threading.Event], ManagedNode], stop: threading.Event) -> ManagedNode:
    try:
        return make(stop)
    except RuntimeError as error:  # raised by rclpy if DDS refuses, for example without its keys
        raise RbdynError(Finding("ros", f"ROS 2 does not start: {error}")) from error


def init(args: Sequence[str] | None) -> None:
    """Initialise rclpy without its handlers of signals.

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


def _unraisable(lost: Any) -> None:
    """Print an exception that cannot be caught, unless it is the interrupt, which sets `stop`."""
    if not isinstance(lost.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(lost)
