"""All pairs of geometries that are near each other: sweep and prune, then pair by pair.

The geometries are sorted along x, and two can be near only if their intervals overlap. The order
and the directions that separated hulls the last time are kept from call to call: they save time
but never change a result.

Source: Baraff, Dynamic simulation of non-penetrating rigid bodies, 1992 (sweep and prune).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rbdyn_ros.engine.collision.pair import measure, pose_of
from rbdyn_ros.engine.collision.support import PLANE
from rbdyn_ros.engine.jit import inline, kernel
from rbdyn_ros.engine.kinematics import poses
from rbdyn_ros.engine.spatial import (
    add3,
    dot3,
    load3,
    load9,
    mat_mul,
    mat_vec,
    store3,
    sub3,
)

if TYPE_CHECKING:
    from rbdyn_ros.arrays import Ints
    from rbdyn_ros.engine.jit import Matrix, Vector
    from rbdyn_ros.model.data import Data
    from rbdyn_ros.model.model import Model

#: Columns of `place`: position, rotation, ends of the interval along x.
LOW, HIGH, PLACE = 12, 13, 14


@kernel
def distance_of_pair(
    m: Model, d: Data, g: int, h: int, place: Matrix, axes: Matrix, out: Vector
) -> None:
    """Write distance, normal and nearest points of two geometries at qpos; see `measure`."""
    poses(m, d)
    _place(m, d, g, place)
    _place(m, d, h, place)
    measure(m, place, g, h, np.inf, axes[0], out)


@kernel
def near_pairs(
    m: Model, d: Data, reach: float, skipped: Ints, place: Matrix, order: Ints, axes: Matrix,
    found: Ints, out: Matrix,
) -> int:  # fmt: skip
    """Find the pairs of meet_geom that are up to `reach` apart at qpos; return their number.

    Args:
        m: the Model.
        d: its Data.
        reach: largest distance.
        skipped: 1 for each pair to leave out.
        place: (ngeomall, PLACE), receives the poses of all geometries.
        order: all geometries, in the order of the last call.
        axes: (nmeet, 3), directions that separated hulls the last time, or zero.
        found: (nmeet), receives the numbers of the pairs, ascending.
        out: (nmeet, 10), receives what `measure` writes, in the order of `found`.
    """
    poses(m, d)
    for g in range(m.ngeomall):
        _place(m, d, g, place)
        p, _ = pose_of(place, g)
        half = m.geom_rbound_all[g] + 0.5 * reach
        flat = m.geom_type_all[g] == PLANE
        place[g, LOW] = -np.inf if flat else p[0] - half
        place[g, HIGH] = np.inf if flat else p[0] + half
    number = _sweep(m, place, order, reach, skipped, found)
    _sort(found, number)
    near = 0
    for n in range(number):
        pair = found[n]
        g, h = m.meet_geom[pair, 0], m.meet_geom[pair, 1]
        if measure(m, place, g, h, reach, axes[pair], out[near]):
            found[near] = pair
            near += 1
    return near


@inline
def _place(m, d, g, place):
    """Write the pose of a geometry."""
    i = m.geom_bodyid_all[g]
    R = load9(d.xmat, i)
    store3(place, g, add3(load3(d.xpos, i), mat_vec(R, load3(m.geom_pos_all, g))))
    R = mat_mul(R, load9(m.geom_mat_all, g))
    place[g, 3], place[g, 4], place[g, 5] = R[0], R[1], R[2]
    place[g, 6], place[g, 7], place[g, 8] = R[3], R[4], R[5]
    place[g, 9], place[g, 10], place[g, 11] = R[6], R[7], R[8]


@kernel
def _sweep(m, place, order, reach, skipped, found):
    """Write the pairs whose bounding spheres are up to `reach` apart; return their number."""
    for n in range(1, m.ngeomall):  # insertion sort: nearly sorted since the last call
        g = order[n]
        k = n - 1
        while k >= 0 and place[order[k], LOW] > place[g, LOW]:
            order[k + 1] = order[k]
            k -= 1
        order[k + 1] = g
    number = 0
    for n in range(m.ngeomall):
        g = order[n]
        for k in range(n + 1, m.ngeomall):
            h = order[k]
            if place[h, LOW] > place[g, HIGH]:
                break
            pair = _pair(m, min(g, h), max(g, h))
            if pair >= 0 and skipped[pair] == 0 and _bounds_near(m, place, g, h, reach):
                found[number] = pair
                number += 1
    return number


@inline
def _pair(m, g, h):
    """Return the number of a pair in meet_geom, or -1."""
    low, high = m.meet_adr[g], m.meet_adr[g] + m.meet_num[g]
    while low < high:
        middle = (low + high) // 2
        if m.meet_geom[middle, 1] < h:
            low = middle + 1
        else:
            high = middle
    at_end = low == m.meet_adr[g] + m.meet_num[g]
    return -1 if at_end or m.meet_geom[low, 1] != h else low


@inline
def _bounds_near(m, place, g, h, reach):
    """Return whether the bounding spheres of two geometries are up to `reach` apart."""
    plane, ball = (g, h) if m.geom_type_all[g] == PLANE else (h, g)
    p, R = pose_of(place, plane)
    q, _ = pose_of(place, ball)
    between = sub3(q, p)
    if m.geom_type_all[plane] == PLANE:
        above = R[2] * between[0] + R[5] * between[1] + R[8] * between[2]
        return above <= m.geom_rbound_all[ball] + reach
    most = m.geom_rbound_all[g] + m.geom_rbound_all[h] + reach
    return most >= 0.0 and dot3(between, between) <= most * most


@kernel
def _sort(found, number):
    """Sort the first numbers of an array by Shell's method."""
    step = 1
    while step < number // 3:
        step = 3 * step + 1
    while step > 0:
        for n in range(step, number):
            value = found[n]
            k = n
            while k >= step and found[k - step] > value:
                found[k] = found[k - step]
                k -= step
            found[k] = value
        step //= 3
