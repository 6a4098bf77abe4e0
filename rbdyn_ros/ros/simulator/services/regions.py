# SPDX-License-Identifier: Apache-2.0
"""Regions of the world that filter entities, from messages simulation_interfaces/Bounds."""

import itertools
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.errors import counted, refusal
from rbdyn_ros.model.tree.rotation import quat_to_mat
from rbdyn_ros.ros.common.parsing.magnitudes import LARGEST_STATE, check_magnitude
from rbdyn_ros.ros.simulator.world.places import PlacedShape

#: Largest number of corners of a convex hull.
MOST_CORNERS = 1000


class Region(Protocol):
    """A region of the world."""

    def overlaps(self, part: PlacedShape) -> bool:
        """Return whether the region overlaps the bounding box of a shape, in the shape's axes."""


@dataclass(frozen=True, slots=True)
class _Ball:
    centre: Array
    radius: float

    def overlaps(self, part: PlacedShape) -> bool:
        low, high, (centre,) = _seen_from(part, self.centre[None])
        nearest = np.clip(centre, low, high)
        return bool(np.linalg.norm(centre - nearest) <= self.radius)


@dataclass(frozen=True, slots=True)
class _Hull:
    """The convex hull of corners (n, 3)."""

    corners: Array

    def overlaps(self, part: PlacedShape) -> bool:
        """Return whether a convex combination of the corners is in the box (linear programme)."""
        from scipy.optimize import linprog  # this import is slow

        low, high, corners = _seen_from(part, self.corners)
        if (corners.max(axis=0) < low).any() or (corners.min(axis=0) > high).any():
            return False
        n, bounds = len(corners), np.concatenate([high, -low])
        bounded = np.isfinite(bounds)  # a plane is bounded on one side only
        found = linprog(
            np.zeros(n),
            A_ub=np.concatenate([corners.T, -corners.T])[bounded],
            b_ub=bounds[bounded],
            A_eq=np.ones((1, n)),
            b_eq=[1.0],
        )
        return bool(found.status == 0)


def region_of(bounds: Any) -> Region | None:
    """Return the region of simulation_interfaces/Bounds in the world, or None without bounds.

    Raises:
        RbdynError: the type is unknown, or the points do not fit it.
    """
    points = np.array([(p.x, p.y, p.z) for p in bounds.points], np.float64).reshape(-1, 3)
    if bounds.type == bounds.TYPE_EMPTY:
        return None
    check_magnitude("the coordinates", points.ravel().tolist(), LARGEST_STATE)
    if bounds.type == bounds.TYPE_SPHERE:
        _check_number(points, 2, 2, "a sphere", "its centre and a point whose x is the radius")
        if not points[1, 0] > 0.0:
            raise refusal(f"the radius is {points[1, 0]:g}; allowed is a number above 0")
        return _Ball(points[0], float(points[1, 0]))
    if bounds.type == bounds.TYPE_BOX:
        _check_number(points, 2, 2, "a box", "two opposite corners")
        return _Hull(np.array(list(itertools.product(*points.T.tolist()))))
    if bounds.type == bounds.TYPE_CONVEX_HULL:
        _check_number(points, 3, MOST_CORNERS, "a convex hull", "its corners")
        return _Hull(points)
    raise refusal(f"the type is {bounds.type}; allowed are 0 (empty), 1 (box), 2 (hull), 3 (ball)")


def _check_number(points: Array, least: int, most: int, kind: str, meaning: str) -> None:
    allowed = str(least) if least == most else f"{least} to {most}"
    if not least <= len(points) <= most:
        raise refusal(
            f"{kind} has {counted(len(points), 'point')}; allowed are {allowed} points, which are "
            f"{meaning}"
        )


def _seen_from(part: PlacedShape, points: Array) -> tuple[Array, Array, Array]:
    """Return lower and upper corner of a shape's box, and points (n, 3), all in its axes."""
    low, high = PlacedShape(part.shape).corners
    seen: Array = (points - np.array(part.pose.pos)) @ quat_to_mat(np.array(part.pose.quat))
    return low, high, seen
