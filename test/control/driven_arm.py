# SPDX-License-Identifier: Apache-2.0
"""A simulated arm behind a driver that adds efforts, reports efforts, and may miss commands.

The robot adds the efforts that it compensates, at its true state and with the load configured in
it, as the presets in config/arms describe. It reports one kind of EFFORTS.
"""

import numpy as np
from closed_loop import MS, ClosedLoop

import rbdyn_ros as rb
from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.ros.arm.presets import preset_of

#: Motor constant of every joint, if currents are reported [N m/A].
PER_AMPERE = 10.0
EFFORTS = ("total joint torque", "torque without gravity", "current", "none")


class DrivenArm(ClosedLoop):
    """A loop whose arm has a driver.

    Args:
        m: the Model of the controller.
        carries: names of the terms that the robot compensates: gravity, coriolis, friction.
        effort: the kind of reported effort, one of EFFORTS.
        friction: viscous and dry friction of every joint of the plant [N m s/rad, N m].
        watchdog: time without commands after which the robot holds itself [s].
        more: keyword arguments of ClosedLoop.
    """

    def __init__(self, m, carries=(), effort=EFFORTS[0], friction=(0.0, 0.0), watchdog=0.02,
                 **more):  # fmt: skip
        plant = more.pop("plant", m)
        self.carries, self.reports = carries, effort
        self.friction, self.timeout = friction, watchdog
        n = plant.nv
        rubbing = plant.replaced(
            dof_damping=np.full(n, friction[0]), dof_frictionloss=np.full(n, friction[1])
        )
        rubbing.opt.passive = any(friction)
        gravity, mounting = more.get("gravity", (0, 0, -9.81)), more.get("mounting", (0, 0, 0))
        # the robot compensates its own gravity, without payloads
        self.model = Arm(m, gravity, mounting).bare
        self.known = rb.make_data(self.model)
        super().__init__(m, plant=rubbing, **more)

    @classmethod
    def behind(cls, name, m, given=None, **more):
        """Return an arm with the driver of a preset; `given` configures the controller.

        Args:
            name: name of the preset of the real driver.
            m: the Model of the arm.
            given: name of the preset that the controller uses; None for the same preset.
            more: keyword arguments of DrivenArm.
        """
        true, told = preset_of(name), preset_of(given or name)
        carries = [
            term
            for term in ("gravity", "coriolis", "friction")
            if true.defaults.get(f"robot_compensates_{term}", False)
        ]
        own = ("robot_compensates_gravity", "robot_compensates_coriolis")
        arm = {key: told.defaults.get(key, False) for key in own}
        includes = told.defaults.get("effort_includes_gravity", True)
        effort = true.facts["measured_effort"].value
        return cls(m, carries, effort, arm=arm, effort_includes_gravity=includes, **more)

    def own(self):
        """Return the efforts that the robot adds to a command at its present state."""
        d, total = self.known, np.zeros(len(self.d.qpos))
        d.qpos[:], d.qvel[:] = self.d.qpos, self.d.qvel
        if "gravity" in self.carries:
            total += rb.gravity_term(self.model, d)
        if "coriolis" in self.carries:
            total += rb.coriolis_term(self.model, d)
        if "friction" in self.carries:
            viscous, dry = self.friction
            total += viscous * self.d.qvel + dry * np.tanh(self.d.qvel / 0.01)
        return total

    def state(self, **changes):
        self.known.qpos[:] = self.d.qpos
        seen = {
            "total joint torque": self.applied,
            "torque without gravity": self.applied - rb.gravity_term(self.model, self.known),
            "current": self.applied / PER_AMPERE,
            "none": np.empty(0),
        }
        return super().state(**{"effort": seen[self.reports].copy()} | changes)

    def tick(self, **changes):
        c = self.controller
        self.answer = self.send(**changes) if self.publish else None
        if self.now - self.watched >= 10 * MS:
            watched = c.on_watch(self.now)
            self.watched = self.now
            self.answer = watched if self.answer is None else self.answer
        self.silence = self.silence + self.h if self.answer is None else 0.0
        if not (c.armed or c.testing) or c.settings.dry_run or self.silence > self.timeout:
            self.hold()
        elif self.answer is not None:
            self.applied[self.dofs] = self.answer + self.own()[self.dofs]
        self.d.qfrc_applied[:] = self.applied + self.push
        rb.step(self.plant, self.d, round(self.h / self.plant.opt.timestep))
        self.now += int(self.h * 1e9)
