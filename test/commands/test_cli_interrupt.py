# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C ends a command with status 130 and without a traceback."""

import os
import signal
import subprocess
import sys
import time

import pytest
from support.commands import AS_A_PROCESS, run_process

from rbdyn_ros.commands.line import interrupts
from rbdyn_ros.share import bundled_robot

ARM = str(bundled_robot("seven_dof_arm"))


def ended(words, is_there, env=None):
    """Start a command, interrupt it once `is_there()` is true; return status and stderr."""
    process = subprocess.Popen(
        [*AS_A_PROCESS, *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(env or {})},
    )
    try:
        deadline = time.monotonic() + 60.0
        while not is_there() and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60.0)
    finally:
        process.kill()
    return process.returncode, stderr


def test_ctrl_c_ends_a_command_that_runs_a_file_of_the_user(tmp_path):
    """The command runs an endless file of the user."""
    file, mark = tmp_path / "slow.py", tmp_path / "mark"
    code = f"import time\nopen({str(mark)!r}, 'w').close()\n"
    # the file is endless, so only the signal can end the command
    file.write_text(f"{code}while True:\n    time.sleep(0.1)\n")
    assert ended(["check", ARM, "--import", str(file)], mark.exists) == (130, "")


@pytest.mark.parametrize("module", ["rbdyn_ros.cli", "argparse", "rbdyn_ros.commands.bench"])
def test_ctrl_c_ends_the_imports_of_a_command(module):
    """The process gets the signal while it imports a module."""
    code = (
        "import os, runpy, signal, sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}:\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "sys.argv = ['rbdyn', '--version']\n"
        "runpy.run_module('rbdyn_ros', run_name='__main__')\n"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60.0, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_ctrl_c_ends_a_compilation(tmp_path):
    """An exception that is raised while LLVM calls Python would crash the process."""

    def has_begun():
        return any(tmp_path.rglob("*.nbi"))

    env = {"XDG_CACHE_HOME": str(tmp_path)}
    assert ended(["bench", ARM], has_begun, env) == (130, "")


def test_the_sigint_handler_is_restored_after_kernels_of_the_user(tmp_path):
    """A file of the user prints the handler before, during and after a compilation."""
    file = tmp_path / "hears.py"
    file.write_text(
        "import signal, numba\nfrom numba.core import event\n"
        "def tell(): print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)\n"
        "class Hears(event.Listener):\n"
        "    def on_start(self, event): tell()\n"
        "    def on_end(self, event): pass\n"
        "event.register('numba:compile', hears := Hears())\n"
        "tell()\nnumba.njit(lambda x: x)(1.0)\ntell()\n"
        "event.unregister('numba:compile', hears)\n"
    )
    told = run_process("check", ARM, "--import", file)
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout.splitlines()[:3] == ["True", "False", "True"]


def test_ctrl_c_stays_ignored_in_the_background(tmp_path):
    file = tmp_path / "asks.py"
    file.write_text("import signal\nprint(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)\n")
    command = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *AS_A_PROCESS]
    done = subprocess.run(
        [*command, "check", ARM, "--import", str(file)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout.startswith("True\n")


@pytest.fixture
def compiled(monkeypatch):
    """Return a function of a SIGINT handler: its changes while kernels compile, and after that."""

    def look(handler):
        seen = []
        listener = interrupts.WhileCompiling()
        monkeypatch.setattr(interrupts, "end_at_once", lambda: seen.append("at once"))
        monkeypatch.setattr(interrupts, "end_by_exception", lambda: seen.append("by exception"))
        monkeypatch.setattr(signal, "getsignal", lambda _: handler)
        for change in (listener.on_start, listener.on_start, listener.on_end):
            change(None)
        during = list(seen)
        listener.on_end(None)
        return during, seen[len(during) :]

    return look


def test_only_the_outermost_kernel_changes_the_handler(compiled):
    assert compiled(signal.default_int_handler) == (["at once"], ["by exception"])


def test_a_handler_that_a_node_installed_is_kept(compiled):
    """Nodes install their own handlers while they load."""
    assert compiled(lambda *_: None) == ([], [])
