# SPDX-License-Identifier: Apache-2.0
"""The mesh files beside an output: copies of visible meshes, and hulls of contact shapes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from rbdyn_ros.description.appearance.shapes import MeshFile
from rbdyn_ros.description.meshes.hulls import hull_faces
from rbdyn_ros.description.meshes.meshes import read_parts
from rbdyn_ros.description.parts.geometries import Points


class MeshFolder:
    """Names mesh files in a folder beside the output, and keeps what they hold.

    Attributes:
        files: content by path, relative to the folder of the output.
    """

    def __init__(self, output: Path) -> None:
        self._folder = f"{output.stem}_meshes"
        self._of: dict[Path | Points, str] = {}
        self.files: dict[str, bytes] = {}

    def file_of(self, name: str, shape: MeshFile | Points) -> str | None:
        """Return the name of a file for a shape; `name` is used for a hull."""
        return self.copied(shape) if isinstance(shape, MeshFile) else self.hull(name, shape)

    def copied(self, mesh: MeshFile) -> str:
        """Return the name of the copy of a mesh file."""
        if mesh.path not in self._of:
            self._add(mesh.path, mesh.path.stem, mesh.path.suffix.lower(), mesh.path.read_bytes())
        return self._of[mesh.path]

    def triangles(self, mesh: MeshFile) -> str:
        """Return the name of an .obj file with the triangles of a mesh, without its colours.

        Raises:
            UnusableMeshError: the file is no mesh.
        """
        if mesh.path not in self._of:
            lines, first = [], 1
            for part in read_parts(mesh.path):
                lines += ["v " + " ".join(map(repr, point)) for point in part.vertices.tolist()]
                faces = part.geometry.faces[:, ::-1] if part.mirrored else part.geometry.faces
                lines += ["f " + " ".join(map(str, face)) for face in (faces + first).tolist()]
                first += len(part.vertices)
            self._add(mesh.path, mesh.path.stem, ".obj", ("\n".join(lines) + "\n").encode())
        return self._of[mesh.path]

    def hull(self, name: str, shape: Points) -> str | None:
        """Return the name of a file with a convex hull; None if its corners are on a line."""
        if shape not in self._of:
            faces = hull_faces(np.array(shape.points))
            if not faces:
                return None
            lines = ["v " + " ".join(map(repr, point)) for point in shape.points]
            lines += ["f " + " ".join(str(corner + 1) for corner in ring) for _, ring in faces]
            self._add(shape, f"{name}_hull", ".obj", ("\n".join(lines) + "\n").encode())
        return self._of[shape]

    def _add(self, key: Path | Points, name: str, suffix: str, content: bytes) -> None:
        word = "".join(c if c.isalnum() or c in "-_." else "_" for c in name)
        path = next(path for path in self._names(word, suffix) if path not in self.files)
        self.files[path] = content
        self._of[key] = path

    def _names(self, word: str, suffix: str) -> Iterator[str]:
        yield f"{self._folder}/{word}{suffix}"
        for n in itertools.count(2):
            yield f"{self._folder}/{word}_{n}{suffix}"
