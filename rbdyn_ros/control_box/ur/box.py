# SPDX-License-Identifier: Apache-2.0
"""The control box of Universal Robots' arms: RTDE, dashboard, and the ports of programs."""

import math
import sys
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

import numpy as np

from rbdyn_ros.control_box.box import AGAIN, ControlBox
from rbdyn_ros.control_box.laws import Torques
from rbdyn_ros.control_box.sensing import MeasuredArm
from rbdyn_ros.control_box.sockets import LARGE_PIECE, ClientLink, Hub, Peers
from rbdyn_ros.control_box.ur.arm import UrArm
from rbdyn_ros.control_box.ur.dashboard import DASHBOARD_PORT, DashboardSession
from rbdyn_ros.control_box.ur.primary import STATES_EVERY, version
from rbdyn_ros.control_box.ur.primary import state as state_package
from rbdyn_ros.control_box.ur.programs import start_program
from rbdyn_ros.control_box.ur.reverse import ReverseLinks
from rbdyn_ros.control_box.ur.robot import STEP, UrRobot
from rbdyn_ros.control_box.ur.rtde import RTDE_PORT, Owners, RtdeSession
from rbdyn_ros.control_box.ur.scripts import ScriptSession
from rbdyn_ros.control_box.wire import WireLine
from rbdyn_ros.errors import refusal
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.runtime.loop import Loop
from rbdyn_ros.runtime.state import LoopState

#: The primary, the secondary and the real-time interface; each of them accepts programs.
SCRIPT_PORTS = (30001, 30002, 30003)
STATE_PORTS = SCRIPT_PORTS[:2]
#: A TCP connection sends lost bytes again after this time [s].
RETRANSMIT = 0.2
#: In lock-step, a box that lags behind a client's clock by more than this [s] does not catch up.
LATE = 5e-3
#: Largest piece of a client's inputs that is read in one cycle [bytes].
RTDE_PIECE = 4096
_State = tuple[ClientLink[Any], bytes]
_Bytes = tuple[Peers[Any], ClientLink[Any], bytes]


class UrBox(ControlBox):
    """A control box of Universal Robots for an arm of a loop whose ticks divide 2 ms.

    It listens on the TCP ports 30004 (RTDE), 29999 (dashboard) and 30001 to 30003 (programs). It
    sends RTDE packets every 2 ms, and states on 30001 and 30002 every 100 ms, also while time is
    stopped. A program may connect to servers of its client.

    Args:
        loop, arm, log, patience, peers: see ControlBox.
        address: the address at which it listens.
        number: number of the box among its peers.

    Raises:
        RbdynError: the ticks of the loop do not divide 2 ms, or a port is in use.
    """

    robot: UrRobot

    def __init__(
        self,
        loop: Loop,
        arm: UrArm,
        address: str = "127.0.0.1",
        log: Callable[[str], object] = print,
        patience: float = 1.0,
        peers: Collection[ControlBox] | None = None,
        number: int = 0,
    ) -> None:
        super().__init__(loop, arm, log, patience, peers)
        check_tick(loop.period_ns)
        self._every = round(STEP / self._period)
        self.fastest = arm.velocity
        _rehearse(arm, self._period)
        self.robot = UrRobot(arm, self._period, log)
        self.robot.in_turn = self._lockstep
        self._owners, self._reverse = Owners(), ReverseLinks(address, log)
        self._hubs: list[Hub[Any]] = []
        self._state_hubs: list[Hub[Any]] = []
        try:
            self._open(address, log)
        except Exception:
            for hub in self._hubs:
                hub.close()
            raise
        seed, again = loop.settings.seed, round(RETRANSMIT / self._period)
        self._states = WireLine[_State](seed, 0, number, again)
        self._commands = WireLine[_Bytes](seed, 1, number, again)
        # time of the last state that was sent to clients of the primary interface
        self._shown = 0.0
        self._free_since = 0.0, 0

    def _open(self, address: str, log: Callable[[str], object]) -> None:
        robot = self.robot
        rtde = partial(RtdeSession, robot, self._owners, STEP, log, self._lockstep)
        self._rtde: Hub[RtdeSession] = Hub(rtde, "RTDE", address, RTDE_PORT, log, RTDE_PIECE)
        self._hubs.append(self._rtde)
        dashboard = partial(DashboardSession, robot)
        self._hubs.append(Hub(dashboard, "dashboard", address, DASHBOARD_PORT, log))
        for port in SCRIPT_PORTS:
            hello = version() if port in STATE_PORTS else b""
            scripts = partial(ScriptSession, partial(start_program, robot), hello)
            name = f"programs at {port}"
            self._hubs.append(Hub(scripts, name, address, port, log, LARGE_PIECE))
            if port in STATE_PORTS:
                self._state_hubs.append(self._hubs[-1])

    @property
    def ends(self) -> Sequence[Peers[Any]]:
        return [*self._hubs, *self._reverse.ends]

    def _report(self, state: LoopState, ticks: int) -> bool:
        self.robot.observe(MeasuredArm.of(self._arm, state), ticks)
        if state.tick % self._every == 0:
            for item in self._packets():
                self._states.send(state.tick, item)
        self._reverse.pass_on(partial(self._states.send, state.tick))
        came = self._states.arrived(state.tick)
        for peer, data in came:
            peer.session.push(data)
        self.robot.told = any(peer in self._rtde.peers for peer, _ in came)
        self._rtde.flush()
        for line in self._reverse.lines:
            line.flush()
        self._show()
        return True

    def _repeat(self) -> None:
        if not self._states.faults.dead:
            for peer, data in self._packets():
                peer.session.push(data)
        self._rtde.flush()
        self._show()

    def _show(self) -> None:
        """Send the state to clients of the primary and the secondary interface when it is due."""
        if self.robot.clock < self._shown + STATES_EVERY or self._states.faults.dead:
            return
        self._shown, data = self.robot.clock, b""
        for hub in self._state_hubs:
            for peer in [peer for peer in hub.peers if not peer.busy]:
                data = data or hub.told(peer, lambda _: state_package(self.robot))
                if data:
                    peer.session.push(data)
            hub.flush()

    def _packets(self) -> list[_State]:
        """Return the packets of a cycle; a client that does not read gets no packet."""
        texts, self.robot.messages = self.robot.messages, []
        found = []
        for peer in [*self._rtde.peers]:
            for text in texts:
                peer.session.tell(text)
            if not peer.busy and (data := self._rtde.told(peer, RtdeSession.report)):
                found.append((peer, data))
        return found

    def _idles(self) -> bool:
        return self.robot.rests and (self._commands.is_empty or self._commands.faults.dead)

    def _stand(self) -> bool:
        stood = False
        while self._may_stand():
            if not (self._idles() and all(peer.idle for peer in self._peers)):
                break
            stood = True
            for peer, data in self._states.arrived(sys.maxsize):
                peer.session.push(data)
            self._exchange(STEP)
            if not self._idles():
                break
            self.robot.clock += STEP
            self._repeat()
        return stood

    def _exchange(self, timeout: float, tick: int | None = None) -> None:
        until, again = time.monotonic() + timeout, time.monotonic() + AGAIN
        while True:
            self._wait(min(until, again) - time.monotonic())
            if time.monotonic() >= again:  # a client that gets no state for too long disconnects
                self._shown = -math.inf
                self._repeat()
                again += AGAIN
            came = self._listens() and self._serve_all(tick)
            ended = self._ended.is_set() or not self._rtde.connected or self._is_abandoned()
            # the client has left, so no command will come
            ended |= tick is not None and not self.robot.awaits
            if came or ended or time.monotonic() >= until:
                break
        if self._lockstep and tick is not None:
            self._keep_pace(tick)

    def _is_abandoned(self) -> bool:
        """Return whether, in lock-step, no further command will come.

        This happens after a button was pressed, the arm was reset, or the client of the program
        left.
        """
        if not self._lockstep:
            return False
        program = self.robot.program
        command = "" if program is None else program.command
        left = bool(command) and self.robot.awaits and not self._owners.has(command)
        return left or bool(self._asked) or self._is_outdated()

    def _serve_all(self, tick: int | None) -> bool:
        """Serve all clients; return whether the client that commands the program sent something.

        A program needs the registers that its client wrote before it started. So the box reads
        RTDE after the programs, but processes it before them.
        """
        self._call_back()
        others = [(end, *found) for end in self.ends[1:] for found in end.receive()]
        before = int(self.robot.signals.written.sum())
        for peer in [peer for peer in self._rtde.peers if peer.session.is_full]:
            self._rtde.pass_on(peer, b"")
        came = [(self._rtde, *found) for found in self._rtde.receive()]
        for end, peer, data in (*came, *others):
            if tick is None and not self._commands.faults.dead:
                end.pass_on(peer, data)
            else:
                self._commands.send(self._tick if tick is None else tick, (end, peer, data))
        for end in self.ends[1:]:
            end.flush()
        self.served += 1
        if self._reverse.lines:
            return any(end in self._reverse.lines for end, _, _ in others)
        return bool(came) or int(self.robot.signals.written.sum()) != before

    def _call_back(self) -> None:
        """Open the connections of the program; ask a client for the program to play."""
        self._reverse.follow(self.robot.program)
        if self.robot.plays:
            self.robot.plays = False
            self._reverse.ask(partial(start_program, self.robot))

    def _keep_pace(self, tick: int) -> None:
        """In lock-step, run no faster than real time while a client times its own commands."""
        began, first = self._free_since
        if not self.robot.runs_free:
            self._free_since = 0.0, 0
        elif not began:
            self._free_since = time.monotonic(), tick
        else:
            early = began + (tick - first) * self._period - time.monotonic()
            time.sleep(max(0.0, min(early, STEP)))
            if early < -LATE:  # do not catch up: for the client simulated time would run too fast
                self._free_since = time.monotonic(), tick

    def _act(self, tick: int) -> list[Torques]:
        for hub, peer, data in self._commands.arrived(tick):
            hub.pass_on(peer, data)
        return [self.robot.act()]


def check_tick(period_ns: int) -> None:
    """Raise RbdynError unless ticks of a loop divide the cycle of RTDE."""
    cycle = round(STEP * NANOSECONDS)
    if period_ns > cycle or cycle % period_ns:
        raise refusal(
            f"a tick lasts {period_ns * 1e-6:g} ms; a control box of Universal Robots "
            "needs ticks that divide 2 ms, such as timestep 0.001 and control_decimation 1"
        )


def _rehearse(arm: UrArm, period: float) -> None:
    """Compile all kernels, so that no cycle waits for them."""
    rehearsal = UrRobot(arm, period, lambda _: None)
    middle, still = 0.5 * (arm.lower + arm.upper), np.zeros(6)
    rehearsal.observe(MeasuredArm(middle, still, still, still, still))
    rehearsal.act()
    T = arm.tool_pose(middle + 0.1, np.eye(4))
    arm.solve(T, middle, np.eye(4))
    arm.tool_jacobian_dot(middle, still, np.eye(4))
