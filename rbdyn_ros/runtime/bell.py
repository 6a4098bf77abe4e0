"""A bell: one thread sleeps until another rings, without Python in between."""

from __future__ import annotations

import os
import threading

import numpy as np

from rbdyn_ros.runtime.compiled import wait_notified


class Bell:
    """An eventfd.

    Attributes:
        descriptor: of the eventfd; compiled code rings with compiled.notify.
    """

    def __init__(self) -> None:
        self.descriptor = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._word = np.zeros(8, np.int64)
        self._lock = threading.Lock()

    def ring(self) -> None:
        """Wake who waits, or the next to wait."""
        with self._lock:
            if self.descriptor >= 0:
                os.eventfd_write(self.descriptor, 1)

    def wait(self, timeout: float) -> bool:
        """Sleep until it rings; False after the timeout [s]. One thread may wait."""
        descriptor = self.descriptor
        return descriptor >= 0 and bool(wait_notified(descriptor, int(timeout * 1e3), self._word))

    def close(self) -> None:
        """Give the descriptor back; from then on nothing rings."""
        with self._lock:
            descriptor, self.descriptor = self.descriptor, -1
            if descriptor >= 0:
                os.close(descriptor)
