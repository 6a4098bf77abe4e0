# SPDX-License-Identifier: Apache-2.0
"""Read the lights of an SDF."""

from __future__ import annotations

import math

from rbdyn_ros.description.parts.lights import DIRECTIONAL, KINDS, SPOT, LinkLight, clipped, unit
from rbdyn_ros.description.parts.poses import Pose, rotate
from rbdyn_ros.description.xml_files.sdf_elements import SdfElement

#: Half angles of a spot without any [rad].
_ANGLES = (0.5, 0.8)
SHORTEST = 1e-3  # [m]


def read_light(part: SdfElement, link: str, at: Pose) -> LinkLight | None:
    """Return a light; None if it is off, or of a type that is not drawn.

    Args:
        part: the element <light>.
        link: name of its link.
        at: the pose of the light in the link.
    """
    kind = part.attribute("type", DIRECTIONAL)
    if kind not in KINDS:
        part.note("light", f"a light of the type {kind!r} is not drawn", "warning", found=kind)
        return None
    if not part.flag("light_on", default=True):
        return None
    diffuse = part.child("diffuse")
    words = [] if diffuse is None else diffuse.text.split()
    color = diffuse.numbers(len(words)) if diffuse is not None and len(words) in (3, 4) else None
    spot = part.child("spot")
    fade = part.child("attenuation")
    return LinkLight(
        kind,
        link,
        at.pos,
        rotate(at.quat, unit(part.vector("direction"))),
        clipped(tuple(color or (1.0, 1.0, 1.0)), part.number("intensity", default=1.0)),
        math.inf
        if fade is None or kind == DIRECTIONAL
        else max(fade.number("range", default=10.0), SHORTEST),
        (1.0, 0.0, 0.0) if fade is None or kind == DIRECTIONAL else _attenuation(fade),
        _angles(spot) if kind == SPOT and spot is not None else _ANGLES,
        part.flag("cast_shadows", default=kind == DIRECTIONAL),
    )


def _attenuation(fade: SdfElement) -> tuple[float, float, float]:
    usual = {"constant": 1.0, "linear": 1.0, "quadratic": 0.0}
    a, b, c = (max(fade.number(key, default=value), 0.0) for key, value in usual.items())
    return a, b, c


def _angles(spot: SdfElement) -> tuple[float, float]:
    """Return half angles; the file has whole ones."""
    outer = 0.5 * spot.number("outer_angle", default=2.0 * _ANGLES[1])
    outer = min(max(outer, 0.01), 0.5 * math.pi)
    return min(0.5 * spot.number("inner_angle", default=2.0 * _ANGLES[0]), outer), outer
