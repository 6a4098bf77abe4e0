# SPDX-License-Identifier: Apache-2.0
"""Write all reports of a trial into its folder."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rbdyn_ros.loading.output import unwritable, write_whole
from rbdyn_ros.trials.output.html import page
from rbdyn_ros.trials.output.junit import junit
from rbdyn_ros.trials.output.parquet import is_available, write_parquet
from rbdyn_ros.trials.running import Results

REPORT, JUNIT, VERDICT, TABLE = "report.html", "junit.xml", "verdict.json", "runs.parquet"


def write_reports(results: Results, out: str | Path) -> list[Path]:
    """Write report.html, junit.xml and verdict.json, and runs.parquet if pyarrow is installed.

    Args:
        results: of a trial.
        out: the folder; it is made if it is not there.

    Returns:
        The files.

    Raises:
        ParameterError: a file cannot be written.
    """
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error, "folder") from error
    contents = {
        REPORT: page(results).encode(),
        JUNIT: junit(results),
        VERDICT: json.dumps(verdict_dict(results), indent=2, allow_nan=False).encode() + b"\n",
    }
    for name, data in contents.items():
        write_whole(folder / name, lambda file, data=data: file.write(data))  # type: ignore[misc]
    files = [folder / name for name in contents]
    if is_available():
        write_parquet(results, folder / TABLE)
        files.append(folder / TABLE)
    return files


def verdict_dict(results: Results) -> dict[str, Any]:
    """Return the verdict for JSON."""
    trial, verdict = results.trial, results.verdict
    found = asdict(verdict) | {"partial": verdict.partial, "interrupted": results.interrupted}
    return {"trial": trial.name, "digest": trial.digest, **found}
