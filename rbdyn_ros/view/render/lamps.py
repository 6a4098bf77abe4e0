# SPDX-License-Identifier: Apache-2.0
"""The light of a picture: the sun of the renderer, or the lights of the robot file."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.parts.lights import MOST_LIGHTS, POINT
from rbdyn_ros.view.scene.lamps import Lamp

#: Direction to the renderer's own sun, and brightness of a white light.
SUN = np.array([0.45, -0.35, 0.82]) / np.linalg.norm([0.45, -0.35, 0.82])
WHITE = np.array([0.78, 0.75, 0.70])
#: Distance that stands for infinity, and range of a light without limit [m].
FAR, ENDLESS = 1e4, 1e9
#: Least width of the soft edge of a spotlight's cone [rad].
EDGE = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class Lighting:
    """The lights of a picture.

    Attributes:
        to_sun: (3,) direction to the sun, the only light that casts shadows.
        sun: (3,) colour of the sun; black: there is no sun.
        at, towards, color: positions, directions and colours of the other lights, (MOST_LIGHTS, 3)
            each.
        fade: (MOST_LIGHTS, 4) attenuation (three numbers) and range of each.
        cone: (MOST_LIGHTS, 2) cosines of inner and outer half angle of each.
        count: number of the other lights that are used.
    """

    to_sun: Array
    sun: Array
    at: Array
    towards: Array
    color: Array
    fade: Array
    cone: Array
    count: int

    @property
    def gloss(self) -> float:
        """Brightness of the sun's reflection, relative to the renderer's own sun."""
        return float(min(np.max(self.sun / WHITE), 1.0))

    def write(self, program: Any) -> None:
        """Set the lights in a shader program."""
        program["to_sun"], program["sun_color"] = tuple(self.to_sun), tuple(self.sun)
        program["sun_gloss"] = self.gloss
        program["lamps"] = self.count
        for name in ("at", "towards", "color", "fade", "cone"):
            program[f"lamp_{name}"].write(getattr(self, name).astype("f4").tobytes())


def lighting(lamps: Sequence[Lamp], bodies: Sequence[Array]) -> Lighting:
    """Return the lighting by lamps; without lamps, the lighting by the renderer's own sun.

    The first light at infinity with shadows becomes the sun.

    Args:
        lamps: lights of the scene.
        bodies: poses (4, 4) of all bodies.
    """
    to_sun, sun = SUN, np.zeros(3) if lamps else WHITE
    first = next((lamp for lamp in lamps if lamp.is_far and lamp.light.shadows), None)
    if first is not None:
        to_sun = -(bodies[first.body][:3, :3] @ first.direction)
        sun = WHITE * first.light.color
    others = [lamp for lamp in lamps if lamp is not first][:MOST_LIGHTS]
    rows = np.zeros((MOST_LIGHTS, 15))
    for row, lamp in zip(rows, others, strict=False):
        row[:] = _row(lamp, bodies[lamp.body])
    at, towards, color, fade, cone = np.split(rows, (3, 6, 9, 13), axis=1)
    return Lighting(to_sun, sun, at, towards, color, fade, cone, len(others))


def _row(lamp: Lamp, body: Array) -> Array:
    """Return the numbers of a lamp (15,): position, direction, colour, fade and cone."""
    light = lamp.light
    pos, towards = lamp.placed(body[:3, 3], body[:3, :3])
    inner, outer = light.angles
    cosines = [math.cos(min(inner, outer - EDGE)), math.cos(outer)]
    if lamp.is_far:
        pos = pos - FAR * towards
    if lamp.is_far or light.kind == POINT:
        cosines = [-2.0, -3.0]
    end = light.range if math.isfinite(light.range) else ENDLESS
    return np.array([*pos, *towards, *WHITE * light.color, *light.attenuation, end, *cosines])
