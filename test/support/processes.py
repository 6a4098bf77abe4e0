# SPDX-License-Identifier: Apache-2.0
"""Start Python processes: fresh ones, or forks of one with the nodes imported.

A fork is ready after 0.2 s of CPU time, a fresh node after 1.7 s. It has its own arguments,
environment, folder and output, signals reach it and it ends as any process does. Tests of the
start itself, of its imports and of repetition have the marker fresh_start.
"""

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
#: Time for the imports, and for compiling in the first process, or waiting for it.
PATIENCE = 1200.0


def lasting(environment):
    """Return the part of an environment that is read during the imports."""
    later = {"ROS_DOMAIN_ID", "ROS_LOG_DIR", "ROS_AUTOMATIC_DISCOVERY_RANGE"}
    later |= {"PYTHONUNBUFFERED", "PYTEST_CURRENT_TEST"}
    return {name: value for name, value in environment.items() if name not in later}


#: The environment of the tests, before a test changes it.
USUAL = lasting(os.environ)
_zygotes = []


def collected():
    """Use the environment that the imports of all test modules have left.

    Some libraries set variables for themselves, after which every node would be a fresh process.
    """
    USUAL.clear()
    USUAL.update(lasting(os.environ))


def start(code, arguments, environment, output, fresh=False):
    """Start `python -c CODE ARGUMENTS`; return the process.

    Args:
        code, arguments: texts.
        environment: of the process; if its imports would see a difference, it is fresh.
        output: open file that gets its output and errors.
        fresh: do not fork, see above.
    """
    arguments = list(map(str, arguments))
    if fresh or lasting(environment) != USUAL:
        words = [sys.executable, "-c", code, *arguments]
        return subprocess.Popen(words, env=environment, stdout=output, stderr=output)
    if not _zygotes:
        _zygotes.append(Zygote())
    return _zygotes[0].start(code, arguments, environment, output)


class Forked:
    """A child process with the part of the interface of subprocess.Popen that tests need."""

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
    """The process that forks."""

    def __init__(self):
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(PATIENCE)
        script = Path(__file__).with_name("zygote.py")
        with theirs:
            words = [sys.executable, script, str(theirs.fileno())]
            env = dict(USUAL, PYTHONUNBUFFERED="1")
            self._process = subprocess.Popen(words, env=env, pass_fds=[theirs.fileno()])

    def start(self, code, arguments, environment, output):
        request = {"code": code, "arguments": arguments, "environment": environment}
        data = json.dumps(request | {"folder": str(Path.cwd())}).encode()
        files = [output.fileno()] * 2
        with adopting():
            socket.send_fds(self._socket, [data], files)
            said = self._socket.recv(20)
        assert said, "the process that forks has ended"
        return Forked(int(said))


@contextmanager
def adopting():
    """A block in which this process becomes the parent of orphans among its descendants."""
    prctl = ctypes.CDLL(None).prctl
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    try:
        yield
    finally:
        prctl(PR_SET_CHILD_SUBREAPER, 0)
