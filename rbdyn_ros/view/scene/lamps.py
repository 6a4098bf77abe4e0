# SPDX-License-Identifier: Apache-2.0
"""The lights of a robot file, on the bodies of a Model."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.parts.lights import DIRECTIONAL, LinkLight
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.tree.rotation import quat_to_mat

#: The fading of a light is fitted up to this distance at most [m].
FAR = 10.0


@dataclass(frozen=True, slots=True, eq=False)
class Lamp:
    """A light on a body.

    Attributes:
        body: number of the body.
        pos, direction: (3,) position [m] and direction, in the frame of the body.
        light: the light as the robot file has it.
    """

    body: int
    pos: Array
    direction: Array
    light: LinkLight

    @property
    def is_far(self) -> bool:
        """Return whether the light shines from infinity."""
        return self.light.kind == DIRECTIONAL

    def placed(self, pos: Array, R: Array) -> tuple[Array, Array]:
        """Return position and direction in the world, for a body at pos (3,) and R (3, 3)."""
        return pos + R @ self.pos, R @ self.direction

    @property
    def decay(self) -> tuple[float, float]:
        """Brightness at 1 m, and the power of the distance with which it decreases.

        The power fits the attenuation at 1 m and at the range of the light, or at FAR.
        """
        near, end = self.light.brightness(1.0), min(max(self.light.range, 2.0), FAR)
        far = self.light.brightness(end)
        return near, float(np.log(near / far) / np.log(end))


def lamps_of(m: Model, lights: Sequence[LinkLight]) -> list[Lamp]:
    """Return the lights whose links are in a Model."""
    found = []
    for light in lights:
        if light.link not in m.frame_names:
            continue
        frame = m.frame_id(light.link)
        R = quat_to_mat(m.frame_quat[frame])
        pos = m.frame_pos[frame] + R @ np.array(light.pos)
        direction = R @ np.array(light.direction)
        found.append(Lamp(int(m.frame_bodyid[frame]), pos, direction, light))
    return found
