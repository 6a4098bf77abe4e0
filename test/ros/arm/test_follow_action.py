# SPDX-License-Identifier: Apache-2.0
"""The action follow_joint_trajectory over DDS, with a stand-in for the arm."""

import threading
from contextlib import suppress

import numpy as np
import pytest

pytest.importorskip("control_msgs")

import rclpy
from action_msgs.msg import GoalStatus
from arm_stand_ins import NAMES, SECOND, START, Following
from builtin_interfaces.msg import Duration, Time
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointComponentTolerance, JointTolerance
from rclpy.action import ActionClient
from support.refusals import worded
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint, MultiDOFJointTrajectoryPoint

from rbdyn_ros.control.controller import Progress
from rbdyn_ros.ros.arm import follow_action
from rbdyn_ros.ros.arm.follow_action import FollowAction
from rbdyn_ros.ros.arm.goal_monitor import AT_REST, GOAL_TIME, GoalMonitor, Tolerances

RESULT = FollowJointTrajectory.Result


class Goals:
    """A client that sends goals and waits for their results."""

    def __init__(self, peer):
        self.peer = peer
        self.client = ActionClient(
            peer.node, FollowJointTrajectory, "/arm/follow_joint_trajectory"
        )
        peer.until(self.client.server_is_ready)
        self.feedback = []

    def send(self, goal):
        sent = self.client.send_goal_async(
            goal, lambda message: self.feedback.append(message.feedback)
        )
        self.peer.until(sent.done)
        return sent.result()

    def result(self, handle):
        ended = handle.get_result_async()
        self.peer.until(ended.done)
        return ended.result()


@pytest.fixture
def arm():
    return Following()


@pytest.fixture
def action(peer, arm):
    node = rclpy.create_node("arm", context=peer.context)
    action = FollowAction(node, arm)
    yield action
    action.close()
    node.destroy_node()


@pytest.fixture
def goals(peer, action):
    goals = Goals(peer)
    yield goals
    goals.client.destroy()


def there(*rows, names=NAMES):
    """Return a goal with the rows of positions at intervals of a second."""
    trajectory = JointTrajectory(joint_names=names)
    for k, row in enumerate(rows, 1):
        point = JointTrajectoryPoint(positions=row, time_from_start=Duration(sec=k))
        trajectory.points.append(point)
    return FollowJointTrajectory.Goal(trajectory=trajectory)


def test_a_goal_gives_feedback_and_succeeds(peer, arm, goals):
    handle = goals.send(there([0.5, 0.25], [1.0, 0.5]))
    assert handle.accepted
    assert [list(p.positions) for p in arm.taken[0].points] == [[0.5, 0.25], [1.0, 0.5]]
    desired = np.array([[0.7, 0.3], [0.5, 0.2], [0.1, 0.0]])
    actual = np.array([[0.6, 0.35], [0.4, 0.2]])
    arm.change(time=START + 3 * SECOND // 2, desired=desired, actual=actual)
    peer.until(lambda: goals.feedback and goals.feedback[-1].desired.positions[0] == 0.7)
    feedback = goals.feedback[-1]
    assert tuple(feedback.joint_names) == NAMES
    assert feedback.header.stamp == Time(sec=101, nanosec=500_000_000)
    for point in (feedback.desired, feedback.actual, feedback.error):
        assert point.time_from_start == Duration(sec=1, nanosec=500_000_000)
    assert np.array_equal(
        [feedback.desired.velocities, feedback.desired.accelerations], desired[1:]
    )
    assert np.array_equal([feedback.actual.positions, feedback.actual.velocities], actual)
    error = desired[:2] - actual
    assert np.array_equal([feedback.error.positions, feedback.error.velocities], error)
    assert len(feedback.actual.accelerations) == 0
    assert feedback.index == 1  # the arm moves to the second point
    arm.arrive()
    ended = goals.result(handle)
    assert ended.status == GoalStatus.STATUS_SUCCEEDED
    assert ended.result.error_code == RESULT.SUCCESSFUL
    worded("follow_joint_trajectory", ended.result.error_string)
    assert arm.stops == 0


def test_the_action_sends_feedback_repeatedly(peer, goals):
    handle = goals.send(there([0.5, 0.25]))
    peer.until(lambda: len(goals.feedback) >= 10)
    handle.cancel_goal_async()


@pytest.mark.parametrize(
    ("field", "kind", "allowed", "beyond"),
    [("position", 0, 0.1, 0.2), ("velocity", 1, 0.3, -0.4)],
)
def test_an_arm_beyond_a_path_tolerance_is_stopped(arm, goals, field, kind, allowed, beyond):
    goal = there([1.0, 0.5])
    goal.path_tolerance = [JointTolerance(name="turn", **{field: allowed})]
    handle = goals.send(goal)
    actual = np.zeros((2, 2))
    actual[kind, 0] = -9.0  # the other joint has no tolerance
    actual[kind, 1] = -beyond
    arm.change(actual=actual)
    ended = goals.result(handle)
    assert ended.status == GoalStatus.STATUS_ABORTED
    assert ended.result.error_code == RESULT.PATH_TOLERANCE_VIOLATED
    why = ended.result.error_string
    worded("follow_joint_trajectory", why)
    for part in (field, "'turn'", f"{abs(beyond)}", f"path_tolerance is {allowed}"):
        assert part in why
    assert arm.stops == 1


def test_the_arm_may_reach_the_goal_within_goal_time_tolerance(peer, arm, goals):
    goal = there([1.0, 0.5])
    goal.goal_tolerance = [JointTolerance(name="lift", position=0.1)]
    goal.goal_time_tolerance = Duration(sec=2)
    handle = goals.send(goal)
    arm.arrive(off=(0.2, 5.0))
    seen = len(goals.feedback)
    peer.until(lambda: len(goals.feedback) > seen + 2)  # the goal has not ended
    arm.arrive(seconds=1.9, off=(0.2, 5.0))
    seen = len(goals.feedback)
    peer.until(lambda: len(goals.feedback) > seen + 2)  # the goal still waits
    arm.arrive(off=(0.05, 5.0))
    assert goals.result(handle).status == GoalStatus.STATUS_SUCCEEDED


def test_a_goal_not_reached_within_goal_time_tolerance_is_aborted(peer, arm, goals):
    goal = there([1.0, 0.5])
    goal.goal_tolerance = [JointTolerance(name="lift", position=0.1)]
    goal.goal_time_tolerance = Duration(sec=2)
    handle = goals.send(goal)
    arm.arrive(off=(0.2, 0.0))
    seen = len(goals.feedback)
    peer.until(lambda: len(goals.feedback) > seen + 1)
    arm.arrive(seconds=2.1, off=(0.2, 0.0))
    ended = goals.result(handle)
    assert ended.status == GoalStatus.STATUS_ABORTED
    assert ended.result.error_code == RESULT.GOAL_TOLERANCE_VIOLATED
    worded("follow_joint_trajectory", ended.result.error_string)
    assert "'lift'" in ended.result.error_string
    assert arm.stops == 1


def test_cancelling_stops_the_arm(peer, arm, goals):
    handle = goals.send(there([1.0, 0.5]))
    cancelled = handle.cancel_goal_async()
    peer.until(cancelled.done)
    assert len(cancelled.result().goals_canceling) == 1
    ended = goals.result(handle)
    assert ended.status == GoalStatus.STATUS_CANCELED
    worded("follow_joint_trajectory", ended.result.error_string)
    assert arm.stops == 1


def test_a_new_goal_aborts_the_previous_goal(arm, goals):
    """The arm follows the last of many goals; the others are aborted."""
    handles = [goals.send(there([1.0, 0.1 * k])) for k in range(8)]
    assert all(handle.accepted for handle in handles)
    for handle in handles[:-1]:
        ended = goals.result(handle)
        assert ended.status == GoalStatus.STATUS_ABORTED
        assert ended.result.error_code == RESULT.INVALID_GOAL
        worded("follow_joint_trajectory", ended.result.error_string)
    assert arm.stops == 0
    arm.arrive()
    assert goals.result(handles[-1]).status == GoalStatus.STATUS_SUCCEEDED


def test_of_many_goals_sent_at_once_one_succeeds_and_the_others_are_aborted(peer, arm, goals):
    sent = [goals.client.send_goal_async(there([1.0, 0.1 * k])) for k in range(8)]
    peer.until(lambda: all(future.done() for future in sent))
    handles = [future.result() for future in sent]
    assert [handle.accepted for handle in handles] == [True] * 8
    arm.arrive()
    ends = sorted(goals.result(handle).status for handle in handles)
    assert ends == [GoalStatus.STATUS_SUCCEEDED] + [GoalStatus.STATUS_ABORTED] * 7
    assert arm.stops == 0


def test_goals_are_accepted_one_after_another(peer, arm, goals):
    """The second goal waits until the first has the number of its trajectory."""
    real, both = arm.follow, threading.Barrier(2)

    def follow(message):
        with suppress(threading.BrokenBarrierError):
            both.wait(0.3)  # times out, because only one goal waits here
        return real(message)

    arm.follow = follow
    sent = [goals.client.send_goal_async(there([1.0, 0.1 * k])) for k in range(2)]
    peer.until(lambda: all(future.done() for future in sent))
    assert [future.result().accepted for future in sent] == [True, True]
    assert arm.stops == 0


def test_a_trajectory_on_the_topic_aborts_the_goal(arm, goals):
    handle = goals.send(there([1.0, 0.5]))
    arm.change(number=arm.now.number + 1)
    ended = goals.result(handle)
    assert ended.status == GoalStatus.STATUS_ABORTED
    assert ended.result.error_code == RESULT.INVALID_GOAL
    assert arm.stops == 0  # the new trajectory continues


def test_a_trajectory_that_another_client_stops_is_aborted(arm, goals):
    handle = goals.send(there([1.0, 0.5]))
    arm.change(done=True)  # the arm rests at 0, far from the goal
    ended = goals.result(handle)
    assert ended.status == GoalStatus.STATUS_ABORTED
    worded("follow_joint_trajectory", ended.result.error_string)


def test_a_fault_aborts_the_goal(arm, goals):
    handle = goals.send(there([1.0, 0.5]))
    arm.change(failed="joint 'lift' is at 3, beyond its limit 2")
    ended = goals.result(handle)
    assert ended.status == GoalStatus.STATUS_ABORTED
    assert ended.result.error_code == RESULT.INVALID_GOAL
    assert ended.result.error_string == "joint 'lift' is at 3, beyond its limit 2"


def test_closing_the_action_aborts_its_goal(peer, arm, action, goals):
    handle = goals.send(there([1.0, 0.5]))
    peer.until(lambda: goals.feedback)
    ended = handle.get_result_async()
    closer = threading.Thread(target=action.close)
    closer.start()
    closer.join(30.0)
    assert not closer.is_alive()
    peer.until(ended.done)
    assert ended.result().status == GoalStatus.STATUS_ABORTED
    worded("follow_joint_trajectory", ended.result().result.error_string)


def tolerance(name="lift", **numbers):
    return [JointTolerance(name=name, **numbers)]


def reason(goals, goal):
    """Send a goal that is accepted and then aborted at once; return the error text."""
    handle = goals.send(goal)
    assert handle.accepted
    ended = goals.result(handle)
    assert ended.status == GoalStatus.STATUS_ABORTED
    assert ended.result.error_code == RESULT.INVALID_GOAL
    return ended.result.error_string


def change(goal, **fields):
    for name, value in fields.items():
        setattr(goal, name, value)


REFUSED = {
    "no points": (lambda g: change(g.trajectory, points=[]), "points"),
    "several dofs": (
        lambda g: change(g.multi_dof_trajectory, joint_names=["base"]),
        "multi_dof_trajectory",
    ),
    "points of several dofs": (
        lambda g: change(g.multi_dof_trajectory, points=[MultiDOFJointTrajectoryPoint()]),
        "multi_dof_trajectory",
    ),
    "tolerance of several dofs": (
        lambda g: change(g, component_goal_tolerance=[JointComponentTolerance()]),
        "component_goal_tolerance",
    ),
    "unknown joint": (lambda g: change(g, path_tolerance=tolerance("lfit")), "'lfit'"),
    "joint twice": (lambda g: change(g, goal_tolerance=tolerance() * 2), "'lift'"),
    "nan": (lambda g: change(g, goal_tolerance=tolerance(position=np.nan)), "'lift'"),
    "acceleration": (lambda g: change(g, path_tolerance=tolerance(acceleration=1.0)), "'lift'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_the_action_refuses_invalid_goals(arm, goals, capfd, case):
    goal = there([1.0, 0.5])
    spoil, found = REFUSED[case]
    spoil(goal)
    why = reason(goals, goal)
    worded("follow_joint_trajectory", why)
    assert found in why
    assert f"refused a goal of follow_joint_trajectory: {why}" in "".join(capfd.readouterr())
    assert arm.taken == []


def test_a_refused_goal_does_not_affect_the_current_goal(arm, goals):
    handle = goals.send(there([1.0, 0.5]))
    assert "has no points" in reason(goals, there())
    assert arm.stops == 0
    arm.arrive()
    assert goals.result(handle).status == GoalStatus.STATUS_SUCCEEDED


def test_the_reason_for_refusing_a_trajectory_is_returned_and_logged(arm, goals, capfd):
    arm.why = "joint 'lift' is beyond its limit"
    assert reason(goals, there([1.0, 0.5])) == "joint 'lift' is beyond its limit"
    assert "joint 'lift' is beyond its limit" in "".join(capfd.readouterr())


def test_a_goal_and_another_trajectory_at_the_same_time_stop_the_arm(arm, goals):
    arm.at_the_same_time = 1
    why = reason(goals, there([1.0, 0.5]))
    worded("follow_joint_trajectory", why)
    assert arm.stops == 1


def test_an_exception_in_one_goal_does_not_affect_the_next_goal(arm, goals, capfd):
    real, arm.follow = arm.follow, lambda _: 1 / 0
    heard = ""

    def failed():
        nonlocal heard
        heard += "".join(capfd.readouterr())
        return "a goal of follow_joint_trajectory failed: Traceback" in heard

    # reading capfd may lose text that another thread writes, so try again
    goals.peer.repeat(lambda: goals.client.send_goal_async(there([1.0, 0.5])), failed)
    arm.follow = real
    handle = goals.send(there([1.0, 0.5]))
    assert handle.accepted
    arm.arrive()
    assert goals.result(handle).status == GoalStatus.STATUS_SUCCEEDED


def test_the_node_has_no_action_without_control_msgs(peer, arm, monkeypatch, capfd):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(follow_action.importlib, "import_module", missing)
    node = rclpy.create_node("bare", context=peer.context)
    action = FollowAction(node, arm)
    assert "control_msgs is not installed: the action follow_joint_trajectory is off" in "".join(
        capfd.readouterr()
    )
    action.close()
    node.destroy_node()


def test_tolerances_can_be_default_unlimited_or_given():
    goal = there([1.0, 0.5])
    found = Tolerances.of(goal, NAMES)
    assert np.isinf(found.path).all()
    assert np.isinf(found.goal[0]).all()
    assert (found.goal[1] == AT_REST).all()
    assert found.goal_time == GOAL_TIME
    goal.path_tolerance = tolerance("turn", position=0.5, velocity=-1.0)
    goal.goal_tolerance = tolerance("lift", velocity=-0.5)
    goal.goal_time_tolerance = Duration(sec=-1)
    found = Tolerances.of(goal, NAMES)
    assert found.path[0].tolist() == [np.inf, 0.5]
    assert np.isinf(found.path[1]).all()
    assert found.goal[1].tolist() == [np.inf, AT_REST]
    assert found.goal_time == np.inf


def monitor(stamp=None, **tolerances):
    goal = there([0.5, 0.2], [1.0, 0.5])
    change(goal, **tolerances)
    if stamp is not None:
        goal.trajectory.header.stamp = stamp
    return GoalMonitor(5, NAMES, Tolerances.of(goal, NAMES), goal.trajectory, START)


def at(seconds, **fields):
    values = {"desired": np.zeros((3, 2)), "actual": np.zeros((2, 2)), "number": 5}
    values |= {"done": False, "failed": ""}
    return Progress(START + int(seconds * SECOND), **(values | fields))


def test_an_error_of_nan_violates_a_tolerance():
    goal = monitor(path_tolerance=tolerance(position=0.1))
    ending = goal.ending(at(0.5, actual=np.full((2, 2), np.nan)), lambda: False)
    assert ending.code == "PATH_TOLERANCE_VIOLATED"


def test_path_tolerances_are_checked_at_least_once():
    last = np.array([[1.0, 0.5], [0.0, 0.0], [0.0, 0.0]])
    goal = monitor(path_tolerance=tolerance(position=0.1))
    late = at(9.0, done=True, desired=last, actual=np.array([[0.8, 0.5], [0.0, 0.0]]))
    assert goal.ending(late, lambda: False).code == "PATH_TOLERANCE_VIOLATED"
    goal = monitor(path_tolerance=tolerance(position=0.1))
    assert goal.ending(at(1.0), lambda: False) is None
    assert goal.ending(late, lambda: False).how == "succeed"


def test_the_time_of_a_goal_counts_from_its_stamp():
    assert monitor().time_ns(at(0.5)) == SECOND // 2
    goal = monitor(stamp=Time(sec=102))
    assert goal.time_ns(at(0.5)) == -3 * SECOND // 2
    assert [goal.index(at(t)) for t in (0.5, 2.9, 3.0, 3.9, 7.0)] == [0, 0, 1, 1, 1]


@pytest.mark.parametrize("cause", ["replaced", "failed"])
def test_a_goal_that_ends_while_it_is_cancelled_counts_as_cancelled(cause):
    now = at(1.0, number=6) if cause == "replaced" else at(1.0, failed="a fault")
    ending = monitor().ending(now, lambda: True)
    assert (ending.how, ending.stop) == ("canceled", False)
