"""Position and velocity of every body: RBDA examples 4.3 and 4.4."""

from __future__ import annotations

import numpy as np

from rbdyn_ros.textbook.spatial import Array
from rbdyn_ros.textbook.system import System


def kinematics(s: System, q: Array, qd: Array) -> tuple[list[Array], list[Array]]:
    """Return iX_0 and v_i of the bodies 0 .. NB, each in its body's own coordinates."""
    iX_0, v = [np.eye(6)], [np.zeros(6)]
    for i in s.bodies:
        X, _, v_J, _ = s.joint(i, q, qd)
        iX_0.append(X @ iX_0[s.parent[i]])
        v.append(X @ v[s.parent[i]] + v_J)
    return iX_0, v
