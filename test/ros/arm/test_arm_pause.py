# SPDX-License-Identifier: Apache-2.0
"""After a pause of its process the controller does not answer earlier states."""

import threading
import time

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

import rclpy
from arm_pair import ALL
from arm_stand_ins import message_log
from rclpy.time import Time
from sensor_msgs.msg import JointState

import rbdyn_ros as rb
from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.control.arm.settings import ControlSettings
from rbdyn_ros.control.base.limits import Limits
from rbdyn_ros.control.controller import Controller
from rbdyn_ros.control.states.gate import GateSettings, SafetyGate
from rbdyn_ros.ros.arm.topics import ArmTopics
from rbdyn_ros.share import bundled_robot

#: Largest age of a state, and a longer pause [s].
TIMEOUT, PAUSE = 2.0, 2.3


@pytest.fixture
def topics(domain):
    """The topics of an arm at rest; the test spins them."""
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


def test_no_state_from_before_a_pause_is_answered(peer, topics):
    """The executor hands over, after the pause, a state that came before it."""
    controller = topics._controller
    answered = []
    peer.node.create_subscription(JointState, "joint_commands", answered.append, ALL)
    publisher = peer.publisher(JointState, "joint_states")

    def send():
        zeros = [0.0] * len(controller.names)
        state = JointState(name=list(controller.names), position=zeros, velocity=zeros)
        state.header.stamp = Time(nanoseconds=time.monotonic_ns()).to_msg()
        publisher.publish(state)
        return state.header.stamp

    def spin(condition):
        peer.until(lambda: (topics._executor.spin_once(timeout_sec=0.01), condition())[1])

    spin(lambda: (send(), controller.states)[1])
    controller.set_mode("hold")
    controller._begin_armed()  # a busy machine sends too few states to arm an arm
    spin(lambda: (send(), answered)[1])
    topics._watch()
    before = send()
    time.sleep(PAUSE)
    seen = controller.states + controller.refused
    spin(lambda: controller.states + controller.refused > seen)
    assert controller.fault.code == "age"
    peer.spin(0.2)
    assert before not in [answer.header.stamp for answer in answered]
