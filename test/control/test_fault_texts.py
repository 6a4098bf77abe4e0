# SPDX-License-Identifier: Apache-2.0
"""The message of every fault states the value, the joint, the bound and the remedy.

The faults of other nodes, `rivals`, are in test/ros/arm/test_claim.py.
"""

import dataclasses
import re

import numpy as np
import pytest
from closed_loop import ClosedLoop, armed, model
from test_safety_gate import REST, Admitting, N, at, ur5_limits

from rbdyn_ros.control.base import faults as kinds
from rbdyn_ros.control.base.faults import CODES, FAULTS, REMEDIES
from rbdyn_ros.control.motion.paths import Path as JointPath

ELBOW = "joint 'elbow_joint'"
NAMES = ur5_limits().names
ZERO = np.zeros(N)


def limited(**more):
    return Admitting(limits=ur5_limits().tightened(1.0, 1.0, 0.0, **more))


def sent(*states, of=None):
    """Send states to the gate `of` or a new one, repeat the last one; return its fault."""
    send = of or limited()
    for state in states[:-1]:
        assert send(**state)[1] is None
    for _ in range(400):
        fault = send(**states[-1])[1]
        if fault is not None:
            return fault
    raise AssertionError("no fault")


def silent_states():
    send = limited()
    send()
    return send.gate.watch(send.arrival + 90_000_000)


def too_strong():
    send = limited(power_limit=20.0)
    send.gate.effort[:] = 50.0
    return sent({"qvel": at(2, 0.5, ZERO)}, of=send)


def gaining():
    limits = dataclasses.replace(ur5_limits(), gain=np.full(N, 40.0))
    states = {}, {"qvel": at(2, 0.45, ZERO)}, {"qvel": at(2, 0.9, ZERO)}
    return sent(*states, of=Admitting(limits=limits))


def tripped(loop, **changes):
    for _ in range(2000):
        loop.tick(**changes)
        if loop.controller.fault is not None:
            return loop.controller.fault
    raise AssertionError(loop.controller.status())


def stuck():
    loop = armed(mode="impedance", settle=0.2)
    loop.controller._tracker.target.qpos[2] += 0.3
    return tripped(loop, position=loop.d.qpos.copy(), velocity=ZERO)


def law_that_fails():
    loop = armed(settle=0.2)
    law = loop.controller._modes.effort
    loop.controller._modes.effort = lambda *state: law(*state) * at(2, np.nan, np.ones(N))
    return tripped(loop)


def off_target():
    loop = armed(mode="hold", settle=0.2)
    loop.controller._tracker.target.qpos[2] += 0.25
    return tripped(loop)


def no_new_target():
    loop = ClosedLoop(model(), mode="computed_torque", target_timeout=0.1).arm()
    loop.run(0.2)
    here = loop.d.qpos[loop.dofs].copy()
    loop.controller.follow_path(JointPath([0.01, 0.02], np.array([here, here])))
    return tripped(loop)


#: For each fault: its code, its reaction, and words of its message.
TABLE = {
    "finite": (
        lambda: sent({"qpos": at(2, np.nan)}),
        *("finite", "blind", f"the position of {ELBOW}; nan; below 1e+09; Check the driver"),
    ),
    "missing": (
        lambda: sent({"names": ("x", "y", "z", *NAMES[3:])}),
        *("names", "blind", "joint 'shoulder_pan_joint' is missing; 'z'; Check the joints"),
    ),
    "twice": (
        lambda: sent({"names": (*NAMES[:2], NAMES[2], NAMES[2], *NAMES[4:])}),
        *("names", "blind", f"{ELBOW} is named twice; Check the joints"),
    ),
    "lengths": (
        lambda: sent({"qpos": REST[:5]}),
        *("names", "blind", "5 positions for 6 names; Check the joints"),
    ),
    "age": (silent_states, "age", "blind", "0.09 s old; 0.08 s; Check the driver"),
    "latency": (
        lambda: sent({"waited": 1.5}),
        *("latency", "blind", "the newest by; latency_limit is 20 ms; Check the network"),
    ),
    "jump": (
        lambda: sent({}, {"dt": 5000.0, "waited": 1.0}),
        *("clock", "brake", "5.000000 s while 0.001000 s; 0.08 s more; Check the clock"),
    ),
    "jump elsewhere": (
        lambda: sent({}, {"dt": 5000.0, "waited": 1.0, "qpos": at(2, 2.0)}),
        *(
            "clock",
            "blind",
            f"5.000000 s while 0.001000 s; and {ELBOW} moved by 0.9; Check the clock",
        ),
    ),
    "ahead": (
        lambda: sent({"dt": 2.0, "waited": 1.0}),
        *("clock", "brake", "more than 1.1 times; Check the clock"),
    ),
    "position": (
        lambda: sent({"qpos": at(2, 4.0)}),
        *("position", "brake", f"{ELBOW} is at 4 rad; -3.14159 and 3.14159 rad; the encoder"),
    ),
    "overspeed": (
        lambda: sent({"qvel": at(2, 4.0, ZERO)}),
        *("velocity", "brake", f"{ELBOW} moves at 4 rad/s; limit is 3.15 rad/s; Check the gains"),
    ),
    "barely too fast": (
        lambda: sent({"qvel": at(2, -ur5_limits().velocity[2] * (1.0 + 1e-9), ZERO)}),
        *("velocity", "brake", f"{ELBOW} moves at -3.150000003; limit is 3.15; Check the gains"),
    ),
    "moved": (
        lambda: sent({}, {"qpos": at(2, 2.0)}),
        *(
            "velocity",
            "blind",
            f"{ELBOW} moved by 0.9 rad in 0.001; limit is 3.15; order of joints",
        ),
    ),
    "unlike": (
        lambda: sent({}, {"qvel": at(2, 0.45, ZERO)}),
        *("velocity", "blind", f"{ELBOW}; velocity, 0.45; away; allowed is 0.05; Check units"),
    ),
    "acceleration": (
        lambda: sent({}, {"qvel": at(2, 0.4, ZERO)}, of=limited(acceleration=40.0)),
        *("acceleration", "brake", f"{ELBOW}; to 0.4; acceleration_limit is 40 rad/s^2; Check"),
    ),
    "gain": (
        gaining,
        *("acceleration", "brake", f"{ELBOW} moves at 0.9; its acceleration limit is 40; Check"),
    ),
    "power": (
        too_strong,
        *("power", "brake", f"{ELBOW} works with 25 W; 50 N m at velocity 0.5 rad/s; 20 W"),
    ),
    "frozen": (
        stuck,
        *("frozen", "blind", f"{ELBOW} stands still at 1.1; more than 0.04; by more than 0.015"),
    ),
    "effort": (
        law_that_fails,
        *("effort", "brake", f"{ELBOW} is not a finite number; Check the gains"),
    ),
    "tracking": (
        off_target,
        *(
            "tracking",
            "brake",
            f"{ELBOW} is 0.25 rad from; tracking_tolerance is 0.2 rad; Check what",
        ),
    ),
    "target": (
        no_new_target,
        *("target", "brake", "no new target for 0.1; target_timeout is 0.1 s; Check the node"),
    ),
}


@pytest.mark.parametrize("row", TABLE)
def test_a_fault_names_the_joint_the_bound_and_the_remedy(row):
    make, code, reaction, words = TABLE[row]
    fault = make()
    assert (fault.code, "blind" if fault.blind else "brake") == (code, reaction)
    for part in words.split("; "):
        assert part in fault.report
    assert fault.report.endswith(", then clear_fault")


def test_the_table_of_this_test_has_every_fault():
    rows = {(row[1], row[2]) for row in TABLE.values()}
    others = {(kind.code, kind.reaction) for kind in FAULTS if kind.code == "rivals"}
    assert rows | others == {(kind.code, kind.reaction) for kind in FAULTS}
    assert set(REMEDIES) == CODES


#: Faults whose text has a number and the limit that it exceeds, both from the kernel.
COMPARED = (kinds.UNLIKE, kinds.LATE, kinds.SLOW, kinds.OLD, kinds.STRAYED, kinds.IDLE)


@pytest.mark.parametrize("kind", COMPARED)
def test_printed_numbers_differ_from_the_limit_that_they_exceed(kind):
    send = limited()
    send()
    row = np.zeros(kinds.FOUND)
    row[[kinds.KIND, kinds.VALUE, kinds.ALLOWED]] = kind, 0.08 * (1.0 + 1e-7), 0.08
    text = send.gate.fault_of(row).text
    limit = 80.0 if " ms" in text else 0.08
    numbers = [float(number) for number in re.findall(r"\d[\d.]*", text)]
    assert limit in numbers
    assert any(limit < number < limit * (1.0 + 2e-7) for number in numbers)


def test_after_a_jump_of_the_clock_the_states_are_not_trusted():
    loop = armed(settle=0.2)
    loop.tick(stamp=loop.now + 5_000_000_000, position=loop.d.qpos + 0.9)
    for _ in range(20):
        loop.tick()
    assert (loop.controller.fault.code, loop.controller.fault.blind) == ("clock", True)
