# SPDX-License-Identifier: Apache-2.0
"""Convert poses of descriptions to 4x4 matrices."""

import numpy as np
from scipy.spatial.transform import Rotation


def matrix(p):
    """Return the homogeneous matrix (4, 4) of a Pose."""
    w, x, y, z = p.quat
    T = np.eye(4)
    T[:3, :3] = Rotation.from_quat([x, y, z, w]).as_matrix()
    T[:3, 3] = p.pos
    return T
