# SPDX-License-Identifier: Apache-2.0
"""The texts of the faults that the kernels of the gate find."""

import math
from typing import NamedTuple

from rbdyn_ros.arrays import Array
from rbdyn_ros.control.base import faults as kinds
from rbdyn_ros.control.base.faults import KIND_CODES, Fault
from rbdyn_ros.control.base.limits import FROZEN, OVERSHOOT, PASSED, Limits
from rbdyn_ros.control.states.clock import FASTER, TIMELY
from rbdyn_ros.control.states.loop_state import RELEASED, ArmLoopState
from rbdyn_ros.errors import apart
from rbdyn_ros.nanoseconds import NANOSECONDS

#: Remedy if positions and velocities disagree.
MIXED_UP = "Check units, signs and the order of joints, and the encoders"


class Found(NamedTuple):
    """A fault as a kernel has written it, with the state and the limits that it concerns."""

    kind: int
    joint: int
    blind: bool
    value: float
    allowed: float
    s: ArmLoopState
    limits: Limits

    @property
    def name(self) -> str:
        """The word "joint" and the name of the joint, for a message."""
        return f"joint '{self.limits.names[self.joint]}'"

    @property
    def unit(self) -> str:
        """Unit of the joint's position."""
        return self.limits.units[self.joint]

    @property
    def speed(self) -> str:
        """Measured velocity of the joint, with its unit."""
        return f"{self.s.state[1, self.s.dofs[self.joint]]:.4g} {self.unit}/s"


def fault_of(row: Array, s: ArmLoopState, limits: Limits) -> Fault:
    """Return the fault that a kernel has written into a row of `s`, with its text.

    Args:
        row: (FOUND,), see faults.
        s: the newest state.
        limits: limits of the controlled joints.
    """
    kind, joint, blind, value, allowed = row.tolist()
    found = Found(int(kind), int(joint), blind > 0.0, value, allowed, s, limits)
    code = KIND_CODES[found.kind]
    remedy = MIXED_UP if kind in (kinds.MOVED, kinds.UNLIKE) else ""
    return Fault(code, TEXTS[code](found), found.blind, remedy)


def _position(found: Found) -> str:
    k, limits, unit = found.joint, found.limits, found.unit
    place, low, high = apart(found.value, limits.lower[k], limits.upper[k])
    return f"{found.name} is at {place} {unit}, beyond its limits {low} and {high} {unit}"


def _velocity(found: Found) -> str:
    fastest, unit = float(found.limits.velocity[found.joint]), found.unit
    if found.kind == kinds.UNLIKE:
        off, most = apart(found.value, found.allowed, digits=3)
        return (
            f"{found.name} does not move at its measured velocity, {found.speed}: its "
            f"positions are {off} {unit} away from there; allowed is {most} {unit}"
        )
    if found.kind == kinds.MOVED:
        moved = f"{found.name} moved by {found.value:.6g} {unit} in {found.s.passed:.6f} s"
        return f"{moved}; its velocity limit is {fastest:.6g} {unit}/s"
    speed, most, _ = apart(found.value, fastest, -fastest)
    return f"{found.name} moves at {speed} {unit}/s; its velocity limit is {most} {unit}/s"


def _acceleration(found: Found) -> str:
    if found.kind == kinds.ACCELERATION:
        return (
            f"the velocity of {found.name} jumped to {found.speed}; acceleration_limit is "
            f"{found.limits.acceleration:.6g} {found.unit}/s^2"
        )
    return (
        f"{found.name} moves at {found.speed} and gains speed too fast; {OVERSHOOT:g} times "
        f"its acceleration limit is {found.limits.gain[found.joint]:.6g} {found.unit}/s^2"
    )


def _power(found: Found) -> str:
    power, most = apart(found.value, found.limits.power[found.joint], digits=4)
    unit = "N" if found.unit == "m" else "N m"
    effort = f"{found.s.out[RELEASED, found.joint]:.4g} {unit}"
    return (
        f"{found.name} works with {power} W, {effort} at velocity {found.speed}; its limit is "
        f"{most} W"
    )


def _clock(found: Found) -> str:
    timeout = found.s.state_timeout
    text = f"the clock of the states runs more than {FASTER:g} times as fast as real time"
    if found.kind == kinds.JUMPED:
        passed = found.allowed - timeout
        text = (
            f"the clock of the states jumped: it advanced by {found.value:.6f} s while "
            f"{passed:.6f} s passed; at most {timeout:g} s more is allowed"
        )
    # for a blind fault append the reason why no later state is believed
    if not found.blind or not found.s.found[kinds.KIND]:
        return text
    return f"{text}; and {fault_of(found.s.found, found.s, found.limits).text}"


def _latency(found: Found) -> str:
    late = (found.s.arrival - int(found.s.times[TIMELY])) / NANOSECONDS
    lag, most = apart(1e3 * found.value, 1e3 * found.allowed, digits=4)
    text = f"for {late:.3f} s every state was late, the newest by {lag} ms"
    return f"{text}; latency_limit is {most} ms"


def _age(found: Found) -> str:
    if found.kind == kinds.SLOW:
        pause, most = apart(1e3 * found.value, 1e3 * found.allowed, digits=4)
        text = f"states came every {pause} ms, or in bursts with such pauses"
        return f"{text}; allowed is {most} ms on average"
    if math.isinf(found.value):
        return "no state of the arm has arrived yet"
    age, most = apart(found.value, found.allowed, digits=4)
    return f"the newest state is {age} s old; allowed is {most} s"


def _effort(found: Found) -> str:
    return f"the effort that the mode computes for {found.name} is not a finite number"


def _frozen(found: Found) -> str:
    unit = found.unit
    return (
        f"{found.name} stands still at {found.value:.4g} {unit}, or its numbers repeat. Either "
        f"the efforts sent should have moved it by more than {FROZEN:g} {unit}, or its velocity "
        f"of {found.allowed:.4g} {unit}/s by more than {PASSED:g} {unit}, or its measured effort "
        "does not follow the efforts sent"
    )


def _tracking(found: Found) -> str:
    away, most = apart(found.value, found.allowed, digits=4)
    unit = found.unit
    return f"{found.name} is {away} {unit} from its target; tracking_tolerance is {most} {unit}"


def _target(found: Found) -> str:
    waited, most = apart(found.value, found.allowed, digits=4)
    return f"no new target for {waited} s; target_timeout is {most} s"


TEXTS = {
    "position": _position,
    "velocity": _velocity,
    "acceleration": _acceleration,
    "power": _power,
    "clock": _clock,
    "latency": _latency,
    "age": _age,
    "effort": _effort,
    "frozen": _frozen,
    "tracking": _tracking,
    "target": _target,
}
