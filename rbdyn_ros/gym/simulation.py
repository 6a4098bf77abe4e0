# SPDX-License-Identifier: Apache-2.0
"""The processes of an environment, which are the simulator and nodes of the user, and a client."""

import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rbdyn_ros.checks.names import strings
from rbdyn_ros.errors import refusal
from rbdyn_ros.machine import wait_or_kill
from rbdyn_ros.ros.common.graph.domains import Domain
from rbdyn_ros.ros.lockstep_client import LockstepClient

#: Longest wait for the start of the simulator [s]; the first start of a version compiles.
STARTING = 300.0
#: Longest wait for the end of the simulator [s].
ENDING = 10.0


class NodeSimulation:
    """A simulator in lock-step and its client, in a ROS domain of their own.

    Args:
        parameters: parameters of the simulator, by name.
        nodes: command lines of nodes to run besides the simulator, in the present folder.
        patience: longest wait for a state, in wall time [s].

    Attributes:
        client: client of the simulator; None after `close`.

    Raises:
        RbdynError: the simulator does not start.
    """

    def __init__(
        self, parameters: Mapping[str, Any], nodes: Sequence[Sequence[str]], patience: float
    ) -> None:
        commands = [strings("a command line of nodes", each) for each in nodes]
        self.client: LockstepClient | None = None
        self._domain, self._folder = Domain(), tempfile.TemporaryDirectory(prefix="rbdyn_env_")
        self._log = Path(self._folder.name) / "simulator.txt"
        self._patience = patience
        with self._log.open("wb") as file:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "rbdyn_ros.gym.simulator_process"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file, text=True,
                env=os.environ | self.environment | {"ROS_LOG_DIR": self._folder.name},
            )  # fmt: skip
        words: dict[str, Any] = {"parameters": dict(parameters), "folder": self._folder.name}
        words["nodes"] = commands
        try:
            self._start(json.dumps(words))
        except BaseException:
            self.close()
            raise

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables that put a process into the ROS domain."""
        return self._domain.environment

    def ask(self) -> LockstepClient:
        """Return the client for a request; from now on the simulator has `patience` to answer."""
        if self.client is None:
            raise refusal("the environment is closed")
        self._asked = time.monotonic()
        return self.client

    def close(self) -> None:
        """Close the client, end the processes, and delete the folder of their output."""
        if self.client is not None:
            self.client.close()
            self.client = None
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()  # type: ignore[union-attr]
        wait_or_kill(self._process, ENDING)
        self._domain.close()
        self._folder.cleanup()

    def _start(self, words: str) -> None:
        """Send a line of settings to the process and connect to it; RbdynError if this fails."""
        assert self._process.stdin is not None
        self._process.stdin.write(words + "\n")
        self._process.stdin.flush()
        said = self._said(STARTING)
        if said != "ready":
            raise refusal(said or f"the simulator did not start within {STARTING:g} s")
        self._asked = time.monotonic()
        self.client = LockstepClient(self.environment, self._check)
        self.client.connect()

    def _said(self, timeout: float) -> str:
        """Return the next line that the simulator's process prints; after the timeout [s]: ""."""
        assert self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], timeout)[0]:
            return ""
        line = self._process.stdout.readline().strip()
        return line or f"the process of the simulator has ended: {self._end_of_log()}"

    def _check(self) -> None:
        """Raise RbdynError if a process has ended, or no answer has come within `patience`."""
        if said := self._said(0.0):
            raise refusal(said)
        if time.monotonic() > self._asked + self._patience:
            text = f"no state came within {self._patience:g} s; the simulator has logged: "
            raise refusal(text + self._end_of_log())

    def _end_of_log(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")[-500:].strip()
