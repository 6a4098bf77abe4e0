# SPDX-License-Identifier: Apache-2.0
"""Read the lights of an SDF."""

from __future__ import annotations

import math
from dataclasses import replace

from rbdyn_ros.checks.audit import Lenient
from rbdyn_ros.description.parts.lights import (
    DIRECTIONAL,
    KINDS,
    POINT,
    SPOT,
    LinkLight,
    clipped,
    unit,
)
from rbdyn_ros.description.parts.poses import Pose, rotate
from rbdyn_ros.description.xml_files.sdf_elements import SdfElement

#: Half angles of a spot without any [rad].
_ANGLES = (0.5, 0.8)
SHORTEST = 1e-3  # [m]
_FADE = "attenuation"


def read_light(part: SdfElement, link: str, at: Pose) -> LinkLight | None:
    """Return a light; None if it is off, or of a type that is not drawn.

    Args:
        part: the element <light>.
        link: name of its link.
        at: the pose of the light in the link.
    """
    audit = Lenient(part.audit, "its default counts")
    part = replace(part, document=replace(part.document, audit=audit))
    kind = part.attribute("type", POINT)
    if kind not in KINDS:
        part.note("light", f"a light of the type {kind!r} is not drawn", "warning", found=kind)
        return None
    if not part.flag("light_on", default=True):
        return None
    diffuse = part.child("diffuse")
    words = [] if diffuse is None else diffuse.text.split()
    color = diffuse.numbers(len(words)) if diffuse is not None and len(words) in (3, 4) else None
    spot, is_far = part.child("spot"), kind == DIRECTIONAL
    return LinkLight(
        kind,
        link,
        at.pos,
        rotate(at.quat, unit(part.vector("direction"))),
        clipped(tuple(color or (1.0, 1.0, 1.0)), part.number("intensity", default=1.0)),
        math.inf if is_far else max(part.number(_FADE, "range", default=10.0), SHORTEST),
        (1.0, 0.0, 0.0) if is_far else _attenuation(part),
        _angles(spot) if kind == SPOT and spot is not None else _ANGLES,
        part.flag("cast_shadows", default=False),
    )


def _attenuation(part: SdfElement) -> tuple[float, float, float]:
    usual = {"constant": 1.0, "linear": 1.0, "quadratic": 0.0}
    a, b, c = (max(part.number(_FADE, key, default=usual[key]), 0.0) for key in usual)
    return a, b, c


def _angles(spot: SdfElement) -> tuple[float, float]:
    """Return half angles; the file has whole ones."""
    outer = 0.5 * spot.number("outer_angle", default=2.0 * _ANGLES[1])
    outer = min(max(outer, 0.01), 0.5 * math.pi)
    inner = 0.5 * spot.number("inner_angle", default=2.0 * _ANGLES[0])
    return min(max(inner, 0.0), outer), outer
