# SPDX-License-Identifier: Apache-2.0
"""All pairs of geometries that are near each other: sweep and prune, then pair by pair.

The order of the sweep and the directions that separated hulls are kept for the next call. They
save time but never change a result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rbdyn_ros.engine.algebra.spatial import add3, mat_vec, scaled3
from rbdyn_ros.engine.collision.kinds import TRIMESH
from rbdyn_ros.engine.collision.mesh_distance import mesh_distance
from rbdyn_ros.engine.collision.pair import in_order, nearest_points, relative
from rbdyn_ros.engine.collision.sweep import bound, place_geom, pose_of, sort, sweep
from rbdyn_ros.engine.compiler.jit import kernel
from rbdyn_ros.engine.tree.kinematics import poses

if TYPE_CHECKING:
    from rbdyn_ros.arrays import Ints
    from rbdyn_ros.engine.compiler.jit import Matrix, Vector
    from rbdyn_ros.model.data import Data
    from rbdyn_ros.model.model import Model


@kernel
def measure(m, place, g, h, reach, axis, out):
    """Write distance, normal and nearest points of a pair; return whether it is within `reach`.

    If the two are farther apart than `reach`, write nothing and return False. At most one of them
    may be a plane or a triangle mesh, and neither may be a height field. `out` receives the
    distance, the unit normal from g to h, the point of g and the point of h. `axis` (AXIS) holds a
    direction that may separate the two, or zero, and the corners farthest along it. It is replaced
    if another direction separates them.
    """
    a, b, swapped = in_order(m, g, h)
    R, t = relative(place, a, b)
    if m.geom_type[b] == TRIMESH:
        dist, normal, x, y = mesh_distance(m, a, b, R, t, reach)
    else:
        dist, normal, x, y = nearest_points(m, a, b, R, t, reach, axis)
    if not dist <= reach:
        return False
    p, R_A = pose_of(place, a)
    normal = mat_vec(R_A, normal)
    x, y = add3(p, mat_vec(R_A, x)), add3(p, mat_vec(R_A, y))
    if swapped:
        normal, x, y = scaled3(normal, -1.0), y, x
    out[0] = dist
    out[1], out[2], out[3] = normal
    out[4], out[5], out[6] = x
    out[7], out[8], out[9] = y
    return True


@kernel
def distance_of_pair(
    m: Model, d: Data, g: int, h: int, place: Matrix, axes: Matrix, out: Vector
) -> None:
    """Write the distance, normal and nearest points of two geometries at qpos; see `measure`."""
    poses(m, d)
    place_geom(m, d, g, place)
    place_geom(m, d, h, place)
    measure(m, place, g, h, np.inf, axes[0], out)


@kernel
def near_pairs(
    m: Model, d: Data, reach: float, skipped: Ints, place: Matrix, order: Ints, axes: Matrix,
    found: Ints, out: Matrix,
) -> int:  # fmt: skip
    """Find the pairs of distance_geom that are up to `reach` apart at qpos; return their number.

    Args:
        m: the Model.
        d: its Data.
        reach: largest distance.
        skipped: 1 for each pair to leave out.
        place: (ngeom, PLACE), receives the poses of all geometries.
        order: numbers of all geometries, in the order that the last call left; sorted again here.
        axes: (ndistance, AXIS), directions that separated hulls in the last call, or zero.
        found: (ndistance), receives the numbers of the pairs, ascending.
        out: (ndistance, 10), receives what `measure` writes, in the order of `found`.
    """
    poses(m, d)
    for g in range(m.ngeom):
        place_geom(m, d, g, place)
        bound(m, g, place, 0.5 * reach)
    number = sweep(
        m, m.ngeom, place, order, m.distance_geom, m.distance_adr, m.distance_num, found
    )
    sort(found, number)
    near = 0
    for n in range(number):
        pair = found[n]
        g, h = m.distance_geom[pair, 0], m.distance_geom[pair, 1]
        if skipped[pair] == 0 and measure(m, place, g, h, reach, axes[pair], out[near]):
            found[near] = pair
            near += 1
    return near
