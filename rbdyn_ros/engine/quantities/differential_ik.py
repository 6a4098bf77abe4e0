# SPDX-License-Identifier: Apache-2.0
"""Rows of differential inverse kinematics: errors of poses and distances, with their Jacobians.

Source: Siciliano, Sciavicco, Villani, Oriolo, Robotics, 2009, section 3.7 (error of a pose);
Kanoun, Lamiraux, Wieber, Kinematic control of redundant manipulators, 2011 (distances).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbdyn_ros.engine.algebra.spatial import dot3, mat_mul, transposed
from rbdyn_ros.engine.compiler.jit import brief, kernel
from rbdyn_ros.engine.joints.coordinates import acts_on, clear
from rbdyn_ros.engine.joints.groups import log_mat
from rbdyn_ros.engine.quantities.chain import follow_chain, motion_about
from rbdyn_ros.engine.quantities.jacobian import pose_and_jacobian

if TYPE_CHECKING:
    from rbdyn_ros.arrays import Ints
    from rbdyn_ros.engine.compiler.jit import Matrix, Vector
    from rbdyn_ros.model.data import Data
    from rbdyn_ros.model.model import Model


@brief
def pose_error(m: Model, d: Data, frame: int, target: Vector, J: Matrix, e: Vector) -> None:
    """Write J (6, nv) of a frame about its origin, in world axes, and its pose error e (6,).

    The target (12,) is a position, then a rotation matrix row by row. e leads from the frame to
    the target, [angular; linear].
    """
    x, R = pose_and_jacobian(m, d, frame, J)
    wanted = (
        target[3], target[4], target[5], target[6], target[7], target[8], target[9], target[10],
        target[11],
    )  # fmt: skip
    e[0], e[1], e[2] = log_mat(mat_mul(wanted, transposed(R)))
    e[3], e[4], e[5] = target[0] - x[0], target[1] - x[1], target[2] - x[2]


@brief
def separation_rows(m: Model, d: Data, first: Ints, second: Ints, near: Matrix, G: Matrix) -> None:
    """Write G (n, nv), the derivatives of the distances of n pairs of geometries by each dof.

    Args:
        m: the Model.
        d: its Data.
        first: the body of the first geometry of each pair.
        second: the body of the second geometry of each pair.
        near: (n, 10), the results of `measure` for the pairs.
        G: (n, nv), receives the rows.
    """
    clear(G)
    for n in range(first.size):
        normal = near[n, 1], near[n, 2], near[n, 3]
        _add_speeds(m, d, first[n], (near[n, 4], near[n, 5], near[n, 6]), normal, -1.0, G[n])
        _add_speeds(m, d, second[n], (near[n, 7], near[n, 8], near[n, 9]), normal, 1.0, G[n])


@kernel
def _add_speeds(m, d, body, point, normal, sign, row):
    """Add `sign` times the speed of a body's point along a normal, per velocity of each dof."""
    number = follow_chain(m, d, body)
    for n in range(number):
        j = d.chain[n] - 1
        motion_about(m, d, j, j + 1, point, d.chain_xpos, d.chain_xmat)
        for c in range(m.jnt_dofadr_all[j], m.jnt_dofadr_all[j] + m.jnt_dofnum[j]):
            k, times = acts_on(m, j, c)
            if k >= 0:
                speed = dot3(normal, (d.chain_cdof[c, 3], d.chain_cdof[c, 4], d.chain_cdof[c, 5]))
                row[k] += sign * times * speed
