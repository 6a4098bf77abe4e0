"""The colors of the `<visual>` elements of a URDF; textures are not shown."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.urdf_files.guard import Element
from rbdyn_ros.errors import quote

Color = tuple[float, float, float, float]


class Colors:
    """The named materials of a robot, as in RViz and Pinocchio.

    Materials of the robot come first, then materials defined inside a `<visual>`, which other
    visuals may name, too. The first definition of a name counts everywhere.
    """

    def __init__(self, robot: Element, audit: Audit) -> None:
        self._audit = audit
        self._named: dict[str, Color] = {}
        textures: list[Element] = []
        for material in _materials(robot):
            textures += _textures(material)
            name, color = material.get("name", "").strip(), _rgba(material)
            if name and color is not None:
                self._named.setdefault(name, color)
        self._note(textures)

    def of(self, visual: Element, owner: str) -> Color | None:
        """Return the color of a `<visual>`.

        Args:
            visual: not pruned yet.
            owner: the link, for warnings.
        """
        material = visual.find("material")
        if not isinstance(material, Element):
            return None
        self._audit_color(material, owner)
        return self._named.get(material.get("name", "").strip(), _rgba(material))

    def _note(self, textures: list[Element]) -> None:
        """Add one finding for all textures."""
        if textures:
            often = f", {len(textures)} in all" if len(textures) > 1 else ""
            message = f"<texture> is not used{often}: only colors are shown"
            line = textures[0].line
            self._audit.add("note", "not-used", "", line, message, found="<texture>")

    def _audit_color(self, material: Element, owner: str) -> None:
        """Warn of an invalid color."""
        color = material.find("color")
        if isinstance(color, Element) and _rgba(material) is None:
            found = color.get("rgba", "")
            message = f"<color rgba> is {quote(found)}, not four numbers; the color is ignored"
            self._audit.add(
                "warning", "bad-color", owner, color.line, message, found=found[:100],
                allowed="four numbers from 0 to 1",
            )  # fmt: skip


def _materials(robot: Element) -> Iterator[Element]:
    """Yield the materials of the robot, then the materials of its visuals."""
    links = (part for part in robot if part.tag == "link")
    visuals = (part for link in links for part in link if part.tag == "visual")
    for parent in (robot, *visuals):
        for part in parent:
            if part.tag == "material" and isinstance(part, Element):
                yield part


def _textures(material: Element) -> list[Element]:
    """Return the textures of a material; exporters also write one without a file."""
    parts = (part for part in material if isinstance(part, Element) and part.tag == "texture")
    return [part for part in parts if part.get("filename", "").strip()]


def _rgba(material: Element) -> Color | None:
    """Return the color of a material, each number clipped to 0 to 1."""
    color = material.find("color")
    words = "" if color is None else color.get("rgba", "")
    try:
        numbers = [float(word) for word in words.split(maxsplit=4)]
    except ValueError:
        return None
    if len(numbers) != 4 or not all(map(math.isfinite, numbers)):
        return None
    red, green, blue, alpha = (min(max(number, 0.0), 1.0) for number in numbers)
    return red, green, blue, alpha
