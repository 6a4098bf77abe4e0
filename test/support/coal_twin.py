# SPDX-License-Identifier: Apache-2.0
"""The geometries of a Model in coal, Pinocchio's collision library, as reference for distances."""

import coal
import numpy as np
from scipy.spatial import ConvexHull

from rbdyn_ros.model.geometry.geoms import GeomType

#: Tolerance of coal, far below the compared distances; coal's default is 1e-6.
TOLERANCE = 1e-12


def request():
    """Return a request for signed distances with coal's highest accuracy."""
    wanted = coal.DistanceRequest()
    wanted.enable_signed_distance = True
    wanted.gjk_tolerance = wanted.epa_tolerance = TOLERANCE
    wanted.gjk_max_iterations = wanted.epa_max_iterations = 500
    return wanted


def shape(kind, size, corners):
    """Return coal's shape for a geometry of a Model."""
    if kind == GeomType.PLANE:
        return coal.Halfspace(0.0, 0.0, 1.0, 0.0)
    if kind == GeomType.SPHERE:
        return coal.Sphere(size[0])
    if kind == GeomType.CAPSULE:
        return coal.Capsule(size[0], 2.0 * size[1])
    if kind == GeomType.CYLINDER:
        return coal.Cylinder(size[0], 2.0 * size[1])
    if kind == GeomType.BOX:
        return coal.Box(*(2.0 * size))
    return hull(corners)


def hull(corners):
    """Return the convex hull of corners (n, 3), with triangles that face outward."""
    points, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    points.extend(list(corners))
    found = ConvexHull(corners)
    for triangle, plane in zip(found.simplices.tolist(), found.equations, strict=True):
        a, b, c = corners[triangle]
        outwards = np.cross(b - a, c - a) @ plane[:3] > 0.0
        triangles.append(coal.Triangle(*(triangle if outwards else triangle[::-1])))
    return coal.Convex(points, triangles)


class CoalTwin:
    """The geometries of a Model in coal."""

    def __init__(self, m):
        self.m, self.request, self.result = m, request(), coal.DistanceResult()
        ends = np.cumsum(m.geom_vertnum)
        self.shapes = [
            shape(
                m.geom_type[g],
                m.geom_size[g],
                m.vert_pos[ends[g] - m.geom_vertnum[g] : ends[g]],
            )
            for g in range(m.ngeom)
        ]

    def pose(self, d, g):
        """Return a geometry's position and rotation; d.xpos and d.xmat must belong to d.qpos."""
        i = self.m.geom_bodyid[g]
        R = d.xmat[i].reshape(3, 3)
        return d.xpos[i] + R @ self.m.geom_pos[g], R @ self.m.geom_mat[g].reshape(3, 3)

    def distance(self, d, g, h):
        """Return the signed distance [m] of two geometries, and the normal (3,)."""
        return self.between(g, h, *self.pose(d, g), *self.pose(d, h))

    def between(self, g, h, p, R, q, T):
        """Return distance and normal of g at pose (p, R) and h at pose (q, T)."""
        self.result.clear()
        R, T = np.reshape(R, (3, 3)), np.reshape(T, (3, 3))
        at = coal.Transform3s(R, p), coal.Transform3s(T, q)
        dist = coal.distance(
            self.shapes[g], at[0], self.shapes[h], at[1], self.request, self.result
        )
        return dist, np.array(self.result.normal)

    def distances(self, d):
        """Return the distance and normal of each pair in distance_geom, by the pair's names."""
        names = self.m.geom_names
        return {
            (names[g], names[h]): self.distance(d, g, h) for g, h in self.m.distance_geom.tolist()
        }
