"""Records handed from one thread to another without locks: one writer, one reader, no waiting.

A mailbox has `depth` slots and a version, the number of the last complete record. Record v lies
in slot v % depth. The writer fills the slot after the last one and then publishes the version,
so a reader of record v is disturbed only when the writer is depth - 1 records further; it finds
out by reading the version again after copying, and takes another record.

Orderings (they hold on ARM as well as on x86):
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

#: The most a reader tries for a record while the writer overwrites it again and again.
TRIES = 8


@dataclass(frozen=True, slots=True)
class Mailbox:
    """Slots for records.

    Attributes:
        version: the first is the version, the others keep its cache line for itself.
        words: (depth, n) integers.
        floats: (depth, n).
    """

    version: Words
    words: Words
    floats: Array

    @staticmethod
    def make(nwords: int, nfloats: int, depth: int) -> Mailbox:
        """Return one of its own memory."""
        words = np.zeros((depth, nwords), np.int64)
        return Mailbox(np.zeros(8, np.int64), words, np.zeros((depth, nfloats)))

    @property
    def arrays(self) -> tuple[Words, Words, Array]:
        """What the kernels take."""
        return self.version, self.words, self.floats


@kernel
def post(version: Words, slots: Words, float_slots: Array, words: Words, floats: Array) -> None:
    """Write the next record."""
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
    """Copy a record; return its version.

    `version`, `slots`, `float_slots` are the mailbox; `words`, `floats` receive the record.
    `wanted` is the version to copy, 0 for the latest; one overwritten since gives the latest.

    Returns:
        The version copied; 0 if there is no such record yet; -1 if the writer overwrote the
        record at every try: what was received is then worthless.
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
