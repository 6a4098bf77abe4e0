"""The simulator without ROS: a thread that runs the loop, and the calls other threads make."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Array
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.engine import jit
from rbdyn_ros.errors import Finding, RbdynError
from rbdyn_ros.model.model import Model
from rbdyn_ros.runtime import edits, loop, realtime, shared
from rbdyn_ros.runtime.bell import Bell
from rbdyn_ros.runtime.compiled import NANOSECONDS, Words, write_word
from rbdyn_ros.runtime.mailbox import Mailbox, fetch, post
from rbdyn_ros.runtime.orders import PER_DOF, Command, Faults, Trajectory, Wrench
from rbdyn_ros.runtime.preparation import (
    delays_in_ticks,
    models_with,
    prepare,
    with_start,
)
from rbdyn_ros.runtime.push_list import PushList
from rbdyn_ros.runtime.settings import LOCKSTEP, Settings
from rbdyn_ros.runtime.shared import Shared
from rbdyn_ros.runtime.state import Layout, State
from rbdyn_ros.runtime.step_code import StepCode
from rbdyn_ros.runtime.timing import RecentFactor, Timing

#: A thread that finds so large a part of all slots waiting for it takes the latest state.
BACKLOG = 0.75
#: What to say of a loop that does not answer.
SILENT = "the loop does not answer"
#: The loop answers within this time and some ticks [s].
PATIENCE = 5.0


class Runtime:
    """Simulates a robot on a thread of its own.

    `next_state` may be called by one thread; everything else by any.

    Args:
        m: the robot; m.opt.timestep is that of the physics.
        settings: see Settings.
        start: (nq,) position at the start and after a reset; m.qpos0 if None.
        bell: rung for every state; several runtimes may share one. Its own if None.
        faults: that there are from the first tick on.

    Attributes:
        period_ns: length of a tick [ns].
        grant: what the system granted.
        plant: the Model that moves: m, or what set_plant, stuck joints or specialised timesteps
            made of it.
        real_time_factor: that was asked for.

    Raises:
        RbdynError: compilation is switched off.
        ModelError: the robot shall be specialised, and cannot be.
        ParameterError: a delay among the faults is longer than the link remembers.
    """

    def __init__(
        self,
        m: Model,
        settings: Settings,
        start: Array | None = None,
        bell: Bell | None = None,
        faults: Faults | None = None,
    ) -> None:
        if jit.DISABLED:
            text = "the real-time loop is compiled; unset NUMBA_DISABLE_JIT to run the simulator."
            raise RbdynError(Finding("no-jit", text))
        self.m = m
        self.settings = settings
        self._step_code = StepCode(m) if settings.specialize else None
        timestep_ns = max(round(m.opt.timestep * NANOSECONDS), 1)
        self.period_ns = timestep_ns * settings.control_decimation
        self.start_position = np.array(m.qpos0 if start is None else start, np.float64)
        self.grant = realtime.Grant()
        self.bell = bell or Bell()
        self._own_bell = bell is None
        self._orders_bell = Bell()
        self._shared = s = Shared(m)
        self._layout = Layout(m)
        assert self._layout.length == len(s.row)
        self._commands = Mailbox(s.command_version, s.command_words, s.command_floats)
        self._pushes = PushList(s)
        self._states = Mailbox(s.state_version, s.state_slots, s.state_float_slots)
        prepare(s, m, settings, self.period_ns)
        s.states_bell[()], s.orders_bell[()] = self.bell.descriptor, self._orders_bell.descriptor
        s.start_qpos[:] = self.start_position
        self.set_real_time_factor(settings.real_time_factor)
        self._d = make_data(m)
        self._d.qpos = self.start_position
        self._without_faults = m
        self._pending_words = np.zeros((3, m.nv), np.int64)
        self._pending_words[2] = -1
        self._pending = np.zeros((5, m.nv))
        self._version = 0
        self._inbox = np.zeros(shared.NSTATE_WORDS, np.int64), np.zeros(self._layout.length)
        self._recent = RecentFactor()
        self._command_lock, self._edit_lock = threading.Lock(), threading.Lock()
        self._kept: dict[int, object] = {}
        self._thread: threading.Thread | None = None
        self._obtained = threading.Event()
        self._failure: BaseException | None = None
        self.set_faults(faults or Faults.none(m.nv))
        self._still = make_data(self._models[1])
        s.row_address[()], s.still_address[()] = self._d.address, self._still.address

    def compile(self) -> None:
        """Compile the loop in this thread, where Ctrl-C interrupts it, by a run of no length."""
        self._shared.asked[shared.STOP] = 1
        loop.run(self._shared)
        self._shared.asked[shared.STOP] = 0

    def start(self) -> None:
        """Start the loop; returns when it runs.

        Raises:
            ParameterError: the settings demand what the system refuses.
        """
        self._thread = threading.Thread(target=self._run, name="rbdyn-loop")
        self._thread.start()
        self._obtained.wait()
        if self._failure is not None:
            self.stop()
            raise self._failure

    def _run(self) -> None:
        try:
            # without deadlines a thread of high priority would only starve the others
            fast = self.settings.time_mode == "fast"
            self.grant = realtime.obtain("off" if fast else self.settings.realtime)
        except BaseException as error:  # noqa: BLE001 - start() raises it in the thread that asked
            self._failure = error
            return
        finally:
            self._obtained.set()
        loop.run(self._shared)

    def stop(self) -> None:
        """Stop the loop and wait for its end; harmless if it does not run."""
        if self._thread is None:
            return
        self._ask(shared.STOP, 1)
        if self._thread.is_alive():  # an interrupt may have come before it was started
            self._thread.join()
        self._thread = None
        self._orders_bell.close()
        if self._own_bell:
            self.bell.close()

    # what moves the robot

    def command(
        self, command: Command, tick: int | None = None, arrival_ns: int | None = None
    ) -> None:
        """Command some dofs; the others keep what they have, which grows older.

        Args:
            command: checked by the caller: finite, dofs that take efforts.
            tick: in lock-step, the tick it is for.
            arrival_ns: when the command came, by time.monotonic_ns(); now if None.
        """
        k, words = command.dofs, self._pending_words
        with self._command_lock:
            arrival = time.monotonic_ns() if arrival_ns is None else arrival_ns
            # it tells commands apart; one that came long ago is too old at once
            words[0, k] = np.where(words[0, k] == arrival, arrival + 1, arrival)
            words[1, k] = command.mode
            words[2, k] = -1 if tick is None else tick
            for row, name in enumerate(("position", "velocity", "effort", "stiffness", "damping")):
                self._pending[row, k] = getattr(command, name)
            post(*self._commands.arrays, words.reshape(-1), self._pending.reshape(-1))
        if self.settings.time_mode == "lockstep":
            self._orders_bell.ring()

    def follow(self, trajectory: Trajectory) -> bool:
        """Follow a trajectory from the next tick on, from where the joints are led now.

        Returns:
            False if the loop does not answer; so do all that return a bool.
        """
        return self._follow(with_start(trajectory))

    def stop_following(self) -> bool:
        """End the trajectory that is under way; its joints stay where it has led them."""
        return self._follow(None)

    def _follow(self, offered: tuple[Trajectory, bool] | None) -> bool:
        words = np.zeros(shared.NTRAJECTORY, np.int64)
        if offered is not None:
            trajectory, from_here = offered
            head = len(trajectory.times), len(trajectory.dofs), trajectory.order, 0, from_here
            arrays = (
                trajectory.dofs,
                trajectory.times,
                trajectory.positions,
                trajectory.velocities,
                trajectory.accelerations,
            )
            words[:] = [*head, *(array.ctypes.data for array in arrays)]

        def fill(s: Shared) -> None:
            s.edit_trajectory[:] = words

        # the loop reads its arrays until it has answered the next
        return self._edit(edits.TRAJECTORY, fill, offered)

    def push(self, wrench: Wrench, stream: str = "") -> bool:
        """Let a wrench act from the next tick on; False if as many as can act already do.

        Args:
            wrench: checked by the caller.
            stream: it takes the place of the last one of the same stream; empty: of none.
        """
        return self._pushes.push(wrench, stream)

    def clear_wrenches(self) -> None:
        """Let no wrench act any more."""
        self._pushes.clear()

    def wrenches(self) -> list[Wrench]:
        """Return the wrenches that act, or will from the next tick on."""
        return self._pushes.wrenches()

    # the robot itself

    @property
    def faults(self) -> Faults:
        """What goes wrong now."""
        return self._faults

    def set_faults(self, faults: Faults) -> bool:
        """Change what goes wrong between controller and robot, from the next tick on.

        Raises:
            ParameterError: a delay is longer than the link remembers.
        """
        ticks = delays_in_ticks(self._shared, faults)
        arrays = [getattr(faults, name) for name in PER_DOF]
        floats = [[faults.command_drop, faults.state_drop], *arrays, faults.stuck]
        models = self._models_with(self._without_faults, faults)

        def fill(s: Shared) -> None:
            s.edit_fault_words[:] = [*ticks, faults.link_loss]
            s.edit_fault_floats[:] = np.concatenate(floats)
            s.edit_plant[()], s.edit_nominal[()] = (m.address for m in models)

        if self._thread is None:
            fill(self._shared)
            self._begin_with_edited()
        done = self._thread is None or self._edit(edits.FAULTS, fill, models)
        if done:
            self._faults, self._models, self.plant = faults, models, models[0]
        return done

    def _models_with(self, m: Model, faults: Faults) -> tuple[Model, Model]:
        """Return what models_with does; what moves is given the specialised timestep, if any."""
        if self._step_code is None:
            return models_with(m, faults)
        plant, nominal = models_with(m.replaced(), faults)  # m itself stays as it is
        self._step_code.install(plant)
        return plant, nominal

    def _begin_with_edited(self) -> None:
        """Do what the loop does with edited faults and Models, while it does not run."""
        s = self._shared
        s.fault_words[:], s.fault_floats[:] = s.edit_fault_words, s.edit_fault_floats
        s.plant[()], s.nominal[()] = s.edit_plant, s.edit_nominal

    def set_plant(self, m: Model) -> bool:
        """Exchange the Model that moves, between two ticks; its layout must be that of `m`.

        Raises:
            ModelError: the timesteps are specialised, and it differs in more than inertia and
                gravity.
        """
        assert m.data_slots == self.m.data_slots
        models = self._models_with(m, self._faults)

        def fill(s: Shared) -> None:
            s.edit_plant[()], s.edit_nominal[()] = (m.address for m in models)

        done = self._edit(edits.MODELS, fill, models)
        if done:
            self._without_faults, self._models, self.plant = m, models, models[0]
        return done

    def set_state(
        self,
        qpos: Array,
        qvel: Array,
        qpos_given: NDArray[np.bool_],
        qvel_given: NDArray[np.bool_],
    ) -> bool:
        """Put some coordinates elsewhere, all between the same two ticks.

        While time stands, and in lock-step, the new state has a tick of its own.

        Args:
            qpos: (nq,), finite.
            qvel: (nv,), finite.
            qpos_given: which entries of qpos count.
            qvel_given: which of qvel.
        """

        def fill(s: Shared) -> None:
            s.edit_qpos[:], s.edit_qvel[:] = qpos, qvel
            s.edit_qpos_given[:], s.edit_qvel_given[:] = qpos_given, qvel_given

        return self._edit(edits.PLACE, fill)

    def reset(self, time: bool = False, state: bool = True, seed: int | None = None) -> bool:
        """Begin again; it takes a tick. Noise repeats from here on.

        Args:
            time: time begins anew; otherwise it goes on.
            state: start position, at rest, without commands, wrenches and diverged states.
            seed: of all noise; the present one if None.
        """
        words = time * edits.TIME + state * edits.STATE, seed is not None, seed or 0

        def fill(s: Shared) -> None:
            s.edit[1:] = words

        return self._edit(edits.RESET, fill)

    def _edit(self, kind: int, fill: Callable[[Shared], None], keep: object = None) -> bool:
        """Have an edit made; what it needs is kept until the loop has answered another one."""
        with self._edit_lock:
            s = self._shared
            # one that was never answered may still be made: its fields are not touched before
            if self._thread is None or not self._answered(
                shared.EDITS, int(s.asked[shared.EDITS])
            ):
                return False
            fill(s)
            s.edit[edits.KIND] = kind
            # what the loop uses now, it uses until it has answered
            self._kept[kind] = keep, self._kept.get(kind)
            self._ask(shared.EDITS, int(s.asked[shared.EDITS]) + 1)
            done = self._answered(shared.EDITS, int(s.asked[shared.EDITS]))
            if done:
                self._kept[kind] = keep
            return done

    def _ask(self, word: int, value: int) -> None:
        write_word(self._shared.asked, word, value)
        self._orders_bell.ring()

    # time

    @property
    def running(self) -> bool:
        """Whether the loop has been started."""
        return self._thread is not None

    @property
    def tick(self) -> int:
        """The tick the loop has reached."""
        return int(self._shared.tick)

    @property
    def seeded_tick(self) -> int:
        """The tick at which noise began anew."""
        return int(self._shared.seeded_tick)

    @property
    def locked(self) -> bool:
        """Whether lock-step waits for the commands of each tick."""
        return bool(self._shared.locked)

    @property
    def ready(self) -> bool:
        """Whether the commands of the present tick are there, if lock-step waits for them."""
        s = self._shared
        return not s.locked or bool((s.due[s.dof_required == 1] == s.tick).all())

    @property
    def paused(self) -> bool:
        """Whether time stands on request."""
        return bool(self._shared.done[shared.PAUSE])

    @property
    def faulty(self) -> bool:
        """Whether time stands because the state diverged, until a reset."""
        return bool(self._shared.fault >= 0)

    @property
    def waiting(self) -> bool:
        """Whether lock-step waits for commands now."""
        return bool(self._shared.waiting)

    def pause(self, paused: bool) -> bool:
        """Stop or resume time; returns when the loop has done so.

        The watchdog's clock stands as well, so commands do not grow old while paused.
        """
        self.ask_pause(paused)
        return self.await_pause()

    def ask_pause(self, paused: bool, at_tick: int = 0) -> None:
        """Let time stand from a tick on, or go on; returns at once."""
        # in this order, or time would stand for a moment
        if paused:
            self._ask(shared.PAUSE_TICK, at_tick)
            self._ask(shared.PAUSE, 1)
        else:
            self._ask(shared.PAUSE, 0)
            self._ask(shared.PAUSE_TICK, 0)

    def await_pause(self) -> bool:
        """Wait until what was asked for last is so."""
        s = self._shared
        left = max(0, int(s.asked[shared.PAUSE_TICK]) - self.tick)
        return self._answered(shared.PAUSE, int(s.asked[shared.PAUSE]), left)

    def step(self, ticks: int = 1) -> bool:
        """Make ticks while paused, as fast as the mode of time allows."""
        self.ask_steps(ticks)
        return self.await_steps()

    def ask_steps(self, ticks: int) -> None:
        """Let ticks be made while paused; returns at once."""
        s = self._shared
        with self._edit_lock:
            self._ask(
                shared.STEPS, max(int(s.asked[shared.STEPS]), int(s.done[shared.STEPS])) + ticks
            )

    def await_steps(self) -> bool:
        """Wait until all ticks that were asked for are made."""
        s = self._shared
        wanted = int(s.asked[shared.STEPS])
        return self._answered(shared.STEPS, wanted, wanted - int(s.done[shared.STEPS]))

    def cancel_steps(self) -> None:
        """Make no more of the ticks asked for."""
        with self._edit_lock:
            self._ask(shared.STEPS, int(self._shared.done[shared.STEPS]))

    def set_real_time_factor(self, factor: float) -> None:
        """Let simulated time pass `factor` times as fast as that on the wall, in mode realtime."""
        self.real_time_factor = factor
        self._ask(shared.PACE, max(round(self.period_ns / factor), 1))

    def _answered(self, word: int, value: int, ticks: int = 0) -> bool:
        """Wait for the loop; more ticks mean more patience."""
        s = self._shared
        each = max(int(s.asked[shared.PACE]), self.period_ns) / NANOSECONDS
        # only steps wait for commands, everything else is answered meanwhile
        waits = word == shared.STEPS and s.time_mode == LOCKSTEP and s.lockstep_timeout > 0
        each += float(s.lockstep_timeout) / NANOSECONDS if waits else 0.0
        give_up = time.monotonic() + PATIENCE + (5.0 + 2.0 * ticks) * each
        while s.done[word] < value if word == shared.STEPS else s.done[word] != value:
            cancelled = word == shared.STEPS and s.asked[word] < value
            stopping = self._thread is None or s.asked[shared.STOP]
            if stopping or cancelled or time.monotonic() > give_up:
                return False
            time.sleep(2e-4)
        return True

    # what it does

    def next_state(self, timeout: float) -> State | None:
        """Wait for the state after the last one returned; None if none came in time.

        Every state is returned once and in order, unless the caller falls far behind.

        Args:
            timeout: [s]; 0 looks only.
        """
        give_up = time.monotonic() + timeout
        newest = int(self._states.version[0])
        # what it rang for before may have been read already
        while newest == self._version and time.monotonic() < give_up:
            self.bell.wait(max(give_up - time.monotonic(), 1e-3))
            newest = int(self._states.version[0])
        # as fast as possible the loop waits for the reader, so nothing is left out
        backlog = BACKLOG * len(self._states.words)
        close = newest - self._version <= backlog or self.settings.time_mode == "fast"
        version = fetch(*self._states.arrays, self._version + 1 if close else 0, *self._inbox)
        if version <= 0:
            return None
        missed, self._version = version - self._version - 1, version
        self._shared.asked[shared.READ] = version
        return self._as_state(*self._inbox, missed)

    def latest(self) -> State:
        """Return the last state that was handed over; before the loop starts, the first."""
        with self._edit_lock:
            if self._states.version[0] == 0 and self._thread is None:
                self.compile()  # a run of no length hands over where it begins
        words, row = np.zeros(shared.NSTATE_WORDS, np.int64), np.zeros(self._layout.length)
        while fetch(*self._states.arrays, 0, words, row) <= 0:
            time.sleep(1e-4)
        return self._as_state(words, row, 0)

    def _as_state(self, words: Words, row: Array, missed: int) -> State:
        tick, epoch, paused, fault, saturated, stale, bad, singular, following, measured = (
            words.tolist()
        )
        return State(
            self.m,
            self._layout,
            row.copy(),
            tick,
            epoch,
            bool(paused),
            fault,
            saturated,
            stale,
            bad,
            singular,
            bool(following),
            measured,
            missed,
        )

    def state_hash(self) -> str:
        """Return the hash of the latest state, see State.hash."""
        return self.latest().hash()

    def command_age(self) -> float:
        """Age of the oldest command in force [s], infinite before the first."""
        s = self._shared
        return float(s.age) / NANOSECONDS if s.begun else float("inf")

    @property
    def saturated_ticks(self) -> int:
        """Ticks in which some effort was clamped."""
        return int(self._shared.clamped)

    @property
    def lockstep_timeouts(self) -> int:
        """How often lock-step waited in vain."""
        return int(self._shared.given_up)

    def timing(self) -> Timing:
        """Return how punctual the loop was until now."""
        s = self._shared
        return Timing.of(
            int(s.ticks),
            int(s.overruns),
            self.period_ns,
            int(s.active),
            s.lateness,
            int(s.latest),
            s.work,
            int(s.longest),
            self._recent,
        )


def warm(m: Model, specialize: bool = False) -> None:
    """Compile the loop, or take it from the cache, and let it run for some ticks."""
    rehearsal = Runtime(m, Settings(realtime="off", on_timeout="hold", specialize=specialize))
    rehearsal.compile()
    try:
        rehearsal.start()
        rehearsal.command(Command.of_efforts(np.arange(m.nv), np.zeros(m.nv)), arrival_ns=1)
        for _ in range(5):
            rehearsal.next_state(1.0)
        rehearsal.reset()
    finally:
        rehearsal.stop()
