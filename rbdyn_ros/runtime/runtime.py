"""The simulator without ROS: a thread that runs the loop, and the calls other threads make."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from rbdyn_ros.api import make_data
from rbdyn_ros.engine import jit
from rbdyn_ros.errors import Finding, ParameterError, RbdynError
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model
from rbdyn_ros.runtime import loop, realtime
from rbdyn_ros.runtime.compiled import NANOSECONDS, Floats, Words, wait_notified
from rbdyn_ros.runtime.mailbox import Mailbox, fetch, post

#: States kept for a reader that is late; beyond that it misses some.
DEPTH = 64
#: A thread that finds so many states waiting takes the latest.
BACKLOG = 16
HISTOGRAM = 10_001  # [us], the last entry holds all above


@dataclass(frozen=True, slots=True)
class Settings:
    """How a loop runs.

    Attributes:
        command_timeout: age at which a command is given up [s].
        on_timeout: what then drives the joint, one of loop.ON_TIMEOUT.
        start_paused: begin paused.
        realtime: what to ask of the system, see realtime.obtain.
    """

    command_timeout: float = 0.1
    on_timeout: str = "zero"
    start_paused: bool = False
    realtime: realtime.Mode = "try"


@dataclass(frozen=True, slots=True)
class State:
    """One record of the loop.

    Attributes:
        row: qpos_all, qvel_all, effort of as many, and time, a copy; see the properties.
        tick: timesteps and resets since the start.
        paused: whether the loop stands on request.
        fault: the joint whose state diverged, -1 if none; the state is then the last good one.
        saturated: a dof whose effort was clamped in this tick, -1 if none.
        stale: number of dofs without a command that is young enough.
        bad: see Data.nbad.
        singular: see Data.nsingular.
        missed: records lost between the one before and this one.
    """

    m: Model
    row: Floats
    tick: int
    paused: bool
    fault: int
    saturated: int
    stale: int
    bad: int
    singular: int
    missed: int

    @property
    def qpos(self) -> Floats:
        """Position as in Data."""
        return self.row[: self.m.nq]

    @property
    def qvel(self) -> Floats:
        """Velocity as in Data."""
        return self.row[self.m.nqall : self.m.nqall + self.m.nv]

    @property
    def effort(self) -> Floats:
        """Per dof, the effort that led here: commanded or by policy, clamped [N m or N]."""
        start = self.m.nqall + self.m.nvall
        return self.row[start : start + self.m.nv]

    @property
    def time(self) -> float:
        """Simulated time as in Data [s]."""
        return float(self.row[-1])


@dataclass(frozen=True, slots=True)
class Timing:
    """How punctual the loop was, since its start.

    Attributes:
        ticks: timesteps made.
        overruns: periods that ended too late; the schedule then began anew.
        real_time_factor: simulated time by the time not paused.
        p50, p99, worst: lateness of wake-ups [us].
    """

    ticks: int
    overruns: int
    real_time_factor: float
    p50: float
    p99: float
    worst: float

    def __str__(self) -> str:
        return (
            f"{self.ticks} timesteps, real-time factor {self.real_time_factor:.4f}, wake-up "
            f"lateness p50 {self.p50:.0f} us, p99 {self.p99:.0f} us, worst {self.worst:.0f} us, "
            f"{self.overruns} overruns"
        )


class Runtime:
    """Simulates a robot in real time on its own thread.

    `command` may be called by one thread and `next_state` by one other.

    Args:
        m: the robot; m.opt.timestep is the period, rounded to nanoseconds.
        settings: see Settings.
        start: (nq,) position at the start and after a reset; m.qpos0 if None.

    Raises:
        ParameterError: on_timeout is not one of loop.ON_TIMEOUT.
        RbdynError: compilation is switched off.
    """

    def __init__(self, m: Model, settings: Settings, start: Floats | None = None) -> None:
        if jit.DISABLED:
            text = "the real-time loop is compiled; unset NUMBA_DISABLE_JIT to run the simulator."
            raise RbdynError(Finding("no-jit", text))
        self.m = m
        self.settings = settings
        self.period_ns = max(round(m.opt.timestep * NANOSECONDS), 1)
        self.start_position = np.array(m.qpos0 if start is None else start, np.float64)
        self.grant = realtime.Grant()
        self._commands = Mailbox(nwords=m.nv, nfloats=m.nv, depth=2)
        self._states = Mailbox(nwords=loop.NSTATE, nfloats=_row_length(m), depth=DEPTH)
        self._control = np.zeros(loop.NCONTROL, np.int64)
        self._control[loop.PAUSE] = settings.start_paused
        self._statistics = np.zeros(loop.NSTATISTICS, np.int64)
        self._histogram = np.zeros(HISTOGRAM, np.int64)
        self._settings = self._loop_settings()
        self._arrival, self._effort = np.zeros(m.nv, np.int64), np.zeros(m.nv)
        self._version = 0
        self._inbox = np.zeros(loop.NSTATE, np.int64), np.zeros(_row_length(m))
        self._poll = np.zeros(8, np.int64)
        self._state = np.zeros(loop.NSTATE, np.int64)
        self._arguments = self._loop_arguments()
        self._thread: threading.Thread | None = None
        self._obtained = threading.Event()
        self._failure: BaseException | None = None

    def _loop_settings(self) -> Words:
        settings = np.zeros(loop.NSETTINGS, np.int64)
        policy = self.settings.on_timeout
        if policy not in loop.ON_TIMEOUT:
            allowed = ", ".join(loop.ON_TIMEOUT)
            text = f"on_timeout is '{policy}'; allowed is one of {allowed}."
            raise ParameterError(Finding("on-timeout", text, "error", "on_timeout", None, policy))
        settings[loop.PERIOD] = self.period_ns
        settings[loop.TIMEOUT] = round(self.settings.command_timeout * NANOSECONDS)
        settings[loop.POLICY] = loop.ON_TIMEOUT.index(policy)
        settings[loop.EVENT] = -1
        return settings

    def _loop_arguments(self) -> tuple[Any, ...]:
        m = self.m
        d = make_data(m)
        d.qpos = self.start_position
        dofs = np.array([actuated(m), _effort_limit(m)])
        work = (
            np.zeros(m.nv, np.int64),  # arrival
            np.zeros(2 * m.nv, np.int64),  # seen
            np.zeros(m.nv),  # command
            np.zeros(m.nv),  # inbox
            np.zeros(m.nq + m.nv),  # saved
            self._state,
            np.zeros(_row_length(m)),  # row
            np.zeros(8, np.int64),  # scratch
        )
        shared = (self._settings, self._control, self._statistics, self._histogram)
        boxes = (*self._commands.arrays, *self._states.arrays)
        return (m, d, _data_for_efforts(m), self.start_position, dofs, *shared, *boxes, *work)

    def compile(self) -> None:
        """Compile the loop in this thread, where Ctrl-C interrupts it, by a run of no length."""
        self._control[loop.STOP] = 1
        loop.run(*self._arguments)
        self._control[loop.STOP] = 0

    def start(self) -> None:
        """Start the loop; returns when it runs.

        Raises:
            ParameterError: the settings demand what the system refuses.
        """
        self._settings[loop.EVENT] = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._thread = threading.Thread(target=self._run, name="rbdyn-loop")
        self._thread.start()
        self._obtained.wait()
        if self._failure is not None:
            self.stop()
            raise self._failure

    def _run(self) -> None:
        try:
            self.grant = realtime.obtain(self.settings.realtime)
        except BaseException as error:  # noqa: BLE001 - start() raises it in the thread that asked
            self._failure = error
            return
        finally:
            self._obtained.set()
        loop.run(*self._arguments)

    def stop(self) -> None:
        """Stop the loop and wait for its end; harmless if it does not run."""
        if self._thread is None:
            return
        self._control[loop.STOP] = 1
        if self._thread.is_alive():  # an interrupt may have come before it was started
            self._thread.join()
        self._thread = None
        os.close(int(self._settings[loop.EVENT]))

    def command(self, dofs: Words, efforts: Floats, arrival_ns: int | None = None) -> None:
        """Set the effort of some dofs; the others keep theirs, which grow older.

        Args:
            dofs: numbers of the dofs.
            efforts: finite, one for each [N m or N].
            arrival_ns: when the command came, by time.monotonic_ns(); now if None.
        """
        self._arrival[dofs] = time.monotonic_ns() if arrival_ns is None else arrival_ns
        self._effort[dofs] = efforts
        post(*self._commands.arrays, self._arrival, self._effort)

    def next_state(self, timeout: float) -> State | None:
        """Wait for the state after the last one returned; None if none came in time.

        Every state is returned once and in order, unless the caller falls BACKLOG behind.

        Args:
            timeout: [s].
        """
        newest = int(self._states.version[0])
        if newest == self._version:
            wait_notified(int(self._settings[loop.EVENT]), int(timeout * 1e3), self._poll)
            newest = int(self._states.version[0])
        wanted = self._version + 1 if newest - self._version <= BACKLOG else 0
        version = fetch(*self._states.arrays, wanted, *self._inbox)
        if version <= 0:
            return None
        missed, self._version = version - self._version - 1, version
        return self._as_state(missed)

    def _as_state(self, missed: int) -> State:
        words, floats = self._inbox
        tick, paused, fault, saturated, stale, bad, singular = words.tolist()
        row, stands = floats.copy(), bool(paused)
        return State(self.m, row, tick, stands, fault, saturated, stale, bad, singular, missed)

    @property
    def paused(self) -> bool:
        """Whether time stands on request."""
        return bool(self._control[loop.DONE + loop.PAUSE])

    @property
    def faulty(self) -> bool:
        """Whether time stands because the state diverged, until a reset."""
        return bool(self._state[loop.FAULT] >= 0)

    def pause(self, paused: bool) -> bool:
        """Stop or resume time; returns when the loop has done so, False if it does not answer.

        The watchdog's clock stands as well, so commands do not grow old while paused.
        """
        self._control[loop.PAUSE] = paused
        return self._answered(loop.PAUSE, int(paused))

    def step(self) -> bool:
        """Make one timestep while paused; False if the loop does not answer."""
        self._control[loop.STEPS] += 1
        return self._answered(loop.STEPS, int(self._control[loop.STEPS]))

    def reset(self) -> bool:
        """Go back to the start position, at rest, without commands and faults; time goes on.

        The reset takes one tick. Returns False if the loop does not answer.
        """
        self._control[loop.RESETS] += 1
        return self._answered(loop.RESETS, int(self._control[loop.RESETS]))

    def _answered(self, word: int, value: int) -> bool:
        give_up = time.monotonic() + 1.0 + 5e-9 * self.period_ns
        while self._control[loop.DONE + word] != value:
            if time.monotonic() > give_up:
                return False
            time.sleep(2e-4)
        return True

    def timing(self) -> Timing:
        """Return how punctual the loop was until now."""
        counts = np.cumsum(self._histogram)
        p50, p99 = (float(np.searchsorted(counts, q * counts[-1])) for q in (0.5, 0.99))
        ticks, active = int(self._statistics[loop.TICKS]), int(self._statistics[loop.ACTIVE])
        return Timing(
            ticks,
            int(self._statistics[loop.OVERRUNS]),
            ticks * self.period_ns / active if active else 1.0,
            p50,
            p99,
            self._statistics[loop.LATEST] / 1e3,
        )


def warm(m: Model) -> None:
    """Compile the loop, or take it from the cache, and let it run for some ticks."""
    rehearsal = Runtime(m, Settings(realtime="off", on_timeout="hold"))
    rehearsal.compile()
    rehearsal.command(np.arange(m.nv), np.zeros(m.nv), arrival_ns=0)
    try:
        rehearsal.start()
        for _ in range(5):
            rehearsal.next_state(1.0)
        rehearsal.reset()
    finally:
        rehearsal.stop()


def actuated(m: Model) -> Words:
    """Return 1 for each dof an effort may act on.

    An actuator is at a joint of one coordinate that has the dof, or that follows the one with it.
    """
    acting = (m.jnt_actuated == 1) & (m.jnt_dofnum == 1) & (m.jnt_mimic_ratio != 0.0)
    dofs: Words = np.zeros(m.nv, np.int64)
    dofs[m.jnt_dofadr[acting & (m.jnt_dofadr < m.nv)]] = 1
    return dofs


def _data_for_efforts(m: Model) -> Data:
    """Return a Data of a Model in which no joint is actuated but those that take efforts."""
    joints = np.zeros(m.njnt, np.int64)
    joints[m.dof_jntid] = actuated(m)
    return make_data(m.replaced(jnt_actuated=joints))


def _row_length(m: Model) -> int:
    return int(m.nqall + 2 * m.nvall + 1)


def _effort_limit(m: Model) -> Floats:
    limit: Floats = np.array(m.jnt_effort[m.dof_jntid], np.float64)
    return limit
