"""The command `rbdyn`: in this process, where the engine is warm, and in one of its own."""

import contextlib
import io
import subprocess
import sys

from rbdyn_ros.cli import main

AS_A_PROCESS = (sys.executable, "-m", "rbdyn_ros")


class Screen(io.StringIO):
    """Takes text as a terminal does."""

    def isatty(self):
        return True


def run(*words, screen=False):
    """Run a command here; return its status and what it printed."""
    out, err = io.StringIO(), Screen() if screen else io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(list(map(str, words)))
        except SystemExit as end:
            status = end.code
            if isinstance(status, str):  # as sys.exit does
                err.write(f"{status}\n")
                status = 1
    return subprocess.CompletedProcess(words, status, out.getvalue(), err.getvalue())


def run_process(*words):
    """Run a command as a user does."""
    command = [*AS_A_PROCESS, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
