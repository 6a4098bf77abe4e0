# SPDX-License-Identifier: Apache-2.0
"""A client that uses franky; test_franky_client.py runs it in a process of its own.

Usage: franky_client.py ADDRESS TASK. It prints a JSON object.
"""

import json
import sys
import time

import franky as fk
import numpy as np

ADDRESS = sys.argv[1]
#: Duration of an impedance motion [s], which does not end by itself.
SETTLED = 2.0


def connected():
    robot = fk.Robot(ADDRESS, realtime_config=fk.RealtimeConfig.Ignore)
    robot.set_collision_behavior([100.0] * 7, [100.0] * 7, [100.0] * 6, [100.0] * 6)
    robot.relative_dynamics_factor = 0.1
    return robot


def ending():
    """Return the reaction that ends an impedance motion after SETTLED."""
    return fk.TorqueReaction(fk.Measure.REL_TIME > SETTLED, fk.TorqueStopMotion())


def motions():
    """Make one motion of each kind; return its final distance from its goal [rad or m]."""
    robot, found = connected(), {}
    q0 = np.array(robot.state.q)
    place = lambda: robot.current_cartesian_state.pose.end_effector_pose  # noqa: E731

    def joints(name, motion, goal):
        robot.move(motion)
        found[name] = float(np.abs(np.array(robot.state.q) - goal).max())

    def tool(name, motion, goal):
        robot.move(motion)
        found[name] = float(np.linalg.norm(np.array(place().translation) - goal))

    goal = q0 + np.array([0.2, -0.1, 0.1, 0.2, 0.1, -0.1, 0.2])
    joints("joint", fk.JointMotion(goal), goal)
    points = [q0 + 0.1, q0 - 0.05, q0]
    joints("waypoints", fk.JointWaypointMotion([fk.JointWaypoint(q) for q in points]), q0)
    goal = place() * fk.Affine([0.05, 0.0, -0.05])
    tool("cartesian", fk.CartesianMotion(goal), goal.translation)
    goal = place() * fk.Affine([0.0, 0.05, 0.0])
    relative = fk.CartesianMotion(fk.Affine([0.0, 0.05, 0.0]), fk.ReferenceType.Relative)
    tool("relative", relative, goal.translation)

    goal = np.array(robot.state.q) + 0.1 * np.eye(7)[3]
    motion = fk.JointImpedanceMotion(goal, stiffness=[100.0] * 4 + [50.0] * 3)
    motion.add_reaction(ending())
    joints("joint impedance", motion, goal)
    goal = fk.Affine([0.0, 0.05, 0.0]) * place()
    motion = fk.CartesianImpedanceMotion(goal)
    motion.add_reaction(ending())
    tool("cartesian impedance", motion, goal.translation)
    return found


def stop():
    """Stop an asynchronous motion, then make another motion."""
    robot = connected()
    goal = np.array(robot.state.q) + 0.3
    robot.move(fk.JointMotion(goal), asynchronous=True)
    time.sleep(0.4)
    robot.stop()
    try:
        robot.join_motion()
        found = ""
    except fk.ControlException as error:
        found = str(error)
    robot.move(fk.JointMotion(goal))
    return {"stopped": found, "gap": float(np.abs(np.array(robot.state.q) - goal).max())}


def grasp():
    robot, hand = connected(), fk.Gripper(ADDRESS)
    found = {"homed": hand.homing(), "grasped": hand.grasp(0.04, 0.1, 15.0)}
    robot.move(fk.CartesianMotion(fk.Affine([0.0, 0.0, -0.1]), fk.ReferenceType.Relative))
    return found | {"held": hand.state.is_grasped, "width": hand.width}


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[2]]()))
