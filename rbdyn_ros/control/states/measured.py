# SPDX-License-Identifier: Apache-2.0
"""Measured states of all joints, checked and in the order of the degrees of freedom."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.checks.names import strings
from rbdyn_ros.control.base.kernels import kernel
from rbdyn_ros.control.states.loop_state import ArmLoopState
from rbdyn_ros.dynamics.configuration import position_ranges
from rbdyn_ros.dynamics.entry import Entry
from rbdyn_ros.engine.compiler.jit import Matrix
from rbdyn_ros.errors import did_you_mean, quote
from rbdyn_ros.model.model import Model
from rbdyn_ros.nanoseconds import NANOSECONDS

#: Larger numbers are not measurements.
LARGEST = 1e9


@dataclass(frozen=True, slots=True)
class Refused:
    """The refusal of a message: the code `finite` or `names`, and the reason."""

    code: str
    text: str


class Measured:
    """The newest state of all joints.

    Joints that are not required may be missing from a message; they are assumed to rest at their
    last position. They are not controlled, so their measurements are clipped to their limits.
    Other devices may report them in messages of their own.

    Args:
        m: the robot.
        required: joints that every message must contain.

    Attributes:
        s: the memory of the loop, which has the states.
        state: (3, nv), the rows qpos [rad or m], qvel [per s] and effort [N m or N].
        qpos, qvel, effort: (nv,); effort is NaN where it is not measured.
        before: (3, nv), the previous state.
        known: (nv,) whether a message has named the joint; otherwise its position is assumed.
    """

    def __init__(self, m: Model, required: Sequence[str]) -> None:
        self._names = tuple(m.jnt_names[j] for j in m.dof_jntid)
        self._places = {name: k for k, name in enumerate(self._names)}
        self._required = strings("required", required)
        limits = position_ranges(m, m.dof_jntid).T
        s = self.s = ArmLoopState(n=len(self._required), nv=m.nv)
        self.state, self.before = s.state, s.before
        self.qpos, self.qvel, self.effort = self.state
        np.clip(self.qpos, *limits, out=self.qpos)
        self.effort[:] = np.nan
        # do not clip these joints, which the gate checks
        checked = [name in self._required for name in self._names]
        s.bounds[:2] = np.where(checked, [[-np.inf], [np.inf]], limits)
        s.bounds[2] = np.where(checked, np.inf, m.jnt_velocity[m.dof_jntid])
        self.known = np.zeros(m.nv, bool)
        self._time, self._known = s.scalars["time"], s.scalars["known"]
        self._last_names: list[str] | None = None
        self._at, self._to = np.empty(0, np.int64), np.empty(0, np.int64)
        self._make_room(0)

    def is_from(self, time: int) -> bool:
        """Return whether the state has this stamp [ns]."""
        return bool(self._time.item() == time and self._known.item())

    @property
    def time(self) -> int:
        """Stamp of the state [ns]."""
        return int(self.s.time)

    @property
    def arrival(self) -> int | None:
        """Time of arrival on the steady clock [ns]; None before the first state."""
        return int(self.s.arrival) if self.s.known else None

    def age(self, now: int) -> float:
        """Return the time since the newest state arrived [s], infinity before the first state.

        `now` is on the steady clock [ns].
        """
        return (now - self.s.arrival) / NANOSECONDS if self.s.known else math.inf

    def concerns(self, names: Sequence[str]) -> bool:
        """Return whether a message names a required joint, and so is not from another device."""
        return names == self._last_names or not set(self._required).isdisjoint(names)

    def take_others(self, names: Sequence[str], position: Array) -> str:
        """Store the positions in a message of another device; return the refusal, or "".

        The joints rest there until the next message, as joints that are missing from a message do.

        Args:
            names: names of joints, none of which is required.
            position: one per name [rad or m].
        """
        places = [(k, self._places[name]) for k, name in enumerate(names) if name in self._places]
        if not places:
            return ""
        reason = (
            _named_twice(names)
            or _wrong_count(names, "positions", position)
            or _wrong_number(names, "position", position)
        )
        if reason:
            return reason
        for k, place in places:
            lower, upper = self.s.bounds[:2, place]
            self.qpos[place] = self.before[0, place] = min(max(position[k], lower), upper)
            self.known[place] = True
        return ""

    def take(
        self, names: Sequence[str], position: Array, velocity: Array, effort: Array
    ) -> Refused | None:
        """Store a message and return None; if it is refused, store nothing and return the reason.

        It returns the reason instead of raising because it runs in the control loop.

        Args:
            names: names of joints, in any order.
            position: finite, one per name [rad or m].
            velocity: finite, one per name [rad/s or m/s].
            effort: one per name, or empty; NaN where not measured, but not infinite [N m or N].
        """
        if names == self._last_names and self._stored(position, velocity, effort):
            return None
        reason = (
            _wrong_number(names, "position", position)
            or _wrong_number(names, "velocity", velocity)
            or _wrong_number(names, "effort", effort)
        )
        if reason:
            return Refused("finite", reason)
        reason = (
            self._find(names)
            or _wrong_count(names, "positions", position)
            or _wrong_count(names, "velocities", velocity)
            or (_wrong_count(names, "efforts", effort) if len(effort) > 0 else "")
        )
        if reason:
            return Refused("names", reason)
        self._stored(position, velocity, effort)
        self.known[self._to] = True
        return None

    def _stored(self, position: Array, velocity: Array, effort: Array) -> bool:
        """Store numbers in the order of the last names; return False if they are wrong."""
        places, speeds, efforts = self._rows
        n, measured = len(places), len(effort)
        if len(position) != n or len(velocity) != n or measured not in (0, n):
            return False
        places[...], speeds[...] = position, velocity
        efforts[...] = effort if measured else np.nan
        stored: bool = _store.call(self.s.handle, self._given, self._at, self._to)
        return stored

    def _find(self, names: Sequence[str]) -> str:
        """Find the joints of a message whose names differ from the names of the last message.

        Return the refusal, or "".
        """
        if names == self._last_names:
            return ""
        if reason := _named_twice(names):
            return reason
        for name in self._required:
            if name not in names:
                found = ", ".join(map(quote, names[:20])) or "none"
                strangers = [other for other in names if other not in self._places]
                hint = did_you_mean(name, strangers)
                return f"joint '{name}' is missing; the message names {found}{hint}"
        known = [(k, self._places[name]) for k, name in enumerate(names) if name in self._places]
        pairs = np.array(known, np.int64).reshape(-1, 2).T
        self._at, self._to, self._last_names = pairs[0].copy(), pairs[1].copy(), list(names)
        self._make_room(len(names))
        return ""

    def _make_room(self, n: int) -> None:
        """Allocate the rows to which the numbers of a message are copied."""
        self._given = np.empty((3, n))
        self._rows = tuple(self._given)


@kernel
def store(s: ArmLoopState, given: Matrix, at: Ints, to: Ints) -> bool:
    """Store a measured state, clipped to s.bounds.

    Return False if a position or velocity is NaN, or if any number is beyond LARGEST.

    Args:
        s: the state.
        given: rows of positions, velocities and efforts. An effort that was not measured is NaN.
        at: columns of `given`.
        to: the degrees of freedom of these columns; the velocities of all others become 0.
    """
    measured = False
    for k in range(given.shape[1]):
        # NaN also fails this comparison
        fine = abs(given[0, k]) < LARGEST and abs(given[1, k]) < LARGEST
        known = abs(given[2, k]) < LARGEST
        if not (fine and (known or np.isnan(given[2, k]))):
            return False
        measured = measured or known
    qpos, qvel, effort = s.state[0], s.state[1], s.state[2]
    for i in range(len(qpos)):
        s.before[0, i], s.before[1, i], s.before[2, i] = qpos[i], qvel[i], effort[i]
        qvel[i] = 0.0
        effort[i] = effort[i] if measured else np.nan
    for k in range(len(at)):
        i = to[k]
        qpos[i], qvel[i], effort[i] = given[0, at[k]], given[1, at[k]], given[2, at[k]]
    lower, upper, fastest = s.bounds[0], s.bounds[1], s.bounds[2]
    for i in range(len(qpos)):
        qpos[i] = min(max(qpos[i], lower[i]), upper[i])
        qvel[i] = min(max(qvel[i], -fastest[i]), fastest[i])
    return True


_store = Entry(store)


def _named_twice(names: Sequence[str]) -> str:
    """Return the message about a joint that is named twice, or ""."""
    if len(set(names)) == len(names):
        return ""
    return f"joint {quote(Counter(names).most_common(1)[0][0])} is named twice"


def _wrong_number(names: Sequence[str], kind: str, values: Array) -> str:
    """Return the reason why one of the values (of the kind `kind`) is no measurement, or ""."""
    fine = np.abs(values) < LARGEST  # NaN also fails this comparison
    if kind == "effort":
        fine |= np.isnan(values)
    if fine.all():
        return ""
    k = int(fine.argmin())
    owner = f"joint {quote(names[k])}" if k < len(names) else f"value {k}"
    allowed = f"expected a finite number below {LARGEST:g}"
    return f"the {kind} of {owner} is {values[k]}; {allowed}"


def _wrong_count(names: Sequence[str], kinds: str, values: Array) -> str:
    """Return the reason why the number of values is wrong, or ""."""
    right = len(values) == len(names)
    return "" if right else f"there are {len(values)} {kinds} for {len(names)} names"
