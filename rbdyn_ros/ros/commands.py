"""The gate for commands: a message is taken as a whole or refused as a whole, with a reason."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.errors import did_you_mean
from rbdyn_ros.ros.convert import SingleJoints


@dataclass(frozen=True, slots=True)
class Command:
    """Efforts for some dofs."""

    dofs: NDArray[np.int64]
    efforts: NDArray[np.float64]


class Gate:
    """Checks commands: numbers, then names and lengths. Their age is the loop's business.

    Args:
        joints: that may be commanded.
        others: joints that exist but take no effort, with the reason in words.
        partial: `keep`, `zero` or `reject`: what a message means for joints it does not name.
    """

    def __init__(self, joints: SingleJoints, others: dict[str, str], partial: str) -> None:
        self.joints = joints
        self.others = others
        self.partial = partial
        self._dof = dict(zip(joints.names, joints.dofadr.tolist(), strict=True))

    def by_name(self, names: Sequence[str], efforts: Sequence[float]) -> Command | str:
        """Judge a message of joint_commands; return the command or why it is refused."""
        for k, effort in enumerate(efforts):
            if not math.isfinite(effort):
                owner = f"joint '{names[k]}'" if k < len(names) else f"value {k}"
                return f"the effort of {owner} is {effort}; a finite number is needed"
        refusal = self._judge_names(names, len(efforts))
        if refusal:
            return refusal
        if self.partial != "keep" and len(names) < len(self._dof):
            return self._complete(names, efforts)
        dofs = [self._dof[name] for name in names]
        return Command(np.array(dofs, np.int64), np.array(efforts, np.float64))

    def _judge_names(self, names: Sequence[str], count: int) -> str:
        if count != len(names):
            hint = "; only efforts are commands here" if count == 0 else ""
            return f"there are {count} efforts for {len(names)} names{hint}"
        if not names:
            return f"it names no joint; the joints are {', '.join(self.joints.names)}"
        seen = set()
        for name in names:
            if name in self.others:
                return f"joint '{name}' {self.others[name]}"
            if name not in self._dof:
                hint = did_you_mean(name, self.joints.names)
                return f"there is no joint '{name}'{hint}; there are {', '.join(self._dof)}"
            if name in seen:
                return f"joint '{name}' is named twice"
            seen.add(name)
        return ""

    def _complete(self, names: Sequence[str], efforts: Sequence[float]) -> Command | str:
        if self.partial == "reject":
            missing = [name for name in self.joints.names if name not in names]
            return (
                f"joint '{missing[0]}' is not named; partial_commands is 'reject', so all of "
                f"{', '.join(self.joints.names)} are needed"
            )
        given = dict(zip(names, efforts, strict=True))
        filled = [given.get(name, 0.0) for name in self.joints.names]
        return Command(self.joints.dofadr, np.array(filled, np.float64))

    def in_order(self, efforts: Sequence[float]) -> Command | str:
        """Judge a message of effort_commands; return the command or why it is refused."""
        names = self.joints.names
        for k, effort in enumerate(efforts):
            if not math.isfinite(effort):
                owner = f"joint '{names[k]}'" if k < len(names) else f"value {k}"
                return f"the effort of {owner} is {effort}; a finite number is needed"
        if len(efforts) != len(names):
            return (
                f"it holds {len(efforts)} values; {len(names)} are needed, in the order of the "
                f"parameter effort_command_joints: {', '.join(names)}"
            )
        return Command(self.joints.dofadr, np.array(efforts, np.float64))


class Throttle:
    """Lets one of many equal reports through in a while, and counts the others.

    Args:
        interval: between two reports [s].
    """

    def __init__(self, interval: float = 1.0) -> None:
        self.interval = interval
        self.count = 0
        self._next = -math.inf

    def due(self, now: float) -> bool:
        """Count a report; say whether it shall be made. `now` is of the steady clock [s]."""
        self.count += 1
        if now < self._next:
            return False
        self._next = now + self.interval
        return True
