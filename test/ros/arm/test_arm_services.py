# SPDX-License-Identifier: Apache-2.0
"""The services return efforts that agree with Pinocchio's, and refuse bad requests."""

import threading
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rbdyn_interfaces")

import rclpy
from arm_stand_ins import Held, message_log
from geometry_msgs.msg import Inertia, InertiaStamped, Pose, PoseStamped, Quaternion, Vector3
from rclpy.executors import SingleThreadedExecutor
from scipy.spatial.transform import Rotation
from support.pinocchio_twin import pin
from support.refusals import refused, worded
from support.robots import find

import rbdyn_ros as rb
from rbdyn_interfaces.srv import (
    GetComputedTorque,
    GetGravityEffort,
    GetIk,
    GetInverseDynamics,
    SetPayload,
)
from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.errors import RbdynError
from rbdyn_ros.ros.arm import services as arm_services
from rbdyn_ros.ros.arm.queries import ArmQueries
from rbdyn_ros.ros.arm.services import ArmServices

#: The two engines differ only by rounding, as no mass matrix is inverted.
CLOSE = {"rtol": 0.0, "atol": 1e-10}


class Twin:
    """Pinocchio's Panda, whose second finger is an ordinary joint that moves like the first."""

    def __init__(self, payload=None):
        self.model = pin.buildModelFromUrdf(str(find("panda.urdf")))
        if payload:
            frame = self.model.frames[self.model.getFrameId("panda_hand")]
            self.model.appendBodyToJoint(frame.parentJoint, payload, frame.placement)
        self.data = self.model.createData()

    def inverse(self, qpos, qvel, qacc):
        rows = [np.append(row, row[-1]) for row in (qpos, qvel, qacc)]
        tau = pin.rnea(self.model, self.data, *rows)
        return np.append(tau[:7], tau[7] + tau[8])


@pytest.fixture
def held():
    return Held()


@pytest.fixture
def robot(peer, held):
    node = rclpy.create_node("arm", context=peer.context)
    executor = SingleThreadedExecutor(context=peer.context)
    executor.add_node(node)
    ArmServices(node, held, message_log(node))
    thread = threading.Thread(target=executor.spin, daemon=True)
    thread.start()
    yield held
    executor.shutdown(5.0)
    thread.join(5.0)
    node.destroy_node()


def answered(peer, kind, service, **fields):
    answer = peer.call(kind, f"/arm/{service}", kind.Request(**fields))
    assert (answer.success, answer.message) == (True, "")
    return answer


def test_use_current_state_uses_the_measured_state_of_all_joints(peer, robot):
    g = Twin().inverse(robot.qpos, 0 * robot.qpos, 0 * robot.qpos)
    answer = answered(peer, GetGravityEffort, "get_gravity_effort", use_current_state=True)
    assert tuple(answer.name) == robot.arm.names
    np.testing.assert_allclose(answer.effort, g, **CLOSE)
    assert answer.model_sha256 == robot.arm.m.sha256() == robot.arm.sha256
    assert (answer.stamp.sec, answer.stamp.nanosec) == (5, 7)


def test_joints_can_be_named_in_any_order(peer, robot):
    """Unnamed joints have their measured state. Velocities left out of a request are zero."""
    names = ["panda_joint4", "panda_joint2"]
    k = [robot.arm.names.index(name) for name in names]
    qpos, qvel, qacc = robot.qpos.copy(), robot.qvel.copy(), np.zeros(8)
    qpos[k], qvel[k], qacc[k] = [-1.2, 0.3], [0.5, -0.7], [2.0, 3.0]
    asked = {"name": names, "position": [-1.2, 0.3], "acceleration": [2.0, 3.0]}
    answer = answered(
        peer,
        GetInverseDynamics,
        "get_inverse_dynamics",
        velocity=[0.5, -0.7],
        include_gravity=True,
        **asked,
    )
    assert list(answer.name) == names
    np.testing.assert_allclose(answer.effort, Twin().inverse(qpos, qvel, qacc)[k], **CLOSE)
    answer = answered(peer, GetInverseDynamics, "get_inverse_dynamics", **asked)
    qvel[k] = 0.0
    rest = Twin().inverse(qpos, 0 * qvel, 0 * qvel)
    expected = Twin().inverse(qpos, qvel, qacc) - rest
    np.testing.assert_allclose(answer.effort, expected[k], **CLOSE)


def test_efforts_account_for_friction_and_for_gravity_that_the_robot_compensates(peer, robot):
    kind, service = GetInverseDynamics, "get_inverse_dynamics"
    plain = answered(peer, kind, service, use_current_state=True, include_gravity=True)
    rough = answered(
        peer, kind, service, use_current_state=True, include_gravity=True, include_friction=True
    )
    v = robot.qvel
    friction = np.arange(1.0, 9.0) * v + 0.5 * np.tanh(v / 0.01)
    np.testing.assert_allclose(np.subtract(rough.effort, plain.effort), friction, **CLOSE)
    command = answered(
        peer, kind, service, use_current_state=True, include_gravity=True, as_command=True
    )
    g = Twin().inverse(robot.qpos, 0 * v, 0 * v)
    np.testing.assert_allclose(np.subtract(plain.effort, command.effort), g, **CLOSE)


def test_commands_leave_out_gravity_and_coriolis_forces_that_the_robot_adds(peer, robot):
    """The robot computes these forces at its measured velocity, not at the requested one."""
    m = rb.load_urdf(find("panda.urdf"))
    robot.arm = Arm(m, robot_compensates_gravity=True, robot_compensates_coriolis=True)
    kind, service = GetInverseDynamics, "get_inverse_dynamics"
    asked = {"use_current_state": True, "include_gravity": True}
    plain = answered(peer, kind, service, **asked)
    command = answered(peer, kind, service, **asked, as_command=True)
    added = Twin().inverse(robot.qpos, robot.qvel, 0 * robot.qvel)
    np.testing.assert_allclose(np.subtract(plain.effort, command.effort), added, **CLOSE)


def test_computed_torque_uses_the_gains_of_the_request_or_of_the_controller(peer, robot):
    names = list(robot.arm.names[:7])
    wanted = np.linspace(-0.5, 0.5, 7)
    asked = {"name": names, "desired_position": wanted.tolist(), "use_current_state": True}
    asked |= {"desired_velocity": [0.1] * 7, "desired_acceleration": [0.2] * 7}
    q, v = robot.qpos, robot.qvel
    for stiffness, damping, extra in (
        (400.0, 40.0, {}),
        (9.0, 40.0, {"stiffness": [9.0] * 7}),
        (400.0, 6.0, {"damping": [6.0] * 7}),
    ):
        qacc = 0.2 + damping * (0.1 - v[:7]) + stiffness * (wanted - q[:7])
        finger = -40.0 * v[7]  # the finger's target is its present position, at rest
        expected = Twin().inverse(q, v, np.append(qacc, finger))[:7]
        answer = answered(peer, GetComputedTorque, "get_computed_torque", **asked, **extra)
        # efforts of thousands of N m need a relative tolerance
        np.testing.assert_allclose(answer.effort, expected, rtol=1e-12, atol=1e-10)
        assert answer.saturated == bool((np.abs(expected) > 20.0).any())


def test_gains_of_some_joints_leave_the_others_unchanged(held):
    """Unnamed joints keep their own gains, which affect the efforts of the named joints."""
    held.gains[1][:] = np.linspace(10.0, 24.0, 8)
    names, wanted = ["panda_joint3", "panda_joint1"], [0.7, -0.7]
    asked = {"name": names, "desired_position": wanted, "use_current_state": True}
    request = GetComputedTorque.Request(**asked, stiffness=[30.0, 50.0], damping=[3.0, 5.0])
    found = ArmQueries(held).computed_torque(request)
    q, v = held.qpos, held.qvel
    qacc = -held.gains[1] * v
    qacc[2] = 30.0 * (0.7 - q[2]) - 3.0 * v[2]
    qacc[0] = 50.0 * (-0.7 - q[0]) - 5.0 * v[0]
    np.testing.assert_allclose(found.effort, Twin().inverse(q, v, qacc)[[2, 0]], **CLOSE)


def test_computed_torque_compensates_friction_at_the_desired_velocity(held):
    """As in mode computed_torque, joints that the request does not name rest without friction."""
    queries, names = ArmQueries(held), ["panda_joint5", "panda_joint2"]
    asked = {"name": names, "desired_position": [0.1, 0.2], "use_current_state": True}
    for wanted in ([0.3, -0.004], []):
        smooth, rough = (
            queries.computed_torque(
                GetComputedTorque.Request(**asked, desired_velocity=wanted, include_friction=it)
            )
            for it in (False, True)
        )
        v = np.array(wanted or [0.0, 0.0])
        friction = np.array([5.0, 2.0]) * v + 0.5 * np.tanh(v / 0.01)
        np.testing.assert_allclose(rough.effort - smooth.effort, friction, **CLOSE)


def test_efforts_are_clamped_after_all_terms_are_added(peer, robot):
    """One of these terms is the robot's own compensation, which is subtracted."""
    names = ["panda_joint2"]
    asked = {"name": names, "use_current_state": True, "as_command": True, "clamp": True}
    asked |= {"stiffness": [0.0], "damping": [0.0]}
    robot.qvel[:] = 0.0
    there = robot.qpos[[1]].tolist()
    g = Twin().inverse(robot.qpos, 0 * robot.qvel, 0 * robot.qvel)[1]
    robot.effort_limits[:] = abs(g) / 2.0
    kind, service = GetComputedTorque, "get_computed_torque"
    answer = answered(peer, kind, service, **asked, desired_position=there)
    np.testing.assert_allclose(answer.effort, [0.0], **CLOSE)
    assert not answer.saturated
    answer = answered(
        peer, kind, service, **asked, desired_position=there, desired_acceleration=[1e6]
    )
    assert list(answer.effort) == [abs(g) / 2.0]
    assert answer.saturated
    asked["clamp"] = False
    answer = answered(
        peer, kind, service, **asked, desired_position=there, desired_acceleration=[-1e6]
    )
    assert answer.effort[0] < -1e3
    assert answer.saturated


BODY = Inertia(m=2.0, com=Vector3(x=0.1, z=0.3), ixx=1.0, ixy=0.1, ixz=0.2, iyy=2.0, iyz=0.3)
BODY.izz = 2.5
MOMENTS = np.array([[1.0, 0.1, 0.2], [0.1, 2.0, 0.3], [0.2, 0.3, 2.5]])


def test_payloads_can_be_set_by_service_and_by_topic(peer, robot):
    sha256 = robot.arm.sha256
    loaded = Twin(pin.Inertia(2.0, np.array([0.1, 0.0, 0.3]), MOMENTS))
    zeros = np.zeros(8)
    answer = peer.call(
        SetPayload, "/arm/set_payload", SetPayload.Request(link="panda_hand", inertia=BODY)
    )
    assert (answer.success, answer.message, answer.model_sha256) == (True, "", sha256)
    found = answered(peer, GetInverseDynamics, "get_inverse_dynamics", use_current_state=True)
    expected = loaded.inverse(robot.qpos, robot.qvel, zeros)
    expected -= loaded.inverse(robot.qpos, zeros, zeros)
    np.testing.assert_allclose(found.effort, expected, **CLOSE)
    # the robot compensates gravity without the payload
    found = answered(
        peer, GetGravityEffort, "get_gravity_effort", use_current_state=True, as_command=True
    )
    expected = loaded.inverse(robot.qpos, zeros, zeros) - Twin().inverse(robot.qpos, zeros, zeros)
    np.testing.assert_allclose(found.effort, expected, **CLOSE)
    message = InertiaStamped()
    message.header.frame_id = "panda_hand"  # mass 0 removes the payload
    publisher = peer.publisher(InertiaStamped, "/arm/payload")
    peer.insist(publisher, message, lambda: not robot.arm.payloads)
    found = answered(peer, GetGravityEffort, "get_gravity_effort", use_current_state=True)
    g = Twin().inverse(robot.qpos, zeros, zeros)
    np.testing.assert_allclose(found.effort, g, **CLOSE)


def pose_at(place, turn, frame=""):
    """Return a PoseStamped in `frame`, at a position `place` with the rotation matrix `turn`."""
    pose = PoseStamped()
    pose.header.frame_id = frame
    p, q = pose.pose.position, pose.pose.orientation
    p.x, p.y, p.z = np.asarray(place, float).tolist()
    q.x, q.y, q.z, q.w = Rotation.from_matrix(turn).as_quat().tolist()
    return pose


def test_ik_finds_a_configuration_for_a_pose(peer, robot):
    """A pose may be given in the frame of a link, and the search may start at given positions."""
    m = robot.arm.m
    d = rb.make_data(m)
    d.qpos = robot.qpos
    hand = rb.frame_pose(m, d, "panda_hand")
    d.qpos = rb.random_qpos(m, np.random.default_rng(3))
    goal = rb.frame_pose(m, d, "panda_hand")
    relative = hand[1].T @ (goal[0] - hand[0]), hand[1].T @ goal[1]
    for pose in (
        pose_at(*goal), pose_at(*goal, "panda_link0"), pose_at(*relative, "panda_hand"),
    ):  # fmt: skip
        answer = answered(peer, GetIk, "get_ik", frame="panda_hand", pose=pose)
        assert (answer.stamp.sec, answer.stamp.nanosec) == (5, 7)
        assert answer.position_error < 1e-8
        assert answer.rotation_error < 1e-8
        assert tuple(answer.name) == robot.arm.names
        judge = rb.make_data(m)
        judge.qpos = answer.position
        np.testing.assert_allclose(rb.frame_pose(m, judge, "panda_hand")[0], goal[0], atol=2e-8)
        np.testing.assert_allclose(rb.frame_pose(m, judge, "panda_hand")[1], goal[1], atol=2e-8)
    names = list(robot.arm.names)
    near = answered(
        peer, GetIk, "get_ik", frame="panda_hand", pose=pose_at(*goal), name=names,
        position=d.qpos.tolist(), attempts=1,
    )  # fmt: skip
    np.testing.assert_allclose(near.position, d.qpos, atol=1e-6)


def test_ik_finds_a_configuration_without_collisions(peer, robot):
    m = robot.arm.m
    d, pose = rb.make_data(m), pose_at((0.45, 0.0, -0.1), np.eye(3))
    asked = {"frame": "panda_hand", "pose": pose, "position_only": True}
    answered(peer, GetIk, "get_ik", **asked)
    refuse = partial(peer.call, GetIk, "/arm/get_ik")
    assert "no geometries" in refuse(GetIk.Request(avoid_collisions=True, **asked)).message
    whole = rb.load_urdf(find("panda.urdf"), contact=True)  # with a floor
    robot.collisions = SimpleNamespace(model=whole)
    answer = refuse(GetIk.Request(avoid_collisions=True, clearance=0.01, **asked))
    assert not answer.success
    assert "clearance" in answer.message
    assert d.model is m


def test_get_ik_refuses_invalid_poses_and_fields(peer, robot):
    pose = pose_at((0.4, 0.0, 0.4), np.eye(3))
    far = pose_at((4.0, 0.0, 0.4), np.eye(3))
    for fields in (
        {"frame": "panda_hnad", "pose": pose},
        {"frame": "panda_hand", "pose": pose_at((0.4, 0.0, 0.4), np.eye(3), "panda_lnik0")},
        {"frame": "panda_hand", "pose": far},
        {"frame": "panda_hand", "pose": PoseStamped(pose=Pose(orientation=Quaternion(w=2.0)))},
        {"frame": "panda_hand", "pose": pose, "name": ["panda_joint1"]},
        {"frame": "panda_hand", "pose": pose, "name": ["panda_joint9"], "position": [0.0]},
        {"frame": "panda_hand", "pose": pose, "fixed": ["panda_joint9"]},
        {"frame": "panda_hand", "pose": pose, "attempts": 501},
        {"frame": "panda_link0", "pose": pose},
    ):
        answer = peer.call(GetIk, "/arm/get_ik", GetIk.Request(**fields))
        assert (answer.success, len(answer.position)) == (False, 0)
        worded("get_ik", answer.message)
    robot.known = False
    answer = peer.call(GetIk, "/arm/get_ik", GetIk.Request(frame="panda_hand", pose=pose))
    assert not answer.success
    worded("get_ik", answer.message)


def test_invalid_payloads_are_refused(peer, robot, capfd):
    request = SetPayload.Request(link="panda_hnad", inertia=BODY)
    answer = peer.call(SetPayload, "/arm/set_payload", request)
    assert not answer.success
    assert "'panda_hnad'" in answer.message
    worded("set_payload", answer.message)
    assert answer.model_sha256 == robot.arm.sha256
    message = InertiaStamped(inertia=BODY)
    message.header.frame_id = "panda_hnad"
    publisher = peer.publisher(InertiaStamped, "/arm/payload")
    heard = ""

    def logged():
        nonlocal heard
        heard += "".join(capfd.readouterr())
        return f"refused a message on ~/payload: {answer.message}" in heard

    peer.insist(publisher, message, logged)
    assert robot.arm.payloads == {}


def test_a_refusal_contains_the_hash_of_the_model_but_no_state(peer, robot):
    kind = GetGravityEffort
    answer = peer.call(kind, "/arm/get_gravity_effort", kind.Request(name=["panda_joint9"]))
    assert not answer.success
    assert "'panda_joint9'" in answer.message
    worded("get_gravity_effort", answer.message)
    assert answer.model_sha256 == robot.arm.sha256
    assert len(answer.name) == len(answer.effort) == answer.stamp.sec == 0


def test_without_rbdyn_interfaces_there_is_the_payload_topic_but_no_service(
    peer, held, monkeypatch, capfd
):
    def missing():
        raise ImportError("rbdyn_interfaces")

    monkeypatch.setattr(arm_services, "own_services", missing)
    node = rclpy.create_node("bare", context=peer.context)
    peer.executor.add_node(node)
    ArmServices(node, held, message_log(node))
    assert "rbdyn_interfaces is not installed: the services" in "".join(capfd.readouterr())
    message = InertiaStamped(inertia=BODY)
    message.header.frame_id = "panda_hand"
    publisher = peer.publisher(InertiaStamped, "/bare/payload")
    peer.insist(publisher, message, lambda: held.arm.payloads)
    assert dict(held.arm.payloads)["panda_hand"][:2] == (2.0, (0.1, 0.0, 0.3))
    node.destroy_node()


TWO = ["panda_joint1", "panda_joint2"]
KINDS = {
    "gravity_effort": GetGravityEffort,
    "inverse_dynamics": GetInverseDynamics,
    "computed_torque": GetComputedTorque,
}
#: Codes of refusals of simulator and arm controller, and of the arm controller only.
QUERY, ARM = "dynamics-query", "arm-query"
AT = {"name": TWO, "position": [0.0, 0.0], "use_current_state": False}
LONG = "joint '\\x07\\n" + "x" * 98 + "...'"
REFUSED = [
    ("gravity_effort", {"name": ["pnda_joint1"]}, QUERY, "joint 'pnda_joint1'"),
    ("gravity_effort", {"name": ["\x07\n" + "x" * 2_000_000]}, QUERY, LONG),
    ("gravity_effort", {"name": ["panda_finger_joint2"]}, QUERY, "joint 'panda_finger_joint2'"),
    ("inverse_dynamics", {"name": [*TWO, TWO[0]]}, QUERY, "joint 'panda_joint1'"),
    ("gravity_effort", {"name": TWO, "use_current_state": False}, ARM, ""),
    ("gravity_effort", {"name": TWO, "position": [0.0, 0.0]}, QUERY, "position"),
    ("inverse_dynamics", {"name": TWO, "velocity": [0.0, 0.0]}, QUERY, "velocity"),
    ("inverse_dynamics", {**AT, "acceleration": [0.0] * 3}, QUERY, "acceleration"),
    ("inverse_dynamics", {**AT, "position": [0.0, np.nan]}, QUERY, "position"),
    ("inverse_dynamics", {**AT, "velocity": [-np.inf, 0.0]}, QUERY, "velocity"),
    # this velocity makes the result overflow
    ("inverse_dynamics", {**AT, "velocity": [1e300, 0.0]}, ARM, ""),
    ("inverse_dynamics", {"as_command": True}, ARM, ""),
    ("computed_torque", {"name": TWO}, ARM, ""),
    ("computed_torque", {"name": TWO, "desired_position": [0, np.inf]}, QUERY, "desired_position"),
    (
        "computed_torque",
        {"name": TWO, "desired_position": [0.0, 0.0], "stiffness": [1.0, -2.5]},
        ARM,
        "",
    ),
    (
        "computed_torque",
        {"name": TWO, "desired_position": [1e200, 0.0], "stiffness": [1e200, 0.0]},
        ARM,
        "",
    ),
]


@pytest.mark.parametrize(("query", "fields", "code", "element"), REFUSED)
def test_queries_refuse_invalid_requests(held, query, fields, code, element):
    queries = ArmQueries(held)
    request = KINDS[query].Request(**{"use_current_state": True, **fields})
    with refused(RbdynError, code, element):
        getattr(queries, query)(request)
    asked = GetGravityEffort.Request(use_current_state=True)  # the next request works
    assert np.isfinite(queries.gravity_effort(asked).effort).all()


def test_a_request_before_the_first_state_needs_all_positions(held):
    held.known = False
    queries, names = ArmQueries(held), list(held.arm.names)
    with refused(RbdynError, ARM, ""):
        queries.gravity_effort(GetGravityEffort.Request(use_current_state=True))
    with refused(RbdynError, ARM, "") as caught:
        queries.gravity_effort(GetGravityEffort.Request(name=names[1:], position=[0.1] * 7))
    assert "'panda_joint1'" in str(caught.value)
    answer = queries.gravity_effort(GetGravityEffort.Request(name=names, position=[0.1] * 8))
    zeros = np.zeros(8)
    np.testing.assert_allclose(answer.effort, Twin().inverse(zeros + 0.1, zeros, zeros), **CLOSE)
    assert answer.stamp_ns == 0


def test_a_query_does_not_change_the_data_of_the_control_loop(held):
    """The loop computes with arm.d in another thread."""
    d = held.arm.d
    fields = {k: v for k in dir(d) if isinstance(v := getattr(d, k), np.ndarray)}
    before = {k: v.copy() for k, v in fields.items()}
    queries = ArmQueries(held)
    asked = {"name": TWO, "desired_position": [0.3, 0.4], "use_current_state": True}
    queries.computed_torque(GetComputedTorque.Request(**asked, as_command=True))
    assert held.arm.d is d
    assert len(before) > 10
    for k, v in before.items():
        assert np.array_equal(v, getattr(d, k), equal_nan=True), k


def test_queries_reuse_one_copy_of_the_arm(held):
    made = []
    real = held.arm.twin
    held.arm = SimpleNamespace(**{k: getattr(held.arm, k) for k in ("names", "m")})
    held.arm.twin = lambda: made.append(1) or real()
    queries = ArmQueries(held)
    for _ in range(3):
        queries.gravity_effort(GetGravityEffort.Request(use_current_state=True))
    assert made == [1]
