# SPDX-License-Identifier: Apache-2.0
"""Inputs that failed are now read or refused, and `make fuzz` finds each kind of failure."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from fuzz import __main__ as driver
from fuzz import targets, worker
from fuzz.targets import FOLDER, TARGETS, Target
from rbdyn_ros.errors import DescriptionError, Finding

FAILED = sorted(FOLDER.glob("failed/*"))


@pytest.mark.parametrize("path", FAILED, ids=lambda path: path.name)
def test_an_input_that_failed_earlier_is_read_or_refused(path):
    assert worker.outcome(path.name.partition(".")[0], path.read_bytes()) in ("read", "refused")


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_accepts_its_seeds(name):
    for data in TARGETS[name].seeds()[:2]:
        TARGETS[name].run(data)


def test_the_driver_runs_all_targets():
    assert set(driver.NAMES) == set(TARGETS)


class Noisy:
    def __del__(self):
        raise KeyError("Python only prints this error")


def refuse(_data):
    raise DescriptionError([Finding("code", "a refusal")])


@pytest.mark.parametrize(
    ("run", "error"),
    [
        (lambda data: data[5], "IndexError"),
        (lambda _: Noisy() and None, "UnraisableError"),
        (lambda _: bytearray(1 << 45), "MemoryError"),
        (refuse, None),
        (lambda _: None, None),
    ],
    ids=["exception", "unraisable", "memory", "refused", "read"],
)
def test_the_worker_finds_and_stores_failing_inputs(run, error, tmp_path, monkeypatch):
    monkeypatch.setitem(worker.TARGETS, "table", Target(lambda: [b"abc"], run))
    monkeypatch.setattr(
        sys, "unraisablehook", lambda what: worker.UNRAISABLE.append(repr(what.exc_value))
    )
    count, failures = worker.fuzz("table", time.process_time() + 0.3, 0, tmp_path)
    assert count > 0
    assert bool(failures) == (error is not None)
    for failure in failures:
        assert error in failure["error"]
        assert failure["input"].startswith(str(tmp_path))


def test_a_negative_index_in_a_stage_is_a_failure(monkeypatch):
    monkeypatch.setattr(targets, "STAGES", (lambda _, d: d.qpos[np.int64(-1)],))
    with pytest.raises(IndexError, match="negative"):
        worker.outcome("data", bytes(2))


PRINTED_ONLY = """
import numpy as np
from numba import types
from fuzz import worker
from fuzz.targets import Target
from rbdyn_ros.engine.compiler import jit

NUMBERS = np.zeros(3)

def entry_of(k):
    return NUMBERS[k]

stage = jit.callback(entry_of, types.float64(types.int64), "").ctypes
worker.TARGETS["bounds"] = Target(lambda: [], lambda data: stage(len(data)))
worker.prepare()
print(worker.outcome("bounds", b"12"))
worker.outcome("bounds", b"123")
"""


def test_an_index_out_of_bounds_in_a_compiled_stage_is_a_failure():
    path = os.pathsep.join([str(targets.REPOSITORY), str(targets.REPOSITORY / "test")])
    done = subprocess.run(
        [sys.executable, "-c", PRINTED_ONLY],
        env={**os.environ, **driver._kernels("bounds"), "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout == "read\n", done.stderr
    assert "UnraisableError" in done.stderr
    assert "IndexError" in done.stderr


@pytest.mark.parametrize(
    ("end", "error"), [(signal.SIGKILL, "exit status -9"), (signal.SIGALRM, "no answer")]
)
def test_the_driver_reports_a_crash_with_its_input(end, error, tmp_path, monkeypatch):
    def crash(_name, _seconds, _seed, folder):
        Path(folder, "current").write_bytes(b"abc")
        os.kill(os.getpid(), end)

    monkeypatch.setattr(driver, "KEPT", tmp_path)
    monkeypatch.setattr(worker, "main", crash)
    ((name, (count, (failure,))),) = driver._results(["urdf"], 1.0, 0)
    assert (name, count) == ("urdf", 0)
    assert error in failure["error"]
    assert (tmp_path / "urdf/crash").read_bytes() == b"abc"


def test_the_driver_reports_an_error_of_the_worker(tmp_path, monkeypatch):
    monkeypatch.setattr(driver, "KEPT", tmp_path)
    monkeypatch.setattr(worker, "main", lambda *_: 1 / 0)
    ((_, (count, (failure,))),) = driver._results(["urdf"], 1.0, 0)
    assert count == 0
    assert "ZeroDivisionError" in failure["error"]
