# SPDX-License-Identifier: Apache-2.0
"""Wake one thread from another through an eventfd, which compiled code can use too."""

import os
import threading
import weakref

import numpy as np

from rbdyn_ros.runtime.compiled import wait_notified


class Wakeup:
    """Lets one thread sleep until another thread notifies it.

    `close` closes the descriptor; so does the deletion of the object.

    Attributes:
        descriptor: descriptor of the eventfd; compiled code notifies it with compiled.notify.
    """

    def __init__(self) -> None:
        self.descriptor = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._close = weakref.finalize(self, os.close, self.descriptor)
        self._close.atexit = False  # do not close it at exit, when a loop may still run
        self._word = np.zeros(8, np.int64)
        self._lock = threading.Lock()

    def notify(self) -> None:
        """Wake the waiting thread; if no thread waits, the next `wait` returns at once."""
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
