"""Convex hulls of meshes, reduced to a number of corners that a simulation can look at."""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np

from rbdyn_ros.arrays import Array

#: Corners that are kept of a hull.
MOST_CORNERS = 100
#: Directions in which the first of them lie.
FIRST = 26
#: What is thinner than this part of its length has no volume, or no area.
FLAT = 1e-9


class NoHullError(Exception):
    """Qhull finds none, though the points are not in a plane."""


def hull_corners(points: Array) -> Array:
    """Return the corners of the convex hull of points (n, 3), in their order.

    Of points in a plane they are the corners of a polygon, of those on a line its two ends, and
    of one point that point.

    Raises:
        NoHullError: the numbers are too extreme.
    """
    seen = _in_own_axes(points)
    if seen.shape[1] > 1:
        corners: Array = points[np.sort(_hull(seen).vertices)]
        return corners
    ends = {int(seen[:, 0].argmin()), int(seen[:, 0].argmax())}
    return points[sorted(ends)]


def reduced(corners: Array, most: int = MOST_CORNERS) -> Array:
    """Return some of the corners of a convex body, whose hull is nearly the body.

    First come those that are farthest in evenly spread directions and along the axes, so that
    the body keeps its bounding box; then, over and over, those farthest outside the hull of what
    is kept. What is left out lies outside by at most 5.1 mm on the 273 collision meshes of
    example-robot-data with more corners than 100 (1 mm on average, 4 % of half the length of
    the mesh at most); a round body of 100 corners cannot do better than 2 % of its radius.

    Args:
        corners: (n, 3), as `hull_corners` returns them.
        most: how many are kept at most, more than FIRST.

    Raises:
        NoHullError: the numbers are too extreme.
    """
    if len(corners) <= most:
        return corners
    seen = _in_own_axes(corners)
    kept = set(np.argmax(corners @ _directions(FIRST).T, axis=0).tolist())
    while len(kept) < most:
        planes = _hull(seen[sorted(kept)]).equations
        outside = seen @ planes[:, :-1].T + planes[:, -1]
        worst = np.argsort(-outside.max(axis=0))
        farthest = dict.fromkeys(outside.argmax(axis=0)[worst].tolist())
        more = [corner for corner in farthest if corner not in kept]
        if not more:
            break
        # not all at once: what comes in takes others in with it
        kept.update(more[: max(1, (most - len(kept)) // 2)])
    return corners[sorted(kept)]


def _in_own_axes(points: Array) -> Array:
    """Return points about their mean along principal axes, those left out in which all are one."""
    spread = points - points.mean(axis=0)
    _, lengths, axes = np.linalg.svd(spread, full_matrices=False)
    rank = max(1, int(np.count_nonzero(lengths > FLAT * lengths[0])))
    seen: Array = spread @ axes[:rank].T
    return seen


def _hull(points: Array) -> Any:
    spatial = importlib.import_module("scipy.spatial")
    try:
        return spatial.ConvexHull(points)
    except spatial.QhullError as error:
        raise NoHullError from error


def _directions(count: int) -> Array:
    """Return unit vectors, one a row: along the axes both ways, then in a spiral over the sphere.

    The spiral turns by the golden angle from one to the next, at evenly spaced heights, so that
    each stands for the same part of the sphere.
    """
    step = np.arange(count - 6)
    z = 1.0 - (2.0 * step + 1.0) / (count - 6)
    angle = math.pi * (3.0 - math.sqrt(5.0)) * step
    level = np.sqrt(1.0 - z * z)
    spiral = np.column_stack([level * np.cos(angle), level * np.sin(angle), z])
    return np.concatenate([np.eye(3), -np.eye(3), spiral])
