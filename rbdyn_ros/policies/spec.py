# SPDX-License-Identifier: Apache-2.0
"""The observation and the action of a policy, as data."""

import math
from dataclasses import dataclass
from pathlib import Path

from rbdyn_ros.arrays import Array

#: Sizes of an observation's terms, by their names in Isaac Lab; 0: one number per joint.
TERMS = {
    "base_lin_vel": 3,
    "base_ang_vel": 3,
    "projected_gravity": 3,
    "velocity_commands": 3,
    "joint_pos_rel": 0,
    "joint_vel_rel": 0,
    "last_action": 0,
    "gait_phase": 2,
}


@dataclass(frozen=True, slots=True, eq=False)
class ObservationTerm:
    """A part of a policy's observation.

    Attributes:
        name: one of TERMS.
        scale: factor of the term's numbers, after `clip`; one factor for all, or a factor for
            each.
        clip: limits of the term's numbers, before `scale`; infinite: no limit.
        history: number of latest values in the observation, the oldest first.
        period: period of gait_phase [s].
    """

    name: str
    scale: tuple[float, ...] = (1.0,)
    clip: tuple[float, float] = (-math.inf, math.inf)
    history: int = 1
    period: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class PolicySpec:
    """The inputs and outputs around the network of a policy.

    An action a becomes the position targets `action_offset + action_scale a`, which joints follow
    with `stiffness` and `damping`.

    Attributes:
        network: path of the ONNX file.
        joints: names of the joints, in the order of the network.
        default_position: positions that joint_pos_rel is relative to, (n) [rad or m].
        stiffness, damping: stiffness and damping of the joints, (n) [N m/rad, N m s/rad; N/m, N
            s/m].
        action_scale, action_offset: a target is offset + scale action, (n) [rad or m].
        action_clip: largest size of the numbers of an action, before they are scaled; infinite: no
            limit.
        rate: actions per second [Hz].
        terms: terms of the observation, in the order of the network.
        command_range: smallest and largest velocity command, (3, 2): forwards and to the left
            [m/s], and about z [rad/s].
    """

    network: Path
    joints: tuple[str, ...]
    default_position: Array
    stiffness: Array
    damping: Array
    action_scale: Array
    action_offset: Array
    rate: float
    terms: tuple[ObservationTerm, ...]
    command_range: Array
    action_clip: float = math.inf

    def size(self, term: ObservationTerm) -> int:
        """Return how many numbers one value of a term has."""
        return TERMS[term.name] or len(self.joints)
