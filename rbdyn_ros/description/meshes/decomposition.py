# SPDX-License-Identifier: Apache-2.0
"""Convex parts of a mesh that is not convex, by the library coacd; kept on disk.

Source: Wei, Liu, Ling, Su, Approximate convex decomposition for 3D meshes with collision-aware
concavity and tree search, 2022.
"""

import contextlib
import hashlib
import importlib
import io
import os
import tempfile
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.meshes.files import UnusableMeshError
from rbdyn_ros.description.meshes.hulls import NoHullError, hull_corners, hull_moments

#: Depth of a hollow that may be filled, as a part of the mesh's size.
CONCAVITY = 0.05

#: Largest number of parts of a mesh.
MOST_PARTS = 64

#: Largest number of triangles of a mesh; coacd would need minutes for more.
MOST_TRIANGLES = 200_000

Triangles = NDArray[np.int64]


class NoPartsError(UnusableMeshError):
    """A mesh has a convex hull, but cannot be divided into convex parts."""


def convex_parts(vertices: Array, triangles: Triangles) -> list[Array]:
    """Return the corners (n, 3) of convex parts that together have the shape of a mesh.

    Args:
        vertices: (n, 3).
        triangles: (k, 3), indices of vertices; the mesh must be closed.

    Raises:
        NoPartsError: the mesh is flat or open, or has too many triangles, or coacd fails.
        UnusableMeshError: coacd is not installed.
    """
    if len(triangles) > MOST_TRIANGLES:
        message = f"has {len(triangles)} triangles; at most {MOST_TRIANGLES} are decomposed"
        raise NoPartsError("mesh-too-large", message, f"up to {MOST_TRIANGLES}")
    try:
        hull_moments(vertices)
    except NoHullError as error:
        raise NoPartsError("flat-mesh", "is flat, so it has no convex parts") from error
    solid = importlib.import_module("trimesh").Trimesh(vertices, triangles, process=True)
    if not solid.is_watertight:
        message = "is open, so it has no inside that could be divided into convex parts"
        raise NoPartsError("open-mesh", message)
    if solid.volume < 0.0:
        solid.invert()
    return _parts(_coacd(), np.asarray(solid.vertices), np.asarray(solid.faces))


def _coacd() -> Any:
    try:
        return importlib.import_module("coacd")
    except ImportError as error:
        message = 'needs the package coacd to be decomposed: pip install "rbdyn_ros[decompose]"'
        raise UnusableMeshError("coacd-missing", message, "the package coacd") from error


def _parts(coacd: Any, vertices: Array, faces: Triangles) -> list[Array]:
    file = _file(vertices, faces)
    parts = _kept(file)
    if parts is None:
        coacd.set_log_level("error")
        mesh = coacd.Mesh(vertices, faces)
        try:
            found = coacd.run_coacd(mesh, threshold=CONCAVITY, max_convex_hull=MOST_PARTS, seed=0)
            parts = [hull_corners(np.asarray(corners, np.float64)) for corners, _ in found]
        except (NoHullError, RuntimeError, ValueError) as error:
            raise NoPartsError("bad-mesh", f"cannot be decomposed: {error}") from error
        _keep(file, parts)
    return parts


def _file(vertices: Array, faces: Triangles) -> Path:
    """Return the path of a mesh's parts, next to the compiled code of this package."""
    version = importlib.import_module("importlib.metadata").version("coacd")
    settings = f"{version} {CONCAVITY} {MOST_PARTS}"
    content = hashlib.sha256(settings.encode() + vertices.tobytes() + faces.tobytes())
    given = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    folder = Path(given).expanduser() / "rbdyn_ros" / "convex_parts"
    return folder / f"{content.hexdigest()}.npz"


def _kept(file: Path) -> list[Array] | None:
    """Return the parts in a file, or None if it is missing or damaged."""
    try:
        with np.load(io.BytesIO(file.read_bytes()), allow_pickle=False) as parts:
            found = [np.asarray(parts[name], np.float64) for name in parts.files]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
        return None
    sound = all(part.ndim == 2 and part.shape[1] == 3 for part in found)
    return found if found and sound and all(np.isfinite(part).all() for part in found) else None


def _keep(file: Path, parts: list[Array]) -> None:
    """Write the parts completely or not at all; skip this if the folder cannot be written."""
    content = io.BytesIO()
    np.savez(content, *parts)
    with contextlib.suppress(OSError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=file.parent)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(content.getvalue())
            Path(name).replace(file)
        finally:
            Path(name).unlink(missing_ok=True)
