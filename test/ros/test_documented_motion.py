# SPDX-License-Identifier: Apache-2.0
"""Each command in the documentation that may move a robot has a test of the motion.

The tests in this file run the nodes of some commands, and check the claim of the page, the speeds
and the efforts. WATCHED names the tests; a new command on a page needs an entry.
"""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from support.documents import ROOT, commands, of_language, page_names

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("geometry_msgs.msg", reason="geometry_msgs is not installed")
pytest.importorskip("diagnostic_msgs.msg", reason="diagnostic_msgs is not installed")

from arm_pair import ALL, Watched
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState

import rbdyn_ros as rb
from rbdyn_ros.share import bundled_robot

ARM = bundled_robot("seven_dof_arm")
#: Matches commands that start a simulator, a controller or a motion.
MOVES = re.compile(
    r"make sim\b|ros2 launch|rbdyn sim\b|\barm_controller --ros|ros2 run rbdyn_ros|ros2 topic pub"
    r"|ros2 action send_goal"
    r"|examples/(?:\w+_node|push_joint|lockstep_controller|record_motion)\.py"
)

FLOATS = "test_the_gravity_node_lets_the_arm_float_and_come_to_rest"
POSITIONS = "test_the_arm_reaches_published_positions"
UNCOMMANDED = "test_no_effort_acts_without_commands"
#: The test of each command, by how the command begins; the longest match counts. A test is given
#: as a name in this file, or as a file and a name.
WATCHED = {
    "make sim": UNCOMMANDED,
    "rbdyn sim": UNCOMMANDED,
    "ros2 launch rbdyn_ros sim.launch.py": UNCOMMANDED,
    "ROS_SECURITY_ENCLAVE_OVERRIDE=/rbdyn_ros/simulator ros2 launch": UNCOMMANDED,
    "ros2 run rbdyn_ros simulator": UNCOMMANDED,
    "ros2 launch panda_moveit_config moveit.launch.py": (
        "ros/moveit/test_pick_node.py",
        "test_the_arm_and_the_gripper_lift_the_cube",
    ),
    "python examples/gravity_node.py": FLOATS,
    "ros2 launch rbdyn_ros hil.launch.py": FLOATS,
    "ros2 topic pub -r 100 /joint_commands": POSITIONS,
    "ros2 topic pub --once /crane/joint_commands": (
        "ros/simulator/test_spawned_robots_node.py",
        "test_a_spawned_robot_follows_commands_in_its_namespace_until_it_is_deleted",
    ),
    "python examples/push_joint.py": (
        "ros/simulator/test_push_joint.py",
        "test_the_example_pushes_a_joint_and_prints_its_motion",
    ),
    "python examples/lockstep_controller.py": (
        "ros/simulator/test_lockstep_controller.py",
        "test_two_runs_with_one_seed_end_in_the_same_state",
    ),
    "python examples/record_motion.py": (
        "identification/test_record_motion.py",
        "test_the_motion_of_an_arm_that_follows_is_recorded",
    ),
    "rbdyn sim --actuators": (
        "ros/simulator/test_actuators_node.py",
        "test_a_node_moves_a_motor_and_reports_its_current",
    ),
    "rbdyn sim --no-view --actuators": (
        "ros/simulator/test_actuators_node.py",
        "test_a_node_moves_a_motor_and_reports_its_current",
    ),
    "rbdyn sim --scene": (
        "ros/simulator/test_scene_node.py",
        "test_objects_have_poses_on_a_topic_and_are_entities",
    ),
    # ros2_control is in no package registry, so this test uses its messages
    "rbdyn sim seven_dof_arm.urdf.xacro": (
        "ros/simulator/topics/test_topic_based.py",
        "test_the_sample_has_the_topics_of_the_node",
    ),
    "ros2 launch my_arm_control controller.launch.xml": (
        "control/test_generated_arm.py",
        "test_an_arm_with_false_states_stays_within_safe_distances",
    ),
    "rbdyn sim shared_memory_arm.urdf.xacro": (
        "ros/simulator/test_ros2_control_node.py",
        "test_a_trajectory_controller_moves_the_arm_through_shared_memory",
    ),
    "ros2 launch rbdyn_ros multi_robot.launch.py": (
        "ros/simulator/test_several_robots_node.py",
        "test_several_robots_have_their_own_topics_and_one_time",
    ),
    "rbdyn sim --ros-args -p robots": (
        "ros/simulator/test_several_robots_node.py",
        "test_several_robots_have_their_own_topics_and_one_time",
    ),
    "ros2 launch rbdyn_ros gravity_compensation.launch.py": (
        "ros/arm/test_arm_floats_node.py",
        "test_an_armed_arm_floats",
    ),
    "ros2 launch rbdyn_ros gravity_compensation.launch.py sim:=true arm:=ur5e": (
        "ros/arm/test_preset_node.py",
        "test_an_arm_with_the_driver_of_its_preset_floats",
    ),
    "ros2 launch rbdyn_ros gravity_compensation.launch.py urdf:=/path/my_arm.urdf "
    "dry_run:=false mode:=tracking": (
        "ros/arm/test_positions_node.py",
        "test_the_tool_follows_lines_and_yields_to_a_push",
    ),
    "arm_controller": ("ros/arm/test_arm_floats_node.py", "test_an_armed_arm_floats"),
    "ros2 run rbdyn_ros arm_controller": (
        "ros/arm/test_arm_floats_node.py",
        "test_an_armed_arm_floats",
    ),
    "ros2 action send_goal --feedback /arm_controller": (
        "ros/arm/test_follow_action.py",
        "test_a_goal_gives_feedback_and_succeeds",
    ),
    "ros2 action send_goal --feedback /simulator/gripper_cmd": (
        "ros/simulator/test_gripper_node.py",
        "test_a_goal_in_free_space_is_reached",
    ),
    "ros2 topic pub -r 10 /cmd_vel": (
        "ros/policy/test_policy_node.py",
        "test_a_robot_walks_in_lock_step_as_in_python",
    ),
    "ros2 action send_goal --feedback /simulator/simulate_steps": (
        "ros/simulator/test_standard_node.py",
        "test_services_pause_stop_step_and_end_the_simulation",
    ),
}


def documented():
    """Return (place, command) of all commands on the pages that may move a robot."""
    return [
        (block.where, line.replace(".venv/bin/", "").replace('"', "").strip())
        for page in page_names()
        for block in of_language(page, "bash", "console")
        for line in commands(block.text)
        if MOVES.search(line)
    ]


def watch_of(command):
    """Return the longest key of WATCHED with which a command begins, or None."""
    words = " ".join(command.split())
    return max((key for key in WATCHED if words.startswith(key)), key=len, default=None)


def test_every_command_that_may_move_a_robot_has_a_test():
    found = documented()
    assert len(found) > 40  # else the pattern no longer matches
    missing = [f"{where}: {line}" for where, line in found if watch_of(line) is None]
    assert not missing
    unused = WATCHED.keys() - {watch_of(line) for _, line in found}
    assert not unused, "WATCHED has commands that are on no page"


@pytest.mark.parametrize("key", WATCHED)
def test_the_test_named_for_each_command_exists(key):
    watch = WATCHED[key]
    file, name = ("ros/test_documented_motion.py", watch) if isinstance(watch, str) else watch
    assert f"def {name}(" in (ROOT / "test" / file).read_text()


LOCKSTEP = ("--ros-args", "-p", "time_mode:=lockstep", "-p", "lockstep_timeout:=5.0")
HIL = ("--params-file", ROOT / "config" / "hil.yaml")
BENT = ("-p", "initial_positions.shoulder_pitch:=0.5", "-p", "initial_positions.elbow_pitch:=0.7")


@pytest.fixture
def gravity_node(domain):
    """Yield a function that starts the example gravity_node.py, as the tutorial does."""
    started = []

    def start():
        env = dict(
            os.environ, ROS_DOMAIN_ID=str(domain), ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST"
        )
        command = [sys.executable, str(ROOT / "examples" / "gravity_node.py")]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        started.append(subprocess.Popen(command, env=env, **quiet))

    yield start
    for process in started:
        process.kill()
        process.wait()


def rows_of(arm, rows):
    """Return the speeds and efforts (n, 7) in n states, as shares of the limits."""
    m = rb.load_urdf(ARM)
    order = [m.jnt_names.index(name) for name in arm.names]
    speed = np.array([row[2] for row in rows]) / m.jnt_velocity[order]
    effort = np.array([row[3] for row in rows]) / m.jnt_effort[order]
    return np.abs(speed), np.abs(effort)


@pytest.mark.parametrize("flaws", [(), HIL], ids=["plain", "hil"])
def test_the_gravity_node_lets_the_arm_float_and_come_to_rest(simulate, peer, gravity_node, flaws):
    """With the delays of config/hil.yaml an earlier version shook the wrist at up to 75 rad/s."""
    hold = ("-p", "on_timeout:=gravity")
    simulator = simulate(*LOCKSTEP[:1], *flaws, *LOCKSTEP[1:], *BENT, *hold)
    arm = Watched(peer, qos=ALL)
    peer.until(lambda: arm.rows)
    gravity_node()
    commanded = peer.hear(JointState, "joint_commands")
    peer.until(lambda: len(commanded) > 100)
    place = arm.position
    rows = arm.wait(1.0)
    speed, effort = rows_of(arm, rows)
    assert speed.max() < 0.05
    assert effort.max() < 0.9
    assert np.abs(arm.position - place).max() < 0.02
    # a pushed arm moves, then comes to rest
    push = WrenchStamped()
    push.header.frame_id, push.wrench.force.y = "wrist", 60.0
    publisher = peer.publisher(WrenchStamped, "simulator/wrench")
    first = len(arm.rows)
    arm.until_moving(first, 0.1, lambda: publisher.publish(push))
    rows = arm.rows[first:] + arm.wait(3.0)
    speed, effort = rows_of(arm, rows)
    assert speed.max() < 1.0
    assert effort.max() < 0.9
    assert rows_of(arm, arm.wait(0.2))[0].max() < 0.05
    simulator.end_well()


def test_the_arm_reaches_published_positions(simulate, peer):
    """Messages have no stamp, as with `ros2 topic pub`, so the simulator runs in real time."""
    patient = ("--ros-args", "-p", "command_timeout:=100.0", "-p", "on_timeout:=hold")
    simulator = simulate(*patient)
    arm = Watched(peer)
    wanted = {"elbow_pitch": 0.5, "wrist_roll": -1.0}
    message = JointState(name=list(wanted), position=list(wanted.values()))
    publisher = peer.publisher(JointState, "joint_commands")

    def reached():
        at = dict(zip(arm.names, arm.position, strict=True)) if arm.rows else {}
        return at and all(abs(at[name] - goal) < 0.01 for name, goal in wanted.items())

    peer.insist(publisher, message, reached)
    speed, _ = rows_of(arm, arm.rows)
    assert speed.max() <= 1.001
    arm.wait(0.3)  # wait until the servos rest
    rows = arm.wait(0.5)
    speed, effort = rows_of(arm, rows)
    assert speed.max() < 0.05
    assert effort.max() < 0.9
    simulator.end_well()


def test_no_effort_acts_without_commands(simulate, peer):
    simulator = simulate()
    arm = Watched(peer)
    peer.until(lambda: len(arm.rows) > 100)
    _, effort = rows_of(arm, arm.rows)
    assert not effort.any()
    simulator.end_well()
