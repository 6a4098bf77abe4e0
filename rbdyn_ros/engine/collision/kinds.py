# SPDX-License-Identifier: Apache-2.0
"""The values of geom_type as integers that a kernel can compare."""

from __future__ import annotations

from rbdyn_ros.model.geometry.geoms import GeomType

PLANE = int(GeomType.PLANE)
HFIELD = int(GeomType.HFIELD)
SPHERE = int(GeomType.SPHERE)
CAPSULE = int(GeomType.CAPSULE)
CYLINDER = int(GeomType.CYLINDER)
BOX = int(GeomType.BOX)
MESH = int(GeomType.MESH)
TRIMESH = int(GeomType.TRIMESH)
