# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin: fixtures that run trials and simulator nodes, for tests of controllers.

    def test_the_controller_carries_its_payload(rbdyn_trial):
        results = rbdyn_trial("trial.yaml", runs=200)
        assert results.passed, results.verdict

    def test_the_node_of_the_controller(rbdyn_sim):
        rbdyn_sim("arm.urdf", "--ros-args", "-p", "time_mode:=lockstep")
        ...  # start the node; it is in the same ROS domain

This module imports the engine only when a fixture is used.
"""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rbdyn_ros.machine import wait_or_kill

if TYPE_CHECKING:
    from rbdyn_ros.trials.running import Results

#: A simulator node logs this when it has started.
STARTED = "simulating '"
#: Largest time to start and to end [s]; the first start of each version compiles code.
STARTING, ENDING = 300.0, 30.0


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option for the folder of results."""
    group = parser.getgroup("rbdyn", "trials of rbdyn_ros")
    group.addoption(
        "--rbdyn-results",
        type=Path,
        metavar="DIR",
        help="folder for the results of trials, one folder for each test; a later session with "
        "the same trial adds only the missing runs (default: temporary folders)",
    )


@pytest.fixture
def rbdyn_trial(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Results]:
    """Provide a function that runs a trial, writes its reports and returns the results.

    The function takes the path of a trial file, relative to the folder of the test, and the
    keywords runs and workers. The folder of results and the verdict become properties of the test
    in pytest's JUnit XML.
    """

    def run(path: str | Path, *, runs: int | None = None, workers: int | None = None) -> Results:
        from rbdyn_ros import trials

        trial = trials.load(request.path.parent / path)
        if runs is not None:
            trial = trials.with_runs(trial, runs)
        given: Path | None = request.config.getoption("--rbdyn-results")
        name = re.sub(r"[^\w.-]+", "_", f"{request.path.stem}_{request.node.name}_{trial.name}")
        whole = f"{request.node.nodeid} {trial.name}"  # two tests may have the same short name
        name = f"{name[:180]}_{hashlib.sha256(whole.encode()).hexdigest()[:8]}"
        out = (tmp_path if given is None else given) / name
        results = trials.run(trial, out, workers=workers)
        files = trials.write_reports(results, out)
        if results.interrupted:
            raise KeyboardInterrupt
        # record_property would warn if the format is xunit2
        properties = {"rbdyn_results": files[0].parent, "rbdyn_verdict": results.verdict}
        request.node.user_properties += [(key, str(x)) for key, x in properties.items()]
        return results

    return run


class SimulatorProcess:
    """A simulator node in another process.

    Attributes:
        domain: its ROS domain; the test and the processes that it starts use the same domain.
        log: file with its output.
    """

    def __init__(self, words: list[str], domain: int, log: Path) -> None:
        self.domain, self.log = domain, log
        with log.open("w", encoding="utf-8") as file:
            self._process = subprocess.Popen(  # noqa: S603 - our own Python and module
                [sys.executable, "-m", "rbdyn_ros", "sim", *words],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env=dict(os.environ, PYTHONUNBUFFERED="1"),
            )

    def wait_until_started(self) -> None:
        """Wait until the node simulates; fail the test if it does not start."""
        deadline = time.monotonic() + STARTING
        while STARTED not in self.log.read_text(encoding="utf-8", errors="replace"):
            status = self._process.poll()
            if status is not None or time.monotonic() > deadline:
                what = "did not start in time" if status is None else f"ended with {status}"
                text = self.log.read_text(encoding="utf-8", errors="replace")
                pytest.fail(f"rbdyn sim {what}:\n{text[-4000:]}", pytrace=False)
            time.sleep(0.02)

    def end(self) -> int:
        """End the node by SIGINT, as Ctrl-C does; return its exit status."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        return wait_or_kill(self._process, ENDING)


@pytest.fixture
def rbdyn_sim(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., SimulatorProcess]]:
    """Provide a function that starts `rbdyn sim` with the given arguments, without the view.

    The test, the simulator and the processes that the test starts share a ROS domain that nothing
    else on this machine uses. The simulator ends with the test.
    """
    from rbdyn_ros.ros.common.graph.domains import Domain

    started: list[SimulatorProcess] = []
    domain = Domain()
    for name, value in domain.environment.items():
        monkeypatch.setenv(name, value)

    def start(*words: str | Path) -> SimulatorProcess:
        log = tmp_path / f"rbdyn_sim_{len(started)}.txt"
        started.append(SimulatorProcess(["--no-view", *map(str, words)], domain.number, log))
        started[-1].wait_until_started()
        return started[-1]

    yield start
    for simulator in started:
        simulator.end()
    domain.close()
