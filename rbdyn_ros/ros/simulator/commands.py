"""The gate for commands: a message is taken as a whole or refused as a whole, with a reason."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rbdyn_ros.description.types import Description
from rbdyn_ros.errors import did_you_mean, quote
from rbdyn_ros.model.joints import JointClass
from rbdyn_ros.model.model import Model
from rbdyn_ros.ros.common.convert import SingleJoints
from rbdyn_ros.ros.common.goals import MODES, Goal, finite, goals_of, judge_modes, lengths
from rbdyn_ros.ros.common.throttle import Throttle
from rbdyn_ros.runtime.orders import EFFORT, NUMBERS, POSITION, VELOCITY, Command


@dataclass(frozen=True, slots=True)
class Follower:
    """A joint with an actuator that follows another.

    Attributes:
        leader: the joint it follows.
        dof: of the leader.
        ratio: its velocity over that of the leader. An effort at it is, times the ratio, an
            effort at the dof, beside what else the message has for it.
    """

    leader: str
    dof: int
    ratio: float


class Gate:
    """Checks commands: numbers, then names and lengths. Their age is the loop's business.

    Positions and velocities outside the limits of a joint are clamped by the loop, as efforts
    are; they are no reason to refuse a message.

    Args:
        joints: that may be commanded and have a dof of their own.
        followers: joints that follow another, by name. They take efforts only. Who names one
            has named the joint it follows.
        others: joints that exist but take no command, with the reason in words.
        partial: `keep`, `zero` or `reject`: what a message means for joints it does not name.
    """

    def __init__(
        self,
        joints: SingleJoints,
        followers: dict[str, Follower],
        others: dict[str, str],
        partial: str,
    ) -> None:
        self.joints = joints
        self.followers = followers
        self.others = others
        self.partial = partial
        self.dofs = dict(zip(joints.names, joints.dofadr.tolist(), strict=True))
        #: Every joint that takes commands.
        self.names = (*joints.names, *followers)
        # by dof its own joint, or one that follows it if that has no actuator
        self._names = {k: name for name, k in self.dofs.items()}
        for name, follower in followers.items():
            self._names.setdefault(follower.dof, name)

    def by_name(
        self,
        names: Sequence[str],
        position: Sequence[float] = (),
        velocity: Sequence[float] = (),
        effort: Sequence[float] = (),
    ) -> Command | str:
        """Judge a message of joint_commands; return the command or why it is refused.

        The arrays given choose the mode of every joint named: position, else velocity, else
        effort. The others of them feed forward.
        """
        arrays = {"position": position, "velocity": velocity, "effort": effort}
        refusal = finite(arrays, names) or lengths(arrays, names)
        if not refusal and names and not any(map(len, arrays.values())):
            refusal = "it names joints but holds no position, velocity or effort for them"
        refusal = refusal or self.known(names)
        if refusal:
            return refusal
        mode = POSITION if len(position) else VELOCITY if len(velocity) else EFFORT
        return self.command(goals_of(names, [mode] * len(names), arrays))

    def by_mode(
        self,
        names: Sequence[str],
        modes: Sequence[int],
        position: Sequence[float] = (),
        velocity: Sequence[float] = (),
        effort: Sequence[float] = (),
        stiffness: Sequence[float] = (),
        damping: Sequence[float] = (),
    ) -> Command | str:
        """Judge a message of joint_commands_by_mode; return the command or why it is refused.

        Every joint named has a mode. The other arrays are empty, for zeros, or as long.
        """
        rows = (position, velocity, effort, stiffness, damping)
        arrays = dict(zip(NUMBERS, rows, strict=True))
        refusal = finite(arrays, names) or lengths(arrays, names)
        if not refusal and len(modes) != len(names):
            refusal = f"there are {len(modes)} modes for {len(names)} names"
        refusal = refusal or self.known(names) or judge_modes(names, modes, arrays)
        return refusal or self.command(goals_of(names, modes, arrays))

    def in_order(self, efforts: Sequence[float]) -> Command | str:
        """Judge a message of effort_commands; return the command or why it is refused."""
        names = self.joints.names
        refusal = finite({"effort": efforts}, names)
        if not refusal and len(efforts) != len(names):
            refusal = (
                f"it holds {len(efforts)} values; {len(names)} are needed, in the order of the "
                f"parameter effort_command_joints: {', '.join(names)}"
            )
        return refusal or Command.of_efforts(self.joints.dofadr, efforts)

    def known(self, names: Sequence[str]) -> str:
        """Return why these are not names of different joints that take commands, or nothing."""
        if not names:
            return f"it names no joint; the joints are {', '.join(self.names)}"
        seen = set()
        for name in names:
            if name in self.others:
                return f"joint '{name}' {self.others[name]}"
            if name not in self.dofs and name not in self.followers:
                return f"{self.unknown(name)}; there are {', '.join(self.names)}"
            if name in seen:
                return f"joint '{name}' is named twice"
            seen.add(name)
        return ""

    def unknown(self, name: str) -> str:
        """Say that there is no such joint."""
        return f"there is no joint {quote(name)}{did_you_mean(name, self.names)}"

    def only_efforts(self, name: str, wanted: str) -> str:
        """Return why the joint takes no such command as it follows another, or nothing.

        Args:
            name: of a joint that takes commands.
            wanted: what it is to do instead of taking an effort, as `position`.
        """
        if name not in self.followers:
            return ""
        leader = self.followers[name].leader
        hint = f"; give the {wanted} to '{leader}'" if leader in self.dofs else ""
        return f"joint '{name}' follows joint '{leader}' and takes efforts only{hint}"

    def command(self, goals: Mapping[str, Goal], partial: str | None = None) -> Command | str:
        """Return the command of these goals by joint, all known, or why it is refused.

        Args:
            goals: finite numbers.
            partial: what they mean for other joints; None: as everywhere.
        """
        by_dof: dict[int, Goal] = {}
        pushed: dict[int, float] = {}
        for name, goal in goals.items():
            if name in self.dofs:
                by_dof[self.dofs[name]] = goal
                continue
            if goal.mode != EFFORT:
                return self.only_efforts(name, MODES[goal.mode])
            follower = self.followers[name]
            pushed[follower.dof] = pushed.get(follower.dof, 0.0) + follower.ratio * goal.effort
        for k, effort in pushed.items():
            goal = by_dof.get(k, Goal(EFFORT))
            by_dof[k] = goal._replace(effort=goal.effort + effort)
            if not math.isfinite(by_dof[k].effort):
                return (
                    f"the efforts that act on joint '{self._names[k]}' and those that follow it "
                    f"sum up to {by_dof[k].effort}; a finite number is needed"
                )
        return self._complete(by_dof, self.partial if partial is None else partial)

    def _complete(self, goals: dict[int, Goal], partial: str) -> Command | str:
        """Say what goals by dof mean for the other dofs."""
        missing = [name for k, name in self._names.items() if k not in goals]
        if missing and partial == "reject":
            return (
                f"joint '{missing[0]}' is not named; partial_commands is 'reject', so all of "
                f"{', '.join(self._names.values())} are needed"
            )
        if partial == "zero":
            goals = dict.fromkeys(self._names, Goal(EFFORT)) | goals
        columns = np.array(list(goals.values()), np.float64).reshape(-1, 1 + len(NUMBERS)).T
        return Command(np.array(list(goals), np.int64), columns[0].astype(np.int64), *columns[1:])


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


def _followers(m: Model) -> dict[str, Follower]:
    """Return the joints with an actuator that follow another."""
    return {
        m.jnt_names[j]: Follower(
            m.jnt_names[m.jnt_mimic[j]], int(m.jnt_dofadr[j]), float(m.jnt_mimic_ratio[j])
        )
        for j in m.mimic_jntid.tolist()
        if m.jnt_actuated[j]
    }


def _why_not(m: Model, j: int) -> str:
    """Return why joint j takes no commands."""
    if m.jnt_dofnum[j] == 0:
        return "is fixed"
    if m.jnt_dofnum[j] > 1 and m.jnt_class[j] != JointClass.DRIVEN:
        return "has several degrees of freedom"
    if m.jnt_class[j] != JointClass.DRIVEN:
        return "has no actuator"
    if m.jnt_mimic[j] < 0:
        return "is driven over time"
    return f"follows joint '{m.jnt_names[m.jnt_mimic[j]]}', which is driven over time,"


class Tally:
    """Counts what was accepted and what was refused; words refusals, one a second and topic."""

    def __init__(self) -> None:
        self.accepted = 0
        self._refused: dict[str, Throttle] = {}

    @property
    def rejected(self) -> int:
        """How many messages were refused, on all topics."""
        return sum(throttle.count for throttle in self._refused.values())

    def accept(self) -> None:
        """Count a message that was taken."""
        self.accepted += 1

    def refuse(self, topic: str, why: str, now: float) -> str:
        """Count a refusal; return the sentence to log, or nothing if there was one just before.

        Args:
            topic: of the message.
            why: it is refused.
            now: of the steady clock [s].
        """
        throttle = self._refused.setdefault(topic, Throttle())
        if not throttle.due(now):
            return ""
        return f"refused a message on {topic}: {why} (refused so far: {throttle.count})"
