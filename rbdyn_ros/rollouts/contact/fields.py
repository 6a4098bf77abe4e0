# SPDX-License-Identifier: Apache-2.0
"""Spheres on height fields in lanes: the operations that a plane does not need.

A compiled function (contact_ground.py) reads the heights around each sphere. If the foot of a
sphere is on one triangle and nothing else is near, the contact is computed as on a plane;
otherwise the engine's own kernel lists it. A lane in which a sphere has several contacts is
advanced by the engine's step.

Nothing else is near while the sphere moves less than its room. The room is the smaller of two
distances: from the foot to the sides of the triangle, and from the sphere to all triangles that
rise above its plane. Neighbours below the plane, with their edges and corners, touch a sphere only
if its foot is beyond these sides.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from rbdyn_ros.engine.contact.points.contact_list import CLOSED_GAP
from rbdyn_ros.engine.contact.points.ground import FIRST_TRIANGLE
from rbdyn_ros.model.geometry.height_fields import BENT
from rbdyn_ros.model.model import Model
from rbdyn_ros.rollouts.contact.pairs import reach
from rbdyn_ros.rollouts.contact.points import BY_KEY, Pair, Touching
from rbdyn_ros.rollouts.contact.shelf import Shelf, cross, largest, smallest, where
from rbdyn_ros.specialization.programs.symbols import SymbolGraph
from rbdyn_ros.specialization.symbolic import Objects

#: Number of columns of "balls": the centre of a sphere in the frame of its field (3), and the
#: largest gap that the sphere may close in the step.
BALL = 4

#: Columns of "cells", which the compiled function writes: the position in the cell; the heights of
#: the cell's corners and of the corners around them, row by row; and the number of the cell, -1 at
#: the border.
HEIGHTS, NUMBER, CELL = 2, 18, 19

#: A gap that no step closes [m].
FAR = 1e3

#: Columns of "ground": axes of the contact, the normal last; arm of the contact from the com of
#: the tree; gap; room of the sphere; 1 if the contact is listed, 0 if not, -1 if the gap decides,
#: as on a plane; key of the contact.
AXES, ARM, DIST, ROOM, LISTED, KEY, GROUND = 0, 9, 12, 13, 14, 15, 16


def balls(m: Model, d: Any, pairs: Collection[Pair]) -> Objects:
    """Return "balls" (see BALL) at the start of a step."""
    found: list[Any] = []
    for pair in pairs:
        g, o, body = pair.geom, pair.obstacle, int(m.geom_bodyid[pair.geom])
        centre = d.xpos[body] + d.xmat[body].reshape(3, 3) @ m.geom_pos[g].astype(object)
        back = m.geom_mat[o].reshape(3, 3).T.astype(object)
        arm = centre - d.subtree_com[m.body_rootid[body]]
        found += [*(back @ (centre - m.geom_pos[o].astype(object)))]
        found.append(reach(m, g, d.cvel, arm))
    return np.array(found, object)


def ground_below(
    m: Model, shelf: Shelf, graph: SymbolGraph, pairs: Collection[Pair]
) -> dict[str, Any]:
    """Return "ground" (see AXES); contacts that are unlike contacts with planes have room -1."""
    cells = shelf.inputs(graph, "cells", CELL * len(pairs)).reshape(-1, CELL)
    spheres = shelf.state(graph, "balls").reshape(-1, BALL)
    com = shelf.state(graph, "subtree_com").reshape(-1, 3)
    rows = []
    for pair, cell, ball in zip(pairs, cells, spheres, strict=True):
        g, o = pair.geom, pair.obstacle
        face = Face(m, g, o, cell, ball)
        R, radius = m.geom_mat[o].reshape(3, 3).astype(object), float(m.geom_radius[g])
        axes = R @ face.axes().T
        point = m.geom_pos[o].astype(object) + R @ ball[:3] - axes[:, 2] * radius
        apart, touching = face.rooms()
        room = where(apart > ball[3], apart, touching)
        key = pair.key + FIRST_TRIANGLE + 4.0 * cell[NUMBER] + where(face.lower, 2.0, 0.0)
        row = [*axes.T.reshape(-1), *(point - com[m.body_rootid[m.geom_bodyid[g]]])]
        dist = where(apart > ball[3], FAR, face.dist - radius)
        rows.append([*row, dist, where(room > ball[3], room, -1.0), -1.0, key])
    return shelf.written({"ground": np.array(rows, object)})


class Face:
    """The triangle of a field on which a sphere has its foot, and the heights around it.

    Attributes:
        lower: whether the triangle is at the side of small y of its cell, see height_grid.py.
        dist: distance of the sphere's centre from the plane of the triangle.
    """

    def __init__(self, m: Model, g: int, o: int, cell: Objects, ball: Objects) -> None:
        k, half = m.geom_fieldid[o], m.geom_size[o]
        self._dx = float(2.0 * half[0] / (m.field_ncol[k] - 1))
        self._dy = float(2.0 * half[1] / (m.field_nrow[k] - 1))
        self._x, self._known = (cell[0], cell[1], ball[2]), cell[NUMBER] >= 0.0
        self._heights, self._reach = cell[HEIGHTS:NUMBER].reshape(4, 4), ball[3]
        self._radius, self._flat = float(m.geom_radius[g]), BENT * self._dx
        self._beside = np.sqrt(2.0 * self._radius * CLOSED_GAP) * m.opt.timestep
        u, v, _z = self._x
        self._take(u * self._dy > v * self._dx)  # take the triangle below the centre
        # then take the triangle below the foot
        self._take(self._u * self._dy > self._v * self._dx)

    def _take(self, lower: Any) -> None:
        """Select a triangle of the middle cell, and find the foot of the sphere on its plane."""
        h, self.lower = self._heights, lower
        self._a = where(lower, h[1, 2] - h[1, 1], h[2, 2] - h[2, 1]) / self._dx
        self._b = where(lower, h[2, 2] - h[1, 2], h[2, 1] - h[1, 1]) / self._dy
        self._up = 1.0 / np.sqrt(1.0 + self._a * self._a + self._b * self._b)
        u, v, z = self._x
        self.dist = (z - h[1, 1] - self._a * u - self._b * v) * self._up
        part = self.dist * self._up
        self._u, self._v = u + part * self._a, v + part * self._b

    def _if_seen(self, room: Any) -> Any:
        """Return `room`, or -1 if the known heights do not cover the reach of the sphere."""
        most, (u, v, _z) = self._radius + 2.0 * self._reach, self._x
        beyond_x = abs(u - 0.5 * self._dx) + most - 1.5 * self._dx
        beyond_y = abs(v - 0.5 * self._dy) + most - 1.5 * self._dy
        return where(self._known, where(largest(beyond_x, beyond_y) < 0.0, room, -1.0), -1.0)

    def axes(self) -> Objects:
        """Return axes of a contact, in the frame of the field."""
        a, b, up = self._a, self._b, self._up
        flat = 1.0 / np.sqrt(1.0 + a * a)
        normal, east = [-a * up, -b * up, up], [flat, 0.0, a * flat]
        return np.array([east, cross(normal, east), normal], object)

    def rooms(self) -> tuple[Any, Any]:
        """Return how far the sphere can move without contact, and touching only this triangle.

        Each distance is at most twice the sphere's reach, or -1 if the known heights do not
        suffice.
        """
        far, (any_triangle, rising) = 2.0 * self._reach, self._distances()
        touching = smallest(far, self._to_sides(), np.sqrt(rising) - self._radius)
        apart = smallest(far, np.sqrt(any_triangle) - self._radius)
        touching = where(self.dist < 0.0, -1.0, touching)
        return self._if_seen(where(self.dist < 0.0, -1.0, apart)), self._if_seen(touching)

    def _distances(self) -> tuple[Any, Any]:
        """Return lower bounds of the squared distances to all and to rising triangles."""
        nearest = self.dist * self.dist
        rising = (self._radius + 2.0 * self._reach) * (self._radius + 2.0 * self._reach)
        for r in range(3):
            for c in range(3):
                for side in (0, 1):
                    rises, square = self._distance(r, c, side)
                    nearest = smallest(nearest, square)
                    rising = where(rises > self._flat, smallest(rising, square), rising)
        return nearest, rising

    def _over(self, r: int, c: int) -> Any:
        """Return the height of a corner above the plane of the triangle."""
        way = self._a * ((c - 1) * self._dx) + self._b * ((r - 1) * self._dy)
        return self._heights[r, c] - self._heights[1, 1] - way

    def _to_sides(self) -> Any:
        """Return how far the foot is inside the triangle.

        The engine also lists an edge that the sphere reaches soon after the step, so the foot must
        stay `_beside` away from an edge: at that distance the sphere is CLOSED_GAP h^2 above the
        edge. A side counts only if its neighbour is below the plane, or if another side is equally
        near.
        """
        across = (self._u * self._dy - self._v * self._dx) / float(np.hypot(self._dx, self._dy))
        lower = self._v, self._dx - self._u, across
        upper = self._u, self._dy - self._v, -across
        sides = [where(self.lower, a, b) for a, b in zip(lower, upper, strict=True)]
        beyond = [((0, 1), (1, 0)), ((2, 3), (3, 2)), ((2, 1), (1, 2))]
        over = [where(self.lower, self._over(*a), self._over(*b)) for a, b in beyond]
        least, second, bent = sides[0], FAR, over[0]
        for side, height in zip(sides[1:], over[1:], strict=True):
            nearer = side < least
            second = where(nearer, least, where(side < second, side, second))
            least, bent = where(nearer, side, least), where(nearer, height, bent)
        least = where(least < -self._flat, -1.0, where(bent < -self._flat, least, second))
        return least - self._beside

    def _distance(self, r: int, c: int, side: int) -> tuple[Any, Any]:
        """Return a triangle's rise above the plane, and a lower bound of its squared distance.

        A triangle is at least as far away as its plane, and at least as far as along its
        projection.
        """
        h, dx, dy = self._heights, self._dx, self._dy
        third = (r, c + 1) if side == 1 else (r + 1, c)
        rises = self._over(*third)
        if (r, c) != (1, 1):  # the triangle itself does not rise above its plane
            rises = largest(self._over(r, c), self._over(r + 1, c + 1), rises)
        a = (h[third] - h[r, c] if side == 1 else h[r + 1, c + 1] - h[third]) / dx
        b = (h[r + 1, c + 1] - h[third] if side == 1 else h[third] - h[r, c]) / dy
        u, v = self._x[0] - (c - 1) * dx, self._x[1] - (r - 1) * dy
        gap = self._x[2] - h[r, c] - a * u - b * v
        part = gap / (1.0 + a * a + b * b)
        u, v = u + part * a, v + part * b
        across = (u * dy - v * dx) / float(np.hypot(dx, dy))
        out = largest(-v, u - dx, -across, 0.0) if side == 1 else largest(-u, v - dy, across, 0.0)
        return rises, gap * part + out * out


def place_on_field(shelf: Shelf, graph: SymbolGraph, memory: Objects) -> list[dict[str, Any]]:
    """Return the contacts of spheres and fields, with the remembered friction along their axes."""
    rows = memory.reshape(-1, BY_KEY)
    found = []
    for place, old in zip(_ground(shelf, graph, len(rows)), rows, strict=True):
        axes = place[AXES : AXES + 9].reshape(3, 3)
        found.append({
            "axes": axes, "dist": place[DIST], "arm": place[ARM : ARM + 3], "pressed": old[0],
            "memory": axes[:2] @ old[1:4], "listed": place[LISTED],
        })  # fmt: skip
    return found


def remembered_on_field(
    shelf: Shelf, graph: SymbolGraph, forces: Objects, axes: Objects
) -> list[Any]:
    """Return the remembered friction of the contacts with fields."""
    found: list[Any] = []
    ground = _ground(shelf, graph, len(forces))
    for force, frame, place in zip(forces, axes, ground, strict=True):
        presses = force[2] > 0.0
        friction = frame[0] * force[0] + frame[1] * force[1]
        found += [where(presses, x, 0.0) for x in (force[2], *friction)]
        found.append(place[KEY])
    return found


def may_touch_more(
    m: Model, shelf: Shelf, graph: SymbolGraph, places: Touching, change: Objects
) -> Objects:
    """Return 1 for each sphere on a field that may touch something else within the step."""
    speeds = shelf.inputs(graph, "cvel", 6 * m.nbody).reshape(-1, 6)
    ground, arms = _ground(shelf, graph, len(places.fields)), shelf.get(graph, "arms")
    found = []
    for place, pair in zip(ground, places.fields, strict=True):
        most = reach(m, pair.geom, speeds, arms[pair.geom], change)
        found.append(where(place[ROOM] > most, 0.0, 1.0))
    return np.array(found, object)


def _ground(shelf: Shelf, graph: SymbolGraph, number: int) -> Objects:
    found: Objects = shelf.inputs(graph, "ground", GROUND * number).reshape(-1, GROUND)
    return found
