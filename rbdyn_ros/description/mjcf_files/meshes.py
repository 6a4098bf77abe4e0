# SPDX-License-Identifier: Apache-2.0
"""The meshes of an MJCF: their files, and the mass distributions of the solids inside."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

import numpy as np

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.description.meshes.files import MeshFiles, UnusableMeshError
from rbdyn_ros.description.meshes.hulls import NoHullError
from rbdyn_ros.description.meshes.meshes import Meshes, joined, outwards, read_parts
from rbdyn_ros.description.meshes.moments import moments
from rbdyn_ros.description.mjcf_files.defaults import Classes
from rbdyn_ros.description.mjcf_files.document import Item, MjcfDocument
from rbdyn_ros.description.mjcf_files.settings import CompilerSettings
from rbdyn_ros.description.parts.geometries import HeightField, Points, TriangleMesh
from rbdyn_ros.description.parts.poses import Pose, Vec3, inverse
from rbdyn_ros.description.parts.types import Inertial
from rbdyn_ros.errors import counted, quote

#: Largest number of triangles of a mesh that gives an inertia, as for an STL in MuJoCo.
MOST_TRIANGLES = 200_000
_KINDS = ("legacy", "exact", "convex", "shell")


@dataclass(slots=True)
class MeshAsset:
    """A <mesh> of the assets.

    Attributes:
        file: path of the mesh from the folder of the model; empty if the element has vertices.
        at: the frame of the file in the frame of the geom.
    """

    item: Item
    file: str
    scale: Vec3
    at: Pose
    kind: str
    vertices: Array = field(default_factory=lambda: np.zeros((0, 3)))
    faces: Ints = field(default_factory=lambda: np.zeros((0, 3), np.int64))


def read_meshes(
    document: MjcfDocument, classes: Classes, settings: CompilerSettings
) -> dict[str, MeshAsset]:
    """Return the meshes of all <asset> elements, by name."""
    found: dict[str, MeshAsset] = {}
    for element in document.sections("asset"):
        if element.tag == "material":
            classes.item(element, "material")
        if element.tag != "mesh":
            continue
        file = element.get("file", "")
        name = element.get("name", PurePosixPath(file).stem)
        item = classes.item(element, f"mesh {quote(name)}")
        item.text("name"), item.text("file")
        if name in found:
            message = "another mesh has this name; names must be unique"
            item.error("duplicate-name", message, found=name)
        asset = _mesh(item, file, settings)
        if asset is not None:
            found[name] = asset
    return found


def _mesh(item: Item, file: str, settings: CompilerSettings) -> MeshAsset | None:
    path = settings.file_of(file) if file else ""
    scale = item.vector("scale", (1.0, 1.0, 1.0))
    usual = "exact" if settings.exact else "legacy"
    asset = MeshAsset(
        item, path, scale, _frame(item, scale), item.choice("inertia", _KINDS, usual)
    )
    if item.given("builtin"):
        message = f"the builtin mesh {quote(item.text('builtin'))} is not read"
        item.error("not-supported", message, allowed="a file, or vertices")
    vertices = _triples(item, "vertex")
    if not file and len(vertices) < 4:
        message = "has neither a file nor four vertices"
        item.error("missing-attribute", message, allowed="file or vertex")
        return None
    if not file:
        faces = _triples(item, "face")
        if not np.isin(faces, np.arange(len(vertices))).all():
            item.error("bad-value", "a face names a vertex that is not there")
            return None
        asset.vertices, asset.faces = vertices, faces.astype(np.int64)
    return asset


def _triples(item: Item, name: str) -> Array:
    """Return the numbers of an attribute, three in each row."""
    numbers = item.numbers(name, 3, 10 * MOST_TRIANGLES)
    if len(numbers) % 3:
        item.error(
            "bad-value",
            f"{name} has {counted(len(numbers), 'number')}; allowed are multiples of 3",
        )
        numbers = []
    return np.array(numbers).reshape(-1, 3)


def _frame(item: Item, scale: Vec3) -> Pose:
    """Return the frame of a mesh file in the geom, which refpos and refquat move."""
    pos, quat = item.vector("refpos"), item.numbers("refquat", 4) or [1.0, 0.0, 0.0, 0.0]
    length = float(np.linalg.norm(quat))
    if length == 0.0:
        item.error("zero-vector", "refquat has no direction")
        return Pose()
    w, x, y, z = (n / length for n in quat)
    if len(set(scale)) > 1 and abs(w) < 1.0:
        item.error("not-supported", "it has a refquat, and a scale that differs between the axes")
    moved = (pos[0] * scale[0], pos[1] * scale[1], pos[2] * scale[2])
    return inverse(Pose(moved, (w, x, y, z)))


class MeshShapes:
    """The hulls and inertias of meshes; each file is opened when it is needed.

    Args:
        files: finds them.
        decompose: whether `convex` divides meshes that are not convex.
        fields: height fields of the model by name; None: they have no shape.
    """

    def __init__(
        self, files: MeshFiles, *, decompose: bool, fields: Mapping[str, HeightField] | None = None
    ) -> None:
        self._fields = fields
        self._files, self._convex = files, Meshes(files, decompose=decompose)
        self._inertials: dict[tuple[int, bool], Inertial | None] = {}

    def convex(self, asset: MeshAsset, geom: Item) -> tuple[Points, ...]:
        """Return the convex parts of a mesh in file axes, or an empty tuple after an error."""
        if not asset.file:
            points = asset.vertices * np.array(asset.scale)
            return (Points(tuple((x, y, z) for x, y, z in points.tolist())),)
        found = self._convex.read_convex(asset.file, asset.scale, geom.subject)
        return found or ()

    def triangles(self, asset: MeshAsset, geom: Item) -> tuple[Points | TriangleMesh, ...]:
        """Return the triangles of a mesh in its file's axes, or an empty tuple after an error."""
        if not asset.file:
            grown = asset.vertices * np.array(asset.scale)
            return (TriangleMesh(grown, outwards(grown, asset.faces, asset.scale)),)
        found = self._convex.read_concave(asset.file, asset.scale, geom.subject)
        return () if found is None else (found,)

    def field(self, geom: Item) -> tuple[HeightField, ...]:
        """Return the height field of a geom, or an empty tuple after an error."""
        name = geom.text("hfield")
        if self._fields is None or name in self._fields:
            return () if self._fields is None else (self._fields[name],)
        hint = geom.document.audit.hint(name, self._fields)
        if not geom.document.audit.partial:
            geom.error("unknown-mesh", f"there is no hfield {quote(name)}{hint}", found=name)
        return ()

    def inertial(self, asset: MeshAsset, shell: bool) -> Inertial | None:
        """Return the mass distribution of a mesh of density 1, or None after an error.

        If `shell`, the mass is on the surface.
        """
        key = (id(asset), shell)
        if key not in self._inertials:
            self._inertials[key] = self._distribution(asset, shell)
        return self._inertials[key]

    def _distribution(self, asset: MeshAsset, shell: bool) -> Inertial | None:
        kind = "shell" if shell else asset.kind
        try:
            vertices, faces = self._triangles(asset)
            volume, com, second = moments(vertices, faces, kind)
        except (UnusableMeshError, NoHullError) as error:
            code = getattr(error, "code", "bad-mesh")
            what = str(error) or "has no convex hull"
            name = quote(asset.file, 200) if asset.file else "of the vertices"
            asset.item.error(
                code, f"the mesh {name} {what}; a body takes its inertia from this mesh"
            )
            return None
        turned = np.trace(second) * np.eye(3) - second
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = turned.tolist()
        x, y, z = com.tolist()
        return Inertial(volume, Pose((x, y, z)), (xx, yy, zz, xy, xz, yz))

    def _triangles(self, asset: MeshAsset) -> tuple[Array, Ints]:
        """Return the scaled vertices and the faces of a mesh, in the axes of its file.

        Raise UnusableMeshError if it has too many triangles.
        """
        scale = np.array(asset.scale)
        if not asset.file:
            return asset.vertices * scale, asset.faces
        vertices, triangles = joined(read_parts(self._files.find(asset.file), as_mujoco=True))
        if len(triangles) > MOST_TRIANGLES:
            message = f"has {len(triangles)} triangles; allowed are at most {MOST_TRIANGLES}"
            raise UnusableMeshError(
                "mesh-too-large", f"{message}: simplify it, or give an inertia"
            )
        return vertices.astype(np.float32) * scale, triangles  # MuJoCo also uses single precision
