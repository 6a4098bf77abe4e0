# SPDX-License-Identifier: Apache-2.0
"""Findings as SARIF 2.1.0, which code hosts show next to the lines of a file."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rbdyn_ros.errors import Finding

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(findings: Mapping[Path, Sequence[Finding]], tool: str, version: str) -> str:
    """Return the findings of files as one SARIF log of the program `tool` in this version.

    Lines of xacro files are left out, as findings have the lines of the expanded text.
    """
    found = [(path, finding) for path, own in findings.items() for finding in own]
    rules = list(dict.fromkeys(finding.code for _, finding in found))
    driver = {"name": tool, "version": version, "rules": [{"id": code} for code in rules]}
    results = [_result(path, finding, rules) for path, finding in found]
    run = {"tool": {"driver": driver}, "results": results}
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _result(path: Path, finding: Finding, rules: Sequence[str]) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(path)}}
    if finding.line is not None and path.suffix.lower() != ".xacro":
        place["region"] = {"startLine": finding.line}
    return {
        "ruleId": finding.code,
        "ruleIndex": rules.index(finding.code),
        "level": finding.severity,
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": place}],
    }


def _uri(path: Path) -> str:
    """Return a path below the working folder as it is, any other path as a file URI."""
    whole = path.absolute()
    if whole.is_relative_to(Path.cwd()):
        return quote(whole.relative_to(Path.cwd()).as_posix())
    return whole.as_uri()
