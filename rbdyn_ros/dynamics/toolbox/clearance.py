"""Distances that inverse kinematics keeps: of links from each other and from obstacles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.dynamics.collisions import Memory, check_pairs, find_near, skipped_pairs
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model


class Clearance:
    """The distances of all pairs of geometries whose relative pose some dofs change.

    Pairs that `rb.collisions` leaves out are left out here too. So are pairs that the dofs cannot
    separate: two fingers of a hand that moves as a whole, or an object on its table.

    Args:
        m: the Model, loaded with `contact`.
        dofs: the dofs that may move.
        function: name of the caller, for errors.
        distance: smallest allowed distance [m].

    Attributes:
        distance: smallest allowed distance [m].

    Raises:
        ModelError: the Model has no geometries or too many.
        ParameterError: the distance is not a number, or is negative.
    """

    def __init__(self, m: Model, dofs: Ints, function: str, distance: object) -> None:
        self.distance = finite("clearance", distance, low=0.0, code="clearance")
        check_pairs(m, function)
        self._m, self._memory = m, Memory(m)
        carried = _carriers(m, dofs)[m.geom_bodyid[m.meet_geom]]
        together = (carried[:, 0] == carried[:, 1]).all(axis=1)
        self._skipped: Ints = skipped_pairs(m) | together

    def kept(self, d: Data) -> bool:
        """Return whether no pair is nearer than allowed at d.qpos."""
        return find_near(self._m, d, self.distance, self._skipped, self._memory) == 0

    def near(self, d: Data, reach: float) -> Near:
        """Return the pairs up to `reach` apart at d.qpos."""
        number = find_near(self._m, d, reach, self._skipped, self._memory)
        pairs = self._memory.found[:number]
        return Near(self._m.geom_bodyid[self._m.meet_geom[pairs]], self._memory.out[:number])


class Near(NamedTuple):
    """Pairs of geometries near each other.

    Attributes:
        bodies: (n, 2) of the two geometries.
        rows: (n, 10) what `measure` writes: distance, normal, nearest points.
    """

    bodies: Ints
    rows: Array


def _carriers(m: Model, dofs: Ints) -> Ints:
    """Return 1 for each dof that moves a body, (nbody, n); a mimic joint moves by its leader."""
    leaders = np.where(m.jnt_mimic >= 0, m.jnt_mimic, np.arange(m.njnt))
    carried = np.zeros((m.nbody, len(dofs)), np.int64)
    for body in range(1, m.nbody):
        own = m.dof_jntid[dofs] == leaders[body - 1]
        carried[body] = carried[m.body_parentid[body]] | own
    return carried
