# SPDX-License-Identifier: Apache-2.0
"""A user's program for an arm of Franka, which test_trial_boxes.py starts.

Usage: box_program.py ADDRESS [FAULT [SECONDS ASLEEP]]. It swings joint 4 by an impedance law.
"""

import subprocess
import sys
import time

import numpy as np
import pylibfranka as fr

SWING, SECONDS = 0.2, 0.3


def main(address, fault="none", asleep="600"):
    robot = fr.Robot(address, fr.RealtimeConfig.kIgnore)
    model = robot.load_model()
    control = robot.start_torque_control()
    state, _ = control.readOnce()
    start, t = np.array(state.q), 0.0
    while True:
        if fault == "ends" and t > 0.1:
            sys.exit("I give up")
        if fault == "waits" and t > 0.1:
            subprocess.Popen(["sleep", asleep], start_new_session=True)
            time.sleep(600.0)
        if fault == "ends late" and t > 0.25:
            sys.exit("I give up")
        goal = start + np.eye(7)[3] * 0.1 * np.sin(np.pi * min(t / SWING, 1.0)) ** 2
        torque = 200.0 * (goal - state.q) - 15.0 * np.array(state.dq) + model.coriolis(state)
        command = fr.Torques(torque.tolist())
        command.motion_finished = t >= SECONDS
        control.writeOnce(command)
        if command.motion_finished:
            return
        state, step = control.readOnce()
        t += step.to_sec()


if __name__ == "__main__":
    main(*sys.argv[1:])
