# SPDX-License-Identifier: Apache-2.0
"""Primary fields of bodies, frames and springs, from the lumped tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Array, Arrays
from rbdyn_ros.description.checks.inertials import as_six
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.description.parts.types import Spring
from rbdyn_ros.model.tree.lumping import Placement, Tree, lumped_inertia
from rbdyn_ros.model.tree.rotation import mat_to_quat


def body_arrays(tree: Tree) -> Arrays:
    """Return the primary fields body_*."""
    bodies = tree.bodies
    parent = np.array([body.place.body for body in bodies])
    mat = np.array([body.place.mat for body in bodies])
    inertias = [(0.0, np.zeros(3), np.zeros((3, 3))), *map(lumped_inertia, bodies[1:])]
    mass = np.array([inertia[0] for inertia in inertias])
    inertia = np.array([inertia[2] for inertia in inertias])
    return {
        "body_parentid": parent,
        "body_pos": np.array([body.place.pos for body in bodies]),
        "body_quat": mat_to_quat(mat),
        "body_mat": mat,
        "body_ipos": np.array([inertia[1] for inertia in inertias]),
        "body_mass": mass,
        "body_subtreemass": subtree_masses(mass, parent),
        **inertia_arrays(inertia),
    }


def inertia_arrays(inertia: Array) -> Arrays:
    """Return the fields for inertias (nbody, 3, 3) about the centres of mass of the bodies."""
    moments, axes = principal(inertia)
    return {
        "body_iquat": mat_to_quat(axes),
        "body_imat": axes.reshape(-1, 9),
        "body_inertia": moments,
        "body_fullinertia": as_six(inertia),
    }


def principal(inertia: Array) -> tuple[Array, Array]:
    """Return principal moments (n, 3) and right-handed axes (n, 3, 3) of inertias (n, 3, 3).

    A diagonal matrix keeps its axes.
    """
    moments, axes = np.linalg.eigh(inertia)
    axes[:, :, 2] *= np.linalg.det(axes)[:, None]
    off = np.abs(inertia[:, [0, 0, 1], [1, 2, 2]]).max(axis=1)
    moments[off == 0.0] = np.diagonal(inertia, axis1=1, axis2=2)[off == 0.0]
    axes[off == 0.0] = np.eye(3)
    return moments, axes


def subtree_masses(mass: NDArray[Any], parent: NDArray[np.int64]) -> NDArray[Any]:
    """Return the mass of each body with all its descendants (nbody,); masses can be symbols."""
    total: NDArray[Any] = mass.copy()
    for i in range(len(mass) - 1, 0, -1):
        total[parent[i]] += total[i]
    return total


def frame_arrays(tree: Tree) -> Arrays:
    """Return the fields frame_*."""
    places = list(tree.frames.values())
    return {
        "frame_bodyid": np.array([place.body for place in places]),
        "frame_pos": np.array([place.pos for place in places]),
        "frame_quat": mat_to_quat(np.array([place.mat for place in places])),
    }


def spring_arrays(springs: Sequence[Spring], tree: Tree) -> Arrays:
    """Return the fields spring_* of the Model, with the ends of the springs in body frames."""
    ends = [
        (
            tree.frames[spring.link1].then(Pose(spring.point1)),
            tree.frames[spring.link2].then(Pose(spring.point2)),
        )
        for spring in springs
    ]
    return {
        "spring_bodyid": pairs(ends, lambda place: place.body, np.int64),
        "spring_pos": pairs(ends, lambda place: place.pos),
        "spring_stiffness": np.array([spring.stiffness for spring in springs]),
        "spring_damping": np.array([spring.damping for spring in springs]),
        "spring_length": np.array([spring.length for spring in springs]),
    }


def pairs(
    ends: Sequence[tuple[Placement, Placement]],
    value: Callable[[Placement], Any],
    dtype: type = np.float64,
) -> NDArray[Any]:
    """Return the function `value` of both ends of each pair, (n, 2, ...)."""
    return np.array([[value(place) for place in pair] for pair in ends], dtype)
