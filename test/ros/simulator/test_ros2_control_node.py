# SPDX-License-Identifier: Apache-2.0
"""The real controller manager controls a simulated robot through rbdyn_hardware."""

from __future__ import annotations

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
from control_msgs.msg import DynamicJointState
from controller_manager_msgs.srv import ConfigureController, LoadController, SwitchController
from rclpy.action import ActionClient
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

SAMPLE = Path(__file__).parents[3] / "config/ros2_control"
NAMES = ("shoulder_yaw", "shoulder_pitch", "upper_arm_roll", "elbow_pitch", "forearm_roll")
NAMES += ("wrist_pitch", "wrist_roll")
GOAL = [0.5, 0.6, -0.4, 0.8, 0.3, -0.5, 0.4]
#: Weight of the carriage and the gripper [N].
WEIGHT = 2.2 * 9.81
LINK = """<link name="{}"><inertial><mass value="{}"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """<joint name="{}" type="prismatic"><parent link="{}"/><child link="{}"/>
<axis xyz="{}"/><limit lower="-1" upper="1" effort="500" velocity="5"/>{}</joint>"""
#: Files of a carriage that moves up and down, with a gripper, an IMU and a force/torque sensor.
RIG = {
    "rig.urdf": f"""<robot name="rig"><link name="base"/>{LINK.format("carriage", 2)}
{LINK.format("left", 0.1)}{LINK.format("right", 0.1)}
{JOINT.format("lift", "base", "carriage", "0 0 1", "")}
{JOINT.format("finger", "carriage", "left", "0 1 0", "")}
{JOINT.format("other_finger", "carriage", "right", "0 -1 0", '<mimic joint="finger"/>')}
<ros2_control name="rig" type="system">
<hardware><plugin>rbdyn_hardware/SimulatedSystem</plugin>
<param name="shared_memory">rig</param></hardware>
<joint name="lift"><command_interface name="position"/><command_interface name="stiffness"/>
<command_interface name="damping"/><state_interface name="position"/>
<state_interface name="velocity"/><state_interface name="effort"/></joint>
<joint name="finger"><command_interface name="position">
<param name="initial_value">0.02</param></command_interface>
<state_interface name="position"/><state_interface name="velocity"/></joint>
<joint name="other_finger"><state_interface name="position"/></joint>
<sensor name="wrist"><state_interface name="force.z"/></sensor>
<sensor name="imu"><state_interface name="linear_acceleration.z"/>
<state_interface name="orientation.w"/></sensor>
</ros2_control></robot>""",
    "sensors.yaml": """rbdyn_sensors: 1
sensors:
  wrist: {type: force_torque, joint: lift}
  imu: {type: imu, link: carriage}
""",
    "controllers.yaml": """/**:
  ros__parameters: {use_sim_time: true}
controller_manager:
  ros__parameters:
    update_rate: 1000
    joint_state_broadcaster: {type: joint_state_broadcaster/JointStateBroadcaster}
    spring: {type: forward_command_controller/MultiInterfaceForwardCommandController}
    grip: {type: forward_command_controller/ForwardCommandController}
joint_state_broadcaster:
  ros__parameters: {use_local_topics: false}
spring:
  ros__parameters: {joint: lift, interface_names: [position, stiffness, damping]}
grip:
  ros__parameters: {joints: [finger], interface_name: position}
""",
}


def prefix(package):
    try:
        return Path(index.get_package_prefix(package))
    except index.PackageNotFoundError:
        pytest.skip(f"the ROS package {package} is not installed", allow_module_level=True)


MANAGER = prefix("controller_manager") / "lib/controller_manager/ros2_control_node"
for needed in ("rbdyn_hardware", "joint_trajectory_controller", "joint_state_broadcaster"):
    prefix(needed)


@pytest.fixture
def manage(domain, tmp_path):
    """Yield a function that starts a controller manager with a parameter file."""
    started = []

    def begin(file):
        env = dict(os.environ, ROS_DOMAIN_ID=str(domain), ROS_LOG_DIR=str(tmp_path))
        env["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
        with (tmp_path / "log_manager.txt").open("w") as log:
            words = [MANAGER, "--ros-args", "--params-file", file]
            process = subprocess.Popen(words, env=env, stdout=log, stderr=subprocess.STDOUT)
        started.append(process)
        return process

    yield begin
    for process in started:
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
    """Send a goal of one point to the trajectory controller; return the result."""
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
def test_a_trajectory_controller_moves_the_arm_through_shared_memory(
    simulate, peer, manage, time_mode
):
    words = ["--ros-args", "--params-file", SAMPLE / "shared_memory_simulator.yaml"]
    words += ["-p", f"time_mode:={time_mode}", "-p", "lockstep_timeout:=0.2"]
    simulator = simulate(SAMPLE / "shared_memory_arm.urdf.xacro", *words, clock=True)
    states = peer.collect(JointState, "joint_states")
    manager = manage(SAMPLE / "shared_memory_controllers.yaml")
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
    assert [named[name] for name in NAMES] == pytest.approx(GOAL, abs=0.01)  # on_timeout is hold
    simulator.end_well()


def values_of(message):
    """Return the values of a DynamicJointState by "name/interface"."""
    return {
        f"{name}/{interface}": value
        for name, row in zip(message.joint_names, message.interface_values, strict=True)
        for interface, value in zip(row.interface_names, row.values, strict=True)
    }


def test_ros2_control_uses_sensors_impedance_and_initial_values(simulate, peer, manage, tmp_path):
    """The carriage hangs on a spring of 500 N/m; the gripper moves to its initial value."""
    prefix("forward_command_controller")
    for name, text in RIG.items():
        (tmp_path / name).write_text(text)
    words = [
        "--ros-args",
        "-p",
        f"sensors:={tmp_path / 'sensors.yaml'}",
        "-p",
        "shared_memory:=rig",
    ]
    words += [
        "-p",
        "time_mode:=lockstep",
        "-p",
        "lockstep_timeout:=0.2",
        "-p",
        "clock_rate:=1000.0",
    ]
    simulator = simulate(tmp_path / "rig.urdf", *words, clock=True)
    manage(tmp_path / "controllers.yaml")
    seen = peer.collect(DynamicJointState, "dynamic_joint_states")
    activate(peer, ["joint_state_broadcaster", "spring", "grip"])
    send = peer.publisher(Float64MultiArray, "spring/commands")

    def rests():
        send.publish(Float64MultiArray(data=[0.4, 500.0, 100.0]))
        row = values_of(seen[-1]) if seen else {}
        return (
            abs(row.get("lift/position", 0.0) - (0.4 - WEIGHT / 500.0)) < 1e-3
            and abs(row["lift/velocity"]) < 1e-3
            and abs(row["finger/position"] - 0.02) < 1e-3
        )

    peer.until(rests, 120.0)
    row = values_of(seen[-1])
    assert row["other_finger/position"] == pytest.approx(row["finger/position"], abs=1e-6)
    assert abs(row["wrist/force.z"]) == pytest.approx(WEIGHT, rel=1e-3)
    assert row["imu/linear_acceleration.z"] == pytest.approx(9.81, abs=0.05)
    assert row["imu/orientation.w"] == pytest.approx(1.0, abs=1e-6)
    simulator.end_well()
