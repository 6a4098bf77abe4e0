# SPDX-License-Identifier: Apache-2.0
"""Spatial vectors as 6-arrays [angular; linear] and 6x6 matrices, as in RBDA chapter 2."""

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array


def cross(v: ArrayLike) -> Array:
    """Return the 3x3 matrix [v x] (RBDA eq 2.23)."""
    x, y, z = np.asarray(v, np.float64)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def vector(A: Array) -> Array:
    """Return v from A = [v x]."""
    return np.array([A[2, 1], A[0, 2], A[1, 0]])


def rx(angle: float) -> Array:
    """Return E: coordinates in a frame rotated by `angle` about x (RBDA table 2.2)."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, s], [0.0, -s, c]])


def ry(angle: float) -> Array:
    """Return E for a rotation about y (RBDA table 2.2)."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, 0.0, -s], [0.0, 1.0, 0.0], [s, 0.0, c]])


def rz(angle: float) -> Array:
    """Return E for a rotation about z (RBDA table 2.2)."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])


def quat_turn(quat: ArrayLike) -> Array:
    """Return E for a quaternion wxyz, Euler parameters p0 .. p3 (RBDA eq 4.12)."""
    p0, p1, p2, p3 = np.asarray(quat, np.float64) / np.linalg.norm(quat)
    return 2.0 * np.array(
        [
            [p0 * p0 + p1 * p1 - 0.5, p1 * p2 + p0 * p3, p1 * p3 - p0 * p2],
            [p1 * p2 - p0 * p3, p0 * p0 + p2 * p2 - 0.5, p2 * p3 + p0 * p1],
            [p1 * p3 + p0 * p2, p2 * p3 - p0 * p1, p0 * p0 + p3 * p3 - 0.5],
        ]
    )


def motion_transform(E: ArrayLike, r: ArrayLike) -> Array:
    """Return X = rot(E) xlt(r), motion vectors into a frame at r with axes E (RBDA eq 2.26)."""
    E = np.asarray(E, np.float64)
    return np.block([[E, np.zeros((3, 3))], [-E @ cross(r), E]])


def frame(X: Array) -> tuple[Array, Array]:
    """Return E and r from X = rot(E) xlt(r)."""
    E = X[:3, :3]
    return E, vector(-E.T @ X[3:, :3])


def inverse_transform(X: Array) -> Array:
    """Return X^-1, the inverse transform of motion vectors (RBDA section 2.8)."""
    to_E, to_lower = X[:3, :3].T, X[3:, :3].T
    return np.block([[to_E, np.zeros((3, 3))], [to_lower, to_E]])


def force_transform(X: Array) -> Array:
    """Return X* = X^-T, the transform of force vectors for the same frames (RBDA eq 2.27)."""
    E, lower = X[:3, :3], X[3:, :3]
    return np.block([[E, lower], [np.zeros((3, 3)), E]])


def cross_motion(v: Array) -> Array:
    """Return the 6x6 matrix [v x] (RBDA eq 2.31)."""
    return np.block([[cross(v[:3]), np.zeros((3, 3))], [cross(v[3:]), cross(v[:3])]])


def cross_force(v: Array) -> Array:
    """Return the 6x6 matrix [v x*] (RBDA eq 2.32)."""
    X: Array = -cross_motion(v).T
    return X


def rigid_inertia(mass: float, com: ArrayLike, about_com: ArrayLike) -> Array:
    """Return the 6x6 inertia of a body about its frame's origin (RBDA eq 2.63)."""
    C = cross(com)
    return np.block(
        [[np.asarray(about_com) + mass * C @ C.T, mass * C], [mass * C.T, mass * np.eye(3)]]
    )


def mass_properties(I: Array) -> tuple[float, Array, Array]:
    """Return the mass, centre of mass and inertia about it of a 6x6 inertia (RBDA eq 2.63).

    A body without mass has its centre of mass at its frame's origin.
    """
    mass = I[5, 5]
    C = I[:3, 3:] / (mass or 1.0)
    return float(mass), vector(C), I[:3, :3] - mass * C @ C.T
