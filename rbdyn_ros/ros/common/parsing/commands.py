# SPDX-License-Identifier: Apache-2.0
"""The parser of commands: a message is accepted as a whole or refused as a whole."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rbdyn_ros.arrays import Ints
from rbdyn_ros.checks.names import name_faults
from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.dynamics.commanded import reason_passive
from rbdyn_ros.errors import counted, refusal
from rbdyn_ros.model.declared.joints import JointClass
from rbdyn_ros.model.model import Model
from rbdyn_ros.ros.common.parsing.goals import (
    MODES,
    Arrays,
    Goal,
    check_lengths,
    check_modes,
    check_numbers,
    goals_of,
)
from rbdyn_ros.ros.common.parsing.single_joints import SingleJoints
from rbdyn_ros.runtime.types import EFFORT, NUMBERS, POSITION, VELOCITY, Command


@dataclass(frozen=True, slots=True)
class MimicJoint:
    """A mimic joint with an actuator.

    Attributes:
        leader: name of the leader.
        dof: dof of the leader.
        ratio: velocity of the joint divided by the leader's velocity. The joint's effort times
            this ratio acts on the dof of the leader.
    """

    leader: str
    dof: int
    ratio: float


class CommandParser:
    """Checks command messages and converts them for the loop; all refusals raise RbdynError.

    It checks numbers, names and lengths. The loop clamps positions, velocities and efforts to the
    limits of the joints, and lets commands expire.

    Args:
        joints: joints that can be commanded and have a dof of their own.
        mimics: mimic joints that can be commanded, by name. They accept efforts only. A command
            to a mimic joint counts as a command to its leader.
        excluded: reasons why the other joints accept no commands, by joint name.
        partial: what happens to joints that a message does not name: `keep` their last command,
            `zero` their effort, or `reject` the message.

    Attributes:
        dofs: dof of each of `joints`, by name.
        names: all joints that accept commands.
    """

    def __init__(
        self,
        joints: SingleJoints,
        mimics: dict[str, MimicJoint],
        excluded: dict[str, str],
        partial: str,
    ) -> None:
        self.joints, self.mimics, self.excluded, self.partial = joints, mimics, excluded, partial
        self.dofs = dict(zip(joints.names, joints.dofadr.tolist(), strict=True))
        self.names = (*joints.names, *mimics)
        self._accepting = frozenset(self.names)
        # the joint of each dof, or its mimic joint if it has no actuator itself
        self._names = {k: name for name, k in self.dofs.items()}
        self._last: tuple[tuple[object, ...], Ints, Command] | None = None
        for name, mimic in mimics.items():
            self._names.setdefault(mimic.dof, name)

    def by_name(
        self,
        names: Sequence[str],
        position: Sequence[float] = (),
        velocity: Sequence[float] = (),
        effort: Sequence[float] = (),
    ) -> Command:
        """Return the command in a message on joint_commands.

        The first array that is not empty, of position, velocity and effort, chooses the mode of
        all named joints. The later arrays are feedforward.
        """
        arrays = {"position": position, "velocity": velocity, "effort": effort}
        check_numbers(arrays, names)
        check_lengths(arrays, names)
        shape = *names, *map(len, arrays.values())
        last = self._last
        if last is not None and last[0] == shape:
            return _like(*last[1:], arrays)
        if names and not any(map(len, arrays.values())):
            raise refusal("the message names joints but has no position, velocity or effort")
        self.check_joints(names)
        mode = POSITION if len(position) else VELOCITY if len(velocity) else EFFORT
        command = self.command(goals_of(names, [mode] * len(names), arrays))
        if self.mimics.keys().isdisjoint(names):
            dofs = command.dofs.tolist()
            columns = np.array([dofs.index(self.dofs[name]) for name in names])
            self._last = shape, columns, command
        return command

    def by_mode(
        self,
        names: Sequence[str],
        modes: Sequence[int],
        position: Sequence[float] = (),
        velocity: Sequence[float] = (),
        effort: Sequence[float] = (),
        stiffness: Sequence[float] = (),
        damping: Sequence[float] = (),
    ) -> Command:
        """Return the command in a message on joint_commands_by_mode.

        Every named joint has a mode. The other arrays have a number for each joint, or are empty
        for zeros.
        """
        rows = (position, velocity, effort, stiffness, damping)
        arrays = dict(zip(NUMBERS, rows, strict=True))
        check_numbers(arrays, names)
        check_lengths(arrays, names)
        if len(modes) != len(names):
            found = counted(len(modes), "mode")
            raise refusal(f"the message has {found} for {counted(len(names), 'name')}")
        self.check_joints(names)
        check_modes(names, modes, arrays)
        return self.command(goals_of(names, modes, arrays))

    def in_order(self, efforts: Sequence[float]) -> Command:
        """Return the command in a message on effort_commands."""
        names = self.joints.names
        check_numbers({"effort": efforts}, names)
        if len(efforts) != len(names):
            raise refusal(
                f"the message has {counted(len(efforts), 'value')}; expected {len(names)}, in "
                "the order of "
                f"the parameter effort_command_joints: {', '.join(names)}"
            )
        return Command.of_efforts(self.joints.dofadr, efforts)

    def check_joints(self, names: Sequence[str]) -> None:
        """Raise RbdynError for no name, a repeated name, or a joint that accepts no commands."""
        if not names:
            raise refusal(f"the message names no joint; the joints are {', '.join(self.names)}")
        given = set(names)
        if len(given) == len(names) and given <= self._accepting:
            return
        known = (*self.names, *self.excluded)
        for name, reason in name_faults(names, known, "joint", self.excluded.get):  # type: ignore[arg-type]
            listed = "" if name in known else f"; the joints are {', '.join(self.names)}"
            raise refusal(reason + listed, element=f"joint '{name}'")

    def check_drivable(self, name: str, quantity: str) -> None:
        """Raise RbdynError if a joint is a mimic joint, which accepts efforts only.

        Args:
            name: name of a joint that accepts commands.
            quantity: the commanded quantity, such as `position`.
        """
        if name not in self.mimics:
            return
        leader = self.mimics[name].leader
        hint = f"; command the {quantity} of '{leader}'" if leader in self.dofs else ""
        text = f"joint '{name}' mimics joint '{leader}' and accepts efforts only{hint}"
        raise refusal(text, element=f"joint '{name}'")

    def command(self, goals: Mapping[str, Goal], partial: str | None = None) -> Command:
        """Return the command for goals by joint name.

        Args:
            goals: goals with finite numbers, of joints that accept commands.
            partial: what happens to joints without a goal, as for the class; None: self.partial.
        """
        by_dof: dict[int, Goal] = {}
        added: dict[int, float] = {}
        for name, goal in goals.items():
            if name in self.dofs:
                by_dof[self.dofs[name]] = goal
                continue
            if goal.mode != EFFORT:
                self.check_drivable(name, MODES[goal.mode])
            mimic = self.mimics[name]
            added[mimic.dof] = added.get(mimic.dof, 0.0) + mimic.ratio * goal.effort
        for k, effort in added.items():
            goal = by_dof.get(k, Goal(EFFORT))
            by_dof[k] = goal._replace(effort=goal.effort + effort)
            if not math.isfinite(by_dof[k].effort):
                raise refusal(
                    f"the efforts on joint '{self._names[k]}' and its mimic joints add up to "
                    f"{by_dof[k].effort}; allowed is a finite number"
                )
        return self._complete(by_dof, self.partial if partial is None else partial)

    def _complete(self, goals: dict[int, Goal], partial: str) -> Command:
        """Return the command for goals by dof; `partial` says what happens to the other dofs."""
        missing = [name for k, name in self._names.items() if k not in goals]
        if missing and partial == "reject":
            raise refusal(
                f"joint '{missing[0]}' is missing; partial_commands is 'reject', so all of "
                f"{', '.join(self._names.values())} are needed"
            )
        if partial == "zero":
            goals = dict.fromkeys(self._names, Goal(EFFORT)) | goals
        columns = np.array(list(goals.values()), np.float64).reshape(-1, 1 + len(NUMBERS)).T
        return Command(np.array(list(goals), np.int64), columns[0].astype(np.int64), *columns[1:])


def _like(columns: Ints, last: Command, arrays: Arrays) -> Command:
    """Return a command with new numbers for the joints and modes of an earlier command.

    Args:
        columns: for each number of an array, the index of its joint in the command.
        last: the earlier command.
        arrays: checked numbers, in the order of NUMBERS.
    """
    numbers = np.zeros((len(NUMBERS), len(last.dofs)))
    for row, values in zip(numbers, arrays.values(), strict=False):
        if len(values):
            row[columns] = values
    return Command(last.dofs, last.mode, *numbers)


def command_parser(
    m: Model, description: Description, partial: str, prefix: str = ""
) -> CommandParser:
    """Return the command parser of a robot.

    Args:
        m: Model with the robot.
        description: description from which the robot was made.
        partial: as for CommandParser.
        prefix: prefix of the robot's joint names in the Model; messages leave it out.
    """
    joints = SingleJoints.commanded(m)
    mimics = {
        name.removeprefix(prefix): replace(mimic, leader=mimic.leader.removeprefix(prefix))
        for name, mimic in _actuated_mimics(m).items()
        if name.startswith(prefix)
    }
    excluded = _excluded(m, description, (*joints.names, *_actuated_mimics(m)))
    own = {
        name.removeprefix(prefix): why for name, why in excluded.items() if name.startswith(prefix)
    }
    return CommandParser(joints.below(prefix), mimics, own, partial)


def _excluded(m: Model, description: Description, accepting: Collection[str]) -> dict[str, str]:
    """Return the reason for each joint that accepts no commands, by joint name."""
    excluded = {j.name: "is fixed" for j in description.joints if j.type == "fixed"}
    excluded |= dict.fromkeys(m.loop_names, "closes a loop and accepts no effort")
    excluded |= {
        name: f"{_why_excluded(m, j)} and accepts no effort"
        for j, name in enumerate(m.jnt_names)
        if name not in accepting
    }
    return excluded


def _actuated_mimics(m: Model) -> dict[str, MimicJoint]:
    return {
        m.jnt_names[j]: MimicJoint(
            m.jnt_names[m.jnt_mimic[j]], int(m.jnt_dofadr[j]), float(m.jnt_mimic_ratio[j])
        )
        for j in m.mimic_jntid.tolist()
        if not reason_passive(m, j)
    }


def _why_excluded(m: Model, j: int) -> str:
    """Return the reason why joint j accepts no commands."""
    if m.jnt_dofnum[j] == 0:
        return "is fixed"
    if m.jnt_dofnum[j] > 1 and m.jnt_class[j] != JointClass.DRIVEN:
        return "has several degrees of freedom"
    return reason_passive(m, j)
