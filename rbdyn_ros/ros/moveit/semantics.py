# SPDX-License-Identifier: Apache-2.0
"""The SRDF of a robot: its groups, end effector, named states and pairs of links."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.parts.types import WORLD
from rbdyn_ros.dynamics.commanded import reason_passive
from rbdyn_ros.model.joints import JointClass
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
#: State of the arm at the start of the simulation, if the robot has no named state.
HOME = "home"


@dataclass(frozen=True, slots=True)
class RobotSemantics:
    """What an SRDF says of a robot.

    Args:
        m: the Model.
        groups: its groups.
        collisions: how often its links overlap; None: it has no collision geometries.
        allowed: further pairs of links that may overlap, by an SRDF of the robot.
    """

    m: Model
    groups: Groups
    collisions: CollisionSamples | None
    allowed: tuple[LinkPair, ...] = ()

    def states(self) -> dict[str, dict[str, float]]:
        """Return positions of the arm [rad or m] by state and joint: the keyframes, or HOME."""
        m, names = self.m, self.groups.joints
        rows = dict(zip(m.key_names, m.key_qpos, strict=True)) or {HOME: m.qpos0}
        return {state: self._positions(qpos, names) for state, qpos in rows.items()}

    def gripper_states(self) -> dict[str, dict[str, float]]:
        """Return positions of the gripper by state: open and closed, or the ends of the stroke."""
        hand = self.groups.gripper
        if hand is None:
            return {}
        ends = {"lower": hand.lower, "upper": hand.upper}
        if hand.preset is not None:
            ends = {"open": hand.preset.open, "closed": hand.preset.closed}
        return {
            name: {hand.joint: float(np.clip(position, hand.lower, hand.upper))}
            for name, position in ends.items()
        }

    def checked(self) -> list[LinkPair]:
        """Return the pairs of links that MoveIt checks for collision."""
        found = self.collisions
        every = () if found is None else (*found.sometimes, *found.unlimited)
        return sorted(set(every) - set(self.allowed))

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
            lines += disabled_pairs(self.collisions, self.allowed)
        return srdf_document(self.m.name, lines, "rbdyn moveit")

    def _positions(self, qpos: Array, names: tuple[str, ...]) -> dict[str, float]:
        """Return positions within the limits: MoveIt plans from no other."""
        m, limits = self.m, self.groups.limits
        where = m.jnt_qposadr[[m.jnt_names.index(name) for name in names]]
        inside = np.clip(qpos[where], limits.lower, limits.upper)
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
        """Return the virtual joint to the root from the world frame of the simulator."""
        root = self.groups.root
        if root == WORLD:
            return []
        fixed = {"name": "world_joint", "type": "fixed", "parent_frame": WORLD}
        return [f"  {xml_tag('virtual_joint', '/', **fixed, child_link=root)}"]

    def _passive(self) -> list[str]:
        """Return the joints that move and that nothing can command."""
        m = self.m
        return [
            name
            for j, name in enumerate(m.jnt_names)
            if m.jnt_class[j] == JointClass.FREE and m.jnt_dofnum[j] and reason_passive(m, j)
        ]
