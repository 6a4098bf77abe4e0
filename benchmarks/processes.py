# SPDX-License-Identifier: Apache-2.0
"""Helpers for benchmarks of the nodes: a node in its own process, and a fast subscriber."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

#: For each node: the code that starts it as a user does, and its log line for each robot.
_NODES = {
    "simulator": (
        "import sys; sys.argv[1:1] = ['sim', '--no-view']; from rbdyn_ros.cli import main; main()",
        "simulating '",
    ),
    "arm_controller": (
        "from rbdyn_ros.ros.arm.node import main; main()",
        "controlling '",
    ),
}


class NodeProcess:
    """A node in its own process, in this process's ROS domain; see running_node.

    Args:
        parameters: ROS parameters as `name:=value`.
        node: simulator or arm_controller.
    """

    def __init__(self, *parameters: str, node: str = "simulator") -> None:
        code, self._started = _NODES[node]
        os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
        # the ports of these domains are above the ephemeral ports; the tests use the domains below
        os.environ["ROS_DOMAIN_ID"] = str(215 + os.getpid() % 18)
        arguments = [word for parameter in parameters for word in ("-p", parameter)]
        given = ["--ros-args", *arguments] if arguments else []
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - as long as the process
        command = [sys.executable, "-c", code, *given]
        self._process = subprocess.Popen(command, stdout=self._log, stderr=self._log)

    def wait(self, robots: int, timeout: float = 180.0) -> None:
        """Wait until the node has started the given number of robots."""
        give_up = time.monotonic() + timeout
        while self.output().count(self._started) < robots:
            if self._process.poll() is not None or time.monotonic() > give_up:
                raise RuntimeError(f"the node did not start:\n{self.output()}")
            time.sleep(0.1)

    def end(self) -> str:
        """Stop the node and return its whole output."""
        if self._process.poll() is None:
            self._process.terminate()
            self._process.wait(30.0)
        return self.output()

    def output(self) -> str:
        """Return the node's output so far."""
        self._log.seek(0)
        return self._log.read()

    def cpu_seconds(self) -> float:
        """Return the CPU time that the node has used [s]."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident_mib(self) -> float:
        """Return the node's resident memory [MiB]."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024


@contextlib.contextmanager
def running_node(
    *parameters: str, robots: int = 1, node: str = "simulator"
) -> Iterator[NodeProcess]:
    """Start a node, wait for its robots, and stop it at the end; parameters as for NodeProcess."""
    process = NodeProcess(*parameters, node=node)
    try:
        process.wait(robots)
        yield process
    finally:
        process.end()


@contextlib.contextmanager
def busy_process() -> Iterator[None]:
    """Run a busy process during the measurement."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


class Listener:
    """Reads the stamps of messages without an executor, fast enough for ten robots.

    Args:
        node: node that subscribes.
        kind: message type, which starts with a header.
        topics: topics, referred to by their index.
    """

    def __init__(self, node: Any, kind: Any, topics: Sequence[str]) -> None:
        self._kind = kind
        self._subscriptions = [node.create_subscription(kind, t, _ignore, 1000) for t in topics]
        self.stamps: list[list[int]] = [[] for _ in topics]  # [ns]
        self.arrivals: list[list[int]] = [[] for _ in topics]  # system clock [ns]

    def listen(self, seconds: float, meanwhile: Callable[[], object] | None = None) -> None:
        """Collect stamps for the given time, calling a function in between."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(0.004)
            for subscription, *lists in zip(
                self._subscriptions, self.stamps, self.arrivals, strict=True
            ):
                self._take(subscription, *lists)
            if meanwhile is not None:
                meanwhile()

    def _take(self, subscription: Any, stamps: list[int], arrivals: list[int]) -> None:
        with subscription.handle:
            while (taken := subscription.handle.take_message(self._kind, True)) is not None:
                message, info = taken
                # CDR: four bytes of encoding, then the stamp of the header
                seconds, nanoseconds = (
                    int.from_bytes(message[k : k + 4], "little") for k in (4, 8)
                )
                stamps.append(seconds * 1_000_000_000 + nanoseconds)
                arrivals.append(info["received_timestamp"])

    def forget(self) -> None:
        """Discard everything collected."""
        for rows in (*self.stamps, *self.arrivals):
            rows.clear()

    def heard(self) -> bool:
        """Return whether every topic has sent a message."""
        return all(self.stamps)


def _ignore(_message: object) -> None:
    """Do nothing: without an executor this callback is never called."""


def wait_for(condition: Callable[[], object], timeout: float, what: str) -> None:
    """Wait until a condition holds; raise RuntimeError after the timeout [s]."""
    give_up = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > give_up:
            raise RuntimeError(f"timeout after {timeout:g} s: {what}")
        time.sleep(0.05)
