# SPDX-License-Identifier: Apache-2.0
"""Run the command `rbdyn` in this process, whose engine is compiled, or in a new process."""

import contextlib
import io
import subprocess
import sys

from rbdyn_ros.cli import main
from rbdyn_ros.dynamics.compiling import TEXT as COMPILING
from support.refusals import worded

AS_A_PROCESS = (sys.executable, "-m", "rbdyn_ros")


class Screen(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self):
        return True


def run(*words, screen=False):
    """Run a command in this process, and record its refusal; return its status and output."""
    out, err = io.StringIO(), Screen() if screen else io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(list(map(str, words)))
        except SystemExit as end:
            status = end.code
            if isinstance(status, str):  # sys.exit treats a text in the same way
                err.write(f"{status}\n")
                status = 1
    if status in (1, 2) and err.getvalue():
        worded("rbdyn", err.getvalue().removesuffix("\n"))
    return subprocess.CompletedProcess(words, status, out.getvalue(), err.getvalue())


def run_process(*words):
    """Run a command in a new process, as a user does; return the completed process."""
    command = [*AS_A_PROCESS, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    # a process with an empty cache prints this line
    done.stderr = done.stderr.replace(f"{COMPILING}\n", "")
    return done
