# SPDX-License-Identifier: Apache-2.0
"""A simulation without ROS: a thread that runs the loop, and its interface for other threads."""

import threading
import time
from collections.abc import Callable

import numpy as np

from rbdyn_ros.arrays import Array, Bools
from rbdyn_ros.engine.compiler import jit
from rbdyn_ros.errors import Finding, RbdynError, refusal
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.matching import Match
from rbdyn_ros.model.model import Model
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.runtime import realtime, shared
from rbdyn_ros.runtime.carrying import carry_shared
from rbdyn_ros.runtime.kernels import cycle
from rbdyn_ros.runtime.orders import Orders
from rbdyn_ros.runtime.plant import Plant
from rbdyn_ros.runtime.port import Port
from rbdyn_ros.runtime.preparation import prepare
from rbdyn_ros.runtime.readout import Readout
from rbdyn_ros.runtime.requests import Requests
from rbdyn_ros.runtime.saved_loop import SavedLoop, StateStore
from rbdyn_ros.runtime.settings import STANDS, LoopSettings
from rbdyn_ros.runtime.shared import Shared
from rbdyn_ros.runtime.time_control import TimeControl
from rbdyn_ros.runtime.types import Command, Faults
from rbdyn_ros.runtime.wakeup import Wakeup


class Loop:
    """Simulates a robot on a thread of its own.

    Args:
        m: the robot; m.opt.timestep is the physics step.
        settings: see LoopSettings.
        start: (nq,) position at the start and after a reset; None: m.qpos0.
        wakeup: the loop notifies it at every state; several loops may share it. None: the loop
            makes its own.
        faults: faults from the first tick on; None: no faults.
        port: memory shared with another process; the caller closes it after the loop has stopped.
            None: no shared memory.

    Attributes:
        period_ns: length of a tick [ns].
        grant: real-time privileges that the system has granted.
        orders: sends commands, trajectories and wrenches.
        plant: changes the simulated robot: Model, faults, state.
        time: controls time: pause, steps, pace.
        readout: reads states, statistics and timing.

    Raises:
        RbdynError: compilation is switched off.
        ModelError: the robot cannot be specialised, though `settings` ask for it.
        ParameterError: a delay among the faults exceeds the memory of the channel.
    """

    def __init__(
        self,
        m: Model,
        settings: LoopSettings,
        start: Array | None = None,
        wakeup: Wakeup | None = None,
        faults: Faults | None = None,
        port: Port | None = None,
    ) -> None:
        if jit.DISABLED:
            text = "the real-time loop must be compiled; unset NUMBA_DISABLE_JIT to run it."
            raise RbdynError(Finding("no-jit", text))
        self.m, self.settings = m, settings
        self.start_position = np.array(m.qpos0 if start is None else start, np.float64)
        self.grant = realtime.Grant()
        timestep_ns = max(round(m.opt.timestep * NANOSECONDS), 1)
        self.period_ns = timestep_ns * settings.control_decimation
        self._shared = s = Shared(m)
        prepare(s, m, settings, self.period_ns, m)
        self._first = m
        self._port = port
        if settings.held is not None:
            s.dof_held[:], s.nheld[()] = settings.held, np.count_nonzero(settings.held)
        s.port[()] = 0 if port is None else port.address
        self._wakeup, self._owns_wakeup = wakeup or Wakeup(), wakeup is None
        self._requests = requests = Requests(s, self.period_ns)
        self.orders = Orders(s, requests, m.nv)
        self.time = TimeControl(s, requests, self.period_ns)
        self.time.set_real_time_factor(settings.real_time_factor)
        self.readout = Readout(s, requests, m, self._wakeup)
        faults = faults or Faults.none(m.nv)
        self.plant = Plant(s, requests, m, self.start_position, faults, settings.specialize)
        self._store = StateStore(s, requests, self.orders, self.plant)
        self._thread: threading.Thread | None = None
        self._ready = threading.Event()
        self._failure: BaseException | None = None

    @property
    def running(self) -> bool:
        """Return whether the loop was started and has not been stopped."""
        return self._requests.running

    @property
    def holding(self) -> bool:
        """Return whether any dof is held until its first command."""
        return bool(self.held_dofs.any())

    @property
    def held_dofs(self) -> Bools:
        """Return a mask (nv,) of the actuated dofs that are held until their first command.

        See LoopSettings.held.
        """
        s = self._shared
        held: Bools = (s.dof_held > 0) & (s.commanded == 0) & (s.dof_acts != 0.0)
        return held

    @property
    def kept_dofs(self) -> Bools:
        """Return a mask (nv,) of the dofs that a servo, a brake or a fault now keeps in place."""
        s = self._shared
        kept: Bools = (s.servo > 0) | (s.stuck != 0.0) | ((s.dof_held == STANDS) & (s.braked == 1))
        return kept

    @property
    def unanswered(self) -> tuple[str, ...]:
        """Names of the joints for whose commands lock-step waits; see TimeControl.unanswered."""
        m = self.m
        return tuple(m.jnt_names[j] for j in m.dof_jntid[self.time.unanswered].tolist())

    def compile(self) -> None:
        """Compile the loop in the calling thread, where Ctrl-C can interrupt the compiler."""
        self._requests.run_once()

    def start(self) -> None:
        """Start the loop; return when its first state can be read.

        Raises:
            ParameterError: the system refuses privileges that the settings enforce.
        """
        with self._requests.lock:  # `latest` in another thread may be running the loop
            self._requests.running = True
        self._launch()

    def _launch(self) -> None:
        self._ready.clear()
        self._thread = threading.Thread(target=self._run, name="rbdyn-loop")
        self._thread.start()
        self._ready.wait()
        if self._failure is not None:
            self.stop()
            raise self._failure
        while self._thread.is_alive() and not self.readout.begun:
            time.sleep(1e-4)

    def move(
        self,
        base: Model,
        m: Model,
        start: Array,
        between: Callable[[Data], tuple[Model, Model] | None],
        resets: bool = False,
        of_new: Faults | None = None,
    ) -> None:
        """Change to a Model with other objects between two ticks; time does not stop.

        Parts with the same name in both Models keep their state to the last bit. New parts start
        at base.qpos0, at rest. Robots come first in both Models, so the dofs of commands stay the
        same.

        Args:
            base: the new Model without payloads; it becomes the attribute `m`.
            m: the new Model with payloads.
            start: (nq,) position after a reset.
            between: called with the Data of the last tick, after the last state of the old Model
                and before the first state of the new; it must read all states that wait. It may
                return two Models of the same layout, made from this Data, that replace `base` and
                `m`; otherwise it returns None.
            resets: whether the caller resets or loads the state next. Only then may the present
                state have diverged; it stays frozen until the reset.
            of_new: faults of the joints of `base`; only the faults of new joints are used. None:
                new joints have no faults.

        Raises:
            RbdynError: the loop does not run or makes single steps, its state has diverged, its
                timestep is specialised for another Model, or the shared memory has joints that `m`
                lacks. In these cases, and if `between` raises, nothing changes.
        """
        self.plant.check_move(m)
        if self._port is not None:
            self._port.check(base)
        match, s = Match(self.m, base), self._shared
        new = Shared(base, s.sizes["nring"])
        prepare(new, base, self.settings, self.period_ns, self._first)
        with self.orders.held(), self._requests.lock:
            self._check_movable(resets)
            self._halt()
            try:
                base, m = between(self.plant.d) or (base, m)
                carry_shared(s, new, match)
                new.fault[()] = _carried_fault(int(s.fault), match)
                self.plant.move(new, base, m, start, match, of_new)
                s.become(new)
                if self._port is not None:
                    self._port.bind(base)
                self.m, self.start_position = base, np.array(start)
                self.orders.move(match)
                self.readout.move(base)
            finally:
                s.asked[shared.STOP] = 0
                # let the loop continue from its state, in the old or the new row
                s.loaded[()] = 1
                self._launch()

    def _check_movable(self, resets: bool) -> None:
        s = self._shared
        if not self.running:
            raise refusal("the simulation does not run: it has not started yet, or has ended")
        if s.fault >= 0 and not resets:
            raise refusal("the state diverged and is frozen; reset the simulation first")
        if s.asked[shared.STEPS] > s.done[shared.STEPS]:
            raise refusal("steps are under way; wait for their end")
        self._requests.wait(shared.EDITS, int(s.asked[shared.EDITS]))

    def _halt(self) -> None:
        """End the thread between two ticks."""
        assert self._thread is not None
        self._requests.send(shared.STOP, 1)
        self._thread.join()

    def save_state(self) -> SavedLoop:
        """Return the whole state between two ticks; time does not stop.

        Raises:
            RbdynError: the state has diverged, or the loop does not answer.
        """
        return self._store.save(self.plant.faults)

    def load_state(self, saved: SavedLoop) -> None:
        """Continue from a saved state of this loop; equal orders then give exactly equal states.

        Time jumps to the tick of the saved state, in a new epoch. A pause continues. The faults of
        the saved state are restored. The Model must be the same as when the state was saved.

        Raises:
            RbdynError: the loop does not answer.
        """
        self.plant.set_faults(saved.faults)
        self._store.load(saved)

    def _run(self) -> None:
        try:
            # mode fast has no deadlines, so high priority would only starve other threads
            fast = self.settings.time_mode == "fast"
            self.grant = realtime.obtain("off" if fast else self.settings.realtime)
        except BaseException as error:  # noqa: BLE001 - start() raises it
            self._failure = error
            return
        finally:
            self._ready.set()
        cycle.run(self._shared)
        realtime.release(self.grant)

    def stop(self) -> None:
        """Stop the loop if it runs, and wait for its end."""
        if self._thread is None:
            return
        self._requests.send(shared.STOP, 1)
        if self._thread.is_alive():  # not alive if an interrupt prevented its start
            self._thread.join()
        self._thread, self._requests.running = None, False
        self._requests.close()
        if self._owns_wakeup:
            self._wakeup.close()


def _carried_fault(joint: int, match: Match) -> int:
    """Return the number of a joint with a fault in the new Model, or 0 if the joint is gone.

    If `joint` is -1 (no fault), or the new Model has no joints, return -1.
    """
    old, new = (numbers.tolist() for numbers in match.places["njnt"])
    if joint < 0 or match.new.njnt == 0:
        return -1
    return new[old.index(joint)] if joint in old else 0


def warm(m: Model, specialize: bool = False) -> None:
    """Compile the loop, specialised on request, or load it from the cache; then run some ticks."""
    rehearsal = Loop(m, LoopSettings(realtime="off", on_timeout="hold", specialize=specialize))
    rehearsal.compile()
    try:
        rehearsal.start()
        zeros = Command.of_efforts(np.arange(m.nv), np.zeros(m.nv))
        rehearsal.orders.command(zeros, arrival_ns=1)
        for _ in range(5):
            rehearsal.readout.next_state(1.0)
        rehearsal.plant.reset()
    finally:
        rehearsal.stop()
