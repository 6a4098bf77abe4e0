# SPDX-License-Identifier: Apache-2.0
"""The colors and textures of the `<visual>` elements of a URDF."""

import math
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.meshes.files import MeshFiles, UnusableMeshError
from rbdyn_ros.description.reading.guard import Element
from rbdyn_ros.errors import Severity, quote

Color = tuple[float, float, float, float]


class Colors:
    """The named materials of a robot, as in RViz and Pinocchio.

    Materials of the robot come first, then materials defined inside a `<visual>`, which other
    visuals may name, too. All visuals use the first definition of a name.

    Args:
        robot: the `<robot>` element, not pruned yet.
        audit: receives warnings.
        images: finds the images of textures.
        severity: severity of a broken color.
    """

    def __init__(
        self, robot: Element, audit: Audit, images: MeshFiles, severity: Severity = "warning"
    ) -> None:
        self._audit, self._images, self._severity = audit, images, severity
        self._named: dict[str, tuple[Color | None, Path | None]] = {}
        self._found: dict[str, Path | None] = {}
        for material in robot.iterfind("material"):
            self._audit_color(material, "")
        for material in _materials(robot):
            name = material.get("name", "").strip()
            color, texture = _rgba(material), self._texture(material)
            if name and (color is not None or texture is not None):
                self._named.setdefault(name, (color, texture))

    def of(self, visual: Element, owner: str) -> tuple[Color | None, Path | None]:
        """Return the color of a `<visual>` and the image of its texture; None if missing.

        Args:
            visual: not pruned yet.
            owner: the link, for warnings.
        """
        material = visual.find("material")
        if not isinstance(material, Element):
            return None, None
        self._audit_color(material, owner)
        own = _rgba(material), self._texture(material)
        return self._named.get(material.get("name", "").strip(), own)

    def _texture(self, material: Element) -> Path | None:
        """Return the image of a material, or None without an image.

        Warn once if a file is missing.
        """
        texture = material.find("texture")
        # exporters also write a texture without a file
        name = "" if texture is None else texture.get("filename", "").strip()
        if name and name not in self._found:
            try:
                self._found[name] = self._images.find(name)
            except UnusableMeshError as error:
                self._found[name] = None
                message = f"the texture {quote(name, 200)} cannot be shown: it {error}"
                line = texture.line if isinstance(texture, Element) else None
                self._audit.add(
                    "warning", error.code, "", line, message, found=name, allowed=error.allowed
                )
        return self._found.get(name)

    def _audit_color(self, material: ET.Element, owner: str) -> None:
        color = material.find("color")
        if isinstance(color, Element) and _rgba(material) is None:
            found = color.get("rgba", "")
            message = f"<color rgba> is {quote(found)}, not four numbers; the color is ignored"
            self._audit.add(
                self._severity, "bad-color", owner, color.line, message, found=found[:100],
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


def _rgba(material: ET.Element) -> Color | None:
    """Return the color of a material, clipped to 0 to 1, or None if it has no four numbers."""
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
