# SPDX-License-Identifier: Apache-2.0
"""Lines between bodies: springs, rods, bands, loop joints, and the skeleton."""

from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.model.declared.joints import JointType
from rbdyn_ros.model.model import Model

Rgb = tuple[float, float, float]

SKELETON: Rgb = (0.25, 0.25, 0.28)
SPRING: Rgb = (0.0, 0.62, 0.45)
LENGTH: Rgb = (0.80, 0.47, 0.65)
LOOP: Rgb = (0.84, 0.37, 0.0)

_UNTIED = (JointType.FREE, JointType.SIXDOF_FP, JointType.SIXDOF_FS)  # joints of free bodies


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """Straight lines between points of bodies.

    Attributes:
        bodies: (n, 2) bodies of the ends.
        points: (n, 2, 3) ends, each in the frame of its body [m].
        colors: (n, 3) red, green, blue, 0 to 1.
    """

    bodies: Ints
    points: Array
    colors: Array

    def place(self, xpos: Array, xmat: Array) -> Array:
        """Return the lines (n, 2, 3) in the world [m] for body poses xpos, xmat (nbody, 3, 3)."""
        turned = np.einsum("neij,nej->nei", xmat[self.bodies], self.points)
        placed: Array = xpos[self.bodies] + turned
        return placed


def lines_of(m: Model, skeleton: bool) -> Lines:
    """Return the lines of a robot.

    Args:
        m: the robot.
        skeleton: whether to add lines from joint to joint, for a robot without visuals.
    """
    springs = m.spring_bodyid, m.spring_pos, SPRING
    kinds = [springs, (*_lengths(m), LENGTH), (*_loops(m), LOOP)]
    if skeleton:
        kinds.append((*_skeleton(m), SKELETON))
    bodies = np.concatenate([kind[0] for kind in kinds])
    points = np.concatenate([kind[1] for kind in kinds])
    colors = np.concatenate([np.tile(color, (len(some), 1)) for some, _, color in kinds])
    return Lines(bodies, points, colors)


def _lengths(m: Model) -> tuple[Ints, Array]:
    """Return bodies and points of the lines of rods and bands."""
    legs: list[tuple[int, int]] = []
    for first, number, closed in zip(
        m.length_pointadr.tolist(),
        m.length_pointnum.tolist(),
        m.length_closed.tolist(),
        strict=True,
    ):
        corners = list(range(first, first + number))
        ends = corners[1:] + corners[:1] if closed else corners[1:]
        legs += zip(corners, ends, strict=False)
    pick = np.array(legs, np.int64).reshape(-1, 2)
    return m.point_bodyid[pick], m.point_pos[pick]


def _loops(m: Model) -> tuple[Ints, Array]:
    """Return bodies and points of two lines for each loop joint: from each body to the joint."""
    origin = np.zeros_like(m.loop_pos)
    arms = np.stack([origin, m.loop_pos], axis=2).reshape(-1, 2, 3)
    bodies = np.repeat(m.loop_bodyid.reshape(-1, 1), 2, axis=1)
    return np.concatenate([bodies, m.loop_bodyid]), np.concatenate([arms, m.loop_pos])


def _skeleton(m: Model) -> tuple[Ints, Array]:
    """Return bodies and points of lines from joint to joint; for a free body, frame to com."""
    free = np.isin(m.jnt_type, _UNTIED)
    held, loose = 1 + np.flatnonzero(~free), 1 + np.flatnonzero(free)
    parents, here = m.body_parentid[held], np.zeros((len(held), 3))
    inner = parents > 0
    arms = np.stack([here, m.body_pos[held]], axis=1)[inner]
    across = np.stack([m.body_pos[held], here], axis=1)
    shafts = np.stack([np.zeros((len(loose), 3)), m.body_ipos[loose]], axis=1)
    bodies = [
        np.stack([parents, parents], axis=1)[inner],
        np.stack([parents, held], axis=1),
        np.stack([loose, loose], axis=1),
    ]
    return np.concatenate(bodies), np.concatenate([arms, across, shafts])
