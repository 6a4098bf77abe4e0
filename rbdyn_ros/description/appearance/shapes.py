"""What a robot looks like: the shapes of its `<visual>` and `<collision>` elements.

Dynamics does not need it, so no robot is refused for it: what is broken is left out, for a mesh
that cannot be had a Placeholder stands, and each time there is a warning. No mesh is opened here;
view/scene/surfaces.py does that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.appearance.colors import Color, Colors
from rbdyn_ros.description.appearance.findings import LONGEST_NAME, OnlyWarnings
from rbdyn_ros.description.checks.geometries import audit_shape
from rbdyn_ros.description.files import read_bytes
from rbdyn_ros.description.geometries import (
    MAX_LENGTH,
    Box,
    Capsule,
    Cylinder,
    Points,
    Sphere,
)
from rbdyn_ros.description.mechanism_files import yaml_text
from rbdyn_ros.description.mechanism_files.forms import Form
from rbdyn_ros.description.mechanism_files.geometries import read_geometries
from rbdyn_ros.description.mechanism_files.mechanism import ROBOT_SUFFIXES
from rbdyn_ros.description.meshes.files import MeshFiles, UnusableMeshError
from rbdyn_ros.description.meshes.meshes import Meshes, audit_scale
from rbdyn_ros.description.poses import IN_PLACE, Pose, Vec3
from rbdyn_ros.description.source import MECHANISM_SUFFIXES, URDF_SUFFIXES, check_source
from rbdyn_ros.description.urdf_files import guard, urdf
from rbdyn_ros.description.urdf_files.collisions import ShapeReader
from rbdyn_ros.description.urdf_files.guard import Element
from rbdyn_ros.description.urdf_files.xacro_files import expand
from rbdyn_ros.errors import Finding, listing, quote

#: Visuals of a robot that are read, and collisions; no browser shows more.
MOST_SHAPES = 10_000

#: What guard.parse goes into.
WANTED = {
    "robot": {"link", "material"},
    "link": {"visual", "collision"},
    "visual": {"geometry", "material"},
    "collision": {"geometry"},
    "geometry": set[str](),
    "material": set[str](),
}


@dataclass(frozen=True, slots=True)
class MeshFile:
    """A mesh, in its own axes.

    Attributes:
        path: of a file that was there, and may be opened.
        scale: factors along x, y and z; a negative one mirrors, none is 0.
    """

    path: Path
    scale: Vec3 = (1.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Placeholder:
    """Stands for a mesh that cannot be had.

    Attributes:
        name: as the robot names it, cut after LONGEST_NAME characters.
    """

    name: str


AnyShape = Box | Sphere | Cylinder | Capsule | Points | MeshFile | Placeholder


@dataclass(frozen=True, slots=True)
class LinkShape:
    """A shape to show with a link.

    Attributes:
        link: its name; whether there is such a link is not judged here.
        shape: all its sizes are above 0 and up to geometries.MAX_LENGTH.
        origin: frame of the shape in that of the link.
        color: red, green, blue and opacity, 0 to 1, as the robot says; None if it says nothing.
            As in RViz, the colours of a mesh file, where it has some, go before it.
    """

    link: str
    shape: AnyShape
    origin: Pose = IN_PLACE
    color: Color | None = None


@dataclass(frozen=True, slots=True)
class Appearance:
    """What is shown of a robot, in the order of the text.

    Attributes:
        findings: what was left out or replaced; all are warnings.
    """

    visuals: tuple[LinkShape, ...] = ()
    collisions: tuple[LinkShape, ...] = ()
    findings: tuple[Finding, ...] = ()


def read_appearance(
    source: str | bytes | Path,
    *,
    folder: Path | None = None,
    package_dirs: Sequence[str | Path] = (),
) -> Appearance:
    """Read what a robot looks like.

    Args:
        source: path of a `.urdf`, `.xacro` or mechanism `.yaml` file, or URDF text. A mechanism
            looks like the robot that it starts from; its own geometries are collisions, meshes
            among them as their convex hulls. Any other file, as a kept Model, has no looks.
        folder: of the robot's file, if its text is given: where its meshes are looked for.
            Without it text names meshes of packages only. The folder of a path is its own.
        package_dirs: folders where packages are looked for; each may hold the package or be it.

    Raises:
        DescriptionError: there is no such file, or it is no document of its kind.
        ParameterError: the source is neither a path nor text.
    """
    check_source(source)
    if isinstance(source, bytes) or (isinstance(source, str) and urdf.is_text(source)):
        return _of_urdf(source, "<text>", MeshFiles(folder, package_dirs))
    path = Path(source)
    suffix = path.suffix.lower()
    if suffix in MECHANISM_SUFFIXES:
        return _of_mechanism(path, package_dirs)
    if suffix not in URDF_SUFFIXES:
        return Appearance()
    data: str | bytes = read_bytes(path, "a .urdf or .xacro file", "a path or the text of a URDF")
    if suffix == ".xacro":
        guard.parse(data, str(path), "robot", WANTED)  # readable errors before xacro looks at it
        data = expand(path, Audit(), package_dirs)
    return _of_urdf(data, str(path), MeshFiles(path.parent, package_dirs))


def _of_urdf(text: str | bytes, source: str, files: MeshFiles) -> Appearance:
    robot = guard.parse(text, source, "robot", WANTED)
    audit, meshes = OnlyWarnings(), _NamedMeshes(files)
    colors = Colors(robot, audit)
    visuals = _read("visual", robot, meshes, colors, audit)
    collisions = _read("collision", robot, meshes, None, audit)
    return Appearance(visuals, collisions, (*meshes.findings(), *audit.all()))


def _read(
    kind: str, robot: Element, meshes: _NamedMeshes, colors: Colors | None, audit: OnlyWarnings
) -> tuple[LinkShape, ...]:
    """Return the looks of all elements of a kind that can be shown."""
    looks: list[LinkShape] = []
    reader = ShapeReader[MeshFile | Placeholder](kind, meshes.read, audit)
    for number, (link, element) in enumerate(reader.elements(robot)):
        if number == MOST_SHAPES:
            message = (
                f"the robot has more than {MOST_SHAPES} <{kind}> elements; this and all after"
            )
            audit.add("warning", "many-looks", "", element.line, f"{message} it are not shown")
            break
        owner, before = f"link {quote(link)}", audit.errors_told
        color = colors.of(element, owner) if colors is not None else None
        read = reader.read(element, owner)
        if read is not None:
            shape, origin = read
            _judge(shape, origin, owner, element.line, audit)
            if audit.errors_told == before:
                looks.append(LinkShape(link, shape, origin, color))
    return tuple(looks)


def _judge(shape: AnyShape, origin: Pose, owner: str, line: int | None, audit: Audit) -> None:
    """Add an error for sizes and distances that cannot be shown."""
    if not isinstance(shape, MeshFile | Placeholder):
        audit_shape(shape, owner, line, audit)
    if max(map(abs, origin.pos)) > MAX_LENGTH:
        message = f"<origin xyz> is farther away than {MAX_LENGTH:g} m"
        audit.error("too-long", owner, line, message, allowed=f"up to {MAX_LENGTH:g} m")


def _of_mechanism(path: Path, package_dirs: Sequence[str | Path]) -> Appearance:
    audit = OnlyWarnings()
    data = read_bytes(path, "a .yaml file", "the path of a mechanism file")
    top = yaml_text.parse(data, str(path), audit)
    name, own = top.nodes.get("robot"), top.nodes.get("geometries")
    robot = Appearance()
    if isinstance(name, yaml_text.Scalar) and Path(name.text).suffix.lower() in ROBOT_SUFFIXES:
        robot = read_appearance(path.parent / name.text, package_dirs=package_dirs)
    looks: list[LinkShape] = []
    if isinstance(own, yaml_text.YamlTable):
        meshes = Meshes(MeshFiles(path.parent, package_dirs))
        for geometry in read_geometries(own, meshes, Form(audit)):
            owner, before = f"geometry {quote(geometry.name)}", audit.errors_told
            _judge(geometry.shape, geometry.origin, owner, geometry.line, audit)
            if audit.errors_told == before:
                looks.append(LinkShape(geometry.link, geometry.shape, geometry.origin))
    collisions = (*robot.collisions, *looks)[:MOST_SHAPES]
    return Appearance(robot.visuals, collisions, (*robot.findings, *audit.all()))


class _NamedMeshes:
    """Finds the meshes that a robot names, each name once."""

    def __init__(self, files: MeshFiles) -> None:
        self._files = files
        self._found: dict[str, Path] = {}
        self._missing: dict[str, Finding] = {}

    def read(
        self, name: str, scale: Vec3, owner: str, line: int | None, audit: Audit
    ) -> MeshFile | Placeholder | None:
        """Return the mesh of a name, or what stands for it; None if it has no size."""
        if not audit_scale(scale, owner, line, audit):
            return None
        if name not in self._found and name not in self._missing:
            try:
                self._found[name] = self._files.find(name)
            except UnusableMeshError as error:
                why = Finding(error.code, str(error), "warning", owner, line, "", error.allowed)
                self._missing[name] = why
        if name in self._found:
            return MeshFile(self._found[name], scale)
        return Placeholder(name[:LONGEST_NAME])

    def findings(self) -> tuple[Finding, ...]:
        """Return one warning for all that are missing, or nothing."""
        if not self._missing:
            return ()
        count, first = len(self._missing), next(iter(self._missing.values()))
        names = listing(self._missing, most=3)
        if count == 1:
            text = f"the mesh {names} cannot be shown, a marker stands for it; it {first.message}"
        else:
            text = f"{count} meshes cannot be shown, markers stand for them: {names}"
            text += f"; the first {first.message}"
        if "package_dirs" not in text:
            text += "; folders of packages that are elsewhere can be passed in package_dirs"
        return (replace(first, code="missing-meshes", message=text, element=""),)
