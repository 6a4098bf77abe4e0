# SPDX-License-Identifier: Apache-2.0
"""Add the lights of a robot file to a page of viser."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.parts.lights import POINT
from rbdyn_ros.view.scene.lamps import Lamp

if TYPE_CHECKING:
    import viser

#: Brightness of a white light, equal to viser's own main light.
WHITE = 3.0
#: A lamp at this distance [radii of the robot] replaces parallel light, which viser cannot turn.
FAR = 20.0


def add_lamp(scene: "viser.SceneApi", name: str, lamp: Lamp, middle: Array, radius: float) -> Any:
    """Add a light to the page; return its node.

    Args:
        scene: scene of the page.
        name: name of the node, below the node of its body.
        lamp: the light.
        middle: (3,) centre of the ball around the robot, in the world [m].
        radius: radius of this ball [m].
    """
    light = lamp.light
    strongest = max(light.color) or 1.0
    red, green, blue = (round(255 * part / strongest) for part in light.color)
    near, power = lamp.decay
    how: dict[str, Any] = {
        "color": (red, green, blue),
        "intensity": WHITE * near * max(light.color),
        "cast_shadow": light.shadows,
        "decay": power,
        "distance": light.range if math.isfinite(light.range) else 0.0,
        "position": tuple(map(float, lamp.pos)),
    }
    if light.kind == POINT:
        return scene.add_light_point(name, **how)
    inner, outer = light.angles
    if lamp.is_far:
        away = FAR * (radius + 1.0)
        # centre of the scene in the frame of the lamp's body
        centre = middle if lamp.body == 0 else lamp.pos
        how["position"] = tuple((centre - away * lamp.direction).tolist())
        how["decay"], outer = 0.0, math.atan(4.0 / FAR)
        inner = outer
    outer = min(outer, 0.5 * math.pi)
    towards = tuple(np.asarray(lamp.direction, np.float64).tolist())
    penumbra = max(1.0 - inner / outer, 0.0)
    return scene.add_light_spot(name, **how, direction=towards, angle=outer, penumbra=penumbra)
