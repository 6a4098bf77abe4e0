"""Share robots among threads, in pieces short enough for a progress bar and Ctrl-C."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

#: Steps of a piece times the work of a step (Model.work): about 10 ms.
PIECE_WORK = 50_000

#: Period of the progress bar and of checks for Ctrl-C [s].
PERIOD = 0.1

#: Function of (first, last, begin, end): advance robots first to last - 1 over steps begin to
#: end - 1.
Advance = Callable[[int, int, int, int], None]


class Sharing:
    """Work on robots 0 to nbatch - 1 over steps 0 to nstep - 1.

    The result of a robot depends neither on the thread that computes it nor on the order.

    Args:
        nbatch: number of robots.
        nstep: number of steps.
        width: robots that advance side by side.
        work: work of a step, see Model.work.
    """

    def __init__(self, nbatch: int, nstep: int, width: int, work: int) -> None:
        self._steps = nstep
        at_once = max(1, PIECE_WORK // (work * width))  # steps of one block
        self._piece = min(nstep, at_once)
        group = width * max(1, at_once // nstep)
        self._total = nbatch * nstep
        self._groups: Iterator[tuple[int, int]] = (
            (first, min(first + group, nbatch)) for first in range(0, nbatch, group)
        )
        self._lock = threading.Lock()
        self._start, self._stop = threading.Event(), threading.Event()

    def run(self, make: Callable[[], Advance], threads: int, shown: bool) -> None:
        """Advance all robots, with one function returned by `make` per thread.

        Raises:
            KeyboardInterrupt: after Ctrl-C, when the threads have ended.
        """
        done = [0] * threads  # robot-steps, by thread
        with contextlib.ExitStack() as opened:
            bar = opened.enter_context(self._bar()) if shown else None
            pool = opened.enter_context(ThreadPoolExecutor(threads, "rollout"))
            opened.callback(self._end)  # before the pool waits for its threads
            waiting = {pool.submit(self._work, make, done, k) for k in range(threads)}
            self._start.set()  # only now: Ctrl-C while threads are submitted would lose one
            while waiting:
                ended, waiting = wait(waiting, timeout=PERIOD)
                for each in ended:
                    each.result()
                if bar is not None:
                    bar.update(sum(done) - bar.n)

    def _end(self) -> None:
        self._stop.set()
        self._start.set()

    def _bar(self) -> Any:
        from rbdyn_ros.report import progress  # its library is slow to import

        delay = progress.PATIENCE
        return progress.bar(self._total, desc="rollout", unit="step", unit_scale=True, delay=delay)

    def _work(self, make: Callable[[], Advance], done: list[int], k: int) -> None:
        """Take groups of robots until none is left."""
        advance = make()
        self._start.wait()
        while not self._stop.is_set():
            with self._lock:
                group = next(self._groups, None)
            if group is None:
                return
            first, last = group
            for begin in range(0, self._steps, self._piece):
                if self._stop.is_set():
                    return
                end = min(begin + self._piece, self._steps)
                advance(first, last, begin, end)
                done[k] += (last - first) * (end - begin)
