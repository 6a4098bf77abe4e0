# SPDX-License-Identifier: Apache-2.0
"""Make an appearance for a Model without visuals, such as a Model built in Python."""

import numpy as np

from rbdyn_ros.description.appearance.shapes import PALETTE, AnyShape, Appearance, LinkShape
from rbdyn_ros.description.parts.geometries import Box
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.tree.rotation import mat_to_quat
from rbdyn_ros.view.scene.parts import equivalent_box, geometry_shape, massive_bodies

#: Shortest edge of a body's box, as a share of the longest edge of all boxes.
THINNEST = 0.02


def plain_looks(m: Model) -> Appearance:
    """Return an appearance with each body's contact geometries, or else a box of its inertia.

    The colours of a palette alternate from body to body.
    """
    shapes = _geometries(m)
    touching = {body for body, *_ in shapes}
    shapes += [one for one in _inertias(m) if one[0] not in touching]
    bodies = sorted({body for body, *_ in shapes})
    colors = {body: PALETTE[k % len(PALETTE)] for k, body in enumerate(bodies)}
    looks = (LinkShape(m.body_names[k], shape, at, colors[k]) for k, shape, at in shapes)
    return Appearance(tuple(looks))


def _geometries(m: Model) -> list[tuple[int, AnyShape, Pose]]:
    found: list[tuple[int, AnyShape, Pose]] = []
    for g in range(m.ngeomlink):
        shape = geometry_shape(m, g)
        if shape is not None:
            quat = mat_to_quat(m.geom_mat[g])
            at = Pose(tuple(m.geom_pos[g].tolist()), tuple(quat.tolist()))
            found.append((int(m.geom_bodyid[g]), shape, at))
    return found


def _inertias(m: Model) -> list[tuple[int, AnyShape, Pose]]:
    bodies = massive_bodies(m)
    edges = equivalent_box(m.body_mass[bodies], m.body_inertia[bodies])
    thickest = np.maximum(edges, THINNEST * edges.max(initial=1e-3))
    found: list[tuple[int, AnyShape, Pose]] = []
    for body, (x, y, z) in zip(bodies.tolist(), thickest.tolist(), strict=True):
        at = Pose(tuple(m.body_ipos[body].tolist()), tuple(m.body_iquat[body].tolist()))
        found.append((body, Box((x, y, z)), at))
    return found
