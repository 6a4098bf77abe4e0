# SPDX-License-Identifier: Apache-2.0
"""Run a simulator and nodes of the user until the standard input ends.

python -m rbdyn_ros.gym.simulator_process reads one line of JSON with `parameters` of the
simulator, `nodes` as command lines, and a `folder` for the output of the nodes. It prints "ready",
or the reason why it ends.
"""

import json
import select
import sys
from contextlib import ExitStack
from pathlib import Path

from rbdyn_ros.errors import RbdynError
from rbdyn_ros.ros.simulator.embedded import embedded
from rbdyn_ros.ros.simulator.setup import Setup
from rbdyn_ros.trials.processes.user_process import UserProcess
from rbdyn_ros.trials.trial import UserProgram

POLL = 0.1
#: Memory limit of the data of a node's process [MiB].
MEMORY = 1 << 20


def main() -> None:
    """Run the simulator and the nodes until the standard input is closed."""
    given = json.loads(sys.stdin.readline())
    folder = Path(given["folder"])
    with ExitStack() as stack:
        try:
            nodes = [
                stack.enter_context(UserProcess(_node(words), folder, MEMORY, f"node_{k}"))
                for k, words in enumerate(given["nodes"])
            ]
            simulator = stack.enter_context(embedded(Setup(given["parameters"])))
        except RbdynError as error:
            print(f"the simulator does not start: {error}", flush=True)
            return
        print("ready", flush=True)
        while not select.select([sys.stdin], [], [], POLL)[0]:
            simulator.poll()
            if reason := next(filter(None, (node.ended() for node in nodes)), ""):
                print(reason, flush=True)
                return
        for node in nodes:
            node.end(quiet=True)


def _node(words: list[str]) -> UserProgram:
    return UserProgram(tuple(words), folder=str(Path.cwd()))


if __name__ == "__main__":
    main()
