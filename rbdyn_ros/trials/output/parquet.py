# SPDX-License-Identifier: Apache-2.0
"""Write all runs of a trial as a table to a Parquet file, for pandas, Polars or DuckDB."""

from pathlib import Path
from typing import Any

from rbdyn_ros.errors import Finding, ParameterError
from rbdyn_ros.loading.output import write_whole
from rbdyn_ros.trials.results.verdict import reasons
from rbdyn_ros.trials.running import Results


def write_parquet(results: Results, path: str | Path) -> None:
    """Write a row for each run, in the order of the seeds.

    The columns are seed, status, why, passed, failures and state, then the sampled numbers, then
    the measures, whose columns begin with `measure.`. A measure without a finite value is null.

    Raises:
        ParameterError: the file cannot be written, or pyarrow is not installed.
    """
    if not is_available():
        text = 'a Parquet file needs pyarrow: pip install "rbdyn_ros[trials]"'
        raise ParameterError(Finding("no-trials-extra", text, "error", "", None, "", "pyarrow"))
    import pyarrow as pa
    from pyarrow import parquet

    names = {"trial": results.trial.name, "digest": results.trial.digest}
    names["partial"] = str(results.verdict.partial).lower()
    table = pa.table(_columns(results)).replace_schema_metadata(names)
    write_whole(Path(path), lambda file: parquet.write_table(table, file))


def is_available() -> bool:
    """Return whether pyarrow is installed."""
    from importlib.util import find_spec

    return find_spec("pyarrow") is not None


def _columns(results: Results) -> dict[str, Any]:
    import pyarrow as pa

    runs = results.runs
    why = [list(reasons(results.trial, run)) for run in runs]
    found = {
        "seed": pa.array([run.seed for run in runs], pa.int64()),
        "status": pa.array([run.status for run in runs], pa.string()),
        "why": pa.array([run.why for run in runs], pa.string()),
        "passed": pa.array([not each for each in why], pa.bool_()),
        "failures": pa.array(why, pa.list_(pa.string())),
        "state": pa.array([run.state for run in runs], pa.string()),
    }
    for varied in results.trial.varied:
        samples = [run.values.get(varied.name) for run in runs]
        found[varied.name] = pa.array(samples, pa.float64())
    for name in results.verdict.measures:
        values = [run.measures.get(name) for run in runs]
        found[f"measure.{name}"] = pa.array(values, pa.float64())
    return found
