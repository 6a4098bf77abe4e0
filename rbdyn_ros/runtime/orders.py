# SPDX-License-Identifier: Apache-2.0
"""Send orders (commands, trajectories and external wrenches) to the loop."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.model.matching import Match
from rbdyn_ros.runtime import shared
from rbdyn_ros.runtime.compiled import Words, kernel
from rbdyn_ros.runtime.kernels import edits
from rbdyn_ros.runtime.mailbox import Mailbox, post
from rbdyn_ros.runtime.preparation import with_start
from rbdyn_ros.runtime.push_list import Push, PushList
from rbdyn_ros.runtime.requests import Requests
from rbdyn_ros.runtime.settings import LOCKSTEP
from rbdyn_ros.runtime.shared import Shared
from rbdyn_ros.runtime.types import NUMBERS, Command, Pull, TrajectoryOrder, Wrench


@dataclass(frozen=True, slots=True, eq=False)
class SavedOrders:
    """The orders that were sent last, for `Orders.restore`.

    Attributes:
        words, numbers: integers and numbers of the last commands of all dofs.
        trajectory: the trajectory that was sent last, or None; the loop may still read its memory.
        pushes: the list of wrenches and pulls.
    """

    words: Words
    numbers: Array
    trajectory: TrajectoryOrder | None
    pushes: tuple[Push, ...]


@dataclass(frozen=True, slots=True, eq=False)
class OrderMark:
    """Mark of a command; it shows whether other orders have replaced the command.

    Attributes:
        dofs: degrees of freedom of the command.
        arrivals: arrival of the command for each dof, which identifies it [ns].
        trajectory: the last trajectory before the command; None: no trajectory had been sent.
    """

    dofs: Ints
    arrivals: Words
    trajectory: TrajectoryOrder | None


class Orders:
    """Sends orders to the robot of a loop. Any thread may use it.

    Args:
        s: memory shared with the loop.
        requests: sends requests to the loop.
        nv: number of dofs.
    """

    def __init__(self, s: Shared, requests: Requests, nv: int) -> None:
        self._requests, self._shared = requests, s
        self._bind()
        self._lockstep = s.time_mode == LOCKSTEP
        self._pushes = PushList(s)
        self._words, self._numbers = _no_commands(nv)
        self._lent = np.zeros(nv, np.int64)  # for each dof: arrival of a command sent with `lent`
        self._trajectory: TrajectoryOrder | None = None
        self._lock = threading.Lock()

    def _bind(self) -> None:
        s = self._shared
        self._commands = Mailbox(s.command_version, s.command_words, s.command_floats)

    def move(self, match: Match) -> None:
        """Send orders to another row of shared memory; `match` matches the dofs of both Models.

        Call it only while the loop is held.
        """
        self._bind()
        words, numbers = _no_commands(match.new.nv)
        old, new = match.places["nv"]
        words[:, new], numbers[:, new] = self._words[:, old], self._numbers[:, old]
        self._words, self._numbers = words, numbers
        lent, self._lent = self._lent, np.zeros(match.new.nv, np.int64)
        self._lent[new] = lent[old]
        self._post()
        self._pushes.move(dict(zip(*(x.tolist() for x in match.places["nbody"]), strict=True)))

    def command(
        self,
        command: Command,
        tick: int | None = None,
        arrival_ns: int | None = None,
        lent: bool = False,
        after: OrderMark | None = None,
    ) -> OrderMark | None:
        """Command some dofs; commands to other dofs stay in force.

        Args:
            command: finite numbers for actuated dofs; the caller checks them.
            tick: in lock-step, the tick of the command; None: time is not in lock-step, or the
                command has no tick.
            arrival_ns: arrival of the command, by time.monotonic_ns(); None: now.
            lent: whether a later `release` ends the command.
            after: mark of an earlier command of the caller: send this command only if no other
                order has replaced the earlier one. None: send it in any case.

        Returns:
            The mark of this command; None: it was not sent, because another order came after
            `after` and stays in force.
        """
        k, words = command.dofs, self._words
        with self._lock:
            if after is not None and self._replaced(after):
                return None
            arrival = time.monotonic_ns() if arrival_ns is None else arrival_ns
            _enter(
                *(words, self._numbers, k, command.mode, arrival, -1 if tick is None else tick),
                *(command.position, command.velocity, command.effort),
                *(command.stiffness, command.damping),
            )
            if lent:
                self._lent[k] = words[0, k]
            self._post()
            mark = OrderMark(k, words[0, k], self._trajectory)
        if self._lockstep:
            self._requests.wake()
        return mark

    def _replaced(self, mark: OrderMark) -> bool:
        """Return whether later commands or trajectories replaced a command for any of its dofs."""
        new = self._trajectory
        if new is not None and new is not mark.trajectory and np.isin(new.dofs, mark.dofs).any():
            return True
        return not np.array_equal(self._words[0, mark.dofs], mark.arrivals)

    def _post(self) -> None:
        post(*self._commands.arrays, self._words.reshape(-1), self._numbers.reshape(-1))

    def track(self, trajectory: TrajectoryOrder) -> None:
        """Track a trajectory from the next tick on, starting from the present references.

        Raises:
            RbdynError: the loop does not answer.
        """
        begun, from_here = with_start(trajectory)
        arrays = begun.dofs, begun.times, begun.positions, begun.velocities, begun.accelerations
        head = len(begun.times), len(begun.dofs), begun.order, 0, from_here
        self._set_trajectory([*head, *(array.ctypes.data for array in arrays)], begun)

    def stop_tracking(self) -> None:
        """End the trajectory in progress; its joints hold their last references.

        Raises:
            RbdynError: the loop does not answer.
        """
        self._set_trajectory([0] * shared.NTRAJECTORY, None)

    def _set_trajectory(self, words: list[int], keep: TrajectoryOrder | None) -> None:
        def fill(s: Shared) -> None:
            s.edit_trajectory[:] = words

        with self._lock:
            self._requests.edit(edits.TRAJECTORY, fill, keep)
            self._trajectory = keep

    def release(self, hold: bool) -> None:
        """End the commands sent with `lent`, unless another command or trajectory replaced them.

        Args:
            hold: whether to hold their dofs until a first command again, as LoopSettings.held
                says.

        Raises:
            RbdynError: the loop does not answer.
        """

        def fill(s: Shared) -> None:
            s.edit_arrival[:] = self._lent
            s.edit[edits.SCOPE] = edits.HELD if hold else 0

        with self._lock:
            self._requests.edit(edits.RELEASE, fill)
            self._lent[:] = 0

    def let_go(self) -> None:
        """Stop holding dofs until their first command.

        Raises:
            RbdynError: the loop does not answer.
        """
        self._requests.edit(edits.LET_GO, lambda _: None)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep all other threads from sending orders during this block."""
        with self._lock, self._pushes.held():
            yield

    def saved(self) -> SavedOrders:
        """Return the last orders, for `restore`. Call it only in a block of `held`."""
        pushes = self._pushes.saved()
        return SavedOrders(self._words.copy(), self._numbers.copy(), self._trajectory, pushes)

    def restore(self, saved: SavedOrders) -> None:
        """Send saved orders again.

        Call it only in a block of `held`. The caller also restores the state of the loop.
        """
        self._words[:], self._numbers[:] = saved.words, saved.numbers
        self._trajectory = saved.trajectory
        self._post()
        self._pushes.restore(saved.pushes)

    def push(self, wrench: Wrench | Pull, stream: str = "") -> None:
        """Apply a wrench or a pull from the next tick on.

        Args:
            wrench: the wrench or pull; the caller has checked it.
            stream: name of a stream, in which each wrench replaces the last; empty: the wrench
                replaces no other.

        Raises:
            RbdynError: the largest number of wrenches is acting already.
        """
        self._pushes.push(wrench, stream)

    def clear_wrenches(self) -> None:
        """End all wrenches."""
        self._pushes.clear()

    def wrenches(self) -> list[Wrench]:
        """Return the wrenches that act now or from the next tick on; pulls as present wrenches."""
        return self._pushes.wrenches()


@kernel
def _enter(
    words: Words,
    numbers: Array,
    dofs: Ints,
    mode: Ints,
    arrival: int,
    tick: int,
    position: Array,
    velocity: Array,
    effort: Array,
    stiffness: Array,
    damping: Array,
) -> None:
    """Write a command into `words` and `numbers`, the last commands; rows as in _no_commands."""
    for n in range(len(dofs)):
        k = dofs[n]
        # the arrival also identifies a command, so it must differ from the last arrival
        words[0, k] = arrival + 1 if words[0, k] == arrival else arrival
        words[1, k] = mode[n]
        words[2, k] = tick
        numbers[0, k] = position[n]
        numbers[1, k] = velocity[n]
        numbers[2, k] = effort[n]
        numbers[3, k] = stiffness[n]
        numbers[4, k] = damping[n]


def _no_commands(nv: int) -> tuple[Words, Array]:
    """Return words (arrival, mode, tick) and numbers of nv dofs that have no command yet."""
    words = np.zeros((3, nv), np.int64)
    words[2] = -1
    return words, np.zeros((len(NUMBERS), nv))
