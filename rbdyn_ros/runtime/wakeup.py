# SPDX-License-Identifier: Apache-2.0
"""A wake-up between two threads that needs no Python: an eventfd."""

import os
import threading
import weakref

import numpy as np

from rbdyn_ros.runtime.compiled import wait_notified


class Wakeup:
    """Lets one thread sleep until another thread notifies it.

    Its descriptor is closed by `close`, or when the object is deleted.

    Attributes:
        descriptor: descriptor of the eventfd; compiled code notifies it with compiled.notify.
    """

    def __init__(self) -> None:
        self.descriptor = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._close = weakref.finalize(self, os.close, self.descriptor)
        self._close.atexit = False  # a loop may still run when the process exits
        self._word = np.zeros(8, np.int64)
        self._lock = threading.Lock()

    def notify(self) -> None:
        """Wake the waiting thread, or the next thread that waits."""
        with self._lock:
            if self.descriptor >= 0:
                os.eventfd_write(self.descriptor, 1)

    def wait(self, timeout: float) -> bool:
        """Sleep until notified; return False after the timeout [s]. Only one thread may wait."""
        descriptor = self.descriptor
        return descriptor >= 0 and bool(wait_notified(descriptor, int(timeout * 1e3), self._word))

    def close(self) -> None:
        """Close the descriptor; later notifications have no effect."""
        with self._lock:
            self.descriptor = -1
            self._close()
