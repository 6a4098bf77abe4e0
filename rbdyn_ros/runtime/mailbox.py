# SPDX-License-Identifier: Apache-2.0
"""Pass records from one thread to another without locks: one writer, one reader, no waiting.

A mailbox has `depth` slots and a version, the number of the last complete record. Record v is in
slot v % depth. The writer fills the next slot and then publishes the new version. So it overwrites
record v only after depth - 1 more records. The reader checks the version again after copying. If
the record was overwritten meanwhile, the reader copies another record.

Memory orderings (valid on ARM and x86):
  writer  fence: no store into a slot before the version that freed it is visible;
          release: the version becomes visible after the slot.
  reader  acquire: the slot is read after the version;
          fence: the version is read again after the slot.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.runtime.compiled import Words, fence, kernel, load_acquire, store_release

#: A reader gives up after so many copies that the writer has overwritten meanwhile.
TRIES = 8


@dataclass(frozen=True, slots=True)
class Mailbox:
    """The memory of a mailbox.

    Attributes:
        version: (8,) the first word is the version; the other words fill its cache line.
        words: (depth, nwords) integers of the records.
        floats: (depth, nfloats) floating-point numbers of the records.
    """

    version: Words
    words: Words
    floats: Array

    @staticmethod
    def make(nwords: int, nfloats: int, depth: int) -> Mailbox:
        """Return a mailbox with memory of its own."""
        words = np.zeros((depth, nwords), np.int64)
        return Mailbox(np.zeros(8, np.int64), words, np.zeros((depth, nfloats)))

    @property
    def arrays(self) -> tuple[Words, Words, Array]:
        """The arrays in the order of the arguments of `post` and `fetch`."""
        return self.version, self.words, self.floats


@kernel
def post(version: Words, slots: Words, float_slots: Array, words: Words, floats: Array) -> None:
    """Write the next record to the mailbox (version, slots, float_slots).

    `floats` may be shorter than a slot; the rest of the slot is then left as it is.
    """
    following = version[0] + 1
    slot = following % len(slots)
    fence()
    for k in range(len(words)):
        slots[slot, k] = words[k]
    for k in range(len(floats)):
        float_slots[slot, k] = floats[k]
    store_release(version, 0, following)


@kernel
def fetch(
    version: Words, slots: Words, float_slots: Array, wanted: int, words: Words, floats: Array
) -> int:
    """Copy a record from the mailbox (version, slots, float_slots) into `words` and `floats`.

    `wanted` is the version to copy; if it is 0 or was overwritten, the latest version is copied.

    Returns:
        The copied version; 0 if there is no such record yet; -1 if the writer overwrote the
        record at every attempt, so that the copy is invalid.
    """
    depth = len(slots)
    for _ in range(TRIES):
        latest = load_acquire(version, 0)
        if latest == 0 or wanted > latest:
            return 0
        chosen = wanted if wanted > 0 and latest - wanted < depth - 1 else latest
        slot = chosen % depth
        for k in range(len(words)):
            words[k] = slots[slot, k]
        for k in range(len(floats)):
            floats[k] = float_slots[slot, k]
        fence()
        if load_acquire(version, 0) - chosen < depth - 1:
            return chosen
    return -1
