# SPDX-License-Identifier: Apache-2.0
"""Read the appearance of a robot: the shapes of its `<visual>` and `<collision>` elements.

Dynamics does not need them, so no robot is refused: broken elements are left out, a Placeholder
replaces a mesh that is not available, each with a warning. view/scene/surfaces.py opens meshes.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from rbdyn_ros.checks.audit import Audit, Subject
from rbdyn_ros.description import robot_files
from rbdyn_ros.description.appearance.colors import Color, Colors
from rbdyn_ros.description.appearance.findings import LONGEST_NAME, CountingAudit, OnlyWarnings
from rbdyn_ros.description.build.renaming import root_of
from rbdyn_ros.description.checks.geometries import audit_place, audit_shape
from rbdyn_ros.description.mechanism_files.geometries import GEOMETRIES, read_geometries
from rbdyn_ros.description.mechanism_files.mechanism import ROBOT_SUFFIXES
from rbdyn_ros.description.meshes.files import MeshFiles, UnusableMeshError
from rbdyn_ros.description.meshes.looks import Look, MeshName
from rbdyn_ros.description.meshes.meshes import WHOLE, Meshes, Only, audit_scale
from rbdyn_ros.description.meshes.textures import IMAGES
from rbdyn_ros.description.parts.geometries import Box, Capsule, Cylinder, Points, Sphere
from rbdyn_ros.description.parts.lights import FARTHEST, MOST_LIGHTS, LinkLight
from rbdyn_ros.description.parts.objects import Object
from rbdyn_ros.description.parts.poses import IN_PLACE, Pose, Vec3
from rbdyn_ros.description.reading import guard
from rbdyn_ros.description.reading.files import read_bytes
from rbdyn_ros.description.reading.guard import Element
from rbdyn_ros.description.reading.robot_file import RobotFile
from rbdyn_ros.description.reading.xacro_files import expand
from rbdyn_ros.description.scene_files.scene import is_scene, read_parts
from rbdyn_ros.description.scenes.scene_objects import ROBOTS, placed_shapes, read_object
from rbdyn_ros.description.sdf_files.shapes import REPLACED
from rbdyn_ros.description.urdf_files import urdf
from rbdyn_ros.description.urdf_files.collisions import ShapeReader
from rbdyn_ros.description.urdf_files.versions import version_of
from rbdyn_ros.description.yaml_files import text as yaml_text
from rbdyn_ros.description.yaml_files.kinds import ValuePlace, is_sound
from rbdyn_ros.description.yaml_files.robots import ROBOT_FILE, robot_file_of
from rbdyn_ros.errors import Finding, listing, quote

#: Maximum number of visuals, and of collisions; no browser shows more.
MOST_SHAPES = 10_000

#: Colours of the objects of a scene, used in turn (Okabe, Ito, 2008).
PALETTE: tuple[Color, ...] = (
    (0.90, 0.62, 0.0, 1.0),
    (0.34, 0.71, 0.91, 1.0),
    (0.0, 0.62, 0.45, 1.0),
    (0.84, 0.37, 0.0, 1.0),
    (0.80, 0.47, 0.65, 1.0),
)

#: The elements that guard.parse reads.
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
        path: path of an existing file inside the allowed folders.
        scale: factors along x, y and z, not 0; a negative factor mirrors.
        only: the part of the mesh to use.
    """

    path: Path
    scale: Vec3 = (1.0, 1.0, 1.0)
    only: Only = WHOLE


@dataclass(frozen=True, slots=True)
class Placeholder:
    """Replaces a mesh that is not available.

    Attributes:
        name: name of the mesh in the robot, cut to LONGEST_NAME characters.
    """

    name: str


Part = TypeVar("Part", "LinkShape", LinkLight)
AnyShape = Box | Sphere | Cylinder | Capsule | Points | MeshFile | Placeholder


@dataclass(frozen=True, slots=True)
class LinkShape:
    """A visible shape of a link.

    Attributes:
        link: its name; the link may not exist.
        shape: all sizes are above 0 and in the range of bounds.py.
        origin: frame of the shape in the link frame.
        color: red, green, blue and opacity, 0 to 1; None if the robot gives no color. As in RViz,
            the colors and textures of a mesh file take precedence.
        texture: path of an image, which takes precedence over the color; None without a texture.
    """

    link: str
    shape: AnyShape
    origin: Pose = IN_PLACE
    color: Color | None = None
    texture: Path | None = None


@dataclass(frozen=True, slots=True)
class Appearance:
    """The visible shapes of a robot, in the order of the file.

    Attributes:
        findings: warnings about shapes that were left out or replaced.
        lights: at most MOST_LIGHTS.
    """

    visuals: tuple[LinkShape, ...] = ()
    collisions: tuple[LinkShape, ...] = ()
    findings: tuple[Finding, ...] = ()
    lights: tuple[LinkLight, ...] = ()

    def of_links(self, names: Collection[str]) -> "Appearance":
        """Return the appearance of some links."""
        visuals = tuple(shape for shape in self.visuals if shape.link in names)
        collisions = tuple(shape for shape in self.collisions if shape.link in names)
        lights = tuple(light for light in self.lights if light.link in names)
        return Appearance(visuals, collisions, self.findings, lights)


def read_appearance(
    source: str | bytes | Path | RobotFile,
    *,
    folder: Path | None = None,
    package_dirs: Sequence[str | Path] = (),
) -> Appearance:
    """Read the appearance of a robot.

    Args:
        source: path of a `.urdf`, `.xacro`, `.sdf`, MJCF `.xml`, mechanism or scene `.yaml` file,
            the name of a robot, a RobotFile, or URDF, MJCF or SDF text. A mechanism has the
            visuals of the robot that it starts from; its own geometries are collisions, with
            convex hulls for meshes. Other files, such as a saved Model, have no appearance.
        folder: for URDF text, the folder to search for its meshes; without it only meshes of
            packages are found. For a path it is the folder of the file.
        package_dirs: folders to search for packages; each may contain the package or be it.

    Raises:
        DescriptionError: there is no such file, or it has another format.
        ParameterError: the source is neither a path nor text.
    """
    robot_files.check_source(source)
    if isinstance(source, bytes) or (isinstance(source, str) and urdf.is_text(source)):
        root = robot_files.root_of_text(source)
        if root == "sdf":
            return _of_sdf(source, package_dirs)
        read_text = _of_mjcf_text if root == "mujoco" else _of_urdf
        return read_text(source, "<text>", MeshFiles(folder, package_dirs))
    file = robot_files.file_of(source, package_dirs)
    path = file.located()
    if is_scene(path) and path.suffix.lower() in robot_files.MECHANISM_SUFFIXES:
        return _of_scene(path, file.package_dirs)
    return _of_robot(file)


def _of_sdf(source: Path | str | bytes, package_dirs: Sequence[str | Path]) -> Appearance:
    from rbdyn_ros.description.sdf_files.looks import read_looks

    audit = OnlyWarnings()
    return _of_looks(read_looks(source, package_dirs, audit), audit)


def _of_looks(looks: Iterable[Look | LinkLight], audit: OnlyWarnings) -> Appearance:
    """Return the shapes and the lights that can be drawn."""
    finders, lights = dict[MeshFiles, NamedMeshes](), list[LinkLight]()
    found: dict[str, list[LinkShape]] = {"visual": [], "collision": []}
    for look in looks:
        if isinstance(look, LinkLight):
            lights.append(look)
            continue
        shown: AnyShape | None
        if isinstance(look.shape, MeshName):
            named = finders.setdefault(look.files, NamedMeshes(look.files))
            shown = named.read(look.shape.uri, look.shape.scale, look.at)
            if isinstance(shown, MeshFile):
                shown = replace(shown, only=look.shape.only)
        else:
            shown = look.shape
        if shown is not None and _can_be_shown(shown, look.origin, look.at):
            drawn = LinkShape(look.link, shown, look.origin, look.color, look.texture)
            for kind in look.kinds:
                found[kind].append(drawn)
    missing = [finding for named in finders.values() for finding in named.findings()]
    visuals, collisions = (tuple(found[kind][:MOST_SHAPES]) for kind in found)
    lamps = _most(lights, audit)
    notes = [finding for finding in audit.all() if finding.code != REPLACED]
    return Appearance(visuals, collisions, (*missing, *notes), lamps)


def _most(lights: Sequence[LinkLight], audit: Audit) -> tuple[LinkLight, ...]:
    """Return the lights that are drawn, with a warning about the other lights."""
    near = [light for light in lights if max(map(abs, light.pos)) <= FARTHEST]
    if len(near) < len(lights):
        text = f"a light is farther away than {FARTHEST:g} m; it is left out"
        audit.add("warning", "far-light", "", None, text)
    lights = near
    if len(lights) > MOST_LIGHTS:
        text = f"there are {len(lights)} lights; the first {MOST_LIGHTS} are drawn"
        audit.add("warning", "many-lights", "", None, text)
    return tuple(lights[:MOST_LIGHTS])


def _of_robot(file: RobotFile) -> Appearance:
    path, package_dirs = file.located(), file.package_dirs
    suffix, form = path.suffix.lower(), robot_files.format_of(path)
    if form is not robot_files.URDF:
        return READERS[form.suffixes](file) if form and form.suffixes in READERS else Appearance()
    data: str | bytes = read_bytes(path, "a .urdf or .xacro file", "a path or the text of a URDF")
    if suffix == ".xacro":
        # check first: xacro's own errors are hard to read
        guard.parse(data, str(path), "robot", WANTED)
        data = expand(path, Audit(), package_dirs, file.xacro_args)
    return _of_urdf(data, str(path), MeshFiles(path.parent, package_dirs))


def _of_urdf(text: str | bytes, source: str, files: MeshFiles) -> Appearance:
    robot = guard.parse(text, source, "robot", WANTED)
    audit, meshes = OnlyWarnings(), NamedMeshes(files)
    colors = Colors(robot, audit, files.of(IMAGES))
    visuals = read_shapes("visual", robot, meshes, colors, audit)
    collisions = read_shapes("collision", robot, meshes, None, audit)
    return Appearance(visuals, collisions, (*meshes.findings(), *audit.all()))


def _of_mjcf(file: RobotFile) -> Appearance:
    path = file.located()
    data = read_bytes(path, "an .xml file", "the path of an MJCF file")
    return _of_mjcf_text(data, str(path), MeshFiles(path.parent, file.package_dirs), path.parent)


def _of_mjcf_text(
    text: str | bytes, source: str, files: MeshFiles, folder: Path | None = None
) -> Appearance:
    from rbdyn_ros.description.mjcf_files.looks import read_looks

    audit = OnlyWarnings()
    return _of_looks(read_looks(text, source, folder, files, audit), audit)


def read_shapes(
    kind: str, robot: Element, meshes: "NamedMeshes", colors: Colors | None, audit: CountingAudit
) -> tuple[LinkShape, ...]:
    """Return the shapes of all elements of a kind that can be shown.

    Args:
        kind: `visual` or `collision`.
        robot: the `<robot>` element, not pruned yet.
        meshes: finds its meshes.
        colors: colors of its visuals; None: the colors are not needed.
        audit: receives findings.
    """
    shapes: list[LinkShape] = []
    version = version_of(robot)
    reader = ShapeReader[MeshFile | Placeholder](kind, meshes.read, audit, version)
    for number, (link, element) in enumerate(reader.elements(robot)):
        if number == MOST_SHAPES:
            message = (
                f"the robot has more than {MOST_SHAPES} <{kind}> elements; this and all after"
            )
            audit.add("warning", "many-looks", "", element.line, f"{message} it are not shown")
            break
        owner, before = f"link {quote(link)}", audit.error_count
        color, texture = (None, None) if colors is None else colors.of(element, owner)
        read = reader.read(element, owner)
        if read is not None:
            shape, origin = read
            _can_be_shown(shape, origin, Subject(audit, owner, element.line))
            if audit.error_count == before:  # reading the shape also adds errors
                shapes.append(LinkShape(link, shape, origin, color, texture))
    return tuple(shapes)


def _can_be_shown(shape: AnyShape, origin: Pose, at: Subject) -> bool:
    """Return whether a shape can be shown; if it is too large or too far, add an error."""
    assert isinstance(at.audit, CountingAudit)
    before = at.audit.error_count
    if not isinstance(shape, MeshFile | Placeholder):
        audit_shape(shape, at)
    audit_place(origin, at)
    return at.audit.error_count == before


def _of_mechanism(file: RobotFile) -> Appearance:
    path, package_dirs, audit = file.located(), file.package_dirs, OnlyWarnings()
    data = read_bytes(path, "a .yaml file", "the path of a mechanism file")
    top = yaml_text.parse(data, str(path), audit, "a mechanism file")
    name, own = top.nodes.get("robot"), top.nodes.get("geometries")
    robot = Appearance()
    given = None if name is None else ROBOT_FILE.read(name, ValuePlace(audit, "", "robot"))
    if given is not None and is_sound(given):
        first = robot_file_of(given, path.parent).with_more(package_dirs, file.xacro_args)
        if first.located().suffix.lower() in ROBOT_SUFFIXES:
            robot = read_appearance(first)
    shapes: list[LinkShape] = []
    if isinstance(own, yaml_text.YamlTable):
        meshes = Meshes(MeshFiles(path.parent, package_dirs))
        given = GEOMETRIES.read(own, ValuePlace(audit, "", "geometries"))
        shapes = [
            LinkShape(geometry.link, geometry.shape, geometry.origin)
            for geometry in (read_geometries(given, meshes) if given is not None else ())
            if _can_be_shown(geometry.shape, geometry.origin, audit.about("geometry", geometry))
        ]
    collisions = (*robot.collisions, *shapes)[:MOST_SHAPES]
    return Appearance(robot.visuals, collisions, (*robot.findings, *audit.all()))


def _of_scene(path: Path, package_dirs: Sequence[str | Path]) -> Appearance:
    """Return the appearance of a scene: of its robots, and of its objects by their shapes."""
    audit = OnlyWarnings()
    parts = read_parts(path, audit, package_dirs)
    looks = []
    for name, robot in parts.robots.items():
        prefix = f"{name}/" if name else ""
        own = _of_robot(robot_files.file_of(robot.source, package_dirs))
        looks.append(_renamed(own, prefix, "", ""))
    for number, item in enumerate(parts.objects):
        looks.append(_of_object(item, PALETTE[number % len(PALETTE)], package_dirs))
    lamps = _most([light for own in looks for light in own.lights], audit)
    return Appearance(
        tuple(look for own in looks for look in own.visuals)[:MOST_SHAPES],
        tuple(look for own in looks for look in own.collisions)[:MOST_SHAPES],
        (*(finding for own in looks for finding in own.findings), *audit.all()),
        lamps,
    )


def _of_object(item: Object, color: Color, package_dirs: Sequence[str | Path]) -> Appearance:
    if isinstance(item.shape, Path) and item.shape.suffix.lower() in ROBOTS:
        whole = read_object(item.shape, False, package_dirs, strict=False)
        own = _of_robot(robot_files.file_of(item.shape, package_dirs))
        links = {link.name for link in whole.links}
        lights = tuple(light for light in own.lights if light.link in links)
        own = replace(own, lights=lights)
        return _renamed(own, f"{item.name}/", root_of(whole), item.name)
    try:
        placed = placed_shapes(item, package_dirs)
    except UnusableMeshError as error:
        text = f"the mesh {quote(str(item.shape))} cannot be shown: it {error}"
        return Appearance(findings=(Finding(error.code, text, "warning"),))
    shapes = tuple(LinkShape(item.name, shape, at, color) for shape, at in placed)
    return Appearance(shapes, shapes)


def _renamed(looks: Appearance, prefix: str, root: str, name: str) -> Appearance:
    """Return an appearance with a prefix before the names of its links; `root` becomes `name`."""

    def linked(parts: Iterable[Part]) -> tuple[Part, ...]:
        return tuple(
            replace(part, link=name if root and part.link == root else f"{prefix}{part.link}")
            for part in parts
        )

    return replace(
        looks,
        visuals=linked(looks.visuals),
        collisions=linked(looks.collisions),
        lights=linked(looks.lights),
    )


#: Readers of formats other than URDF, by the suffixes of the format.
READERS = {
    robot_files.MECHANISM_SUFFIXES: _of_mechanism,
    robot_files.SDF_SUFFIXES: lambda file: _of_sdf(file.located(), file.package_dirs),
    robot_files.MJCF_SUFFIXES: _of_mjcf,
}


class NamedMeshes:
    """Finds the meshes of a robot; each name is looked up once.

    Args:
        files: finds them.
        needed: whether a mesh that does not exist is an error.
    """

    def __init__(self, files: MeshFiles, *, needed: bool = False) -> None:
        self._files, self._needed = files, needed
        self._found: dict[str, Path] = {}
        self._missing: dict[str, Finding] = {}
        self._refused = set[str]()

    def read(self, name: str, scale: Vec3, at: Subject) -> MeshFile | Placeholder | None:
        """Return the mesh of a name, or a Placeholder if no file can be used.

        Return None for a wrong scale.
        """
        if not audit_scale(scale, at):
            return None
        if name not in self._found and name not in self._missing and name not in self._refused:
            try:
                self._found[name] = self._files.find(name)
            except UnusableMeshError as error:
                self._lacks(name, error, at)
        if name in self._found:
            return MeshFile(self._found[name], scale)
        return Placeholder(name[:LONGEST_NAME])

    def _lacks(self, name: str, error: UnusableMeshError, at: Subject) -> None:
        if self._needed and error.code == "mesh-missing":
            self._refused.add(name)
            message = f"the mesh {quote(name, 200)} {error}"
            at.error(error.code, message, found=name, allowed=error.allowed)
            return
        found = Finding(error.code, str(error), "warning", at.owner, at.line, "", error.allowed)
        self._missing[name] = found

    def findings(self) -> tuple[Finding, ...]:
        """Return one warning about all missing meshes, or an empty tuple."""
        if not self._missing:
            return ()
        count, first = len(self._missing), next(iter(self._missing.values()))
        names = listing(self._missing, most=3)
        if count == 1:
            text = f"a marker replaces the mesh {names}, which {first.message}"
        else:
            text = f"markers replace {count} meshes: {names}; the first {first.message}"
        if "package_dirs" not in text:
            text += "; add the folders of other packages to package_dirs"
        return (replace(first, code="missing-meshes", message=text, element=""),)
