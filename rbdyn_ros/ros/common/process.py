"""What our nodes have in common: a life cycle, an executor, signals, and a clean end."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.signals import SignalHandlerOptions

from rbdyn_ros.errors import Finding, ParameterError, RbdynError
from rbdyn_ros.ros.common.throttle import Throttle

#: A busy callback holds other threads up no longer than this [s].
SWITCH_INTERVAL = 1e-4
#: To end in, after which the process is ended without asking [s].
PATIENCE = 15.0


def make_executor() -> Any:
    """Return the events executor where rclpy has it: it takes 19 % of a core, not 29."""
    try:
        events = importlib.import_module("rclpy.experimental.events_executor")
    except ImportError:
        return SingleThreadedExecutor()
    return events.EventsExecutor()


class ManagedNode(LifecycleNode):
    """A node that is its process: what it does stands in the methods that subclasses have.

    Its life: configure reads and loads, activate starts, deactivate lets it stand, shutdown ends
    the process. With the parameter autostart the first two happen by themselves.

    Args:
        name: of the node.
        stop: set when a signal asks for the end.
        given: parameters of rclpy that are stronger than all others.

    Attributes:
        spinner: executor that serves the node, and others it is given, from its own thread.
        stop: as above.
        values: of the parameters, from `begin` on.
        loading: something is compiled or read; the process may be ended at once.
    """

    values: SimpleNamespace

    def __init__(self, name: str, stop: threading.Event, given: Sequence[Any] = ()) -> None:
        super().__init__(name, parameter_overrides=list(given))
        self.stop = stop
        self.loading = self._tried = False
        self.spinner = make_executor()
        self._server: threading.Thread | None = None
        self._stopping, self._served = threading.Event(), threading.Event()
        self._troubles = Throttle()
        self._failure: BaseException | None = None

    # what subclasses do

    def declare(self) -> SimpleNamespace:
        """Declare the parameters and return their values; autostart must be among them."""
        raise NotImplementedError

    def configure(self) -> None:
        """Load everything and open the topics."""
        raise NotImplementedError

    def activate(self) -> None:
        """Start, or go on."""
        raise NotImplementedError

    def deactivate(self) -> bool:
        """Stand still; return whether it does."""
        raise NotImplementedError

    def look(self) -> None:
        """Do what is due from time to time, in the main thread."""
        raise NotImplementedError

    @property
    def nap(self) -> float:
        """Time between two looks [s]."""
        raise NotImplementedError

    def end(self) -> None:
        """Stop what runs; nothing more is served afterwards."""
        raise NotImplementedError

    def leave_graph(self) -> None:
        """Destroy what hangs on the node, before it is destroyed itself."""

    # its life

    def begin(self) -> None:
        """Read the parameters; with autostart configure and activate.

        Raises:
            RbdynError: a parameter or a robot is refused.
        """
        self.values = self.declare()
        if not self.values.autostart:
            self.get_logger().info("waiting for the lifecycle transition configure")
            return
        for transition in (self.trigger_configure, self.trigger_activate):
            transition()
            if self._failure is not None:
                raise self._failure

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:  # noqa: ARG002
        """Load and open everything."""
        return self._try(self._configure_once)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start, or go on."""
        outcome = self._try(self.activate)
        return (
            outcome if outcome != TransitionCallbackReturn.SUCCESS else super().on_activate(state)
        )

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stand still."""
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

        The executor spins on a thread of its own: a signal then always finds this one in Python,
        whatever the executor, and the context stays valid until everything has ended.
        """
        self.spinner.add_node(self)
        self._server = threading.Thread(target=self._serve, name="rbdyn-serve")
        self._server.start()
        # the interrupt is lost if it comes while C++ calls Python; the event is not. And not
        # join: one that is interrupted takes the thread for ended
        while not self.stop.is_set() and not self._served.wait(self.nap):
            self.look()
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
            self.spinner.spin_once(timeout_sec=0.1)
        except (ExternalShutdownException, KeyboardInterrupt):
            raise
        except Exception as error:  # noqa: BLE001 - one bad message must not end the node
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
        """Stop the threads and leave the graph."""
        self._stopping.set()
        # what is being served may wait for what runs: that stops first, and answers no more
        self.end()
        if self._server is not None:
            self._served.wait()
        self.spinner.shutdown()
        self.leave_graph()
        self.destroy_node()


def run(make: Callable[[threading.Event], ManagedNode], args: Sequence[str] | None = None) -> int:
    """Run a node until Ctrl-C or SIGTERM; return the exit status.

    Args:
        make: returns the node; it is given the event that asks for the end.
        args: command line with the arguments of ROS; None for that of this process.
    """
    sys.setswitchinterval(SWITCH_INTERVAL)
    stop = threading.Event()
    node: ManagedNode | None = None

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
        node = _make(make, stop)
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
        patience = _end_within(PATIENCE, stop)
        if node is not None:
            node.close()
        rclpy.try_shutdown()
        patience.cancel()
    return 0


def _end_within(seconds: float, stop: threading.Event) -> threading.Timer:
    """End the process for good if ROS 2 does not let go of it, unless the timer is cancelled."""

    def give_up() -> None:
        print(f"rbdyn: ROS 2 did not let go within {seconds:g} s", file=sys.stderr, flush=True)
        os._exit(0 if stop.is_set() else 1)

    timer = threading.Timer(seconds, give_up)
    timer.daemon = True
    timer.start()
    return timer


def _make(make: Callable[[threading.Event], ManagedNode], stop: threading.Event) -> ManagedNode:
    try:
        return make(stop)
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
