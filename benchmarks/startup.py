# SPDX-License-Identifier: Apache-2.0
"""Time of the imports, and from process start to the first step with an empty and a full cache."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time

from benchmarks.robots import path_of

FIRST_STEP = """
import sys, rbdyn_ros as rb
m = rb.load_urdf(sys.argv[1])
rb.step(m, rb.make_data(m))
"""
EVERYTHING = (
    FIRST_STEP
    + """
d = rb.make_data(m)
rb.forward(m, d); rb.forward_dynamics(m, d); rb.inverse(m, d); rb.mass_matrix(m, d)
"""
)


def main() -> None:
    urdf = str(path_of("UR5"))
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "XDG_CACHE_HOME": cache}
        cold = _seconds(environment, EVERYTHING, urdf)
        warm = [_seconds(environment, FIRST_STEP, urdf) for _ in range(5)]
        numba = [_seconds(environment, "import numba", urdf) for _ in range(5)]
        ours, numpy = _imports("import rbdyn_ros"), _imports("import numpy")
        ratio = statistics.median(a / b for a, b in zip(warm, numba, strict=True))
    print("| | s |\n|---|---|")
    print(f"| empty cache: start to step, forward, inverse, mass_matrix | {cold:.1f} |")
    print(f"| full cache: start to first step | {statistics.median(warm):.2f} |")
    print(f"| import numba alone | {statistics.median(numba):.2f} |")
    print(f"| import rbdyn_ros | {ours:.3f} |")
    print(f"| import numpy | {numpy:.3f} |")
    print(f"\nfull cache against import numba: {ratio:.2f}")


def _imports(statement: str) -> float:
    """Return the median seconds that a statement takes in a new process, start-up excluded."""
    program = (
        f"import time\nstart = time.perf_counter()\n{statement}\n"
        "print(time.perf_counter() - start)"
    )
    command = [sys.executable, "-c", program]
    runs = [subprocess.run(command, capture_output=True, check=True).stdout for _ in range(11)]
    return statistics.median(map(float, runs))


def _seconds(environment: dict[str, str], program: str, urdf: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", program, urdf], env=environment, check=True)
    return time.perf_counter() - start
