# SPDX-License-Identifier: Apache-2.0
"""A lock that Python and compiled code share."""

import numpy as np

from rbdyn_ros.runtime.compiled import lock_mutex, make_mutex, unlock_mutex


class Mutex:
    """A reentrant lock for `with`, like `threading.RLock`; compiled code locks it by its address.

    Attributes:
        address: address of the mutex, for lock_mutex and unlock_mutex.
    """

    def __init__(self) -> None:
        self._memory = np.zeros(16, np.int64)  # a pthread_mutex_t has at most 6 words
        make_mutex(self._memory)
        self.address = int(self._memory.ctypes.data)

    def __enter__(self) -> None:
        lock_mutex(self.address)

    def __exit__(self, *_: object) -> None:
        unlock_mutex(self.address)
