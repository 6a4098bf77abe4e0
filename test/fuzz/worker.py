# SPDX-License-Identifier: Apache-2.0
"""Fuzz one target for some CPU time: `python -m fuzz.worker TARGET SECONDS SEED FOLDER`.

The worker writes each input to FOLDER/current before it runs the input, so the input survives a
crash of the process. The last line of the output has the number of inputs and the failures as
JSON.
"""

from __future__ import annotations

import faulthandler
import functools
import hashlib
import json
import resource
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from fuzz import COMPILED
from fuzz.mutations import EDITS, mutated
from fuzz.targets import TARGETS
from rbdyn_ros.errors import RbdynError

#: CPU time of an input [s]; an input that takes longer is a failure.
LONGEST = 20.0
MEMORY = 6 << 30  # [bytes]
BATCH = 50


class HangError(BaseException):
    """An input took too long. This is a BaseException, because readers catch every Exception."""


class UnraisableError(Exception):
    """An exception that Python only prints, for example in a destructor or a callback."""


UNRAISABLE: list[str] = []


def outcome(name: str, data: bytes) -> str:
    """Run a target; return `read` or `refused`, and raise each error that is no refusal."""
    UNRAISABLE.clear()
    signal.setitimer(signal.ITIMER_PROF, LONGEST)
    try:
        TARGETS[name].run(data)
        found = "read"
    except RbdynError as error:
        if not (error.findings and str(error).strip()):
            raise ValueError("an error without a message") from error
        found = "refused"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
    if UNRAISABLE:
        raise UnraisableError(UNRAISABLE[0])
    return found


def prepare() -> None:
    """Limit memory and time of this process, and turn unraisable errors into failures."""

    def hang(_number: int, _frame: Any) -> None:
        raise HangError(f"the input took more than {LONGEST:g} s")

    faulthandler.enable()
    signal.signal(signal.SIGPROF, hang)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    sys.unraisablehook = lambda what: UNRAISABLE.append(f"{what.exc_type}: {what.exc_value}")
    warnings.simplefilter("ignore")


def fuzz(name: str, seconds: float, seed: int, folder: Path) -> tuple[int, list[dict[str, str]]]:
    """Run all seeds, then batches of edited seeds; return the number of inputs and the failures.

    Args:
        name: name of the target.
        seconds: CPU time of this process.
        seed: seed of the edits.
        folder: folder for the current input and for inputs that fail.
    """
    seeds, failures = TARGETS[name].seeds(), {}
    if name in COMPILED:  # the seeds have compiled the kernels
        seconds += time.process_time()
    current, count = folder / "current", 0

    def trial(which: int, edits: Any) -> None:
        nonlocal count
        if time.process_time() > seconds:
            return
        data = mutated(seeds[which], edits)
        current.write_bytes(data)
        count += 1
        outcome(name, data)

    def attempt(run: Callable[[], None]) -> None:
        try:
            run()
        except BaseException as error:  # noqa: BLE001 - every kind is a finding
            kept = folder / hashlib.sha256(current.read_bytes()).hexdigest()[:12]
            current.replace(kept)
            failures.setdefault(_where(error), {"input": str(kept), "error": _text(error)})

    for which in range(len(seeds)):
        attempt(functools.partial(trial, which, []))
    batch = 0
    while time.process_time() < seconds:
        quiet = settings(
            max_examples=BATCH,
            deadline=None,
            database=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
            print_blob=False,
        )
        drawn = given(st.integers(0, len(seeds) - 1), EDITS)(trial)
        attempt(seeded(seed * 1_000_000 + batch)(quiet(drawn)))
        batch += 1
    current.unlink(missing_ok=True)
    return count, list(failures.values())


def _where(error: BaseException) -> str:
    """Return the type and the place of an error, because one input for each place is enough."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "rbdyn_ros" in f.filename]
    last = frames[-1] if frames else None
    return f"{type(error).__name__} {last.filename}:{last.lineno}" if last else str(error)


def _text(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)[-12:])


def main(name: str, seconds: str, seed: str, folder: str) -> None:
    prepare()
    count, failures = fuzz(name, float(seconds), int(seed), Path(folder))
    print(json.dumps({"count": count, "failures": failures}))


if __name__ == "__main__":
    main(*sys.argv[1:])
