# SPDX-License-Identifier: Apache-2.0
"""Read a light of an MJCF."""

from __future__ import annotations

import math

from rbdyn_ros.description.mjcf_files.document import Item
from rbdyn_ros.description.parts.lights import DIRECTIONAL, KINDS, SPOT, LinkLight, clipped, unit
from rbdyn_ros.description.parts.poses import Pose, compose, rotate

_TRUE = "true"


def read_light(item: Item, link: str, frame: Pose) -> LinkLight | None:
    """Return a light; None if it is off, or of a type that is not drawn.

    Args:
        item: the element.
        link: name of its body.
        frame: of the element in the body.
    """
    usual = DIRECTIONAL if item.text("directional") == _TRUE else SPOT
    kind = item.text("type", usual)
    if kind not in KINDS:
        item.warn("light", f"a light of the type {kind!r} is not drawn", found=kind)
        return None
    if item.text("active", _TRUE) != _TRUE:
        return None
    x, y, z = item.filled("pos", (0.0, 0.0, 0.0))
    dx, dy, dz = item.filled("dir", (0.0, 0.0, -1.0))
    a, b, c = (max(number, 0.0) for number in item.filled("attenuation", (1.0, 0.0, 0.0)))
    is_far = kind == DIRECTIONAL
    outer = math.radians(min(max(item.number("cutoff", 45.0), 1.0), 90.0))
    return LinkLight(
        kind,
        link,
        compose(frame, Pose((x, y, z))).pos,
        rotate(frame.quat, unit((dx, dy, dz))),
        clipped(tuple(item.filled("diffuse", (0.7, 0.7, 0.7)))),
        math.inf,
        (1.0, 0.0, 0.0) if is_far else (a, b, c),
        (0.8 * outer, outer),
        item.text("castshadow", _TRUE) == _TRUE,
    )
