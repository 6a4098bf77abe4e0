# SPDX-License-Identifier: Apache-2.0
"""`rbdyn check FOLDER`: check every robot file below a folder, and print a line for each."""

import argparse
import json
import os
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rbdyn_ros.commands.line.common import DONE, REFUSED, loaded_robot
from rbdyn_ros.errors import Finding, RbdynError

#: The possible verdicts, from the best to the worst.
LOADS, REPAIRED, REFUSES = "loads", "repaired", "refused"
#: Matches the root element of a xacro file of a whole robot: files of macros have no robot name.
_NAMED = re.compile(rb"<robot\b[^>]*\sname\s*=")
_HEAD_BYTES = 1 << 16
_YAML = re.compile(rb"^rbdyn_(?:mechanism|scene)\s*:", re.MULTILINE)
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class FileVerdict:
    """The verdict on a file.

    Attributes:
        file: path of the file.
        verdict: LOADS, REPAIRED or REFUSES.
        seconds: duration of the last attempt to read it [s].
        reason: first error of the strict attempt; empty: the file loads.
        findings: findings of the last attempt.
    """

    file: Path
    verdict: str
    seconds: float
    reason: str
    findings: Sequence[Finding]

    def __str__(self) -> str:
        line = f"{self.verdict:<9}{self.seconds:7.2f} s  {self.file}"
        return f"{line}: {self.reason}" if self.reason else line


def robot_files(folder: Path) -> Iterator[Path]:
    """Yield the robot files below a folder, in the order of their names.

    Hidden folders and links to folders are left out. So are files that other files include: xacro
    files of macros, and parts of an MJCF.
    """
    for at, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(at, name)
            if not name.startswith(".") and _is_robot(path):
                yield path


def _is_robot(path: Path) -> bool:
    from rbdyn_ros.description.reading.guard import root_tag
    from rbdyn_ros.description.robot_files import MECHANISM_SUFFIXES, URDF, format_of

    form, suffix = format_of(path), path.suffix.lower()
    if form is None or not suffix or not path.is_file():
        return False
    head = b""
    with suppress(OSError), path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if suffix in MECHANISM_SUFFIXES:
        return _YAML.search(head) is not None
    if suffix == ".xacro":
        return not path.name.endswith(".srdf.xacro") and _NAMED.search(head) is not None
    return suffix != ".xml" or form is not URDF or root_tag(head) == "robot"


def check_folder(folder: Path, options: argparse.Namespace) -> list[FileVerdict]:
    """Return the verdict on each robot file below a folder; print a line for each meanwhile."""
    found = []
    for path in robot_files(folder):
        verdict = judge(path, options)
        if verdict is None:
            continue
        found.append(verdict)
        if options.format == "text":
            print(verdict, flush=True)
    return found


def judge(path: Path, options: argparse.Namespace) -> FileVerdict | None:
    """Read a file strictly, or else with repairs; return the verdict, or None for xacro macros."""
    own = argparse.Namespace(**vars(options))
    if path.suffix.lower() != ".xacro":
        own.xacro_args = []
    reason = ""
    for verdict in (LOADS, REPAIRED):
        own.repair, start = verdict == REPAIRED, time.perf_counter()
        try:
            m, _ = loaded_robot(own, path)
        except RbdynError as error:
            findings = error.findings
            if path.suffix.lower() == ".xacro" and error.code == "no-links":
                return None
            reason = reason or _short(str(findings[0]))
        except Exception as error:  # noqa: BLE001 - the other files still get a verdict
            reason = _short(f"the reader failed: {type(error).__name__}: {error}")
            findings = (Finding("reader-failed", reason),)
        else:
            return FileVerdict(path, verdict, time.perf_counter() - start, reason, m.findings)
    return FileVerdict(path, REFUSES, time.perf_counter() - start, reason, findings)


def _short(text: str) -> str:
    """Return a message as one line, cut after _LONGEST characters."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."


def summary(found: Sequence[FileVerdict], seconds: float) -> str:
    """Return a line with the number of files of each verdict and the duration [s]."""
    counts = Counter(one.verdict for one in found)
    parts = [f"{counts[LOADS]} load", f"{counts[REPAIRED]} after repairs"]
    files = "1 robot file" if len(found) == 1 else f"{len(found)} robot files"
    return f"{files}: {', '.join(parts)}, {counts[REFUSES]} refused, in {seconds:.1f} s"


def status(found: Sequence[FileVerdict], options: argparse.Namespace) -> int:
    """Return the exit status of the verdicts; with --repair, a repaired file counts as sound."""
    sound = {LOADS, REPAIRED} if options.repair else {LOADS}
    return DONE if all(one.verdict in sound for one in found) else REFUSED


def as_json(found: Sequence[FileVerdict]) -> str:
    """Return verdicts as JSON."""
    rows = [
        {
            "file": str(one.file),
            "verdict": one.verdict,
            "seconds": round(one.seconds, 3),
            "reason": one.reason,
        }
        for one in found
    ]
    return json.dumps(rows, indent=2)
