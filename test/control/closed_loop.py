# SPDX-License-Identifier: Apache-2.0
"""A simulated arm and a Controller in one loop, without ROS and without waiting.

The arm applies the efforts of the controller. While it receives no efforts, it holds itself.
The clocks are simulated, so that a run repeats to the last bit.
"""

import dataclasses
from pathlib import Path

import numpy as np
from support import robots

import rbdyn_ros as rb
from rbdyn_ros.control.arm.arm import Arm, mounted_gravity
from rbdyn_ros.control.arm.settings import ControlSettings
from rbdyn_ros.control.base.limits import Limits
from rbdyn_ros.control.base.state_kernels import AGE
from rbdyn_ros.control.base.target import Target
from rbdyn_ros.control.controller import Controller
from rbdyn_ros.control.laws.joint_laws import GravityCompensation
from rbdyn_ros.control.states.gate import GateSettings, SafetyGate

SEVEN = "seven_dof_arm.urdf"
FILES = ("ur5_robot.urdf", "panda.urdf", "kinova.urdf", SEVEN)
#: A posture within all limits, without aligned joints, in which gravity loads the joints.
BENT = {
    "ur5_robot.urdf": (0.3, -0.9, 1.1, -0.7, 0.5, 0.4),
    "panda.urdf": (0.3, -0.6, 0.4, -1.7, 0.5, 1.4, 0.2, 0.01),
    "kinova.urdf": (0.3, 2.2, 1.4, 0.5, 2.1, 0.2),
    SEVEN: (0.3, 0.6, 0.4, -0.7, 0.5, 0.4, 0.2),
}
MS = 1_000_000
#: Time of the steady clock at the start [ns].
START = 5_000 * MS
#: Time without commands after which the arm's own controller holds the arm [s].
WATCHDOG = 0.1


def path_of(file):
    return (
        Path(__file__).parents[2] / "config/robots" / file if file == SEVEN else robots.find(file)
    )


def model(file="ur5_robot.urdf", damped=False):
    """Return the Model of a robot file, with passive forces if `damped`. Mimic joints are kept."""
    m = rb.load_urdf(path_of(file))
    m.opt.passive = damped
    return m


@dataclasses.dataclass
class Trace:
    """The record of a run, one row per tick. Efforts are NaN while the controller sends none."""

    time: np.ndarray
    qpos: np.ndarray
    qvel: np.ndarray
    effort: np.ndarray
    target: np.ndarray


class ClosedLoop:
    """A loop that steps an arm and a controller in turn.

    Args:
        m: the Model of the controller.
        plant: the Model of the simulated arm; None for m itself.
        mode: mode of the controller at the start; the arm is disarmed then.
        mounting, gravity: mounting and gravity of both Models.
        gate: keyword arguments of GateSettings.
        arm: keyword arguments of Arm.
        settings: keyword arguments of ControlSettings; dry_run and start_up_test default to False.
    """

    def __init__(
        self,
        m,
        plant=None,
        mode="gravity",
        qpos=None,
        mounting=(0, 0, 0),
        gravity=(0, 0, -9.81),
        gate=None,
        arm=None,
        names=(),
        **settings,
    ):
        self.plant = (m if plant is None else plant).replaced()
        self.plant.opt.gravity = tuple(mounted_gravity(mounting, gravity).tolist())
        self.d = rb.make_data(self.plant)
        self.d.qpos[:] = BENT[next(f for f in FILES if m.name in f)] if qpos is None else qpos
        self.bare = Arm(self.plant, gravity, mounting)
        self.watchdog, self.silence = GravityCompensation(self.bare, 20.0), 0.0
        known = Arm(m, gravity, mounting, **(arm or {}))
        self.gate = SafetyGate(m, Limits.of(m, names), GateSettings(**(gate or {})))
        self.controller = Controller(
            known,
            self.gate,
            ControlSettings(**{"dry_run": False, "start_up_test": False} | settings),
        )
        self.names = list(known.names)
        self.dofs = self.gate.limits.dofs
        self.now, self.h = START, 0.001
        self.applied = np.zeros(m.nv)
        self.push = np.zeros(m.nv)
        self.step = rb.step  # the battery replaces this with a step whose drives are limited
        self.answer, self.publish, self.watched = None, True, START
        self.hold()
        self.controller.set_mode(mode)

    def hold(self):
        """Apply the efforts by which the arm's own controller holds the arm."""
        self.applied[:] = self.watchdog(self.d.qpos, self.d.qvel, Target(self.plant.nv))

    def kick(self, velocity, joints=slice(None)):
        """Set the velocity of joints, and the controller's memory as if they had always had it."""
        self.d.qvel[joints] = velocity
        seen = self.gate.measured  # the last state must agree with the new velocity
        seen.qvel[:], seen.qpos[:] = self.d.qvel, self.d.qpos - self.h * self.d.qvel
        self.gate.s.memory[AGE] = np.inf
        self.controller._blind.forget()

    def state(self, **changes):
        """Return the arguments of on_state for the present state, updated with `changes`."""
        given = {
            "names": self.names,
            "position": self.d.qpos.copy(),
            "velocity": self.d.qvel.copy(),
            "effort": self.applied.copy(),
            "stamp": self.now,
            "arrival": self.now,
        }
        return given | changes

    def send(self, **changes):
        """Send the present state with `changes` to the controller; return its efforts or None."""
        return self.controller.on_state(**self.state(**changes))

    def tick(self, **changes):
        """Send the state with `changes`, call on_watch if due, apply the efforts, and step."""
        c = self.controller
        self.answer = self.send(**changes) if self.publish else None
        if self.now - self.watched >= 10 * MS:
            watched = c.on_watch(self.now)
            self.watched = self.now
            self.answer = watched if self.answer is None else self.answer
        self.silence = self.silence + self.h if self.answer is None else 0.0
        if not (c.armed or c.testing) or c.settings.dry_run or self.silence > WATCHDOG:
            self.hold()
        elif self.answer is not None:
            self.applied[self.dofs] = self.answer
            if c.arm.robot_compensates_gravity:
                self.applied += self.bare.gravity_effort(self.d.qpos, np.empty(len(self.d.qpos)))
        self.d.qfrc_applied[:] = self.applied + self.push
        self.step(self.plant, self.d, round(self.h / self.plant.opt.timestep))
        self.now += int(self.h * 1e9)

    def run(self, duration, **changes):
        """Run for a time [s], with `changes` in all states; return the Trace."""
        rows = []
        for _ in range(round(duration / self.h)):
            q, v = self.d.qpos.copy(), self.d.qvel.copy()
            self.tick(**changes)
            answer = np.full(len(self.dofs), np.nan) if self.answer is None else self.answer.copy()
            target = self.controller.progress().desired[0]
            rows.append((self.now * 1e-9 - self.h, q, v, answer, target))
        return Trace(*(np.array(column) for column in zip(*rows, strict=True)))

    def arm(self):
        """Let the arm settle, arm it, and return the loop."""
        self.run(0.02)
        self.controller.try_arm(self.now)
        return self


def armed(file=FILES[0], mode="gravity", settle=0.6, **keywords):
    """Return an armed loop after `settle` seconds, in which its bumpless start ends."""
    loop = ClosedLoop(model(file), mode=mode, **keywords).arm()
    loop.run(settle)
    return loop
