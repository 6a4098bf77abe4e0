# SPDX-License-Identifier: Apache-2.0
"""Every signal stops a node within two seconds, and its arm gets no more efforts.

`make test ARGS="test/ros/common/test_stops_by_signal.py --stops 2000 -s -n0"` takes about an hour.
"""

import itertools
import os
import random
import signal
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("mcap", reason="mcap is not installed")
pytest.importorskip("simulation_interfaces.srv", reason="simulation_interfaces is not built")

import rclpy
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from simulation_interfaces.msg import Result
from simulation_interfaces.srv import StepSimulation
from std_srvs.srv import Trigger
from support import processes

import rbdyn_ros as rb
from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.nanoseconds import nanoseconds
from rbdyn_ros.recording.reader import read_run
from rbdyn_ros.ros.common.lifecycle.stop import TEXT
from rbdyn_ros.ros.common.parsing.convert import time_message
from rbdyn_ros.share import bundled_robot

#: On an idle machine: longest time until the end [s], and number of states still answered.
END, LAST_EFFORT = 2.0, 5
#: The test counts time in sleeps of this length [s], so pauses of the machine do not count.
NAP = 0.01
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: A process that has not ended after this time counts as hanging [s].
HANGS = 30.0
#: Time for which SIGSTOP stops a process [s].
PAUSE = 0.9
#: Longest time between two signals [s].
APART = 0.05
ROBOT = bundled_robot("seven_dof_arm")
START = {"shoulder_pitch": 0.5, "elbow_pitch": 0.7, "wrist_pitch": 0.4}
RATE = 250
#: Last bytes of a complete MCAP file. Source: https://mcap.dev/spec
MAGIC = b"\x89MCAP0\r\n"
DEEP = QoSProfile(depth=1000)

ENTRIES = {
    "simulator": "from rbdyn_ros.__main__ import simulator; simulator()",
    "arm_controller": "from rbdyn_ros.__main__ import arm_controller; arm_controller()",
    "slow_arm_controller": """
import time
from rbdyn_ros.__main__ import arm_controller
from rbdyn_ros.ros.arm.node import TrajectoryController
from rbdyn_ros.ros.arm.topics import ArmTopics

busy, stop = set(), ArmTopics.stop

def slow_try_arm(controller, now):
    busy.add(controller)
    print("asked to arm", flush=True)
    time.sleep(0.3)
    busy.clear()

def stop_topics(topics):
    if busy:
        print("the topics end during a request", flush=True)
    stop(topics)

TrajectoryController.try_arm, ArmTopics.stop = slow_try_arm, stop_topics
arm_controller()
""",
}
#: Put the process into its own group, as ros2 launch does, and reset the handlers of signals:
#: pytest ignores signals if it runs under nohup or behind `&`.
PRELUDE = """
import os, signal
os.setpgid(0, 0)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
print("begun", flush=True)
"""


class Stall:
    """The time for which the threads of a process waited for a processor.

    It is nearly 0 on a machine that is not busy.
    """

    def __init__(self, pid):
        self._tasks = Path(f"/proc/{pid}/task")
        self._last = {}
        self.update()
        self._first = sum(self._last.values())

    def update(self):
        """Read the times of all threads; a thread that has ended keeps its last time."""
        with suppress(FileNotFoundError, ProcessLookupError):
            for file in self._tasks.glob("*/schedstat"):
                self._last[file] = int(file.read_text().split()[1]) * 1e-9

    @property
    def seconds(self):
        return sum(self._last.values()) - self._first


class Driver:
    """An arm at rest, which publishes states with the clock of the test and stores commands."""

    def __init__(self, peer, space):
        m = rb.load_urdf(ROBOT)
        self._state = JointState(name=list(m.jnt_names))
        qpos = np.array([START.get(name, 0.0) for name in m.jnt_names])
        effort = np.zeros(m.nv)
        Arm(m).gravity_effort(qpos, effort)
        self._state.position, self._state.effort = qpos.tolist(), effort.tolist()
        self._state.velocity = [0.0] * m.nv
        self.states, self.commands = [], []  # stamps of states and of commands [s]
        self._node = rclpy.create_node("driver", namespace=space, context=peer.context)
        self._publisher = self._node.create_publisher(JointState, "joint_states", 10)
        self._node.create_subscription(JointState, "joint_commands", self._take, DEEP)
        self._node.create_timer(1.0 / RATE, self._publish)
        self._executor = SingleThreadedExecutor(context=peer.context)
        self._executor.add_node(self._node)
        self._ended = False
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _publish(self):
        now = time.monotonic_ns()  # the clock that times the signals
        self.states.append(now * 1e-9)
        self._state.header.stamp = time_message(now)
        self._publisher.publish(self._state)

    def _take(self, command):
        self.commands.append(nanoseconds(command.header.stamp) * 1e-9)

    def states_between(self, first, last):
        """Return the number of states in the interval (first, last] of the driver's clock [s]."""
        return sum(first < stamp <= last for stamp in self.states)

    def _run(self):
        while not self._ended:
            self._executor.spin_once(timeout_sec=0.05)

    def close(self):
        self._ended = True
        self._thread.join()
        self._executor.shutdown()
        self._node.destroy_node()


class Storm:
    """Starts and stops nodes, each in its own namespace, and stores the times of their ends."""

    def __init__(self, peer, folder, domain, seed):
        self.peer, self.folder, self.domain = peer, folder, domain
        self.random, self.count = random.Random(seed), itertools.count()
        self.times, self.by_force, self.process = {}, 0, None

    def start(self, entry, fresh=False, environment=None, **parameters):
        """Start a node of ENTRIES with these parameters; return its namespace."""
        number = next(self.count)
        space = f"/s{number}"
        self.log = self.folder / f"log_storm{number}.txt"
        given = {"urdf": ROBOT, **parameters}
        if entry == "simulator":
            given.setdefault("publish_clock", "false")
        words = [word for name, value in given.items() for word in ("-p", f"{name}:={value}")]
        env = dict(os.environ, ROS_DOMAIN_ID=str(self.domain), ROS_LOG_DIR=str(self.folder))
        env.update(
            ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST", PYTHONUNBUFFERED="1", **(environment or {})
        )
        words = ["--ros-args", "-r", f"__ns:={space}", *words]
        with self.log.open("w") as log:
            program = PRELUDE + ENTRIES[entry]
            self.process = processes.start(program, words, env, log, fresh)
        return space

    def text(self):
        return self.log.read_text(errors="replace")

    def until(self, condition, timeout=300.0):
        end = time.monotonic() + timeout
        while not condition():
            assert self.process.poll() is None, self.text()
            assert time.monotonic() < end, self.text()
            time.sleep(0.002)

    def wait_for(self, words):
        self.until(lambda: words in self.text())

    def stop(self, phase, before=lambda: None, stall=None):
        """Send one to three signals and wait for the end of the node; fail if the end is late.

        Returns:
            The time of the first signal [s], and the time for which the node waited for a
            processor [s], counted from the first signal or from the making of `stall`.
        """
        pauses = [0.0, *(self.random.uniform(0.0, APART) for _ in range(self.random.randrange(3)))]
        send = self.random.choice((os.kill, os.killpg))
        numbers = [self.random.choice(SIGNALS) for _ in pauses]
        before()
        stall = stall or Stall(self.process.pid)
        first, naps = time.monotonic(), 0
        for pause, number in zip(pauses, numbers, strict=True):
            time.sleep(pause)
            if self.process.poll() is None:
                with suppress(ProcessLookupError):
                    send(self.process.pid, number)
        what = f"{phase}: {[int(number) for number in numbers]} {pauses} by {send.__name__}"
        while self.process.poll() is None and time.monotonic() < first + HANGS:
            time.sleep(NAP)
            naps += 1
            stall.update()
        took, stalled = naps * NAP, stall.seconds
        assert took < END + stalled, (what, took, stalled, self.text())
        forced = TEXT in self.text()
        assert self.process.returncode == 0 or forced, (what, self.process.returncode, self.text())
        assert "Traceback" not in self.text(), (what, self.text())
        self.by_force += forced
        self.times.setdefault(phase, []).append((time.monotonic() - first, took))
        return first, stalled

    def forget(self, *clients):
        for client in clients:
            self.peer.clients = {k: c for k, c in self.peer.clients.items() if c is not client}
            self.peer.node.destroy_client(client)

    def report(self):
        """Print the times until the end in each phase [s], by the clock and in counted sleeps."""
        print()
        for phase, times in self.times.items():
            (took, counted), worst = np.median(times, axis=0), np.max(times, axis=0)
            text = f"median {took:.3f}, worst {worst[0]:.3f}"
            print(f"{phase:12} {len(times):5}  {text}; in naps {counted:.2f}, {worst[1]:.2f}")
        print(f"{self.by_force} ended by force")

    def close(self):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()


@pytest.fixture
def storm(peer, tmp_path, domain, request):
    storm = Storm(peer, tmp_path, domain, seed=request.config.getoption("--stops"))
    yield storm
    storm.close()
    storm.report()


# Phases: each function starts a node, stops it in one phase, and checks its end.


def starting(storm):
    """Stop a node during its imports."""
    storm.start("simulator", fresh=True)
    storm.wait_for("begun")
    time.sleep(storm.random.uniform(0.0, 1.5))
    storm.stop("imports")


def compiling(storm):
    """Stop a node while the engine is compiled, in the node and in its helper process."""
    folder = storm.folder / f"cache{next(storm.count)}"
    storm.start("simulator", environment={"XDG_CACHE_HOME": str(folder)})
    storm.wait_for("compiling the engine")
    time.sleep(storm.random.uniform(0.0, 3.0))
    storm.stop("compile")


def configuring(storm):
    storm.start(storm.random.choice(("simulator", "arm_controller")))
    storm.wait_for("begun")
    time.sleep(storm.random.uniform(0.0, 0.5))
    storm.stop("configure")


def running(storm):
    storm.start("simulator")
    storm.wait_for("simulating '")
    storm.stop("running")


def recording(storm):
    path = storm.folder / f"run{next(storm.count)}.mcap"
    storm.start("simulator", record=path)
    storm.wait_for("simulating '")
    time.sleep(storm.random.uniform(0.1, 0.3))
    storm.stop("recording")
    assert path.read_bytes().endswith(MAGIC)  # the index at the end of the file is complete
    assert (np.diff(read_run(path).time) > 0.0).all()
    assert f"recorded {path}" in storm.text()
    path.unlink()


def answering(storm):
    """Stop a node while one service makes many steps and other requests wait."""
    space = storm.start("simulator", start_paused="true")
    storm.wait_for("simulating '")
    step = storm.peer.client(StepSimulation, f"{space}/simulator/step_simulation")
    hashed = storm.peer.client(Trigger, f"{space}/simulator/state_hash")
    steps = step.call_async(StepSimulation.Request(steps=10**6))

    def ask():
        for _ in range(20):
            hashed.call_async(Trigger.Request())

    storm.peer.spin(storm.random.uniform(0.0, 0.1))
    storm.stop("answering", ask)
    storm.peer.spin(0.01)
    assert not steps.done() or steps.result().result.result != Result.RESULT_OK
    storm.forget(step, hashed)


def shutting_down(storm):
    space = storm.start("simulator")
    storm.wait_for("simulating '")
    name = f"{space}/simulator/change_state"
    client = storm.peer.client(ChangeState, name)
    request = ChangeState.Request()
    request.transition.id = Transition.TRANSITION_ACTIVE_SHUTDOWN

    def shut_down():
        client.call_async(request)
        time.sleep(storm.random.uniform(0.0, 0.1))

    storm.stop("shutdown", shut_down)
    storm.forget(client)


def armed(storm):
    with armed_arm(storm, state_timeout=1.0, simulated_clock="true") as driver:
        first, stalled = storm.stop("armed")
        time.sleep(0.02)  # the last commands may still arrive
        late = driver.states_between(first, max(driver.commands))
        assert late <= LAST_EFFORT + RATE * stalled, (late, stalled)
        assert "shut down while armed" in storm.text() or TEXT in storm.text()


@contextmanager
def armed_arm(storm, **given):
    """Start a controller, arm its arm, and yield the Driver of this arm."""
    given |= {"dry_run": "false", "mode": "gravity", "arm_without_effort": "true"}
    given["start_up_test"] = "false"  # the arm is a stand-in that does not move
    space = storm.start("arm_controller", **given)
    driver = Driver(storm.peer, space)
    try:
        storm.wait_for("controlling '")
        client = storm.peer.client(Trigger, f"{space}/arm_controller/arm")
        arm_it(storm, client)
        storm.until(lambda: len(driver.commands) > 20)
        yield driver
        storm.forget(client)
    finally:
        driver.close()


def arm_it(storm, client):
    """Repeat the request to arm until it succeeds."""
    answers = []

    def ask():
        client.call_async(Trigger.Request()).add_done_callback(
            lambda future: answers.append(future.result().success)
        )

    storm.peer.repeat(ask, lambda: any(answers), 0.1)


#: For each phase: how often a cycle of stops has it.
PHASES = {starting: 1, configuring: 2, running: 1, recording: 1, answering: 1, shutting_down: 1}
PHASES |= {armed: 3, compiling: 1}


def test_signals_in_every_phase_end_a_node_in_time(storm, request):
    count = request.config.getoption("--stops")
    turns = [*PHASES, *(phase for phase, often in PHASES.items() for _ in range(often - 1))]
    for phase in itertools.islice(itertools.cycle(turns), count):
        phase(storm)


def test_an_arm_controller_answers_a_running_request_before_it_ends(storm):
    space = storm.start("slow_arm_controller")
    storm.wait_for("idle; disarmed")
    arm = storm.peer.client(Trigger, f"{space}/arm_controller/arm")
    arm.call_async(Trigger.Request())
    storm.wait_for("asked to arm")
    storm.stop("request")
    assert "the topics end" not in storm.text()
    storm.forget(arm)


@pytest.mark.parametrize("ends", [False, True])
def test_a_controller_sends_no_old_efforts_after_its_process_was_paused(storm, ends):
    """After Ctrl-Z or a sleep of the machine, waiting states are old."""
    with armed_arm(storm, state_timeout=PAUSE / 3) as driver:
        os.kill(storm.process.pid, signal.SIGSTOP)
        stopped = time.monotonic()
        time.sleep(PAUSE)
        if ends:
            os.kill(storm.process.pid, signal.SIGTERM)
        stall, seen, woken = Stall(storm.process.pid), len(driver.commands), time.monotonic()
        os.kill(storm.process.pid, signal.SIGCONT)
        if not ends:
            storm.wait_for("fault age: the newest state is")
            time.sleep(0.2)
        _, stalled = storm.stop("after a pause", stall=stall)
        time.sleep(0.05)
    assert woken - stopped >= PAUSE
    late = LAST_EFFORT + RATE * stalled
    for answered in driver.commands[seen:]:
        assert driver.states_between(answered, woken) <= late, stalled
        assert not ends or driver.states_between(woken, answered) <= late, stalled


@pytest.mark.parametrize("entry", ["simulator", "arm_controller"])
def test_a_second_start_names_the_process_that_already_runs(simulate, control, entry):
    """A stopped process does not answer, so the second start searches the list of processes."""
    robot = "-p", f"urdf:={ROBOT}"
    begin = {
        "simulator": lambda wait: simulate("--ros-args", *robot, entry="node", wait=wait),
        "arm_controller": lambda wait: control(ROBOT, wait),
    }[entry]
    first = begin(True)
    pid = first.process.pid
    os.kill(pid, signal.SIGSTOP)
    second = begin(False)
    second.wait_for(f"process {pid} (stopped) of this machine also runs a node /{entry}")
    os.kill(pid, signal.SIGCONT)
    second.end_well()
    third = begin(False)
    third.wait_for(f"process {pid} of this machine also runs a node /{entry}")
    if entry == "simulator":
        assert third.process.wait(60.0) == 2
        assert f"publishes /joint_states already (process {pid}); end it" in third.text()
    else:
        third.wait_for(f"another controller is called /arm_controller (process {pid})")
        third.end_well()
    first.end_well()
