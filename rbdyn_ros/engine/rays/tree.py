# SPDX-License-Identifier: Apache-2.0
"""A binary tree of bounding boxes, which finds the few objects that a ray can hit.

A node is a row of numbers that fits a cache line. A leaf has COUNT objects, which begin at
`order[FIRST]`. An inner node has the COUNT 0; its children are the next node and the node FIRST.

Source: Wald, On fast construction of SAH-based bounding volume hierarchies, 2007 (bins).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.compiler.stack import stack_floats, stack_ints

if TYPE_CHECKING:
    from rbdyn_ros.arrays import Ints
    from rbdyn_ros.engine.compiler.jit import Matrix

#: Columns of a node; a box has the first six.
LOW, HIGH, FIRST, COUNT, NODE = 0, 3, 6, 7, 8

#: Largest number of objects in a leaf, and number of bins along an axis. A node is divided between
#: two bins.
LEAF, BINS = 4, 16

#: Largest depth of a tree; deeper nodes become one leaf.
DEEPEST = 64

#: The far end of an interval is multiplied by this, because 3 operations round each end.
WIDER = 1.0 + 8.0 * 2.0**-53


@kernel
def grow(boxes: Matrix, order: Ints, node: Matrix) -> int:
    """Build the tree of some boxes; return its number of nodes, at most 2 n.

    Args:
        boxes: (n, 6), low and high corner of each object's box; they must be finite.
        order: (n), the numbers of the objects; they are sorted in the order of the leaves.
        node: (2 n, NODE), receives the nodes.
    """
    # columns: first object, end, depth, and the parent if this is its second child, else -1
    waiting = stack_ints(DEEPEST, 4)
    left, nodes = 0, 0
    if len(order) > 0:
        left = _wait(waiting, 0, 0, len(order), 0, -1)
    while left > 0:
        left -= 1
        first, end, depth = waiting[left, 0], waiting[left, 1], waiting[left, 2]
        if waiting[left, 3] >= 0:
            node[waiting[left, 3], FIRST] = nodes
        _enclose(boxes, order, first, end, node, nodes)
        middle = first
        if end - first > LEAF and depth < DEEPEST - 2:
            middle = _divide(boxes, order, first, end)
        if middle == first:
            node[nodes, FIRST], node[nodes, COUNT] = first, end - first
        else:
            node[nodes, COUNT] = 0
            left = _wait(waiting, left, middle, end, depth + 1, nodes)
            left = _wait(waiting, left, first, middle, depth + 1, -1)
        nodes += 1
    return nodes


@inline
def _wait(waiting, left, first, end, depth, parent):
    waiting[left, 0], waiting[left, 1], waiting[left, 2] = first, end, depth
    waiting[left, 3] = parent
    return left + 1


@inline
def _enclose(boxes, order, first, end, node, n):
    _clear(node, n)
    for k in range(first, end):
        _join(node, n, boxes, order[k])


@inline
def _centre(boxes, thing, axis):
    return 0.5 * (boxes[thing, LOW + axis] + boxes[thing, HIGH + axis])


@kernel
def _divide(boxes, order, first, end):
    """Sort objects into two groups; return where the second begins, or `first` if not divided.

    The objects are divided along the axis on which their centres spread most, at one of BINS - 1
    positions. The chosen position has the least sum of area times number, which is the expected
    cost of a random ray.
    """
    axis, least, most = 0, 0.0, -1.0
    for k in range(3):
        low, high = np.inf, -np.inf
        for n in range(first, end):
            centre = _centre(boxes, order[n], k)
            low, high = min(low, centre), max(high, centre)
        if high - low > most - least:
            axis, least, most = k, low, high
    if not most > least:
        return first
    scale = BINS / (most - least)
    place = _best_place(boxes, order, first, end, axis, least, scale)
    n, last = first, end - 1
    while n <= last:
        if _bin(_centre(boxes, order[n], axis), least, scale) <= place:
            n += 1
        else:
            order[n], order[last] = order[last], order[n]
            last -= 1
    return n if n < end else first


@inline
def _bin(centre, least, scale):
    return min(max(int((centre - least) * scale), 0), BINS - 1)


@kernel
def _best_place(boxes, order, first, end, axis, least, scale):
    """Return the last bin of the first group in the division of least cost."""
    bins, count = stack_floats(BINS, 6), stack_ints(BINS, 1)
    for b in range(BINS):
        count[b, 0] = 0
        _clear(bins, b)
    for n in range(first, end):
        b = _bin(_centre(boxes, order[n], axis), least, scale)
        count[b, 0] += 1
        _join(bins, b, boxes, order[n])
    # `beyond` has the cost of each bin and all later bins as one group
    total, beyond = stack_floats(1, 6), stack_floats(BINS, 1)
    _clear(total, 0)
    number = 0
    for b in range(BINS - 1, 0, -1):
        _join(total, 0, bins, b)
        number += count[b, 0]
        beyond[b, 0] = number * _area(total, 0)
    _clear(total, 0)
    number, best, place = 0, np.inf, 0
    for b in range(BINS - 1):
        _join(total, 0, bins, b)
        number += count[b, 0]
        cost = number * _area(total, 0) + beyond[b + 1, 0]
        if number > 0 and number < end - first and cost < best:
            best, place = cost, b
    return place


@inline
def _clear(boxes, b):
    for k in range(3):
        boxes[b, LOW + k], boxes[b, HIGH + k] = np.inf, -np.inf


@inline
def _join(boxes, b, others, other):
    for k in range(3):
        boxes[b, LOW + k] = min(boxes[b, LOW + k], others[other, LOW + k])
        boxes[b, HIGH + k] = max(boxes[b, HIGH + k], others[other, HIGH + k])


@inline
def _area(boxes, b):
    """Return half the area of a box, 0 if it is empty."""
    x, y = boxes[b, HIGH] - boxes[b, LOW], boxes[b, HIGH + 1] - boxes[b, LOW + 1]
    z = boxes[b, HIGH + 2] - boxes[b, LOW + 2]
    return x * (y + z) + y * z if x >= 0.0 else 0.0


@inline
def enters(node, n, start, inverse):
    """Return the distance at which a ray enters the box of a node; infinity if it misses the box.

    Args:
        node: the tree; its boxes are larger than their contents by more than rounding errors.
        n: number of the node.
        start: start point of the ray.
        inverse: 1 / direction by component; infinity for 0.
    """
    near, far = -np.inf, np.inf
    for k in range(3):
        a = (node[n, LOW + k] - start[k]) * inverse[k]
        b = (node[n, HIGH + k] - start[k]) * inverse[k]
        # a NaN means that the ray lies in the plane of a side of the box; it counts as a miss
        near, far = max(near, min(a, b)), min(far, max(a, b))
    return near if far >= 0.0 and near <= far * WIDER else np.inf


@inline
def descend(node, n, start, inverse, most, waiting, entry, left):
    """Return the nearer child of an inner node, or -1; put the other child on the stack.

    Args:
        node: the tree.
        n: number of the node.
        start: see enters.
        inverse: see enters.
        most: largest distance; boxes that the ray enters farther away do not count.
        waiting: (DEEPEST, 1), the stack of nodes still to visit.
        entry: (DEEPEST, 1), the distances at which the ray enters these nodes.
        left: the number of nodes on the stack; the new number is also returned.
    """
    a, b = n + 1, int(node[n, FIRST])
    at_a, at_b = enters(node, a, start, inverse), enters(node, b, start, inverse)
    if at_b < at_a:
        a, b, at_a, at_b = b, a, at_b, at_a
    if at_b <= most and at_b < np.inf:
        waiting[left, 0], entry[left, 0] = b, at_b
        left += 1
    return (a if at_a <= most and at_a < np.inf else -1), left


@inline
def next_node(waiting, entry, left, most):
    """Take nodes off the stack up to one entered before `most`; return it or -1, and `left`."""
    while left > 0:
        left -= 1
        if entry[left, 0] <= most:
            return waiting[left, 0], left
    return -1, 0
