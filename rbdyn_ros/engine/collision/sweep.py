# SPDX-License-Identifier: Apache-2.0
"""Sweep and prune: the pairs of a list whose bounding boxes and spheres overlap.

The geometries are sorted along x, and two can be near only if their intervals overlap. The order
is kept from call to call, which saves time but never changes a result.

Source: Baraff, Dynamic simulation of non-penetrating rigid bodies, 1992.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import (
    add3,
    dot3,
    load3,
    load9,
    mat_mul,
    mat_vec,
    store3,
    sub3,
)
from rbdyn_ros.engine.collision.kinds import PLANE
from rbdyn_ros.engine.compiler.jit import inline, kernel

#: Columns of `place` after position and rotation: lower and upper corner of the bounding box,
#: radius of the bounding sphere, displacement of the geometry in a step, and 1 if contact_list.py
#: lists its contacts.
LOW, HIGH, REACH, WAY, ASKED = 12, 15, 18, 19, 20

#: Bounds are enlarged by this part of the size, so that rounding errors exclude no touching pair.
BOUND_MARGIN = 1e-12


@inline
def place_geom(m, d, g, place):
    """Write the pose of a geometry in the world to its row of `place`."""
    i = m.geom_bodyid[g]
    R = load9(d.xmat, i)
    p = add3(load3(d.xpos, i), mat_vec(R, load3(m.geom_pos, g)))
    store_pose(place, g, p, mat_mul(R, load9(m.geom_mat, g)))


@inline
def store_pose(place, g, p, R):
    """Write the position and rotation of a geometry in the world."""
    store3(place, g, p)
    place[g, 3], place[g, 4], place[g, 5] = R[0], R[1], R[2]
    place[g, 6], place[g, 7], place[g, 8] = R[3], R[4], R[5]
    place[g, 9], place[g, 10], place[g, 11] = R[6], R[7], R[8]


@inline
def pose_of(place, g):
    """Return the position and rotation of a geometry in the world."""
    p = (place[g, 0], place[g, 1], place[g, 2])
    R = (
        place[g, 3], place[g, 4], place[g, 5],
        place[g, 6], place[g, 7], place[g, 8],
        place[g, 9], place[g, 10], place[g, 11],
    )  # fmt: skip
    return p, R


@inline
def bound(m, g, place, reach):
    """Write the bounding box and sphere of a geometry, larger by `reach`."""
    radius = m.geom_rbound[g]
    place[g, REACH] = radius + reach
    flat, margin, half = m.geom_type[g] == PLANE, reach + BOUND_MARGIN * radius, m.geom_half[g]
    for k in range(3):
        most = margin
        for n in range(3):
            most += abs(place[g, 3 + 3 * k + n]) * half[n]
        place[g, LOW + k] = -np.inf if flat else place[g, k] - most
        place[g, HIGH + k] = np.inf if flat else place[g, k] + most


@kernel
def sweep(m, count, place, order, pairs, first, number_of, found):
    """Write the numbers of the pairs whose bounds overlap, in any order; return how many.

    Args:
        m: the Model.
        count: number of geometries to sweep; these are the first geometries.
        place: the rows of the geometries, see `place_geom` and `bound`.
        order: numbers of the geometries, in the order of the last call. If a number is out of
            range, or all are zero, the sort starts from the beginning.
        pairs: (n, 2), pairs of geometries, the lower number first, in ascending order.
        first: for each geometry, its first pair with a later geometry.
        number_of: for each geometry, how many pairs it has with later geometries.
        found: receives the numbers of the pairs; those beyond its length are counted but not
            written.
    """
    _sort_along_x(place, order, count)
    number = 0
    for n in range(count):
        g = order[n]
        right, low_y, low_z = place[g, HIGH], place[g, LOW + 1], place[g, LOW + 2]
        high_y, high_z = place[g, HIGH + 1], place[g, HIGH + 2]
        for k in range(n + 1, count):
            h = order[k]
            if place[h, LOW] > right:
                break
            # one branch, because a processor cannot predict which of four tests fails
            gap = max(place[h, LOW + 1] - high_y, low_y - place[h, HIGH + 1])
            gap = max(gap, place[h, LOW + 2] - high_z, low_z - place[h, HIGH + 2])
            if gap > 0.0 or not bounds_near(m, place, g, h):
                continue
            low = min(g, h)
            pair = _pair(pairs, first[low], first[low] + number_of[low], max(g, h))
            if pair >= 0:
                if number < len(found):
                    found[number] = pair
                number += 1
    return number


@kernel
def _sort_along_x(place, order, count):
    """Sort the order of the last call by insertion: it is nearly sorted."""
    sound = count < 2 or order[0] != order[1]  # after a reset all entries of `order` are zero
    for n in range(count):
        sound = sound and order[n] >= 0 and order[n] < count
    if not sound:
        for n in range(count):
            order[n] = n
    for n in range(1, count):
        g = order[n]
        k = n - 1
        while k >= 0 and place[order[k], LOW] > place[g, LOW]:
            order[k + 1] = order[k]
            k -= 1
        order[k + 1] = g


@inline
def _pair(pairs, low, end, h):
    """Return the number of the pair whose later geometry is h, from `low` to `end`, or -1."""
    if low < end:
        # this is the pair if the geometry has a pair with every later geometry
        place = low + h - pairs[low, 1]
        if low <= place < end and pairs[place, 1] == h:
            return place
    high = end
    while low < high:
        middle = (low + high) // 2
        if pairs[middle, 1] < h:
            low = middle + 1
        else:
            high = middle
    return -1 if low == end or pairs[low, 1] != h else low


@inline
def bounds_near(m, place, g, h):
    """Return whether the bounding boxes and spheres of two geometries overlap."""
    for k in range(3):
        if place[g, LOW + k] > place[h, HIGH + k] or place[h, LOW + k] > place[g, HIGH + k]:
            return False
    plane, ball = (g, h) if m.geom_type[g] == PLANE else (h, g)
    p, R = pose_of(place, plane)
    q, _ = pose_of(place, ball)
    between = sub3(q, p)
    most = place[g, REACH] + place[h, REACH]
    if m.geom_type[plane] == PLANE:
        return R[2] * between[0] + R[5] * between[1] + R[8] * between[2] <= most
    return most >= 0.0 and dot3(between, between) <= most * most


@kernel
def sort(found, number):
    """Sort the first `number` entries of an array by Shell's method."""
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
