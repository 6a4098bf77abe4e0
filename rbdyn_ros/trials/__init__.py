# SPDX-License-Identifier: Apache-2.0
"""Trials: run a controller and a robot many times with different seeds; judge the runs by limits.

    from rbdyn_ros import trials

    trial = trials.load("trial.yaml")
    results = trials.run(trial, "results")
    print(results.verdict)

Each name is imported at its first use, so pytest sessions without trials lose no time.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rbdyn_ros.trials.files.reader import load as load
    from rbdyn_ros.trials.files.reader import with_runs as with_runs
    from rbdyn_ros.trials.output.parquet import write_parquet as write_parquet
    from rbdyn_ros.trials.output.recordings import record as record
    from rbdyn_ros.trials.output.recordings import record_failures as record_failures
    from rbdyn_ros.trials.output.reports import write_reports as write_reports
    from rbdyn_ros.trials.results.verdict import Spread as Spread
    from rbdyn_ros.trials.results.verdict import Verdict as Verdict
    from rbdyn_ros.trials.running import Results as Results
    from rbdyn_ros.trials.running import repeat as repeat
    from rbdyn_ros.trials.running import run as run
    from rbdyn_ros.trials.simulation.runs import Run as Run
    from rbdyn_ros.trials.simulation.simulated import History as History
    from rbdyn_ros.trials.trial import Trial as Trial

_MODULES = {
    "History": "simulation.simulated",
    "Results": "running",
    "Run": "simulation.runs",
    "Spread": "results.verdict",
    "Trial": "trial",
    "Verdict": "results.verdict",
    "load": "files.reader",
    "record": "output.recordings",
    "record_failures": "output.recordings",
    "repeat": "running",
    "run": "running",
    "with_runs": "files.reader",
    "write_parquet": "output.parquet",
    "write_reports": "output.reports",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'rbdyn_ros.trials' has no attribute '{name}'")
    module = importlib.import_module(f"rbdyn_ros.trials.{_MODULES[name]}")
    return globals().setdefault(name, getattr(module, name))


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
