# SPDX-License-Identifier: Apache-2.0
"""The appearance of a link as a file describes it, before its meshes are opened."""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from rbdyn_ros.checks.audit import Subject
from rbdyn_ros.description.meshes.files import MeshFiles
from rbdyn_ros.description.meshes.meshes import Only
from rbdyn_ros.description.parts.geometries import Shape
from rbdyn_ros.description.parts.poses import Pose, Vec3


class MeshName(NamedTuple):
    """A mesh as a file names it.

    Attributes:
        uri: address of its file.
        scale: along its axes.
        submesh: the only part of it that is used; empty: all parts.
        centred: whether the centre of the part is moved to the origin.
    """

    uri: str
    scale: Vec3
    submesh: str = ""
    centred: bool = False

    @property
    def only(self) -> Only:
        """The name of the only part of the mesh to use."""
        return self.submesh, self.centred


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """A shape that is drawn.

    Attributes:
        kinds: visual, collision or both.
        link: name of a link of the Model.
        origin: origin of the shape, in the frame of the link.
        files: finds the mesh.
        at: element of the shape.
        color: red, green, blue and opacity; None without a color.
        texture: path of an image, or None.
    """

    kinds: tuple[str, ...]
    link: str
    shape: Shape | MeshName
    origin: Pose
    files: MeshFiles
    at: Subject
    color: tuple[float, float, float, float] | None = None
    texture: Path | None = None
