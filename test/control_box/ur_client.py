# SPDX-License-Identifier: Apache-2.0
"""A client that uses ur_rtde; test_ur_client.py runs it in a process of its own.

Usage: ur_client.py ADDRESS TASK. It prints a JSON object.
"""

import json
import os
import sys
import time

import dashboard_client
import numpy as np
import rtde_control
import rtde_io
import rtde_receive

ADDRESS = sys.argv[1]


def until(condition, patience=60.0):
    """Wait until a function returns True; fail after `patience` [s]."""
    give_up = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(2e-3)


def connected():
    control = rtde_control.RTDEControlInterface(ADDRESS)
    return control, rtde_receive.RTDEReceiveInterface(ADDRESS)


def settled(state):
    """Wait until the box reports joints at rest; return their positions."""
    until(lambda: np.abs(state.getActualQd()).max() < 1e-3)
    return np.array(state.getActualQ())


def moves():
    """Move joints and tool; return for each move its success and the distance to its goal."""
    c, state = connected()
    start = settled(state)
    goal = np.add(start, [0.3, 0.2, -0.2, 0.1, 0.1, 0.4])
    found = {"movej": [c.moveJ(goal.tolist(), 1.05, 1.4), gap(settled(state), goal)]}
    pose = np.array(state.getActualTCPPose())
    pose[2] += 0.1
    found["movel"] = [c.moveL(pose.tolist(), 0.25, 1.2), tool_gap(state, pose)]
    pose[:3] -= [0.05, 0.05, 0.05]
    found["movej_ik"] = [c.moveJ_IK(pose.tolist(), 1.05, 1.4), tool_gap(state, pose)]
    found["movel_fk"] = [c.moveL_FK(goal.tolist(), 0.25, 1.2), gap(settled(state), goal)]
    path = [[*goal, 1.0, 1.4, 0.0], [*start, 1.0, 1.4, 0.0]]
    found["path"] = [c.moveJ(path), gap(settled(state), start)]
    line = f"movej({start.tolist()}, a=1.4, v=1.05)\nmovej({goal.tolist()}, a=1.4, v=1.05)"
    found["script"] = [c.sendCustomScriptFunction("there", line), gap(settled(state), goal)]
    return found


def joints():
    """Move the joints; return the success and the final positions that RTDE reports."""
    c, state = connected()
    goal = np.add(settled(state), [0.3, 0.2, -0.2, 0.1, 0.1, 0.4])
    return {"done": c.moveJ(goal.tolist(), 1.05, 1.4), "q": settled(state).tolist()}


def gap(q, goal):
    return float(np.abs(q - goal).max())


def tool_gap(state, pose):
    settled(state)
    return gap(np.array(state.getActualTCPPose()), pose)


def streams():
    """Stream commands of each kind; return the displacements that they cause."""
    c, state = connected()
    start = settled(state)
    for k in range(200):
        wave = 0.1 * np.sin(np.pi * k / 200) ** 2
        c.servoJ(np.add(start, [0, 0, 0, 0, 0, wave]).tolist(), 0.5, 0.5, 0.002, 0.1, 300)
    c.servoStop()
    found = {"servoj": (settled(state) - start).tolist(), "goal": state.getTargetQ()}
    start = settled(state)
    for _ in range(250):
        c.speedJ([0, 0, 0, 0, 0, 0.2], 1.0, 0.002)
    c.speedStop()
    found["speedj"] = (settled(state) - start).tolist()
    settled(state)
    tool = np.array(state.getActualTCPPose())
    for _ in range(250):
        c.speedL([0, 0, 0.1, 0, 0, 0], 0.5, 0.002)
    c.speedStop()
    settled(state)
    found["speedl"] = (np.array(state.getActualTCPPose()) - tool).tolist()
    for _ in range(50):
        c.directTorque([0.0] * 6)
    found["torque"] = gap(np.array(state.getActualQ()), np.array(state.getTargetQ()))
    return found


def model():
    """Return kinematics and dynamics of a posture as the controller computes them."""
    c, state = connected()
    c.setTcp([0.0, 0.0, 0.1, 0.0, 0.0, 0.3])
    q, told = settled(state), np.array(c.getForwardKinematics())
    # a state with the new TCP arrives later
    until(lambda: gap(np.array(state.getActualTCPPose()), told) < 1e-3)
    pose = state.getActualTCPPose()
    M, J = (np.reshape(x, (6, 6), "F").tolist() for x in (c.getMassMatrix(), c.getJacobian()))
    inverse = c.getInverseKinematics(pose, (q + 0.1).tolist())
    return {
        "q": q.tolist(), "pose": pose, "mass": M, "jacobian": J, "tool": c.getTCPOffset(),
        "inverse": gap(np.array(inverse), q),
        "far": c.getInverseKinematicsHasSolution([9.0, 0, 0, 0, 0, 0]),
        "safe": [c.isJointsWithinSafetyLimits((q + x).tolist()) for x in (0.0, 99.0)],
        "moment": state.getTargetMoment(),
    }  # fmt: skip


def force():
    """Push down with 20 N for 3 s, then start freedrive; return the force and the drift."""
    c, state = connected()
    c.zeroFtSensor()
    began = state.getTimestamp()

    def pushed():
        """Keep pushing; return whether three seconds of the box's time have passed."""
        c.forceMode([0.0] * 6, [0, 0, 1, 0, 0, 0], [0, 0, -20.0, 0, 0, 0], 2, [2, 2, 0.1, 1, 1, 1])
        return state.getTimestamp() - began > 3.0

    until(pushed)
    found = {"force": state.getActualTCPForce(), "z": state.getActualTCPPose()[2]}
    c.forceModeStop()
    q = settled(state)
    c.teachMode()
    time.sleep(0.2)
    found["drift"] = gap(np.array(state.getActualQ()), q)
    c.endTeachMode()
    found["program"] = c.isProgramRunning()
    return found


def dashboard():
    d = dashboard_client.DashboardClient(ADDRESS)
    d.connect()
    c, state = connected()
    found = {
        "mode": d.robotmode(), "safety": d.safetymode(), "model": d.getRobotModel(),
        "version": d.polyscopeVersion(), "running": d.running(), "program": d.programState(),
        "remote": d.isInRemoteControl(),
    }  # fmt: skip
    q = settled(state)
    c.moveJ((q + 0.5).tolist(), 0.3, 0.5, True)
    until(lambda: abs(state.getActualQ()[0] - q[0]) > 0.05)
    d.stop()
    until(lambda: not d.running())
    found["stopped"] = gap(settled(state), q + 0.5)
    d.powerOff()
    found["off"] = d.robotmode()
    d.powerOn()
    found["on"] = d.robotmode()
    d.brakeRelease()
    found["again"] = d.robotmode()
    found["upload"] = c.reuploadScript()
    until(c.isProgramRunning)
    found["moved"] = c.moveJ(q.tolist(), 1.0, 1.4)
    io = rtde_io.RTDEIOInterface(ADDRESS)
    io.setStandardDigitalOut(3, True)
    io.setToolDigitalOut(1, True)
    io.setSpeedSlider(0.5)
    io.setAnalogOutputVoltage(0, 0.5)
    until(lambda: state.getActualDigitalOutputBits() == 0x20008)
    until(lambda: state.getTargetSpeedFraction() == 0.5)
    found["volts"] = state.getStandardAnalogOutput0()
    return found


def stopped():
    """Move a joint to its limit until the arm stops; unlock the arm and move again."""
    d = dashboard_client.DashboardClient(ADDRESS)
    d.connect()
    c, state = connected()
    while not state.isProtectiveStopped():
        began = c.initPeriod()
        c.speedJ([0, 0, 2.5, 0, 0, 0], 10.0, 0.002)
        c.waitPeriod(began)
    # the control interface has its own connection, whose states arrive later
    until(lambda: not c.isProgramRunning())
    found = {"mode": d.safetymode(), "q": state.getActualQ()[2]}
    c.speedStop()  # this clears the register of the command
    try:
        d.unlockProtectiveStop()
    except Exception as error:  # noqa: BLE001 - of the client
        found["early"] = str(error)
    since = state.getTimestamp()
    until(lambda: state.getTimestamp() > since + 5.1)
    d.unlockProtectiveStop()
    found["after"] = d.safetymode()
    c.reuploadScript()
    until(c.isProgramRunning)
    q = settled(state)
    found["moved"] = c.moveJ([*q[:2], 0.0, *q[3:]], 1.0, 1.4)
    return found


def die():
    """End this process during a motion with a watchdog."""
    c, _ = connected()
    c.setWatchdog(10.0)
    for _ in range(100):
        c.speedJ([0.3, 0, 0, 0, 0, 0], 1.0, 0.002)
    print("{}", flush=True)
    os._exit(0)


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[2]]()), flush=True)
    os._exit(0)  # closing the client would take seconds
