# SPDX-License-Identifier: Apache-2.0
"""A process that support/processes.py forks behaves like a fresh process."""

import os
import signal

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from support import processes

TELLS = """
import atexit, json, os, sys
atexit.register(print, "the end")
told = [sys.argv, os.environ["ROS_DOMAIN_ID"], os.getcwd(), sys.path[0], __name__]
print(json.dumps(told), sorted(globals()), sys.stdin.fileno())
print("an error", file=sys.stderr)
sys.exit("a reason" if sys.argv[1:] else 3)
"""
#: Sleeps are short, because a signal that arrives just before a sleep does not end it.
SLEEPS = """
import time
print("ready", flush=True)
while True:
    time.sleep(0.1)
"""


@pytest.fixture(params=[True, False], ids=["fresh", "forked"])
def start(request, tmp_path, monkeypatch):
    """Yield a function that starts a process and returns it with the file of its output."""
    monkeypatch.chdir(tmp_path)
    started = []

    def begin(code, *arguments, **more):
        path = tmp_path / f"said{len(started)}"
        with path.open("w") as output:
            environment = os.environ | {"ROS_DOMAIN_ID": "7"} | more
            process = processes.start(code, arguments, environment, output, request.param)
        started.append(process)
        return process, path

    yield begin
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.parametrize(("arguments", "status"), [(["a b", 2], 1), ([], 3)])
def test_a_forked_process_has_its_own_arguments_output_and_exit_status(
    start, tmp_path, arguments, status
):
    process, path = start(TELLS, *arguments)
    assert process.wait(60.0) == status
    said = path.read_text()
    words = ", ".join(["", *(f'"{word}"' for word in arguments)])
    assert f'[["-c"{words}], "7", "{tmp_path}", "", "__main__"]' in said
    assert "'__name__', '__package__', '__spec__', 'atexit'" in said
    assert "an error" in said
    assert ("a reason" in said) == bool(arguments)
    assert said.endswith("the end\n")


def test_signals_end_a_forked_process(start):
    for number, status in ((signal.SIGTERM, -15), (signal.SIGINT, -2), (signal.SIGKILL, -9)):
        process, path = start(SLEEPS)
        while "ready" not in path.read_text():
            assert process.poll() is None
        process.send_signal(number)
        assert process.wait(60.0) == status
        assert ("KeyboardInterrupt" in path.read_text()) == (number == signal.SIGINT)


def test_imports_of_a_forked_process_see_its_given_environment(start):
    process, path = start("import os; print(os.environ['LANG'])", LANG="xx")
    assert process.wait(60.0) == 0
    assert path.read_text() == "xx\n"


def test_nodes_are_forked_in_the_environment_of_the_tests():
    """Otherwise each of hundreds of nodes would start as a fresh process, three seconds slower."""
    assert processes.lasting(os.environ) == processes.USUAL
