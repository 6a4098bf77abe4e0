# SPDX-License-Identifier: Apache-2.0
"""The geoms of an MJCF: their shapes, and the mass distributions that they give to bodies."""

import math
from dataclasses import dataclass, replace

import numpy as np

from rbdyn_ros.description.build import shapes
from rbdyn_ros.description.checks.inertials import as_matrix
from rbdyn_ros.description.meshes.hulls import ellipsoid
from rbdyn_ros.description.mjcf_files.document import Item
from rbdyn_ros.description.mjcf_files.meshes import MeshAsset, MeshShapes
from rbdyn_ros.description.mjcf_files.settings import CompilerSettings, middle, of_matrix
from rbdyn_ros.description.parts.geometries import (
    Box,
    Capsule,
    Cylinder,
    Filter,
    HeightField,
    Plane,
    Points,
    Sphere,
    Surface,
    TriangleMesh,
)
from rbdyn_ros.description.parts.poses import Pose, compose
from rbdyn_ros.description.parts.types import Inertial
from rbdyn_ros.errors import counted, quote

KINDS = ("plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "sdf")
#: The number of sizes of each kind. With `fromto`, capsules and cylinders have one size less.
_SIZES = {"sphere": 1, "capsule": 2, "ellipsoid": 3, "cylinder": 2, "box": 3}
_ENDS = ("capsule", "cylinder", "box", "ellipsoid")
#: Friction: sliding, about the normal [m], rolling [m].
_FRICTION = (1.0, 0.005, 0.0001)
_DENSITY = 1000.0
#: Smallest half length of a fitted capsule [m]; such a capsule is nearly a sphere.
LEAST = 1e-9
Shape = Box | Sphere | Cylinder | Capsule | Points | Plane | HeightField | TriangleMesh


@dataclass(frozen=True, slots=True)
class Geom:
    """A geom of a body.

    Attributes:
        name: may be empty.
        sizes: as MuJoCo's: radius, half lengths [m].
        at: frame of the geom in the body.
        mesh: mesh of a geom of kind mesh, or mesh to which the shape is fitted; None: no mesh.
        group: group of its appearance.
        filter: which other geoms it touches.
    """

    item: Item
    name: str
    kind: str
    sizes: tuple[float, ...]
    at: Pose
    mesh: MeshAsset | None
    group: int
    filter: Filter

    @property
    def touches(self) -> bool:
        """Return whether another geom can touch it."""
        return self.filter.contype > 0 or self.filter.conaffinity > 0

    def resolved(self, meshes: MeshShapes) -> "Geom | None":
        """Return the geom with the sizes of a shape that is fitted to a mesh.

        The shape has the size of the box with the inertia of the mesh. Return None after an error
        if the mesh encloses no volume.
        """
        if self.mesh is None or self.kind in ("mesh", "sdf"):
            return self
        found = meshes.inertial(self.mesh, shell=False)
        if found is None:
            return None
        moments, axes = np.linalg.eigh(as_matrix(np.array(found.inertia)))
        moments, axes = moments[::-1], axes[:, ::-1]  # the longest axis is z
        if np.linalg.det(axes) < 0.0:
            axes[:, 0] *= -1.0
        halves = np.sqrt(np.maximum(1.5 * (moments.sum() - 2.0 * moments) / found.mass, 0.0))
        x, y, z = (self.item.number("fitscale", 1.0) * halves).tolist()
        radius = (x + y) / 2.0
        sizes = {"sphere": ((x + y + z) / 3.0,), "cylinder": (radius, z)}
        sizes["capsule"] = (radius, max(z - radius / 2.0, LEAST))
        at = compose(self.placed(), Pose(found.origin.pos, of_matrix(axes)))
        return replace(self, sizes=sizes.get(self.kind, (x, y, z)), at=at, mesh=None)

    def shape(self, meshes: MeshShapes, *, stands: bool = False) -> tuple[Shape, ...]:
        """Return its shapes, as a mesh may have several, or no shapes after an error.

        A geom of type sdf that is fixed in the world has the mesh triangles, others the hull.
        """
        if self.kind == "mesh":
            return () if self.mesh is None else meshes.convex(self.mesh, self.item)
        if self.kind == "sdf" and self.mesh is not None:
            if stands:
                return meshes.triangles(self.mesh, self.item)
            message = "is an sdf on a body that moves: the convex hull of its mesh touches"
            self.item.warn("not-supported", message)
            return meshes.convex(self.mesh, self.item)
        if self.kind == "plane":
            return (Plane(),)
        if self.kind == "hfield":
            return meshes.field(self.item)
        if self.kind == "ellipsoid":
            return (ellipsoid(self.sizes),)
        if self.kind == "box":
            x, y, z = self.sizes
            return (Box((2.0 * x, 2.0 * y, 2.0 * z)),)
        if self.kind == "sphere":
            return (Sphere(self.sizes[0]),)
        radius, half = self.sizes
        return ((Cylinder if self.kind == "cylinder" else Capsule)(radius, 2.0 * half),)

    def placed(self) -> Pose:
        """Return the frame of the geom's shape in the body; a mesh has the frame of its file."""
        return self.at if self.mesh is None else compose(self.at, self.mesh.at)

    def surface(self) -> Surface:
        """Return its contact properties."""
        sliding, torsional, rolling = self.item.filled("friction", _FRICTION)
        dimensions = self.item.whole("condim", 3)
        return Surface(
            friction=sliding if dimensions > 1 else 0.0,
            torsional=torsional if dimensions > 3 else 0.0,
            rolling=rolling if dimensions > 4 else 0.0,
        )

    def inertial(self, meshes: MeshShapes) -> Inertial | None:
        """Return its mass distribution in the body, or None without mass, or after an error."""
        if self.kind in ("plane", "hfield"):
            return None
        density, mass = self.item.number("density", _DENSITY), self.item.number("mass", -1.0)
        if (mass == 0.0 and self.item.given("mass")) or (mass < 0.0 and density == 0.0):
            return None
        if density < 0.0 or (mass < 0.0 and self.item.given("mass")):
            self.item.error("bad-value", "the density or mass is negative")
            return None
        of_one = self._of_density_one(meshes)
        if of_one is None:
            return None
        if mass > 0.0:
            return shapes.scaled(of_one, mass=mass)
        return shapes.scaled(of_one, mass=density * of_one.mass)

    def _of_density_one(self, meshes: MeshShapes) -> Inertial | None:
        shell = self.item.flag("shellinertia", False)
        if self.kind in ("mesh", "sdf"):
            found = None if self.mesh is None else meshes.inertial(self.mesh, shell)
            if found is None:
                return None
            return Inertial(found.mass, compose(self.placed(), found.origin), found.inertia)
        if shell:
            return self._shell()
        if self.kind == "sphere":
            return shapes.sphere(self.sizes[0], density=1.0, at=self.at)
        if self.kind == "box":
            x, y, z = self.sizes
            return shapes.box((2 * x, 2 * y, 2 * z), density=1.0, at=self.at)
        if self.kind == "ellipsoid":
            a, b, c = self.sizes
            m = 4.0 / 3.0 * math.pi * a * b * c
            moments = (m / 5 * (b * b + c * c), m / 5 * (a * a + c * c), m / 5 * (a * a + b * b))
            return Inertial(m, self.at, (*moments, 0.0, 0.0, 0.0))
        radius, half = self.sizes
        of = shapes.cylinder if self.kind == "cylinder" else shapes.capsule
        return of(radius, 2.0 * half, density=1.0, at=self.at)

    def _shell(self) -> Inertial | None:
        """Return the distribution of a surface of density 1 kg/m^2, or None after an error."""
        if self.kind == "sphere":
            r = self.sizes[0]
            return _diagonal(4 * math.pi * r * r, self.at, *[2 / 3 * r * r] * 3)
        if self.kind == "box":
            return self._box_shell()
        if self.kind == "ellipsoid":
            message = "the inertia of the shell of an ellipsoid is not known"
            self.item.error("not-supported", message, allowed="shellinertia false")
            return None
        r, h = self.sizes[0], 2.0 * self.sizes[1]
        tube = 2 * math.pi * r * h
        if self.kind == "cylinder":
            ends = 2 * math.pi * r * r  # the ends are two disks
            across = tube * (r * r / 2 + h * h / 12) + ends * (r * r / 4 + h * h / 4)
            along = tube * r * r + ends * r * r / 2
        else:
            ends = 4 * math.pi * r * r  # two half spheres; their centres are r/2 off the flat side
            across = tube * (r * r / 2 + h * h / 12)
            across += ends * (2 / 3 * r * r + h * h / 4 + h * r / 2)
            along = tube * r * r + ends * 2 / 3 * r * r
        m = tube + ends
        return _diagonal(m, self.at, across / m, across / m, along / m)

    def _box_shell(self) -> Inertial:
        edges = [2.0 * half for half in self.sizes]
        faces = []
        for k in range(3):
            i, j = (n for n in range(3) if n != k)
            area, moments = edges[i] * edges[j], [0.0, 0.0, 0.0]
            moments[i], moments[j] = edges[j] ** 2 / 12, edges[i] ** 2 / 12
            moments[k] = moments[i] + moments[j]
            for side in (-0.5, 0.5):
                pos = [0.0, 0.0, 0.0]
                pos[k] = side * edges[k]
                at = compose(self.at, Pose((pos[0], pos[1], pos[2])))
                faces.append(_diagonal(area, at, *moments))
        return shapes.combine(*faces)


def _diagonal(m: float, at: Pose, xx: float, yy: float, zz: float) -> Inertial:
    """Return a mass distribution of the mass m, with moments that are given per mass [m^2]."""
    return Inertial(m, at, (m * xx, m * yy, m * zz, 0.0, 0.0, 0.0))


def read_geom(
    item: Item, around: Pose, settings: CompilerSettings, meshes: dict[str, MeshAsset]
) -> Geom | None:
    """Return a geom, or None after an error.

    Args:
        item: the element.
        around: the frame around it in its body.
        settings: settings of the compiler.
        meshes: meshes of the model.
    """
    kind, name = item.choice("type", KINDS, "sphere"), item.text("mesh")
    mesh = meshes.get(name)
    if kind == "sdf" and mesh is None:
        message = "a geom of type sdf without a mesh is not read"
        item.repair("not-supported", message, "it is left out", found="sdf")
        return None
    if mesh is None and (name or kind == "mesh"):
        hint = item.document.audit.hint(name, meshes)
        item.error("unknown-mesh", f"there is no mesh {quote(name)}{hint}", found=name)
        return None
    if settings.fitaabb and mesh is not None and kind not in ("mesh", "sdf"):
        message = "a shape that fits the bounding box of a mesh is not read"
        repaired = "it fits the inertia of the mesh"
        item.repair("not-supported", message, repaired, allowed="fitaabb false")
    at, sizes = settings.pose(item), item.numbers("size", 1, 3)
    ends = item.numbers("fromto", 6) if kind in _ENDS else []
    if ends:
        pos, quat, length = middle(ends) if ends[:3] != ends[3:] else (None, None, 0.0)
        if pos is None or quat is None:
            item.error("bad-value", "the points of fromto are the same")
            return None
        at, sizes = Pose(pos, quat), _with_length(kind, sizes, length / 2)
    count = _SIZES.get(kind, 0) if mesh is None else 0
    if len(sizes) < count or not all(size > 0.0 for size in sizes[:count]):
        message = (
            f"size is '{item.text('size')}'; a {kind} needs {counted(count, 'number')} above 0"
        )
        item.error("bad-value", message, found=item.text("size"), allowed=counted(count, "number"))
        return None
    return Geom(
        item,
        item.text("name"),
        kind,
        tuple(sizes[:count]),
        compose(around, at),
        mesh,
        item.whole("group", 0),
        Filter(item.whole("contype", 1), item.whole("conaffinity", 1)),
    )


def _with_length(kind: str, sizes: list[float], half: float) -> list[float]:
    if kind in ("box", "ellipsoid"):
        return [*sizes[:1], *sizes[:1], half]
    return [*sizes[:1], half]
