# SPDX-License-Identifier: Apache-2.0
"""Add a free object to a scene: from shapes, from a mesh, or from a robot file."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description import robot_files
from rbdyn_ros.description.build import shapes
from rbdyn_ros.description.build.arguments import vector
from rbdyn_ros.description.build.renaming import renamed, root_of, with_all_of, without_lines
from rbdyn_ros.description.checks.values import audit_pose
from rbdyn_ros.description.meshes.files import MeshFiles, UnusableMeshError
from rbdyn_ros.description.meshes.meshes import Meshes
from rbdyn_ros.description.parts.geometries import Contact, Filter, Geometry, Shape, Surface
from rbdyn_ros.description.parts.objects import Object
from rbdyn_ros.description.parts.poses import IN_PLACE, Pose
from rbdyn_ros.description.parts.types import Description, Joint, Link
from rbdyn_ros.description.scenes import world_roots
from rbdyn_ros.description.scenes.joining import add_findings, coordinates, described
from rbdyn_ros.description.sdf_files import sdf
from rbdyn_ros.description.urdf_files.urdf import is_text
from rbdyn_ros.errors import RbdynError, not_allowed, quote

MESHES = (".stl", ".obj", ".dae")
ROBOTS = (*robot_files.SUFFIXES, ".xml")
SHAPES = (
    "a Sphere, Box, Cylinder, Capsule or Points, a list of shapes or of pairs (shape, pose), or "
    f"the path of a file {', '.join((*ROBOTS, *MESHES))}"
)


def with_object(
    joined: Description,
    item: Object,
    package_dirs: Sequence[str | Path],
    audit: Audit,
    acts: bool = False,
) -> Description:
    """Return a scene with one more object, or the same scene after an error.

    Args:
        joined: the scene.
        item: the object.
        package_dirs: as for scene.scene_description.
        audit: receives all errors.
        acts: whether the joints of a robot file keep their actuators. If the root of the file is
            the link `world`, and the file has actuators or no joint that moves, it does not float
            and is not among the objects of the scene. One shape at the origin of such a world is
            an obstacle.
    """
    fixed, at = False, audit.about("object", item)
    if not audit_pose("pose", item.pose, at):
        return joined
    try:
        if is_robot_file(item.shape):
            found = _of_file(item, package_dirs, audit)
            if (solid := world_roots.only_solid(item, found)) is not None:
                return replace(joined, obstacles=(*joined.obstacles, solid))
            fixed = world_roots.stands(found, acts)
            made = _named(item, found, acts)
        else:
            made = _of_shapes(item, package_dirs)
    except RbdynError as error:
        add_findings(error, at)
        return joined
    except UnusableMeshError as error:
        at.error(error.code, f"the mesh {quote(str(item.shape))} {error}")
        return joined
    if not fixed and not world_roots.has_mass(made):
        at.error("no-mass", "it has no mass, so it cannot move freely; give a link an <inertial>")
        return joined
    if fixed:
        root = root_of(joined)
        joint = Joint(item.name, "fixed", root, item.name, item.pose, line=item.line)
        robots = (*joined.robots, item.name)
        joined = replace(joined, joints=(*joined.joints, joint), robots=robots)
        return with_all_of(joined, made)
    joint = Joint(
        item.name,
        "floating",
        root_of(joined),
        item.name,
        actuated=False,
        start=coordinates(item.pose),
        line=item.line,
    )
    joined = replace(joined, joints=(*joined.joints, joint))
    return replace(with_all_of(joined, made), objects=(*joined.objects, item.name))


def is_robot_file(shape: object) -> bool:
    """Return whether the shape of an object is a robot: its file, URDF text or Description."""
    if isinstance(shape, Description) or (isinstance(shape, str) and is_text(shape)):
        return True
    return isinstance(shape, str | Path) and Path(shape).suffix.lower() in ROBOTS


def _of_file(item: Object, package_dirs: Sequence[str | Path], audit: Audit) -> Description:
    """Return the description in an object's file; raise ParameterError for a given mass."""
    if item.mass is not None or item.density is not None:
        what = "mass" if item.mass is not None else "density"
        raise not_allowed(f"the {what}", getattr(item, what), "None: the file has the masses")
    surface = item.surface or Surface()
    contact = Contact(obstacles=(), surface=surface, decompose=item.decompose)
    if isinstance(item.shape, str | Path):
        found = read_object(item.shape, contact, package_dirs, audit.strict)
    else:
        found = world_roots.without_free_root(described(item.shape, contact, package_dirs, audit))
    return world_roots.with_shapes_of_links(without_lines(found))


def read_object(
    source: str | Path, contact: bool | Contact, package_dirs: Sequence[str | Path], strict: bool
) -> Description:
    """Return an object from its robot file or text; its root is where the object is placed.

    A model of SDF is read in its own frame, as Gazebo spawns it. Arguments and errors as for
    robot_files.read.
    """
    how: dict[str, Any] = {"strict": strict, "package_dirs": package_dirs, "contact": contact}
    if root_of_file(source, package_dirs) == "sdf":
        is_path = isinstance(source, Path) or not is_text(source)
        place = robot_files.file_of(source, package_dirs).located() if is_path else source
        return world_roots.without_free_root(sdf.read(place, in_model=True, **how))
    return world_roots.without_free_root(robot_files.read(source, **how))


def root_of_file(source: str | Path, package_dirs: Sequence[str | Path]) -> str:
    """Return the root element of a robot file or text: robot, sdf, mujoco, or "" if it is YAML."""
    if isinstance(source, str) and is_text(source):
        return robot_files.root_of_text(source)
    form = robot_files.format_of(robot_files.file_of(source, package_dirs).located())
    return "" if form is None else "robot" if form is robot_files.URDF else form.root


def _named(item: Object, found: Description, acts: bool) -> Description:
    """Return an object from a robot file: its root has the name of the object.

    Its joints have no actuators unless `acts` is true.
    """
    root = root_of(found)
    named = renamed(found, lambda old: item.name if old == root else f"{item.name}/{old}")
    joints = tuple(
        replace(joint, actuated=acts and joint.actuated and joint.type != "fixed")
        for joint in named.joints
    )
    filtered = tuple(replace(x, filter=item.filter or x.filter) for x in named.geometries)
    return replace(named, joints=joints, geometries=filtered, obstacles=())


def _of_shapes(item: Object, package_dirs: Sequence[str | Path]) -> Description:
    """Return an object of shapes."""
    placed = placed_shapes(item, package_dirs)
    whole = shapes.combine(*(shapes.of_shape(shape, density=1.0, at=at) for shape, at in placed))
    inertial = shapes.scaled(whole, density=item.density, mass=item.mass)
    names = [item.name] if len(placed) == 1 else [f"{item.name}_{k}" for k in range(len(placed))]
    surface, masks = item.surface or Surface(), item.filter or Filter()
    geometries = tuple(
        Geometry(name, item.name, shape, at, surface, item.line, masks)
        for name, (shape, at) in zip(names, placed, strict=True)
    )
    return Description(
        item.name, (Link(item.name, inertial, item.line),), (), geometries=geometries
    )


def placed_shapes(item: Object, package_dirs: Sequence[str | Path]) -> list[tuple[Shape, Pose]]:
    """Return the shapes of an object and their places; raise ParameterError for anything else."""
    shape: Any = item.shape
    if isinstance(shape, str | Path):
        path = Path(shape)
        if path.suffix.lower() not in MESHES:
            raise not_allowed("the shape", shape, SHAPES)
        local = "://" not in str(shape)
        meshes = Meshes(MeshFiles(path.parent if local else None, package_dirs))
        name, scale = path.name if local else str(shape), vector("the scale", item.scale)
        if item.decompose:
            return [(part, IN_PLACE) for part in meshes.convex(name, scale)]
        return [(meshes.points(name, scale), IN_PLACE)]
    if item.decompose:
        raise not_allowed("decompose", True, "False for shapes: they are convex")
    listed = shape if isinstance(shape, list | tuple) else [shape]
    pairs = [
        one if isinstance(one, tuple) and len(one) == 2 else (one, IN_PLACE) for one in listed
    ]
    if not pairs or not all(isinstance(a, Shape) and isinstance(b, Pose) for a, b in pairs):
        raise not_allowed("the shape", shape, SHAPES)
    return pairs
