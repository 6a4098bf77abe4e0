# SPDX-License-Identifier: Apache-2.0
"""The tree in absolute coordinates: vectors are in base coordinates, about the base's origin."""

from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.textbook.spatial import inverse_transform
from rbdyn_ros.textbook.system import System


@dataclass(frozen=True)
class Absolute:
    """Joints and bodies at one position, in base coordinates; entry 0 is the base.

    Attributes:
        X: (6, 6), 0X_i, transforms motion vectors from the body's to base coordinates.
        S: (6, n_i), motion subspace of the joint that carries the body.
        c_J: (6,), the apparent derivative of S times qd: dS/dt qd without the term of the body's
            velocity.
        I: (6, 6), spatial inertia.
    """

    X: list[Array]
    S: list[Array]
    c_J: list[Array]
    I: list[Array]


def absolute(s: System, q: Array, qd: Array) -> Absolute:
    """Return the tree at positions q and velocities qd."""
    tree = Absolute([np.eye(6)], [np.zeros((6, 0))], [np.zeros(6)], [np.zeros((6, 6))])
    for i in s.bodies:
        X, S, _, c_J = s.joint(i, q, qd)
        X_i = tree.X[s.parent[i]] @ inverse_transform(X)
        back = inverse_transform(X_i)
        tree.X.append(X_i)
        tree.S.append(X_i @ S)
        tree.c_J.append(X_i @ c_J)
        tree.I.append(back.T @ s.I[i] @ back)
    return tree
