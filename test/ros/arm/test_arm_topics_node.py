# SPDX-License-Identifier: Apache-2.0
"""The arm controller publishes its topics, also in a namespace, and survives hostile messages."""

import re

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("diagnostic_msgs.msg", reason="diagnostic_msgs is not installed")
pytest.importorskip("trajectory_msgs.msg", reason="trajectory_msgs is not installed")

from arm_pair import LATCHED, NEWEST, UR5_START, start_pair
from geometry_msgs.msg import Inertia, InertiaStamped, PoseStamped, Vector3
from rcl_interfaces.srv import GetParameters
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import Trigger
from support.robots import find
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import rbdyn_ros as rb
from rbdyn_ros.dynamics.toolbox.frames import frame_pose

NAN, INF, HUGE = float("nan"), float("inf"), 1e300


ROOM = """rbdyn_scene: 1
obstacles: {wall: {box: {size: [0.1, 3, 2]}, xyz: [-0.45, 0, 0.5]}}"""


@pytest.fixture
def pair(simulate, control, peer, tmp_path):
    """Yield a UR5 in a namespace, in front of a wall, commanded at 250 Hz by effort arrays."""
    (tmp_path / "room.yaml").write_text(ROOM)
    pair = start_pair(
        simulate,
        control,
        peer,
        find("ur5_robot.urdf"),
        UR5_START,
        250,
        space="left/",
        more=("-p", "command_timeout:=1.0"),  # a busy machine may delay commands
        output="effort_commands",
        scene=str(tmp_path / "room.yaml"),
        **{"impedance.frame": "tool0"},
    )
    yield pair
    pair.end_well()


def test_effort_arrays_move_the_arm_and_hostile_messages_do_not(pair, peer):
    request = GetParameters.Request(names=["effort_command_joints"])
    answer = peer.call(GetParameters, "left/arm_controller/get_parameters", request)
    assert list(answer.values[0].string_array_value) == pair.arm.names
    assert peer.node.count_publishers("left/joint_commands") == 0
    pair.arm_it("computed_torque")
    bad_trajectories(pair)
    bad_payloads(pair)
    pair.do("impedance")
    poses(pair)
    assert pair.said[-1] == "impedance; armed"
    assert pair.report()[0] == 0


def bad_trajectories(pair):
    """Assert that bad trajectories do not move the armed arm, and that a valid one does."""
    names, q = pair.arm.names, pair.arm.rest().tolist()

    def path(points, names=names, **fields):
        message = JointTrajectory(joint_names=names)
        for at, values in points:
            message.points.append(JointTrajectoryPoint(positions=values, **fields))
            message.points[-1].time_from_start.sec = at
        return message

    far = [q[0] + 4.0, *q[1:]]
    folded = [3.1 if name == "elbow_joint" else x for name, x in zip(names, q, strict=True)]
    hostile = (
        path([(1, [NAN, *q[1:]])]),
        path([(1, [HUGE, *q[1:]])]),
        path([(1, q[:3])]),
        path([(1, q[:5])], names[:5]),
        path([(1, [*q, 0.0])], [*names, "nobody"]),
        path([(1, [*q, 0.0])], [*names, names[0]]),
        path([(-1, q)]),
        path([(1, q), (1, q)]),
        path([(1, q), (2, far)]),
        path([(1, far)]),
        path([(1, q)], effort=q),
        path([(9, [9.0, *q[1:]])]),
        path([(9, folded)]),  # the wrist would hit the upper arm
        path([(0, [q[0] + 0.1, *q[1:]]), (1, q)]),
    )
    refused(pair, JointTrajectory, "joint_trajectory", hostile)
    there = [q[0] + 0.5, *q[1:]]
    publisher = pair.peer.publisher(JointTrajectory, f"{pair.node}/joint_trajectory")
    into_the_wall = path([(9, [q[0] + 2.5, *q[1:]])])
    logged = lambda: "and 'wall' would be" in pair.controller.text()  # noqa: E731
    pair.peer.insist(publisher, into_the_wall, logged)
    assert np.abs(pair.arm.position - q).max() < 1e-3
    # copies of the path into the wall may still fill the queue of ten messages
    good = path([(1, there)], velocities=[0.0] * 6)
    send = lambda: pair.peer.send(JointTrajectory, f"{pair.node}/joint_trajectory", good)  # noqa: E731
    persist(pair, "computed_torque", send, lambda: np.abs(pair.arm.position - there).max() < 2e-3)
    assert np.abs(pair.arm.rest() - there).max() < 2e-3


def bad_payloads(pair):
    def load(link="tool0", com=(0.0, 0.0, 0.1), **inertia):
        message = InertiaStamped(inertia=Inertia(com=Vector3(x=com[0], y=com[1], z=com[2])))
        message.header.frame_id = link
        for name, value in inertia.items():
            setattr(message.inertia, name, value)
        return message

    place = pair.arm.rest()
    publisher = pair.peer.publisher(InertiaStamped, f"{pair.node}/payload")
    for message in (
        load("tool", m=1.0),
        load(m=NAN),
        load(m=-1.0),
        load(m=1.0, com=(INF, 0.0, 0.0)),
        load(m=1.0, ixx=-1.0),
    ):
        publisher.publish(message)
        pair.arm.wait(0.05)
    pair.peer.until(lambda: "refused a message on ~/payload" in pair.controller.text())
    assert pair.report()[2]["payloads"] == ""
    assert np.abs(pair.arm.position - place).max() < 1e-3


def poses(pair):
    urdf = rb.load_urdf(find("ur5_robot.urdf"))
    d = rb.make_data(urdf)
    d.qpos[:] = pair.arm.rest()
    place, turn = frame_pose(urdf, d, "tool0")

    def pose(frame="", move=(0.0, 0.0, 0.0), quat=None):
        message = PoseStamped()
        message.header.frame_id = frame
        at, q = message.pose.position, message.pose.orientation
        at.x, at.y, at.z = (place + move).tolist()
        q.w, q.x, q.y, q.z = quaternion(turn) if quat is None else quat
        return message

    hostile = (
        pose("tool0"),
        pose(move=(NAN, 0.0, 0.0)),
        pose(quat=(0.0, 0.0, 0.0, 0.0)),
        pose(quat=(HUGE, 0.0, 0.0, 0.0)),
        pose(move=(0.0, 0.0, 0.5)),
        pose(move=(HUGE, 0.0, 0.0)),
    )
    refused(pair, PoseStamped, "target_pose", hostile)
    publisher = pair.peer.publisher(PoseStamped, f"{pair.node}/target_pose")

    def arrived():
        d.qpos[:] = pair.arm.position
        return np.abs(frame_pose(urdf, d, "tool0")[0] - place - [0.0, 0.0, 0.05]).max() < 2e-3

    persist(pair, "impedance", lambda: publisher.publish(pose(move=(0.0, 0.0, 0.05))), arrived)


def persist(pair, mode, act, arrived):
    """Call act() repeatedly until arrived() holds; clear faults, which a busy machine causes."""

    def happened():
        if "fault" in pair.said[-1] and pair.ask("clear_fault") == "":
            pair.arm_it(mode)
            act()
        return arrived()

    pair.peer.repeat(act, happened, 30.0)


def quaternion(R):
    """Return the quaternion wxyz of a rotation matrix R of less than half a turn."""
    w = np.sqrt(1.0 + np.trace(R)) / 2.0
    return [w, *(np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / (4 * w))]


def refused(pair, kind, topic, hostile):
    """Assert that all messages are refused and counted, and that the arm does not move."""
    place = pair.arm.rest()
    publisher = pair.peer.publisher(kind, f"{pair.node}/{topic}")
    first = len(pair.arm.rows)
    for message in hostile:
        publisher.publish(message)
        pair.arm.wait(0.02)  # else the queue of ten messages would overflow
    enough = lambda: refused_so_far(pair, topic) > len(hostile)  # noqa: E731
    pair.peer.insist(publisher, hostile[0], enough)
    assert max(np.abs(row[1] - place).max() for row in pair.arm.rows[first:]) < 1e-3
    assert pair.said[-1].endswith("; armed")


def refused_so_far(pair, topic):
    """Return the largest logged count of refused messages on a topic."""
    lines = [line for line in pair.controller.text().splitlines() if f"~/{topic}: " in line]
    counts = [re.search(r"\(refused so far: (\d+)\)", line) for line in lines]
    return max((int(count[1]) for count in counts if count), default=0)


def test_a_dry_run_sends_no_commands_and_output_both_sends_both_kinds(simulate, control, peer):
    robot = find("ur5_robot.urdf")
    # a dry run beside the controller of the pair
    dry = control(robot, False, {"__node": "dry"}, mode="gravity", dry_run="true", state_timeout=1)
    pair = start_pair(simulate, control, peer, robot, UR5_START, 250, output="both")
    dry.wait_for("controlling '")
    shown = peer.hear(JointState, "dry/efforts", NEWEST)
    arrays = peer.collect(Float64MultiArray, "effort_commands", NEWEST)
    assert pair.commands_in(0.2) == 0
    pair.arm.rest()
    peer.until(lambda: peer.call(Trigger, "dry/arm", Trigger.Request()).success)
    said = lambda: peer.hear(String, "dry/status", LATCHED)[-1].data  # noqa: E731
    peer.until(lambda: said() == "gravity; armed (dry run)")
    assert pair.commands_in(0.2) == 0
    assert not arrays
    assert peer.node.count_publishers("joint_commands") == 1  # the dry run has no publisher

    pair.arm_it()
    commands = peer.hear(JointState, "joint_commands", NEWEST)
    place = pair.arm.rest()
    pair.arm.wait(1.0)  # blending from the simulator's holding efforts takes half a second
    m = rb.load_urdf(robot)
    g = gravity_effort(m, place)
    for found in (commands[-1].effort, arrays[-1].data, shown[-1].effort):
        np.testing.assert_allclose(found, g, atol=1e-6)
    assert list(commands[-1].name) == list(shown[-1].name) == pair.arm.names
    states = {row[0] for row in pair.arm.rows}
    for found in (commands, shown):  # each message has the stamp of the state that it answers
        stamps = [message.header.stamp for message in found]
        assert states & {stamp.sec + 1e-9 * stamp.nanosec for stamp in stamps}
    assert not len(commands[-1].position)
    pair.do("disarm")
    pair.arm.wait(0.1)
    assert pair.commands_in(0.2) == 0
    dry.end_well()
    assert "shut down while armed" not in dry.text()
    pair.end_well()


def gravity_effort(m, qpos):
    d = rb.make_data(m)
    d.qpos[:] = qpos
    rb.inverse(m, d)
    return d.qfrc_inverse
