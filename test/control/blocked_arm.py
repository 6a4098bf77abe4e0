"""An arm whose joint is really blocked, by a brake or by an obstacle on one side.

    python test/control/blocked_arm.py [--robots FILE,...]

runs all cases and prints those outside the bound. All states are true, so the reaction to a joint
that looks frozen must not be worse than that of the same arm to a trusted fault.
"""

import argparse
import dataclasses
import functools
import itertools
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # run as a script

import battery
import numpy as np
from battery import Case, Verdict, beyond, lied, moving
from closed_loop import FILES, SEVEN, ClosedLoop
from support.lies import LOOP, NONE, Lie

import rbdyn_ros as rb
from rbdyn_ros.control.faults import Fault

MODES = ("hold", "computed_torque", "impedance")
SPEEDS = (0.2, 0.6, 1.0)
BRAKE, OBSTACLE = "brake", "obstacle"
ROBOTS = (FILES[0], "panda.urdf", "iiwa14.urdf", SEVEN)
TRUE = Lie("true", "values", "true states", (NONE, "frozen"), None, (LOOP,))


@dataclasses.dataclass(frozen=True)
class Blocked(Case):
    """A case without a lie, whose joint is blocked from the onset on."""

    joint: int = 0
    by: str = BRAKE


class Blocks:
    """Blocks a joint of a loop where it is at first; an obstacle lets it go back."""

    def __init__(self, case):
        self.joint, self.by, self.place, self.way = case.joint, case.by, None, 0.0

    def __call__(self, loop, _time):
        m, d, k = loop.plant, loop.d, loop.dofs[self.joint]
        if self.place is None:
            self.place, self.way = d.qpos[k], np.sign(d.qvel[k]) or 1.0
        into = self.way * (d.qpos[k] - self.place)
        if self.by == OBSTACLE and (into < 0.0 or self.way * d.qvel[k] < 0.0):
            return
        rb.forward(m, d)
        unit = np.zeros(m.nv)
        unit[k] = 1.0
        column = np.linalg.solve(rb.mass_matrix(m, d), unit)
        d.qvel[:] -= column / column[k] * d.qvel[k]  # the shock of the stop reaches all joints
        d.qpos[k] = self.place


def ran(case, kind, trusted=False, blocks=True):
    """Return the run of a case: loop, positions, velocities, time of the fault."""
    loop = moving(dataclasses.replace(case, lie="", joint=0, by=""), kind)
    if trusted:
        loop.controller._trip(Fault("target", "a trusted fault"))
    before = battery.HARNESS.get(TRUE.name)
    battery.HARNESS[TRUE.name] = Blocks(case) if blocks else (lambda _loop, _time: None)
    try:
        return loop, *lied(loop, TRUE)
    finally:
        del battery.HARNESS[TRUE.name]
        assert before is None


@functools.cache
def references(case, kind=ClosedLoop):
    """Return positions of trusted faults, with the joint blocked and not, and of no fault."""
    rows = [ran(case, kind, True), ran(case, kind, True, False), ran(case, kind, False, False)]
    fastest = float((np.abs(rows[0][2][:, rows[0][0].dofs]) / rows[0][0].gate.limits.velocity).max())
    return [row[1] for row in rows], fastest


def judged(case, kind=ClosedLoop):
    """Return the Verdict of a case, and the largest speed after a trusted fault."""
    places, fastest = references(case)
    loop, q, v, found = ran(case, kind)
    k = loop.dofs
    excess = beyond(q[:, k], np.concatenate(places)[:, k])
    strict = beyond(q[:, k], places[0][:, k])
    speed = float((np.abs(v[:, k]) / loop.gate.limits.velocity).max())
    fault = loop.controller.fault
    end = loop.controller.ending[0] if fault else ""
    return Verdict(fault.code if fault else NONE, excess, strict, speed, end, found), fastest


def cases(robots=ROBOTS, modes=MODES, speeds=SPEEDS, joints=range(6), by=(BRAKE, OBSTACLE), **more):
    rows = itertools.product(robots, modes, speeds, joints, by)
    return [Blocked("", mode, speed, file, joint=j, by=b, **more) for file, mode, speed, j, b in rows]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robots", default=",".join(ROBOTS))
    given = parser.parse_args()
    total = bad = 0
    for case in cases(given.robots.split(",")):
        verdict, fastest = judged(case)
        total += 1
        if verdict.excess > 0.3 or verdict.speed > max(1.2, fastest):
            bad += 1
            print(case, verdict, f"{fastest:.2f}")
    print(total, bad)
