# SPDX-License-Identifier: Apache-2.0
"""Compilation time of code made for one robot, and loading time in the next process.

Each measurement is a process of its own. The first process starts with the engine's own code in
the cache, as any process leaves it, and no code for a robot.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import rbdyn_ros as rb
from benchmarks.six_robots import Robot
from rbdyn_ros.engine.compiler import jit

#: Functions of each robot, in the order of measurement.
TRACED = ("step", "forward_dynamics", "inverse", "mass_matrix")

#: Prints the seconds of rb.specialize and the total size of machine code on disk, by function. The
#: first function includes the imports.
_CHILD = """
import json, sys, time
from pathlib import Path
import rbdyn_ros as rb
cache, path, floats, *names = sys.argv[1:]
m = rb.load_urdf(path, floating_base=floats == "True", strict=False)
found = {}
for name in names:
    begin = time.perf_counter()
    rb.specialize(m, [name])
    taken = time.perf_counter() - begin
    found[name] = taken, sum(file.stat().st_size for file in Path(cache).rglob("*.o"))
print(json.dumps(found))
"""

HEAD = (
    "| | operations | of floating point | multiply-adds | sin, cos | code, kB | compile, s "
    f"| from disk, s |\n{'|---' * 8}|"
)


def code_rows(robot: Robot) -> list[str]:
    """Return a table row for each function of a robot."""
    s = rb.specialize(robot.load(), functions=())
    cold, warm = compile_seconds(robot)
    rows, before = [], 0
    for name in TRACED:
        program = s.program(name)
        kinds = program.counts()
        fused = sum(kinds.get(kind, 0) for kind in ("fma", "fms", "fnma"))
        turned = f"{kinds.get('sin', 0)}, {kinds.get('cos', 0)}"
        seconds, size = cold[name]
        rows.append(
            f"| {robot.name}: {name} | {len(program.operations)} | {program.flops()} | {fused} "
            f"| {turned} | {(size - before) / 1e3:.0f} | {seconds:.2f} | {warm[name][0]:.3f} |"
        )
        before = size
    return rows


def compile_seconds(
    robot: Robot,
) -> tuple[dict[str, tuple[float, int]], dict[str, tuple[float, int]]]:
    """Return seconds and bytes by function, with an empty and with a full cache."""
    with tempfile.TemporaryDirectory() as cache:
        theirs = Path(jit.CACHE_DIRECTORY)
        ours = Path(cache, theirs.parent.name, theirs.name)
        shutil.copytree(theirs, ours, ignore=shutil.ignore_patterns("*.o"))
        environment = {**os.environ, "XDG_CACHE_HOME": cache}
        return _seconds(robot, environment), _seconds(robot, environment)


def _seconds(robot: Robot, environment: dict[str, str]) -> dict[str, tuple[float, int]]:
    given = [environment["XDG_CACHE_HOME"], str(robot.path), str(robot.floats), *TRACED]
    command = [sys.executable, "-c", _CHILD, *given]
    found = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return {name: (taken, size) for name, (taken, size) in json.loads(found.stdout).items()}
