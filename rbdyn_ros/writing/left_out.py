# SPDX-License-Identifier: Apache-2.0
"""Facts that a format cannot hold, collected while a robot is written, one finding each."""

import math
from collections.abc import Collection, Iterable
from dataclasses import fields

from rbdyn_ros.description.appearance.shapes import LinkShape
from rbdyn_ros.description.parts.geometries import Exclusion, Filter, Geometry, Obstacle, Surface
from rbdyn_ros.description.parts.types import Description, Joint, Limit
from rbdyn_ros.errors import Finding, ParameterError, quote

#: The reason that a visible shape is left out.
NO_MESH = "its mesh is missing or cannot be used"
#: Properties of a joint that a format may lack.
PROPERTIES = (
    "damping",
    "friction",
    "stiffness",
    "rest",
    "armature",
    "mimic",
    "motion",
    "actuated",
    "transmission",
    "start",
)
WORDS = {
    "rest": "the rest position of its spring",
    "motion": "its prescribed motion",
    "actuated": "that it has no actuator",
    "start": "its position at the start",
    "transmission": "the direction of its actuator force",
}
LIMITS = tuple(each.name for each in fields(Limit))


class LeftOut:
    """The findings about one output.

    Args:
        form: the format, for messages: ``URDF``.
    """

    def __init__(self, form: str) -> None:
        self.form = form
        self.findings: list[Finding] = []

    def add(self, element: str, what: str, why: str = "") -> None:
        """Record that `what` of an element is left out; default `why`: the format lacks it."""
        text = f"{element}: {what} is left out: {why or f'{self.form} cannot express it'}"
        self.findings.append(Finding("left-out", text, "warning", element))

    def note(self, element: str, text: str) -> None:
        """Record in a sentence that an element is written differently."""
        self.findings.append(Finding("written-otherwise", f"{element}: {text}", "note", element))

    def joint(self, joint: Joint, said: Collection[str]) -> None:
        """Record the properties and limits of a joint, except those named in `said` (written)."""
        owner = f"joint {quote(joint.name)}"
        plain = Joint("", "", "", "")
        for name in PROPERTIES:
            if name not in said and getattr(joint, name) != getattr(plain, name):
                self.add(owner, WORDS.get(name, f"its {name}"))
        limits = joint.limits or ((joint.limit,) if joint.limit else ())
        for name in LIMITS:
            if name not in said and any(math.isfinite(getattr(each, name)) for each in limits):
                self.add(owner, f"its limit of {name}")

    def surface(self, owner: str, surface: Surface, said: Collection[str]) -> None:
        """Record the properties of a surface that are not default, except those in `said`."""
        for each in fields(Surface):
            name = each.name
            if name not in said and getattr(surface, name) != getattr(Surface(), name):
                self.add(owner, f"its {name.replace('_', ' ')}")

    def texture(self, shape: LinkShape) -> None:
        """Record that the texture of a visible shape is left out: no writer writes textures."""
        if shape.texture is not None:
            self.add(f"link {quote(shape.link)}", f"the texture {quote(shape.texture.name)}")

    def contact(self, parts: Iterable[Geometry | Obstacle]) -> None:
        """Record the filters of geometries and obstacles, for a format without filters."""
        for part in parts:
            if part.filter != Filter():
                kind = "obstacle" if isinstance(part, Obstacle) else "geometry"
                self.add(f"{kind} {quote(part.name)}", "its filter")

    def pair(self, pair: Exclusion, why: str = "") -> None:
        """Record that a pair of parts is not excluded from contact; `why` as for `add`."""
        self.add(f"pair {quote(pair.first)}, {quote(pair.second)}", "it", why)

    def parts(self, description: Description, *names: str) -> None:
        """Record gravity and sensors of a description, and all parts in the fields `names`."""
        if description.gravity is not None:
            x, y, z = description.gravity
            self.add(f"robot {quote(description.name)}", f"its gravity {x:g} {y:g} {z:g} m/s^2")
        for name in (*names, "sensors"):
            for part in getattr(description, name):
                self.add(f"{name.removesuffix('s')} {quote(part.name)}", "it")


def refuse_joint(joint: Joint, form: str, why: str = "") -> ParameterError:
    """Return the error for a joint that the format lacks, and that must not be left out."""
    reason = why or f"{form} has no joint of type {joint.type}"
    text = f"joint {quote(joint.name)} cannot be written: {reason}"
    return ParameterError(Finding("not-convertible", text, "error", f"joint {quote(joint.name)}"))
