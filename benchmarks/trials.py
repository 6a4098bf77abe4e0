# SPDX-License-Identifier: Apache-2.0
"""Trials: 10,000 runs of a compiled law, the same law in Python, and the overhead of Ray.

    python -m benchmarks.trials         time the bundled arm, 5 s at 1 kHz a run
    python -m benchmarks.trials --ray   and the overhead of Ray per shard, on a cluster of one node

The overhead is the time from the request of shards until their rows arrive, less the time of the
tasks themselves, so other load of the machine does not change it.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from rbdyn_ros import trials
from rbdyn_ros.machine import machine
from rbdyn_ros.share import bundled_robot
from rbdyn_ros.trials.simulation.runs import run_shard
from rbdyn_ros.trials.trial import Trial

RUNS, PYTHON_RUNS, WORKERS = 10_000, 20, 2
#: Numbers of runs in a shard, and number of shards that Ray gets.
SIZES, SHARDS = (16, 64, 256), 8

TRIAL = f"""\
rbdyn_trial: 1
robot: {bundled_robot("seven_dof_arm")}
duration: 5.0
controller: CONTROLLER
reference:
  elbow_pitch: {{times: [0.5, 2.5], positions: [0.0, -0.6]}}
payload:
  link: tool_flange
  mass: {{uniform: {{low: 0, high: 0.5}}}}
  z: {{uniform: {{low: 0, high: 0.05}}}}
faults: {{command_delay: {{choice: [0, 0.001, 0.002, 0.003]}}}}
limits: {{tracking_max: 0.15}}
"""
LAW = "{law: computed_torque, stiffness: 400, damping: 40, limit: true}"
POLICY = """\
import numpy as np
import rbdyn_ros as rb

class ComputedTorque:
    def __init__(self, m):
        self.m = m.replaced()
        self.m.opt.passive = False
        self.d = rb.make_data(self.m)

    def __call__(self, t, qpos, qvel, reference):
        m, d, n = self.m, self.d, self.m.nq
        target, speed, acceleration = reference[:n], reference[n:-m.nv], reference[-m.nv:]
        d.qpos, d.qvel = qpos, qvel
        d.qacc = acceleration + 40.0 * (speed - qvel) + 400.0 * (target - qpos)
        rb.inverse(m, d)
        return np.clip(d.qfrc_inverse, -m.jnt_effort, m.jnt_effort)
"""


def main() -> None:
    """Run the compiled law and the law in Python, and print the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ray", action="store_true", help="measure Ray, too")
    options = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "policy.py").write_text(POLICY, encoding="utf-8")
        compiled = read(folder, LAW, RUNS)
        in_python = read(folder, "{python: 'policy.py:ComputedTorque'}", PYTHON_RUNS)
        run_shard(compiled, range(compiled.runs)[:8])  # the first call compiles
        for what, trial in (("compiled law", compiled), ("law in Python", in_python)):
            begin, before = time.perf_counter(), processor_time()
            results = trials.run(trial, workers=WORKERS)
            took, used = time.perf_counter() - begin, processor_time() - before
            each = 1e3 * used / trial.runs
            print(f"{what}: {trial.runs} runs in {took:.1f} s on {WORKERS} cores")
            print(f"  {each:.1f} ms of processor time a run; {results.verdict}")
        if options.ray:
            overheads(compiled)


def processor_time() -> float:
    """Return the processor time of this process and of the processes that it has ended [s]."""
    kinds = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    return sum(sum(resource.getrusage(kind)[:2]) for kind in kinds)


def read(folder: str, controller: str, runs: int) -> Trial:
    """Write a trial of a controller to a folder and return it with a number of runs."""
    path = Path(folder, "trial.yaml")
    path.write_text(TRIAL.replace("CONTROLLER", controller), encoding="utf-8")
    return trials.with_runs(trials.load(path), runs)


def timed(trial: Trial, seeds: list[int]) -> tuple[Any, float]:
    """Return the rows of a shard, and the time that it took in its process."""
    begin = time.perf_counter()
    return run_shard(trial, seeds), time.perf_counter() - begin


def overheads(trial: Trial) -> None:
    """Print the overhead of Ray for shards of several sizes, one after the other."""
    import ray
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    ray.init(address=cluster.address, log_to_driver=False)
    try:
        task, given = ray.remote(num_cpus=1)(timed), ray.put(trial)
        ray.get(task.remote(given, [0]))  # this task starts the process and loads the code
        for size in SIZES:
            inside, added = [], []
            for shard in range(SHARDS):
                seeds = list(range(shard * size, (shard + 1) * size))
                begin = time.perf_counter()
                _, took = ray.get(task.remote(given, seeds))
                inside.append(took)
                added.append(time.perf_counter() - begin - took)
            own, more = statistics.median(inside), statistics.median(added)
            print(f"Ray: shards of {size} runs take {own:.2f} s and {1e3 * more:.1f} ms more, "
                  f"{100 * more / own:.2f} %")  # fmt: skip
    finally:
        ray.shutdown()
        cluster.shutdown()


if __name__ == "__main__":
    main()
