# SPDX-License-Identifier: Apache-2.0
"""The control box of Franka's arms: servers of arm and hand, and the UDP packets of the arm."""

import time
from collections.abc import Callable, Collection, Sequence

import numpy as np

from rbdyn_ros.control_box.box import AGAIN, ControlBox
from rbdyn_ros.control_box.franka import packets
from rbdyn_ros.control_box.franka.arm import FrankaArm
from rbdyn_ros.control_box.franka.gripper import EVERY, GripperServer
from rbdyn_ros.control_box.franka.robot import RobotServer
from rbdyn_ros.control_box.laws import Torques
from rbdyn_ros.control_box.paths import CYCLE
from rbdyn_ros.control_box.sensing import MeasuredArm
from rbdyn_ros.control_box.sockets import Endpoint
from rbdyn_ros.control_box.wire import WireLine
from rbdyn_ros.errors import refusal
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.runtime.loop import Loop
from rbdyn_ros.runtime.state import LoopState

#: While a motion in lock-step waits for its first command, its client gets a state at once, a
#: second state after the first of these times [s], and further states at intervals of the second
#: time. libfranka needs one state to detect that the motion has begun, and another state to
#: answer. A client that answers sooner always answers the same state.
PAUSES = (0.05, 2.0)


class FrankaBox(ControlBox):
    """Franka's control box, for an arm in a loop with a tick of 1 ms.

    It listens on the TCP ports 1337 and 1338. Without a new state the box repeats the last packet.
    The client ignores this packet, because its message_id is not new, but sees that the box runs.

    Args:
        loop, arm, log, patience, peers: see ControlBox.
        address: the address at which it listens.
        number: number of the box among its peers.

    Attributes:
        robot, gripper: the servers; gripper is None without a hand.

    Raises:
        RbdynError: the tick of the loop is not 1 ms, or a port is in use.
    """

    robot: RobotServer

    def __init__(
        self,
        loop: Loop,
        arm: FrankaArm,
        address: str = "127.0.0.1",
        log: Callable[[str], object] = print,
        patience: float = 1.0,
        peers: Collection[ControlBox] | None = None,
        number: int = 0,
    ) -> None:
        check_tick(loop.period_ns)
        super().__init__(loop, arm, log, patience, peers)
        self._franka = arm
        self.fastest = arm.limits.velocity
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
        self._states, self._commands = (WireLine[bytes](seed, k, number) for k in (0, 1))
        self._given, self._last = 0, b""  # the newest state that the client got
        self._cycles = 0

    @property
    def ends(self) -> Sequence[Endpoint]:
        return self._ends

    def _restart(self) -> None:
        if self.gripper is not None:
            self.gripper.restart()

    def _report(self, state: LoopState, ticks: int) -> bool:
        packet = self.robot.observe(MeasuredArm.of(self._arm, state), ticks)
        self._states.send(state.tick, packet)
        fresh = False
        for each in self._states.arrived(state.tick):
            fresh = self._deliver(each) or fresh
        self._tell_gripper(state)
        return fresh

    def _act(self, tick: int) -> list[Torques]:
        for data in reversed(self._commands.arrived(tick)):
            self.robot.command(data)
        hand = [] if self.gripper is None else [self.gripper.act()]
        return [self.robot.act(), *hand]

    def _deliver(self, packet: bytes) -> bool:
        """Send a state's packet to the client; return whether the state is the newest so far."""
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
        at = self._franka.fingers_at
        if state is not None:
            packet = self.gripper.observe(state.qpos[at], state.qvel[self._franka.fingers])
        else:
            packet = self.gripper.packet()
        if packet is not None and not self._states.faults.dead:
            self._ends[1].send(packet)

    def _stand(self) -> bool:
        """Stop time while `_stands` and other inputs allow it; return whether it was stopped."""
        sent, due, stood = 0, 0.0, False
        while self._may_stand():
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
        """Return whether time stops before a motion's first command, or because all boxes idle."""
        together = self._idles() and all(peer.idle for peer in self._peers)
        return self.robot.waits_to_begin or together

    def _idles(self) -> bool:
        still = self.gripper is None or self.gripper.rests
        return self.robot.waits_to_begin or (self.robot.rests and still)

    def _exchange(self, timeout: float, tick: int | None = None) -> None:
        until = time.monotonic() + timeout
        while True:
            self._wait(until - time.monotonic())
            if self._listens():
                for end in self._ends:
                    end.serve()
                self.served += 1
            answered = False
            for data in self._ends[0].datagrams():
                number = self.robot.answered_by(data)
                if number == 0:
                    continue  # no command is needed now
                answered = answered or number >= self._given
                if tick is not None:
                    self._commands.send(tick, data)
                elif not self._commands.faults.dead:
                    self.robot.command(data)
            ended = self._ended.is_set() or not self._ends[0].connected or self._is_outdated()
            in_vain = not (self._stands() if tick is None else self.robot.awaits)
            if answered or in_vain or ended or time.monotonic() >= until:
                return


def check_tick(period_ns: int) -> None:
    """Raise RbdynError unless a tick of a loop is a cycle of the box."""
    if period_ns != round(CYCLE * NANOSECONDS):
        raise refusal(
            f"a tick lasts {period_ns * 1e-6:g} ms; a control box of Franka needs ticks of 1 ms, "
            "so timestep 0.001 and control_decimation 1"
        )


def _rehearse(arm: FrankaArm) -> None:
    """Compile all kernels, so that no cycle waits for them."""
    rehearsal = RobotServer(arm, lambda _: None)
    middle, still = 0.5 * (arm.lower + arm.upper), np.zeros(7)
    rehearsal.observe(MeasuredArm(middle, still, still, still, still))
    rehearsal.act()
