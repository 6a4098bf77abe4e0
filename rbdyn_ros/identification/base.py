"""Base inertial parameters: the combinations of parameters that efforts depend on.

Most of the ten parameters of a body cannot be told from efforts one by one: the mass of a link is
felt together with inertias of the link before it, that of a base not at all. What can be told are
combinations, as many as the regressor has independent columns.
Source: Gautier, Numerical calculation of the base inertial parameters of robots, 1991.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.identification.inertia import PARAMETER_NAMES
from rbdyn_ros.identification.motion import check_identifiable, resting
from rbdyn_ros.identification.regressor import torque_regressor
from rbdyn_ros.model.model import Model

#: A column that is a combination of others but for this part of its length is taken as one:
#: authors write pi with five digits, and a tenth of a millimetre is not felt.
DEPENDENT = 1e-4

#: Entries of combinations below this are rounding.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class BaseParameters:
    """Which parameters efforts depend on, and how.

    Attributes:
        columns: (b,) of the 10 (nbody - 1) parameters those that lead a combination.
        combination: (b, 10 (nbody - 1)); combination @ inertial_parameters are the base
            parameters, in which column columns[k] of row k is 1.
        names: (b,) such as "forearm.Izz + 0.21 hand.m".
    """

    columns: Ints
    combination: Array
    names: tuple[str, ...]

    @property
    def rank(self) -> int:
        """How many there are."""
        return len(self.columns)

    def regressor(self, Y: Array) -> Array:
        """Return the columns (..., b) of a regressor (..., 10 (nbody - 1)).

        regressor(Y) @ combination @ x = Y @ x.
        """
        return Y[..., self.columns]


def base_parameters(
    m: Model,
    dofs: Sequence[int] | Ints | None = None,
    seed: int = 0,
    *,
    rest: ArrayLike | None = None,
) -> BaseParameters:
    """Return the base inertial parameters of a robot, gravity being that of m.opt.

    Found from the regressor at random states. Those of bodies near the base lead, so what cannot
    be told of a body is in the combinations of those before it.

    Args:
        m: the Model.
        dofs: that move, and whose efforts are known; the others rest. None: all.
        seed: of the random states.
        rest: (nv,) where those stand that do not move; None: at qpos0.

    Raises:
        ModelError: as check_identifiable.
        ParameterError: rest is not nv finite numbers.
    """
    check_identifiable(m)
    moved = np.arange(m.nv) if dofs is None else np.asarray(dofs, np.int64)
    samples = 2 * m.nbody * 10 // len(moved) + 10
    rng = np.random.default_rng(seed)
    qpos = np.tile(resting(m, rest), (samples, 1))
    qvel, qacc = np.zeros((2, samples, m.nv))
    qpos[:, moved] = rng.uniform(-np.pi, np.pi, (samples, len(moved)))
    qvel[:, moved] = rng.normal(0.0, 3.0, (samples, len(moved)))
    qacc[:, moved] = rng.normal(0.0, 10.0, (samples, len(moved)))
    Y = torque_regressor(m, qpos, qvel, qacc)[:, moved]
    Y = Y.reshape(-1, Y.shape[2])
    columns = _independent(Y)
    combination = _combination(Y, columns)
    return BaseParameters(columns, combination, _names(m, columns, combination))


def condition(Y: Array) -> float:
    """Return the condition number of a regressor (p, b), its columns scaled to length 1.

    Without that it would depend on units. Infinite if a column is zero.
    """
    lengths = np.linalg.norm(Y, axis=0)
    if Y.shape[1] == 0:
        return 1.0
    if Y.shape[0] < Y.shape[1] or not (lengths > 0.0).all():
        return float("inf")
    return float(np.linalg.cond(np.linalg.qr(Y / lengths, mode="r")))


def _independent(Y: Array) -> Ints:
    """Return the columns that are no combination of those before them."""
    R = np.asarray(np.linalg.qr(Y, mode="r"))
    lengths = np.linalg.norm(R, axis=0)
    Q = np.empty((R.shape[0], 0))
    found = []
    for k in np.flatnonzero(lengths > ROUNDING * lengths.max()):
        rest = R[:, k] / lengths[k]
        for _ in range(2):  # once more, for what rounding left
            rest = rest - Q @ (Q.T @ rest)
        size = np.linalg.norm(rest)
        if size > DEPENDENT:
            Q = np.column_stack([Q, rest / size])
            found.append(k)
    return np.array(found, np.int64)


def _combination(Y: Array, columns: Ints) -> Array:
    """Return K with Y = Y[:, columns] K."""
    K: Array = np.asarray(np.linalg.lstsq(Y[:, columns], Y, rcond=None)[0], np.float64)
    K[np.abs(K) < ROUNDING] = 0.0
    K[:, columns] = np.eye(len(columns))
    return K


def _names(m: Model, columns: Ints, combination: Array) -> tuple[str, ...]:
    of = [f"{body}.{name}" for body in m.body_names[1:] for name in PARAMETER_NAMES]
    names = []
    for row, leader in zip(combination, columns, strict=True):
        text = of[leader]
        for k in np.flatnonzero(row):
            if k != leader:
                times = f"{abs(row[k]):.4g} "
                text += f" {'-' if row[k] < 0.0 else '+'} {times.removeprefix('1 ')}{of[k]}"
        names.append(text)
    return tuple(names)
