# SPDX-License-Identifier: Apache-2.0
"""The file of results: a header, then one line of JSON for each run that is ready.

Lines are added and never changed, so an interrupted trial can be continued: an incomplete last
line is dropped, and only missing seeds are simulated. Each line has a hash of itself and of the
trial, which detects accidental changes but does not protect against forgery. The file is locked
while runs are added.
"""

import contextlib
import fcntl
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

from rbdyn_ros import __version__
from rbdyn_ros.errors import Finding, ParameterError, quote
from rbdyn_ros.loading.output import Output, unwritable
from rbdyn_ros.trials.simulation.runs import Run
from rbdyn_ros.trials.trial import Trial

VERSION = "rbdyn_trial_runs"
#: The key of a line's hash.
HASH = "sha256"


class ResultsFile(Output):
    """The results of a trial on disk.

    Args:
        path: path of the file, which may hold earlier runs of the same trial.
        trial: the trial whose runs are stored.
        fresh: whether to delete earlier runs.

    Attributes:
        runs: the runs by seed, including earlier runs.

    Raises:
        ParameterError: the file cannot be read or written, belongs to another trial, was changed,
            or another process adds runs to it.
    """

    def __init__(self, path: Path, trial: Trial, fresh: bool = False) -> None:
        self._path, self._trial = path, trial
        header = {VERSION: 1, "trial": trial.name, "digest": trial.digest,
                  "rbdyn_ros": __version__}  # fmt: skip
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file: TextIO = path.open("a", encoding="utf-8")
        except OSError as error:
            raise unwritable(path, error) from error
        try:
            _lock(self._file, path)
            self.runs, kept = ({}, "") if fresh else _read(path, trial)
            self._file.truncate(len(kept.encode()))  # remove the last line if it is incomplete
            if not kept:
                self._file.write(json.dumps(header) + "\n")
                self._file.flush()
        except OSError as error:
            self._file.close()
            raise unwritable(path, error) from error
        except ParameterError:
            self._file.close()
            raise

    def add(self, runs: Sequence[Run]) -> None:
        """Add runs that are ready.

        Raises:
            ParameterError: the file cannot be written, for example because the disk is full.
        """
        lines = [_line(run, self._trial) for run in runs]
        try:
            self._file.write("".join(lines))
            self._file.flush()
        except OSError as error:
            kept = "the earlier runs are kept, and the same command continues the trial"
            text = f"{unwritable(self._path, error)}; {kept}"
            raise ParameterError(Finding("unwritable-file", text, "error", "out")) from error
        self.runs |= {run.seed: run for run in runs}

    def close(self) -> None:
        try:
            # unlock explicitly, because a forked process may still hold the lock
            with contextlib.suppress(OSError):
                fcntl.flock(self._file, fcntl.LOCK_UN)
            self._file.close()
        except OSError as error:  # for example, the buffered lines do not fit on the disk
            raise unwritable(self._path, error) from error


def earlier_runs(path: Path, trial: Trial) -> dict[int, Run]:
    """Return the runs in a file of results by seed; an empty dictionary if there is no file.

    Raises:
        ParameterError: the file cannot be read, or belongs to another trial.
    """
    return _read(path, trial)[0]


def _read(path: Path, trial: Trial) -> tuple[dict[int, Run], str]:
    """Return the runs in a file and its complete lines, or raise ParameterError."""
    try:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise _refused(f"the file {quote(str(path), 200)} cannot be read: {reason}") from error
    whole = text[: text.rfind("\n") + 1]
    lines = whole.splitlines()
    if not text:
        return {}, ""
    header, name = _object(lines[0]) if lines else None, quote(str(path), 200)
    if header is None or header.get(VERSION) != 1:
        raise _refused(f"the file {name} is not a file of results")
    if header.get("digest") != trial.digest:
        raise _refused(
            f"{name} has the results of another trial: the robot, the controller or the "
            "sampled numbers have changed since"
        )
    runs = {}
    for number, line in enumerate(lines[1:], 2):
        found = _object(line) or {}
        if found.pop(HASH, "") != _hash(found, trial):
            raise _refused(f"{name}, line {number} is not a run, or was changed")
        run = Run(**found)
        runs[run.seed] = run
    return runs, whole


def _line(run: Run, trial: Trial) -> str:
    """Return the line of the file for a run, with its hash."""
    numbers = run.as_dict()
    return json.dumps({**numbers, HASH: _hash(numbers, trial)}, allow_nan=False) + "\n"


def _hash(numbers: dict[str, Any], trial: Trial) -> str:
    """Return the hash of the numbers of a run and of the trial's digest."""
    text = json.dumps([trial.digest, numbers], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _lock(file: TextIO, path: Path) -> None:
    """Lock a file if the file system has locks.

    Raise an error if another process holds the lock.
    """
    with contextlib.suppress(OSError):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            text = "another process adds runs to it; wait for its end, or choose another folder"
            raise unwritable(path, ValueError(text)) from error


def _refused(what: str) -> ParameterError:
    text = f"{what}; choose another folder, or start again (fresh=True, --fresh)"
    return ParameterError(Finding("other-results", text, "error", "out"))


def _object(line: str) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
