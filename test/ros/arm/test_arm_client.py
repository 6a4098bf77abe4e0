# SPDX-License-Identifier: Apache-2.0
"""The Python client ArmClient, with a replaced controller and with a simulated arm."""

import threading

import numpy as np
import pytest

pytest.importorskip("rbdyn_interfaces")
pytest.importorskip("control_msgs")

import rclpy
from action_msgs.msg import GoalStatus
from arm_pair import UR5_START, start_pair
from arm_stand_ins import STAMP, Following, Held, message_log
from rclpy.executors import SingleThreadedExecutor
from std_srvs.srv import Trigger
from support.refusals import refused, worded
from support.robots import find
from trajectory_msgs.msg import JointTrajectory

from rbdyn_ros.control.motion.paths import Path
from rbdyn_ros.control.motion.planning import quintic
from rbdyn_ros.errors import RbdynError
from rbdyn_ros.ros import arm_client
from rbdyn_ros.ros.arm.follow_action import FollowAction
from rbdyn_ros.ros.arm.services import ArmServices
from rbdyn_ros.ros.arm_client import MODES, ArmClient, path_message
from rbdyn_ros.ros.common.graph import caller
from rbdyn_ros.ros.common.graph.caller import SUCCEEDED


class Node:
    """A node with the services and the action of an arm_controller, but without an arm."""

    def __init__(self, context):
        self.node = rclpy.create_node("arm_controller", context=context)
        self.held, self.following = Held(), Following()
        self.called, self.answer = [], threading.Event()
        self.answer.set()
        for name in (*MODES, "arm", "disarm", "clear_fault"):
            self.node.create_service(Trigger, f"~/{name}", self._trigger(name))
        ArmServices(self.node, self.held, message_log(self.node))
        self.action = FollowAction(self.node, self.following)
        self.executor = SingleThreadedExecutor(context=context)
        self.executor.add_node(self.node)
        self.thread = threading.Thread(target=self.executor.spin, daemon=True)
        self.thread.start()

    def _trigger(self, name):
        def answer(_, response):
            self.answer.wait(60.0)
            self.called.append(name)
            response.success = name != "clear_fault"
            response.message = f"{name}: done" if response.success else "the fault is still there"
            return response

        return answer

    def close(self):
        self.answer.set()
        self.action.close()
        self.executor.shutdown(5.0)
        self.thread.join(5.0)
        self.node.destroy_node()


@pytest.fixture
def controller(peer):
    controller = Node(peer.context)
    yield controller
    controller.close()


@pytest.fixture
def client(peer, controller):
    """Yield a client that spins its node itself, as in a script."""
    with ArmClient(peer.node, timeout=30.0) as client:
        yield client


def in_background(work):
    """Start work in a thread; return the thread and the list of its error texts."""
    raised = []

    def run():
        try:
            work()
        except RbdynError as error:
            raised.append(str(error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, raised


def test_the_client_calls_the_services_of_the_arm(client, controller):
    assert client.arm() == "arm: done"
    assert [client.set_mode(mode) for mode in MODES] == [f"{mode}: done" for mode in MODES]
    assert client.disarm() == "disarm: done"
    with refused(RbdynError, "arm-client") as caught:
        client.clear_fault()
    assert str(caught.value) == "the fault is still there"
    assert controller.called == ["arm", *MODES, "disarm", "clear_fault"]
    with refused(RbdynError, "arm-client"):
        client.set_mode("gravty")


def test_the_client_returns_efforts_by_name(client, controller):
    arm, held = controller.held.arm, controller.held
    g = arm.twin().gravity_effort(held.qpos, np.empty(8))
    found = client.gravity_effort()
    assert found == dict(zip(arm.names, g.tolist(), strict=True))
    assert (found.stamp_ns, found.model_sha256) == (STAMP, arm.sha256)
    assert client.gravity_effort(as_command=True) == dict.fromkeys(arm.names, 0.0)
    at = {"panda_joint3": 0.2, "panda_joint2": 0.1}
    found = client.gravity_effort(at)
    qpos = held.qpos.copy()
    qpos[[2, 1]] = 0.2, 0.1
    g = arm.twin().gravity_effort(qpos, np.empty(8))
    assert found == {"panda_joint3": g[2], "panda_joint2": g[1]}


def test_each_argument_of_the_client_reaches_the_service(client, controller, monkeypatch):
    """Only the requests are checked here; test_arm_services checks the answers."""
    asked = []

    def call(kind, name, request):
        fields = kind.Request.get_fields_and_field_types()
        values = {field: getattr(request, field) for field in fields}
        asked.append((name, {k: v if isinstance(v, bool) else list(v) for k, v in values.items()}))
        raise RbdynError(())

    monkeypatch.setattr(client._caller, "call", call)
    p, v, a = ({"a": n + 0.5, "b": n + 0.75} for n in (1.0, 2.0, 3.0))
    late = dict(reversed(v.items()))
    flags = {"include_friction": True, "as_command": True}
    for work in (
        lambda: client.inverse_dynamics(a, p, late, include_gravity=False, **flags),
        lambda: client.inverse_dynamics(a),
        lambda: client.computed_torque(
            p, late, a, position=a, velocity=p, stiffness=v, damping=late, clamp=True, **flags
        ),
    ):
        with pytest.raises(RbdynError):
            work()
    P, V, A = [1.5, 1.75], [2.5, 2.75], [3.5, 3.75]
    state = {"name": ["a", "b"], "position": P, "velocity": V, "use_current_state": False}
    inverse = "get_inverse_dynamics"
    assert asked[0] == (inverse, state | {"acceleration": A, "include_gravity": False} | flags)
    nothing = {"position": [], "velocity": [], "use_current_state": True}
    nothing |= {"include_friction": False, "as_command": False, "include_gravity": True}
    assert asked[1] == (inverse, {"name": ["a", "b"], "acceleration": A} | nothing)
    wanted = {"desired_position": P, "desired_velocity": V, "desired_acceleration": A}
    wanted |= {"position": A, "velocity": P, "stiffness": V, "damping": V, "clamp": True}
    assert asked[2] == ("get_computed_torque", state | wanted | flags)


def test_efforts_are_clamped_on_request(client):
    found = client.computed_torque({"panda_joint1": 50.0}, clamp=True)
    assert found == {"panda_joint1": 20.0}
    assert found.saturated


def test_a_refusal_by_a_service_raises_an_error(client):
    with refused(RbdynError, "arm-client"):
        client.gravity_effort({"panda_joint9": 0.0})
    with refused(RbdynError, "arm-client"):
        client.inverse_dynamics(velocity={"panda_joint1": 0.0})
    with refused(RbdynError, "arm-client"):
        client.inverse_dynamics({"panda_joint1": 0.0}, {"panda_joint2": 0.0})


def test_the_client_sets_a_payload(client, controller):
    sha256 = client.set_payload("panda_hand", 2, (0.1, 0, 0.3), (1, 2, 2.5, 0.1, 0.2, 0.3))
    assert sha256 == controller.held.arm.sha256
    payload = controller.held.arm.payloads["panda_hand"]
    assert payload == (2.0, (0.1, 0.0, 0.3), (1.0, 2.0, 2.5, 0.1, 0.2, 0.3))
    with refused(RbdynError, "arm-client"):
        client.set_payload("panda_hand", -1.0)


def test_missing_and_silent_services_are_reported(peer, controller):
    with ArmClient(peer.node, "elsewhere", timeout=0.05) as client:
        with refused(RbdynError, "arm-client"):
            client.arm()
        with refused(RbdynError, "arm-client"):
            client.follow(Path([0.0], [[1.0, 2.0]]), ("lift", "turn"))
    with ArmClient(peer.node, timeout=30.0) as client:
        client.arm()
        controller.answer.clear()
        client._caller._timeout = 0.05  # limits the wait for an answer
        with refused(RbdynError, "arm-client"):
            client.arm()
        controller.answer.set()
        client._caller._timeout = 30.0
        assert client.disarm() == "disarm: done"  # the late answer of `arm` is dropped


def test_the_client_works_in_a_callback_of_a_single_threaded_node(peer, client):
    said = []

    def on_timer():
        timer.cancel()
        said.append(client.arm())

    timer = peer.node.create_timer(0.001, on_timer)
    peer.until(lambda: said)
    assert said == ["arm: done"]


def test_the_client_can_be_used_by_several_threads(client):
    said = []
    threads = [
        threading.Thread(target=lambda m=mode: said.append(client.set_mode(m)))
        for mode in MODES * 4
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
    assert sorted(said) == sorted(f"{mode}: done" for mode in MODES * 4)


def path():
    return Path([0.0, 0.5, 2.0], [[0.0, 0.0], [0.5, 0.1], [1.0, 0.25]], np.ones((3, 2)))


def test_a_path_is_sent_as_a_trajectory_message():
    message = path_message(path(), ("lift", "turn"))
    assert message.joint_names == ["lift", "turn"]
    assert [list(p.positions) for p in message.points] == [[0.0, 0.0], [0.5, 0.1], [1.0, 0.25]]
    times = [(p.time_from_start.sec, p.time_from_start.nanosec) for p in message.points]
    assert times == [(0, 0), (0, 500_000_000), (2, 0)]
    assert [list(p.velocities) for p in message.points] == [[1.0, 1.0]] * 3
    assert all(len(p.accelerations) == 0 for p in message.points)
    straight = path_message(Path([0.0, 1.0], [[0.0], [1.0]]), ("lift",))
    assert all(len(p.velocities) == 0 for p in straight.points)
    quintic = Path([0.0, 1.0], [[0.0], [1.0]], [[0.0], [0.0]], [[0.5], [0.0]])
    assert list(path_message(quintic, ("lift",)).points[0].accelerations) == [0.5]
    with refused(RbdynError, "arm-client"):
        path_message(path(), ("lift",))


def test_follow_returns_when_the_arm_reaches_its_goal(peer, client, controller):
    arm = controller.following
    thread, raised = in_background(lambda: client.follow(path(), ("lift", "turn")))
    peer.until(lambda: arm.taken)
    assert thread.is_alive()
    arm.arrive()
    thread.join(30.0)
    assert (thread.is_alive(), raised) == (False, [])


def test_an_action_client_is_made_in_the_thread_that_spins(peer, client, controller, monkeypatch):
    """Otherwise the spinning thread could use a client whose constructor has not returned."""
    real, makers = caller.ActionClient, []

    def make(*given):
        makers.append(threading.current_thread().name)
        return real(*given)

    monkeypatch.setattr(caller, "ActionClient", make)
    thread, raised = in_background(lambda: client.follow(path(), ("lift", "turn")))
    peer.until(lambda: controller.following.taken)
    controller.following.arrive()
    thread.join(30.0)
    assert (makers, raised) == (["rbdyn-client"], [])


def test_the_error_of_a_failed_trajectory_names_the_reason(peer, client, controller):
    arm = controller.following
    tolerance = {"path_tolerance": {"turn": 0.5}, "goal_tolerance": {"lift": 0.1}}
    work = lambda: client.follow(path_message(path(), ("lift", "turn")), **tolerance)  # noqa: E731
    thread, raised = in_background(work)
    peer.until(lambda: arm.taken)
    arm.change(actual=np.full((2, 2), 0.75))
    thread.join(30.0)
    assert "'turn'" in raised[0]
    arm.why = "joint 'lift' is beyond its limit"
    thread, raised = in_background(work)
    thread.join(30.0)
    assert raised == ["joint 'lift' is beyond its limit"]


class Interrupted(BaseException):
    """Stands for KeyboardInterrupt, which rclpy would catch."""


def test_an_interrupt_during_follow_cancels_the_goal(peer, client, controller, monkeypatch):
    arm = controller.following
    real = caller.Caller._next

    def interrupted(*arguments):
        kind, value = real(*arguments)
        if kind == "feedback":
            raise Interrupted
        return kind, value

    monkeypatch.setattr(caller.Caller, "_next", interrupted)
    with pytest.raises(Interrupted):
        client.follow(path(), ("lift", "turn"))
    peer.until(lambda: arm.stops == 1)


def test_the_client_reports_a_node_that_stops_answering(peer, client, controller):
    arm, silent = controller.following, threading.Event()
    real, arm.progress = arm.progress, lambda: (silent.is_set() and thread.join(30.0), real())[1]
    client._caller._timeout = 2.0
    thread, raised = in_background(lambda: client.follow(path(), ("lift", "turn")))
    peer.until(lambda: arm.taken)
    silent.set()
    thread.join(30.0)
    worded("arm-client", raised[0])
    peer.until(lambda: arm.stops == 1)  # the goal is cancelled once the node answers again


def test_closing_cancels_the_goal_and_follow_raises(peer, client, controller):
    arm = controller.following
    thread, raised = in_background(lambda: client.follow(path(), ("lift", "turn")))
    peer.until(lambda: arm.taken)
    client.close()
    thread.join(30.0)
    assert raised == ["the client is closed; the goal is cancelled"]
    peer.until(lambda: arm.stops == 1)


def test_closing_cancels_a_goal_that_is_not_accepted_yet(peer, client, controller):
    arm, closer = controller.following, threading.Thread(target=client.close)
    real, arm.follow = arm.follow, lambda message: (closer.start(), real(message))[1]
    thread, raised = in_background(lambda: client.follow(path(), ("lift", "turn")))
    thread.join(30.0)
    closer.join(30.0)
    assert raised == ["the client is closed; the goal is cancelled"]
    peer.until(lambda: arm.stops == 1)


def test_an_interrupt_in_a_with_block_cancels_the_goal_before_the_exit(
    peer, controller, monkeypatch
):
    """`with` closes the client right after the interrupt; the cancellation must be sent first."""
    real = caller.Caller._next

    def interrupted(*arguments):
        if real(*arguments)[0] == "feedback":
            raise Interrupted
        return "feedback", None

    monkeypatch.setattr(caller.Caller, "_next", interrupted)
    with pytest.raises(Interrupted), ArmClient(peer.node, timeout=30.0) as client:
        client.follow(path(), ("lift", "turn"))
    peer.until(lambda: controller.following.stops == 1)


def test_closing_the_client_ends_waiting_calls_with_an_error(peer, client, controller):
    client.arm()
    controller.answer.clear()
    thread, raised = in_background(client.disarm)
    peer.until(lambda: len(client._caller._waiting) == 1)
    elsewhere = ArmClient(peer.node, "elsewhere", timeout=600.0)
    looking, unfound = in_background(elsewhere.arm)
    peer.until(lambda: len(elsewhere._caller._waiting) == 1)
    for closed in (client, elsewhere):
        closed.close()
    thread.join(30.0)
    looking.join(30.0)
    assert (raised, unfound) == (["the client is closed"],) * 2


def test_a_closed_client_refuses_calls(client):
    client.close()
    client.close()
    follow = lambda: client.follow(path(), ("lift", "turn"))  # noqa: E731
    for work in (client.arm, client.gravity_effort, follow):
        with refused(RbdynError, "arm-client"):
            work()


INVALID = {
    "mode": lambda c: c.set_mode(None),
    "number": lambda c: c.gravity_effort({"a": "abc"}),
    "mapping": lambda c: c.gravity_effort([1.0]),
    "joint name": lambda c: c.gravity_effort({5: 1.0}),
    "flag": lambda c: c.gravity_effort(as_command="no"),
    "link": lambda c: c.set_payload(5, 1.0),
    "mass": lambda c: c.set_payload("hand", None),
    "com with two numbers": lambda c: c.set_payload("hand", 1.0, (0.0, 1.0)),
    "com": lambda c: c.set_payload("hand", 1.0, 7),
    "trajectory": lambda c: c.follow(None),
    "joint name of a path": lambda c: c.follow(path(), ("lift", None)),
    "duration": lambda c: c.follow(Path([0.0, 2.0**31], [[0.0], [1.0]]), ("lift",)),
    "tolerance": lambda c: c.follow(path(), ("lift", "turn"), {"lift": [1.0]}),
}


@pytest.mark.parametrize("case", INVALID)
def test_arguments_with_wrong_types_or_lengths_are_refused(client, case):
    with refused(RbdynError, "arm-client"):
        INVALID[case](client)


def test_an_invalid_node_name_is_refused(peer):
    with ArmClient(peer.node, "no name!") as client, refused(RbdynError, "arm-client"):
        client.arm()


def test_succeeded_has_the_same_number_as_in_ros():
    assert SUCCEEDED == GoalStatus.STATUS_SUCCEEDED


def test_calls_without_message_packages_are_refused(client, monkeypatch):
    def missing(*_):
        raise ImportError("missing")

    monkeypatch.setattr(arm_client, "own_services", missing)
    with refused(RbdynError, "arm-client"):
        client.gravity_effort()
    monkeypatch.setattr(arm_client.importlib, "import_module", missing)
    with refused(RbdynError, "arm-client"):
        client.follow(path(), ("lift", "turn"))


def test_a_real_controller_follows_a_path(simulate, control, peer):
    """Of four goals one is reached, one replaced on the topic, one refused and one cancelled."""
    urdf = find("ur5_robot.urdf")
    robot = simulate, control, peer, urdf, UR5_START
    pair = start_pair(*robot, mode="computed_torque", lockstep=True)
    names = pair.arm.names
    topic = peer.publisher(JointTrajectory, f"{pair.node}/joint_trajectory")
    with ArmClient(peer.node, timeout=30.0) as client:
        pair.arm_it("computed_torque")
        place = pair.arm.rest()
        there = place + 0.1

        def follow(time, goal=there):
            way = quintic([place, goal], [0.0, time])
            return in_background(lambda: client.follow(way, names))

        def follow_long(goal):
            """Move half of the way in 2 s and the rest in 298 s: simulated time may run ahead.

            The arm rests at each point: otherwise the spline would overshoot.
            """
            points = np.array([place, 0.5 * (place + goal), goal])
            way = Path([0.0, 2.0, 300.0], points, np.zeros_like(points))
            return in_background(lambda: client.follow(way, names))

        def ended(thread):
            peer.until(lambda: not thread.is_alive())

        thread, raised = follow(1.0)
        ended(thread)
        assert raised == []
        # the last states can arrive after the result
        peer.until(lambda: np.abs(pair.arm.position - there).max() < 5e-3)
        place, there = there, place

        thread, raised = follow_long(there)
        peer.until(lambda: pair.arm.speed > 5e-3)

        def stop_here():
            topic.publish(path_message(quintic([pair.arm.position] * 2, [0.0, 0.1]), names))

        peer.repeat(stop_here, lambda: not thread.is_alive())
        worded("arm-client", raised[0])

        place = pair.arm.rest()
        thread, raised = follow(1.0, place + 2.0)
        ended(thread)
        assert "'elbow_joint'" in raised[0]

        thread, raised = follow_long(place + 0.1)
        peer.until(lambda: pair.arm.speed > 5e-3)
        closed = threading.Thread(target=client.close)
        closed.start()
        ended(closed)
        assert raised == ["the client is closed; the goal is cancelled"]
        # the cancelled arm stopped near the start
        assert np.abs(pair.arm.rest() - place).max() < 0.09
    pair.until_said("computed_torque", "armed")
    pair.end_well()
