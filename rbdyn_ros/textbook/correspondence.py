# SPDX-License-Identifier: Apache-2.0
"""Spatial vectors that correspond to the 3-D vectors of Luh, Walker and Paul: RBDA table 5.2."""

from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.model.declared.joints import JointType
from rbdyn_ros.textbook.luh_walker_paul import LuhWalkerPaul
from rbdyn_ros.textbook.spatial import cross, mass_properties
from rbdyn_ros.textbook.system import System


@dataclass(frozen=True)
class SpatialBody:
    """A body and its joint, as in table 5.1, in the body's coordinates.

    Attributes:
        v, a: (6,), velocity and acceleration.
        f_B, f: (6,), net force on the body, and force across the joint.
        X: (6, 6), iX_lambda.
        I: (6, 6), inertia.
        S: (6, 1), motion subspace.
    """

    v: Array
    a: Array
    f_B: Array
    f: Array
    X: Array
    I: Array
    S: Array


def spatial_body(s: System, x: LuhWalkerPaul, i: int) -> SpatialBody:
    """Return the spatial counterparts of the entries of table 5.2 for body i (not the base).

    Two counterparts are more than stacked 3-D vectors. The spatial acceleration is the derivative
    of v in a frame at rest, so omega x v is subtracted. The net moment is shifted from the centre
    of mass to the origin.
    """
    m, c, I_cm = mass_properties(s.I[i])
    E, C, zero = x.E[i], m * cross(c), np.zeros((3, 3))
    axis = x.z[i][:, None]
    rest = np.zeros((3, 1))
    turns = s.jtype[i].kind == JointType.HINGE
    return SpatialBody(
        v=np.concatenate([x.omega[i], x.v[i]]),
        a=np.concatenate([x.omega_dot[i], x.v_dot[i] - np.cross(x.omega[i], x.v[i])]),
        f_B=np.concatenate([x.N[i] + np.cross(c, x.F[i]), x.F[i]]),
        f=np.concatenate([x.n[i], x.f[i]]),
        X=np.block([[E, zero], [-E @ cross(x.r[i]), E]]),
        I=np.block([[I_cm - C @ cross(c), C], [-C, m * np.eye(3)]]),
        S=np.vstack([axis, rest] if turns else [rest, axis]),
    )
