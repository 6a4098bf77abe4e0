# SPDX-License-Identifier: Apache-2.0
"""Fuzz all targets, two at a time: `make fuzz`, `make fuzz SECONDS=600 SEED=1 ARGS="urdf data"`.

Each target runs in its own process with bounded time and memory, so a crash is a failure and does
not end the run. The driver forks these processes, because imports take longer than many inputs.
With the same SEED a longer run begins with the inputs of a shorter run. SECONDS is CPU time, so a
busy machine runs the same number of inputs. The first run also compiles the kernels of the targets
"bounds" and "laws" with checks of indices, which takes minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import traceback
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fuzz import COMPILED

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
KEPT = REPOSITORY / ".fuzz"
NAMES = (
    *(
        "bounds",
        "laws",
        "urdf",
        "mjcf",
        "srdf",
        "appearance",
        "xacro",
        "sdf",
        "mechanism",
        "scene",
        "stl",
        "obj",
        "dae",
        "image",
        "materials",
        "table",
    ),
    *("model", "recording", "sensors", "actuators", "trial", "state", "parameters", "box", "data"),
    *("ur_box", "ur_reverse", "policy"),
)
TOGETHER = 2
#: A process may take SLOWEST times its CPU time plus GRACE [s]; after this time it is killed.
SLOWEST, GRACE = 50.0, 900.0


def main() -> int:
    """Run the targets of the command line; return 0 without failures, else 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="time for all targets on two idle cores [s]"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(NAMES)}; all")
    options = parser.parse_args()
    names = options.targets or NAMES
    if unknown := set(names) - set(NAMES):
        parser.error(f"there is no target {', '.join(unknown)}; targets are {', '.join(NAMES)}")
    share = options.seconds * TOGETHER / len(names)
    inputs = failures = 0
    os.environ |= _kernels("urdf")  # Numba reads these at its import
    for name, (count, found) in _results(names, share, options.seed):
        inputs, failures = inputs + count, failures + len(found)
        print(f"{name:12} {count:8} inputs, {len(found)} failures", flush=True)
        for failure in found:
            print(f"  input {failure['input']}\n{failure['error']}", flush=True)
    print(f"{inputs} inputs, {failures} failures")
    return 1 if failures else 0


def _results(
    names: Sequence[str], seconds: float, seed: int
) -> Iterator[tuple[str, tuple[int, list[dict[str, Any]]]]]:
    """Run the targets; yield the name, the number of inputs and the failures of each."""
    started: deque[tuple[str, int]] = deque()
    for name in names:
        if len(started) == TOGETHER:
            ended, process = started.popleft()
            yield ended, _result(ended, process)
        started.append((name, _start(name, seconds, seed)))
    for name, process in started:
        yield name, _result(name, process)


def _start(name: str, seconds: float, seed: int) -> int:
    """Start the process of a target, whose folder gets the output; return the process's id."""
    from fuzz import worker

    folder = KEPT / name
    folder.mkdir(parents=True, exist_ok=True)
    if process := os.fork():
        return process
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, SLOWEST * seconds + GRACE)
        with (folder / "output").open("wb") as output:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
        arguments = name, str(seconds), str(seed), str(folder)
        if name in COMPILED:  # this process has other kernels
            os.execve(sys.executable, _command(*arguments), _environment(name))
        sys.stdout = os.fdopen(1, "w")  # pytest may have replaced sys.stdout
        worker.main(*arguments)
        sys.stdout.flush()
        os._exit(0)
    except BaseException:  # noqa: BLE001 - the child must not continue as the driver
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(1)


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "fuzz.worker", *arguments]


def _environment(name: str) -> dict[str, str]:
    path = os.pathsep.join([str(REPOSITORY), str(HERE.parent)])
    usual = {key: value for key, value in os.environ.items() if key not in _kernels("urdf")}
    return {**usual, "PYTHONPATH": path} | _kernels(name)


def _result(name: str, process: int) -> tuple[int, list[dict[str, Any]]]:
    """Wait for the process of a target; return its number of inputs and its failures."""
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    folder = KEPT / name
    output = (folder / "output").read_text(encoding="utf-8", errors="replace")
    if status == 0:
        result = json.loads(output.splitlines()[-1])
        return result["count"], result["failures"]
    error = f"exit status {status}\n{output[-4000:]}"
    if status == -signal.SIGALRM:
        error = "no answer"
    current = folder / "current"
    kept = current.replace(folder / "crash") if current.exists() else "none"
    return 0, [{"input": str(kept), "error": error}]


def _kernels(name: str) -> dict[str, str]:
    """Return environment variables for the kernels of a target: compiled or plain Python."""
    if name in COMPILED:
        return {"NUMBA_BOUNDSCHECK": "1", "XDG_CACHE_HOME": str(KEPT / "cache")}
    return {"NUMBA_DISABLE_JIT": "1"}


if __name__ == "__main__":
    sys.exit(main())
