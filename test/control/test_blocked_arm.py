# SPDX-License-Identifier: Apache-2.0
"""A brake blocks a joint, or an obstacle blocks it on one side, while the states are true.

The model cannot tell a blocked joint from frozen states, so the reaction must be safe for both.
The bounds are those of the battery. The references are three runs: a trusted fault with the block,
a trusted fault without it, and no fault. Only the shock of the block itself may be faster.
"""

import dataclasses
import functools
import itertools

import battery
import numpy as np
import pytest
from battery import FARTHEST, FASTEST, Case, beyond, lied, moving
from closed_loop import FILES, SEVEN
from support.lies import LOOP, NONE, Lie, lie_of

import rbdyn_ros as rb
from rbdyn_ros.control.base.faults import Fault

MODES, SPEEDS = ("hold", "computed_torque", "impedance"), (0.2, 0.6, 1.0)
BRAKE, OBSTACLE = "brake", "obstacle"
TRUE = Lie("true", "values", "true states", (NONE,), None, (LOOP,))


@dataclasses.dataclass(frozen=True)
class Blocked(Case):
    """A case in which a joint is blocked from the onset on; with a lie, states are false, too."""

    joint: int = 0
    by: str = BRAKE


def cases(robots=(FILES[0], "panda.urdf", SEVEN), speeds=SPEEDS, **more):
    """Return all cases of these robots and speeds; `more` are other fields of Blocked."""
    rows = itertools.product(robots, MODES, speeds, range(6), (BRAKE, OBSTACLE))
    return [Blocked("", mode, v, file, joint=j, by=by, **more) for file, mode, v, j, by in rows]


class Block:
    """Holds the joint of a case in place at each step; an obstacle lets the joint move back."""

    def __init__(self, case):
        self.joint, self.by, self.place, self.way = case.joint, case.by, None, 0.0

    def __call__(self, loop, _time):
        m, d, k = loop.plant, loop.d, loop.dofs[self.joint]
        if self.place is None:
            self.place, self.way = d.qpos[k], np.sign(d.qvel[k]) or 1.0
        beyond_it = self.way * (d.qpos[k] - self.place)
        if self.by == OBSTACLE and (beyond_it < 0.0 or self.way * d.qvel[k] < 0.0):
            return
        rb.forward(m, d)
        column = np.linalg.inv(rb.mass_matrix(m, d))[:, k]
        # the impact changes the velocities of all joints
        d.qvel[:] -= column / column[k] * d.qvel[k]
        d.qpos[k] = self.place


def ran(case, trusted=False, blocks=True):
    """Run a case, with a trusted fault or a block; return loop, positions and relative speed."""
    loop = moving(dataclasses.replace(case, lie="", joint=0, by=""))
    if trusted:
        loop.controller._trip(Fault("target", "a trusted fault"))
    battery.HARNESS[TRUE.name] = Block(case) if blocks else (lambda _loop, _time: None)
    lie = dataclasses.replace(lie_of(case.lie), name=TRUE.name) if blocks and case.lie else TRUE
    try:
        q, v, _ = lied(loop, lie)
    finally:
        del battery.HARNESS[TRUE.name]
    k = loop.dofs
    return loop, q[:, k], float((np.abs(v[:, k]) / loop.gate.limits.velocity).max())


@functools.cache
def references(case):
    """Return the positions of all references, and the largest speed of the blocked, braked arm."""
    case = dataclasses.replace(case, lie="")
    runs = [ran(case, True), ran(case, True, False), ran(case, False, False)]
    return np.concatenate([run[1] for run in runs]), runs[0][2]


def judged(case):
    """Return the fault, the distance beyond the references, and the speed relative to its bound.

    The reaction must have ended by itself, because any short reaction would be safe.
    """
    places, fastest = references(case)
    loop, q, speed = ran(case)
    assert loop.controller.ending == ["silent"]
    return loop.controller.fault, beyond(q, places), speed / max(fastest, 1.0)


#: Cases in which a wrong reaction would move other joints by 0.5 to 2.5 rad, at up to 430 % of a
#: limit.
WORST = (
    Blocked("", "hold", 1.0, joint=3, by=OBSTACLE),
    Blocked("", "computed_torque", 0.2, joint=0, by=OBSTACLE),
    Blocked("", "computed_torque", 0.6, joint=1, by=OBSTACLE),
    Blocked("", "computed_torque", 1.0, joint=1, by=BRAKE),
    Blocked("", "impedance", 0.6, joint=1, by=OBSTACLE),
    Blocked("", "impedance", 1.0, joint=2, by=OBSTACLE),
    Blocked("", "impedance", 1.0, "panda.urdf", joint=1, by=OBSTACLE),
    Blocked("", "computed_torque", 0.2, SEVEN, joint=0, by=OBSTACLE),
)


@pytest.mark.parametrize(
    "case", WORST, ids=lambda c: f"{c.file[:5]}-{c.mode}-{c.speed}-{c.joint}-{c.by}"
)
def test_the_other_joints_stay_within_the_bounds_after_a_joint_is_blocked(case):
    fault, excess, speed = judged(case)
    assert fault is not None
    assert excess <= FARTHEST
    assert speed <= FASTEST


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("file", "joint"), [(FILES[0], 1), ("panda.urdf", 1)])
def test_a_coasting_arm_with_a_blocked_joint_moves_within_the_bounds(file, joint, mode):
    """States stop arriving when the joint hits an obstacle."""
    fault, excess, speed = judged(Blocked("loss", mode, 1.0, file, joint=joint, by=OBSTACLE))
    assert fault.code == "age"
    assert excess <= FARTHEST
    assert speed <= FASTEST
