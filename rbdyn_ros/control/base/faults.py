# SPDX-License-Identifier: Apache-2.0
"""Faults of an armed arm: their codes, causes and reactions."""

from dataclasses import dataclass

#: Kinds of faults that kernels find. A blind fault up to FROZEN means that a state is wrong. After
#: a wrong state, no state is believed again, with one exception: if a state jumped and was
#: dropped, later states near the predicted position of the braked arm are believed.
POSITION, VELOCITY, MOVED, UNLIKE, ACCELERATION, POWER, GAIN = range(1, 8)
JUMPED, TOO_FAST, FROZEN, LATE, FINITE, OLD, SLOW, UNFIT, STRAYED, IDLE = range(8, 18)
#: The codes of these kinds. A fault FINITE can also have the code `names`.
KIND_CODES = (
    "",
    *("position", "velocity", "velocity", "velocity", "acceleration", "power", "acceleration"),
    *("clock", "clock", "frozen", "latency", "finite", "age", "age", "effort", "tracking"),
    "target",
)
#: Entries of a finding (FOUND,): the kind of a fault, its joint, a number above 0 if it is blind
#: (MOVED if the state jumped), the value found and the allowed value.
KIND, JOINT, BLIND, VALUE, ALLOWED, FOUND = range(6)


@dataclass(frozen=True, slots=True)
class Fault:
    """The reason why an arm must stop.

    Attributes:
        code: one of CODES.
        text: the reason as a message, which names the state, the joint and the bound.
        blind: whether the state is unknown, so that feedback is impossible.
        remedy: remedy for the user; empty: the remedy of its code in REMEDIES.
    """

    code: str
    text: str
    blind: bool = False
    remedy: str = ""

    def __post_init__(self) -> None:
        assert self.code in CODES, self.code

    @property
    def advice(self) -> str:
        """The reason and the remedy."""
        return f"{self.text}. {self.remedy or REMEDIES[self.code]}"

    @property
    def report(self) -> str:
        """The reason and the remedy, for a latched fault."""
        return f"{self.advice}, then clear_fault"


@dataclass(frozen=True, slots=True)
class FaultKind:
    """A row of the table of faults in docs/guides/arm_faults.md.

    Attributes:
        code: see Fault; a code with two reactions has two rows.
        cause: the finding.
        reaction: brake, blind or silent, see endings.py.
    """

    code: str
    cause: str
    reaction: str


FAULTS = (
    FaultKind("finite", "NaN, infinity or a number above 1e9 in a state", "blind"),
    FaultKind(
        "names", "a joint is missing or occurs twice, or an array has the wrong length", "blind"
    ),
    FaultKind(
        "age",
        "no state for `state_timeout`; or states come so rarely, or in such bursts, that efforts "
        "act for longer than 20 ms on average over 0.25 s (or longer than a single pause of "
        "`state_timeout` explains, if that is more)",
        "blind",
    ),
    FaultKind(
        "latency",
        "for `state_timeout` every state is late by more than `latency_limit`, compared with the "
        "fastest state; a constant offset between two clocks is no lag",
        "blind",
    ),
    FaultKind(
        "clock",
        "stamps go back, differ from the elapsed time by more than `state_timeout`, or run faster "
        "than 1.1 times real time",
        "brake",
    ),
    FaultKind(
        "clock",
        "a wrong stamp as above, and the positions do not follow from the previous state and the "
        "elapsed time",
        "blind",
    ),
    FaultKind("position", "a joint is 0.0087 rad or m beyond its limit", "brake"),
    FaultKind(
        "velocity",
        "a joint is faster than its limit, and its positions agree with its velocity",
        "brake",
    ),
    FaultKind(
        "velocity",
        "positions jump, or contradict the velocities: joints, signs or units are mixed up, or an "
        "encoder drifts",
        "blind",
    ),
    FaultKind(
        "acceleration",
        "a velocity changes faster than `acceleration_limit`, measured over 5 ms or more, or a "
        "joint gains speed with more than twice the `acceleration` of its limit in the URDF",
        "brake",
    ),
    FaultKind("power", "a joint's effort times its velocity exceeds `power_limit`", "brake"),
    FaultKind(
        "frozen",
        "a joint stops, or its numbers repeat (within 1e-4 rad or m), although the efforts sent "
        "should have moved it by 0.04 rad or m, or its repeated velocity should have moved it by "
        "0.015 rad or m; or a joint stands still, and its measured effort does not follow the "
        "commands",
        "blind",
    ),
    FaultKind("effort", "a law's effort is not a number", "brake"),
    FaultKind(
        "tracking",
        "a joint is over `tracking_tolerance` from its target, in `hold` and `computed_torque`",
        "brake",
    ),
    FaultKind("target", "no target for `target_timeout` after a trajectory", "brake"),
    FaultKind("rivals", "another node commands the arm, or has the same name", "brake"),
    FaultKind("rivals", "states of the arm come from two publishers", "blind"),
)
#: More faults of arms that take positions, which come to rest in the same way after any fault.
POSITION_FAULTS = (
    FaultKind("command", "a position to be sent is not a number", "brake"),
    FaultKind("wrench", "in `admittance`, no wrench for `state_timeout`", "brake"),
)
CODES = frozenset(kind.code for kind in FAULTS + POSITION_FAULTS)
#: Remedies of faults.
REMEDIES = {
    "finite": "Check the driver that sends the states",
    "names": "Check the joints in the robot file and in the driver",
    "age": "Check the driver, the network and the load of the computers",
    "latency": "Check the network, the load of the computers and the clock of the states",
    "clock": "Check the clock that stamps the states, and that nothing sets it while armed",
    "position": "Check the encoder, or move the joint back with the arm's own controller",
    "velocity": "Check the gains, and external forces on the arm",
    "acceleration": "Check the measured velocity, and what the arm may have touched",
    "power": "Check the gains, the payload and the speed of the motion",
    "frozen": "Check whether the driver sends old states, and whether something blocks the joint; "
    "if friction holds it, give its friction in <dynamics> or friction.*",
    "effort": "Check the gains and the target",
    "command": "Check the target",
    "wrench": "Check the force-torque sensor and the network",
    "tracking": "Check what blocks the arm, the payload and the gains",
    "target": "Check the node that sends trajectories",
    "rivals": "End the other node",
}
