# SPDX-License-Identifier: Apache-2.0
"""States of a running arm, stored by its control thread and read in blocks by another thread."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.identification.data.samples import Samples
from rbdyn_ros.identification.data.signals import TRIMMED
from rbdyn_ros.nanoseconds import NANOSECONDS

#: Cutoff of the low-pass filter of a block [Hz].
CUTOFF = 10.0
#: Length of a block [s]; the filter cuts off both ends, so the next block begins before its end.
LENGTH, OVERLAP = 2.4, 2.0 * TRIMMED / CUTOFF
#: Number of states that are kept, and number of the oldest states that are not read because the
#: control thread soon overwrites them.
ROOM, GUARD = 16384, 512


class StateBlocks:
    """The newest states, for one writing and one reading thread.

    Args:
        names: names of the joints that are read (n).
        dofs: (n,) degrees of freedom of these joints.
        nv: number of degrees of freedom of a state.

    Attributes:
        lost: number of times that states were lost because the reader was late or time went back.
    """

    def __init__(self, names: Sequence[str], dofs: Ints, nv: int) -> None:
        self._names, self._dofs = tuple(names), dofs
        self._times: NDArray[np.int64] = np.zeros(ROOM, np.int64)
        self._states: Array = np.zeros((ROOM, 3, nv))
        # touch all memory now, so that the control thread causes no page faults
        self._times.fill(0)
        self._states.fill(0.0)
        self._written = self._begin = self.lost = 0

    def add(self, time: int, state: Array) -> None:
        """Store a state: its stamp [ns], and positions, velocities and efforts (3, nv)."""
        place = self._written % ROOM
        self._times[place] = time
        self._states[place] = state
        self._written += 1

    def take(self) -> tuple[Samples, Array, int] | None:
        """Return the next block, the mean positions (nv,) in it and the stamp of its last state.

        Return None while the block is not complete.
        """
        written, begin = self._written, self._begin
        if written - begin > ROOM - GUARD:
            self.skip()
            return None
        places = np.arange(begin, written) % ROOM
        times = self._times[places]
        if (np.diff(times) <= 0).any():
            self.skip()
            return None
        since = (times - times[0]) / NANOSECONDS if len(times) else np.zeros(1)
        if since[-1] < LENGTH:
            return None
        end = int(np.searchsorted(since, LENGTH))
        states = self._states[places[: end + 1]]
        if self._written - begin >= ROOM:  # the block was overwritten while it was copied
            self.skip()
            return None
        self._begin = begin + int(np.searchsorted(since, since[end] - OVERLAP))
        qpos, qvel, effort = np.moveaxis(states[:, :, self._dofs], 1, 0)
        samples = Samples(self._names, since[: end + 1], qpos, qvel, effort)
        return samples, np.asarray(states[:, 0].mean(axis=0)), int(times[end])

    def skip(self) -> None:
        """Skip all states until now; call it in the reading thread."""
        self._begin, self.lost = self._written, self.lost + 1
