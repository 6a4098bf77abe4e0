# SPDX-License-Identifier: Apache-2.0
"""Write the SRDF of a robot: its groups, end effector, named states and pairs of links."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rbdyn_ros.description.parts.geometries import GroupState
from rbdyn_ros.description.parts.types import WORLD
from rbdyn_ros.dynamics.commanded import reason_passive
from rbdyn_ros.model.declared.joints import JointClass
from rbdyn_ros.model.model import Model
from rbdyn_ros.report.self_collision import (
    CollisionSamples,
    LinkPair,
    disabled_pairs,
    srdf_document,
    xml_tag,
)
from rbdyn_ros.ros.moveit.groups import Groups

ARM, GRIPPER = "arm", "gripper"
#: Name of the state in which the simulated arm starts, if the robot has no named state.
HOME = "home"


@dataclass(frozen=True, slots=True)
class RobotSemantics:
    """The content of the SRDF of a robot.

    Args:
        m: the Model.
        groups: the groups of the robot.
        collisions: how often pairs of links overlap; None: the robot has no collision geometries.
        allowed, enabled: pairs of links that may overlap, and pairs that must not overlap, from
            an existing SRDF of the robot.
        given: named states in this SRDF.
    """

    m: Model
    groups: Groups
    collisions: CollisionSamples | None
    allowed: tuple[LinkPair, ...] = ()
    enabled: tuple[LinkPair, ...] = ()
    given: tuple[GroupState, ...] = ()

    def states(self) -> dict[str, dict[str, float]]:
        """Return positions of the arm [rad or m] by state and joint.

        The states are all given states with a joint of the arm; without any, the state HOME.
        """
        names = self.groups.joints
        found = {one.name: one for one in self.given if not one.positions.keys().isdisjoint(names)}
        rows = found or {HOME: GroupState(HOME, {})}
        return {name: self._positions(one) for name, one in rows.items()}

    def gripper_states(self) -> dict[str, dict[str, float]]:
        """Return positions of the gripper [rad or m] by state and joint; {} without a gripper.

        The states are open and closed (without a preset: lower and upper, the ends of the stroke),
        and all given states with the gripper's joint but no joint of the arm.
        """
        hand = self.groups.gripper
        if hand is None:
            return {}
        ends = {"lower": hand.lower, "upper": hand.upper}
        if hand.preset is not None:
            ends = {"open": hand.preset.open, "closed": hand.preset.closed}
        arm = self.groups.joints
        for one in self.given:
            if hand.joint in one.positions and one.positions.keys().isdisjoint(arm):
                ends[one.name] = _number(one, hand.joint)
        return {
            name: {hand.joint: float(np.clip(position, hand.lower, hand.upper))}
            for name, position in ends.items()
        }

    def checked(self) -> list[LinkPair]:
        """Return the pairs of links that MoveIt checks for collision; [] without geometries."""
        found = self.collisions
        if found is None:
            return []
        every = {*found.sometimes, *found.unlimited} - set(self.allowed)
        return sorted(every | set(self.enabled))

    def text(self) -> str:
        """Return the SRDF."""
        groups = self.groups
        lines = [
            *self._group(ARM, [xml_tag("chain", "/", base_link=groups.base, tip_link=groups.tip)]),
            *self._gripper(),
            *self._states(ARM, self.states()),
            *self._states(GRIPPER, self.gripper_states()),
            *self._root(),
            *(f"  {xml_tag('passive_joint', '/', name=name)}" for name in self._passive()),
        ]
        if self.collisions is not None:
            lines += disabled_pairs(self.collisions, self.allowed, self.enabled)
        return srdf_document(self.m.name, lines, "rbdyn moveit")

    def _positions(self, state: GroupState) -> dict[str, float]:
        """Return the arm's positions clamped to the limits, because MoveIt refuses others."""
        m, limits, names = self.m, self.groups.limits, self.groups.joints
        qpos = m.qpos0[m.jnt_qposadr[[m.jnt_names.index(name) for name in names]]]
        for k, name in enumerate(names):
            if name in state.positions:
                qpos[k] = _number(state, name)
        inside = np.clip(qpos, limits.lower, limits.upper)
        return dict(zip(names, map(float, inside), strict=True))

    def _gripper(self) -> list[str]:
        groups, hand = self.groups, self.groups.gripper
        if hand is None:
            return []
        links = [xml_tag("link", "/", name=link) for link in groups.gripper_links]
        end = {"name": GRIPPER, "parent_link": groups.mount, "group": GRIPPER}
        end["parent_group"] = ARM
        return [*self._group(GRIPPER, links), f"  {xml_tag('end_effector', '/', **end)}"]

    def _group(self, name: str, parts: list[str]) -> list[str]:
        return [f"  {xml_tag('group', name=name)}", *(f"    {p}" for p in parts), "  </group>"]

    def _states(self, group: str, states: Mapping[str, Mapping[str, float]]) -> list[str]:
        lines = []
        for name, positions in states.items():
            lines.append(f"  {xml_tag('group_state', name=name, group=group)}")
            lines += [
                f"    {xml_tag('joint', '/', name=joint, value=repr(position))}"
                for joint, position in positions.items()
            ]
            lines.append("  </group_state>")
        return lines

    def _root(self) -> list[str]:
        """Return the SRDF line of the virtual joint from the world to the root link.

        The list is empty if the root link is the world.
        """
        root = self.groups.root
        if root == WORLD:
            return []
        fixed = {"name": "world_joint", "type": "fixed", "parent_frame": WORLD}
        return [f"  {xml_tag('virtual_joint', '/', **fixed, child_link=root)}"]

    def _passive(self) -> list[str]:
        """Return the names of joints that move but cannot be commanded."""
        m = self.m
        return [
            name
            for j, name in enumerate(m.jnt_names)
            if m.jnt_class[j] == JointClass.FREE and m.jnt_dofnum[j] and reason_passive(m, j)
        ]


def _number(state: GroupState, joint: str) -> float:
    """Return the position of a joint with one coordinate in a state."""
    return float(np.ravel(state.positions[joint])[0])
