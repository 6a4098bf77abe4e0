# SPDX-License-Identifier: Apache-2.0
"""Measure the distance of two geometries in many poses by one compiled loop."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from rbdyn_ros.dynamics.entry import Entry, handles
from rbdyn_ros.engine.collision.near import measure
from rbdyn_ros.engine.compiler.jit import Matrix, kernel
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.declared.data_fields import AXIS, PLACE
from rbdyn_ros.model.model import Model


@kernel
def _measured(
    m: Model, d: Data, g: int, h: int, poses: Matrix, place: Matrix, axis: Matrix, out: Matrix
) -> None:
    for n in range(len(poses)):
        for k in range(12):
            place[g, k], place[h, k] = poses[n, k], poses[n, 12 + k]
        axis[0, 0] = axis[0, 1] = axis[0, 2] = 0.0
        measure(m, place, g, h, np.inf, axis[0], out[n])


_measure = Entry(_measured)


def measured(m, d, g, h, poses):
    """Return results of `measure` (n, 10) for poses (n, 24): position and rotation of g and h."""
    out = np.full((len(poses), 10), np.nan)
    place, axis = np.zeros((m.ngeom, PLACE)), np.zeros((1, AXIS))
    _measure.call(*handles(m, d), g, h, poses, place, axis, out)
    return out


def turns(rng, count):
    """Return random rotations (count, 9)."""
    return Rotation.random(count, random_state=rng).as_matrix().reshape(count, 9)


def directions(rng, count):
    """Return random unit vectors (count, 3)."""
    v = rng.normal(size=(count, 3))
    return v / np.linalg.norm(v, axis=1)[:, None]


def moved_to(m, d, g, h, poses, along, gaps):
    """Return poses in which h is moved along a direction until g and h are `gaps` [m] apart.

    Newton's method finds the shift: the distance is convex along a line while g and h are apart.
    """
    most = m.geom_rbound[g] + m.geom_rbound[h]
    for _ in range(15):
        found = measured(m, d, g, h, poses)
        slope = np.einsum("nk,nk->n", found[:, 1:4], along)
        way = np.clip((gaps - found[:, 0]) / np.maximum(slope, 0.2), -most, most)
        poses[:, 12:15] += way[:, None] * along
