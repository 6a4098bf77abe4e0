# SPDX-License-Identifier: Apache-2.0
"""Threads that share the robots of a call and stay alive for the next call."""

import contextlib
import os
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from rbdyn_ros.engine.compiler.interrupts import deferred
from rbdyn_ros.rollouts.driver import BUSY, DONE, OWN_WORDS, STOP, WORDS, compiled_settled

#: A finished thread checks this many times (for 20 us) whether the other threads have finished;
#: then it sleeps.
TRIES = 500

#: Shortest and longest sleep of a thread that waits for other threads [s].
SHORT, LONG = 5e-5, 5e-3

#: Function of (thread, shared words, words of the thread) that does a piece of work and returns
#: whether work is left.
Piece = Callable[[int, Any, Any], bool]


class Share:
    """The work of one call, which several threads share."""

    def __init__(self, piece: Piece, threads: int) -> None:
        self.words = np.zeros(WORDS, np.int64)
        self.own = np.zeros((threads, OWN_WORDS), np.int64)
        self._piece = piece
        self._error: BaseException | None = None

    def work(self, k: int) -> None:
        """Do pieces of work as thread k until no work is left."""
        own = self.own[k]
        own[BUSY] = 1  # the compiled loop clears this word as soon as no work is left
        try:
            while self._piece(k, self.words, own):
                pass
        except BaseException as error:  # noqa: BLE001 - the leading thread raises it
            self._error = error
            self.words[STOP] = 1
        finally:
            own[BUSY] = 0

    def lead(self, wake: Callable[[], None], shown: Callable[[int], None] | None) -> None:
        """Wake the other threads, work as thread 0, and call `shown` with finished robot-steps."""
        settled, own = compiled_settled(), self.own[0]
        try:
            wake()
            while self._piece(0, self.words, own):
                if shown is not None:
                    shown(int(self.own[:, DONE].sum()))
            if len(self.own) > 1 and not settled(self.own, TRIES):
                self._wait(settled, shown)
        except BaseException:
            self.words[STOP] = 1
            # wait, because the other threads still write into arrays of the caller
            with deferred():
                self._wait(settled, None)
            raise
        if self._error is not None:
            raise self._error
        if shown is not None:
            shown(int(self.own[:, DONE].sum()))

    def _wait(
        self, settled: Callable[[Any, int], bool], shown: Callable[[int], None] | None
    ) -> None:
        nap = SHORT
        while not settled(self.own, 1):
            time.sleep(nap)
            nap = min(LONG, 1.5 * nap)
            if shown is not None:
                shown(int(self.own[:, DONE].sum()))


class _Mail:
    """Passes work to the threads of a pool, which must not hold a reference to the pool itself."""

    def __init__(self) -> None:
        self.share: Share | None = None
        self.ended = False
        self.bells: list[Any] = []  # for each thread a lock, which is released to wake the thread

    def ring(self, count: int) -> None:
        for bell in self.bells[:count]:
            with contextlib.suppress(RuntimeError):  # the thread is already awake
                bell.release()


class Pool:
    """Threads that help the calling thread. They start with the first call that needs them.

    Args:
        threads: number of threads, including the calling thread.
        name: prefix of the names of the threads.
    """

    def __init__(self, threads: int, name: str) -> None:
        self.threads, self._name = threads, name
        self._renew()

    def _renew(self) -> None:
        self._process = os.getpid()
        self._mail, self._helpers = _Mail(), list[threading.Thread]()
        self._lock = threading.Lock()
        self._finalizer = weakref.finalize(self, _dismiss, self._mail)

    def run(self, piece: Piece, threads: int, shown: Callable[[int], None] | None = None) -> None:
        """Do all pieces on at most `threads` threads; `shown`, if given, is as for `lead`.

        Only one call runs at a time; other calls wait.

        Raises:
            KeyboardInterrupt: after Ctrl-C, when all threads have stopped.
        """
        if self._process != os.getpid():  # after a fork the threads do not exist
            self._renew()
        share = Share(piece, min(threads, self.threads))
        others = len(share.own) - 1
        with self._lock:
            self._start(others)
            self._mail.share = share
            try:
                share.lead(lambda: self._mail.ring(others), shown)
            finally:
                self._mail.share = None

    def close(self) -> None:
        """End the threads."""
        self._finalizer()
        if self._process == os.getpid():
            for helper in self._helpers:
                helper.join()

    def _start(self, count: int) -> None:
        while len(self._helpers) < count:
            number = len(self._helpers) + 1
            bell = threading.Lock()
            bell.acquire()
            self._mail.bells.append(bell)
            helper = threading.Thread(
                target=_help, args=(self._mail, bell, number), name=f"{self._name}-{number}",
                daemon=True,
            )  # fmt: skip
            helper.start()
            self._helpers.append(helper)


def _help(mail: _Mail, bell: Any, number: int) -> None:
    while True:
        bell.acquire()
        if mail.ended:
            return
        share = mail.share
        if share is not None and number < len(share.own):
            share.work(number)
        del share  # do not keep the arrays of the call alive while waiting


def _dismiss(mail: _Mail) -> None:
    mail.ended = True
    mail.ring(len(mail.bells))
