# SPDX-License-Identifier: Apache-2.0
"""The mass distributions of the bodies of an MJCF."""

from collections.abc import Mapping

import numpy as np

from rbdyn_ros.description.build import shapes
from rbdyn_ros.description.checks.inertials import as_matrix
from rbdyn_ros.description.mjcf_files.bodies import MjcfBody
from rbdyn_ros.description.mjcf_files.document import Item
from rbdyn_ros.description.mjcf_files.geoms import Geom
from rbdyn_ros.description.mjcf_files.meshes import MeshShapes
from rbdyn_ros.description.mjcf_files.settings import CompilerSettings, of_matrix
from rbdyn_ros.description.parts.poses import Pose, quat_mul
from rbdyn_ros.description.parts.types import Inertial
from rbdyn_ros.errors import ParameterError

#: Geoms below this mass give no inertia, as in MuJoCo [kg].
LEAST = 1e-15


def read_masses(
    bodies: Mapping[str, MjcfBody], settings: CompilerSettings, meshes: MeshShapes
) -> dict[str, Inertial | None]:
    """Return the inertial of each body except the world, or None for a body without mass."""
    found = {
        name: _bounded(_inertial(body, settings, meshes), body, settings)
        for name, body in bodies.items()
        if body.parent is not None
    }
    total = sum(one.mass for one in found.values() if one is not None)
    if settings.total > 0.0 and total > 0.0:
        found = {
            name: one and shapes.scaled(one, mass=one.mass * settings.total / total)
            for name, one in found.items()
        }
    return found


def _inertial(body: MjcfBody, settings: CompilerSettings, meshes: MeshShapes) -> Inertial | None:
    if body.inertial is not None and settings.inertiafromgeom != "true":
        return _given(body.inertial, settings)
    if settings.inertiafromgeom == "false":
        return None
    low, high = settings.groups
    try:
        parts = [_of_geom(g, meshes) for g in body.geoms if low <= g.group <= high]
    except ParameterError as error:
        body.item.error("bad-mass", f"a geom has no mass that can be used: {error}")
        return None
    heavy = [part for part in parts if part is not None and part.mass > LEAST]
    return shapes.combine(*heavy) if heavy else None


def _of_geom(geom: Geom, meshes: MeshShapes) -> Inertial | None:
    resolved = geom.resolved(meshes)
    return None if resolved is None else resolved.inertial(meshes)


def _given(item: Item, settings: CompilerSettings) -> Inertial | None:
    full, diagonal = item.numbers("fullinertia", 6), item.numbers("diaginertia", 3)
    at = settings.pose(item)
    if not item.given("mass"):
        item.error("missing-attribute", "it has no mass", allowed="mass")
    if full and diagonal:
        item.error("bad-value", "it has both fullinertia and diaginertia; give one")
    if not full and not diagonal:
        return Inertial(item.number("mass"), at)
    a, b, c, d, e, f = full or [*diagonal, 0.0, 0.0, 0.0]
    return Inertial(item.number("mass"), at, (a, b, c, d, e, f))


def _bounded(
    inertial: Inertial | None, body: MjcfBody, settings: CompilerSettings
) -> Inertial | None:
    """Return an inertial within the compiler's bounds; None if a body has none and needs none."""
    bounds = settings.balance or settings.mass > 0.0 or settings.moment > 0.0
    if not bounds or (inertial is None and not body.moves):
        return inertial
    inertial = inertial or Inertial(0.0)
    moments, axes = np.linalg.eigh(as_matrix(np.array(inertial.inertia)))
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] *= -1.0
    low, middle, high = moments.tolist()
    if settings.balance and low + middle < high:
        low = middle = high = (low + middle + high) / 3.0
    xx, yy, zz = (max(moment, settings.moment) for moment in (low, middle, high))
    at = Pose(inertial.origin.pos, quat_mul(inertial.origin.quat, of_matrix(axes)))
    return Inertial(max(inertial.mass, settings.mass), at, (xx, yy, zz, 0.0, 0.0, 0.0))
