"""The real controller manager with rbdyn_hardware; skipped where ros2_control is not installed."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("controller_manager_msgs.srv", reason="ros2_control is not installed")
pytest.importorskip("control_msgs.action", reason="control_msgs is not installed")
pytest.importorskip("ament_index_python", reason="ament_index_python is not installed")

import ament_index_python as index
from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory
from controller_manager_msgs.srv import ConfigureController, LoadController, SwitchController
from rclpy.action import ActionClient
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

SAMPLE = Path(__file__).parents[3] / "config/ros2_control"
NAMES = ("shoulder_yaw", "shoulder_pitch", "upper_arm_roll", "elbow_pitch", "forearm_roll")
NAMES += ("wrist_pitch", "wrist_roll")
GOAL = [0.5, 0.6, -0.4, 0.8, 0.3, -0.5, 0.4]


def prefix(package):
    try:
        return Path(index.get_package_prefix(package))
    except index.PackageNotFoundError:
        pytest.skip(f"the ROS package {package} is not installed", allow_module_level=True)


MANAGER = prefix("controller_manager") / "lib/controller_manager/ros2_control_node"
for needed in ("rbdyn_hardware", "joint_trajectory_controller", "joint_state_broadcaster"):
    prefix(needed)


@pytest.fixture
def manager(domain, tmp_path):
    """A controller manager with the parameters of the sample."""
    env = dict(os.environ, ROS_DOMAIN_ID=str(domain), ROS_LOG_DIR=str(tmp_path))
    env["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    file = SAMPLE / "shared_memory_controllers.yaml"
    with (tmp_path / "log_manager.txt").open("w") as log:
        words = [MANAGER, "--ros-args", "--params-file", file]
        process = subprocess.Popen(words, env=env, stdout=log, stderr=subprocess.STDOUT)
    yield process
    process.kill()
    process.wait()


def activate(peer, names):
    """Load, configure and activate controllers."""

    def ask(kind, service, **fields):
        assert peer.call(kind, f"/controller_manager/{service}", kind.Request(**fields)).ok

    for name in names:
        ask(LoadController, "load_controller", name=name)
        ask(ConfigureController, "configure_controller", name=name)
    strict, timeout = SwitchController.Request.STRICT, Duration(sec=60)
    more = {"activate_controllers": names, "strictness": strict, "timeout": timeout}
    ask(SwitchController, "switch_controller", **more)


def result_of(peer, point, seconds):
    """Send a trajectory to a point; return the result."""
    name = "/arm_controller/follow_joint_trajectory"
    client = ActionClient(peer.node, FollowJointTrajectory, name)
    peer.until(client.server_is_ready)
    trajectory = JointTrajectory(joint_names=NAMES)
    end = JointTrajectoryPoint(positions=point, time_from_start=Duration(sec=seconds))
    trajectory.points.append(end)
    goal = FollowJointTrajectory.Goal(trajectory=trajectory)
    sent = client.send_goal_async(goal)
    peer.until(sent.done)
    assert sent.result().accepted
    done = sent.result().get_result_async()
    peer.until(done.done, 300.0)
    return done.result().result


@pytest.mark.parametrize("time_mode", ["realtime", "lockstep"])
def test_a_trajectory_through_shared_memory(simulate, peer, manager, time_mode):
    words = ["--ros-args", "--params-file", SAMPLE / "shared_memory_simulator.yaml"]
    words += ["-p", f"time_mode:={time_mode}", "-p", "lockstep_timeout:=0.2"]
    simulator = simulate(SAMPLE / "shared_memory_arm.urdf.xacro", *words, clock=True)
    states = peer.collect(JointState, "joint_states")
    activate(peer, ["joint_state_broadcaster", "arm_controller"])
    result = result_of(peer, GOAL, 2)
    assert result.error_code == result.SUCCESSFUL, result.error_string
    peer.until(lambda: max(map(abs, states[-1].velocity)) < 1e-3)
    named = dict(zip(states[-1].name, states[-1].position, strict=True))
    assert [named[name] for name in NAMES] == pytest.approx(GOAL, abs=1e-3)

    manager.send_signal(signal.SIGKILL)
    manager.wait()
    peer.until(lambda: "commands stopped: a process" in simulator.text())
    seen = len(states)
    peer.until(lambda: len(states) > seen + 300)
    named = dict(zip(states[-1].name, states[-1].position, strict=True))
    assert [named[name] for name in NAMES] == pytest.approx(GOAL, abs=0.01)  # on_timeout: hold
    simulator.end_well()
