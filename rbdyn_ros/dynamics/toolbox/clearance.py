# SPDX-License-Identifier: Apache-2.0
"""The distances between links, and from links to obstacles, that inverse kinematics keeps."""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.arrays import Array, Bools, Ints
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.dynamics.collisions import (
    check_pairs,
    find_near,
    memory_of,
    no_geometries,
    skipped_pairs,
)
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model


class MovedPairs:
    """The pairs of geometries whose relative pose changes with given dofs, and their distances.

    Pairs that `rb.collisions` leaves out are not measured. The same holds for pairs that the dofs
    cannot separate, such as two fingers of a hand that moves as a whole, or an object on a table.

    Args:
        m: the Model, loaded with `contact`.
        dofs: the dofs that may move.
        function: name of the caller, for errors.

    Raises:
        ModelError: no body that moves with these dofs has a geometry, or there are too many
            geometries.
    """

    def __init__(self, m: Model, dofs: Ints, function: str) -> None:
        check_pairs(m, function)
        if m.ngeommoving == 0:
            raise no_geometries(m, function)
        self._m = m
        carried = _carriers(m, dofs)[m.geom_bodyid[m.distance_geom]]
        together = (carried[:, 0] == carried[:, 1]).all(axis=1)
        self._skipped: Ints = skipped_pairs(m) | together

    def are_apart(self, d: Data, distance: float) -> bool:
        """Return whether all pairs are at least a distance apart at d.qpos."""
        return find_near(self._m, d, distance, self._skipped, memory_of(self._m, d)) == 0

    def near(self, d: Data, reach: float) -> "Near":
        """Return the pairs up to `reach` apart at d.qpos."""
        memory = memory_of(self._m, d)
        number = find_near(self._m, d, reach, self._skipped, memory)
        pairs = memory.found[:number]
        return Near(self._m.geom_bodyid[self._m.distance_geom[pairs]], memory.out[:number])


def moved_pairs(m: Model, d: Data, dofs: Ints, function: str) -> MovedPairs:
    """Return the MovedPairs of a Data, made by the first call for these dofs."""
    kept: dict[bytes, MovedPairs] = vars(d).setdefault("moved_pairs", {})
    key = dofs.tobytes()
    if key not in kept:
        kept[key] = MovedPairs(m, dofs, function)
    return kept[key]


def clearance_of(value: object) -> float | None:
    """Return a checked clearance [m], or None if distances do not matter.

    Raises:
        ParameterError: the value is not a number, or is negative.
    """
    return None if value is None else finite("clearance", value, low=0.0, code="clearance")


class Near(NamedTuple):
    """Pairs of geometries near each other.

    Attributes:
        bodies: (n, 2) bodies of the two geometries.
        rows: (n, 10) distance, normal and nearest points of each pair, as `measure` writes them.
    """

    bodies: Ints
    rows: Array


def _carriers(m: Model, dofs: Ints) -> Bools:
    """Return a mask (nbody, njnt): whether the joint carries the body and moves with the dofs.

    A mimic joint moves with its leader, but moves other bodies.
    """
    leaders = np.where(m.jnt_mimic >= 0, m.jnt_mimic, np.arange(m.njnt))
    moves = np.isin(leaders, m.dof_jntid[dofs])
    carried = np.zeros((m.nbody, m.njnt), bool)
    for body in range(1, m.nbody):
        carried[body] = carried[m.body_parentid[body]]
        carried[body, body - 1] = moves[body - 1]
    return carried
