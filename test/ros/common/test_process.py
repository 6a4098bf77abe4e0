# SPDX-License-Identifier: Apache-2.0
"""The processes of simulator and arm controller start, handle signals and end cleanly."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

import rclpy

from rbdyn_ros import __main__
from rbdyn_ros.errors import RbdynError, refusal
from rbdyn_ros.ros.common.graph.domains import is_used
from rbdyn_ros.ros.common.lifecycle import process
from rbdyn_ros.ros.common.lifecycle.process import ManagedNode
from rbdyn_ros.ros.common.lifecycle.stop import SIGNALS, TEXT, stalled


def test_a_node_is_no_longer_loading_after_a_failed_load(domain):
    rclpy.init(domain_id=domain)
    node = ManagedNode("loader", threading.Event())

    def fail():
        with node.load():
            assert node.loading
            raise refusal("no robot")

    try:
        with pytest.raises(RbdynError):
            fail()
        assert not node.loading
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


#: A program with a node, which ends when its stdin is closed.
FORGOTTEN = """
import sys
import rclpy
rclpy.init(domain_id=int(sys.argv[1]))
node = rclpy.create_node("forgotten")
print("up", flush=True)
sys.stdin.read()
"""


def test_a_message_names_leftover_files_that_can_block_a_start(tmp_path, monkeypatch, capsys):
    (tmp_path / "fastdds_port7002").touch()
    (tmp_path / "fastdds_port7411").write_text("of a process that runs")
    (tmp_path / "fastdds_port7002_el").touch()  # lock files are always empty
    monkeypatch.setattr(process, "MEMORY", tmp_path)
    monkeypatch.setattr(process, "FILLED", 0.01)
    said = []
    process._make(lambda _: said.append(capsys.readouterr().err), threading.Event())
    assert said[0].count("fast") == 1
    assert f"left {tmp_path}/fastdds_port7002. If ROS 2 does not start, remove it" in said[0]
    (tmp_path / "fastdds_port7002").unlink()
    process._make(lambda _: said.append(capsys.readouterr().err), threading.Event())
    assert said[1] == ""


def test_a_test_never_gets_the_domain_of_a_running_node(domain):
    """A simulator that a developer left running would answer tests in its domain."""
    assert not is_used(domain)
    words = [sys.executable, "-c", FORGOTTEN, str(domain)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(words, **pipes, text=True) as other:
        assert other.stdout.readline() == "up\n"
        in_use = is_used(domain)
        other.stdin.close()
    assert in_use


#: A program that gets a first signal, and a second one while it ends; the arguments name them.
TWICE = """
import os, signal, sys, time
from rbdyn_ros.ros.common.lifecycle import process

def make(stop):
    try:
        os.kill(os.getpid(), int(sys.argv[1]))
        time.sleep(60.0)
    except KeyboardInterrupt:
        os.kill(os.getpid(), int(sys.argv[2]))
        time.sleep(0.01)
        print("has ended", stop.is_set())
        raise

sys.exit(process.run(make, []))
"""


@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_second_signal_does_not_interrupt_the_end_of_a_process(second):
    words = [sys.executable, "-c", TWICE, str(int(signal.SIGINT)), str(int(second))]
    done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=120.0)
    assert (done.stdout, done.stderr, done.returncode) == ("has ended True\n", "", 0)


#: A program that is interrupted in the constructor of an executor, which has a destructor.
HALF_MADE = """
import os, signal, sys, time
import rclpy.executors
from rbdyn_ros.ros.common.lifecycle import process

def interrupt():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60.0)

def make(stop):
    rclpy.executors._WorkTracker = interrupt
    rclpy.executors.MultiThreadedExecutor()

sys.exit(process.run(make, []))
"""


def test_an_interrupt_in_the_constructor_of_an_executor_prints_nothing():
    words = [sys.executable, "-c", HALF_MADE]
    done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=120.0)
    assert (done.stderr, done.returncode) == ("", 0)


#: A program in which a second signal comes while the first signal's handler holds a lock.
LOCKED = """
import os, signal, sys, threading, time
from rbdyn_ros.ros.common.lifecycle import process

def set_event(event):
    with event._cond:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.01)
        event._flag = True

def make(stop):
    threading.Event.set = set_event
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60.0)

sys.exit(process.run(make, []))
"""


def test_a_second_signal_during_a_handler_does_not_block_the_process():
    """`ros2 launch` and `timeout` send a second signal at once."""
    words = [sys.executable, "-c", LOCKED]  # a hang ends with the timeout
    done = subprocess.run(words, check=False, timeout=60.0)
    assert done.returncode == 0


#: A program that holds the GIL for longer than the test waits, as C++ or LLVM may.
HELD = """
import ctypes, os, subprocess, sys
from rbdyn_ros.ros.common.lifecycle import process

def make(stop):
    subprocess.Popen(["sh", "-c", f"sleep 0.2; kill -TERM {os.getpid()}"])
    mutex, lock = ctypes.create_string_buffer(64), ctypes.PyDLL(None).pthread_mutex_lock
    lock(mutex)
    lock(mutex)  # for ever, also after signals

sys.exit(process.run(make, []))
"""


def test_a_process_that_holds_the_gil_forever_is_ended():
    words = [sys.executable, "-c", HELD]
    done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=60.0)
    assert (done.stdout, done.stderr) == ("", TEXT)
    assert done.returncode == 1  # status 1: the end is not clean


#: A program that takes 3 s to end while the pressure file reports that tasks wait for a processor,
#: or hangs on a machine that is not busy.
BUSY = """
import os, signal, sys, threading, time
from pathlib import Path
from rbdyn_ros.ros.common.lifecycle import process, stop

stop.PRESSURE = path = Path(sys.argv[1])
busy = sys.argv[2] == "busy"

def wait():
    with path.open("wb", buffering=0) as file:
        while True:
            waited = time.monotonic_ns() // 1000 * busy
            text = f"some avg10=99.25 avg60=9.00 avg300=7.27 total={waited:020}\\nfull total=1\\n"
            os.pwrite(file.fileno(), text.encode(), 0)
            time.sleep(0.001)

def make(event):
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60.0)
    except KeyboardInterrupt:
        time.sleep(3.0 if busy else 60.0)
        raise

threading.Thread(target=wait, daemon=True).start()
while not path.exists():
    time.sleep(0.001)
sys.exit(process.run(make, []))
"""


@pytest.mark.parametrize(("machine", "said", "status"), [("busy", "", 0), ("calm", TEXT, 1)])
def test_a_clean_end_may_take_longer_on_a_busy_machine(tmp_path, machine, said, status):
    words = [sys.executable, "-c", BUSY, str(tmp_path / "pressure"), machine]
    done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=60.0)
    assert (done.stderr, done.returncode) == (said, status)


def test_the_time_of_waiting_for_processors_is_read_from_the_pressure_file(tmp_path):
    path, text = tmp_path / "pressure", np.zeros(96, np.uint8)
    path.write_text("some avg10=1.25 avg60=0.50 avg300=0.07 total=1234567\nfull total=9\n")
    file = os.open(path, os.O_RDONLY)
    assert stalled(file, text) == 1234567
    assert stalled(-1, text) == 0  # without the file, as on some Linux systems
    os.close(file)


#: A program that ignores SIGHUP, as if started by nohup, and sends itself this signal.
NOHUP = """
import os, signal, sys, time
from rbdyn_ros.ros.common.lifecycle import process

def make(stop):
    os.kill(os.getpid(), signal.SIGHUP)
    print("goes on", stop.wait(0.2))
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60.0)

signal.signal(signal.SIGHUP, signal.SIG_IGN)
sys.exit(process.run(make, []))
"""


def test_a_hangup_is_ignored_under_nohup():
    words = [sys.executable, "-c", NOHUP]
    done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=60.0)
    assert (done.stdout, done.stderr, done.returncode) == ("goes on False\n", "", 0)


@pytest.mark.parametrize("name", ["simulator", "arm_controller"])
def test_the_option_help_prints_without_starting_a_node(name, monkeypatch, capsys):
    before = {number: signal.getsignal(number) for number in SIGNALS}
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    try:
        getattr(__main__, name)()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    words = capsys.readouterr().out
    assert words.startswith(f"usage: ros2 run rbdyn_ros {name} --ros-args -p urdf:=")
    assert Path(f"docs/reference/{name}.md").exists()
    assert not rclpy.ok()
