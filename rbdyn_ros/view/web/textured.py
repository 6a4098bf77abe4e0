# SPDX-License-Identifier: Apache-2.0
"""Convert a part with a texture to a mesh of trimesh, which viser sends as glTF."""

import importlib
import io
from typing import Any

import numpy as np

from rbdyn_ros.view.scene.parts import Part

#: Quality of the JPEG images that browsers get.
QUALITY = 90


def textured_mesh(part: Part) -> Any:
    """Return the mesh of a part that has an image, in its own frame."""
    trimesh = importlib.import_module("trimesh")
    visual = importlib.import_module("trimesh.visual")
    Image = importlib.import_module("PIL.Image")
    surface, file = part.surface, io.BytesIO()
    assert surface.places is not None
    Image.fromarray(part.image).save(file, "JPEG", quality=QUALITY)
    material = visual.material.PBRMaterial(
        baseColorTexture=Image.open(file),
        metallicFactor=0.0,
        roughnessFactor=1.0,
        doubleSided=True,
    )
    mesh = trimesh.Trimesh(surface.vertices, surface.faces, process=False)
    normals = np.asarray(mesh.vertex_normals)[surface.faces].reshape(-1, 3)
    return trimesh.Trimesh(  # corners are not shared, as each can have several image coordinates
        surface.vertices[surface.faces].reshape(-1, 3),
        np.arange(surface.faces.size).reshape(-1, 3),
        vertex_normals=normals,
        visual=visual.TextureVisuals(uv=surface.places.reshape(-1, 2), material=material),
        process=False,
    )
