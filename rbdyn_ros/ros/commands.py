"""The gate for commands: a message is taken as a whole or refused as a whole, with a reason."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.description.types import Description
from rbdyn_ros.errors import did_you_mean
from rbdyn_ros.model.model import Model
from rbdyn_ros.ros.convert import SingleJoints


@dataclass(frozen=True, slots=True)
class Command:
    """Efforts for some dofs."""

    dofs: NDArray[np.int64]
    efforts: NDArray[np.float64]


class Gate:
    """Checks commands: numbers, then names and lengths. Their age is the loop's business.

    Args:
        joints: that may be commanded and have a dof of their own.
        followers: joints that follow another, by name: its dof, and their ratio to it. An effort
            at one is, times the ratio, an effort at the dof, beside what else the message has
            for it.
        others: joints that exist but take no effort, with the reason in words.
        partial: `keep`, `zero` or `reject`: what a message means for joints it does not name.
            Who names a follower has named the joint it follows.
    """

    def __init__(
        self,
        joints: SingleJoints,
        followers: dict[str, tuple[int, float]],
        others: dict[str, str],
        partial: str,
    ) -> None:
        self.joints = joints
        self.others = others
        self.partial = partial
        own = zip(joints.names, joints.dofadr.tolist(), strict=True)
        self._acts = {name: (k, 1.0) for name, k in own} | followers
        # by dof its own joint, or one that follows it if that has no actuator
        self._names: dict[int, str] = {}
        for name, (k, _) in self._acts.items():
            self._names.setdefault(k, name)

    def by_name(self, names: Sequence[str], efforts: Sequence[float]) -> Command | str:
        """Judge a message of joint_commands; return the command or why it is refused."""
        for k, effort in enumerate(efforts):
            if not math.isfinite(effort):
                owner = f"joint '{names[k]}'" if k < len(names) else f"value {k}"
                return f"the effort of {owner} is {effort}; a finite number is needed"
        refusal = self._judge_names(names, len(efforts))
        if refusal:
            return refusal
        named: dict[int, float] = {}
        for name, effort in zip(names, efforts, strict=True):
            k, ratio = self._acts[name]
            named[k] = named.get(k, 0.0) + ratio * effort
        return self._complete(named)

    def _judge_names(self, names: Sequence[str], count: int) -> str:
        if count != len(names):
            hint = "; only efforts are commands here" if count == 0 else ""
            return f"there are {count} efforts for {len(names)} names{hint}"
        if not names:
            return f"it names no joint; the joints are {', '.join(self._acts)}"
        seen = set()
        for name in names:
            if name in self.others:
                return f"joint '{name}' {self.others[name]}"
            if name not in self._acts:
                hint = did_you_mean(name, self._acts)
                return f"there is no joint '{name}'{hint}; there are {', '.join(self._acts)}"
            if name in seen:
                return f"joint '{name}' is named twice"
            seen.add(name)
        return ""

    def _complete(self, named: dict[int, float]) -> Command | str:
        """Say what a message means whose efforts by dof are `named`."""
        for k, effort in named.items():
            if not math.isfinite(effort):
                return (
                    f"the efforts that act on joint '{self._names[k]}' and those that follow it "
                    f"sum up to {effort}; a finite number is needed"
                )
        missing = [name for k, name in self._names.items() if k not in named]
        if missing and self.partial == "reject":
            return (
                f"joint '{missing[0]}' is not named; partial_commands is 'reject', so all of "
                f"{', '.join(self._names.values())} are needed"
            )
        if self.partial == "zero":
            named = dict.fromkeys(self._names, 0.0) | named
        return Command(np.array(list(named), np.int64), np.array(list(named.values())))

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


def make_gate(m: Model, description: Description, partial: str) -> Gate:
    """Return the gate for a robot; `partial` as for Gate."""
    joints, followers = SingleJoints.actuated(m), _followers(m)
    others = {j.name: "is fixed" for j in description.joints if j.type == "fixed"}
    others |= dict.fromkeys(m.loop_names, "closes a loop and takes no effort")
    others |= {
        name: f"{_why_not(m, j)} and takes no effort"
        for j, name in enumerate(m.jnt_names)
        if name not in joints.names and name not in followers
    }
    return Gate(joints, followers, others, partial)


def _followers(m: Model) -> dict[str, tuple[int, float]]:
    """Return the joints with an actuator that follow another: its dof, and their ratio to it."""
    followers = [j for j in m.mimic_jntid.tolist() if m.jnt_actuated[j]]
    return {m.jnt_names[j]: (int(m.jnt_dofadr[j]), float(m.jnt_mimic_ratio[j])) for j in followers}


def _why_not(m: Model, j: int) -> str:
    """Return why joint j takes no commands."""
    if m.jnt_dofnum[j] == 0:
        return "is fixed"
    if m.jnt_dofnum[j] > 1 and m.jnt_dofadr[j] < m.nv:
        return "has several degrees of freedom"
    if m.jnt_dofadr[j] < m.nv:
        return "has no actuator"
    if m.jnt_mimic[j] < 0:
        return "is driven over time"
    return f"follows joint '{m.jnt_names[m.jnt_mimic[j]]}', which is driven over time,"


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
