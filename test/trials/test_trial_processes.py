# SPDX-License-Identifier: Apache-2.0
"""Trials in several processes have equal results, report crashes, and can be continued."""

import contextlib
import fcntl
import json
import os
import pickle
import resource
import signal
import subprocess
import sys
import time

import pytest
from support.commands import AS_A_PROCESS, run_process
from support.refusals import refused
from support.trials import trial

from rbdyn_ros import trials
from rbdyn_ros.errors import DescriptionError, Finding, ParameterError, RbdynError
from rbdyn_ros.trials.processes import isolated, workers
from rbdyn_ros.trials.results.results_file import ResultsFile
from rbdyn_ros.trials.running import RUNS_NAME
from rbdyn_ros.trials.simulation.runs import failed

#: A faulty statement of the controller, and the status and reason with which its run ends.
FAULTY = {
    "raise ValueError('no torque')": ("crashed", "ValueError: no torque (policy.py, line 6)"),
    "sys.exit(3)": ("crashed", "SystemExit: 3"),
    "os._exit(4)": ("crashed", "the process of the run ended with status 4"),
    "os.kill(os.getpid(), 11)": ("crashed", "the process of the run was ended by SIGSEGV"),
    "while True: pass": ("timeout", "the run took longer than 2 s"),
    "x = bytearray(10**9)": ("out of memory", "the run needed more than 300 MiB of memory"),
    "return [1.0, 2.0]": ("crashed", ""),
    "return 'much'": ("crashed", ""),
    "return float('inf') + qvel": ("not finite", ""),
}

POLICY = """\
import os, sys

def control(t, qpos, qvel, reference):
    if t > 0.05:
        pass
        FAULT
    return 0.0 * qvel
"""
PYTHON = "{python: 'policy.py:control'}"
ALLOWED = "{time: 2, memory: 300}"


@pytest.mark.parametrize("fault", FAULTY)
def test_the_result_of_a_run_says_what_its_controller_did(tmp_path, fault):
    policy = POLICY.replace("FAULT", fault)
    found = trial(tmp_path, policy, controller=PYTHON, process=ALLOWED, runs=1)
    (run,) = trials.run(found, workers=1).runs
    status, why = FAULTY[fault]
    assert run.status == status
    assert why in run.why
    assert run.values


def test_the_runs_do_not_depend_on_the_number_of_processes(tmp_path, monkeypatch):
    found = trial(tmp_path)
    one = trials.run(found, workers=1)
    monkeypatch.setattr("rbdyn_ros.trials.simulation.runs.SHARD", 3)
    two = trials.run(found, workers=2)
    assert two.runs == one.runs
    assert [run.seed for run in two.runs] == list(range(20))
    assert trials.repeat(found, 17) == one.runs[17]


def test_a_later_call_repeats_runs_that_took_too_long(tmp_path):
    found, out, made = trial(tmp_path, runs=3), tmp_path / "out", []
    first = trials.run(found, out, workers=1)
    with ResultsFile(out / RUNS_NAME, found) as file:
        file.add([failed(found, 1, "timeout", "the machine was busy")])
    again = trials.run(found, out, workers=1, progress=made.extend)
    assert again.runs == first.runs
    assert [run.seed for run in made] == [1]


def test_a_controller_in_python_gives_the_same_runs_in_two_processes(tmp_path):
    found = trial(tmp_path, POLICY.replace("FAULT", "pass"), controller=PYTHON, runs=4)
    one, two = (trials.run(found, workers=count) for count in (1, 2))
    assert one.runs == two.runs
    assert {run.status for run in one.runs} == {"finished"}


def test_code_that_cannot_be_loaded_is_refused_before_the_first_run(tmp_path):
    found = trial(tmp_path, "x = 1 / 0\n", controller=PYTHON)
    with refused(ParameterError, "broken-code") as caught:
        trials.run(found, workers=1)
    assert "policy.py, line 1" in str(caught.value)
    found = trial(tmp_path, "def controll(): pass\n", controller=PYTHON)
    with refused(ParameterError, "no-function") as caught:
        trials.run(found, workers=1)
    assert "did you mean 'controll'" in str(caught.value)
    found = trial(tmp_path, "def control(:\n", controller="{traced: 'policy.py:control'}")
    with refused(ParameterError, "broken-code"):
        trials.run(found, workers=1)
    found = trial(tmp_path, "def control(t): pass\n", controller="{traced: 'policy.py:control'}")
    with refused(ParameterError, "policy"):
        trials.run(found, workers=1)


def test_another_worker_repeats_the_runs_of_a_killed_worker(tmp_path, monkeypatch):
    found, killed = trial(tmp_path, runs=12), []
    monkeypatch.setattr("rbdyn_ros.trials.simulation.runs.SHARD", 3)
    give = workers.Worker.give

    def deadly(worker, job):
        give(worker, job)
        if job is not None and not killed:
            killed.append(worker.process.pid)
            os.kill(worker.process.pid, signal.SIGKILL)

    monkeypatch.setattr(workers.Worker, "give", deadly)
    two = trials.run(found, workers=2)
    assert killed
    monkeypatch.undo()
    assert two.runs == trials.run(found, workers=1).runs


def test_a_run_whose_process_is_killed_every_time_is_reported_as_lost(tmp_path, monkeypatch):
    """After RETRIES attempts no further process is started."""
    give, made = workers.Worker.give, []

    def deadly(worker, job):
        give(worker, job)
        if job is not None:
            os.kill(worker.process.pid, signal.SIGKILL)

    def counted(command, **words):
        made.append(started(command, **words))
        return made[-1]

    started = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", counted)
    monkeypatch.setattr(workers.Worker, "give", deadly)
    found = trial(tmp_path, POLICY.replace("FAULT", "pass"), controller=PYTHON, runs=1)
    (run,) = trials.run(found, workers=1).runs
    assert run.status == "lost"
    assert len(made) == workers.RETRIES + 1


def test_a_process_that_has_closed_its_channel_is_killed(tmp_path, monkeypatch):
    """The process itself would go on for 30 s."""
    monkeypatch.setattr(workers, "ENDING", 0.2)
    code = "import os, time\nos.closerange(3, 4096)\ntime.sleep(30)\n"
    found = trial(tmp_path, code + "def control(*_): pass\n", controller=PYTHON)
    with refused(RbdynError, "worker-ended") as caught:
        trials.run(found, workers=1)
    assert "status -9" in str(caught.value)


@pytest.mark.parametrize("cut", [lambda data: data[:-9], pickle.dumps])
def test_a_run_with_an_incomplete_result_counts_as_crashed(tmp_path, monkeypatch, cut):
    write = isolated._write
    monkeypatch.setattr(isolated, "_write", lambda writer, data: write(writer, cut(data)))
    found = trial(tmp_path, POLICY.replace("FAULT", "pass"), controller=PYTHON, runs=1)
    run = isolated.run_isolated(found, 0)
    assert (run.status, run.why) == ("crashed", "the process of the run sent no complete result")


def test_an_interrupted_trial_simulates_only_the_missing_runs(tmp_path):
    whole = trials.run(trial(tmp_path), workers=1)
    out = tmp_path / "out"
    trials.run(trial(tmp_path, runs=8), out, workers=1)
    file = out / RUNS_NAME
    text = file.read_text()
    file.write_text(text[:-30])  # as if the process had ended while it wrote
    added = []
    found = trials.run(trial(tmp_path), out, workers=1, progress=added.extend)
    assert [run.seed for run in added] == list(range(7, 20))
    assert found.runs == whole.runs
    assert len(file.read_text().splitlines()) == 21
    # with another limit the same runs are judged again
    strict = trials.run(trial(tmp_path, limits="{tracking_max: 0}"), out, workers=1)
    assert strict.runs == whole.runs
    assert strict.verdict.passes == 0


def test_a_folder_with_results_of_another_trial_is_refused(tmp_path):
    out = tmp_path / "out"
    trials.run(trial(tmp_path, runs=2), out, workers=1)
    other = trial(tmp_path, runs=2, duration=0.1)
    with refused(ParameterError, "other-results"):
        trials.run(other, out, workers=1)
    head, *_ = (out / RUNS_NAME).read_text().splitlines(keepends=True)
    # keep only the header, for the hash of a run would also show that the trial is another
    (out / RUNS_NAME).write_text(head)
    with refused(ParameterError, "other-results"):
        trials.run(other, out, workers=1)
    assert len(trials.run(other, out, workers=1, fresh=True).runs) == 2
    for text in ("no json\n", "{}\n", f"{(out / RUNS_NAME).read_text()}[1]\n"):
        (out / RUNS_NAME).write_text(text)
        with refused(ParameterError, "other-results"):
            trials.run(other, out, workers=1)


def test_edited_results_in_the_folder_are_refused(tmp_path):
    out, found = tmp_path / "out", trial(tmp_path, runs=3)
    trials.run(found, out, workers=1)
    file = out / RUNS_NAME
    good = file.read_text()
    head, *lines = good.splitlines()
    first = json.loads(lines[0])
    changed = [{**first, "status": "stopped"}, {**first, "seed": 7}]
    changed.append({**first, "measures": {**first["measures"], "tracking_max": 0.0}})
    changed.append({key: value for key, value in first.items() if key != "sha256"})
    for one in changed:
        file.write_text("\n".join([head, json.dumps(one), *lines[1:], ""]))
        with refused(ParameterError, "other-results"):
            trials.run(found, out, workers=1)
    file.write_text(good)
    assert trials.run(found, out, workers=1).runs == trials.run(found, workers=1).runs


def test_a_second_process_cannot_add_runs_to_the_same_folder(tmp_path):
    out, found = tmp_path / "out", trial(tmp_path, runs=3)
    words = ["trial", str(tmp_path / "trial.yaml"), "--out", str(out), "--workers", "1"]
    for fresh in ([], ["--fresh"]):
        with ResultsFile(out / RUNS_NAME, found) as file:
            before = (out / RUNS_NAME).read_text()
            done = run_process(*words, *fresh)
            assert done.returncode == 2
            assert "another process adds runs to it" in done.stderr
            assert (out / RUNS_NAME).read_text() == before
            assert not file.runs
    assert len(trials.run(found, out, workers=1).runs) == 3
    assert len((out / RUNS_NAME).read_text().splitlines()) == 4


def test_a_full_disk_keeps_earlier_results(tmp_path):
    """A limit on the size of files has the effect of a full disk."""
    out, found = tmp_path / "out", trial(tmp_path)
    trials.run(trial(tmp_path, runs=5), out, workers=1)
    size = (out / RUNS_NAME).stat().st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 700, hard))
    try:
        with refused(ParameterError, "unwritable-file") as caught:
            trials.run(found, out, workers=1)
        assert "continues the trial" in str(caught.value)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert trials.run(found, out, workers=1).runs == trials.run(found, workers=1).runs


def test_ctrl_c_keeps_the_finished_runs(tmp_path):
    """The output says that the same command continues the trial."""
    policy = POLICY.replace("FAULT", "__import__('time').sleep(0.001)")
    trial(tmp_path, policy, controller=PYTHON, runs=200)
    words = ["trial", str(tmp_path / "trial.yaml"), "--out", str(tmp_path / "out")]
    process = subprocess.Popen(
        [*AS_A_PROCESS, *words, "--workers", "1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    file = tmp_path / "out" / RUNS_NAME
    try:
        deadline = time.monotonic() + 120.0
        while not file.exists() or len(file.read_text().splitlines()) < 3:
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        printed, wrong = process.communicate(timeout=60.0)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Traceback" not in wrong
    assert "continues" in wrong
    assert "partial" in printed
    verdict = json.loads((tmp_path / "out" / "verdict.json").read_text())
    assert verdict["partial"]
    assert verdict["interrupted"]
    assert 2 <= verdict["runs"] < 200


def test_ctrl_c_ends_the_controller_of_a_run(tmp_path):
    """Ctrl-C does not reach the controller, which has its own process group."""
    own = tmp_path / "pid"
    policy = POLICY.replace("pass", f"open({str(own)!r}, 'w').write(f'{{os.getpid()}}.')")
    trial(
        tmp_path,
        policy.replace("FAULT", "while True: pass"),
        controller=PYTHON,
        process="{time: 300, memory: 300}",
        runs=1,
    )
    words = ["trial", str(tmp_path / "trial.yaml"), "--workers", "1", "--out", str(tmp_path / "o")]
    process = subprocess.Popen([*AS_A_PROCESS, *words], stderr=subprocess.PIPE, text=True)
    pid = 0
    try:
        deadline = time.monotonic() + 120.0
        while not own.exists() or not own.read_text().endswith("."):
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.02)
        pid = int(own.read_text()[:-1])
        process.send_signal(signal.SIGINT)
        _, wrong = process.communicate(timeout=60.0)
        assert process.returncode == 130
        assert "Traceback" not in wrong
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    finally:
        process.kill()
        if pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


#: A process that gets a second signal while it handles the first.
TWICE = """
import os, signal
from rbdyn_ros.trials.processes import worker

signal.signal(signal.SIGTERM, worker._end)
try:
    os.kill(os.getpid(), signal.SIGTERM)
finally:
    os.kill(os.getpid(), signal.SIGTERM)
    print("ended")
"""


def test_a_second_signal_does_not_interrupt_the_end_of_a_worker():
    words = [sys.executable, "-c", TWICE]
    done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=300.0)
    assert (done.stdout, done.stderr, done.returncode) == ("ended\n", "", 0)


def test_the_controller_of_a_run_ends_with_its_worker(tmp_path):
    """A worker that is killed has no time to end its controller."""
    own = tmp_path / "locked"
    locked = f"f = open({str(own)!r}, 'w'); fcntl.flock(f, fcntl.LOCK_EX); f.write('.'); f.flush()"
    policy = "import fcntl\n" + POLICY.replace("pass", locked).replace("FAULT", "while 1: pass")
    found = trial(tmp_path, policy, controller=PYTHON, process="{time: 300, memory: 300}", runs=1)
    worker = workers.Worker(found)
    try:
        assert worker.channel.recv() == []
        worker.give(workers._TriedJob(isolated.ShardJob([0])))
        deadline = time.monotonic() + 120.0
        while not own.exists() or not own.read_text():
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        worker.process.kill()
        worker.process.wait()
    with own.open() as file:
        while True:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            assert time.monotonic() < deadline
            time.sleep(0.02)


def test_importing_the_package_of_trials_is_fast():
    code = "import sys, rbdyn_ros.trials; print('numpy' in sys.modules, 'scipy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_an_error_sent_from_another_process_keeps_its_findings(tmp_path):
    error = DescriptionError([Finding("a", "one", line=3), Finding("b", "two")], "x.yaml")
    copied = pickle.loads(pickle.dumps(error))
    assert (type(copied), copied.findings, str(copied)) == (
        DescriptionError,
        error.findings,
        str(error),
    )


DAEMON = """
import os, time

def control(t, qpos, qvel, reference):
    if not os.path.exists("{file}"):
        if os.fork() == 0:
            os.setsid()
            if os.fork():
                os._exit(0)
            with open("{file}", "w") as file:
                file.write(str(os.getpid()))
            time.sleep(600.0)
        while not os.path.exists("{file}") or not open("{file}").read():
            time.sleep(0.001)
    return 0.0 * qvel
"""


def test_a_daemon_of_a_controller_ends_with_its_run(tmp_path):
    """A daemon has its own session, so it is not in the process group of the run."""
    pid = tmp_path / "pid"
    found = trial(tmp_path, DAEMON.format(file=pid), controller=PYTHON, process=ALLOWED, runs=2)
    assert {run.status for run in trials.run(found, workers=1).runs} == {"finished"}
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
