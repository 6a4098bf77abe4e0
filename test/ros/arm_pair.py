# SPDX-License-Identifier: Apache-2.0
"""A simulated arm and its controller in two processes, and helpers of their tests."""

import functools
import threading

import numpy as np
import rclpy.subscription
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger

#: QoS that keeps only the newest message, so that a slow subscriber delays no other one.
NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
#: QoS that keeps all states in lock-step, even if the test reads them slowly.
ALL = QoSProfile(depth=10_000)
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)

_INFO = getattr(rclpy.subscription, "MessageInfo", None)
#: True if rclpy gives the publisher of a message. Otherwise the controller counts publishers.
SENDERS_KNOWN = "publisher_gid" in getattr(_INFO, "__annotations__", {})

#: A UR5 with its elbow bent, far from its limits.
UR5_START = {
    "shoulder_lift_joint": -1.2,
    "elbow_joint": 1.4,
    "wrist_1_joint": -0.6,
    "wrist_2_joint": 0.5,
}
PANDA_START = {
    "panda_joint2": -0.5,
    "panda_joint4": -2.0,
    "panda_joint6": 1.6,
    "panda_joint7": 0.7,
    "panda_finger_joint1": 0.02,
}
SEVEN_START = {"shoulder_pitch": 0.5, "elbow_pitch": 0.7, "wrist_pitch": 0.4}


class Watched:
    """The received states of an arm."""

    def __init__(self, peer, topic="joint_states", qos=NEWEST):
        self.peer, self.names = peer, []
        self.rows = []  # time, positions, velocities, efforts
        peer.node.create_subscription(JointState, topic, self._take, qos)

    def _take(self, message):
        self.names = list(message.name)
        stamp = message.header.stamp
        row = message.position, message.velocity, message.effort
        self.rows.append((stamp.sec + 1e-9 * stamp.nanosec, *map(np.array, row)))

    @property
    def time(self):
        return self.rows[-1][0]

    @property
    def position(self):
        return self.rows[-1][1]

    @property
    def speed(self):
        return np.abs(self.rows[-1][2]).max()

    def wait(self, seconds):
        """Wait for some simulated seconds; return the states since the call."""
        first, end = len(self.rows), self.time + seconds
        self.peer.until(lambda: self.time >= end, 120.0 + 30.0 * seconds)
        return self.rows[first:]

    def until_moving(self, first, speed, again=lambda: None):
        """Wait for the first state with a joint faster than `speed`; return its row number.

        Rows from number `first` on are searched, because simulated time does not wait for the
        test. `again` repeats the action that moves the arm, as its message may be lost.
        """
        seen = first

        def moves():
            nonlocal seen
            while seen < len(self.rows):
                if np.abs(self.rows[seen][2]).max() > speed:
                    return True
                seen += 1
            return False

        self.peer.until(moves, again=again)
        return seen

    def rest(self, speed=1e-3, seconds=0.1):
        """Wait until no joint was faster than `speed` for some seconds; return the positions."""
        self.peer.until(
            lambda: all(np.abs(row[2]).max() < speed for row in self.wait(seconds)), 120.0
        )
        return self.position


class Pair:
    """A simulated arm and its controller.

    Args:
        simulator, controller: processes of the arm and of the controller.
        peer: node of the test.
        space: namespace of both nodes with a slash behind it, or ''.
        qos: QoS of the subscription to the states.
        begin: function that starts another controller, or None.
    """

    def __init__(self, simulator, controller, peer, space="", qos=NEWEST, begin=None):
        self.simulator, self.controller, self.peer, self.space = simulator, controller, peer, space
        self._begin = begin
        self.node, self._status = f"{space}arm_controller", None
        self.arm = Watched(peer, f"{space}joint_states", qos)
        self.said, self.reports, self.commands = [], [], 0
        peer.node.create_subscription(JointState, f"{space}joint_commands", self._count, NEWEST)
        self._hear()
        peer.node.create_subscription(DiagnosticArray, "/diagnostics", self._report, 10)
        self.until(lambda: self.arm.rows and self.said)

    def _hear(self):
        """Subscribe to the status again, because its newest message may have been lost."""
        if self._status is not None:
            self.peer.node.destroy_subscription(self._status)
        heard = lambda message: self.said.append(message.data)  # noqa: E731
        topic = f"{self.node}/status"
        self._status = self.peer.node.create_subscription(String, topic, heard, LATCHED)

    def until(self, condition, again=lambda: None, every=10.0):
        """Wait for a condition; repeat again() every some seconds, in case a message was lost."""
        self.peer.until(condition, again=lambda: (self._hear(), again()), every=every)

    def _report(self, message):
        for status in message.status:
            if status.name == f"{self.node}: arm":
                values = {pair.key: pair.value for pair in status.values}
                self.reports.append((status.level[0], status.message, values))

    def _count(self, _message):
        self.commands += 1

    def restart_controller(self):
        """Kill the controller, start another one, and wait until it controls the arm."""
        self.controller.kill()
        self.said.clear()
        self.controller = self._begin()
        self.until(lambda: self.said)

    def commands_in(self, seconds):
        """Return the number of commands that arrive in some simulated time."""
        before = self.commands
        self.arm.wait(seconds)
        return self.commands - before

    def until_commanded(self, *unless):
        """Wait for a new command, or for a status that ends with one of the words `unless`."""
        before = self.commands
        self.until(lambda: self.commands > before or self.said[-1].endswith(unless))

    def ask(self, name, **others):
        """Call a service of the controller; return the text of its refusal, or ''."""
        others.setdefault("again", 10.0)  # arming twice has no effect
        answer = self.peer.call(Trigger, f"{self.node}/{name}", Trigger.Request(), **others)
        return "" if answer.success else answer.message

    def do(self, *names):
        for name in names:
            said = self.ask(name)
            assert said == "", (name, said)

    def arm_it(self, mode="gravity"):
        """Arm the arm in a mode as soon as the arm rests, and wait until it is armed."""
        self.do(mode)
        self.arm.rest(0.04)
        self.until_arming(lambda why: why == "")
        self.until_said("armed")

    def until_arming(self, ends):
        """Ask to arm until ends(refusal) is true; the refusal is '' once the arm is armed."""
        why = [""]

        def asked():
            why[0] = self.ask("arm")
            if "stalled, call clear_fault" in why[0]:  # a slow machine delays /clock
                self.do("clear_fault")
            return ends(why[0])

        try:
            self.peer.until(asked)
        except AssertionError:
            raise AssertionError(f"arming ends with '{why[0]}'") from None

    def until_said(self, *words):
        """Wait for a status that contains all these words."""
        try:
            self.until(lambda: all(word in self.said[-1] for word in words))
        except AssertionError:
            raise AssertionError(f"expected {words}, got the statuses {self.said[-5:]}") from None

    def push(self, link, *force):
        """Push a link for 0.1 s with a force [N] in the link's axes; return when the arm moves."""
        wrench = WrenchStamped()
        wrench.header.frame_id = link
        wrench.wrench.force.x, wrench.wrench.force.y, wrench.wrench.force.z = map(float, force)
        publisher = self.peer.publisher(WrenchStamped, f"{self.space}simulator/wrench")
        first = len(self.arm.rows)
        push = lambda: publisher.publish(wrench)  # noqa: E731
        push()
        self.arm.until_moving(first, 0.05, push)
        self.peer.node.destroy_publisher(publisher)

    def report(self):
        """Return level, message and values of the next report of /diagnostics."""
        seen = len(self.reports)
        self.peer.until(lambda: len(self.reports) > seen)
        return self.reports[-1]

    def end_well(self):
        self.controller.end_well()
        self.simulator.end_well()


class Relay:
    """A relay that passes states of the arm to its controller, in its own thread.

    Args:
        peer: peer of the test, whose context the relay uses.
        source: topic of the true states.
        to: topic of the states that the controller reads.
        make_executor: makes the executor of the thread.

    Attributes:
        change: function from a true state to the state that is passed on, or None to drop it.
        node: node of the relay, which may have further publishers.
    """

    def __init__(
        self,
        peer,
        source="joint_states",
        to="relayed_states",
        make_executor=lambda context: SingleThreadedExecutor(context=context),
    ):
        import rclpy

        self.change = lambda state: state
        self.node = rclpy.create_node("relay", context=peer.context)
        self._publisher = self.node.create_publisher(JointState, to, 10)
        self.node.create_subscription(JointState, source, self._pass_on, 10)
        self._executor = make_executor(peer.context)
        self._executor.add_node(self.node)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        while not self._ended.is_set():
            self._executor.spin_once(timeout_sec=0.05)

    def _pass_on(self, state):
        changed = self.change(state)
        if changed is not None:
            self._publisher.publish(changed)

    def close(self):
        self._ended.set()
        self._thread.join()
        self._executor.shutdown()
        self.node.destroy_node()


def start_arm(simulate, urdf, start, rate=1000, space="", lockstep=False, more=()):
    """Start to simulate an arm that holds its position without commands; return the process.

    The simulator may still be starting.

    Args:
        simulate: fixture that starts a simulator.
        urdf: path of the robot's file.
        start: positions by joint; other joints start at 0.
        rate: rate of the states [Hz].
        space: namespace, with a slash behind it.
        lockstep: whether each tick after the first command waits for its command.
        more: further words of the simulator's command line.
    """
    words = [
        *more,
        "-p",
        f"urdf:={urdf}",
        "-p",
        "on_timeout:=hold",
        "-p",
        f"publish_rate:={float(rate)}",
    ]
    for name, position in start.items():
        words += ["-p", f"initial_positions.{name}:={position}"]
    if lockstep:  # before the first command the simulator waits for this timeout once
        words += ["-p", "time_mode:=lockstep", "-p", "lockstep_timeout:=2.0"]
        words += ["-p", f"control_decimation:={1000 // rate}"]
    if space:
        words += ["-r", f"__ns:=/{space.rstrip('/')}"]
    # in lock-step the controller uses /clock, so a slow machine does not make states old
    return simulate("--ros-args", *words, entry="node", wait=False, clock=lockstep)


def start_pair(
    simulate,
    control,
    peer,
    urdf,
    start,
    rate=1000,
    mode="gravity",
    space="",
    lockstep=False,
    more=(),
    **others,
):
    """Start an arm and its controller at the same time; return the Pair when they are connected.

    Args:
        simulate, control, peer: fixtures of conftest.py.
        urdf, start, rate, space, lockstep, more: arguments of start_arm.
        mode: mode of the controller.
        others: parameters of the controller, and `remap` for the fixture `control`.
    """
    simulator = start_arm(simulate, urdf, start, rate, space, lockstep, more)
    if lockstep:
        others["use_sim_time"] = "true"  # so the simulator may run at any speed
    if space:
        others["remap"] = {"__ns": f"/{space.rstrip('/')}"}
    # a busy machine delays states and the simulator's clock
    patient = {"state_timeout": 1.0, "simulated_clock": "true"}
    begin = functools.partial(control, urdf, mode=mode, **patient | others)
    controller = begin()
    simulator.wait_for("simulating '")
    return Pair(simulator, controller, peer, space, ALL if lockstep else NEWEST, begin)
