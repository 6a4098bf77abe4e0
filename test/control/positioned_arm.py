# SPDX-License-Identifier: Apache-2.0
"""An arm that takes positions, and its controller, in one loop without ROS and without waiting.

At each state the arm is at the last commanded position. The reported efforts hold it against
gravity and a wrench on the tool.
"""

import numpy as np
from closed_loop import BENT, START, model

import rbdyn_ros as rb
from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.control.arm.settings import ControlSettings
from rbdyn_ros.control.base.limits import Limits
from rbdyn_ros.control.laws.external_wrench import SensedWrench
from rbdyn_ros.control.position_controller import PositionController
from rbdyn_ros.control.states.gate import GateSettings, SafetyGate

UR5, FRAME = "ur5_robot.urdf", "tool0"
#: Link in whose axes the sensor measures the wrench.
SENSOR = "wrist_3_link"


class PositionedArm:
    """A UR5 with the given ControlSettings; dry_run and start_up_test default to False."""

    def __init__(self, mode="tracking", make=PositionController, period=0.004, **settings):
        settings = {"dry_run": False, "start_up_test": False} | settings
        m = model(UR5)
        self.arm, self.m, self.h = Arm(m), m, period
        self.d, self.work = rb.make_data(m), rb.make_data(self.arm.m)
        self.d.qpos = BENT[UR5]
        self.gate = SafetyGate(m, Limits.of(m), GateSettings())
        self.controller = make(self.arm, self.gate, ControlSettings(**settings))
        self.now, self.answer = START, None
        self.wrench, self.feels, self.follows = np.zeros(6), True, True
        self.controller.set_mode(mode)

    def pose(self):
        return rb.frame_pose(self.m, self.d, FRAME)

    def sense(self):
        """Send the wrench on the tool to the controller, in the axes of SENSOR."""
        place, _ = self.pose()
        origin, axes = rb.frame_pose(self.m, self.d, SENSOR)
        torque = self.wrench[:3] + np.cross(place - origin, self.wrench[3:])
        force = axes.T @ self.wrench[3:]
        self.controller.wrench.take(SENSOR, force, axes.T @ torque, self.now)

    def efforts(self):
        self.work.qpos = self.d.qpos
        J = rb.frame_jacobian(self.arm.m, self.work, FRAME)
        return rb.gravity_term(self.arm.m, self.work) - J.T @ self.wrench

    def tick(self, **changes):
        given = {
            "names": list(self.arm.names),
            "position": self.d.qpos.copy(),
            "velocity": self.d.qvel.copy(),
            "effort": self.efforts(),
            "stamp": self.now,
            "arrival": self.now,
        }
        c = self.controller
        if self.feels and isinstance(c.wrench, SensedWrench):
            self.sense()
        answer = c.on_state(**given | changes)
        self.answer = None if answer is None else answer.copy()
        if self.follows and self.answer is not None and (c.armed or c.testing):
            self.drive(self.answer, c.velocity)
        elif self.follows:
            self.d.qvel[:] = 0.0
        self.now += int(self.h * 1e9)

    def drive(self, qpos, qvel):
        """Set the arm to commanded positions and velocities."""
        self.d.qpos[:], self.d.qvel[:] = qpos, qvel

    def run(self, duration, **changes):
        """Run for a time [s], with `changes` in all states; return the tool's positions (n, 3)."""
        found = []
        for _ in range(round(duration / self.h)):
            self.tick(**changes)
            found.append(self.pose()[0])
        return np.array(found)

    def armed(self):
        self.run(5 * self.h)
        self.controller.try_arm(self.now)
        return self
