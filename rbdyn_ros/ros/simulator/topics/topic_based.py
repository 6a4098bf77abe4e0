# SPDX-License-Identifier: Apache-2.0
"""Parse the special JointState messages of ros2_control's JointStateTopicSystem.

This bridge names all its joints in every message. An array has numbers only for joints with a
command interface of its kind, so it may be shorter than `name`. A number is NaN until a controller
has written to the interface.
"""

import math
from collections.abc import Mapping, Sequence

from rbdyn_ros.checks.names import name_faults
from rbdyn_ros.errors import Finding, ParameterError, RbdynError, counted, exactly, refusal
from rbdyn_ros.ros.common.parsing.commands import CommandParser
from rbdyn_ros.ros.common.parsing.goals import LARGEST, PLURALS, Arrays, Goal, owner
from rbdyn_ros.runtime.types import EFFORT, POSITION, VELOCITY, Command

#: Topic of the bridge's commands, relative to the namespace of the node.
TOPIC = "topic_based_joint_commands"
#: Mode for each kind of command; the first kind with a number chooses the mode of a joint.
KINDS = {"position": POSITION, "velocity": VELOCITY, "effort": EFFORT}


class TopicBasedParser:
    """Checks messages of the bridge and converts them for the loop.

    The mode of a joint is position if the message has a position for the joint, else velocity,
    else effort; the other numbers are feedforward. Joints with only NaN keep their last command,
    even if `partial_commands` says otherwise.

    Args:
        commands: parser of the robot's commands.
        interfaces: for each kind (`position`, `velocity`, `effort`) the joints with this command
            interface, in the order of the `<ros2_control>` tag.

    Raises:
        ParameterError: a joint is named twice for a kind or does not accept its commands; the
            message has all such kinds.
    """

    def __init__(self, commands: CommandParser, interfaces: Mapping[str, Sequence[str]]) -> None:
        self._commands = commands
        self._known = (*commands.names, *commands.excluded)
        self._interfaces = {kind: tuple(interfaces[kind]) for kind in KINDS}
        findings = [self._finding(kind, names) for kind, names in self._interfaces.items()]
        if any(findings):
            raise ParameterError(filter(None, findings))

    def _finding(self, kind: str, names: Sequence[str]) -> Finding | None:
        """Return an error if these joints cannot have command interfaces of this kind, or None."""
        parameter = f"topic_based_{kind}_joints"
        try:
            self._check_interface(kind, names)
        except RbdynError as error:
            text = f"parameter '{parameter}': {error}."
            return Finding("parameter", text, "error", parameter, None, ", ".join(names), "")
        return None

    def _check_interface(self, kind: str, names: Sequence[str]) -> None:
        if not names:
            return
        self._commands.check_joints(names)
        for name in names:
            if kind != "effort":
                self._commands.check_drivable(name, kind)

    def parse(
        self,
        names: Sequence[str],
        position: Sequence[float],
        velocity: Sequence[float],
        effort: Sequence[float],
    ) -> Command:
        """Return the command in a message; if all numbers are NaN, it commands no joint.

        Raises:
            RbdynError: the message is refused.
        """
        arrays = dict(zip(KINDS, (position, velocity, effort), strict=True))
        self._check_numbers(names, arrays)
        self._check_lengths(names, arrays)
        if not names:
            raise refusal("the message names no joint")
        for _, reason in name_faults(names, self._known, "joint"):
            raise refusal(reason)
        wanted: dict[str, dict[str, float]] = {}
        for kind, values in arrays.items():
            for name, value in zip(self._owners(kind, names, len(values)), values, strict=True):
                if not math.isnan(value):
                    wanted.setdefault(name, {})[kind] = value
        for name in wanted:
            if name in self._commands.excluded:
                raise refusal(f"joint '{name}' {self._commands.excluded[name]}")
        goals = {
            name: Goal(next(mode for kind, mode in KINDS.items() if kind in given), **given)
            for name, given in wanted.items()
        }
        return self._commands.command(goals, partial="keep")

    def _owners(self, kind: str, names: Sequence[str], count: int) -> Sequence[str]:
        """Return the joints of the numbers in an array of length `count`.

        An array has a number for each joint of the message, or only for joints with the interface.
        """
        if count == 0:
            return ()
        return names if count == len(names) else self._interfaces[kind]

    def _check_numbers(self, names: Sequence[str], arrays: Arrays) -> None:
        for kind, values in arrays.items():
            owners = self._owners(kind, names, len(values))
            for k, value in enumerate(values):
                if math.isnan(value) or abs(value) <= LARGEST:
                    continue
                allowed = f"allowed is at most {LARGEST:g}, or NaN for no command"
                raise refusal(f"the {kind} of {owner(owners, k)} is {exactly(value)}; {allowed}")

    def _check_lengths(self, names: Sequence[str], arrays: Arrays) -> None:
        for kind, values in arrays.items():
            parameter, count = f"topic_based_{kind}_joints", len(self._interfaces[kind])
            if len(values) not in (0, len(names), count) or len(values) > len(names):
                raise refusal(
                    f"the message has {counted(len(values), kind, PLURALS[kind])} for "
                    f"{counted(len(names), 'name')}, and {parameter} has "
                    f"{counted(count, 'joint')}; allowed are none, one for "
                    "each name, or one for each of these joints if the message names them all"
                )
            for name in self._owners(kind, names, len(values)):
                if name not in names:
                    text = f"the message does not name joint '{name}', which {parameter} has"
                    raise refusal(text)
