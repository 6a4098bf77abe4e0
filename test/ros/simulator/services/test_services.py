# SPDX-License-Identifier: Apache-2.0
"""Services and topics change a simulation over DDS; the robot is a replacement."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rbdyn_interfaces")

import rclpy
from geometry_msgs.msg import (
    Inertia,
    InertiaStamped,
    PoseStamped,
    Vector3,
    Vector3Stamped,
    WrenchStamped,
)
from rclpy.executors import SingleThreadedExecutor
from sensor_msgs.msg import JointState
from support.refusals import worded

import rbdyn_ros as rb
from rbdyn_interfaces.srv import (
    ApplyWrench,
    GetDynamics,
    GetIk,
    Reset,
    SetGravity,
    SetJointState,
    SetPayload,
)
from rbdyn_ros.errors import refusal
from rbdyn_ros.ros.common.queries.dynamics_query import Snapshot
from rbdyn_ros.ros.common.reports.answer import MessageLog
from rbdyn_ros.ros.simulator.services.services import ChangeTopics, TypedServices

ARM = "config/robots/seven_dof_arm.urdf"


class RestingRobot:
    """A stand-in for a robot, which appends each requested change to `asked`."""

    time_node = ""

    def __init__(self):
        self.m = rb.load_urdf(ARM)
        self.asked, self.warned = [], []
        d = rb.make_data(self.m)
        d.qpos, d.qvel = 0.4, 0.1
        self.now = Snapshot(self.m, d.qpos, d.qvel, 0.0, np.zeros((self.m.nbody, 6)))
        self.loop = SimpleNamespace(orders=SimpleNamespace(push=self._push))
        self.payloads = SimpleNamespace(
            set_payload=self._set_payload, set_gravity=lambda g: self._note("gravity", g)
        )
        self.reception = SimpleNamespace(log=MessageLog(self.warned.append))

    def set_joint_state(self, names, positions, velocities):
        self._note("state", list(names), list(positions), list(velocities))

    def _push(self, wrench, stream=""):
        self._note("push", wrench.body, wrench.in_body, wrench.force[0], wrench.duration, stream)

    def _set_payload(self, link, mass, com, inertia):
        if link not in self.m.frame_names:
            raise refusal(f"there is no link '{link}'")
        self._note("payload", link, mass, com, inertia)

    def reset(self, time, state, robot, seed):
        self._note("reset", time, state, robot, seed)

    def state_hash(self):
        return "5eed"

    def snapshot(self):
        return self.now, 2_000_000_003

    def _note(self, *what):
        self.asked.append(what)


@pytest.fixture
def robot(peer):
    robot = RestingRobot()
    node = rclpy.create_node("arm", context=peer.context)
    executor = SingleThreadedExecutor(context=peer.context)
    executor.add_node(node)
    TypedServices(node, robot, "world", "left/")
    ChangeTopics(node, robot, 0.25, "world", "left/")
    thread = threading.Thread(target=executor.spin, daemon=True)
    thread.start()
    yield robot
    executor.shutdown(5.0)
    thread.join(5.0)
    node.destroy_node()


def test_a_wrench_sent_on_the_topic_acts_for_an_hour_at_most(peer, robot):
    """A wrench lasts for command_timeout, here a million seconds, but at most for an hour."""
    node = rclpy.create_node("lasting", context=peer.context)
    peer.executor.add_node(node)
    ChangeTopics(node, robot, 1e6, "world")
    wrench = WrenchStamped()
    wrench.header.frame_id, wrench.wrench.force.x = "hand", 4.0
    send(peer, WrenchStamped, "/lasting/wrench", wrench, robot.asked)
    assert robot.warned == []
    assert robot.asked[0][4] == 3600.0
    node.destroy_node()


def call(peer, kind, service, **fields):
    return peer.call(kind, f"/arm/{service}", kind.Request(**fields))


def refused_with(answer, service, words):
    assert not answer.success
    assert words in answer.message
    worded(service, answer.message)


BODY = Inertia(m=2.0, com=Vector3(x=0.1, z=0.3), ixx=1.0, ixy=4.0, ixz=5.0, iyy=2.0, iyz=6.0)
BODY.izz = 3.0
NUMBERS = (2.0, (0.1, 0.0, 0.3), (1.0, 2.0, 3.0, 4.0, 5.0, 6.0))


def test_services_change_the_simulation(peer, robot):
    state = call(peer, SetJointState, "set_joint_state", name=["a"], position=[1.0])
    push = ApplyWrench.Request(link="tool_flange", axes="world")
    push.wrench.force.x, push.duration.nanosec = 3.0, 500_000_000
    pushed = peer.call(ApplyWrench, "/arm/apply_wrench", push)
    payload = call(peer, SetPayload, "set_payload", link="tool_flange", inertia=BODY)
    gravity = call(peer, SetGravity, "set_gravity", gravity=Vector3(z=-1.62))
    for answer in (state, pushed, payload, gravity):
        assert (answer.success, answer.message) == (True, "")
    body = int(robot.m.frame_bodyid[robot.m.frame_numbers["tool_flange"]])
    assert robot.asked == [
        ("state", ["a"], [1.0], []),
        ("push", body, False, 3.0, 0.5, ""),
        ("payload", "tool_flange", *NUMBERS),
        ("gravity", (0.0, 0.0, -1.62)),
    ]
    push.axes = "wrold"
    answer = peer.call(ApplyWrench, "/arm/apply_wrench", push)
    refused_with(answer, "apply_wrench", "'wrold' (did you mean 'world'?)")
    answer = call(peer, SetPayload, "set_payload", link="hnad")
    refused_with(answer, "set_payload", "'hnad'")


def test_reset_with_resets_only_the_requested_parts(peer, robot):
    answer = call(peer, Reset, "reset_with", state=True, reseed=True, seed=7)
    assert (answer.success, answer.message, answer.state_hash) == (True, "", "5eed")
    assert call(peer, Reset, "reset_with", time=True, seed=7).success
    assert call(peer, Reset, "reset_with", robot=True).success
    assert robot.asked == [
        ("reset", False, True, False, 7),
        ("reset", True, False, False, None),
        ("reset", False, False, True, None),
    ]
    answer = call(peer, Reset, "reset_with", reseed=True, seed=-1)
    refused_with(answer, "reset_with", "seed is -1")
    refused_with(call(peer, Reset, "reset_with"), "reset_with", "nothing to reset")
    assert len(robot.asked) == 3


def test_get_dynamics_returns_the_requested_terms(peer, robot):
    m = robot.m
    names = [name for name, n in zip(m.jnt_names, m.jnt_dofnum, strict=True) if n][:1:-1]
    answer = call(
        peer,
        GetDynamics,
        "get_dynamics",
        name=names,
        use_current_state=True,
        mass_matrix=True,
        gravity_effort=True,
        energy=True,
        jacobian_frame="tool_flange",
    )
    assert (answer.success, answer.message) == (True, "")
    d = rb.make_data(m)
    d.qpos, d.qvel = robot.now.qpos, robot.now.qvel
    k = [m.jnt_dofadr[m.jnt_names.index(name)] for name in names]
    assert list(answer.name) == names
    assert answer.model_sha256 == m.sha256()
    assert (answer.stamp.sec, answer.stamp.nanosec) == (2, 3)
    n = len(names)
    M, J = rb.mass_matrix(m, d), rb.frame_jacobian(m, d, "tool_flange")
    assert np.array_equal(np.reshape(answer.mass_matrix, (n, n)), M[np.ix_(k, k)])
    assert np.array_equal(np.reshape(answer.jacobian, (6, n)), J[:, k])
    assert np.array_equal(answer.gravity_effort, rb.gravity_term(m, d)[k])
    assert answer.potential_energy == rb.potential_energy(m, d)
    assert len(answer.coriolis_matrix) == len(answer.forward_dynamics) == 0
    answer = call(peer, GetDynamics, "get_dynamics", name=["elbow", "elbow"])
    refused_with(answer, "get_dynamics", "'elbow'")


def test_get_ik_returns_a_configuration(peer, robot):
    m = robot.m
    d = rb.make_data(m)
    d.qpos = robot.now.qpos
    place, _ = rb.frame_pose(m, d, "tool_flange")
    pose = PoseStamped()
    pose.pose.position.x, pose.pose.position.y, pose.pose.position.z = (place + 0.05).tolist()
    asked = {"frame": "left/tool_flange", "pose": pose, "position_only": True}
    answer = call(peer, GetIk, "get_ik", **asked)
    assert (answer.success, answer.message) == (True, "")
    assert (answer.stamp.sec, answer.stamp.nanosec) == (2, 3)
    d.qpos = answer.position
    np.testing.assert_allclose(rb.frame_pose(m, d, "tool_flange")[0], place + 0.05, atol=2e-8)
    pose.pose.position.x = 9.0
    refused_with(call(peer, GetIk, "get_ik", **asked), "get_ik", "not reached")


def send(peer, kind, name, message, answers):
    """Publish a message, again if it was lost, until the list `answers` grows."""
    publisher, seen = peer.publisher(kind, name), len(answers)
    peer.repeat(lambda: publisher.publish(message), lambda: len(answers) > seen)


def test_messages_on_topics_change_the_simulation(peer, robot):
    wrench, body, gravity = WrenchStamped(), InertiaStamped(inertia=BODY), Vector3Stamped()
    wrench.header.frame_id = body.header.frame_id = "left/tool_flange"
    wrench.wrench.force.x, gravity.vector.y = 4.0, 9.0
    state = JointState(name=["a"], velocity=[2.0])
    send(peer, JointState, "/arm/set_joint_state", state, robot.asked)
    send(peer, WrenchStamped, "/arm/wrench", wrench, robot.asked)
    send(peer, InertiaStamped, "/arm/payload", body, robot.asked)
    send(peer, Vector3Stamped, "/arm/gravity", gravity, robot.asked)
    by_kind = {what: rest for what, *rest in robot.asked}
    assert by_kind["state"] == [["a"], [], [2.0]]
    assert by_kind["push"][1] is True
    assert by_kind["push"][3:] == [0.25, "left/tool_flange"]
    assert by_kind["payload"] == ["tool_flange", *NUMBERS]
    assert by_kind["gravity"] == [(0.0, 9.0, 0.0)]
    assert robot.warned == []


def test_bad_messages_on_topics_are_refused(peer, robot):
    body, gravity = InertiaStamped(inertia=BODY), Vector3Stamped()
    body.header.frame_id = "right/hand"
    gravity.header.frame_id = "tool"
    state = JointState(name=["a"], effort=[2.0])
    send(peer, JointState, "/arm/set_joint_state", state, robot.warned)
    send(peer, InertiaStamped, "/arm/payload", body, robot.warned)
    send(peer, Vector3Stamped, "/arm/gravity", gravity, robot.warned)
    for topic, words in (
        ("~/set_joint_state", "efforts"),
        ("~/payload", "'right/hand'"),
        ("~/gravity", "'tool'"),
    ):
        (line,) = (line for line in robot.warned if f"on {topic}:" in line)
        assert words in line
        worded(topic, line)
    assert robot.asked == []


def test_the_log_escapes_and_shortens_a_hostile_frame_name(peer, robot):
    gravity = Vector3Stamped()
    gravity.header.frame_id = "tool\x07\n[ERROR]" + "x" * 2_000_000
    send(peer, Vector3Stamped, "/arm/gravity", gravity, robot.warned)
    assert "'tool\\x07\\n[ERROR]" in robot.warned[0]
    assert len(robot.warned[0]) < 300
    assert "\n" not in robot.warned[0]
