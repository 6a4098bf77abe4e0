# SPDX-License-Identifier: Apache-2.0
"""Check the appearance of a URDF, which loading ignores: broken elements are errors here."""

from collections.abc import Sequence
from pathlib import Path

from rbdyn_ros.checks.audit import Subject
from rbdyn_ros.description.appearance.colors import Colors
from rbdyn_ros.description.appearance.findings import CountingAudit, OnlyWarnings
from rbdyn_ros.description.appearance.shapes import WANTED, NamedMeshes, read_shapes
from rbdyn_ros.description.meshes.files import MeshFiles
from rbdyn_ros.description.meshes.textures import IMAGES
from rbdyn_ros.description.reading import guard
from rbdyn_ros.description.reading.guard import Element
from rbdyn_ros.description.urdf_files.portability import drops
from rbdyn_ros.errors import Finding, quote


def check_appearance(
    text: str | bytes,
    source: str,
    *,
    strict: bool = True,
    folder: Path | None = None,
    package_dirs: Sequence[str | Path] = (),
    collisions: bool = True,
) -> tuple[Finding, ...]:
    """Return the findings about the `<visual>` and `<collision>` elements of a URDF.

    Broken elements and meshes that do not exist are errors. A mesh of a package that is not
    found, or of a type that rbdyn_ros does not read, is a warning.

    Args:
        text: the document.
        source: its name, for messages.
        strict: if False, errors are warnings.
        folder: folder of the meshes that are named relative to the file; None: such meshes are not
            found.
        package_dirs: folders to search for packages of meshes.
        collisions: whether to check `<collision>` elements too.

    Raises:
        DescriptionError: the document is not a URDF.
    """
    robot = guard.parse(text, source, "robot", WANTED)
    audit = CountingAudit() if strict else OnlyWarnings()
    files = MeshFiles(folder, package_dirs)
    meshes = NamedMeshes(files, needed=True)
    colors = Colors(robot, audit, files.of(IMAGES), "error" if strict else "warning")
    _audit_materials(robot, audit)
    read_shapes("visual", robot, meshes, colors, audit)
    if collisions:
        read_shapes("collision", robot, meshes, None, audit)
    return (*meshes.findings(), *audit.all())


def _audit_materials(robot: Element, audit: CountingAudit) -> None:
    """Warn of every visual whose material has no name, because urdfdom drops this visual."""
    for link in robot.iterfind("link"):
        for material in link.iterfind("visual/material"):
            if "name" not in material.attrib:
                owner, line = (
                    f"link {quote(link.get('name', ''))}",
                    getattr(material, "line", None),
                )
                message = f"the <material> of its <visual> has no name: {drops('visual')}"
                Subject(audit, owner, line).warn("unportable", message, allowed="a name")
