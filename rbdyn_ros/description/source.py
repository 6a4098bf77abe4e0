# SPDX-License-Identifier: Apache-2.0
"""Read a robot or a scene from a file, or a robot from text; all loaders use this module."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rbdyn_ros.description.parts.geometries import Contact
from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.description.reading.robot_file import RobotFile
from rbdyn_ros.description.robot_files import (
    MECHANISM_SUFFIXES,
    SDF_SUFFIXES,
    check_source,
    file_of,
    read_with_text,
)
from rbdyn_ros.description.urdf_files.srdf import text_beside
from rbdyn_ros.description.urdf_files.urdf import is_text

if TYPE_CHECKING:
    from rbdyn_ros.description.scenes.scene import SceneParts

__all__ = ["MECHANISM_SUFFIXES", "Source", "opened", "read"]

#: Suffixes of files that may be scenes.
SCENE_SUFFIXES = (*MECHANISM_SUFFIXES, *SDF_SUFFIXES)


@dataclass(frozen=True, slots=True)
class Source:
    """The description of a robot or a scene, and its origin.

    Attributes:
        text: URDF, as expanded by xacro; empty for a file in another format.
        file: the file that it came from, or None.
        received: whether another node publishes it.
        parts: parts of the scene file that it came from, or None; with parts `text` is the URDF of
            the only robot of the scene, or empty.
    """

    description: Description
    text: str
    file: RobotFile | None = None
    received: bool = False
    parts: "SceneParts | None" = None

    @property
    def path(self) -> Path | None:
        """The path of the file, or None for a text."""
        return None if self.file is None else self.file.located()

    @property
    def semantics(self) -> str:
        """The SRDF next to the URDF; "" if there is no SRDF, or it cannot be used."""
        path = self.path
        if path is None or not self.text or self.is_scene:
            return ""
        return text_beside(path, self.description.name)

    @property
    def is_scene(self) -> bool:
        """Return whether the description came from a scene file."""
        return self.parts is not None

    @property
    def boxes(self) -> tuple[str, ...]:
        """The control boxes of a scene's robots, each as ROBOT/BOX, or BOX of its only robot."""
        robots = {} if self.parts is None else self.parts.robots
        return tuple(
            f"{name}/{robot.box}" if name else robot.box
            for name, robot in robots.items()
            if robot.box
        )

    @property
    def base(self) -> str:
        """The kind of the mobile base of a scene's only robot, or "" without a mobile base."""
        robots = [] if self.parts is None else list(self.parts.robots.values())
        return robots[0].base if len(robots) == 1 else ""


def read(source: str | bytes | Path | RobotFile, **how: Any) -> Description:
    """Return the Description of a robot or a scene; arguments and errors are those of opened."""
    return opened(source, **how).description


def opened(
    source: str | bytes | Path | RobotFile,
    *,
    strict: bool = True,
    package_dirs: Sequence[str | Path] = (),
    xacro_args: Mapping[str, object] | None = None,
    contact: bool | Contact = False,
    srdf: str | bytes | Path | bool = True,
) -> Source:
    """Read a robot, or a scene with robots and objects.

    Args:
        source: path of a `.urdf`, `.xacro`, `.sdf`, MJCF `.xml`, mechanism `.yaml` or scene
            `.yaml` file, the name of a robot such as panda, a RobotFile, or the text of a URDF,
            MJCF or SDF.
        strict: whether to refuse errors that can be repaired; otherwise they are repaired, each
            with a warning.
        package_dirs: folders to search for packages, of `$(find package)` and of meshes.
        xacro_args: values for the `$(arg ...)` of a xacro file; None: no values.
        contact: True or a Contact: use the `<collision>` elements of links for contact. A scene
            always uses them, and accepts no Contact.
        srdf: for contact, path or text of an SRDF; True: an SRDF next to the URDF; False: no SRDF.

    Returns:
        The checked Description and its origin.

    Raises:
        DescriptionError: with all errors of the document, each with its line.
        ParameterError: the source is neither a path nor text, no robot has the name, or contact
            is neither a bool nor a Contact.
    """
    check_source(source)
    how: dict[str, Any] = {"strict": strict, "contact": contact, "srdf": srdf}
    if isinstance(source, bytes) or (isinstance(source, str) and is_text(source)):
        how |= {"package_dirs": package_dirs, "xacro_args": xacro_args}
        return Source(*read_with_text(source, **how))
    file = file_of(source, package_dirs, xacro_args)
    path = file.located()
    if path.suffix.lower() in SCENE_SUFFIXES:
        from rbdyn_ros.description.scene_files import scene

        if scene.is_scene(path):
            scene.check_scene_options(contact, file.xacro_args)
            described, text, parts = scene.read_scene(path, strict, file.package_dirs)
            return Source(described, text, file, parts=parts)
    return Source(*read_with_text(file, **how), file)
