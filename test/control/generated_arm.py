# SPDX-License-Identifier: Apache-2.0
"""The generated ros2_control controller, called by the loop of closed_loop.

    python test/control/generated_arm.py [--robots FILE,...] [--kinds NAME,...] [--rates HZ,...]

runs the battery of false joint states on it and prints the worst cases. Its states have no stamps:
it reads the last numbers of the driver, and the controller manager passes the time of each update.
"""

import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).parents[1]))  # run as a script

import battery
from closed_loop import ClosedLoop
from support.control_package import SILENT, ArmCode, CppArm, package_of
from support.lies import NONE

from rbdyn_ros.control.motion.tracking import PathTracker
from rbdyn_ros.errors import refusal

MODES = {"gravity": "gravity", "hold": "computed_torque"}
#: Lies about stamps; here they change the time that the controller manager passes to an update.
CLOCKS = ("clock_jump", "clock_back", "half_pace", "double_pace", "same_stamp", "zero_stamps")
CLOCKS += ("other_clock", "ntp_step", "ntp_slew")
#: Lies that are impossible here: interfaces are claimed by name, the payload is compiled in, and
#: the controller manager does not restart a controller.
NOT_HERE = ("missing", "extra", "payload", "controller_restart")
#: Faults that follow missing states: the interfaces keep the last state, which looks frozen.
STALE = ("velocity", "frozen", "acceleration", "tracking", NONE)
#: For some lies: codes that the generated controller may report but arm_controller may not.
CODES = dict.fromkeys(
    (
        *("loss", "driver_restart", "stall", "reordered", "growing_lag"),
        *(f"lag_{ms}_ms" for ms in (5, 15, 30, 50, 75, 100, 200)),
    ),
    STALE,
)
#: Events with which the start-up test refuses an arm: an error of the arm, or a fault.
REFUSED = (12, 13)
COMPILED = {}
CODES |= {"half_pace": ("latency", "velocity", "clock")}


def code_of(m):
    """Return the compiled package of a Model; it is compiled once."""
    found = COMPILED.get(m.sha256())
    if found is None:
        found = COMPILED[m.sha256()] = ArmCode(package_of(m), Path(tempfile.mkdtemp()) / "my_arm")
    return found


class GeneratedController:
    """The generated code, with those methods of a Controller that the loop calls."""

    def __init__(self, loop, m, settings, friction):
        self.loop, self.settings, self.arm = loop, settings, loop.controller.arm
        compensates = self.arm.robot_compensates_gravity
        gate = loop.gate.settings
        self._own = CppArm(code_of(loop.known), settings, gate, compensates, friction, loop.h)
        self._tracker = PathTracker(m.nv, loop.dofs, loop.gate.limits.names)
        self._follows, self.armed, self.mode = False, False, "gravity"
        self.failed_test = ""
        self._state, self._stamp, self._time = None, 0, None

    def on_state(self, names, position, velocity, effort, stamp, arrival):  # noqa: ARG002
        """Write a state to the interfaces; `update` returns the efforts."""
        self._state = position.copy(), velocity.copy(), effort[self.loop.dofs].copy()
        self._stamp = stamp - arrival

    def update(self, now, clock):
        """Return efforts for the state in the interfaces, or None. With `clock`, use its stamp."""
        if not self.armed:
            return None
        time = now + (self._stamp if clock else 0)
        period, self._time = (time - self._time) * 1e-9, time
        reference = None
        if self._follows:
            self._tracker.advance(max(period, 0.0))
            reference = self._tracker.rows.copy()
        q, v, felt = self._state
        answer = self._own.update(q, v, period, reference, effort=felt, waited=self.loop.h)
        if self._own.event() in REFUSED:
            self.armed, self.failed_test = False, self._own.sentence
        return None if answer == SILENT else self._own.effort

    def try_arm(self, now):
        q, v, felt = self._state
        if self._own.start(q, v, felt, self.mode):
            raise refusal("the arm measures other efforts", "effort-mismatch")
        self.armed, self._time = True, now - round(self.loop.h * 1e9)
        self._own.steady = self._time * 1e-9

    @property
    def testing(self):
        return self.armed and self._own.phase == "testing"

    def disarm(self):
        self.armed = False

    def set_mode(self, mode):
        self.mode, self._follows = MODES.get(mode, mode), False
        if self.armed:
            self._own.set_mode(self.mode)
            self._tracker.rest_at(self._state[0])

    def follow_path(self, path):
        self._follows = True
        self._tracker.follow(path, self.loop.gate.limits, 1.0)

    def kick(self, qpos, qvel):
        self._own.kick(qpos, qvel)

    def on_watch(self, now):  # noqa: ARG002
        return None

    @property
    def fault(self):
        code, blind = self._own.fault
        return SimpleNamespace(code=code, blind=blind) if code else None

    @property
    def ending(self):
        return [self._own.phase]

    def status(self):
        return f"{self._own.phase} {self._own.fault}"


class GeneratedArm(ClosedLoop):
    """A loop with the generated controller; it takes `period` and ClosedLoop's arguments."""

    def __init__(self, m, **keywords):
        own = keywords.pop("period", 0.001)
        self.known, friction = keywords.get("plant", m), 0.9 if "plant" in keywords else 0.0
        super().__init__(m, **keywords)
        self.h, self.clock = own, False
        self.controller = GeneratedController(self, m, self.controller.settings, friction)

    def kick(self, velocity, joints=slice(None)):
        self.d.qvel[joints] = velocity
        self.controller.kick(self.d.qpos - self.h * self.d.qvel, self.d.qvel.copy())

    def send(self, **changes):
        super().send(**changes)

    def tick(self, **changes):
        send = self.send

        def answered(**given):
            send(**given)
            return self.controller.update(self.now, self.clock)

        self.send = answered
        try:
            super().tick(**changes)
        finally:
            self.send = send

    def run(self, duration, **changes):
        for _ in range(round(duration / self.h)):
            self.tick(**changes)


def kind_of(case):
    """Return the function with which the battery makes the GeneratedArm of a case."""

    def made(m, **keywords):
        arm = GeneratedArm(m, period=case.period, **keywords)
        arm.clock = case.lie in CLOCKS
        return arm

    return made


def judged(case):
    """Return the Verdict of a case for the generated controller."""
    return battery.judged(case, kind_of(case))


def allowed(case, verdict):
    """Return whether the verdict's code is allowed: by the battery, or by CODES for this lie."""
    return battery.allowed(case, verdict) or verdict.code in CODES.get(case.lie, ())


def possible(case):
    return case.lie not in NOT_HERE


if __name__ == "__main__":
    battery.main(judged, allowed, possible)
