# SPDX-License-Identifier: Apache-2.0
"""Fuzz all targets, two at a time: `make fuzz`, `make fuzz SECONDS=600 SEED=1 ARGS="urdf data"`.

Each target runs in a process of its own with bounded time and memory, so a crash is a finding and
not the end. With the same SEED a longer run begins with the inputs of a shorter one. CPU time is
counted, so that a busy machine runs as many inputs. The first run also compiles the kernels of the
targets "bounds" and "laws" with checks of indices, for minutes; --unchecked leaves these out.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
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
#: A process that takes this many times its CPU time, and GRACE seconds more, hangs.
SLOWEST, GRACE = 50.0, 900.0


def main() -> int:
    """Return 0 if every input was read or refused."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="time for all targets on two idle cores [s]"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--unchecked", action="store_true", help="without 'bounds'; 'laws' takes the usual kernels"
    )
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(NAMES)}")
    options = parser.parse_args()
    unchecked = options.unchecked
    names = options.targets or [name for name in NAMES if not (unchecked and name == "bounds")]
    if unknown := set(names) - set(NAMES):
        parser.error(f"there is no target {', '.join(unknown)}; targets are {', '.join(NAMES)}")
    share = options.seconds * TOGETHER / len(names)
    inputs = failures = 0
    with ThreadPoolExecutor(TOGETHER) as pool:
        results = pool.map(lambda name: _run(name, share, options.seed, unchecked), names)
        for name, (count, found) in zip(names, results, strict=True):
            inputs, failures = inputs + count, failures + len(found)
            print(f"{name:12} {count:8} inputs, {len(found)} failures", flush=True)
            for failure in found:
                print(f"  input {failure['input']}\n{failure['error']}", flush=True)
    print(f"{inputs} inputs, {failures} failures")
    return 1 if failures else 0


def _run(
    name: str, seconds: float, seed: int, unchecked: bool = False
) -> tuple[int, list[dict[str, Any]]]:
    """Return the number of inputs of a target, and its failures."""
    folder, longest = KEPT / name, SLOWEST * seconds + GRACE
    folder.mkdir(parents=True, exist_ok=True)
    path = os.pathsep.join([str(REPOSITORY), str(HERE.parent)])
    command = [sys.executable, "-m", "fuzz.worker", name, str(seconds), str(seed), str(folder)]
    environment = {**os.environ, "PYTHONPATH": path} | _kernels(name, unchecked)
    try:
        ended = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=longest, check=False
        )
        if ended.returncode == 0:
            result = json.loads(ended.stdout.splitlines()[-1])
            return result["count"], result["failures"]
        error = f"exit status {ended.returncode}\n{ended.stderr[-4000:]}"
    except subprocess.TimeoutExpired:
        error = f"no answer within {longest:g} s"
    current = folder / "current"
    kept = current.replace(folder / "crash") if current.exists() else "none"
    return 0, [{"input": str(kept), "error": error}]


def _kernels(name: str, unchecked: bool = False) -> dict[str, str]:
    """Return the environment that says how a target's kernels run; compiled code is kept."""
    if name in COMPILED:
        if unchecked:
            return {}
        return {"NUMBA_BOUNDSCHECK": "1", "XDG_CACHE_HOME": str(KEPT / "cache")}
    return {"NUMBA_DISABLE_JIT": "1"}


if __name__ == "__main__":
    sys.exit(main())
