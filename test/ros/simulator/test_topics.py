# SPDX-License-Identifier: Apache-2.0
"""The topics of the simulator have the right content, stamps and QoS."""

import time

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("tf2_msgs", reason="tf2_msgs is not installed")
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger
from tf2_msgs.msg import TFMessage

import rbdyn_ros as rb
from rbdyn_ros.nanoseconds import nanoseconds

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def stamp_of(state):
    return nanoseconds(state.header.stamp)


def stands(peer, states):
    """Wait until two states have the same stamp, because time is paused; return it [ns]."""
    peer.until(lambda: len(states) > 1 and stamp_of(states[-1]) == stamp_of(states[-2]))
    return stamp_of(states[-1])


def as_matrix(transform):
    t, q = transform.transform.translation, transform.transform.rotation
    T = np.eye(4)
    w, x, y, z = q.w, q.x, q.y, q.z
    T[:3, :3] = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    T[:3, 3] = t.x, t.y, t.z
    return T


def test_tf_frames_agree_with_joint_states_of_the_same_stamp(simulate, peer, two_joints):
    simulate(two_joints, "--ros-args", "-p", "frame_prefix:=left/")
    states = {}

    def keep(message):
        states.__setitem__(nanoseconds(message.header.stamp), message)

    peer.node.create_subscription(JointState, "joint_states", keep, 10)
    moving = peer.collect(TFMessage, "/tf", 100)
    fixed = peer.collect(TFMessage, "/tf_static", LATCHED)

    def matching():
        return [tf for tf in moving if nanoseconds(tf.transforms[0].header.stamp) in states]

    peer.until(lambda: fixed and len(matching()) > 10)
    assert len(fixed) == 1
    tf = matching()[-1]
    edges = {t.child_frame_id: t for t in [*tf.transforms, *fixed[0].transforms]}
    assert set(edges) == {"left/base", "left/car", "left/arm", "left/tool"}
    m = rb.load_urdf(two_joints)
    d = rb.make_data(m)
    d.qpos = list(states[nanoseconds(tf.transforms[0].header.stamp)].position)
    rb.kinematics(m, d)
    for name in m.frame_names:
        T, frame = np.eye(4), f"left/{name}"
        while frame != "world":
            T, frame = as_matrix(edges[frame]) @ T, edges[frame].header.frame_id
        position, rotation = rb.frame_pose(m, d, name)
        np.testing.assert_allclose(T[:3, 3], position, atol=1e-12)
        np.testing.assert_allclose(T[:3, :3], rotation, atol=1e-12)


def test_the_start_is_within_limits_and_topics_are_published_at_exact_intervals(
    simulate, peer, two_joints
):
    simulate(
        two_joints, "--ros-args", "-p", "start_paused:=true", "-p", "tf_rate:=100.0", clock=True
    )
    clocks = peer.collect(Clock, "/clock", 1)
    states = peer.collect(JointState, "joint_states")
    moving = peer.collect(TFMessage, "/tf", 100)
    description = peer.collect(String, "robot_description", LATCHED)
    # a paused simulator repeats its messages
    peer.until_tf(lambda: states and clocks and moving and description)
    assert list(states[0].name) == ["lift", "turn"]
    assert list(states[0].position) == [1.25, 0.0]
    assert nanoseconds(clocks[0].clock) == 0
    assert description[0].data == two_joints.read_text()
    peer.call(SetBool, "simulator/pause", SetBool.Request(data=False))
    peer.until(lambda: len(clocks) > 30 and len(states) > 300)
    stamps = np.array([nanoseconds(clock.clock) for clock in clocks])
    assert set(stamps % 10_000_000) == {0}
    assert (np.diff(stamps) >= 0).all()
    # the peer may miss messages, so only the common divisor of the gaps is certain
    gaps = np.diff([stamp_of(state) for state in states])
    assert (gaps >= 0).all()
    assert np.gcd.reduce(gaps) == 1_000_000
    assert {nanoseconds(tf.transforms[0].header.stamp) % 10_000_000 for tf in moving} == {0}


def test_the_topics_have_the_documented_qos(simulate, peer):
    simulate(clock=True)
    expected = {
        "/joint_states": ("VOLATILE", 1),
        "/tf": ("VOLATILE", 1),
        "/tf_static": ("TRANSIENT_LOCAL", 1),
        "/clock": ("VOLATILE", 1),
        "/robot_description": ("TRANSIENT_LOCAL", 1),
    }
    peer.until(lambda: all(peer.node.count_publishers(topic) for topic in expected))
    for topic, (durability, count) in expected.items():
        found = peer.node.get_publishers_info_by_topic(topic)
        assert len(found) == count
        assert found[0].qos_profile.reliability == ReliabilityPolicy.RELIABLE
        assert found[0].qos_profile.durability.name == durability


SRDF = '<robot name="two"><group name="arm"><joint name="turn"/></group></robot>'


@pytest.mark.parametrize("text", [SRDF, SRDF.replace("</robot>", "")], ids=["whole", "broken"])
def test_a_valid_srdf_beside_the_urdf_is_published(simulate, peer, two_joints, text):
    two_joints.with_suffix(".srdf").write_text(text)
    simulate(two_joints)
    peer.hear(String, "robot_description", LATCHED)
    if text == SRDF:
        assert peer.hear(String, "robot_description_semantic", LATCHED)[0].data == text
    else:  # MoveIt could not read this SRDF
        peer.spin(0.5)
        assert peer.node.count_publishers("/robot_description_semantic") == 0


@pytest.fixture
def spinning_top(tmp_path):
    """Return the URDF file of a tiny body without effort limit, which can diverge."""
    path = tmp_path / "light.urdf"
    path.write_text(
        '<robot name="light"><link name="base"/><joint name="spin" type="continuous">'
        '<parent link="base"/><child link="top"/></joint><link name="top"><inertial>'
        '<mass value="0.001"/><inertia ixx="1e-6" ixy="0" ixz="0" iyy="1e-6" iyz="0" izz="1e-6"/>'
        "</inertial></link></robot>"
    )
    return path


def test_time_can_be_paused_stepped_and_reset(simulate, peer):
    simulator = simulate("--ros-args", "-p", "initial_positions.elbow_pitch:=0.5")
    states = peer.collect(JointState, "joint_states")
    peer.until(lambda: len(states) > 50)
    refused = peer.call(Trigger, "simulator/step", Trigger.Request())
    assert not refused.success
    assert "pause it first" in refused.message
    assert peer.call(SetBool, "simulator/pause", SetBool.Request(data=True)).success
    paused = stands(peer, states)
    assert peer.call(Trigger, "simulator/step", Trigger.Request()).success
    peer.until(lambda: nanoseconds(states[-1].header.stamp) == paused + 1_000_000)
    assert peer.call(Trigger, "simulator/reset", Trigger.Request()).success
    peer.until(lambda: nanoseconds(states[-1].header.stamp) == paused + 2_000_000)
    assert states[-1].position[states[-1].name.index("elbow_pitch")] == 0.5
    assert not any(states[-1].velocity)
    seen, went_on = len(states), time.monotonic()
    peer.call(SetBool, "simulator/pause", SetBool.Request(data=False))
    peer.until(lambda: stamp_of(states[-1]) > paused + 300_000_000)
    stamps = [stamp_of(state) for state in states[seen:]]
    # simulated time does not catch up on the pause
    assert stamps[-1] - paused < 1e9 * (time.monotonic() - went_on) + 50_000_000
    assert stamps == sorted(stamps)
    assert simulator.process.poll() is None


def named(name):
    return ("--ros-args", "-r", f"__ns:=/{name}", "-p", f"frame_prefix:={name}/")


def publishes(simulator):
    """Return whether a simulator has not logged that another node publishes /clock."""
    return "/clock has a publisher already" not in simulator.text()


@pytest.mark.parametrize("names", [("left", "right"), ("right", "left")])
def test_a_second_simulator_starts_at_the_time_of_the_first(simulate, peer, two_joints, names):
    """The first simulator is at tick 7 when the second one starts.

    On a busy machine the second simulator may not discover the first one in time, or may miss its
    clock. Then it logs this and starts at time 0. test_clock.py tests the rules without DDS.
    """
    first, second = names
    simulate(two_joints, *named(first), "-p", "start_paused:=true", clock=True)
    for _ in range(7):
        peer.trigger(f"/{first}/simulator/step")
    last = simulate(two_joints, *named(second), "-p", "start_paused:=true", clock=True)
    heard = not publishes(last) and "no message came on /clock" not in last.text()
    states = peer.hear(JointState, f"/{second}/joint_states")
    assert stamp_of(states[-1]) == (7_000_000 if heard else 0)
    if publishes(last):
        last.wait_for("/clock has another publisher")
    else:
        peer.until(lambda: peer.node.count_publishers("/clock") == 1)


def test_the_first_by_name_of_two_robots_that_start_together_publishes_the_clock(
    simulate, peer, two_joints
):
    left, right = (
        simulate(two_joints, *named(name), clock=True, wait=False) for name in ("left", "right")
    )
    left.wait_for("simulating '")
    right.wait_for("simulating '")
    assert publishes(left) or publishes(right)
    if publishes(left) and publishes(right):  # the nodes did not discover each other in time
        right.wait_for("/clock has another publisher")
    else:
        peer.until(lambda: peer.node.count_publishers("/clock") == 1)


def test_the_simulator_can_read_its_robot_from_the_topic_robot_description(
    simulate, peer, two_joints
):
    simulator = simulate(entry="node", wait=False)
    simulator.wait_for("waiting for a robot on /robot_description")
    publisher = peer.node.create_publisher(String, "robot_description", LATCHED)
    publisher.publish(String(data=two_joints.read_text()))
    simulator.wait_for("simulating 'two'")
    states = peer.collect(JointState, "joint_states")
    peer.until(lambda: states)
    assert list(states[0].name) == ["lift", "turn"]
    assert peer.node.count_publishers("robot_description") == 1


def test_a_nan_is_never_published(simulate, peer, spinning_top):
    simulator = simulate(spinning_top)
    states = peer.hear(JointState, "joint_states")
    publisher = peer.publisher(JointState, "joint_commands")
    diverged = lambda: "the state of joint 'spin' diverged" in simulator.text()  # noqa: E731
    huge = JointState(name=["spin"], effort=[1e300])
    peer.repeat(lambda: publisher.publish(huge), diverged)
    before = stands(peer, states)
    assert all(np.isfinite([*s.position, *s.velocity, *s.effort]).all() for s in states)
    assert peer.call(Trigger, "simulator/reset", Trigger.Request()).success
    peer.until(lambda: stamp_of(states[-1]) > before + 10**7)
    assert states[-1].position[0] == 0.0


def test_a_floating_base_is_in_tf_and_not_in_joint_states(simulate, peer, two_joints):
    simulate(two_joints, "--ros-args", "-p", "floating_base:=true")
    states = peer.collect(JointState, "joint_states")
    moving = peer.collect(TFMessage, "/tf", 100)
    peer.until(lambda: states and len(moving) > 10)
    assert list(states[-1].name) == ["lift", "turn"]
    first, last = ({t.child_frame_id: t for t in tf.transforms} for tf in (moving[0], moving[-1]))
    assert first["base"].header.frame_id == "world"
    fall = first["base"].transform.translation.z - last["base"].transform.translation.z
    assert fall > 0.0


def test_odometry_agrees_with_tf(simulate, peer, two_joints):
    odometry = pytest.importorskip("nav_msgs.msg", reason="nav_msgs is not installed").Odometry
    simulate(two_joints, "--ros-args", "-p", "floating_base:=true", "-p", "tf_rate:=1000.0")
    moving, found = peer.collect(TFMessage, "/tf", 100), peer.collect(odometry, "odom")

    def pairs():
        by_stamp = {nanoseconds(tf.transforms[0].header.stamp): tf for tf in moving}
        stamped = [(by_stamp.get(nanoseconds(odom.header.stamp)), odom) for odom in found]
        return [pair for pair in stamped if pair[0]]

    peer.until(lambda: len(pairs()) > 10)
    tf, odom = pairs()[-1]
    assert (odom.header.frame_id, odom.child_frame_id) == ("world", "base")
    base = next(t for t in tf.transforms if t.child_frame_id == "base")
    pose = odom.pose.pose
    assert (pose.position.x, pose.position.z) == pytest.approx(
        (base.transform.translation.x, base.transform.translation.z), abs=1e-12
    )
    assert pose.orientation.w == pytest.approx(base.transform.rotation.w, abs=1e-12)


def test_the_service_step_reports_a_diverged_simulation(simulate, peer, spinning_top):
    interfaces = pytest.importorskip("rbdyn_interfaces.msg", reason="rbdyn_interfaces not built")
    simulate(spinning_top, "--ros-args", "-p", "start_paused:=true", "-p", "stats_rate:=20.0")
    stats = peer.collect(interfaces.Statistics, "simulator/stats")
    publisher = peer.publisher(JointState, "joint_commands")
    huge = JointState(name=["spin"], effort=[1e300])
    peer.repeat(lambda: publisher.publish(huge), lambda: stats and stats[-1].accepted)
    for _ in range(2):
        stepped = peer.call(Trigger, "simulator/step", Trigger.Request())
        assert (stepped.success, stepped.message) == (False, "the state diverged; call reset")
    assert peer.call(Trigger, "simulator/reset", Trigger.Request()).success
    assert peer.call(Trigger, "simulator/step", Trigger.Request()).success
