# SPDX-License-Identifier: Apache-2.0
"""A second process compiles the loop while the first process compiles the engine."""

import subprocess

import pytest

from rbdyn_ros.engine.compiler.jit import DISABLED
from rbdyn_ros.runtime import head_start as module
from rbdyn_ros.runtime.head_start import head_start

if DISABLED:
    pytest.skip("nothing is compiled with NUMBA_DISABLE_JIT=1", allow_module_level=True)


@pytest.fixture
def started(monkeypatch):
    """Pretend that the loop is not compiled yet; return the list of started processes."""
    processes = []

    class Process(subprocess.Popen):
        def __init__(self, *args, **settings):
            super().__init__(*args, **settings)
            processes.append(self)

    monkeypatch.setattr(module.subprocess, "Popen", Process)
    monkeypatch.setattr(module, "is_compiled", lambda: False)
    monkeypatch.setattr(module.os, "sched_getaffinity", lambda _: {0, 1})
    return processes


def test_the_other_process_compiles_the_loop(started):
    with head_start() as finished:
        assert finished() == 0  # the process has found the loop and its signature
    assert len(started) == 1


def test_an_error_in_the_with_block_ends_the_other_process(started, monkeypatch):
    monkeypatch.setattr(module, "_CHILD", "import time; time.sleep(600)")
    with pytest.raises(KeyboardInterrupt), head_start():
        raise KeyboardInterrupt
    assert started[0].returncode < 0


@pytest.mark.parametrize("compiled", [True, False])
def test_no_process_compiles_ahead_on_one_core_or_if_the_kernels_are_compiled(
    started, monkeypatch, compiled
):
    monkeypatch.setattr(module, "is_compiled", lambda: compiled)
    monkeypatch.setattr(module.os, "sched_getaffinity", lambda _: {0})
    with head_start() as finished:
        finished()
    assert not started
