# SPDX-License-Identifier: Apache-2.0
"""Work on a cluster of Ray: shards run as tasks, which are retried if a machine is lost.

Ray runs code from everybody who reaches the cluster: it belongs on a trusted network.
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
#: Number of shards in flight per core: one runs, one waits.
AHEAD = 2
#: Number of shards per core; several shards let all cores end at about the same time.
PER_CORE = 4
#: Time for a machine to answer [s].
PATIENCE = 5.0

ALLOWED = "'auto', HOST:PORT of `ray start`, or ray://HOST:PORT"

#: HTTP/2 (RFC 9113, 3.4): the first bytes of a client, with an empty SETTINGS frame; every server
#: answers with a SETTINGS frame, whose fourth byte is 4.
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
_SETTINGS = 4

S = TypeVar("S")
R = TypeVar("R")


class LostError(RbdynError):
    """Ray has lost a shard more than RETRIES times."""


class Cluster:
    """A connection to Ray; `connected` makes one.

    Args:
        ray: the module of Ray.

    Attributes:
        cores: number of cores.
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
        """Yield shards and their results as they are ready.

        Args:
            work: a function of a module; it is called with `shared` and a shard on one of the
                machines. It may be called again for a shard whose machine is lost.
            shared: sent to every machine once.
            shards: the parts of the work.
            lost: returns the result of a shard that was lost, or raises the error.

        Raises:
            ParameterError: a machine has another version, or the cluster is lost.
            Exception: what work raises.
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
                with suppress(Exception):  # the machine or the connection may be gone
                    ray.cancel(each, force=True)


def _checked(work: Callable[[Any, S], R], shared: object, shard: S, version: str) -> R:
    """Compute a shard in a process of Ray; raise ParameterError if it has another version."""
    if version != __version__:
        text = f"a machine of the cluster has rbdyn_ros {__version__}, this one has {version}"
        raise ParameterError(Finding("other-version", text, "error", "ray"))
    return work(shared, shard)


def _answer(ray: Any, ready: Any) -> Any:
    """Return the result of a task that has ended, or raise the error with which it ended."""
    try:
        return ray.get(ready)
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        if isinstance(cause, RbdynError):
            raise cause from None
        raise
    except ray.exceptions.RaySystemError as error:
        raise _refused("ray-lost", f"the Ray cluster is lost: {_short(error)}") from error
    # Ray lost its process or machine more than RETRIES times
    except ray.exceptions.RayError as error:
        text = f"{RETRIES + 1} times: {_short(error)}"
        raise LostError(Finding("shard-lost", f"Ray lost work {text}", "error", "ray")) from error


@contextmanager
def connected(address: str | bool) -> Iterator[Cluster]:
    """Connect to a cluster until the end of the block.

    Args:
        address: 'auto' or True (of this machine), HOST:PORT, or ray://HOST:PORT. If this process
            already has a connection to Ray, that connection is used and kept open.

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
    """Raise ParameterError soon if no Ray answers: its own client would try for minutes."""
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
    """Return whether a server speaks HTTP/2, as Ray does; with TLS return True without a check."""
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
