# SPDX-License-Identifier: Apache-2.0
"""The process of a live view, which imports its modules while the robots are loaded.

It is a plain Python process, because a process of multiprocessing would run the user's main module
again. It has a session of its own, so Ctrl-C does not reach it. It ends when its pipes close. This
module imports little, because it runs before everything else.
"""

import importlib.util
import subprocess
import sys
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection

from rbdyn_ros.errors import Finding, ParameterError
from rbdyn_ros.machine import wait_or_kill

#: Code of the finding for a missing viser.
MISSING = "no-view-extra"
#: Time in which the process must end [s]; then it is killed.
PATIENCE = 2.0

#: Program of the process. It does not import from its working directory, but from our sys.path.
_CHILD = """
import sys
from multiprocessing.connection import Connection
pipes = [Connection(int(word)) for word in sys.argv[1:]]
sys.path[:] = pipes[0].recv()
from rbdyn_ros.view.live.panel import run
run(*pipes)
"""


@dataclass(frozen=True, slots=True)
class Spawned:
    """A process of a view that waits for its robots; it runs panel.run.

    Attributes:
        process: the running process.
        prompt, queued: the ends of its pipes in this process, see link.py.
    """

    process: subprocess.Popen[bytes]
    prompt: Connection
    queued: Connection

    def end(self) -> None:
        """End the process if it still runs."""
        self.process.terminate()
        wait_or_kill(self.process, PATIENCE)


def spawn() -> Spawned:
    """Start the process of a view.

    Do not call it from a thread of high priority, because the process inherits the priority.

    Raises:
        ParameterError: viser is not installed.
    """
    if importlib.util.find_spec("viser") is None:
        text = 'the view needs viser, which is not installed: pip install "rbdyn_ros[view]"'
        raise ParameterError(Finding(MISSING, text, allowed="viser"))
    (prompt, theirs), (queued, theirs_too) = Pipe(), Pipe()
    ends = [theirs.fileno(), theirs_too.fileno()]
    process = subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-I", "-c", _CHILD, *map(str, ends)],
        pass_fds=ends,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    theirs.close()
    theirs_too.close()
    prompt.send(list(sys.path))
    return Spawned(process, prompt, queued)
