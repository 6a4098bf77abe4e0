# SPDX-License-Identifier: Apache-2.0
"""Run the commands of a page as a reader runs them, each server in its own terminal."""

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from support import processes
from support.documents import ROOT, commands

#: Commands that run until Ctrl-C, which `rbdyn replay` with --film does not.
SERVES = re.compile(
    r"^(?:make sim\b|(?:\.venv/bin/)?(?:rbdyn (?:sim|view|replay(?!.*--film))\b|arm_controller\b"
    r"|python examples/gravity_node\.py))"
)
#: Pattern of the text that these commands print when they are ready.
READY = re.compile(r"simulating '|controlling '|fastest joint|http://")
#: Pattern of the text that a simulator prints when it is ready, after opening its page.
SIMULATES = re.compile(r"simulating '")
#: Texts by which a controller refuses to arm while states are late, as on a busy machine.
LATE = re.compile(r"the clock of the states|the newest state is|states come at")
#: Time limit of a command [s], whose first start can compile the engine.
PATIENCE = 600.0
#: Commands that run as forks (support/processes.py) if the line needs no shell.
FORKS = {
    "rbdyn": "from rbdyn_ros.cli import main; main()",
    "arm_controller": "from rbdyn_ros.__main__ import arm_controller; arm_controller()",
}
FOR_A_SHELL = re.compile(r"[|&;<>$`*?~(){}\n]")


def start(line, folder, env, output):
    """Start a command in a session of its own, as a terminal does; return the process."""
    words = shlex.split(line, comments=True)
    code = FORKS.get(words[0].removeprefix(".venv/bin/"))
    if code is None or FOR_A_SHELL.search(line):
        shell = ["bash", "-ec", line]
        more = {"stdout": output, "stderr": output, "start_new_session": True}
        return subprocess.Popen(shell, cwd=folder, env=env, **more)
    code = f"import os, sys; os.setsid(); del sys.path[0]; {code}"
    return processes.start(code, words[1:], env, output, folder=folder)


class Terminal:
    """A command that runs until Ctrl-C, with its collected output."""

    def __init__(self, command, folder, env):
        self.command, self.said = command, ""
        said, output = map(os.fdopen, os.pipe(), "rw")
        with output:
            self.process = start(command, folder, env, output)
        self._output = said
        self._listener = threading.Thread(target=self._listen)
        self._listener.start()

    def _listen(self):
        for line in self._output:
            self.said += line

    def wait_for(self, condition):
        end = time.monotonic() + PATIENCE
        while not condition(self.said) and self.process.poll() is None:
            assert time.monotonic() < end, f"'{self.command}' does not print it:\n{self.said}"
            time.sleep(0.05)
        assert condition(self.said), f"'{self.command}' does not print it:\n{self.said}"

    def end(self):
        """Send Ctrl-C to the process group, as a terminal does; check that all ends cleanly."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGINT)
        status = self.process.wait(60.0)
        self._listener.join(10.0)
        assert status in {0, 130}, f"'{self.command}' ended with {status}:\n{self.said}"
        assert "Traceback" not in self.said, self.said

    def kill(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self._listener.join(10.0)
        self._output.close()


def is_ready(command):
    """Return a function that searches output for the text that a ready command prints."""
    return (SIMULATES if "rbdyn sim" in command else READY).search


class Session:
    """Run the blocks of a page in a folder that looks like the root of the repository."""

    def __init__(self, folder, domain):
        for path in ROOT.iterdir():
            (folder / path.name).symlink_to(path)
        environment = folder / ".venv"
        environment.unlink(missing_ok=True)
        environment.symlink_to(sys.prefix)
        self.folder = folder
        self.env = dict(os.environ, ROS_DOMAIN_ID=str(domain), ROS_LOG_DIR=str(folder))
        for name in ("MAKEFLAGS", "ARGS"):  # `make test` sets these for itself
            self.env.pop(name, None)
        self.env |= {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST", "PYTHONUNBUFFERED": "1"}
        self.env |= {"PATH": f"{Path(sys.prefix) / 'bin'}{os.pathsep}{os.environ['PATH']}"}
        self.terminals = []

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            if kind is None:
                self.end_servers()
        finally:
            for terminal in self.terminals:
                terminal.kill()

    def end_servers(self):
        while self.terminals:
            terminal = self.terminals[-1]
            terminal.end()
            terminal.kill()
            self.terminals.pop()

    def save(self, block):
        """Write the file that a reader is asked to save."""
        (self.folder / block.source).write_text(block.text + "\n")

    def run(self, block, promises=()):
        """Run a block, and compare its output with the lines that the page promises."""
        lines = commands(block.text)
        if any(SERVES.match(line) for line in lines):
            self.end_servers()
        said, started = "", []
        for line in lines:
            if SERVES.match(line):
                started.append(Terminal(self._without_setup(line), self.folder, self.env))
                self.terminals.append(started[-1])
            else:
                for terminal in started:
                    terminal.wait_for(is_ready(terminal.command))
                said += self._run(line, block.where)
        for terminal in started:
            terminal.wait_for(is_ready(terminal.command))
        for promise in promises:
            self._see(promise, said, started, block.where)

    def _without_setup(self, line):
        """Return the line; for make, return the command that make runs if .venv is up to date."""
        words = shlex.split(line, comments=True)
        if words[0] != "make":
            return line
        listing = ["make", "--no-print-directory", "-n", *words[1:]]
        done = subprocess.run(
            listing, cwd=self.folder, env=self.env, capture_output=True, text=True, check=True
        )
        return done.stdout.splitlines()[-1]

    def _run(self, line, where):
        """Run a command; repeat it, as a reader would, if the arm's states are late."""
        end = time.monotonic() + PATIENCE
        done = self._call(line)
        while done.returncode != 0 and LATE.search(done.stdout) and time.monotonic() < end:
            done = self._call(line)
        assert done.returncode == 0, f"{where}: {line}\n{done.stdout}"
        return done.stdout

    def _call(self, line):
        with tempfile.TemporaryFile("w+") as output:
            process = start(line, self.folder, self.env, output)
            try:
                status = process.wait(PATIENCE)
            finally:
                process.kill()
            output.seek(0)
            return subprocess.CompletedProcess(line, status, output.read())

    @staticmethod
    def _see(promise, said, started, where):
        pattern = alike(promise)
        if not started:
            assert pattern.search(said), f"{where}: '{promise}' is not in\n{said}"
            return
        end = time.monotonic() + PATIENCE
        while not any(pattern.search(terminal.said) for terminal in started):
            everything = "\n".join(terminal.said for terminal in started)
            assert time.monotonic() < end, f"{where}: '{promise}' is not in\n{everything}"
            time.sleep(0.05)


def alike(promise):
    """Return a pattern of a line in which numbers, spaces and the text of `...` may differ."""
    parts = re.split(r"(-?\d+(?:\.\d+)?(?:e[-+]?\d+)?|\.\.\.|\s+)", promise.strip())
    kinds = {True: r"\s+", False: r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?"}
    text = "".join(
        re.escape(part) if k % 2 == 0 else r".*" if part == "..." else kinds[part.isspace()]
        for k, part in enumerate(parts)
    )
    return re.compile(text)


def free_domain(count):
    """Return an unused ROS domain and the socket that reserves the domain until it is closed."""
    for k in range(90):
        number = 10 + (os.getpid() + 41 + count + k) % 90
        held = socket.socket()
        try:
            held.bind(("127.0.0.1", 7300 + number))  # support/domains.py reserves the same ports
        except OSError:
            held.close()
            continue
        return number, held
    raise AssertionError("all ROS domains from 10 to 99 are in use")
