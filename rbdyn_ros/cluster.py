# SPDX-License-Identifier: Apache-2.0
"""Run shards of work as tasks on a Ray cluster; Ray retries a task if its machine is lost.

Ray runs code from anyone who can reach the cluster, so use it only on a trusted network.
"""

import itertools
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar
from urllib.parse import urlsplit

from rbdyn_ros import __version__
from rbdyn_ros.errors import Finding, ParameterError, RbdynError, quote

#: Number of times that Ray repeats a shard whose process or machine was lost.
RETRIES = 5
#: Number of submitted shards per core: one runs and one waits.
AHEAD = 2
#: Number of shards per core; with several shards, all cores end at about the same time.
PER_CORE = 4
#: Longest wait for the answer of a machine [s].
PATIENCE = 5.0

ALLOWED = "'auto', HOST:PORT of `ray start`, or ray://HOST:PORT"

#: First bytes of an HTTP/2 client, with an empty SETTINGS frame (RFC 9113, 3.4). Every server
#: answers with a SETTINGS frame, whose fourth byte is 4.
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
_SETTINGS = 4

S = TypeVar("S")
R = TypeVar("R")


class LostError(RbdynError):
    """Ray has lost a shard more than RETRIES times."""


class Cluster:
    """A connection to a Ray cluster; `connected` makes it.

    Args:
        ray: the imported module ray.

    Attributes:
        cores: number of cores of the cluster.
    """

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self.cores = max(1, int(ray.cluster_resources().get("CPU", 1)))

    def run(
        self,
        work: Callable[[Any, S], R],
        shared: object,
        shards: Iterator[S],
        lost: Callable[[S, LostError], R],
    ) -> Iterator[tuple[S, R]]:
        """Yield each shard and its result as soon as the result is ready.

        Args:
            work: function at the top level of a module. A machine calls it with `shared` and a
                shard. If the machine is lost, it is called again for the same shard.
            shared: object that is sent to every machine once.
            shards: the parts of the work.
            lost: called with a shard that Ray has lost and the error; returns a result for it, or
                raises the error.

        Raises:
            ParameterError: a machine has another version of rbdyn_ros, or the cluster is lost.
            Exception: `work` raised it.
        """
        ray = self._ray
        task = ray.remote(max_retries=RETRIES, num_cpus=1)(_checked)
        given, flying = ray.put(shared), dict[Any, S]()
        try:
            while True:
                for new in itertools.islice(shards, AHEAD * self.cores - len(flying)):
                    flying[task.remote(work, given, new, __version__)] = new
                if not flying:
                    return
                (ready, *_), _rest = ray.wait(list(flying), num_returns=1)
                shard = flying.pop(ready)
                try:
                    result = _answer(ray, ready)
                except LostError as error:
                    result = lost(shard, error)
                yield shard, result
        finally:
            for each in flying:
                with suppress(Exception):  # the machine or the connection may be lost
                    ray.cancel(each, force=True)


def _checked(work: Callable[[Any, S], R], shared: object, shard: S, version: str) -> R:
    """Compute a shard in a process of Ray; raise ParameterError unless it has this version."""
    if version != __version__:
        text = f"a machine of the cluster has rbdyn_ros {__version__}, but this one has {version}"
        raise ParameterError(Finding("other-version", text, "error", "ray"))
    return work(shared, shard)


def _answer(ray: Any, ready: Any) -> Any:
    """Return the result of an ended task, or raise the error with which the task ended."""
    try:
        return ray.get(ready)
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        if isinstance(cause, RbdynError):
            raise cause from None
        raise
    except ray.exceptions.RaySystemError as error:
        raise _refused("ray-lost", f"the Ray cluster is lost: {_short(error)}") from error
    # Ray has lost the task's process or machine more than RETRIES times
    except ray.exceptions.RayError as error:
        text = f"{RETRIES + 1} times: {_short(error)}"
        raise LostError(Finding("shard-lost", f"Ray lost work {text}", "error", "ray")) from error


@contextmanager
def connected(address: str | bool) -> Iterator[Cluster]:
    """Connect to a cluster until the end of the block.

    Args:
        address: 'auto' or True for the cluster of this machine, HOST:PORT, or ray://HOST:PORT. If
            this process already has a connection to Ray, it is used and kept open.

    Raises:
        ParameterError: Ray is not installed, or does not answer at the address.
    """
    try:
        import ray
    except ImportError as error:
        text = 'work on a cluster needs Ray: pip install "rbdyn_ros[ray]"'
        raise _refused("no-ray-extra", text) from error
    if ray.is_initialized():
        yield Cluster(ray)
        return
    where = "auto" if address is True else address
    check_answers(os.environ.get("RAY_ADDRESS", "auto") if where == "auto" else where)
    try:
        ray.init(address=where, log_to_driver=False, logging_level="ERROR")
    except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
        text = f"there is no Ray cluster at {quote(str(where))}: {_short(error)}"
        raise _refused("no-cluster", text) from error
    try:
        yield Cluster(ray)
    finally:
        ray.shutdown()


def check_answers(address: object) -> None:
    """Raise ParameterError if Ray does not answer; Ray's own client would try for minutes."""
    if address == "auto":
        return
    text = address if isinstance(address, str) else ""
    parts = urlsplit(text if "://" in text else f"//{text}")
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if parts.scheme not in ("", "ray") or not host or not port:
        shown = quote(text) if text else repr(address)
        raise _refused("bad-argument", f"the address of Ray is {shown}; allowed is {ALLOWED}")
    called = f"at {quote(text)}, the address of Ray"
    try:
        with socket.create_connection((host, port), PATIENCE) as tried:
            answers = _speaks_http2(tried)
    except OSError as error:
        reason = error.strerror or str(error)
        message = f"nothing accepts connections {called}: {reason}"
        raise _refused("no-cluster", f"{message}; start one with `ray start --head`") from error
    if not answers:
        message = f"a program accepts connections {called}, but does not answer as Ray does"
        raise _refused("no-cluster", f"{message}; is it the port of `ray start --head`?")


def _speaks_http2(channel: socket.socket) -> bool:
    """Return whether a server answers by HTTP/2, as Ray does; with TLS: True, without a check."""
    if os.environ.get("RAY_USE_TLS", "0") not in ("", "0"):
        return True
    try:
        channel.sendall(_PREFACE)
        answer = channel.recv(9)
    except OSError:
        return False
    return len(answer) > 3 and answer[3] == _SETTINGS


def _short(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]


def _refused(code: str, text: str) -> ParameterError:
    return ParameterError(Finding(code, text, "error", "ray"))
