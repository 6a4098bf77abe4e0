# SPDX-License-Identifier: Apache-2.0
"""Start fresh Python processes, or fork a process that has imported the nodes.

A fork is ready after 0.2 s of CPU time, a fresh node after 1.7 s. A fork has its own
arguments, environment, folder and output, receives signals and ends as any process does. Tests of
the start itself, of its imports and of repetition have the marker fresh_start.
"""

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
#: Time limit of the imports [s]: the first process compiles, and others wait for it.
PATIENCE = 1200.0


def lasting(environment):
    """Return the variables of an environment that imports read."""
    later = {"ROS_DOMAIN_ID", "ROS_LOG_DIR", "ROS_AUTOMATIC_DISCOVERY_RANGE", "PATH"}
    later |= {"PYTHONUNBUFFERED", "PYTEST_CURRENT_TEST", "MAKEFLAGS", "ARGS"}
    return {name: value for name, value in environment.items() if name not in later}


#: Environment variables that imports read, before a test changes any of them.
USUAL = lasting(os.environ)
_zygotes = []
_lock = threading.Lock()


def collected():
    """Store the present environment as the usual environment, after imports of all test modules.

    Some libraries set variables at their import. Without this call every node would then be a
    fresh process.
    """
    USUAL.clear()
    USUAL.update(lasting(os.environ))


def start(code, arguments, environment, output, fresh=False, folder=None):
    """Start `python -c CODE ARGUMENTS`; return the process.

    Args:
        code, arguments: Python code and the arguments of the code.
        environment: environment of the process; if imports read other variables, the process is
            fresh.
        output: open file for output and errors.
        fresh: whether to start a fresh process instead of a fork.
        folder: folder of the new process; by default the folder of this process.
    """
    arguments = list(map(str, arguments))
    if fresh or lasting(environment) != USUAL:
        words = [sys.executable, "-c", code, *arguments]
        return subprocess.Popen(words, env=environment, stdout=output, stderr=output, cwd=folder)
    request = {"code": code, "arguments": arguments, "environment": environment}
    with _lock:
        if not _zygotes:
            _zygotes.append(Zygote())
        return _zygotes[0].start(request | {"folder": str(folder or Path.cwd())}, output)


class Forked:
    """A forked child process, with those methods of subprocess.Popen that tests need."""

    def __init__(self, pid):
        self.pid, self.returncode = pid, None

    def poll(self):
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout=None):
        end = time.monotonic() + (float("inf") if timeout is None else timeout)
        while self.poll() is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout)
            time.sleep(0.01)
        return self.returncode

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self):
        self.send_signal(signal.SIGKILL)


class Zygote:
    """The process that has imported the nodes, and forks for each request."""

    def __init__(self):
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(PATIENCE)
        script = Path(__file__).with_name("zygote.py")
        with theirs:
            words = [sys.executable, script, str(theirs.fileno())]
            env = dict(USUAL, PYTHONUNBUFFERED="1")
            self._process = subprocess.Popen(words, env=env, pass_fds=[theirs.fileno()])

    def start(self, request, output):
        with adopting():
            socket.send_fds(self._socket, [json.dumps(request).encode()], [output.fileno()] * 2)
            said = self._socket.recv(20)
        assert said, "the process that forks nodes has ended"
        return Forked(int(said))


@contextmanager
def adopting():
    """In a `with` block, make this process the parent of descendants whose parent has ended."""
    prctl = ctypes.CDLL(None).prctl
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    try:
        yield
    finally:
        prctl(PR_SET_CHILD_SUBREAPER, 0)
