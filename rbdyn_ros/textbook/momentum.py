# SPDX-License-Identifier: Apache-2.0
"""The motion of one free body, computed from its momentum about the world's origin.

Source: Introduction to Humanoid Robotics, section 6.3: figure 6.11 with the force and moment of
figure 6.14, and the loop of figure 6.14. World coordinates, moments about the world's origin.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.textbook.exponential import se3_exp
from rbdyn_ros.textbook.spatial import cross


@dataclass(frozen=True)
class Body:
    """The constant properties of a body.

    Attributes:
        m: mass [kg].
        c: (3,), centre of mass in the body's frame [m].
        I: (3, 3), inertia about the centre of mass in the body's axes [kg m^2].
    """

    m: float
    c: Array
    I: Array


@dataclass(frozen=True)
class State:
    """Pose and spatial velocity of a body.

    Attributes:
        p: (3,), position of the body's frame [m].
        R: (3, 3), orientation of the body's frame.
        vo: (3,), velocity of the body's point at the world's origin [m/s].
        w: (3,), angular velocity [rad/s].
    """

    p: Array
    R: Array
    vo: Array
    w: Array


#: Function of a state: the force on the body and its moment about the world's origin.
Load = Callable[[State], tuple[Array, Array]]


def momentum(body: Body, x: State) -> tuple[Array, Array]:
    """Return P [kg m/s] and L [kg m^2/s], inertia times spatial velocity (figure 6.11)."""
    A = _inertia(body, x)
    P, L = np.split(A @ np.concatenate([x.vo, x.w]), 2)
    return P, L


def se3_dynamics(body: Body, x: State, f: Array, tau: Array) -> tuple[Array, Array]:
    """Return dvo and dw of [f; tau] = A [dvo; dw] + [w x P; vo x P + w x L] (figure 6.11).

    Args:
        body: mass, centre of mass and inertia.
        x: state of the body.
        f: (3,), force on the body [N].
        tau: (3,), moment of that force about the world's origin [N m].
    """
    P, L = momentum(body, x)
    pp = np.concatenate([np.cross(x.w, P), np.cross(x.vo, P) + np.cross(x.w, L)])
    dvo, dw = np.split(np.linalg.solve(_inertia(body, x), np.concatenate([f, tau]) - pp), 2)
    return dvo, dw


def motion(body: Body, x: State, load: Load, dt: float) -> Iterator[State]:
    """Yield the state after every dt: pose by the old velocity, velocity by Euler's method."""
    while True:
        yield x
        dvo, dw = se3_dynamics(body, x, *load(x))
        p, R = se3_exp(x.p, x.R, x.vo, x.w, dt)
        x = State(p, R, x.vo + dt * dvo, x.w + dt * dw)


def _inertia(body: Body, x: State) -> Array:
    """Return [Ivv, Iwv^T; Iwv, Iww], which maps [vo; w] to [P; L]."""
    C = cross(x.R @ body.c + x.p)
    Iwv, Iww = body.m * C, x.R @ body.I @ x.R.T + body.m * C @ C.T
    return np.block([[body.m * np.eye(3), Iwv.T], [Iwv, Iww]])
