# SPDX-License-Identifier: Apache-2.0
"""Pose, velocity and acceleration of a frame, its Jacobian and the Jacobian's derivative.

Velocities are [angular; linear]. `reference` names the point and the axes:

- "world": the spatial velocity, which is the velocity of the body's point at the world's origin;
- "local": the velocity of the frame's origin, in the axes of the frame;
- "local_world_aligned": the velocity of the frame's origin, in world axes.
"""

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.dynamics.entry import check_pair, public
from rbdyn_ros.dynamics.toolbox.filling import fills
from rbdyn_ros.engine.quantities import jacobian as _jacobian
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model

_frame_pose = public(_jacobian.frame_pose)


def frame_pose(m: Model, d: Data, frame: str | int) -> tuple[Array, Array]:
    """Return the position (3,) and rotation (3, 3) of a frame in the world at qpos.

    Args:
        m: the Model.
        d: its Data.
        frame: name or number of a frame, see m.frame_names.

    Raises:
        ModelError: the frame is unknown, or d was not made for m.
    """
    check_pair(m, d, "frame_pose")
    out = np.empty((4, 3))
    _frame_pose(m, d, m.frame_id(frame), out)
    return out[3], out[:3]


@fills(_jacobian.frame_jacobian, lambda m: (6, m.nv)).of_frame
def frame_jacobian(
    m: Model, d: Data, frame: str | int, reference: str = "local_world_aligned"
) -> Array:
    """Return J (6, nv) at qpos: frame_velocity equals J qvel plus the motion of driven joints.

    Args:
        m: the Model.
        d: its Data.
        frame: name or number of a frame.
        reference: "world", "local" or "local_world_aligned".

    Raises:
        ModelError: the frame is unknown, or d was not made for m.
        ParameterError: the reference is unknown.

    Source: RBDA eq 4.6 (geometric Jacobian).
    """


@fills(_jacobian.frame_jacobian_dot, lambda m: (6, m.nv)).of_frame
def frame_jacobian_dot(
    m: Model, d: Data, frame: str | int, reference: str = "local_world_aligned"
) -> Array:
    """Return dJ/dt (6, nv) at qpos and qvel. Arguments and errors: see frame_jacobian."""


@fills(_jacobian.frame_velocity, lambda _: 6).of_frame
def frame_velocity(
    m: Model, d: Data, frame: str | int, reference: str = "local_world_aligned"
) -> Array:
    """Return the velocity of a frame, (6,) [rad/s; m/s]. Arguments and errors: see frame_jacobian.

    Source: RBDA eq 2.27.
    """


@fills(_jacobian.frame_acceleration, lambda _: 6).of_frame
def frame_acceleration(
    m: Model, d: Data, frame: str | int, reference: str = "local_world_aligned"
) -> Array:
    """Return the acceleration of a frame at qpos, qvel and qacc, (6,) [rad/s^2; m/s^2].

    It is the derivative of the six numbers of frame_velocity: J qacc + dJ/dt qvel. So it is the
    classical acceleration of the frame's origin for "local_world_aligned", and the spatial
    acceleration for the two other references. Gravity is left out. Arguments and errors: see
    frame_jacobian.

    Source: RBDA eq 2.45, 2.48.
    """
