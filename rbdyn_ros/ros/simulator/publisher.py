"""The thread that publishes the states of all robots of a process."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from rbdyn_ros.ros.simulator.outputs import Outputs
from rbdyn_ros.runtime.bell import Bell
from rbdyn_ros.runtime.runtime import Runtime

#: It is looked this often whether a heartbeat is due [s].
LOOK = 0.1


class Publisher:
    """Wakes on the bell that all loops ring, and publishes every state there is.

    Args:
        bell: of the loops.
        robots: loops and what is published of them.

    Attributes:
        failure: what ended the thread before its time.
    """

    def __init__(self, bell: Bell, robots: Sequence[tuple[Runtime, Outputs]]) -> None:
        self.failure: BaseException | None = None
        self._bell, self._robots = bell, robots
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="rbdyn-publish")

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop publishing; returns when the thread has ended."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        try:
            self._serve()
        except BaseException as error:  # noqa: BLE001 - spin() raises it in the main thread
            self.failure = error

    def _serve(self) -> None:
        looked = 0.0
        while not self._stopping.is_set():
            self._bell.wait(LOOK)
            for runtime, outputs in self._robots:
                state = runtime.next_state(0.0)
                while state is not None and not self._stopping.is_set():
                    outputs.publish(state)
                    state = runtime.next_state(0.0)
            now = time.monotonic()
            if now > looked + LOOK:  # one may stand while others run
                looked = now
                for _, outputs in self._robots:
                    outputs.beat(now)
