# SPDX-License-Identifier: Apache-2.0
"""After a pause of its process the controller ignores old states, but not stamps set back."""

import threading
import time

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

import rclpy
from arm_pair import ALL
from arm_stand_ins import message_log
from sensor_msgs.msg import JointState

import rbdyn_ros as rb
from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.control.arm.settings import ControlSettings
from rbdyn_ros.control.base.limits import Limits
from rbdyn_ros.control.controller import Controller
from rbdyn_ros.control.states.gate import GateSettings, SafetyGate
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.ros.arm.topics import ArmTopics
from rbdyn_ros.share import bundled_robot

#: Largest allowed age of a state, and a pause that exceeds this age [s].
TIMEOUT, PAUSE = 2.0, 2.3


@pytest.fixture
def topics(domain):
    """Yield the topics of an arm at rest; the test spins them."""
    rclpy.init(domain_id=domain)
    node = rclpy.create_node("arm_controller")
    m = rb.load_urdf(bundled_robot("seven_dof_arm"))
    settings = ControlSettings(dry_run=False, arm_without_effort=True, start_up_test=False)
    gate = SafetyGate(m, Limits.of(m), GateSettings(state_timeout=TIMEOUT))
    controller = Controller(Arm(m), gate, settings)
    log, stop = message_log(node), threading.Event()
    topics = ArmTopics(node, controller, "joint_commands", "reliable", "off", log, stop)
    topics.active = True
    yield topics
    topics.stop()
    node.destroy_node()
    rclpy.try_shutdown()


class Driver:
    """A driver that sends states of an arm at rest and stores the controller's answers."""

    def __init__(self, peer, topics):
        self.peer, self.topics, self.controller = peer, topics, topics._controller
        self.answered, self.offset = [], 0
        peer.node.create_subscription(JointState, "joint_commands", self.answered.append, ALL)
        self._publisher = peer.publisher(JointState, "joint_states")

    def send(self):
        """Send a state; return its stamp."""
        zeros = [0.0] * len(self.controller.names)
        state = JointState(name=list(self.controller.names), position=zeros, velocity=zeros)
        stamp, now = state.header.stamp, time.monotonic_ns() + self.offset
        stamp.sec, stamp.nanosec = divmod(now, NANOSECONDS)
        self._publisher.publish(state)
        return stamp

    def spin(self, condition):
        executor = self.topics._executor
        self.peer.until(lambda: (executor.spin_once(timeout_sec=0.01), condition())[1])

    def until_answered(self):
        """Send states until one of them is answered."""
        sent = []
        heard = lambda: [one for one in self.answered if one.header.stamp in sent]  # noqa: E731
        self.spin(lambda: (sent.append(self.send()), heard())[1])

    def arm_it(self):
        self.spin(lambda: (self.send(), self.controller.states)[1])
        self.controller.set_mode("hold")
        self.controller._begin_armed()  # try_arm would need more states than a busy machine sends
        self.until_answered()

    def pause(self):
        """Send a state, pause the process, then deliver the state; return its stamp."""
        self.topics._watch()
        before = self.send()
        time.sleep(PAUSE)
        seen = self.controller.states + self.controller.refused
        self.spin(lambda: self.controller.states + self.controller.refused > seen)
        assert self.controller.fault.code == "age"
        return before


def test_no_state_from_before_a_pause_is_answered(peer, topics):
    """The executor delivers this state only after the pause."""
    driver = Driver(peer, topics)
    driver.arm_it()
    before = driver.pause()
    peer.spin(0.2)
    assert before not in [answer.header.stamp for answer in driver.answered]


@pytest.mark.parametrize("paused", [False, True])
def test_the_controller_answers_states_whose_stamps_jump_back(peer, topics, paused):
    """Otherwise the arm would get no more efforts. Stamps before 1970 are included."""
    driver = Driver(peer, topics)
    topics._controller._blind.s.blind_time = 60.0  # longer than any pause
    driver.arm_it()
    if paused:
        driver.pause()
        driver.until_answered()
    driver.offset = -(2**31 - 10) * NANOSECONDS
    driver.until_answered()
    assert driver.controller.fault.code == ("age" if paused else "clock")
    assert driver.controller.ending[0] in ("braking", "holding")
