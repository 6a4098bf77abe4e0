"""A trial on a cluster of Ray: shards of runs as tasks, retried if a machine is lost.

A run depends on its seed only, so the rows are the same whichever machines there are. Ray runs
code from everybody who reaches the cluster: it belongs on a trusted network.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from rbdyn_ros import __version__
from rbdyn_ros.errors import Finding, ParameterError, RbdynError, quote
from rbdyn_ros.trials.processes.workers import run_in_workers
from rbdyn_ros.trials.simulation.runs import LOST, Run, failed, run_shard, shards
from rbdyn_ros.trials.trial import Trial

#: Times that Ray runs a shard again after its process or machine is lost.
RETRIES = 5
#: Shards in flight for each core: one runs, one waits.
AHEAD = 2
#: Shards for each core, so that all end together. A shard has at most so many runs of a Python
#: controller, whose process must be worth its start, and at least so many of a compiled one.
PER_CORE = 4
ISOLATED_MOST, COMPILED_LEAST = 16, 16
#: Time for a machine to answer [s].
PATIENCE = 5.0

ALLOWED = "'auto', HOST:PORT of `ray start`, or ray://HOST:PORT"


def run_on_ray(trial: Trial, seeds: Sequence[int], address: str) -> Iterator[list[Run]]:
    """Yield the facts of runs, shard by shard, as they are ready.

    Args:
        trial: the trial; every machine needs the same version of rbdyn_ros.
        seeds: of the runs.
        address: of the cluster: 'auto' (of this machine), HOST:PORT, or ray://HOST:PORT. A
            connection of this process to Ray that is there is used and kept.

    Raises:
        ParameterError: Ray is not installed, nothing accepts connections at the address, a machine
            has another version of rbdyn_ros, or the controller cannot be loaded or traced.
        ModelError: the controller does not support the robot.
    """
    with _connected(address) as ray:
        task = ray.remote(max_retries=RETRIES, num_cpus=1)(shard_of_task)
        cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
        given, left = ray.put(trial), _shards(trial, seeds, cores)
        flying: dict[Any, list[int]] = {}
        most = AHEAD * cores
        try:
            while True:
                while len(flying) < most and (shard := next(left, None)) is not None:
                    flying[task.remote(given, shard, __version__)] = shard
                if not flying:
                    return
                (ready, *_), _rest = ray.wait(list(flying), num_returns=1)
                yield _answer(ray, trial, ready, flying.pop(ready))
        finally:
            for each in flying:
                with suppress(Exception):  # the machine or the connection may be gone
                    ray.cancel(each, force=True)


def shard_of_task(trial: Trial, seeds: list[int], version: str) -> list[Run]:
    """Return the facts of runs; runs in a process of Ray.

    That process has other threads and cannot be forked: the runs of a Python controller are in
    children of a process of their own.
    """
    if version != __version__:
        text = f"a machine of the cluster has rbdyn_ros {__version__}, this one has {version}"
        raise ParameterError(Finding("other-version", text, "error", "ray"))
    if trial.controller.isolated:
        return [run for runs in run_in_workers(trial, seeds, 1) for run in runs]
    return run_shard(trial, seeds)


def _shards(trial: Trial, seeds: Sequence[int], cores: int) -> Iterator[list[int]]:
    """Divide seeds into tasks; the rows do not depend on how."""
    fair = -(-len(seeds) // (PER_CORE * cores))
    if not trial.controller.isolated:
        yield from shards(trial, seeds, max(fair, COMPILED_LEAST))
        return
    size = max(1, min(fair, ISOLATED_MOST))
    for first in range(0, len(seeds), size):
        yield list(seeds[first : first + size])


def _answer(ray: Any, trial: Trial, ready: Any, seeds: list[int]) -> list[Run]:
    """Return the runs of a task that has ended."""
    try:
        runs: list[Run] = ray.get(ready)
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        if isinstance(cause, RbdynError):
            raise cause from None
        raise
    except ray.exceptions.RaySystemError as error:
        raise _refused("ray-lost", f"the Ray cluster is lost: {_short(error)}") from error
    except ray.exceptions.RayError as error:  # its process or machine, more than RETRIES times
        why = f"Ray lost the runs {RETRIES + 1} times: {_short(error)}"
        return [failed(trial, seed, LOST, why) for seed in seeds]
    return runs


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    """Connect to a cluster, unless this process is connected; yield the module of Ray."""
    try:
        import ray
    except ImportError as error:
        text = 'a trial on a cluster needs Ray: pip install "rbdyn_ros[ray]"'
        raise _refused("no-ray-extra", text) from error
    if ray.is_initialized():
        yield ray
        return
    _check_answers(address)
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
        text = f"there is no Ray cluster at {quote(address)}: {_short(error)}"
        raise _refused("no-cluster", text) from error
    try:
        yield ray
    finally:
        ray.shutdown()


def _check_answers(address: object) -> None:
    """Raise ParameterError at once if nothing accepts connections: Ray would try for minutes."""
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
    try:
        socket.create_connection((host, port), PATIENCE).close()
    except OSError as error:
        reason = error.strerror or str(error)
        message = f"nothing accepts connections at {quote(text)}, the address of Ray: {reason}"
        raise _refused("no-cluster", f"{message}; start one with `ray start --head`") from error


def _short(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]


def _refused(code: str, text: str) -> ParameterError:
    return ParameterError(Finding(code, text, "error", "ray"))
