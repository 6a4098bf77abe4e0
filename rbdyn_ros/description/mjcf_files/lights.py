# SPDX-License-Identifier: Apache-2.0
"""Read a light of an MJCF."""

from __future__ import annotations

import math

from rbdyn_ros.description.mjcf_files.document import Item
from rbdyn_ros.description.parts.lights import DIRECTIONAL, KINDS, SPOT, LinkLight, clipped, unit
from rbdyn_ros.description.parts.poses import Pose, compose, rotate

_TRUE = "true"
SHORTEST = 1e-3  # [m]
#: The attributes that are read, or that change nothing here.
_READ = frozenset(
    (
        *("name", "class", "type", "directional", "active", "pos", "dir", "attenuation"),
        *("cutoff", "diffuse", "castshadow", "range", "mode"),
        *("ambient", "specular", "exponent", "bulbradius", "texture"),
    )
)


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
    _warn(item)
    x, y, z = item.filled("pos", (0.0, 0.0, 0.0))
    dx, dy, dz = item.filled("dir", (0.0, 0.0, -1.0))
    a, b, c = (max(number, 0.0) for number in item.filled("attenuation", (1.0, 0.0, 0.0)))
    is_far = kind == DIRECTIONAL
    reach = item.number("range", 10.0) if item.given("range") and not is_far else math.inf
    outer = math.radians(min(max(item.number("cutoff", 45.0), 1.0), 90.0))
    return LinkLight(
        kind,
        link,
        compose(frame, Pose((x, y, z))).pos,
        rotate(frame.quat, unit((dx, dy, dz))),
        clipped(tuple(item.filled("diffuse", (0.7, 0.7, 0.7)))),
        max(reach, SHORTEST),
        (1.0, 0.0, 0.0) if is_far else (a, b, c),
        (0.8 * outer, outer),
        item.text("castshadow", _TRUE) == _TRUE,
    )


def _warn(item: Item) -> None:
    """Warn of what makes a light shine otherwise than in MuJoCo."""
    mode = item.text("mode", "fixed")
    if mode not in ("fixed", "track"):
        item.warn("light", f"the mode {mode!r} is not used: the light is fixed", found=mode)
    given = sorted({*item.element.attrib, *item.defaults} - _READ)
    if given:
        item.warn("light", f"{', '.join(given)[:200]}: not used", found=given[0][:100])
