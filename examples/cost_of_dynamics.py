# SPDX-License-Identifier: Apache-2.0
"""Cost of dynamics: algorithms of order n against algorithms of order n^2 and more.

    python examples/cost_of_dynamics.py [--out FOLDER] [--links MOST]

The robots are chains of up to 1024 links. Inverse dynamics (recursive Newton-Euler) and forward
dynamics (articulated bodies) are compiled. "Unit vectors" is forward dynamics by n + 1 calls of
inverse dynamics and a linear system. Three algorithms of the textbook run in NumPy: Newton-Euler,
unit vectors, and the equation of motion in closed form, whose n^3 coefficients are sums over
bodies.
The exponents are fitted to the longer half of the chains; on short chains the overhead of NumPy's
calls dominates:

    rb.inverse                    n^1.0  1024 links in 55.7 us
    rb.forward_dynamics           n^1.0  1024 links in 81.6 us
    unit vectors on rb.inverse    n^2.0  1024 links in 9.04e+04 us
    NumPy: Newton-Euler           n^1.0  1024 links in 7.28e+04 us
    NumPy: unit vectors           n^2.0   128 links in 1.17e+06 us
    NumPy: closed form            n^2.4   128 links in 6.48e+05 us
"""

import argparse
import os
import time
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # NumPy's threads would only wait for each other

import numpy as np

import rbdyn_ros as rb
from rbdyn_ros.textbook.closed_form import closed_form
from rbdyn_ros.textbook.rnea import rnea
from rbdyn_ros.textbook.system import System
from rbdyn_ros.textbook.unit_vectors import unit_vectors

ENOUGH, LEAST = 0.05, 3  # repeat a call for at least this time [s] and this often
LONGEST = 0.3  # an algorithm that takes longer [s] skips longer chains


def chain(links):
    """Return a chain with the given number of links and alternating joint axes."""
    rod = rb.shapes.box((0.1, 0.02, 0.02), density=2700.0, at=rb.pose((0.05, 0, 0)))
    s, last = rb.SystemBuilder("chain", base="ground"), "ground"
    for k in range(links):
        s.body(f"link_{k}", rod)
        turns = {"axis": (0, k % 2, 1 - k % 2), "xyz": (0.1, 0, 0)}
        s.joint(f"joint_{k}", "revolute", last, f"link_{k}", **turns)
        last = f"link_{k}"
    return rb.build(s)


def algorithms(m):
    """Return the algorithms by name, as functions without arguments."""
    d, s = rb.make_data(m), System.of(m)
    generator = np.random.default_rng(1)
    q, qd, qdd = generator.uniform(-1.0, 1.0, (3, m.nv))
    d.qpos, d.qvel, d.qacc = q, qd, qdd
    none = np.zeros(m.nv)

    def compiled(qdd):
        d.qacc = qdd
        rb.inverse(m, d)
        return d.qfrc_inverse.copy()

    return {
        "rb.inverse": lambda: rb.inverse(m, d),
        "rb.forward_dynamics": lambda: rb.forward_dynamics(m, d),
        "unit vectors on rb.inverse": lambda: unit_vectors(compiled, none, none),
        "NumPy: Newton-Euler": lambda: rnea(s, q, qd, qdd),
        "NumPy: unit vectors": lambda: unit_vectors(lambda x: rnea(s, q, qd, x), none, none),
        "NumPy: closed form": lambda: closed_form(s, q).tau(qd, qdd),
    }


def seconds(call):
    """Return the time of the fastest of several calls [s]."""
    times, now = [], time.perf_counter()
    end = now + ENOUGH
    while now < end or len(times) < LEAST:
        start = time.perf_counter()
        call()
        now = time.perf_counter()
        times.append(now - start)
    return min(times)


def measure(most):
    """Return, for each algorithm, the lengths of the chains [links] and the run times [s].

    The chains have up to `most` links. A slow algorithm is not run with longer chains.
    """
    for call in algorithms(chain(2)).values():
        call()  # the first call compiles
    costs, links = {}, 2
    while links <= most:
        for name, call in algorithms(chain(links)).items():
            sizes, times = costs.setdefault(name, ([], []))
            if not times or times[-1] < LONGEST:
                sizes.append(links)
                times.append(seconds(call))
        links *= 2
    return costs


def exponent(sizes, times):
    """Return the slope of log(time) over log(size) for the larger half of the sizes."""
    half = len(sizes) // 2
    return np.polyfit(np.log(sizes[half:]), np.log(times[half:]), 1)[0]


def draw(path, costs):
    from matplotlib.figure import Figure  # imported here because only drawing needs it

    figure = Figure(figsize=(9, 5), layout="constrained")
    axes = figure.subplots()
    for k, (name, (sizes, times)) in enumerate(costs.items()):
        label = f"{name}: $n^{{{exponent(sizes, times):.1f}}}$"
        axes.loglog(sizes, np.array(times) * 1e6, "os^vD<"[k] + "-", markersize=4, label=label)
    axes.set(xlabel="links", ylabel="a call [us]")
    axes.set_xscale("log", base=2)
    axes.grid(alpha=0.3)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(path, dpi=80)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path(), metavar="FOLDER", help="output folder")
    parser.add_argument(
        "--links", type=int, default=1024, metavar="MOST", help="links of the longest chain"
    )
    given = parser.parse_args()
    costs = measure(given.links)
    for name, (sizes, times) in costs.items():
        largest = f"{sizes[-1]:5} links in {times[-1] * 1e6:.3g} us"
        print(f"{name:29} n^{exponent(sizes, times):.1f} {largest}")

    draw(given.out / "cost_of_dynamics.png", costs)


if __name__ == "__main__":
    main()
