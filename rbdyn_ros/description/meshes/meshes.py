# SPDX-License-Identifier: Apache-2.0
"""Read mesh files as parts of a scene, and as convex hulls.

Files are untrusted: of the files that they refer to, at most materials are opened.
"""

import contextlib
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.checks.audit import Subject
from rbdyn_ros.description.meshes import hulls
from rbdyn_ros.description.meshes.dae import check_dae, without_materials
from rbdyn_ros.description.meshes.decomposition import NoPartsError, convex_parts
from rbdyn_ros.description.meshes.files import (
    MeshFiles,
    UnusableMeshError,
    lacks,
    package_for,
    read_bytes,
)
from rbdyn_ros.description.meshes.moments import Moments, closed_moments, is_closed
from rbdyn_ros.description.meshes.polygons import triangulated
from rbdyn_ros.description.meshes.textures import Materials
from rbdyn_ros.description.parts.bounds import BOUNDS, audit_range
from rbdyn_ros.description.parts.geometries import Points, TriangleMesh
from rbdyn_ros.description.parts.poses import Vec3
from rbdyn_ros.description.parts.triangles import MOST_TRIANGLES
from rbdyn_ros.errors import listing, quote

MAX_BYTES = 64 * 1024 * 1024
MIN_LENGTH = 1e-6  # shortest allowed size of a mesh [m]
FARTHEST = BOUNDS["contact length"].high  # largest allowed coordinate of a vertex [m]
LARGEST = 1e100  # larger numbers are refused: squares must stay finite

#: The hull of a convex mesh may exceed the mesh by this part of the mesh's volume.
SAME_VOLUME = 1e-6

_Shape = TypeVar("_Shape")

LEFT_OUT = "the geometry is left out"  # how a broken geometry is repaired
#: Sizes in a binary STL: title, header with the number of triangles, each triangle [bytes].
_TITLE, _HEAD, _TRIANGLE = 80, 84, 50
#: The first facet of an STL as text begins within these bytes.
_START = 1000


#: The name of the only part of a mesh to use, and whether its centre is moved to the origin.
Only = tuple[str, bool]
WHOLE: Only = ("", False)


class Meshes:
    """The meshes of one robot; the results for each file are kept.

    Args:
        files: finds them.
        decompose: whether `read_convex` returns the parts of a convex decomposition.
    """

    def __init__(self, files: MeshFiles, *, decompose: bool = False) -> None:
        self._files, self._decompose = files, decompose
        self._parts: dict[Path, list[Array]] = {}
        self._hulls: dict[tuple[Path, Only], Array] = {}
        self._triangles: dict[tuple[Path, Only], tuple[Array, Ints]] = {}
        self._flaws: dict[Path, str] = {}

    def points(self, name: str, scale: Vec3, only: Only = WHOLE) -> Points:
        """Return the corners of the convex hull of a mesh, at most hulls.MOST_CORNERS.

        Args:
            name: name of the file, as for MeshFiles.find.
            scale: factors along x, y and z, not 0; a negative factor mirrors.
            only: the part of it to use.

        Raises:
            UnusableMeshError: there is no such file, or it is not a usable mesh.
        """
        path = self._files.find(name)
        try:
            if (path, only) not in self._hulls:
                parts = parts_of(self._read(path, apart=bool(only[0])), only)
                vertices = np.concatenate([part.vertices for part in parts])
                self._hulls[path, only] = hulls.hull_corners(vertices)
            corners = hulls.reduced(scaled(self._hulls[path, only], scale))
        except hulls.NoHullError as error:
            raise UnusableMeshError("bad-mesh", "has no convex hull") from error
        return Points(tuple((x, y, z) for x, y, z in corners.tolist()))

    def convex(self, name: str, scale: Vec3) -> tuple[Points, ...]:
        """Return the corners of the parts of a mesh's convex decomposition, each as `points`.

        Raises:
            NoPartsError: the mesh is flat or open, or has too many triangles, or coacd fails.
            UnusableMeshError: as for `points`, or the package coacd is not installed.
        """
        path = self._files.find(name)
        if path not in self._parts:
            found = list[Array]()
            for part in self._read(path):
                found += convex_parts(part.vertices, part.faces)
            self._parts[path] = found
        corners = (hulls.reduced(scaled(part, scale)) for part in self._parts[path])
        return tuple(Points(tuple((x, y, z) for x, y, z in part.tolist())) for part in corners)

    def concave(self, name: str, scale: Vec3, only: Only = WHOLE) -> Points | TriangleMesh:
        """Return the triangles of a mesh, or `points` if it is convex.

        If all triangles of a closed mesh face inwards, they are flipped.

        Raises:
            UnusableMeshError: as for `points`, or the mesh has no triangles or too many triangles.
        """
        vertices, faces = self._joined(self._files.find(name), only)
        if not 0 < len(faces) <= MOST_TRIANGLES:
            message = f"has {len(faces)} triangles; allowed are 1 to {MOST_TRIANGLES}"
            raise UnusableMeshError("mesh-too-large" if len(faces) else "bad-mesh", message)
        grown = scaled(vertices, scale)
        faces = outwards(grown, faces, scale)
        # an open or flat mesh is not convex
        with contextlib.suppress(UnusableMeshError, hulls.NoHullError):
            volume = closed_moments(grown, faces)[0]
            is_full = hulls.hull_moments(grown)[0] <= volume * (1.0 + SAME_VOLUME)
            # the volume alone is no proof: it counts overlaps twice
            if is_full and hulls.is_on_hull(grown, faces):
                return self.points(name, scale, only)
        return TriangleMesh(grown, faces)

    def moments(self, name: str, scale: Vec3, only: Only = WHOLE) -> Moments:
        """Return volume, centre and second moments of the solid in a mesh.

        Raises:
            UnusableMeshError: as for `points`, or the mesh is not closed.
        """
        vertices, faces = self._joined(self._files.find(name), only)
        return closed_moments(scaled(vertices, scale), faces)

    def _joined(self, path: Path, only: Only) -> tuple[Array, Ints]:
        if (path, only) not in self._triangles:
            parts = parts_of(self._read(path, apart=bool(only[0])), only)
            self._triangles[path, only] = joined(parts)
        return self._triangles[path, only]

    def _read(self, path: Path, *, apart: bool = False) -> "list[MeshPart]":
        parts = read_parts(path, apart=apart)
        if parts[0].flaw:
            self._flaws[path] = parts[0].flaw
        return parts

    def _warn(self, name: str, at: Subject) -> None:
        """Add a warning, once, about a file that was read despite a flaw."""
        flaw = self._flaws.pop(self._files.find(name), "") if self._flaws else ""
        if flaw:
            at.warn("odd-mesh", f"the mesh {quote(name, 200)} {flaw}", found=name)

    def read_convex(self, name: str, scale: Vec3, at: Subject) -> tuple[Points, ...] | None:
        """Return the convex parts of a mesh with `decompose`, else its hull; None after an error.

        Arguments as for `read`. If not strict, the hull replaces a flat or open mesh.
        """
        if self._decompose:
            if not audit_scale(scale, at):
                return None
            try:
                parts = self.convex(name, scale)
            except UnusableMeshError as error:
                message = f"the mesh {quote(name, 200)} {error}"
                if error.code == "coacd-missing":
                    at.error(error.code, message, found=name)
                    return None
                if isinstance(error, NoPartsError):
                    instead = "its convex hull is taken"
                    at.repair(error.code, message, instead, found=name)
            else:
                self._warn(name, at)
                return parts
        hull = self.read(name, scale, at)
        return None if hull is None else (hull,)

    def read(self, name: str, scale: Vec3, at: Subject, only: Only = WHOLE) -> Points | None:
        """Return `points`, or None after an error.

        Args:
            name: as for `points`.
            scale: as for `points`; 0 is an error.
            at: the element of the errors; if its audit is not strict, an unusable mesh is left
                out with a warning.
            only: as for `points`.
        """
        return self._found(self.points, name, scale, at, only)

    def read_concave(
        self, name: str, scale: Vec3, at: Subject, only: Only = WHOLE
    ) -> Points | TriangleMesh | None:
        """Return `concave`, or None after an error. Arguments as for `read`."""
        return self._found(self.concave, name, scale, at, only)

    def _found(
        self,
        shape_of: Callable[[str, Vec3, Only], _Shape],
        name: str,
        scale: Vec3,
        at: Subject,
        only: Only,
    ) -> _Shape | None:
        if not audit_scale(scale, at):
            return None
        try:
            found = shape_of(name, scale, only)
        except UnusableMeshError as error:
            message = f"the mesh {quote(name, 200)} {error}"
            at.repair(error.code, message, LEFT_OUT, found=name, allowed=error.allowed)
            return None
        self._warn(name, at)
        return found


def audit_scale(scale: Vec3, at: Subject) -> bool:
    """Return whether all factors are in range and differ from 0; if not, add an error."""
    if 0.0 not in scale:
        return audit_range("scale of the mesh", scale, "scale", at)
    found = " ".join(f"{factor:g}" for factor in scale)
    message = f"the scale of the mesh is {found}; its numbers must not be 0"
    at.error("zero-scale", message, found=found, allowed="not 0")
    return False


def scaled(vertices: Array, scale: Vec3) -> Array:
    """Return the vertices (n, 3) of a mesh [m], scaled along each axis.

    Raises:
        UnusableMeshError: the scaled mesh is too small, or too far away.
    """
    with np.errstate(all="ignore"):  # infinite vertices are refused below
        grown: Array = vertices * np.array(scale)
        size = float(np.ptp(grown, axis=0).max())
    if size < MIN_LENGTH:
        raise UnusableMeshError("bad-mesh", f"is only {size:.2g} m long; its scale may be wrong")
    if not np.abs(grown).max() < FARTHEST:
        message = f"has corners more than {FARTHEST:g} m away; its scale may be wrong"
        raise UnusableMeshError("bad-mesh", message)
    return grown


def outwards(grown: Array, faces: Ints, scale: Vec3) -> Ints:
    """Return the triangles (k, 3) of a scaled mesh; in a closed mesh they face outwards.

    Args:
        grown: (n, 3), its vertices, as `scaled` returns them.
        faces: the triangles before it was scaled.
        scale: a negative factor mirrors.
    """
    if np.prod(scale) < 0.0:
        faces = faces[:, ::-1]
    volume = np.linalg.det(grown[faces] - grown.mean(axis=0)).sum()
    return faces[:, ::-1] if volume < 0.0 and is_closed(grown, faces) else faces


@dataclass(frozen=True, slots=True, eq=False)
class MeshPart:
    """One geometry of a mesh file, placed in its scene.

    Attributes:
        vertices: (n, 3) [m], finite.
        geometry: geometry of trimesh, with faces and colors; its vertices are not placed.
        mirrored: whether the scene mirrors it, so that its faces are inside out.
        texture: name of its image in the file; "" without an image.
        names: names of the part in the file.
        flaw: flaw with which the file was read; follows the name of the file in a warning; ""
            without a flaw.
    """

    vertices: Array
    geometry: Any
    mirrored: bool
    texture: str = ""
    names: tuple[str, ...] = ()
    flaw: str = ""

    @property
    def faces(self) -> Ints:
        """The triangles (k, 3), indices of its vertices; flipped if the scene mirrors them."""
        own: Ints = np.asarray(getattr(self.geometry, "faces", ()), np.int64).reshape(-1, 3)
        return own[:, ::-1] if self.mirrored else own


def joined(parts: Sequence[MeshPart]) -> tuple[Array, Ints]:
    """Return the vertices and the triangles of all parts."""
    firsts = np.cumsum([0, *(len(part.vertices) for part in parts)])
    faces = [first + part.faces for first, part in zip(firsts, parts, strict=False)]
    return np.concatenate([part.vertices for part in parts]), np.concatenate(faces)


def parts_of(parts: Sequence[MeshPart], only: Only) -> list[MeshPart]:
    """Return the parts that `only` names, with their centre at the origin if it says so.

    Raises:
        UnusableMeshError: no part has the name.
    """
    name, centred = only
    found = [part for part in parts if not name or name in part.names]
    if not found:
        known = listing(dict.fromkeys(x for part in parts for x in part.names))
        message = f"has no part {quote(name)}; its parts are {known}"
        raise UnusableMeshError("no-submesh", message, known)
    if centred:
        vertices = np.concatenate([part.vertices for part in found])
        middle = (vertices.min(axis=0) + vertices.max(axis=0)) / 2
        found = [replace(part, vertices=part.vertices - middle) for part in found]
    return found


def read_parts(
    path: Path, materials: Materials | None = None, *, apart: bool = False, as_mujoco: bool = False
) -> list[MeshPart]:
    """Read a mesh file; its parts have at least one vertex.

    Args:
        path: path of the file.
        materials: reads the material files that it names; None: they are not read.
        apart: whether each object of an OBJ is a part.
        as_mujoco: whether to divide the polygons of an OBJ into triangles as MuJoCo does, which
            drops some triangles where sides cross; otherwise into fans.

    Raises:
        UnusableMeshError: the file is not a mesh, or is too large.
    """
    data, kind = (
        read_bytes(path, MAX_BYTES, "mesh", "; simplify it"),
        path.suffix.lower().removeprefix("."),
    )
    flaw = ""
    if kind == "stl" and (length := _binary_stl_length(data)):
        flaw = _of_rest(len(data) - length)
        data = data[:length]
    elif kind in ("obj", "stl"):
        data = data.decode("ascii", "replace").encode("ascii", "replace")
        data = triangulated(data) if as_mujoco and kind == "obj" else data
    unit, shown = check_dae(data) if kind == "dae" else (1.0, 0)
    trimesh = package_for("trimesh", "trimesh")
    if kind == "dae":
        package_for("collada", "pycollada")
    try:
        with np.errstate(all="ignore"):  # non-finite vertices are refused below
            scene = _scene(trimesh, data, kind, materials, apart=apart)
            if len(scene.graph.nodes_geometry) < shown:
                scene = _more_of(scene, trimesh, data, materials)
            nodes = scene.graph.nodes_geometry
            parts = [_part(scene, node, unit, materials) for node in nodes]
    except ImportError as error:
        raise lacks((error.name or "trimesh").partition(".")[0]) from error
    except Exception as error:  # mesh readers raise errors of many types
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise UnusableMeshError("bad-mesh", f"cannot be read: {reason}") from error
    if not any(len(part.vertices) for part in parts):
        raise UnusableMeshError("bad-mesh", "has no vertices")
    if not all((np.abs(part.vertices) < LARGEST).all() for part in parts):
        raise UnusableMeshError("bad-mesh", "has vertices that are not finite numbers")
    return [replace(part, flaw=flaw) for part in parts] if flaw else parts


def _binary_stl_length(data: bytes) -> int:
    """Return the length of a binary STL by its header, or 0 if it is text; refuse other files.

    Some exporters write more bytes after the last triangle, which other readers skip, too.
    """
    is_solid = data[:_HEAD].lstrip().lower().startswith(b"solid")
    if len(data) >= _HEAD:
        triangles = int.from_bytes(data[_TITLE:_HEAD], "little")
        length = _HEAD + _TRIANGLE * triangles
        is_text = is_solid and b"facet" in data[:_START].lower()
        if len(data) == length or (triangles > 0 and length < len(data) and not is_text):
            return length
    if not is_solid:
        message = "is not an STL: it is shorter than its header says, and it is not text"
        raise UnusableMeshError("bad-mesh", message)
    return 0


def _of_rest(count: int) -> str:
    """Return the warning of bytes after the last triangle, or "" without such bytes."""
    if count == 0:
        return ""
    bytes_of = "1 byte" if count == 1 else f"{count} bytes"
    return f"has {bytes_of} after its last triangle, which are ignored"


def _scene(
    trimesh: Any, data: bytes, kind: str, materials: Materials | None, *, apart: bool = False
) -> Any:
    # read from memory: only `materials` may open other files
    more = {"split_objects": True, "split_groups": True} if apart and kind == "obj" else {}
    return trimesh.load(
        io.BytesIO(data),
        file_type=kind,
        force="scene",
        process=False,
        skip_materials=materials is None,
        resolver=materials,
        **more,
    )


def _more_of(scene: Any, trimesh: Any, data: bytes, materials: Materials | None) -> Any:
    """Return the scene of a COLLADA document, with geometries that were lost with their materials.

    pycollada drops geometries with unknown materials.
    """
    collada = package_for("collada", "pycollada")
    document = collada.Collada(io.BytesIO(data), ignore=[collada.common.DaeError])
    known = {material.id for material in document.materials}
    try:
        other = _scene(trimesh, without_materials(data, known), "dae", materials)
    except ValueError:
        return scene
    more = len(other.graph.nodes_geometry) > len(scene.graph.nodes_geometry)
    return other if more else scene


def _part(scene: Any, node: str, unit: float, materials: Materials | None) -> MeshPart:
    """Return the geometry of one node, in the axes of the scene.

    `unit` is the unit of length of the file [m].
    """
    transform, name = scene.graph[node]
    geometry = scene.geometry[name]
    vertices: Array = np.asarray(geometry.vertices, np.float64)
    placed: Array = unit * (vertices @ transform[:3, :3].T + transform[:3, 3])
    mirrored = bool(np.linalg.det(transform[:3, :3]) < 0.0)
    material = getattr(getattr(geometry, "visual", None), "material", None)
    texture = materials.texture_of(material) if materials is not None else ""
    names = tuple(dict.fromkeys((name, node, str(geometry.metadata.get("name", name)))))
    return MeshPart(placed, geometry, mirrored, texture, names)
