# SPDX-License-Identifier: Apache-2.0
"""A client that uses libfranka; test_franka_client.py runs it in a process of its own.

Usage: client.py ADDRESS TASK [SECONDS]. It prints a JSON object. The motions are those of the
vendor's examples.
"""

import json
import sys

import numpy as np
import pylibfranka as fr

SECONDS = float(sys.argv[3]) if len(sys.argv) > 3 else 1.0
TORQUES, FORCES = [20.0, 20.0, 18.0, 18.0, 16.0, 14.0, 12.0], [20.0, 20.0, 20.0, 25.0, 25.0, 25.0]


def follow(control, make, seconds):
    """Run a motion; return the time of the last command [s], the first and the last state."""
    elapsed, first = 0.0, None
    while True:
        state, step = control.readOnce()
        elapsed += 0.0 if first is None else step.to_sec()
        first = first or state
        command = make(elapsed, state, first)
        command.motion_finished = elapsed >= seconds
        control.writeOnce(command)
        if elapsed >= seconds:
            return elapsed, first, state


def failure(control, make, seconds):
    """Run a motion that should fail; return the message of its error, or "" if it succeeds."""
    try:
        follow(control, make, seconds)
    except fr.ControlException as error:
        return str(error)
    return ""


def joint_position(t, _, first):
    q = np.array(first.q_d)
    q[[3, 4, 6]] += 0.05 * (1 - np.cos(2 * np.pi * t))
    return fr.JointPositions(q.tolist())


def joint_velocity(t, _state, _first):
    v = 0.2 * (1 - np.cos(2 * np.pi * t)) * (-1) ** int(t)
    return fr.JointVelocities([0.0, 0.0, 0.0, v, v, v, v])


def cartesian_pose(t, _, first):
    T = np.array(first.O_T_EE)
    T[12] += 0.01 * (1 - np.cos(2 * np.pi * t))
    T[14] -= 0.005 * (1 - np.cos(2 * np.pi * t))
    return fr.CartesianPose(T.tolist())


def cartesian_velocity(t, _state, _first):
    v = 0.03 * (1 - np.cos(2 * np.pi * t)) * (-1) ** int(t)
    return fr.CartesianVelocities([v * 0.7, 0.0, v * 0.7, 0.0, 0.0, 0.0])


def model(robot):
    """Return the client's mass matrix at q, and the gap between its gravity and tau_J."""
    state, own = robot.read_once(), robot.load_model()
    gap = np.array(own.gravity(state)) - np.array(state.tau_J)
    return {"gravity": float(np.abs(gap).max()), "mass": list(own.mass(state)), "q": list(state.q)}


def impedance(robot, seconds=SECONDS):
    """Move by joint impedance as in the vendor's example; return displacement and success rate."""
    own = robot.load_model()
    control = robot.start_torque_control()

    def make(t, state, first):
        goal = np.array(first.q)
        goal[3] += 0.1 * (1 - np.cos(np.pi * t))
        gap, dq = np.array(state.q) - goal, np.array(state.dq)
        tau = -50.0 * gap - 2 * np.sqrt(50.0) * dq + np.array(own.coriolis(state))
        return fr.Torques(tau.tolist())

    _, first, last = follow(control, make, seconds)
    return {"moved": last.q[3] - first.q[3], "rate": last.control_command_success_rate}


def cartesian_impedance(robot):
    own = robot.load_model()
    control = robot.start_torque_control()

    def make(t, state, first):
        J = np.array(own.zero_jacobian(state)).reshape(7, 6).T
        gap = np.zeros(6)
        gap[:3] = np.array(state.O_T_EE)[12:15] - np.array(first.O_T_EE)[12:15]
        gap[0] -= 0.02 * (1 - np.cos(np.pi * t))
        K = np.array([150.0] * 3 + [10.0] * 3)
        force = -K * gap - 2 * np.sqrt(K) * (J @ np.array(state.dq))
        return fr.Torques((J.T @ force + np.array(own.coriolis(state))).tolist())

    _, first, last = follow(control, make, SECONDS)
    rate = last.control_command_success_rate
    return {"moved": last.O_T_EE[12] - first.O_T_EE[12], "rate": rate}


def motions(robot):
    """Move by all four interfaces with both internal controllers; return the tracking errors."""
    starts = {
        "joint_position": (robot.start_joint_position_control, joint_position),
        "joint_velocity": (robot.start_joint_velocity_control, joint_velocity),
        "cartesian_pose": (robot.start_cartesian_pose_control, cartesian_pose),
        "cartesian_velocity": (robot.start_cartesian_velocity_control, cartesian_velocity),
    }
    found = {}
    for name, (start, make) in starts.items():
        for mode in (fr.ControllerMode.JointImpedance, fr.ControllerMode.CartesianImpedance):
            _, _, last = follow(start(mode), make, SECONDS)
            gap = float(np.abs(np.array(last.q) - last.q_d).max())
            found[f"{name} {mode.name}"] = gap, last.control_command_success_rate
    return found


def reflex(robot):
    """Hold the arm until a push ends the motion; recover, and move again."""
    rest = lambda _t, _s, first: fr.JointPositions(list(first.q_d))  # noqa: E731
    mode = fr.ControllerMode.JointImpedance
    # the push ends the control loop
    text = failure(robot.start_joint_position_control(mode), rest, 2.0)
    mode = robot.read_once().robot_mode.name
    robot.automatic_error_recovery()
    again = impedance(robot, 0.2)
    return {"error": text, "mode": mode, "rate": again["rate"]}


def jump(robot):
    """Command a torque that jumps; return the message of the error."""
    torques = lambda t, _s, _f: fr.Torques([0.0, 5.0 * (t > 0.05), *[0.0] * 5])  # noqa: E731
    return {"error": failure(robot.start_torque_control(), torques, 1.0)}


def leave(robot):
    """End this process during a motion."""
    control = robot.start_torque_control()
    for _ in range(20):
        control.readOnce()
        control.writeOnce(fr.Torques([0.0] * 7))
    print("{}", flush=True)
    import os

    os._exit(0)


def grasp(address):
    hand = fr.Gripper(address)
    found = {"homed": hand.homing(), "open": hand.read_once().width}
    found["grasped"] = hand.grasp(0.04, 0.1, 15.0, 0.005, 0.005)
    state = hand.read_once()
    found |= {"width": state.width, "held": state.is_grasped}
    found["nothing"] = hand.grasp(0.0, 0.1, 15.0, 0.001, 0.001)
    found["moved"] = hand.move(0.07, 0.1)
    return found


if __name__ == "__main__":
    address, task = sys.argv[1:3]
    if task == "grasp":
        print(json.dumps(grasp(address)))
    else:
        arm = fr.Robot(address, fr.RealtimeConfig.kIgnore)
        arm.set_collision_behavior(TORQUES, TORQUES, FORCES, FORCES)
        print(json.dumps(globals()[task](arm)))
