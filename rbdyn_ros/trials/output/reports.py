# SPDX-License-Identifier: Apache-2.0
"""Write all reports of a trial to a folder: an HTML page, JUnit XML, JSON and a table."""

import json
import xml.etree.ElementTree as ET
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rbdyn_ros.errors import LONGEST_NAME
from rbdyn_ros.loading.output import unwritable, write_whole
from rbdyn_ros.trials.output.html import page
from rbdyn_ros.trials.output.parquet import is_available, write_parquet
from rbdyn_ros.trials.results.verdict import PASSED
from rbdyn_ros.trials.running import Results
from rbdyn_ros.trials.simulation.runs import FINISHED

REPORT, JUNIT, VERDICT, TABLE = "report.html", "junit.xml", "verdict.json", "runs.parquet"
#: Largest number of failed runs that are listed for a limit.
MOST = 20


def write_reports(results: Results, out: str | Path) -> list[Path]:
    """Write report.html, junit.xml and verdict.json, and runs.parquet if pyarrow is installed.

    Args:
        results: results of a trial.
        out: the folder; it is created if it does not exist.

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
        write_whole(folder / name, data)
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


def junit(results: Results) -> bytes:
    """Return JUnit XML: test cases for the verdict, for unfinished runs, and for each limit.

    Runs outside a limit count as a failure only if the trial has not passed, because the verdict
    may allow a share of such runs.
    """
    trial, verdict = results.trial, results.verdict
    cases = [("verdict", "" if verdict.passed else str(verdict), _listed(results, "") or [])]
    ended = [run for run in results.runs if run.status != FINISHED]
    lost = f"{len(ended)} runs did not finish" if ended and not verdict.passed else ""
    cases.append(("runs finish", lost, [f"seed {run.seed}: {run.status}: {run.why}"
                                        for run in ended[:MOST]]))  # fmt: skip
    for name, limit in trial.limits.items():
        broken = verdict.measures[name].broken if name in verdict.measures else 0
        wrong = f"{broken} runs outside: {name} {limit}" if broken else ""
        shown = wrong if verdict.decision != PASSED else ""
        cases.append((f"limit of {name}", shown, _listed(results, f"{name} is ")))
    failures = sum(bool(wrong) for _, wrong, _ in cases)
    suite = ET.Element("testsuite", name=_plain(trial.name), tests=str(len(cases)),
                       failures=str(failures), errors="0", skipped="0")  # fmt: skip
    properties = ET.SubElement(suite, "properties")
    facts = {"runs": verdict.runs, "wanted": verdict.wanted, "passes": verdict.passes,
             "partial": str(verdict.partial).lower(), "digest": trial.digest}  # fmt: skip
    for name, value in facts.items():
        ET.SubElement(properties, "property", name=name, value=str(value))
    for name, wrong, lines in cases:
        case = ET.SubElement(suite, "testcase", classname=_plain(trial.name), name=_plain(name))
        if wrong:
            failure = ET.SubElement(case, "failure", message=_plain(wrong))
            failure.text = "\n".join(map(_plain, lines))
    ET.indent(suite)
    whole: bytes = ET.tostring(suite, encoding="utf-8", xml_declaration=True)
    return whole + b"\n"


def _listed(results: Results, begin: str) -> list[str]:
    """Return up to MOST reasons that begin with a text, the worst run first; count the rest."""
    lines = [
        f"seed {seed}: {reason}"
        for seed, reasons in results.verdict.failures.items()
        for reason in reasons
        if reason.startswith(begin)
    ]
    more = len(lines) - MOST
    return lines[:MOST] + ([f"and {more} more"] if more > 0 else [])


def _plain(text: str) -> str:
    """Return a text of limited length, with spaces for characters that XML may not allow."""
    return "".join(c if c.isprintable() else " " for c in text)[: 10 * LONGEST_NAME]
