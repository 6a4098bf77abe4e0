# SPDX-License-Identifier: Apache-2.0
"""The mesh files next to an output: copies of visible meshes, and hulls of contact shapes."""

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from rbdyn_ros.description.appearance.shapes import AnyShape, MeshFile, Placeholder
from rbdyn_ros.description.meshes.files import UnusableMeshError
from rbdyn_ros.description.meshes.hulls import hull_faces
from rbdyn_ros.description.meshes.meshes import WHOLE, parts_of, read_parts
from rbdyn_ros.description.parts.geometries import Box, Capsule, Points, Sphere, TriangleMesh
from rbdyn_ros.errors import quote
from rbdyn_ros.writing.left_out import LeftOut
from rbdyn_ros.writing.xml import words

#: Shapes that are written as mesh files.
_Meshed = MeshFile | Points | TriangleMesh


class MeshFolder:
    """Names mesh files in a folder next to the output, and keeps their contents.

    Args:
        output: path of the output.
        left: gets a finding for each visible mesh that cannot be used.
        copies: suffixes of files that are copied, while others become triangles; empty: all files
            are copied.

    Attributes:
        files: content by path, relative to the folder of the output.
    """

    def __init__(self, output: Path, left: LeftOut, copies: tuple[str, ...] = ()) -> None:
        self._folder, self._left, self._copies = f"{output.stem}_meshes", left, copies
        self._of: dict[_Meshed, str] = {}
        self.files: dict[str, bytes] = {}

    def file_of(self, name: str, shape: _Meshed) -> str | None:
        """Return the name of a file for a shape; `name` is used for a hull.

        Return None, with a finding, if a mesh cannot be read. Return None if the corners of a hull
        are on a line.
        """
        if shape in self._of:
            return self._of[shape]
        if isinstance(shape, Points):
            return self._hull(name, shape)
        if isinstance(shape, TriangleMesh):
            return self._add(shape, name, ".obj", _obj(shape.vertices.tolist(), shape.faces))
        suffix = shape.path.suffix.lower()
        try:
            if shape.only == WHOLE and (not self._copies or suffix in self._copies):
                return self._add(shape, shape.path.stem, suffix, shape.path.read_bytes())
            return self._add(shape, shape.path.stem, ".obj", _triangles(shape))
        except (OSError, UnusableMeshError) as error:
            self._left.add(f"mesh {quote(shape.path.name)}", "it", f"it {error}")
            return None

    def words_of(
        self, name: str, shape: AnyShape | TriangleMesh
    ) -> tuple[str, dict[str, str]] | None:
        """Return the tag of a shape, and its sizes as text by their names in URDF and SDF.

        `name` names the file of a hull. The file of a mesh is its `uri`. Return None if there is
        no mesh for the shape.
        """
        if isinstance(shape, _Meshed):
            if (file := self.file_of(name, shape)) is None:
                return None
            scale = {"scale": words(*shape.scale)} if isinstance(shape, MeshFile) else {}
            return "mesh", {"uri": file, **scale}
        if isinstance(shape, Box):
            return "box", {"size": words(*shape.size)}
        if isinstance(shape, Sphere):
            return "sphere", {"radius": words(shape.radius)}
        if isinstance(shape, Placeholder):
            return None
        tag = "capsule" if isinstance(shape, Capsule) else "cylinder"
        return tag, {"radius": words(shape.radius), "length": words(shape.length)}

    def _hull(self, name: str, shape: Points) -> str | None:
        faces = hull_faces(np.array(shape.points))
        if not faces:
            return None
        content = _obj(shape.points, [ring for _, ring in faces])
        return self._add(shape, f"{name}_hull", ".obj", content)

    def _add(self, key: _Meshed, name: str, suffix: str, content: bytes) -> str:
        word = "".join(c if c.isalnum() or c in "-_." else "_" for c in name)
        names = self._names(word, suffix)
        path = next(path for path in names if self.files.get(path, content) == content)
        self.files[path] = content
        self._of[key] = path
        return path

    def _names(self, word: str, suffix: str) -> Iterator[str]:
        yield f"{self._folder}/{word}{suffix}"
        for n in itertools.count(2):
            yield f"{self._folder}/{word}_{n}{suffix}"


def _obj(vertices: Iterable[Iterable[float]], faces: Iterable[Iterable[int]]) -> bytes:
    lines = ["v " + " ".join(map(repr, vertex)) for vertex in vertices]
    lines += ["f " + " ".join(str(corner + 1) for corner in face) for face in faces]
    return ("\n".join(lines) + "\n").encode()


def _triangles(mesh: MeshFile) -> bytes:
    lines, first = [], 1
    for part in parts_of(read_parts(mesh.path, apart=bool(mesh.only[0])), mesh.only):
        lines += ["v " + " ".join(map(repr, point)) for point in part.vertices.tolist()]
        faces = part.geometry.faces[:, ::-1] if part.mirrored else part.geometry.faces
        lines += ["f " + " ".join(map(str, face)) for face in (faces + first).tolist()]
        first += len(part.vertices)
    return ("\n".join(lines) + "\n").encode()
