# SPDX-License-Identifier: Apache-2.0
"""The thread of a control box: it connects a loop with the servers of an arm."""

import contextlib
import select
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from rbdyn_ros.control_box.arm import BoxedJoints
from rbdyn_ros.control_box.laws import Torques
from rbdyn_ros.control_box.robot import BoxedRobot
from rbdyn_ros.control_box.sockets import End
from rbdyn_ros.control_box.wire import FAULTLESS, LineFaults, WireLine
from rbdyn_ros.errors import RbdynError
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.runtime import realtime
from rbdyn_ros.runtime.loop import Loop
from rbdyn_ros.runtime.settings import LOCKSTEP, MODES_OF_TIME
from rbdyn_ros.runtime.state import LoopState
from rbdyn_ros.runtime.types import IMPEDANCE, NUMBERS, PER_DOF, Command, Faults

#: A box without a new state serves its sockets after this time [s].
AGAIN = 0.1
#: The longest time between two checks whether the box has to end [s].
LOOK = 0.1
#: Ticks at the start and after a reset in which requests wait and no force is estimated, until the
#: torques of the box act and are measured.
STARTING = 20
#: In lock-step, requests wait until an arm without a motion rests, for at most this many cycles.
MOST_UNREST = 1000
#: A joint that moves by more than this many times its fastest step was set, not driven.
JUMP = 2.0
#: In real time the box gives its torques this long before the next tick [s].
AHEAD = 2e-4


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class WireFaults:
    """Faults of the wire in both directions, see LineFaults."""

    states: LineFaults = FAULTLESS
    commands: LineFaults = FAULTLESS

    @staticmethod
    def of(faults: Faults, double: float, period_ns: int) -> "WireFaults":
        """Return the faults of a loop's channel as faults of the wire.

        `double` is the probability that a packet comes twice, and a tick lasts `period_ns` [ns].
        """

        def line(side: str) -> LineFaults:
            delay, jitter = (
                round(getattr(faults, f"{side}_{name}") * NANOSECONDS / period_ns)
                for name in ("delay", "jitter")
            )
            drop = getattr(faults, f"{side}_drop")
            return LineFaults(delay, jitter, drop, double, faults.link_loss)

        return WireFaults(line("state"), line("command"))


def without_channel(faults: Faults) -> Faults:
    """Return faults without the faults of the wire."""
    clean = Faults.none(len(faults.stuck))
    return replace(clean, **{name: getattr(faults, name) for name in (*PER_DOF, "stuck")})


class ControlBox(ABC):
    """The thread that connects an arm of a loop with its servers.

    Args:
        loop: loop that simulates the arm. In lock-step it must be `locked` and wait forever,
            because the box paces it.
        arm: the robot.
        log: called with messages, in the thread of the box.
        patience: in lock-step, how long a cycle waits for the client's command [s].
        peers: all boxes of the loop, including this box; None: this box alone.

    Attributes:
        robot: the state machine of the arm.
        seen: in lock-step, the version of the newest state that the box has read.
        idle: whether the box can stop time at this state, if all other boxes can.
        failure: the error that ended the thread, or None.
        watch: called with every state that the box reads, in its thread.
        runs_on: in lock-step, whether time runs even while the arm rests and no client sends.
        served: number of times that the box accepted clients and read their requests.
    """

    robot: BoxedRobot
    _states: WireLine[Any]
    _commands: WireLine[Any]
    #: Largest speed of each joint [rad/s], (n,).
    fastest: np.ndarray

    def __init__(
        self,
        loop: Loop,
        arm: BoxedJoints,
        log: Callable[[str], object],
        patience: float,
        peers: "Collection[ControlBox] | None",
    ) -> None:
        self._loop, self._arm, self._log = loop, arm, log
        self._patience, self._period = patience, loop.period_ns / NANOSECONDS
        self._peers: Collection[ControlBox] = [self] if peers is None else peers
        self.seen, self.idle, self.runs_on, self.served = 0, False, False, 0
        self.watch: Callable[[LoopState], object] = lambda _: None
        self._lockstep = loop.settings.time_mode == MODES_OF_TIME[LOCKSTEP]
        self._dofs = arm.driven
        self._tick = self._unrest = 0
        self._began = 0  # the tick of the first state, or of the last state that was set
        self._epoch = -1
        self._q = loop.start_position[arm.qposadr]
        self._asked: list[Callable[[], None]] = []
        self._ended = threading.Event()
        self.failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="rbdyn-box", daemon=True)

    @property
    @abstractmethod
    def ends(self) -> Sequence[End]:
        """The ports of the box, each with its server."""

    @property
    def wire(self) -> WireFaults:
        """The faults of the wire, which can be set at any time."""
        return WireFaults(self._states.faults, self._commands.faults)

    @wire.setter
    def wire(self, faults: WireFaults) -> None:
        self._states.faults, self._commands.faults = faults.states, faults.commands

    def _forget(self) -> None:
        """Drop the packets under way."""
        self._states.clear()
        self._commands.clear()

    @abstractmethod
    def _report(self, state: LoopState, ticks: int) -> bool:
        """Observe a state `ticks` after the last, and send it; return whether a client got it."""

    @abstractmethod
    def _idles(self) -> bool:
        """Return whether the box waits for a client: until then its state stays the same."""

    @abstractmethod
    def _stand(self) -> bool:
        """In lock-step, stop time while the box waits for a client; return whether it did."""

    @abstractmethod
    def _exchange(self, timeout: float, tick: int | None = None) -> None:
        """Serve the sockets; wait for the command that answers the newest state.

        Args:
            timeout: longest time to wait [s].
            tick: present tick; None: time is stopped, and the wire has no delays.
        """

    @abstractmethod
    def _act(self, tick: int) -> list[Torques]:
        """Process the commands that arrive at a tick; return the torques of the driven dofs."""

    def _repeat(self) -> None:  # noqa: B027 - a box may have nothing to repeat
        """Show the client that the box still runs, without a new state."""

    def _restart(self) -> None:  # noqa: B027 - a box may have nothing but its robot
        """Restart after the state or the time was set."""

    def start(self) -> None:
        """Start the thread, before or after the loop is started."""
        self._thread.start()

    def close(self) -> None:
        """End the thread and close the sockets."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
        for end in self.ends:
            end.close()

    def do(self, action: Callable[[], T]) -> Future[T]:
        """Make the thread of the box call an action between two cycles; return its Future.

        An action presses the user stop, for example. It can be cancelled before it begins. If the
        action fails, the error is logged, and the future holds it.
        """
        future: Future[T] = Future()

        def act() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(action())
            except Exception as error:  # noqa: BLE001 - of the caller
                self._log(f"an action for the control box failed: {error!r}")
                future.set_exception(error)

        self._asked.append(act)
        return future

    def reboot(self) -> None:
        """Reboot at once: clients lose their connections, and the arm brakes.

        Call it only inside `do`.
        """
        for end in self.ends:
            end.hang_up("the box reboots")
        self._forget()
        self.robot.reboot()

    def _act_as_asked(self) -> None:
        while self._asked:
            self._asked.pop(0)()

    def _run(self) -> None:
        try:
            self._serve()
        except BaseException as error:  # noqa: BLE001 - Boxes.check raises it
            self.failure = error

    def _serve(self) -> None:
        with contextlib.suppress(RbdynError):  # the loop reports refused privileges
            mode = "off" if self._lockstep else self._loop.settings.realtime
            # only the loop keeps its own processor; it locks the memory for longer than the box
            realtime.release(realtime.obtain(mode, bind=False))
        while not self._ended.is_set():
            found = self._loop.readout.newer(self.seen, AGAIN)
            if found is None:
                self._act_as_asked()
                self._exchange(0.0)
                self._repeat()
                continue
            version, state = found
            if (state.fault < 0 and not state.paused) or self._lockstep:
                self._cycle(version, state)
            self.seen, self.idle = version, False

    def _cycle(self, version: int, state: LoopState) -> None:
        """Send a state to the client, read its command, and set the torques for the next tick.

        `version` is the number of the state.
        """
        began = time.monotonic()
        self.watch(state)
        self._act_as_asked()
        fresh = self._report(state, self._follow_time(state))
        tick = state.tick
        self._unrest = self._unrest + 1 if self.robot.settles else 0
        if self._lockstep:
            self._meet(version)
            if not (self._stand() or self._is_outdated()):
                self._exchange(self._patience if fresh and self.robot.awaits else 0.0, tick)
            if self._is_outdated():
                return  # the state was set while the box stopped time or waited
        else:
            until_next = self._period - (time.monotonic() - began) - AHEAD
            self._exchange(until_next if self.robot.awaits else 0.0, tick)
        parts = self._act(tick)
        numbers = {n: np.concatenate([getattr(part, n) for part in parts]) for n in NUMBERS}
        command = Command(self._dofs, np.full(len(self._dofs), IMPEDANCE), **numbers)
        self._loop.orders.command(command, tick if self._lockstep else None)
        for end in self.ends:
            end.flush()

    def _follow_time(self, state: LoopState) -> int:
        """Return the ticks since the last state; restart if the state or the time was set."""
        q, ticks = state.qpos[self._arm.qposadr], state.tick - self._tick
        most = JUMP * self._period * self.fastest * max(ticks, 1)
        if state.epoch != self._epoch or (np.abs(q - self._q) > most).any():
            self._forget()
            self._began, ticks = state.tick, 1
            self._restart()
        self._q, self._tick, self._epoch = q.copy(), state.tick, state.epoch
        if self._is_starting:
            self.robot.restart()
        return max(ticks, 1)

    @property
    def _is_starting(self) -> bool:
        return self._tick - self._began < STARTING

    def _meet(self, version: int) -> None:
        """In lock-step, wait until all boxes have read the state number `version`."""
        self.idle = self._idles()
        self.seen = version
        while any(peer.seen < version for peer in self._peers) and not self._is_outdated():
            if self._ended.is_set():
                return
            time.sleep(1e-4)

    def _may_stand(self) -> bool:
        """Return whether inputs outside the protocol allow time to be stopped."""
        wanted = self.runs_on or self._ended.is_set() or bool(self._asked)
        return not (wanted or self._is_outdated())

    def _is_outdated(self) -> bool:
        return self._loop.readout.newer(self.seen, 0.0) is not None

    def _listens(self) -> bool:
        """Return whether requests are served now.

        In lock-step requests wait until the arm rests, so that the tick of a motion does not
        depend on the machine.
        """
        unrest = self._lockstep and self.robot.settles and self._unrest < MOST_UNREST
        return not (self._is_starting or unrest)

    def _wait(self, timeout: float) -> None:
        """Wait until a socket has data, at most for the time `timeout` [s]."""
        sockets = [each for end in self.ends for each in end.sockets]
        select.select(sockets, [], [], min(max(timeout, 0.0), LOOK))
