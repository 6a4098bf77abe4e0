"""Robots shared among threads, in pieces short enough for a bar and for Ctrl-C."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

#: Steps times degrees of freedom of a piece: some 10 ms of work.
PIECE_WORK = 50_000

#: How often the bar moves and Ctrl-C is looked for [s].
LOOK = 0.1

#: Advances robots first to last - 1 from step begin to step end.
Advance = Callable[[int, int, int, int], None]


class Sharing:
    """Work on robots 0 to nbatch - 1 over steps 0 to nstep - 1.

    Who computes a robot makes no difference to it, so neither do the number of threads and the
    order in which they take what is left.

    Args:
        nbatch: number of robots.
        nstep: of steps.
        width: robots that advance side by side.
        nv: degrees of freedom.
    """

    def __init__(self, nbatch: int, nstep: int, width: int, nv: int) -> None:
        self._steps = nstep
        at_once = max(1, PIECE_WORK // (max(1, nv) * width))  # steps of one block
        self._piece = min(nstep, at_once)
        group = width * max(1, at_once // nstep)
        self._total = nbatch * nstep
        self._groups: Iterator[tuple[int, int]] = (
            (first, min(first + group, nbatch)) for first in range(0, nbatch, group)
        )
        self._lock = threading.Lock()
        self._start, self._stop = threading.Event(), threading.Event()

    def run(self, make: Callable[[], Advance], threads: int, shown: bool) -> None:
        """Do it, with what `make` returns for each thread.

        Raises:
            KeyboardInterrupt: after Ctrl-C; the threads have ended by then.
        """
        done = [0] * threads  # robot-steps, by thread
        with contextlib.ExitStack() as opened:
            bar = opened.enter_context(self._bar()) if shown else None
            pool = opened.enter_context(ThreadPoolExecutor(threads, "rollout"))
            opened.callback(self._end)  # before the pool waits for its threads
            waiting = {pool.submit(self._work, make, done, k) for k in range(threads)}
            self._start.set()  # not before all are there: Ctrl-C in between would lose one
            while waiting:
                ended, waiting = wait(waiting, timeout=LOOK)
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
