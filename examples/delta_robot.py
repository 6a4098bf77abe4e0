# SPDX-License-Identifier: Apache-2.0
"""A delta robot from YAML: three motors move a platform that stays level.

    python examples/delta_robot.py

The robot of delta_robot.yaml is assembled from its motor angles. Inverse dynamics gives the
torques that hold it. Then the motors follow a wave, and the required torques are printed:

    to hold it: [0.543 0.58  0.58 ] N m
    time [s]    platform x, y, z [m]        torques [N m]
       0.125    0.0187   0.0196  -0.2523   0.4899   0.5410   0.6919
    ...
       1.000    0.0256   0.0000  -0.2524   0.4568   0.6317   0.6316
    tilt of the platform: 1e-09 rad; loops open by 5e-08 m
"""

from pathlib import Path

import numpy as np

import rbdyn_ros as rb

FILE = Path(__file__).with_name("delta_robot.yaml")
MOTORS = ("motor_1", "motor_2", "motor_3")


def angles(time):
    """Return the motor angles [rad]: a wave with a period of one second."""
    return 0.3 + 0.2 * np.cos(2.0 * np.pi * (time - np.arange(3) / 3.0))


def main():
    # The tree has 21 dofs. Six loops with 18 independent equations leave 3 dofs.
    m = rb.load(FILE)
    d, h = rb.make_data(m), m.opt.timestep
    dofs = [m.jnt_dofadr[m.jnt_id(motor)] for motor in MOTORS]

    # Given the motor angles, assembly finds all other angles. Which torques hold the robot there?
    d.qpos[[m.jnt_qposadr[m.jnt_id(motor)] for motor in MOTORS]] = angles(0.0)
    d.qpos = rb.assemble(m, d.qpos, fixed=MOTORS)
    rb.inverse(m, d)
    print("to hold it:", d.qfrc_inverse[dofs].round(3), "N m")

    # Each step drives the motors to their next angles and returns the required torques.
    print("time [s]    platform x, y, z [m]        torques [N m]")
    tilt = gap = 0.0
    for tick in range(1001):
        for motor, angle in zip(MOTORS, angles(d.time + h), strict=True):
            rb.set_drive(m, d, motor, "position", angle)
        rb.forward(m, d)
        place, R = rb.frame_pose(m, d, "platform")
        tilt, gap = max(tilt, np.hypot(R[0, 2], R[1, 2])), max(gap, np.abs(d.efc_pos).max())
        if tick % 125 == 0 and tick > 0:  # the first tick starts with a jerk
            numbers = (*place, *d.qfrc_drive[dofs])
            print(f"{d.time:8.3f} ", *(f"{number:8.4f}" for number in numbers))
        rb.step(m, d)
    print(f"tilt of the platform: {tilt:.0e} rad; loops open by {gap:.0e} m")


if __name__ == "__main__":
    main()
