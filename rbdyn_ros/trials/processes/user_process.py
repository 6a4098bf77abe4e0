# SPDX-License-Identifier: Apache-2.0
"""The process of a user's program."""

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from rbdyn_ros.errors import Finding, ParameterError, quote, refusal
from rbdyn_ros.machine import wait_or_kill
from rbdyn_ros.trials.processes.ending import end_with, signal_name
from rbdyn_ros.trials.trial import UserProgram

#: Time that a program may take to end after SIGINT [s].
ENDING = 1.0
_MIB = 1 << 20
#: Size of the end of the output that is kept and printed [bytes].
OUTPUT = _MIB
#: Pattern of the last line of a traceback.
_ERROR = re.compile(r"[A-Za-z_][\w.]*(Error|Exception|Interrupt|Exit)\b.*")


class UserProcess:
    """The user's program in another process, which ends when this process ends.

    The program is in the process group of this process, so ending the group also ends all children
    of the program. Start the program before this process has other threads.

    Args:
        program: the command to run, and its folder.
        folder: folder for the output of the program.
        memory: largest data segment of each process [MiB].
        name: name of the file for the output.
    """

    def __init__(
        self, program: UserProgram, folder: Path, memory: float, name: str = "program"
    ) -> None:
        self._log, self._noun = folder / f"{name}.txt", program.noun
        parent, most = os.getpid(), int(memory * _MIB)

        def begin() -> None:
            end_with(parent)
            resource.setrlimit(resource.RLIMIT_DATA, (most, most))

        with self._log.open("ab") as file:
            self._process = subprocess.Popen(  # noqa: S603 - the user's own program
                words_of(program),
                cwd=program.folder,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env=os.environ | {"PATH": _path(), "PYTHONUNBUFFERED": "1"},
                preexec_fn=begin,  # noqa: PLW1509 - there is one thread
            )

    def __enter__(self) -> "UserProcess":  # noqa: PYI034 - typing.Self is of Python 3.11
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        wait_or_kill(self._process, 0.0)

    @property
    def status(self) -> int | None:
        """The exit status of the process, or None while it runs."""
        return self._process.poll()

    def ended(self) -> str:
        """Return a sentence about how the process ended; "" while the process runs.

        After a failure it quotes an error in the output, or the last line.
        """
        if self.status is None:
            return ""
        lines = [line.strip() for line in self._output().splitlines() if line.strip()]
        errors = [line for line in lines if _ERROR.fullmatch(line)]
        why = f": {(errors or lines)[-1][:200]}" if lines else ""
        if self.status < 0:
            return f"the {self._noun} was ended by {signal_name(-self.status)}{why}"
        return f"the {self._noun} ended with status {self.status}{why}"

    def end(self, quiet: bool) -> None:
        """End the process with SIGINT, then with SIGKILL; print its output unless `quiet`."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            wait_or_kill(self._process, ENDING)
        if not quiet:
            sys.stderr.write(self._output())
            sys.stderr.flush()

    def trim(self) -> None:
        """Drop the beginning of the output if it is too long; call this regularly."""
        if self._log.stat().st_size > 4 * OUTPUT:
            kept = self._tail()
            # append, because the program also appends to the file
            with self._log.open("ab") as file:
                file.truncate(0)
                file.write(kept)

    def _tail(self) -> bytes:
        with self._log.open("rb") as file:
            file.seek(max(0, self._log.stat().st_size - OUTPUT))
            return file.read(OUTPUT)

    def _output(self) -> str:
        return self._tail().decode("utf-8", errors="replace")


def check_program(program: UserProgram) -> None:
    """Check that a program exists and its files are as when the trial was read.

    Raises:
        ParameterError: the program does not exist.
        RbdynError: the program's files have changed since the trial was read, or differ on this
            machine.
    """
    if reason := program.why_not_here:
        raise refusal(reason, "changed-file")
    words_of(program)


def words_of(program: UserProgram) -> Sequence[str]:
    """Return the command line of a program, with the path of its file.

    Raises:
        ParameterError: the program does not exist.
    """
    name = program.command[0]
    if program.package:
        try:
            from ament_index_python.packages import get_package_prefix

            folder = Path(get_package_prefix(program.package)) / "lib" / program.package
        except (
            ImportError,
            LookupError,
            OSError,
            ValueError,
        ) as error:  # an OSError means that no workspace is sourced
            text = f"there is no ROS package {quote(program.package)}: source its workspace"
            raise _refused(text) from error
        file, where = shutil.which(str(folder / name)), f"in {folder}"
    else:
        beside = Path(program.folder) / name if "/" in name else name
        file, where = shutil.which(str(beside), path=_path()), "in PATH"
    if file is None:
        raise _refused(f"there is no program {quote(name)} {where}")
    return file, *program.command[1:]


def _path() -> str:
    """Return PATH with the folder of this Python first, so that the program uses this Python."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])


def _refused(text: str) -> ParameterError:
    return ParameterError(Finding("no-program", f"controller: {text}", "error", "node"))
