# SPDX-License-Identifier: Apache-2.0
"""Write trial files of a pendulum that are short enough for tests."""

from pathlib import Path

from rbdyn_ros import trials
from rbdyn_ros.share import bundled_robot

PENDULUM = f"""\
rbdyn_trial: 1
name: pendulum
robot: {bundled_robot("pendulum")}
runs: 20
duration: 0.2
controller: {{law: pd_gravity, stiffness: 40, damping: 4}}
reference:
  JOINT: {{times: [0.02, 0.15], positions: [0.0, 0.4]}}
start:
  position: {{normal: {{mean: 0, stddev: 0.05}}}}
faults:
  command_delay: {{choice: [0, 0.001, 0.002]}}
limits: {{tracking_max: 0.1}}
"""

#: A ROS node that controls by a PD law; tests replace FAULT by the code of a fault.
NODE = """\
import os, sys, time
import rclpy
from sensor_msgs.msg import JointState

rclpy.init()
node = rclpy.create_node("pd")
publisher = node.create_publisher(JointState, "joint_commands", 10)

def answer(state):
    if state.header.stamp.nanosec > 2 * 10**7:
        FAULT
    efforts = [40.0 * (0.3 - q) - 4.0 * v for q, v in zip(state.position, state.velocity)]
    command = JointState(name=state.name, effort=efforts)
    command.header.stamp = state.header.stamp
    publisher.publish(command)

node.create_subscription(JointState, "joint_states", answer, 10)
rclpy.spin(node)
"""


def joint():
    """Return the name of the pendulum's joint."""
    import rbdyn_ros as rb

    return rb.load_urdf(bundled_robot("pendulum")).jnt_names[0]


def text(**changed):
    """Return the text of the trial file with changed keys; the value None deletes a key."""
    lines, found, skipping = PENDULUM.replace("JOINT", joint()).splitlines(), [], False
    for line in lines:
        key = line.partition(":")[0]
        if not line.startswith(" "):
            skipping = key in changed
        if not skipping:
            found.append(line)
    found += [f"{key}: {value}" for key, value in changed.items() if value is not None]
    return "\n".join(found) + "\n"


def trial(folder, policy="", **changed):
    """Write policy.py and a trial file to a folder; return the trial of the file."""
    Path(folder, "policy.py").write_text(policy)
    path = Path(folder, "trial.yaml")
    path.write_text(text(**changed))
    return trials.load(path)
