# SPDX-License-Identifier: Apache-2.0
"""Fixtures: nodes in their own processes, as a user starts them, and a peer node in the test.

Timeouts only limit hangs, so they are long: a busy machine may compile for minutes.
"""

import itertools
import math
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from support import domains, processes

_count = itertools.count()
domain = domains.domain
STARTED = "simulating '"
CONTROLLING = "controlling '"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """Add the output of the test's nodes to the report of a failed test."""
    report = yield
    if report.failed and "tmp_path" in item.funcargs:
        for log in sorted(item.funcargs["tmp_path"].glob("log*.txt")):
            lines = log.read_text(errors="replace").splitlines(keepends=True)
            report.sections.append((f"end of {log.name}", "".join(lines[-20:])))
    return report


class Simulator:
    """A node, mostly `rbdyn sim`, in its own process, whose output goes to a file."""

    def __init__(self, folder, domain, *arguments, entry="cli", prelude="", fresh=False):
        self.log = folder / f"log{next(_count)}.txt"
        self.domain = domain
        env = dict(os.environ, ROS_DOMAIN_ID=str(domain), ROS_LOG_DIR=str(folder))
        env.update(ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST", PYTHONUNBUFFERED="1")
        if fresh:
            env.pop("FASTDDS_BUILTIN_TRANSPORTS", None)  # see test/conftest.py
        code = {
            "cli": "import sys; sys.argv[1:1] = ['sim', '--no-view']; "
            "from rbdyn_ros.cli import main; main()",
            "node": "from rbdyn_ros.__main__ import simulator; simulator()",  # as `ros2 run` does
            "arm": "from rbdyn_ros.__main__ import arm_controller; arm_controller()",
            "policy": "from rbdyn_ros.__main__ import policy_node; policy_node()",
        }
        with self.log.open("w") as log:
            program = f"{prelude}\n{code[entry]}"
            self.process = processes.start(program, arguments, env, log, fresh)

    def text(self):
        return self.log.read_text()

    def wait_for(self, words, timeout=600.0):
        until(lambda: words in self.text() or self.process.poll() is not None, timeout)
        assert words in self.text(), f"'{words}' is not in the output:\n{self.text()}"

    def end(self, number=signal.SIGINT):
        self.process.send_signal(number)
        return self.process.wait(120.0)

    def end_well(self, number=signal.SIGINT):
        """End the node by a signal, by default as Ctrl-C does; check that its end is clean."""
        status = self.end(number)
        assert status == 0, self.text()
        assert "Traceback" not in self.text()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Commander:
    """A process that runs commander.py."""

    def __init__(self, domain, *arguments):
        env = dict(os.environ, ROS_DOMAIN_ID=str(domain))
        env.update(ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST")
        script = Path(__file__).with_name("commander.py")
        self.process = subprocess.Popen(
            [sys.executable, script, *map(str, arguments)],
            env=env,
            stdout=subprocess.PIPE,
            text=True,
        )

    def wait(self, timeout=300.0):
        """Wait until the process ends without an error; return its output."""
        said, _ = self.process.communicate(timeout=timeout)
        assert self.process.returncode == 0
        return said

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Peer:
    """The test's own node, which collects messages, sends commands and calls services."""

    def __init__(self, domain):
        import rclpy
        from rclpy.executors import SingleThreadedExecutor

        self.context = rclpy.Context()
        rclpy.init(context=self.context, domain_id=domain)
        self.node = rclpy.create_node("peer", context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.clients = {}

    def collect(self, kind, topic, qos=10):
        """Subscribe to a topic; return the list to which its messages are appended."""
        messages = []
        self.node.create_subscription(kind, topic, messages.append, qos)
        return messages

    def hear(self, kind, topic, qos=10):
        """Subscribe to a topic and wait for a message; return the list of its messages."""
        messages = self.collect(kind, topic, qos)
        self.until(lambda: messages)
        return messages

    def publisher(self, kind, topic):
        """Return a publisher that has a subscriber."""
        publisher = self.node.create_publisher(kind, topic, 10)
        self.until(lambda: publisher.get_subscription_count() > 0)
        return publisher

    def send(self, kind, topic, message):
        """Publish one message, and wait until its subscriber has received it."""
        from rclpy.duration import Duration

        publisher = self.publisher(kind, topic)
        publisher.publish(message)
        assert publisher.wait_for_all_acked(Duration(seconds=120))
        self.node.destroy_publisher(publisher)

    def spin(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.executor.spin_once(timeout_sec=0.01)

    def until(self, condition, timeout=120.0, again=lambda: None, every=10.0):
        """Spin until condition() holds; call again() each `every` seconds; fail after timeout."""
        end, due = time.monotonic() + timeout, time.monotonic() + every
        while not condition():
            assert time.monotonic() < end, "the condition did not hold in time"
            if time.monotonic() >= due:
                again()
                due = time.monotonic() + every
            self.executor.spin_once(timeout_sec=0.01)

    def insist(self, publisher, message, condition, timeout=120.0):
        """Publish a message every 10 ms until a condition holds; fail after the timeout."""
        self.repeat(lambda: publisher.publish(message), condition, 0.01, timeout)

    def repeat(self, act, condition, every=10.0, timeout=120.0):
        """Call act() now and every `every` seconds until condition() holds; fail after timeout.

        One call may not suffice: a busy machine can lose a message.
        """
        act()
        self.until(condition, timeout, act, every)

    def until_tf(self, condition):
        """Wait for a condition on /tf; a paused simulator repeats /tf only for new subscribers."""
        from tf2_msgs.msg import TFMessage

        self.until(condition, again=lambda: self.collect(TFMessage, "/tf"))

    def client(self, kind, name):
        """Return the client of a service that has been discovered."""
        known = (kind, name) in self.clients
        if not known:
            self.clients[kind, name] = self.node.create_client(kind, name)
        client = self.clients[kind, name]
        if not known or not client.service_is_ready():
            self.until(client.service_is_ready)
            self.spin(0.05)  # the server must also discover the client
        return client

    def call(self, kind, name, request, again=None):
        """Call a service and return its response.

        A request without an answer is repeated after the time `again` [s], as a busy machine may
        lose an answer. By default only harmless requests are repeated, after 10 s.
        """
        if again is None:
            again = 10.0 if is_harmless(kind, name) else math.inf
        client, futures = self.client(kind, name), []
        ask = lambda: futures.append(client.call_async(request))  # noqa: E731
        self.repeat(ask, lambda: any(future.done() for future in futures), again)
        return next(future.result() for future in futures if future.done())

    def pause(self, paused):
        from std_srvs.srv import SetBool

        answer = self.call(SetBool, "simulator/pause", SetBool.Request(data=paused))
        assert answer.success, answer.message

    def trigger(self, name):
        """Call a service without arguments, which must succeed; return its message."""
        from std_srvs.srv import Trigger

        answer = self.call(Trigger, name, Trigger.Request())
        assert answer.success, answer.message
        return answer.message

    def set_parameters(self, values, node="simulator"):
        """Set parameters of a node; return for each the reason of its refusal, or ''."""
        from rcl_interfaces.srv import SetParameters
        from rclpy.parameter import Parameter

        changes = [
            Parameter(name, value=value).to_parameter_msg() for name, value in values.items()
        ]
        request = SetParameters.Request(parameters=changes)
        results = self.call(SetParameters, f"{node}/set_parameters", request).results
        return ["" if result.successful else result.reason for result in results]

    def close(self):
        self.executor.shutdown()
        self.node.destroy_node()
        self.context.try_shutdown()


def is_harmless(kind, name):
    """Return whether a request to a service may be repeated without a further effect."""
    harmless = (
        *("Get", "SetBool", "SetGravity", "SetParameters", "SetPayload", "SetSurfaceVelocity"),
        "SaveState",
    )
    return kind.__name__.startswith(harmless) or name.endswith(("/state_hash", "/clear_wrenches"))


def until(condition, timeout):
    end = time.monotonic() + timeout
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)


def is_fresh(request):
    """Return whether a test starts fresh processes instead of forks, see support/processes.py."""
    return request.node.get_closest_marker("fresh_start") is not None


@contextmanager
def simulators(folder, domain, fresh=False):
    """Yield the function of the fixture `simulate`; end its simulators afterwards."""
    started = []

    def start(*arguments, wait=True, entry="cli", clock=False, prelude=""):
        if not clock:
            arguments = [*arguments, "--ros-args", "-p", "publish_clock:=false"]
        more = {"entry": entry, "prelude": prelude, "fresh": fresh}
        simulator = Simulator(folder, domain, *arguments, **more)
        started.append(simulator)
        if wait:
            simulator.wait_for(STARTED)
        return simulator

    yield start
    for simulator in started:
        simulator.kill()


@pytest.fixture
def simulate(request, tmp_path, domain):
    """Yield simulate(*arguments), which starts a simulator that ends with the test.

    A simulator publishes /clock only if `clock` is true, because this delays its start by seconds.
    The Python code `prelude` runs first.
    """
    with simulators(tmp_path, domain, is_fresh(request)) as start:
        yield start


@contextmanager
def controllers(folder, domain, fresh=False):
    """Yield the function of the fixture `control`; end its controllers afterwards."""
    started = []

    def start(urdf, wait=True, remap=None, prelude="", **parameters):
        given = {"urdf": urdf, "dry_run": "false", "start_up_test": "false", **parameters}
        words = [w for name, value in given.items() for w in ("-p", f"{name}:={value}")]
        words += [w for name, other in (remap or {}).items() for w in ("-r", f"{name}:={other}")]
        words = ["--ros-args", *words]
        more = {"entry": "arm", "prelude": prelude, "fresh": fresh}
        controller = Simulator(folder, domain, *words, **more)
        started.append(controller)
        if wait:
            controller.wait_for(CONTROLLING)
        return controller

    yield start
    for controller in started:
        controller.kill()


@pytest.fixture
def control(request, tmp_path, domain):
    """Yield control(urdf, name="value", ...), which starts an arm controller with parameters.

    The controller ends with the test. Its start-up test is off unless start_up_test is "true".
    `remap` gives new names of topics, and `__ns` the namespace. The code `prelude` runs first.
    """
    with controllers(tmp_path, domain, is_fresh(request)) as start:
        yield start


@pytest.fixture
def policy_node(tmp_path, domain):
    """Yield policy_node(path, *arguments), which starts a policy node that ends with the test."""
    started = []

    def start(path, *arguments):
        words = ("--ros-args", "-p", f"policy:={path}", *arguments)
        started.append(Simulator(tmp_path, domain, *words, entry="policy"))
        return started[-1]

    yield start
    for node in started:
        node.kill()


@pytest.fixture
def command(domain):
    """Yield command(joints, end, *options), which starts a Commander that ends with the test."""
    started = []

    def start(*arguments):
        started.append(Commander(domain, *arguments))
        return started[-1]

    yield start
    for commander in started:
        commander.kill()


@contextmanager
def node_of_the_test(domain):
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    peer = Peer(domain)
    yield peer
    peer.close()


@pytest.fixture
def peer(domain):
    with node_of_the_test(domain) as peer:
        yield peer


@pytest.fixture
def ask(peer):
    """Return ask("GetEntities", ...), which calls a standard service of /simulator by its type."""

    def call(kind, **fields):
        from simulation_interfaces import srv

        name = "".join(f"_{c.lower()}" if c.isupper() else c for c in kind).lstrip("_")
        message = getattr(srv, kind)
        return peer.call(message, f"/simulator/{name}", message.Request(**fields))

    return call


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Yield an object with simulate, control and peer, which all tests of a module share."""
    folder = tmp_path_factory.mktemp("shared")
    with (
        domains.free_domain() as domain,
        simulators(folder, domain) as simulate,
        controllers(folder, domain) as control,
        node_of_the_test(domain) as peer,
    ):
        yield SimpleNamespace(simulate=simulate, control=control, peer=peer)


TWO_JOINTS = """<robot name="two">
  <link name="base"><inertial><mass value="3"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <joint name="lift" type="prismatic"><parent link="base"/><child link="car"/>
    <axis xyz="1 0 0"/><limit lower="0.5" upper="2" effort="8" velocity="10"/></joint>
  <link name="car"><inertial><mass value="2"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <joint name="turn" type="continuous"><origin xyz="0 0 0.3"/><parent link="car"/>
    <child link="arm"/><axis xyz="0 1 0"/></joint>
  <link name="arm"><inertial><origin xyz="0.2 0 0"/><mass value="1"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
  <joint name="mount" type="fixed"><origin xyz="0.4 0 0" rpy="0 0 1"/><parent link="arm"/>
    <child link="tool"/></joint>
  <link name="tool"/>
</robot>
"""


@pytest.fixture
def two_joints(tmp_path) -> Path:
    """Return the URDF file of the robot `two`, whose slide `lift` cannot be at 0."""
    path = tmp_path / "two.urdf"
    path.write_text(TWO_JOINTS)
    return path
