# SPDX-License-Identifier: Apache-2.0
"""The thread of a control box: it connects a loop with the servers of the arm and of the hand."""

from __future__ import annotations

import contextlib
import select
import threading
import time
from collections.abc import Callable, Collection
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from rbdyn_ros.control_box.franka import packets
from rbdyn_ros.control_box.franka.arm import FrankaArm
from rbdyn_ros.control_box.franka.gripper import EVERY, GripperServer
from rbdyn_ros.control_box.franka.limits import CYCLE
from rbdyn_ros.control_box.franka.robot import RobotServer
from rbdyn_ros.control_box.franka.sensing import MeasuredArm
from rbdyn_ros.control_box.sockets import Endpoint
from rbdyn_ros.control_box.wire import FAULTLESS, LineFaults, WireLine
from rbdyn_ros.errors import RbdynError, refusal
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.runtime import realtime
from rbdyn_ros.runtime.loop import Loop
from rbdyn_ros.runtime.settings import LOCKSTEP, MODES_OF_TIME
from rbdyn_ros.runtime.state import LoopState
from rbdyn_ros.runtime.types import IMPEDANCE, NUMBERS, PER_DOF, Command, Faults

#: In lock-step a motion that waits for its first command gets a state at once, the next after a
#: while, and more after longer ones [s]: libfranka takes one state to see that the motion has
#: begun, and another to answer it. A client that answers sooner always answers the same state.
PAUSES = (0.05, 2.0)
#: A client that gets no new state gets the last one again after this time [s]. It ignores the
#: packet, as it knows its number, but knows that the box is there.
AGAIN = 0.1
#: The longest time without a look at whether the box is to end [s].
LOOK = 0.1
#: Ticks at the start and after a reset, in which requests wait and no force is estimated: the
#: torques of the box take effect, and the measured efforts with them.
STARTING = 20
#: In lock-step requests wait for an arm without a motion to come to rest, at most so many cycles.
MOST_UNREST = 1000
#: A joint that moves by more than so many times its fastest step was set, not driven.
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
    def of(faults: Faults, double: float, period_ns: int) -> WireFaults:
        """Return the faults of the channel of a loop, as faults of the wire."""

        def line(side: str) -> LineFaults:
            delay, jitter = (
                round(getattr(faults, f"{side}_{name}") * NANOSECONDS / period_ns)
                for name in ("delay", "jitter")
            )
            drop = getattr(faults, f"{side}_drop")
            return LineFaults(delay, jitter, drop, double, faults.link_loss)

        return WireFaults(line("state"), line("command"))


def without_channel(faults: Faults) -> Faults:
    """Return faults without those that act on the wire."""
    clean = Faults.none(len(faults.stuck))
    return replace(clean, **{name: getattr(faults, name) for name in (*PER_DOF, "stuck")})


class FrankaBox:
    """A control box of Franka for an arm of a loop.

    Args:
        loop: it simulates the arm with a tick of 1 ms. In lock-step it must be `locked`, and wait
            forever: the box paces it.
        arm: the robot.
        address: where it listens, at TCP 1337 and 1338.
        log: takes sentences; called in the thread of the box.
        patience: in lock-step, how long a cycle waits for the client's command [s].
        peers: all boxes of the loop, this one among them; None: it is the only one.
        number: of the box among them.

    Attributes:
        seen: in lock-step, the version of the newest state that the box looked at.
        idle: whether the box lets time stand at this state, if the others do.
        robot, gripper: the servers; gripper is None without a hand.
        failure: the error that ended the thread.

    Raises:
        RbdynError: the tick of the loop is not 1 ms, or a port is in use.
    """

    def __init__(
        self,
        loop: Loop,
        arm: FrankaArm,
        address: str = "127.0.0.1",
        log: Callable[[str], object] = print,
        patience: float = 1.0,
        peers: Collection[FrankaBox] | None = None,
        number: int = 0,
    ) -> None:
        if loop.period_ns != round(CYCLE * NANOSECONDS):
            raise refusal(
                f"a tick has {loop.period_ns * 1e-6:g} ms; a control box of Franka needs 1 ms: "
                "timestep 0.001 and control_decimation 1"
            )
        self._loop, self._arm, self._log = loop, arm, log
        self._patience = patience
        self._peers: Collection[FrankaBox] = [self] if peers is None else peers
        self.seen, self.idle = 0, False
        self._lockstep = loop.settings.time_mode == MODES_OF_TIME[LOCKSTEP]
        _rehearse(arm)
        self.robot = RobotServer(arm, log)
        self._ends = [Endpoint(self.robot, "robot", address, packets.ROBOT_PORT, log)]
        self.gripper: GripperServer | None = None
        try:
            if len(arm.fingers):
                self.gripper = GripperServer(arm, log)
                port = packets.GRIPPER_PORT
                self._ends.append(Endpoint(self.gripper, "gripper", address, port, log))
        except Exception:
            self._ends[0].close()
            raise
        seed = loop.settings.seed
        self._states, self._commands = (WireLine(seed, k, number) for k in (0, 1))
        self._dofs = np.concatenate([arm.dofs, arm.fingers])
        self._given, self._last = 0, b""  # the newest state that the client got
        self._tick = self._cycles = self._unrest = 0
        self._began = 0  # the tick of the first state, or of the last one that was set
        self._epoch = -1
        self._q = loop.start_position[arm.qposadr]
        self._asked: list[Callable[[], None]] = []
        self._ended = threading.Event()
        self.failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="rbdyn-box", daemon=True)

    @property
    def wire(self) -> WireFaults:
        """The faults of the wire; they may be set at any time."""
        return WireFaults(self._states.faults, self._commands.faults)

    @wire.setter
    def wire(self, faults: WireFaults) -> None:
        self._states.faults, self._commands.faults = faults.states, faults.commands

    def start(self) -> None:
        """Start the thread; before or after the loop."""
        self._thread.start()

    def close(self) -> None:
        """End the thread and close the sockets."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
        for end in self._ends:
            end.close()

    def do(self, action: Callable[[], T]) -> Future[T]:
        """Let the thread of the box do something between two cycles; return its future result.

        An action presses the user stop, for example. It can be cancelled before it begins. If it
        fails, the log and the future have the error.
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
        """Reboot at once: clients lose their connections, the arm brakes; only inside `do`."""
        for end in self._ends:
            end.hang_up("the box reboots")
        self._states.clear()
        self._commands.clear()
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
        with contextlib.suppress(RbdynError):  # the loop has reported what the system grants
            realtime.obtain("off" if self._lockstep else self._loop.settings.realtime)
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
        """Tell the client a state, take its command, and give the torques for the next tick."""
        began = time.monotonic()
        self._act_as_asked()
        ticks = self._follow_time(state)
        tick = state.tick
        self._states.send(tick, self.robot.observe(_measured(self._arm, state), ticks))
        self._unrest = self._unrest + 1 if self.robot.settles else 0
        fresh = False
        for packet in self._states.arrived(tick):
            fresh = self._deliver(packet) or fresh
        self._tell_gripper(state)
        if self._lockstep:
            self._meet(version)
            stood = self._stand()
            if self._is_outdated():
                return  # the state was set while time stood
            if not stood:
                self._exchange(self._patience if fresh and self.robot.awaits else 0.0, tick)
        else:
            until_next = self._loop.period_ns / NANOSECONDS - (time.monotonic() - began) - AHEAD
            self._exchange(until_next if self.robot.awaits else 0.0, tick)
        for data in reversed(self._commands.arrived(tick)):
            self.robot.command(data)
        parts = [self.robot.act()]
        if self.gripper is not None:
            parts.append(self.gripper.act())
        numbers = {n: np.concatenate([getattr(part, n) for part in parts]) for n in NUMBERS}
        command = Command(self._dofs, np.full(len(self._dofs), IMPEDANCE), **numbers)
        self._loop.orders.command(command, tick if self._lockstep else None)
        for end in self._ends:
            end.flush()

    def _follow_time(self, state: LoopState) -> int:
        """Return the ticks since the last state; begin anew if somebody set state or time."""
        q, ticks = state.qpos[self._arm.qposadr], state.tick - self._tick
        most = JUMP * CYCLE * self._arm.limits.velocity * max(ticks, 1)
        if state.epoch != self._epoch or (np.abs(q - self._q) > most).any():
            self._states.clear()
            self._commands.clear()
            self._began, ticks = state.tick, 1
            if self.gripper is not None:
                self.gripper.restart()
        self._q, self._tick, self._epoch = q.copy(), state.tick, state.epoch
        if self._is_starting:
            self.robot.restart()
        return max(ticks, 1)

    @property
    def _is_starting(self) -> bool:
        return self._tick - self._began < STARTING

    def _deliver(self, packet: bytes) -> bool:
        """Send a state to the client; return whether it is newer than all before."""
        self._ends[0].send(packet)
        number = int.from_bytes(packet[:8], "little")
        fresh = number > self._given
        if fresh:
            self._given, self._last = number, packet
        return fresh

    def _repeat(self) -> None:
        if self._last and not self._states.faults.dead:
            self._ends[0].send(self._last)

    def _tell_gripper(self, state: LoopState | None) -> None:
        if self.gripper is None:
            return
        at = self._arm.fingers_at
        if state is not None:
            packet = self.gripper.observe(state.qpos[at], state.qvel[self._arm.fingers])
        else:
            packet = self.gripper.packet()
        if packet is not None and not self._states.faults.dead:
            self._ends[1].send(packet)

    def _meet(self, version: int) -> None:
        """In lock-step, wait until all boxes have looked at this state."""
        self.idle = self._idles()
        self.seen = version
        while any(peer.seen < version for peer in self._peers) and not self._is_outdated():
            if self._ended.is_set():
                return
            time.sleep(1e-4)

    def _is_outdated(self) -> bool:
        return self._loop.readout.newer(self.seen, 0.0) is not None

    def _stand(self) -> bool:
        """In lock-step, let time stand while nothing happens that a client waits for.

        Returns:
            whether time stood; then the first command of a motion may have come.
        """
        sent, due, stood = 0, 0.0, False
        while not (self._ended.is_set() or self._asked or self._is_outdated()):
            if not self._stands():
                break
            stood = True
            left = due - time.monotonic()
            self._exchange(min(max(left, 0.0), AGAIN) if self.robot.waits_to_begin else CYCLE)
            if not self._stands():
                break
            if self.robot.waits_to_begin and time.monotonic() < due:
                self._repeat()
                continue
            if not self._states.faults.dead:
                self._deliver(self.robot.packet())
            sent = sent + 1 if self.robot.waits_to_begin else 0
            due = time.monotonic() + PAUSES[min(sent, 2) - 1] if sent else 0.0
            self._cycles += 1
            if self._cycles % EVERY == 0:
                self._tell_gripper(None)
        return stood

    def _stands(self) -> bool:
        """Whether time stands: before the first command of a motion, or while all boxes idle."""
        together = self._idles() and all(peer.idle for peer in self._peers)
        return self.robot.waits_to_begin or together

    def _idles(self) -> bool:
        still = self.gripper is None or self.gripper.rests
        return self.robot.waits_to_begin or (self.robot.rests and still)

    def _listens(self) -> bool:
        """Whether requests are served now.

        In lock-step they wait for rest: so the tick of a motion does not depend on the machine.
        """
        unrest = self._lockstep and self.robot.settles and self._unrest < MOST_UNREST
        return not (self._is_starting or unrest)

    def _exchange(self, timeout: float, tick: int | None = None) -> None:
        """Serve the sockets; wait for the command that answers the newest state.

        Args:
            timeout: [s].
            tick: now; None: time stands, and the wire has no delays.
        """
        until = time.monotonic() + timeout
        while True:
            wait = min(max(until - time.monotonic(), 0.0), LOOK)
            sockets = [each for end in self._ends for each in end.sockets]
            select.select(sockets, [], [], wait)
            if self._listens():
                for end in self._ends:
                    end.serve()
            answered = False
            for data in self._ends[0].datagrams():
                number = self.robot.answered_by(data)
                if number == 0:
                    continue  # no command for now
                answered = answered or number >= self._given
                if tick is not None:
                    self._commands.send(tick, data)
                elif not self._commands.faults.dead:
                    self.robot.command(data)
            ended = self._ended.is_set() or not self._ends[0].connected
            begun = tick is None and not self._stands()
            if answered or begun or ended or time.monotonic() >= until:
                return


def _rehearse(arm: FrankaArm) -> None:
    """Compile all kernels, so that no cycle waits for them."""
    rehearsal = RobotServer(arm, lambda _: None)
    middle, still = 0.5 * (arm.lower + arm.upper), np.zeros(7)
    rehearsal.observe(MeasuredArm(middle, still, still, still, still))
    rehearsal.act()


def _measured(arm: FrankaArm, state: LoopState) -> MeasuredArm:
    n = len(state.measured) // 3
    q, dq, effort = (state.measured[k * n :][arm.dofs] for k in range(3))
    return MeasuredArm(q, dq, effort, state.qacc[arm.dofs], state.stick_qfrc[arm.dofs])
