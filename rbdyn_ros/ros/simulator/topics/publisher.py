# SPDX-License-Identifier: Apache-2.0
"""The thread that publishes the states of all robots of a process."""

import threading
import time
from collections.abc import Sequence

import numpy as np

from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.ros.simulator.topics.outputs import Outputs
from rbdyn_ros.runtime.kernels.stream import stream
from rbdyn_ros.runtime.wakeup import Wakeup

#: Interval of the checks for heartbeats [s].
POLL = 0.1


class Publisher:
    """Waits until a loop has a new state and publishes every state.

    Args:
        wakeup: every loop notifies it of new states.
        robots: the outputs of all robots.

    Attributes:
        failure: the error that ended the thread, or None.
    """

    def __init__(self, wakeup: Wakeup, robots: Sequence[Outputs]) -> None:
        self.failure: BaseException | None = None
        self._wakeup, self._robots = wakeup, robots
        places = [(outputs.stream.place, outputs.lock.address) for outputs in robots]
        self._places, self._scratch = np.array(places, np.int64), np.zeros(8, np.int64)
        stream(self._places[:0], wakeup.descriptor, 0, self._scratch)  # compile the function here
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="rbdyn-publish")

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop publishing; return when the thread has ended."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        try:
            self._serve()
        except BaseException as error:  # noqa: BLE001 - the main thread raises it
            self.failure = error

    def _serve(self) -> None:
        checked = 0.0
        while not self._stopping.is_set():
            timeout = round(POLL * NANOSECONDS)
            stream(self._places, self._wakeup.descriptor, timeout, self._scratch)
            for outputs in self._robots:
                # after this state, compiled code publishes the plain states, see kernels/stream.py
                outputs.publish_next()
            now = time.monotonic()
            if now > checked + POLL:  # one robot may be paused while others run
                checked = now
                for outputs in self._robots:
                    outputs.beat(now)
