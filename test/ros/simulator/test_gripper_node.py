# SPDX-License-Identifier: Apache-2.0
"""Gripper actions over DDS: the cases that gripper_controllers tests, and a simulated grasp."""

import math

import numpy as np
import pytest

pytest.importorskip("control_msgs.action")
from control_msgs import action as actions

if not hasattr(actions, "GripperCommand"):
    pytest.skip("control_msgs is not built", allow_module_level=True)

from action_msgs.msg import GoalStatus
from rclpy.action import ActionClient
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

#: A hand whose second finger mimics the first. The fingers meet at 0, and are open at 0.04.
HAND = """<robot name="hand">
  <link name="mount"/>
  <joint name="lift" type="prismatic"><parent link="mount"/><child link="palm"/>
    <axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="100" velocity="1"/></joint>
  <link name="palm"><inertial><mass value="1"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  {left}{right}
</robot>"""
FINGER = """<joint name="{name}" type="prismatic"><parent link="palm"/><child link="{name}_tip"/>
    <origin xyz="0 {y} 0"/><axis xyz="0 {axis} 0"/>{mimic}
    <limit lower="0" upper="0.04" effort="100" velocity="0.2"/></joint>
  <link name="{name}_tip"><inertial><mass value="0.1"/>
    <inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><box size="0.02 0.02 0.06"/></geometry></collision></link>"""
#: A cube of 0.03 m, which the fingers touch at 0.015, without gravity.
SCENE = """rbdyn_scene: 1
robot: {file: hand.urdf, xyz: [0, 0, 1], start: {finger_joint1: 0.03}}
surfaces: {rubber: {friction: 1.0}}
objects:
  cube: {box: {size: [0.03, 0.03, 0.03]}, mass: 0.1, xyz: [0, 0, 1], surface: rubber}
"""
WIDTH = 0.015


@pytest.fixture
def scene(tmp_path):
    mimic = '<mimic joint="finger_joint1"/>'
    left = FINGER.format(name="finger_joint1", y=0.01, axis=1, mimic="")
    right = FINGER.format(name="finger_joint2", y=-0.01, axis=-1, mimic=mimic)
    (tmp_path / "hand.urdf").write_text(HAND.format(left=left, right=right))
    path = tmp_path / "scene.yaml"
    path.write_text(SCENE)
    return path


@pytest.fixture
def hand(simulate, scene):
    """Return hand(parameter="value", ...), which starts a simulator of the open hand."""

    def start(grippers="[franka_hand]", wait=True, **more):
        given = {"grippers": grippers, "gravity": "[0.0,0.0,0.0]"}
        given |= more
        words = [w for name, value in given.items() for w in ("-p", f"{name}:={value}")]
        return simulate("--scene", scene, "--ros-args", *words, wait=wait)

    return start


class Goals:
    """Sends goals to a gripper action and waits for their results."""

    def __init__(self, peer, kind, name):
        self.peer, self.kind, self.feedback = peer, kind, []
        self.client = ActionClient(peer.node, kind, name)
        peer.until(self.client.server_is_ready)
        peer.spin(0.2)

    def send(self, **fields):
        goal = self.kind.Goal()
        for name, value in fields.items():
            setattr(goal.command, name, value)
        sent = self.client.send_goal_async(
            goal, lambda message: self.feedback.append(message.feedback)
        )
        self.peer.until(sent.done)
        return sent.result()

    def result(self, handle):
        assert handle.accepted
        ended = handle.get_result_async()
        self.peer.until(ended.done)
        return ended.result().status, ended.result().result


@pytest.fixture
def plain(peer):
    found = []

    def connect(name="/simulator/gripper_cmd"):
        found.append(Goals(peer, actions.GripperCommand, name))
        return found[-1]

    yield connect
    for goals in found:
        goals.client.destroy()


@pytest.fixture
def parallel(peer):
    goals = []

    def connect():
        name = "/simulator/parallel_gripper_cmd"
        goals.append(Goals(peer, actions.ParallelGripperCommand, name))
        return goals[-1]

    yield connect
    for one in goals:
        one.client.destroy()


def place(peer):
    """Return the newest position and effort of the finger."""
    state = peer.hear(JointState, "joint_states")[-1]
    k = list(state.name).index("finger_joint1")
    return state.position[k], state.effort[k]


def test_a_goal_in_free_space_is_reached(hand, peer, plain):
    hand()
    goals = plain()
    status, result = goals.result(goals.send(position=0.04, max_effort=20.0))
    assert status == GoalStatus.STATUS_SUCCEEDED
    assert (result.reached_goal, result.stalled) == (True, False)
    assert abs(result.position - 0.04) < 0.01  # the default goal_tolerance
    # the gripper moves on until it is at the goal
    peer.until(lambda: abs(place(peer)[0] - 0.04) < 1e-5)
    status, result = goals.result(goals.send(position=0.02, max_effort=20.0))
    assert status == GoalStatus.STATUS_SUCCEEDED
    assert goals.feedback


def test_a_gripper_stalls_at_an_object_with_the_effort_of_the_goal(hand, peer, plain):
    """The goal is aborted, but the gripper keeps its effort, as with gripper_controllers."""
    from rbdyn_interfaces.msg import Statistics

    hand(**{"gripper.goal_tolerance": "0.001"})
    statistics = peer.collect(Statistics, "/simulator/stats")
    goals = plain()
    status, result = goals.result(goals.send(position=0.0, max_effort=20.0))
    assert status == GoalStatus.STATUS_ABORTED
    assert (result.reached_goal, result.stalled) == (False, True)
    assert result.position == pytest.approx(WIDTH, abs=2e-4)
    assert result.effort == pytest.approx(-20.0, rel=1e-6)
    peer.spin(0.5)
    assert place(peer)[1] == pytest.approx(-20.0, rel=1e-6)
    statistics.clear()
    peer.until(lambda: statistics)
    last = statistics[-1]
    assert list(last.gripper) == ["finger_joint1"]
    assert last.gripper_width[0] == pytest.approx(2 * WIDTH, abs=4e-4)
    # the joint's 20 N drive two fingers, so each presses with 10 N
    assert last.gripper_force[0] == pytest.approx(10.0, rel=1e-6)


def test_a_stall_counts_as_success_with_allow_stalling(hand, parallel):
    more = {"gripper.goal_tolerance": "0.001", "gripper.allow_stalling": "true"}
    hand(**more, **{"gripper.stall_timeout": "0.2"})
    goals = parallel()
    status, result = goals.result(goals.send(position=[0.0], effort=[5.0]))
    assert status == GoalStatus.STATUS_SUCCEEDED
    assert (result.reached_goal, result.stalled) == (False, True)
    assert list(result.state.name) == ["finger_joint1"]
    assert result.state.position[0] == pytest.approx(WIDTH, abs=2e-4)
    assert result.state.effort[0] == pytest.approx(-5.0, rel=1e-6)


def test_a_goal_limits_the_speed_of_the_gripper(hand, peer, parallel):
    hand(**{"gripper.goal_tolerance": "1e-4"})
    states = peer.hear(JointState, "joint_states")
    goals = parallel()
    goals.result(goals.send(name=["finger_joint1"], position=[0.04], velocity=[0.02]))
    k = list(states[0].name).index("finger_joint1")
    speeds = np.array([state.velocity[k] for state in states])
    assert 0.019 < np.abs(speeds).max() < 0.0201


BAD = [
    ({"position": 0.05, "max_effort": 10.0}, "outside its stroke from 0 to 0.04"),
    ({"position": -0.01, "max_effort": 10.0}, "outside its stroke"),
    ({"position": math.nan, "max_effort": 10.0}, "position of gripper 'finger_joint1' is nan"),
    ({"position": 0.01, "max_effort": 0.0}, "largest effort of gripper 'finger_joint1' is 0"),
    ({"position": 0.01, "max_effort": -1.0}, "allowed is a finite number above 0"),
    ({"position": 0.01, "max_effort": math.inf}, "allowed is a finite number above 0"),
]
BAD_PARALLEL = [
    ({"position": []}, "it has 0 positions; the gripper takes one"),
    ({"position": [0.01, 0.02]}, "it has 2 positions"),
    ({"name": ["lift"], "position": [0.01]}, "it names 'lift'; the gripper moves"),
    ({"position": [0.01], "effort": [1.0, 2.0]}, "it has 2 efforts"),
    ({"position": [0.01], "velocity": [0.0]}, "largest velocity of gripper"),
]


def test_refusals_of_bad_goals_name_the_error_and_the_gripper_does_not_move(
    hand, peer, plain, parallel
):
    simulator = hand(start="held")
    start = place(peer)[0]
    for goals, cases in ((plain(), BAD), (parallel(), BAD_PARALLEL)):
        for fields, words in cases:
            assert not goals.send(**fields).accepted
            peer.until(lambda words=words: words in simulator.text())
            peer.spin(0.12)  # refusals are logged at a limited rate
    publisher = peer.publisher(JointState, "gripper_commands")
    for message, words in (
        (JointState(position=[0.01]), "it names no joint; it must name one of 'finger_joint1'"),
        (JointState(name=["lift"], position=[0.01]), "it names 'lift'"),
        (JointState(name=["finger_joint1"], position=[math.nan]), "is nan"),
    ):
        peer.insist(publisher, message, lambda words=words: words in simulator.text())
    assert place(peer)[0] == start


def test_a_gripper_holds_its_position_when_its_goal_is_cancelled(hand, peer, parallel):
    hand(**{"gripper.goal_tolerance": "1e-4"})
    goals = parallel()
    handle = goals.send(position=[0.04], velocity=[0.001])
    peer.until(lambda: goals.feedback)
    handle.cancel_goal_async()
    status, result = goals.result(handle)
    assert status == GoalStatus.STATUS_CANCELED
    peer.spin(1.0)
    assert place(peer)[0] == pytest.approx(result.state.position[0], abs=1e-4)


def test_a_new_goal_aborts_the_current_goal(hand, peer, plain, parallel):
    hand(**{"gripper.goal_tolerance": "1e-4"})
    slow, fast = parallel(), plain()
    first = slow.send(position=[0.04], velocity=[0.001])
    second = fast.send(position=0.02, max_effort=20.0)
    assert slow.result(first)[0] == GoalStatus.STATUS_ABORTED
    assert fast.result(second)[0] == GoalStatus.STATUS_SUCCEEDED


def test_a_reset_aborts_a_goal(hand, peer, parallel):
    hand(**{"gripper.goal_tolerance": "1e-4"})
    goals = parallel()
    handle = goals.send(position=[0.04], velocity=[0.001])
    assert peer.call(Trigger, "/simulator/reset", Trigger.Request()).success
    assert goals.result(handle)[0] == GoalStatus.STATUS_ABORTED


def test_a_goal_is_aborted_after_the_timeout(hand, parallel):
    hand(**{"gripper.goal_tolerance": "1e-4", "gripper.timeout": "0.3"})
    goals = parallel()
    handle = goals.send(position=[0.04], velocity=[0.002])
    assert goals.result(handle)[0] == GoalStatus.STATUS_ABORTED


def test_the_action_grips_a_cube_and_a_trajectory_lifts_it(hand, peer, plain):
    """The grip lasts longer than command_timeout, and while another joint moves."""
    from tf2_msgs.msg import TFMessage
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    hand(
        gravity="[0.0,0.0,-0.5]",
        **{"gripper.allow_stalling": "true", "gripper.goal_tolerance": "1e-3"},
    )
    objects = peer.collect(TFMessage, "object_poses")
    goals = plain()
    assert goals.result(goals.send(position=0.0, max_effort=20.0))[1].stalled
    objects.clear()
    point = JointTrajectoryPoint(positions=[0.3])
    point.time_from_start.sec = 1
    peer.send(
        JointTrajectory, "joint_trajectory", JointTrajectory(joint_names=["lift"], points=[point])
    )
    peer.until(lambda: objects and objects[-1].transforms[0].transform.translation.z > 1.2)


WRONG = [
    ("[finger_joint3]", "there is no joint and no preset 'finger_joint3'"),
    ("[finger_joint2]", "joint 'finger_joint2' mimics joint 'finger_joint1'; name that joint"),
    ("[finger_joint1, franka_hand]", "joint 'finger_joint1' is named twice"),
    ("[robotiq_2f_85]", "moves a joint whose name ends with 'robotiq_85_left_knuckle_joint'"),
]


@pytest.mark.parametrize(("grippers", "words"), WRONG)
def test_a_gripper_without_a_joint_in_the_robot_is_refused(hand, grippers, words):
    simulator = hand(grippers, wait=False)
    assert simulator.process.wait(300.0) == 2
    assert words in simulator.text()
