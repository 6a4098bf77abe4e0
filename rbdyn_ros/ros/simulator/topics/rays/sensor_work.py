# SPDX-License-Identifier: Apache-2.0
"""Measure with lidars, range sensors and cameras, parallel to the loop or in simulated time.

In real time, a thread of its own measures. Each sensor has a mailbox for one state, so a thread
that is too slow drops readings, which are counted. In lock-step and fast mode, the publishing
thread measures, so no reading is dropped and every message depends only on state, seed and tick.
"""

import os
import sys
import threading
from collections import deque
from dataclasses import dataclass
from typing import Any

from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.ros.simulator.topics.rays.camera_topics import ColorTopics, DepthTopics
from rbdyn_ros.ros.simulator.topics.rays.range_topics import RangeTopic
from rbdyn_ros.runtime.state import LoopState
from rbdyn_ros.sensors.suite import Suite

#: The topics of a lidar, range sensor or camera.
Topics = RangeTopic | DepthTopics | ColorTopics

#: Niceness of the thread, so that the loop and the publishing thread come first on few cores.
NICE = 10


@dataclass(frozen=True, slots=True, eq=False)
class _Job:
    """A reading that sensor `k` of a suite must take in a state."""

    suite: Suite
    k: int
    topic: Topics
    stamp_ns: int
    state: LoopState


@dataclass(frozen=True, slots=True, eq=False)
class _Late:
    """A message with latency; it is published with the first state at or after its tick."""

    epoch: int
    tick: int
    topic: Topics
    message: Any


class SensorWork:
    """Makes readings and publishes them; only one thread may call `take` and `close`.

    Args:
        period_ns: duration of a tick [ns].
        threaded: whether a thread of its own measures.

    Attributes:
        dropped: number of dropped readings.
    """

    def __init__(self, period_ns: int, threaded: bool) -> None:
        self.dropped = 0
        self._period_ns, self._threaded = period_ns, threaded
        self._late: deque[_Late] = deque()
        self._jobs: dict[int, _Job] = {}
        self._epoch = 0
        self._readings: dict[int, tuple[Topics, Any]] = {}
        self._changed = threading.Condition()
        self._closing = False
        self._failure: BaseException | None = None
        self._thread: threading.Thread | None = None

    def take(
        self, suite: Suite, numbers: dict[int, Topics], stamp_ns: int, state: LoopState
    ) -> None:
        """Publish late messages that are due, and make the readings of a state.

        Args:
            suite: the sensors.
            numbers: topics of the sensors to read, by number of the sensor.
            stamp_ns: stamp of the state [ns].
            state: the state to measure.

        Raises:
            BaseException: the error that has ended the thread of the readings.
        """
        if self._failure is not None:
            raise self._failure
        with self._changed:
            if state.epoch != self._epoch:
                self._epoch = state.epoch
                self._jobs.clear()  # these jobs are from before a reset
        self._publish_late(state)
        jobs = {k: _Job(suite, k, topic, stamp_ns, state) for k, topic in numbers.items()}
        if not self._threaded:
            for job in jobs.values():
                self._do(job, None)
        elif jobs:
            self._hand_over(jobs)

    def readings(self) -> list[tuple[Topics, Any]]:
        """Return the topics and the last reading of each sensor. Any thread may call it."""
        return list(dict(self._readings).values())

    def close(self) -> None:
        """End the thread."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    def _hand_over(self, jobs: dict[int, _Job]) -> None:
        with self._changed:
            self.dropped += len(jobs.keys() & self._jobs.keys())
            self._jobs |= jobs
            self._changed.notify()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="rbdyn-sensors", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        if sys.platform == "linux":  # setpriority acts on a single thread only on Linux
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
        try:
            while (job := self._next()) is not None:
                self._do(job, 1)
        except BaseException as error:  # noqa: BLE001 - the publishing thread raises it
            self._failure = error

    def _next(self) -> _Job | None:
        """Wait for a job; return the job that has waited longest, or None at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._closing or self._jobs)
            if self._closing:
                return None
            return self._jobs.pop(next(iter(self._jobs)))

    def _do(self, job: _Job, threads: int | None) -> None:
        reading: Any = job.topic.read(job.suite, job.k, job.state, threads)
        self._readings[job.k] = job.topic, reading
        message = job.topic.message(job.stamp_ns, reading)
        if job.state.epoch != self._epoch:
            return
        wait = round(job.topic.spec.latency * NANOSECONDS / self._period_ns)
        if wait == 0:
            job.topic.publish(message)
        else:
            state = job.state
            self._late.append(_Late(state.epoch, state.tick + wait, job.topic, message))

    def _publish_late(self, state: LoopState) -> None:
        """Publish the messages that are due at a state; drop messages from before a reset."""
        for _ in range(len(self._late)):
            late = self._late.popleft()
            if late.epoch == state.epoch and late.tick > state.tick:
                self._late.append(late)
            elif late.epoch == state.epoch:
                late.topic.publish(late.message)
