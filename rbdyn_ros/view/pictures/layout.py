# SPDX-License-Identifier: Apache-2.0
"""The layout of a connectivity graph: columns by distance from the base.

The tree grows to the right, so that names fit below each other. Each leaf has its own row; a
parent is centred on its children.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Array
from rbdyn_ros.model.tree.graph import Graph

RADIUS = 0.13  # radius of a body [inch]
MOST_EDGE_LABELS, MOST_NAMES = 80, 400
LARGEST = 60.0  # largest picture [inch]


@dataclass(frozen=True, slots=True)
class GraphLayout:
    """Positions in the picture of a graph [inch], with y upwards.

    Attributes:
        x, y: positions of the bodies, the base first.
        bend: x at which the edges from a body to its children branch.
        radius: radius of a body.
        edge_labels, names: whether there is room for labels of joints, and for names of bodies.
    """

    x: Array
    y: Array
    bend: Array
    radius: float
    edge_labels: bool
    names: bool


def lay_out(graph: Graph, names: Sequence[float], labels: Sequence[float]) -> GraphLayout:
    """Return the positions of all bodies.

    Args:
        graph: a regularly numbered graph.
        names: width of the name of each body, the base first [inch].
        labels: width of the label of each tree joint [inch].
    """
    rows, depth = tree_rows(graph)
    number = graph.N_B + 1
    with_labels, with_names = number <= MOST_EDGE_LABELS, number <= MOST_NAMES
    pitch = 0.12
    if with_names:
        pitch = 0.5 if graph.N_L == 0 else 0.8
    half = 0.5 * _widest(names, depth) if with_names else np.full(int(depth.max()) + 1, 0.05)
    label = _widest([0.0, *labels], depth) if with_labels else np.full(len(half), 0.15)
    before_bend = np.maximum(half, RADIUS) + 0.08
    # leave room for a label between bend and body, and for the names of neighbouring bodies
    steps = before_bend[:-1] + np.maximum(label[1:] + 0.3 + RADIUS, half[1:] + 0.1)
    columns = np.concatenate([[0.0], np.cumsum(steps)])
    x, y, bend = columns[depth], -pitch * rows, (columns + before_bend)[depth]
    shrink = min(1.0, LARGEST / max(np.ptp(x), np.ptp(y), 1.0))
    roomy = shrink == 1.0
    radius = RADIUS if with_names and roomy else max(0.004, 0.04 * shrink)
    return GraphLayout(
        shrink * x, shrink * y, shrink * bend, radius, with_labels and roomy, with_names and roomy
    )


def tree_rows(graph: Graph) -> tuple[Array, NDArray[np.int64]]:
    """Return the row of each body, counted from the top, and its distance from the base."""
    rows, depth = np.zeros(graph.N_B + 1), np.zeros(graph.N_B + 1, np.int64)
    order, waiting, leaves = [], [0], 0
    while waiting:
        body = waiting.pop()
        order.append(body)
        children = graph.mu(body)
        depth[list(children)] = depth[body] + 1
        waiting.extend(reversed(children))
        if not children:
            rows[body] = leaves
            leaves += 1
    for body in reversed(order):
        if children := graph.mu(body):
            rows[body] = 0.5 * (rows[children[0]] + rows[children[-1]])
    return rows, depth


def _widest(widths: Sequence[float], depth: NDArray[np.int64]) -> Array:
    """Return the largest width in each column; depth: column of each width."""
    widest = np.zeros(int(depth.max()) + 1)
    np.maximum.at(widest, depth, np.asarray(widths, np.float64))
    return widest
