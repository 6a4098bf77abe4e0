# SPDX-License-Identifier: Apache-2.0
"""Convert a robot file into another format."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from rbdyn_ros.description.appearance.shapes import Appearance, read_appearance
from rbdyn_ros.description.build.builder import SystemBuilder
from rbdyn_ros.description.parts.geometries import Contact
from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.description.reading.robot_file import RobotFile
from rbdyn_ros.description.robot_files import MECHANISM_SUFFIXES, file_of
from rbdyn_ros.description.scene_files.scene import is_scene
from rbdyn_ros.description.source import opened
from rbdyn_ros.errors import Finding, ParameterError, quote
from rbdyn_ros.loading.load import described
from rbdyn_ros.loading.output import output_path, unwritable, write_together
from rbdyn_ros.writing import mechanism, mjcf, sdf, urdf
from rbdyn_ros.writing.left_out import LeftOut
from rbdyn_ros.writing.meshes import MeshFolder
from rbdyn_ros.writing.mjcf_shapes import MESHES
from rbdyn_ros.writing.robot import WrittenRobot, arranged

#: The formats by suffix.
FORMS = {
    ".urdf": urdf.FORM,
    ".sdf": sdf.FORM,
    ".xml": mjcf.FORM,
    **dict.fromkeys(MECHANISM_SUFFIXES, mechanism.FORM),
}


def convert(
    source: str | Path | RobotFile | Description | SystemBuilder,
    output: str | Path,
    *,
    floating_base: bool = False,
    strict: bool = True,
    package_dirs: Sequence[str | Path] = (),
    xacro_args: Mapping[str, object] | None = None,
    contact: bool | Contact = False,
) -> tuple[Finding, ...]:
    """Write a robot in the format of the suffix of `output`: .urdf, .sdf, .xml (MJCF) or .yaml.

    Meshes go to a folder next to the output: copies of the visible meshes, and convex hulls of the
    meshes for contact. A robot without a mesh gets no such folder.

    Args:
        source: a file as for load; or a Description or a SystemBuilder, which have no visible
            shapes.
        output: path of the file; an old file is replaced.
        floating_base: whether the base moves freely, in formats that can express this.
        strict: as for load.
        package_dirs: as for load.
        xacro_args: as for load.
        contact: the obstacles and surfaces that are written; True: a floor. Contact shapes of
            links are always written.

    Returns:
        Findings: what the format cannot express, what is written differently, and warnings about
        the source.

    Raises:
        DescriptionError: the robot is refused.
        ParameterError: the format has no such joint, or the output cannot be written.
    """
    target = output_path(output, "a robot", tuple(FORMS))
    form = FORMS[target.suffix.lower()]
    found, appearance = _read(source, target, strict, package_dirs, xacro_args, contact)
    free = form == mechanism.FORM
    robot = arranged(found, appearance.visuals, floating_base, form, any_direction=free)
    left = LeftOut(form)
    meshes = MeshFolder(target, left, MESHES if form == mjcf.FORM else ())
    files = _written(robot, form, left, meshes, target)
    _check_beside(files, target)
    _write(files, target)
    lost = [finding for finding in found.findings if finding.severity == "warning"]
    return (*appearance.findings, *left.findings, *lost)


def _read(
    source: str | Path | RobotFile | Description | SystemBuilder,
    target: Path,
    strict: bool,
    package_dirs: Sequence[str | Path],
    xacro_args: Mapping[str, object] | None,
    contact: bool | Contact,
) -> tuple[Description, Appearance]:
    """Return the robot or scene to write, with its contact shapes, and its appearance.

    Raise ParameterError if the output is the source itself.
    """
    wanted = contact or Contact(obstacles=())
    if isinstance(source, SystemBuilder | Description):
        return described(source, strict, wanted), Appearance()
    file = file_of(source, package_dirs, xacro_args)
    path = file.located()
    if target.exists() and path.exists() and target.samefile(path):
        text = f"the output {quote(str(target), 200)} is the robot itself; give another path"
        raise ParameterError(Finding("same-file", text, "error", "path", None, str(target)))
    found = opened(file, strict=strict, contact=False if is_scene(path) else wanted)
    return found.description, read_appearance(file)


def _written(
    robot: WrittenRobot, form: str, left: LeftOut, meshes: MeshFolder, target: Path
) -> dict[str, bytes]:
    """Return the contents of all files by their paths, relative to the folder of the output."""
    if form == mechanism.FORM:
        return {target.name: mechanism.write(robot, left)}
    if form == urdf.FORM:
        semantic = urdf.write_srdf(robot, left)
        beside = {} if semantic is None else {f"{target.stem}.srdf": semantic}
        return {target.name: urdf.write(robot, left, meshes), **beside, **meshes.files}
    write = sdf.write if form == sdf.FORM else mjcf.write
    return {target.name: write(robot, left, meshes), **meshes.files}


def _check_beside(files: Mapping[str, bytes], target: Path) -> None:
    """Raise ParameterError if a file next to the output exists with other content."""
    wanted = {target.parent / name: data for name, data in files.items() if name != target.name}
    if target.suffix.lower() == ".urdf":
        # a reader would use an old SRDF with this URDF
        wanted.setdefault(target.with_suffix(".srdf"), b"")
    for path, data in wanted.items():
        if path.exists() and (not path.is_file() or path.read_bytes() != data):
            text = (
                f"{quote(str(path), 200)} is there already and belongs to something else; delete "
                "it, or give another output"
            )
            raise ParameterError(
                Finding("not-overwritten", text, "error", "path", None, str(path))
            )


def _write(files: Mapping[str, bytes], target: Path) -> None:
    """Write all files into the folder of the output, or write none and raise ParameterError."""
    folder = target.parent
    try:
        for folder_of in {(folder / name).parent for name in files}:
            folder_of.mkdir(exist_ok=True)
    except OSError as error:
        raise unwritable(target, error) from error
    write_together({folder / name: data for name, data in files.items()})
