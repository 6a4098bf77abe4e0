"""The gate for what ros2_control's JointStateTopicSystem sends: another reading of JointState.

That bridge names all its joints in every message and appends a number for each command
interface a joint has, so an array may be shorter than `name`; where no controller has written
to an interface, the number is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rbdyn_ros.errors import Finding, ParameterError, quote
from rbdyn_ros.ros.common.goals import LARGEST, PLURALS, Arrays, Goal
from rbdyn_ros.ros.simulator.commands import Gate
from rbdyn_ros.runtime.orders import EFFORT, POSITION, VELOCITY, Command

#: Where the bridge's commands are taken, relative to the namespace of the node.
TOPIC = "topic_based_joint_commands"
#: Kinds of commands, the one that chooses the mode of a joint first.
KINDS = {"position": POSITION, "velocity": VELOCITY, "effort": EFFORT}


class TopicBasedGate:
    """Checks messages of the bridge and says what they command.

    A joint's mode follows from what the message has for it: position, else velocity, else
    effort; the rest of it feeds forward. Joints with nothing but NaN keep their last command,
    whatever `partial_commands` is.

    Args:
        gate: for the robot's commands.
        interfaces: by kind (`position`, `velocity`, `effort`) the joints with that command
            interface, in the order of the `<ros2_control>` tag.

    Raises:
        ParameterError: with every name that is not of a joint that takes such commands, or
            that comes twice.
    """

    def __init__(self, gate: Gate, interfaces: Mapping[str, Sequence[str]]) -> None:
        self._gate = gate
        self._interfaces = {kind: tuple(interfaces[kind]) for kind in KINDS}
        findings = [
            _refused(kind, names, why)
            for kind, names in self._interfaces.items()
            if (why := self._unfit(kind, names))
        ]
        if findings:
            raise ParameterError(findings)

    def _unfit(self, kind: str, names: Sequence[str]) -> str:
        """Return why these joints cannot have that command interface, or nothing."""
        if not names:
            return ""
        refusal = self._gate.known(names)
        if kind == "effort" or refusal:
            return refusal
        followed = (self._gate.only_efforts(name, kind) for name in names)
        return next(filter(None, followed), "")

    def judge(
        self,
        names: Sequence[str],
        position: Sequence[float],
        velocity: Sequence[float],
        effort: Sequence[float],
    ) -> Command | str:
        """Return the command, which may be for no joint at all, or why it is refused."""
        arrays = dict(zip(KINDS, (position, velocity, effort), strict=True))
        refusal = (
            self._judge_numbers(names, arrays)
            or self._judge_lengths(names, arrays)
            or self._judge_names(names)
        )
        if refusal:
            return refusal
        wanted: dict[str, dict[str, float]] = {}
        for kind, values in arrays.items():
            for name, value in zip(self._owners(kind, names, len(values)), values, strict=True):
                if not math.isnan(value):
                    wanted.setdefault(name, {})[kind] = value
        for name in wanted:
            if name in self._gate.others:
                return f"joint '{name}' {self._gate.others[name]}"
        goals = {
            name: Goal(next(mode for kind, mode in KINDS.items() if kind in given), **given)
            for name, given in wanted.items()
        }
        return self._gate.command(goals, partial="keep")

    def _owners(self, kind: str, names: Sequence[str], count: int) -> Sequence[str]:
        """Return whose numbers are in an array of this length."""
        if count == 0:
            return ()
        return names if count == len(names) else self._interfaces[kind]

    def _judge_numbers(self, names: Sequence[str], arrays: Arrays) -> str:
        for kind, values in arrays.items():
            owners = self._owners(kind, names, len(values))
            for k, value in enumerate(values):
                if math.isnan(value) or abs(value) <= LARGEST:
                    continue
                owner = f"joint {quote(owners[k])}" if k < len(owners) else f"value {k}"
                allowed = f"a number up to {LARGEST:g}, or NaN for no command, is needed"
                return f"the {kind} of {owner} is {value:g}; {allowed}"
        return ""

    def _judge_lengths(self, names: Sequence[str], arrays: Arrays) -> str:
        for kind, values in arrays.items():
            count = len(self._interfaces[kind])
            if len(values) not in (0, len(names), count) or len(values) > len(names):
                parameter = f"topic_based_{kind}_joints"
                return (
                    f"there are {len(values)} {PLURALS[kind]} for {len(names)} names, and "
                    f"{parameter} has {count} joints; as many as one of them, or none, are needed"
                )
            owners = self._owners(kind, names, len(values))
            absent = [name for name in owners if name not in names]
            if absent:
                return (
                    f"topic_based_{kind}_joints has joint '{absent[0]}', which the message does "
                    "not name"
                )
        return ""

    def _judge_names(self, names: Sequence[str]) -> str:
        if not names:
            return "it names no joint"
        seen = set()
        for name in names:
            if name not in self._gate.names and name not in self._gate.others:
                return self._gate.unknown(name)
            if name in seen:
                return f"joint '{name}' is named twice"
            seen.add(name)
        return ""


def _refused(kind: str, names: Sequence[str], why: str) -> Finding:
    parameter = f"topic_based_{kind}_joints"
    text = f"parameter '{parameter}': {why}."
    return Finding("parameter", text, "error", parameter, None, ", ".join(names), "")
