# SPDX-License-Identifier: Apache-2.0
"""The process of a user's ROS node."""

from __future__ import annotations

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

from rbdyn_ros.errors import Finding, ParameterError, quote
from rbdyn_ros.trials.processes.ending import end_with
from rbdyn_ros.trials.trial import UserNode

#: Time to end after SIGINT [s].
ENDING = 1.0
_MIB = 1 << 20
#: The last line of a traceback.
_ERROR = re.compile(r"[A-Za-z_][\w.]*(Error|Exception|Interrupt|Exit)\b.*")


class NodeProcess:
    """A node of the user in a process of its own, which ends with this one.

    It is of the process group of this process, whose end ends all that the node has started.
    Start it before this process has other threads.

    Args:
        node: see UserNode.
        folder: for its output.
        memory: data of a process at most [MiB].
        name: of the file of its output.
    """

    def __init__(self, node: UserNode, folder: Path, memory: float, name: str = "node") -> None:
        self._log = folder / f"{name}.txt"
        parent, most = os.getpid(), int(memory * _MIB)

        def begin() -> None:
            end_with(parent)
            resource.setrlimit(resource.RLIMIT_DATA, (most, most))

        with self._log.open("wb") as file:
            self._process = subprocess.Popen(  # noqa: S603 - the user's own program
                words_of(node),
                cwd=node.folder,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env=os.environ | {"PATH": _path(), "PYTHONUNBUFFERED": "1"},
                preexec_fn=begin,  # noqa: PLW1509 - there is one thread
            )

    def __enter__(self) -> NodeProcess:  # noqa: PYI034 - typing.Self is of Python 3.11
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def ended(self) -> str:
        """Return how it has ended; "" while it runs."""
        status = self._process.poll()
        if status is None:
            return ""
        if status < 0:
            return f"the node was ended by {signal.Signals(-status).name}"
        lines = self._output().splitlines()
        errors = [line for line in lines if _ERROR.fullmatch(line)]
        why = f": {errors[-1][:200]}" if errors else ""
        return f"the node ended with status {status}{why}"

    def end(self, quiet: bool) -> None:
        """End it as Ctrl-C does, and soon without asking; print its output unless `quiet`."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(ENDING)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if not quiet:
            sys.stderr.write(self._output())
            sys.stderr.flush()

    def _output(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")


def words_of(node: UserNode) -> Sequence[str]:
    """Return the command line of a node, with the path of its program.

    Raises:
        ParameterError: there is no such program.
    """
    name = node.command[0]
    if node.package:
        try:
            from ament_index_python.packages import get_package_prefix

            folder = Path(get_package_prefix(node.package)) / "lib" / node.package
        except (
            ImportError,
            LookupError,
            OSError,
            ValueError,
        ) as error:  # OSError: none is sourced
            text = f"there is no ROS package {quote(node.package)}: source its workspace"
            raise _refused(text) from error
        program = shutil.which(str(folder / name))
        where = f"in {folder}"
    else:
        beside = Path(node.folder) / name if "/" in name else name
        program, where = shutil.which(str(beside), path=_path()), "in PATH"
    if program is None:
        raise _refused(f"there is no program {quote(name)} {where}")
    return program, *node.command[1:]


def _path() -> str:
    """Return PATH with the folder of this Python first, whose ROS 2 is in use."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])


def _refused(text: str) -> ParameterError:
    return ParameterError(Finding("no-program", f"controller: {text}", "error", "node"))
